//! The command phase: read a command, decide where it goes, forward it, relay its reply, learn from it.

use super::Session;
use super::asks::Asks;
use super::backends::{NoBackend, Slot};
use super::connection_phase::{self, Client};
use super::context::Context;
use super::end::{End, Side};
use super::exchange::Plan;
use super::handle::{Handle, Signal};
use super::kill::Kill;
use super::state::SessionState;
use super::statement_map::StatementMap;
use crate::backend::Account;
use crate::config::PoolMode;
use crate::io::buffers::READ_LEN;
use crate::io::{PacketStream, StreamError};
use crate::protocol::command::Command;
use crate::protocol::error_code::ServerError;
use crate::protocol::handshake::ChangeUser;
use crate::protocol::packet::{HEADER_LEN, Header, put_packet};
use crate::protocol::response;
use crate::protocol::session_track::Wanted;
use crate::routing::{
    Effects, KillTarget, Reason, StatementClass, literal_user_variables, with_connection_id,
};
use crate::topology::Health;
use std::rc::Rc;
use std::task::Poll;

/// A command at the front of the client's input.
#[derive(Debug, Clone, Copy)]
struct Next {
    command: Command,
    /// Whether all of it is in the input. A command too long for that is streamed, and its text is not read.
    whole: bool,
}

impl Session {
    pub(super) fn new(context: Rc<Context>, handle: Rc<Handle>, client: PacketStream, who: Client) -> Self {
        let state = fresh_state(&context, &who);
        let group = group_of(&context, &who.account);
        let (statements, backends) = (StatementMap::default(), super::Backends::default());
        let seen = super::Observation::default();
        let rules = super::route::rules_for(&context, &who);
        Self { context, handle, client, who, group, state, statements, backends, rules, seen }
    }

    /// Enters the schema that the client asked for, and tells it that it is logged in.
    pub(super) async fn begin(&mut self) -> Result<(), End> {
        let topology = &self.context.topology;
        // While there is no primary, reads go on: the schema is entered where the first of them runs.
        let only_reads = topology.primary().health() == Health::Down && topology.readable().next().is_some();
        if self.state.schema().is_some() && !only_reads {
            match self.enter_schema().await {
                Ok(()) => {}
                Err(NoBackend::Answer(payload)) => {
                    self.client.queue_packet(&payload);
                    self.client.flush_within(self.write_timeout()).await?;
                    return Err(End::Refused);
                }
                Err(NoBackend::End(end)) => return Err(end),
                Err(NoBackend::UsePrimary) => {}
            }
            self.release().await;
        }
        self.client.queue_packet(&response::ok(self.state.status));
        Ok(self.client.flush_within(self.write_timeout()).await?)
    }

    /// Serves commands until the session ends.
    pub(super) async fn command_phase(&mut self) -> End {
        loop {
            let served = match self.next_command().await {
                Ok(next) => self.serve(next).await,
                Err(end) => Err(end),
            };
            if let Err(end) = served {
                return end;
            }
            self.release().await;
        }
    }

