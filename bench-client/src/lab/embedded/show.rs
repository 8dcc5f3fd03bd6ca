//! What an embedded server tells of itself: status counters, system variables, replica status.

use std::sync::atomic::{AtomicU64, Ordering};

use super::engine::{Answer, Cell, Engine, SessionState, VERSION};
use crate::lab::Role;

/// What SHOW GLOBAL STATUS counts, by the name after `Com_`.
const COUNTED: [&str; 14] = [
    "select",
    "insert",
    "update",
    "delete",
    "begin",
    "commit",
    "rollback",
    "set_option",
    "create_table",
    "drop_table",
    "create_db",
    "drop_db",
    "create_index",
    "analyze",
];

/// One server's own numbers: how many statements of each kind it has run.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    commands: [AtomicU64; COUNTED.len()],
    questions: AtomicU64,
}

impl Counters {
    pub(crate) fn count(&self, command: &str) {
        self.questions.fetch_add(1, Ordering::Relaxed);
        if let Some(at) = COUNTED.iter().position(|counted| *counted == command) {
            self.commands[at].fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn rows(&self, pattern: &str) -> Vec<Vec<Cell>> {
        let commands = COUNTED.iter().zip(&self.commands).map(|(name, count)| (format!("Com_{name}"), count));
        let all = commands.chain([("Questions".to_owned(), &self.questions)]);
        let matching = all.filter(|(name, _)| like(name, pattern));
        matching
            .map(|(name, count)| {
                vec![Cell::Text(name), Cell::Text(count.load(Ordering::Relaxed).to_string())]
            })
            .collect()
    }
}

impl Engine {
    pub(crate) fn variable(&self, session: &SessionState, name: &str) -> Cell {
        match name {
            "autocommit" => Cell::Integer(i64::from(session.autocommit)),
            _ => {
                let known = self.known_variables().into_iter().find(|(known, _)| *known == name);
                known.map_or(Cell::Null, |(_, value)| value.parse().map_or(Cell::Text(value), Cell::Integer))
            }
        }
    }

    /// The variables that drivers and Telamon's monitor ask for.
    fn known_variables(&self) -> Vec<(&'static str, String)> {
        let read_only = u8::from(self.role == Role::Replica).to_string();
        let fixed = [
            ("max_allowed_packet", "67108864"),
            ("wait_timeout", "28800"),
            ("interactive_timeout", "28800"),
            ("character_set_client", "utf8mb4"),
            ("character_set_connection", "utf8mb4"),
            ("character_set_results", "utf8mb4"),
            ("character_set_server", "utf8mb4"),
            ("collation_connection", "utf8mb4_general_ci"),
            ("collation_server", "utf8mb4_general_ci"),
            ("lower_case_table_names", "1"),
            ("net_write_timeout", "60"),
            ("sql_mode", "STRICT_TRANS_TABLES"),
            ("time_zone", "SYSTEM"),
            ("system_time_zone", "UTC"),
            ("transaction_isolation", "REPEATABLE-READ"),
            ("tx_isolation", "REPEATABLE-READ"),
            ("gtid_executed", ""),
            ("version", VERSION),
            ("version_comment", "Telamon's embedded bench server"),
        ];
        let own = [
            ("server_id", self.server_id.to_string()),
            ("port", self.port.to_string()),
            ("read_only", read_only.clone()),
            ("super_read_only", read_only),
        ];
        fixed.into_iter().map(|(name, value)| (name, value.to_owned())).chain(own).collect()
    }

    pub(crate) fn variables(&self, pattern: &str) -> Answer {
        let matching = self.known_variables().into_iter().filter(|(name, _)| like(name, pattern));
        pairs(matching.map(|(name, value)| vec![Cell::Text(name.to_owned()), Cell::Text(value)]).collect())
    }

    /// The columns that tell whether a replica follows and how far it is behind: never, with one store.
    pub(crate) fn replica_status(&self) -> Answer {
        let columns = ["Slave_IO_Running", "Slave_SQL_Running", "Replica_IO_Running", "Replica_SQL_Running"];
        let lag = ["Seconds_Behind_Master", "Seconds_Behind_Source"];
        let row = columns.map(|_| Cell::Text("Yes".into())).into_iter().chain(lag.map(|_| Cell::Integer(0)));
        let rows = if self.role == Role::Replica { vec![row.collect()] } else { Vec::new() };
        Answer::Rows { columns: columns.iter().chain(&lag).map(|name| (*name).to_owned()).collect(), rows }
    }
}

/// A result of names and values.
pub(crate) fn pairs(rows: Vec<Vec<Cell>>) -> Answer {
    Answer::Rows { columns: ["Variable_name", "Value"].map(str::to_owned).to_vec(), rows }
}

/// SQL's LIKE with `%` and `_`, without regard to case.
fn like(text: &str, pattern: &str) -> bool {
    let (text, pattern) = (text.to_ascii_lowercase(), pattern.to_ascii_lowercase().replace("\\_", "_"));
    fn matches(text: &[u8], pattern: &[u8]) -> bool {
        match (text, pattern) {
            ([], []) => true,
            (_, [b'%', rest @ ..]) => (0..=text.len()).any(|skip| matches(&text[skip..], rest)),
            ([_, text @ ..], [b'_', rest @ ..]) => matches(text, rest),
            ([a, text @ ..], [b, rest @ ..]) => a == b && matches(text, rest),
            _ => false,
        }
    }
    matches(text.as_bytes(), pattern.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_knows_its_two_wildcards() {
        assert!(like("Com_select", "com\\_%"));
        assert!(like("version", "v_rsion"));
        assert!(like("", "%"));
        assert!(!like("Com_select", "Com_"));
    }
}
