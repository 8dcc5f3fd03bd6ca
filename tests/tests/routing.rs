//! Where statements run, told by the servers themselves: `whoami.t` holds another row on each of them.

use std::collections::HashMap;
use std::sync::OnceLock;

use integration_tests::raw::{Client, Login, Shape, Value};
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
fn a_read_only_transaction_has_one_replica_and_one_snapshot() {
    for begin in ["START TRANSACTION READ ONLY", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"] {
        let (mut client, schema) = session();
        schema.run(&["CREATE TABLE t (id INT)", "INSERT INTO t VALUES (1)"]);
        client.query(begin).expect_ok();
        let server = who_answers(&mut client);
        assert_ne!(server, PRIMARY, "{begin}");
        assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "1");
        schema.run(&["INSERT INTO t VALUES (2)"]);
        assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "1", "a transaction sees one snapshot");
        assert_eq!(who_answers(&mut client), server);
        assert_eq!(client.query("INSERT INTO t VALUES (3)").code(), 1792);
        client.query("COMMIT").expect_ok();
        assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "2");
        client.query("INSERT INTO t VALUES (3)").expect_ok();
    }
}

#[test]
fn session_variables_are_brought_to_the_replica() {
    let (mut client, _schema) = session();
    let read = |client: &mut Client, expression: &str| {
        let rows = client.query(&format!("SELECT id, {expression} FROM whoami.t")).rows();
        (rows[0][0].clone().unwrap(), rows[0][1].clone().unwrap_or_default())
    };
    for (set, expression, value) in [
        ("SET NAMES latin1", "CHARSET('x')", "latin1"),
        ("SET NAMES utf8mb4 COLLATE utf8mb4_bin", "COLLATION('x')", "utf8mb4_bin"),
        ("SET NAMES utf8mb4", "HEX('ü')", "C3BC"),
        ("SET CHARACTER SET latin1", "HEX(CONVERT('ü' USING utf8mb4))", "C383C2BC"),
        ("SET NAMES 'utf8mb4'", "CHAR_LENGTH('ü')", "1"),
        ("SET sql_mode = 'ANSI_QUOTES'", "\"id\" + 0 > 1", "1"),
        ("SET SESSION sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')", "'a' || 'b'", "ab"),
        ("SET time_zone = '+05:30'", "FROM_UNIXTIME(0)", "1970-01-01 05:30:00"),
        ("SET @@session.lc_time_names = 'de_DE'", "MONTHNAME('2024-05-01')", "Mai"),
        ("SET group_concat_max_len = 5, div_precision_increment = 2", "1 / 3", "0.33"),
    ] {
        client.query(set).expect_ok();
        for _ in 0..2 {
            let (server, found) = read(&mut client, expression);
            assert_eq!(found, value, "{set} on server {server}");
            assert_ne!(server, PRIMARY.to_string(), "{set} does not keep reads from replicas");
        }
    }
    assert_eq!(client.query("SET time_zone = 'Nowhere/At_All'").code(), 1298);
    assert_eq!(client.query("SELECT @@time_zone").text(), "+05:30", "a SET that fails changes nothing");
    assert_eq!(read(&mut client, "FROM_UNIXTIME(0)").1, "1970-01-01 05:30:00");
}

#[test]
fn time_stands_still_for_a_session_that_says_so() {
    let (mut client, _schema) = session();
    client.query("SET time_zone = '+00:00', timestamp = 86400").expect_ok();
    for read in
        ["SELECT NOW()", "SELECT NOW() FROM whoami.t", "SELECT FROM_UNIXTIME(UNIX_TIMESTAMP()) FROM whoami.t"]
    {
        assert_eq!(client.query(read).text(), "1970-01-02 00:00:00", "{read}");
    }
    client.query("SET timestamp = DEFAULT").expect_ok();
    assert_eq!(client.query("SELECT NOW() > '2024-01-01' FROM whoami.t").text(), "1");
}

#[test]
fn a_session_reads_its_own_variables() {
    let (mut client, _schema) = session();
    client
        .query("SET time_zone = '+01:00', sql_mode = 'ANSI_QUOTES', character_set_results = NULL")
        .expect_ok();
    let rows = client.query("SELECT @@time_zone, @@session.sql_mode, @@character_set_results").rows();
    assert_eq!(rows, [[Some("+01:00".to_owned()), Some("ANSI_QUOTES".into()), None]]);
    assert_eq!(
        client.query("SHOW SESSION VARIABLES LIKE 'time_zone'").rows()[0][1].as_deref(),
        Some("+01:00")
    );
}

