//! The rounds as a report.

use super::contender::{Contender, Work};
use super::{Rounds, Setting};
use crate::comparability::Comparability;
use crate::driver::per_query_us;
use crate::plan::Plan;
use crate::report::{Comparison, Cpu, Fairness, Figures, Run, Split, TargetResult, distribution};
use crate::stats::{Ratio, median};

/// What was found besides the rounds.
pub(super) struct Found {
    pub(super) comparability: Comparability,
    pub(super) others_cpu: Option<f64>,
    pub(super) ended_early: Option<String>,
}

/// A figure of target `at` by that of the first, round by round.
pub(super) fn per_round(rounds: &[Vec<Figures>], at: usize, figure: impl Fn(&Figures) -> f64) -> Vec<f64> {
    rounds.iter().map(|round| figure(&round[at]) / figure(&round[0])).collect()
}

/// All of it.
pub(super) fn assemble(contenders: &[Contender], setting: &Setting<'_>, rounds: Rounds, found: Found) -> Run {
    let plan = setting.plan;
    let names: Vec<&str> = contenders.iter().map(|c| c.target.name.as_str()).collect();
    let comparisons = (1..names.len()).filter_map(|at| compare(&rounds.figures, &names, at)).collect();
    let split = setting.counters.as_ref().and_then(|counters| {
        Some(Split {
            counted_by: counters.counted_by()?,
            servers: counters.names(),
            counts: rounds.work.iter().map(|work| work.counts.clone()).collect(),
            servers_cpu_us_per_query: rounds
                .work
                .iter()
                .map(|work| work.servers_cpu.map(|cpu| per_query_us(cpu, &work.sample)))
                .collect(),
        })
    });
    let results = contenders.iter().zip(&rounds.work).map(|(contender, work)| {
        let is_server = contender.pid.is_some_and(|pid| setting.server_pids.contains(&pid));
        target_result(contender, work, plan, is_server)
    });
    Run {
        title: plan.name(),
        plan: plan.clone(),
        targets: results.collect(),
        rounds: rounds.figures,
        comparisons,
        comparability: found.comparability,
        split,
        others_cpu: found.others_cpu,
        ended_early: found.ended_early,
    }
}

pub(super) fn target_result(
    contender: &Contender,
    work: &Work,
    plan: &Plan,
    is_server: bool,
) -> TargetResult {
    let cpu = contender.pid.filter(|_| !is_server).zip(work.cpu);
    TargetResult {
        name: contender.target.name.clone(),
        address: contender.target.shown(),
        total: Figures::of(&work.sample, plan.percentile),
        intervals: work.intervals.clone(),
        distribution: distribution(&work.sample.latency),
        cpu: cpu.map(|(pid, time)| Cpu { pid, us_per_query: per_query_us(time, &work.sample) }),
        fairness: Fairness::of(&work.sample),
    }
}

/// Target `at` compared with the first; None without a round.
pub(super) fn compare(rounds: &[Vec<Figures>], names: &[&str], at: usize) -> Option<Comparison> {
    let ratio = |figure: fn(&Figures) -> f64| Ratio::of_rounds(&per_round(rounds, at, figure));
    let throughput = ratio(|f| f.tps)?;
    let mut latency = Vec::new();
    let mut add = |name: &str, figure: fn(&Figures) -> f64| {
        latency.extend(ratio(figure).map(|ratio| (name.to_owned(), ratio)));
    };
    add("mean", |figures| figures.mean_ms);
    add("p50", |figures| figures.p50_ms);
    add("p95", |figures| figures.p95_ms);
    add("p99", |figures| figures.p99_ms);
    Some(Comparison {
        baseline: names[0].to_owned(),
        target: names[at].to_owned(),
        throughput,
        verdict: throughput.verdict(),
        latency,
        added_us_per_query: median(&added(rounds, at)),
    })
}

/// The time of a statement that target `at` adds to that of the first, in µs, round by round.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn added(rounds: &[Vec<Figures>], at: usize) -> Vec<f64> {
    let per_query = |figures: &Figures| {
        let queries = figures.queries() as f64 / (figures.events.max(1)) as f64;
        figures.mean_ms * 1000.0 / queries.max(1e-9)
    };
    rounds.iter().map(|round| per_query(&round[at]) - per_query(&round[0])).collect()
}
