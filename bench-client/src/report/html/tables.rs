//! The page's tables.

use std::fmt::Write as _;

use super::escaped;
use crate::comparability::Weight;
use crate::report::{Document, Run, thousands, thousands_of};

/// A table of cells that are HTML already.
pub(super) fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.collect();
    let mut html = "<div class=scroll><table><thead><tr>".to_owned();
    for (at, name) in head.iter().enumerate() {
        // A heading stands where its words or numbers stand.
        let is_text = rows.first().and_then(|row| row.get(at)).is_some_and(|cell| cell.starts_with(TEXT));
        let class = if is_text { " class=text" } else { "" };
        // A String takes every write, here and below.
        let _ = write!(html, "<th scope=col{class}>{}</th>", escaped(name));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        for cell in row {
            match cell.strip_prefix(TEXT) {
                Some(text) => {
                    let _ = write!(html, "<td class=text>{text}</td>");
                }
                None => {
                    let _ = write!(html, "<td>{cell}</td>");
                }
            }
        }
        html.push_str("</tr>");
    }
    html + "</tbody></table></div>\n"
}

/// Begins a cell of words, which may be long.
const TEXT: &str = "\u{1}";

fn words(text: &str) -> String {
    format!("{TEXT}{}", escaped(text))
}

/// What differs between the targets.
pub(super) fn differences(run: &Run) -> String {
    let mut items = String::new();
    for check in run.comparability.differences() {
        let values: Vec<String> = run
            .targets
            .iter()
            .zip(&check.values)
            .map(|(target, value)| format!("{}: {value}", target.name))
            .collect();
        let class = if check.weight == Weight::Must { "differs" } else { "quiet" };
        let _ = writeln!(
            items,
            "<li class={class}>{} differ: {}</li>",
            escaped(&check.name),
            escaped(&values.join(" / "))
        );
    }
    for change in &run.comparability.changed {
        let _ = writeln!(items, "<li class=differs>changed meanwhile: {}</li>", escaped(change));
    }
    if let Some(share) = run.others_cpu.filter(|share| *share > 0.1) {
        let _ = writeln!(
            items,
            "<li class=differs>other processes took {:.0} % of the CPU time</li>",
            share * 100.0
        );
    }
    if items.is_empty() { String::new() } else { format!("<ul>\n{items}</ul>\n") }
}

/// What each target did.
pub(super) fn totals(run: &Run) -> String {
    let chosen = format!("p{} ms", run.plan.percentile);
    let head = [
        "target",
        "tps",
        "queries/s",
        "reads",
        "writes",
        "mean ms",
        &chosen,
        "p99 ms",
        "max ms",
        "errors",
        "CPU µs/query",
    ];
    let rows = run.targets.iter().map(|target| {
        let figures = &target.total;
        let cpu = target.cpu.map_or("–".to_owned(), |cpu| format!("{:.1}", cpu.us_per_query));
        vec![
            escaped(&target.name),
            format!("{:.1}", figures.tps),
            thousands_of(figures.qps),
            thousands(figures.reads),
            thousands(figures.writes),
            format!("{:.3}", figures.mean_ms),
            format!("{:.3}", figures.chosen_ms),
            format!("{:.3}", figures.p99_ms),
            format!("{:.2}", figures.max_ms),
            thousands(figures.errors),
            cpu,
        ]
    });
    table(&head, rows)
}

/// Where statements went, as bars and numbers.
pub(super) fn split(run: &Run) -> String {
    let Some(split) = &run.split else { return String::new() };
    let most = split.counts.iter().flatten().map(|counts| counts.reads.max(counts.writes)).max().unwrap_or(0);
    let mut rows = Vec::new();
    for (at, (target, counts)) in run.targets.iter().zip(&split.counts).enumerate() {
        for (server, counted) in split.servers.iter().zip(counts) {
            let bar = |count: u64| {
                let width = 8.0 * share(count, most);
                let color = at % 5;
                format!(
                    "{} <span class=bar style=\"--c: var(--s{color}); width: {width:.2}em\"></span>",
                    thousands(count)
                )
            };
            rows.push(vec![
                escaped(&target.name),
                words(server),
                format!("{TEXT}{}", bar(counted.reads)),
                format!("{TEXT}{}", bar(counted.writes)),
            ]);
        }
    }
    let by = escaped(split.counted_by.words());
    let table = table(&["target", "server", "reads", "writes"], rows.into_iter());
    format!("<h3>What each server counted</h3>\n<p class=quiet>{by}</p>\n{table}")
}

#[expect(clippy::cast_precision_loss, reason = "a bar's length")]
fn share(count: u64, most: u64) -> f64 {
    if most == 0 { 0.0 } else { count as f64 / most as f64 }
}

/// All that the targets were asked.
pub(super) fn comparability(run: &Run) -> String {
    if run.comparability.checks.is_empty() {
        return String::new();
    }
    let mut head = vec!["asked"];
    head.extend(run.targets.iter().map(|target| target.name.as_str()));
    let rows = run.comparability.checks.iter().map(|check| {
        let name =
            if check.same() { words(&check.name) } else { words(&format!("{} (differs)", check.name)) };
        [name].into_iter().chain(check.values.iter().map(|value| words(value))).collect()
    });
    let table = table(&head, rows);
    format!(
        "<h3>Are the targets comparable?</h3>\n<details><summary>all answers</summary>{table}</details>\n"
    )
}

/// The machine and the command.
pub(super) fn environment(document: &Document) -> String {
    let machine = &document.environment;
    let mut rows = vec![
        ("processor", machine.cpu.clone()),
        ("cores", machine.cores.to_string()),
        ("memory", format!("{} MiB", thousands(machine.memory_mib))),
        ("kernel", machine.kernel.clone()),
        ("system", machine.system.clone()),
        ("frequency governor", machine.governor.clone().unwrap_or_else(|| "none".to_owned())),
        ("load before", format!("{:.2}", machine.load)),
        ("telamon-bench", machine.telamon_bench.clone()),
    ];
    for target in document.runs.iter().flat_map(|run| &run.targets) {
        let row = ("target", format!("{} at {}", target.name, target.address));
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let table =
        table(&["", "value"], rows.into_iter().map(|(name, value)| vec![escaped(name), words(&value)]));
    let command = escaped(&document.command.join(" "));
    format!("<h2>Environment</h2>\n{table}<h3>Command</h3>\n<pre>{command}</pre>\n")
}
