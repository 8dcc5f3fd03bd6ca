//! Where statements went, as the servers count them themselves: a split is proved, not assumed.

use serde::{Deserialize, Serialize};

use crate::client::{ClientError, Connection, Patience};
use crate::lab::{Cluster, Flavor};
use crate::target::Target;

/// Statements of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCounts {
    /// SELECT.
    pub reads: u64,
    /// INSERT, UPDATE and DELETE.
    pub writes: u64,
}

impl ServerCounts {
    /// What came since `before`.
    #[must_use]
    pub fn since(self, before: ServerCounts) -> ServerCounts {
        ServerCounts {
            reads: self.reads.saturating_sub(before.reads),
            writes: self.writes.saturating_sub(before.writes),
        }
    }

    /// Adds another count.
    pub fn add(&mut self, more: ServerCounts) {
        self.reads += more.reads;
        self.writes += more.writes;
    }
}

/// By what a server counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountedBy {
    /// MariaDB's user statistics: this account's statements only.
    UserStatistics,
    /// MySQL's performance schema: this account's statements only.
    StatusByUser,
    /// The server's own status: every account's statements, and on a replica what it replicates.
    GlobalStatus,
}

impl CountedBy {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            CountedBy::UserStatistics | CountedBy::StatusByUser => "the account's own statements",
            CountedBy::GlobalStatus => "statements of all accounts; on a replica also what it replicates",
        }
    }

    fn question(self, user: &str) -> String {
        let user = user.replace('\\', "\\\\").replace('\'', "''");
        match self {
            CountedBy::UserStatistics => format!(
                "SELECT 'Com_select', SELECT_COMMANDS FROM information_schema.USER_STATISTICS WHERE USER='{user}' \
                 UNION ALL SELECT 'Com_update', UPDATE_COMMANDS FROM information_schema.USER_STATISTICS \
                 WHERE USER='{user}'"
            ),
            CountedBy::StatusByUser => format!(
                "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.status_by_user WHERE USER='{user}' \
                 AND VARIABLE_NAME IN ('Com_select', 'Com_insert', 'Com_update', 'Com_delete')"
            ),
            CountedBy::GlobalStatus => "SHOW GLOBAL STATUS LIKE 'Com_%'".to_owned(),
        }
    }
}

/// One server that is asked.
#[derive(Debug)]
struct Asked {
    name: String,
    connection: Connection,
    by: CountedBy,
    question: String,
    before: ServerCounts,
}

/// Connections that ask some servers for their counters, opened once.
#[derive(Debug, Default)]
pub struct Counters {
    servers: Vec<Asked>,
}

impl Counters {
    /// Connects to the servers, by accounts that may look at such things; `user` is whose statements are counted.
    ///
    /// # Errors
    /// The server's name and why it cannot be asked.
    pub fn connect(
        servers: &[Target],
        user: &str,
        patience: &Patience,
    ) -> Result<Counters, (String, ClientError)> {
        let mut asked = Vec::new();
        for server in servers {
            let named = |error| (server.name.clone(), error);
            let mut connection = Connection::open(&server.bare(), patience).map_err(named)?;
            let by = best_question(&mut connection);
            let (name, question) = (server.name.clone(), by.question(user));
            asked.push(Asked { name, connection, by, question, before: ServerCounts::default() });
        }
        let mut counters = Counters { servers: asked };
        counters.since_last()?;
        Ok(counters)
    }

    /// The lab's servers, made to count by account.
    ///
    /// # Errors
    /// The server's name and why it cannot be asked.
    pub fn of_lab(
        cluster: &Cluster,
        user: &str,
        patience: &Patience,
    ) -> Result<Counters, (String, ClientError)> {
        let servers: Vec<Target> = cluster.servers().iter().map(Target::lab_root).collect();
        if cluster.flavor() == Flavor::MariaDb {
            for server in &servers {
                let count = Connection::open(server, patience).and_then(|mut connection| {
                    connection.query("SET GLOBAL userstat = 1")?;
                    connection.quit();
                    Ok(())
                });
                count.map_err(|error| (server.name.clone(), error))?;
            }
        }
        Counters::connect(&servers, user, patience)
    }

    /// The servers' names, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.servers.iter().map(|server| server.name.clone()).collect()
    }

    /// By what they count; the worst of all of them.
    #[must_use]
    pub fn counted_by(&self) -> Option<CountedBy> {
        let all = self.servers.iter().map(|server| server.by);
        all.max_by_key(|by| *by == CountedBy::GlobalStatus)
    }

    /// What each server has counted since the last call.
    ///
    /// # Errors
    /// The server's name and its answer.
    pub fn since_last(&mut self) -> Result<Vec<ServerCounts>, (String, ClientError)> {
        let mut all = Vec::new();
        for server in &mut self.servers {
            let rows = server.connection.rows(&server.question);
            let now = counts(&rows.map_err(|error| (server.name.clone(), error))?);
            all.push(now.since(server.before));
            server.before = now;
        }
        Ok(all)
    }
}

/// The best that this server can tell.
fn best_question(connection: &mut Connection) -> CountedBy {
    if connection.first("SELECT @@userstat").ok().flatten().as_deref() == Some("1") {
        return CountedBy::UserStatistics;
    }
    let by_user = "SELECT COUNT(*) FROM performance_schema.status_by_user";
    match connection.first(by_user).ok().flatten() {
        Some(count) if count != "0" => CountedBy::StatusByUser,
        _ => CountedBy::GlobalStatus,
    }
}

fn counts(rows: &[crate::client::Row]) -> ServerCounts {
    let mut counts = ServerCounts::default();
    for row in rows {
        let [Some(name), Some(value)] = &row[..] else { continue };
        let value: u64 = value.parse().unwrap_or(0);
        match name.as_str() {
            "Com_select" => counts.reads += value,
            "Com_insert" | "Com_update" | "Com_delete" => counts.writes += value,
            _ => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_other_commands_are_left_out() {
        let rows = [
            ("Com_select", "5"),
            ("Com_insert", "1"),
            ("Com_update", "2"),
            ("Com_delete", "3"),
            ("Com_insert_select", "9"),
        ];
        let rows = rows.map(|(name, value)| vec![Some(name.to_owned()), Some(value.to_owned())]);
        assert_eq!(counts(&rows), ServerCounts { reads: 5, writes: 6 });
    }

    #[test]
    fn a_quote_in_an_accounts_name_stays_in_its_string() {
        assert!(CountedBy::StatusByUser.question("o'hara").contains("'o''hara'"));
    }
}