#[test]
fn what_was_set_before_the_first_read_is_there_on_the_replica() {
    for (set, expression, value) in [
        ("SET time_zone = '+01:00'", "FROM_UNIXTIME(0)", "1970-01-01 01:00:00"),
        ("USE whoami", "DATABASE()", "whoami"),
    ] {
        let (mut client, _schema) = session();
        client.query(set).expect_ok();
        let rows = client.query(&format!("SELECT {expression}, id FROM whoami.t")).rows();
        assert_eq!(rows[0][0].as_deref(), Some(value));
        assert_ne!(rows[0][1].as_deref(), Some("1"), "{set}");
    }
}

#[test]
fn the_schema_goes_with_the_session() {
    let (mut client, schema) = session();
    schema.run(&["CREATE TABLE t (id INT)", "INSERT INTO t VALUES (77)"]);
    assert!(!on_primary(&mut client));
    client.query("USE mysql").expect_ok();
    assert_eq!(client.query("SELECT DATABASE() FROM whoami.t").text(), "mysql");
    assert_eq!(client.query("SELECT id FROM t").code(), 1146);
    assert_eq!(client.query("USE nowhere").code(), 1049);
    assert_eq!(client.query("SELECT DATABASE() FROM whoami.t").text(), "mysql");
    client.command(&[b"\x02", schema.name.as_bytes()].concat(), Shape::One).expect_ok();
    assert_eq!(client.query("SELECT id FROM t").text(), "77");
    client.query(&format!("USE `{}`", schema.name)).expect_ok();
    client.query("INSERT INTO t VALUES (78)").expect_ok();
}

#[test]
fn user_variables_keep_their_values() {
    let (mut client, _schema) = session();
    client.query("SET @a = 5, @b = 'text', @c = NULL").expect_ok();
    let rows = client.query("SELECT @a, @b, @c FROM whoami.t").rows();
    assert_eq!(rows, [[Some("5".to_owned()), Some("text".into()), None]]);
    client.query("SET @now = NOW(6), @n = @a + 1").expect_ok();
    assert_eq!(client.query("SELECT @n").text(), "6");
    assert_eq!(client.query("SELECT @now").text(), client.query("SELECT @now").text());
    client.query("SELECT 8 INTO @d").expect_ok();
    client.query("SELECT @e := 9").expect_ok();
    let rows = client.query("SELECT @d, @e FROM whoami.t").rows();
    assert_eq!(rows, [[Some("8".to_owned()), Some("9".into())]]);
}

#[test]
fn temporary_tables_are_found_again() {
    let (mut client, _schema) = session();
    client.query("CREATE TEMPORARY TABLE mine (id INT)").expect_ok();
    client.query("INSERT INTO mine VALUES (4)").expect_ok();
    assert_eq!(client.query("SELECT id FROM mine").text(), "4");
    assert_eq!(client.query("SELECT mine.id FROM mine, whoami.t").text(), "4");
    client.query("DROP TEMPORARY TABLE mine").expect_ok();
    assert_eq!(client.query("SELECT id FROM mine").code(), 1146);
}

#[test]
fn locks_are_held_by_the_session_and_by_nobody_else() {
    let (mut client, schema) = session();
    let name = &schema.name;
    assert_eq!(client.query(&format!("SELECT GET_LOCK('{name}', 1)")).text(), "1");
    who_answers(&mut client);
    let mut other = schema.direct();
    assert_eq!(other.query(&format!("SELECT GET_LOCK('{name}', 0)")).text(), "0");
    assert_eq!(client.query(&format!("SELECT IS_USED_LOCK('{name}') IS NOT NULL")).text(), "1");
    assert_eq!(client.query(&format!("SELECT RELEASE_LOCK('{name}')")).text(), "1");
    assert_eq!(other.query(&format!("SELECT GET_LOCK('{name}', 0)")).text(), "1");
}

#[test]
fn locked_tables_keep_the_session_on_the_primary() {
    let (mut client, schema) = session();
    schema.run(&["CREATE TABLE t (id INT)", "INSERT INTO t VALUES (1)"]);
    client.query("LOCK TABLES t WRITE, whoami.t READ").expect_ok();
    assert!(on_primary(&mut client));
    assert_eq!(client.query("SELECT COUNT(*) FROM mysql.user").code(), 1100, "as under LOCK TABLES");
    let mut other = schema.direct();
    other.query("SET lock_wait_timeout = 0").expect_ok();
    assert_eq!(other.query("SELECT * FROM t").code(), 1205);
    client.query("UNLOCK TABLES").expect_ok();
    assert!(!on_primary(&mut client));
    other.query("SELECT * FROM t").expect_ok();
}

