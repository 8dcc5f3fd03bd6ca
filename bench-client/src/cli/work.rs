//! `prepare`, `run` and `cleanup`: one workload on one target.

use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use telamon_bench::driver::{Driver, Slice};
use telamon_bench::schema;

use super::{Failure, WorkArguments};
use telamon_bench::client::Patience;

pub(super) fn prepare(arguments: &WorkArguments) -> Result<ExitCode, Failure> {
    let target = arguments.on.target()?;
    let plan = arguments.plan.plan(arguments.workload);
    let bar = ProgressBar::new(u64::from(plan.tables.count) * u64::from(plan.tables.size));
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} rows, {per_sec}, {eta} left") {
        bar.set_style(style);
    }
    schema::prepare(&target, &plan, &Patience::default(), &|rows| bar.inc(rows))?;
    bar.finish_and_clear();
    println!("prepared {} tables of {} rows on {}", plan.tables.count, plan.tables.size, target.shown());
    Ok(ExitCode::SUCCESS)
}

pub(super) fn cleanup(arguments: &WorkArguments) -> Result<ExitCode, Failure> {
    let target = arguments.on.target()?;
    let plan = arguments.plan.plan(arguments.workload);
    schema::cleanup(&target, plan.tables, &Patience::default())?;
    println!("dropped {} tables on {}", plan.tables.count, target.shown());
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run(arguments: &WorkArguments) -> Result<ExitCode, Failure> {
    let target = arguments.on.target()?;
    let plan = arguments.plan.plan(arguments.workload);
    let mut driver = Driver::connect(&target, &plan, &Patience::default())?;
    let slice = Slice { number: 0, time: plan.time, events: plan.events, interval: plan.report_interval };
    let outcome = driver.run(&plan, slice, |_| ());
    driver.disconnect();
    if let Some(failure) = outcome.failure {
        return Err(failure.into());
    }
    let sample = outcome.sample;
    println!(
        "tps {:.1} qps {:.1} p95 {:.3} ms",
        sample.tps(),
        sample.qps(),
        sample.latency.percentile_ms(95.0)
    );
    Ok(ExitCode::SUCCESS)
}
