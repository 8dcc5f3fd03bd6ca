//! A report as text: sysbench's summary for each target, and the comparison.

use std::fmt::Write as _;

use super::{Align, Comparison, Document, Figures, Run, Split, Table, TargetResult, thousands};
use crate::comparability::Weight;
use crate::stats::Ratio;

/// The whole report.
#[must_use]
pub fn document(document: &Document) -> String {
    let machine = &document.environment;
    let governor = machine.governor.as_ref().map_or(String::new(), |name| format!(", governor {name}"));
    let head = format!(
        "{}: {}, {} cores, {} MiB, {}, Linux {}{governor}, load {:.2}\n\n",
        document.created,
        machine.cpu,
        machine.cores,
        machine.memory_mib,
        machine.system,
        machine.kernel,
        machine.load
    );
    head + &document.runs.iter().map(run).collect::<Vec<_>>().join("\n")
}

/// One run. What differs between the targets comes first, then the comparison, then each target's summary.
#[must_use]
pub fn run(run: &Run) -> String {
    let mut text = String::new();
    // A String takes every write, here and below.
    let _ = writeln!(text, "{}", heading(run));
    if run.targets.len() > 1 {
        text.push_str(&comparability(run));
        text.push_str(&comparison(run));
    } else {
        for target in &run.targets {
            text.push_str(&summary(run, target));
        }
    }
    if let Some(split) = &run.split {
        text.push_str(&split_table(run, split));
    }
    if let Some(share) = run.others_cpu.filter(|share| *share > 0.1) {
        let _ = writeln!(
            text,
            "Other processes took {:.0} % of this machine's CPU time meanwhile: measure again when it is quiet.\n",
            share * 100.0
        );
    }
    if let Some(why) = &run.ended_early {
        let _ = writeln!(text, "Ended early: {why}\n");
    }
    text
}

fn heading(run: &Run) -> String {
    let plan = &run.plan;
    let rate =
        if plan.rate > 0 { format!(", {} events a second (open loop)", plan.rate) } else { String::new() };
    let (count, size) = (plan.tables.count, thousands(plan.tables.size.into()));
    format!("{}: {} threads{rate}, {count} tables of {size} rows\n", run.title, plan.threads)
}

/// What differs, and what changed.
#[must_use]
pub fn comparability(run: &Run) -> String {
    let mut text = String::new();
    let names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
    for check in run.comparability.differences() {
        let values: Vec<String> =
            names.iter().zip(&check.values).map(|(name, value)| format!("{name}: {value}")).collect();
        let word = if check.weight == Weight::Must { "DIFFERENT" } else { "by design" };
        let _ = writeln!(text, "  {word}  {}: {}", check.name, values.join(" / "));
    }
    for change in &run.comparability.changed {
        let _ = writeln!(text, "  CHANGED    {change}");
    }
    if text.is_empty() {
        text.push_str("  The targets are the same in all that was asked.\n");
    }
    text.push('\n');
    text
}

fn comparison(run: &Run) -> String {
    let chosen = format!("p{} ms", run.plan.percentile);
    let mut table = Table::new(&[
        ("target", Align::Left),
        ("tps", Align::Right),
        ("queries/s", Align::Right),
        ("mean ms", Align::Right),
        (&chosen, Align::Right),
        ("errors", Align::Right),
        ("CPU us/query", Align::Right),
    ]);
    for target in &run.targets {
        let figures = &target.total;
        table.row([
            target.name.clone(),
            format!("{:.1}", figures.tps),
            thousands_of(figures.qps),
            format!("{:.3}", figures.mean_ms),
            format!("{:.3}", figures.chosen_ms),
            thousands(figures.errors),
            target.cpu.map_or("-".to_owned(), |cpu| format!("{:.1}", cpu.us_per_query)),
        ]);
    }
    let mut text = format!("{table}\n");
    for comparison in &run.comparisons {
        text.push_str(&sentence(comparison));
    }
    if run.comparisons.is_empty() {
        text.push_str("No round was completed, so there is nothing to compare.\n");
    }
    text.push('\n');
    text
}

/// What a comparison says, in words and numbers.
#[must_use]
pub fn sentence(comparison: &Comparison) -> String {
    let Comparison { baseline, target, throughput, .. } = comparison;
    let mut text = format!("{target} / {baseline}: throughput {}, ", shown_ratio(throughput));
    text.push_str(comparison.verdict.words());
    let latencies: Vec<String> =
        comparison.latency.iter().map(|(name, ratio)| format!("{name} {}", shown_ratio(ratio))).collect();
    let _ = writeln!(text, " ({} rounds)", throughput.rounds);
    let _ = writeln!(text, "  latency: {}", latencies.join(", "));
    let _ = writeln!(text, "  a statement takes {:+.1} us", comparison.added_us_per_query);
    text
}

/// "0.912 [0.905, 0.921]": the median with its 95 % interval.
#[must_use]
pub fn shown_ratio(ratio: &Ratio) -> String {
    format!("{:.3} [{:.3}, {:.3}]", ratio.median, ratio.low, ratio.high)
}

