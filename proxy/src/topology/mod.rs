//! What is known of the servers: names, roles, and who answers.
//!
//! Read by every worker, written by the monitor and by whoever meets a dead server first. Knows nothing of
//! sessions and statements.

mod gtid;
mod load;

pub use gtid::Gtid;

use crate::config::{self, Balance, Role, ServerAddress};
use crate::protocol::capability;
use crate::protocol::handshake::Greeting;
use crate::protocol::{CapabilityFlags, StatusFlags};
use crate::routing::{Candidate, Policy};
use arc_swap::ArcSwapOption;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

pub use load::Outstanding;

/// One server of the cluster.
#[derive(Debug)]
pub struct Server {
    /// Its place in [`Topology::servers`].
    pub index: usize,
    /// Its name in the configuration, in logs and in messages.
    pub name: String,
    /// Where it listens.
    pub address: ServerAddress,
    /// What it is to the cluster.
    pub role: Role,
    /// Its share of the reads.
    pub weight: u32,
    /// Words by which rules name it.
    pub labels: Vec<String>,
    health: AtomicU8,
    /// Until when it is known to lack writes that a session must see, in milliseconds since `since`; 0 is never.
    behind_until_ms: AtomicU64,
    since: Instant,
    connections: AtomicU32,
    max_connections: u32,
    /// Sessions of all workers that wait for one of its connections.
    starving: AtomicUsize,
    /// Those of them that have waited for long.
    urgent: AtomicUsize,
    /// Told when a permit comes back.
    freed: Notify,
    /// Told when a session begins to wait.
    wanted: Notify,
    /// The last write that a session waited for and that it had.
    has: ArcSwapOption<Gtid>,
    identity: ArcSwapOption<Identity>,
    load: load::Load,
}

/// As long as no more sessions than these wait, each of them tells all workers.
const FEW: usize = 8;

/// How long a replica that was waited for in vain is left alone.
const BEHIND: Duration = Duration::from_secs(2);

/// What a server says of itself in its greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The version text, byte for byte.
    pub version: String,
    /// What it offers.
    pub capabilities: CapabilityFlags,
    /// What it offers beyond that, if it is MariaDB.
    pub mariadb: u32,
    /// The low byte of its default collation id.
    pub collation: u8,
    /// The status of a new session, autocommit above all.
    pub status: StatusFlags,
    /// The authentication plugin it asks for first.
    pub plugin: String,
    /// The sql_mode that its sessions begin with, as far as it was asked.
    pub sql_mode: String,
}

impl Identity {
    /// The product's name as its messages have it.
    pub fn product(&self) -> &'static str {
        if self.version.contains("MariaDB") { "MariaDB" } else { "MySQL" }
    }
}

impl Default for Identity {
    /// What clients are greeted with before the primary was ever reached.
    fn default() -> Self {
        Self {
            version: "8.0.36".into(),
            capabilities: capability::assumed_of_primary(),
            mariadb: 0,
            collation: 45, // utf8mb4_general_ci: every MySQL and MariaDB knows it
            status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
            plugin: "mysql_native_password".into(),
            sql_mode: String::new(),
        }
    }
}

/// Whether a server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Health {
    /// Not asked yet: tried like one that is up.
    Unknown = 0,
    /// The last attempt succeeded.
    Up = 1,
    /// The last attempt failed.
    Down = 2,
}

impl Server {
    fn new(index: usize, server: &config::Server, max_connections: u32) -> Self {
        Self {
            index,
            name: server.name.clone(),
            address: server.address.clone(),
            role: server.role,
            weight: server.weight,
            labels: server.labels.clone(),
            health: AtomicU8::new(Health::Unknown as u8),
            behind_until_ms: AtomicU64::new(0),
            since: Instant::now(),
            connections: AtomicU32::new(0),
            max_connections,
            starving: AtomicUsize::new(0),
            urgent: AtomicUsize::new(0),
            freed: Notify::new(),
            wanted: Notify::new(),
            has: ArcSwapOption::empty(),
            identity: ArcSwapOption::empty(),
            load: load::Load::new(),
        }
    }

    /// Whether a rule's label means it.
    pub fn has_label(&self, label: &str) -> bool {
        self.labels.iter().any(|own| own == label)
    }

    /// Whether it answers, as far as is known.
    pub fn health(&self) -> Health {
        match self.health.load(Ordering::Relaxed) {
            0 => Health::Unknown,
            1 => Health::Up,
            _ => Health::Down,
        }
    }

