//! When events of an open loop are due.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::workload::Random;

/// Arrivals at random, on average at a rate: as if many independent clients came, which is how sysbench makes them.
/// All threads take from it; what they do not come to take in time waits.
#[derive(Debug)]
pub(super) struct Schedule {
    arrivals: Mutex<(Random, Instant)>,
    mean: Duration,
    end: Option<Instant>,
}

impl Schedule {
    pub(super) fn new(rate: u32, random: Random, begin: Instant, end: Option<Instant>) -> Schedule {
        let mean = Duration::from_secs_f64(1.0 / f64::from(rate.max(1)));
        Schedule { arrivals: Mutex::new((random, begin)), mean, end }
    }

    /// When the next event is due; None where that is after the end.
    pub(super) fn next(&self) -> Option<Instant> {
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let (random, last) = &mut *arrivals;
        // 1 - unit is above 0, so the logarithm is finite.
        let due = *last + self.mean.mul_f64(-(1.0 - random.unit()).ln());
        *last = due;
        drop(arrivals);
        Some(due).filter(|due| self.end.is_none_or(|end| *due < end))
    }

    /// The events that were due before `end` and that nobody has taken: how long each of them has waited.
    pub(super) fn left_over(&self, end: Instant) -> Vec<Duration> {
        let mut waits = Vec::new();
        while let Some(due) = self.next().filter(|due| *due < end) {
            waits.push(end - due);
        }
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_due_at_random_with_the_asked_rate_until_the_end() {
        let begin = Instant::now();
        let end = begin + Duration::from_secs(10);
        let schedule = Schedule::new(1000, Random::new(3, 1), begin, Some(end));
        let due: Vec<Instant> = std::iter::from_fn(|| schedule.next()).collect();
        assert!((9_500..10_500).contains(&due.len()), "{}", due.len());
        assert!(due.is_sorted() && *due.last().unwrap() < end);
        let short = due.windows(2).filter(|pair| pair[1] - pair[0] < Duration::from_millis(1)).count();
        // 1 - 1/e of exponential distances are below their mean.
        assert!((5_900..6_700).contains(&short), "{short}");
    }

    #[test]
    fn what_nobody_took_is_told_with_its_wait() {
        let begin = Instant::now();
        let end = begin + Duration::from_secs(1);
        let schedule = Schedule::new(100, Random::new(3, 1), begin, Some(end));
        let first = schedule.next().unwrap();
        let waits = schedule.left_over(end);
        assert!((70..130).contains(&waits.len()), "{}", waits.len());
        assert!(waits[0] <= end - first && waits.is_sorted_by(|a, b| a >= b));
    }
}
