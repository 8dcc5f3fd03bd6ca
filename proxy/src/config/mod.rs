//! The configuration: a TOML file in, one typed [`Config`] out, or every problem of the file at once.
//!
//! This file holds the types, and their `Default` is the only home of default values. `file` says which key fills
//! which field, `reader` how a value of the right type is taken from the file, `validate` what must hold between
//! keys, `keys` and `reference` what each key means. Of other rooms it knows
//! `routing`'s words for rules; nothing of sockets, servers or sessions.

mod address;
mod file;
mod keys;
mod keys_rules;
mod load;
mod problem;
mod reader;
mod reference;
mod rules;
mod secret;
mod suggest;
mod validate;
mod validate_rules;
mod words;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

pub use address::{ClientAddress, ListenAddress, ServerAddress};
pub use load::default_path;
pub use problem::{ConfigErrors, Problem};
pub use reference::reference;
pub use rules::{Firewall, FirewallMode, Rule};
pub use secret::Secret;

/// All that a configuration file can say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where clients connect. Never empty after a load.
    pub listen: Vec<ListenAddress>,
    /// Worker threads; 0 is one per core.
    pub workers: usize,
    /// The cluster's servers, in the file's order. Exactly one is the primary after a load.
    pub servers: Vec<Server>,
    /// The accounts that clients log in with. Never empty after a load.
    pub users: Vec<User>,
    /// Where statements go.
    pub routing: Routing,
    /// Which of them go elsewhere, in the order of decision.
    pub rules: Vec<Rule>,
    /// Which of them are refused.
    pub firewall: Firewall,
    /// Connections to servers.
    pub pool: Pool,
    /// Connections of clients.
    pub client: Client,
    /// Bounds on what one session may hold.
    pub limits: Limits,
    /// How servers are watched.
    pub monitor: Monitor,
    /// TLS on both sides.
    pub tls: Tls,
    /// What is logged, and in which form.
    pub log: Log,
    /// What is legal in the file but surely not meant; for the log at start, and for `telamon check`.
    pub warnings: Vec<Problem>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: vec![ListenAddress::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 1234)))],
            workers: 0,
            servers: Vec::new(),
            users: Vec::new(),
            routing: Routing::default(),
            rules: Vec::new(),
            firewall: Firewall::default(),
            pool: Pool::default(),
            client: Client::default(),
            limits: Limits::default(),
            monitor: Monitor::default(),
            tls: Tls::default(),
            log: Log::default(),
            warnings: Vec::new(),
        }
    }
}

impl Config {
    /// How many worker threads there are to be.
    pub fn worker_threads(&self) -> usize {
        match self.workers {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            workers => workers,
        }
    }

    /// The cluster's primary; `None` only in a configuration that was not loaded from a file.
    pub fn primary(&self) -> Option<&Server> {
        self.servers.iter().find(|server| server.role == Role::Primary)
    }

    /// The cluster's replicas, in the file's order.
    pub fn replicas(&self) -> impl Iterator<Item = &Server> {
        self.servers.iter().filter(|server| server.role == Role::Replica)
    }

    /// The account of this name. MySQL compares user names byte for byte, so this does too.
    pub fn user(&self, name: &str) -> Option<&User> {
        self.users.iter().find(|user| user.name == name)
    }

    /// Name and password that the monitor logs in to servers with: those of `[monitor]`, else of the first user.
    pub fn monitor_account(&self) -> Option<(&str, &Secret)> {
        if self.monitor.user.is_empty() {
            self.users.first().map(|user| (user.name.as_str(), &user.password))
        } else {
            Some((&self.monitor.user, &self.monitor.password))
        }
    }
}

/// One server of the cluster: `[[servers]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Unique; letters, digits, `_`, `.` and `-`. The label in logs and metrics.
    pub name: String,
    /// Where it listens.
    pub address: ServerAddress,
    /// What it is to the cluster.
    pub role: Role,
    /// Its share of the reads; 0 takes none.
    pub weight: u32,
    /// Words that rules can name.
    pub labels: Vec<String>,
}

/// What a server is to the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Takes the writes, and all that is not proved a read.
    Primary,
    /// Takes reads.
    Replica,
}

