//! What each key means: the one table behind the reference text, the ranges of numbers and the advice on a key
//! that is not known. Its order is the reference's.

use super::keys_rules;
use super::words::{Word, choices};
use super::{
    Balance, Config, Consistency, Fallback, LogFormat, LogLevel, PoolMode, Role, Stick, TlsClientMode,
    TlsServerMode,
};

/// A day: no wait of a proxy is longer, and a number beyond it is a slip of units.
const DAY_MS: u64 = 86_400_000;

/// One key of the file.
pub(super) struct Key {
    /// Its path, without the index of a list: `servers.address`.
    pub(super) path: &'static str,
    /// What it does, for the reference.
    pub(super) what: &'static str,
    /// What the reference says of the default where the value it shows is not the default.
    pub(super) default: Option<&'static str>,
    /// What a number counts; empty where there is none.
    pub(super) unit: &'static str,
    /// What it may be.
    pub(super) values: Values,
    /// The value that the reference shows, in TOML, taken from the configuration that it describes.
    pub(super) shown: fn(&Config) -> String,
}

/// What a key may be.
pub(super) enum Values {
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// One word of a list.
    Words(fn() -> String),
    /// Something that a sentence describes.
    Described(&'static str),
}

impl Key {
    /// The section of its path; empty for a key of the file itself.
    pub(super) fn section(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(section, _)| section)
    }

    /// The last part of its path.
    pub(super) fn name(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, name)| name)
    }
}

/// The range of a number.
pub(super) fn range(path: &str) -> (u64, u64) {
    let found = KEYS.iter().find(|key| key.path == path).map(|key| &key.values);
    match found {
        Some(Values::Number(least, most)) => (*least, *most),
        _ => unreachable!(
            "{path} is read as a number, so KEYS holds its range: a test reads the whole reference"
        ),
    }
}

/// A key whose shown value is its default.
pub(super) const fn key(
    path: &'static str,
    what: &'static str,
    values: Values,
    shown: fn(&Config) -> String,
) -> Key {
    Key { path, what, default: None, unit: "", values, shown }
}

impl Key {
    /// The same, counting something.
    const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// The same, showing an example in place of its default.
    pub(super) const fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self
    }
}

/// A text, or a list of texts, as TOML writes it.
pub(super) fn quoted(text: &impl ToString) -> String {
    toml::Value::String(text.to_string()).to_string()
}

pub(super) fn list<T: ToString>(items: &[T]) -> String {
    format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
}

pub(super) fn word<T: Word>(value: T) -> String {
    quoted(&value.word())
}

fn path(path: Option<&std::path::PathBuf>) -> String {
    quoted(&path.map_or(String::new(), |path| path.display().to_string()))
}

use Values::{Described, Number, Words};

