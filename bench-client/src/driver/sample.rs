//! What was sent and answered in a stretch of time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// Times of events, from 1 µs to an hour, to three digits.
#[derive(Debug, Clone)]
pub struct Latency {
    ns: Histogram<u64>,
}

const SHORTEST_NS: u64 = 1_000;
const LONGEST_NS: u64 = 3_600_000_000_000;

impl Default for Latency {
    fn default() -> Latency {
        let ns = Histogram::new_with_bounds(SHORTEST_NS, LONGEST_NS, 3).expect("bounds and digits are valid");
        Latency { ns }
    }
}

impl Latency {
    /// Takes in one event's time.
    pub fn record(&mut self, time: Duration) {
        self.ns.saturating_record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Takes in what another holds.
    pub fn add(&mut self, other: &Latency) {
        self.ns.add(&other.ns).expect("both have the same bounds");
    }

    fn clear(&mut self) {
        self.ns.reset();
    }

    /// How many events.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ns.len()
    }

    /// The time that `percent` of the events did not exceed, in ms; 0 of none.
    #[must_use]
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        ms(self.ns.value_at_percentile(percent))
    }

    /// The mean, in ms; 0 of none.
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        if self.ns.is_empty() { 0.0 } else { self.ns.mean() / 1e6 }
    }

    /// The shortest, in ms; 0 of none.
    #[must_use]
    pub fn min_ms(&self) -> f64 {
        if self.ns.is_empty() { 0.0 } else { ms(self.ns.min()) }
    }

    /// The longest, in ms; 0 of none.
    #[must_use]
    pub fn max_ms(&self) -> f64 {
        ms(self.ns.max())
    }
}

#[expect(clippy::cast_precision_loss, reason = "an hour in ns is below 2^52")]
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// How much was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events that were completed: sysbench's transactions.
    pub events: u64,
    /// Reads that were answered, or refused by an error that is passed over.
    pub reads: u64,
    /// Writes, likewise.
    pub writes: u64,
    /// BEGIN, COMMIT, ROLLBACK.
    pub others: u64,
    /// Errors that were passed over.
    pub errors: u64,
    /// Connections that were made anew after one was lost.
    pub reconnects: u64,
}

impl Counts {
    /// All statements.
    #[must_use]
    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Counts) {
        self.events += other.events;
        self.reads += other.reads;
        self.writes += other.writes;
        self.others += other.others;
        self.errors += other.errors;
        self.reconnects += other.reconnects;
    }
}

/// A stretch of a run, as a line of the report or a point of a curve.
#[derive(Debug, Clone)]
pub struct Interval {
    /// Where it begins: since the slice's begin.
    pub start: Duration,
    /// How long it is.
    pub length: Duration,
    /// What was done in it.
    pub counts: Counts,
    /// The times of its events.
    pub latency: Latency,
}

/// What was measured in a slice, or in several of them.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// What was done.
    pub counts: Counts,
    /// From the first statement's begin to the last one's end; of several slices the sum.
    pub elapsed: Duration,
    /// The times of the events.
    pub latency: Latency,
    /// Events and working time of each thread.
    pub threads: Vec<(u64, Duration)>,
    /// Events of an open loop that were due and had not been begun when the time was over. Their wait until then is
    /// in the latency.
    pub late: u64,
}

impl Sample {
    /// Events a second.
    #[must_use]
    pub fn tps(&self) -> f64 {
        per_second(self.counts.events, self.elapsed)
    }

    /// Statements a second.
    #[must_use]
    pub fn qps(&self) -> f64 {
        per_second(self.counts.queries(), self.elapsed)
    }

    /// Takes in a later slice: its time comes on top.
    pub fn append(&mut self, later: &Sample) {
        self.counts.add(&later.counts);
        self.latency.add(&later.latency);
        self.elapsed += later.elapsed;
        self.late += later.late;
        self.threads.resize(self.threads.len().max(later.threads.len()), (0, Duration::ZERO));
        for (mine, (events, busy)) in self.threads.iter_mut().zip(&later.threads) {
            mine.0 += events;
            mine.1 += *busy;
        }
    }
}

