//! COM_STMT_*: prepared statements under Telamon's own ids, prepared on whichever connection they run.

use super::Session;
use super::backends::Slot;
use super::command_phase::{asks_insert_id, fill_whole, tracking_named};
use super::end::{End, Side};
use super::exchange::{NotReady, Plan, send};
use super::relay::{RelayError, stream_command};
use super::statement_map::Statement;
use crate::backend::ConnectError;
use crate::io::{PacketStream, StreamError};
use crate::protocol::command::{Command, ReplyShape};
use crate::protocol::error_code::ServerError;
use crate::protocol::packet::{HEADER_LEN, Header};
use crate::protocol::prepared_statement::{Execute, long_data, set_statement_id, statement_id};
use crate::protocol::{StatusFlags, response};
use crate::routing::Asked;

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
        let sql = self.payload()[1..].to_vec();
        let (class, hint) = self.classify(&sql);
        let verdict = self.judge(&class, &sql);
        if let Some(error) = self.refusal(&class, verdict) {
            return self.answer_error(&error).await;
        }
        let slot = self.slot_for(&class, hint, verdict, asks_insert_id(&class, &sql));
        let id = self.statements.next_id();
        let repeatable = class.kind.is_repeatable();
        let plan = Plan { repeatable, new_statement: Some(id), ..Plan::new(slot, Command::StmtPrepare) };
        let ran_on = self.exchange(plan).await?;
        if let (Some(head), None) = (self.seen.prepared, self.seen.error) {
            let mut statement = Statement::new(sql, class, hint);
            statement.schema = self.state.schema.clone();
            statement.settings = self.state.settings;
            statement.prepared_on(ran_on, head);
            self.statements.insert(id, statement);
        }
        Ok(())
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
        let insert_id = asks_insert_id(&class, &statement.sql);
        let settings = statement.settings;
        // In the schema that its unqualified names belong to.
        let asked = Asked { class: &class, text: None, schema: statement.schema.as_deref() };
        let verdict = self.context.rules.judge(&asked, &self.rules);
        let Ok(head) = Execute::parse(self.payload(), parameters) else {
            let error = match self.context.topology.identity().product() {
                "MariaDB" => ServerError::wrong_arguments("mysqld_stmt_execute"),
                _ => ServerError::malformed_packet(),
            };
            return self.answer_error(&error).await;
        };
        let shape = if head.cursor == 0 { ReplyShape::Results } else { ReplyShape::ResultsOrCursor };
        if let Some(error) = self.refusal(&class, verdict) {
            return self.answer_error(&error).await;
        }
        let mut slot = self.slot_for(&class, hint, verdict, insert_id);
        let on_replica = self.backends.get(Slot::Replica).is_some()
            && self.statements.get_mut(id).is_some_and(|statement| statement.on(Slot::Replica).is_some());
        if slot == Slot::Replica && !on_replica && settings != self.state.settings {
            slot = Slot::Primary; // prepared there now, its text would mean something else
        }
        let plan = Plan { effects: class.effects, whole, shape, ..Plan::new(slot, Command::StmtExecute) };
        let tracking = match self.statements.get_mut(id) {
            Some(statement) => tracking_named(&class, &statement.sql),
            None => Vec::new(),
        };
        let repeatable = class.kind.is_repeatable();
        let ran_on = self.exchange(Plan { repeatable, statement: Some(id), ..plan }).await?;
        let cursor = self.seen.cursor.then_some(ran_on);
        if let Some(statement) = self.statements.get_mut(id) {
            statement.forget_long_data();
            statement.cursor = cursor;
        }
        self.tracking_changed(&tracking).await;
        Ok(())
    }

    /// Prepares a statement on a connection that does not have it yet.
    pub(super) async fn ready_statement(&mut self, id: u32, slot: Slot) -> Result<(), NotReady> {
        let Some(statement) = self.statements.get_mut(id) else { return Ok(()) };
        if statement.on(slot).is_some() {
            return Ok(());
        }
        let Some(backend) = self.backends.get_mut(slot) else { return Ok(()) };
        let connection = &mut backend.connection;
        // Unqualified names belong to the schema of the time when the client prepared it.
        let (then, now) = (statement.schema.clone(), self.state.schema.clone());
        let elsewhere = then.is_some() && then != now;
        let prepare = async {
            if let Some(schema) = then.filter(|_| elsewhere) {
                connection.init_db(&schema).await?;
            }
            let head = connection.prepare(&statement.sql).await;
            if let Some(schema) = now.filter(|_| elsewhere) {
                // Nothing may run in the other schema: without the way back the connection is as good as lost.
                connection.init_db(&schema).await.map_err(|_| StreamError::Closed)?;
            }
            head
        };
        match prepare.await {
            Ok(head) => {
                statement.prepared_on(slot, head);
                Ok(())
            }
            Err(ConnectError::Refused { payload, .. }) => Err(NotReady::Refused(payload)),
            Err(ConnectError::Unreachable(error)) => Err(NotReady::Lost(RelayError::Backend(error))),
            Err(_) => Err(NotReady::Lost(RelayError::Backend(StreamError::Closed))),
        }
    }

    /// Before a SET may change what texts mean: every statement is prepared on the primary as the client meant it.
    pub(super) async fn prepare_all_on_primary(&mut self) -> Result<(), End> {
        let missing = self.statements.ids_not_on(Slot::Primary);
        if missing.is_empty() || self.open(Slot::Primary).await.is_err() {
            return Ok(()); // with no primary the SET itself will say so
        }
        for id in missing {
            if let Err(NotReady::Lost(error)) = self.ready_statement(id, Slot::Primary).await {
                tracing::warn!(session = self.handle.id(), %error, "connection to the primary lost");
                self.backends.drop_slot(Slot::Primary);
                let error = self.server_lost(&self.context.topology.primary().name);
                return Err(self.end(error, Side::Backend));
            }
        }
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

    /// COM_STMT_CLOSE: on every connection that has the statement. It has no reply.
    pub(super) async fn stmt_close(&mut self) -> Result<(), End> {
        let removed = statement_id(self.payload()).ok().and_then(|id| self.statements.remove(id));
        self.drop_command().await?;
        let Some(statement) = removed else { return Ok(()) };
        for slot in Slot::ALL {
            if let (Some(on), Some(backend)) = (statement.on(slot), self.backends.get_mut(slot)) {
                let stream = &mut backend.connection.stream;
                stream.set_sequence(0);
                stream.queue_packet(&with_id(0x19, on.id));
                // A connection that fails here is found dead before its next use.
                let _ = stream.flush().await;
            }
        }
        Ok(())
    }

    /// COM_STMT_RESET: on every connection that has the statement.
    pub(super) async fn stmt_reset(&mut self) -> Result<(), End> {
        let Ok(id) = statement_id(self.payload()) else {
            return self.answer_error(&ServerError::malformed_packet()).await;
        };
        let Some(statement) = self.statements.get_mut(id) else {
            return self.answer_error(&self.unknown_statement(id, "mysqld_stmt_reset")).await;
        };
        statement.forget_long_data();
        statement.cursor = None;
        let places = Slot::ALL.map(|slot| (slot, statement.on(slot)));
        let mut answer = response::ok(self.state.status);
        for (slot, on) in places {
            if let (Some(on), Some(backend)) = (on, self.backends.get_mut(slot)) {
                match backend.connection.command(&with_id(0x1A, on.id)).await {
                    Err(ConnectError::Refused { payload, .. }) => answer = payload,
                    Err(_) => self.lose(slot)?,
                    Ok(_) => {}
                }
            }
        }
        self.answer(&answer).await
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
        let Some((slot, on)) = statement.cursor.and_then(|slot| Some((slot, statement.on(slot)?))) else {
            return self.answer_error(&ServerError::no_open_cursor(id, product)).await;
        };
        set_statement_id(self.client.input_mut().get_mut(HEADER_LEN..).unwrap_or_default(), on.id);
        self.exchange(Plan { fixed: true, ..Plan::new(slot, Command::StmtFetch) }).await?;
        let over = self.seen.status.is_some_and(|s| s.contains(StatusFlags::SERVER_STATUS_LAST_ROW_SENT));
        if let Some(statement) = self.statements.get_mut(id).filter(|_| over) {
            statement.cursor = None;
        }
        Ok(())
    }
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
    backend: &mut PacketStream,
    statement: &mut Statement,
    plan: &Plan,
) -> Result<u8, RelayError> {
    let Some(on) = statement.on(plan.slot) else { return Err(RelayError::Backend(StreamError::Closed)) };
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
        statement.bind_types(plan.slot, types);
    } else if statement.parameters > 0 && !on.types_bound && !statement.types.is_empty() {
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
        statement.types_are_bound_on(plan.slot);
        backend.flush().await?;
        return Ok(backend.sequence());
    }
    send(client, backend, plan.whole).await
}
