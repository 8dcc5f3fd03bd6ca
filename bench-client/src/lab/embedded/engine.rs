//! Carries out a recognised statement on the store.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use opensrv_mysql::ErrorKind;
use tokio::sync::watch;

use super::show::{Counters, pairs};
use super::statement::{Asked, Filter, Name, Operand, Output, Statement};
use super::store::{Row, Store, Table, TableName};
use crate::lab::Role;

/// A value of a result row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    Integer(i64),
    Text(String),
}

/// What the client is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Done { affected: u64, insert_id: u64 },
    Rows { columns: Vec<String>, rows: Vec<Vec<Cell>> },
}

/// A refusal: MySQL's error number and a text.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) ErrorKind, pub(crate) String);

/// What a server is, and what it answers from.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) role: Role,
    pub(crate) server_id: u32,
    pub(crate) port: u16,
    pub(crate) store: Arc<Store>,
    pub(crate) counters: Counters,
    /// While true, no statement is answered.
    pub(crate) suspended: watch::Sender<bool>,
}

/// The version the embedded servers give: MySQL's grammar, and no real server's number.
pub(crate) const VERSION: &str = "8.0.0-telamon-embedded";

/// What belongs to one connection.
#[derive(Debug)]
pub(crate) struct SessionState {
    pub(crate) connection_id: u32,
    pub(crate) schema: Option<String>,
    pub(crate) autocommit: bool,
    pub(crate) in_transaction: bool,
}

impl Engine {
    /// Runs a statement with the parameters of its execution.
    pub(crate) fn run(
        &self,
        session: &mut SessionState,
        statement: &Statement,
        parameters: &[Cell],
    ) -> Result<Answer, Refusal> {
        self.counters.count(command(statement));
        if self.role == Role::Replica && writes(statement) {
            let text =
                "The MySQL server is running with the --read-only option so it cannot execute this statement";
            return Err(Refusal(ErrorKind::ER_OPTION_PREVENTS_STATEMENT, text.to_owned()));
        }
        match statement {
            Statement::Begin => session.in_transaction = true,
            Statement::Commit | Statement::Rollback => session.in_transaction = false,
            Statement::Autocommit(on) => {
                session.autocommit = *on;
                session.in_transaction = session.in_transaction && !on;
            }
            Statement::Accepted(_) => {}
            Statement::SelectValues(asked) => return Ok(self.values(session, asked)),
            Statement::Status(pattern) => return Ok(pairs(self.counters.rows(pattern))),
            Statement::Variables(pattern) => return Ok(self.variables(pattern)),
            Statement::ReplicaStatus => return Ok(self.replica_status()),
            Statement::Nothing => return Ok(pairs(Vec::new())),
            Statement::CreateTable { .. }
            | Statement::DropTables { .. }
            | Statement::CreateSchema { .. }
            | Statement::DropSchema { .. } => return self.define(session, statement),
            _ => {
                session.in_transaction = session.in_transaction || !session.autocommit;
                return self.rows(session, statement, parameters);
            }
        }
        Ok(done(0, 0))
    }

    /// Waits while the server is suspended.
    pub(crate) async fn until_resumed(&self) {
        if *self.suspended.borrow() {
            // The sender lives as long as the engine.
            drop(self.suspended.subscribe().wait_for(|suspended| !suspended).await);
        }
    }

