//! What is seen while a run is on: a bar on a terminal, plain lines elsewhere, objects for machines.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use crate::ab::Progress;
use crate::driver::{Counts, Interval};
use crate::report::Point;
use crate::stats::Ratio;

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A bar with time left, where stderr is a terminal; else lines of rounds.
    Human,
    /// One JSON object a line on stdout.
    JsonLines,
    /// Nothing.
    Silent,
}

/// Shows progress.
#[derive(Debug)]
pub struct Live {
    style: Style,
    bar: Option<ProgressBar>,
    percentile: u32,
    threads: u32,
    /// Whether each interval is a line, as sysbench's `--report-interval` has it.
    lines: bool,
    total: Duration,
    latest: Vec<(String, String)>,
}

/// Steps of a bar.
const STEPS: u64 = 1000;

impl Live {
    /// Shows a run of `total` length.
    #[must_use]
    pub fn new(style: Style, total: Duration, plan: &crate::plan::Plan) -> Live {
        let terminal = style == Style::Human && io::stderr().is_terminal() && !total.is_zero();
        let bar = terminal.then(|| {
            let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
            let template = "{bar:30} {percent:>3} %  {msg}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        Live {
            style,
            bar,
            percentile: plan.percentile,
            threads: plan.threads,
            lines: !plan.report_interval.is_zero(),
            total,
            latest: Vec::new(),
        }
    }

    /// Leaves out the lines of rounds where there is no bar.
    pub fn only_bar(&mut self) {
        if self.bar.is_none() {
            self.style = Style::Silent;
        }
    }

    /// Shows what happens.
    pub fn show(&mut self, progress: &Progress<'_>) {
        match (self.style, progress) {
            (Style::Silent, _) => {}
            (Style::JsonLines, progress) => self.object(progress),
            (Style::Human, Progress::Note(text)) => self.say(text),
            (Style::Human, Progress::Interval { target, offset, interval, done }) => {
                if self.lines {
                    let line = interval_line(*offset, interval, self.threads, self.percentile);
                    self.line(&format!("{target} {line}"));
                }
                self.advance(target, interval, *done);
            }
            (Style::Human, Progress::Round { number, figures, ratios }) => {
                if self.bar.is_none() {
                    let tps: Vec<String> = figures.iter().map(|f| format!("{:.1}", f.tps)).collect();
                    self.line(&format!("round {number}: tps {}{}", tps.join(" / "), shown(ratios)));
                }
            }
        }
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(text.to_owned()),
            None => self.line(text),
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            // Whoever read stdout may be gone; the run goes on for its report.
            None => drop(writeln!(io::stdout(), "{text}")),
        }
    }

    fn advance(&mut self, target: &str, interval: &Interval, done: f64) {
        let Some(bar) = &self.bar else { return };
        let point = Point::of(interval, 0.0, self.percentile);
        let state = format!("{:.0} tps, {:.2} ms", point.tps, point.mean_ms);
        match self.latest.iter_mut().find(|(name, _)| name == target) {
            Some((_, latest)) => *latest = state,
            None => self.latest.push((target.to_owned(), state)),
        }
        let states: Vec<String> =
            self.latest.iter().map(|(name, state)| format!("{name}: {state}")).collect();
        let left = self.total.mul_f64((1.0 - done).max(0.0)).as_secs();
        bar.set_position(position(done));
        bar.set_message(format!("{left} s left  {}", states.join("  ")));
    }

    fn object(&self, progress: &Progress<'_>) {
        let value = match progress {
            Progress::Note(text) => json!({"event": "note", "text": text}),
            Progress::Interval { target, offset, interval, done } => {
                let point = Point::of(interval, offset.as_secs_f64(), self.percentile);
                json!({"event": "interval", "target": target, "done": done, "point": point,
                       "errors": interval.counts.errors, "reconnects": interval.counts.reconnects})
            }
            Progress::Round { number, figures, ratios } => {
                json!({"event": "round", "number": number, "figures": figures, "ratios": ratios})
            }
        };
        // As above.
        drop(writeln!(io::stdout(), "{value}"));
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a thousand"
)]
fn position(done: f64) -> u64 {
    (done.clamp(0.0, 1.0) * STEPS as f64) as u64
}

fn shown(ratios: &[Option<Ratio>]) -> String {
    let shown: Vec<String> = ratios.iter().flatten().map(crate::report::text::shown_ratio).collect();
    if shown.is_empty() { String::new() } else { format!(", ratio so far {}", shown.join(" / ")) }
}

/// sysbench's line of an interval.
#[must_use]
pub fn interval_line(offset: Duration, interval: &Interval, threads: u32, percentile: u32) -> String {
    let end = (offset + interval.start + interval.length).as_secs_f64();
    let Counts { events, reads, writes, others, errors, reconnects } = interval.counts;
    let rate = |count: u64| crate::driver::per_second(count, interval.length);
    format!(
        "[ {end:.0}s ] thds: {threads} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms,{percentile}%): {:.2} \
         err/s: {:.2} reconn/s: {:.2}",
        rate(events),
        rate(reads + writes + others),
        rate(reads),
        rate(writes),
        rate(others),
        interval.latency.percentile_ms(percentile.into()),
        rate(errors),
        rate(reconnects),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_sysbenchs_line() {
        let counts = Counts { events: 100, reads: 1400, writes: 400, others: 200, errors: 2, reconnects: 1 };
        let interval = Interval {
            start: Duration::from_secs(2),
            length: Duration::from_secs(2),
            counts,
            latency: crate::driver::Latency::default(),
        };
        assert_eq!(
            interval_line(Duration::from_secs(1), &interval, 8, 95),
            "[ 5s ] thds: 8 tps: 50.00 qps: 1000.00 (r/w/o: 700.00/200.00/100.00) lat (ms,95%): 0.00 err/s: 1.00 \
             reconn/s: 0.50"
        );
    }
}
