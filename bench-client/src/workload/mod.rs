//! Workloads: what is sent. Pure: random numbers in, statements out; the driver sends them.

mod oltp;
mod random;

pub use oltp::{PointSelect, ReadWrite};
pub use random::Random;

use crate::plan::Plan;

/// What a statement does, as the servers' own counters tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// SELECT.
    Read,
    /// INSERT, UPDATE or DELETE.
    Write,
    /// BEGIN or COMMIT.
    Transaction,
}

/// One statement of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its text.
    pub sql: String,
    /// What it does.
    pub effect: Effect,
}

/// A source of events; an event is what sysbench counts as a transaction.
pub trait Workload: Send {
    /// The next event's statements, in order.
    fn event(&mut self, random: &mut Random) -> Vec<Statement>;
}

/// The workloads, by sysbench's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One row by its primary key.
    OltpPointSelect,
    /// 14 reads and 4 writes in one transaction.
    OltpReadWrite,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 2] = [Kind::OltpPointSelect, Kind::OltpReadWrite];

    /// sysbench's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::OltpPointSelect => "oltp_point_select",
            Kind::OltpReadWrite => "oltp_read_write",
        }
    }

    /// Whether its events are transactions unless `skip_trx` is set.
    #[must_use]
    pub fn has_transactions(self) -> bool {
        self == Kind::OltpReadWrite
    }

    /// A source of the plan's events.
    #[must_use]
    pub fn workload(self, plan: &Plan) -> Box<dyn Workload> {
        match self {
            Kind::OltpPointSelect => Box::new(PointSelect::new(plan.tables)),
            Kind::OltpReadWrite => Box::new(ReadWrite::new(plan.tables, plan.skip_trx)),
        }
    }
}
