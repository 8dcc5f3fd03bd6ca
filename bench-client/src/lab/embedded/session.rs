//! One client's connection: opensrv-mysql's questions, answered by the engine.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use mysql_common::scramble::scramble_native;
use opensrv_mysql::{
    AsyncMysqlShim, Column, ColumnFlags, ColumnType, InitWriter, OkResponse, ParamParser, QueryResultWriter,
    StatementMetaWriter, StatusFlags, ValueInner,
};
use tokio::io::AsyncWrite;

use super::engine::{self, Answer, Cell, Engine, Refusal, SessionState};
use super::statement::Statement;
use super::token::tokens;
use crate::lab::{APP_PASSWORD, APP_USER, MONITOR_PASSWORD, MONITOR_USER, ROOT_PASSWORD, ROOT_USER};

const ACCOUNTS: [(&str, &str); 3] =
    [(APP_USER, APP_PASSWORD), (ROOT_USER, ROOT_PASSWORD), (MONITOR_USER, MONITOR_PASSWORD)];

/// A client's stay at an embedded server.
pub(crate) struct Session {
    engine: Arc<Engine>,
    state: SessionState,
    // With the schema that its names were resolved in: the one of the moment of the prepare.
    prepared: HashMap<u32, (Statement, Option<String>)>,
    next_id: u32,
    salt: [u8; 20],
    flags: Arc<AtomicU16>,
}

impl Session {
    /// `flags` is where the status flags of the next reply are left.
    pub(crate) fn new(engine: Arc<Engine>, connection_id: u32, flags: Arc<AtomicU16>) -> Session {
        let state = SessionState { connection_id, schema: None, autocommit: true, in_transaction: false };
        let session = Session { engine, state, prepared: HashMap::new(), next_id: 1, salt: salt(), flags };
        session.show_flags();
        session
    }

    fn show_flags(&self) -> StatusFlags {
        let mut flags = StatusFlags::empty();
        flags.set(StatusFlags::SERVER_STATUS_AUTOCOMMIT, self.state.autocommit);
        flags.set(StatusFlags::SERVER_STATUS_IN_TRANS, self.state.in_transaction);
        self.flags.store(flags.bits(), Ordering::Relaxed);
        flags
    }

    async fn answer<W: AsyncWrite + Send + Unpin>(
        &mut self,
        answer: Result<Answer, Refusal>,
        results: QueryResultWriter<'_, W>,
    ) -> io::Result<()> {
        let status_flags = self.show_flags();
        match answer {
            Err(Refusal(kind, text)) => results.error(kind, text.as_bytes()).await,
            Ok(Answer::Done { affected, insert_id }) => {
                let ok = OkResponse {
                    affected_rows: affected,
                    last_insert_id: insert_id,
                    status_flags,
                    ..OkResponse::default()
                };
                results.completed(ok).await
            }
            Ok(Answer::Rows { columns, rows }) => {
                let types: Vec<Column> = columns
                    .iter()
                    .enumerate()
                    .map(|(at, name)| described(name, rows.first().map(|row| &row[at])))
                    .collect();
                let mut writer = results.start(&types).await?;
                for row in &rows {
                    for cell in row {
                        match cell {
                            Cell::Null => writer.write_col(None::<i64>)?,
                            Cell::Integer(number) => writer.write_col(*number)?,
                            Cell::Text(text) => writer.write_col(text.as_str())?,
                        }
                    }
                    writer.end_row().await?;
                }
                writer.finish().await
            }
        }
    }
}

/// 20 printable bytes, different for each connection.
fn salt() -> [u8; 20] {
    let random: Vec<u8> =
        (0..3).flat_map(|_| RandomState::new().build_hasher().finish().to_le_bytes()).collect();
    std::array::from_fn(|at| b'0' + random[at] % 64)
}

