//! COM_STMT_*: prepared statements, their binary results, cursors and long data, compared with the server's bytes.

use std::sync::OnceLock;

use integration_tests::differential::compare;
use integration_tests::raw::{Client, Login, Shape, StatusFlags, Value};
use integration_tests::{Telamon, cluster};

fn telamon() -> &'static Telamon {
    static TELAMON: OnceLock<Telamon> = OnceLock::new();
    TELAMON.get_or_init(|| Telamon::start(""))
}

#[test]
fn prepare_replies_have_all_their_definitions() {
    compare(telamon(), |side| {
        side.write("CREATE TABLE t (id INT, v VARCHAR(20))");
        let many = format!("SELECT {}", vec!["?"; 1000].join(", "));
        for sql in [
            "DO 1",
            "DO ?",
            "SELECT 1",
            "SELECT ?",
            "SELECT id, v FROM t WHERE id IN (?, ?, ?)",
            "INSERT INTO t VALUES (?, ?)",
            "DELETE FROM t",
            many.as_str(),
            "SELEKT ?",
            "SELECT * FROM missing",
            "",
            "SELECT 1; SELECT 2",
            "USE mysql",
            "CREATE PROCEDURE q() SELECT 1",
        ] {
            side.client.prepare(sql);
        }
    });
}

#[test]
fn binary_result_sets_are_the_servers_own() {
    compare(telamon(), |side| {
        side.write(
            "CREATE TABLE t (id INT, d DECIMAL(9,2), f DOUBLE, s VARCHAR(300), dt DATETIME(6), tm TIME)",
        );
        side.write(
            "INSERT INTO t VALUES (1, 1.25, 2.5, 'ä', '2024-02-29 01:02:03.000004', '-12:34:56'), (2, 0, 0, '', \
             '2024-01-01', '00:00:00'), (NULL, NULL, NULL, NULL, NULL, NULL)",
        );
        let all = side.client.prepare("SELECT * FROM t WHERE id = ? OR ? IS NULL");
        side.client.execute(all, &[Value::Number(1), Value::Number(0)]);
        side.client.execute(all, &[Value::Number(1), Value::Null]);
        side.client.execute_again(all, &[Value::Number(2), Value::Null]);
        let insert = side.client.prepare("INSERT INTO t (id, s) VALUES (?, ?)");
        side.client.execute(insert, &[Value::Number(5), Value::Text(b"five")]);
        side.client.execute_again(insert, &[Value::Number(6), Value::Text(b"")]);
        integration_tests::wait_for_replicas(cluster());
        side.client.execute(all, &[Value::Number(6), Value::Number(0)]);
        let wide = side.client.prepare("SELECT seq, REPEAT('w', ?) FROM seq_1_to_2000");
        side.client.execute(wide, &[Value::Number(100)]);
        let wrong = side.client.prepare("SELECT (SELECT id FROM t), ?");
        side.client.execute(wrong, &[Value::Number(1)]);
        side.client.execute(insert, &[Value::Number(i64::MAX), Value::Null]);
    });
}

#[test]
fn cursors_are_fetched_to_their_end() {
    compare(telamon(), |side| {
        let id = side.client.prepare("SELECT seq, 'x' FROM seq_1_to_10 WHERE seq > ?");
        let opened = side.client.open_cursor(id, &[Value::Number(1)]);
        assert!(opened.status().contains(StatusFlags::SERVER_STATUS_CURSOR_EXISTS));
        side.client.fetch(id, 4);
        let other = side.client.query("SELECT 'between'");
        assert_eq!(other.text(), "between");
        side.client.fetch(id, 4);
        let last = side.client.fetch(id, 4);
        assert!(last.status().contains(StatusFlags::SERVER_STATUS_LAST_ROW_SENT));
        side.client.open_cursor(id, &[Value::Number(8)]);
        side.client.fetch(id, 0);
        side.client.reset_statement(id);
        side.client.open_cursor(id, &[Value::Number(99)]);
        side.client.fetch(id, 5);
        let second = side.client.prepare("SELECT seq FROM seq_1_to_3");
        side.client.open_cursor(id, &[Value::Number(0)]);
        side.client.open_cursor(second, &[]);
        for _ in 0..3 {
            side.client.fetch(id, 2);
            side.client.fetch(second, 1);
        }
        side.client.close_statement(id);
        side.client.fetch(second, 1);
    });
}