/// A number by a time; 0 where there was none.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
pub(crate) fn per_second(count: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}

/// A time's share of one statement, in µs; 0 where there was none.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
pub(crate) fn per_query_us(time: Duration, sample: &Sample) -> f64 {
    let queries = sample.counts.queries();
    if queries == 0 { 0.0 } else { time.as_secs_f64() * 1e6 / queries as f64 }
}

/// Where threads leave what they measure, and the one who waits for them collects it.
#[derive(Debug)]
pub(super) struct Recorder {
    shards: Vec<Mutex<Shard>>,
}

#[derive(Debug, Default)]
struct Shard {
    counts: Counts,
    latency: Latency,
}

/// More threads than this share: a histogram takes a quarter of a megabyte, a lock that is free some nanoseconds.
const SHARDS: usize = 8;

impl Recorder {
    pub(super) fn new(threads: usize) -> Recorder {
        Recorder { shards: (0..threads.clamp(1, SHARDS)).map(|_| Mutex::default()).collect() }
    }

    fn shard(&self, thread: usize) -> MutexGuard<'_, Shard> {
        self.shards[thread % self.shards.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An event, or the part of one that failed.
    pub(super) fn event(&self, thread: usize, counts: &Counts, time: Option<Duration>) {
        let mut shard = self.shard(thread);
        shard.counts.add(counts);
        if let Some(time) = time {
            shard.latency.record(time);
        }
    }

    /// Takes out what came since the last call; the caller knows when that was.
    pub(super) fn collect(&self, begin: Instant, from: Instant, to: Instant) -> Interval {
        let (mut counts, mut latency) = (Counts::default(), Latency::default());
        for number in 0..self.shards.len() {
            let mut shard = self.shard(number);
            counts.add(&shard.counts);
            latency.add(&shard.latency);
            shard.counts = Counts::default();
            shard.latency.clear();
        }
        let since = |a: Instant, b: Instant| b.saturating_duration_since(a);
        Interval { start: since(begin, from), length: since(from, to), counts, latency }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_milliseconds() {
        let mut latency = Latency::default();
        for micros in 1..=1000 {
            latency.record(Duration::from_micros(micros));
        }
        assert!((latency.percentile_ms(95.0) - 0.95).abs() < 0.002);
        assert!((latency.mean_ms() - 0.5).abs() < 0.002);
        assert!((latency.max_ms() - 1.0).abs() < 0.002);
        assert_eq!(Latency::default().percentile_ms(95.0).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn what_is_collected_is_not_collected_again() {
        let recorder = Recorder::new(20);
        for thread in 0..20 {
            let counts = Counts { events: 1, reads: 2, ..Counts::default() };
            recorder.event(thread, &counts, Some(Duration::from_millis(1)));
        }
        let now = Instant::now();
        let first = recorder.collect(now, now, now + Duration::from_secs(1));
        assert_eq!((first.counts.events, first.counts.reads, first.latency.count()), (20, 40, 20));
        let second = recorder.collect(now, now, now);
        assert_eq!((second.counts, second.latency.count()), (Counts::default(), 0));
    }

    #[test]
    fn slices_add_up() {
        let slice = |events, seconds| Sample {
            counts: Counts { events, reads: 2 * events, ..Counts::default() },
            elapsed: Duration::from_secs(seconds),
            threads: vec![(events, Duration::from_secs(seconds)); 2],
            ..Sample::default()
        };
        let mut sum = slice(100, 1);
        sum.append(&slice(200, 2));
        assert!((sum.tps() - 100.0).abs() < 1e-9 && (sum.qps() - 200.0).abs() < 1e-9);
        assert_eq!(sum.threads, [(300, Duration::from_secs(3)); 2]);
    }
}
