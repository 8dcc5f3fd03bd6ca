//! The same workload on several targets in turns, and what that shows of their difference.
//!
//! ```text
//!   round 1      round 2      …       each letter a slice of about a second
//!   A B  B A     B A  A B             the order is drawn anew for each round, and its second half is its first
//!   └ ratio ┘    └ ratio ┘            backwards: a drift of the machine meets all alike
//! ```
//! Both slices of a target have the same random numbers as those of the others in that round. Ends when the interval
//! of the throughput's ratio is as narrow as asked, or the time is over.

mod contender;
mod outcome;
mod single;
#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

pub use self::contender::Contender;
use self::contender::{Turn, Work};
pub use self::single::run_one;
use crate::client::Patience;
use crate::comparability::Comparability;
use crate::counters::Counters;
use crate::cpu;
use crate::driver::{DriverError, Interval, Slice};
use crate::plan::Plan;
use crate::report::{Comparison, Figures, Run};
use crate::stats::{FEWEST_ROUNDS, Ratio};
use crate::target::Target;
use crate::workload::Random;

/// How long, and how well.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// The longest measuring time of all targets together, the warm-up not counted.
    pub max_time: Duration,
    /// It may end when the interval's half width is this share of the ratio; None: not before the time is over.
    pub precision: Option<f64>,
    /// Length of a slice.
    pub slice: Duration,
}

/// A run of several targets that has begun.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// What is being done besides measuring.
    Note(&'a str),
    /// An interval of a target's slice is over.
    Interval {
        /// The target's name.
        target: &'a str,
        /// When its slice began, since the run's begin.
        offset: Duration,
        /// What was measured.
        interval: &'a Interval,
        /// How much of the time is over, from 0 to 1.
        done: f64,
    },
    /// A round is over.
    Round {
        /// Its number, from 1.
        number: usize,
        /// Each target's figures in it.
        figures: &'a [Figures],
        /// The ratios so far of each further target to the first.
        ratios: &'a [Option<Ratio>],
    },
}

/// What is run, where, and who watches.
pub struct Setting<'a> {
    /// The workload.
    pub plan: &'a Plan,
    /// How long.
    pub effort: Effort,
    /// What ends it.
    pub patience: &'a Patience,
    /// The servers' counters, where they may be asked.
    pub counters: Option<&'a mut Counters>,
    /// The servers' processes on this machine.
    pub server_pids: Vec<u32>,
    /// Refuses targets that differ in more than a proxy's split.
    pub strict: bool,
    /// Who is told what happens.
    pub watch: &'a mut (dyn FnMut(Progress<'_>) + Send),
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum AbError {
    /// A target.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// `--strict`, and the targets differ.
    #[error("the targets cannot be compared (--strict): {0}")]
    Differ(String),
    /// A server's counters.
    #[error("cannot read the counters of server {server}: {source}")]
    Counters {
        /// The server.
        server: String,
        /// Its answer.
        source: crate::client::ClientError,
    },
}

/// Runs the workload on the contenders, the first of which is the baseline.
///
/// # Errors
/// [`AbError`] where nothing could be measured; what ends a run later is in the [`Run`].
pub fn run(contenders: &mut [Contender], mut setting: Setting<'_>) -> Result<Run, AbError> {
    let targets: Vec<Target> = contenders.iter().map(|contender| contender.target.clone()).collect();
    (setting.watch)(Progress::Note("asking the targets what they are"));
    let mut comparability = Comparability::ask(&targets, setting.plan, setting.patience)?;
    if setting.strict {
        let differ: Vec<String> = comparability
            .differences()
            .map(|check| format!("{} is {}", check.name, check.values.join(" / ")))
            .collect();
        if !differ.is_empty() {
            return Err(AbError::Differ(differ.join("; ")));
        }
    }
    for contender in contenders.iter_mut() {
        contender.connect(setting.plan, setting.patience)?;
    }
    let mut ended_early = warm_up(contenders, &mut setting).err().map(|error| error.to_string());
    let machine = cpu::of_machine();
    let (own, known) = (cpu::of_this_process(), contender::known_cpu(contenders, &setting.server_pids));
    let mut rounds = Rounds::begin(contenders.len(), setting.plan);
    if let Some(counters) = &mut setting.counters {
        counters.since_last().map_err(counters_failed)?;
    }
    while ended_early.is_none() && !rounds.enough(&setting) {
        if setting.patience.stop.load(Ordering::Relaxed) {
            ended_early = Some(INTERRUPTED.to_owned());
        } else if let Err(error) = rounds.one(contenders, &mut setting) {
            ended_early = Some(error.to_string());
        }
    }
    let others_cpu = machine.zip(cpu::of_machine()).map(|(before, after)| {
        let own = cpu::of_this_process().saturating_sub(own);
        let known = contender::known_cpu(contenders, &setting.server_pids).saturating_sub(known);
        let (busy, total) =
            (after.busy.saturating_sub(before.busy), after.total.saturating_sub(before.total));
        busy.saturating_sub(own + known).as_secs_f64() / total.as_secs_f64().max(1e-9)
    });
    for contender in contenders.iter_mut() {
        contender.disconnect();
    }
    if ended_early.is_none() {
        (setting.watch)(Progress::Note("asking the targets again"));
        let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
        match Comparability::ask(&targets, setting.plan, setting.patience) {
            Ok(after) => comparability.note_changes(&after, &names),
            Err(error) => comparability.changed.push(error.to_string()),
        }
    }
    let found = outcome::Found { comparability, others_cpu, ended_early };
    Ok(outcome::assemble(contenders, &setting, rounds, found))
}