impl Role {
    /// The weight of a server whose table names none: a primary has no share of the reads.
    pub fn default_weight(self) -> u32 {
        match self {
            Self::Primary => 0,
            Self::Replica => 1,
        }
    }
}

/// One account: `[[users]]`. The same name and password hold towards clients and towards servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The account's name, unique.
    pub name: String,
    /// Its password, already fetched from wherever the file pointed to.
    pub password: Secret,
    /// Where its clients may connect from; empty is everywhere.
    pub clients: Vec<ClientAddress>,
    /// The schema of a session whose client names none.
    pub schema: Option<String>,
}

impl User {
    /// Whether a client from here may use this account; `None` is a client of the Unix socket.
    pub fn allows(&self, client: Option<IpAddr>) -> bool {
        self.clients.is_empty() || self.clients.iter().any(|address| address.matches(client))
    }
}

/// Where statements go: `[routing]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routing {
    /// Which of the replicas takes the next read.
    pub balance: Balance,
    /// How long one replica takes a session's reads.
    pub stick: Stick,
    /// What becomes of a read while no replica is usable.
    pub fallback: Fallback,
    /// Whose writes a read on a replica must show.
    pub consistency: Consistency,
    /// Milliseconds that a read waits for a replica to have those writes before the primary answers it.
    pub consistency_wait_ms: u64,
    /// Milliseconds a write waits for a usable primary before its client gets an error.
    pub primary_wait_ms: u64,
}

impl Default for Routing {
    fn default() -> Self {
        Self {
            balance: Balance::RoundRobin,
            stick: Stick::Statement,
            fallback: Fallback::Primary,
            consistency: Consistency::Session,
            consistency_wait_ms: 500,
            primary_wait_ms: 10_000,
        }
    }
}

/// Which of the replicas takes the next read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balance {
    /// Each in turn, as often as its weight says.
    RoundRobin,
    /// The one with the fewest statements running for each unit of its weight.
    LeastOutstanding,
    /// The one that is expected to answer first.
    Latency,
}

/// How long one replica takes a session's reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stick {
    /// For one statement, or one transaction.
    Statement,
    /// Until it fails, or the session ends.
    Session,
}

/// Whose writes a read on a replica must show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// Nobody's: whatever the replica has.
    None,
    /// The session's own, and all that went through this Telamon before the session began.
    Session,
    /// All that went through this Telamon before the read began.
    Global,
}

/// What becomes of a read while no replica is usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// It runs on the primary.
    Primary,
    /// Its client gets an error packet.
    Error,
}

/// Connections to servers: `[pool]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// How long a session keeps a connection.
    pub mode: PoolMode,
    /// Connections to one server at most, over all workers.
    pub max_connections: u32,
    /// Idle connections to one server that are opened in advance and kept however long they are idle, over all workers.
    pub min_idle: u32,
    /// Milliseconds after which an idle connection is closed.
    pub idle_ms: u64,
    /// Milliseconds after its login when a connection is closed as soon as it is idle.
    pub lifetime_ms: u64,
    /// Milliseconds a statement waits for a connection before its client gets an error.
    pub wait_ms: u64,
    /// Prepared statements kept on one connection.
    pub prepared_statements: u32,
    /// Milliseconds for the TCP connect, TLS and login of one backend connection.
    pub connect_timeout_ms: u64,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            mode: PoolMode::Transaction,
            max_connections: 140, // below the 151 of a server's own default, so that an administrator gets in
            min_idle: 0,
            idle_ms: 60_000,
            lifetime_ms: 3_600_000,
            wait_ms: 10_000,
            prepared_statements: 100, // 140 times this is below a server's default of 16,382
            connect_timeout_ms: 3_000,
        }
    }
}

/// How long a session keeps a backend connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolMode {
    /// For a statement or a transaction, and while it has something there that no other connection has.
    Transaction,
    /// From its first use to the session's end.
    Session,
}

