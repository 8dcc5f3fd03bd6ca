//! Where statements went, as the servers counted it themselves, and whether that proves the split.

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use crate::lab::{Cluster, Flavor, LabError, Role, Server};
use crate::report::thousands;

/// Statements of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// SELECT.
    pub(super) reads: u64,
    /// INSERT, UPDATE and DELETE.
    pub(super) writes: u64,
}

impl Counts {
    /// What came since `before`.
    #[must_use]
    pub(super) fn since(self, before: Counts) -> Counts {
        Counts {
            reads: self.reads.saturating_sub(before.reads),
            writes: self.writes.saturating_sub(before.writes),
        }
    }

    /// Adds another count.
    pub(super) fn add(&mut self, more: Counts) {
        self.reads += more.reads;
        self.writes += more.writes;
    }
}

/// Connections that ask the three servers for their counters, opened once: asking is no read to them.
#[derive(Debug)]
pub(super) struct Counters<'a> {
    servers: Vec<(&'a Server, Conn)>,
    question: &'static str,
}

/// A real server's own count of the application account's statements. Not `SHOW GLOBAL STATUS`: there a replica
/// counts the rows it replicates as writes, and a monitor's questions as reads.
const BY_ACCOUNT: &str = "SELECT EVENT_NAME, CAST(SUM(COUNT_STAR) AS CHAR) \
    FROM performance_schema.events_statements_summary_by_user_by_event_name \
    WHERE USER = 'app' AND EVENT_NAME IN \
    ('statement/sql/select', 'statement/sql/insert', 'statement/sql/update', 'statement/sql/delete') \
    GROUP BY EVENT_NAME";

/// An embedded server's count: it replicates nothing.
const STATUS: &str = "SHOW GLOBAL STATUS LIKE 'Com_%'";

impl<'a> Counters<'a> {
    /// Connects to every server of the cluster as root.
    ///
    /// # Errors
    /// The server that refuses.
    pub(super) async fn connect(cluster: &'a Cluster) -> Result<Counters<'a>, LabError> {
        let mut servers = Vec::new();
        for server in cluster.servers() {
            servers.push((server, server.connect_root().await?));
        }
        let question = if cluster.flavor() == Flavor::Embedded { STATUS } else { BY_ACCOUNT };
        Ok(Counters { servers, question })
    }

    /// What each server has counted since it started, in the cluster's order.
    ///
    /// # Errors
    /// The server that does not answer.
    pub(super) async fn read(&mut self) -> Result<Vec<Counts>, LabError> {
        let mut all = Vec::new();
        for (server, connection) in &mut self.servers {
            let rows: Vec<(String, String)> = connection.query(self.question).await.map_err(|source| {
                let (server, statement) = (server.name().to_owned(), self.question.to_owned());
                LabError::Statement { server, statement, source }
            })?;
            all.push(counts(&rows));
        }
        Ok(all)
    }
}

fn counts(rows: &[(String, String)]) -> Counts {
    let mut counts = Counts::default();
    for (name, value) in rows {
        let value: u64 = value.parse().unwrap_or(0);
        match name.as_str() {
            "statement/sql/select" | "Com_select" => counts.reads += value,
            "statement/sql/insert" | "statement/sql/update" | "statement/sql/delete" => {
                counts.writes += value;
            }
            "Com_insert" | "Com_update" | "Com_delete" => counts.writes += value,
            _ => {}
        }
    }
    counts
}

/// What one workload sent through the proxy, and what the servers say they got of it.
#[derive(Debug, Clone)]
pub(super) struct Proxied {
    /// The workload's name.
    pub(super) workload: String,
    /// Whether its statements were in transactions, which stay whole on the primary.
    pub(super) in_transactions: bool,
    /// What the driver sent.
    pub(super) sent: Counts,
    /// What each server counted.
    pub(super) received: Vec<(Role, Counts)>,
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
        of(role).fold(Counts::default(), |mut sum, counts| {
            sum.add(counts);
            sum
        })
    };
    let (primary, replicas, sent) = (sum(Role::Primary), sum(Role::Replica), proxied.sent);
    let nearly = |got: u64, wanted: u64| got + wanted / TOLERANCE >= wanted;
    let name = &proxied.workload;
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
        let received = received.map(|(reads, writes)| Counts { reads, writes });
        let received = roles.into_iter().zip(received).collect();
        Proxied { workload: "w".into(), in_transactions, sent: Counts { reads: 1000, writes: 40 }, received }
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
    }

    #[test]
    fn counters_of_other_commands_are_left_out() {
        let row = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let account = [row("statement/sql/select", "5"), row("statement/sql/delete", "1")];
        assert_eq!(counts(&account), Counts { reads: 5, writes: 1 });
        let rows = [
            row("Com_select", "5"),
            row("Com_insert", "1"),
            row("Com_update", "2"),
            row("Com_delete", "3"),
            row("Com_insert_select", "9"),
        ];
        assert_eq!(counts(&rows), Counts { reads: 5, writes: 6 });
    }
}