#[test]
fn the_last_insert_id_is_the_inserts_whatever_ran_since() {
    let (mut client, schema) = session();
    schema.run(&["CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT)"]);
    client.query("INSERT INTO t (id, v) VALUES (41, 0)").expect_ok();
    client.query("INSERT INTO t (v) VALUES (1)").expect_ok();
    who_answers(&mut client);
    assert_eq!(client.query("SELECT LAST_INSERT_ID()").text(), "42");
    assert_eq!(client.query("SELECT @@identity").text(), "42");
    client.query("INSERT INTO t (v) VALUES (LAST_INSERT_ID())").expect_ok();
    assert_eq!(client.query("SELECT v FROM t WHERE id = LAST_INSERT_ID()").text(), "42");
    client.query("UPDATE t SET v = LAST_INSERT_ID(v + 100) WHERE id = 43").expect_ok();
    assert_eq!(client.query("SELECT LAST_INSERT_ID()").text(), "142");
}

#[test]
fn questions_about_the_last_statement_go_where_it_ran() {
    let (mut client, schema) = session();
    schema.run(&["CREATE TABLE t (id INT)", "INSERT INTO t VALUES (1), (2), (3)"]);
    client.query("SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1").expect_ok();
    assert_eq!(client.query("SELECT FOUND_ROWS()").text(), "3");
    client.query("UPDATE t SET id = 9 WHERE id < 3").expect_ok();
    assert_eq!(client.query("SELECT ROW_COUNT()").text(), "2");
    client.query("SELECT CAST('x' AS INT) FROM whoami.t").expect_ok();
    assert_eq!(client.query("SHOW WARNINGS").rows()[0][1].as_deref(), Some("1292"));
    assert_eq!(client.query("SELECT @@warning_count").text(), "1");
    client.query("INSERT IGNORE INTO t VALUES ('y')").expect_ok();
    assert_eq!(client.query("SHOW COUNT(*) WARNINGS").text(), "1");
    assert_eq!(client.query("SHOW WARNINGS").rows()[0][1].as_deref(), Some("1366"));
    assert_eq!(client.query("SELECT missing FROM t").code(), 1054);
    assert_eq!(client.query("SHOW ERRORS").rows()[0][1].as_deref(), Some("1054"));
}

#[test]
fn hints_choose_the_server() {
    let (mut client, _schema) = session();
    for hint in ["/*master*/", "/*primary*/", "/* MASTER */", "/*Primary*/"] {
        assert_eq!(client.query(&format!("{hint} {WHO}")).number::<u32>(), PRIMARY, "{hint}");
        let id = client.prepare(&format!("{hint} SELECT CAST(id AS CHAR) FROM whoami.t"));
        assert_eq!(
            client.execute(id, &[]).payloads().iter().rev().nth(1).unwrap().last(),
            Some(&b'1'),
            "{hint}"
        );
    }
    for hint in ["/*replica*/", "/*slave*/", "/* Replica */"] {
        assert_ne!(client.query(&format!("{hint} {WHO}")).number::<u32>(), PRIMARY, "{hint}");
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

#[test]
fn sessions_do_not_see_each_others_state() {
    let (mut one, schema) = session();
    let mut two = telamon().connect(&schema.login());
    one.query("SET time_zone = '+09:00', @a = 1, sql_mode = ''").expect_ok();
    one.query("CREATE TEMPORARY TABLE tt (id INT)").expect_ok();
    one.query("USE mysql").expect_ok();
    one.query("BEGIN").expect_ok();
    let rows = two.query("SELECT @@time_zone, @a, @@sql_mode = '', DATABASE() FROM whoami.t").rows();
    let expected = [Some("SYSTEM".to_owned()), None, Some("0".to_owned()), Some(schema.name.clone())];
    assert_eq!(rows, [expected]);
    assert_eq!(two.query("SELECT * FROM tt").code(), 1146);
    assert!(!on_primary(&mut two));
}

#[test]
fn a_session_has_one_connection_id() {
    let (mut client, _schema) = session();
    let greeted = client.greeting.connection_id;
    for round in 0..2 {
        assert_eq!(client.query("SELECT CONNECTION_ID()").number::<u32>(), greeted, "round {round}");
        who_answers(&mut client);
    }
    client.query("BEGIN").expect_ok();
    assert_eq!(client.query("SELECT connection_id( ) AS id").number::<u32>(), greeted);
}
