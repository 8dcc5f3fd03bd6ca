//! Random sequences of statements by several clients at once, through Telamon over fewer connections than clients and,
//! in the same order, straight to one server: every packet is the same.
//!
//! `MODEL_CASES=5000` runs more sequences, other ones each time. A failure prints the shortest sequence that shows it.

use std::fmt::Write as _;

use integration_tests::raw::{Client, Flags, Login, Reply, Shape, Value};
use integration_tests::{Schema, Telamon, cluster, wait_for_replicas};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// The first two may keep a connection for themselves, the others share what is left of `pool.max_connections`.
const CLIENTS: usize = 4;
const KEEPERS: usize = 2;
const POOL: &str = "[pool]\nmax_connections = 3\nwait_ms = 4000\n";

/// Statements after which a session goes on over any connection. `T` is the client's own table, `S` the schema.
const FREE: &[&str] = &[
    "SET NAMES utf8mb4",
    "SET NAMES latin1",
    "SET NAMES utf8mb3 COLLATE utf8mb3_bin",
    "SET CHARACTER SET latin1",
    "SET sql_mode = ''",
    "SET SESSION sql_mode = 'ANSI_QUOTES,STRICT_ALL_TABLES'",
    "SET SESSION time_zone = '+02:00', SESSION group_concat_max_len = 7",
    "SET @@session.time_zone = '-11:30'",
    "SET lock_wait_timeout = 77",
    "SET no_such_variable = 1",
    "SET autocommit = 1",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "USE S",
    "USE Sb",
    "USE S_missing",
    "SELECT DATABASE()",
    "SELECT @@sql_mode, @@time_zone, @@group_concat_max_len, @@lock_wait_timeout",
    "SELECT @@character_set_client, @@collation_connection, @@autocommit",
    "SELECT @never_set, \"quoted\"",
    "SET @n = 5, @m = -1.5",
    "SET @n = NULL",
    "SELECT @n, @m",
    "SELECT CONNECTION_ID() > 0",
    "SELECT GROUP_CONCAT(v ORDER BY id) FROM S.T",
    "SELECT id, v FROM S.T ORDER BY id LIMIT 2",
    "SELECT COUNT(*) FROM T",
    "SELECT CAST('x' AS SIGNED), 1/0 FROM S.T LIMIT 1",
    "SELECT missing FROM S.T",
    "SELECT FROM",
    "",
    "INSERT INTO S.T (v) VALUES ('a')",
    "INSERT INTO S.T (v) VALUES ('b'), ('c')",
    "INSERT INTO S.T (id, v) VALUES (1, 'again')",
    "INSERT INTO S.T (v) VALUES (LAST_INSERT_ID())",
    "INSERT IGNORE INTO S.T (id, v) VALUES ('x', 'y')",
    "INSERT INTO S.T (v) VALUES ('r') RETURNING id",
    "UPDATE S.T SET v = CONCAT(v, 'u') WHERE id > 1",
    "DELETE FROM S.T WHERE id > 4",
    "REPLACE INTO S.T (id, v) VALUES (2, 'replaced')",
    "SELECT LAST_INSERT_ID()",
    "SELECT @@identity, 1",
    "ALTER TABLE S.T ADD COLUMN extra INT DEFAULT 5",
    "ALTER TABLE S.T DROP COLUMN extra",
    "TRUNCATE S.T",
    "DO 1",
    "SHOW TABLES LIKE 'nothing%'",
    "SELECT 1; INSERT INTO S.T (v) VALUES ('m'); SELECT 2",
];

/// What is only compared right behind the statement that it is about.
const DIAGNOSTICS: &[&str] = &[
    "SHOW WARNINGS",
    "SHOW ERRORS",
    "SHOW COUNT(*) WARNINGS",
    "SELECT @@warning_count, @@error_count",
    "SELECT ROW_COUNT()",
    "SELECT FOUND_ROWS()",
];

