//! What a reader needs to know of the machine to repeat a run.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// The machine that the driver ran on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The processor's name.
    pub cpu: String,
    /// How many cores may be used.
    pub cores: usize,
    /// The frequency governor; None where the kernel has none to tell of, as in most virtual machines.
    pub governor: Option<String>,
    /// Main memory, in MiB.
    pub memory_mib: u64,
    /// The kernel.
    pub kernel: String,
    /// The distribution.
    pub system: String,
    /// The load average of the minute before the run.
    pub load: f64,
    /// This program's version.
    pub telamon_bench: String,
}

impl Environment {
    /// This machine, now.
    #[must_use]
    pub fn now() -> Environment {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str, separator: char| {
            let line = text.lines().find(|line| line.starts_with(name)).map(str::to_owned);
            let value = line.and_then(|line| Some(line.split_once(separator)?.1.trim().to_owned()));
            value.unwrap_or_else(|| "unknown".to_owned())
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal", ':');
        let memory_kib: u64 = memory.split(' ').next().and_then(|kib| kib.parse().ok()).unwrap_or(0);
        let governor = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").trim().to_owned();
        let load = read("/proc/loadavg");
        Environment {
            cpu: field(&read("/proc/cpuinfo"), "model name", ':'),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            governor: (!governor.is_empty()).then_some(governor),
            memory_mib: memory_kib / 1024,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            system: field(&read("/etc/os-release"), "PRETTY_NAME", '=').trim_matches('"').to_owned(),
            load: load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0),
            telamon_bench: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Now, as "2026-12-01T03:04:05Z".
#[must_use]
pub fn utc_now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    utc(since.as_secs())
}

/// Seconds since 1970 as a date and time, by the Gregorian calendar.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days are counted from 1 March of year 0, so that leap days come last in their year.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_796_094_245), "2026-12-01T03:04:05Z");
    }

    #[test]
    fn this_machine_is_described() {
        let machine = Environment::now();
        assert!(machine.cores > 0 && machine.memory_mib > 0 && !machine.kernel.is_empty(), "{machine:?}");
    }
}
