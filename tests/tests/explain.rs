//! `telamon explain` says of real traffic what Telamon does with it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use integration_tests::program::{installed, output, run, said};
use integration_tests::{Schema, Telamon, cluster, command, root};

/// Writes the primary's logs into a directory while `traffic` runs.
fn logged(directory: &Path, traffic: impl FnOnce()) {
    let (general, slow) = (directory.join("general.log"), directory.join("slow.log"));
    let mut root = root(cluster().primary());
    for setting in [
        format!("general_log_file = '{}'", general.display()),
        format!("slow_query_log_file = '{}'", slow.display()),
        "long_query_time = 0".to_owned(),
        "slow_query_log = 1".to_owned(),
        "general_log = 1".to_owned(),
    ] {
        root.query(&format!("SET GLOBAL {setting}")).expect_ok();
    }
    traffic();
    root.query("SET GLOBAL general_log = 0").expect_ok();
    root.query("SET GLOBAL slow_query_log = 0").expect_ok();
}

/// How many statements that contain `word` have each target and reason, by a log.
fn counts(log: &Path, word: &str) -> BTreeMap<String, u32> {
    let json = run(command(&["explain", "--json", "--log"]).arg(log).current_dir("/"));
    let mut counts = BTreeMap::new();
    for line in json.lines().filter(|line| line.contains(word)) {
        let field = |name: &str| {
            let (_, rest) = line.split_once(&format!("\"{name}\":\"")).expect("every object has it");
            rest.split('"').next().unwrap_or_default().to_owned()
        };
        *counts.entry(format!("{} {}", field("target"), field("reason"))).or_default() += 1;
    }
    counts
}

fn sysbench(schema: &Schema<'_>, options: &[&str]) {
    let port = cluster().primary().address().port();
    let mut sysbench = Command::new("sysbench");
    sysbench.args(["--mysql-host=127.0.0.1", "--mysql-user=app", "--mysql-password=app", "--tables=1"]);
    sysbench.args(["--table-size=100", "--report-interval=0", "--time=0"]);
    sysbench.arg(format!("--mysql-port={port}")).arg(format!("--mysql-db={}", schema.name));
    run(sysbench.args(options));
}

const PYMYSQL: &str = "
import pymysql, sys
c = pymysql.connect(host='127.0.0.1', port=int(sys.argv[1]), user='app', password='app', database=sys.argv[2])
k = c.cursor()
k.execute('CREATE TABLE py_made (id INT)')
k.execute('SELECT id FROM py_made')
c.commit()
c.autocommit(True)
k.execute('SELECT id\\n\\nFROM py_made # with a comment')
c.close()
";

#[test]
fn a_logs_statements_go_where_their_transactions_let_them() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    // The server writes there, and it may run under another account.
    run(Command::new("chmod").arg("777").arg(directory.path()));
    let schema = Schema::new();
    let has_sysbench = installed(&["sysbench"]).is_some();
    let has_pymysql = |program: &&str| {
        Command::new(program).args(["-c", "import pymysql"]).output().is_ok_and(|o| o.status.success())
    };
    let python = ["python3", "/usr/bin/python3"].into_iter().find(has_pymysql);
    logged(directory.path(), || {
        if has_sysbench {
            sysbench(&schema, &["oltp_read_only", "prepare"]);
            for mode in ["--db-ps-mode=disable", "--db-ps-mode=auto"] {
                sysbench(&schema, &[mode, "--events=3", "oltp_read_only", "run"]);
                sysbench(&schema, &[mode, "--events=5", "oltp_point_select", "run"]);
            }
        } else {
            eprintln!("skipped: sysbench is not installed; apt-get install sysbench");
        }
        if let Some(python) = python {
            let port = cluster().primary().address().port().to_string();
            run(Command::new(python).args(["-c", PYMYSQL, &port, &schema.name]));
        } else {
            eprintln!("skipped: PyMySQL is not installed; apt-get install python3-pymysql");
        }
    });
    for log in ["general.log", "slow.log"].map(|name| directory.path().join(name)) {
        if has_sysbench {
            let reads = counts(&log, "SELECT c FROM sbtest1 WHERE id");
            // Two runs: 3 transactions of 10 point selects, a range and a sorted range; 5 point selects.
            assert_eq!(reads.get("held transaction"), Some(&72), "{log:?}: {reads:?}");
            assert_eq!(reads.get("replica proved_read"), Some(&10), "{log:?}: {reads:?}");
            assert_eq!(counts(&log, "INTO sbtest1").len(), 1);
        }
        if python.is_some() {
            let read = counts(&log, "FROM py_made");
            let expected = [("held autocommit_off".to_owned(), 1), ("replica proved_read".to_owned(), 1)];
            assert_eq!(read, BTreeMap::from(expected), "{log:?}");
        }
        let summary = run(command(&["explain", "--log"]).arg(&log).current_dir("/"));
        assert!(summary.contains("On the primary although they start like a read: "), "{summary}");
    }
}

