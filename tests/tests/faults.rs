//! What breaks, and what clients notice of it: servers that die, hang or are missing, wrong configurations, and
//! Telamon's own end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use integration_tests::raw::{Client, Login};
use integration_tests::{
    Schema, Telamon, new_cluster, on_each_server, root, wait_for, wait_for_replicas, who_answers,
};
use telamon_bench::lab::{Cluster, Server};

const PRIMARY: u32 = 1;
const SOON: Duration = Duration::from_secs(20);
/// Faults are to be noticed quickly; a replica that only has little of the machine is none.
const WATCH: &str = "[monitor]\ninterval_ms = 100\ntimeout_ms = 1000\n[pool]\nconnect_timeout_ms = 1000\n\
                     [routing]\nconsistency_wait_ms = 10000\nprimary_wait_ms = 700\n";

/// The cluster of this file, for one test at a time, with all its servers running.
fn breakable() -> MutexGuard<'static, Cluster> {
    static CLUSTER: OnceLock<Mutex<Cluster>> = OnceLock::new();
    let cluster =
        CLUSTER.get_or_init(|| Mutex::new(new_cluster())).lock().unwrap_or_else(PoisonError::into_inner);
    // A test that failed may have left them as they are not to be.
    for server in cluster.servers().iter().filter(|server| server.is_running()) {
        server.resume().expect("it runs");
    }
    let ended: Vec<&Server> = cluster.servers().iter().filter(|server| !server.is_running()).collect();
    on_each_server(&ended, Server::start);
    wait_for_replicas(&cluster);
    cluster
}

fn kill(server: &Server) {
    on_each_server(&[server], Server::kill);
}

fn start(server: &Server) {
    on_each_server(&[server], Server::start);
}

/// Reads on many sessions until `broken` has happened and `after` more reads were answered; none may fail.
fn read_through(telamon: &Telamon, after: u32, broken: impl FnOnce()) {
    let is_broken = AtomicBool::new(false);
    thread::scope(|scope| {
        let (is_broken, readers) = (&is_broken, 8);
        let mut running = Vec::new();
        for _ in 0..readers {
            running.push(scope.spawn(move || {
                let mut client = telamon.connect(&Login::default());
                let mut left = after;
                while left > 0 {
                    assert_eq!(client.query("SELECT COUNT(*) FROM whoami.t").text(), "1");
                    left -= u32::from(is_broken.load(Ordering::Relaxed));
                }
            }));
        }
        broken();
        is_broken.store(true, Ordering::Relaxed);
        for reader in running {
            reader.join().expect("no read failed");
        }
    });
}

#[test]
fn reads_go_on_without_an_error_when_a_replica_is_killed() {
    let cluster = breakable();
    let telamon = Telamon::in_front_of(&cluster, WATCH);
    let mut watching: Vec<Client> = (0..6).map(|_| telamon.connect(&Login::default())).collect();
    for client in &mut watching {
        who_answers(client);
    }
    let replica = &cluster.replicas()[0];
    read_through(&telamon, 200, || kill(replica));
    for client in &mut watching {
        assert_eq!(who_answers(client), 3, "idle sessions of the dead replica go to the other");
    }
    assert_eq!(
        telamon.log_lines("replica1").iter().filter(|line| line.contains("does not answer")).count(),
        1
    );
    start(replica);
    wait_for("the replica is used again", SOON, || {
        (who_answers(&mut telamon.connect(&Login::default())) == 2).then_some(())
    });
}

#[test]
fn without_replicas_the_primary_answers_reads_unless_that_is_forbidden() {
    let cluster = breakable();
    let telamon = Telamon::in_front_of(&cluster, WATCH);
    let strict = Telamon::in_front_of(&cluster, &format!("{WATCH}fallback = \"error\"\n"));
    let replicas: Vec<&Server> = cluster.replicas().iter().collect();
    let mut strict_client = strict.connect(&Login::default());
    assert_ne!(who_answers(&mut strict_client), PRIMARY);
    read_through(&telamon, 50, || on_each_server(&replicas, Server::kill));
    assert_eq!(who_answers(&mut telamon.connect(&Login::default())), PRIMARY);
    let error = strict_client.query("SELECT id FROM whoami.t").error().expect("nobody may answer");
    assert_eq!(error.code, 1105);
    assert!(error.message.contains("routing.fallback"), "{error}");
    strict_client.query("DO 1").expect_ok();
    on_each_server(&replicas, Server::start);
    wait_for("replicas answer again, in the same session", SOON, || {
        let reply = strict_client.query("SELECT id FROM whoami.t");
        reply.error().is_none().then(|| assert_ne!(reply.number::<u32>(), PRIMARY))
    });
}