    fn rows(&self, session: &SessionState, statement: &Statement, given: &[Cell]) -> Result<Answer, Refusal> {
        let (name, id) = match statement {
            Statement::Select { table, output, filter, order_by_c } => {
                let table = self.table(session, table)?;
                let table = table.read().unwrap_or_else(PoisonError::into_inner);
                return Ok(select(&table, *output, *order_by_c, &matching(&table, filter, given)?));
            }
            Statement::Insert { table, columns, rows } => {
                let table = self.table(session, table)?;
                let mut table = table.write().unwrap_or_else(PoisonError::into_inner);
                return insert(&mut table, columns, rows, given, session);
            }
            Statement::UpdateK { table, id }
            | Statement::UpdateC { table, id, .. }
            | Statement::Delete { table, id } => (table, integer(id, given)?),
            _ => return Err(unknown()),
        };
        let table = self.table(session, name)?;
        let mut table = table.write().unwrap_or_else(PoisonError::into_inner);
        let found = match statement {
            Statement::Delete { .. } => table.rows.remove(&id).is_some(),
            Statement::UpdateC { c, .. } => {
                let c = text(c, given)?;
                table.rows.get_mut(&id).map(|row| row.c = c).is_some()
            }
            _ => table.rows.get_mut(&id).map(|row| row.k += 1).is_some(),
        };
        Ok(done(u64::from(found), 0))
    }

    fn define(&self, session: &SessionState, statement: &Statement) -> Result<Answer, Refusal> {
        match statement {
            Statement::CreateSchema { schema, if_not_exists } => {
                if !self.store.create_schema(schema) && !if_not_exists {
                    let text = format!("Can't create database '{schema}'; database exists");
                    return Err(Refusal(ErrorKind::ER_DB_CREATE_EXISTS, text));
                }
            }
            Statement::DropSchema { schema, if_exists } => {
                if !self.store.drop_schema(schema) && !if_exists {
                    let text = format!("Can't drop database '{schema}'; database doesn't exist");
                    return Err(Refusal(ErrorKind::ER_DB_DROP_EXISTS, text));
                }
            }
            Statement::CreateTable { table, if_not_exists } => {
                let name = full_name(session, table)?;
                if !self.store.has_schema(&name.schema) {
                    return Err(unknown_schema(&name.schema));
                }
                if !self.store.create_table(&name) && !if_not_exists {
                    let text = format!("Table '{}' already exists", name.table);
                    return Err(Refusal(ErrorKind::ER_TABLE_EXISTS_ERROR, text));
                }
            }
            Statement::DropTables { tables, if_exists } => {
                for table in tables {
                    let name = full_name(session, table)?;
                    if !self.store.drop_table(&name) && !if_exists {
                        let text = format!("Unknown table '{}.{}'", name.schema, name.table);
                        return Err(Refusal(ErrorKind::ER_BAD_TABLE_ERROR, text));
                    }
                }
            }
            _ => return Err(unknown()),
        }
        Ok(done(0, 0))
    }

    fn table(&self, session: &SessionState, name: &Name) -> Result<Arc<RwLock<Table>>, Refusal> {
        let name = full_name(session, name)?;
        self.store.table(&name).ok_or_else(|| {
            let text = format!("Table '{}.{}' doesn't exist", name.schema, name.table);
            Refusal(ErrorKind::ER_NO_SUCH_TABLE, text)
        })
    }

    fn values(&self, session: &SessionState, asked: &[(String, Asked)]) -> Answer {
        let row = asked.iter().map(|(_, value)| match value {
            Asked::Constant(number) => Cell::Integer(*number),
            Asked::Version => Cell::Text(VERSION.to_owned()),
            Asked::Schema => session.schema.clone().map_or(Cell::Null, Cell::Text),
            Asked::ConnectionId => Cell::Integer(i64::from(session.connection_id)),
            Asked::Variable(name) => self.variable(session, name),
        });
        Answer::Rows {
            rows: vec![row.collect()],
            columns: asked.iter().map(|(column, _)| column.clone()).collect(),
        }
    }
}

/// The columns of a statement's result; none where it answers OK.
pub(crate) fn columns(statement: &Statement) -> Vec<String> {
    match statement {
        Statement::Select { output, .. } => output_columns(*output),
        Statement::SelectValues(asked) => asked.iter().map(|(column, _)| column.clone()).collect(),
        Statement::Status(_) | Statement::Variables(_) | Statement::Nothing => {
            ["Variable_name", "Value"].map(str::to_owned).to_vec()
        }
        _ => Vec::new(),
    }
}

