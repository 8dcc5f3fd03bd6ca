//! Reads see the writes that they must see, on replicas that are behind too.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use integration_tests::raw::{Client, Value};
use integration_tests::{
    Schema, Telamon, new_cluster, root, wait_for, wait_for_replicas, who_answers, within,
};
use telamon_bench::lab::Cluster;

const PRIMARY: u32 = 1;

/// A cluster for one test at a time, whose replicas replicate.
fn delayable() -> MutexGuard<'static, Cluster> {
    static CLUSTER: OnceLock<Mutex<Cluster>> = OnceLock::new();
    let cluster =
        CLUSTER.get_or_init(|| Mutex::new(new_cluster())).lock().unwrap_or_else(PoisonError::into_inner);
    replicate(&cluster, "START");
    wait_for_replicas(&cluster);
    cluster
}

/// Starts or stops what applies the primary's writes; they are received all the same.
fn replicate(cluster: &Cluster, how: &str) {
    for replica in cluster.replicas() {
        root(replica).query(&format!("{how} SLAVE SQL_THREAD")).expect_ok();
    }
}

fn with_mode(cluster: &Cluster, mode: &str) -> Telamon {
    Telamon::in_front_of(
        cluster,
        &format!("[routing]\nconsistency = \"{mode}\"\nconsistency_wait_ms = 200\n"),
    )
}

fn count(client: &mut Client) -> u32 {
    client.query("SELECT COUNT(*) FROM t").number()
}

#[test]
fn a_session_reads_its_own_writes_at_once() {
    let telamon = Telamon::start("");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let schema = Schema::new();
                let mut client = telamon.connect(&schema.login());
                client.query("CREATE TABLE t (id INT PRIMARY KEY)").expect_ok();
                let insert = client.prepare("INSERT INTO t VALUES (?)");
                for round in 0..50 {
                    client.query(&format!("INSERT INTO t VALUES ({})", 2 * round)).expect_ok();
                    assert_eq!(count(&mut client), 2 * round + 1);
                    client.execute(insert, &[Value::Number(i64::from(2 * round + 1))]).expect_ok();
                    assert_eq!(count(&mut client), 2 * round + 2);
                }
            });
        }
    });
}

#[test]
fn every_kind_of_write_is_seen_by_the_next_read() {
    let telamon = Telamon::start("");
    let schema = Schema::new();
    schema.run(&["CREATE PROCEDURE add_one() INSERT INTO t VALUES (0)"]);
    let mut client = telamon.connect(&schema.login());
    client.local_file = Some(b"1\n".to_vec());
    for (written, write) in (0..).zip([
        &["CREATE TABLE t (id INT)"][..],
        &["INSERT INTO t VALUES (1)"],
        &["BEGIN", "INSERT INTO t VALUES (1)", "COMMIT"],
        &["SET autocommit = 0", "INSERT INTO t VALUES (1)", "SET autocommit = 1"],
        &["SELECT 1; INSERT INTO t VALUES (1); SELECT 2"],
        &["LOAD DATA LOCAL INFILE 'x' INTO TABLE t"],
        &["START TRANSACTION", "INSERT INTO t VALUES (1)", "ALTER TABLE t COMMENT = 'commits'"],
        &["INSERT INTO t VALUES (1) RETURNING id"],
        &["CALL add_one()"],
    ]) {
        for statement in write {
            client.query(statement).expect_ok();
        }
        assert_eq!(count(&mut client), written, "after {write:?}");
        assert_ne!(who_answers(&mut client), PRIMARY, "after {write:?}");
    }
}

#[test]
fn with_replicas_that_are_behind_the_primary_shows_a_session_its_writes() {
    let cluster = delayable();
    let schema = Schema::on(&cluster);
    schema.run(&["CREATE TABLE t (id INT)"]);
    let telamon = with_mode(&cluster, "session");
    let mut writer = telamon.connect(&schema.login());
    let mut reader = telamon.connect(&schema.login());
    assert_eq!((count(&mut writer), count(&mut reader)), (0, 0));
    replicate(&cluster, "STOP");
    for written in 1..=3 {
        writer.query("INSERT INTO t VALUES (1)").expect_ok();
        let seen = within("a read that waits in vain", Duration::from_secs(3), || count(&mut writer));
        assert_eq!(seen, written);
    }
    // A replica that was waited for in vain is left alone for a while.
    wait_for("who has not written is served by a replica", Duration::from_secs(10), || {
        (count(&mut reader) == 0).then_some(())
    });
    let mut next = telamon.connect(&schema.login());
    assert_eq!(count(&mut next), 3, "a session begins with what was written before it");
    replicate(&cluster, "START");
    wait_for_replicas(&cluster);
    wait_for("the writer reads from replicas again", Duration::from_secs(10), || {
        (who_answers(&mut writer) != PRIMARY).then_some(())
    });
    assert_eq!((count(&mut writer), count(&mut reader)), (3, 3));
}

#[test]
fn global_consistency_shows_every_write_and_none_asks_for_nothing() {
    let cluster = delayable();
    let schema = Schema::on(&cluster);
    schema.run(&["CREATE TABLE t (id INT)"]);
    let (strict, lax) = (with_mode(&cluster, "global"), with_mode(&cluster, "none"));
    let (mut reader, mut writer) = (strict.connect(&schema.login()), strict.connect(&schema.login()));
    let mut lax = lax.connect(&schema.login());
    assert_eq!((count(&mut reader), count(&mut lax)), (0, 0));
    replicate(&cluster, "STOP");
    // Often: the writer may have its answer before another worker knows of the write.
    for written in 1..=50 {
        writer.query("INSERT INTO t VALUES (1)").expect_ok();
        assert_eq!(count(&mut reader), written);
        assert_eq!(count(&mut strict.connect(&schema.login())), written);
    }
    lax.query("INSERT INTO t VALUES (2)").expect_ok();
    assert_eq!(count(&mut lax), 0, "it did not ask for more");
    replicate(&cluster, "START");
    wait_for_replicas(&cluster);
    assert_eq!((count(&mut reader), count(&mut lax)), (51, 51));
}
