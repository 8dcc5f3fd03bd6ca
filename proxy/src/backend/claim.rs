//! A session's claim to an idle connection: the one that can still answer what it asks about its last statement.

use std::cell::{Cell, RefCell};

/// What one session may still ask of a connection that it gave back. Shared by the two.
#[derive(Debug, Default)]
pub struct Claim {
    lost: Cell<bool>,
    /// Warnings, errors or counted rows wait there, which no other connection can tell.
    firm: Cell<bool>,
    /// The connection gave the session's last insert id, and nobody knows yet which.
    has_insert_id: Cell<bool>,
    insert_id: RefCell<Option<Vec<u8>>>,
}

impl Claim {
    /// Begins anew, for a connection that is about to be given back.
    pub fn renew(&self, firm: bool, has_insert_id: bool) {
        self.lost.set(false);
        self.firm.set(firm);
        self.has_insert_id.set(has_insert_id);
        self.insert_id.replace(None);
    }

    /// Whether the connection serves somebody else by now.
    pub fn is_lost(&self) -> bool {
        self.lost.get()
    }

    /// Whether the connection is not to be taken by others while there is any other way.
    pub fn is_firm(&self) -> bool {
        self.firm.get()
    }

    /// Another session takes the connection; whether it has to ask for the insert id first.
    pub fn lose(&self) -> bool {
        self.lost.set(true);
        self.has_insert_id.get()
    }

    /// What the connection answered when it was taken.
    pub fn rescue(&self, insert_id: Vec<u8>) {
        self.insert_id.replace(Some(insert_id));
    }

    /// The session's insert id, where it had to be rescued.
    pub fn rescued(&self) -> Option<Vec<u8>> {
        self.insert_id.take()
    }
}
