//! COM_STMT_*: prepared statements under Telamon's own ids, prepared on whichever connection they run.

use super::Session;
use super::asks::Asks;
use super::backends::Slot;
use super::command_phase::{fill_whole, tracking_named};
use super::end::End;
use super::exchange::{NotReady, Plan, send};
use super::relay::{RelayError, stream_command};
use super::replay::{Goal, Replayed, read_replies, replay};
use super::statement_map::{Cursor, Statement};
use crate::backend::{ConnectError, Parts, PooledConnection, Prepared, PreparedKey, Settings};
use crate::io::{PacketStream, StreamError};
use crate::protocol::StatusFlags;
use crate::protocol::command::{Command, ReplyShape};
use crate::protocol::error_code::ServerError;
use crate::protocol::packet::{HEADER_LEN, Header};
use crate::protocol::prepared_statement::{Execute, long_data, set_statement_id, statement_id};
use crate::protocol::reply::PreparedHead;
use crate::routing::{Asked, Effects, Reason};
use std::rc::Rc;

/// A parameter's bitmap bit, flag and types are at most this long: 65535 parameters.
const MAX_EXECUTE_HEAD: usize = 10 + 8192 + 1 + 2 * 65535;

impl Session {
    /// COM_STMT_PREPARE: on the connection where the statement would run now.
    pub(super) async fn stmt_prepare(&mut self, whole: bool) -> Result<(), End> {
        let limit = self.context.config.limits.statements as usize;
        if self.statements.len() >= limit {
            return self.answer_error(&ServerError::too_many_statements(limit)).await;
        }
        if Header::peek(self.client.input()).is_some_and(Header::is_continued) {
            return self.answer_error(&ServerError::statement_too_long()).await;
        }
        if !whole {
            fill_whole(&mut self.client).await?;
        }
        let (class, hint) = self.classify(&self.payload()[1..]);
        if class.effects.contains(Effects::CALLS_CONNECTION_ID) {
            self.put_connection_id();
        }
        let sql = self.payload()[1..].to_vec();
        let asks = Asks::of(&class, self.state.dialect.family);
        let verdict = self.judge(&class, &sql);
        if let Some(error) = self.refusal(&class, verdict) {
            return self.answer_error(&error).await;
        }
        let slot = self.slot_for(&class, hint, verdict, asks);
        let id = self.statements.next_id();
        let repeatable = class.kind.is_repeatable();
        let plan = Plan { repeatable, new_statement: Some(id), ..Plan::new(slot, Command::StmtPrepare) };
        let ran_on = self.exchange(plan).await?;
        if let (Some(head), None) = (self.seen.prepared, self.seen.error) {
            let pools = &self.context.pools;
            let settings = pools.settings.intern(self.state.image(&pools.settings).of_text());
            let key = Rc::new(PreparedKey::new(sql.into(), settings));
            self.keep_prepared(ran_on, key.clone(), head);
            let mut statement = Statement::new(key, class, hint, head.parameters);
            statement.first = self.backends.reader.filter(|_| ran_on == Slot::Replica);
            self.statements.insert(id, statement);
        }
        Ok(())
    }

    /// Keeps a statement for all that use the connection; closes the one that gives its place.
    fn keep_prepared(&mut self, slot: Slot, key: Rc<PreparedKey>, head: PreparedHead) {
        let Some(backend) = self.backends.get_mut(slot) else { return };
        let prepared = Prepared { id: head.id, parameters: head.parameters, types: None };
        if let Some(closed) = backend.prepared.insert(key, prepared) {
            queue_close(backend, closed);
        }
    }

    /// The connection does not have the statement any more.
    pub(super) fn forget_prepared(&mut self, id: u32, slot: Slot) {
        if let (Some(statement), Some(backend)) = (self.statements.get_mut(id), self.backends.get_mut(slot)) {
            backend.prepared.take(&statement.key);
        }
    }