fn output_columns(output: Output) -> Vec<String> {
    let names: &[&str] = match output {
        Output::C | Output::DistinctC => &["c"],
        Output::SumK => &["SUM(k)"],
        Output::Count => &["COUNT(*)"],
        Output::CountK => &["count(k)"],
        Output::Whole => &["id", "k", "c", "pad"],
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn command(statement: &Statement) -> &'static str {
    match statement {
        Statement::Select { .. } | Statement::SelectValues(_) => "select",
        Statement::Insert { .. } => "insert",
        Statement::UpdateK { .. } | Statement::UpdateC { .. } => "update",
        Statement::Delete { .. } => "delete",
        Statement::CreateTable { .. } => "create_table",
        Statement::DropTables { .. } => "drop_table",
        Statement::CreateSchema { .. } => "create_db",
        Statement::DropSchema { .. } => "drop_db",
        Statement::Begin => "begin",
        Statement::Commit => "commit",
        Statement::Rollback => "rollback",
        Statement::Autocommit(_) => "set_option",
        Statement::Accepted(command) => command,
        Statement::Status(_) | Statement::Variables(_) | Statement::ReplicaStatus | Statement::Nothing => {
            "show"
        }
    }
}

fn writes(statement: &Statement) -> bool {
    let reads = ["select", "begin", "commit", "rollback", "set_option", "show"];
    !reads.contains(&command(statement))
}

fn select(table: &Table, output: Output, order_by_c: bool, ids: &[i64]) -> Answer {
    let found = ids.iter().filter_map(|id| Some((*id, table.rows.get(id)?)));
    let rows: Vec<Vec<Cell>> = match output {
        Output::C if order_by_c => {
            let mut values: Vec<&str> = found.map(|(_, row)| row.c.as_str()).collect();
            values.sort_unstable();
            values.into_iter().map(|c| vec![Cell::Text(c.to_owned())]).collect()
        }
        Output::C => found.map(|(_, row)| vec![Cell::Text(row.c.clone())]).collect(),
        Output::DistinctC => {
            let values: BTreeSet<&str> = found.map(|(_, row)| row.c.as_str()).collect();
            values.into_iter().map(|c| vec![Cell::Text(c.to_owned())]).collect()
        }
        Output::SumK if ids.is_empty() => vec![vec![Cell::Null]],
        Output::SumK => vec![vec![Cell::Integer(found.map(|(_, row)| row.k).sum())]],
        Output::Count | Output::CountK => {
            vec![vec![Cell::Integer(i64::try_from(ids.len()).unwrap_or(i64::MAX))]]
        }
        Output::Whole => found.map(|(id, row)| whole(id, row)).collect(),
    };
    Answer::Rows { columns: output_columns(output), rows }
}

fn whole(id: i64, row: &Row) -> Vec<Cell> {
    vec![Cell::Integer(id), Cell::Integer(row.k), Cell::Text(row.c.clone()), Cell::Text(row.pad.clone())]
}

/// The ids that a filter lets through, in the primary key's order.
fn matching(table: &Table, filter: &Filter, given: &[Cell]) -> Result<Vec<i64>, Refusal> {
    Ok(match filter {
        Filter::All => table.rows.keys().copied().collect(),
        Filter::Id(id) => {
            let id = integer(id, given)?;
            if table.rows.contains_key(&id) { vec![id] } else { Vec::new() }
        }
        Filter::IdBetween(low, high) => {
            let (low, high) = (integer(low, given)?, integer(high, given)?);
            if low > high { Vec::new() } else { table.rows.range(low..=high).map(|(id, _)| *id).collect() }
        }
        Filter::KIn(list) => {
            let wanted = list.iter().map(|k| integer(k, given)).collect::<Result<BTreeSet<_>, _>>()?;
            table.rows.iter().filter(|(_, row)| wanted.contains(&row.k)).map(|(id, _)| *id).collect()
        }
        Filter::KBetween(ranges) => {
            let bounds = ranges.iter().map(|(low, high)| Ok((integer(low, given)?, integer(high, given)?)));
            let bounds = bounds.collect::<Result<Vec<_>, Refusal>>()?;
            let wanted = |k: i64| bounds.iter().any(|(low, high)| (*low..=*high).contains(&k));
            table.rows.iter().filter(|(_, row)| wanted(row.k)).map(|(id, _)| *id).collect()
        }
    })
}

fn insert(
    table: &mut Table,
    columns: &[String],
    rows: &[Vec<Operand>],
    given: &[Cell],
    session: &SessionState,
) -> Result<Answer, Refusal> {
    let mut first_id = 0;
    for values in rows {
        let mut id = table.next_id();
        let mut row = Row { k: 0, c: String::new(), pad: String::new() };
        for (column, value) in columns.iter().zip(values) {
            match column.as_str() {
                // As AUTO_INCREMENT has it, 0 asks for the next.
                "id" => id = Some(integer(value, given)?).filter(|id| *id != 0).unwrap_or(id),
                "k" => row.k = integer(value, given)?,
                "c" => row.c = text(value, given)?,
                _ => row.pad = text(value, given)?,
            }
        }
        // Two transactions that both delete and insert an id would wait for each other's row lock in a real server.
        // Without locks the second finds the first one's row, and puts its own in its place.
        if table.rows.contains_key(&id) && !session.in_transaction {
            let text = format!("Duplicate entry '{id}' for key 'PRIMARY'");
            return Err(Refusal(ErrorKind::ER_DUP_ENTRY, text));
        }
        table.rows.insert(id, row);
        first_id = if first_id == 0 { id } else { first_id };
    }
    Ok(done(rows.len() as u64, u64::try_from(first_id).unwrap_or(0)))
}

fn done(affected: u64, insert_id: u64) -> Answer {
    Answer::Done { affected, insert_id }
}

fn full_name(session: &SessionState, name: &Name) -> Result<TableName, Refusal> {
    let schema = name.schema.clone().or_else(|| session.schema.clone());
    let schema =
        schema.ok_or_else(|| Refusal(ErrorKind::ER_NO_DB_ERROR, "No database selected".to_owned()))?;
    Ok(TableName { schema, table: name.table.clone() })
}

/// MySQL's refusal of a schema that does not exist.
pub(crate) fn unknown_schema(schema: &str) -> Refusal {
    Refusal(ErrorKind::ER_BAD_DB_ERROR, format!("Unknown database '{schema}'"))
}

/// The refusal of a statement that is not one of the bench's.
pub(crate) fn unknown() -> Refusal {
    let text =
        "The embedded server knows only the bench's own statements; use --flavor mariadb or mysql for others";
    Refusal(ErrorKind::ER_NOT_SUPPORTED_YET, text.to_owned())
}

fn integer(operand: &Operand, given: &[Cell]) -> Result<i64, Refusal> {
    let value = match operand {
        Operand::Integer(number) => Some(*number),
        Operand::Text(text) => text.parse().ok(),
        Operand::Parameter(at) => match given.get(*at) {
            Some(Cell::Integer(number)) => Some(*number),
            Some(Cell::Text(text)) => text.parse().ok(),
            Some(Cell::Null) | None => None,
        },
    };
    value.ok_or_else(|| Refusal(ErrorKind::ER_TRUNCATED_WRONG_VALUE, "Incorrect INTEGER value".to_owned()))
}

fn text(operand: &Operand, given: &[Cell]) -> Result<String, Refusal> {
    match operand {
        Operand::Integer(number) => Ok(number.to_string()),
        Operand::Text(text) => Ok(text.clone()),
        Operand::Parameter(at) => match given.get(*at) {
            Some(Cell::Integer(number)) => Ok(number.to_string()),
            Some(Cell::Text(text)) => Ok(text.clone()),
            Some(Cell::Null) | None => {
                Err(Refusal(ErrorKind::ER_BAD_NULL_ERROR, "Column cannot be null".to_owned()))
            }
        },
    }
}