    /// Notes whether it answers; true when that is news.
    pub fn set_health(&self, health: Health) -> bool {
        if health == Health::Down {
            self.has.store(None); // it may come back with other data
        }
        self.health.swap(health as u8, Ordering::Relaxed) != health as u8
    }

    /// A session waited in vain for it to have a write. For a while nobody waits for it again.
    pub fn note_behind(&self) {
        let until = self.since.elapsed() + BEHIND;
        let until_ms = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        self.behind_until_ms.store(until_ms, Ordering::Relaxed);
    }

    /// Notes that it has this write, and with it all before.
    pub fn note_has(&self, gtid: &Gtid) {
        if !self.has(gtid) {
            self.has.store(Some(Arc::new(gtid.clone())));
        }
    }

    /// Whether it is known to have this write.
    pub fn has(&self, gtid: &Gtid) -> bool {
        self.has.load().as_ref().is_some_and(|known| known.has(gtid))
    }

    /// Whether it may be asked for a read now.
    pub fn is_readable(&self) -> bool {
        self.health() != Health::Down && !self.is_behind()
    }

    fn is_behind(&self) -> bool {
        // The clock is only read while there is something to compare it with.
        let until_ms = self.behind_until_ms.load(Ordering::Relaxed);
        until_ms != 0 && {
            let is = self.since.elapsed().as_millis() < u128::from(until_ms);
            if !is {
                self.behind_until_ms.store(0, Ordering::Relaxed);
            }
            is
        }
    }

    /// What it said of itself last, if it was ever reached.
    pub fn identity(&self) -> Option<Arc<Identity>> {
        self.identity.load_full()
    }

    /// Notes what it says of itself in a greeting, which does not tell the sql_mode: that stays as it was.
    pub fn set_greeting(&self, greeting: &Greeting) {
        let sql_mode = self.identity.load().as_ref().map(|i| i.sql_mode.clone()).unwrap_or_default();
        self.set_identity(Identity {
            version: greeting.server_version.clone(),
            capabilities: greeting.capabilities,
            mariadb: greeting.mariadb,
            collation: greeting.collation,
            status: greeting.status,
            plugin: greeting.plugin.clone(),
            sql_mode,
        });
    }

    /// Notes the sql_mode that its sessions begin with.
    pub fn set_sql_mode(&self, sql_mode: String) {
        if let Some(identity) = self.identity() {
            self.set_identity(Identity { sql_mode, ..(*identity).clone() });
        }
    }

    fn set_identity(&self, identity: Identity) {
        if self.identity.load().as_deref() != Some(&identity) {
            self.identity.store(Some(Arc::new(identity)));
        }
    }

    /// Takes one of its connections; `None` when all that the configuration allows are taken.
    pub fn permit(self: &Arc<Self>) -> Option<Permit> {
        let limit = self.max_connections;
        let grow = |n: u32| (n < limit).then_some(n + 1);
        self.connections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow).ok()?;
        Some(Permit { server: self.clone(), counts: true })
    }

    /// A permit beyond the limit, for what must not wait behind the sessions: the monitor, and KILL.
    pub fn extra_permit(self: &Arc<Self>) -> Permit {
        Permit { server: self.clone(), counts: false }
    }

    /// Whether [`Self::permit`] would give one now.
    pub fn has_room(&self) -> bool {
        self.connections() < self.max_connections
    }

    /// Connections to it that are open now.
    pub fn connections(&self) -> u32 {
        self.connections.load(Ordering::Relaxed)
    }

    /// A session begins to wait for one of its connections; it does until this is dropped.
    pub fn starve(&self) -> Starving<'_> {
        // Where many wait, every worker knows, and looks each time that a connection comes back.
        if self.starving.fetch_add(1, Ordering::Relaxed) < FEW {
            self.wanted.notify_waiters();
        }
        Starving { server: self, urgent: false }
    }

    /// Whether any of them has waited for long.
    pub fn is_urgent(&self) -> bool {
        self.urgent.load(Ordering::Relaxed) > 0
    }

    /// Sessions, of all workers, that wait for one of its connections.
    pub fn starving(&self) -> usize {
        self.starving.load(Ordering::Relaxed)
    }

    /// Ready when a permit has come back.
    pub async fn freed(&self) {
        self.freed.notified().await;
    }

    /// Ready when a session begins to wait.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }
}

/// A session that waits for a connection.
#[derive(Debug)]
pub struct Starving<'a> {
    server: &'a Server,
    urgent: bool,
}

