//! From TOML text to a draft of the configuration: which key fills which field. Every type error and every unknown
//! key is reported; what must hold between keys is `validate`'s.

use std::path::PathBuf;

use toml::de::DeTable;

use super::reader::{Report, Section};
use super::rules::{self, DraftRule, Text};
use super::{ClientAddress, Config, ListenAddress, Role, Secret, Server, ServerAddress, User};

/// Where environment variables come from.
pub(super) type Env<'e> = &'e dyn Fn(&str) -> Option<String>;

/// A file as far as it could be read. What was reported is `None`, so that `validate` does not report its absence
/// a second time.
pub(super) struct Draft {
    /// All but listeners, servers and users.
    pub(super) config: Config,
    /// `None` where the file has no such key.
    pub(super) listen: Option<Vec<Option<ListenAddress>>>,
    pub(super) servers: Vec<DraftServer>,
    pub(super) users: Vec<DraftUser>,
    pub(super) rules: Vec<DraftRule>,
}

/// One `[[servers]]` table.
pub(super) struct DraftServer {
    /// Where it stands: `servers[0]`.
    pub(super) path: String,
    pub(super) name: Option<String>,
    pub(super) address: Option<ServerAddress>,
    pub(super) role: Option<Role>,
    pub(super) weight: Option<u32>,
    pub(super) labels: Vec<String>,
}

/// One `[[users]]` table.
pub(super) struct DraftUser {
    /// Where it stands: `users[0]`.
    pub(super) path: String,
    pub(super) name: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) clients: Vec<ClientAddress>,
    pub(super) schema: Option<String>,
}

/// Reads a whole file. A text that is not TOML has no keys yet, so its first syntax error is all that is reported:
/// the others are mostly its consequences.
pub(super) fn read(text: &str, env: Env<'_>, report: &Report) -> Option<Draft> {
    let (document, errors) = DeTable::parse_recoverable(text);
    if let Some(error) = errors.first() {
        let line = error.span().map(|span| report.line_of(span.start));
        report.problem_on(line, "", format!("not TOML: {}", error.message()));
    }
    errors.is_empty().then(|| read_table(Section::root(report, document.get_ref()), env, report))
}

fn read_table(mut root: Section<'_>, env: Env<'_>, report: &Report) -> Draft {
    let mut config = Config::default();
    set(&mut config.workers, root.number("workers"));
    let listen = root.list("listen");
    let servers = root.sections("servers").into_iter().map(|table| server(table, report)).collect();
    let rules = root.sections("rules").into_iter().map(|table| rules::rule(table, report)).collect();
    let users = root.sections("users").into_iter().map(|table| user(table, env, report)).collect();
    if let Some(table) = root.section("routing") {
        routing(table, &mut config);
    }
    if let Some(table) = root.section("firewall") {
        config.firewall = rules::firewall(table);
    }
    if let Some(table) = root.section("pool") {
        pool(table, &mut config);
    }
    if let Some(table) = root.section("client") {
        client(table, &mut config);
    }
    if let Some(table) = root.section("limits") {
        limits(table, &mut config);
    }
    if let Some(table) = root.section("monitor") {
        monitor(table, &mut config, env, report);
    }
    if let Some(table) = root.section("tls") {
        tls(table, &mut config);
    }
    if let Some(table) = root.section("log") {
        log(table, &mut config);
    }
    root.finish();
    Draft { config, listen, servers, users, rules }
}

/// Puts a value that the file has over the default.
fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn server(mut table: Section<'_>, report: &Report) -> DraftServer {
    let read = DraftServer {
        path: table.path().to_owned(),
        name: table.text("name").and_then(|name| label_name(&table, name, report)),
        address: table.parsed("address"),
        role: role(&mut table, report),
        weight: table.number("weight"),
        labels: table.list::<Text>("labels").into_iter().flatten().flatten().map(|label| label.0).collect(),
    };
    for (name, advice) in [
        ("name", "any unique word will do"),
        ("address", "write \"host:port\""),
        ("role", "write \"primary\" or \"replica\""),
    ] {
        if !table.has(name) {
            table.missing(name, advice);
        }
    }
    table.finish();
    read
}

/// A name that logs and metrics can carry.
pub(super) fn label_name(table: &Section<'_>, name: &str, report: &Report) -> Option<String> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    if name.is_empty() || name.len() > 64 || !name.bytes().all(legal) {
        let text = "must be 1 to 64 letters, digits, '_', '.' or '-'";
        report.problem(&table.key("name"), text);
        return None;
    }
    Some(name.to_owned())
}

/// `auto` is a word that the design promises, so it gets an answer of its own.
fn role(table: &mut Section<'_>, report: &Report) -> Option<Role> {
    if table.is_text("role", "auto") {
        let text = "\"auto\" needs discovery of the primary, which this version has not; write \"primary\" or \"replica\"";
        report.problem(&table.key("role"), text);
        return None;
    }
    table.word("role")
}

fn user(mut table: Section<'_>, env: Env<'_>, report: &Report) -> DraftUser {
    let read = DraftUser {
        path: table.path().to_owned(),
        name: table.text("name").and_then(|name| user_name(&table, name, report)),
        password: password(&mut table, env, report),
        clients: table.list("clients").into_iter().flatten().flatten().collect(),
        schema: table.text("schema").filter(|schema| !schema.is_empty()).map(str::to_owned),
    };
    if !table.has("name") {
        table.missing("name", "it is what clients log in with");
    }
    if !table.has("password") {
        table.missing("password", "write \"\" for an account without one");
    }
    table.finish();
    read
}

