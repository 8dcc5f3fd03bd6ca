//! One workload under each combination of server settings.
//!
//! Combinations take turns in an order drawn anew for each round, so that the ratios to the first one have intervals
//! like those of targets. What the settings were is read before the first change and put back at the end, whatever
//! the end is.

mod settings;
#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use thiserror::Error;

pub use self::settings::{Axis, AxisError, combinations};
use crate::ab::{compare_rounds, interrupted};
use crate::client::{ClientError, Connection, Patience};
use crate::comparability::Comparability;
use crate::driver::{Driver, DriverError, Sample, Slice};
use crate::lab::lab_base;
use crate::plan::Plan;
use crate::report::{Fairness, Figures, Point, Run, TargetResult, distribution};
use crate::target::Target;
use crate::workload::Random;

/// What is tried, where and how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// Who sets the settings: an account of the server that is measured.
    pub admin: Target,
    /// The settings with their values.
    pub axes: Vec<Axis>,
    /// How often each combination has its turn.
    pub rounds: u32,
    /// How long a turn is.
    pub slice: Duration,
    /// Whether a server may be changed that is not the lab's.
    pub i_know: bool,
}

/// Why nothing was measured.
#[derive(Debug, Error)]
pub enum MatrixError {
    /// The target.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The administrator's connection.
    #[error(
        "{server}: {statement} was refused: {source}; the account needs the right to set global variables"
    )]
    Admin {
        /// The server.
        server: String,
        /// What was sent.
        statement: String,
        /// The answer.
        source: ClientError,
    },
    /// A setting that the server has not.
    #[error("{server} has no setting {name}")]
    Unknown {
        /// The server.
        server: String,
        /// The setting.
        name: String,
    },
    /// A server that may be someone's.
    #[error(
        "{server} is not one of the lab's servers (`telamon-bench cluster up`): changing its durability may lose \
         data; --i-know allows it"
    )]
    NotTheLabs {
        /// The server.
        server: String,
    },
}

/// What was set before; put back when dropped.
struct Restore<'a> {
    admin: &'a Target,
    before: Vec<(String, String)>,
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        // A connection and a patience of its own: an interruption has ended the run's.
        let restored =
            Connection::open(&self.admin.bare(), &Patience::default()).and_then(|mut connection| {
                for (name, value) in &self.before {
                    connection.query(&settings::assignment(name, value))?;
                }
                Ok(())
            });
        if let Err(error) = restored {
            let before: Vec<String> =
                self.before.iter().map(|(name, value)| settings::assignment(name, value)).collect();
            eprintln!("cannot put back the settings of {}: {error}; do it by hand:", self.admin.shown());
            eprintln!("{};", before.join(";\n"));
        }
    }
}

/// Runs the plan on `target` under each combination.
///
/// # Errors
/// [`MatrixError`] where nothing could be measured; what ends a run later is in the [`Run`].
pub fn run(
    target: &Target,
    plan: &Plan,
    trial: &Trial,
    patience: &Patience,
    say: &mut dyn FnMut(&str),
) -> Result<Run, MatrixError> {
    let admin = &trial.admin;
    let refused = |statement: &str| {
        let (server, statement) = (admin.shown(), statement.to_owned());
        move |source| MatrixError::Admin { server, statement, source }
    };
    let mut connection = Connection::open(&admin.bare(), patience).map_err(refused("a login"))?;
    if !trial.i_know && !is_the_labs(&mut connection) {
        return Err(MatrixError::NotTheLabs { server: admin.shown() });
    }
    let axes = settings::resolved(&trial.axes, &mut connection).map_err(|problem| match problem {
        settings::Problem::Unknown(name) => MatrixError::Unknown { server: admin.shown(), name },
        settings::Problem::Client(source) => refused("SHOW GLOBAL VARIABLES")(source),
    })?;
    let combinations = combinations(&axes);
    let mut driver = Driver::connect(target, plan, patience)?;
    let before = axes.iter().map(|axis| (axis.name.clone(), axis.before.clone())).collect();
    let restore = Restore { admin, before };
    let mut turns = Turns::new(combinations.len(), plan);
    for round in 1..=trial.rounds {
        for at in turns.random.shuffled(combinations.len()) {
            for (name, value) in &combinations[at] {
                let statement = settings::assignment(name, value);
                connection.query(&statement).map_err(refused(&statement))?;
            }
            turns.one(&mut driver, plan, at, (round, trial.slice));
            if turns.ended_early.is_some() || interrupted(patience) {
                break;
            }
        }
        if turns.over(patience) {
            break;
        }
        say(&format!("round {round} of {}", trial.rounds));
    }
    driver.disconnect();
    drop(restore);
    Ok(turns.assemble(target, plan, &combinations))
}