pub(crate) const INTERRUPTED: &str = "interrupted; what was measured until then is kept";

/// Whether a run was told to end.
pub(crate) fn interrupted(patience: &Patience) -> bool {
    patience.stop.load(Ordering::Relaxed)
}

/// Each further target compared with the first.
pub(crate) fn compare_rounds(rounds: &[Vec<Figures>], names: &[String]) -> Vec<Comparison> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    (1..names.len()).filter_map(|at| outcome::compare(rounds, &names, at)).collect()
}

fn counters_failed((server, source): (String, crate::client::ClientError)) -> AbError {
    AbError::Counters { server, source }
}

/// Not counted: caches fill, connections behind a proxy are opened.
fn warm_up(contenders: &mut [Contender], setting: &mut Setting<'_>) -> Result<(), DriverError> {
    let time = setting.plan.warmup;
    if time.is_zero() {
        return Ok(());
    }
    (setting.watch)(Progress::Note("warming up"));
    for contender in contenders {
        // A number that no round has: what is measured later is not what is warm already.
        let slice = Slice { number: u64::from(u32::MAX), time, events: 0, interval: time };
        if let Some(failure) = contender.driver().run(setting.plan, slice, |_| ()).failure {
            return Err(failure);
        }
    }
    Ok(())
}

/// The rounds so far.
struct Rounds {
    begin: Instant,
    random: Random,
    number: u64,
    /// What each target did, over all complete rounds.
    work: Vec<Work>,
    figures: Vec<Vec<Figures>>,
    measured: Duration,
}

impl Rounds {
    fn begin(targets: usize, plan: &Plan) -> Rounds {
        Rounds {
            begin: Instant::now(),
            random: Random::new(plan.rand.seed, u64::from(u32::MAX)),
            number: 0,
            work: vec![Work::default(); targets],
            figures: Vec::new(),
            measured: Duration::ZERO,
        }
    }

    /// The ratios of each further target to the first.
    fn ratios(&self) -> Vec<Option<Ratio>> {
        (1..self.work.len())
            .map(|at| Ratio::of_rounds(&outcome::per_round(&self.figures, at, |f| f.tps)))
            .collect()
    }

    /// The share of the time that is over.
    fn done(&self, setting: &Setting<'_>) -> f64 {
        self.measured.as_secs_f64() / setting.effort.max_time.as_secs_f64().max(1e-9)
    }

    fn enough(&self, setting: &Setting<'_>) -> bool {
        if self.done(setting) >= 1.0 {
            return true;
        }
        let Some(wanted) = setting.effort.precision else { return false };
        let ratios = self.ratios();
        let narrow = |ratio: &Option<Ratio>| ratio.is_some_and(|ratio| ratio.precision() <= wanted);
        self.figures.len() >= FEWEST_ROUNDS && !ratios.is_empty() && ratios.iter().all(narrow)
    }

    /// Two slices of each target.
    fn one(&mut self, contenders: &mut [Contender], setting: &mut Setting<'_>) -> Result<(), DriverError> {
        self.number += 1;
        let mut order = self.random.shuffled(contenders.len());
        order.extend(order.clone().into_iter().rev());
        let mut work = vec![Work::default(); contenders.len()];
        let mut failure = None;
        for (turn, at) in order.iter().enumerate() {
            let half = u64::from(turn >= contenders.len());
            let slice = Slice {
                number: self.number << 1 | half,
                time: setting.effort.slice,
                events: 0,
                interval: interval_length(setting.effort.slice),
            };
            let (offset, done) = (self.begin.elapsed(), self.done(setting));
            let turn_of = Turn { slice, offset, server_pids: &setting.server_pids };
            let name = contenders[*at].target.name.clone();
            let show = &mut setting.watch;
            let mut watch = |interval: &Interval| {
                show(Progress::Interval { target: &name, offset, interval, done: done.min(1.0) });
            };
            let (done, failed) = contenders[*at].work(setting.plan, turn_of, &mut watch);
            self.measured += done.sample.elapsed;
            work[*at].append(done);
            if let Some(counters) = &mut setting.counters {
                // Counters that cannot be read any more are missed in the split, not in the figures.
                work[*at].counted(counters.since_last().unwrap_or_default());
            }
            failure = failed;
            if failure.is_some() || setting.patience.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        let complete = work.iter().all(|work| work.slices == 2);
        // Of a round that was broken off there is no ratio, but what was measured counts.
        let figures: Vec<Figures> =
            work.iter().map(|work| Figures::of(&work.sample, setting.plan.percentile)).collect();
        for (sum, work) in self.work.iter_mut().zip(work) {
            sum.append(work);
        }
        if complete {
            self.figures.push(figures);
            let (number, ratios) = (self.figures.len(), self.ratios());
            let figures = self.figures.last().expect("pushed above");
            (setting.watch)(Progress::Round { number, figures, ratios: &ratios });
        }
        failure.map_or(Ok(()), Err)
    }
}

/// A point of the curves each second, or each slice where that is shorter.
fn interval_length(slice: Duration) -> Duration {
    slice.min(Duration::from_secs(1))
}
