//! Rules × statements → routes, without a configuration file.

use super::*;
use crate::routing::{
    ClassCache, Fallback, Hint, PinReason, ReplicaFacts, Route, RouteReason, SessionFacts, StatementKind,
    TableName, Target, route,
};
use std::sync::Arc;

fn rule(name: &str, matcher: Matcher, action: Action) -> Rule {
    Rule { name: name.to_owned(), enabled: true, matcher, action }
}

fn table(name: &str) -> TableName {
    match name.split_once('.') {
        Some((schema, table)) => TableName { schema: Some(schema.into()), table: table.into() },
        None => TableName { schema: None, table: name.into() },
    }
}

fn on_table(name: &str) -> Matcher {
    Matcher { tables: vec![table(name)], ..Matcher::default() }
}

fn on_schema(name: &str) -> Matcher {
    Matcher { schemas: vec![name.to_owned()], ..Matcher::default() }
}

fn on_regex(regex: &str) -> Matcher {
    Matcher { regex: Some(regex.parse().unwrap()), ..Matcher::default() }
}

fn on_kind(kind: StatementKind) -> Matcher {
    Matcher { kinds: vec![kind], ..Matcher::default() }
}

/// Rules, a cache that knows them, and a session in the schema `shop`.
struct Bench {
    rules: Arc<Rules>,
    classes: ClassCache,
    facts: SessionFacts,
    usable: usize,
}

impl Bench {
    fn new(rules: Vec<Rule>, firewall: Hazards) -> Self {
        let rules = Arc::new(Rules::new(rules, firewall));
        let classes = ClassCache::with_rules(64, rules.clone());
        Self { rules, classes, facts: SessionFacts::default(), usable: 2 }
    }

    fn of(matcher: Matcher, action: Action) -> Self {
        Self::new(vec![rule("r", matcher, action)], Hazards::NONE)
    }

    fn route(&mut self, sql: &str) -> (Verdict, Route) {
        let dialect = Dialect::default();
        let (class, hint) = self.classes.classify(sql.as_bytes(), &dialect);
        let text = Some((sql.as_bytes(), &dialect));
        let asked = Asked { class: &class, text, schema: Some(b"shop") };
        let all = self.rules.chosen(0..self.rules.rules.len());
        let verdict = self.rules.judge(&asked, &all);
        let replicas = ReplicaFacts { usable: self.usable, fallback: Fallback::Primary };
        (verdict, route(&class, hint, &self.facts, &replicas, verdict))
    }

    /// Whether any rule is the first that matches.
    fn matches(&mut self, sql: &str) -> bool {
        self.route(sql).0 != Verdict::None
    }

    fn target(&mut self, sql: &str) -> (Target, &'static str, bool) {
        let route = self.route(sql).1;
        (route.target, route.reason.as_str(), route.rule_ignored)
    }
}

#[test]
fn a_table_is_matched_with_the_schema_it_lies_in() {
    let mut bench = Bench::of(on_table("shop.orders"), Action::Primary);
    for sql in [
        "SELECT * FROM orders",
        "SELECT * FROM shop.orders",
        "SELECT * FROM `Orders` o",
        "SELECT 1 FROM other.t JOIN orders USING (id)",
        "DELETE FROM SHOP.orders WHERE id = 1",
        "SELECT * FROM t WHERE id IN (SELECT id FROM orders)",
    ] {
        assert!(bench.matches(sql), "{sql}");
    }
    for sql in ["SELECT * FROM other.orders", "SELECT orders FROM t", "SELECT 'orders'", "SELECT 1"] {
        assert!(!bench.matches(sql), "{sql}");
    }
    let mut anywhere = Bench::of(on_table("orders"), Action::Primary);
    assert!(anywhere.matches("SELECT * FROM other.orders") && anywhere.matches("SELECT * FROM orders"));
}

#[test]
fn a_schema_is_that_of_the_tables_or_of_a_session_that_names_none() {
    let mut bench = Bench::of(on_schema("shop"), Action::Primary);
    for sql in ["SELECT * FROM t", "SELECT * FROM shop.t", "SELECT 1", "SELECT 1 FROM other.t, Shop.u"] {
        assert!(bench.matches(sql), "{sql}");
    }
    assert!(!bench.matches("SELECT * FROM other.t"));
}

