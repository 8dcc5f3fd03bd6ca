//! Where statements went, as the servers count them themselves: a split is proved, not assumed.

use serde::{Deserialize, Serialize};

use crate::client::{ClientError, Connection, Patience, Row};
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
    /// MySQL's statement events: this account's statements only. They do not tell what a prepared statement did, so of
    /// the account's executions those are reads that the server's own counter of selects has and no text explains.
    StatementEvents,
    /// The server's own status: every account's statements, and on a replica what it replicates.
    GlobalStatus,
}

impl CountedBy {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            CountedBy::UserStatistics | CountedBy::StatementEvents => "the account's own statements",
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
            CountedBy::StatementEvents => {
                let by_user = |name: &str, events: &str| {
                    format!(
                        "SELECT '{name}', CAST(COALESCE(SUM(COUNT_STAR), 0) AS UNSIGNED) FROM \
                         performance_schema.events_statements_summary_by_user_by_event_name \
                         WHERE USER='{user}' AND EVENT_NAME IN ({events}) UNION ALL "
                    )
                };
                let writes = "'statement/sql/insert', 'statement/sql/update', 'statement/sql/delete'";
                format!(
                    "{}{}{}{}{}SELECT 'all_text_select', COUNT_STAR FROM \
                     performance_schema.events_statements_summary_global_by_event_name \
                     WHERE EVENT_NAME='statement/sql/select'",
                    by_user("text_select", "'statement/sql/select'"),
                    by_user("text_write", writes),
                    by_user("execute", "'statement/com/Execute'"),
                    by_user("text_begin", "'statement/sql/begin'"),
                    by_user("text_end", "'statement/sql/commit', 'statement/sql/rollback'")
                )
            }
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

impl Asked {
    /// Its counts, as soon as they stay.
    fn settled(&mut self) -> Result<ServerCounts, ClientError> {
        let mut now = counts(&self.ask()?);
        for _ in 0..MOST_QUESTIONS {
            let again = counts(&self.ask()?);
            if std::mem::replace(&mut now, again) == again {
                break;
            }
        }
        Ok(now)
    }

    fn ask(&mut self) -> Result<Vec<Row>, ClientError> {
        let mut rows = self.connection.rows(&self.question)?;
        if self.by == CountedBy::StatementEvents {
            let selects = self.connection.rows("SHOW GLOBAL STATUS LIKE 'Com_select'")?;
            let count = selects.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten());
            rows.push(vec![Some("all_select".to_owned()), count]);
        }
        Ok(rows)
    }
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
    /// A server counts a statement when it is over, which is after its reply: it is asked again until its answer stays.
    ///
    /// # Errors
    /// The server's name and its answer.
    pub fn since_last(&mut self) -> Result<Vec<ServerCounts>, (String, ClientError)> {
        let mut all = Vec::new();
        for server in &mut self.servers {
            let now = server.settled().map_err(|error| (server.name.clone(), error))?;
            all.push(now.since(server.before));
            server.before = now;
        }
        Ok(all)
    }
}

/// A server that others use too never stays.
const MOST_QUESTIONS: u32 = 3;

/// The best that this server can tell.
fn best_question(connection: &mut Connection) -> CountedBy {
    let mut ask = |sql: &str| connection.first(sql).ok().flatten().unwrap_or_default();
    if ask("SELECT @@userstat") == "1" {
        return CountedBy::UserStatistics;
    }
    // MariaDB prepares BEGIN and COMMIT too, which its events cannot be told from writes.
    let is_mysql = !ask("SELECT VERSION()").contains("MariaDB");
    let has_events = is_mysql && ask("SELECT @@performance_schema") == "1";
    if has_events { CountedBy::StatementEvents } else { CountedBy::GlobalStatus }
}

fn counts(rows: &[Row]) -> ServerCounts {
    let mut counts = ServerCounts::default();
    let (mut executes, mut selects, mut explained) = (0_u64, 0_u64, 0_u64);
    let (mut begins, mut ends) = (0_u64, 0_u64);
    for row in rows {
        let [Some(name), Some(value)] = &row[..] else { continue };
        let value: u64 = value.parse().unwrap_or(0);
        match name.as_str() {
            "Com_select" | "text_select" => counts.reads += value,
            "Com_insert" | "Com_update" | "Com_delete" | "text_write" => counts.writes += value,
            "execute" => executes = value,
            "text_begin" => begins = value,
            "text_end" => ends = value,
            "all_select" => selects = value,
            "all_text_select" => explained = value,
            _ => {}
        }
    }
    let prepared_selects = selects.saturating_sub(explained);
    counts.reads += prepared_selects;
    // MySQL prepares COMMIT and not BEGIN: what began in text and did not end in text was executed too.
    let prepared_commits = begins.saturating_sub(ends);
    counts.writes += executes.saturating_sub(prepared_selects + prepared_commits);
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
    fn executions_that_the_text_does_not_explain_are_told_apart_by_the_selects_among_them() {
        let rows = [
            ("text_select", "3"),
            ("text_write", "2"),
            ("execute", "20"),
            ("text_begin", "3"),
            ("text_end", "1"),
            ("all_text_select", "10"),
            ("all_select", "24"),
        ];
        let rows = rows.map(|(name, value)| vec![Some(name.to_owned()), Some(value.to_owned())]);
        assert_eq!(counts(&rows), ServerCounts { reads: 17, writes: 6 });
    }

    #[test]
    fn a_quote_in_an_accounts_name_stays_in_its_string() {
        assert!(CountedBy::UserStatistics.question("o'hara").contains("'o''hara'"));
    }
}
