//! Rules and the firewall in front of real servers: where statements run, and what is refused.

use std::sync::OnceLock;

use integration_tests::raw::{Client, Login};
use integration_tests::{Schema, Telamon, cluster, command, root, who_answers};

const PRIMARY: u32 = 1;
/// The replica with the label; its weight is 0, so that no other read goes there.
const REPORTING: u32 = 3;

const RULES: &str = r#"
[[rules]]
name = "cleaner"
user = "app"
table = "scratch"
action = "allow"
[[rules]]
name = "reports"
regex = "from report"
action = "label:reporting"
[[rules]]
name = "fresh"
table = "fresh"
action = "primary"
[[rules]]
name = "somebody-else"
user = "nobody"
action = "reject"
[[rules]]
name = "elsewhere"
client = "10.0.0.0/8"
action = "reject"
[[rules]]
name = "secrets"
schema = "whoami"
table = "secret"
action = "reject"
message = "ask the owner of the data"
[[rules]]
name = "away"
regex = "stolen"
action = "replica"
[firewall]
delete_without_where = "reject"
update_without_where = "reject"
sleep = "reject"
drop = "reject"
truncate = "reject"
unread = "reject"
[limits]
classify_bytes = 100000
"#;

fn configuration(port: u16) -> String {
    let toml = cluster().telamon_toml(port);
    let (head, last) = toml.rsplit_once("weight = 1").expect("replica2's");
    format!("{head}weight = 0\nlabels = [\"reporting\"]{last}{RULES}")
}

fn telamon() -> &'static Telamon {
    static TELAMON: OnceLock<Telamon> = OnceLock::new();
    TELAMON.get_or_init(|| Telamon::with(|port, _| configuration(port)))
}

/// A session in a schema of its own with some tables, and that schema.
fn session() -> (Client, Schema<'static>) {
    let schema = Schema::new();
    schema.run(&[
        "CREATE TABLE t (id INT PRIMARY KEY, who INT)",
        "INSERT INTO t VALUES (1, 0), (2, 0)",
        "CREATE TABLE scratch (id INT)",
        "CREATE VIEW report AS SELECT id FROM whoami.t",
        "CREATE VIEW fresh AS SELECT id FROM whoami.t",
        "CREATE TABLE stolen (who INT)",
    ]);
    (telamon().connect(&schema.login()), schema)
}

/// Asserts that a statement is refused, and that the text says by which rule.
fn assert_refused(client: &mut Client, sql: &str, rule: &str) {
    let reply = client.query(sql);
    let error = reply.error().unwrap_or_else(|| panic!("{sql:.80} was not refused"));
    assert_eq!(error.code, 1105, "{sql:.80}: {error:?}");
    assert!(error.message.contains(rule), "{sql:.80}: {error:?}");
}

#[test]
fn a_label_keeps_reads_on_its_replica_and_all_others_off_it() {
    let (mut client, _schema) = session();
    for _ in 0..3 {
        assert_eq!(client.query("SELECT id FROM report").number::<u32>(), REPORTING);
        assert_eq!(who_answers(&mut client), 2, "the other replica");
        let id = client.prepare("SELECT CAST(id AS CHAR) FROM report");
        let reply = client.execute(id, &[]);
        assert_eq!(reply.payloads().iter().rev().nth(1).unwrap().last(), Some(&b'3'));
    }
    client.query("SET @kept = 5").expect_ok();
    assert_eq!(
        client.query("SELECT /*primary*/ id FROM report").number::<u32>(),
        REPORTING,
        "no leading comment"
    );
    assert_eq!(
        client.query("/*primary*/ SELECT id FROM report").number::<u32>(),
        PRIMARY,
        "a hint stands before"
    );
}

#[test]
fn a_label_moves_a_session_that_keeps_its_connections_too_but_no_open_cursor() {
    let (_, schema) = session();
    let kept = Telamon::with(|port, _| format!("{}[pool]\nmode = \"session\"\n", configuration(port)));
    for telamon in [&kept, telamon()] {
        let mut client = telamon.connect(&schema.login());
        for _ in 0..2 {
            assert_eq!(client.query("SELECT id FROM report").number::<u32>(), REPORTING);
            assert_eq!(who_answers(&mut client), 2);
        }
        let id = client.prepare("SELECT id FROM whoami.t UNION ALL SELECT id FROM t");
        client.open_cursor(id, &[]).expect_ok();
        client.fetch(id, 1).expect_ok();
        client.query("SELECT id FROM report").expect_ok();
        client.fetch(id, 1).expect_ok();
    }
}

