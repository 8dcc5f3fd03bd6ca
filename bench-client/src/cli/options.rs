//! The options that define a run, with sysbench's names and defaults.

use std::time::Duration;

use clap::{Args, ValueEnum};
use telamon_bench::plan::{IgnoreErrors, Mix, Plan, PsMode, Rand, RandType, Tables};
use telamon_bench::workload::Kind;

/// The tables.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct TablesOptions {
    /// Number of tables
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) tables: u32,
    /// Rows in each table
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    pub(super) table_size: u32,
}

impl From<TablesOptions> for Tables {
    fn from(options: TablesOptions) -> Tables {
        Tables { count: options.tables, size: options.table_size }
    }
}

/// How hard, and how it is shown.
#[derive(Debug, Clone, Args)]
pub(super) struct LoadOptions {
    /// Connections that send at the same time
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) threads: u32,
    /// Seconds of measuring; 0 is without limit
    #[arg(long, default_value_t = 10.0, value_parser = seconds)]
    pub(super) time: f64,
    /// Events after which it ends; 0 is without limit
    #[arg(long, default_value_t = 0)]
    pub(super) events: u64,
    /// Seconds that it runs before it is measured
    #[arg(long, alias = "warmup-time", default_value_t = 0.0, value_parser = seconds)]
    pub(super) warmup: f64,
    /// Events begun a second, whether or not earlier ones were answered (open loop); 0: as fast as answers come
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10_000_000))]
    pub(super) rate: u32,
    /// Seconds between two lines of the report; 0 for none
    #[arg(long, default_value_t = 0.0, value_parser = seconds)]
    pub(super) report_interval: f64,
    /// The percentile of latency that is shown
    #[arg(long, default_value_t = 95, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) percentile: u32,
    /// Errors that are counted and passed over: numbers with commas, or `all`; 2013 is a lost connection
    #[arg(long, alias = "mysql-ignore-errors", default_value = "1213,1205,1020,1062", value_parser = ignored)]
    pub(super) ignore_errors: IgnoreErrors,
    /// Prepare statements and execute them, or send them as text
    #[arg(long, value_enum, default_value_t = PsModeName::Auto)]
    pub(super) db_ps_mode: PsModeName,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum PsModeName {
    Auto,
    Disable,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum RandTypeName {
    Uniform,
    Gaussian,
    Special,
    Pareto,
    Zipfian,
}

/// Random numbers.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Random numbers")]
pub(super) struct RandOptions {
    /// How ids are drawn
    #[arg(long, value_enum, default_value_t = RandTypeName::Special)]
    rand_type: RandTypeName,
    /// Where the random numbers begin: the same seed sends the same statements
    #[arg(long, alias = "seed", default_value_t = 1)]
    rand_seed: u64,
    /// Numbers summed up for one of gaussian and special
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rand_spec_iter: u32,
    /// Ids that are special, in % of all
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    rand_spec_pct: u32,
    /// Draws that hit a special id, in %
    #[arg(long, default_value_t = 75, value_parser = clap::value_parser!(u32).range(0..=100))]
    rand_spec_res: u32,
    /// The shape of pareto, above 0 and below 1
    #[arg(long, default_value_t = 0.2, value_parser = share)]
    rand_pareto_h: f64,
    /// The exponent of zipfian
    #[arg(long, default_value_t = 0.8, value_parser = exponent)]
    rand_zipfian_exp: f64,
}

/// What an event consists of.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Statements of an event")]
pub(super) struct MixOptions {
    /// Point selects of one transaction
    #[arg(long, default_value_t = 10)]
    point_selects: u32,
    /// Selects of a range
    #[arg(long, default_value_t = 1)]
    simple_ranges: u32,
    /// Selects of a range's sum
    #[arg(long, default_value_t = 1)]
    sum_ranges: u32,
    /// Selects of a range in order
    #[arg(long, default_value_t = 1)]
    order_ranges: u32,
    /// Selects of a range's distinct values
    #[arg(long, default_value_t = 1)]
    distinct_ranges: u32,
    /// Updates of the indexed column
    #[arg(long, default_value_t = 1)]
    index_updates: u32,
    /// Updates of a column without an index
    #[arg(long, default_value_t = 1)]
    non_index_updates: u32,
    /// Pairs of a DELETE and an INSERT
    #[arg(long, default_value_t = 1)]
    delete_inserts: u32,
    /// Rows of a range
    #[arg(long, default_value_t = 100)]
    range_size: u32,
    /// Selects of ranges at all: on or off
    #[arg(long, default_value = "on", default_missing_value = "on", num_args = 0..=1, require_equals = true, value_parser = on_off, action = clap::ArgAction::Set)]
    range_selects: bool,
    /// Every statement its own transaction, no BEGIN and COMMIT
    #[arg(long, default_value = "off", default_missing_value = "on", num_args = 0..=1, require_equals = true, value_parser = on_off, action = clap::ArgAction::Set)]
    skip_trx: bool,
    /// The server gives new rows their ids: on or off
    #[arg(long, default_value = "on", default_missing_value = "on", num_args = 0..=1, require_equals = true, value_parser = on_off, action = clap::ArgAction::Set)]
    auto_inc: bool,
    /// Values in the list of select_random_points
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    random_points: u32,
    /// Ranges in a statement of select_random_ranges
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    number_of_ranges: u32,
    /// Width of such a range
    #[arg(long, default_value_t = 5)]
    delta: u32,
    /// Rows of an answer of large_result
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    result_rows: u32,
    /// Sessions that many_clients holds open, sharing --threads
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    clients: u32,
}

/// All of them.
#[derive(Debug, Clone, Args)]
pub(super) struct PlanOptions {
    #[command(flatten)]
    pub(super) tables: TablesOptions,
    #[command(flatten)]
    pub(super) load: LoadOptions,
    #[command(flatten)]
    rand: RandOptions,
    #[command(flatten)]
    mix: MixOptions,
}

impl PlanOptions {
    /// The plan of a workload with these options.
    pub(super) fn plan(&self, workload: Kind) -> Plan {
        let (load, rand, mix) = (&self.load, &self.rand, &self.mix);
        Plan {
            workload,
            tables: self.tables.into(),
            threads: load.threads,
            time: Duration::from_secs_f64(load.time),
            events: load.events,
            warmup: Duration::from_secs_f64(load.warmup),
            rate: load.rate,
            rand: Rand {
                kind: match rand.rand_type {
                    RandTypeName::Uniform => RandType::Uniform,
                    RandTypeName::Gaussian => RandType::Gaussian,
                    RandTypeName::Special => RandType::Special,
                    RandTypeName::Pareto => RandType::Pareto,
                    RandTypeName::Zipfian => RandType::Zipfian,
                },
                seed: rand.rand_seed,
                spec_iter: rand.rand_spec_iter,
                spec_pct: rand.rand_spec_pct,
                spec_res: rand.rand_spec_res,
                pareto_h: rand.rand_pareto_h,
                zipfian_exp: rand.rand_zipfian_exp,
            },
            mix: mix.mix(),
            skip_trx: mix.skip_trx,
            auto_inc: mix.auto_inc,
            ps_mode: match load.db_ps_mode {
                PsModeName::Auto => PsMode::Auto,
                PsModeName::Disable => PsMode::Disable,
            },
            percentile: load.percentile,
            ignore_errors: load.ignore_errors.clone(),
            report_interval: Duration::from_secs_f64(load.report_interval),
        }
    }
}

impl MixOptions {
    fn mix(&self) -> Mix {
        Mix {
            point_selects: self.point_selects,
            simple_ranges: self.simple_ranges,
            sum_ranges: self.sum_ranges,
            order_ranges: self.order_ranges,
            distinct_ranges: self.distinct_ranges,
            index_updates: self.index_updates,
            non_index_updates: self.non_index_updates,
            delete_inserts: self.delete_inserts,
            range_size: self.range_size,
            range_selects: self.range_selects,
            random_points: self.random_points,
            number_of_ranges: self.number_of_ranges,
            delta: self.delta,
            result_rows: self.result_rows,
            clients: self.clients,
        }
    }
}

/// The workload of this name.
pub(super) fn workload(name: &str) -> Result<Kind, String> {
    let known = Kind::ALL.map(Kind::name).join(", ");
    let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| format!("the workloads are {known}"))
}

fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err("write on or off".to_owned()),
    }
}

/// Seconds, with or without a fraction and the letter behind them.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('s').unwrap_or(text).parse().ok();
    let limits = |seconds: &f64| (0.0..=1e9).contains(seconds);
    number.filter(limits).ok_or_else(|| "write a number of seconds".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|h: &f64| *h > 0.0 && *h < 1.0);
    number.ok_or_else(|| "write a number above 0 and below 1".to_owned())
}

fn exponent(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|exponent: &f64| (0.0..=10.0).contains(exponent));
    number.ok_or_else(|| "write a number from 0 to 10".to_owned())
}

fn ignored(text: &str) -> Result<IgnoreErrors, String> {
    match text {
        "all" => Ok(IgnoreErrors::All),
        "" | "none" => Ok(IgnoreErrors::Only(Vec::new())),
        _ => {
            let codes = text.split(',').map(|code| code.trim().parse::<u16>());
            let codes = codes.collect::<Result<_, _>>();
            codes
                .map(IgnoreErrors::Only)
                .map_err(|_| "write error numbers with commas, all, or none".to_owned())
        }
    }
}

/// Words as sysbench takes them: `--table_size` is `--table-size`.
pub(crate) fn with_hyphens(argument: std::ffi::OsString) -> std::ffi::OsString {
    match argument.to_str() {
        Some(text) if text.starts_with("--") && text.len() > 2 => {
            let (name, value) = text.split_at(text.find('=').unwrap_or(text.len()));
            format!("{}{value}", name.replace('_', "-")).into()
        }
        _ => argument,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysbenchs_spelling_is_understood() {
        let shown = |text: &str| with_hyphens(text.into()).into_string().unwrap();
        assert_eq!(shown("--table_size=5"), "--table-size=5");
        assert_eq!(shown("--out=my_file"), "--out=my_file");
        assert_eq!(shown("oltp_insert"), "oltp_insert");
        assert_eq!(on_off("on"), Ok(true));
        assert!(on_off("maybe").is_err());
    }

    #[test]
    fn seconds_may_have_a_fraction_and_a_letter() {
        assert_eq!(seconds("1.5s"), Ok(1.5));
        assert!(seconds("-1").is_err() && seconds("soon").is_err());
    }

    #[test]
    fn errors_to_pass_over_are_numbers_or_all() {
        assert_eq!(ignored("all"), Ok(IgnoreErrors::All));
        assert_eq!(ignored("1213, 2013"), Ok(IgnoreErrors::Only(vec![1213, 2013])));
        assert_eq!(ignored("none"), Ok(IgnoreErrors::Only(Vec::new())));
        assert!(ignored("deadlock").is_err());
    }
}
