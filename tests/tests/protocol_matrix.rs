//! Every kind of reply to a statement's text, with and without CLIENT_DEPRECATE_EOF: through Telamon the client gets
//! the same bytes as from the server.

use std::sync::OnceLock;

use integration_tests::Telamon;
use integration_tests::differential::{Side, compare, compare_as};
use integration_tests::raw::{Flags, Login, Shape, Value};

fn telamon() -> &'static Telamon {
    static TELAMON: OnceLock<Telamon> = OnceLock::new();
    TELAMON.get_or_init(|| Telamon::start(""))
}

const MIB_17: usize = 17 << 20;

fn one(side: &mut Side<'_>, payload: &[u8]) {
    side.client.command(payload, Shape::One);
}

#[test]
fn ok_and_err_packets_are_the_servers_own() {
    compare(telamon(), |side| {
        side.write("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20) NOT NULL)");
        side.write("INSERT INTO t (v) VALUES ('a'), ('b'), ('c')");
        side.write("UPDATE t SET v = 'x' WHERE id > 1");
        side.client.query("DO 1");
        side.client.query("SET @a = 1");
        for wrong in [
            "",
            " ",
            ";",
            "SELEKT 1",
            "SELECT * FROM missing",
            "SELECT missing FROM t",
            "INSERT INTO t VALUES (1, 'again')",
            "INSERT INTO t VALUES (1, NULL)",
            "SELECT 1; SELEKT 2; SELECT 3",
            "CALL missing()",
            "KILL 4294967294",
            "COMMIT",
            "ROLLBACK",
        ] {
            side.client.query(wrong);
        }
        side.client.command(b"\x03SELECT '\xff\xfe\x00\x01'", Shape::Results);
    });
}

