//! `ab`: the same workload on several targets in turns.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use telamon_bench::ab::{self, Contender, Effort, Setting};
use telamon_bench::client::Patience;
use telamon_bench::live::Live;
use telamon_bench::target::{Target, Tls};
use telamon_bench::workload::Kind;

use super::Failure;
use super::options::{self, PlanOptions};
use super::output::{OutputOptions, ServerOptions};

/// What `ab` takes.
#[derive(Debug, Args)]
pub(super) struct AbArguments {
    /// The workload, by sysbench's name
    #[arg(value_parser = options::workload, default_value = "oltp_read_write")]
    workload: Kind,
    /// NAME=mysql://USER:PASSWORD@HOST:PORT/SCHEMA, twice or more; the first is what the others are compared with
    #[arg(long = "target", value_name = "TARGET", required = true)]
    targets: Vec<String>,
    /// Encrypt the connections to all targets
    #[arg(long)]
    tls: bool,
    /// NAME=PID of a target's process on this machine; found by itself where it listens on this machine
    #[arg(long = "pid", value_name = "NAME=PID", value_parser = named_pid)]
    pids: Vec<(String, u32)>,
    #[command(flatten)]
    pub(super) effort: EffortOptions,
    /// Refuse targets that differ
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    plan: PlanOptions,
    #[command(flatten)]
    servers: ServerOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// How long, and how well.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Effort")]
pub(super) struct EffortOptions {
    /// Longest measuring time of all targets together, in seconds
    #[arg(long, default_value_t = 60.0, value_parser = options::seconds)]
    max_time: f64,
    /// End earlier when the ratio is known this well: half its interval, in %; 0 for not
    #[arg(long, default_value = "1%", value_parser = percent)]
    precision: f64,
    /// Seconds of a slice
    #[arg(long, default_value_t = 0.5, value_parser = slice)]
    slice: f64,
}

impl EffortOptions {
    pub(super) fn effort(&self) -> Effort {
        Effort {
            max_time: Duration::from_secs_f64(self.max_time),
            precision: (self.precision > 0.0).then_some(self.precision),
            slice: Duration::from_secs_f64(self.slice),
        }
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let share = number.filter(|percent| (0.0..100.0).contains(percent)).map(|percent| percent / 100.0);
    share.ok_or_else(|| "write a percentage, such as 2%".to_owned())
}

fn slice(text: &str) -> Result<f64, String> {
    let seconds = options::seconds(text)?;
    if (0.05..=3600.0).contains(&seconds) { Ok(seconds) } else { Err("write 0.05 or more seconds".into()) }
}

fn named_pid(text: &str) -> Result<(String, u32), String> {
    let parts = text.split_once('=').and_then(|(name, pid)| Some((name.to_owned(), pid.parse().ok()?)));
    parts.ok_or_else(|| "write NAME=PID".to_owned())
}

impl AbArguments {
    fn contenders(&self) -> Result<Vec<Contender>, Failure> {
        let mut contenders: Vec<Contender> = Vec::new();
        for text in &self.targets {
            let mut target = Target::parse(text)?;
            if self.tls {
                target.tls = Tls::Required;
            }
            if contenders.iter().any(|contender| contender.target.name == target.name) {
                return Err(format!(
                    "two targets are named {:?}; give each a name: NAME=mysql://…",
                    target.name
                )
                .into());
            }
            let pid = self.pids.iter().find(|(name, _)| *name == target.name).map(|(_, pid)| *pid);
            contenders.push(Contender::new(target, pid));
        }
        let unknown = self.pids.iter().find(|(name, _)| !contenders.iter().any(|c| c.target.name == *name));
        match unknown {
            Some((name, _)) => Err(format!("--pid names {name:?}, which is no --target").into()),
            None if contenders.len() < 2 => Err("give two targets or more, each with --target NAME=…".into()),
            None => Ok(contenders),
        }
    }
}

pub(super) fn run(arguments: &AbArguments, patience: &Patience) -> Result<ExitCode, Failure> {
    let mut contenders = arguments.contenders()?;
    let effort = arguments.effort.effort();
    let mut plan = arguments.plan.plan(arguments.workload);
    // Here the effort says how long.
    plan.time = effort.max_time;
    if plan.warmup.is_zero() {
        plan.warmup = effort.slice;
    }
    let mut counters = arguments.servers.counters(&contenders[0].target.user, patience)?;
    let mut document = OutputOptions::document();
    let mut live = Live::new(arguments.output.style(), effort.max_time, &plan);
    let setting = Setting {
        plan: &plan,
        effort,
        patience,
        counters: counters.as_mut(),
        server_pids: arguments.servers.server_pids.clone(),
        strict: arguments.strict,
        watch: &mut |progress| live.show(&progress),
    };
    let run = ab::run(&mut contenders, setting)?;
    live.finish();
    let code = super::exit_code(&run);
    document.runs.push(run);
    arguments.output.deliver(&document)?;
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precision_is_a_percentage() {
        assert_eq!(percent("2%"), Ok(0.02));
        assert_eq!(percent("0"), Ok(0.0));
        assert!(percent("100%").is_err() && percent("much").is_err());
    }

    #[test]
    fn a_slice_is_long_enough_to_measure_in() {
        assert_eq!(slice("0.5"), Ok(0.5));
        assert!(slice("0").is_err());
    }

    #[test]
    fn a_process_is_named_with_its_target() {
        assert_eq!(named_pid("proxy=17"), Ok(("proxy".to_owned(), 17)));
        assert!(named_pid("17").is_err());
    }
}