    /// COM_STMT_EXECUTE.
    pub(super) async fn stmt_execute(&mut self, whole: bool) -> Result<(), End> {
        let len = Header::peek(self.client.input()).map_or(0, |header| header.len);
        while self.client.input().len() < HEADER_LEN + len.min(MAX_EXECUTE_HEAD) {
            self.client.fill(MAX_EXECUTE_HEAD).await?;
        }
        let Ok(id) = statement_id(self.payload()) else {
            return self.answer_error(&ServerError::malformed_packet()).await;
        };
        let Some(statement) = self.statements.get_mut(id) else {
            return self.answer_error(&self.unknown_statement(id, "mysqld_stmt_execute")).await;
        };
        if statement.long_data_lost {
            statement.forget_long_data();
            return self.answer_error(&ServerError::long_data_too_long()).await;
        }
        let (class, hint, parameters) = (statement.class.clone(), statement.hint, statement.parameters);
        let key = statement.key.clone();
        // In the schema that its unqualified names belong to.
        let asked = Asked { class: &class, text: None, schema: key.settings.schema.as_deref() };
        let verdict = self.context.rules.judge(&asked, &self.rules);
        let Ok(head) = Execute::parse(self.payload(), parameters) else {
            let error = match self.context.topology.identity().product() {
                "MariaDB" => ServerError::wrong_arguments("mysqld_stmt_execute"),
                _ => ServerError::malformed_packet(),
            };
            return self.answer_error(&error).await;
        };
        let shape = if head.cursor == 0 { ReplyShape::Results } else { ReplyShape::ResultsOrCursor };
        let asks = Asks::of(&class, self.state.dialect.family);
        self.backends.next_reader = self.statements.get_mut(id).and_then(|statement| statement.first.take());
        if let Some(error) = self.refusal(&class, verdict) {
            return self.answer_error(&error).await;
        }
        let slot = self.slot_for(&class, hint, verdict, asks);
        let writes = class.reason == Reason::NotARead;
        let cause = self.cause(&class, &key.sql, key.settings.schema.as_deref());
        let plan = Plan {
            effects: class.effects,
            cause,
            asks,
            writes,
            whole,
            shape,
            ..Plan::new(slot, Command::StmtExecute)
        };
        self.close_cursor(id).await;
        let repeatable = class.kind.is_repeatable();
        let ran_on = self.exchange(Plan { repeatable, statement: Some(id), ..plan }).await?;
        if self.seen.cursor
            && let Some(prepared) = self.backends.get_mut(ran_on).and_then(|b| b.prepared.take(&key))
        {
            self.statements.set_cursor(id, Some(Cursor { slot: ran_on, id: prepared.id }));
        }
        if let Some(statement) = self.statements.get_mut(id) {
            statement.forget_long_data();
        }
        self.tracking_changed(&tracking_named(&class, &key.sql)).await;
        Ok(())
    }

    /// An execute ends the cursor that the one before opened, and so do a reset and a close.
    async fn close_cursor(&mut self, id: u32) {
        let Some(cursor) = self.statements.set_cursor(id, None) else { return };
        if let Some(backend) = self.backends.get_mut(cursor.slot) {
            queue_close(backend, cursor.id);
            // A connection that fails here is found dead before its next use.
            let _ = backend.connection.stream.flush().await;
        }
    }

