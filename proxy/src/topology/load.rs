//! What a server is busy with: the statements that run on it over all workers, and what they took lately.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::Server;
use crate::routing::Latency;

/// Counts that every worker writes. On cache lines of their own: what the workers read of a server all the time, its
/// health and weight, must not move between cores with each statement.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Load {
    outstanding: AtomicU32,
    latency: AtomicU64,
    since: Instant,
}

impl Load {
    pub(super) fn new() -> Self {
        Self {
            outstanding: AtomicU32::new(0),
            latency: AtomicU64::new(Latency::default().to_bits()),
            since: Instant::now(),
        }
    }
}

impl Server {
    /// Counts a statement as running until the guard is dropped.
    #[must_use = "the statement counts until this is dropped"]
    pub fn begin_statement(self: &Arc<Self>) -> Outstanding {
        self.load.outstanding.fetch_add(1, Ordering::Relaxed);
        Outstanding { server: self.clone() }
    }

    /// Statements that run on it now.
    pub fn outstanding(&self) -> u32 {
        self.load.outstanding.load(Ordering::Relaxed)
    }

    /// Notes how long a statement took, from the first byte sent to the first byte of its reply. Reads the clock, so
    /// it is for [`crate::routing::Policy::Latency`] alone.
    pub fn observe_latency(&self, took: Duration) {
        let now = self.load.since.elapsed();
        // Of two workers at the same moment one may be lost: an average can do without it.
        let before = Latency::from_bits(self.load.latency.load(Ordering::Relaxed));
        self.load.latency.store(before.observe(took, now).to_bits(), Ordering::Relaxed);
    }

    /// What a statement is expected to take at this moment, in microseconds; `None` before the first was measured.
    /// Reads the clock.
    pub fn latency_us(&self) -> Option<u32> {
        Latency::from_bits(self.load.latency.load(Ordering::Relaxed)).at(self.load.since.elapsed())
    }
}

/// A statement that runs on a server; counted until it is dropped.
#[derive(Debug)]
pub struct Outstanding {
    server: Arc<Server>,
}

impl Drop for Outstanding {
    fn drop(&mut self) {
        self.server.load.outstanding.fetch_sub(1, Ordering::Relaxed);
    }
}
