//! A stored report: everything that was measured and what is needed to repeat it. docs/benchmarking.md describes the
//! fields; [`SCHEMA`] counts up when one changes its meaning or goes.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::comparability::Comparability;
use crate::counters::{CountedBy, ServerCounts};
use crate::driver::{Interval, Latency, Sample};
use crate::environment::Environment;
use crate::plan::Plan;
use crate::stats::{Ratio, Verdict};

/// The name and version of the form that a report is stored in.
pub const SCHEMA: &str = "telamon-bench-report/1";

/// A stored report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: String,
    /// When it was begun, in UTC.
    pub created: String,
    /// The command as it was given, passwords left out.
    pub command: Vec<String>,
    /// The machine that the driver ran on.
    pub environment: Environment,
    /// One for each workload or setting.
    pub runs: Vec<Run>,
}

/// One workload on one or more targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The workload, and the settings where several were tried.
    pub title: String,
    /// What was sent.
    pub plan: Plan,
    /// What each target did; the first is what the others are compared with.
    pub targets: Vec<TargetResult>,
    /// What each target did in each round, in the targets' order.
    pub rounds: Vec<Vec<Figures>>,
    /// Each further target compared with the first.
    pub comparisons: Vec<Comparison>,
    /// Whether the targets can be compared.
    pub comparability: Comparability,
    /// Where statements went.
    pub split: Option<Split>,
    /// CPU time that went to neither targets, servers nor driver, as a share of the machine's.
    pub others_cpu: Option<f64>,
    /// What ended it early: an error's line, or an interruption.
    pub ended_early: Option<String>,
}

/// What one target did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetResult {
    /// Its name.
    pub name: String,
    /// Its address and account.
    pub address: String,
    /// All its slices together.
    pub total: Figures,
    /// Over time: each slice's intervals.
    pub intervals: Vec<Point>,
    /// Percentiles of latency: percent and ms.
    pub distribution: Vec<(f64, f64)>,
    /// CPU time of its process, where that is on this machine and not itself a server's.
    pub cpu: Option<Cpu>,
    /// How evenly its threads worked.
    pub fairness: Option<Fairness>,
}

/// What was done in some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Seconds of measuring.
    pub seconds: f64,
    /// Events: sysbench's transactions.
    pub events: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// BEGIN, COMMIT, ROLLBACK.
    pub others: u64,
    /// Errors that were passed over.
    pub errors: u64,
    /// Connections made anew.
    pub reconnects: u64,
    /// Events of an open loop that were due and never begun.
    pub late: u64,
    /// Events a second.
    pub tps: f64,
    /// Statements a second.
    pub qps: f64,
    /// Shortest latency of an event, in ms.
    pub min_ms: f64,
    /// Mean latency.
    pub mean_ms: f64,
    /// Median latency.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// The plan's percentile.
    pub chosen_ms: f64,
    /// Longest latency.
    pub max_ms: f64,
}

impl Figures {
    /// A sample's figures.
    #[must_use]
    pub fn of(sample: &Sample, percentile: u32) -> Figures {
        let (counts, latency) = (&sample.counts, &sample.latency);
        Figures {
            seconds: sample.elapsed.as_secs_f64(),
            events: counts.events,
            reads: counts.reads,
            writes: counts.writes,
            others: counts.others,
            errors: counts.errors,
            reconnects: counts.reconnects,
            late: sample.late,
            tps: sample.tps(),
            qps: sample.qps(),
            min_ms: latency.min_ms(),
            mean_ms: latency.mean_ms(),
            p50_ms: latency.percentile_ms(50.0),
            p95_ms: latency.percentile_ms(95.0),
            p99_ms: latency.percentile_ms(99.0),
            chosen_ms: latency.percentile_ms(percentile.into()),
            max_ms: latency.max_ms(),
        }
    }

    /// All statements.
    #[must_use]
    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.others
    }
}

/// A point of the curves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// When: seconds since the run's begin, at the interval's middle.
    pub at: f64,
    /// Events a second.
    pub tps: f64,
    /// Reads a second.
    pub reads: f64,
    /// Writes a second.
    pub writes: f64,
    /// Mean latency of an event, in ms.
    pub mean_ms: f64,
    /// The plan's percentile of latency, in ms.
    pub chosen_ms: f64,
}

impl Point {
    /// An interval's point; `offset` is when its slice began, in seconds since the run's begin.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    pub fn of(interval: &Interval, offset: f64, percentile: u32) -> Point {
        let seconds = interval.length.as_secs_f64().max(1e-9);
        let rate = |count: u64| count as f64 / seconds;
        Point {
            at: offset + interval.start.as_secs_f64() + seconds / 2.0,
            tps: rate(interval.counts.events),
            reads: rate(interval.counts.reads),
            writes: rate(interval.counts.writes),
            mean_ms: interval.latency.mean_ms(),
            chosen_ms: interval.latency.percentile_ms(percentile.into()),
        }
    }
}

/// The percentiles that a distribution is stored at.
const PERCENTILES: [f64; 21] = [
    0.0, 5.0, 10.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 95.0, 98.0, 99.0, 99.5,
    99.9, 99.99, 100.0,
];

/// A distribution's percentiles.
#[must_use]
pub fn distribution(latency: &Latency) -> Vec<(f64, f64)> {
    PERCENTILES.iter().map(|percent| (*percent, latency.percentile_ms(*percent))).collect()
}

/// CPU time of a target's process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// Its process.
    pub pid: u32,
    /// CPU time of a statement, in µs.
    pub us_per_query: f64,
}