/// Statements after which a session may keep its connection.
const KEEPING: &[&str] = &[
    "BEGIN",
    "START TRANSACTION READ ONLY",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    "COMMIT",
    "ROLLBACK",
    "COMMIT AND CHAIN",
    "SAVEPOINT a",
    "ROLLBACK TO SAVEPOINT a",
    "RELEASE SAVEPOINT a",
    "SET autocommit = 0",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SET SESSION TRANSACTION READ ONLY",
    "SET SESSION TRANSACTION READ WRITE",
    "SET @a = LENGTH('x')",
    "SET @a = (SELECT COUNT(*) FROM S.T)",
    "SET @s = 'text'",
    "SELECT @a, @b, @s",
    "SELECT @b := COUNT(*) FROM S.T",
    "SELECT MAX(id) INTO @a FROM S.T",
    "CREATE TEMPORARY TABLE S.temporary (id INT)",
    "INSERT INTO S.temporary VALUES (1)",
    "SELECT * FROM S.temporary",
    "DROP TEMPORARY TABLE S.temporary",
    "LOCK TABLES S.T WRITE",
    "UNLOCK TABLES",
    "SELECT GET_LOCK('S.T', 0)",
    "SELECT RELEASE_LOCK('S.T')",
    "SELECT IS_USED_LOCK('S.T') = CONNECTION_ID()",
    "PREPARE p FROM 'SELECT COUNT(*), ? FROM S.T'",
    "SET @c = 3",
    "EXECUTE p USING @c",
    "DEALLOCATE PREPARE p",
    "HANDLER S.T OPEN",
    "HANDLER T READ FIRST",
    "HANDLER T CLOSE",
    "CALL S.counts()",
    "SET timestamp = 1000000000",
    "SELECT YEAR(NOW())",
    "SELECT LAST_INSERT_ID(77)",
];

/// Texts for COM_STMT_PREPARE, each with one parameter.
const PREPARED: &[&str] = &[
    // MariaDB 10.11 compares a bare parameter as the type that it had first, so that an answer depends on which executes
    // a connection has seen: a string after a number finds no row.
    "SELECT id, v FROM S.T WHERE id >= CAST(? AS SIGNED) ORDER BY id",
    "SELECT COUNT(*), ? FROM T",
    "INSERT INTO S.T (v) VALUES (?)",
    "SELECT \"quoted\", ?",
    "SELECT LAST_INSERT_ID(), ?",
    "SELECT FROM ?",
];

#[derive(Debug, Clone)]
enum Step {
    Query(usize),
    /// A statement and a question about it.
    Asked(usize, usize),
    Keep(usize),
    Prepare(usize),
    Execute(usize, i64),
    ExecuteAgain(usize, i64),
    LongData(usize),
    Cursor(usize, u32),
    Fetch(usize, u32),
    ResetStatement(usize),
    CloseStatement(usize),
    InitDb(bool),
    SetOption(bool),
    ResetConnection,
    ChangeUser,
    Reconnect,
    Ping,
}

fn step(keeper: bool) -> impl Strategy<Value = Step> {
    let slot = 0..3_usize;
    let free = prop_oneof![
        12 => (0..FREE.len()).prop_map(Step::Query),
        4 => (0..FREE.len(), 0..DIAGNOSTICS.len()).prop_map(|(of, question)| Step::Asked(of, question)),
        2 => (0..PREPARED.len()).prop_map(Step::Prepare),
        4 => (slot.clone(), 0..5_i64).prop_map(|(slot, value)| Step::Execute(slot, value)),
        2 => (slot.clone(), 0..5_i64).prop_map(|(slot, value)| Step::ExecuteAgain(slot, value)),
        1 => slot.clone().prop_map(Step::LongData),
        1 => slot.clone().prop_map(Step::ResetStatement),
        1 => slot.clone().prop_map(Step::CloseStatement),
        1 => any::<bool>().prop_map(Step::InitDb),
        1 => any::<bool>().prop_map(Step::SetOption),
        1 => Just(Step::ResetConnection),
        1 => Just(Step::ChangeUser),
        1 => Just(Step::Reconnect),
        1 => Just(Step::Ping),
    ];
    if keeper {
        prop_oneof![
            4 => free,
            5 => (0..KEEPING.len()).prop_map(Step::Keep),
            1 => (slot.clone(), 1..3_u32).prop_map(|(slot, rows)| Step::Cursor(slot, rows)),
            1 => (slot, 1..3_u32).prop_map(|(slot, rows)| Step::Fetch(slot, rows)),
        ]
        .boxed()
    } else {
        free.boxed()
    }
}

fn sequence() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let of_client = (0..CLIENTS).prop_flat_map(|client| (Just(client), step(client < KEEPERS)));
    prop::collection::vec(of_client, 1..40)
}

/// One client on one side.
struct Session {
    client: Client,
    login: Login,
    schema: String,
    table: String,
    statements: [u32; 3],
    next: usize,
}

