//! `seeds`: published comparisons, and their workload on this machine.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use telamon_bench::ab::{self, Contender, Effort, Setting};
use telamon_bench::client::Patience;
use telamon_bench::live::Live;
use telamon_bench::report::text::shown_ratio;
use telamon_bench::target::Target;
use telamon_bench::{schema, seeds};

use super::Failure;
use super::ab::EffortOptions;
use super::output::OutputOptions;

/// What `seeds` takes.
#[derive(Debug, Args)]
pub(super) struct SeedsArguments {
    /// Repeat each one's workload on two --target, direct first
    #[arg(long, requires = "targets")]
    run: bool,
    /// NAME=mysql://USER:PASSWORD@HOST:PORT/SCHEMA, twice
    #[arg(long = "target", id = "targets", value_name = "TARGET")]
    targets: Vec<String>,
    /// Rows in each table
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    table_size: u32,
    #[command(flatten)]
    effort: EffortOptions,
    #[command(flatten)]
    output: OutputOptions,
}

pub(super) fn run(arguments: &SeedsArguments, patience: &Patience) -> Result<ExitCode, Failure> {
    for seed in seeds::all() {
        println!("{}\n{}, {}\n{}\n\n{}", seed.title, seed.source, seed.date, seed.setting, seed.table());
    }
    if !arguments.run {
        return Ok(ExitCode::SUCCESS);
    }
    let targets = arguments.targets.iter().map(|text| Target::parse(text)).collect::<Result<Vec<_>, _>>()?;
    if targets.len() != 2 {
        return Err("give two targets, direct first: --target direct=… --target proxy=…".into());
    }
    let mut document = OutputOptions::document();
    let mut code = ExitCode::SUCCESS;
    for seed in seeds::all() {
        let mut plan = seed.plan(arguments.table_size);
        let effort: Effort = arguments.effort.effort();
        (plan.time, plan.warmup) = (effort.max_time, Duration::from_secs(2));
        schema::prepare(&targets[0], &plan, patience, &|_| ())?;
        let mut live = Live::new(arguments.output.style(), effort.max_time, &plan);
        let setting = Setting {
            plan: &plan,
            effort,
            patience,
            counters: None,
            server_pids: Vec::new(),
            strict: false,
            watch: &mut |progress| live.show(&progress),
        };
        let mut contenders: Vec<Contender> =
            targets.iter().map(|target| Contender::new(target.clone(), None)).collect();
        let run = ab::run(&mut contenders, setting)?;
        live.finish();
        if run.ended_early.is_some() {
            code = ExitCode::FAILURE;
        }
        if let Some(comparison) = run.comparisons.first() {
            let here = shown_ratio(&comparison.throughput);
            println!("\n{}: published ratio {:.3}, here {here}\n", seed.title, seed.ratio());
        }
        document.runs.push(run);
    }
    arguments.output.deliver(&document)?;
    Ok(code)
}
