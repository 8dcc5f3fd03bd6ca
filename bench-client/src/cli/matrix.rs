//! `matrix`: one workload under each combination of server settings.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use telamon_bench::client::Patience;
use telamon_bench::matrix::{self, Axis, Trial};
use telamon_bench::report::text::shown_ratio;
use telamon_bench::report::{Align, Run, Table, thousands_of};
use telamon_bench::target::Target;
use telamon_bench::workload::Kind;

use super::Failure;
use super::options::{self, PlanOptions};
use super::output::OutputOptions;
use super::work::TargetOptions;

/// What `matrix` takes.
#[derive(Debug, Args)]
pub(super) struct MatrixArguments {
    /// The workload, by sysbench's name
    #[arg(value_parser = options::workload, default_value = "oltp_write_only")]
    workload: Kind,
    #[command(flatten)]
    on: TargetOptions,
    /// Who sets the settings, on the server that is measured [default: the target's account]
    #[arg(long, value_name = "TARGET")]
    admin: Option<String>,
    /// A setting with the values to try: NAME=VALUE,VALUE, once for each; semi_sync=on,off is known by that name
    /// [default: sync_binlog=1,1000,0 innodb_flush_log_at_trx_commit=1,2,0 semi_sync=on,off]
    #[arg(long = "set", value_name = "SETTING")]
    settings: Vec<Axis>,
    /// How often each combination has its turn
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a turn
    #[arg(long, default_value_t = 1.0, value_parser = options::seconds)]
    slice: f64,
    /// Change the settings of a server that is not the lab's
    #[arg(long)]
    i_know: bool,
    #[command(flatten)]
    plan: PlanOptions,
    #[command(flatten)]
    output: OutputOptions,
}

const DEFAULT: [&str; 3] =
    ["sync_binlog=1,1000,0", "innodb_flush_log_at_trx_commit=1,2,0", "semi_sync=on,off"];

pub(super) fn run(arguments: &MatrixArguments, patience: &Patience) -> Result<ExitCode, Failure> {
    let target = arguments.on.target()?;
    let admin = match &arguments.admin {
        Some(text) => Target::parse(text)?,
        None => target.clone(),
    };
    let axes = if arguments.settings.is_empty() {
        DEFAULT.iter().map(|text| text.parse()).collect::<Result<_, _>>()?
    } else {
        arguments.settings.clone()
    };
    let slice = Duration::from_secs_f64(arguments.slice.max(0.05));
    let trial = Trial { admin, axes, rounds: arguments.rounds, slice, i_know: arguments.i_know };
    let mut plan = arguments.plan.plan(arguments.workload);
    plan.time = slice * arguments.rounds;
    let mut document = OutputOptions::document();
    let quiet = arguments.output.json_lines;
    let run = matrix::run(&target, &plan, &trial, patience, &mut |text| {
        if quiet {
            println!("{}", serde_json::json!({"event": "note", "text": text}));
        } else {
            println!("{text}");
        }
    })?;
    if !quiet {
        print!("\n{}\n", table(&run));
        if let Some(why) = &run.ended_early {
            println!("Ended early: {why}");
        }
    }
    let code = super::exit_code(&run);
    document.runs.push(run);
    arguments.output.store(&document)?;
    Ok(code)
}

fn table(run: &Run) -> Table {
    let mut table = Table::new(&[
        ("settings", Align::Left),
        ("tps", Align::Right),
        ("queries/s", Align::Right),
        ("p95 ms", Align::Right),
        ("of the first", Align::Right),
    ]);
    for target in &run.targets {
        let ratio = run.comparisons.iter().find(|comparison| comparison.target == target.name);
        table.row([
            target.name.clone(),
            format!("{:.1}", target.total.tps),
            thousands_of(target.total.qps),
            format!("{:.3}", target.total.p95_ms),
            ratio.map_or("1".to_owned(), |comparison| shown_ratio(&comparison.throughput)),
        ]);
    }
    table
}