#[test]
fn a_use_in_the_same_text_is_the_schema_of_what_follows() {
    let mut bench = Bench::of(on_schema("other"), Action::Primary);
    for sql in
        ["USE other; DELETE FROM t", "USE `Other`; DO f()", "USE other; EXECUTE IMMEDIATE 'DELETE FROM t'"]
    {
        assert!(bench.matches(sql), "{sql}");
    }
    for sql in
        ["USE other", "DELETE FROM t; USE other", "USE other; DELETE FROM shop.t", "USE third; DELETE FROM t"]
    {
        assert!(!bench.matches(sql), "{sql}");
    }
    let mut table = Bench::of(on_table("shop.t"), Action::Primary);
    assert!(!table.matches("USE other; DELETE FROM t"));
}

#[test]
fn a_statement_in_a_string_is_refused_like_the_statement_itself() {
    let refuse = || Action::Reject("no".to_owned());
    let print = crate::routing::scan(b"DELETE FROM orders WHERE id = 1", &Dialect::default()).fingerprint;
    let kind = Matcher { kinds: vec![StatementKind::Write], ..on_table("orders") };
    let by_print = Matcher { fingerprints: vec![print], ..Matcher::default() };
    for matcher in [on_table("shop.orders"), on_regex(r"^delete from orders where id = \?$"), kind, by_print]
    {
        let mut bench = Bench::of(matcher, refuse());
        for sql in [
            "PREPARE s FROM 'DELETE FROM orders WHERE id = ?'",
            "EXECUTE IMMEDIATE \"DELETE FROM orders WHERE id = 'x'\"",
            "SELECT 1; PREPARE s FROM 'DELETE FROM orders WHERE id = ?'; EXECUTE s",
        ] {
            assert_eq!(bench.target(sql).0, Target::Own, "{sql}");
        }
        for sql in
            ["PREPARE s FROM 'SELECT 1'", "SELECT 'DELETE FROM orders WHERE id = 1'", "PREPARE s FROM @a"]
        {
            assert_ne!(bench.target(sql).0, Target::Own, "{sql}");
        }
    }
}

#[test]
fn a_string_that_is_allowed_lets_nothing_beside_it_pass() {
    let rules = vec![
        rule("log", on_regex("^delete from log$"), Action::Allow),
        rule("no", on_regex("delete from"), Action::Reject("no".to_owned())),
    ];
    let mut bench = Bench::new(rules, Hazards::NONE.with(Hazard::DeleteWithoutWhere));
    assert_ne!(bench.target("PREPARE s FROM 'DELETE FROM log'").0, Target::Own);
    for sql in [
        "PREPARE s FROM 'DELETE FROM log'; DELETE FROM orders",
        "PREPARE s FROM 'DELETE FROM log'; PREPARE s FROM 'DELETE FROM orders'",
        "PREPARE s FROM 'DELETE FROM orders'",
    ] {
        assert_eq!(bench.target(sql).0, Target::Own, "{sql}");
    }
}

#[test]
fn a_string_never_makes_a_read_of_the_statement_around_it() {
    let mut bench = Bench::of(on_regex("^select"), Action::Replica);
    for sql in ["PREPARE s FROM 'SELECT 1'", "EXECUTE IMMEDIATE 'SELECT 1'"] {
        assert_eq!(bench.target(sql).0, Target::Primary, "{sql}");
    }
}

#[test]
fn kind_fingerprint_and_regex_are_matched_by_the_text() {
    let mut kind = Bench::of(on_kind(StatementKind::Kill), Action::Primary);
    assert!(kind.matches("KILL 5") && !kind.matches("SELECT 5"));
    let print = crate::routing::scan(b"SELECT a FROM t WHERE id = 1", &Dialect::default()).fingerprint;
    let by_print = Matcher { fingerprints: vec![1, print], ..Matcher::default() };
    let mut fingerprint = Bench::of(by_print, Action::Primary);
    assert!(
        fingerprint.matches("select a from t where id=77")
            && !fingerprint.matches("select b from t where id=77")
    );
    let mut regex = Bench::of(on_regex(r"^SELECT .* from orders where id in \(\?\)$"), Action::Primary);
    assert!(regex.matches("SELECT a\n, b /* c */ FROM Orders WHERE id IN (1, 2, 3) -- end"));
    assert!(!regex.matches("SELECT a FROM orders WHERE id IN (1, 2, 3) LIMIT 5"));
    assert!(regex.matches("SELECT '\n\u{e9}' FROM orders WHERE id IN (9)"));
}

#[test]
fn all_that_a_rule_names_must_hold() {
    let both = Matcher { kinds: vec![StatementKind::Read], ..on_table("orders") };
    let mut bench = Bench::of(Matcher { regex: on_regex("limit").regex, ..both }, Action::Primary);
    assert!(bench.matches("SELECT * FROM orders LIMIT 1"));
    for sql in ["SELECT * FROM orders", "SELECT * FROM t LIMIT 1", "DELETE FROM orders LIMIT 1"] {
        assert!(!bench.matches(sql), "{sql}");
    }
    assert!(
        Bench::of(Matcher::default(), Action::Primary).matches("anything"),
        "none is asked, so all match"
    );
}

