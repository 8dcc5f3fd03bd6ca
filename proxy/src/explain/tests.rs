//! Statements and logs in, what is said of them out.

use super::*;
use clap::Parser;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: ExplainArgs,
}

fn args(line: &[&str]) -> ExplainArgs {
    Line::parse_from([&["explain"], line].concat()).args
}

fn explained(config: &str, line: &[&str]) -> String {
    let config = match config {
        "" => Config::default(),
        text => Config::parse(text, |_| None).unwrap_or_else(|errors| panic!("{errors}")),
    };
    let (explainer, args, mut out) = (Explainer::new(config), args(line), Vec::new());
    match &args.log {
        Some(path) => explainer.log(&args, path, &mut out).unwrap(),
        None => explainer.statements(&args, &mut out).unwrap(),
    }
    String::from_utf8(out).unwrap()
}

/// The text without its fingerprints, which may differ between versions.
fn masked(text: &str) -> String {
    let is_print = |word: &&str| word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let prints = text.split_whitespace().filter(is_print);
    prints.fold(text.to_owned(), |text, print| text.replace(print, "(fingerprint)"))
}

/// A log of `testdata/logs`.
fn sample(name: &str) -> String {
    format!("{}/testdata/logs/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn objects(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// `target reason` of each statement of one session.
fn session(line: &[&str]) -> Vec<String> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let each = objects(&explained("", &[&["--json"], line].concat()));
    each.iter().map(|object| format!("{} {}", text(&object["target"]), text(&object["reason"]))).collect()
}

const CLUSTER: &str = "
[[servers]]
name = \"a\"
address = \"a:1\"
role = \"primary\"
[[servers]]
name = \"b\"
address = \"b:1\"
role = \"replica\"
labels = [\"reporting\"]
[[users]]
name = \"app\"
password = \"\"
schema = \"shop\"
";

const RULES: &str = "
[[rules]]
name = \"reports\"
table = \"shop.orders\"
action = \"label:reporting\"
[[rules]]
name = \"batch\"
user = \"batch\"
action = \"reject\"
[firewall]
sleep = \"reject\"
";

#[test]
fn a_statement_is_explained_in_a_paragraph() {
    let text = explained("", &["SELECT a FROM t WHERE id IN (1, 2) FOR UPDATE", "BEGIN"]);
    let expected = "\
SELECT a FROM t WHERE id IN (1, 2) FOR UPDATE
  target       primary
  class        write
  reason       locking_clause: it locks the rows that it reads
  rule         -
  effects      -
  fingerprint  (fingerprint)
  normal form  select a from t where id in (?) for update

BEGIN
  target       primary
  class        transaction
  reason       transaction_control: it begins, ends or shapes a transaction
  rule         -
  effects      begins_transaction
  fingerprint  (fingerprint)
  normal form  begin
";
    assert_eq!(masked(&text), expected);
    let print = crate::routing::scan(b"begin", &Dialect::default()).fingerprint;
    assert!(text.contains(&format!("{print:016x}")), "{text}");
}

#[test]
fn json_has_one_object_a_line_with_the_promised_keys() {
    let sql = "SET @a = 1, NAMES utf8mb4 -- \"ä\"";
    let text =
        explained(&format!("{CLUSTER}{RULES}"), &["--json", sql, "SELECT * FROM orders", "DO SLEEP(1)"]);
    let print = crate::routing::scan(sql.as_bytes(), &Dialect::default()).fingerprint;
    let text = text.replacen(&format!("{print:016x}"), "(fingerprint)", 1);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[0],
        r#"{"sql":"SET @a = 1, NAMES utf8mb4 -- \"ä\"","target":"primary","class":"session_set","reason":"set_statement","rule":null,"effects":["sets_session_variables","sets_user_variables"],"fingerprint":"(fingerprint)","normal_form":"set @a = ?, names utf8mb4"}"#
    );
    assert!(
        lines[1].contains(r#""target":"replica","class":"read","reason":"rule","rule":"reports""#),
        "{text}"
    );
    assert!(
        lines[2].contains(r#""target":"self","class":"write","reason":"firewall","rule":"firewall.sleep""#),
        "{text}"
    );
}

#[test]
fn an_argument_of_several_lines_is_shown_in_one() {
    let text = explained("", &["SELECT a\r\n\tFROM `t\nu`\n"]);
    assert!(text.starts_with("SELECT a FROM `t u`\n  target "), "{text}");
    assert_eq!(explained("", &["--json", "SELECT\n1"]).lines().count(), 1);
}

#[test]
fn a_client_of_the_unix_socket_is_one_that_rules_can_name() {
    let rule = "[[rules]]\nname = \"local\"\nclient = \"localhost\"\naction = \"reject\"\n";
    let target = |client: &str| {
        let line = ["--json", "--client", client, "SELECT 1"];
        objects(&explained(&format!("{CLUSTER}{rule}"), &line))[0]["target"].to_string()
    };
    assert_eq!(target("localhost"), "\"self\"");
    assert_eq!(target("127.0.0.1"), "\"replica\"");
    let wrong = Line::try_parse_from(["explain", "--client", "here"]).err().unwrap().to_string();
    assert!(wrong.contains("localhost for the Unix socket"), "{wrong}");
}

#[test]
fn rules_hold_for_the_user_schema_and_servers_of_the_options() {
    let rules = format!("{CLUSTER}{RULES}");
    let reason =
        |line: &[&str]| objects(&explained(&rules, &[&["--json"], line].concat()))[0]["reason"].to_string();
    assert_eq!(reason(&["SELECT * FROM orders"]), "\"rule\"");
    assert_eq!(reason(&["--schema", "other", "SELECT * FROM orders"]), "\"proved_read\"");
    assert_eq!(reason(&["--user", "batch", "SELECT 1"]), "\"rule\"");
    let ignored = explained(&rules, &["INSERT INTO orders VALUES (1)"]);
    assert!(
        ignored.contains("rule         - (reports matches, but the statement may not go where it wishes)"),
        "{ignored}"
    );
    let alone = CLUSTER.replace("role = \"replica\"", "role = \"replica\"\nweight = 0");
    assert!(explained(&alone, &["SELECT 1"]).contains("no_usable_replica"));
}

#[test]
fn a_session_is_followed_as_far_as_its_text_tells() {
    for (line, expected) in [
        (
            &["BEGIN", "SELECT 1", "COMMIT", "SELECT 1"][..],
            "primary transaction_control|held transaction|held transaction|replica proved_read",
        ),
        (
            &["BEGIN", "CREATE TABLE t (a INT)", "SELECT 1"],
            "primary transaction_control|held transaction|replica proved_read",
        ),
        (
            &["BEGIN", "CREATE TEMPORARY TABLE t (a INT)", "COMMIT", "SELECT 1"],
            "primary transaction_control|held transaction|held transaction|held temporary_table",
        ),
        (
            &["SET autocommit = 0", "SELECT 1", "COMMIT", "SELECT 1", "SET autocommit = 1", "SELECT 1"],
            "primary set_statement|held autocommit_off|held autocommit_off|held autocommit_off|held autocommit_off|replica proved_read",
        ),
        (
            &["SELECT 1; BEGIN", "SELECT 1; COMMIT", "SELECT 1"],
            "primary transaction_control|held transaction|replica proved_read",
        ),
        (
            &["BEGIN", "COMMIT AND CHAIN", "SELECT 1"],
            "primary transaction_control|held transaction|held transaction",
        ),
        (
            &["SET TRANSACTION READ WRITE", "SELECT 1", "SELECT a FROM t", "SELECT 1"],
            "primary transaction_control|held next_transaction|held next_transaction|replica proved_read",
        ),
        (
            &["LOCK TABLES t READ", "SELECT 1", "UNLOCK TABLES", "SELECT 1"],
            "primary not_a_read|held locked_tables|held locked_tables|replica proved_read",
        ),
        (
            &["SELECT GET_LOCK('a', 1)", "SELECT 1", "SELECT RELEASE_LOCK('a')", "SELECT 1"],
            "primary named_lock|held named_lock|held named_lock|replica proved_read",
        ),
        (
            &[
                "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
                "SELECT 1",
                "SET tx_isolation = 'READ-COMMITTED'",
                "SELECT 1",
            ],
            "primary set_statement|primary isolation|primary set_statement|replica proved_read",
        ),
        (
            &["USE mysql", "SELECT 1", "USE shop", "SELECT 1"],
            "primary set_statement|primary system_schema|primary set_statement|replica proved_read",
        ),
        (
            &["XA START 'a'", "SELECT 1", "XA END 'a'", "XA COMMIT 'a' ONE PHASE", "SELECT 1"],
            "primary transaction_control|held xa|held xa|held xa|replica proved_read",
        ),
        (&["/*replica*/ SELECT 1", "SHOW WARNINGS", ""], "replica hint|held last_statement|primary empty"),
        (&["START TRANSACTION READ ONLY", "SELECT 1"], "primary read_only_transaction|held transaction"),
        (
            &["COMMIT; BEGIN", "SELECT 1", "BEGIN; COMMIT", "SELECT 1"],
            "primary transaction_control|held transaction|held transaction|replica proved_read",
        ),
    ] {
        assert_eq!(session(line).join("|"), expected, "{line:?}");
    }
}

#[test]
fn a_set_changes_how_later_texts_are_read() {
    let cut = "SELECT 'a\\' FOR UPDATE -- '";
    let last = |line: &[&str]| session(line).pop().unwrap();
    assert_eq!(last(&[cut]), "replica proved_read");
    assert_eq!(last(&["SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'", cut]), "primary locking_clause");
    assert_eq!(last(&["--sql-mode", "NO_BACKSLASH_ESCAPES", cut]), "primary locking_clause");
    assert_eq!(last(&["SET NAMES gbk", "SELECT '\u{fc}'"]), "primary ambiguous_charset");
    let executable = "SELECT 1 /*!100000 FOR UPDATE */";
    assert_eq!(last(&[executable]), "replica proved_read");
    assert_eq!(last(&["--server-version", "10.11.6-MariaDB", executable]), "primary locking_clause");
}

#[test]
fn a_django_test_run_is_summed_up_with_what_keeps_reads_from_replicas() {
    let log = sample("django-general.log");
    let text = explained("", &["--log", &log, "--most", "3"]).replace(&log, "django-general.log");
    assert_eq!(masked(&text), include_str!("../../testdata/logs/django-general.expected"));
}

/// `target reason: first words` of each statement of a sample.
fn statements(name: &str) -> Vec<String> {
    let of = |object: &serde_json::Value| {
        let field = |key: &str| object[key].as_str().unwrap().to_owned();
        let words: Vec<_> = field("sql").split_whitespace().take(4).map(str::to_owned).collect();
        format!("{} {}: {}", field("target"), field("reason"), words.join(" "))
    };
    objects(&explained("", &["--json", "--log", &sample(name)])).iter().map(of).collect()
}

#[test]
fn the_general_and_the_slow_log_of_mysql_tell_the_same_story() {
    let mut general = statements("mysql-general.log");
    let mut slow = statements("mysql-slow.log");
    assert!(general.contains(&"held transaction: select v from t".to_owned()), "{general:#?}");
    // The one has EXECUTE and what it runs, the other the latter alone; and the one has what failed or was too fast.
    general.retain(|line| !line.contains("EXECUTE s") && !line.contains("CREATE INDEX"));
    slow.retain(|line| slow_only(line));
    general.retain(|line| slow_only(line));
    assert_eq!(general, slow);
}

fn slow_only(line: &str) -> bool {
    !line.contains("SELECT v FROM t")
}

#[test]
fn the_slow_log_of_mariadb_is_read_by_thread() {
    let statements = statements("mariadb-slow.log");
    assert_eq!(statements[0], "replica proved_read: select 1");
    assert_eq!(statements[6], "primary not_a_read: CREATE TABLE sbtest1( id");
    let begins = statements.iter().filter(|line| *line == "primary transaction_control: BEGIN").count();
    assert_eq!(begins, 2, "each of two threads has its own transaction: {statements:#?}");
}

/// The entries of a log text.
fn entries(text: &str) -> Vec<Entry> {
    let mut reader = LogReader::new(text.as_bytes(), 1000);
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

#[test]
fn entries_of_both_logs_are_cut_where_the_next_begins() {
    let query = |connection, sql: &str| Entry { connection, event: log::Event::Query(sql.into()) };
    let text = "cut off\n2026-12-01T03:43:12.1Z\t    9 Query\tselect 1\n\n  from t\n# Time: not a head\n\
                2026-12-01T03:43:12.1+02:00\t   10 Query\tselect '2026-12-01'\n\t\t 9 Init DB\tshop\n\t\t 9 Quit\t\n";
    let expected = [
        query(9, "select 1\n\n  from t\n# Time: not a head"),
        query(10, "select '2026-12-01'"),
        Entry { connection: 9, event: log::Event::InitDb("shop".into()) },
        Entry { connection: 9, event: log::Event::Quit },
    ];
    assert_eq!(entries(text), expected);
    let text = "# Time: 261201  3:11:38\n# User@Host: app[app] @ web1 [10.0.0.7]\n# Thread_id: 4  Schema: shop  QC_hit: No\n\
                # Query_time: 1.5  Lock_time: 0\nuse `shop`;\nSET timestamp=1;\nselect 1\n# a comment\nfrom t;\n\
                # User@Host: app[app] @ localhost []  Id:     5\nSET timestamp=1;\n# administrator command: Quit;\n";
    let caller = |client: Option<&str>, schema: Option<&str>| log::Event::Caller {
        user: "app".to_owned(),
        client: client.map(|ip| ip.parse().unwrap()),
        schema: schema.map(str::to_owned),
    };
    let expected = [
        Entry { connection: 4, event: caller(Some("10.0.0.7"), Some("shop")) },
        query(4, "select 1\n# a comment\nfrom t"),
        Entry { connection: 5, event: caller(None, None) },
        Entry { connection: 5, event: log::Event::Quit },
    ];
    assert_eq!(entries(text), expected);
}

#[test]
fn a_login_names_user_address_and_schema() {
    let connect = |text: &str| match entries(&format!("\t\t 7 Connect\t{text}\n")).pop() {
        Some(Entry { event: log::Event::Connect { user, client, schema }, .. }) => {
            format!(
                "{user} {} {}",
                client.map_or("-".into(), |ip| ip.to_string()),
                schema.unwrap_or("-".into())
            )
        }
        _ => "none".to_owned(),
    };
    assert_eq!(connect("app@10.0.0.7 on shop using TCP/IP"), "app 10.0.0.7 shop");
    assert_eq!(connect("app@localhost on  using Socket"), "app - -");
    assert_eq!(connect("app@localhost as anonymous on shop"), "app 127.0.0.1 shop");
    assert_eq!(connect("a@b@web1 on shop using SSL/TLS"), "a@b - shop");
    assert_eq!(connect("Access denied for user 'x'@'localhost' (using password: YES)"), "none");
}

#[test]
fn a_log_of_any_length_is_read_in_bounded_memory() {
    /// A general log of so many statements on connections that never end, made as it is read.
    struct Endless(u64);
    impl io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some(left) = self.0.checked_sub(1) else { return Ok(0) };
            self.0 = left;
            let line =
                format!("\t\t{:6} Query\tselect a{} from t where id = {left}\n", left + 1, left % 51_000);
            buffer[..line.len()].copy_from_slice(line.as_bytes());
            Ok(line.len())
        }
    }
    let explainer = Explainer::new(Config::default());
    let mut reader = LogReader::new(BufReader::new(Endless(110_000)), 1000);
    let (mut sessions, mut summary) = (session::Sessions::default(), Summary::default());
    let args = args(&[]);
    while let Some(Entry { connection, event }) = reader.next().unwrap() {
        let session = sessions.of(connection, || explainer.fresh(&args));
        let sql = session.statement(&event, |_, _| RuleSet::default()).unwrap();
        let explained = explainer.explain(sql, session);
        summary.add(&explained);
        session.after(&explained);
    }
    assert!(sessions.open() <= 100_000 && sessions.seen() == 110_000);
    let mut out = Vec::new();
    summary.write("log", sessions.seen(), 1, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.starts_with("log: 110000 statements of 110000 connections\n    110000  100.0 %  replica\n"),
        "{text}"
    );
    assert!(text.contains("of more than 50000 kinds are not listed below"), "{text}");
}