#[test]
fn a_replica_that_hangs_is_left() {
    let cluster = breakable();
    let telamon = Telamon::in_front_of(&cluster, WATCH);
    let mut clients: Vec<Client> = (0..4).map(|_| telamon.connect(&Login::default())).collect();
    for client in &mut clients {
        who_answers(client);
    }
    let replica = &cluster.replicas()[1];
    replica.suspend().expect("it runs");
    let gone = |line: &String| line.contains("replica2") && line.contains("does not answer");
    wait_for("the monitor sees it", SOON, || telamon.log_lines("WARN").into_iter().find(gone));
    for client in &mut clients {
        assert_eq!(who_answers(client), 2);
    }
    replica.resume().expect("it runs");
    wait_for("it is used again", SOON, || {
        (who_answers(&mut telamon.connect(&Login::default())) == 3).then_some(())
    });
}

#[test]
fn a_server_that_is_missing_at_start_is_warned_of_and_used_once_it_is_there() {
    let cluster = breakable();
    let replica = &cluster.replicas()[0];
    kill(replica);
    let telamon = Telamon::in_front_of(&cluster, WATCH);
    let mut client = telamon.connect(&Login::default());
    assert_eq!(who_answers(&mut client), 3);
    let warning = wait_for("a warning", SOON, || telamon.log_lines("replica1").pop());
    assert!(warning.contains("WARN"), "{warning}");
    start(replica);
    wait_for("the replica is used", SOON, || {
        (who_answers(&mut telamon.connect(&Login::default())) == 2).then_some(())
    });
}

#[test]
fn without_a_primary_at_start_reads_are_answered_and_writes_wait_for_it() {
    let cluster = breakable();
    kill(cluster.primary());
    let telamon = Telamon::in_front_of(&cluster, &WATCH.replace("= 700", "= 60000"));
    let mut client = telamon.connect(&Login::default());
    assert_ne!(who_answers(&mut client), PRIMARY);
    let writer = thread::spawn(move || client.query("CREATE DATABASE IF NOT EXISTS waited").error());
    assert_ne!(who_answers(&mut telamon.connect(&Login::default())), PRIMARY);
    start(cluster.primary());
    assert_eq!(writer.join().expect("it does not panic"), None, "the write was done when the primary came");
}

#[test]
fn without_a_primary_reads_go_on_and_a_write_gets_1836_after_its_wait() {
    let cluster = breakable();
    let telamon = Telamon::in_front_of(&cluster, WATCH);
    let mut client = telamon.connect(&Login::default());
    let mut fresh = telamon.connect(&Login::default());
    client.query("DO 1").expect_ok();
    who_answers(&mut client);
    read_through(&telamon, 50, || kill(cluster.primary()));
    for client in [&mut client, &mut fresh] {
        assert_ne!(who_answers(client), PRIMARY);
        let begin = Instant::now();
        let error = client.query("CREATE DATABASE never").error().expect("there is no primary");
        assert_eq!((error.code, error.sql_state.as_str()), (1836, "HY000"), "{error}");
        assert!(error.message.contains("primary"), "{error}");
        let waited = begin.elapsed();
        assert!((Duration::from_millis(500)..Duration::from_secs(5)).contains(&waited), "waited {waited:?}");
        assert_ne!(who_answers(client), PRIMARY, "the session goes on");
    }
    assert_ne!(who_answers(&mut telamon.connect(&Login::default())), PRIMARY, "and new ones begin");
    start(cluster.primary());
    for mut client in [client, fresh] {
        wait_for("writes are done again", SOON, || client.query("DO 1").error().is_none().then_some(()));
    }
}

/// Ends all connections of the application on a server, as its operator would.
fn kill_connections(server: &Server) {
    root(server).query("KILL USER app").expect_ok();
}

#[test]
fn a_backend_connection_lost_while_idle_is_replaced() {
    let cluster = breakable();
    let schema = Schema::on(&cluster);
    let telamon = Telamon::in_front_of(&cluster, WATCH);
    let mut client = telamon.connect(&schema.login());
    client.query("CREATE TABLE t (id INT)").expect_ok();
    client.query("SET time_zone = '+02:00', sql_mode = 'ANSI_QUOTES'").expect_ok();
    let id = client.prepare("SELECT COUNT(*) FROM t");
    who_answers(&mut client);
    for _ in 0..3 {
        cluster.servers().iter().for_each(kill_connections);
        assert_ne!(who_answers(&mut client), PRIMARY);
        client.query("INSERT INTO t VALUES (1)").expect_ok();
        let state = [Some("1970-01-01 02:00:00".to_owned()), Some(schema.name.clone())];
        for hint in ["", "/*primary*/"] {
            let reply = client.query(&format!("{hint} SELECT FROM_UNIXTIME(0), DATABASE() AS \"now\""));
            assert_eq!(reply.rows(), [&state[..]]);
        }
        client.execute(id, &[]).expect_ok();
    }
}

