//! The client against servers of this machine.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::*;
use crate::lab::{Cluster, Flavor, Options, Program};
use crate::plan::Plan;
use crate::target::{Address, Target, Tls};
use crate::workload::{Effect, Event, Kind, Random};

async fn start(flavor: Flavor) -> (Cluster, Target) {
    let cluster = Cluster::start(flavor, Options::default()).await.unwrap();
    let target = Target::lab("primary", cluster.primary().address());
    let plan = Plan::new(Kind::OltpReadWrite);
    crate::schema::prepare(&target, &plan, &Patience::default(), &|_| ()).unwrap();
    (cluster, target)
}

/// What this machine has.
fn flavors() -> Vec<Flavor> {
    let installed = |flavor: &Flavor| *flavor == Flavor::Embedded || Program::find(*flavor).is_ok();
    [Flavor::Embedded, Flavor::MariaDb, Flavor::Mysql].into_iter().filter(installed).collect()
}

#[tokio::test]
async fn statements_are_answered_as_text_and_prepared() {
    for flavor in flavors() {
        let (_cluster, target) = start(flavor).await;
        answers_as_text_and_prepared(&target);
    }
}

fn answers_as_text_and_prepared(target: &Target) {
    let mut connection = Connection::open(target, &Patience::default()).unwrap();
    connection.ping().unwrap();
    assert_eq!(connection.first("SELECT COUNT(*) FROM sbtest1").unwrap().as_deref(), Some("10000"));
    let (names, rows) = connection.named_rows("SELECT @@server_id, DATABASE()").unwrap();
    assert_eq!(names.join(" ").to_lowercase(), "@@server_id database()");
    assert_eq!(rows, [[Some("1".to_owned()), Some("sbtest".to_owned())]]);
    let plan = Plan::new(Kind::OltpReadWrite);
    let mut workload = plan.workload.workload(&plan, 0);
    let mut event = Event::default();
    workload.event(&mut Random::new(1, 1), &mut event);
    for call in event.calls() {
        let template = &workload.templates()[call.template];
        if template.effect == Effect::Transaction {
            continue; // MySQL cannot prepare them
        }
        let mut prepared = connection.prepare(&template.sql).unwrap();
        // Twice: the second execution leaves out the types.
        let first = connection.execute(&mut prepared, &event, call).unwrap();
        let is_insert = template.sql.starts_with("INSERT");
        if is_insert {
            connection.query("DELETE FROM sbtest1 WHERE id=0").unwrap();
        } else {
            assert_eq!(connection.execute(&mut prepared, &event, call).unwrap(), first, "{}", template.sql);
        }
        if template.sql.starts_with("SELECT c") {
            assert_eq!(connection.query_call(template, &event, call).unwrap().packets, first.packets);
        }
    }
    connection.quit();
}

#[tokio::test]
async fn a_servers_refusal_leaves_the_connection_usable() {
    let (_cluster, target) = start(Flavor::Embedded).await;
    let mut connection = Connection::open(&target, &Patience::default()).unwrap();
    let error = connection.query("SELECT c FROM sbtest9 WHERE id=1").unwrap_err();
    assert_eq!((error.code(), error.is_servers()), (Some(1146), true));
    connection.ping().unwrap();
    let wrong = Target { password: "wrong".into(), ..target };
    let error = Connection::open(&wrong, &Patience::default()).unwrap_err();
    assert!(error.is_servers() && error.to_string().contains("app"), "{error}");
}

#[tokio::test]
async fn an_answer_larger_than_every_buffer_is_read_to_its_end() {
    let (_cluster, target) = start(Flavor::Embedded).await;
    let mut connection = Connection::open(&target, &Patience::default()).unwrap();
    let reply = connection.query("SELECT id, k, c, pad FROM sbtest1 WHERE id BETWEEN 1 AND 10000").unwrap();
    assert!(reply.packets >= 10_000 && reply.bytes > 1_900_000, "{reply:?}");
    assert_eq!(connection.rows("SELECT * FROM sbtest1").unwrap().len(), 10_000);
}

#[tokio::test]
async fn a_wait_for_an_answer_ends_by_its_limit_and_by_interruption() {
    let (cluster, target) = start(Flavor::Embedded).await;
    let patience = Patience { limit: Duration::from_millis(500), ..Patience::default() };
    let mut connection = Connection::open(&target, &patience).unwrap();
    cluster.primary().suspend().unwrap();
    let begin = Instant::now();
    assert!(matches!(connection.query("SELECT 1"), Err(ClientError::NoAnswer { .. })));
    assert!(begin.elapsed() < Duration::from_secs(5));
    let patience = Patience::default();
    let mut connection = Connection::open(&target, &patience).unwrap();
    patience.stop.store(true, Ordering::Relaxed);
    assert!(matches!(connection.query("SELECT 1"), Err(ClientError::Interrupted)));
    cluster.primary().resume().unwrap();
}

/// Real servers have what the embedded ones have not: TLS, sockets, caching_sha2_password.
#[tokio::test]
async fn a_real_server_is_reached_over_tls_and_over_its_socket() {
    for flavor in flavors().into_iter().filter(|flavor| *flavor != Flavor::Embedded) {
        let (cluster, target) = start(flavor).await;
        let encrypted = Target { tls: Tls::Required, ..target.clone() };
        let mut connection = Connection::open(&encrypted, &Patience::default()).unwrap();
        assert!(connection.cipher().is_some_and(|cipher| cipher.contains("TLS")));
        assert_eq!(connection.rows("SELECT id, c FROM sbtest1").unwrap().len(), 10_000);
        let socket = cluster.primary().socket().unwrap();
        let local = Target { address: Address::Unix(socket), ..target };
        let mut connection = Connection::open(&local, &Patience::default()).unwrap();
        assert_eq!(connection.first("SELECT @@server_id").unwrap().as_deref(), Some("1"), "{flavor}");
        assert_eq!(connection.cipher(), None);
    }
}
