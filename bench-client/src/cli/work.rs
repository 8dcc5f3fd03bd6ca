//! `prepare`, `run` and `cleanup`: one workload on one target.

use std::process::ExitCode;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use telamon_bench::ab::{self, Contender, Effort, Setting};
use telamon_bench::client::Patience;
use telamon_bench::live::Live;
use telamon_bench::schema;
use telamon_bench::target::{Target, TargetError, Tls};
use telamon_bench::workload::Kind;

use super::Failure;
use super::options::{self, PlanOptions};
use super::output::{OutputOptions, ServerOptions};

#[derive(Debug, Args)]
pub(super) struct TargetOptions {
    /// Where: mysql://USER:PASSWORD@HOST:PORT/SCHEMA, with NAME= before it if you like; ?socket=PATH for a Unix socket
    #[arg(long, value_name = "TARGET")]
    target: String,
    /// Encrypt the connections
    #[arg(long)]
    tls: bool,
}

impl TargetOptions {
    pub(super) fn target(&self) -> Result<Target, TargetError> {
        let mut target = Target::parse(&self.target)?;
        if self.tls {
            target.tls = Tls::Required;
        }
        Ok(target)
    }
}

/// `prepare` and `cleanup`.
#[derive(Debug, Args)]
pub(super) struct TablesArguments {
    /// The workload that the tables are for; all share them
    #[arg(value_parser = options::workload, default_value = "oltp_read_write")]
    workload: Kind,
    #[command(flatten)]
    on: TargetOptions,
    #[command(flatten)]
    plan: PlanOptions,
}

/// `run`.
#[derive(Debug, Args)]
pub(super) struct RunArguments {
    /// The workload, by sysbench's name
    #[arg(value_parser = options::workload)]
    workload: Kind,
    #[command(flatten)]
    on: TargetOptions,
    #[command(flatten)]
    plan: PlanOptions,
    #[command(flatten)]
    servers: ServerOptions,
    #[command(flatten)]
    output: OutputOptions,
}

pub(super) fn prepare(arguments: &TablesArguments, patience: &Patience) -> Result<ExitCode, Failure> {
    let target = arguments.on.target()?;
    let plan = arguments.plan.plan(arguments.workload);
    let bar = ProgressBar::new(u64::from(plan.tables.count) * u64::from(plan.tables.size));
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} rows, {per_sec}, {eta} left") {
        bar.set_style(style);
    }
    schema::prepare(&target, &plan, patience, &|rows| bar.inc(rows))?;
    bar.finish_and_clear();
    println!("prepared {} tables of {} rows on {}", plan.tables.count, plan.tables.size, target.shown());
    Ok(ExitCode::SUCCESS)
}

pub(super) fn cleanup(arguments: &TablesArguments, patience: &Patience) -> Result<ExitCode, Failure> {
    let target = arguments.on.target()?;
    let plan = arguments.plan.plan(arguments.workload);
    schema::cleanup(&target, plan.tables, patience)?;
    println!("dropped {} tables on {}", plan.tables.count, target.shown());
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run(arguments: &RunArguments, patience: &Patience) -> Result<ExitCode, Failure> {
    let target = arguments.on.target()?;
    let plan = arguments.plan.plan(arguments.workload);
    let mut counters = arguments.servers.counters(&target.user, patience)?;
    let mut document = OutputOptions::document();
    let mut live = Live::new(arguments.output.style(), plan.time, &plan);
    let setting = Setting {
        plan: &plan,
        effort: Effort { max_time: plan.time, precision: None, slice: plan.time },
        patience,
        counters: counters.as_mut(),
        server_pids: arguments.servers.server_pids.clone(),
        strict: false,
        watch: &mut |progress| live.show(&progress),
    };
    let run = ab::run_one(&mut Contender::new(target, None), setting)?;
    live.finish();
    let code = super::exit_code(&run);
    document.runs.push(run);
    arguments.output.deliver(&document)?;
    Ok(code)
}