impl Session {
    fn text(&self, text: &str) -> String {
        let mut out = String::new();
        let mut word = String::new();
        for c in text.chars().chain(['\0']) {
            if c.is_ascii_alphanumeric() || c == '_' {
                word.push(c);
                continue;
            }
            match word.as_str() {
                "S" => out.push_str(&self.schema),
                "Sb" => write!(out, "{}b", self.schema).expect("a String takes all"),
                "T" => out.push_str(&self.table),
                other => out.push_str(other),
            }
            word.clear();
            out.push(c);
        }
        out.pop();
        out
    }

    fn run(&mut self, side: &dyn Fn(&Login) -> Client, step: &Step) -> Vec<Reply> {
        if matches!(step, Step::ResetConnection | Step::ChangeUser | Step::Reconnect) {
            self.statements = [0; 3]; // an old id may be that of another statement, on one side alone
        }
        let id = |session: &Session, slot: usize| session.statements[slot];
        vec![match *step {
            Step::Query(of) => self.client.query(&self.text(FREE[of])),
            Step::Keep(of) => self.client.query(&self.text(KEEPING[of])),
            Step::Asked(of, question) => {
                // FOUND_ROWS() is "not intended to be available past the statement following" a SELECT
                // that was answered.
                let fails = FREE[of].contains("missing") || FREE[of] == "SELECT FROM";
                let is_select = FREE[of].starts_with("SELECT ") && !fails;
                let question = if is_select { question } else { question.min(DIAGNOSTICS.len() - 2) };
                // MariaDB's list of warnings is as it was, for a statement that uses no table and has none of its own;
                // and Telamon's own answers are in no server's list.
                let renews = FREE[of].contains("S.T") || FREE[of].contains("FROM");
                let question = if renews { question } else { DIAGNOSTICS.len() - 2 };
                let asked = self.client.query(&self.text(FREE[of]));
                return vec![asked, self.client.query(DIAGNOSTICS[question])];
            }
            Step::Prepare(of) => {
                let text = self.text(PREPARED[of]);
                let mut reply = self.client.command(&[b"\x16", text.as_bytes()].concat(), Shape::Prepared);
                if let [0, rest @ ..] = &mut reply.packets[0].payload[..] {
                    let id = rest.first_chunk().expect("an id has four bytes");
                    self.statements[self.next % 3] = u32::from_le_bytes(*id);
                    self.next += 1;
                    rest[..4].fill(0);
                }
                reply
            }
            Step::Execute(slot, value) => self.client.execute(id(self, slot), &[Value::Number(value)]),
            Step::ExecuteAgain(slot, value) => {
                self.client.execute_again(id(self, slot), &[Value::Number(value)])
            }
            Step::LongData(slot) => {
                self.client.send_long_data(id(self, slot), 0, b"long");
                self.client.execute(id(self, slot), &[Value::Long])
            }
            Step::Cursor(slot, rows) => {
                let opened = self.client.open_cursor(id(self, slot), &[Value::Number(0)]);
                return vec![opened, self.client.fetch(id(self, slot), rows)];
            }
            Step::Fetch(slot, rows) => self.client.fetch(id(self, slot), rows),
            Step::ResetStatement(slot) => self.client.reset_statement(id(self, slot)),
            Step::CloseStatement(slot) => {
                self.client.close_statement(id(self, slot));
                self.client.ping()
            }
            Step::InitDb(exists) => {
                let name = self.text(if exists { "Sb" } else { "S_missing" });
                self.client.command(&[b"\x02", name.as_bytes()].concat(), Shape::One)
            }
            Step::SetOption(on) => self.client.command(&[0x1B, u8::from(!on), 0], Shape::One),
            Step::ResetConnection => self.client.command(&[0x1F], Shape::One),
            Step::ChangeUser => {
                self.client.change_user(&self.login).expect("it is the same user");
                self.client.ping()
            }
            Step::Reconnect => {
                let login = self.login.clone();
                let before = std::mem::replace(&mut self.client, side(&login));
                drop(before);
                self.client.ping()
            }
            Step::Ping => self.client.ping(),
        }]
    }
}

