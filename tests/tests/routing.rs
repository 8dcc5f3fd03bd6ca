//! Where statements run, told by the servers themselves: `whoami.t` holds another row on each of them.

use std::collections::HashMap;
use std::sync::OnceLock;

use integration_tests::raw::{Client, Login, Value};
use integration_tests::{Schema, Telamon, cluster, who_answers};

const PRIMARY: u32 = 1;
const WHO: &str = "SELECT id FROM whoami.t";

fn telamon() -> &'static Telamon {
    static TELAMON: OnceLock<Telamon> = OnceLock::new();
    TELAMON.get_or_init(|| Telamon::start(""))
}

/// A session in a schema of its own, and that schema.
fn session() -> (Client, Schema<'static>) {
    let schema = Schema::new();
    (telamon().connect(&schema.login()), schema)
}

fn on_primary(client: &mut Client) -> bool {
    who_answers(client) == PRIMARY
}

#[test]
fn reads_run_on_replicas() {
    let (mut client, schema) = session();
    schema.run(&["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)"]);
    for read in [
        WHO,
        "select id from whoami.t where id > 0 order by id limit 1",
        "  \n/* a comment */ SELECT id FROM whoami.t -- and its end",
        "(SELECT id FROM whoami.t)",
        "WITH w AS (SELECT id FROM whoami.t) SELECT * FROM w",
        "SELECT MAX(id) FROM (SELECT id FROM whoami.t UNION ALL SELECT 0) u",
        "SELECT w.id FROM whoami.t w, t WHERE t.id = 1",
        "TABLE whoami.t",
        "SELECT (SELECT id FROM whoami.t)",
        "SELECT IF(COUNT(*) = 1, MIN(id), 'for update') FROM whoami.t",
    ] {
        let reply = client.query(read);
        if reply.error().is_some_and(|error| error.code == 1064) {
            continue; // not of this server's language
        }
        assert_ne!(reply.number::<u32>(), PRIMARY, "{read}");
    }
}

#[test]
fn writes_run_on_the_primary_and_are_seen_by_replicas() {
    let (mut client, schema) = session();
    client.query("CREATE TABLE t (id INT, who INT)").expect_ok();
    client.query("INSERT INTO t SELECT 1, id FROM whoami.t").expect_ok();
    client.query("REPLACE INTO t SELECT 2, id FROM whoami.t").expect_ok();
    client.query("INSERT INTO t VALUES (3, 0)").expect_ok();
    client.query("UPDATE t SET who = (SELECT id FROM whoami.t) WHERE id = 3").expect_ok();
    schema.run(&[]);
    let rows = client.query("SELECT who FROM t ORDER BY id").rows();
    assert_eq!(rows, vec![vec![Some("1".to_owned())]; 3]);
    assert!(!on_primary(&mut client), "a session that wrote reads from replicas again");
}

#[test]
fn a_transaction_runs_on_the_primary_from_its_begin_to_its_end() {
    let (mut client, _schema) = session();
    client.query("CREATE TABLE t (id INT)").expect_ok();
    for (begin, end) in [
        ("BEGIN", "COMMIT"),
        ("START TRANSACTION", "ROLLBACK"),
        ("start /* x */ transaction read write", "COMMIT"),
        ("BEGIN WORK", "ALTER TABLE t COMMENT = 'implicit commit'"),
        ("SET autocommit = 0", "SET autocommit = 1"),
        ("SET @@session.autocommit = OFF, @x = 1", "SET autocommit = ON"),
    ] {
        assert!(!on_primary(&mut client), "before {begin}");
        client.query(begin).expect_ok();
        assert!(on_primary(&mut client), "the first read after {begin}");
        client.query("INSERT INTO t VALUES (1)").expect_ok();
        client.query("SAVEPOINT s").expect_ok();
        assert_eq!(
            client.query("SELECT COUNT(*) > 0 FROM t").text(),
            "1",
            "its own writes are seen in {begin}"
        );
        client.query("ROLLBACK TO s").expect_ok();
        assert!(on_primary(&mut client));
        client.query(end).expect_ok();
        assert!(begin.contains("@x") || !on_primary(&mut client), "after {end}");
    }
}

#[test]
fn with_autocommit_off_a_commit_begins_the_next_transaction() {
    let (mut client, _schema) = session();
    client.query("SET autocommit = 0").expect_ok();
    for end in ["COMMIT", "ROLLBACK", "COMMIT AND CHAIN"] {
        assert!(on_primary(&mut client));
        client.query(end).expect_ok();
        assert!(on_primary(&mut client), "after {end}");
    }
}

#[test]
fn an_error_in_a_transaction_does_not_end_it() {
    let (mut client, _schema) = session();
    client.query("CREATE TABLE t (id INT PRIMARY KEY)").expect_ok();
    client.query("BEGIN").expect_ok();
    client.query("INSERT INTO t VALUES (1)").expect_ok();
    assert_eq!(client.query("INSERT INTO t VALUES (1)").code(), 1062);
    assert_eq!(client.query("SELEKT").code(), 1064);
    assert!(on_primary(&mut client));
    client.query("COMMIT").expect_ok();
    assert!(!on_primary(&mut client));
}

