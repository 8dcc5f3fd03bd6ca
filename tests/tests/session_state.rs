//! What a session has set, made or locked is true on every server that answers it, and for it alone.

use std::sync::OnceLock;

use integration_tests::raw::{Client, Shape};
use integration_tests::{Schema, Telamon, who_answers};

const PRIMARY: u32 = 1;

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
fn statements_prepared_by_name_are_found_again() {
    let (mut client, _schema) = session();
    client.query("PREPARE mine FROM 'SELECT id + ? FROM whoami.t'").expect_ok();
    who_answers(&mut client);
    client.query("SET @n = 100").expect_ok();
    for _ in 0..2 {
        assert!(client.query("EXECUTE mine USING @n").number::<u32>() > 100);
        who_answers(&mut client);
    }
    client.query("DEALLOCATE PREPARE mine").expect_ok();
    assert_eq!(client.query("EXECUTE mine USING @n").code(), 1243);
    client.query("EXECUTE IMMEDIATE 'SET @n = 7'").expect_ok();
    assert_eq!(client.query("SELECT @n FROM whoami.t").text(), "7");
}

#[test]
fn the_next_transactions_characteristics_go_to_the_next_transaction() {
    let (mut client, schema) = session();
    schema.run(&["CREATE TABLE t (id INT)"]);
    client.query("SET TRANSACTION READ ONLY").expect_ok();
    client.query("BEGIN").expect_ok();
    assert_eq!(client.query("INSERT INTO t VALUES (1)").code(), 1792);
    client.query("COMMIT").expect_ok();
    client.query("INSERT INTO t VALUES (1)").expect_ok();
    client.query("SET SESSION TRANSACTION READ ONLY").expect_ok();
    assert_eq!(client.query("INSERT INTO t VALUES (1)").code(), 1792);
    assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "1");
    assert_eq!(client.query("INSERT INTO t VALUES (1)").code(), 1792);
    client.query("SET SESSION TRANSACTION READ WRITE").expect_ok();
    client.query("INSERT INTO t VALUES (2)").expect_ok();
}

#[test]
fn the_isolation_level_is_the_sessions_on_every_server() {
    let (mut client, schema) = session();
    schema.run(&["CREATE TABLE t (id INT)", "INSERT INTO t VALUES (1)"]);
    client.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").expect_ok();
    client.query("START TRANSACTION READ ONLY").expect_ok();
    assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "1");
    schema.run(&["INSERT INTO t VALUES (2)"]);
    assert_eq!(
        client.query("SELECT COUNT(*) FROM t").text(),
        "2",
        "committed rows are seen in the same transaction"
    );
    client.query("COMMIT").expect_ok();
    client.query("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED").expect_ok();
    let mut other = schema.direct();
    other.query("BEGIN").expect_ok();
    other.query("INSERT INTO t VALUES (3)").expect_ok();
    assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "3", "only the primary has uncommitted rows");
}

#[test]
fn distributed_transactions_and_handlers_keep_their_server() {
    let (mut client, schema) = session();
    schema.run(&["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)"]);
    let name = &schema.name;
    client.query(&format!("XA START '{name}'")).expect_ok();
    client.query("INSERT INTO t VALUES (3)").expect_ok();
    assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "3");
    assert_eq!(who_answers(&mut client), PRIMARY);
    for statement in ["XA END", "XA PREPARE", "XA COMMIT"] {
        client.query(&format!("{statement} '{name}'")).expect_ok();
    }
    client.query("HANDLER t OPEN").expect_ok();
    assert_eq!(client.query("HANDLER t READ FIRST").text(), "1");
    who_answers(&mut client);
    assert_eq!(client.query("HANDLER t READ NEXT").text(), "2");
    client.query("HANDLER t CLOSE").expect_ok();
    assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "3");
}

#[test]
fn settings_for_one_statement_are_gone_after_it() {
    let (mut client, _schema) = session();
    let statement = "SET STATEMENT time_zone = '+07:00' FOR SELECT FROM_UNIXTIME(0), id FROM whoami.t";
    assert_eq!(client.query(statement).text(), "1970-01-01 07:00:00");
    client.query("SET time_zone = '+00:00'").expect_ok();
    assert_eq!(client.query(statement).text(), "1970-01-01 07:00:00");
    assert_eq!(client.query("SELECT FROM_UNIXTIME(0) FROM whoami.t").text(), "1970-01-01 00:00:00");
}

#[test]
fn a_procedure_may_change_the_session() {
    let (mut client, schema) = session();
    schema.run(&[
        "CREATE PROCEDURE change_it() BEGIN SET time_zone = '+04:00'; SET @p = 'set'; END",
        "CREATE PROCEDURE begin_it() START TRANSACTION",
    ]);
    assert_ne!(who_answers(&mut client), PRIMARY);
    client.query("CALL change_it()").expect_ok();
    assert_eq!(client.query("SELECT FROM_UNIXTIME(0) FROM whoami.t").text(), "1970-01-01 04:00:00");
    assert_eq!(client.query("SELECT @p FROM whoami.t").text(), "set");
    client.query("CALL begin_it()").expect_ok();
    assert_eq!(who_answers(&mut client), PRIMARY, "it is in a transaction");
    client.query("ROLLBACK").expect_ok();
}

