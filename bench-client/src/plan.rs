//! All that defines a run: two runs with the same plan send the same statements.

use std::time::Duration;

use crate::workload::Kind;

/// The tables that a workload runs on: sysbench's `sbtest1` to `sbtestN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tables {
    /// How many.
    pub count: u32,
    /// Rows in each.
    pub size: u32,
}

impl Default for Tables {
    fn default() -> Tables {
        Tables { count: 4, size: 10_000 }
    }
}

/// One workload, how hard, how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What is sent.
    pub kind: Kind,
    /// No BEGIN and COMMIT around the statements of an event: each is its own transaction.
    pub skip_trx: bool,
    /// On which tables.
    pub tables: Tables,
    /// Connections that send at the same time, each its next event when the last has been answered.
    pub threads: u32,
    /// How long.
    pub time: Duration,
    /// Where the random numbers begin; each connection and each slice has its own stream from it.
    pub seed: u64,
}

impl Plan {
    /// The workload's name as the reports show it.
    #[must_use]
    pub fn name(&self) -> String {
        let trx = if self.skip_trx && self.kind.has_transactions() { " --skip-trx" } else { "" };
        format!("{}{trx}", self.kind.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_whether_there_are_transactions() {
        let plan = |kind, skip_trx| Plan {
            kind,
            skip_trx,
            tables: Tables::default(),
            threads: 1,
            time: Duration::from_secs(1),
            seed: 1,
        };
        assert_eq!(plan(Kind::OltpPointSelect, true).name(), "oltp_point_select");
        assert_eq!(plan(Kind::OltpReadWrite, false).name(), "oltp_read_write");
        assert_eq!(plan(Kind::OltpReadWrite, true).name(), "oltp_read_write --skip-trx");
    }
}
