//! The servers' own word on what is a read: each statement of the corpus that is classified so runs where it may not
//! write, and where it may, and changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use integration_tests::raw::{Client, Login};
use integration_tests::{Schema, cluster, root, wait_for_replicas};
use telamon::protocol::StatusFlags;
use telamon::routing::{Dialect, ServerFamily, classify};
use telamon_bench::lab::{Cluster, Server};

static CORPUS: &str = include_str!("../../proxy/testdata/corpus.tsv");
/// For the names in it, which nothing else gives away.
static BUILTINS: &str = include_str!("../../proxy/src/routing/builtins.rs");
static FIXTURE: &str = include_str!("../testdata/corpus_schema.sql");

/// May write whatever the server lets anybody write: no read-only server lets it.
const WRITER: &str = "corpus_writer";
const PRIVILEGES: &str = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, EXECUTE, CREATE VIEW, SHOW VIEW, \
     CREATE ROUTINE, TRIGGER, EVENT, LOCK TABLES, CREATE TEMPORARY TABLES, PROCESS, REFERENCES";

/// What servers answer to some of the reads for reasons that have nothing to do with writing.
const HARMLESS: [(u16, &str); 12] = [
    (1054, "a column that this version's information_schema lacks"),
    (1055, "only_full_group_by"),
    (1064, "syntax of the other family, or of another version"),
    (1222, "TABLE t UNION TABLE u"),
    (1411, "BIN_TO_UUID of what is none"),
    (1525, "a zero date, under MySQL's sql_mode"),
    (1747, "PARTITION of a table that has none"),
    (1791, "a format of EXPLAIN that this family lacks"),
    (1235, "what this version does not do yet"),
    (3158, "an object without a name, in JSON"),
    (3995, "REGEXP of a binary string"),
    (4101, "MEDIAN of a column of text"),
];

/// The reads of the corpus for a server, each with its sql_mode, as text that needs no parameters.
fn reads(family: ServerFamily, version: &str) -> Vec<(&'static str, String)> {
    let own = if family == ServerFamily::MariaDb { "mariadb" } else { "mysql" };
    let fields = |line: &'static str| line.split('\t').collect::<Vec<_>>();
    let lines = CORPUS.lines().map(fields).filter(|fields| fields.len() == 5);
    let spoken = lines.filter_map(|fields| {
        let (name, modes) = fields[1].split_once('+').unwrap_or((fields[1], ""));
        (name == own || name == "any").then(|| (modes, fields[3].replace("{LF}", "\n")))
    });
    spoken
        .filter(|(modes, sql)| {
            let dialect = Dialect::from_server_version(version).with_sql_mode(modes);
            classify(sql.as_bytes(), &dialect).is_read()
        })
        .map(|(modes, sql)| (modes, with_values(&sql)))
        .collect()
}

/// The text with a number for each placeholder; no read of the corpus has one and a `?` in a string.
fn with_values(sql: &str) -> String {
    sql.replace('?', "1")
}

fn fixture(schema: &Schema<'_>, family: ServerFamily) {
    let statements: Vec<_> = FIXTURE
        .lines()
        .filter(|line| {
            !line.starts_with("--") && (family == ServerFamily::MariaDb || !line.starts_with("/*M!"))
        })
        .collect();
    schema.run(&statements);
}

/// What a change would change: the position in the binary log and what the tables hold.
fn marks(server: &Server, schema: &str) -> Vec<(String, String)> {
    let mut root = root(server);
    let mut marks = Vec::new();
    let status = if root.query("SELECT VERSION()").text().contains("MariaDB") {
        "SHOW MASTER STATUS"
    } else {
        "SHOW BINARY LOG STATUS"
    };
    let cells = |cells: &[Option<String>]| cells.iter().flatten().cloned().collect::<Vec<_>>().join(" ");
    marks.push((status.to_owned(), root.query(status).rows().iter().map(|row| cells(row)).collect()));
    let tables = root.query(&format!(
        "SELECT CONCAT('`', table_schema, '`.`', table_name, '`') FROM information_schema.tables WHERE \
         table_type = 'BASE TABLE' AND table_schema IN ('{schema}', 'sbtest', 'db', 'db1', 'db2', 'a')"
    ));
    for table in tables.rows().iter().map(|row| cells(row)) {
        marks.push((table.clone(), cells(&root.query(&format!("CHECKSUM TABLE {table}")).rows()[0])));
    }
    marks
}

/// How the reads went: how many ran, and the errors of the others.
#[derive(Default)]
struct Outcome {
    ran: usize,
    refused: BTreeMap<u16, Vec<String>>,
}

