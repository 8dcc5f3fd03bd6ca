//! Every command, every kind of reply, with and without CLIENT_DEPRECATE_EOF: through Telamon the client gets the
//! same bytes as from the server.

use std::sync::OnceLock;

use integration_tests::differential::{Side, compare, compare_as};
use integration_tests::raw::{Client, Flags, Login, Shape, StatusFlags, Value};
use integration_tests::{Telamon, account, cluster};

const MIB_17: usize = 17 << 20;

/// One Telamon for all tests of this file, with a second account.
fn telamon() -> &'static Telamon {
    static TELAMON: OnceLock<Telamon> = OnceLock::new();
    TELAMON.get_or_init(|| {
        account(cluster(), "second");
        Telamon::start("[[users]]\nname = \"second\"\npassword = \"second\"\n")
    })
}

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
fn schemas_are_entered_as_the_server_does() {
    compare(telamon(), |side| {
        side.write("CREATE TABLE t (id INT)");
        one(side, b"\x02mysql");
        side.client.query("SELECT DATABASE()");
        one(side, b"\x02nowhere");
        side.client.query("SELECT DATABASE()");
        let schema = side.schema;
        one(side, &[b"\x02", schema.as_bytes()].concat());
        side.client.query("SELECT * FROM t");
        side.client.query("USE nowhere");
        side.client.query("USE mysql");
        side.client.query("SELECT DATABASE(), COUNT(*) > 0 FROM user");
        one(side, b"\x02");
    });
}

#[test]
fn small_commands_get_the_servers_answer() {
    compare(telamon(), |side| {
        one(side, &[0x0E]); // COM_PING
        one(side, &[0x0D]); // COM_DEBUG
        side.client.query("SET autocommit = 0");
        one(side, &[0x0E]);
        side.client.query("SET autocommit = 1");
        one(side, &[0x0E]);
    });
}

#[test]
fn statistics_have_the_servers_shape() {
    for endpoint in [telamon().endpoint(), cluster().primary().address().into()] {
        let mut client = Client::connect(&endpoint, &Login::default()).unwrap();
        let reply = client.command(&[0x09], Shape::One);
        let text = String::from_utf8(reply.packets[0].payload.clone()).unwrap();
        assert!(text.starts_with("Uptime: ") && text.contains("Queries per second avg: "), "{text}");
        assert_eq!(client.query("SELECT 1").text(), "1");
    }
}

#[test]
fn an_unknown_command_is_refused_and_the_connection_stays() {
    compare(telamon(), |side| {
        for command in [0x00, 0x05, 0x06, 0x0B, 0x0F, 0x10, 0x14, 0x20, 0x40, 0x70, 0xFF] {
            assert_eq!(side.client.command(&[command, 1, 2, 3], Shape::One).code(), 1047, "{command:#x}");
        }
        side.client.query("SELECT 1");
    });
}

#[test]
fn replication_commands_are_refused_with_a_text_that_says_so() {
    let mut client = telamon().connect(&Login::default());
    let register = [&[0x15, 9, 0, 0, 0][..], &[0; 13]].concat();
    let dump = [&[0x12, 4, 0, 0, 0, 0, 0, 9, 0, 0, 0][..], b"binlog.000001"].concat();
    for payload in [&register[..], &dump, &[0x1E, 0, 0], &[0x13, 1]] {
        let error = client.command(payload, Shape::One).error().expect("an ERR packet");
        assert_eq!((error.code, error.sql_state.as_str()), (1235, "42000"), "{error}");
        assert!(error.message.contains("replica"), "{error}");
        assert_eq!(client.query("SELECT 1").text(), "1");
    }
}

#[test]
fn a_reset_connection_forgets_all_that_the_session_had() {
    compare(telamon(), |side| {
        side.write("CREATE TABLE t (id INT)");
        let id = side.client.prepare("SELECT 1");
        side.client.query("SET @a = 5, sql_mode = '', time_zone = '+05:00'");
        side.client.query("CREATE TEMPORARY TABLE tt (id INT)");
        side.client.query("SELECT GET_LOCK('reset', 0)");
        side.client.query("BEGIN");
        side.client.query("INSERT INTO t VALUES (1)");
        one(side, &[0x1F]);
        assert_eq!(side.client.execute(id, &[]).code(), 1243);
        side.client.query("SELECT @a, @@sql_mode, @@time_zone, DATABASE()");
        side.client.query("SELECT * FROM tt");
        side.client.query("SELECT * FROM t");
        side.client.query("SELECT IS_FREE_LOCK('reset')");
        side.client.query("INSERT INTO t VALUES (2)");
        let id = side.client.prepare("SELECT ?");
        side.client.execute(id, &[Value::Number(1)]);
    });
}

#[test]
fn change_user_begins_a_new_session_with_the_same_or_another_account() {
    compare(telamon(), |side| {
        side.write("CREATE TABLE t (id INT)");
        for login in [Login::default(), Login::new("second", "second").in_schema(side.schema)] {
            let id = side.client.prepare("SELECT 1");
            side.client.query("SET @a = 5, time_zone = '+05:00'");
            side.client.query("CREATE TEMPORARY TABLE tt (id INT)");
            side.client.change_user(&login).unwrap_or_else(|refused| panic!("{refused}"));
            assert_eq!(side.client.query("SELECT CURRENT_USER()").text(), format!("{}@%", login.user));
            side.client.query("SELECT @a, @@time_zone, DATABASE()");
            side.client.query("SELECT * FROM tt");
            assert_eq!(side.client.execute(id, &[]).code(), 1243);
            side.client.query("SELECT USER()");
        }
    });
}

