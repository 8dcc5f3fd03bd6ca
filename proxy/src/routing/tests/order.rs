//! The order of decision.

use crate::routing::{
    Dialect, Fallback, Hint, Isolation, PinReason, Reason, ReplicaFacts, Route, RouteReason, SessionFacts,
    Target, Verdict, classify, route,
};

const UP: ReplicaFacts = ReplicaFacts { usable: 2, fallback: Fallback::Primary };
const DOWN: ReplicaFacts = ReplicaFacts { usable: 0, fallback: Fallback::Primary };

fn routed(sql: &str, hint: Option<Hint>, facts: &SessionFacts, replicas: &ReplicaFacts) -> Route {
    route(&classify(sql.as_bytes(), &Dialect::default()), hint, facts, replicas, Verdict::None)
}

fn plain(sql: &str) -> (Target, &'static str) {
    let route = routed(sql, None, &SessionFacts::default(), &UP);
    (route.target, route.reason.as_str())
}

#[test]
fn the_class_decides_for_a_fresh_session() {
    assert_eq!(plain("SELECT 1"), (Target::Replica, "proved_read"));
    assert_eq!(plain("SELECT 1 FOR UPDATE"), (Target::Primary, "locking_clause"));
    assert_eq!(plain("SELECT @@sql_mode"), (Target::Primary, "session_variable"));
    assert_eq!(plain("SELECT @v"), (Target::Primary, "user_variable"));
    assert_eq!(plain("SHOW STATUS"), (Target::Primary, "server_role_question"));
    assert_eq!(plain("BEGIN"), (Target::Primary, "transaction_control"));
    assert_eq!(plain("START TRANSACTION READ WRITE"), (Target::Primary, "transaction_control"));
    assert_eq!(plain("START TRANSACTION READ ONLY"), (Target::Replica, "read_only_transaction"));
    assert_eq!(plain("START TRANSACTION READ ONLY; SELECT 1"), (Target::Primary, "transaction_control"));
    assert_eq!(plain(""), (Target::Primary, "empty"));
}

#[test]
fn what_the_session_holds_decides_before_all_else() {
    let held = SessionFacts { held: Some(PinReason::Transaction), ..SessionFacts::default() };
    for sql in ["SELECT 1", "INSERT INTO t VALUES (1)", "START TRANSACTION READ ONLY"] {
        for hint in [None, Some(Hint::Replica), Some(Hint::Primary)] {
            let route = routed(sql, hint, &held, &DOWN);
            assert_eq!(
                (route.target, route.reason),
                (Target::Held, RouteReason::Held(PinReason::Transaction))
            );
            assert_eq!(route.reason.step(), "held");
        }
    }
}

#[test]
fn a_question_about_the_previous_statement_goes_where_that_ran() {
    let keeps = SessionFacts { keeps_previous: true, ..SessionFacts::default() };
    assert_eq!(
        routed("SHOW WARNINGS", None, &keeps, &UP).reason,
        RouteReason::Held(PinReason::LastStatement)
    );
    assert_eq!(routed("SELECT 1", None, &keeps, &UP).target, Target::Replica);
    assert_eq!(plain("SHOW WARNINGS"), (Target::Primary, "last_statement"));
}

#[test]
fn hints_move_reads_and_only_reads() {
    let fresh = SessionFacts::default();
    assert_eq!(routed("SELECT 1", Some(Hint::Primary), &fresh, &UP).target, Target::Primary);
    let replica = routed("SELECT 1", Some(Hint::Replica), &fresh, &UP);
    assert_eq!(
        (replica.target, replica.reason, replica.hint_ignored),
        (Target::Replica, RouteReason::Hint, false)
    );
    let write = routed("DELETE FROM t", Some(Hint::Replica), &fresh, &UP);
    assert_eq!((write.target, write.hint_ignored), (Target::Primary, true));
    assert_eq!(write.reason, RouteReason::Class(Reason::NotARead));
    assert_eq!(
        routed("START TRANSACTION READ ONLY", Some(Hint::Primary), &fresh, &UP).target,
        Target::Primary
    );
}

#[test]
fn some_isolation_levels_and_schemas_keep_reads_on_the_primary() {
    for (isolation, target) in [
        (Isolation::ReadUncommitted, Target::Primary),
        (Isolation::ReadCommitted, Target::Replica),
        (Isolation::RepeatableRead, Target::Replica),
        (Isolation::Serializable, Target::Primary),
    ] {
        let facts = SessionFacts { isolation, ..SessionFacts::default() };
        for sql in ["SELECT 1", "START TRANSACTION READ ONLY"] {
            assert_eq!(routed(sql, None, &facts, &UP).target, target, "{isolation:?}");
        }
        assert_eq!(
            routed("SELECT 1", Some(Hint::Replica), &facts, &UP).hint_ignored,
            target == Target::Primary
        );
    }
    assert_eq!(Isolation::from_name("read committed"), Some(Isolation::ReadCommitted));
    assert_eq!(Isolation::from_name("SNAPSHOT"), None);
    let system = SessionFacts {
        in_system_schema: SessionFacts::is_system_schema(b"MySQL"),
        ..SessionFacts::default()
    };
    assert_eq!(routed("SELECT * FROM user", None, &system, &UP).reason, RouteReason::SystemSchema);
}

#[test]
fn without_a_usable_replica_the_fallback_decides() {
    let fresh = SessionFacts::default();
    let primary = routed("SELECT 1", None, &fresh, &DOWN);
    assert_eq!((primary.target, primary.reason), (Target::Primary, RouteReason::NoUsableReplica));
    let error = ReplicaFacts { usable: 0, fallback: Fallback::Error };
    assert_eq!(routed("SELECT 1", None, &fresh, &error).target, Target::Own);
    assert_eq!(routed("DELETE FROM t", None, &fresh, &error).target, Target::Primary);
    assert_eq!(routed("SELECT 1", Some(Hint::Primary), &fresh, &error).target, Target::Primary);
}

#[test]
fn classes_name_what_routing_and_sessions_need() {
    let class = |sql: &str| classify(sql.as_bytes(), &Dialect::default());
    let read = class("SELECT * FROM db1.t JOIN u ON u.id = db1.t.id");
    let names: Vec<_> = read.tables.iter().map(|name| (name.schema.as_deref(), &*name.table)).collect();
    assert_eq!(names, [(Some("db1"), "t"), (None, "u")]);
    assert_eq!(&*class("INSERT INTO t VALUES (1)").tables[0].table, "t");
    assert_eq!(class("USE `a``b`").schema.as_deref(), Some(&b"a`b"[..]));
    let kill = class("KILL QUERY 42").kill.unwrap();
    assert_eq!((kill.query_only, kill.connection_id), (true, Some(42)));
    assert_eq!(class("KILL @id").kill.unwrap().connection_id, None);
}
