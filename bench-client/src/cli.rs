//! The command line: arguments into calls, errors into words.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use indicatif::ProgressBar;
use telamon_bench::demo::{self, DemoOptions};
use telamon_bench::driver::Driver;
use telamon_bench::lab::Flavor;
use telamon_bench::plan::{Plan, Tables};
use telamon_bench::report::{Align, Table, thousands};
use telamon_bench::target::Target;
use telamon_bench::workload::Kind;
use telamon_bench::{background, schema};
use tokio::signal::unix::{SignalKind, signal};

/// Measures what Telamon costs: the same workload through the proxy and direct.
#[derive(Debug, Parser)]
#[command(version, about)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Throw-away cluster, tables, Telamon on 127.0.0.1:1234, proof of the split, cost; then all down again
    Demo(DemoArguments),
    /// The throw-away cluster alone, in the background
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Make and fill sysbench's tables on a target
    Prepare(TargetArguments),
    /// Run one workload on a target
    Run(RunArguments),
    /// Drop sysbench's tables on a target
    Cleanup(TargetArguments),
}

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    /// Start a primary and two replicas; they stay up until `cluster down`
    Up {
        /// What the servers are [default: the one that is up, else mariadb or mysql where installed, else embedded]
        #[arg(long, value_enum)]
        flavor: Option<FlavorName>,
    },
    /// End the cluster that is up
    Down,
    /// Show the cluster that is up; exit 1 where there is none
    Status,
    /// Hold a cluster in the foreground (what `up` starts in the background)
    #[command(hide = true)]
    Keep {
        #[arg(long, value_enum)]
        flavor: FlavorName,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FlavorName {
    Embedded,
    Mariadb,
    Mysql,
}

impl From<FlavorName> for Flavor {
    fn from(name: FlavorName) -> Flavor {
        match name {
            FlavorName::Embedded => Flavor::Embedded,
            FlavorName::Mariadb => Flavor::MariaDb,
            FlavorName::Mysql => Flavor::Mysql,
        }
    }
}

#[derive(Debug, Args)]
struct DemoArguments {
    /// What the servers are [default: mariadb or mysql where installed, else embedded]
    #[arg(long, value_enum)]
    flavor: Option<FlavorName>,
    /// The telamon program [default: beside this program, else in PATH]
    #[arg(long, value_name = "PATH")]
    telamon: Option<PathBuf>,
    /// Port on 127.0.0.1 that Telamon listens on
    #[arg(long, default_value_t = 1234)]
    port: u16,
    /// Seconds of measuring for each of the three workloads
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    time: u32,
    /// Connections on each side
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    threads: u32,
    #[command(flatten)]
    tables: TablesArguments,
    /// Leave cluster and Telamon up until Ctrl-C
    #[arg(long)]
    keep: bool,
}

#[derive(Debug, Clone, Copy, Args)]
struct TablesArguments {
    /// Number of tables
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    tables: u32,
    /// Rows in each table
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    table_size: u32,
}

impl From<TablesArguments> for Tables {
    fn from(arguments: TablesArguments) -> Tables {
        Tables { count: arguments.tables, size: arguments.table_size }
    }
}

#[derive(Debug, Args)]
struct TargetArguments {
    /// Where: mysql://USER:PASSWORD@HOST:PORT/SCHEMA, with NAME= before it if you like
    #[arg(long, value_name = "TARGET")]
    target: String,
    #[command(flatten)]
    tables: TablesArguments,
}

#[derive(Debug, Args)]
struct RunArguments {
    /// oltp_point_select or oltp_read_write
    #[arg(value_parser = workload)]
    workload: Kind,
    #[command(flatten)]
    on: TargetArguments,
    /// Connections
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    threads: u32,
    /// Seconds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    time: u32,
    /// No BEGIN and COMMIT: every statement is its own transaction
    #[arg(long)]
    skip_trx: bool,
    /// Where the random numbers begin
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn workload(name: &str) -> Result<Kind, String> {
    let known = Kind::ALL.map(Kind::name).join(", ");
    Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| format!("the workloads are {known}"))
}

/// Carries out a command; the error is its one line for the user.
pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    match arguments.command {
        Command::Demo(arguments) => run_demo(arguments).await,
        Command::Cluster(command) => run_cluster(command).await,
        Command::Prepare(arguments) => {
            let target = Target::parse(&arguments.target)?;
            let tables = Tables::from(arguments.tables);
            let bar = ProgressBar::new(u64::from(tables.count) * u64::from(tables.size));
            schema::prepare(&target.opts, tables, 1, |rows| bar.inc(u64::from(rows))).await?;
            bar.finish_and_clear();
            println!("prepared {} tables of {} rows on {}", tables.count, tables.size, target.name);
            Ok(ExitCode::SUCCESS)
        }
        Command::Run(arguments) => run_workload(arguments).await,
        Command::Cleanup(arguments) => {
            let target = Target::parse(&arguments.target)?;
            schema::cleanup(&target.opts, arguments.tables.into()).await?;
            println!("dropped {} tables on {}", arguments.tables.tables, target.name);
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn run_demo(arguments: DemoArguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let options = DemoOptions {
        flavor: arguments.flavor.map(Flavor::from),
        telamon: arguments.telamon,
        listen: SocketAddr::from(([127, 0, 0, 1], arguments.port)),
        time: Duration::from_secs(arguments.time.into()),
        threads: arguments.threads,
        tables: arguments.tables.into(),
        keep: arguments.keep,
    };
    let mut terminated = signal(SignalKind::terminate())?;
    // Being interrupted drops the demo where it stands, and with it Telamon, the servers and their files.
    tokio::select! {
        proved = demo::run(&options) => Ok(if proved? { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
        _ = tokio::signal::ctrl_c() => Ok(interrupted(options.keep)),
        _ = terminated.recv() => Ok(interrupted(options.keep)),
    }
}

/// With `--keep`, an interruption is the wanted end.
fn interrupted(keep: bool) -> ExitCode {
    println!("\nending cluster and Telamon");
    if keep { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn run_cluster(command: ClusterCommand) -> Result<ExitCode, Box<dyn std::error::Error>> {
    match command {
        ClusterCommand::Up { flavor } => {
            let state = background::up(flavor.map(Flavor::from))?;
            if flavor.is_none() && state.flavor == Flavor::Embedded.name() {
                println!("no mariadbd or mysqld found, so the servers are embedded.\n");
            }
            print!("{}", background::describe(&state));
        }
        ClusterCommand::Down => match background::down()? {
            true => println!("the cluster is down"),
            false => println!("no cluster is up"),
        },
        ClusterCommand::Status => match background::status()? {
            Some(state) => print!("{}", background::describe(&state)),
            None => {
                println!("no cluster is up");
                return Ok(ExitCode::FAILURE);
            }
        },
        // Its words go to the command that started it, which reads stdout.
        ClusterCommand::Keep { flavor } => {
            if let Err(error) = background::keep(flavor.into()).await {
                println!("{error}");
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn run_workload(arguments: RunArguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let target = Target::parse(&arguments.on.target)?;
    let plan = Plan {
        kind: arguments.workload,
        skip_trx: arguments.skip_trx,
        tables: arguments.on.tables.into(),
        threads: arguments.threads,
        time: Duration::from_secs(arguments.time.into()),
        seed: arguments.seed,
    };
    let mut driver = Driver::connect(&target, plan.threads).await?;
    let sample = driver.run(&plan, plan.time).await?;
    driver.disconnect().await;
    let seconds = sample.elapsed.as_secs_f64();
    let mut table = Table::new(&[(plan.name().as_str(), Align::Left), (target.name.as_str(), Align::Right)]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row("threads", plan.threads.to_string());
    row("seconds", format!("{seconds:.2}"));
    row("events", thousands(sample.events));
    row("reads", thousands(sample.reads));
    row("writes", thousands(sample.writes));
    row("ignored errors", thousands(sample.ignored));
    row("queries a second", format!("{:.1}", sample.queries_per_second()));
    for (name, quantile) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)] {
        row(&format!("event {name}, us"), thousands(sample.latency_us.value_at_quantile(quantile)));
    }
    print!("{table}");
    Ok(ExitCode::SUCCESS)
}