/// The replies as both sides must have them: the ids of statements are each side's own.
fn comparable(replies: &[Reply], schema: &str) -> Vec<Vec<u8>> {
    let payload = |reply: &Reply, bytes: &[u8]| {
        let own = reply.error().is_some_and(|error| matches!(error.code, 1243 | 1421));
        let mut text: Vec<u8> = bytes.iter().copied().filter(|byte| !own || !byte.is_ascii_digit()).collect();
        if let [0xFE, _, _, _, status] = &mut text[..] {
            *status &= !0x40; // an EOF packet cannot say which session state changed, and nobody asked for it
        }
        replaced(&text, schema.as_bytes(), b"model__")
    };
    replies
        .iter()
        .flat_map(|reply| reply.packets.iter().map(move |packet| payload(reply, &packet.payload)))
        .collect()
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(from) {
            out.extend_from_slice(to);
            at += from.len();
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    out
}

/// Makes the schemas as they are before each sequence.
fn prepare(root: &mut Client, schema: &str) {
    for sql in [
        format!("DROP DATABASE IF EXISTS {schema}"),
        format!("DROP DATABASE IF EXISTS {schema}b"),
        format!("CREATE DATABASE {schema}"),
        format!("CREATE DATABASE {schema}b"),
        format!("CREATE PROCEDURE {schema}.counts() BEGIN SELECT 1; SELECT 2; END"),
    ] {
        root.query(&sql).expect_ok();
    }
    for client in 0..CLIENTS {
        for (schema, rows) in
            [(schema.to_owned(), "(1, 'one'), (2, 'two')"), (format!("{schema}b"), "(1, 'b')")]
        {
            let table = format!("{schema}.t{client}");
            root.query(&format!("CREATE TABLE {table} (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20))"))
                .expect_ok();
            root.query(&format!("INSERT INTO {table} VALUES {rows}")).expect_ok();
        }
    }
}

fn sessions(schema: &str, flags: Flags, connect: &dyn Fn(&Login) -> Client) -> Vec<Session> {
    let session = |client: usize| {
        // Of the clients that share, one has no schema of its own.
        let schema_at_login = (client != 3).then(|| schema.to_owned());
        let login = Login { schema: schema_at_login, ..Login::default() }.with(flags);
        Session {
            client: connect(&login),
            login,
            schema: schema.to_owned(),
            table: format!("t{client}"),
            statements: [0; 3],
            next: 0,
        }
    };
    (0..CLIENTS).map(session).collect()
}

fn same(telamon: &Telamon, steps: &[(usize, Step)], flags: Flags) -> Result<(), TestCaseError> {
    let names = ["modela_", "modelb_"];
    let mut root = integration_tests::root(cluster().primary());
    names.iter().for_each(|name| prepare(&mut root, name));
    wait_for_replicas(cluster());
    let direct = |login: &Login| {
        Client::connect(&cluster().primary().address().into(), login).expect("the application may log in")
    };
    let proxied = |login: &Login| telamon.connect(login);
    let mut one = sessions(names[0], flags, &direct);
    let mut other = sessions(names[1], flags, &proxied);
    for (client, step) in steps {
        let expected = comparable(&one[*client].run(&direct, step), names[0]);
        let got = comparable(&other[*client].run(&proxied, step), names[1]);
        if expected != got {
            let text = |payloads: &[Vec<u8>]| {
                payloads.iter().map(|p| format!("\n   {}", p.escape_ascii())).collect::<String>()
            };
            return Err(TestCaseError::fail(format!(
                "client {client}, {}:\n direct{}\nproxied{}",
                shown(step),
                text(&expected),
                text(&got)
            )));
        }
    }
    Ok(())
}

fn shown(step: &Step) -> String {
    match *step {
        Step::Query(of) => FREE[of].to_owned(),
        Step::Keep(of) => KEEPING[of].to_owned(),
        Step::Asked(of, question) => format!("{}; {}", FREE[of], DIAGNOSTICS[question]),
        Step::Prepare(of) => format!("prepare {}", PREPARED[of]),
        ref other => format!("{other:?}"),
    }
}

fn cases() -> u32 {
    std::env::var("MODEL_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

#[test]
fn clients_that_share_connections_see_what_one_server_would_have_shown_them() {
    let _schema = Schema::new(); // the cluster is up
    let telamon = Telamon::start(POOL);
    let config = Config {
        cases: cases(),
        failure_persistence: None,
        max_shrink_iters: 200,
        max_shrink_time: 20_000,
        ..Config::default()
    };
    // Always the same sequences, so that a change is to blame for what fails; others where more are asked for.
    let mut runner = match std::env::var_os("MODEL_CASES") {
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
        Some(_) => TestRunner::new(config),
    };
    let flags = prop_oneof![Just(Flags::empty()), Just(Flags::CLIENT_DEPRECATE_EOF)];
    let run = runner.run(&(sequence(), flags), |(steps, flags)| same(&telamon, &steps, flags));
    if let Err(proptest::test_runner::TestError::Fail(why, (steps, flags))) = &run {
        let list: String =
            steps.iter().map(|(client, step)| format!("\n  client {client}: {}", shown(step))).collect();
        panic!("{why}\nwith {flags:?} after{list}");
    }
    run.expect("no sequence differs");
}
