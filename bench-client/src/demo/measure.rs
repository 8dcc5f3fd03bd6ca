//! One workload through the proxy and direct, in interleaved slices.

use std::time::Duration;

use super::DemoError;
use super::split::{Counters, Counts};
use crate::driver::{Driver, Sample, Slice};
use crate::plan::Plan;

/// Rounds of a workload; each gives one ratio.
pub(super) const ROUNDS: u32 = 5;

/// Slices of a round. Each side comes first and last alike, so a drift of the machine meets both.
const ORDER: [Side; 4] = [Side::Proxy, Side::Direct, Side::Direct, Side::Proxy];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Proxy,
    Direct,
}

/// What one side did over all rounds.
#[derive(Debug, Clone)]
pub(super) struct SideResult {
    /// All its slices.
    pub(super) sample: Sample,
    /// What each server counted meanwhile, in the cluster's order.
    pub(super) received: Vec<Counts>,
}

impl SideResult {
    fn empty(servers: usize) -> SideResult {
        SideResult { sample: Sample::default(), received: vec![Counts::default(); servers] }
    }

    /// What the driver sent.
    #[must_use]
    pub(super) fn sent(&self) -> Counts {
        Counts { reads: self.sample.counts.reads, writes: self.sample.counts.writes }
    }
}

/// A workload's result.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    /// What was run.
    pub(super) plan: Plan,
    /// Through the proxy.
    pub(super) proxy: SideResult,
    /// Direct to the primary.
    pub(super) direct: SideResult,
    /// Queries a second, proxied by direct, of each round.
    pub(super) ratios: Vec<f64>,
}

/// Runs [`ROUNDS`] rounds of the plan, which share its time.
pub(super) async fn measure(
    plan: &Plan,
    proxy: &mut Driver,
    direct: &mut Driver,
    counters: &mut Counters<'_>,
) -> Result<Measured, DemoError> {
    let slices = ROUNDS * u32::try_from(ORDER.len()).expect("four");
    let slice: Duration = plan.time / slices;
    // Not counted: caches fill, connections behind the proxy are opened.
    one(proxy, plan, 0, slice)?;
    one(direct, plan, 0, slice)?;
    let mut before = counters.read().await?;
    let (mut by_proxy, mut by_direct) = (SideResult::empty(before.len()), SideResult::empty(before.len()));
    let mut ratios = Vec::new();
    let mut number = 0;
    for _ in 0..ROUNDS {
        let (mut round_proxy, mut round_direct) = (Sample::default(), Sample::default());
        for side in ORDER {
            let (driver, round, result) = match side {
                Side::Proxy => (&mut *proxy, &mut round_proxy, &mut by_proxy),
                Side::Direct => (&mut *direct, &mut round_direct, &mut by_direct),
            };
            number += 1;
            let sample = one(driver, plan, number, slice)?;
            round.append(&sample);
            let after = counters.read().await?;
            for (sum, (after, before)) in result.received.iter_mut().zip(after.iter().zip(&before)) {
                sum.add(after.since(*before));
            }
            before = after;
        }
        ratios.push(round_proxy.qps() / round_direct.qps().max(f64::MIN_POSITIVE));
        by_proxy.sample.append(&round_proxy);
        by_direct.sample.append(&round_direct);
    }
    Ok(Measured { plan: plan.clone(), proxy: by_proxy, direct: by_direct, ratios })
}

fn one(driver: &mut Driver, plan: &Plan, number: u64, time: Duration) -> Result<Sample, DemoError> {
    let slice = Slice { number, time, events: 0, interval: time };
    let outcome = tokio::task::block_in_place(|| driver.run(plan, slice, |_| ()));
    outcome.failure.map_or(Ok(outcome.sample), |failure| Err(failure.into()))
}

/// The middle value, or the mean of the two in the middle; 0 of none.
#[must_use]
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted[..] {
        [] => 0.0,
        _ if sorted.len() % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "the values are exact in binary")]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn each_side_has_two_slices_and_the_round_reads_the_same_backwards() {
        let mut backwards = ORDER;
        backwards.reverse();
        assert_eq!(backwards, ORDER);
        assert_eq!(ORDER.iter().filter(|side| **side == Side::Proxy).count(), 2);
    }
}