#[test]
fn the_first_rule_that_matches_wins_and_disabled_ones_do_not() {
    let mut off = rule("off", Matcher::default(), Action::Reject(String::new()));
    off.enabled = false;
    let rules = vec![
        off,
        rule("orders", on_table("orders"), Action::Primary),
        rule("selects", on_regex("^select"), Action::Reject("no".to_owned())),
    ];
    let mut bench = Bench::new(rules, Hazards::NONE);
    let name = |bench: &mut Bench, sql| {
        let verdict = bench.route(sql).0;
        bench.rules.name(verdict).map(str::to_owned)
    };
    assert_eq!(name(&mut bench, "SELECT * FROM orders").as_deref(), Some("orders"));
    assert_eq!(name(&mut bench, "SELECT * FROM t").as_deref(), Some("selects"));
    assert_eq!(name(&mut bench, "DELETE FROM t"), None);
}

#[test]
fn a_rule_for_a_replica_moves_reads_and_nothing_else() {
    for action in [Action::Replica, Action::Label("reporting".to_owned())] {
        let mut bench = Bench::of(Matcher::default(), action);
        assert_eq!(bench.target("SELECT 1"), (Target::Replica, "rule", false));
        for (sql, reason) in [
            ("INSERT INTO t VALUES (1)", "not_a_read"),
            ("SELECT 1 FOR UPDATE", "locking_clause"),
            ("SELECT @@sql_mode", "session_variable"),
            ("BEGIN", "transaction_control"),
            ("/*replica*/ SET @a = 1", "set_statement"),
        ] {
            assert_eq!(bench.target(sql), (Target::Primary, reason, true), "{sql}");
        }
        assert_eq!(bench.target("/*primary*/ SELECT 1"), (Target::Primary, "hint", true));
        assert_eq!(
            bench.target("START TRANSACTION READ ONLY"),
            (Target::Replica, "read_only_transaction", true)
        );
        bench.facts.held = Some(PinReason::Transaction);
        assert_eq!(bench.target("SELECT 1"), (Target::Held, "transaction", true));
        bench.facts.held = None;
        bench.facts.isolation = crate::routing::Isolation::Serializable;
        assert_eq!(bench.target("SELECT 1"), (Target::Primary, "isolation", true));
        bench.facts.isolation = crate::routing::Isolation::default();
        bench.usable = 0;
        assert_eq!(bench.target("SELECT 1"), (Target::Primary, "no_usable_replica", false));
    }
}

#[test]
fn a_rule_for_the_primary_stands_behind_pin_and_hint() {
    let mut bench = Bench::of(Matcher::default(), Action::Primary);
    assert_eq!(bench.target("SELECT 1"), (Target::Primary, "rule", false));
    assert_eq!(bench.target("INSERT INTO t VALUES (1)"), (Target::Primary, "rule", false));
    assert_eq!(bench.target("/*replica*/ SELECT 1"), (Target::Replica, "hint", true));
    assert_eq!(bench.target("/*replica*/ SELECT 1 FOR UPDATE"), (Target::Primary, "rule", false));
    bench.facts.held = Some(PinReason::TemporaryTable);
    assert_eq!(bench.target("SELECT 1"), (Target::Held, "temporary_table", false));
}

#[test]
fn a_refusal_holds_in_transactions_and_under_hints_and_names_its_rule() {
    let mut bench = Bench::of(on_table("secret"), Action::Reject("ask the owner".to_owned()));
    for held in [None, Some(PinReason::Transaction), Some(PinReason::UnknownState)] {
        bench.facts.held = held;
        for sql in ["SELECT * FROM secret", "/*primary*/ SELECT * FROM secret", "UPDATE secret SET a = 1"] {
            assert_eq!(bench.target(sql), (Target::Own, "rule", false), "{sql}");
        }
    }
    let verdict = bench.route("SELECT * FROM secret").0;
    assert_eq!(
        bench.rules.refusal(verdict).as_deref(),
        Some("Statement refused by rule \"r\": ask the owner")
    );
    assert_eq!(bench.rules.refusal(Verdict::None), None);
}

