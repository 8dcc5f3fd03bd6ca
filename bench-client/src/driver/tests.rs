//! The driver against embedded servers.

use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::*;
use crate::client::ClientError;
use crate::lab::{Cluster, Flavor, Options};
use crate::plan::{IgnoreErrors, PsMode, Tables};
use crate::workload::Kind;

/// Does what the lab does asynchronously while the driver's thread waits.
fn at_once<T: Send, E: std::fmt::Debug + Send>(action: impl Future<Output = Result<T, E>> + Send) {
    let run = || tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(action).map(drop);
    thread::scope(|scope| scope.spawn(run).join()).unwrap().unwrap();
}

async fn start() -> (Cluster, Target) {
    let cluster = Cluster::start(Flavor::Embedded, Options::default()).await.unwrap();
    let target = Target::lab("direct", cluster.primary().address());
    (cluster, target)
}

fn plan(kind: Kind) -> Plan {
    let mut plan = Plan::new(kind);
    plan.tables = Tables { count: 2, size: 500 };
    plan.threads = 2;
    plan.mix.clients = 10;
    plan
}

fn slice(time: Duration, events: u64) -> Slice {
    Slice { number: 1, time, events, interval: Duration::from_millis(200) }
}

fn prepare(target: &Target, plan: &Plan) {
    crate::schema::prepare(target, plan, &Patience::default(), &|_| ()).unwrap();
}

fn run(target: &Target, plan: &Plan, slice: Slice) -> Outcome {
    let mut driver = Driver::connect(target, plan, &Patience::default()).unwrap();
    let outcome = driver.run(plan, slice, |_| ());
    driver.disconnect();
    outcome
}

#[tokio::test]
async fn every_workload_runs_as_text_and_prepared_and_counts_what_it_sends() {
    let (_cluster, target) = start().await;
    for kind in Kind::ALL {
        for ps_mode in [PsMode::Auto, PsMode::Disable] {
            let plan = Plan { ps_mode, ..plan(kind) };
            prepare(&target, &plan);
            let Outcome { sample, failure } = run(&target, &plan, slice(Duration::ZERO, 40));
            assert!(failure.is_none(), "{kind:?}: {failure:?}");
            let counts = sample.counts;
            assert_eq!((counts.events, sample.latency.count()), (40, 40), "{kind:?}");
            let (reads, writes, others) = match kind {
                Kind::OltpReadWrite => (14, 4, 2),
                Kind::OltpReadOnly => (14, 0, 2),
                Kind::OltpWriteOnly => (0, 4, 2),
                Kind::OltpInsert | Kind::OltpDelete => (0, 1, 0),
                Kind::OltpUpdateIndex | Kind::OltpUpdateNonIndex => (0, 1, 0),
                _ => (1, 0, 0),
            };
            let sent = (counts.reads, counts.writes, counts.others);
            assert_eq!(sent, (40 * reads, 40 * writes, 40 * others), "{kind:?}");
            assert_eq!(sample.threads.iter().map(|(events, _)| events).sum::<u64>(), 40, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn intervals_add_up_to_the_whole() {
    let (_cluster, target) = start().await;
    let plan = plan(Kind::OltpPointSelect);
    prepare(&target, &plan);
    let mut driver = Driver::connect(&target, &plan, &Patience::default()).unwrap();
    let seen = Mutex::new(Vec::new());
    let outcome =
        driver.run(&plan, slice(Duration::from_secs(1), 0), |i| seen.lock().unwrap().push(i.clone()));
    let seen = seen.into_inner().unwrap();
    assert!((4..=6).contains(&seen.len()), "{}", seen.len());
    let sum: u64 = seen.iter().map(|interval| interval.counts.events).sum();
    assert_eq!(sum, outcome.sample.counts.events);
    assert!(seen.iter().all(|interval| interval.length >= Duration::from_millis(100)));
    assert!(outcome.sample.elapsed < Duration::from_millis(1500));
}

#[tokio::test]
async fn an_open_loop_shows_the_stall_that_a_closed_loop_hides() {
    let (cluster, target) = start().await;
    let mut plan = plan(Kind::OltpPointSelect);
    prepare(&target, &plan);
    let p99_with_a_stall = |plan: &Plan| {
        let mut driver = Driver::connect(&target, plan, &Patience::default()).unwrap();
        let mut intervals = 0;
        thread::scope(|scope| {
            let outcome = driver.run(plan, slice(Duration::from_secs(3), 0), |_| {
                intervals += 1;
                if intervals == 3 {
                    cluster.primary().suspend().unwrap();
                    scope.spawn(|| {
                        thread::sleep(Duration::from_secs(1));
                        cluster.primary().resume().unwrap();
                    });
                }
            });
            assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
            assert!(outcome.sample.latency.max_ms() > 900.0);
            (outcome.sample.latency.percentile_ms(95.0), outcome.sample.counts.events)
        })
    };
    let (closed, _) = p99_with_a_stall(&plan);
    plan.rate = 300;
    let (open, events) = p99_with_a_stall(&plan);
    assert!(closed < 100.0, "a closed loop sends nothing while it waits: p95 {closed} ms");
    // A third of the time is the stall: the events due in its first half waited for more than half of it.
    assert!(open > 500.0, "p95 {open} ms");
    assert!((700..1100).contains(&events), "{events}");
}

#[tokio::test]
async fn events_that_were_never_begun_are_told_with_their_wait() {
    let (cluster, target) = start().await;
    let mut plan = plan(Kind::OltpPointSelect);
    prepare(&target, &plan);
    plan.rate = 1000;
    let mut driver = Driver::connect(&target, &plan, &Patience::default()).unwrap();
    cluster.primary().suspend().unwrap();
    let sample = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(700));
            cluster.primary().resume().unwrap();
        });
        driver.run(&plan, slice(Duration::from_millis(400), 0), |_| ()).sample
    });
    assert!(sample.late > 200, "{}", sample.late);
    assert!(sample.latency.count() > sample.counts.events);
}

