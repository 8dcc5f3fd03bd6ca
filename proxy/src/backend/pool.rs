//! One worker's connections to the servers: idle ones, and the sessions that wait for one.
//!
//! A connection serves one session at a time and comes back when a statement or a transaction is over. The limit
//! of connections to a server is one for all workers ([`Server::permit`]); between them, permits move to where
//! somebody waits. Nothing here awaits while it looks at the lists.

mod ready;
mod reaper;

use super::claim::Claim;
use super::connection::{Account, ConnectError, Connection, Connector};
use super::pooled::{Counted, Parts, PooledConnection};
use super::prepared_cache::PreparedCache;
use super::settings::{Interner, Settings};
use crate::config::Config;
use crate::io::Buffers;
use crate::topology::{Health, Permit, Server, Topology};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The pool's clock: no time is read on the way of a statement, so ages are counted in these.
pub const TICK: Duration = Duration::from_secs(1);
/// Ticks of idleness after which a connection is asked whether it is still there before it is used.
const LONG_IDLE: u32 = 10;
/// A session that waits takes what another has a firm claim to only after this time, or half of its own.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a server that has too many connections is left alone by a session.
const FULL: Duration = Duration::from_millis(50);

/// What a session wants a connection for.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// With what it logs in; compared by its address, see [`Pools::group`].
    pub account: &'a Rc<Account>,
    /// The settings it needs; a connection that has them is preferred.
    pub settings: &'a Rc<Settings>,
    /// The claim of the connection that is preferred to all others.
    pub claim: Option<&'a Rc<Claim>>,
    /// Whether the session must not write over it.
    pub read_only: bool,
}

/// How long things last, in the units of the pool's clock.
#[derive(Debug, Clone, Copy)]
struct Limits {
    max_connections: usize,
    workers: usize,
    min_idle: usize,
    idle_ticks: u32,
    lifetime_ticks: u32,
    wait: Duration,
    timeout: Duration,
    prepared: usize,
}

/// All pools of one worker.
pub struct Pools {
    servers: Vec<ServerPool>,
    groups: RefCell<Vec<Rc<Account>>>,
    /// The settings that sessions and connections of this worker have.
    pub settings: Interner,
    limits: Limits,
    now: Cell<u32>,
    connector: Connector,
    buffers: Buffers,
}

struct ServerPool {
    server: Arc<Server>,
    lists: RefCell<Lists>,
    /// This worker's connections, in use or idle.
    open: Rc<Cell<usize>>,
    /// This worker's sessions that wait for one.
    waiting: Rc<Cell<usize>>,
    /// Connections that are being opened before anybody wants them.
    opening: Rc<Cell<usize>>,
    /// When the server last gave none of those.
    refused_at: Cell<Option<u32>>,
}

#[derive(Default)]
struct Lists {
    /// The one that came back last is the last.
    idle: VecDeque<Idle>,
    waiters: VecDeque<Waiter>,
}

struct Idle {
    parts: Box<Parts>,
    claim: Option<Rc<Claim>>,
    since: u32,
}

impl Idle {
    /// Whether nobody will miss it.
    fn is_free(&self) -> bool {
        self.claim.as_ref().is_none_or(|claim| Rc::strong_count(claim) == 1)
    }

    fn is_firm(&self) -> bool {
        !self.is_free() && self.claim.as_ref().is_some_and(|claim| claim.is_firm())
    }

    fn suits(&self, wish: &Wish<'_>) -> bool {
        Rc::ptr_eq(&self.parts.account, wish.account)
            && self.parts.read_only == wish.read_only
            && !self.parts.settings.cannot_become(wish.settings)
    }

    fn is_claimed_by(&self, claim: Option<&Rc<Claim>>) -> bool {
        matches!((&self.claim, claim), (Some(a), Some(b)) if Rc::ptr_eq(a, b))
    }
}

/// A session that waits for a connection.
type Waiter = oneshot::Sender<Idle>;