impl Starving<'_> {
    /// It has waited for long: what others only may need is to be given to it.
    pub fn insist(&mut self) {
        if !std::mem::replace(&mut self.urgent, true) {
            self.server.urgent.fetch_add(1, Ordering::Relaxed);
        }
        self.server.wanted.notify_waiters();
    }
}

impl Drop for Starving<'_> {
    fn drop(&mut self) {
        self.server.starving.fetch_sub(1, Ordering::Relaxed);
        if self.urgent {
            self.server.urgent.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// One connection's place among those that a server may have; given back when dropped.
#[derive(Debug)]
pub struct Permit {
    server: Arc<Server>,
    counts: bool,
}

impl Permit {
    /// The server it is for.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.counts {
            self.server.connections.fetch_sub(1, Ordering::Relaxed);
            self.server.freed.notify_one();
        }
    }
}

/// The cluster.
#[derive(Debug)]
pub struct Topology {
    servers: Vec<Arc<Server>>,
    primary: usize,
    policy: Policy,
    last_write: ArcSwapOption<Gtid>,
}

impl Topology {
    /// The cluster of a loaded configuration, which has exactly one primary; nothing is known of any server yet.
    pub fn new(config: &config::Config) -> Self {
        let limit = config.pool.max_connections;
        let servers: Vec<_> =
            config.servers.iter().enumerate().map(|(i, s)| Arc::new(Server::new(i, s, limit))).collect();
        let primary = servers.iter().position(|s| s.role == Role::Primary).unwrap_or(0);
        let policy = match config.routing.balance {
            Balance::RoundRobin => Policy::RoundRobin,
            Balance::LeastOutstanding => Policy::LeastOutstanding,
            Balance::Latency => Policy::Latency,
        };
        Self { servers, primary, policy, last_write: ArcSwapOption::empty() }
    }

    /// All servers, in the configuration's order.
    pub fn servers(&self) -> &[Arc<Server>] {
        &self.servers
    }

    /// The server that takes the writes.
    pub fn primary(&self) -> &Arc<Server> {
        &self.servers[self.primary]
    }