    /// Prepares a statement on a connection that does not have it yet.
    pub(super) async fn ready_statement(&mut self, id: u32, slot: Slot) -> Result<(), NotReady> {
        let Some(statement) = self.statements.get_mut(id) else { return Ok(()) };
        let key = statement.key.clone();
        if self.backends.get_mut(slot).is_none_or(|backend| backend.prepared.get_mut(&key).is_some()) {
            return Ok(());
        }
        let interner = &self.context.pools.settings;
        let now = self.state.image(interner);
        // The text means what it meant when the client prepared it: names belong to the schema of that time.
        let then = match now.of_text() == *key.settings {
            true => now.clone(),
            false => interner.intern(now.with_text_of(&key.settings)),
        };
        let Some(backend) = self.backends.get_mut(slot) else { return Ok(()) };
        backend.become_like(&then).await?;
        let head = match backend.connection.prepare(&key.sql).await {
            Ok(head) => Ok(head),
            Err(ConnectError::Refused { payload, .. }) => Err(NotReady::Refused(payload)),
            Err(ConnectError::Unreachable(error)) => Err(NotReady::Lost(RelayError::Backend(error))),
            Err(_) => Err(NotReady::Lost(RelayError::Backend(StreamError::Closed))),
        };
        // Nothing may run with the other settings: without the way back the connection is as good as lost.
        let back = backend.become_like(&now).await;
        let head = head?;
        back.map_err(|_| NotReady::Lost(RelayError::Backend(StreamError::Closed)))?;
        self.keep_prepared(slot, key, head);
        Ok(())
    }

    /// COM_STMT_SEND_LONG_DATA: kept until the execute says where it goes. It has no reply.
    pub(super) async fn stmt_send_long_data(&mut self) -> Result<(), End> {
        let limit = self.context.config.limits.long_data_bytes;
        self.client.set_sequence(0);
        let payload = match self.client.read_packet(limit.saturating_add(7)).await {
            Ok(payload) => Some(payload),
            Err(StreamError::TooLong(_)) => None,
            Err(error) => return Err(End::Client(error)),
        };
        match &payload {
            Some(payload) => {
                if let (Ok(id), Ok((parameter, data))) = (statement_id(payload), long_data(payload))
                    && let Some(statement) = self.statements.get_mut(id)
                {
                    statement.add_long_data(parameter, data, limit);
                }
            }
            None => self.lose_long_data().await?,
        }
        Ok(())
    }

    /// More long data than may be kept: its execute will say so.
    async fn lose_long_data(&mut self) -> Result<(), End> {
        let id = statement_id(self.payload()).ok();
        if let Some(statement) = id.and_then(|id| self.statements.get_mut(id)) {
            statement.long_data_lost = true;
        }
        match stream_command(&mut self.client, None).await {
            Err(RelayError::Client(error)) => Err(End::Client(error)),
            _ => Ok(()),
        }
    }

    fn unknown_statement(&self, id: u32, command: &str) -> ServerError {
        let product = self.context.topology.identity().product();
        ServerError::unknown_statement(id, if product == "MariaDB" { command } else { "mysql_stmt_precheck" })
    }

    /// COM_STMT_CLOSE: the connections keep the statement, for whoever prepares the same. It has no reply.
    pub(super) async fn stmt_close(&mut self) -> Result<(), End> {
        if let Ok(id) = statement_id(self.payload()) {
            self.close_cursor(id).await;
            self.statements.remove(id);
        }
        self.drop_command().await
    }

    /// COM_STMT_RESET: of what it resets, only a cursor is on a server.
    pub(super) async fn stmt_reset(&mut self) -> Result<(), End> {
        let Ok(id) = statement_id(self.payload()) else {
            return self.answer_error(&ServerError::malformed_packet()).await;
        };
        let Some(statement) = self.statements.get_mut(id) else {
            return self.answer_error(&self.unknown_statement(id, "mysqld_stmt_reset")).await;
        };
        statement.forget_long_data();
        self.close_cursor(id).await;
        self.answer_ok().await
    }

