//! What must hold between keys, and what is legal but surely not meant.

use std::collections::HashMap;
use std::fs::File;
use std::hash::Hash;
use std::net::IpAddr;
use std::path::Path;

use super::file::{Draft, DraftServer};
use super::reader::Report;
use super::validate_rules::rules;
use super::{Fallback, ListenAddress, Role, ServerAddress, TlsServerMode};

/// Reports all that is wrong with a draft as a whole.
pub(super) fn validate(draft: &Draft, report: &Report) {
    listeners(draft, report);
    servers(&draft.servers, report);
    loops(draft, report);
    weights(draft, report);
    users(draft, report);
    monitor(draft, report);
    tls_client(draft, report);
    tls_server(draft, report);
    rules(draft, report);
}

/// The listeners of the file, else the default ones.
pub(super) fn listens(draft: &Draft) -> impl Iterator<Item = (usize, &ListenAddress)> {
    let (given, default) = match &draft.listen {
        Some(given) => (given.as_slice(), [].as_slice()),
        None => ([].as_slice(), draft.config.listen.as_slice()),
    };
    given
        .iter()
        .map(Option::as_ref)
        .chain(default.iter().map(Some))
        .enumerate()
        .filter_map(|(i, a)| Some((i, a?)))
}

fn listeners(draft: &Draft, report: &Report) {
    if draft.listen.as_ref().is_some_and(Vec::is_empty) {
        report.problem("listen", "is empty, so no client could connect; leave it out for 127.0.0.1:1234");
    }
    let named =
        listens(draft).filter(|(_, address)| !matches!(address, ListenAddress::Tcp(a) if a.port() == 0));
    unique(named.map(|(i, address)| (format!("listen[{i}]"), address)), |key, first| {
        report.problem(key, format!("the same address as {first}"));
    });
    included(draft, report);
}

/// Warns of each listener on one address of a port that another has on all. `[::]` is bound for IPv6 alone.
fn included(draft: &Draft, report: &Report) {
    let tcp = || {
        listens(draft).filter_map(|(i, address)| match address {
            ListenAddress::Tcp(address) if address.port() != 0 => Some((i, address)),
            _ => None,
        })
    };
    let all = tcp().filter(|(_, address)| address.ip().is_unspecified());
    let all: HashMap<_, _> = all.map(|(i, all)| ((all.port(), all.is_ipv6()), (i, all))).collect();
    for (i, one) in tcp().filter(|(_, address)| !address.ip().is_unspecified()) {
        if let Some((first, all)) = all.get(&(one.port(), one.is_ipv6())) {
            let text =
                format!("listen[{first}] ({all}) takes it in already, so the two cannot both be bound");
            report.warning(&format!("listen[{i}]"), text);
        }
    }
}

fn servers(servers: &[DraftServer], report: &Report) {
    if servers.is_empty() {
        if !report.has_problem("servers") {
            report.problem(
                "servers",
                "there is none; add [[servers]] with name, address and role = \"primary\"",
            );
        }
        return;
    }
    let names = servers.iter().filter_map(|s| Some((format!("{}.name", s.path), s.name.as_ref()?)));
    unique(names, |key, first| report.problem(key, format!("the same name as {first}; names are unique")));
    let addresses = servers.iter().filter_map(|s| {
        let address = s.address.as_ref()?.to_string().to_ascii_lowercase();
        Some((format!("{}.address", s.path), address))
    });
    unique(addresses, |key, first| report.problem(key, format!("the same address as {first}")));
    primaries(servers, report);
}

fn primaries(servers: &[DraftServer], report: &Report) {
    let mut primaries = servers.iter().filter(|server| server.role == Some(Role::Primary));
    match primaries.next() {
        None if servers.iter().all(|server| server.role.is_some()) => {
            report.problem("servers", "none has role = \"primary\"; exactly one must");
        }
        None => {}
        Some(first) => {
            for second in primaries {
                let text = format!("{} is the primary already; exactly one is", first.path);
                report.problem(&format!("{}.role", second.path), text);
            }
        }
    }
}

/// A server address that is a listener of ours would make every statement go round for ever.
fn loops(draft: &Draft, report: &Report) {
    for server in &draft.servers {
        let Some(address) = &server.address else { continue };
        if listens(draft).any(|(_, listen)| reaches(address, listen)) {
            let text = format!("{address} is where Telamon itself listens; name the server's own address");
            report.problem(&format!("{}.address", server.path), text);
        }
    }
}

fn reaches(server: &ServerAddress, listen: &ListenAddress) -> bool {
    match (server, listen) {
        (ServerAddress::Unix(server), ListenAddress::Unix(listen)) => server == listen,
        (ServerAddress::Tcp { port, .. }, ListenAddress::Tcp(listen)) if *port == listen.port() => {
            server.ip().is_some_and(|ip| same_host(ip.to_canonical(), listen.ip().to_canonical()))
        }
        _ => false,
    }
}