fn run(server: &Server, schema: &str, before: &str, reads: &[(&str, String)]) -> Outcome {
    let login = Login::new(WRITER, WRITER).in_schema(schema);
    let mut client = Client::connect(&server.address().into(), &login).expect("the account is replicated");
    client.query(before).expect_ok();
    let usual = client.query("SELECT @@sql_mode").text();
    let mut outcome = Outcome::default();
    for (modes, sql) in reads {
        if !modes.is_empty() {
            client.query(&format!("SET sql_mode = '{modes}'")).expect_ok();
        }
        let reply = client.query(sql);
        match reply.error() {
            None => {
                outcome.ran += 1;
                let status = reply.status();
                assert!(!status.contains(StatusFlags::SERVER_STATUS_IN_TRANS), "leaves a transaction: {sql}");
            }
            Some(error) => outcome.refused.entry(error.code).or_default().push(format!("{error}: {sql}")),
        }
        if !modes.is_empty() {
            client.query(&format!("SET sql_mode = '{usual}'")).expect_ok();
        }
    }
    outcome
}

/// Checks that nothing was refused for being a write, and that most ran.
fn judge(place: &str, outcome: &Outcome, reads: usize) {
    let known = |code: &u16| HARMLESS.iter().any(|(harmless, _)| harmless == code);
    let unknown: Vec<_> = outcome.refused.iter().filter(|(code, _)| !known(code)).collect();
    assert!(unknown.is_empty(), "{place}: {unknown:#?}");
    assert!(
        outcome.ran * 100 >= reads * 90,
        "{place}: {} of {reads} ran: {:#?}",
        outcome.ran,
        outcome.refused
    );
}

fn prepare(cluster: &Cluster, schema: &Schema<'_>, family: ServerFamily) {
    fixture(schema, family);
    let mut root = root(cluster.primary());
    root.query(&format!("CREATE USER {WRITER}@'%' IDENTIFIED BY '{WRITER}'")).expect_ok();
    root.query(&format!("GRANT {PRIVILEGES} ON *.* TO {WRITER}@'%'")).expect_ok();
    wait_for_replicas(cluster);
}

#[test]
fn what_is_classified_as_a_read_writes_nowhere() {
    let cluster = cluster();
    let schema = Schema::new();
    let version = root(cluster.primary()).query("SELECT VERSION()").text();
    let family = Dialect::from_server_version(&version).family;
    prepare(cluster, &schema, family);
    let reads = reads(family, &version);
    assert!(reads.len() > 220, "{}", reads.len());

    let (primary, replica) = (cluster.primary(), &cluster.replicas()[0]);
    let write = format!("INSERT INTO {}.t (id) VALUES (99)", schema.name);
    let places = [
        ("a read-only server", replica, "SET NAMES utf8mb4", 1290),
        ("a read-only transaction", primary, "SET SESSION TRANSACTION READ ONLY", 1792),
        ("a server that anybody may write to", primary, "SET NAMES utf8mb4", 0),
    ];
    let before = [primary, replica].map(|server| marks(server, &schema.name));
    let outcomes = thread::scope(|scope| {
        let (reads, schema) = (&reads, schema.name.as_str());
        let runs =
            places.map(|(_, server, before, _)| scope.spawn(move || run(server, schema, before, reads)));
        runs.map(|run| run.join().expect("no read leaves a transaction"))
    });
    let after = [primary, replica].map(|server| marks(server, &schema.name));
    for ((place, ..), outcome) in places.iter().zip(&outcomes) {
        judge(place, outcome, reads.len());
    }
    assert_eq!(before, after);

    // What proves that the places refuse a write, and that the marks show one.
    for (_, server, setting, code) in places {
        let refused = run(server, &schema.name, setting, &[("", write.clone())]).refused;
        assert_eq!(refused.keys().copied().next().unwrap_or(0), code);
    }
    assert_ne!(before[0], marks(primary, &schema.name));
}

#[test]
fn each_function_held_harmless_is_one_of_the_servers_own() {
    let mut root = root(cluster().primary());
    root.query("CREATE DATABASE IF NOT EXISTS functions").expect_ok();
    root.query("USE functions").expect_ok();
    let dialect = Dialect::from_server_version(&root.query("SELECT VERSION()").text());
    let names: BTreeSet<_> = BUILTINS
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|name| {
            name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        })
        .collect();
    let calls = names
        .iter()
        .flat_map(|name| ["", "1", "1, 1", "1, 1, 1"].map(|arguments| format!("SELECT {name}({arguments})")));
    let held: Vec<_> = calls.filter(|sql| classify(sql.as_bytes(), &dialect).is_read()).collect();
    assert!(held.len() > 1_000, "{}", held.len());
    // A name that is not built in would be looked for among the stored functions. So does MariaDB for a POINT of
    // other than two arguments; their number is not looked at, and is not in the cache's key.
    let point = |sql: &str| dialect.family == ServerFamily::MariaDb && sql.contains(" POINT(");
    let unknown = held
        .iter()
        .filter(|sql| root.query(sql).error().is_some_and(|error| error.code == 1305) && !point(sql));
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&String>::new());
}