#[test]
fn text_result_sets_are_the_servers_own() {
    compare(telamon(), |side| {
        side.write(
            "CREATE TABLE t (id INT, d DECIMAL(20,5), f DOUBLE, s VARCHAR(300), b BLOB, j JSON, e ENUM('x','y'), \
             y YEAR, dt DATETIME(6), bi BIT(9), g POINT)",
        );
        side.write(
            "INSERT INTO t VALUES (1, 1.5, 2.5e300, REPEAT('ü', 300), x'00fffe', '{\"a\": [1]}', 'y', 2024, \
             '2024-02-29 01:02:03.000004', b'101010101', POINT(1, 2)), \
             (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        );
        for sql in [
            "SELECT * FROM t",
            "SELECT * FROM t WHERE id = 5",
            "SELECT 1",
            "SELECT NULL, '', REPEAT('x', 250), REPEAT('x', 251), REPEAT('x', 65535), REPEAT('x', 65536)",
            "SELECT seq FROM seq_1_to_5000",
            "SELECT 1 / 0",
            "SHOW WARNINGS",
            "SHOW TABLES",
            "SHOW CREATE TABLE t",
            "EXPLAIN SELECT * FROM t",
            "DESCRIBE t",
            "SELECT CAST('x' AS INT)",
            "SHOW COUNT(*) WARNINGS",
        ] {
            side.client.query(sql);
        }
    });
}

#[test]
fn an_error_in_the_middle_of_a_result_ends_it_as_the_server_does() {
    compare(telamon(), |side| {
        side.client.query("SELECT seq, IF(seq = 900, (SELECT 1 UNION SELECT 2), 1) FROM seq_1_to_1000");
        side.client.query("SELECT 1");
    });
}

#[test]
fn several_statements_in_one_text_give_all_their_results() {
    compare(telamon(), |side| {
        side.write("CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (2)");
        for sql in [
            "SELECT 1; SELECT 2, 3; SELECT 4",
            "SELECT 1; INSERT INTO t VALUES (3); SELECT 2; UPDATE t SET id = 5",
            "DO 1; DO 2",
            "SELECT * FROM t WHERE id = 99; SELECT 1;",
        ] {
            side.write(sql);
        }
        one(side, &[0x1B, 1, 0]); // COM_SET_OPTION: no multi-statements
        side.client.query("SELECT 1; SELECT 2");
        one(side, &[0x1B, 0, 0]);
        side.client.query("SELECT 1; SELECT 2");
        one(side, &[0x1B, 9, 0]);
        one(side, &[0x1B]);
        side.client.query("SELECT 1");
    });
}

#[test]
fn a_client_without_multi_statements_gets_the_servers_1064() {
    let login = Login::default().without(Flags::CLIENT_MULTI_STATEMENTS);
    compare_as(telamon(), &login, |side| {
        assert_eq!(side.client.query("SELECT 1; SELECT 2").code(), 1064);
        side.client.query("SELECT 1");
    });
}

#[test]
fn a_mariadb_client_gets_the_extended_column_definitions() {
    // "Extended metadata": a column's own type, such as json or point.
    let login = Login { mariadb: 1 << 3, ..Login::default() };
    compare_as(telamon(), &login, |side| {
        side.write("CREATE TABLE t (j JSON, g POINT, u UUID, i INET6)");
        side.write("INSERT INTO t VALUES ('{}', POINT(1, 2), UUID(), '::1')");
        let reply = side.client.query("SELECT j, g, i FROM t");
        let definition = &reply.packets[1].payload;
        assert!(definition.windows(4).any(|word| word == b"json"), "{definition:?}");
        side.client.prepare("SELECT j, g, i FROM t WHERE i = ?");
        side.client.command(b"\x04t\0", Shape::UpToEof);
    });
}

#[test]
fn found_rows_change_what_an_update_counts() {
    for (flags, counted) in [(Flags::empty(), 0), (Flags::CLIENT_FOUND_ROWS, 1)] {
        compare_as(telamon(), &Login::default().with(flags), |side| {
            side.write("CREATE TABLE t (id INT)");
            side.write("INSERT INTO t VALUES (1)");
            let reply = side.client.query("UPDATE t SET id = 1");
            assert_eq!(reply.packets[0].payload[1], counted, "{flags:?}");
        });
    }
}

#[test]
fn a_procedure_gives_all_its_results() {
    compare(telamon(), |side| {
        side.write("CREATE TABLE t (id INT)");
        side.write(
            "CREATE PROCEDURE p(IN a INT, OUT b INT) BEGIN SELECT a; SELECT a + 1, 'two'; INSERT INTO t VALUES (a); \
             SET b = a * 2; SELECT * FROM t; END",
        );
        side.write("CREATE PROCEDURE fails() BEGIN SELECT 1; SELECT * FROM missing; SELECT 2; END");
        side.write("CALL p(7, @b)");
        side.client.query("SELECT @b");
        side.client.query("CALL fails()");
        let id = side.client.prepare("CALL p(?, ?)");
        side.client.execute(id, &[Value::Number(3), Value::Null]);
        let id = side.client.prepare("CALL fails()");
        side.client.execute(id, &[]);
        side.client.query("SELECT 1");
    });
}

#[test]
fn local_files_of_every_size_reach_the_server() {
    let telamon = telamon();
    let mut large = Vec::with_capacity(MIB_17 + 100);
    while large.len() < MIB_17 {
        large.extend_from_slice(format!("{}\t{}\n", large.len(), "x".repeat(4000)).as_bytes());
    }
    compare(telamon, |side| {
        side.write("CREATE TABLE t (id INT, v TEXT)");
        let load = "LOAD DATA LOCAL INFILE 'only/the/client/has.it' INTO TABLE t";
        for file in [Some(b"1\tone\n2\ttwo\n\\N\t\\N\nbad\tthree\n".to_vec()), Some(Vec::new()), None] {
            side.client.local_file = file;
            side.write(load);
            side.client.query("SHOW WARNINGS");
            side.client.query("SELECT * FROM t");
        }
        side.client.local_file = Some(large.clone());
        side.write(load);
        side.client.query("SELECT COUNT(*), SUM(CRC32(v)), SUM(id) FROM t");
        side.client.local_file = Some(b"9\tnine\n".to_vec());
        side.write(&format!("SELECT 1; {load}; SELECT COUNT(*) FROM t; {load}; SELECT COUNT(*) FROM t"));
        side.client.query("LOAD DATA LOCAL INFILE 'x' INTO TABLE missing");
    });
}

#[test]
fn field_lists_are_the_servers_own() {
    compare(telamon(), |side| {
        side.write("CREATE TABLE t (id INT DEFAULT 5, val VARCHAR(20))");
        for payload in [&b"\x04t\0"[..], b"\x04t\0v%", b"\x04t\0none", b"\x04missing\0"] {
            side.client.command(payload, Shape::UpToEof);
        }
        side.client.query("SELECT 1");
    });
}

#[test]
fn commands_sent_at_once_are_answered_one_after_the_other() {
    compare(telamon(), |side| {
        let text = |sql: &str| [b"\x03", sql.as_bytes()].concat();
        let create = text("CREATE TABLE t (id INT)");
        let insert = text("INSERT INTO t VALUES (1), (2)");
        let (begin, count, commit) = (text("BEGIN"), text("SELECT COUNT(*) FROM t"), text("COMMIT"));
        let wrong = text("SELEKT");
        let prepare = [b"\x16", &b"SELECT 5"[..]].concat();
        // MariaDB's clients send this behind the prepare: minus one is the statement prepared last.
        let execute_last = [&[0x17, 0xFF, 0xFF, 0xFF, 0xFF, 0][..], &1u32.to_le_bytes()].concat();
        let replies = side.client.pipeline(&[
            (&create, Shape::Results),
            (&insert, Shape::Results),
            (&begin, Shape::Results),
            (&count, Shape::Results),
            (&wrong, Shape::Results),
            (&[0x0E], Shape::One),
            (&commit, Shape::Results),
            (&prepare, Shape::Prepared),
            (&execute_last, Shape::Results),
            (&[0x0E], Shape::One),
        ]);
        assert_eq!(replies.expect("all are answered").len(), 10);
    });
}

#[test]
fn a_client_that_sends_no_files_is_told_so_by_the_server() {
    let login = Login::default().without(Flags::CLIENT_LOCAL_FILES);
    compare_as(telamon(), &login, |side| {
        side.write("CREATE TABLE t (id INT)");
        assert!(side.client.query("LOAD DATA LOCAL INFILE 'x' INTO TABLE t").error().is_some());
        side.client.query("SELECT 1");
    });
}
