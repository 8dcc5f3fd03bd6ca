//! All that defines a run: two runs with the same plan send the same statements. Names and defaults are sysbench's.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::workload::Kind;

/// The tables that a workload runs on: sysbench's `sbtest1` to `sbtestN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables {
    /// How many.
    pub count: u32,
    /// Rows in each.
    pub size: u32,
}

impl Default for Tables {
    fn default() -> Tables {
        Tables { count: 1, size: 10_000 }
    }
}

/// How ids are drawn: sysbench's `--rand-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RandType {
    /// Each id as likely as the others.
    Uniform,
    /// Most in the middle, by a sum of uniform numbers.
    Gaussian,
    /// A few ids in the middle take most of the draws; sysbench's default.
    Special,
    /// The lowest ids take most: a power law.
    Pareto,
    /// The lowest ids take most: Zipf's law.
    Zipfian,
}

/// How random numbers are made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rand {
    /// The distribution of ids.
    pub kind: RandType,
    /// Where the random numbers begin; each connection and each slice has its own stream from it.
    pub seed: u64,
    /// Numbers summed up for one of `gaussian` and `special`.
    pub spec_iter: u32,
    /// Ids that are special, in % of all.
    pub spec_pct: u32,
    /// Draws that hit a special id, in %.
    pub spec_res: u32,
    /// The shape of `pareto`: 0.2 means that 80 % of the draws hit 20 % of the ids.
    pub pareto_h: f64,
    /// The exponent of `zipfian`.
    pub zipfian_exp: f64,
}

impl Default for Rand {
    fn default() -> Rand {
        Rand {
            kind: RandType::Special,
            seed: 1,
            spec_iter: 12,
            spec_pct: 1,
            spec_res: 75,
            pareto_h: 0.2,
            zipfian_exp: 0.8,
        }
    }
}

/// How many statements of each kind an event has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mix {
    /// `SELECT c … WHERE id=?`
    pub point_selects: u32,
    /// `SELECT c … BETWEEN`
    pub simple_ranges: u32,
    /// `SELECT SUM(k) … BETWEEN`
    pub sum_ranges: u32,
    /// `SELECT c … BETWEEN … ORDER BY c`
    pub order_ranges: u32,
    /// `SELECT DISTINCT c … BETWEEN … ORDER BY c`
    pub distinct_ranges: u32,
    /// `UPDATE … SET k=k+1`
    pub index_updates: u32,
    /// `UPDATE … SET c=?`
    pub non_index_updates: u32,
    /// DELETE and INSERT of the same row.
    pub delete_inserts: u32,
    /// Rows of a range.
    pub range_size: u32,
    /// Whether there are ranges at all.
    pub range_selects: bool,
    /// Values in the list of `select_random_points`.
    pub random_points: u32,
    /// Ranges in one statement of `select_random_ranges`.
    pub number_of_ranges: u32,
    /// Width of such a range.
    pub delta: u32,
    /// Rows of one answer of `large_result`.
    pub result_rows: u32,
    /// Sessions that `many_clients` holds open.
    pub clients: u32,
}

impl Default for Mix {
    fn default() -> Mix {
        Mix {
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            range_size: 100,
            range_selects: true,
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            result_rows: 10_000,
            clients: 1000,
        }
    }
}

/// Whether statements are prepared: sysbench's `--db-ps-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PsMode {
    /// Prepared once and executed, where the server can.
    Auto,
    /// Sent as text.
    Disable,
}

/// Errors that are counted and passed over: sysbench's `--mysql-ignore-errors`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IgnoreErrors {
    /// Every error of a server, and lost connections, which are made anew.
    All,
    /// Errors of these numbers; 2013 stands for a lost connection.
    Only(Vec<u16>),
}

/// Errors that concurrent clients of the workloads cause each other: deadlock, lock wait timeout, changed row
/// (sysbench's own three), and without transactions two connections that insert the same id again.
pub const EXPECTED_ERRORS: [u16; 4] = [1213, 1205, 1020, 1062];
/// The number that client libraries give a lost connection.
pub const CONNECTION_LOST: u16 = 2013;

impl Default for IgnoreErrors {
    fn default() -> IgnoreErrors {
        IgnoreErrors::Only(EXPECTED_ERRORS.to_vec())
    }
}

