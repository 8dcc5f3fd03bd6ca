//! One stretch of a run: all threads begin together, and each ends with its last event before the end.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use super::Driver;
use super::error::DriverError;
use super::sample::{Counts, Interval, Recorder, Sample};
use super::schedule::Schedule;
use super::session::{End, Session};
use crate::client::{ClientError, Patience};
use crate::plan::{Plan, PsMode};
use crate::target::Target;
use crate::workload::{Event, Random, Workload};

/// How much is done in one go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Which random numbers: the same number means the same statements at every target.
    pub number: u64,
    /// How long; zero is without limit.
    pub time: Duration,
    /// After how many events it ends; 0 is without limit.
    pub events: u64,
    /// How long each interval is that is shown meanwhile.
    pub interval: Duration,
}

/// What came of a slice.
#[derive(Debug)]
pub struct Outcome {
    /// What was measured, also until a failure.
    pub sample: Sample,
    /// What ended it early.
    pub failure: Option<DriverError>,
}

/// Threads of a driver do little and are many.
const STACK: usize = 256 * 1024;
/// Longer than any slice waits for its last answers.
const FOREVER: Duration = Duration::from_secs(86_400 * 365);

/// What the threads of a slice share.
struct Shared<'a> {
    target: &'a Arc<Target>,
    plan: &'a Plan,
    patience: &'a Patience,
    recorder: Recorder,
    end: Option<Instant>,
    schedule: Option<Schedule>,
    events_left: Option<AtomicU64>,
    failed: AtomicBool,
    begin: Barrier,
}

/// What a thread hands back.
struct Ended {
    thread: usize,
    sessions: Vec<Session>,
    events: u64,
    busy: Duration,
    failure: Option<DriverError>,
}

impl Driver {
    /// Sends the plan's workload on all connections; shows each interval to `watch` when it is over.
    pub fn run(&mut self, plan: &Plan, slice: Slice, mut watch: impl FnMut(&Interval)) -> Outcome {
        let threads: Vec<Vec<Session>> = self.threads.drain(..).collect();
        let begin = Instant::now();
        let end = (!slice.time.is_zero()).then(|| begin + slice.time);
        let random = |thread: u64| Random::new(plan.rand.seed, slice.number << 32 | thread);
        let shared = Shared {
            target: &self.target,
            plan,
            patience: &self.patience,
            recorder: Recorder::new(threads.len()),
            end,
            schedule: (plan.rate > 0).then(|| Schedule::new(plan.rate, random(0), begin, end)),
            events_left: (slice.events > 0).then(|| AtomicU64::new(slice.events)),
            failed: AtomicBool::new(false),
            begin: Barrier::new(threads.len()),
        };
        let (mut outcome, ended) = thread::scope(|scope| {
            let (done, ends) = mpsc::channel();
            let count = threads.len();
            for (number, sessions) in threads.into_iter().enumerate() {
                let (done, shared, random) = (done.clone(), &shared, random(number as u64 + 1));
                let work = move || drop(done.send(work(shared, number, sessions, random)));
                let builder = thread::Builder::new().name(format!("driver-{number}")).stack_size(STACK);
                builder.spawn_scoped(scope, work).expect("the system has threads for --threads");
            }
            collect(&shared, count, &ends, slice.interval, &mut watch)
        });
        let waits = match (&shared.schedule, shared.end, &outcome.failure) {
            (Some(schedule), Some(end), None) if !self.patience.stop.load(Ordering::Relaxed) => {
                schedule.left_over(end)
            }
            _ => Vec::new(),
        };
        outcome.sample.late = waits.len() as u64;
        waits.into_iter().for_each(|wait| outcome.sample.latency.record(wait));
        self.threads = ended;
        outcome
    }
}