fn split_table(run: &Run, split: &Split) -> String {
    let mut table = Table::new(&[
        ("target", Align::Left),
        ("server", Align::Left),
        ("reads", Align::Right),
        ("writes", Align::Right),
        ("servers' CPU us/query", Align::Right),
    ]);
    for (at, (target, counts)) in run.targets.iter().zip(&split.counts).enumerate() {
        for (row, (server, counted)) in split.servers.iter().zip(counts).enumerate() {
            let cpu = split.servers_cpu_us_per_query.get(at).copied().flatten().filter(|_| row == 0);
            table.row([
                if row == 0 { target.name.clone() } else { String::new() },
                server.clone(),
                thousands(counted.reads),
                thousands(counted.writes),
                cpu.map_or(String::new(), |cpu| format!("{cpu:.1}")),
            ]);
        }
    }
    format!("What each server counted ({})\n\n{table}\n", split.counted_by.words())
}

/// sysbench's summary of one target.
#[must_use]
pub fn summary(run: &Run, target: &TargetResult) -> String {
    let figures = &target.total;
    let rate = |count: u64| per_second(count, figures);
    let mut text = String::from("SQL statistics:\n    queries performed:\n");
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "    {name:<37}{value}");
    };
    line("    read:", figures.reads.to_string());
    line("    write:", figures.writes.to_string());
    line("    other:", figures.others.to_string());
    line("    total:", figures.queries().to_string());
    line("transactions:", format!("{:<7}({:.2} per sec.)", figures.events, figures.tps));
    line("queries:", format!("{:<7}({:.2} per sec.)", figures.queries(), figures.qps));
    line("ignored errors:", format!("{:<7}({:.2} per sec.)", figures.errors, rate(figures.errors)));
    line("reconnects:", format!("{:<7}({:.2} per sec.)", figures.reconnects, rate(figures.reconnects)));
    if figures.late > 0 {
        line("due and never begun:", figures.late.to_string());
    }
    text.push_str("\nGeneral statistics:\n");
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "    {name:<37}{value}");
    };
    line("total time:", format!("{:.4}s", figures.seconds));
    line("total number of events:", figures.events.to_string());
    text.push_str("\nLatency (ms):\n");
    let chosen = format!("{}th percentile:", run.plan.percentile);
    for (name, value) in [
        ("min:", figures.min_ms),
        ("avg:", figures.mean_ms),
        ("max:", figures.max_ms),
        (&chosen, figures.chosen_ms),
        ("sum:", figures.mean_ms * count(figures.events)),
    ] {
        let _ = writeln!(text, "    {name:>12} {value:>38.2}");
    }
    if let Some(fair) = &target.fairness {
        text.push_str("\nThreads fairness:\n");
        let (mean, deviation) = (fair.events_mean, fair.events_stddev);
        let _ = writeln!(text, "    events (avg/stddev):           {mean:.4}/{deviation:.2}");
        let (mean, deviation) = (fair.busy_mean_s, fair.busy_stddev_s);
        let _ = writeln!(text, "    execution time (avg/stddev):   {mean:.4}/{deviation:.2}");
    }
    text.push('\n');
    text
}

fn per_second(number: u64, figures: &Figures) -> f64 {
    if figures.seconds > 0.0 { count(number) / figures.seconds } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn count(number: u64) -> f64 {
    number as f64
}

/// A rate as a whole number with commas.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is positive and far below 2^64"
)]
pub fn thousands_of(rate: f64) -> String {
    thousands(rate.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn what_differs_stands_before_the_figures() {
        let text = run(&sample::run(0.8));
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} in\n{text}"));
        assert!(at("by design  servers of reads: direct: 1 / proxy: 2, 3") < at("queries/s"));
        assert!(at("proxy / direct: throughput 0.8") < at("What each server counted"));
        assert!(text.contains(", lower (12 rounds)"), "{text}");
        assert!(text.contains("168,000"), "{text}");
    }

    #[test]
    fn a_ratio_of_one_is_no_difference() {
        assert!(run(&sample::run(1.0)).contains("no difference seen"));
    }

    #[test]
    fn the_summary_of_one_target_has_sysbenchs_parts() {
        let mut one = sample::run(1.0);
        one.targets.truncate(1);
        one.split = None;
        let text = run(&one);
        for part in [
            "SQL statistics:",
            "queries performed:",
            "General statistics:",
            "Latency (ms):",
            "95th percentile:",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(text.contains("transactions:                        12000  (500.00 per sec.)"), "{text}");
    }

    #[test]
    fn what_ended_it_early_and_a_busy_machine_are_told() {
        let mut run_ = sample::run(1.0);
        run_.ended_early = Some("direct died".into());
        run_.others_cpu = Some(0.4);
        let text = run(&run_);
        assert!(text.contains("Ended early: direct died") && text.contains("took 40 %"), "{text}");
    }
}