/// Statements of sessions, of all that decides.
const SESSIONS: [&[&str]; 9] = [
    &[
        "SELECT 1",
        "SELECT 1 FROM DUAL FOR UPDATE",
        "/*primary*/ SELECT 2",
        "BEGIN",
        "SELECT id FROM whoami.t",
        "SELECT id FROM whoami.t WHERE id = 9",
        "COMMIT",
        "SELECT id FROM whoami.t WHERE id = 9",
        "SELECT id FROM whoami.t",
        "SET @a = 1",
        "SHOW WARNINGS",
        "DO SLEEP(100)",
        "SET autocommit = 0",
        "SELECT 3",
    ],
    &[
        "XA START 'x'",
        "SELECT 1",
        "XA END 'x'",
        "SELECT 2",
        "XA PREPARE 'x'",
        "SELECT 3",
        "XA ROLLBACK 'x'",
        "SELECT 4",
    ],
    &["SET autocommit = 0", "SELECT id FROM whoami.t", "SELECT 1", "SET autocommit = 1", "SELECT 2"],
    &["SET autocommit = 0", "SELECT 1", "SET autocommit = 1", "SELECT 2", "COMMIT", "SELECT 3"],
    &[
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "START TRANSACTION READ ONLY",
        "SELECT 1",
        "COMMIT",
        "SET TRANSACTION READ ONLY",
        "SELECT 1",
        "SELECT id FROM whoami.t",
    ],
    &[
        "SET TRANSACTION READ ONLY",
        "BEGIN",
        "SELECT 1",
        "ROLLBACK AND CHAIN",
        "SELECT 2",
        "ROLLBACK",
        "SELECT 3",
    ],
    &[
        "SET autocommit = 0",
        "SET TRANSACTION READ ONLY",
        "SELECT 1",
        "SELECT id FROM whoami.t",
        "COMMIT",
        "SELECT 2",
    ],
    &[
        "HANDLER whoami.t OPEN",
        "SELECT 2",
        "HANDLER t CLOSE",
        "LOCK TABLES whoami.t READ",
        "SELECT id FROM whoami.t",
        "BEGIN",
        "SELECT 3",
        "COMMIT",
        "CREATE TEMPORARY TABLE whoami.mine (a INT)",
        "SELECT a FROM whoami.mine",
        "UNLOCK TABLES",
        "SELECT GET_LOCK('explained', 1)",
        "SELECT 4",
    ],
    &["SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SELECT 1", "USE mysql", "SELECT 2"],
];

const RULES: &str = "
[[rules]]
name = \"fresh\"
regex = \"whoami.t where\"
action = \"primary\"
[[rules]]
name = \"away\"
table = \"whoami.t\"
action = \"replica\"
[firewall]
sleep = \"reject\"
[log]
level = \"trace\"
";

#[test]
fn the_trace_of_a_session_and_explain_agree_in_target_reason_and_rule() {
    let telamon = Telamon::start(RULES);
    let file = telamon.directory.path().join("telamon.toml");
    let mut known = 0;
    for statements in SESSIONS {
        let mut client = telamon.connect(&Schema::new().login());
        for sql in statements {
            client.query(sql);
        }
        let json = run(command(&["explain", "--json", "--config"]).arg(&file).args(statements));
        let routed = telamon.log_lines("routed");
        let routed = &routed[known..];
        known += routed.len();
        assert_eq!((routed.len(), json.lines().count()), (statements.len(), statements.len()), "{routed:#?}");
        for ((line, object), sql) in routed.iter().zip(json.lines()).zip(statements) {
            agree(line, object, sql);
        }
    }
}

/// A line of the trace and an object of explain say the same of a statement.
fn agree(line: &str, object: &str, sql: &str) {
    let field = |name: &str| {
        let (_, rest) = object.split_once(&format!("\"{name}\":")).expect("every object has it");
        rest.trim_start_matches('"').split(['"', ',']).next().unwrap_or_default().to_owned()
    };
    for name in ["target", "reason"] {
        let words: Vec<_> = line.split_whitespace().collect();
        assert!(words.contains(&format!("{name}={}", field(name)).as_str()), "{sql}: {line} / {object}");
    }
    let rule = line.split_once("rule=").map(|(_, rule)| rule.trim_matches('"').to_owned());
    assert_eq!(rule.unwrap_or("null".to_owned()), field("rule"), "{sql}: {line} / {object}");
}

#[test]
fn statements_come_from_standard_input_one_a_line_and_a_closed_pipe_is_no_error() {
    let mut explain = command(&["explain", "--json"]);
    explain.stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir("/");
    let mut child = explain.spawn().expect("telamon runs");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(b"SELECT 1\r\n\n  \nINSERT INTO t VALUES ('\xff')\nSELECT 2").expect("it reads");
    drop(input);
    let done = child.wait_with_output().expect("it ends");
    assert_eq!(done.status.code(), Some(0));
    let text = String::from_utf8(done.stdout).expect("JSON is UTF-8");
    let targets: Vec<_> = text.lines().map(|line| line.contains("\"target\":\"replica\"")).collect();
    assert_eq!(targets, [true, false, true], "{text}");

    let piped = "yes 'SELECT 1' | \"$0\" explain --json | head -n 1";
    let program = command(&[]).get_program().to_owned();
    let done = output(Command::new("sh").args(["-c", piped]).arg(program).current_dir("/"));
    assert!(said(&done).starts_with("{\"sql\":\"SELECT 1\"") && done.stderr.is_empty(), "{}", said(&done));
}

#[test]
fn wrong_usage_and_configurations_end_with_2_and_unreadable_logs_with_1() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let wrong = directory.path().join("wrong.toml");
    std::fs::write(&wrong, "workers = \"x\"\n").expect("the directory is ours");
    let wrong = wrong.to_str().expect("UTF-8");
    for (arguments, code) in [
        (&["--config", wrong, "SELECT 1"][..], 2),
        (&["--config", "/nowhere.toml", "SELECT 1"], 2),
        (&["--nonsense"], 2),
        (&["--log", "/nowhere.log", "SELECT 1"], 2),
        (&["--log", "/nowhere.log"], 1),
        (&["SELECT 1"], 0),
    ] {
        let done = output(command(&["explain"]).args(arguments).current_dir("/"));
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {}", said(&done));
        assert_eq!(done.stderr.is_empty(), code == 0, "{arguments:?}");
    }
}