    /// The servers that may serve a read, with their weights: a primary only where it was given one.
    pub fn readable(&self) -> impl Iterator<Item = (usize, u32)> + Clone + '_ {
        let usable = |s: &&Arc<Server>| s.weight > 0 && s.is_readable();
        self.servers.iter().filter(usable).map(|s| (s.index, s.weight))
    }

    /// The servers that may serve a read which a rule keeps on those of a label, the primary among them, with their
    /// weights. One of weight 0 serves such reads alone.
    pub fn labelled<'a>(&'a self, label: &'a str) -> impl Iterator<Item = (usize, u32)> + 'a {
        let usable = move |s: &&Arc<Server>| s.has_label(label) && s.is_readable();
        self.servers.iter().filter(usable).map(|s| (s.index, s.weight.max(1)))
    }

    /// How the server for a read is chosen among [`Topology::candidates`].
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// The servers of [`Topology::readable`], or of [`Topology::labelled`], with what the policy goes by; each clock and
    /// counter is only read where it does.
    pub fn candidates<'a>(&'a self, label: Option<&'a str>) -> impl Iterator<Item = Candidate> + Clone + 'a {
        let by_latency = self.policy == Policy::Latency;
        let usable =
            move |s: &&Arc<Server>| s.is_readable() && label.map_or(s.weight > 0, |label| s.has_label(label));
        self.servers.iter().filter(usable).map(move |server| Candidate {
            index: server.index,
            weight: label.map_or(server.weight, |_| server.weight.max(1)),
            outstanding: if self.policy == Policy::RoundRobin { 0 } else { server.outstanding() },
            latency_us: by_latency.then(|| server.latency_us()).flatten(),
        })
    }

    /// Notes a write that a server acknowledged to a client.
    pub fn note_write(&self, gtid: &[u8]) {
        let gtid = Gtid::new(gtid);
        if !self.last_write.load().as_ref().is_some_and(|known| known.has(&gtid)) {
            self.last_write.store(Some(Arc::new(gtid)));
        }
    }

    /// The GTID of the last write of any client.
    pub fn last_write(&self) -> Option<Arc<Gtid>> {
        self.last_write.load_full()
    }

    /// What clients are greeted with.
    pub fn identity(&self) -> Arc<Identity> {
        self.primary().identity().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> Topology {
        cluster_with("round_robin")
    }

    fn cluster_with(balance: &str) -> Topology {
        let text = r#"
            [[servers]]
            name = "db1"
            address = "127.0.0.1:3306"
            role = "primary"
            [[servers]]
            name = "db2"
            address = "127.0.0.1:3307"
            role = "replica"
            weight = 2
            [[users]]
            name = "app"
            password = "x"
            [pool]
            max_connections = 2
            [routing]
            balance = ""#;
        let text = format!("{text}{balance}\"\n");
        Topology::new(&config::Config::parse(&text, |_| None).expect("a legal configuration"))
    }

    #[test]
    fn a_server_that_is_down_serves_no_reads_and_one_not_asked_yet_does() {
        let cluster = cluster();
        assert_eq!(cluster.readable().collect::<Vec<_>>(), [(1, 2)]);
        assert!(cluster.servers()[1].set_health(Health::Down), "that is news");
        assert!(!cluster.servers()[1].set_health(Health::Down), "that is not");
        assert_eq!(cluster.readable().count(), 0);
    }

    #[test]
    fn a_label_means_its_servers_that_answer_whatever_their_weight_and_role() {
        let mut config = config::Config::default();
        for (name, role, weight, labels) in [
            ("a", Role::Primary, 0, "x"),
            ("b", Role::Replica, 0, "x"),
            ("c", Role::Replica, 3, "x"),
            ("d", Role::Replica, 1, "y"),
        ] {
            let address = ServerAddress::Tcp { host: name.to_owned(), port: 3306 };
            let (name, labels) = (name.to_owned(), vec![labels.to_owned()]);
            config.servers.push(config::Server { name, address, role, weight, labels });
        }
        let cluster = Topology::new(&config);
        assert_eq!(cluster.labelled("x").collect::<Vec<_>>(), [(0, 1), (1, 1), (2, 3)]);
        assert_eq!(cluster.labelled("z").count(), 0);
        cluster.servers()[1].set_health(Health::Down);
        cluster.servers()[2].note_behind();
        assert_eq!(cluster.labelled("x").collect::<Vec<_>>(), [(0, 1)]);
    }

    #[test]
    fn a_replica_that_was_waited_for_in_vain_is_left_alone_for_a_while() {
        let cluster = cluster();
        cluster.servers()[1].note_behind();
        assert_eq!(cluster.readable().count(), 0);
    }

    #[test]
    fn of_two_writes_of_one_origin_the_later_is_kept_in_whatever_order_they_are_noted() {
        let cluster = cluster();
        for gtid in [&b"0-1-7"[..], b"0-1-10", b"0-1-9"] {
            cluster.note_write(gtid);
        }
        assert_eq!(cluster.last_write().as_deref(), Some(&Gtid::new(b"0-1-10")));
        cluster.note_write(b"0-2-3"); // another server was promoted
        assert_eq!(cluster.last_write().as_deref(), Some(&Gtid::new(b"0-2-3")));
    }

    #[test]
    fn no_more_connections_are_permitted_than_configured_and_dropped_ones_come_back() {
        let cluster = cluster();
        let first = cluster.primary().permit();
        let second = cluster.primary().permit();
        assert!(first.is_some() && second.is_some());
        assert!(cluster.primary().permit().is_none());
        drop(first);
        assert!(cluster.primary().permit().is_some());
    }

    #[test]
    fn a_statement_counts_until_its_guard_is_dropped_on_whatever_thread() {
        let cluster = cluster_with("least_outstanding");
        let server = &cluster.servers()[1];
        let first = server.begin_statement();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let second = server.begin_statement();
                assert_eq!(server.outstanding(), 2);
                drop(second);
            });
        });
        assert_eq!(
            cluster.candidates(None).map(|c| (c.index, c.outstanding, c.latency_us)).next(),
            Some((1, 1, None))
        );
        drop(first);
        assert_eq!(server.outstanding(), 0);
    }

    #[test]
    fn latency_is_known_from_the_first_reply_on_and_shown_to_the_policy_that_asks() {
        for (balance, shown) in [("latency", true), ("round_robin", false)] {
            let cluster = cluster_with(balance);
            let latency = || cluster.candidates(None).next().and_then(|candidate| candidate.latency_us);
            assert_eq!(latency(), None);
            cluster.servers()[1].observe_latency(Duration::from_secs(3_000));
            // However long this test is held up, the average does not fall to a third in 10 s.
            assert_eq!(latency().is_some_and(|us| us > 1_000_000_000), shown, "{balance}");
            let mut balancer = crate::routing::Balancer::new();
            assert_eq!(balancer.choose_by(cluster.policy(), cluster.candidates(None)), Some(1));
        }
    }
}
