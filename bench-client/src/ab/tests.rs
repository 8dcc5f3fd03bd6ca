//! Targets in turns, on embedded servers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::*;
use crate::client::Connection;
use crate::lab::{Cluster, Flavor, Options};
use crate::plan::Tables;
use crate::workload::Kind;

async fn start() -> (Cluster, Target) {
    let cluster = Cluster::start(Flavor::Embedded, Options::default()).await.unwrap();
    let target = Target::lab("direct", cluster.primary().address());
    crate::schema::prepare(&target, &plan(), &Patience::default(), &|_| ()).unwrap();
    (cluster, target)
}

fn plan() -> Plan {
    Plan { tables: Tables { count: 1, size: 100 }, threads: 2, ..Plan::new(Kind::OltpReadOnly) }
}

fn effort(seconds: f64) -> Effort {
    Effort { max_time: Duration::from_secs_f64(seconds), precision: None, slice: Duration::from_millis(50) }
}

fn named(target: &Target, name: &str) -> Contender {
    Contender::new(Target { name: name.into(), ..target.clone() }, None)
}

/// Runs the two against each other.
fn run_of(
    contenders: &mut [Contender],
    effort: Effort,
    strict: bool,
    counters: Option<&mut Counters>,
) -> Result<Run, AbError> {
    let setting = Setting {
        plan: &plan(),
        effort,
        patience: &Patience::default(),
        counters,
        server_pids: Vec::new(),
        strict,
        watch: &mut |_| (),
    };
    run(contenders, setting)
}

#[tokio::test]
async fn a_target_against_itself_is_comparable_and_counted_alike() {
    let (cluster, target) = start().await;
    let mut counters = Counters::of_lab(&cluster, "app", &Patience::default()).unwrap();
    let mut contenders = [named(&target, "a"), named(&target, "b")];
    let run = run_of(&mut contenders, effort(1.6), true, Some(&mut counters)).unwrap();
    assert_eq!((run.ended_early, run.comparability.changed.len()), (None, 0));
    // Eight on a machine that has nothing else to do.
    assert!((3..=8).contains(&run.rounds.len()), "{}", run.rounds.len());
    let comparison = &run.comparisons[0];
    assert_eq!((comparison.baseline.as_str(), comparison.target.as_str()), ("a", "b"));
    assert!(comparison.throughput.low <= comparison.throughput.median);
    assert_eq!(comparison.latency.len(), 4);
    let split = run.split.unwrap();
    for (target, counts) in run.targets.iter().zip(&split.counts) {
        assert!(target.total.reads > 0 && target.intervals.len() >= 6);
        assert_eq!((counts[0].reads, counts[1].reads), (target.total.reads, 0), "{}", target.name);
    }
}

#[tokio::test]
async fn what_is_known_well_enough_ends_the_run() {
    let (_cluster, target) = start().await;
    let wide = Effort { precision: Some(0.9), ..effort(60.0) };
    let run = run_of(&mut [named(&target, "a"), named(&target, "b")], wide, false, None).unwrap();
    // Some 300 rounds would fit into the time.
    assert!((FEWEST_ROUNDS..40).contains(&run.rounds.len()), "{}", run.rounds.len());
}

#[tokio::test]
async fn strict_refuses_targets_with_other_servers_and_names_what_differs() {
    let (cluster, target) = start().await;
    let replica = Target { address: cluster.replicas()[0].address().into(), ..target.clone() };
    let mut contenders = [named(&target, "primary"), named(&replica, "replica")];
    let error = run_of(&mut contenders, effort(1.0), true, None).unwrap_err().to_string();
    assert!(error.contains("server of writes and transactions is 1 / 2"), "{error}");
    let run = run_of(&mut contenders, effort(0.4), false, None).unwrap();
    assert!(run.comparability.differences().count() > 0);
}

#[tokio::test]
async fn a_target_that_dies_leaves_what_was_measured() {
    let (_cluster, target) = start().await;
    let mut killer = Connection::open(&target, &Patience::default()).unwrap();
    let mut contenders = [named(&target, "a"), named(&target, "b")];
    let mut rounds = 0;
    let setting = Setting {
        plan: &plan(),
        effort: effort(20.0),
        patience: &Patience::default(),
        counters: None,
        server_pids: Vec::new(),
        strict: false,
        watch: &mut |progress| {
            if let Progress::Round { number, .. } = progress {
                rounds = number;
                if number == 3 {
                    killer.query("DROP TABLE sbtest1").unwrap();
                }
            }
        },
    };
    let run = run(&mut contenders, setting).unwrap();
    let why = run.ended_early.unwrap();
    assert!(why.contains("telamon-bench prepare") && !why.contains('\n'), "{why}");
    assert_eq!((run.rounds.len(), rounds), (3, 3));
    assert!(run.targets.iter().all(|target| target.total.events > 0));
}

#[tokio::test]
async fn an_interruption_ends_it_with_a_report() {
    let (_cluster, target) = start().await;
    let patience = Patience::default();
    let setting = Setting {
        plan: &plan(),
        effort: effort(60.0),
        patience: &patience,
        counters: None,
        server_pids: Vec::new(),
        strict: false,
        watch: &mut |progress| {
            if let Progress::Round { number: 2, .. } = progress {
                patience.stop.store(true, Ordering::Relaxed);
            }
        },
    };
    let run = run(&mut [named(&target, "a"), named(&target, "b")], setting).unwrap();
    assert_eq!((run.rounds.len(), run.ended_early.as_deref()), (2, Some(INTERRUPTED)));
}
