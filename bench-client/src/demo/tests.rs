//! The measuring part against real counters.

use super::*;
use crate::counters::ServerCounts;
use crate::lab::Program;

/// Embedded servers always, MariaDB and MySQL where they are installed: the servers must have counted what the driver
/// sent.
#[tokio::test(flavor = "multi_thread")]
async fn the_servers_count_what_the_driver_sends() {
    let real = [Flavor::MariaDb, Flavor::Mysql].into_iter().filter(|flavor| Program::find(*flavor).is_ok());
    for flavor in real.chain([Flavor::Embedded]) {
        let cluster = Cluster::start(flavor, Options::default()).await.unwrap();
        let target = Target::lab("primary", cluster.primary().address());
        let tables = Tables { count: 2, size: 500 };
        let patience = Patience::default();
        prepare(&target, tables, &patience).unwrap();
        for (kind, skip_trx) in WORKLOADS {
            let time = Duration::from_millis(1000);
            let plan = Plan { skip_trx, tables, threads: 2, time, ..Plan::new(kind) };
            let second = Target { name: "again".into(), ..target.clone() };
            let lab = Lab {
                contenders: [Contender::new(target.clone(), None), Contender::new(second, None)],
                counters: Counters::of_lab(&cluster, APP_USER, &patience).unwrap(),
                server_pids: Vec::new(),
            };
            let run = measure(&plan, lab, &patience).unwrap();
            assert_eq!(run.ended_early, None);
            let split = run.split.as_ref().unwrap();
            for (side, received) in run.targets.iter().zip(&split.counts) {
                let sent = side.total;
                assert!(sent.events > 0);
                // A server counts a statement when it is over, which is after its reply: of each thread's last one it may
                // not have done so when it is asked.
                let counted = received[0];
                let late = counted.reads.abs_diff(sent.reads) + counted.writes.abs_diff(sent.writes);
                assert!(late <= 8, "{flavor} {}: {counted:?} of {sent:?}", plan.name());
                assert_eq!(received[1..], [ServerCounts::default(); 2], "{flavor} {}", plan.name());
            }
        }
    }
}
