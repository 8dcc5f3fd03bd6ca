//! One workload on one target: what `run` does.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::contender::Turn;
use super::{AbError, Contender, Progress, Setting, counters_failed, outcome};
use crate::comparability::Comparability;
use crate::driver::{Interval, Slice};
use crate::report::{Run, Split};

/// Runs the plan's whole time, or its events, in one go.
///
/// # Errors
/// [`AbError`] where nothing could be measured; what ends a run later is in the [`Run`].
pub fn run_one(contender: &mut Contender, mut setting: Setting<'_>) -> Result<Run, AbError> {
    let plan = setting.plan;
    contender.connect(plan, setting.patience)?;
    super::warm_up(std::slice::from_mut(contender), &mut setting)?;
    if let Some(counters) = &mut setting.counters {
        counters.since_last().map_err(counters_failed)?;
    }
    let slice = Slice { number: 0, time: plan.time, events: plan.events, interval: plan.report_interval };
    let turn = Turn { slice, offset: Duration::ZERO, server_pids: &setting.server_pids };
    let name = contender.target.name.clone();
    let show = &mut setting.watch;
    let mut watch = |interval: &Interval| {
        let over = interval.start + interval.length;
        let done = if plan.time.is_zero() { 0.0 } else { over.as_secs_f64() / plan.time.as_secs_f64() };
        let offset = Duration::ZERO;
        show(Progress::Interval { target: &name, offset, interval, done: done.min(1.0) });
    };
    let (mut work, failure) = contender.work(plan, turn, &mut watch);
    contender.disconnect();
    let split = match &mut setting.counters {
        Some(counters) => {
            work.counted(counters.since_last().map_err(counters_failed)?);
            counters.counted_by().map(|counted_by| Split {
                counted_by,
                servers: counters.names(),
                counts: vec![work.counts.clone()],
                servers_cpu_us_per_query: vec![None],
            })
        }
        None => None,
    };
    let interrupted = setting.patience.stop.load(Ordering::Relaxed);
    let ended_early = failure
        .map(|failure| failure.to_string())
        .or_else(|| interrupted.then(|| super::INTERRUPTED.to_owned()));
    let is_server = contender.pid.is_some_and(|pid| setting.server_pids.contains(&pid));
    Ok(Run {
        title: plan.name(),
        plan: plan.clone(),
        targets: vec![outcome::target_result(contender, &work, plan, is_server)],
        rounds: Vec::new(),
        comparisons: Vec::new(),
        comparability: Comparability::default(),
        split,
        others_cpu: None,
        ended_early,
    })
}
