//! The connections a session owns: one to the primary, one to a server that answers its reads.

use super::Session;
use super::end::{End, Side};
use super::replay::Brought;
use crate::backend::{Account, ConnectError, Connection};
use crate::config::Fallback;
use crate::protocol::error_code::ServerError;
use crate::protocol::{StatusFlags, response};
use crate::routing::RuleId;
use crate::topology::{Health, Server};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Which of the session's connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// The one to the primary.
    Primary,
    /// The one to a replica.
    Replica,
}

impl Slot {
    /// Both.
    pub(super) const ALL: [Self; 2] = [Self::Primary, Self::Replica];
}

/// One of the session's connections.
#[derive(Debug)]
pub(super) struct Backend {
    pub(super) connection: Connection,
    /// What of the session's state it has been brought to.
    pub(super) brought: Brought,
}

/// The connections a session owns; opened when first needed.
#[derive(Debug, Default)]
pub(super) struct Backends {
    primary: Option<Backend>,
    replica: Option<Backend>,
    /// The server whose turn it was when the session's first read came.
    reader: Option<usize>,
    /// The rule whose label limits the choice for the read at hand.
    pub(super) wanted: Option<RuleId>,
}

impl Backends {
    pub(super) fn get(&self, slot: Slot) -> Option<&Backend> {
        match slot {
            Slot::Primary => self.primary.as_ref(),
            Slot::Replica => self.replica.as_ref(),
        }
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> &mut Option<Backend> {
        match slot {
            Slot::Primary => &mut self.primary,
            Slot::Replica => &mut self.replica,
        }
    }

    /// Puts a new connection into its slot.
    fn put(&mut self, slot: Slot, connection: Connection, brought: Brought) {
        *self.get_mut(slot) = Some(Backend { connection, brought });
    }

    /// Drops a connection: the server sees it end and rolls back.
    pub(super) fn drop_slot(&mut self, slot: Slot) {
        *self.get_mut(slot) = None;
    }

    /// Says goodbye to the servers.
    pub(super) async fn close(&mut self) {
        for slot in Slot::ALL {
            if let Some(backend) = self.get_mut(slot).take() {
                backend.connection.quit().await;
            }
        }
    }
}

/// Why there is no connection for a statement.
#[derive(Debug)]
pub(super) enum NoBackend {
    /// The server's or Telamon's ERR packet for this statement; the session goes on.
    Answer(Vec<u8>),
    /// No replica can be had, so the primary is to answer.
    UsePrimary,
    /// The session cannot go on.
    End(End),
}

impl Session {
    /// Opens the connection in `slot` where there is none.
    pub(super) async fn open(&mut self, slot: Slot) -> Result<(), NoBackend> {
        self.drop_closed(slot)?;
        match slot {
            _ if self.backends.get(slot).is_some() => Ok(()),
            Slot::Primary => self.open_primary().await,
            Slot::Replica => self.open_replica().await,
        }
    }

    /// A server may have closed a connection while the session was idle. What it had that cannot be had again ends
    /// the session; else a new connection takes its place.
    fn drop_closed(&mut self, slot: Slot) -> Result<(), NoBackend> {
        let Some(backend) = self.backends.get_mut(slot) else { return Ok(()) };
        let server = backend.connection.server().clone();
        if backend.connection.stream.is_closed_by_peer() {
            self.lose(slot).map_err(NoBackend::End)?;
        } else if slot == Slot::Replica && !server.is_readable() {
            self.backends.drop_slot(slot);
        }
        Ok(())
    }

    /// A connection is gone. The session goes on only if it loses nothing by that.
    pub(super) fn lose(&mut self, slot: Slot) -> Result<(), End> {
        let server = self.backends.get(slot).map(|b| b.connection.server().name.clone()).unwrap_or_default();
        self.backends.drop_slot(slot);
        if self.state.survives_loss_of(slot) {
            return Ok(());
        }
        self.client.set_sequence(1);
        Err(self.end(self.server_lost(&server), Side::Backend))
    }

    /// With what a new connection logs in now.
    fn account_now(&self) -> Account {
        Account { schema: self.state.schema.clone(), ..self.who.account.clone() }
    }

    async fn connect(&self, server: &Arc<Server>) -> Result<Connection, ConnectError> {
        let mut account = self.account_now();
        if server.index != self.context.topology.primary().index {
            account.schema = None; // the replica may not have it before it has the session's last write
        }
        let opened = Connection::open(&self.context.connector, server, &account, &self.context.buffers).await;
        match &opened {
            Ok(_) => {
                if server.set_health(Health::Up) {
                    tracing::info!(server = server.name, "server answers");
                }
            }
            Err(error) if error.is_down() => {
                if server.set_health(Health::Down) {
                    tracing::warn!(server = server.name, %error, "server does not answer");
                }
            }
            Err(error) => {
                let user = self.who.name();
                tracing::warn!(server = server.name, user, %error, "no connection to the server");
            }
        }
        opened
    }

