//! Each key fills its own field, and takes no more than it may.

use std::net::IpAddr;

use super::super::keys::{KEYS, Values};
use super::super::words::Word;
use super::super::*;
use super::{LEAST, parse, problems_around};

/// Every key with a value that is not its default. `@` stands for a directory with the files in it.
const ALL_OTHER: &str = r#"
listen = ["[::1]:1", "unix:/tmp/t.sock", "0.0.0.0:0"]
workers = 3
[[servers]]
name = "a.b-c_1"
address = "unix:/run/mysqld/mysqld.sock"
role = "primary"
[[servers]]
name = "r"
address = "[fd00::1]:3307"
role = "replica"
weight = 7
labels = ["x", "y z"]
[[users]]
name = "u"
password = "env:PW"
clients = ["10.1.2.3", "10.0.0.0/8", "fd00::/8", "localhost"]
schema = "shop"
[routing]
balance = "least_outstanding"
stick = "session"
fallback = "error"
consistency = "global"
consistency_wait_ms = 7
primary_wait_ms = 11
[pool]
mode = "session"
max_connections = 12
min_idle = 23
idle_ms = 24
lifetime_ms = 25
wait_ms = 26
prepared_statements = 27
connect_timeout_ms = 13
[client]
max_connections = 14
connect_timeout_ms = 15
write_timeout_ms = 16
drain_timeout_ms = 17
[limits]
classify_bytes = 18
long_data_bytes = 0x13
statements = 2_0
relay_buffer_bytes = 4097
[monitor]
user = "m"
password = "n"
interval_ms = 2100
timeout_ms = 22
[tls.client]
mode = "required"
cert = "@/cert"
key = "@/key"
directory = "@"
[tls.server]
mode = "verify_identity"
ca = "@/ca"
[log]
level = "trace"
format = "json"
"#;

fn all_other(directory: &std::path::Path) -> Config {
    let server = |name: &str, address: &str, role, weight, labels: &[&str]| Server {
        name: name.to_owned(),
        address: address.parse().unwrap(),
        role,
        weight,
        labels: labels.iter().map(ToString::to_string).collect(),
    };
    Config {
        listen: ["[::1]:1", "unix:/tmp/t.sock", "0.0.0.0:0"].map(|text| text.parse().unwrap()).to_vec(),
        workers: 3,
        servers: vec![
            server("a.b-c_1", "unix:/run/mysqld/mysqld.sock", Role::Primary, 0, &[]),
            server("r", "[fd00::1]:3307", Role::Replica, 7, &["x", "y z"]),
        ],
        users: vec![User {
            name: "u".to_owned(),
            password: Secret::new("from env"),
            clients: ["10.1.2.3", "10.0.0.0/8", "fd00::/8", "localhost"]
                .map(|text| text.parse().unwrap())
                .to_vec(),
            schema: Some("shop".to_owned()),
        }],
        routing: Routing {
            balance: Balance::LeastOutstanding,
            stick: Stick::Session,
            fallback: Fallback::Error,
            consistency: Consistency::Global,
            consistency_wait_ms: 7,
            primary_wait_ms: 11,
        },
        rules: Vec::new(), // they and the firewall have a file of their own
        firewall: Firewall::default(),
        pool: Pool {
            mode: PoolMode::Session,
            max_connections: 12,
            min_idle: 23,
            idle_ms: 24,
            lifetime_ms: 25,
            wait_ms: 26,
            prepared_statements: 27,
            connect_timeout_ms: 13,
        },
        client: Client {
            max_connections: 14,
            connect_timeout_ms: 15,
            write_timeout_ms: 16,
            drain_timeout_ms: 17,
        },
        limits: Limits { classify_bytes: 18, long_data_bytes: 19, statements: 20, relay_buffer_bytes: 4097 },
        monitor: Monitor {
            user: "m".to_owned(),
            password: Secret::new("n"),
            interval_ms: 2100,
            timeout_ms: 22,
        },
        tls: Tls {
            client: TlsClient {
                mode: TlsClientMode::Required,
                cert: Some(directory.join("cert")),
                key: Some(directory.join("key")),
                directory: Some(directory.to_owned()),
            },
            server: TlsServer { mode: TlsServerMode::VerifyIdentity, ca: Some(directory.join("ca")) },
        },
        log: Log { level: LogLevel::Trace, format: LogFormat::Json },
        warnings: Vec::new(),
    }
}

#[test]
fn each_key_fills_its_own_field() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["cert", "key", "ca"] {
        std::fs::write(directory.path().join(name), "").unwrap();
    }
    let text = ALL_OTHER.replace('@', directory.path().to_str().unwrap());
    let config = Config::parse(&text, |name| (name == "PW").then(|| "from env".to_owned()));
    let config = config.unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(config, all_other(directory.path()));
    assert_eq!(config.monitor_account().map(|(user, password)| (user, password.expose())), Some(("m", "n")));
}