    /// Waits for the next command, and until enough of it is here to decide about it.
    async fn next_command(&mut self) -> Result<Next, End> {
        let limit = self.context.config.limits.classify_bytes;
        loop {
            if let Some(header) = Header::peek(self.client.input()) {
                if header.sequence != 0 {
                    return Err(self.end(ServerError::packets_out_of_order(), Side::Client));
                }
                let there = self.client.input().len() - HEADER_LEN;
                let first = self.client.input().get(HEADER_LEN).copied().filter(|_| header.len > 0);
                let whole = there >= header.len && !header.is_continued();
                if whole || (first.is_some() && header.len > limit) {
                    return Ok(Next { command: Command::from(first.unwrap_or(0)), whole });
                }
            }
            let quiet = !self.state.in_transaction();
            let handle = self.handle.clone();
            let stop = |cx: &mut std::task::Context<'_>| -> Poll<Signal> {
                handle.poll_signal(cx, |signal| match signal {
                    Signal::Kill => true,
                    Signal::Drain => quiet,
                    Signal::Interrupt => false,
                })
            };
            match self.client.fill_unless(stop).await? {
                None => {}
                Some(signal) => {
                    // A command may have come before the signal and not have been noticed yet.
                    tokio::task::yield_now().await;
                    if signal == Signal::Drain && self.client.fill_now() {
                        continue;
                    }
                    // What is said to a client that asked nothing answers the command it sends next.
                    self.client.set_sequence(1);
                    return Err(match signal {
                        Signal::Kill => self.killed(),
                        Signal::Drain | Signal::Interrupt => self.end(ServerError::shutdown(), Side::Proxy),
                    });
                }
            }
        }
    }

    pub(super) fn end(&self, error: ServerError, side: Side) -> End {
        End::error(error, self.capabilities(), side)
    }

    pub(super) fn killed(&self) -> End {
        let product = self.context.topology.identity().product();
        self.end(ServerError::session_killed(product), Side::Proxy)
    }

    /// The payload of the command at the front of the input, as far as it is there.
    pub(super) fn payload(&self) -> &[u8] {
        let input = self.client.input();
        let len = Header::peek(input).map_or(0, |header| header.len);
        &input[HEADER_LEN.min(input.len())..(HEADER_LEN + len).min(input.len())]
    }

    async fn serve(&mut self, next: Next) -> Result<(), End> {
        let Next { command, whole } = next;
        match command {
            Command::Query => self.query(whole).await,
            Command::StmtExecute => self.stmt_execute(whole).await,
            Command::StmtPrepare => self.stmt_prepare(whole).await,
            Command::StmtClose => self.stmt_close().await,
            Command::StmtSendLongData => self.stmt_send_long_data().await,
            Command::StmtReset => self.stmt_reset().await,
            Command::StmtFetch => self.stmt_fetch().await,
            Command::Ping => self.answer_ok().await,
            Command::Quit => Err(End::Quit),
            Command::InitDb => self.init_db(whole).await,
            Command::FieldList => self.field_list(whole).await,
            Command::Statistics
            | Command::Debug
            | Command::Refresh
            | Command::Shutdown
            | Command::ProcessInfo => self.on_primary(command, whole).await,
            Command::SetOption => self.set_option(whole).await,
            Command::ProcessKill => self.process_kill().await,
            Command::ChangeUser => self.change_user().await,
            Command::ResetConnection => self.reset_connection(whole).await,
            Command::Replication => self.answer_error(&ServerError::replication()).await,
            Command::Unknown(_) => self.answer_error(&ServerError::unknown_command()).await,
        }
    }

    /// COM_QUERY.
    async fn query(&mut self, whole: bool) -> Result<(), End> {
        let (class, hint) = match whole {
            true => self.classify(&self.payload()[1..]),
            false => (self.context.classes.borrow().unread(), None),
        };
        let verdict = self.judge(&class, &self.payload()[1..]);
        if let Some(error) = self.refusal(&class, verdict) {
            return self.answer_error(&error).await;
        }
        if let Some(KillTarget { connection_id: Some(id), query_only }) = class.kill {
            let kill = if query_only { Kill::Query } else { Kill::Connection };
            if let Some(payload) = self.kill(id, kill).await {
                return self.answer(&payload).await;
            }
        }
        if whole && class.effects.contains(Effects::CALLS_CONNECTION_ID) {
            self.put_connection_id();
        }
        let asks = Asks::of(&class, self.state.dialect.family);
        let slot = self.slot_for(&class, hint, verdict, asks);
        let schema = class.schema.clone();
        let writes = class.reason == Reason::NotARead;
        let plan = Plan { effects: class.effects, asks, writes, whole, ..Plan::new(slot, Command::Query) };
        let repeatable = class.kind.is_repeatable();
        let released = class.effects.contains(Effects::ENDS_SESSION);
        let tracking = tracking_named(&class, self.payload());
        let user_variables = match whole && class.effects.contains(Effects::SETS_USER_VARIABLES) {
            true => literal_user_variables(&self.payload()[1..], &self.state.dialect),
            false => None,
        };
        let sql = &self.payload()[1..];
        let cause = if whole { self.cause(&class, sql, self.state.schema()) } else { None };
        self.exchange(Plan { repeatable, schema, user_variables, cause, ..plan }).await?;
        self.tracking_changed(&tracking).await;
        if released && self.seen.error.is_none() { Err(End::Released) } else { Ok(()) }
    }

    /// Puts the session's number into the place of CONNECTION_ID() in the statement at the front of the input.
    pub(super) fn put_connection_id(&mut self) {
        let payload = self.payload();
        let (command, text) = payload.split_at(1.min(payload.len()));
        let Some(text) = with_connection_id(text, &self.state.dialect, self.handle.id()) else { return };
        let mut packet = Vec::new();
        let len = HEADER_LEN + payload.len();
        put_packet(&mut packet, 0, &[command, &text].concat());
        self.client.replace_front(len, &packet);
    }

    /// COM_INIT_DB.
    async fn init_db(&mut self, whole: bool) -> Result<(), End> {
        let schema = self.payload().get(1..).map(Into::into);
        let slot = Slot::Primary;
        let effects = Effects::USES_SCHEMA;
        self.exchange(Plan { effects, whole, schema, ..Plan::new(slot, Command::InitDb) }).await.map(drop)
    }

    /// COM_FIELD_LIST.
    async fn field_list(&mut self, whole: bool) -> Result<(), End> {
        let slot = self.slot_for_read();
        self.exchange(Plan { whole, repeatable: true, ..Plan::new(slot, Command::FieldList) }).await.map(drop)
    }

    async fn on_primary(&mut self, command: Command, whole: bool) -> Result<(), End> {
        self.exchange(Plan { whole, ..Plan::new(Slot::Primary, command) }).await.map(drop)
    }

    /// COM_SET_OPTION: on the primary at once, on other connections before they are used next.
    async fn set_option(&mut self, whole: bool) -> Result<(), End> {
        let option = self.payload().get(1..3).and_then(|b| b.try_into().ok()).map(u16::from_le_bytes);
        self.on_primary(Command::SetOption, whole).await?;
        if self.seen.error.is_none() {
            self.state.set_option(option);
            self.note_settings(Slot::Primary);
        }
        Ok(())
    }

    /// The client set these session_track_* variables: what it wants is noted, and Telamon's own tracking switched on
    /// again.
    pub(super) async fn tracking_changed(&mut self, names: &[&str]) {
        if names.is_empty() {
            return;
        }
        let Some(backend) = self.backends.get_mut(Slot::Primary) else { return };
        if backend.connection.track_for(&mut self.seen.wanted, names).await.is_err() {
            self.state.give_up(); // nothing is learned from this connection any more
        }
    }

    /// COM_PROCESS_KILL.
    async fn process_kill(&mut self) -> Result<(), End> {
        let Some(id) = self.payload().get(1..5).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)
        else {
            return self.answer_error(&ServerError::malformed_packet()).await;
        };
        match self.kill(u64::from(id), Kill::Connection).await {
            Some(payload) => self.answer(&payload).await,
            None => self.on_primary(Command::ProcessKill, true).await,
        }
    }

    /// COM_RESET_CONNECTION: really on the primary's connection; a replica's is left and opened anew when needed.
    async fn reset_connection(&mut self, whole: bool) -> Result<(), End> {
        self.on_primary(Command::ResetConnection, whole).await?;
        if self.seen.error.is_some() {
            return Ok(());
        }
        self.statements.clear();
        self.backends.drop_slot(Slot::Replica); // it may have had a cursor
        self.backends.forget_claims();
        self.seen.wanted = Wanted::default();
        self.state.reset(self.seen.status.unwrap_or(self.state.status));
        let tracking = match self.backends.get_mut(Slot::Primary) {
            Some(backend) => {
                backend.prepared.clear();
                backend.temporary_tables = 0;
                backend.connection.track().await.is_ok()
            }
            None => false,
        };
        if !tracking {
            self.backends.drop_slot(Slot::Primary);
        }
        self.note_settings(Slot::Primary);
        Ok(())
    }

    /// COM_CHANGE_USER: a new session over the same connection of the client's.
    async fn change_user(&mut self) -> Result<(), End> {
        let Ok(change) = ChangeUser::parse(self.payload()) else {
            return self.answer_error(&ServerError::malformed_packet()).await;
        };
        self.drop_command().await?;
        self.leave_backends().await;
        self.statements.clear();
        self.seen.wanted = Wanted::default();
        let Self { context, handle, client, who, .. } = self;
        let who = connection_phase::change_user(context, handle, client, who, change).await?;
        self.who = who;
        self.group = group_of(&self.context, &self.who.account);
        self.rules = super::route::rules_for(&self.context, &self.who);
        let option = self.state.option();
        self.state = fresh_state(&self.context, &self.who);
        self.state.set_option(option); // on one server too it outlasts the change
        self.begin().await
    }
}

