//! The driver: sends a workload to a target and measures. A thread for each connection, as sysbench has it.
//!
//! ```text
//!   closed loop   each connection begins its next event when its last has been answered
//!   open loop     events begin at the times of a schedule, whether or not earlier ones have been answered; one that
//!                 finds all connections busy waits, and that wait is part of its latency
//! ```
//! It must not know what statements mean, nor what the figures are for.

mod error;
mod sample;
mod schedule;
mod session;
mod slice;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::thread;

pub use error::{DriverError, mend};
pub use sample::{Counts, Interval, Latency, Sample};
pub(crate) use sample::{per_query_us, per_second};
pub use slice::{Outcome, Slice};

use self::session::Session;
use crate::client::Patience;
use crate::plan::Plan;
use crate::target::Target;

/// Connections that are opened at the same time: below what a server's backlog or a proxy's limits take amiss.
const OPENED_AT_ONCE: usize = 16;

/// The sessions at one target, kept over the slices of a run.
#[derive(Debug)]
pub struct Driver {
    target: Arc<Target>,
    patience: Patience,
    // What each thread works with.
    threads: Vec<Vec<Session>>,
}

impl Driver {
    /// Opens the plan's sessions and prepares its statements.
    ///
    /// # Errors
    /// [`DriverError`] of the first session that fails.
    pub fn connect(target: &Target, plan: &Plan, patience: &Patience) -> Result<Driver, DriverError> {
        let sessions = if plan.workload.connects() { 0 } else { plan.sessions_per_thread() };
        let target = Arc::new(target.clone());
        let open = |thread: u32| -> Result<Vec<Session>, DriverError> {
            let workload = plan.workload.workload(plan, thread);
            (0..sessions)
                .map(|_| Session::open(&target, workload.templates(), plan.ps_mode, patience))
                .collect()
        };
        let mut threads = Vec::new();
        let numbers: Vec<u32> = (0..plan.threads).collect();
        for batch in numbers.chunks(OPENED_AT_ONCE) {
            let opened: Vec<_> = thread::scope(|scope| {
                let handles: Vec<_> = batch.iter().map(|number| scope.spawn(|| open(*number))).collect();
                handles.into_iter().map(|h| h.join().expect("opening a session does not panic")).collect()
            });
            for sessions in opened {
                threads.push(sessions?);
            }
        }
        Ok(Driver { target, patience: patience.clone(), threads })
    }

    /// The target that it sends to.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Says goodbye on every connection.
    pub fn disconnect(self) {
        for session in self.threads.into_iter().flatten() {
            session.quit();
        }
    }
}
