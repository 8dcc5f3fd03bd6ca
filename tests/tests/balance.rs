//! Which server answers a read: shares by weight, the primary's among them, and sessions that stick to one.

use std::collections::BTreeMap;
use std::process::Command;
use std::thread;
use std::time::Duration;

use integration_tests::program::{installed, run};
use integration_tests::raw::{Client, Login};
use integration_tests::{Schema, Telamon, cluster, new_cluster, root, wait_for, who_answers};
use telamon_bench::lab::Cluster;

const PRIMARY: u32 = 1;

/// A Telamon with these weights of primary and replicas, and more of its own.
fn weighted(cluster: &Cluster, weights: [u32; 3], routing: &str) -> Telamon {
    Telamon::with(|port, _| {
        let mut weights = weights.iter();
        let toml = cluster.telamon_toml(port);
        let lines = toml.lines().filter(|line| !line.starts_with("weight")).map(|line| {
            match line.starts_with("role") {
                true => format!("{line}\nweight = {}\n", weights.next().expect("three servers")),
                false => format!("{line}\n"),
            }
        });
        lines.collect::<String>() + &format!("[routing]\n{routing}\n")
    })
}

/// How many of the session's next reads each server answers.
fn answers(client: &mut Client, reads: usize) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    for _ in 0..reads {
        *counts.entry(who_answers(client)).or_default() += 1;
    }
    counts
}

#[test]
fn weights_hold_exactly_for_one_session_too() {
    let telamon = weighted(cluster(), [0, 3, 1], "");
    let counts = answers(&mut telamon.connect(&Login::default()), 400);
    assert_eq!(counts.values().copied().collect::<Vec<_>>(), [300, 100]);
}

#[test]
fn a_primary_with_a_weight_takes_its_share_of_the_reads() {
    let telamon = weighted(cluster(), [1, 1, 1], "");
    let counts = answers(&mut telamon.connect(&Login::default()), 300);
    assert_eq!((counts.len(), counts[&PRIMARY]), (3, 100), "{counts:?}");
}

#[test]
fn a_session_that_sticks_reads_from_one_replica_alone() {
    let telamon = weighted(cluster(), [0, 1, 1], "stick = \"session\"");
    let mut clients: Vec<_> = (0..4).map(|_| telamon.connect(&Login::default())).collect();
    let of_each: Vec<_> = clients.iter_mut().map(|client| answers(client, 20)).collect();
    assert!(of_each.iter().all(|counts| counts.len() == 1), "{of_each:?}");
    assert!(
        of_each.iter().any(|counts| *counts != of_each[0]),
        "both replicas have their share: {of_each:?}"
    );
}

#[test]
fn the_busy_replica_is_spared_where_running_statements_count() {
    for balance in ["least_outstanding", "latency"] {
        let telamon = weighted(cluster(), [0, 1, 1], &format!("balance = \"{balance}\""));
        let mut sleeper = telamon.connect(&Login::default());
        let sleeper = thread::spawn(move || {
            sleeper.query("SELECT SLEEP(2), 'balance' FROM whoami.t").expect_ok().clone()
        });
        let running =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(2), \\'bal%'";
        let busy = wait_for("a replica is busy", Duration::from_secs(10), || {
            let runs =
                |server: &&telamon_bench::lab::Server| root(server).query(running).number::<u32>() == 1;
            cluster().servers().iter().find(runs).map(|server| server.server_id())
        });
        let mut client = telamon.connect(&Login::default());
        if balance == "latency" {
            answers(&mut client, 4); // both are tried once
        }
        let counts = answers(&mut client, 50);
        assert_eq!(counts.get(&busy), None, "{balance}: {counts:?}");
        sleeper.join().expect("it does not panic");
    }
}

#[test]
fn sysbench_point_selects_split_as_the_weights_say() {
    if installed(&["sysbench"]).is_none() {
        return eprintln!("skipped: sysbench is not installed");
    }
    let cluster = new_cluster();
    let schema = Schema::on(&cluster);
    let telamon = weighted(&cluster, [0, 3, 1], "");
    let sysbench = |command: &str, more: &[&str]| {
        let port = format!("--mysql-port={}", telamon.address.port());
        let schema = format!("--mysql-db={}", schema.name);
        let fixed =
            ["--mysql-host=127.0.0.1", "--mysql-user=app", "--mysql-password=app", "--table-size=1000"];
        run(Command::new("sysbench")
            .args(fixed)
            .args([&port, &schema])
            .args(more)
            .args(["oltp_point_select", command]))
    };
    sysbench("prepare", &[]);
    integration_tests::wait_for_replicas(&cluster);
    let selects = || -> Vec<u64> {
        let of = |server| root(server).query("SHOW GLOBAL STATUS LIKE 'Com_select'").rows()[0][1].clone();
        let servers = cluster.servers().iter();
        servers.map(|server| of(server).and_then(|value| value.parse().ok()).expect("a number")).collect()
    };
    let before = selects();
    sysbench("run", &["--skip-trx=on", "--db-ps-mode=disable", "--threads=8", "--events=8000", "--time=0"]);
    let counted: Vec<u64> = selects().iter().zip(before).map(|(after, before)| after - before).collect();
    let share = counted[1] as f64 / (counted[1] + counted[2]) as f64;
    assert!((0.74..0.76).contains(&share), "{counted:?}");
    assert!(counted[1] + counted[2] >= 8000 && counted[0] < 200, "{counted:?}");
}

#[test]
fn prepared_reads_are_balanced_too_and_prepared_where_they_run() {
    let telamon = weighted(cluster(), [0, 1, 1], "");
    let mut client = telamon.connect(&Login::default());
    let mut counts = BTreeMap::new();
    for _ in 0..40 {
        let id = client.prepare("SELECT id FROM whoami.t");
        let row = client.execute(id, &[]).packets[3].payload.clone();
        client.close_statement(id);
        *counts.entry(row[2]).or_insert(0) += 1;
    }
    assert_eq!(counts.values().copied().collect::<Vec<_>>(), [20, 20]);
}
