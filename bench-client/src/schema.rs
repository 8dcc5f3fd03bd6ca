//! sysbench's tables: made, filled, dropped.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};
use thiserror::Error;

use crate::plan::Tables;
use crate::workload::Random;

/// The schema that the tables are in, as sysbench calls it.
pub const SCHEMA: &str = "sbtest";

/// Rows of one INSERT: about 200 KB of text, far below every default of `max_allowed_packet`.
const ROWS_AT_ONCE: u32 = 1000;

/// Why tables could not be prepared or removed.
#[derive(Debug, Error)]
pub enum SchemaError {
    /// No connection.
    #[error("cannot connect to {host}:{port}: {source}")]
    Connect {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// The client library's or the server's answer.
        source: mysql_async::Error,
    },
    /// A statement was refused.
    #[error("{statement:?} was refused: {source}")]
    Statement {
        /// The statement's beginning.
        statement: String,
        /// The server's answer.
        source: mysql_async::Error,
    },
}

/// Makes schema and tables anew and fills them; tells `progress` how many rows were added after each INSERT.
///
/// # Errors
/// The connection or the first statement that failed.
pub async fn prepare(
    opts: &Opts,
    tables: Tables,
    seed: u64,
    progress: impl Fn(u32),
) -> Result<(), SchemaError> {
    let mut connection = connect(opts).await?;
    let schema = opts.db_name().unwrap_or(SCHEMA);
    run(&mut connection, &format!("CREATE DATABASE IF NOT EXISTS {schema}")).await?;
    for table in 1..=tables.count {
        run(&mut connection, &format!("DROP TABLE IF EXISTS {schema}.sbtest{table}")).await?;
        run(&mut connection, &create_table(schema, table)).await?;
        let mut random = Random::new(seed, u64::from(table));
        let mut first = 1;
        while first <= tables.size {
            let last = tables.size.min(first + ROWS_AT_ONCE - 1);
            run(&mut connection, &insert(schema, table, first..=last, &mut random)).await?;
            progress(last - first + 1);
            first = last + 1;
        }
        run(&mut connection, &format!("CREATE INDEX k_{table} ON {schema}.sbtest{table}(k)")).await?;
    }
    drop(connection.disconnect().await);
    Ok(())
}

/// Drops the tables; the schema stays.
///
/// # Errors
/// The connection or the first statement that failed.
pub async fn cleanup(opts: &Opts, tables: Tables) -> Result<(), SchemaError> {
    let mut connection = connect(opts).await?;
    let schema = opts.db_name().unwrap_or(SCHEMA);
    for table in 1..=tables.count {
        run(&mut connection, &format!("DROP TABLE IF EXISTS {schema}.sbtest{table}")).await?;
    }
    drop(connection.disconnect().await);
    Ok(())
}

fn create_table(schema: &str, table: u32) -> String {
    format!(
        "CREATE TABLE {schema}.sbtest{table} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
         c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) /*! ENGINE = innodb */"
    )
}

fn insert(schema: &str, table: u32, ids: std::ops::RangeInclusive<u32>, random: &mut Random) -> String {
    let limit = *ids.end();
    let values: Vec<String> = ids
        .map(|id| format!("({id}, {}, '{}', '{}')", random.up_to(limit), random.digits(10), random.digits(5)))
        .collect();
    format!("INSERT INTO {schema}.sbtest{table} (id, k, c, pad) VALUES {}", values.join(", "))
}

/// To no schema: it may not be there yet.
async fn connect(opts: &Opts) -> Result<Conn, SchemaError> {
    let bare = OptsBuilder::from_opts(opts.clone()).db_name(None::<String>);
    Conn::new(bare).await.map_err(|source| SchemaError::Connect {
        host: opts.ip_or_hostname().to_owned(),
        port: opts.tcp_port(),
        source,
    })
}

async fn run(connection: &mut Conn, statement: &str) -> Result<(), SchemaError> {
    connection
        .query_drop(statement)
        .await
        .map_err(|source| SchemaError::Statement { statement: statement.chars().take(120).collect(), source })
}