#[test]
fn a_fetch_without_a_cursor_gets_the_servers_error() {
    compare(telamon(), |side| {
        let id = side.client.prepare("SELECT seq FROM seq_1_to_3");
        side.client.fetch(id, 1);
        side.client.execute(id, &[]);
        side.client.fetch(id, 1);
        side.client.open_cursor(id, &[]);
        side.client.fetch(id, 9);
        side.client.fetch(id, 9);
        side.client.fetch(4711, 1);
    });
}

#[test]
fn long_data_reaches_the_statement_it_was_sent_for() {
    compare(telamon(), |side| {
        side.write("CREATE TABLE t (id INT, v LONGBLOB, w LONGBLOB)");
        let id = side.client.prepare("INSERT INTO t VALUES (?, ?, ?)");
        let read = side.client.prepare("SELECT CONCAT(?, ?)");
        side.client.send_long_data(id, 1, b"first, ");
        side.client.send_long_data(read, 0, b"of another statement");
        side.client.send_long_data(id, 1, &vec![b'y'; 300_000]);
        side.client.send_long_data(id, 2, b"");
        side.client.execute(id, &[Value::Number(1), Value::Long, Value::Long]);
        side.client.execute(read, &[Value::Long, Value::Text(b"!")]);
        side.client.execute(id, &[Value::Number(2), Value::Text(b"short"), Value::Null]);
        side.client.send_long_data(id, 1, b"forgotten");
        side.client.reset_statement(id);
        side.client.execute(id, &[Value::Number(3), Value::Text(b"kept"), Value::Null]);
        side.client.send_long_data(id, 9, b"no such parameter");
        side.client.execute(id, &[Value::Number(4), Value::Text(b"after"), Value::Null]);
        integration_tests::wait_for_replicas(cluster());
        side.client.query("SELECT id, LENGTH(v), MD5(v), w FROM t");
    });
}

#[test]
fn a_closed_statement_is_unknown() {
    compare(telamon(), |side| {
        let id = side.client.prepare("SELECT 1");
        side.client.execute(id, &[]);
        side.client.close_statement(id);
        assert_eq!(side.client.execute(id, &[]).code(), 1243);
        assert_eq!(side.client.reset_statement(id).code(), 1243);
        side.client.close_statement(id);
        side.client.close_statement(4711);
        let id = side.client.prepare("SELECT 2");
        side.client.reset_statement(id);
        side.client.execute(id, &[]);
    });
}

#[test]
fn truncated_commands_are_refused_and_the_connection_stays() {
    for endpoint in [telamon().endpoint(), cluster().primary().address().into()] {
        let mut client = Client::connect(&endpoint, &Login::default()).unwrap();
        let id = client.prepare("SELECT ?").to_le_bytes();
        let no_values = [&[0x17], &id[..], &[0; 5]].concat();
        for payload in [&[0x17][..], &[0x17, 1], &[&[0x17], &id[..]].concat(), &no_values, &[0x1A, 1]] {
            // The numbers are the servers' own choice: 1835, 1210, 1243.
            let error = client.command(payload, Shape::One).error().expect("an ERR packet");
            assert!(matches!(error.code, 1835 | 1210 | 1243), "{payload:?}: {error}");
        }
        assert_eq!(client.query("SELECT 1").text(), "1");
    }
}

#[test]
fn the_limits_of_prepared_statements_are_told() {
    let telamon = Telamon::start("[limits]\nstatements = 2\nlong_data_bytes = 1000\n");
    let mut client = telamon.connect(&Login::default());
    let id = client.prepare("SELECT LENGTH(?)");
    assert_ne!(client.prepare("SELECT 2"), 0);
    let third = client.command(b"\x16SELECT 3", Shape::Prepared).error().expect("two are the limit");
    assert_eq!((third.code, third.sql_state.as_str()), (1461, "42000"), "{third}");
    client.send_long_data(id, 0, &[b'x'; 900]);
    client.execute(id, &[Value::Long]).expect_ok();
    client.send_long_data(id, 0, &[b'x'; 900]);
    client.send_long_data(id, 0, &[b'x'; 900]);
    let error = client.execute(id, &[Value::Long]).error().expect("more than may be kept");
    assert!(error.message.contains("limits.long_data_bytes"), "{error}");
    client.execute(id, &[Value::Text(b"again")]).expect_ok();
    client.close_statement(id);
    assert_ne!(client.prepare("SELECT 4"), 0);
}
