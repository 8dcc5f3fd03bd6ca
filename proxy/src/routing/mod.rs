//! Where a statement goes: text and facts in, a route out.
//!
//! Pure: no sockets, no clock, no configuration files, no knowledge of how bytes travel. A statement
//! is scanned once ([`scan()`]), its class is taken from the worker's [`ClassCache`] or found by two
//! judges ([`classify()`]), and [`route()`] decides from the class, the hint, the session and the servers.
//! Not understood means primary, everywhere.

mod balance;
mod body;
mod builtins;
mod cache;
mod class;
mod classify;
mod dialect;
mod effects;
mod facts;
mod functions;
mod heads;
mod latency;
mod lex;
mod read;
mod reader;
mod scan;
mod set;
mod show;
mod structure;
mod swar;
mod tree;
mod variables;

pub use balance::{Balancer, Candidate, Policy};
pub use cache::{CacheStats, ClassCache};
pub use class::{KillTarget, Reason, StatementClass, StatementKind, TableName};
pub use classify::classify;
pub use dialect::{ClientCharset, Dialect, ServerFamily};
pub use effects::Effects;
pub use facts::{Fallback, Isolation, PinReason, ReplicaFacts, Route, RouteReason, SessionFacts, Target};
pub use latency::{LATENCY_DECAY, Latency};
pub use scan::{Hint, Scan, scan};

/// Decides where a statement goes. `hint` is the one of its leading comment.
///
/// The order is fixed: what the session holds, the hint, the class (with the session's isolation
/// level and schema), the servers. Rules of the user stand between hint and class: they see the same
/// arguments and may only choose among targets that the class allows.
#[must_use]
pub fn route(
    class: &StatementClass,
    hint: Option<Hint>,
    facts: &SessionFacts,
    replicas: &ReplicaFacts,
) -> Route {
    if let Some(pin) = held_by(class, facts) {
        return Route { target: Target::Held, reason: RouteReason::Held(pin), hint_ignored: false };
    }
    if hint == Some(Hint::Primary) {
        return Route { target: Target::Primary, reason: RouteReason::Hint, hint_ignored: false };
    }
    let replica_hint = hint == Some(Hint::Replica);
    match replica_wish(class, facts) {
        Err(reason) => Route { target: Target::Primary, reason, hint_ignored: replica_hint },
        Ok(_) if replicas.usable == 0 => Route {
            target: match replicas.fallback {
                Fallback::Primary => Target::Primary,
                Fallback::Error => Target::Own,
            },
            reason: RouteReason::NoUsableReplica,
            hint_ignored: false,
        },
        Ok(reason) => Route {
            target: Target::Replica,
            reason: if replica_hint { RouteReason::Hint } else { reason },
            hint_ignored: false,
        },
    }
}

/// What binds the statement to a connection the session already has.
fn held_by(class: &StatementClass, facts: &SessionFacts) -> Option<PinReason> {
    let asks_previous = class.kind == StatementKind::LastStatement && facts.keeps_previous;
    facts.held.or(asks_previous.then_some(PinReason::LastStatement))
}

/// Whether a replica may run it, and why, or why not.
fn replica_wish(class: &StatementClass, facts: &SessionFacts) -> Result<RouteReason, RouteReason> {
    let wish = match class.kind {
        StatementKind::Read => RouteReason::Class(class.reason),
        StatementKind::Transaction if is_read_only_start(class) => RouteReason::ReadOnlyTransaction,
        _ => return Err(RouteReason::Class(class.reason)),
    };
    if !facts.isolation.allows_replica() {
        return Err(RouteReason::Isolation);
    }
    if facts.in_system_schema {
        return Err(RouteReason::SystemSchema);
    }
    Ok(wish)
}

/// START TRANSACTION READ ONLY alone: with other statements in the text, what follows is not looked into.
fn is_read_only_start(class: &StatementClass) -> bool {
    class.effects == Effects::BEGINS_TRANSACTION | Effects::BEGINS_READ_ONLY_TRANSACTION
}

#[cfg(test)]
mod tests;