#[test]
fn a_rule_for_the_primary_and_a_transaction_are_kept_there() {
    let (mut client, _schema) = session();
    assert_eq!(client.query("SELECT id FROM fresh").number::<u32>(), PRIMARY);
    assert_eq!(client.query("/*replica*/ SELECT id FROM fresh").number::<u32>(), 2, "a hint stands before");
    client.query("BEGIN").expect_ok();
    assert_eq!(client.query("SELECT id FROM report").number::<u32>(), PRIMARY, "no rule moves a transaction");
    client.query("COMMIT").expect_ok();
    assert_eq!(client.query("SELECT id FROM report").number::<u32>(), REPORTING);
}

#[test]
fn a_rule_for_a_replica_on_a_write_is_not_followed_and_warned_of_once() {
    let (mut client, _schema) = session();
    for _ in 0..2 {
        client.query("INSERT INTO stolen SELECT id FROM whoami.t").expect_ok();
    }
    assert_eq!(
        client.query("SELECT MIN(who), COUNT(*) FROM stolen FOR UPDATE").rows()[0][1].as_deref(),
        Some("2")
    );
    assert_eq!(client.query("SELECT MAX(who) FROM stolen").text(), "1", "the primary's row, on a replica");
    let warnings = telamon().log_lines("a rule was not followed");
    assert_eq!(warnings.iter().filter(|line| line.contains("away")).count(), 1, "{warnings:?}");
}

#[test]
fn what_the_firewall_refuses_is_refused_everywhere_and_the_session_goes_on() {
    let (mut client, _schema) = session();
    for begin in ["DO 0", "BEGIN", "SET autocommit = 0", "CREATE TEMPORARY TABLE tmp (id INT)"] {
        client.query(begin).expect_ok();
        for (sql, rule) in [
            ("DELETE FROM t", "firewall.delete_without_where"),
            ("/* x */ delete from t limit 1", "firewall.delete_without_where"),
            ("/*!40000 DELETE FROM t */", "firewall.delete_without_where"),
            ("SELECT 1; DELETE FROM t", "firewall.delete_without_where"),
            ("PREPARE s FROM 'DELETE FROM t'", "firewall.delete_without_where"),
            ("EXECUTE IMMEDIATE 'DELETE FROM t'", "firewall.delete_without_where"),
            ("BEGIN NOT ATOMIC DELETE FROM t; END", "firewall.delete_without_where"),
            ("UPDATE t SET who = 1", "firewall.update_without_where"),
            (
                "SET STATEMENT max_statement_time = 1 FOR UPDATE t SET who = 1",
                "firewall.update_without_where",
            ),
            ("SELECT SLEEP(100)", "firewall.sleep"),
            ("SELECT id FROM t WHERE id = 1 OR `sleep`(100)", "firewall.sleep"),
            ("DROP TABLE t", "firewall.drop"),
            ("TRUNCATE t", "firewall.truncate"),
            ("EXECUTE IMMEDIATE CONCAT('DELETE ', 'FROM t')", "firewall.unread"),
            ("SELECT id FROM whoami.secret", "rule \"secrets\": ask the owner"),
        ] {
            assert_refused(&mut client, sql, rule);
            assert_eq!(client.prepare(sql), 0, "{sql} prepared");
            assert_eq!(client.query("SELECT COUNT(*) FROM t WHERE who = 0").text(), "2", "after {sql}");
        }
    }
    client.query("DELETE FROM t WHERE id = 1").expect_ok();
    client.query("UPDATE t SET who = 5 WHERE id = 2").expect_ok();
    client.query("COMMIT").expect_ok();
    assert_eq!(client.query("SELECT who FROM t").text(), "5");
}

