//! How often each reason decided, for the metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use super::class::Reason;
use super::facts::{PinReason, RouteReason};

/// Reasons that are neither a pin nor a class: see [`place`].
const OTHERS: usize = 7;
const PINS: usize = PinReason::ALL.len();
const PLACES: usize = PINS + Reason::ALL.len() + OTHERS;

/// How many statements of one worker went where they went for each reason. Only the worker writes; reading
/// from other threads costs it nothing.
#[derive(Debug)]
pub struct RouteCounts([AtomicU64; PLACES]);

impl Default for RouteCounts {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; PLACES])
    }
}

impl RouteCounts {
    /// Counts one statement.
    pub fn note(&self, reason: RouteReason) {
        let count = &self.0[place(reason)];
        // One writer, so no read-modify-write is needed.
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Each reason's step and name, `("class", "locking_clause")`, with the statements it decided.
    pub fn all(&self) -> impl Iterator<Item = ((&'static str, &'static str), u64)> + '_ {
        let pins = PinReason::ALL.into_iter().map(RouteReason::Held);
        let classes = Reason::ALL.into_iter().map(RouteReason::Class);
        let known = pins.chain(classes).map(|reason| (reason.step(), reason.as_str()));
        let names = known.chain(OTHER_NAMES);
        names.zip(&self.0).map(|(name, count)| (name, count.load(Ordering::Relaxed)))
    }
}

/// Behind pins and classes, in the order of [`place`].
const OTHER_NAMES: [(&str, &str); OTHERS] = [
    ("hint", "hint"),
    ("session", "isolation"),
    ("session", "system_schema"),
    ("class", "read_only_transaction"),
    ("servers", "no_usable_replica"),
    ("rule", "rule"),
    ("rule", "firewall"),
];

fn place(reason: RouteReason) -> usize {
    let other = |at: usize| PLACES - OTHERS + at;
    match reason {
        RouteReason::Held(pin) => pin as usize,
        RouteReason::Class(reason) => PINS + reason as usize,
        RouteReason::Hint => other(0),
        RouteReason::Isolation => other(1),
        RouteReason::SystemSchema => other(2),
        RouteReason::ReadOnlyTransaction => other(3),
        RouteReason::NoUsableReplica => other(4),
        RouteReason::Rule(_) => other(5),
        RouteReason::Firewall(_) => other(6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::{Hazard, Rules, Verdict};

    #[test]
    fn every_reason_is_counted_under_its_own_name() {
        let pins = PinReason::ALL.into_iter().map(RouteReason::Held);
        let classes = Reason::ALL.into_iter().map(RouteReason::Class);
        let others = [
            RouteReason::Hint,
            RouteReason::Isolation,
            RouteReason::SystemSchema,
            RouteReason::ReadOnlyTransaction,
            RouteReason::NoUsableReplica,
            RouteReason::Firewall(Hazard::Drop),
        ];
        let counts = RouteCounts::default();
        let mut noted = Vec::new();
        for reason in pins.chain(classes).chain(others) {
            counts.note(reason);
            noted.push((reason.step(), reason.as_str()));
            for (name, count) in counts.all() {
                assert_eq!(count, u64::from(noted.contains(&name)), "{name:?} after {reason:?}");
            }
        }
        assert!(Rules::default().name(Verdict::None).is_none());
    }
}
