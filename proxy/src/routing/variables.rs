//! What it means to read or to set a system variable.

use super::class::{Reason, StatementKind};
use super::effects::Effects;
use super::functions::{Call, upper_case};

/// What reading `@@name` means. The scope does not matter: the global value, too, is one server's own.
pub(super) fn read(name: &[u8]) -> Call {
    let mut buffer = [0; 32];
    let known = upper_case(name, &mut buffer).unwrap_or_default();
    if let Some(effects) = asks_last_statement(known) {
        return Call { kind: StatementKind::LastStatement, reason: Reason::LastStatement, effects };
    }
    let (kind, reason) = match known {
        "PSEUDO_THREAD_ID" => (StatementKind::PrimaryRead, Reason::ConnectionId),
        _ if asks_role(known) => (StatementKind::PrimaryRead, Reason::ServerRoleQuestion),
        _ => (StatementKind::SessionRead, Reason::SessionVariable),
    };
    Call { kind, reason, effects: Effects::NONE }
}

/// What a variable holds of the statement before, if anything.
fn asks_last_statement(name: &str) -> Option<Effects> {
    match name {
        "IDENTITY" | "LAST_INSERT_ID" | "INSERT_ID" => Some(Effects::ASKS_INSERT_ID),
        "WARNING_COUNT" | "ERROR_COUNT" | "LAST_GTID" | "RAND_SEED1" | "RAND_SEED2" | "STATEMENT_ID" => {
            Some(Effects::ASKS_DIAGNOSTICS)
        }
        _ => None,
    }
}

/// Variables by which programs tell servers apart, or decide whether they may write.
fn asks_role(name: &str) -> bool {
    const PREFIXES: &[&str] = &[
        "GTID_",
        "RPL_",
        "SLAVE_",
        "REPLICA_",
        "RELAY_LOG",
        "LOG_BIN",
        "BINLOG_",
        "GROUP_REPLICATION_",
        "WSREP_",
        "SQL_SLAVE_",
        "SQL_REPLICA_",
    ];
    matches!(
        name,
        "READ_ONLY"
            | "SUPER_READ_ONLY"
            | "INNODB_READ_ONLY"
            | "OFFLINE_MODE"
            | "SERVER_ID"
            | "SERVER_ID_BITS"
            | "SERVER_UUID"
            | "HOSTNAME"
            | "PORT"
            | "SOCKET"
            | "DATADIR"
            | "BASEDIR"
            | "TMPDIR"
            | "PID_FILE"
            | "REPORT_HOST"
            | "REPORT_PORT"
            | "BIND_ADDRESS"
            | "SERVER_UID"
            | "INIT_SLAVE"
            | "INIT_REPLICA"
            | "LOG_SLAVE_UPDATES"
            | "LOG_REPLICA_UPDATES"
    ) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether setting the session variable makes state that no other connection can be given: one-shot
/// values, replication's own, and what a server refuses to set twice alike.
pub(super) fn is_untracked(name: &[u8]) -> bool {
    const NAMES: &[&str] = &[
        "SQL_LOG_BIN",
        "INSERT_ID",
        "LAST_INSERT_ID",
        "IDENTITY",
        "RAND_SEED1",
        "RAND_SEED2",
        "GTID_NEXT",
        "GTID_SEQ_NO",
        "GTID_DOMAIN_ID",
        "SERVER_ID",
        "PSEUDO_THREAD_ID",
        "PSEUDO_SLAVE_MODE",
        "PSEUDO_REPLICA_MODE",
        "SKIP_REPLICATION",
        "ORIGINAL_COMMIT_TIMESTAMP",
        "IMMEDIATE_SERVER_VERSION",
        "ORIGINAL_SERVER_VERSION",
        "WSREP_ON",
        "WSREP_OSU_METHOD",
        "RBR_EXEC_MODE",
        "DEBUG",
        "DEBUG_SYNC",
        "DEBUG_DBUG",
    ];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// The variables whose `@@name` form without a scope holds for the next transaction only. MySQL manual,
/// "SET TRANSACTION Statement".
pub(super) fn is_transaction_characteristic(name: &[u8]) -> bool {
    ["transaction_isolation", "tx_isolation", "transaction_read_only", "tx_read_only"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether a schema belongs to the server rather than to its data. `information_schema` is judged by table.
pub(super) fn is_system_schema(name: &[u8]) -> bool {
    ["mysql", "sys", "performance_schema"].iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

pub(super) fn is_information_schema(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"information_schema")
}

/// The tables of `information_schema` that describe schema objects, the same on every server.
pub(super) fn is_schema_object_table(name: &[u8]) -> bool {
    const TABLES: &[&str] = &[
        "CHARACTER_SETS",
        "CHECK_CONSTRAINTS",
        "COLLATIONS",
        "COLLATION_CHARACTER_SET_APPLICABILITY",
        "COLUMNS",
        "COLUMNS_EXTENSIONS",
        "COLUMN_PRIVILEGES",
        "ENGINES",
        "EVENTS",
        "GEOMETRY_COLUMNS",
        "KEYWORDS",
        "KEY_COLUMN_USAGE",
        "KEY_PERIOD_USAGE",
        "PARAMETERS",
        "PARTITIONS",
        "PERIODS",
        "REFERENTIAL_CONSTRAINTS",
        "ROUTINES",
        "SCHEMATA",
        "SCHEMATA_EXTENSIONS",
        "SCHEMA_PRIVILEGES",
        "SEQUENCES",
        "SPATIAL_REF_SYS",
        "SQL_FUNCTIONS",
        "STATISTICS",
        "ST_GEOMETRY_COLUMNS",
        "ST_SPATIAL_REFERENCE_SYSTEMS",
        "ST_UNITS_OF_MEASURE",
        "TABLES",
        "TABLES_EXTENSIONS",
        "TABLE_CONSTRAINTS",
        "TABLE_CONSTRAINTS_EXTENSIONS",
        "TABLE_PRIVILEGES",
        "TRIGGERS",
        "VIEWS",
        "VIEW_ROUTINE_USAGE",
        "VIEW_TABLE_USAGE",
    ];
    TABLES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_fall_into_their_groups() {
        assert_eq!(read(b"sql_mode").kind, StatementKind::SessionRead);
        assert_eq!(read(b"warning_count").kind, StatementKind::LastStatement);
        for name in
            ["read_only", "gtid_executed", "SERVER_ID", "log_bin_basename", "rpl_semi_sync_master_enabled"]
        {
            assert_eq!(read(name.as_bytes()).reason, Reason::ServerRoleQuestion, "{name}");
        }
        assert!(is_untracked(b"sql_log_bin") && !is_untracked(b"sql_mode"));
    }

    #[test]
    fn only_schema_objects_of_information_schema_are_common_to_all_servers() {
        assert!(is_schema_object_table(b"tables") && !is_schema_object_table(b"PROCESSLIST"));
        assert!(is_system_schema(b"MySQL") && !is_system_schema(b"information_schema"));
    }
}