impl Pools {
    /// Empty pools for every server of the cluster.
    pub fn new(config: &Config, topology: &Topology, connector: Connector, buffers: Buffers) -> Rc<Self> {
        let pool = &config.pool;
        let ticks = |ms: u64| u32::try_from(ms.div_ceil(1000)).unwrap_or(u32::MAX);
        let server = |server: &Arc<Server>| ServerPool {
            server: server.clone(),
            lists: RefCell::default(),
            open: Rc::default(),
            waiting: Rc::default(),
            opening: Rc::default(),
            refused_at: Cell::default(),
        };
        Rc::new(Self {
            servers: topology.servers().iter().map(server).collect(),
            groups: RefCell::default(),
            settings: Interner::default(),
            limits: Limits {
                max_connections: pool.max_connections as usize,
                workers: config.worker_threads(),
                min_idle: pool.min_idle as usize,
                idle_ticks: ticks(pool.idle_ms),
                lifetime_ticks: ticks(pool.lifetime_ms),
                wait: Duration::from_millis(pool.wait_ms),
                timeout: Duration::from_millis(pool.connect_timeout_ms),
                prepared: pool.prepared_statements as usize,
            },
            now: Cell::new(0),
            connector,
            buffers,
        })
    }

    /// The account under which sessions share connections: the same one for all that would log in the same way.
    pub fn group(&self, account: &Account) -> Rc<Account> {
        let shared = account.shared();
        let mut groups = self.groups.borrow_mut();
        groups.retain(|group| Rc::strong_count(group) > 1 || **group == shared);
        if let Some(group) = groups.iter().find(|group| ***group == shared) {
            return group.clone();
        }
        let group = Rc::new(shared);
        groups.push(group.clone());
        group
    }

    /// A connection to this server: an idle one, a new one, or the next that comes back. The claim of another session
    /// that the connection answered before comes with it.
    ///
    /// # Errors
    /// [`ConnectError`]; [`ConnectError::Limit`] after pool.wait_ms.
    pub async fn checkout(
        self: &Rc<Self>,
        server: usize,
        wish: Wish<'_>,
    ) -> Result<PooledConnection, ConnectError> {
        if let Some(own) = self.take_own(server, &wish)
            && let Some(connection) = self.validated(server, own, &wish).await
        {
            return Ok(connection);
        }
        if self.is_waited_for(server) {
            return self.wait(server, wish).await;
        }
        match self.at_once(server, &wish).await {
            Err(ConnectError::Limit) => self.wait(server, wish).await,
            done => done,
        }
    }

    /// The idle connection that the session itself has a claim to: nobody else waits for that.
    fn take_own(&self, server: usize, wish: &Wish<'_>) -> Option<Idle> {
        wish.claim?;
        let mut lists = self.servers[server].lists.borrow_mut();
        let at = lists.idle.iter().rposition(|idle| idle.suits(wish) && idle.is_claimed_by(wish.claim))?;
        lists.idle.remove(at)
    }

    /// Whether others wait already; nobody overtakes them.
    fn is_waited_for(&self, server: usize) -> bool {
        self.servers[server].waiting.get() > 0
    }

    /// An idle connection or a new one; [`ConnectError::Limit`] where there is neither.
    async fn at_once(
        self: &Rc<Self>,
        server: usize,
        wish: &Wish<'_>,
    ) -> Result<PooledConnection, ConnectError> {
        while let Some(idle) = self.take_idle(server, wish) {
            if let Some(connection) = self.validated(server, idle, wish).await {
                return Ok(connection);
            }
        }
        let permit = self.servers[server].server.permit().ok_or(ConnectError::Limit)?;
        self.open(server, wish, permit).await
    }

    /// Waits for a connection that comes back, or for a permit.
    async fn wait(self: &Rc<Self>, server: usize, wish: Wish<'_>) -> Result<PooledConnection, ConnectError> {
        let target = &self.servers[server].server;
        let mut starving = target.starve();
        let _waiting = Counted::new(&self.servers[server].waiting);
        let deadline = Instant::now() + self.limits.wait;
        let mut patience = Instant::now() + (self.limits.wait / 2).min(PATIENCE);
        let mut front = false;
        loop {
            let handed = self.enqueue(server, front);
            front = true; // whoever has waited once is before all who come later
            let handed = tokio::select! {
                biased;
                handed = handed => handed.ok(),
                () = target.freed() => None,
                () = tokio::time::sleep_until(deadline.min(patience)) => {
                    if Instant::now() >= deadline {
                        return Err(ConnectError::Limit);
                    }
                    patience = deadline;
                    starving.insist();
                    self.take_firm(server, &wish)
                }
            };
            if let Some(idle) = handed {
                if !idle.suits(&wish) {
                    Self::discard(idle); // and its permit is for this session
                } else if let Some(connection) = self.validated(server, idle, &wish).await {
                    return Ok(connection);
                }
            }
            match self.at_once(server, &wish).await {
                Err(ConnectError::Limit) => {}
                done => return done,
            }
        }
    }

