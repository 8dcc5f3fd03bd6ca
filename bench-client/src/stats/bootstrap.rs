//! The smoothed bootstrap of a median.
//!
//! The plain bootstrap of a median can only land on a few of the values themselves, and its interval is too short
//! with few rounds. So each drawn value is moved by a little noise, as wide as the median's own uncertainty (the
//! interquartile range makes the scale: single rounds may be far off), and the interval is widened by √(n/(n−1)),
//! because a sample's spread is less than that of what it was drawn from. See Efron, "Bootstrap methods: another look
//! at the jackknife", Annals of Statistics 7, 1979, section 3. The tests prove the coverage.

use crate::workload::Random;

/// The middle and the two ends of a 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) middle: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

const RESAMPLES: usize = 2000;
/// Intervals of the same values are the same.
const SEED: u64 = 20_110_906;

/// The median of `values`, which are not empty.
pub(super) fn interval(values: &[f64]) -> Interval {
    interval_of(values, RESAMPLES, &mut Random::new(SEED, 1))
}

fn interval_of(values: &[f64], resamples: usize, random: &mut Random) -> Interval {
    let mut sample = Sample::new(values);
    let medians = (0..resamples).map(|_| sample.resampled_median(random)).collect();
    around(sample.median(), medians)
}

/// The difference of two medians, `after` less `before`; neither is empty.
pub(super) fn difference(before: &[f64], after: &[f64]) -> Interval {
    let random = &mut Random::new(SEED, 2);
    let (mut before, mut after) = (Sample::new(before), Sample::new(after));
    let draw = |_| after.resampled_median(random) - before.resampled_median(random);
    let differences = (0..RESAMPLES).map(draw).collect();
    around(after.median() - before.median(), differences)
}

fn around(middle: f64, mut drawn: Vec<f64>) -> Interval {
    drawn.sort_by(f64::total_cmp);
    let cut = drawn.len() / 40;
    Interval { middle, low: drawn[cut].min(middle), high: drawn[drawn.len() - 1 - cut].max(middle) }
}

struct Sample {
    sorted: Vec<f64>,
    noise: f64,
    widening: f64,
    drawn: Vec<f64>,
}

impl Sample {
    #[expect(clippy::cast_precision_loss, reason = "numbers of rounds are small")]
    fn new(values: &[f64]) -> Sample {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len() as f64;
        // 1.349: the interquartile range of a normal distribution with a standard deviation of 1.
        let spread = (quantile(&sorted, 0.75) - quantile(&sorted, 0.25)) / 1.349;
        let widening = if count > 1.0 { (count / (count - 1.0)).sqrt() } else { 1.0 };
        Sample { noise: spread / count.sqrt(), widening, drawn: vec![0.0; sorted.len()], sorted }
    }

    fn median(&self) -> f64 {
        middle(&self.sorted)
    }

    fn resampled_median(&mut self, random: &mut Random) -> f64 {
        let count = u32::try_from(self.sorted.len()).unwrap_or(u32::MAX);
        for value in &mut self.drawn {
            // The sum of two uniform numbers less 1 has a variance of 1/6.
            let noise = (random.unit() + random.unit() - 1.0) * 6.0_f64.sqrt() * self.noise;
            *value = self.sorted[random.up_to(count) as usize - 1] + noise;
        }
        self.drawn.sort_by(f64::total_cmp);
        let center = self.median();
        center + (middle(&self.drawn) - center) * self.widening
    }
}

fn middle(sorted: &[f64]) -> f64 {
    quantile(sorted, 0.5)
}

/// The value that a share of the sorted values does not exceed, between two of them where it falls there.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place among few values"
)]
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nearly normal, with a standard deviation of 1.
    fn noise(random: &mut Random) -> f64 {
        (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
    }

    /// Throughputs of two targets over some rounds on a machine that drifts: the second truly does `ratio` of the
    /// first. Answers each round's ratio.
    fn simulated_rounds(random: &mut Random, rounds: usize, ratio: f64) -> Vec<f64> {
        let mut speed = 1000.0;
        (0..rounds)
            .map(|_| {
                speed *= 1.0 + 0.05 * noise(random);
                // One round in ten is disturbed by something else.
                let spread = if random.unit() < 0.1 { 0.15 } else { 0.03 };
                let mut measured = |true_speed: f64| true_speed * (spread * noise(random)).exp();
                measured(speed * ratio) / measured(speed)
            })
            .collect()
    }

    #[test]
    fn the_interval_covers_the_true_ratio_in_93_to_97_of_100_trials() {
        for (rounds, ratio) in [(10, 0.7_f64), (12, 1.0), (20, 0.9), (31, 0.97)] {
            let mut random = Random::new(42, rounds as u64);
            let covered = (0..1000).filter(|_| {
                let logs: Vec<f64> =
                    simulated_rounds(&mut random, rounds, ratio).iter().map(|r| r.ln()).collect();
                let interval = interval_of(&logs, 600, &mut random);
                (interval.low..=interval.high).contains(&ratio.ln())
            });
            let covered = covered.count();
            assert!((930..=970).contains(&covered), "{covered} of 1000 with {rounds} rounds");
        }
    }

    #[test]
    fn the_interval_of_two_runs_covers_their_true_ratio() {
        let mut random = Random::new(7, 7);
        let covered = (0..300).filter(|_| {
            let before: Vec<f64> = (0..20).map(|_| 0.05 * noise(&mut random)).collect();
            let after: Vec<f64> = (0..20).map(|_| 0.05 * noise(&mut random) - 0.1).collect();
            let interval = difference(&before, &after);
            (interval.low..=interval.high).contains(&-0.1)
        });
        let covered = covered.count();
        assert!((276..=296).contains(&covered), "{covered} of 300");
    }

    #[test]
    fn one_round_that_is_far_off_does_not_move_the_interval_there() {
        let mut values = vec![0.0, 0.01, -0.01, 0.02, -0.02, 0.015, -0.015, 0.005, -0.005];
        values.push(-3.0);
        let interval = interval(&values);
        assert!(interval.low > -0.05 && interval.high < 0.05, "{interval:?}");
    }
}