/// Names go over the wire as text that ends in a NUL, and MariaDB's longest has 128 characters.
fn user_name(table: &Section<'_>, name: &str, report: &Report) -> Option<String> {
    if name.is_empty() || name.len() > 128 || name.contains('\0') {
        report.problem(&table.key("name"), "must be 1 to 128 bytes, none of them NUL");
        return None;
    }
    Some(name.to_owned())
}

fn password(table: &mut Section<'_>, env: Env<'_>, report: &Report) -> Option<Secret> {
    let text = table.text("password")?;
    match Secret::fetch(text, env) {
        Ok(secret) => Some(secret),
        Err(why) => {
            report.problem(&table.key("password"), why);
            None
        }
    }
}

fn routing(mut table: Section<'_>, config: &mut Config) {
    let routing = &mut config.routing;
    set(&mut routing.balance, table.word("balance"));
    set(&mut routing.stick, table.word("stick"));
    set(&mut routing.fallback, table.word("fallback"));
    set(&mut routing.consistency, table.word("consistency"));
    set(&mut routing.consistency_wait_ms, table.number("consistency_wait_ms"));
    set(&mut routing.primary_wait_ms, table.number("primary_wait_ms"));
    table.finish();
}

fn pool(mut table: Section<'_>, config: &mut Config) {
    let pool = &mut config.pool;
    set(&mut pool.mode, table.word("mode"));
    set(&mut pool.max_connections, table.number("max_connections"));
    set(&mut pool.min_idle, table.number("min_idle"));
    set(&mut pool.idle_ms, table.number("idle_ms"));
    set(&mut pool.lifetime_ms, table.number("lifetime_ms"));
    set(&mut pool.wait_ms, table.number("wait_ms"));
    set(&mut pool.prepared_statements, table.number("prepared_statements"));
    set(&mut pool.connect_timeout_ms, table.number("connect_timeout_ms"));
    table.finish();
}

fn client(mut table: Section<'_>, config: &mut Config) {
    let client = &mut config.client;
    set(&mut client.max_connections, table.number("max_connections"));
    set(&mut client.connect_timeout_ms, table.number("connect_timeout_ms"));
    set(&mut client.write_timeout_ms, table.number("write_timeout_ms"));
    set(&mut client.drain_timeout_ms, table.number("drain_timeout_ms"));
    table.finish();
}

fn limits(mut table: Section<'_>, config: &mut Config) {
    let limits = &mut config.limits;
    set(&mut limits.classify_bytes, table.number("classify_bytes"));
    set(&mut limits.long_data_bytes, table.number("long_data_bytes"));
    set(&mut limits.statements, table.number("statements"));
    set(&mut limits.relay_buffer_bytes, table.number("relay_buffer_bytes"));
    table.finish();
}

fn monitor(mut table: Section<'_>, config: &mut Config, env: Env<'_>, report: &Report) {
    let monitor = &mut config.monitor;
    set(&mut monitor.user, table.text("user").map(str::to_owned));
    set(&mut monitor.password, password(&mut table, env, report));
    set(&mut monitor.interval_ms, table.number("interval_ms"));
    set(&mut monitor.timeout_ms, table.number("timeout_ms"));
    table.finish();
}

fn tls(mut table: Section<'_>, config: &mut Config) {
    if let Some(mut table) = table.section("client") {
        let client = &mut config.tls.client;
        set(&mut client.mode, table.word("mode"));
        client.cert = path(&mut table, "cert");
        client.key = path(&mut table, "key");
        client.directory = path(&mut table, "directory");
        table.finish();
    }
    if let Some(mut table) = table.section("server") {
        let server = &mut config.tls.server;
        set(&mut server.mode, table.word("mode"));
        server.ca = path(&mut table, "ca");
        table.finish();
    }
    table.finish();
}

fn path(table: &mut Section<'_>, name: &'static str) -> Option<PathBuf> {
    table.text(name).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn log(mut table: Section<'_>, config: &mut Config) {
    set(&mut config.log.level, table.word("level"));
    set(&mut config.log.format, table.word("format"));
    table.finish();
}

impl Draft {
    /// The configuration of a draft in which nothing was found wrong.
    pub(super) fn complete(self) -> Config {
        const WHOLE: &str = "what is missing or wrong was reported, and nothing was";
        let mut config = self.config;
        if let Some(listen) = self.listen {
            config.listen = listen.into_iter().map(|address| address.expect(WHOLE)).collect();
        }
        let server = |draft: DraftServer| {
            let role = draft.role.expect(WHOLE);
            Server {
                name: draft.name.expect(WHOLE),
                address: draft.address.expect(WHOLE),
                role,
                weight: draft.weight.unwrap_or_else(|| role.default_weight()),
                labels: draft.labels,
            }
        };
        let user = |draft: DraftUser| User {
            name: draft.name.expect(WHOLE),
            password: draft.password.expect(WHOLE),
            clients: draft.clients,
            schema: draft.schema,
        };
        config.servers = self.servers.into_iter().map(server).collect();
        config.users = self.users.into_iter().map(user).collect();
        config.rules = self.rules.into_iter().map(DraftRule::complete).collect();
        config
    }
}
