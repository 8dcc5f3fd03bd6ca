//! Brings a connection to the session's state before a statement runs on it.

use super::Session;
use super::asks::Asks;
use super::backends::Slot;
use super::end::End;
use super::exchange::Plan;
use super::relay::RelayError;
use super::replay::{Goal, Replayed, Replies, read_replies, replay};
use super::state::InsertId;
use crate::config::Consistency;
use crate::protocol::error_code::ServerError;
use crate::protocol::response::{self, ErrPacket};
use crate::routing::Effects;
use crate::topology::Gtid;
use std::rc::Rc;
use std::sync::Arc;

/// What became of an attempt to bring a connection to the session's state.
pub(super) enum Brought {
    /// It is there, or will be with these replies that come before the statement's.
    With(Replies),
    /// The plan has another slot now, or the slot no connection.
    NotYet,
    /// This is the client's answer.
    Refused(Vec<u8>),
}

impl Session {
    /// What a replica must have before this session may read there.
    fn wait(&self, plan: &Plan) -> Option<(Arc<Gtid>, u64)> {
        let routing = &self.context.config.routing;
        let server = self.backends.get(plan.slot)?.connection.server();
        let gtid = self.state.last_write.as_ref().filter(|gtid| !server.has(gtid))?;
        (plan.slot == Slot::Replica && routing.consistency != Consistency::None)
            .then(|| (gtid.clone(), routing.consistency_wait_ms))
    }

    /// Whether the connection has the session's settings.
    pub(super) fn has_settings(&mut self, slot: Slot) -> bool {
        let image = self.state.image(&self.context.pools.settings);
        self.backends.get(slot).is_some_and(|backend| Rc::ptr_eq(&backend.settings, &image))
    }

    /// The connection itself did what changed the session's settings.
    pub(super) fn note_settings(&mut self, slot: Slot) {
        let image = self.state.image(&self.context.pools.settings);
        if let Some(backend) = self.backends.get_mut(slot) {
            backend.settings = image;
        }
    }

    /// Brings the connection to the session's state: at once, or in front of the statement in the same write.
    pub(super) async fn bring(&mut self, plan: &mut Plan) -> Result<Brought, End> {
        if plan.slot == Slot::Replica && self.state.must_ask_last_write && !self.ask_last_write().await {
            plan.slot = Slot::Primary;
            return Ok(Brought::NotYet);
        }
        if plan.slot == Slot::Replica && self.state.must_ask_primary() {
            self.ask_unreported().await;
            if self.state.held().is_some() {
                plan.slot = Slot::Primary;
                return Ok(Brought::NotYet);
            }
        }
        let (Ok(nothing_before), Ok(insert_id)) = (self.has_nothing_before(plan), self.insert_id_for(plan))
        else {
            let error = ServerError::previous_lost();
            return Ok(Brought::Refused(response::err(&error, self.capabilities())));
        };
        let wait = self.wait(plan);
        let image = self.state.image(&self.context.pools.settings);
        let family = self.state.dialect.family;
        let Some(backend) = self.backends.get_mut(plan.slot) else { return Ok(Brought::NotYet) };
        let goal = Goal {
            settings: &image,
            wait: wait.as_ref().map(|(gtid, wait_ms)| (&**gtid, *wait_ms)),
            insert_id: insert_id.as_deref(),
            nothing_before,
            may_reset: true,
            family,
        };
        let replay = replay(backend, &goal);
        if replay.packets.is_empty() {
            return Ok(Brought::With(Replies::default()));
        }
        backend.note_reset_for(&image);
        backend.has_insert_id |= insert_id.is_some();
        backend.settings = image;
        let stream = &mut backend.connection.stream;
        stream.queue(&replay.packets);
        if plan.slot == Slot::Replica && plan.statement.is_none() {
            return Ok(Brought::With(replay.replies)); // in front of the statement, in the same write
        }
        let replayed = match stream.flush().await {
            Ok(()) => read_replies(backend, replay.replies).await,
            Err(error) => Err(RelayError::Backend(error)),
        };
        match replayed {
            Ok(Replayed::Done) => {
                self.waited(plan.slot, wait.as_ref());
                Ok(Brought::With(Replies::default()))
            }
            Ok(other) if plan.slot == Slot::Replica => {
                self.not_brought(plan, &other);
                Ok(Brought::NotYet)
            }
            Ok(Replayed::Refused(payload)) => Ok(self.not_brought_to_primary(plan, payload)),
            Ok(Replayed::Behind) | Err(_) => {
                self.lose(plan.slot)?; // nothing of the statement has been sent: it can have another connection
                Ok(Brought::NotYet)
            }
        }
    }

    /// The primary refuses something of the session's state. That its schema was dropped is no error before a statement
    /// needs one.
    fn not_brought_to_primary(&mut self, plan: &Plan, payload: Vec<u8>) -> Brought {
        self.backends.drop_slot(plan.slot);
        let gone = ErrPacket::parse(&payload).is_ok_and(|error| error.is_unknown_schema());
        if gone && !plan.enters_schema {
            self.state.lost_schema();
            return Brought::NotYet;
        }
        Brought::Refused(payload)
    }

    /// Whether the statement asks about one that left nothing to be told, on a connection that tells of another.
    ///
    /// # Errors
    /// It left something, and the connection that could tell serves another session.
    fn has_nothing_before(&self, plan: &Plan) -> Result<bool, ()> {
        let Some(backend) = self.backends.get(plan.slot) else { return Ok(false) };
        match plan.asks {
            Asks { warnings: true, .. } if backend.is_own => Ok(backend.foreign_warnings),
            Asks { warnings: true, .. } if self.state.left_warnings => Err(()),
            Asks { counts: true, .. } if self.state.was_asked => Ok(true),
            Asks { counts: true, .. } if backend.is_own => Ok(false),
            Asks { counts: true, .. } if self.state.has_run => Err(()),
            asks => Ok(asks.warnings || asks.counts),
        }
    }

    /// The insert id that the connection must be given because the statement may ask for it.
    ///
    /// # Errors
    /// Nobody knows it any more.
    fn insert_id_for(&self, plan: &Plan) -> Result<Option<Vec<u8>>, ()> {
        let unknown = plan.effects.contains(Effects::MAY_CALL_UNKNOWN);
        let may_ask = plan.asks.insert_id || plan.asks.inserts || unknown;
        let has_other = self.backends.get(plan.slot).is_some_and(|backend| backend.has_insert_id);
        match &self.state.insert_id {
            _ if !may_ask || plan.slot == Slot::Replica => Ok(None),
            InsertId::Here => Ok(None),
            InsertId::Zero => Ok(has_other.then(|| b"0".to_vec())),
            InsertId::Known(id) => Ok(Some(id.clone())),
            InsertId::Lost if plan.asks.insert_id || unknown => Err(()),
            InsertId::Lost => Ok(None),
        }
    }

    /// The server has what was waited for.
    fn waited(&self, slot: Slot, wait: Option<&(Arc<Gtid>, u64)>) {
        if let (Some((gtid, _)), Some(backend)) = (wait, self.backends.get(slot)) {
            backend.connection.server().note_has(gtid);
        }
    }

    /// A replica is not where the session is: the primary answers instead.
    pub(super) fn not_brought(&mut self, plan: &mut Plan, why: &Replayed) {
        if *why == Replayed::Behind {
            if let Some(backend) = self.backends.get(plan.slot) {
                backend.connection.server().note_behind();
            }
        } else {
            self.backends.drop_slot(plan.slot); // in which state it is now is not known
            self.state.reads_on_primary = true;
        }
        plan.slot = Slot::Primary;
    }
}
