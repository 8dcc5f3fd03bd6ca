//! What measurements allow to say. Pure: numbers in, numbers out.
//!
//! A ratio is measured once in each round, between neighbours in time, so that what else the machine does falls on
//! both alike. The rounds' median is the result; how far it may be off by chance is told by the bootstrap: the same
//! median of many samples drawn from the rounds themselves. Ratios are taken as logarithms, so that 2 and 1/2 are
//! equally far from 1.

mod bootstrap;

use serde::{Deserialize, Serialize};

/// Fewer rounds than this do not bear a verdict: the interval of the median of six covers 93 %.
pub const FEWEST_ROUNDS: usize = 6;

/// The middle value, or the mean of the two in the middle; 0 of none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted[..] {
        [] => 0.0,
        _ if sorted.len() % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// A ratio with what is known of its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The median of the rounds.
    pub median: f64,
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// The upper end of the 95 % interval.
    pub high: f64,
    /// From how many rounds.
    pub rounds: usize,
}

/// What a ratio says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Too few rounds to say anything.
    TooFewRounds,
    /// The interval holds 1.
    NoDifference,
    /// The whole interval is below 1.
    Lower,
    /// The whole interval is above 1.
    Higher,
}

impl Verdict {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Verdict::TooFewRounds => "too few rounds to say anything",
            Verdict::NoDifference => "no difference seen",
            Verdict::Lower => "lower",
            Verdict::Higher => "higher",
        }
    }
}

impl Ratio {
    /// The ratio of a round each; rounds in which either is 0 are left out. None where none is left.
    #[must_use]
    pub fn of_rounds(rounds: &[f64]) -> Option<Ratio> {
        let logs = logs(rounds);
        (!logs.is_empty()).then(|| Ratio::from_logs(bootstrap::interval(&logs), logs.len()))
    }

    /// The ratio of two runs' medians: `after` by `before`, whose rounds have nothing to do with each other.
    #[must_use]
    pub fn of_runs(before: &[f64], after: &[f64]) -> Option<Ratio> {
        let (before, after) = (logs(before), logs(after));
        let rounds = before.len().min(after.len());
        (rounds > 0).then(|| Ratio::from_logs(bootstrap::difference(&before, &after), rounds))
    }

    fn from_logs(interval: bootstrap::Interval, rounds: usize) -> Ratio {
        Ratio { median: interval.middle.exp(), low: interval.low.exp(), high: interval.high.exp(), rounds }
    }

    /// What it says.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            _ if self.rounds < FEWEST_ROUNDS => Verdict::TooFewRounds,
            _ if self.high < 1.0 => Verdict::Lower,
            _ if self.low > 1.0 => Verdict::Higher,
            _ => Verdict::NoDifference,
        }
    }

    /// Half the interval's width as a share of the median; infinite where there are too few rounds.
    #[must_use]
    pub fn precision(&self) -> f64 {
        if self.rounds < FEWEST_ROUNDS { f64::INFINITY } else { (self.high - self.low) / 2.0 / self.median }
    }
}

fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.ln()).filter(|log| log.is_finite()).collect()
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
    fn a_verdict_needs_rounds_and_an_interval_beside_one() {
        let verdict = |low, high, rounds| Ratio { median: 1.0, low, high, rounds }.verdict();
        assert_eq!(verdict(0.9, 0.99, 5), Verdict::TooFewRounds);
        assert_eq!(verdict(0.9, 0.99, 6), Verdict::Lower);
        assert_eq!(verdict(0.9, 1.01, 60), Verdict::NoDifference);
        assert_eq!(verdict(1.01, 1.1, 60), Verdict::Higher);
    }

    #[test]
    fn equal_rounds_give_an_interval_without_width() {
        let ratio = Ratio::of_rounds(&[0.5; 10]).unwrap();
        assert!((ratio.low - 0.5).abs() < 1e-9 && (ratio.high - 0.5).abs() < 1e-9);
        assert!(ratio.precision() < 1e-9);
        assert_eq!(Ratio::of_rounds(&[0.0, f64::NAN]), None);
        assert_eq!(Ratio::of_runs(&[], &[1.0]), None);
    }
}