/// Connections of clients: `[client]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// Sessions at most, over all listeners; the next one is answered with error 1040.
    pub max_connections: u32,
    /// Milliseconds for the whole connection phase, as MySQL's `connect_timeout`.
    pub connect_timeout_ms: u64,
    /// Milliseconds a client may take nothing of a reply, as MySQL's `net_write_timeout`.
    pub write_timeout_ms: u64,
    /// Milliseconds that a drain waits for sessions to end.
    pub drain_timeout_ms: u64,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            connect_timeout_ms: 10_000,
            write_timeout_ms: 60_000,
            drain_timeout_ms: 30_000,
        }
    }
}

/// Bounds on what one session may hold: `[limits]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a statement's text beyond which it goes to the primary unread.
    pub classify_bytes: usize,
    /// Bytes of `COM_STMT_SEND_LONG_DATA` kept for one statement until it is executed.
    pub long_data_bytes: usize,
    /// Prepared statements of one session, as MySQL's `max_prepared_stmt_count` (there for a whole server).
    pub statements: u32,
    /// Bytes a session holds in each direction while a peer is slow.
    pub relay_buffer_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            classify_bytes: 1_048_576,
            long_data_bytes: 67_108_864,
            statements: 16_382,
            relay_buffer_bytes: 65_536,
        }
    }
}

/// How servers are watched: `[monitor]`. See [`Config::monitor_account`] for the account it ends up with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Monitor {
    /// Account on the servers; empty is the first of `[[users]]`.
    pub user: String,
    /// Its password; not looked at while `user` is empty.
    pub password: Secret,
    /// Milliseconds between two probes of one server.
    pub interval_ms: u64,
    /// Milliseconds for one probe, connect included.
    pub timeout_ms: u64,
}

impl Default for Monitor {
    fn default() -> Self {
        Self { user: String::new(), password: Secret::default(), interval_ms: 2_000, timeout_ms: 1_000 }
    }
}

/// TLS on both sides: `[tls.client]` and `[tls.server]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    /// Towards clients.
    pub client: TlsClient,
    /// Towards servers.
    pub server: TlsServer,
}

/// TLS towards clients: `[tls.client]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsClient {
    /// Whether clients may or must use it.
    pub mode: TlsClientMode,
    /// PEM file of the certificate chain; set together with `key`, or neither.
    pub cert: Option<PathBuf>,
    /// PEM file of the private key.
    pub key: Option<PathBuf>,
    /// Where a generated certificate is kept; `None` keeps it in memory, so that each start makes a new one.
    pub directory: Option<PathBuf>,
}

impl Default for TlsClient {
    fn default() -> Self {
        Self { mode: TlsClientMode::Preferred, cert: None, key: None, directory: None }
    }
}

/// Whether clients may or must use TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsClientMode {
    /// Not offered.
    Off,
    /// Offered; the client decides.
    Preferred,
    /// A client without it is refused, as MySQL's `require_secure_transport` does.
    Required,
}

/// TLS towards servers: `[tls.server]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsServer {
    /// How much is asked of a server.
    pub mode: TlsServerMode,
    /// PEM file of the authorities that may have signed a server's certificate.
    pub ca: Option<PathBuf>,
}

impl Default for TlsServer {
    fn default() -> Self {
        Self { mode: TlsServerMode::Preferred, ca: None }
    }
}

/// How much TLS is asked of a server: MySQL's `--ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsServerMode {
    /// Never (MySQL's DISABLED).
    Off,
    /// Where the server offers it; its certificate is not looked at.
    Preferred,
    /// Always; the certificate is not looked at.
    Required,
    /// Always, with a certificate signed by `ca`.
    VerifyCa,
    /// As `VerifyCa`, and the certificate names the host.
    VerifyIdentity,
}

/// What is logged: `[log]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The least severe level that is written.
    pub level: LogLevel,
    /// The form of a line.
    pub format: LogFormat,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: LogLevel::Info, format: LogFormat::Text }
    }
}

/// How severe a log line must be to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Only what failed.
    Error,
    /// And what may fail next.
    Warn,
    /// And one line for each session.
    Info,
    /// And decisions, SQL with its literals masked.
    Debug,
    /// And each statement.
    Trace,
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

#[cfg(test)]
mod tests;
