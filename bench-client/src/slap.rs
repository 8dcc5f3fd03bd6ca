//! mysqlslap's load: its own table, a number of queries shared by a number of clients, and how long all of them take.
//!
//! `mysqlslap --auto-generate-sql` makes a table of one integer and one string, fills it with a hundred rows, and lets
//! its clients insert rows and select all of them. Every repetition begins with the table new.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use thiserror::Error;

use crate::client::{ClientError, Connection, Patience};
use crate::target::Target;
use crate::workload::Random;

/// What the clients do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Load {
    /// Inserts and selects in turns.
    Mixed,
    /// Selects of all rows.
    Read,
    /// Inserts.
    Write,
}

/// All that defines the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlapPlan {
    /// Numbers of clients, one after the other.
    pub concurrency: Vec<u32>,
    /// How often each is repeated.
    pub iterations: u32,
    /// Queries of all clients together.
    pub queries: u32,
    /// Rows of the table at the begin.
    pub rows: u32,
    /// What the clients do.
    pub load: Load,
    /// Where the random numbers begin.
    pub seed: u64,
}

/// Seconds that the queries of a number of clients took at a target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timing {
    /// The target.
    pub target: String,
    /// Clients.
    pub concurrency: u32,
    /// Each repetition's seconds.
    pub seconds: Vec<f64>,
}

impl Timing {
    /// The mean.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "few repetitions")]
    pub fn average(&self) -> f64 {
        self.seconds.iter().sum::<f64>() / self.seconds.len().max(1) as f64
    }

    /// The shortest.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The longest.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.seconds.iter().copied().fold(0.0, f64::max)
    }
}

/// Why it was given up.
#[derive(Debug, Error)]
#[error("{name} at {address}: {source}; {}", crate::driver::mend(.source))]
pub struct SlapError {
    name: String,
    address: String,
    source: ClientError,
}

/// The schema that mysqlslap makes and drops.
pub const SLAP_SCHEMA: &str = "mysqlslap";
const TABLE: &str = "CREATE TABLE mysqlslap.t1 (intcol1 INT(32), charcol1 VARCHAR(128))";
const SELECT: &str = "SELECT intcol1,charcol1 FROM mysqlslap.t1";

/// Runs the load on every target in turns, in an order drawn anew for each repetition; tells `progress` each time.
///
/// # Errors
/// [`SlapError`] of the first target that fails. What an interruption leaves out is missing in the answer.
pub fn run(
    targets: &[Target],
    plan: &SlapPlan,
    patience: &Patience,
    mut progress: impl FnMut(&str, u32, f64),
) -> Result<Vec<Timing>, SlapError> {
    let mut timings = Vec::new();
    let mut random = Random::new(plan.seed, 0);
    for concurrency in &plan.concurrency {
        let empty = |target: &Target| Timing {
            target: target.name.clone(),
            concurrency: *concurrency,
            seconds: Vec::new(),
        };
        let mut of_targets: Vec<Timing> = targets.iter().map(empty).collect();
        for _ in 0..plan.iterations {
            for at in random.shuffled(targets.len()) {
                if patience.stop.load(std::sync::atomic::Ordering::Relaxed) {
                    continue;
                }
                let took = once(&targets[at], plan, *concurrency, patience).map_err(|source| SlapError {
                    name: targets[at].name.clone(),
                    address: targets[at].shown(),
                    source,
                })?;
                progress(&targets[at].name, *concurrency, took.as_secs_f64());
                of_targets[at].seconds.push(took.as_secs_f64());
            }
        }
        timings.extend(of_targets.into_iter().filter(|timing| !timing.seconds.is_empty()));
    }
    Ok(timings)
}

