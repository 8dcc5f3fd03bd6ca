//! The connections a session has at the moment: one to the primary, one to a server that answers its reads.

use super::Session;
use super::end::{End, Side};
use super::handle::Signal;
use super::state::InsertId;
use crate::backend::{Claim, ConnectError, PooledConnection, Wish};
use crate::config::{Fallback, PoolMode, Stick};
use crate::protocol::error_code::ServerError;
use crate::protocol::response;
use crate::routing::RuleId;
use crate::topology::Server;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
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

/// The connections a session has.
#[derive(Debug, Default)]
pub(super) struct Backends {
    connections: [Option<PooledConnection>; 2],
    /// What the session may still ask of the connections that it gave back.
    claims: [Option<Rc<Claim>>; 2],
    /// The server that answers the session's reads next.
    pub(super) reader: Option<usize>,
    /// The server that the read at hand has had its turn on already.
    pub(super) next_reader: Option<usize>,
    /// The rule whose label limits the choice for the read at hand.
    pub(super) wanted: Option<RuleId>,
}

impl Backends {
    pub(super) fn get(&self, slot: Slot) -> Option<&PooledConnection> {
        self.connections[slot as usize].as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: Slot) -> Option<&mut PooledConnection> {
        self.connections[slot as usize].as_mut()
    }

    pub(super) fn take(&mut self, slot: Slot) -> Option<PooledConnection> {
        self.connections[slot as usize].take()
    }

    fn put(&mut self, slot: Slot, connection: PooledConnection) {
        self.connections[slot as usize] = Some(connection);
    }

    /// Drops a connection: the server sees it end and rolls back.
    pub(super) fn drop_slot(&mut self, slot: Slot) {
        self.connections[slot as usize] = None;
    }

    fn claim(&self, slot: Slot) -> Option<&Rc<Claim>> {
        self.claims[slot as usize].as_ref()
    }

    /// The claim for a connection that is about to be given back.
    fn renewed_claim(&mut self, slot: Slot, firm: bool, has_insert_id: bool) -> Rc<Claim> {
        let place = &mut self.claims[slot as usize];
        // Where the pool still has the last one, that is about another connection.
        let own = place.take().filter(|claim| Rc::strong_count(claim) == 1).unwrap_or_default();
        own.renew(firm, has_insert_id);
        place.insert(own).clone()
    }

    /// Nothing is asked of any connection any more.
    pub(super) fn forget_claims(&mut self) {
        self.claims = [None, None];
    }
}

