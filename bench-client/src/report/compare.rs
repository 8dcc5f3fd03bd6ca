//! What changed between two stored reports.
//!
//! Where both have the same two targets, what is compared is each target's ratio to the first: two machines, or one
//! on two days, differ in speed, but what a proxy costs can be compared. A report of one target is compared by its
//! throughput, and then only tells something on the same machine.

use std::fmt::Write as _;

use super::text::shown_ratio;
use super::{Align, Document, Figures, Run, Table};
use crate::stats::Ratio;

/// One target's change.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The workload.
    pub title: String,
    /// The target.
    pub target: String,
    /// What is compared: "ratio to direct" or "throughput".
    pub figure: String,
    /// After by before.
    pub ratio: Ratio,
}

/// The changes of all workloads and targets that both reports have.
#[must_use]
pub fn changes(before: &Document, after: &Document) -> Vec<Change> {
    let mut found = Vec::new();
    for old in &before.runs {
        let Some(new) = after.runs.iter().find(|new| new.title == old.title) else { continue };
        if old.targets.len() > 1 && new.targets.len() > 1 && old.targets[0].name == new.targets[0].name {
            for at in 1..old.targets.len() {
                found.extend(change_of_ratio(old, new, at));
            }
        } else {
            found
                .extend(old.targets.iter().filter_map(|target| change_of_throughput(old, new, &target.name)));
        }
    }
    found
}

fn change_of_ratio(old: &Run, new: &Run, at: usize) -> Option<Change> {
    let name = &old.targets[at].name;
    let there = new.targets.iter().position(|target| target.name == *name).filter(|there| *there > 0)?;
    let ratios = |run: &Run, at: usize| -> Vec<f64> {
        run.rounds.iter().map(|round| round[at].tps / round[0].tps).collect()
    };
    let ratio = Ratio::of_runs(&ratios(old, at), &ratios(new, there))?;
    let figure = format!("throughput / {}", old.targets[0].name);
    Some(Change { title: old.title.clone(), target: name.clone(), figure, ratio })
}

fn change_of_throughput(old: &Run, new: &Run, name: &str) -> Option<Change> {
    let ratio = Ratio::of_runs(&throughputs(old, name)?, &throughputs(new, name)?)?;
    let (title, target, figure) = (old.title.clone(), name.to_owned(), "throughput".to_owned());
    Some(Change { title, target, figure, ratio })
}

/// Events a second of a target's rounds; of its intervals where it was alone.
fn throughputs(run: &Run, name: &str) -> Option<Vec<f64>> {
    let at = run.targets.iter().position(|target| target.name == name)?;
    let tps = |figures: &Figures| figures.tps;
    Some(match run.rounds[..] {
        [] => run.targets[at].intervals.iter().map(|point| point.tps).collect(),
        _ => run.rounds.iter().map(|round| tps(&round[at])).collect(),
    })
}

/// The changes as text; what is different of the machines and plans first.
#[must_use]
pub fn text(before: &Document, after: &Document, changes: &[Change]) -> String {
    let mut text = String::new();
    let (old, new) = (&before.environment, &after.environment);
    let mut differs = |what: &str, old: &str, new: &str| {
        if old != new {
            // A String takes every write.
            let _ = writeln!(text, "  DIFFERENT  {what}: {old} / {new}");
        }
    };
    differs("processor", &old.cpu, &new.cpu);
    differs("cores", &old.cores.to_string(), &new.cores.to_string());
    differs("kernel", &old.kernel, &new.kernel);
    differs("telamon-bench", &old.telamon_bench, &new.telamon_bench);
    for old in &before.runs {
        let new = after.runs.iter().find(|new| new.title == old.title);
        let plan = |run: &Run| serde_json::to_string(&run.plan).unwrap_or_default();
        if let Some(new) = new.filter(|new| new.plan != old.plan) {
            differs(&format!("plan of {}", old.title), &plan(old), &plan(new));
        }
    }
    let mut table = Table::new(&[
        ("workload", Align::Left),
        ("target", Align::Left),
        ("figure", Align::Left),
        ("after / before", Align::Right),
        ("", Align::Left),
    ]);
    for change in changes {
        table.row([
            change.title.clone(),
            change.target.clone(),
            change.figure.clone(),
            shown_ratio(&change.ratio),
            change.ratio.verdict().words().to_owned(),
        ]);
    }
    let _ = write!(text, "{table}");
    text
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use crate::stats::Verdict;

    fn with(ratio: f64) -> Document {
        let mut document = sample::document();
        document.runs = vec![sample::run(ratio)];
        document
    }

    #[test]
    fn the_cost_of_a_proxy_is_compared_and_not_the_speed_of_the_machines() {
        let mut after = with(0.72);
        for figures in after.runs[0].rounds.iter_mut().flatten() {
            figures.tps *= 3.0;
        }
        let changes = changes(&with(0.8), &after);
        assert_eq!(changes.len(), 1);
        let change = &changes[0];
        assert_eq!((change.target.as_str(), change.figure.as_str()), ("proxy", "throughput / direct"));
        assert!((change.ratio.median - 0.9).abs() < 0.01, "{change:?}");
        assert_eq!(change.ratio.verdict(), Verdict::Lower);
    }

    #[test]
    fn equal_reports_show_no_difference() {
        let changes = changes(&with(0.8), &with(0.8));
        assert_eq!(changes[0].ratio.verdict(), Verdict::NoDifference);
        assert!((changes[0].ratio.median - 1.0).abs() < 1e-9);
    }

    #[test]
    fn single_targets_are_compared_by_their_throughput() {
        let single = |speed: f64| {
            let mut document = with(1.0);
            let run = &mut document.runs[0];
            run.targets.truncate(1);
            run.rounds.clear();
            run.targets[0].intervals.iter_mut().for_each(|point| point.tps *= speed);
            document
        };
        let changes = changes(&single(1.0), &single(0.5));
        assert_eq!(changes[0].figure, "throughput");
        assert!((changes[0].ratio.median - 0.5).abs() < 0.01);
    }

    #[test]
    fn reports_of_different_plans_say_so() {
        let mut after = with(0.8);
        after.runs[0].plan.threads = 64;
        after.environment.cores = 8;
        let before = with(0.8);
        let text = text(&before, &after, &changes(&before, &after));
        assert!(text.contains("plan of oltp_read_write") && text.contains("cores: 0 / 8"), "{text}");
    }
}
