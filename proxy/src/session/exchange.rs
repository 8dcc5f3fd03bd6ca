//! One command and its reply, over the right connection in the right state.

use super::Session;
use super::asks::Asks;
use super::backends::{NoBackend, Slot};
use super::bring::Brought;
use super::end::{End, Side};
use super::kill::Running;
use super::plain::Cause;
use super::relay::{Relay, RelayError, Withholds, consume_front, discard_reply, stream_command};
use super::replay::{Replayed, Replies, read_replies};
use super::state::InsertId;
use super::walk::{Progress, Walk};
use crate::config::Consistency;
use crate::io::PacketStream;
use crate::protocol::command::{Command, ReplyShape};
use crate::protocol::error_code::ServerError;
use crate::protocol::packet::{HEADER_LEN, Header};
use crate::protocol::reply::ReplyState;
use crate::protocol::response;
use crate::routing::{Effects, Policy, UserVariable};
use std::time::Instant;

/// What is to be done with the command at the front of the client's input.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) slot: Slot,
    pub(super) shape: ReplyShape,
    /// What the statement does to the session, if the server answers OK.
    pub(super) effects: Effects,
    /// What exactly of that binds the session to its connection or frees it, where the text is plain enough.
    pub(super) cause: Option<Cause>,
    /// Whether it is known to write: a result set of it is that of a RETURNING.
    pub(super) writes: bool,
    /// The schema that a successful USE enters, for servers that do not report it.
    pub(super) schema: Option<Box<[u8]>>,
    /// The user variables that a successful SET gives these values, where it does nothing else.
    pub(super) user_variables: Option<Vec<UserVariable>>,
    /// Whether it may run again elsewhere when its connection dies before it answered.
    pub(super) repeatable: bool,
    /// Whether it must run on this very connection, in whatever state that is: a fetch from its cursor.
    pub(super) fixed: bool,
    /// Whether all of it is in the input.
    pub(super) whole: bool,
    /// The client's id of the prepared statement that must be on the connection.
    pub(super) statement: Option<u32>,
    /// Whether the session begins: a schema that is not there is its client's error.
    pub(super) enters_schema: bool,
    /// Whether it was prepared again already after the server did not know it.
    pub(super) reprepared: bool,
    pub(super) asks: Asks,
    /// The id that the client is to see in the reply to COM_STMT_PREPARE.
    pub(super) new_statement: Option<u32>,
}

impl Plan {
    /// A command that changes nothing of the session's state.
    pub(super) fn new(slot: Slot, command: Command) -> Self {
        Self {
            slot,
            shape: command.reply_shape(),
            effects: Effects::NONE,
            cause: None,
            writes: false,
            schema: None,
            user_variables: None,
            repeatable: false,
            fixed: false,
            whole: true,
            statement: None,
            enters_schema: false,
            reprepared: false,
            asks: Asks::default(),
            new_statement: None,
        }
    }
}

/// ER_UNKNOWN_STMT_HANDLER, ER_NEED_REPREPARE: the statement is to be prepared again.
pub(super) const NOT_PREPARED: [u16; 2] = [1243, 1615];

/// How one attempt ended.
pub(super) enum Attempt {
    /// The reply is with the client.
    Done,
    /// The plan's slot was changed, or its connection dropped: once more.
    Again,
    /// The client has got an answer that is not the statement's.
    Answered,
}

/// A read is tried on this many connections before its client hears of the trouble.
const MAX_ATTEMPTS: usize = 4;

impl Session {
    /// Runs the plan; the command is taken off the input. Answers the connection it ran on.
    pub(super) async fn exchange(&mut self, mut plan: Plan) -> Result<Slot, End> {
        self.client.set_sequence(1); // of an ERR packet that comes in the reply's place
        for _ in 0..MAX_ATTEMPTS {
            match self.open(plan.slot).await {
                Ok(()) => {}
                Err(NoBackend::UsePrimary) => {
                    plan.slot = Slot::Primary;
                    continue;
                }
                Err(NoBackend::Answer(payload)) => {
                    self.seen.clear();
                    self.seen.error = Some(0);
                    self.answer(&payload).await?;
                    return Ok(plan.slot);
                }
                Err(NoBackend::End(end)) => return Err(end),
            }
            match self.attempt(&mut plan).await? {
                Attempt::Done => return Ok(plan.slot),
                Attempt::Answered => {
                    self.seen.error = Some(0);
                    return Ok(plan.slot);
                }
                Attempt::Again => {}
            }
        }
        let error = ServerError::telamon("no server kept its connection long enough to answer this read");
        self.seen.error = Some(0);
        self.answer_error(&error).await?;
        Ok(plan.slot)
    }

