//! The measuring part against real counters.

use super::*;
use crate::lab::Program;

/// Embedded servers always, MariaDB where it is installed: the servers must have counted what the driver sent.
#[tokio::test(flavor = "multi_thread")]
async fn the_servers_count_what_the_driver_sends() {
    let real = [Flavor::MariaDb].into_iter().filter(|flavor| Program::find(*flavor).is_ok());
    for flavor in real.chain([Flavor::Embedded]) {
        let cluster = Cluster::start(flavor, Options::default()).await.unwrap();
        let target = Target::lab("primary", cluster.primary().address());
        let tables = Tables { count: 2, size: 500 };
        prepare(&target, tables).unwrap();
        let mut counters = Counters::connect(&cluster).await.unwrap();
        for (kind, skip_trx) in WORKLOADS {
            let time = Duration::from_millis(400);
            let plan =
                Plan { skip_trx, tables, threads: 2, time, ps_mode: PsMode::Disable, ..Plan::new(kind) };
            let mut first = Driver::connect(&target, &plan, &Patience::default()).unwrap();
            let mut second = Driver::connect(&target, &plan, &Patience::default()).unwrap();
            let measured = measure::measure(&plan, &mut first, &mut second, &mut counters).await.unwrap();
            for side in [&measured.proxy, &measured.direct] {
                assert!(side.sample.counts.events > 0);
                // A server counts a statement when it is over, which is after its reply: of each thread's last one it may
                // not have done so when it is asked.
                let (received, sent) = (side.received[0], side.sent());
                let late = received.reads.abs_diff(sent.reads) + received.writes.abs_diff(sent.writes);
                assert!(late <= 2, "{flavor} {}: {received:?} of {sent:?}", plan.name());
                assert_eq!(side.received[1..], [split::Counts::default(); 2], "{flavor} {}", plan.name());
            }
        }
        schema::cleanup(&target, tables, &Patience::default()).unwrap();
    }
}