/// A column's description: numbers are BIGINT, all else is text.
fn described(name: &str, first: Option<&Cell>) -> Column {
    let coltype = match first {
        Some(Cell::Integer(_)) => ColumnType::MYSQL_TYPE_LONGLONG,
        Some(Cell::Text(_) | Cell::Null) | None => ColumnType::MYSQL_TYPE_VAR_STRING,
    };
    Column { table: String::new(), column: name.to_owned(), coltype, colflags: ColumnFlags::empty() }
}

#[async_trait::async_trait]
impl<W: AsyncWrite + Send + Unpin> AsyncMysqlShim<W> for Session {
    type Error = io::Error;

    fn version(&self) -> String {
        engine::VERSION.to_owned()
    }

    fn connect_id(&self) -> u32 {
        self.state.connection_id
    }

    fn salt(&self) -> [u8; 20] {
        self.salt
    }

    async fn authenticate(&self, _plugin: &str, user: &[u8], salt: &[u8], proof: &[u8]) -> bool {
        let account = ACCOUNTS.iter().find(|(name, _)| name.as_bytes() == user);
        account.is_some_and(|(_, password)| {
            scramble_native(salt, password.as_bytes()).is_some_and(|expected| expected.as_slice() == proof)
        })
    }

    async fn on_prepare<'a>(
        &'a mut self,
        query: &'a str,
        info: StatementMetaWriter<'a, W>,
    ) -> io::Result<()> {
        let lower = query.to_ascii_lowercase();
        let tokens = tokens(query, &lower);
        let Some(statement) = Statement::recognise(&tokens) else {
            let Refusal(kind, text) = engine::unknown();
            return info.error(kind, text.as_bytes()).await;
        };
        let parameters = vec![described("?", None); Statement::parameters(&tokens)];
        let columns: Vec<Column> =
            engine::columns(&statement).iter().map(|name| described(name, None)).collect();
        let id = self.next_id;
        self.next_id += 1;
        self.prepared.insert(id, (statement, self.state.schema.clone()));
        self.show_flags();
        info.reply(id, &parameters, &columns).await
    }

    async fn on_execute<'a>(
        &'a mut self,
        id: u32,
        params: ParamParser<'a>,
        results: QueryResultWriter<'a, W>,
    ) -> io::Result<()> {
        let given: Vec<Cell> = params
            .into_iter()
            .map(|parameter| match parameter.value.into_inner() {
                ValueInner::Int(number) => Cell::Integer(number),
                ValueInner::UInt(number) => i64::try_from(number).map_or(Cell::Null, Cell::Integer),
                ValueInner::Bytes(bytes) => Cell::Text(String::from_utf8_lossy(bytes).into_owned()),
                _ => Cell::Null,
            })
            .collect();
        self.engine.until_resumed().await;
        let answer = match self.prepared.get(&id) {
            Some((statement, schema)) => {
                let current = std::mem::replace(&mut self.state.schema, schema.clone());
                let answer = self.engine.run(&mut self.state, statement, &given);
                self.state.schema = current;
                answer
            }
            None => Err(engine::unknown()),
        };
        self.answer(answer, results).await
    }

    async fn on_close<'a>(&'a mut self, id: u32)
    where
        W: 'async_trait,
    {
        self.prepared.remove(&id);
    }

    async fn on_query<'a>(&'a mut self, query: &'a str, results: QueryResultWriter<'a, W>) -> io::Result<()> {
        let lower = query.to_ascii_lowercase();
        self.engine.until_resumed().await;
        let answer = match Statement::recognise(&tokens(query, &lower)) {
            Some(statement) => self.engine.run(&mut self.state, &statement, &[]),
            None => Err(engine::unknown()),
        };
        self.answer(answer, results).await
    }

    async fn on_init<'a>(&'a mut self, schema: &'a str, writer: InitWriter<'a, W>) -> io::Result<()> {
        let schema = schema.to_ascii_lowercase();
        self.show_flags();
        if schema.is_empty() || self.engine.store.has_schema(&schema) {
            self.state.schema = (!schema.is_empty()).then_some(schema);
            return writer.ok().await;
        }
        let Refusal(kind, text) = engine::unknown_schema(&schema);
        writer.error(kind, text.as_bytes()).await
    }
}