    /// COM_STMT_FETCH: from the connection that has the cursor.
    pub(super) async fn stmt_fetch(&mut self) -> Result<(), End> {
        let Ok(id) = statement_id(self.payload()) else {
            return self.answer_error(&ServerError::malformed_packet()).await;
        };
        let Some(statement) = self.statements.get_mut(id) else {
            return self.answer_error(&self.unknown_statement(id, "mysqld_stmt_fetch")).await;
        };
        let product = self.context.topology.identity().product();
        let Some(Cursor { slot, id: on_server }) = statement.cursor else {
            return self.answer_error(&ServerError::no_open_cursor(id, product)).await;
        };
        set_statement_id(self.client.input_mut().get_mut(HEADER_LEN..).unwrap_or_default(), on_server);
        self.exchange(Plan { fixed: true, ..Plan::new(slot, Command::StmtFetch) }).await?;
        let over = self.seen.status.is_some_and(|s| s.contains(StatusFlags::SERVER_STATUS_LAST_ROW_SENT));
        if over {
            self.close_cursor(id).await;
        }
        Ok(())
    }
}

/// A connection on the way to the settings under which a statement was prepared, or back.
impl PooledConnection {
    async fn become_like(&mut self, settings: &Rc<Settings>) -> Result<(), NotReady> {
        if Rc::ptr_eq(&self.settings, settings) {
            return Ok(());
        }
        let replay = replay(self, &Goal::settings(settings));
        self.settings = settings.clone();
        let stream = &mut self.connection.stream;
        stream.queue(&replay.packets);
        stream.flush().await.map_err(|error| NotReady::Lost(RelayError::Backend(error)))?;
        match read_replies(self, replay.replies).await {
            Ok(Replayed::Refused(payload)) => Err(NotReady::Refused(payload)),
            Ok(_) => Ok(()),
            Err(error) => Err(NotReady::Lost(error)),
        }
    }
}

/// COM_STMT_CLOSE has no reply: it goes out with whatever is written next.
fn queue_close(backend: &mut PooledConnection, id: u32) {
    let stream = &mut backend.connection.stream;
    stream.set_sequence(0);
    stream.queue_packet(&with_id(0x19, id));
}

fn with_id(command: u8, id: u32) -> Vec<u8> {
    let mut payload = vec![command];
    payload.extend_from_slice(&id.to_le_bytes());
    payload
}

/// Sends the execute at the front of the client's input, with the server's own id, behind the long data kept for
/// it, and with the parameter types where the server does not know them; answers the id of its reply's first packet.
pub(super) async fn send_execute(
    client: &mut PacketStream,
    backend: &mut PooledConnection,
    statement: &mut Statement,
    plan: &Plan,
) -> Result<u8, RelayError> {
    let Parts { connection, prepared, .. } = &mut **backend;
    let backend = &mut connection.stream;
    let Some(on) = prepared.get_mut(&statement.key) else {
        return Err(RelayError::Backend(StreamError::Closed));
    };
    for (parameter, data) in &statement.long_data {
        let mut payload = with_id(0x18, on.id);
        payload.extend_from_slice(&parameter.to_le_bytes());
        payload.extend_from_slice(data);
        backend.set_sequence(0);
        backend.queue_packet(&payload);
    }
    set_statement_id(client.input_mut().get_mut(HEADER_LEN..).unwrap_or_default(), on.id);
    let payload = client.input().get(HEADER_LEN..).unwrap_or_default();
    let head = Execute::parse(payload, statement.parameters)?;
    if let Some(types) = head.types(payload, statement.parameters) {
        if *statement.types != *types {
            statement.types = types.into();
        }
        on.types = Some(statement.types.clone());
    } else if statement.parameters > 0 && !statement.types.is_empty() && !on.has_types(&statement.types) {
        // A whole command stays at the front of the input until it is answered; a longer one is taken off it here.
        let payload = if plan.whole {
            let len = Header::peek(client.input()).map_or(0, |header| header.len);
            payload.get(..len).unwrap_or_default().to_vec()
        } else {
            client.set_sequence(0);
            client.read_packet(usize::MAX).await.map_err(RelayError::Client)?
        };
        backend.set_sequence(0);
        backend.queue_packet(&head.with_types(&payload, &statement.types));
        on.types = Some(statement.types.clone());
        backend.flush().await?;
        return Ok(backend.sequence());
    }
    send(client, backend, plan.whole).await
}
