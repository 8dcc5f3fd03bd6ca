//! The questions to one target.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{Answer, Weight};
use crate::client::{ClientError, Connection, Patience};
use crate::driver::DriverError;
use crate::plan::{Plan, PsMode};
use crate::target::{Target, Tls};

/// What the questions about tables' rows begin with: a run with writes changes the answers.
pub(super) const ROWS: &str = "rows";

/// Session variables that change what statements do or cost.
const SESSION: [&str; 8] = [
    "character_set_client",
    "character_set_results",
    "collation_connection",
    "sql_mode",
    "autocommit",
    "time_zone",
    "transaction_isolation",
    "tx_isolation",
];

/// Server settings that change the cost of a statement most: durability, replication, memory, caches.
const SERVER: [&str; 17] = [
    "version",
    "sync_binlog",
    "innodb_flush_log_at_trx_commit",
    "innodb_buffer_pool_size",
    "innodb_flush_method",
    "innodb_doublewrite",
    "log_bin",
    "binlog_format",
    "log_slave_updates",
    "rpl_semi_sync_master_enabled",
    "rpl_semi_sync_source_enabled",
    "rpl_semi_sync_master_wait_point",
    "query_cache_type",
    "query_cache_size",
    "performance_schema",
    "thread_handling",
    "max_connections",
];

/// How often a read is sent to see which servers it reaches.
const READS: u32 = 24;
const PINGS: u32 = 50;
const CONNECTS: u32 = 5;
/// More rows than this are estimated by the server, not counted.
const MOST_COUNTED: u64 = 2_000_000;

/// All answers of a target.
pub(super) fn answers(target: &Target, plan: &Plan, patience: &Patience) -> Result<Vec<Answer>, DriverError> {
    let connect_failed =
        |source| DriverError::Connect { name: target.name.clone(), address: target.shown(), source };
    let mut connection = Connection::open(target, patience).map_err(connect_failed)?;
    let mut found = Vec::new();
    let failed = |statement: &str| {
        let (name, statement) = (target.name.clone(), statement.to_owned());
        move |source| DriverError::Statement { name, statement, source }
    };
    tables(&mut connection, plan, &mut found).map_err(|(statement, e)| failed(&statement)(e))?;
    servers(&mut connection, &mut found).map_err(failed("SELECT @@server_id"))?;
    variables(&mut connection, &mut found).map_err(failed("SHOW VARIABLES"))?;
    way(target, plan, &mut connection, &mut found).map_err(failed("PREPARE"))?;
    times(target, patience, &mut connection, &mut found).map_err(connect_failed)?;
    connection.quit();
    Ok(found)
}

fn add(found: &mut Vec<Answer>, weight: Weight, name: impl Into<String>, value: impl Into<String>) {
    found.push(Answer { name: name.into(), value: value.into(), weight });
}

/// On the primary: in a transaction, which a proxy keeps there.
fn on_primary<T>(
    connection: &mut Connection,
    ask: impl FnOnce(&mut Connection) -> Result<T, ClientError>,
) -> Result<T, ClientError> {
    connection.query("BEGIN")?;
    let answer = ask(connection);
    connection.query("COMMIT")?;
    answer
}

fn tables(
    connection: &mut Connection,
    plan: &Plan,
    found: &mut Vec<Answer>,
) -> Result<(), (String, ClientError)> {
    let tables = if plan.workload.uses_first_table_only() { 1 } else { plan.tables.count };
    let counted = u64::from(plan.tables.count) * u64::from(plan.tables.size) <= MOST_COUNTED;
    let mut rows = Vec::new();
    for table in 1..=tables {
        let sql = if counted {
            format!("SELECT COUNT(*) FROM sbtest{table}")
        } else {
            format!("SELECT c FROM sbtest{table} WHERE id=1")
        };
        let answer = on_primary(connection, |connection| connection.first(&sql));
        rows.push(answer.map_err(|error| (sql, error))?.unwrap_or_default());
    }
    if counted {
        rows.dedup();
        add(found, Weight::Must, format!("{ROWS} of {tables} tables, each"), rows.join(", "));
    }
    Ok(())
}