#[test]
fn the_firewall_refuses_what_is_switched_on_and_no_rule_allows() {
    let firewall = Hazards::NONE.with(Hazard::DeleteWithoutWhere).with(Hazard::Sleep);
    let rules = vec![
        rule("cleaner", on_table("scratch"), Action::Allow),
        rule("home", on_table("t"), Action::Primary),
    ];
    let mut bench = Bench::new(rules, firewall);
    for held in [None, Some(PinReason::Transaction)] {
        bench.facts.held = held;
        for sql in
            ["DELETE FROM t", "SELECT SLEEP(1)", "SELECT 1; DELETE FROM u", "PREPARE s FROM 'DELETE FROM u'"]
        {
            assert_eq!(bench.target(sql), (Target::Own, "firewall", false), "{sql}");
        }
        for sql in
            ["DELETE FROM t WHERE a = 1", "UPDATE t SET a = 1", "DELETE FROM scratch", "PREPARE s FROM @a"]
        {
            assert_ne!(bench.target(sql).0, Target::Own, "{sql}");
        }
    }
    let verdict = bench.route("DELETE FROM t").0;
    let text = bench.rules.refusal(verdict).unwrap();
    assert!(text.contains("firewall.delete_without_where") && text.contains("add a WHERE"), "{text}");
}

#[test]
fn a_statement_in_a_string_is_looked_into_although_its_class_is_cached() {
    let mut bench = Bench::new(Vec::new(), Hazards::NONE.with(Hazard::DeleteWithoutWhere));
    assert_ne!(bench.target("PREPARE s FROM 'DELETE FROM t WHERE a = 1'").0, Target::Own);
    assert_eq!(bench.target("PREPARE s FROM 'DELETE FROM t'").0, Target::Own);
    assert_ne!(bench.target("PREPARE s FROM 'DELETE FROM t WHERE a = 1'").0, Target::Own);
}

#[test]
fn an_unread_text_is_matched_by_what_needs_no_text() {
    let rules = vec![
        rule("regex", on_regex("."), Action::Primary),
        rule("table", on_table("t"), Action::Primary),
        rule("all", Matcher::default(), Action::Allow),
    ];
    let rules = Rules::new(rules, Hazards::NONE.with(Hazard::Unread));
    let mut class = StatementClass::not_read();
    class.rules = rules.matching_unread(&class);
    let asked = Asked { class: &class, text: None, schema: None };
    let verdict = rules.judge(&asked, &rules.chosen(0..3));
    assert_eq!(rules.name(verdict), Some("all"));
    let verdict = rules.judge(&asked, &rules.chosen([0, 1]));
    assert_eq!(verdict, Verdict::Firewall(Hazard::Unread));
}

#[test]
fn hits_are_counted_and_the_first_ignored_one_is_worth_a_warning() {
    let mut bench = Bench::of(Matcher::default(), Action::Replica);
    let (verdict, _) = bench.route("SELECT 1");
    assert!(!bench.rules.count(verdict, true));
    assert!(bench.rules.count(verdict, false) && !bench.rules.count(verdict, false));
    assert!(!bench.rules.count(Verdict::Firewall(Hazard::Drop), true));
    let counts: Vec<_> = bench.rules.counts().filter(|count| count.hits > 0).collect();
    assert_eq!(
        counts,
        [
            RuleCount { name: "r", hits: 3, ignored: 2 },
            RuleCount { name: "firewall.drop", hits: 1, ignored: 0 }
        ]
    );
}

#[test]
fn without_rules_there_is_nothing_to_ask() {
    let mut bench = Bench::new(Vec::new(), Hazards::NONE);
    assert!(bench.rules.is_empty());
    assert_eq!(bench.target("SELECT SLEEP(1)").1, "proved_read");
    assert_eq!(bench.route("/*replica*/ SELECT 1").1.reason, RouteReason::Hint);
    let class = crate::routing::classify(b"SELECT 1", &Dialect::default());
    assert_eq!(class.rules, RuleSet::default(), "{:?}", Hint::Replica);
}

#[test]
fn an_earlier_rule_that_asks_less_takes_all_of_a_later_one() {
    let reads = on_kind(StatementKind::Read);
    for (wide, narrow) in [
        (Matcher::default(), on_table("t")),
        (on_table("t"), on_table("a.T")),
        (reads.clone(), Matcher { tables: vec![table("t")], ..reads.clone() }),
        (on_regex("orders"), on_regex("from orders")),
        (
            Matcher { fingerprints: vec![1, 2], ..Matcher::default() },
            Matcher { fingerprints: vec![2], ..Matcher::default() },
        ),
    ] {
        assert!(is_wider(&wide, &narrow), "{wide:?} {narrow:?}");
        assert!(!is_wider(&narrow, &wide), "{narrow:?} {wide:?}");
    }
    assert!(!is_wider(&on_table("a.t"), &on_table("b.t")));
    assert!(!is_wider(&on_table("t"), &on_schema("s")));
}
