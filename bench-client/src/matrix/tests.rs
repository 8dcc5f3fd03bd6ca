//! Settings of a real server.

use super::*;
use crate::lab::{Cluster, Flavor, Options, Program};
use crate::plan::Tables;
use crate::workload::Kind;

fn plan() -> Plan {
    Plan { tables: Tables { count: 1, size: 100 }, threads: 2, ..Plan::new(Kind::OltpUpdateIndex) }
}

fn trial(admin: &Target, axes: &[&str], i_know: bool) -> Trial {
    let axes = axes.iter().map(|text| text.parse().unwrap()).collect();
    Trial { admin: admin.clone(), axes, rounds: 2, slice: Duration::from_millis(100), i_know }
}

#[tokio::test]
async fn settings_are_tried_and_put_back_also_when_it_is_interrupted() {
    if Program::find(Flavor::MariaDb).is_err() {
        return;
    }
    let cluster = Cluster::start(Flavor::MariaDb, Options::default()).await.unwrap();
    let target = Target::lab("primary", cluster.primary().address());
    let admin = Target::lab_root(cluster.primary());
    let patience = Patience::default();
    crate::schema::prepare(&target, &plan(), &patience, &|_| ()).unwrap();
    let trial = trial(&admin, &["sync_binlog=1,0", "semi_sync=on,off"], false);
    let settings = || {
        let mut connection = Connection::open(&admin, &Patience::default()).unwrap();
        connection.rows("SELECT @@sync_binlog, @@rpl_semi_sync_master_enabled").unwrap()
    };
    let before = settings();
    let run_with = |patience: &Patience, say: &mut dyn FnMut(&str)| {
        run(&target, &plan(), &trial, patience, say).unwrap()
    };
    let found = run_with(&patience, &mut |_| ());
    assert_eq!((found.targets.len(), found.rounds.len(), found.comparisons.len()), (4, 2, 3));
    assert_eq!(found.targets[1].name, "sync_binlog=1 rpl_semi_sync_master_enabled=off");
    assert!(found.targets.iter().all(|target| target.total.writes > 0));
    assert_eq!(settings(), before);

    let found = run_with(&patience, &mut |_| patience.stop.store(true, Ordering::Relaxed));
    assert_eq!(found.ended_early.as_deref(), Some(crate::ab::INTERRUPTED));
    assert_eq!(settings(), before);
}

#[tokio::test]
async fn a_server_that_is_not_the_labs_and_a_setting_that_is_none_are_refused() {
    let cluster = Cluster::start(Flavor::Embedded, Options::default()).await.unwrap();
    let target = Target::lab("primary", cluster.primary().address());
    let admin = Target::lab_root(cluster.primary());
    let patience = Patience::default();
    let says = |i_know: bool| {
        let trial = trial(&admin, &["sync_binlog=1,0"], i_know);
        run(&target, &plan(), &trial, &patience, &mut |_| ()).unwrap_err().to_string()
    };
    // An embedded server has no data directory, so nothing shows that it is the lab's.
    assert!(says(false).contains("--i-know"), "{}", says(false));
    assert!(
        says(true).contains("has no setting sync_binlog") || says(true).contains("SHOW"),
        "{}",
        says(true)
    );
}