#[test]
fn locking_reads_run_on_the_primary() {
    let (mut client, _schema) = session();
    for read in [
        "SELECT id FROM whoami.t FOR UPDATE",
        "SELECT id FROM whoami.t LOCK IN SHARE MODE",
        "SELECT id FROM whoami.t FOR UPDATE NOWAIT",
        "SELECT id FROM whoami.t WHERE id IN (SELECT id FROM whoami.t FOR UPDATE)",
        "(SELECT id FROM whoami.t FOR UPDATE)",
        "WITH w AS (SELECT id FROM whoami.t FOR UPDATE) SELECT * FROM w",
        "SELECT /*! SQL_NO_CACHE */ id FROM whoami.t /*! FOR UPDATE */",
        "SELECT @found := id FROM whoami.t",
    ] {
        assert_eq!(client.query(read).number::<u32>(), PRIMARY, "{read}");
    }
}

#[test]
fn what_a_locking_read_is_not() {
    let (mut client, _schema) = session();
    for read in [
        "SELECT id, 'FOR UPDATE' FROM whoami.t",
        "SELECT id AS `for update` FROM whoami.t",
        "SELECT id FROM whoami.t /* FOR UPDATE */",
        "SELECT id FROM whoami.t -- FOR UPDATE",
    ] {
        assert_ne!(client.query(read).number::<u32>(), PRIMARY, "{read}");
    }
}

#[test]
fn a_read_only_transaction_has_one_snapshot_and_may_be_followed_by_anything() {
    for begin in ["START TRANSACTION READ ONLY", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"] {
        let (mut client, schema) = session();
        schema.run(&["CREATE TABLE t (id INT)", "INSERT INTO t VALUES (1)"]);
        client.query(begin).expect_ok();
        assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "1");
        schema.run(&["INSERT INTO t VALUES (2)"]);
        assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "1", "a transaction sees one snapshot");
        assert_eq!(client.query("INSERT INTO t VALUES (3)").code(), 1792);
        client.query("COMMIT").expect_ok();
        assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "2");
        client.query(begin).expect_ok();
        client.query("SET @kept = 5").expect_ok();
        client.query("CREATE TABLE made (id INT)").expect_ok(); // commits
        client.query("INSERT INTO made VALUES (1)").expect_ok();
        assert_eq!(client.query("SELECT COUNT(*) + @kept FROM made").text(), "6");
    }
}

#[test]
fn a_view_that_hides_a_write_is_read_on_the_primary() {
    let (mut client, schema) = session();
    schema.run(&[
        "CREATE TABLE log (id INT AUTO_INCREMENT PRIMARY KEY, who INT)",
        "CREATE FUNCTION writes() RETURNS INT DETERMINISTIC BEGIN INSERT INTO log (who) VALUES (@@server_id); RETURN 7; END",
        "CREATE VIEW hides AS SELECT writes() AS w",
    ]);
    assert_eq!(client.query("SELECT w FROM hides").text(), "7");
    assert_eq!(client.query("SELECT who FROM log").number::<u32>(), PRIMARY);
}

#[test]
fn hints_choose_the_server() {
    let (mut client, _schema) = session();
    let prepared = |client: &mut Client, hint: &str| {
        let id = client.prepare(&format!("{hint} SELECT CAST(id AS CHAR) FROM whoami.t"));
        digit(&client.execute(id, &[]))
    };
    for hint in [
        "/*master*/",
        "/*primary*/",
        "/* MASTER */",
        "/*Primary*/",
        "-- app.py:7\n/*master*/",
        "/* a */ # b\n/*primary*/",
    ] {
        assert_eq!(client.query(&format!("{hint} {WHO}")).number::<u32>(), PRIMARY, "{hint}");
        assert_eq!(prepared(&mut client, hint), PRIMARY, "{hint}");
    }
    for hint in ["/*replica*/", "/*slave*/", "/* Replica */", "# x\n/*slave*/", "-- /*master*/\n"] {
        assert_ne!(client.query(&format!("{hint} {WHO}")).number::<u32>(), PRIMARY, "{hint}");
        assert_ne!(prepared(&mut client, hint), PRIMARY, "{hint}");
        client.query(&format!("{hint} CREATE TABLE IF NOT EXISTS t (id INT)")).expect_ok();
        client.query(&format!("{hint} INSERT INTO t SELECT id FROM whoami.t")).expect_ok();
    }
    assert_eq!(client.query("/*primary*/ SELECT MAX(id) FROM t").text(), "1", "a hint moves no write");
    client.query("BEGIN").expect_ok();
    assert_eq!(client.query(&format!("/*replica*/ {WHO}")).number::<u32>(), PRIMARY, "nor a transaction");
}

/// The last byte of the first row: the binary protocol's one-digit string.
fn digit(reply: &integration_tests::raw::Reply) -> u32 {
    let payloads = reply.expect_ok().payloads();
    let row = &payloads[payloads.len() - 2];
    u32::from(row[row.len() - 1] - b'0')
}