#[test]
fn change_user_with_a_wrong_password_or_schema_gets_the_servers_error_and_the_connection_ends() {
    let refusal = |endpoint, login: &Login| {
        let mut client = Client::connect(&endpoint, &Login::default()).unwrap();
        (client.change_user(login).expect_err("it is wrong").error(), client)
    };
    let wrong = Login::new("app", "wrong");
    let nobody = Login::new("nobody", "x");
    let nowhere = Login::default().in_schema("nowhere");
    for (login, code) in [(wrong, 1045), (nobody, 1045), (nowhere, 1049)] {
        let (direct, _) = refusal(cluster().primary().address().into(), &login);
        let (proxied, mut client) = refusal(telamon().endpoint(), &login);
        assert_eq!(direct.code, code);
        assert_eq!(direct, proxied);
        // As MySQL does it; MariaDB lets the session go on as the user it had before.
        assert!(client.is_closed());
    }
}

#[test]
fn process_kill_ends_the_session_that_it_names() {
    for endpoint in [telamon().endpoint(), cluster().primary().address().into()] {
        let mut killer = Client::connect(&endpoint, &Login::default()).unwrap();
        let mut victim = Client::connect(&endpoint, &Login::default()).unwrap();
        assert_eq!(victim.query("SELECT 1").text(), "1");
        let kill = |id: u32| [&[0x0C], &id.to_le_bytes()[..]].concat();
        let id = victim.greeting.connection_id;
        killer.command(&kill(id), Shape::One).expect_ok();
        match victim.try_query("SELECT 1") {
            // MariaDB says nothing to an idle session; what Telamon says must be an answer to the next command.
            Ok(reply) => assert_eq!(reply.code(), 1927),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof, "{error}"),
        }
        let unknown = killer.command(&kill(u32::MAX - 1), Shape::One).error().expect("nobody has that id");
        assert_eq!((unknown.code, unknown.message), (1094, "Unknown thread id: 4294967294".to_owned()));
        killer.query("SELECT 1").expect_ok();
    }
}

#[test]
fn a_running_query_can_be_killed_by_the_id_of_the_greeting() {
    for endpoint in [telamon().endpoint(), cluster().primary().address().into()] {
        let mut killer = Client::connect(&endpoint, &Login::default()).unwrap();
        let mut victim = Client::connect(&endpoint, &Login::default()).unwrap();
        let id = victim.greeting.connection_id;
        let sleeper = std::thread::spawn(move || (victim.query("DO (SELECT SLEEP(50))"), victim));
        let seen =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'DO (SELECT SLEEP(50))%'";
        integration_tests::wait_for("the sleep begins", std::time::Duration::from_secs(10), || {
            (killer.query(seen).number::<u32>() == 1).then_some(())
        });
        killer.query(&format!("KILL QUERY {id}")).expect_ok();
        let (reply, mut victim) = sleeper.join().unwrap();
        assert_eq!(reply.error().map(|e| e.code).unwrap_or(1317), 1317);
        assert_eq!(victim.query("SELECT 2").text(), "2", "only the query was killed");
    }
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
fn a_client_that_tracks_its_session_sees_what_a_server_tells() {
    let login = Login::default().with(Flags::CLIENT_SESSION_TRACK);
    compare_as(telamon(), &login, |side| {
        side.write("CREATE TABLE t (id INT)");
        for sql in [
            "SET character_set_client = latin1",
            "SET time_zone = '+01:00'",
            "SET sql_mode = ''",
            "SET autocommit = 0",
            "SELECT 1 FROM t",
            "SET autocommit = 1",
            "USE mysql",
            "SET @a = 1",
            "INSERT INTO mysql.nothing VALUES (1)",
            "BEGIN",
            "COMMIT",
            "SET session_track_system_variables = 'sql_mode'",
            "SET sql_mode = 'ANSI'",
            "SET time_zone = '+02:00'",
            "SET session_track_schema = 0",
            "USE whoami",
        ] {
            side.client.query(sql);
        }
        one(side, b"\x02whoami");
        one(side, &[0x1F]);
        side.client.query("SET time_zone = '+03:00'");
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

#[test]
fn a_session_that_kills_itself_is_told_as_the_server_tells_it() {
    for endpoint in [cluster().primary().address().into(), telamon().endpoint()] {
        let mut client = Client::connect(&endpoint, &Login::default()).unwrap();
        let id = client.greeting.connection_id;
        // The server ends the statement by 1317 or, on its way out, by 1927.
        let reply = client.try_query(&format!("KILL {id}"));
        let code = reply.ok().and_then(|reply| reply.error()).map(|error| error.code);
        assert!(matches!(code, None | Some(1317 | 1927)), "{endpoint:?}: {code:?}");
        assert!(
            client.try_query("SELECT 1").map_or(true, |reply| reply.error().is_some()),
            "{endpoint:?}: it is over"
        );
    }
}
