//! What binds a session to its connection to the primary, and when that ends.
//!
//! A pin ends with its cause only where it is certain that nothing is left; else with the session, or its reset.

use super::plain::Cause;
use crate::routing::{Effects, PinReason};

/// Names that are remembered of one kind, before they are too many to be known.
const MAX_NAMES: usize = 64;

/// Things with names that were taken and may not have been given back.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: Vec<Box<[u8]>>,
    /// Something was taken of which nobody knows the name, or how often.
    unknown: bool,
}

impl Names {
    pub(super) fn is_any(&self) -> bool {
        self.unknown || !self.known.is_empty()
    }

    fn take(&mut self, name: &[u8]) {
        self.unknown |= self.known.len() >= MAX_NAMES;
        if !self.unknown {
            self.known.push(name.into());
        }
    }

    fn give_back(&mut self, name: &[u8]) {
        if let Some(at) = self.known.iter().position(|known| **known == *name) {
            self.known.swap_remove(at);
        }
    }
}

/// What binds the session to the primary and was not given back.
#[derive(Debug, Default)]
pub(super) struct Pins {
    pub(super) temporary_tables: Names,
    /// LOCK TABLES, as the server's transaction tracker knows it.
    pub(super) tracked_lock: bool,
    /// What the tracker does not know: FLUSH TABLES WITH READ LOCK.
    locked_tables: bool,
    pub(super) next_transaction: bool,
    pub(super) xa: bool,
    pub(super) unknown: bool,
    /// Only a row tells whether a lock was given, so each one that was asked for counts. One may be taken twice.
    named_locks: Names,
    handlers: u32,
    /// `SET timestamp`: the session's time stands still.
    pub(super) fixed_time: bool,
    /// Not a pin, but lost with the connection: user variables, names of prepared statements.
    pub(super) irreplaceable: bool,
}

impl Pins {
    /// Why the session needs its connection, if it does.
    pub(super) fn first(&self) -> Option<PinReason> {
        let held = [
            (self.next_transaction, PinReason::NextTransaction),
            (self.temporary_tables.is_any(), PinReason::TemporaryTable),
            (self.locked_tables || self.tracked_lock, PinReason::LockedTables),
            (self.named_locks.is_any(), PinReason::NamedLock),
            (self.handlers > 0, PinReason::Handler),
            (self.unknown || self.fixed_time, PinReason::UnknownState),
        ];
        held.into_iter().find_map(|(is, reason)| is.then_some(reason))
    }

    /// Whether a reset of the connection leaves nothing of them on its server.
    pub(super) fn are_undone_by_reset(&self) -> bool {
        !self.unknown && !self.xa && !self.fixed_time
    }

    /// Code that nobody can read has made temporary tables.
    pub(super) fn has_unknown_tables(&mut self) {
        self.temporary_tables.unknown = true;
    }

    /// Code that nobody can read has run: a table may have another name now.
    pub(super) fn may_have_renamed(&mut self) {
        self.temporary_tables.unknown |= self.temporary_tables.is_any();
    }

    /// A statement was answered with OK, or one of several in its text.
    pub(super) fn observe_text(&mut self, effects: Effects, cause: Option<&Cause>) {
        let has = |effect| effects.intersects(effect);
        let several = effects.contains(Effects::MULTI_STATEMENT);
        self.unknown |= has(Effects::SETS_UNTRACKED_STATE);
        self.xa |= has(Effects::XA);
        self.locked_tables |= has(Effects::LOCKS_TABLES) && !self.tracked_lock;
        if has(Effects::OPENS_HANDLER) {
            // How many of them there are in one text is not known.
            self.handlers = if several { u32::MAX } else { self.handlers.saturating_add(1) };
        }
        self.observe_cause(effects, cause);
        if several {
            return; // which of them came last is not known
        }
        self.next_transaction |= has(Effects::SETS_NEXT_TRANSACTION);
        if has(Effects::UNLOCKS_TABLES) {
            self.locked_tables = false;
        }
        if has(Effects::CLOSES_HANDLER) && self.handlers < u32::MAX {
            self.handlers = self.handlers.saturating_sub(1);
        }
    }

    fn observe_cause(&mut self, effects: Effects, cause: Option<&Cause>) {
        match cause {
            Some(Cause::TakesLock(name)) => return self.named_locks.take(name),
            Some(Cause::ReleasesLock(name)) => self.named_locks.give_back(name),
            Some(Cause::ReleasesAllLocks) => self.named_locks = Names::default(),
            Some(Cause::MakesTable(name)) => {
                self.temporary_tables.give_back(name); // so that it is there once
                return self.temporary_tables.take(name);
            }
            Some(Cause::DropsTables(names)) => {
                names.iter().for_each(|name| self.temporary_tables.give_back(name));
            }
            Some(Cause::MayRename) => self.may_have_renamed(),
            Some(Cause::LetsTimeRun) => self.fixed_time = false,
            None => {}
        }
        self.named_locks.unknown |= effects.intersects(Effects::TAKES_NAMED_LOCK);
        self.temporary_tables.unknown |= effects.intersects(Effects::CREATES_TEMPORARY_TABLE);
    }
}