    fn enqueue(&self, server: usize, front: bool) -> oneshot::Receiver<Idle> {
        let (give, receive) = oneshot::channel();
        let waiters = &mut self.servers[server].lists.borrow_mut().waiters;
        while waiters.front().is_some_and(Waiter::is_closed) {
            waiters.pop_front();
        }
        if front {
            waiters.push_front(give);
        } else {
            waiters.push_back(give);
        }
        receive
    }

    /// Logs in anew.
    async fn open(
        self: &Rc<Self>,
        server: usize,
        wish: &Wish<'_>,
        permit: Permit,
    ) -> Result<PooledConnection, ConnectError> {
        let target = &self.servers[server].server;
        let mut account = (**wish.account).clone();
        if !wish.read_only {
            account.schema = wish.settings.schema.as_deref().map(Into::into);
        } // a replica may not have the schema before it has the session's last write
        let open = async {
            let mut connection = Connection::open(&self.connector, permit, &account, &self.buffers).await?;
            if wish.read_only {
                connection.read_only().await?;
            }
            Ok(connection)
        };
        let connection = match tokio::time::timeout(self.limits.timeout, open).await {
            Ok(done) => done,
            Err(_) => Err(ConnectError::Timeout(self.limits.timeout)),
        };
        note(target, &account, &connection);
        let connection = match connection {
            Err(ConnectError::Refused { error, .. }) if error.is_too_many_connections() => {
                // The server's own limit is below pool.max_connections, and it does not say when it has room.
                tokio::time::sleep(FULL).await;
                return Err(ConnectError::Limit);
            }
            other => other?,
        };
        let settings = self
            .settings
            .intern(Settings { schema: account.schema.as_deref().map(Into::into), ..Settings::default() });
        let parts = Parts {
            connection,
            settings,
            prepared: PreparedCache::new(self.limits.prepared),
            has_insert_id: false,
            temporary_tables: 0,
            foreign_warnings: false,
            left_warnings: false,
            account: wish.account.clone(),
            read_only: wish.read_only,
            since: self.now.get(),
            _counted: Counted::new(&self.servers[server].open),
        };
        Ok(PooledConnection::new(self.clone(), server, Box::new(parts)))
    }

    /// The idle connection that suits best: one that nobody claims and that has the settings, any other that nobody
    /// claims, the one that was left alone for longest.
    fn take_idle(&self, server: usize, wish: &Wish<'_>) -> Option<Idle> {
        let mut lists = self.servers[server].lists.borrow_mut();
        if lists.idle.is_empty() {
            return None;
        }
        let newest = |wanted: &dyn Fn(&Idle) -> bool| {
            lists.idle.iter().rposition(|idle| idle.suits(wish) && wanted(idle))
        };
        let same = |idle: &Idle| Rc::ptr_eq(&idle.parts.settings, wish.settings);
        let now = self.now.get();
        let left = |idle: &Idle| idle.suits(wish) && !idle.is_firm() && idle.since != now;
        let at = newest(&|idle| idle.is_free() && same(idle))
            .or_else(|| newest(&|idle| idle.is_free()))
            .or_else(|| lists.idle.iter().position(left))
            .or_else(|| {
                let full = !self.servers[server].server.has_room();
                full.then(|| lists.idle.iter().position(|idle| idle.suits(wish) && !idle.is_firm()))?
            });
        if at.is_none()
            && !self.servers[server].server.has_room()
            && let Some(other) = lists.idle.iter().position(|idle| !idle.is_firm())
        {
            // Of another account, but its place is needed.
            let idle = lists.idle.remove(other);
            drop(lists);
            if let Some(idle) = idle {
                Self::discard(idle);
            }
            return None;
        }
        lists.idle.remove(at?)
    }