fn servers(connection: &mut Connection, found: &mut Vec<Answer>) -> Result<(), ClientError> {
    let name = |connection: &mut Connection| -> Result<String, ClientError> {
        let id = connection.first("SELECT @@server_id")?;
        // MySQL has an identity that no two servers share; MariaDB has not.
        let uuid = connection.first("SELECT @@server_uuid").ok().flatten();
        let parts = [id, uuid].into_iter().flatten();
        Ok(parts.collect::<Vec<_>>().join(" "))
    };
    let primary = on_primary(connection, name)?;
    add(found, Weight::Must, "server of writes and transactions", primary);
    let mut reached = BTreeSet::new();
    for _ in 0..READS {
        reached.extend(connection.first("SELECT @@server_id")?);
    }
    let reached: Vec<String> = reached.into_iter().collect();
    add(found, Weight::Known, "servers that tell their id to a read", reached.join(", "));
    Ok(())
}

fn variables(connection: &mut Connection, found: &mut Vec<Answer>) -> Result<(), ClientError> {
    let rows = on_primary(connection, |connection| connection.rows("SHOW VARIABLES"))?;
    let value = |wanted: &str| {
        rows.iter().find_map(|row| match &row[..] {
            [Some(name), value] if name.eq_ignore_ascii_case(wanted) => value.clone(),
            _ => None,
        })
    };
    for name in SESSION.iter().chain(&SERVER) {
        if let Some(value) = value(name) {
            add(found, Weight::Must, *name, value);
        }
    }
    Ok(())
}

/// TLS, and whether statements are prepared.
fn way(
    target: &Target,
    plan: &Plan,
    connection: &mut Connection,
    found: &mut Vec<Answer>,
) -> Result<(), ClientError> {
    let tls = match target.tls {
        Tls::Off => "off".to_owned(),
        Tls::Required => connection.cipher().unwrap_or_else(|| "on".to_owned()),
    };
    add(found, Weight::Must, "TLS", tls);
    let prepared = match plan.ps_mode {
        PsMode::Disable => "no",
        PsMode::Auto => match connection.prepare("SELECT c FROM sbtest1 WHERE id=?") {
            Ok(_) => "yes",
            Err(error) if error.is_servers() => "no",
            Err(error) => return Err(error),
        },
    };
    add(found, Weight::Must, "statements prepared", prepared);
    Ok(())
}

/// How far away it is: medians of a TCP connect, of a login, of a COM_PING, of a select of nothing.
fn times(
    target: &Target,
    patience: &Patience,
    connection: &mut Connection,
    found: &mut Vec<Answer>,
) -> Result<(), ClientError> {
    let mut logins = Vec::new();
    for _ in 0..CONNECTS {
        let begin = Instant::now();
        let opened = Connection::open(target, patience)?;
        logins.push(begin.elapsed());
        opened.quit();
    }
    let mut connects = Vec::new();
    for _ in 0..CONNECTS {
        connects.push(Connection::connect_time(target).map_err(ClientError::Connect)?);
    }
    let (mut pings, mut selects) = (Vec::new(), Vec::new());
    for _ in 0..PINGS {
        let begin = Instant::now();
        connection.ping()?;
        pings.push(begin.elapsed());
        let begin = Instant::now();
        connection.query("SELECT 1")?;
        selects.push(begin.elapsed());
    }
    for (name, times) in
        [("TCP connect", connects), ("login", logins), ("COM_PING", pings), ("SELECT 1", selects)]
    {
        add(found, Weight::Figure, format!("{name}, median"), shown(&times));
    }
    Ok(())
}

fn shown(times: &[Duration]) -> String {
    let millis: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1000.0).collect();
    format!("{:.3} ms", crate::stats::median(&millis))
}
