//! What is known of the servers: names, roles, and who answers.
//!
//! Read by every worker, written by the monitor and by whoever meets a dead server first. Knows nothing of
//! sessions and statements.

use crate::config::{self, Role, ServerAddress};
use crate::protocol::capability;
use crate::protocol::handshake::Greeting;
use crate::protocol::{CapabilityFlags, StatusFlags};
use arc_swap::ArcSwapOption;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

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
    health: AtomicU8,
    connections: AtomicU32,
    max_connections: u32,
    identity: ArcSwapOption<Identity>,
}

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
            health: AtomicU8::new(Health::Unknown as u8),
            connections: AtomicU32::new(0),
            max_connections,
            identity: ArcSwapOption::empty(),
        }
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
        self.health.swap(health as u8, Ordering::Relaxed) != health as u8
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
        Some(Permit { server: self.clone() })
    }

    /// Connections to it that are open now.
    pub fn connections(&self) -> u32 {
        self.connections.load(Ordering::Relaxed)
    }
}

/// One connection's place among those that a server may have; given back when dropped.
#[derive(Debug)]
pub struct Permit {
    server: Arc<Server>,
}

impl Permit {
    /// The server it is for.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.server.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The cluster.
#[derive(Debug)]
pub struct Topology {
    servers: Vec<Arc<Server>>,
    primary: usize,
}

impl Topology {
    /// The cluster of a loaded configuration, which has exactly one primary; nothing is known of any server yet.
    pub fn new(config: &config::Config) -> Self {
        let limit = config.pool.max_connections;
        let servers: Vec<_> =
            config.servers.iter().enumerate().map(|(i, s)| Arc::new(Server::new(i, s, limit))).collect();
        let primary = servers.iter().position(|s| s.role == Role::Primary).unwrap_or(0);
        Self { servers, primary }
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
    pub fn readable(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let usable = |s: &&Arc<Server>| s.weight > 0 && s.health() != Health::Down;
        self.servers.iter().filter(usable).map(|s| (s.index, s.weight))
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
        "#;
        Topology::new(&config::Config::parse(text, |_| None).expect("a legal configuration"))
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
    fn no_more_connections_are_permitted_than_configured_and_dropped_ones_come_back() {
        let cluster = cluster();
        let first = cluster.primary().permit();
        let second = cluster.primary().permit();
        assert!(first.is_some() && second.is_some());
        assert!(cluster.primary().permit().is_none());
        drop(first);
        assert!(cluster.primary().permit().is_some());
    }
}
