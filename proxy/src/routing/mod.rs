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
mod connection_id;
mod counts;
mod dialect;
mod effects;
mod facts;
mod firewall;
mod functions;
mod heads;
mod inner;
mod latency;
mod lex;
mod normal;
mod read;
mod reader;
mod rules;
mod scan;
mod set;
mod show;
mod structure;
mod swar;
mod tables;
mod tree;
mod user_variable;
mod variables;

pub use balance::{Balancer, Candidate, Policy};
pub use cache::{CacheStats, ClassCache};
pub use class::{KillTarget, Reason, StatementClass, StatementKind, TableName};
pub use classify::classify;
pub use connection_id::with_connection_id;
pub use counts::RouteCounts;
pub use dialect::{ClientCharset, Dialect, ServerFamily};
pub use effects::Effects;
pub use facts::{Fallback, Isolation, PinReason, ReplicaFacts, Route, RouteReason, SessionFacts, Target};
pub use firewall::{Hazard, Hazards};
pub use latency::{LATENCY_DECAY, Latency};
pub use normal::normal_form;
pub use rules::{
    Action, Asked, Matcher, Pattern, Rule, RuleCount, RuleId, RuleSet, Rules, Verdict, Wish, covers, is_wider,
};
pub use scan::{Hint, Scan, scan};
pub use user_variable::{UserVariable, literal_user_variables};

/// Decides where a statement goes. `hint` is the one of its leading comment, `verdict` what
/// [`Rules::judge`] says of it.
///
/// The order is fixed: refusals, what the session holds, the hint, the first rule that matches, the class
/// (with the session's isolation level and schema), the servers. A rule chooses only among targets that
/// the class allows; where it wishes another, it is not followed.
#[must_use]
pub fn route(
    class: &StatementClass,
    hint: Option<Hint>,
    facts: &SessionFacts,
    replicas: &ReplicaFacts,
    verdict: Verdict,
) -> Route {
    let to = |target, reason| Route { target, reason, hint_ignored: false, rule_ignored: false };
    let wish = match verdict {
        Verdict::Firewall(hazard) => return to(Target::Own, RouteReason::Firewall(hazard)),
        Verdict::Rule(id, Wish::Reject) => return to(Target::Own, RouteReason::Rule(id)),
        Verdict::Rule(id, wish) => Some((id, wish)),
        Verdict::None => None,
    };
    let wants = |wished: &[Wish]| wish.filter(|(_, wish)| wished.contains(wish)).map(|(id, _)| id);
    let away = wants(&[Wish::Replica, Wish::Label]);
    if let Some(pin) = held_by(class, facts) {
        return Route { rule_ignored: away.is_some(), ..to(Target::Held, RouteReason::Held(pin)) };
    }
    if hint == Some(Hint::Primary) {
        return Route { rule_ignored: away.is_some(), ..to(Target::Primary, RouteReason::Hint) };
    }
    let home = wants(&[Wish::Primary]);
    let replica_hint = hint == Some(Hint::Replica);
    let reason = match replica_wish(class, facts) {
        Err(reason) => {
            let reason = home.map_or(reason, RouteReason::Rule);
            let ignored = to(Target::Primary, reason);
            return Route { hint_ignored: replica_hint, rule_ignored: away.is_some(), ..ignored };
        }
        Ok(_) if replica_hint => RouteReason::Hint,
        // Its transaction may go on to do anything, so no rule moves it.
        Ok(reason @ RouteReason::ReadOnlyTransaction) => reason,
        Ok(reason) => match (home, away) {
            (Some(id), _) => return to(Target::Primary, RouteReason::Rule(id)),
            (_, Some(id)) => RouteReason::Rule(id),
            _ => reason,
        },
    };
    let wished = home.or(away).is_some();
    let rule_ignored = wished && !matches!(reason, RouteReason::Rule(_));
    if replicas.usable == 0 {
        let target = match replicas.fallback {
            Fallback::Primary => Target::Primary,
            Fallback::Error => Target::Own,
        };
        return Route { rule_ignored, ..to(target, RouteReason::NoUsableReplica) };
    }
    Route { rule_ignored, ..to(Target::Replica, reason) }
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