#[tokio::test]
async fn a_target_that_refuses_dies_or_lacks_the_tables_is_named_with_the_mend() {
    let (cluster, target) = start().await;
    let plan = plan(Kind::OltpPointSelect);
    let line = |target: &Target| {
        let error = match Driver::connect(target, &plan, &Patience::default()) {
            Err(error) => error,
            Ok(mut driver) => driver.run(&plan, slice(Duration::from_secs(1), 0), |_| ()).failure.unwrap(),
        };
        let line = error.to_string();
        assert!(line.contains("direct") && !line.contains('\n'), "{line}");
        line
    };
    assert!(line(&target).contains("telamon-bench prepare"));
    prepare(&target, &plan);
    let missing = without_table(&target);
    assert!(missing.contains("telamon-bench prepare"), "{missing}");
    prepare(&target, &plan);
    let wrong = Target { password: "wrong".into(), ..target.clone() };
    assert!(line(&wrong).contains("check user and password"));

    let mut driver = Driver::connect(&target, &plan, &Patience::default()).unwrap();
    let mut intervals = 0;
    let outcome = driver.run(&plan, slice(Duration::from_secs(20), 0), |_| {
        intervals += 1;
        if intervals == 2 {
            at_once(cluster.primary().kill());
        }
    });
    let failure = outcome.failure.unwrap();
    assert!(matches!(failure.cause(), ClientError::Lost(_)), "{failure}");
    assert!(outcome.sample.counts.events > 0, "what was measured is kept");
    assert!(line(&target).contains("is the server up"));
}

/// The failure of a run whose second table is gone.
fn without_table(target: &Target) -> String {
    let mut connection = crate::client::Connection::open(target, &Patience::default()).unwrap();
    connection.query("DROP TABLE sbtest2").unwrap();
    let text = Plan { ps_mode: PsMode::Disable, ..plan(Kind::OltpPointSelect) };
    run(target, &text, slice(Duration::from_secs(5), 0)).failure.unwrap().to_string()
}

#[tokio::test]
async fn a_lost_connection_is_made_anew_where_that_is_passed_over() {
    let (cluster, target) = start().await;
    let plan = Plan { ignore_errors: IgnoreErrors::All, ..plan(Kind::OltpPointSelect) };
    prepare(&target, &plan);
    let mut driver = Driver::connect(&target, &plan, &Patience::default()).unwrap();
    let mut intervals = 0;
    let outcome = driver.run(&plan, slice(Duration::from_millis(1200), 0), |_| {
        intervals += 1;
        if intervals == 2 {
            at_once(cluster.primary().kill());
            at_once(cluster.primary().start());
        }
    });
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    let counts = outcome.sample.counts;
    assert_eq!((counts.reconnects, counts.errors), (2, 2));
}

#[tokio::test]
async fn an_interruption_ends_a_run_and_keeps_what_was_measured() {
    let (_cluster, target) = start().await;
    let plan = plan(Kind::OltpPointSelect);
    prepare(&target, &plan);
    let patience = Patience::default();
    let mut driver = Driver::connect(&target, &plan, &patience).unwrap();
    let outcome = driver.run(&plan, slice(Duration::ZERO, 0), |_| {
        patience.stop.store(true, Ordering::Relaxed);
    });
    assert!(outcome.failure.is_none() && outcome.sample.counts.events > 0);
}
