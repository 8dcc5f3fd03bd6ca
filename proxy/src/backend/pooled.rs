//! A connection on loan: clean ones go back to the pool, others are reset first, broken ones are closed.

use super::claim::Claim;
use super::connection::{Account, Connection};
use super::pool::Pools;
use super::prepared_cache::PreparedCache;
use super::settings::Settings;
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// A connection and what is known of it.
#[derive(Debug)]
pub struct Parts {
    /// The connection.
    pub connection: Connection,
    /// The settings it has.
    pub settings: Rc<Settings>,
    /// Whether the list of warnings there is another session's.
    pub foreign_warnings: bool,
    /// Whether the session that gave it back left any there.
    pub(super) left_warnings: bool,
    /// The statements prepared on it.
    pub prepared: PreparedCache,
    /// Whether LAST_INSERT_ID() may be another number there than a new session's 0.
    pub has_insert_id: bool,
    /// Temporary tables that statements have made on it since its login or reset, dropped ones included.
    pub temporary_tables: u32,
    pub(super) account: Rc<Account>,
    pub(super) read_only: bool,
    /// The pool's time of its login.
    pub(super) since: u32,
    pub(super) _counted: Counted,
}

/// Counts among a worker's connections, or among its sessions that wait for one, as long as it lives.
#[derive(Debug)]
pub(super) struct Counted(Rc<Cell<usize>>);

impl Counted {
    pub(super) fn new(count: &Rc<Cell<usize>>) -> Self {
        count.set(count.get() + 1);
        Self(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

/// A connection on loan. Dropped, it is closed: the server ends whatever it did and rolls back.
pub struct PooledConnection {
    pool: Rc<Pools>,
    server: usize,
    parts: Option<Box<Parts>>,
    /// The claim of a session that the connection has given an insert id to, which must be asked for first.
    pub robbed: Option<Rc<Claim>>,
    /// Whether no other session used it since this one did.
    pub is_own: bool,
}

impl PooledConnection {
    pub(super) fn new(pool: Rc<Pools>, server: usize, parts: Box<Parts>) -> Self {
        Self { pool, server, parts: Some(parts), robbed: None, is_own: false }
    }

    /// The same, with what it was to the session that had it before.
    pub(super) fn claimed(self, robbed: Option<Rc<Claim>>, is_own: bool) -> Self {
        Self { robbed, is_own, ..self }
    }

    /// Gives it back clean: no transaction, no lock, nothing but its [`Settings`]. The session may come back for what
    /// the claim names; `left_warnings` says whether the list of warnings is not empty.
    pub fn check_in(mut self, claim: Option<Rc<Claim>>, left_warnings: bool) {
        if let Some(mut parts) = self.parts.take() {
            parts.left_warnings = left_warnings;
            self.pool.put(self.server, parts, claim);
        }
    }

    /// Gives it back after a reset, in the background.
    pub fn check_in_reset(mut self) {
        let Some(mut parts) = self.parts.take() else { return };
        let (pool, server) = (self.pool.clone(), self.server);
        tokio::task::spawn_local(async move {
            let (account, read_only) = (parts.account.clone(), parts.read_only);
            let reset = parts.connection.reset_to_login(&account, read_only);
            if matches!(tokio::time::timeout(pool.reset_timeout(), reset).await, Ok(Ok(()))) {
                parts.was_reset(&pool);
                pool.put(server, parts, None);
            }
        });
    }

    /// Says goodbye to the server.
    pub async fn quit(mut self) {
        if let Some(parts) = self.parts.take() {
            parts.connection.quit().await;
        }
    }
}

impl Parts {
    /// A reset has left it with the login's settings, but its schema and COM_SET_OPTION's.
    pub fn was_reset(&mut self, pools: &Pools) {
        self.prepared.clear();
        self.has_insert_id = false;
        self.temporary_tables = 0;
        (self.left_warnings, self.foreign_warnings) = (false, false);
        self.settings = pools.settings.intern(self.settings.after_reset(false));
    }

    /// It is about to be brought to these settings; where that takes a reset, its prepared statements are gone.
    pub fn note_reset_for(&mut self, settings: &Settings) {
        if self.settings.needs_reset_for(settings) {
            self.prepared.clear();
            self.has_insert_id = false;
            self.temporary_tables = 0;
            self.foreign_warnings = false;
        }
    }

    /// Whether writes are refused on it.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// With what it logged in.
    pub fn account(&self) -> &Rc<Account> {
        &self.account
    }
}

impl Deref for PooledConnection {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        self.parts.as_ref().expect("there until it is given back, which takes the guard")
    }
}

impl DerefMut for PooledConnection {
    fn deref_mut(&mut self) -> &mut Parts {
        self.parts.as_mut().expect("there until it is given back, which takes the guard")
    }
}

impl std::fmt::Debug for PooledConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PooledConnection").field("server", &self.server).field("parts", &self.parts).finish()
    }
}
