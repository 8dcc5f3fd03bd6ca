//! telamon-bench beside the program whose workloads it repeats, and in front of real servers.

use std::process::Command;
use std::time::Duration;

use integration_tests::program::{installed, run};
use integration_tests::{Schema, cluster};
use telamon_bench::ab::{self, Contender, Effort, Setting};
use telamon_bench::client::{Connection, Patience};
use telamon_bench::driver::{Driver, Slice};
use telamon_bench::plan::{Plan, Tables};
use telamon_bench::schema;
use telamon_bench::stats::Verdict;
use telamon_bench::target::Target;
use telamon_bench::workload::Kind;

/// Workloads that both programs have.
const SHARED: [Kind; 10] = [
    Kind::OltpPointSelect,
    Kind::OltpReadOnly,
    Kind::OltpReadWrite,
    Kind::OltpWriteOnly,
    Kind::OltpUpdateIndex,
    Kind::OltpUpdateNonIndex,
    Kind::OltpInsert,
    Kind::SelectRandomPoints,
    Kind::SelectRandomRanges,
    Kind::OltpDelete,
];

const TABLES: Tables = Tables { count: 1, size: 1000 };

fn target(schema: &Schema<'_>) -> Target {
    let target = Target::lab("primary", cluster().primary().address());
    Target { schema: Some(schema.name.clone()), ..target }
}

/// sysbench on the shared cluster's primary.
fn sysbench(workload: Kind, schema: &Schema<'_>, arguments: &[&str]) -> String {
    let address = cluster().primary().address();
    let mut command = Command::new("sysbench");
    command.arg(workload.name()).args([
        format!("--mysql-host={}", address.ip()),
        format!("--mysql-port={}", address.port()),
        "--mysql-user=app".to_owned(),
        "--mysql-password=app".to_owned(),
        format!("--mysql-db={}", schema.name),
        format!("--tables={}", TABLES.count),
        format!("--table-size={}", TABLES.size),
    ]);
    run(command.args(arguments))
}

/// Events that this driver completes in a run of its own.
fn own_events(target: &Target, workload: Kind) -> u64 {
    let plan = Plan { tables: TABLES, threads: 2, ..Plan::new(workload) };
    let mut driver = Driver::connect(target, &plan, &Patience::default()).expect("the target is up");
    let slice = Slice { number: 1, time: Duration::ZERO, events: 20, interval: Duration::from_secs(1) };
    let outcome = driver.run(&plan, slice, |_| ());
    driver.disconnect();
    assert!(outcome.failure.is_none(), "{workload:?}: {:?}", outcome.failure);
    outcome.sample.counts.events
}

#[test]
fn each_program_runs_on_the_tables_that_the_other_prepared() {
    if installed(&["sysbench"]).is_none() {
        return; // CI installs it
    }
    let (theirs, ours) = (Schema::new(), Schema::new());
    sysbench(Kind::OltpReadWrite, &theirs, &["prepare"]);
    let plan = Plan { tables: TABLES, ..Plan::new(Kind::OltpReadWrite) };
    schema::prepare(&target(&ours), &plan, &Patience::default(), &|_| ()).unwrap();
    let definition = |schema: &Schema<'_>| {
        let mut connection = Connection::open(&target(schema), &Patience::default()).unwrap();
        connection.rows("SHOW CREATE TABLE sbtest1").unwrap()
    };
    assert_eq!(definition(&theirs), definition(&ours));
    for workload in SHARED {
        // An insert of both may meet the same id by chance; the deletes are last, for they leave holes.
        let events = own_events(&target(&theirs), workload);
        assert!(events >= 15, "{workload:?}: {events}");
        let said = sysbench(workload, &ours, &["--events=20", "--time=0", "--threads=2", "run"]);
        assert!(said.contains("total number of events:              20"), "{said}");
    }
}

/// Direct against direct, on a real server: the same must not look different. By chance an interval misses 1 once in
/// twenty tries; three of six would be once in five hundred runs.
#[test]
fn a_server_against_itself_shows_no_difference() {
    let schema = Schema::new();
    let target = target(&schema);
    let plan = Plan { tables: TABLES, threads: 4, ..Plan::new(Kind::OltpReadOnly) };
    schema::prepare(&target, &plan, &Patience::default(), &|_| ()).expect("the schema is ours");
    let same = (0..6).filter(|number| {
        let mut plan = plan.clone();
        plan.rand.seed = *number;
        let mut contenders =
            ["a", "b"].map(|name| Contender::new(Target { name: name.into(), ..target.clone() }, None));
        let setting = Setting {
            plan: &plan,
            effort: Effort {
                max_time: Duration::from_millis(3200),
                precision: None,
                slice: Duration::from_millis(80),
            },
            patience: &Patience::default(),
            counters: None,
            server_pids: Vec::new(),
            strict: true,
            watch: &mut |_| (),
        };
        let run = ab::run(&mut contenders, setting).expect("the server is up");
        assert_eq!(run.ended_early, None);
        run.comparisons[0].verdict == Verdict::NoDifference
    });
    let same = same.count();
    assert!(same >= 4, "{same} of 6");
}
