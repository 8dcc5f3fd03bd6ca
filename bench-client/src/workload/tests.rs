//! Every workload's events, as the text that a server sees.

use super::*;
use crate::plan::{RandType, Tables};

fn plan(kind: Kind) -> Plan {
    let mut plan = Plan::new(kind);
    plan.tables = Tables { count: 3, size: 1000 };
    plan.threads = 4;
    plan.rand.kind = RandType::Uniform;
    plan
}

/// The statements of some events, one text a statement.
fn statements(plan: &Plan, events: usize) -> Vec<Vec<String>> {
    let mut workload = plan.workload.workload(plan, 1);
    let mut random = Random::new(plan.rand.seed, 1);
    let mut event = Event::default();
    (0..events)
        .map(|_| {
            event.clear();
            workload.event(&mut random, &mut event);
            let text = |call: &Call| {
                let mut out = Vec::new();
                workload.templates()[call.template].write(&event, call, &mut out);
                String::from_utf8(out).unwrap()
            };
            event.calls().iter().map(text).collect()
        })
        .collect()
}

/// The first words of each statement of one event.
fn heads(plan: &Plan) -> Vec<String> {
    let head = |sql: &String| sql.split(" FROM").next().unwrap().split(" WHERE").next().unwrap().to_owned();
    let head = |sql: &String| head(sql).split(" sbtest").next().unwrap().to_owned();
    statements(plan, 1)[0].iter().map(head).collect()
}

#[test]
fn a_read_write_event_has_sysbenchs_statements_in_sysbenchs_order() {
    let mut expected = vec!["BEGIN"];
    expected.extend(["SELECT c"; 11]);
    expected.extend(["SELECT SUM(k)", "SELECT c", "SELECT DISTINCT c"]);
    expected.extend(["UPDATE", "UPDATE", "DELETE", "INSERT INTO", "COMMIT"]);
    assert_eq!(heads(&plan(Kind::OltpReadWrite)), expected);
    let bare = Plan { skip_trx: true, ..plan(Kind::OltpReadWrite) };
    assert_eq!(heads(&bare), expected[1..19]);
    assert_eq!(heads(&plan(Kind::OltpReadOnly)), [&expected[..15], &["COMMIT"]].concat());
    assert_eq!(heads(&plan(Kind::OltpWriteOnly)), [&["BEGIN"], &expected[15..]].concat());
}

#[test]
fn the_options_of_the_mix_change_the_numbers() {
    let mut plan = plan(Kind::OltpReadOnly);
    plan.mix.point_selects = 2;
    plan.mix.range_selects = false;
    assert_eq!(heads(&plan), ["BEGIN", "SELECT c", "SELECT c", "COMMIT"]);
}

#[test]
fn single_statement_workloads_have_one_statement() {
    for (kind, start) in [
        (Kind::OltpPointSelect, "SELECT c FROM sbtest"),
        (Kind::Connect, "SELECT c FROM sbtest"),
        (Kind::ManyClients, "SELECT c FROM sbtest"),
        (Kind::OltpInsert, "INSERT INTO sbtest"),
        (Kind::OltpDelete, "DELETE FROM sbtest"),
        (Kind::OltpUpdateIndex, "UPDATE sbtest"),
        (Kind::OltpUpdateNonIndex, "UPDATE sbtest"),
        (Kind::SelectRandomPoints, "SELECT id, k, c, pad FROM sbtest1 WHERE k IN ("),
        (Kind::SelectRandomRanges, "SELECT count(k) FROM sbtest1 WHERE k BETWEEN "),
        (Kind::LargeResult, "SELECT id, k, c, pad FROM sbtest"),
    ] {
        for event in statements(&plan(kind), 50) {
            let [sql] = &event[..] else { panic!("{kind:?}: {event:?}") };
            assert!(sql.starts_with(start) && !sql.contains('?'), "{sql}");
        }
    }
}

#[test]
fn the_row_that_is_deleted_is_put_back() {
    for event in statements(&plan(Kind::OltpWriteOnly), 100) {
        let (table, id) = event[3].strip_prefix("DELETE FROM ").unwrap().split_once(" WHERE id=").unwrap();
        let expected = format!("INSERT INTO {table} (id, k, c, pad) VALUES ({id}, ");
        assert!(event[4].starts_with(&expected), "{event:?}");
        assert!(event[4].ends_with("')"), "{event:?}");
    }
}

#[test]
fn a_seed_repeats_every_workloads_statements() {
    for kind in Kind::ALL {
        let mut plan = plan(kind);
        let first = statements(&plan, 20);
        assert_eq!(first, statements(&plan, 20), "{kind:?}");
        plan.rand.seed = 2;
        if kind != Kind::LargeResult {
            assert_ne!(first, statements(&plan, 20), "{kind:?}");
        }
    }
}

#[test]
fn threads_of_the_random_selects_keep_to_their_own_share() {
    let plan = plan(Kind::SelectRandomPoints);
    for event in statements(&plan, 50) {
        let list = event[0].split_once("IN (").unwrap().1.trim_end_matches(')');
        assert!(list.split(", ").all(|k| (250..=500).contains(&k.parse::<u32>().unwrap())), "{list}");
        assert_eq!(list.split(", ").count(), 10);
    }
}

#[test]
fn new_rows_get_their_ids_from_the_server_or_from_each_thread_its_own() {
    let id = |sql: &str| sql.split_once("VALUES (").unwrap().1.split(',').next().unwrap().to_owned();
    let mut plan = plan(Kind::OltpInsert);
    assert!(statements(&plan, 5).iter().all(|event| id(&event[0]) == "0"));
    plan.auto_inc = false;
    let ids: Vec<String> = statements(&plan, 3).iter().map(|event| id(&event[0])).collect();
    assert_eq!(ids, ["1002", "1006", "1010"]);
}

#[test]
fn kinds_are_known_by_their_names() {
    for kind in Kind::ALL {
        assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", kind.name()));
    }
}