    /// Connects to the primary; while it does not answer, again and again until routing.primary_wait_ms is over.
    async fn open_primary(&mut self) -> Result<(), NoBackend> {
        let server = self.context.topology.primary().clone();
        let wait = Duration::from_millis(self.context.config.routing.primary_wait_ms);
        let deadline = Instant::now() + wait;
        let mut pause = Duration::from_millis(20);
        loop {
            let error = match self.connect(&server).await {
                Ok(connection) => return self.settle(Slot::Primary, connection).await,
                Err(error) => error,
            };
            if !error.is_down() || Instant::now() + pause > deadline {
                return Err(NoBackend::Answer(self.connect_error(&server, error)));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(500));
        }
    }

    /// The label that the server of the read at hand must have.
    fn wanted_label(&self) -> Option<&str> {
        self.backends.wanted.and_then(|rule| self.context.rules.label(rule))
    }

    /// Whether the server may answer the read at hand. One of weight 0 only answers what a label sends there.
    fn is_wanted(&self, index: usize) -> bool {
        let server = &self.context.topology.servers()[index];
        self.wanted_label().map_or(server.weight > 0, |label| server.has_label(label))
    }

    /// The servers that may answer the read at hand, with their weights.
    fn readers(&self) -> Vec<(usize, u32)> {
        match self.wanted_label() {
            Some(label) => self.context.topology.labelled(label).collect(),
            None => self.context.topology.readable().collect(),
        }
    }

    /// The connection for a read: to the server whose turn it is, which may be the primary where it has a weight, or
    /// the label of the rule that the read follows.
    pub(super) fn read_slot(&mut self, wanted: Option<RuleId>) -> Slot {
        self.backends.wanted = wanted;
        if let Some(replica) = &self.backends.replica {
            // A cursor ends with its connection.
            if self.is_wanted(replica.connection.server().index) || self.statements.has_cursor(Slot::Replica)
            {
                return Slot::Replica;
            }
            self.backends.drop_slot(Slot::Replica);
        }
        let topology = &self.context.topology;
        let stays = |index: &usize| topology.servers()[*index].is_readable() && self.is_wanted(*index);
        if self.backends.reader.filter(stays).is_none() {
            let usable = self.readers();
            self.backends.reader = self.context.balancer.borrow_mut().choose(&usable);
        }
        match self.backends.reader {
            Some(index) if index != topology.primary().index => Slot::Replica,
            _ => Slot::Primary,
        }
    }

    /// Connects to the server whose turn it is, or to another that may answer reads.
    async fn open_replica(&mut self) -> Result<(), NoBackend> {
        let topology = self.context.topology.clone();
        let mut tried = Vec::new();
        let mut next = self.backends.reader.take();
        loop {
            let may = |index: &usize| *index != topology.primary().index && !tried.contains(index);
            let usable: Vec<_> = self.readers().into_iter().filter(|(index, _)| may(index)).collect();
            let choice = next.take().filter(may);
            let Some(index) = choice.or_else(|| self.context.balancer.borrow_mut().choose(&usable)) else {
                return Err(self.no_replica());
            };
            if let Ok(connection) = self.connect(&topology.servers()[index]).await {
                self.backends.reader = Some(index);
                return self.settle(Slot::Replica, connection).await;
            }
            tried.push(index);
        }
    }

    fn no_replica(&self) -> NoBackend {
        match self.context.config.routing.fallback {
            Fallback::Primary => NoBackend::UsePrimary,
            Fallback::Error => {
                NoBackend::Answer(response::err(&ServerError::no_replica(), self.capabilities()))
            }
        }
    }

    /// Takes a new connection into use.
    async fn settle(&mut self, slot: Slot, mut connection: Connection) -> Result<(), NoBackend> {
        if self.state.was_reset && connection.reset().await.is_err() {
            let error = self.server_lost(&connection.server().name);
            return Err(NoBackend::Answer(response::err(&error, self.capabilities())));
        }
        if slot == Slot::Replica && connection.read_only().await.is_err() {
            return Err(self.no_replica());
        }
        let fresh = slot == Slot::Primary && self.state.held().is_none() && self.state.variables.is_empty();
        if fresh {
            // The server's defaults are this session's: autocommit may be off from the start.
            self.state.status = connection.status & !StatusFlags::SERVER_SESSION_STATE_CHANGED;
        }
        let schema = if slot == Slot::Primary { self.state.version } else { 0 };
        let brought = Brought { schema, variables: 0, writes: 0 };
        self.backends.put(slot, connection, brought);
        self.statements.forget_slot(slot);
        Ok(())
    }

    fn connect_error(&self, server: &Server, error: ConnectError) -> Vec<u8> {
        let own = match error {
            ConnectError::Refused { payload, .. } => return payload,
            ConnectError::Limit => ServerError::too_many_connections(),
            error if error.is_down() => ServerError::no_primary(&format!("{}: {error}", server.name)),
            error => ServerError::telamon(format!("no connection to server {}: {error}", server.name)),
        };
        response::err(&own, self.capabilities())
    }
}
