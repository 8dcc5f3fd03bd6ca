//! `slap`: mysqlslap's load.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use telamon_bench::client::Patience;
use telamon_bench::report::{Align, Table};
use telamon_bench::slap::{self, Load, SlapPlan, Timing};
use telamon_bench::target::{Target, Tls};

use super::Failure;

/// What `slap` takes.
#[derive(Debug, Args)]
pub(super) struct SlapArguments {
    /// NAME=mysql://USER:PASSWORD@HOST:PORT, once or more; several take turns
    #[arg(long = "target", value_name = "TARGET", required = true)]
    targets: Vec<String>,
    /// Encrypt the connections
    #[arg(long)]
    tls: bool,
    /// Clients at the same time; several numbers with commas are tried one after the other
    #[arg(long, value_delimiter = ',', default_value = "1,8,64", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    concurrency: Vec<u32>,
    /// Repetitions of each
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,
    /// Queries of all clients together
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    number_of_queries: u32,
    /// Rows of the table at the begin
    #[arg(long, default_value_t = 100)]
    auto_generate_sql_write_number: u32,
    /// Inserts and selects in turns, selects of all rows, or inserts
    #[arg(long, value_enum, default_value_t = LoadName::Mixed)]
    auto_generate_sql_load_type: LoadName,
    /// Where the random numbers begin
    #[arg(long, alias = "seed", default_value_t = 1)]
    rand_seed: u64,
    /// The result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LoadName {
    Mixed,
    Read,
    Write,
}

pub(super) fn run(arguments: &SlapArguments, patience: &Patience) -> Result<ExitCode, Failure> {
    let mut targets = Vec::new();
    for text in &arguments.targets {
        let mut target = Target::parse(text)?;
        if arguments.tls {
            target.tls = Tls::Required;
        }
        targets.push(target);
    }
    let plan = SlapPlan {
        concurrency: arguments.concurrency.clone(),
        iterations: arguments.iterations,
        queries: arguments.number_of_queries,
        rows: arguments.auto_generate_sql_write_number,
        load: match arguments.auto_generate_sql_load_type {
            LoadName::Mixed => Load::Mixed,
            LoadName::Read => Load::Read,
            LoadName::Write => Load::Write,
        },
        seed: arguments.rand_seed,
    };
    let timings = slap::run(&targets, &plan, patience, |target, clients, seconds| {
        if !arguments.json {
            println!("{target}: {clients} clients, {seconds:.3} s");
        }
    })?;
    if arguments.json {
        println!("{}", serde_json::json!({"plan": plan, "timings": timings}));
    } else {
        print!("\n{}", table(&timings, &plan, &targets[0].name));
    }
    let complete = timings.iter().map(|timing| timing.seconds.len()).sum::<usize>()
        == targets.len() * plan.concurrency.len() * plan.iterations as usize;
    Ok(if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn table(timings: &[Timing], plan: &SlapPlan, first: &str) -> Table {
    let mut table = Table::new(&[
        ("clients", Align::Right),
        ("queries each", Align::Right),
        ("target", Align::Left),
        ("average s", Align::Right),
        ("min s", Align::Right),
        ("max s", Align::Right),
        ("of the first", Align::Right),
    ]);
    for timing in timings {
        let same = |other: &&Timing| other.concurrency == timing.concurrency && other.target == first;
        let baseline = timings.iter().find(same).map(Timing::average);
        table.row([
            timing.concurrency.to_string(),
            (plan.queries / timing.concurrency).to_string(),
            timing.target.clone(),
            format!("{:.3}", timing.average()),
            format!("{:.3}", timing.min()),
            format!("{:.3}", timing.max()),
            baseline.map_or("-".to_owned(), |baseline| format!("{:.3}", timing.average() / baseline)),
        ]);
    }
    table
}