/// Every key, section by section.
pub(super) const KEYS: &[Key] = &[
    key(
        "listen",
        "Where clients connect. Each entry is an IP address with a port (IPv6 in brackets; port 0 takes a free \
         one) or a Unix socket. 0.0.0.0 and [::] are all interfaces.",
        Described("list of \"127.0.0.1:1234\", \"[::1]:1234\", \"unix:/run/telamon/telamon.sock\""),
        |c| list(&c.listen),
    ),
    key("workers", "Worker threads. 0 is one for each core.", Number(0, 1024), |c| c.workers.to_string())
        .unit("threads"),
    key(
        "servers.name",
        "Name of the server in logs, metrics and rules; unique.",
        Described("letters, digits, '_', '.', '-'; 64 bytes at most"),
        |c| quoted(&c.servers[0].name),
    )
    .default("none, required"),
    key(
        "servers.address",
        "Where the server listens. A host name is resolved anew at each connect.",
        Described("\"host:port\", \"[IPv6]:port\" or \"unix:/path\""),
        |c| quoted(&c.servers[0].address),
    )
    .default("none, required"),
    key(
        "servers.role",
        "What the server is to the cluster: the primary takes the writes and all that is not proved a read, a \
         replica takes reads. Exactly one server is the primary.",
        Words(choices::<Role>),
        |c| word(c.servers[0].role),
    )
    .default("none, required"),
    key(
        "servers.weight",
        "Share of the reads, relative to the other servers; 0 takes none. While no replica is usable the primary \
         takes all reads, whatever its weight.",
        Number(0, 1000),
        |c| c.servers[0].weight.to_string(),
    )
    .default("1 for a replica, 0 for the primary"),
    key("servers.labels", "Words by which rules can name this server.", Described("list of texts"), |c| {
        list(&c.servers[0].labels)
    }),
    key(
        "users.name",
        "Name of the account: clients log in to Telamon with it, and Telamon with it to the servers. Unique.",
        Described("text, 128 bytes at most"),
        |c| quoted(&c.users[0].name),
    )
    .default("none, required"),
    key(
        "users.password",
        "Its password, the same on both sides. \"\" is an account without one. A password in a file loses the \
         newline at its end.",
        Described("the password itself, \"env:NAME\" (environment variable) or \"file:PATH\""),
        |c| quoted(&c.users[0].password.expose()),
    )
    .default("none, required"),
    key(
        "users.clients",
        "Where its clients may connect from; others are refused as MySQL refuses them. Empty is everywhere.",
        Described("list of addresses, networks in CIDR form, and \"localhost\" for the Unix socket"),
        |c| list(&c.users[0].clients),
    ),
    key(
        "users.schema",
        "Schema of a session whose client names none. \"\" is none.",
        Described("name of a schema"),
        |c| quoted(&c.users[0].schema.as_deref().unwrap_or_default()),
    ),
    key(
        "routing.balance",
        "Which replica takes the next read: each in turn by its weight, the one with the fewest statements running \
         for its weight, or the one that is expected to answer first by what it took lately.",
        Words(choices::<Balance>),
        |c| word(c.routing.balance),
    ),
    key(
        "routing.stick",
        "How long one replica takes a session's reads: each statement is balanced anew, or all of a session's go \
         to one until that fails, so that what a session sees never goes back in time.",
        Words(choices::<Stick>),
        |c| word(c.routing.stick),
    ),
    key(
        "routing.fallback",
        "What becomes of a read while no replica is usable: it runs on the primary, or its client gets an error.",
        Words(choices::<Fallback>),
        |c| word(c.routing.fallback),
    ),
    key(
        "routing.consistency",
        "Whose writes a read on a replica must show: nobody's, the session's own and all that went through this \
         Telamon before the session began, or all that went through this Telamon before the read. A replica that \
         does not have them yet is waited for.",
        Words(choices::<Consistency>),
        |c| word(c.routing.consistency),
    ),
    key(
        "routing.consistency_wait_ms",
        "How long a read waits for a replica to have those writes before the primary answers it.",
        Number(1, 60_000),
        |c| c.routing.consistency_wait_ms.to_string(),
    )
    .unit("ms"),
    key(
        "routing.primary_wait_ms",
        "How long a statement for the primary waits for one that is usable before its client gets an error.",
        Number(0, DAY_MS),
        |c| c.routing.primary_wait_ms.to_string(),
    )
    .unit("ms"),
    keys_rules::NAME,
    keys_rules::ENABLED,
    keys_rules::USER,
    keys_rules::CLIENT,
    keys_rules::SCHEMA,
    keys_rules::TABLE,
    keys_rules::KIND,
    keys_rules::FINGERPRINT,
    keys_rules::REGEX,
    keys_rules::ACTION,
    keys_rules::MESSAGE,
    keys_rules::FIREWALL_DELETE_WITHOUT_WHERE,
    keys_rules::FIREWALL_UPDATE_WITHOUT_WHERE,
    keys_rules::FIREWALL_SLEEP,
    keys_rules::FIREWALL_DROP,
    keys_rules::FIREWALL_TRUNCATE,
    keys_rules::FIREWALL_UNREAD,
    key(
        "pool.mode",
        "How long a session keeps a connection: for a statement or a transaction (and while it has something there \
         that no other connection has: a temporary table, a lock), or to its end.",
        Words(choices::<PoolMode>),
        |c| word(c.pool.mode),
    ),
    key(
        "pool.max_connections",
        "Connections to one server at most, over all workers. Keep it below the server's own max_connections.",
        Number(1, 1_000_000),
        |c| c.pool.max_connections.to_string(),
    )
    .unit("connections"),
    key(
        "pool.min_idle",
        "Idle connections to each server that are kept ready, over all workers: pool.idle_ms closes none of them, and \
         those that lack are opened in the background, under the account that logged in last.",
        Number(0, 1_000_000),
        |c| c.pool.min_idle.to_string(),
    )
    .unit("connections"),
    key(
        "pool.idle_ms",
        "A connection that nobody has used for this long is closed. Parts of a second count as a whole one.",
        Number(1, DAY_MS),
        |c| c.pool.idle_ms.to_string(),
    )
    .unit("ms"),
    key(
        "pool.lifetime_ms",
        "A connection this old is closed when it comes back. Parts of a second count as a whole one.",
        Number(1, 365 * DAY_MS),
        |c| c.pool.lifetime_ms.to_string(),
    )
    .unit("ms"),
    key(
        "pool.wait_ms",
        "How long a statement waits for a connection while pool.max_connections are in use; then its client gets an \
         error.",
        Number(1, DAY_MS),
        |c| c.pool.wait_ms.to_string(),
    )
    .unit("ms"),
    key(
        "pool.prepared_statements",
        "Prepared statements kept on one connection; the one unused for longest is closed for a new one. Times \
         pool.max_connections it should stay below the server's max_prepared_stmt_count.",
        Number(1, 100_000),
        |c| c.pool.prepared_statements.to_string(),
    )
    .unit("statements"),
    key(
        "pool.connect_timeout_ms",
        "Time for one connection to a server to be made: TCP connect, TLS and login together.",
        Number(1, DAY_MS),
        |c| c.pool.connect_timeout_ms.to_string(),
    )
    .unit("ms"),
    key(
        "client.max_connections",
        "Clients at most, over all listeners; the next one gets error 1040 (Too many connections).",
        Number(1, 1_000_000),
        |c| c.client.max_connections.to_string(),
    )
    .unit("connections"),
    key(
        "client.connect_timeout_ms",
        "Time for a client to finish its whole login, as MySQL's connect_timeout.",
        Number(1, DAY_MS),
        |c| c.client.connect_timeout_ms.to_string(),
    )
    .unit("ms"),
    key(
        "client.write_timeout_ms",
        "How long a client may take nothing of a reply that waits for it, as MySQL's net_write_timeout; then it \
         is disconnected.",
        Number(1, DAY_MS),
        |c| c.client.write_timeout_ms.to_string(),
    )
    .unit("ms"),
    key(
        "client.drain_timeout_ms",
        "How long sessions may go on after SIGTERM or SIGINT before they are closed. 0 closes them at once.",
        Number(0, DAY_MS),
        |c| c.client.drain_timeout_ms.to_string(),
    )
    .unit("ms"),
    key(
        "limits.classify_bytes",
        "A statement longer than this is not read: it goes to the primary.",
        Number(1, 16_000_000), // below the length at which a payload goes on in another packet
        |c| c.limits.classify_bytes.to_string(),
    )
    .unit("bytes"),
    key(
        "limits.long_data_bytes",
        "Long data (COM_STMT_SEND_LONG_DATA) kept for one prepared statement until it is executed.",
        Number(1, 1 << 30),
        |c| c.limits.long_data_bytes.to_string(),
    )
    .unit("bytes"),
    key(
        "limits.statements",
        "Prepared statements that one session may hold; the next one gets error 1461, as by MySQL's \
         max_prepared_stmt_count.",
        Number(0, 4_194_304),
        |c| c.limits.statements.to_string(),
    )
    .unit("statements"),
    key(
        "limits.relay_buffer_bytes",
        "What a session holds in each direction while a peer is slow; beyond it Telamon stops reading from the \
         other side.",
        Number(4096, 1 << 24),
        |c| c.limits.relay_buffer_bytes.to_string(),
    )
    .unit("bytes"),
    key(
        "monitor.user",
        "Account by which the servers are watched. \"\" is the first of [[users]].",
        Described("name of an account on every server"),
        |c| quoted(&c.monitor.user),
    ),
    key(
        "monitor.password",
        "Its password; only together with monitor.user.",
        Described("the password itself, \"env:NAME\" (environment variable) or \"file:PATH\""),
        |c| quoted(&c.monitor.password.expose()),
    ),
    key("monitor.interval_ms", "Time between two probes of one server.", Number(10, DAY_MS), |c| {
        c.monitor.interval_ms.to_string()
    })
    .unit("ms"),
    key(
        "monitor.timeout_ms",
        "Time for one probe, connect included; a server that takes longer counts as down.",
        Number(1, DAY_MS),
        |c| c.monitor.timeout_ms.to_string(),
    )
    .unit("ms"),
    key(
        "tls.client.mode",
        "TLS with clients: not offered, offered, or demanded (as MySQL's require_secure_transport).",
        Words(choices::<TlsClientMode>),
        |c| word(c.tls.client.mode),
    ),
    key(
        "tls.client.cert",
        "Certificate shown to clients, with its chain. \"\" is a generated one, signed by itself.",
        Described("path of a PEM file; goes together with tls.client.key"),
        |c| path(c.tls.client.cert.as_ref()),
    ),
    key("tls.client.key", "Private key of that certificate.", Described("path of a PEM file"), |c| {
        path(c.tls.client.key.as_ref())
    }),
    key(
        "tls.client.directory",
        "Where a generated certificate is kept, so that later starts show the same. \"\" keeps it in memory: each \
         start makes a new one.",
        Described("path of a directory"),
        |c| path(c.tls.client.directory.as_ref()),
    ),
    key(
        "tls.server.mode",
        "TLS with servers, as --ssl-mode of MySQL's clients. \"preferred\" is those clients' own default, so a \
         server sees what it saw without Telamon; it protects from eavesdroppers, not from an impostor: that is \
         \"verify_identity\".",
        Words(choices::<TlsServerMode>),
        |c| word(c.tls.server.mode),
    ),
    key(
        "tls.server.ca",
        "Authorities that may have signed a server's certificate. Needed by \"verify_ca\" and \
         \"verify_identity\".",
        Described("path of a PEM file"),
        |c| path(c.tls.server.ca.as_ref()),
    ),
    key("log.level", "The least severe lines that are written.", Words(choices::<LogLevel>), |c| word(c.log.level)),
    key("log.format", "Lines for people, or one JSON object a line.", Words(choices::<LogFormat>), |c| {
        word(c.log.format)
    }),
];
