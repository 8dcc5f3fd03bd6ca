//! Workloads: what is sent. Pure: random numbers in, statements out; the driver sends them.
//!
//! A workload names its statements once, as [`Template`]s with `?` where values go; an event is a list of calls of
//! them with values. The driver prepares the templates, or puts the values into their text, as the plan says.

mod distribution;
mod event;
mod oltp;
mod random;
mod select;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use distribution::Ids;
pub use event::{Call, Effect, Event, Template, Value};
pub(crate) use oltp::{C_GROUPS, PAD_GROUPS};
pub use random::Random;

use crate::plan::Plan;

/// A source of events; an event is what sysbench counts as a transaction.
pub trait Workload: Send {
    /// The statements that its events consist of.
    fn templates(&self) -> &[Template];

    /// Puts the next event's statements into `event`, which is empty.
    fn event(&mut self, random: &mut Random, event: &mut Event);
}

/// The workloads, by sysbench's names where it has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// 14 reads and 4 writes in one transaction.
    OltpReadWrite,
    /// 14 reads in one transaction.
    OltpReadOnly,
    /// 4 writes in one transaction.
    OltpWriteOnly,
    /// One row by its primary key.
    OltpPointSelect,
    /// One new row.
    OltpInsert,
    /// One row less.
    OltpDelete,
    /// One row's indexed column.
    OltpUpdateIndex,
    /// One row's column without an index.
    OltpUpdateNonIndex,
    /// Rows by a list of values of the indexed column.
    SelectRandomPoints,
    /// Rows counted in some ranges of the indexed column.
    SelectRandomRanges,
    /// Connect, one point select, quit.
    Connect,
    /// One answer of many rows.
    LargeResult,
    /// Point selects over many sessions, most of them idle.
    ManyClients,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 13] = [
        Kind::OltpReadWrite,
        Kind::OltpReadOnly,
        Kind::OltpWriteOnly,
        Kind::OltpPointSelect,
        Kind::OltpInsert,
        Kind::OltpDelete,
        Kind::OltpUpdateIndex,
        Kind::OltpUpdateNonIndex,
        Kind::SelectRandomPoints,
        Kind::SelectRandomRanges,
        Kind::Connect,
        Kind::LargeResult,
        Kind::ManyClients,
    ];

    /// The name on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::OltpReadWrite => "oltp_read_write",
            Kind::OltpReadOnly => "oltp_read_only",
            Kind::OltpWriteOnly => "oltp_write_only",
            Kind::OltpPointSelect => "oltp_point_select",
            Kind::OltpInsert => "oltp_insert",
            Kind::OltpDelete => "oltp_delete",
            Kind::OltpUpdateIndex => "oltp_update_index",
            Kind::OltpUpdateNonIndex => "oltp_update_non_index",
            Kind::SelectRandomPoints => "select_random_points",
            Kind::SelectRandomRanges => "select_random_ranges",
            Kind::Connect => "connect",
            Kind::LargeResult => "large_result",
            Kind::ManyClients => "many_clients",
        }
    }

    /// Whether its events are transactions unless `skip_trx` is set.
    #[must_use]
    pub fn has_transactions(self) -> bool {
        matches!(self, Kind::OltpReadWrite | Kind::OltpReadOnly | Kind::OltpWriteOnly)
    }

    /// Whether each event has a connection of its own.
    #[must_use]
    pub fn connects(self) -> bool {
        self == Kind::Connect
    }

    /// Whether it knows one table, as sysbench has it.
    #[must_use]
    pub fn uses_first_table_only(self) -> bool {
        matches!(self, Kind::SelectRandomPoints | Kind::SelectRandomRanges)
    }

    /// A source of the plan's events for the thread number `thread`, counted from 0.
    #[must_use]
    pub fn workload(self, plan: &Plan, thread: u32) -> Box<dyn Workload> {
        match self {
            Kind::SelectRandomPoints => Box::new(select::RandomPoints::new(plan, thread)),
            Kind::SelectRandomRanges => Box::new(select::RandomRanges::new(plan, thread)),
            Kind::LargeResult => Box::new(select::LargeResult::new(plan)),
            Kind::OltpInsert => Box::new(oltp::Insert::new(plan, thread)),
            _ => Box::new(oltp::Oltp::new(plan)),
        }
    }
}
