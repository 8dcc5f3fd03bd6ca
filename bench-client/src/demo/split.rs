//! Where statements went, as the servers counted it themselves, and whether that proves the split.

use crate::counters::ServerCounts;
use crate::lab::Role;
use crate::report::thousands;

/// What one workload sent through the proxy, and what the servers say they got of it.
#[derive(Debug, Clone)]
pub(super) struct Proxied {
    /// The workload's name.
    pub(super) workload: String,
    /// Whether its statements were in transactions, which stay whole on the primary.
    pub(super) in_transactions: bool,
    /// What the driver sent.
    pub(super) sent: ServerCounts,
    /// What each server counted.
    pub(super) received: Vec<(Role, ServerCounts)>,
}

/// A monitor asks the servers too, so shares are judged to one in a hundred.
const TOLERANCE: u64 = 100;
/// A server counts a statement when it is over, which is after its reply: of each thread's last one it may not have
/// done so when it is asked.
const LATE: u64 = 8;

/// Why this workload does not show a split; None where it does.
#[must_use]
pub(super) fn objection(proxied: &Proxied) -> Option<String> {
    let of =
        |role: Role| proxied.received.iter().filter(move |(own, _)| *own == role).map(|(_, counts)| *counts);
    let sum = |role: Role| {
        of(role).fold(ServerCounts::default(), |mut sum, counts| {
            sum.add(counts);
            sum
        })
    };
    let (primary, replicas, sent) = (sum(Role::Primary), sum(Role::Replica), proxied.sent);
    let nearly = |got: u64, wanted: u64| got + wanted / TOLERANCE >= wanted;
    let name = &proxied.workload;
    if sent == ServerCounts::default() {
        return Some(format!("{name}: nothing was sent"));
    }
    if replicas.writes > 0 {
        return Some(format!("{name}: replicas counted {} writes", thousands(replicas.writes)));
    }
    if primary.writes.abs_diff(sent.writes) > sent.writes / TOLERANCE + LATE {
        let (got, sent) = (thousands(primary.writes), thousands(sent.writes));
        return Some(format!("{name}: the primary counted {got} writes of {sent} sent"));
    }
    let (place, got) = if proxied.in_transactions {
        ("the primary", primary.reads)
    } else {
        ("the replicas", replicas.reads)
    };
    if !nearly(got, sent.reads) {
        let (got, sent) = (thousands(got), thousands(sent.reads));
        return Some(format!("{name}: {place} counted {got} reads of {sent} sent"));
    }
    let idle = !proxied.in_transactions && of(Role::Replica).any(|counts| counts.reads * 10 < sent.reads / 2);
    idle.then(|| format!("{name}: one replica had less than a tenth of its share of the reads"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxied(in_transactions: bool, received: [(u64, u64); 3]) -> Proxied {
        let roles = [Role::Primary, Role::Replica, Role::Replica];
        let received = received.map(|(reads, writes)| ServerCounts { reads, writes });
        let received = roles.into_iter().zip(received).collect();
        Proxied {
            workload: "w".into(),
            in_transactions,
            sent: ServerCounts { reads: 1000, writes: 40 },
            received,
        }
    }

    #[test]
    fn reads_on_replicas_and_writes_on_the_primary_prove_the_split() {
        assert_eq!(objection(&proxied(false, [(3, 40), (500, 0), (500, 0)])), None);
        assert_eq!(objection(&proxied(false, [(3, 40), (745, 0), (250, 0)])), None);
        assert_eq!(objection(&proxied(true, [(1000, 40), (2, 0), (2, 0)])), None);
    }

    #[test]
    fn each_kind_of_failure_is_named() {
        let says = |in_transactions, received, words: &str| {
            let text = objection(&proxied(in_transactions, received)).unwrap();
            assert!(text.contains(words), "{text}");
        };
        says(false, [(0, 39), (500, 1), (500, 0)], "replicas counted 1 writes");
        says(false, [(0, 20), (500, 0), (500, 0)], "the primary counted 20 writes of 40");
        says(false, [(1000, 40), (2, 0), (2, 0)], "the replicas counted 4 reads of 1,000");
        says(true, [(500, 40), (250, 0), (250, 0)], "the primary counted 500 reads");
        says(false, [(0, 40), (1000, 0), (2, 0)], "one replica had less");
        let nothing = Proxied { sent: ServerCounts::default(), ..proxied(false, [(0, 0); 3]) };
        assert!(objection(&nothing).unwrap().contains("nothing was sent"));
    }
}