/// Whether the server's data lies where the lab keeps it.
fn is_the_labs(connection: &mut Connection) -> bool {
    let base = lab_base();
    let place = connection.first("SELECT @@datadir").ok().flatten();
    place.is_some_and(|place| std::path::Path::new(&place).starts_with(base))
}

/// What the combinations did so far.
struct Turns {
    begin: Instant,
    random: Random,
    samples: Vec<Sample>,
    points: Vec<Vec<Point>>,
    round: Vec<Option<Figures>>,
    rounds: Vec<Vec<Figures>>,
    ended_early: Option<String>,
}

impl Turns {
    fn new(combinations: usize, plan: &Plan) -> Turns {
        Turns {
            begin: Instant::now(),
            random: Random::new(plan.rand.seed, u64::from(u32::MAX)),
            samples: vec![Sample::default(); combinations],
            points: vec![Vec::new(); combinations],
            round: vec![None; combinations],
            rounds: Vec::new(),
            ended_early: None,
        }
    }

    /// One turn: a tenth of it is not counted, for the setting to take effect.
    fn one(&mut self, driver: &mut Driver, plan: &Plan, at: usize, (round, time): (u32, Duration)) {
        let slice = |half: u64, time: Duration| Slice {
            number: u64::from(round) << 1 | half,
            time,
            events: 0,
            interval: time.min(Duration::from_secs(1)),
        };
        let settled = driver.run(plan, slice(0, time / 10), |_| ());
        let offset = self.begin.elapsed().as_secs_f64();
        let points = &mut self.points[at];
        let outcome = match settled.failure {
            Some(failure) => Err(failure),
            None => Ok(driver.run(plan, slice(1, time), |interval| {
                points.push(Point::of(interval, offset, plan.percentile));
            })),
        };
        match outcome {
            Ok(outcome) => {
                self.samples[at].append(&outcome.sample);
                self.round[at] = Some(Figures::of(&outcome.sample, plan.percentile));
                self.ended_early = outcome.failure.map(|failure| failure.to_string());
            }
            Err(failure) => self.ended_early = Some(failure.to_string()),
        }
    }

    /// Ends a round; true where there is no next one.
    fn over(&mut self, patience: &Patience) -> bool {
        if patience.stop.load(Ordering::Relaxed) {
            self.ended_early.get_or_insert_with(|| crate::ab::INTERRUPTED.to_owned());
        }
        let complete: Option<Vec<Figures>> = self.round.iter_mut().map(Option::take).collect();
        if self.ended_early.is_none() {
            self.rounds.extend(complete);
        }
        self.ended_early.is_some()
    }

    fn assemble(self, target: &Target, plan: &Plan, combinations: &[Vec<(String, String)>]) -> Run {
        let names: Vec<String> = combinations.iter().map(|settings| shown(settings)).collect();
        let targets =
            names.iter().zip(self.samples.iter().zip(self.points)).map(|(name, (sample, points))| {
                TargetResult {
                    name: name.clone(),
                    address: target.shown(),
                    total: Figures::of(sample, plan.percentile),
                    intervals: points,
                    distribution: distribution(&sample.latency),
                    cpu: None,
                    fairness: Fairness::of(sample),
                }
            });
        Run {
            title: format!("{} by server settings", plan.name()),
            plan: plan.clone(),
            targets: targets.collect(),
            comparisons: compare_rounds(&self.rounds, &names),
            rounds: self.rounds,
            comparability: Comparability::default(),
            split: None,
            others_cpu: None,
            ended_early: self.ended_early,
        }
    }
}

/// "sync_binlog=1 innodb_flush_log_at_trx_commit=2"
fn shown(settings: &[(String, String)]) -> String {
    settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}