/// Waits for the threads, an interval at a time.
fn collect(
    shared: &Shared<'_>,
    threads: usize,
    ends: &mpsc::Receiver<Ended>,
    length: Duration,
    watch: &mut impl FnMut(&Interval),
) -> (Outcome, Vec<Vec<Session>>) {
    let length = if length.is_zero() { Duration::from_secs(1) } else { length };
    let begin = Instant::now();
    let mut sample = Sample { threads: vec![(0, Duration::ZERO); threads], ..Sample::default() };
    let mut sessions: Vec<Vec<Session>> = (0..threads).map(|_| Vec::new()).collect();
    let (mut failure, mut left, mut from) = (None::<DriverError>, threads, begin);
    while left > 0 {
        let mut due = from + length;
        // No interval is so short that it says nothing: the last one goes on to the end.
        if shared.end.is_some_and(|end| due + length / 2 > end) {
            due += FOREVER;
        }
        match ends.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(ended) => {
                left -= 1;
                sample.threads[ended.thread] = (ended.events, ended.busy);
                sessions[ended.thread] = ended.sessions;
                // Of several failures the first is the cause: the others were told to end.
                failure = failure.or(ended.failure);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let now = Instant::now();
        if now >= due || left == 0 {
            let interval = shared.recorder.collect(begin, from, now);
            sample.counts.add(&interval.counts);
            sample.latency.add(&interval.latency);
            watch(&interval);
            from = now;
        }
    }
    sample.elapsed = begin.elapsed();
    (Outcome { sample, failure }, sessions)
}

/// One thread of a slice.
fn work(shared: &Shared<'_>, thread: usize, sessions: Vec<Session>, random: Random) -> Ended {
    let number = u32::try_from(thread).unwrap_or(u32::MAX);
    let workload = shared.plan.workload.workload(shared.plan, number);
    let mut worker = Worker { shared, sessions, random, workload, event: Event::default(), turn: 0 };
    if shared.schedule.is_some() {
        // The kernel may wake a sleeper 50 µs late to save power, which would be half a point select's latency. Where it
        // refuses, that is what it stays.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }
    shared.begin.wait();
    let (mut events, mut busy) = (0, Duration::ZERO);
    let mut now = Instant::now();
    let failure = loop {
        let start = match worker.next_start(now) {
            Some(start) => start,
            None => break None,
        };
        let began = if shared.schedule.is_some() { Instant::now() } else { start };
        let mut counts = Counts::default();
        let end = worker.one_event(&mut counts);
        now = Instant::now();
        busy += now - began;
        let completed = matches!(end, Ok(End::Completed));
        counts.events = u64::from(completed);
        events += counts.events;
        let time = completed.then(|| now.saturating_duration_since(start));
        shared.recorder.event(thread, &counts, time);
        if let Err(error) = end {
            shared.failed.store(true, Ordering::Relaxed);
            break Some(error).filter(|error| !matches!(error.cause(), ClientError::Interrupted));
        }
    };
    Ended { thread, sessions: worker.sessions, events, busy, failure }
}

struct Worker<'a> {
    shared: &'a Shared<'a>,
    sessions: Vec<Session>,
    random: Random,
    workload: Box<dyn Workload>,
    event: Event,
    turn: usize,
}

impl Worker<'_> {
    /// When the next event's time begins: now, or when it was due, after waiting for it. None at the end.
    fn next_start(&self, now: Instant) -> Option<Instant> {
        let shared = self.shared;
        let over = |now| {
            shared.end.is_some_and(|end| now >= end)
                || shared.failed.load(Ordering::Relaxed)
                || shared.patience.stop.load(Ordering::Relaxed)
        };
        // Asked before the schedule: an event that is not begun must not be taken from it.
        if over(now) {
            return None;
        }
        if let Some(left) = &shared.events_left {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).ok()?;
        }
        let Some(schedule) = &shared.schedule else { return Some(now) };
        let due = schedule.next()?;
        while let Some(wait) = due.checked_duration_since(Instant::now()).filter(|wait| !wait.is_zero()) {
            if over(Instant::now()) {
                return None;
            }
            thread::sleep(wait.min(Duration::from_millis(200)));
        }
        Some(due)
    }

    fn one_event(&mut self, counts: &mut Counts) -> Result<End, DriverError> {
        let Shared { target, plan, patience, .. } = *self.shared;
        self.event.clear();
        self.workload.event(&mut self.random, &mut self.event);
        let templates = self.workload.templates();
        if plan.workload.connects() {
            let mut session = Session::open(target, templates, PsMode::Disable, patience)?;
            let end = session.send(templates, &self.event, &plan.ignore_errors, counts)?;
            session.quit();
            return Ok(end);
        }
        let turn = self.turn % self.sessions.len();
        self.turn += 1;
        let session = &mut self.sessions[turn];
        let end = session.send(templates, &self.event, &plan.ignore_errors, counts)?;
        if matches!(end, End::Lost) {
            self.sessions[turn] = self.reconnected(counts)?;
        }
        Ok(end)
    }

    /// A new session in place of a lost one, as soon as the target takes it again.
    fn reconnected(&self, counts: &mut Counts) -> Result<Session, DriverError> {
        let Shared { target, plan, patience, .. } = *self.shared;
        let since = Instant::now();
        loop {
            match Session::open(target, self.workload.templates(), plan.ps_mode, patience) {
                Ok(session) => {
                    counts.reconnects += 1;
                    return Ok(session);
                }
                Err(error) => {
                    let over = self.shared.end.is_some_and(|end| Instant::now() >= end);
                    if over || since.elapsed() > patience.limit || patience.stop.load(Ordering::Relaxed) {
                        return Err(error);
                    }
                    thread::sleep(RECONNECT_PAUSE);
                }
            }
        }
    }
}

/// Between two attempts to connect again: a server that starts is not helped by a storm.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);
