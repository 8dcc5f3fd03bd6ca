//! One of the targets that are compared.

use std::time::Duration;

use crate::client::Patience;
use crate::counters::ServerCounts;
use crate::cpu;
use crate::driver::{Driver, DriverError, Interval, Sample, Slice};
use crate::plan::Plan;
use crate::report::Point;
use crate::target::{Address, Target};

/// A target, its connections, and the process behind its address.
#[derive(Debug)]
pub struct Contender {
    /// Where it is.
    pub target: Target,
    /// The process that serves it, where that is on this machine.
    pub pid: Option<u32>,
    driver: Option<Driver>,
}

impl Contender {
    /// A target; its process is the one named, or the one that listens at its address on this machine.
    #[must_use]
    pub fn new(target: Target, pid: Option<u32>) -> Contender {
        let pid = pid.or_else(|| listener(&target));
        Contender { target, pid, driver: None }
    }

    /// Opens its connections.
    pub(super) fn connect(&mut self, plan: &Plan, patience: &Patience) -> Result<(), DriverError> {
        self.driver = Some(Driver::connect(&self.target, plan, patience)?);
        Ok(())
    }

    pub(super) fn disconnect(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.disconnect();
        }
    }

    pub(super) fn driver(&mut self) -> &mut Driver {
        self.driver.as_mut().expect("connected before the first slice")
    }

    /// One slice, and what ended it early.
    pub(super) fn work(
        &mut self,
        plan: &Plan,
        turn: Turn<'_>,
        watch: &mut dyn FnMut(&Interval),
    ) -> (Work, Option<DriverError>) {
        let pid = self.pid;
        let (before, servers_before) = (pid.and_then(cpu::of_process), turn.servers_cpu());
        let mut intervals = Vec::new();
        let outcome = self.driver().run(plan, turn.slice, |interval| {
            intervals.push(Point::of(interval, turn.offset.as_secs_f64(), plan.percentile));
            watch(interval);
        });
        let after = pid.and_then(cpu::of_process);
        let cpu = before.zip(after).map(|(before, after)| after.saturating_sub(before));
        let servers_cpu = servers_before.zip(turn.servers_cpu()).map(|(before, after)| after - before);
        let sample = outcome.sample;
        let work = Work { sample, intervals, cpu, servers_cpu, counts: Vec::new(), slices: 1 };
        (work, outcome.failure)
    }
}

/// One slice of a contender.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn<'a> {
    pub(super) slice: Slice,
    /// When it begins, since the run's begin.
    pub(super) offset: Duration,
    pub(super) server_pids: &'a [u32],
}

impl Turn<'_> {
    /// CPU time of all servers; None where one of them is not on this machine.
    fn servers_cpu(&self) -> Option<Duration> {
        let times: Option<Vec<Duration>> = self.server_pids.iter().map(|pid| cpu::of_process(*pid)).collect();
        times.filter(|times| !times.is_empty()).map(|times| times.into_iter().sum())
    }
}

fn listener(target: &Target) -> Option<u32> {
    match &target.address {
        Address::Tcp { host, port } => {
            let local = host == "localhost"
                || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
            local.then(|| cpu::listener_of(*port))?
        }
        Address::Unix(_) => None,
    }
}

/// CPU time of all processes that are known to take part.
pub(super) fn known_cpu(contenders: &[Contender], server_pids: &[u32]) -> Duration {
    let mut pids: Vec<u32> = contenders.iter().filter_map(|contender| contender.pid).collect();
    pids.extend(server_pids);
    pids.sort_unstable();
    pids.dedup();
    // This process counts itself.
    let own = std::process::id();
    pids.into_iter().filter(|pid| *pid != own).filter_map(cpu::of_process).sum()
}

/// What a target did in some slices.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    pub(super) sample: Sample,
    pub(super) intervals: Vec<Point>,
    /// Of the target's process.
    pub(super) cpu: Option<Duration>,
    /// Of the servers' processes.
    pub(super) servers_cpu: Option<Duration>,
    /// What the servers counted.
    pub(super) counts: Vec<ServerCounts>,
    pub(super) slices: u32,
}

fn sum(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(sum), Some(more)) => Some(sum + more),
        (one, other) => one.or(other),
    }
}

impl Work {
    pub(super) fn append(&mut self, later: Work) {
        self.sample.append(&later.sample);
        self.intervals.extend(later.intervals);
        self.cpu = sum(self.cpu, later.cpu);
        self.servers_cpu = sum(self.servers_cpu, later.servers_cpu);
        self.counted(later.counts);
        self.slices += later.slices;
    }

    pub(super) fn counted(&mut self, counts: Vec<ServerCounts>) {
        self.counts.resize(self.counts.len().max(counts.len()), ServerCounts::default());
        for (sum, more) in self.counts.iter_mut().zip(counts) {
            sum.add(more);
        }
    }
}
