//! What a server's statements took lately: a peak-sensitive moving average that forgets.
//!
//! A value above the average becomes the average at once, one below it pulls the average down over [`LATENCY_DECAY`]: so a
//! server that turns slow is left alone with its first slow reply, and one that recovers is trusted step by step. With
//! no reply to measure the average falls too, since a server that is left alone must be tried again some time.
//! The shape is known as peak EWMA, from Twitter's Finagle and from Linkerd.

use std::time::Duration;

/// In how much time an average falls to 1/e (37 %), and a measurement below it counts for the rest.
pub const LATENCY_DECAY: Duration = Duration::from_secs(10);

/// The average, and when it was taken. A plain value: 8 bytes, for one atomic word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Latency {
    /// Microseconds, at least 1 once measured; 0 is never.
    average_us: u32,
    /// Milliseconds on the caller's clock, which begins anew every 49 days.
    taken_ms: u32,
}

impl Latency {
    /// The average with one more measurement, which ended at `now` on a clock that the caller chooses and never changes.
    #[must_use]
    pub fn observe(self, took: Duration, now: Duration) -> Self {
        let took_us = u32::try_from(took.as_micros()).unwrap_or(u32::MAX).max(1);
        let average_us = match self.at(now) {
            Some(average_us) if average_us > took_us => {
                let left = self.left(now);
                // What is left of the old value, and the new one for what has gone.
                mix(self.average_us, took_us, left)
            }
            _ => took_us,
        };
        Self { average_us, taken_ms: clock_ms(now) }
    }

    /// What a statement is expected to take, in microseconds, at `now` on the same clock: the average, less what was
    /// forgotten since it was taken. `None` before the first measurement.
    #[must_use]
    pub fn at(self, now: Duration) -> Option<u32> {
        (self.average_us > 0).then(|| mix(self.average_us, 0, self.left(now)))
    }

    /// Which part of the average counts still, from 1 down to 0.
    fn left(self, now: Duration) -> f64 {
        let idle_ms = clock_ms(now).wrapping_sub(self.taken_ms);
        // Clocks of two threads may be read in the wrong order: half of the range is the past.
        let idle_ms = if idle_ms > u32::MAX / 2 { 0 } else { idle_ms };
        (-f64::from(idle_ms) / 1e3 / LATENCY_DECAY.as_secs_f64()).exp()
    }

    /// As one number.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        u64::from(self.average_us) << 32 | u64::from(self.taken_ms)
    }

    /// From what [`Latency::to_bits`] gave; 0 is the default, never measured.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).expect("32 bits were kept");
        Self { average_us: half(bits >> 32), taken_ms: half(bits) }
    }
}

/// `left` of the one and the rest of the other.
fn mix(one: u32, other: u32, left: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between two u32")]
    let mixed = (f64::from(one) * left + f64::from(other) * (1.0 - left)) as u32;
    mixed
}

fn clock_ms(now: Duration) -> u32 {
    u32::try_from(now.as_millis() & u128::from(u32::MAX)).expect("32 bits were kept")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_peak_counts_at_once_and_a_recovery_over_the_decay_time() {
        let calm = Latency::default().observe(ms(1), SECOND);
        assert_eq!(calm.at(SECOND), Some(1_000));
        let peak = calm.observe(ms(100), SECOND);
        assert_eq!(peak.at(SECOND), Some(100_000));
        assert_eq!(peak.observe(ms(1), SECOND).at(SECOND), Some(100_000), "no time has passed");
        let later = SECOND + LATENCY_DECAY;
        let recovering = peak.observe(ms(1), later).at(later).unwrap();
        assert!(recovering.abs_diff(37_420) < 50, "{recovering}");
    }

    #[test]
    fn what_is_not_measured_is_forgotten_but_not_that_there_was_a_measurement() {
        let latency = Latency::default().observe(ms(100), SECOND);
        let after = |times: u32| latency.at(SECOND + LATENCY_DECAY * times);
        assert!(after(1).unwrap().abs_diff(36_788) < 50);
        assert!(after(2).unwrap() < after(1).unwrap());
        assert_eq!(after(100), Some(0));
        assert_eq!(Latency::default().at(SECOND), None);
    }

    #[test]
    fn a_clock_that_turns_over_or_is_read_in_the_wrong_order_forgets_nothing_by_it() {
        let turn = ms(1 << 32);
        let latency = Latency::default().observe(ms(5), turn - ms(500));
        assert!(latency.at(turn + ms(500)).unwrap() > 4_000);
        assert_eq!(latency.at(turn - ms(900)), Some(5_000));
    }

    #[test]
    fn it_survives_its_way_through_a_number() {
        let latency = Latency::default().observe(Duration::MAX, ms(77));
        assert_eq!(Latency::from_bits(latency.to_bits()), latency);
        assert_eq!(Latency::from_bits(0), Latency::default());
        assert_eq!(Latency::default().observe(Duration::ZERO, ms(1)).at(ms(1)), Some(1), "measured");
    }
}
