//! A report for tests: two targets, rounds with a known ratio.

use super::{Comparison, Document, Figures, Point, Run, Split, TargetResult};
use crate::comparability::{Check, Comparability, Weight};
use crate::counters::{CountedBy, ServerCounts};
use crate::environment::Environment;
use crate::plan::Plan;
use crate::stats::Ratio;
use crate::workload::Kind;

fn figures(speed: f64) -> Figures {
    Figures {
        seconds: 24.0,
        events: 12_000,
        reads: 168_000,
        writes: 48_000,
        others: 24_000,
        tps: speed,
        qps: speed * 20.0,
        min_ms: 500.0 / speed,
        mean_ms: 1000.0 / speed,
        p50_ms: 900.0 / speed,
        p95_ms: 2000.0 / speed,
        chosen_ms: 2000.0 / speed,
        p99_ms: 3000.0 / speed,
        max_ms: 9000.0 / speed,
        ..Figures::default()
    }
}

fn target(name: &str, speed: f64) -> TargetResult {
    TargetResult {
        name: name.to_owned(),
        address: "app@127.0.0.1:3306/sbtest".to_owned(),
        total: figures(speed),
        intervals: (0..24_u32)
            .map(|at| Point {
                at: f64::from(at),
                tps: speed,
                reads: 14.0 * speed,
                writes: 4.0 * speed,
                mean_ms: 1.0,
                chosen_ms: 2.0,
            })
            .collect(),
        distribution: vec![(0.0, 0.5), (50.0, 1.0), (95.0, 2.0), (100.0, 9.0)],
        cpu: None,
        fairness: None,
    }
}

/// The second target does `ratio` of what the first does, in twelve rounds that differ a little.
pub(crate) fn run(ratio: f64) -> Run {
    let plan = Plan { threads: 8, ..Plan::new(Kind::OltpReadWrite) };
    let wobble = |at: usize| 1.0 + 0.02 * f64::from(u32::try_from(at * 7 % 5).unwrap_or(0));
    let rounds: Vec<Vec<Figures>> = (0..12)
        .map(|at| vec![figures(500.0 * wobble(at)), figures(500.0 * ratio * wobble(at + 1))])
        .collect();
    let ratios: Vec<f64> = rounds.iter().map(|round| round[1].tps / round[0].tps).collect();
    let throughput = Ratio::of_rounds(&ratios).expect("twelve rounds");
    let check = |name: &str, values: [&str; 2], weight| Check {
        name: name.to_owned(),
        values: values.map(str::to_owned).to_vec(),
        weight,
    };
    Run {
        title: plan.name(),
        plan,
        targets: vec![target("direct", 500.0), target("proxy", 500.0 * ratio)],
        rounds,
        comparisons: vec![Comparison {
            baseline: "direct".to_owned(),
            target: "proxy".to_owned(),
            throughput,
            verdict: throughput.verdict(),
            latency: vec![("p95".to_owned(), throughput)],
            added_us_per_query: 5.0,
        }],
        comparability: Comparability {
            checks: vec![
                check("servers of reads", ["1", "2, 3"], Weight::Known),
                check("sync_binlog", ["0", "0"], Weight::Must),
            ],
            changed: Vec::new(),
        },
        split: Some(Split {
            counted_by: CountedBy::UserStatistics,
            servers: ["primary", "replica1"].map(str::to_owned).to_vec(),
            counts: vec![
                vec![ServerCounts { reads: 168_000, writes: 48_000 }, ServerCounts::default()],
                vec![ServerCounts { reads: 0, writes: 48_000 }, ServerCounts { reads: 168_000, writes: 0 }],
            ],
            servers_cpu_us_per_query: vec![Some(30.0), None],
        }),
        others_cpu: Some(0.03),
        ended_early: None,
    }
}

/// A report of one such run.
pub(crate) fn document() -> Document {
    let mut document = Document::new(vec!["telamon-bench".to_owned(), "ab".to_owned()]);
    document.environment = Environment { cpu: "a processor".to_owned(), ..Environment::default() };
    document.runs.push(run(0.8));
    document
}
