//! The charts' places, each with its words and its figures.

use std::fmt::Write as _;

use super::escaped;
use super::tables::table;
use crate::report::{Point, Run, TargetResult};

/// Which colour is whose.
pub(super) fn legend(run: &Run) -> String {
    let mut html = "<ul class=legend>".to_owned();
    for (at, target) in run.targets.iter().enumerate() {
        // A String takes every write, here and below.
        let _ = write!(html, "<li style=\"--c: var(--s{})\">{}</li>", at % 5, escaped(&target.name));
    }
    html + "</ul>\n"
}

/// One chart.
struct Chart<'a> {
    kind: &'a str,
    title: &'a str,
    caption: &'a str,
    /// What a reader who does not see it is told.
    words: String,
    /// Its figures as a table.
    figures: String,
}

/// All charts of a run.
pub(super) fn all(run: &Run, number: usize) -> String {
    let mut html = "<div class=grid>\n".to_owned();
    let mut add = |chart: Chart<'_>| {
        let Chart { kind, title, caption, words, figures } = chart;
        let words = escaped(&format!("{title}. {words}"));
        let _ = write!(
            html,
            "<figure>\n<figcaption><b>{title}</b> {caption}</figcaption>\n<div class=chart role=img \
             data-chart={kind} data-run={number} aria-label=\"{words}\"></div>\n<details><summary>{title} as a \
             table</summary>{figures}</details>\n</figure>\n"
        );
    };
    let curve = |kind, title, caption, value: fn(&Point) -> f64| {
        let (words, figures) = (curve_words(run, value), curve_figures(run, value));
        Chart { kind, title, caption, words, figures }
    };
    add(curve("tps", "Transactions", "a second, over time", |point| point.tps));
    add(curve("reads", "Reads", "a second, over time", |point| point.reads));
    add(curve("writes", "Writes", "a second, over time", |point| point.writes));
    add(curve("latency", "Response time", "of a transaction: mean in ms, over time", |point| point.mean_ms));
    add(Chart {
        kind: "distribution",
        title: "Latency distribution",
        caption: "ms by percentile, both scales by decades",
        words: distribution_words(run),
        figures: distribution_figures(run),
    });
    if !run.comparisons.is_empty() && !run.rounds.is_empty() {
        add(Chart {
            kind: "rounds",
            title: "Ratio of each round",
            caption: "throughput by that of the first target; line: median, band: 95 % interval",
            words: rounds_words(run),
            figures: rounds_figures(run),
        });
    }
    html + "</div>\n"
}

fn each(run: &Run, words: impl Fn(&TargetResult) -> String) -> String {
    let each: Vec<String> =
        run.targets.iter().map(|target| format!("{}: {}", target.name, words(target))).collect();
    format!("{}.", each.join("; "))
}

fn curve_words(run: &Run, value: fn(&Point) -> f64) -> String {
    each(run, |target| {
        let values = target.intervals.iter().map(value);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.clone().fold(0.0, f64::max);
        let all: Vec<f64> = values.collect();
        if all.is_empty() {
            return "nothing measured".to_owned();
        }
        format!("from {low:.1} to {high:.1}, median {:.1}", crate::stats::median(&all))
    })
}

fn curve_figures(run: &Run, value: fn(&Point) -> f64) -> String {
    let rows = run.targets.iter().flat_map(|target| {
        target.intervals.iter().map(move |point| {
            vec![escaped(&target.name), format!("{:.1}", point.at), format!("{:.2}", value(point))]
        })
    });
    table(&["target", "s", "value"], rows)
}

fn distribution_words(run: &Run) -> String {
    each(run, |target| {
        let total = &target.total;
        format!("p50 {:.3} ms, p95 {:.3} ms, p99 {:.3} ms", total.p50_ms, total.p95_ms, total.p99_ms)
    })
}

fn distribution_figures(run: &Run) -> String {
    let mut head = vec!["percentile"];
    head.extend(run.targets.iter().map(|target| target.name.as_str()));
    let first = run.targets.first().map(|target| target.distribution.as_slice()).unwrap_or_default();
    let rows = first.iter().enumerate().map(|(at, (percent, _))| {
        let values = run
            .targets
            .iter()
            .map(|target| target.distribution.get(at).map_or(String::new(), |(_, ms)| format!("{ms:.3} ms")));
        [format!("{percent} %")].into_iter().chain(values).collect()
    });
    table(&head, rows)
}

fn rounds_words(run: &Run) -> String {
    let each = run.comparisons.iter().map(|comparison| {
        let ratio = &comparison.throughput;
        format!(
            "{}: median {:.3}, 95 % interval {:.3} to {:.3}",
            comparison.target, ratio.median, ratio.low, ratio.high
        )
    });
    each.collect::<Vec<_>>().join("; ")
}

fn rounds_figures(run: &Run) -> String {
    let mut head = vec!["round"];
    head.extend(run.targets.iter().map(|target| target.name.as_str()));
    let rows = run.rounds.iter().enumerate().map(|(number, round)| {
        let ratios = round.iter().map(|figures| format!("{:.3}", figures.tps / round[0].tps));
        [(number + 1).to_string()].into_iter().chain(ratios).collect()
    });
    table(&head, rows)
}