/// Whether a connection to `ip` arrives at a listener bound to `bound`. Of an unspecified one only loopback is
/// certain: which other addresses are this machine's is not known here.
fn same_host(ip: IpAddr, bound: IpAddr) -> bool {
    ip == bound || (bound.is_unspecified() && (ip.is_loopback() || ip.is_unspecified()))
}

fn weights(draft: &Draft, report: &Report) {
    let is_replica = |role: Option<Role>| role != Some(Role::Primary);
    let replicas = draft.servers.iter().filter(|server| is_replica(server.role)).count();
    let takes_reads = |server: &&DraftServer| match server.role {
        Some(Role::Primary) => server.weight.is_some_and(|weight| weight > 0),
        Some(Role::Replica) | None => server.weight != Some(0),
    };
    let mut readers = draft.servers.iter().filter(takes_reads);
    if replicas > 0 && !readers.clone().any(|server| is_replica(server.role)) {
        report.warning("servers", "every replica has weight 0, so none takes a read");
    }
    if readers.next().is_none() && draft.config.routing.fallback == Fallback::Error {
        report.warning("routing.fallback", "no server takes reads, so every read gets an error");
    }
}

fn users(draft: &Draft, report: &Report) {
    if draft.users.is_empty() && !report.has_problem("users") {
        report.problem(
            "users",
            "there is none, so no client could log in; add [[users]] with name and password",
        );
    }
    let names =
        draft.users.iter().filter_map(|user| Some((format!("{}.name", user.path), user.name.as_ref()?)));
    unique(names, |key, first| report.problem(key, format!("the same name as {first}; names are unique")));
    let open = listens(draft).find_map(|(_, listen)| match listen {
        ListenAddress::Tcp(address) if !address.ip().to_canonical().is_loopback() => Some(address),
        _ => None,
    });
    let Some(open) = open else { return };
    for user in &draft.users {
        let no_password = user.password.as_ref().is_some_and(super::Secret::is_empty);
        if no_password && user.clients.is_empty() {
            let text = format!(
                "is empty, and {open} lets everyone try it; set a password, or {}.clients",
                user.path
            );
            report.warning(&format!("{}.password", user.path), text);
        }
    }
}

fn monitor(draft: &Draft, report: &Report) {
    let monitor = &draft.config.monitor;
    if monitor.user.is_empty() && !monitor.password.is_empty() {
        report.problem("monitor.password", "has no monitor.user that it could belong to");
    }
    if monitor.timeout_ms > monitor.interval_ms {
        let text =
            format!("is longer than monitor.interval_ms ({}), so probes come late", monitor.interval_ms);
        report.warning("monitor.timeout_ms", text);
    }
}

fn tls_client(draft: &Draft, report: &Report) {
    let client = &draft.config.tls.client;
    match (&client.cert, &client.key) {
        (Some(_), None) => report.problem("tls.client.cert", "needs tls.client.key, its private key"),
        (None, Some(_)) => report.problem("tls.client.key", "needs tls.client.cert, its certificate"),
        _ => {}
    }
    for (key, path) in [("tls.client.cert", &client.cert), ("tls.client.key", &client.key)] {
        if let Some(path) = path {
            readable(key, path, report);
        }
    }
    if let Some(directory) = &client.directory
        && directory.exists()
        && !directory.is_dir()
    {
        report.problem("tls.client.directory", format!("{} is not a directory", directory.display()));
    }
}

fn tls_server(draft: &Draft, report: &Report) {
    let server = &draft.config.tls.server;
    let verifies = matches!(server.mode, TlsServerMode::VerifyCa | TlsServerMode::VerifyIdentity);
    match &server.ca {
        Some(ca) => readable("tls.server.ca", ca, report),
        None if verifies => {
            report.problem("tls.server.mode", format!("\"{}\" needs tls.server.ca", server.mode));
        }
        None => {}
    }
}

/// What a file holds is for those who use it; that it is there can be said now.
fn readable(key: &str, path: &Path, report: &Report) {
    let problem = match File::open(path).and_then(|file| file.metadata()) {
        Ok(metadata) if metadata.is_dir() => "is a directory".to_owned(),
        Ok(_) => return,
        Err(why) => why.to_string(),
    };
    report.problem(key, format!("{}: {problem}", path.display()));
}

/// Calls back with each repeated value's key and the key that had it first.
pub(super) fn unique<T: Eq + Hash>(
    values: impl Iterator<Item = (String, T)>,
    mut repeated: impl FnMut(&str, &str),
) {
    let mut first: HashMap<T, String> = HashMap::new();
    for (key, value) in values {
        match first.get(&value) {
            Some(earlier) => repeated(&key, earlier),
            None => {
                first.insert(value, key);
            }
        }
    }
}