impl IgnoreErrors {
    /// Whether an error of this number is passed over.
    #[must_use]
    pub fn passes(&self, code: u16) -> bool {
        match self {
            IgnoreErrors::All => true,
            IgnoreErrors::Only(codes) => codes.contains(&code),
        }
    }
}

/// One workload, how hard, how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What is sent.
    pub workload: Kind,
    /// On which tables.
    pub tables: Tables,
    /// Connections that send at the same time.
    pub threads: u32,
    /// How long it is measured; zero is without limit.
    #[serde(rename = "time_s", with = "seconds")]
    pub time: Duration,
    /// After how many events it ends; 0 is without limit.
    pub events: u64,
    /// How long it runs before it is measured.
    #[serde(rename = "warmup_s", with = "seconds")]
    pub warmup: Duration,
    /// Events a second that are begun, whether or not earlier ones have been answered; 0 is a closed loop, in which
    /// each connection begins the next event when its last has been answered.
    pub rate: u32,
    /// How random numbers are made.
    pub rand: Rand,
    /// What an event consists of.
    pub mix: Mix,
    /// No BEGIN and COMMIT around the statements of an event: each is its own transaction.
    pub skip_trx: bool,
    /// The server gives new rows their ids.
    pub auto_inc: bool,
    /// Whether statements are prepared.
    pub ps_mode: PsMode,
    /// The percentile of latency that is shown, in %.
    pub percentile: u32,
    /// Which errors are passed over.
    pub ignore_errors: IgnoreErrors,
    /// Length of an interval of the report; zero is none.
    #[serde(rename = "report_interval_s", with = "seconds")]
    pub report_interval: Duration,
}

impl Plan {
    /// A workload with sysbench's defaults: one table of 10,000 rows, one thread, ten seconds.
    #[must_use]
    pub fn new(workload: Kind) -> Plan {
        Plan {
            workload,
            tables: Tables::default(),
            threads: 1,
            time: Duration::from_secs(10),
            events: 0,
            warmup: Duration::ZERO,
            rate: 0,
            rand: Rand::default(),
            mix: Mix::default(),
            skip_trx: false,
            auto_inc: true,
            ps_mode: PsMode::Auto,
            percentile: 95,
            ignore_errors: IgnoreErrors::default(),
            report_interval: Duration::ZERO,
        }
    }

    /// The workload's name as the reports show it.
    #[must_use]
    pub fn name(&self) -> String {
        let trx = if self.skip_trx && self.workload.has_transactions() { " --skip-trx" } else { "" };
        format!("{}{trx}", self.workload.name())
    }

    /// Whether its statements stand between BEGIN and COMMIT.
    #[must_use]
    pub fn in_transactions(&self) -> bool {
        self.workload.has_transactions() && !self.skip_trx
    }

    /// Sessions that one thread holds: it takes them in turns.
    #[must_use]
    pub fn sessions_per_thread(&self) -> u32 {
        match self.workload {
            Kind::ManyClients => self.mix.clients.div_ceil(self.threads.max(1)).max(1),
            _ => 1,
        }
    }
}

/// Durations as seconds with a fraction.
pub(crate) mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_whether_there_are_transactions() {
        let plan = |kind, skip_trx| Plan { skip_trx, ..Plan::new(kind) };
        assert_eq!(plan(Kind::OltpPointSelect, true).name(), "oltp_point_select");
        assert_eq!(plan(Kind::OltpReadWrite, false).name(), "oltp_read_write");
        assert_eq!(plan(Kind::OltpReadWrite, true).name(), "oltp_read_write --skip-trx");
    }

    #[test]
    fn a_stored_plan_is_read_back_as_it_was() {
        let mut plan = Plan::new(Kind::SelectRandomRanges);
        plan.warmup = Duration::from_millis(1500);
        plan.ignore_errors = IgnoreErrors::All;
        let text = serde_json::to_string(&plan).unwrap();
        assert!(text.contains(r#""workload":"select_random_ranges""#), "{text}");
        assert!(text.contains(r#""warmup_s":1.5"#), "{text}");
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }

    #[test]
    fn the_sessions_of_many_clients_are_shared_by_its_threads() {
        let mut plan = Plan { threads: 8, ..Plan::new(Kind::ManyClients) };
        assert_eq!(plan.sessions_per_thread(), 125);
        plan.mix.clients = 3;
        assert_eq!(plan.sessions_per_thread(), 1);
        assert_eq!(Plan::new(Kind::OltpInsert).sessions_per_thread(), 1);
    }
}
