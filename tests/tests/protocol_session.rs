//! The commands that are not statements: schema, reset, change of user, kill, and those that nobody knows.

use std::sync::OnceLock;

use integration_tests::differential::{Side, compare, compare_as};
use integration_tests::raw::{Client, Flags, Login, Shape, Value};
use integration_tests::{Telamon, account, cluster};

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