/// How evenly threads worked: mean and standard deviation over threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Events of a thread.
    pub events_mean: f64,
    /// Their standard deviation.
    pub events_stddev: f64,
    /// Seconds that a thread was at work.
    pub busy_mean_s: f64,
    /// Their standard deviation.
    pub busy_stddev_s: f64,
}

impl Fairness {
    /// Of a sample's threads; None where there was none.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    pub fn of(sample: &Sample) -> Option<Fairness> {
        let spread = |values: Vec<f64>| {
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
            (mean, variance.sqrt())
        };
        if sample.threads.is_empty() {
            return None;
        }
        let (events_mean, events_stddev) = spread(sample.threads.iter().map(|(n, _)| *n as f64).collect());
        let (busy_mean_s, busy_stddev_s) =
            spread(sample.threads.iter().map(|(_, t)| t.as_secs_f64()).collect());
        Some(Fairness { events_mean, events_stddev, busy_mean_s, busy_stddev_s })
    }
}

/// A target compared with the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first target's name.
    pub baseline: String,
    /// The target's name.
    pub target: String,
    /// Events a second of the target by those of the first.
    pub throughput: Ratio,
    /// What that says.
    pub verdict: Verdict,
    /// Latency of the target by that of the first: mean, p50, p95, p99.
    pub latency: Vec<(String, Ratio)>,
    /// Mean latency that the target adds to a statement, in µs; the difference of the rounds' medians.
    pub added_us_per_query: f64,
}

/// Where statements went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// By what the servers counted.
    pub counted_by: CountedBy,
    /// The servers' names.
    pub servers: Vec<String>,
    /// What each server counted while each target worked: targets, then servers.
    pub counts: Vec<Vec<ServerCounts>>,
    /// CPU time of the servers for a statement of each target, in µs; where their processes are on this machine.
    pub servers_cpu_us_per_query: Vec<Option<f64>>,
}

/// A report that could not be stored or read.
#[derive(Debug, Error)]
pub enum DocumentError {
    /// The file.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was being done.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// Its content.
    #[error("{path} is not a report of telamon-bench: {source}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Its version.
    #[error("{path} has the form {found}, this program reads {SCHEMA}")]
    Version {
        /// The file.
        path: PathBuf,
        /// What it says it is.
        found: String,
    },
}

impl Document {
    /// An empty report, begun now.
    #[must_use]
    pub fn new(command: Vec<String>) -> Document {
        Document {
            schema: SCHEMA.to_owned(),
            created: crate::environment::utc_now(),
            command,
            environment: Environment::now(),
            runs: Vec::new(),
        }
    }

    /// Stores it as JSON.
    ///
    /// # Errors
    /// [`DocumentError::File`].
    pub fn write(&self, path: &Path) -> Result<(), DocumentError> {
        let text = serde_json::to_vec_pretty(self).expect("a report is plain text and finite numbers");
        write(path, &text)
    }

    /// Reads a stored report.
    ///
    /// # Errors
    /// No such file, or not a report, or one of another version.
    pub fn read(path: &Path) -> Result<Document, DocumentError> {
        let file = |source| DocumentError::File { action: "read", path: path.to_owned(), source };
        let content = |source| DocumentError::Content { path: path.to_owned(), source };
        let value: serde_json::Value =
            serde_json::from_slice(&fs::read(path).map_err(file)?).map_err(content)?;
        match value.get("schema").and_then(|schema| schema.as_str()) {
            Some(found) if found != SCHEMA => {
                Err(DocumentError::Version { path: path.to_owned(), found: found.to_owned() })
            }
            _ => serde_json::from_value(value).map_err(content),
        }
    }
}

/// Writes a report's file.
///
/// # Errors
/// [`DocumentError::File`].
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), DocumentError> {
    fs::write(path, bytes).map_err(|source| DocumentError::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

/// The command line that this program was started with, without the passwords in it.
#[must_use]
pub fn shown_command() -> Vec<String> {
    let mut arguments = std::env::args();
    // Where the program lies is the machine's business.
    let program = arguments.next().map(|_| "telamon-bench".to_owned());
    program.into_iter().chain(arguments.map(|argument| without_password(&argument))).collect()
}

fn without_password(argument: &str) -> String {
    let Some((head, rest)) = argument.split_once("://") else { return bare(argument) };
    format!("{head}://{}", bare(rest))
}

/// `user:password@host` without the password.
fn bare(text: &str) -> String {
    match text.rsplit_once('@').and_then(|(account, host)| Some((account.split_once(':')?.0, host))) {
        Some((user, host)) => format!("{user}@{host}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_stored() {
        let shown = without_password("direct=mysql://app:se:cr@et@127.0.0.1:3306/sbtest");
        assert_eq!(shown, "direct=mysql://app@127.0.0.1:3306/sbtest");
        assert_eq!(without_password("app:secret@localhost"), "app@localhost");
        assert_eq!(without_password("--threads"), "--threads");
    }

    #[test]
    fn a_report_of_another_version_or_another_kind_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        let says = |text: &str| {
            fs::write(&path, text).unwrap();
            Document::read(&path).unwrap_err().to_string()
        };
        assert!(says(r#"{"schema": "telamon-bench-report/9"}"#).contains("telamon-bench-report/9"));
        assert!(says("{}").contains("is not a report"));
        assert!(says("no json").contains("is not a report"));
        assert!(Document::read(directory.path()).is_err());
    }

    #[test]
    fn a_stored_report_is_read_back_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.json");
        let document = super::super::sample::document();
        document.write(&path).unwrap();
        assert_eq!(Document::read(&path).unwrap(), document);
    }
}