    /// What only remains: a connection that its session may still ask something.
    fn take_firm(&self, server: usize, wish: &Wish<'_>) -> Option<Idle> {
        let mut lists = self.servers[server].lists.borrow_mut();
        let at =
            lists.idle.iter().position(|idle| idle.suits(wish)).or((!lists.idle.is_empty()).then_some(0))?;
        lists.idle.remove(at)
    }

    /// The connection, if it is still one.
    async fn validated(
        self: &Rc<Self>,
        server: usize,
        mut idle: Idle,
        wish: &Wish<'_>,
    ) -> Option<PooledConnection> {
        let long = self.now.get().wrapping_sub(idle.since) >= LONG_IDLE;
        let stream = &mut idle.parts.connection.stream;
        let gone = stream.is_closed_by_peer() || (long && !self.answers(&mut idle.parts.connection).await);
        if gone {
            Self::discard(idle);
            return None;
        }
        let own = idle.is_claimed_by(wish.claim);
        idle.parts.foreign_warnings |= !own && idle.parts.left_warnings;
        let robbed = idle.claim.filter(|claim| !own && claim.lose() && Rc::strong_count(claim) > 1);
        Some(PooledConnection::new(self.clone(), server, idle.parts).claimed(robbed, own))
    }

    async fn answers(&self, connection: &mut Connection) -> bool {
        let ping = connection.command(&[0x0E]);
        matches!(tokio::time::timeout(self.limits.timeout, ping).await, Ok(Ok(_)))
    }

    /// A clean connection comes back.
    pub(super) fn put(&self, server: usize, parts: Box<Parts>, claim: Option<Rc<Claim>>) {
        let pool = &self.servers[server];
        let mut idle = Idle { parts, claim, since: self.now.get() };
        let mut lists = pool.lists.borrow_mut();
        let waiting = pool.waiting.get();
        let is_wanted = !idle.is_firm() || pool.server.is_urgent();
        let elsewhere = is_wanted && pool.server.starving() > waiting;
        if self.is_old(&idle) || (elsewhere && (waiting == 0 || self.has_more_than_its_share(pool))) {
            drop(lists);
            return Self::discard(idle);
        }
        if is_wanted {
            while let Some(waiter) = lists.waiters.pop_front() {
                match waiter.send(idle) {
                    Ok(()) => return,
                    Err(back) => idle = back, // it has left meanwhile
                }
            }
        }
        lists.idle.push_back(idle);
    }

    fn is_old(&self, idle: &Idle) -> bool {
        self.now.get().wrapping_sub(idle.parts.since) >= self.limits.lifetime_ticks
    }

    /// Whether this worker has more of the permits than would be its part if all wanted as many as they can get.
    fn has_more_than_its_share(&self, pool: &ServerPool) -> bool {
        let Limits { max_connections, workers, .. } = self.limits;
        max_connections < workers || pool.open.get().saturating_sub(1) * workers >= max_connections
    }

    /// Closes an idle connection, after the session that it gave an insert id to has got that.
    fn discard(idle: Idle) {
        let Idle { parts, claim, .. } = idle;
        let mut connection = parts.connection;
        let claim = claim.filter(|claim| claim.lose() && Rc::strong_count(claim) > 1);
        tokio::task::spawn_local(async move {
            if let Some(claim) = claim
                && let Ok(row) = connection.select_row(b"SELECT LAST_INSERT_ID()").await
                && let Some(Some(id)) = row.into_iter().next()
            {
                claim.rescue(id);
            }
            connection.quit().await;
        });
    }

    pub(super) fn reset_timeout(&self) -> Duration {
        self.limits.timeout
    }
}

/// Notes what a login says of its server.
fn note(server: &Server, account: &Account, opened: &Result<Connection, ConnectError>) {
    match opened {
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
            let user = String::from_utf8_lossy(&account.user);
            tracing::warn!(server = server.name, %user, %error, "no connection to the server");
        }
    }
}