    /// Gets a connection to the primary and enters the session's schema there.
    pub(super) async fn enter_schema(&mut self) -> Result<(), NoBackend> {
        let mut plan = Plan { enters_schema: true, ..Plan::new(Slot::Primary, Command::InitDb) };
        for _ in 0..MAX_ATTEMPTS {
            self.open(Slot::Primary).await?;
            match self.bring(&mut plan).await {
                Ok(Brought::With(_)) => return Ok(()),
                Ok(Brought::NotYet) => {}
                Ok(Brought::Refused(payload)) => return Err(NoBackend::Answer(payload)),
                Err(end) => return Err(NoBackend::End(end)),
            }
        }
        Err(NoBackend::Answer(response::err(
            &ServerError::no_primary("no connection lasts"),
            self.capabilities(),
        )))
    }

    async fn attempt(&mut self, plan: &mut Plan) -> Result<Attempt, End> {
        self.seen.clear();
        if plan.slot == Slot::Replica
            && !plan.fixed
            && self.context.config.routing.consistency == Consistency::Global
            && let Some(gtid) = self.context.topology.last_write()
        {
            self.state.last_write = Some(gtid); // what any client wrote is in the past of this read
        }
        let mut replies = Replies::default();
        if !plan.fixed {
            match self.bring(plan).await? {
                Brought::With(count) => replies = count,
                Brought::NotYet => return Ok(Attempt::Again),
                Brought::Refused(payload) => {
                    self.answer(&payload).await?;
                    return Ok(Attempt::Answered);
                }
            }
        }
        if let Some(id) = plan.statement {
            match self.ready_statement(id, plan.slot).await {
                Ok(()) => {}
                // A replica may not have yet what the primary has.
                Err(NotReady::Refused(_)) if plan.slot == Slot::Replica && plan.repeatable => {
                    plan.slot = Slot::Primary;
                    return Ok(Attempt::Again);
                }
                Err(NotReady::Refused(payload)) => {
                    self.answer(&payload).await?;
                    return Ok(Attempt::Answered);
                }
                Err(NotReady::Lost(error)) => return self.lost(plan, error, None).await,
            }
        }
        let Some(backend) = self.backends.get_mut(plan.slot) else { return Ok(Attempt::Again) };
        let (server, connection_id) = (backend.connection.server().index, backend.connection.connection_id);
        self.handle.set_running(Some(Running { server, connection_id }));
        let mut walk = None;
        match self.send_and_relay(plan, replies, &mut walk).await {
            Ok(Replayed::Done) if self.seen.withheld => {
                self.handle.set_running(None);
                self.withheld(plan);
                return Ok(Attempt::Again);
            }
            Ok(Replayed::Done) => self.finish(plan),
            // What the statement answered was for nobody.
            Ok(other) => {
                self.handle.set_running(None);
                self.not_brought(plan, &other);
                return Ok(Attempt::Again);
            }
            Err(error) => return self.lost(plan, error, walk).await,
        }
        Ok(Attempt::Done)
    }

    /// The server would not run it there; the client has heard nothing of that.
    fn withheld(&mut self, plan: &mut Plan) {
        match (plan.statement, self.seen.error) {
            (Some(id), Some(code)) if NOT_PREPARED.contains(&code) => {
                self.forget_prepared(id, plan.slot);
                plan.reprepared = true;
            }
            _ => {
                plan.repeatable = false; // it writes, whatever its text says
                plan.slot = Slot::Primary;
            }
        }
    }

    /// Sends the command and relays its reply; false when the replay in front of it failed.
    async fn send_and_relay(
        &mut self,
        plan: &Plan,
        replies: Replies,
        walked: &mut Option<Walk>,
    ) -> Result<Replayed, RelayError> {
        let write_timeout = self.write_timeout();
        let client_capabilities = self.who.account.capabilities;
        let Self { context, client, backends, handle, seen, statements, state: state_of, .. } = self;
        let Some(backend) = backends.get_mut(plan.slot) else { return Ok(Replayed::Behind) };
        let server = &context.topology.servers()[backend.connection.server().index];
        let policy = context.topology.policy();
        let _counted = (policy != Policy::RoundRobin).then(|| server.begin_statement());
        let timed = (policy == Policy::Latency).then(|| (Instant::now(), &**server));
        let first = match plan.statement.and_then(|id| statements.get_mut(id)) {
            Some(statement) => super::prepared::send_execute(client, backend, statement, plan).await?,
            None => send(client, &mut backend.connection.stream, plan.whole).await?,
        };
        let state = ReplyState::new(plan.shape, backend.connection.capabilities);
        let replayed = read_replies(backend, replies).await?;
        if let Some(gtid) =
            state_of.last_write.as_ref().filter(|_| replies.wait && replayed == Replayed::Done)
        {
            server.note_has(gtid);
        }
        let stream = &mut backend.connection.stream;
        if replayed != Replayed::Done {
            let mut walk = Walk::new(state, first, client_capabilities);
            discard_reply(stream, &mut walk, seen).await?;
            return Ok(replayed);
        }
        let walk =
            walked.insert(Walk::new(state, first, client_capabilities).with_statement_id(plan.new_statement));
        let withholds = match plan.whole {
            true if plan.slot == Slot::Replica && plan.repeatable => Withholds::RefusedWrites,
            true if plan.statement.is_some() && !plan.reprepared => Withholds::NotPrepared,
            _ => Withholds::Nothing,
        };
        let topology = &*context.topology;
        let ends_with_client = plan.repeatable;
        let mut relay =
            Relay { client, handle, seen, write_timeout, withholds, ends_with_client, topology, timed };
        while relay.reply(stream, walk).await? == Progress::LocalInfile {
            if plan.whole {
                relay.drop_command();
            }
            let next = relay.file(stream).await?;
            walk.file_sent(next);
        }
        relay.seen.rows = walk.has_rows();
        Ok(Replayed::Done)
    }