/// One repetition at one target: the table anew, then all clients at once.
fn once(
    target: &Target,
    plan: &SlapPlan,
    concurrency: u32,
    patience: &Patience,
) -> Result<Duration, ClientError> {
    let bare = target.bare();
    let mut connection = Connection::open(&bare, patience)?;
    connection.query(&format!("DROP SCHEMA IF EXISTS {SLAP_SCHEMA}"))?;
    connection.query(&format!("CREATE SCHEMA {SLAP_SCHEMA}"))?;
    connection.query(TABLE)?;
    let mut random = Random::new(plan.seed, 1);
    for _ in 0..plan.rows {
        connection.query(&insert(&mut random))?;
    }
    wait_until_it_is_read(&mut connection, plan, patience)?;
    let barrier = Barrier::new(concurrency as usize + 1);
    let client = |number: u32| {
        let opened = Connection::open(&bare, patience);
        barrier.wait();
        queries(opened?, plan, share(plan.queries, concurrency, number), number)
    };
    let client = &client;
    let took = thread::scope(|scope| {
        let clients: Vec<_> = (0..concurrency).map(|number| scope.spawn(move || client(number))).collect();
        barrier.wait();
        let begin = Instant::now();
        let ends: Vec<_> = clients.into_iter().map(|c| c.join().expect("a client does not panic")).collect();
        let took = begin.elapsed();
        ends.into_iter().collect::<Result<Vec<()>, _>>().map(|_| took)
    })?;
    connection.query(&format!("DROP SCHEMA {SLAP_SCHEMA}"))?;
    connection.quit();
    Ok(took)
}

/// Selects that a proxy sends to replicas find the rows there a moment later: until they do, nothing is measured.
fn wait_until_it_is_read(
    connection: &mut Connection,
    plan: &SlapPlan,
    patience: &Patience,
) -> Result<(), ClientError> {
    const IN_A_ROW: u32 = 10;
    let begin = Instant::now();
    let mut complete = 0;
    while complete < IN_A_ROW {
        match connection.rows(SELECT) {
            Ok(rows) if rows.len() == plan.rows as usize => complete += 1,
            Ok(_) => complete = 0,
            Err(error) if error.is_servers() && begin.elapsed() < patience.limit => complete = 0,
            Err(error) => return Err(error),
        }
        if complete == 0 {
            if begin.elapsed() > patience.limit {
                return Err(ClientError::NoAnswer { seconds: patience.limit.as_secs() });
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
    Ok(())
}

/// A client's part of all queries: the first ones take what is left over.
fn share(queries: u32, clients: u32, number: u32) -> u32 {
    queries / clients + u32::from(number < queries % clients)
}

fn queries(mut connection: Connection, plan: &SlapPlan, count: u32, number: u32) -> Result<(), ClientError> {
    let mut random = Random::new(plan.seed, u64::from(number) + 2);
    for turn in 0..count {
        let reads = match plan.load {
            Load::Mixed => turn % 2 == 1,
            Load::Read => true,
            Load::Write => false,
        };
        if reads {
            connection.query(SELECT)?
        } else {
            connection.query(&insert(&mut random))?
        };
    }
    connection.quit();
    Ok(())
}

fn insert(random: &mut Random) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let letters = u32::try_from(LETTERS.len()).unwrap_or(1);
    let text: String = (0..128).map(|_| char::from(LETTERS[random.up_to(letters) as usize - 1])).collect();
    format!("INSERT INTO mysqlslap.t1 VALUES ({},'{text}')", random.up_to(i32::MAX.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_shared_out_without_a_rest() {
        let shares = |clients| (0..clients).map(|number| share(1000, clients, number)).collect::<Vec<_>>();
        assert_eq!(shares(3), [334, 333, 333]);
        assert_eq!(shares(1), [1000]);
    }

    #[test]
    fn the_seconds_of_repetitions_are_summed_up() {
        let timing = Timing { target: "t".into(), concurrency: 8, seconds: vec![1.0, 3.0, 2.0] };
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9);
        close(timing.average(), 2.0);
        close(timing.min(), 1.0);
        close(timing.max(), 3.0);
    }

    #[test]
    fn a_row_is_mysqlslaps() {
        let sql = insert(&mut Random::new(1, 1));
        let text = sql.split('\'').nth(1).unwrap();
        assert_eq!(text.len(), 128);
        assert!(sql.starts_with("INSERT INTO mysqlslap.t1 VALUES ("));
    }
}
