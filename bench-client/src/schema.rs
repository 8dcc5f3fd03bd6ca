//! sysbench's tables: made, filled, dropped. The same definitions and rows of the same form, so that either program
//! runs on the other's tables.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use thiserror::Error;

use crate::client::{ClientError, Connection, Patience};
use crate::plan::{Plan, Tables};
use crate::target::Target;
use crate::workload::{C_GROUPS, Ids, PAD_GROUPS, Random};

/// The schema that the tables are in, as sysbench calls it.
pub const SCHEMA: &str = "sbtest";

/// Rows of one INSERT: about 400 KB of text, far below every default of `max_allowed_packet`.
const ROWS_AT_ONCE: u32 = 2000;

/// Why tables could not be prepared or removed.
#[derive(Debug, Error)]
pub enum SchemaError {
    /// No connection.
    #[error("cannot connect to {target}: {source}; {}", crate::driver::mend(.source))]
    Connect {
        /// The target, without its password.
        target: String,
        /// The system's or the server's answer.
        source: ClientError,
    },
    /// A statement was refused.
    #[error("{statement:?} was refused: {source}")]
    Statement {
        /// The statement's beginning.
        statement: String,
        /// The server's answer.
        source: ClientError,
    },
}

/// Makes schema and tables anew and fills them, several tables at a time; tells `progress` how many rows were added
/// after each INSERT. Stops early, without an error, when `patience` is told to.
///
/// # Errors
/// The connection or the first statement that failed.
pub fn prepare(
    target: &Target,
    plan: &Plan,
    patience: &Patience,
    progress: &(impl Fn(u64) + Sync),
) -> Result<(), SchemaError> {
    let mut connection = connect(target, patience)?;
    run(&mut connection, &format!("CREATE DATABASE IF NOT EXISTS {}", quoted(target.schema_name())))?;
    connection.quit();
    let (next, failed) = (AtomicU32::new(1), AtomicBool::new(false));
    let fill = || -> Result<(), SchemaError> {
        let mut connection = connect(target, patience)?;
        loop {
            let table = next.fetch_add(1, Ordering::Relaxed);
            let stopped = patience.stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
            if table > plan.tables.count || stopped {
                connection.quit();
                return Ok(());
            }
            let filled = fill_table(&mut connection, target, plan, table, progress);
            failed.fetch_or(filled.is_err(), Ordering::Relaxed);
            filled?;
        }
    };
    let threads = plan.threads.clamp(1, plan.tables.count.max(1));
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(fill)).collect();
        let mut ends = handles.into_iter().map(|h| h.join().expect("filling a table does not panic"));
        ends.try_for_each(|end| end)
    })
}

fn fill_table(
    connection: &mut Connection,
    target: &Target,
    plan: &Plan,
    table: u32,
    progress: &impl Fn(u64),
) -> Result<(), SchemaError> {
    let schema = quoted(target.schema_name());
    run(connection, &format!("DROP TABLE IF EXISTS {schema}.sbtest{table}"))?;
    run(connection, &create_table(&schema, table, plan.auto_inc))?;
    let mut random = Random::new(plan.rand.seed, u64::from(table));
    let ids = Ids::new(&plan.rand, plan.tables.size);
    let columns = if plan.auto_inc { "k, c, pad" } else { "id, k, c, pad" };
    let head = format!("INSERT INTO {schema}.sbtest{table}({columns}) VALUES");
    let mut statement = String::new();
    let mut first = 1;
    while first <= plan.tables.size {
        let last = plan.tables.size.min(first.saturating_add(ROWS_AT_ONCE - 1));
        statement.clear();
        statement.push_str(&head);
        for id in first..=last {
            if id > first {
                statement.push(',');
            }
            push_row(&mut statement, (!plan.auto_inc).then_some(id), &ids, &mut random);
        }
        run(connection, &statement)?;
        progress(u64::from(last - first + 1));
        first = last + 1;
    }
    run(connection, &format!("CREATE INDEX k_{table} ON {schema}.sbtest{table}(k)"))
}

fn push_row(statement: &mut String, id: Option<u32>, ids: &Ids, random: &mut Random) {
    use std::fmt::Write as _;
    let k = ids.draw(random);
    // A String takes every write.
    let _ = match id {
        Some(id) => write!(statement, "({id}, {k}, '"),
        None => write!(statement, "({k}, '"),
    };
    let mut digits = |groups| {
        let mut text = Vec::with_capacity(groups * 12);
        random.digits(groups, &mut text);
        String::from_utf8(text).expect("digits are ASCII")
    };
    statement.push_str(&digits(C_GROUPS));
    statement.push_str("', '");
    statement.push_str(&digits(PAD_GROUPS));
    statement.push_str("')");
}

/// Drops the tables; the schema stays.
///
/// # Errors
/// The connection or the first statement that failed.
pub fn cleanup(target: &Target, tables: Tables, patience: &Patience) -> Result<(), SchemaError> {
    let mut connection = connect(target, patience)?;
    let schema = quoted(target.schema_name());
    for table in 1..=tables.count {
        run(&mut connection, &format!("DROP TABLE IF EXISTS {schema}.sbtest{table}"))?;
    }
    connection.quit();
    Ok(())
}

fn create_table(schema: &str, table: u32, auto_inc: bool) -> String {
    let auto_inc = if auto_inc { " AUTO_INCREMENT" } else { "" };
    format!(
        "CREATE TABLE {schema}.sbtest{table} (id INTEGER NOT NULL{auto_inc}, k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) /*! ENGINE = innodb */"
    )
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn connect(target: &Target, patience: &Patience) -> Result<Connection, SchemaError> {
    let failed = |source| SchemaError::Connect { target: target.shown(), source };
    Connection::open(&target.bare(), patience).map_err(failed)
}

fn run(connection: &mut Connection, statement: &str) -> Result<(), SchemaError> {
    connection
        .query(statement)
        .map(|_| ())
        .map_err(|source| SchemaError::Statement { statement: statement.chars().take(120).collect(), source })
}