#[test]
fn a_refusal_leaves_the_transaction_open_as_an_error_of_the_server_does() {
    let (mut client, _schema) = session();
    client.query("BEGIN").expect_ok();
    client.query("INSERT INTO t VALUES (3, 0)").expect_ok();
    assert_refused(&mut client, "DELETE FROM t", "firewall");
    assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "3");
    client.query("ROLLBACK").expect_ok();
    assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "2");
}

#[test]
fn a_rule_that_allows_opens_the_firewall_for_its_statements_alone() {
    let (mut client, _schema) = session();
    client.query("INSERT INTO scratch VALUES (1)").expect_ok();
    client.query("DELETE FROM scratch").expect_ok();
    assert_eq!(client.query("SELECT COUNT(*) FROM scratch").text(), "0");
    assert_refused(&mut client, "DELETE FROM t", "firewall");
}

#[test]
fn a_statement_too_long_to_be_read_is_refused_and_the_next_one_runs() {
    let (mut client, _schema) = session();
    for length in [100_001, 20_000_000] {
        let sql = format!("DELETE FROM t /* {} */ WHERE id = 7", "x".repeat(length));
        assert_refused(&mut client, &sql, "firewall.unread");
        assert_eq!(client.query("SELECT COUNT(*) FROM t").text(), "2");
    }
}

#[test]
fn another_user_has_other_rules_also_after_a_change_of_user() {
    let schema = Schema::new();
    schema.run(&["CREATE TABLE t (id INT)", "CREATE TABLE scratch (id INT)"]);
    let mut administrator = root(cluster().primary());
    administrator.query("CREATE USER IF NOT EXISTS nobody@'%' IDENTIFIED BY 'nobody'").expect_ok();
    administrator.query("GRANT ALL PRIVILEGES ON *.* TO nobody@'%'").expect_ok();
    schema.run(&[]);
    let telamon = Telamon::with(|port, _| {
        let toml = configuration(port);
        let (users, rules) = toml.split_once("[[rules]]").expect("rules");
        format!("{users}[[users]]\nname = \"nobody\"\npassword = \"nobody\"\n[[rules]]{rules}")
    });
    let login = Login { schema: Some(schema.name.clone()), ..Login::new("nobody", "nobody") };
    let mut nobody = telamon.connect(&login);
    assert_refused(&mut nobody, "SELECT 1", "rule \"somebody-else\": it is not allowed");
    assert_refused(&mut nobody, "DELETE FROM scratch", "rule \"somebody-else\"");
    assert_eq!(nobody.prepare("SELECT 1"), 0);
    nobody.ping();
    let mut app = telamon.connect(&schema.login());
    app.query("SELECT 1").expect_ok();
    app.change_user(&login).expect("nobody may log in");
    assert_refused(&mut app, "SELECT 1", "rule \"somebody-else\"");
}

#[test]
fn with_no_server_of_the_label_the_fallback_decides() {
    let one = |fallback: &str| {
        Telamon::with(|port, _| {
            let toml = configuration(port);
            let toml = toml.replace(&cluster().servers()[2].address().to_string(), "127.0.0.1:1");
            format!(
                "{toml}[routing]\nfallback = \"{fallback}\"\n[monitor]\ninterval_ms = 100\ntimeout_ms = 100\n"
            )
        })
    };
    let (_, schema) = session();
    let (to_primary, to_error) = (one("primary"), one("error"));
    let mut client = to_primary.connect(&schema.login());
    assert_eq!(client.query("SELECT id FROM report").number::<u32>(), PRIMARY);
    assert_eq!(who_answers(&mut client), 2);
    let mut client = to_error.connect(&schema.login());
    for _ in 0..3 {
        assert_refused(&mut client, "SELECT id FROM report", "No replica is usable");
        assert_eq!(who_answers(&mut client), 2, "and its server does not answer the next report");
    }
}

#[test]
fn check_names_what_cannot_match_and_sums_up_the_rest() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("telamon.toml");
    std::fs::write(&file, configuration(1)).expect("the directory is ours");
    let path = file.to_str().expect("UTF-8");
    let output = command(&["check", "--config", path]).output().expect("telamon runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("rules[3].user: none of [[users]] is \"nobody\", so the rule never matches"),
        "{text}"
    );
    assert!(text.ends_with("ok, 1 primary, 2 replicas, 1 user, 7 rules\n"), "{text}");
}