#[test]
fn a_temporary_table_made_by_a_procedure_is_found_again() {
    for body in [
        "BEGIN CREATE TEMPORARY TABLE made (id INT); INSERT INTO made VALUES (6); END",
        "BEGIN CREATE TEMPORARY TABLE made AS SELECT 6 AS id; SELECT 'a result'; END",
        "CREATE TEMPORARY TABLE made SELECT 6 AS id",
    ] {
        let (mut client, schema) = session();
        schema.run(&[&format!("CREATE PROCEDURE make() {body}")]);
        assert_ne!(who_answers(&mut client), PRIMARY);
        client.query("CALL make()").expect_ok();
        let found = client.query("SELECT id FROM made");
        assert_eq!(found.error(), None, "{body}");
        assert_eq!(found.text(), "6");
    }
}

#[test]
fn what_binds_a_session_to_the_primary_ends_with_its_cause_where_that_is_certain() {
    let (_, schema) = session();
    schema.run(&["CREATE TABLE a (id INT)", "CREATE TABLE b (id INT)"]);
    let ends: &[(&[&str], &str)] = &[
        (&["CREATE TEMPORARY TABLE x (id INT)"], "DROP TEMPORARY TABLE x"),
        (&["CREATE TEMPORARY TABLE x (id INT)"], "DROP TABLE IF EXISTS `x`, y"),
        (
            &[
                "CREATE TEMPORARY TABLE x (id INT)",
                "CREATE TEMPORARY TABLE y LIKE a",
                "DROP TEMPORARY TABLE x",
            ],
            "DROP TEMPORARY TABLE y",
        ),
        (&["SELECT GET_LOCK('pin.one', 0)"], "SELECT RELEASE_LOCK('pin.one')"),
        (
            &["DO GET_LOCK('pin.two', 0)", "DO GET_LOCK('pin.two', 0)", "DO RELEASE_LOCK('pin.two')"],
            "DO RELEASE_LOCK('pin.two')",
        ),
        (&["SELECT GET_LOCK('pin.three', 0), GET_LOCK('pin.four', 0)"], "SELECT RELEASE_ALL_LOCKS()"),
        (&["HANDLER a OPEN", "HANDLER b OPEN", "HANDLER a CLOSE"], "HANDLER b CLOSE"),
        (&["SET timestamp = 86400"], "SET timestamp = DEFAULT"),
        (&["LOCK TABLES a WRITE, whoami.t READ"], "UNLOCK TABLES"),
    ];
    for (take, give_back) in ends {
        let mut client = telamon().connect(&schema.login());
        for sql in *take {
            client.query(sql).expect_ok();
            assert!(on_primary(&mut client), "{take:?}, after {sql}");
        }
        client.query(give_back).expect_ok();
        assert!(!on_primary(&mut client), "{take:?}, {give_back}");
    }
    let stays: &[&[&str]] = &[
        &["CREATE TEMPORARY TABLE x (id INT)", "ALTER TABLE x RENAME z", "DROP TEMPORARY TABLE IF EXISTS x"],
        &["CREATE TEMPORARY TABLE x (id INT)", "DROP TABLE a"],
        &["CREATE TEMPORARY TABLE x (id INT); CREATE TEMPORARY TABLE y (id INT)", "DROP TEMPORARY TABLE y"],
        &["DO GET_LOCK('pin.five', 0)", "DO GET_LOCK('pin.five', 0)", "DO RELEASE_LOCK('pin.five')"],
        &["DO GET_LOCK(CONCAT('pin', '.six'), 0)", "DO RELEASE_LOCK('pin.six')"],
        &["HANDLER b OPEN; HANDLER b OPEN AS c", "HANDLER b CLOSE"],
    ];
    for statements in stays {
        let mut client = telamon().connect(&schema.login());
        for sql in *statements {
            client.query(sql).expect_ok();
        }
        assert!(on_primary(&mut client), "{statements:?}");
    }
}

#[test]
fn a_dropped_temporary_table_is_not_taken_for_one_that_a_procedure_made() {
    let telamon = Telamon::start("[pool]\nmax_connections = 1\n");
    let schema = Schema::new();
    schema.run(&["CREATE PROCEDURE harmless() DO 1"]);
    let mut before = telamon.connect(&schema.login());
    before.query("CREATE TEMPORARY TABLE x (id INT)").expect_ok();
    before.query("DROP TEMPORARY TABLE x").expect_ok();
    let mut client = telamon.connect(&schema.login());
    client.query("CALL harmless()").expect_ok();
    assert!(!on_primary(&mut client), "over the connection where the other had one");
    client.query("CREATE TEMPORARY TABLE y (id INT)").expect_ok();
    client.query("CALL harmless()").expect_ok();
    assert!(on_primary(&mut client));
}