#[test]
fn prepared_statements_run_where_their_text_would() {
    let (mut client, schema) = session();
    schema.run(&["CREATE TABLE t (id INT, who INT)"]);
    let read = client.prepare("SELECT CAST(id AS CHAR) FROM whoami.t WHERE id <> ?");
    let locking = client.prepare("SELECT CAST(id AS CHAR) FROM whoami.t WHERE id <> ? FOR UPDATE");
    let write = client.prepare("INSERT INTO t SELECT ?, id FROM whoami.t");
    let seen = client.prepare("SELECT CAST(MAX(who) AS CHAR) FROM t");
    let none = [Value::Number(0)];
    for round in 0..3 {
        assert_ne!(digit(&client.execute(read, &none)), PRIMARY, "round {round}");
        assert_eq!(digit(&client.execute(locking, &none)), PRIMARY);
        client.execute(write, &[Value::Number(round)]).expect_ok();
        client.query("BEGIN").expect_ok();
        assert_eq!(digit(&client.execute_again(read, &none)), PRIMARY, "in a transaction");
        assert_eq!(digit(&client.execute(seen, &[])), PRIMARY);
        client.query("COMMIT").expect_ok();
        assert_ne!(digit(&client.execute_again(read, &none)), PRIMARY, "after it");
    }
    client.query("SET time_zone = '+03:00'").expect_ok();
    let zone = client.prepare("SELECT CAST(FROM_UNIXTIME(0) AS CHAR), CAST(id AS CHAR) FROM whoami.t");
    let reply = client.execute(zone, &[]);
    assert!(reply.payloads().iter().any(|p| p.windows(8).any(|w| w == b"03:00:00")));
    assert_ne!(digit(&reply), PRIMARY);
}

#[test]
fn a_statement_prepared_in_one_schema_stays_there() {
    let (mut client, schema) = session();
    schema.run(&["CREATE TABLE t (v VARCHAR(9))", "INSERT INTO t VALUES ('1')"]);
    let other = Schema::new();
    other.run(&["CREATE TABLE t (v VARCHAR(9))", "INSERT INTO t VALUES ('2')"]);
    client.query("BEGIN").expect_ok();
    let id = client.prepare("SELECT v FROM t");
    client.query("COMMIT").expect_ok();
    client.query(&format!("USE {}", other.name)).expect_ok();
    assert_eq!(digit(&client.execute(id, &[])), 1, "names belong to the schema of the prepare");
    assert_eq!(client.query("SELECT v FROM t").text(), "2");
}

#[test]
fn questions_about_a_servers_role_go_to_the_primary() {
    let (mut client, _schema) = session();
    assert_eq!(client.query("SELECT @@server_id").text(), "1");
    assert_eq!(client.query("SELECT @@read_only, @@global.read_only").text(), "0");
    assert_eq!(client.query("SHOW VARIABLES LIKE 'server_id'").rows()[0][1].as_deref(), Some("1"));
    assert_eq!(client.query("SHOW GLOBAL VARIABLES LIKE 'read_only'").rows()[0][1].as_deref(), Some("OFF"));
    assert!(!client.query("SHOW MASTER STATUS").rows().is_empty());
}

#[test]
fn multi_statements_run_once_and_on_the_primary_when_they_write() {
    let (mut client, schema) = session();
    schema.run(&["CREATE TABLE t (id INT)"]);
    let reply = client.query(&format!("{WHO}; INSERT INTO t VALUES (1); SELECT COUNT(*) FROM t"));
    assert_eq!(reply.number::<u32>(), PRIMARY);
    assert_ne!(client.query(&format!("{WHO}; SELECT 2")).number::<u32>(), PRIMARY);
    assert_eq!(client.query("/*primary*/ SELECT COUNT(*) FROM t").text(), "1");
    client.query("SELECT 1; BEGIN; SELECT 2").expect_ok();
    assert!(on_primary(&mut client));
    client.query("SELECT 1; COMMIT").expect_ok();
    assert!(!on_primary(&mut client));
}

#[test]
fn sessions_are_spread_over_the_replicas_by_weight() {
    let weighted = Telamon::with(|port, _| {
        let toml = cluster().telamon_toml(port);
        let (head, tail) = toml.split_once("weight = 1").expect("replica1's");
        format!("workers = 1\n{head}weight = 3{tail}")
    });
    for (telamon, share) in [(telamon(), 0.5), (&weighted, 0.75)] {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let mut open = Vec::new();
        for _ in 0..40 {
            let mut client = telamon.connect(&Login::default());
            *counts.entry(who_answers(&mut client)).or_default() += 1;
            open.push(client);
        }
        assert_eq!(counts.get(&PRIMARY), None, "{counts:?}");
        let first = f64::from(counts[&2]) / 40.0;
        assert!((first - share).abs() < 0.11, "share of replica1 {first}, wanted {share}: {counts:?}");
    }
}