    /// Learns from the reply and takes the command off the input.
    fn finish(&mut self, plan: &mut Plan) {
        self.handle.set_running(None);
        if plan.whole && !self.seen.asked_for_file {
            consume_front(&mut self.client);
        }
        let up_to_date = self.has_settings(plan.slot);
        if let Some(backend) = self.backends.get_mut(plan.slot) {
            backend.is_own = true;
            if self.seen.warnings > 0 || self.seen.error.is_some() || plan.asks.clears_warnings {
                backend.foreign_warnings = false;
            }
            if let (Some(Cause::MakesTable(_)), None) = (&plan.cause, self.seen.error) {
                backend.temporary_tables += 1;
            }
            backend.has_insert_id |=
                self.seen.gave_insert_id || plan.effects.contains(Effects::SETS_INSERT_ID);
        }
        let named = plan.user_variables.take().filter(|_| self.seen.error.is_none());
        if let Some(variables) = named {
            plan.effects = plan.effects.without(Effects::SETS_USER_VARIABLES);
            self.state.set_user_variables(variables);
        }
        self.state.observe(plan.slot, plan.effects, plan.cause.as_ref(), &self.seen);
        self.state.observe_left(plan, &self.seen);
        if plan.slot == Slot::Primary {
            self.note_hidden_write(plan);
        }
        if self.seen.error.is_none()
            && let Some(schema) = plan.schema.take()
        {
            self.state.entered(&schema);
        }
        self.state.previous = plan.slot;
        if up_to_date {
            self.note_settings(plan.slot);
        }
    }

    /// Notes what a write may have done that its reply has no room to say: INSERT … RETURNING.
    fn note_hidden_write(&mut self, plan: &Plan) {
        if self.seen.no_report && !plan.repeatable && !plan.fixed && !plan.asks.is_question {
            self.state.may_have_written();
        }
        if self.seen.rows && plan.writes {
            self.state.insert_id = InsertId::Here;
        }
        if self.state.insert_id == InsertId::Here
            && let Some(backend) = self.backends.get_mut(plan.slot)
        {
            backend.has_insert_id = true;
        }
    }

    /// The reply did not come through whole.
    async fn lost(&mut self, plan: &mut Plan, error: RelayError, walk: Option<Walk>) -> Result<Attempt, End> {
        let server = self.backends.get(plan.slot).map(|b| b.connection.server().clone());
        let name = server.as_ref().map_or("unknown", |s| s.name.as_str()).to_owned();
        let next = match &walk {
            Some(walk) => walk.next_sequence(),
            None => Some(1),
        };
        if let Some(next) = next {
            self.client.set_sequence(next);
        }
        match error {
            RelayError::Client(error) => return Err(End::Client(error)),
            RelayError::Killed if next.is_some() => return Err(self.killed()),
            RelayError::Killed => return Err(End::Killed),
            RelayError::Backend(_) | RelayError::Malformed(_) => {}
        }
        self.handle.set_running(None);
        self.backends.drop_slot(plan.slot);
        self.statements.forget_cursors(plan.slot);
        tracing::warn!(session = self.handle.id(), server = name, %error, "connection to the server lost");
        let started = walk.as_ref().is_some_and(Walk::has_started);
        if plan.repeatable && plan.whole && !started && self.state.survives_loss_of(plan.slot) {
            return Ok(Attempt::Again);
        }
        if next.is_none() {
            return Err(End::Backend { server: name, reason: error.to_string() });
        }
        Err(self.end(self.server_lost(&name), Side::Backend))
    }
}

/// Why a prepared statement is not on a connection.
pub(super) enum NotReady {
    /// The server's ERR packet.
    Refused(Vec<u8>),
    /// The connection failed.
    Lost(RelayError),
}

/// Sends the command at the front of the input; answers the id of its reply's first packet. A whole one stays in
/// the input until it is answered.
pub(super) async fn send(
    client: &mut PacketStream,
    backend: &mut PacketStream,
    whole: bool,
) -> Result<u8, RelayError> {
    if !whole {
        backend.flush().await?;
        return stream_command(client, Some(backend)).await;
    }
    let end = Header::peek(client.input()).map_or(0, |header| HEADER_LEN + header.len);
    backend.write(&client.input()[..end]).await?;
    Ok(1)
}
