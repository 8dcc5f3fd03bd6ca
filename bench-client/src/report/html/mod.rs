//! The picture page: one file with its charts' library inside, so that it opens anywhere, without a network. Light and
//! dark as the reader's system is; every chart is said in words and has its figures as a table.

mod figures;
mod tables;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use super::{Document, Run};
use crate::stats::Verdict;

const CHARTS_CSS: &str = include_str!("../../../assets/uplot/uPlot.min.css");
const CHARTS_JS: &str = include_str!("../../../assets/uplot/uPlot.iife.min.js");
const CHARTS_LICENCE: &str = include_str!("../../../assets/uplot/LICENSE");
const PAGE_CSS: &str = include_str!("../../../assets/page.css");
const PAGE_JS: &str = include_str!("../../../assets/page.js");

/// The page of some reports.
#[must_use]
pub fn page(documents: &[Document]) -> String {
    let mut body = String::new();
    let mut number = 0;
    for document in documents {
        // A String takes every write, here and below.
        let _ = writeln!(
            body,
            "<p class=quiet>Measured {} on {}, {} cores, {}</p>",
            escaped(&document.created),
            escaped(&document.environment.cpu),
            document.environment.cores,
            escaped(&document.environment.system)
        );
        for run in &document.runs {
            body.push_str(&section(run, number));
            number += 1;
        }
        body.push_str(&tables::environment(document));
    }
    let runs: Vec<&Run> = documents.iter().flat_map(|document| &document.runs).collect();
    let title = title(&runs);
    // "</script>" must not end the data early.
    let data = serde_json::to_string(&runs).expect("finite numbers and plain text").replace("</", "<\\/");
    format!(
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <link rel=icon href=\"data:,\">\n<style>{CHARTS_CSS}</style>\n<style>{PAGE_CSS}</style>\n</head>\n\
         <body>\n<main>\n<h1>{title}</h1>\n{body}</main>\n\
         <script type=application/json id=data>{data}</script>\n\
         <script>/* uPlot\n{CHARTS_LICENCE}*/\n{CHARTS_JS}</script>\n<script>{PAGE_JS}</script>\n</body>\n</html>\n"
    )
}

fn title(runs: &[&Run]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for target in runs.iter().flat_map(|run| &run.targets) {
        if !names.contains(&target.name.as_str()) {
            names.push(&target.name);
        }
    }
    escaped(&format!("telamon-bench: {}", names.join(" and ")))
}

fn section(run: &Run, number: usize) -> String {
    let plan = &run.plan;
    let (threads, size) = (plan.threads, super::thousands(plan.tables.size.into()));
    let rate = match plan.rate {
        0 => "closed loop".to_owned(),
        rate => format!("open loop of {rate} events a second"),
    };
    let mut html = format!(
        "<h2>{}</h2>\n<p class=quiet>{threads} threads, {} tables of {size} rows, {rate}</p>\n",
        escaped(&run.title),
        plan.tables.count
    );
    for comparison in &run.comparisons {
        html.push_str(&verdict(comparison));
    }
    if let Some(why) = &run.ended_early {
        let _ = writeln!(html, "<p class=differs>Ended early: {}</p>", escaped(why));
    }
    html.push_str(&tables::differences(run));
    html.push_str(&tables::totals(run));
    html.push_str(&figures::legend(run));
    html.push_str(&figures::all(run, number));
    html.push_str(&tables::split(run));
    html.push_str(&tables::comparability(run));
    html
}

fn verdict(comparison: &super::Comparison) -> String {
    let ratio = &comparison.throughput;
    let words = comparison.verdict.words();
    let class = match comparison.verdict {
        Verdict::Lower => "lower",
        Verdict::Higher => "higher",
        Verdict::NoDifference | Verdict::TooFewRounds => "same",
    };
    let (target, baseline) = (escaped(&comparison.target), escaped(&comparison.baseline));
    format!(
        "<p class=verdict>Throughput of {target} by that of {baseline}: <strong>{:.3}</strong> \
         <span class={class}>{words}</span><br><span class=quiet>95 % interval {:.3} to {:.3}, {} rounds; a \
         statement takes {:+.1} µs</span></p>\n",
        ratio.median, ratio.low, ratio.high, ratio.rounds, comparison.added_us_per_query
    )
}

/// Text as HTML shows it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(character),
        }
    }
    out
}
