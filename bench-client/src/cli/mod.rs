//! The command line: arguments into calls, errors into words.

mod ab;
mod matrix;
mod options;
mod output;
mod reports;
mod seeds;
mod slap;
mod work;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use telamon_bench::background;
use telamon_bench::client::Patience;
use telamon_bench::demo::{self, DemoOptions};
use telamon_bench::lab::Flavor;
use telamon_bench::plan::Tables;
use telamon_bench::report::Run;

pub(crate) use self::options::with_hyphens;

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
    Prepare(work::TablesArguments),
    /// Run one workload on a target
    Run(work::RunArguments),
    /// Run one workload on several targets in turns, and tell their difference with its uncertainty
    Ab(ab::AbArguments),
    /// Run mysqlslap's load: a number of queries by a number of clients, and how long all of them take
    Slap(slap::SlapArguments),
    /// Run one workload under each combination of server settings, which are put back at the end
    Matrix(matrix::MatrixArguments),
    /// Show published comparisons, and repeat their workload here with --run
    Seeds(seeds::SeedsArguments),
    /// Show stored reports, and write their picture page
    Report(reports::ReportArguments),
    /// Tell the difference of two stored reports
    Compare(reports::CompareArguments),
    /// Drop sysbench's tables on a target
    Cleanup(work::TablesArguments),
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
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    time: u32,
    /// Connections on each side
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    threads: u32,
    /// Number of tables
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    tables: u32,
    /// Rows in each table
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    table_size: u32,
    /// Where the report's page goes, with its figures beside it as .json [default: in the lab's directory]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Leave cluster and Telamon up until Ctrl-C
    #[arg(long)]
    keep: bool,
}

/// A command's one line for the user.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Carries out a command; the error is its one line for the user.
pub(crate) async fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    match arguments.command {
        Command::Demo(arguments) => run_demo(arguments).await,
        Command::Cluster(command) => run_cluster(command).await,
        Command::Prepare(arguments) => blocking(arguments, work::prepare).await,
        Command::Run(arguments) => blocking(arguments, work::run).await,
        Command::Ab(arguments) => blocking(arguments, ab::run).await,
        Command::Slap(arguments) => blocking(arguments, slap::run).await,
        Command::Matrix(arguments) => blocking(arguments, matrix::run).await,
        Command::Seeds(arguments) => blocking(arguments, seeds::run).await,
        Command::Report(arguments) => reports::report(&arguments),
        Command::Compare(arguments) => reports::compare(&arguments),
        Command::Cleanup(arguments) => blocking(arguments, work::cleanup).await,
    }
}

/// Runs what blocks beside the runtime, which goes on hearing signals.
async fn blocking<A: Send + 'static>(
    arguments: A,
    work: impl FnOnce(&A, &Patience) -> Result<ExitCode, Failure> + Send + 'static,
) -> Result<ExitCode, Failure> {
    let patience = output::interruptible()?;
    let work = move || work(&arguments, &patience);
    tokio::task::spawn_blocking(work).await.expect("a command does not panic")
}

/// A run that was cut short has failed, though what it measured is kept.
fn exit_code(run: &Run) -> ExitCode {
    match &run.ended_early {
        None => ExitCode::SUCCESS,
        Some(why) => {
            eprintln!("telamon-bench: {why}");
            ExitCode::FAILURE
        }
    }
}

async fn run_demo(arguments: DemoArguments) -> Result<ExitCode, Failure> {
    let options = DemoOptions {
        flavor: arguments.flavor.map(Flavor::from),
        telamon: arguments.telamon,
        listen: SocketAddr::from(([127, 0, 0, 1], arguments.port)),
        time: Duration::from_secs(arguments.time.into()),
        threads: arguments.threads,
        tables: Tables { count: arguments.tables, size: arguments.table_size },
        html: arguments.html,
        keep: arguments.keep,
    };
    let patience = output::interruptible()?;
    let proved = demo::run(&options, &patience).await?;
    Ok(if proved { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn run_cluster(command: ClusterCommand) -> Result<ExitCode, Failure> {
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
