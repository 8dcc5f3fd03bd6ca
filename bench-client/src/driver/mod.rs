//! The driver: sends a workload to a target and measures. Closed loop: each connection sends its next statement when
//! the last has been answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Opts};
use thiserror::Error as ThisError;
use tokio::task::JoinSet;

use crate::plan::Plan;
use crate::target::Target;
use crate::workload::{Effect, Random, Statement};

/// Why a run was given up.
#[derive(Debug, ThisError)]
pub enum DriverError {
    /// A connection could not be made.
    #[error("cannot connect to {target} at {host}:{port}: {source}")]
    Connect {
        /// The target's name.
        target: String,
        /// Its host.
        host: String,
        /// Its port.
        port: u16,
        /// The client library's or the server's answer.
        source: Error,
    },
    /// A statement failed with an error that a workload does not provoke by itself.
    #[error("{target} answered {statement:?} with: {source}")]
    Statement {
        /// The target's name.
        target: String,
        /// The statement's beginning.
        statement: String,
        /// The client library's or the server's answer.
        source: Error,
    },
}

impl DriverError {
    /// The name of the target that it happened at.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            DriverError::Connect { target, .. } | DriverError::Statement { target, .. } => target,
        }
    }
}

/// What was sent and answered in one slice of time.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Events that were completed.
    pub events: u64,
    /// Reads that were answered.
    pub reads: u64,
    /// Writes that were answered, or refused by one of [`EXPECTED`].
    pub writes: u64,
    /// Statements refused by one of [`EXPECTED`].
    pub ignored: u64,
    /// From the first statement's start to the last one's end.
    pub elapsed: Duration,
    /// Time of an event, in microseconds.
    pub latency_us: Histogram<u64>,
}

/// Errors that concurrent clients of this workload cause each other, which are counted and passed over: lock wait
/// timeout, deadlock, changed row; and without transactions, two connections that insert the same id again.
pub const EXPECTED: [u16; 4] = [1205, 1213, 1020, 1062];

impl Sample {
    /// Nothing measured yet.
    #[must_use]
    pub fn empty() -> Sample {
        let latency_us = Histogram::new(3).expect("three digits are a valid precision");
        Sample { events: 0, reads: 0, writes: 0, ignored: 0, elapsed: Duration::ZERO, latency_us }
    }

    /// Reads and writes a second.
    #[must_use]
    pub fn queries_per_second(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
        let queries = (self.reads + self.writes) as f64;
        if self.elapsed.is_zero() { 0.0 } else { queries / self.elapsed.as_secs_f64() }
    }

    /// Takes in what was measured beside or after this.
    fn merge(&mut self, other: &Sample) {
        self.events += other.events;
        self.reads += other.reads;
        self.writes += other.writes;
        self.ignored += other.ignored;
        self.latency_us.add(&other.latency_us).expect("both histograms resize themselves");
    }

    /// Takes in a later slice: its time comes on top.
    pub fn append(&mut self, later: &Sample) {
        self.merge(later);
        self.elapsed += later.elapsed;
    }
}

/// The connections to one target, kept over the slices of a run.
#[derive(Debug)]
pub struct Driver {
    target: Target,
    connections: Vec<Conn>,
    slices: u64,
}

impl Driver {
    /// Opens `threads` connections.
    ///
    /// # Errors
    /// [`DriverError::Connect`] for the first that fails.
    pub async fn connect(target: &Target, threads: u32) -> Result<Driver, DriverError> {
        let mut connections = Vec::new();
        for _ in 0..threads {
            connections.push(connect(target, &target.opts).await?);
        }
        Ok(Driver { target: target.clone(), connections, slices: 0 })
    }

    /// Sends the plan's workload for `time` on all connections.
    ///
    /// # Errors
    /// [`DriverError::Statement`] for the first statement that fails unexpectedly; the driver is then used up.
    pub async fn run(&mut self, plan: &Plan, time: Duration) -> Result<Sample, DriverError> {
        self.slices += 1;
        let name: Arc<str> = self.target.name.as_str().into();
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for (number, connection) in (1..).zip(self.connections.drain(..)) {
            let client = Client {
                target: Arc::clone(&name),
                connection,
                random: Random::new(plan.seed, self.slices << 32 | number),
                sample: Sample::empty(),
            };
            let workload = plan.kind.workload(plan);
            tasks.spawn(client.run(workload, start + time));
        }
        let mut total = Sample::empty();
        while let Some(ended) = tasks.join_next().await {
            let client = ended.expect("a client does not panic and is not cancelled")?;
            total.merge(&client.sample);
            self.connections.push(client.connection);
        }
        total.elapsed = start.elapsed();
        Ok(total)
    }

    /// Says goodbye on every connection.
    pub async fn disconnect(self) {
        for connection in self.connections {
            drop(connection.disconnect().await);
        }
    }
}

async fn connect(target: &Target, opts: &Opts) -> Result<Conn, DriverError> {
    Conn::new(opts.clone()).await.map_err(|source| DriverError::Connect {
        target: target.name.clone(),
        host: opts.ip_or_hostname().to_owned(),
        port: opts.tcp_port(),
        source,
    })
}

/// One connection with its own random numbers.
struct Client {
    target: Arc<str>,
    connection: Conn,
    random: Random,
    sample: Sample,
}

impl Client {
    async fn run(
        mut self,
        mut workload: Box<dyn crate::workload::Workload>,
        end: Instant,
    ) -> Result<Client, DriverError> {
        let mut start = Instant::now();
        while start < end {
            let event = workload.event(&mut self.random);
            self.send(&event).await?;
            let now = Instant::now();
            let micros = u64::try_from((now - start).as_micros()).unwrap_or(u64::MAX);
            self.sample.latency_us.record(micros).expect("the histogram resizes itself");
            self.sample.events += 1;
            start = now;
        }
        Ok(self)
    }

    async fn send(&mut self, event: &[Statement]) -> Result<(), DriverError> {
        let in_transaction = event.first().is_some_and(|first| first.effect == Effect::Transaction);
        for statement in event {
            let answer = self.connection.query_drop(&statement.sql).await;
            match statement.effect {
                Effect::Read => self.sample.reads += 1,
                Effect::Write => self.sample.writes += 1,
                Effect::Transaction => {}
            }
            match answer {
                Ok(()) => {}
                Err(Error::Server(error)) if EXPECTED.contains(&error.code) => {
                    self.sample.ignored += 1;
                    if in_transaction {
                        return self.roll_back().await;
                    }
                }
                Err(source) => return Err(self.failed(&statement.sql, source)),
            }
        }
        Ok(())
    }

    async fn roll_back(&mut self) -> Result<(), DriverError> {
        let answer = self.connection.query_drop("ROLLBACK").await;
        answer.map_err(|source| self.failed("ROLLBACK", source))
    }

    fn failed(&self, statement: &str, source: Error) -> DriverError {
        DriverError::Statement {
            target: self.target.to_string(),
            statement: statement.chars().take(120).collect(),
            source,
        }
    }
}