#[test]
fn a_number_is_taken_up_to_both_ends_of_its_range_and_not_beyond() {
    for key in KEYS.iter().filter(|key| key.section() != "servers") {
        let Values::Number(least, most) = key.values else { continue };
        for inside in [least, most] {
            parse(&format!("{} = {inside}\n{LEAST}", key.path));
        }
        for outside in [i128::from(least) - 1, i128::from(most) + 1, i128::MAX] {
            let lines = problems_around(&format!("{} = {outside}\n", key.path), "");
            let expected = format!("telamon.toml:1: {}: {outside} is not from {least} to {most}", key.path);
            assert!(lines.len() == 1 && lines[0] == expected || outside == i128::MAX, "{lines:?}");
        }
    }
}

fn each_word_reads_as_its_value<T: Word + std::fmt::Debug>(all: &[T]) {
    assert_eq!(T::WORDS.len(), all.len());
    for value in all {
        assert_eq!(
            T::WORDS.iter().find(|(word, _)| *word == value.word()).map(|(_, value)| value),
            Some(value)
        );
    }
}

#[test]
fn every_value_of_a_list_has_its_word() {
    each_word_reads_as_its_value(&[Role::Primary, Role::Replica]);
    each_word_reads_as_its_value(&crate::routing::StatementKind::ALL);
    each_word_reads_as_its_value(&[FirewallMode::Off, FirewallMode::Reject]);
    each_word_reads_as_its_value(&[Fallback::Primary, Fallback::Error]);
    each_word_reads_as_its_value(&[TlsClientMode::Off, TlsClientMode::Preferred, TlsClientMode::Required]);
    each_word_reads_as_its_value(&[
        TlsServerMode::Off,
        TlsServerMode::Preferred,
        TlsServerMode::Required,
        TlsServerMode::VerifyCa,
        TlsServerMode::VerifyIdentity,
    ]);
    let levels = [LogLevel::Error, LogLevel::Warn, LogLevel::Info, LogLevel::Debug, LogLevel::Trace];
    each_word_reads_as_its_value(&levels);
    each_word_reads_as_its_value(&[LogFormat::Text, LogFormat::Json]);
}

#[test]
fn addresses_print_as_they_are_written() {
    for text in ["127.0.0.1:1234", "[::1]:1234", "unix:/run/t.sock", "0.0.0.0:0"] {
        assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
    }
    for text in ["127.0.0.1:3306", "[::1]:1", "db-1.example_x.org:3306", "unix:/run/m.sock"] {
        assert_eq!(text.parse::<ServerAddress>().unwrap().to_string(), text);
    }
    assert_eq!("10.1.2.3/8".parse::<ClientAddress>().unwrap().to_string(), "10.0.0.0/8");
}

#[test]
fn a_bad_address_is_refused_with_what_to_write_instead() {
    let long = format!("unix:/{}", "x".repeat(107));
    for (text, mend) in [
        ("", "write \"HOST:3306\""),
        ("db1", "write \"db1:3306\""),
        ("::1", "write \"[::1]:3306\""),
        ("fd00::1:3306", "write \"[fd00::1:3306]:3306\""),
        ("[::1]", "write \"[::1]:3306\""),
        ("[db1]:3306", "no IPv6 address"),
        ("db1:", "no number from 1 to 65535"),
        ("db1:+1", "no number from 1 to 65535"),
        ("db1:65536", "no number from 1 to 65535"),
        ("db1:0", "MySQL's own is 3306"),
        (":3306", "neither a name nor an address"),
        ("a b:1", "neither a name nor an address"),
        ("/run/m.sock", "write \"unix:/run/m.sock\""),
        ("unix:run/m.sock", "absolute path"),
        ("unix:", "absolute path"),
        (&long, "107 bytes at most"),
        ("unix:/a\0b", "NUL"),
    ] {
        let error = text.parse::<ServerAddress>().unwrap_err();
        assert!(error.contains(mend), "{text}: {error}");
    }
    for (text, mend) in [
        ("*:1234", "0.0.0.0:1234"),
        ("localhost:99", "127.0.0.1:99"),
        ("db:1", "not a host name"),
        ("1234", "port"),
    ] {
        let error = text.parse::<ListenAddress>().unwrap_err();
        assert!(error.contains(mend), "{text}: {error}");
    }
    for text in ["", "10.0.0.0/33", "10.0.0", "app.example.org", "fd00::/129", "Localhost"] {
        assert!(text.parse::<ClientAddress>().unwrap_err().contains("nor a network"), "{text}");
    }
}

#[test]
fn a_user_is_allowed_from_where_its_list_says() {
    let user = |clients: &[&str]| User {
        name: "u".to_owned(),
        password: Secret::default(),
        clients: clients.iter().map(|text| text.parse().unwrap()).collect(),
        schema: None,
    };
    let ip = |text: &str| Some(text.parse::<IpAddr>().unwrap());
    assert!(user(&[]).allows(None) && user(&[]).allows(ip("8.8.8.8")));
    let listed = user(&["10.0.0.0/8", "::1", "::ffff:192.0.2.1"]);
    for allowed in ["10.255.0.1", "::ffff:10.0.0.1", "::1", "192.0.2.1"] {
        assert!(listed.allows(ip(allowed)), "{allowed}");
    }
    for refused in ["11.0.0.1", "::2", "127.0.0.1"] {
        assert!(!listed.allows(ip(refused)), "{refused}");
    }
    assert!(!listed.allows(None));
    assert!(user(&["localhost"]).allows(None) && !user(&["localhost"]).allows(ip("127.0.0.1")));
}