#[test]
fn a_transaction_or_a_lock_that_is_lost_with_its_connection_is_told() {
    let cluster = breakable();
    let schema = Schema::on(&cluster);
    schema.run(&["CREATE TABLE t (id INT)"]);
    let telamon = Telamon::in_front_of(&cluster, WATCH);
    for hold in [
        &["BEGIN", "INSERT INTO t VALUES (1)"][..],
        &["SELECT GET_LOCK('held', 0)"],
        &["CREATE TEMPORARY TABLE mine (id INT)"],
        &["LOCK TABLES t WRITE"],
        &["SET autocommit = 0", "INSERT INTO t VALUES (1)"],
    ] {
        let mut client = telamon.connect(&schema.login());
        for statement in hold {
            client.query(statement).expect_ok();
        }
        kill_connections(cluster.primary());
        match client.try_query("INSERT INTO t VALUES (2)") {
            Ok(reply) => assert!(matches!(reply.code(), 2006 | 2013 | 1927), "{hold:?}: {:?}", reply.error()),
            Err(error) => panic!("{hold:?}: closed without an ERR packet: {error}"),
        }
        assert!(client.is_closed(), "{hold:?}: the session is over");
    }
    assert_eq!(root(cluster.primary()).query(&format!("SELECT COUNT(*) FROM {}.t", schema.name)).text(), "0");
}

#[test]
fn a_write_whose_server_dies_is_not_run_again() {
    let cluster = breakable();
    let schema = Schema::on(&cluster);
    schema.run(&["CREATE TABLE t (id INT)"]);
    let telamon = Telamon::in_front_of(&cluster, &WATCH.replace("= 700", "= 30000"));
    let mut client = telamon.connect(&schema.login());
    client.query("DO 1").expect_ok();
    let writer = thread::spawn(move || client.try_query("INSERT INTO t SELECT SLEEP(30)"));
    let mut watch = root(cluster.primary());
    let running = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'INSERT INTO t%'";
    wait_for("the write runs", SOON, || (watch.query(running).number::<u32>() == 1).then_some(()));
    kill(cluster.primary());
    let reply = writer.join().expect("it does not panic").expect("an ERR packet, not a closed socket");
    assert_eq!(reply.code(), 2013);
    start(cluster.primary());
    let mut root = root(cluster.primary());
    assert_eq!(root.query(running).text(), "0");
    assert_eq!(root.query(&format!("SELECT COUNT(*) FROM {}.t", schema.name)).text(), "0");
}

/// The server that runs a statement like this.
fn runs<'a>(cluster: &'a Cluster, like: &str) -> &'a Server {
    let running = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '{like}'");
    let runs = |server: &&Server| root(server).query(&running).number::<u32>() == 1;
    wait_for("the statement runs", SOON, || cluster.servers().iter().find(runs))
}

#[test]
fn a_read_whose_server_dies_before_it_answered_runs_elsewhere() {
    let cluster = breakable();
    let telamon = Telamon::in_front_of(&cluster, WATCH);
    let mut client = telamon.connect(&Login::default());
    let reader = thread::spawn(move || client.query("SELECT id, SLEEP(3) FROM whoami.t"));
    let replica = runs(&cluster, "SELECT id, SLEEP%");
    kill(replica);
    let answered: u32 = reader.join().expect("it does not panic").number();
    assert!(answered != replica.server_id(), "answered by {answered}");
}

#[test]
fn half_a_result_is_never_followed_by_rows_of_another_server() {
    let cluster = breakable();
    let telamon = Telamon::in_front_of(&cluster, WATCH);
    let mut client = telamon.connect(&Login::default());
    client.send(b"\x03SELECT seq, REPEAT('x', 1000) FROM whoami.seq_1_to_1000000").unwrap();
    for _ in 0..1000 {
        client.read_packet().unwrap();
    }
    kill(runs(&cluster, "SELECT seq, REPEAT%"));
    let mut rows = 1000;
    let end = loop {
        match client.read_packet() {
            Ok(packet) if packet.payload.first() == Some(&0xFF) => break Some(packet),
            Ok(_) => rows += 1,
            Err(_) => break None,
        }
    };
    assert!(rows < 1_000_000, "the result was cut");
    if let Some(packet) = end {
        let error = integration_tests::raw::ServerError::parse(&packet.payload).expect("an ERR packet");
        assert_eq!(error.code, 2013, "{error}");
    }
}

#[test]
fn a_statement_longer_than_the_servers_max_allowed_packet_is_told() {
    let cluster = breakable();
    let schema = Schema::on(&cluster);
    let telamon = Telamon::in_front_of(&cluster, WATCH);
    let mut root = root(cluster.primary());
    root.query("SET GLOBAL max_allowed_packet = 1048576").expect_ok();
    for length in [1_200_000, 3_000_000, 12_000_000] {
        let mut client = telamon.connect(&schema.login());
        let reply = client.try_query(&format!("DO LENGTH('{}')", "x".repeat(length)));
        // The server says 1153 and closes while the statement still comes in; its word may be lost in that.
        let code = reply.expect("an ERR packet, not a closed socket").code();
        assert!(matches!(code, 1153 | 2013), "{length}: {code}");
    }
    root.query("SET GLOBAL max_allowed_packet = 1073741824").expect_ok();
    telamon.connect(&schema.login()).query("DO 1").expect_ok();
}