/// Why the pool gave no connection.
enum NoConnection {
    /// The server or the pool.
    Failed(ConnectError),
    /// The session was asked to do something else.
    Told(Signal),
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
    /// Gets a connection into `slot` where there is none.
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
        let readable = slot == Slot::Primary || backend.connection.server().is_readable();
        if backend.connection.stream.is_closed_by_peer() {
            self.lose(slot).map_err(NoBackend::End)?;
        } else if !readable && !self.statements.has_cursor(slot) {
            self.give_back(slot);
        }
        Ok(())
    }

    /// A connection is gone. The session goes on only if it loses nothing by that.
    pub(super) fn lose(&mut self, slot: Slot) -> Result<(), End> {
        let server = self.backends.get(slot).map(|b| b.connection.server().name.clone()).unwrap_or_default();
        self.backends.drop_slot(slot);
        self.statements.forget_cursors(slot);
        if self.state.survives_loss_of(slot) {
            return Ok(());
        }
        self.client.set_sequence(1);
        Err(self.end(self.server_lost(&server), Side::Backend))
    }

    /// A connection from the pool; the session may be killed while it waits for one.
    async fn checkout(&mut self, server: usize, slot: Slot) -> Result<PooledConnection, NoConnection> {
        let pools = self.context.pools.clone();
        let settings = self.state.image(&pools.settings);
        let wish = Wish {
            account: &self.group,
            settings: &settings,
            claim: self.backends.claim(slot),
            read_only: slot == Slot::Replica,
        };
        let checkout = pools.checkout(server, wish);
        tokio::pin!(checkout);
        let handle = self.handle.clone();
        let got = poll_fn(|cx| {
            if let Poll::Ready(done) = checkout.as_mut().poll(cx) {
                return Poll::Ready(done.map_err(NoConnection::Failed));
            }
            handle.set_waiting(true);
            let wanted = |signal| matches!(signal, Signal::Kill | Signal::Interrupt);
            handle.poll_signal(cx, wanted).map(|signal| Err(NoConnection::Told(signal)))
        })
        .await;
        self.handle.set_waiting(false);
        self.handle.forget_interrupt();
        got
    }

    /// What a session that was killed while it waited comes to.
    fn told(&self, signal: Signal) -> NoBackend {
        match signal {
            Signal::Kill => NoBackend::End(self.killed()),
            _ => NoBackend::Answer(response::err(&ServerError::query_interrupted(), self.capabilities())),
        }
    }

    /// A connection to the primary; while it does not answer, again and again until routing.primary_wait_ms is over.
    async fn open_primary(&mut self) -> Result<(), NoBackend> {
        let index = self.context.topology.primary().index;
        let mut waited: Option<(Instant, Duration)> = None; // the clock is read only where there is trouble
        loop {
            let error = match self.checkout(index, Slot::Primary).await {
                Ok(connection) => {
                    self.settle(Slot::Primary, connection);
                    return Ok(());
                }
                Err(NoConnection::Told(signal)) => return Err(self.told(signal)),
                Err(NoConnection::Failed(error)) => error,
            };
            let limit = Duration::from_millis(self.context.config.routing.primary_wait_ms);
            let (deadline, pause) =
                *waited.get_or_insert_with(|| (Instant::now() + limit, Duration::from_millis(20)));
            let left = deadline.saturating_duration_since(Instant::now());
            if !error.is_down() || left.is_zero() {
                return Err(NoBackend::Answer(self.connect_error(self.context.topology.primary(), error)));
            }
            tokio::time::sleep(pause.min(left)).await;
            waited = Some((deadline, (pause * 2).min(Duration::from_millis(500))));
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

    /// The server whose turn it is to answer the read at hand, none of those `tried`.
    fn choose_reader(&self, tried: &[usize]) -> Option<usize> {
        let topology = &self.context.topology;
        let candidates = topology.candidates(self.wanted_label()).filter(|c| !tried.contains(&c.index));
        self.context.balancer.borrow_mut().choose_by(topology.policy(), candidates)
    }

    /// The connection for a read: to the server whose turn it is, which may be the primary where it has a weight, or
    /// the label of the rule that the read follows.
    pub(super) fn read_slot(&mut self, wanted: Option<RuleId>) -> Slot {
        self.backends.wanted = wanted;
        let next = self.backends.next_reader.take();
        if self.state.reads_on_primary {
            return Slot::Primary;
        }
        if let Some(replica) = self.backends.get(Slot::Replica) {
            // A cursor ends with its connection.
            if self.is_wanted(replica.connection.server().index) || self.statements.has_cursor(Slot::Replica)
            {
                return Slot::Replica;
            }
            self.give_back(Slot::Replica);
        }
        let topology = &self.context.topology;
        let config = &self.context.config;
        let kept = config.pool.mode == PoolMode::Session || config.routing.stick == Stick::Session;
        let stays =
            |index: &usize| kept && topology.servers()[*index].is_readable() && self.is_wanted(*index);
        let next = next.filter(|index| topology.servers()[*index].is_readable() && self.is_wanted(*index));
        if next.is_some() {
            self.backends.reader = next;
        } else if self.backends.reader.filter(stays).is_none() {
            self.backends.reader = self.choose_reader(&[]);
        }
        match self.backends.reader {
            Some(index) if index != topology.primary().index => Slot::Replica,
            _ => Slot::Primary,
        }
    }

    /// A connection to the server whose turn it is, or to another that may answer reads.
    async fn open_replica(&mut self) -> Result<(), NoBackend> {
        let primary = self.context.topology.primary().index;
        let mut tried = Vec::new();
        let mut next = self.backends.reader.filter(|index| *index != primary);
        loop {
            if tried.is_empty() && next.is_none() {
                tried.push(primary);
            }
            let Some(index) = next.take().or_else(|| self.choose_reader(&tried)) else {
                return Err(self.no_replica());
            };
            match self.checkout(index, Slot::Replica).await {
                Ok(connection) => {
                    self.backends.reader = Some(index);
                    self.settle(Slot::Replica, connection);
                    return Ok(());
                }
                Err(NoConnection::Told(signal)) => return Err(self.told(signal)),
                Err(NoConnection::Failed(_)) => {}
            }
            tried.extend([index, primary]);
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

    /// Takes a connection into use.
    fn settle(&mut self, slot: Slot, connection: PooledConnection) {
        if slot == Slot::Primary && self.state.is_untouched() {
            // The server's defaults are this session's: autocommit may be off from the start.
            self.state.begins_with(connection.connection.status);
        }
        if slot == Slot::Primary && !connection.is_own && self.state.insert_id == InsertId::Here {
            let rescued = self.backends.claim(slot).and_then(|claim| claim.rescued());
            self.state.insert_id = rescued.map_or(InsertId::Lost, InsertId::Known);
        }
        self.backends.put(slot, connection);
    }

    /// Gives back what the session does not need between two statements.
    pub(super) async fn release(&mut self) {
        if self.context.config.pool.mode == PoolMode::Session {
            return;
        }
        if self.backends.get(Slot::Primary).is_some() && self.state.survives_loss_of(Slot::Primary) {
            // It uses no table: MariaDB's list of warnings, which outlives a SET, outlives this too.
            if self.state.must_ask_primary() && !self.state.must_count_temporary_tables {
                self.ask_unreported().await;
                self.state.was_asked = true;
            }
            if !self.state.must_ask_primary() && self.state.survives_loss_of(Slot::Primary) {
                self.give_back(Slot::Primary);
            }
        }
        self.give_back(Slot::Replica);
    }

    fn give_back(&mut self, slot: Slot) {
        if self.statements.has_cursor(slot) || self.handle.is_held() {
            return;
        }
        if let Some(connection) = self.backends.take(slot) {
            let firm = self.state.left_something(slot);
            let has_insert_id = slot == Slot::Primary && self.state.insert_id == InsertId::Here;
            let claim = self.backends.renewed_claim(slot, firm, has_insert_id);
            connection.check_in(Some(claim), self.state.left_something(slot));
        }
    }

    /// The session ends: its connections go back, or end.
    pub(super) async fn leave_backends(&mut self) {
        let transaction = self.context.config.pool.mode == PoolMode::Transaction;
        for slot in Slot::ALL {
            let Some(connection) = self.backends.take(slot) else { continue };
            let clean = self.state.survives_loss_of(slot)
                && !self.statements.has_cursor(slot)
                && (slot == Slot::Replica || !self.state.must_ask_primary());
            match transaction && !self.handle.is_held() {
                true if clean => connection.check_in(None, self.state.left_something(slot)),
                true if self.state.is_undone_by_reset() => connection.check_in_reset(),
                _ => connection.quit().await,
            }
        }
        self.backends.forget_claims();
    }

    fn connect_error(&self, server: &Server, error: ConnectError) -> Vec<u8> {
        let own = match error {
            ConnectError::Refused { payload, .. } => return payload,
            ConnectError::Limit => {
                ServerError::no_connection_free(&server.name, self.context.config.pool.wait_ms)
            }
            error if error.is_down() => ServerError::no_primary(&format!("{}: {error}", server.name)),
            error => ServerError::telamon(format!("no connection to server {}: {error}", server.name)),
        };
        response::err(&own, self.capabilities())
    }
}