/// The state of a session that has just logged in. What was written before it began is in the past for it too.
fn fresh_state(context: &Context, who: &Client) -> SessionState {
    let identity = context.topology.identity();
    let mut state = SessionState::new(identity.status, who.account.schema.clone(), who.dialect(&identity));
    state.last_write = context.topology.last_write();
    state
}

/// The account under which a session gets its connections.
fn group_of(context: &Context, account: &Account) -> Rc<Account> {
    match context.config.pool.mode {
        PoolMode::Transaction => context.pools.group(account),
        PoolMode::Session => Rc::new(account.clone()),
    }
}

/// The variables about reports that a SET statement names.
pub(super) fn tracking_named(class: &StatementClass, text: &[u8]) -> Vec<&'static str> {
    if !class.effects.contains(Effects::SETS_SESSION_VARIABLES) || !contains(text, b"session_track_") {
        return Vec::new();
    }
    Wanted::NAMES.into_iter().filter(|name| contains(text, name.as_bytes())).collect()
}

pub(super) fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

/// Reads more of the client's input for a command that is looked at whole whatever its length.
pub(super) async fn fill_whole(client: &mut PacketStream) -> Result<(), StreamError> {
    while Header::peek(client.input()).is_none_or(|h| client.input().len() < HEADER_LEN + h.len) {
        client.fill(READ_LEN).await?;
    }
    Ok(())
}
