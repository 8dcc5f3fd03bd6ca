//! The functions a read may call: built-ins of MySQL 8/9 and MariaDB 10/11 known to change nothing and
//! to answer the same on every server. A name that is not here may be a stored or loadable function, and
//! those may write.
//!
//! A built-in of one family or version may be somebody's stored function on another (`UUID_V7`), so
//! [`super::builtins`] says who has each name since when.

use super::builtins::is_harmless;
use super::class::{Reason, StatementKind};
use super::dialect::{Dialect, ServerFamily};
use super::effects::Effects;

/// Names the server reads as built-ins only when no blank stands before the parenthesis, unless sql_mode
/// has IGNORE_SPACE; with a blank they call a stored function. MySQL manual, "Function Name Parsing and
/// Resolution".
static NO_BLANK: &[&str] = &[
    "ADDDATE",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "CAST",
    "COUNT",
    "CURDATE",
    "CURTIME",
    "DATE_ADD",
    "DATE_SUB",
    "EXTRACT",
    "GROUP_CONCAT",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "MAX",
    "MID",
    "MIN",
    "NOW",
    "POSITION",
    "SESSION_USER",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "ST_COLLECT",
    "SUBDATE",
    "SUBSTR",
    "SUBSTRING",
    "SUM",
    "SYSDATE",
    "SYSTEM_USER",
    "TRIM",
    "VARIANCE",
    "VAR_POP",
    "VAR_SAMP",
];

/// Part of MariaDB's grammar only with arguments; without any they call a stored function.
static NOT_EMPTY_IN_MARIADB: &[&str] = &[
    "GEOMETRYCOLLECTION",
    "LINESTRING",
    "MULTILINESTRING",
    "MULTIPOINT",
    "MULTIPOLYGON",
    "POINT",
    "POLYGON",
];

/// What a call means for the statement's class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) kind: StatementKind,
    pub(super) reason: Reason,
    pub(super) effects: Effects,
}

const fn call(kind: StatementKind, reason: Reason, effects: Effects) -> Call {
    Call { kind, reason, effects }
}

pub(super) const UNKNOWN_FUNCTION: Call =
    call(StatementKind::Write, Reason::UnknownFunction, Effects::MAY_CALL_UNKNOWN);
pub(super) const SEQUENCE: Call = call(StatementKind::Write, Reason::Sequence, Effects::NONE);
const HARMLESS_CALL: Call = call(StatementKind::Read, Reason::ProvedRead, Effects::NONE);
const NAMED_LOCK: Call = call(StatementKind::Write, Reason::NamedLock, Effects::NONE);
const WAIT: Call = call(StatementKind::PrimaryRead, Reason::ReplicationWait, Effects::NONE);
const ROLE: Call = call(StatementKind::PrimaryRead, Reason::ServerRoleQuestion, Effects::NONE);
const INSERT_ID: Call = call(StatementKind::LastStatement, Reason::LastStatement, Effects::ASKS_INSERT_ID);
const COUNTS: Call = call(StatementKind::LastStatement, Reason::LastStatement, Effects::ASKS_COUNTS);

/// What a call of an unqualified, unquoted name means. `spaced`: blanks stand before the parenthesis;
/// `empty`: nothing stands inside it.
pub(super) fn called(name: &[u8], spaced: bool, empty: bool, dialect: &Dialect) -> Call {
    let mut buffer = [0; 32];
    let Some(name) = upper_case(name, &mut buffer) else { return UNKNOWN_FUNCTION };
    if let Some(call) = special(name, empty, dialect) {
        return call;
    }
    let stored_by_blank = spaced && !dialect.ignore_space && NO_BLANK.binary_search(&name).is_ok();
    let stored_by_emptiness =
        empty && dialect.family == ServerFamily::MariaDb && NOT_EMPTY_IN_MARIADB.binary_search(&name).is_ok();
    if is_harmless(name, dialect) && !stored_by_blank && !stored_by_emptiness {
        return HARMLESS_CALL;
    }
    UNKNOWN_FUNCTION
}

/// Built-ins that tie the statement to a server, a connection or a session.
fn special(name: &str, empty: bool, dialect: &Dialect) -> Option<Call> {
    Some(match name {
        "LAST_INSERT_ID" if !empty => {
            call(StatementKind::Write, Reason::InsertIdSet, Effects::SETS_INSERT_ID)
        }
        "LAST_INSERT_ID" => INSERT_ID,
        "FOUND_ROWS" | "ROW_COUNT" => COUNTS,
        "CONNECTION_ID" => {
            call(StatementKind::SessionRead, Reason::ConnectionId, Effects::CALLS_CONNECTION_ID)
        }
        "PS_CURRENT_THREAD_ID" | "PS_THREAD_ID" => {
            call(StatementKind::PrimaryRead, Reason::ConnectionId, Effects::NONE)
        }
        "VERSION" | "CURRENT_ROLE" => {
            call(StatementKind::SessionRead, Reason::SessionVariable, Effects::NONE)
        }
        "GET_LOCK" => Call { effects: Effects::TAKES_NAMED_LOCK, ..NAMED_LOCK },
        "RELEASE_LOCK" | "RELEASE_ALL_LOCKS" => Call { effects: Effects::RELEASES_NAMED_LOCK, ..NAMED_LOCK },
        "IS_FREE_LOCK" | "IS_USED_LOCK" => Call { kind: StatementKind::PrimaryRead, ..NAMED_LOCK },
        "MASTER_POS_WAIT"
        | "SOURCE_POS_WAIT"
        | "WAIT_FOR_EXECUTED_GTID_SET"
        | "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS"
        | "MASTER_GTID_WAIT" => WAIT,
        "BINLOG_GTID_POS"
        | "WSREP_LAST_SEEN_GTID"
        | "WSREP_LAST_WRITTEN_GTID"
        | "WSREP_SYNC_WAIT_UPTO_GTID"
        | "ROLES_GRAPHML" => ROLE,
        "LOAD_FILE" => call(StatementKind::PrimaryRead, Reason::FileAccess, Effects::NONE),
        "NEXTVAL" | "LASTVAL" | "SETVAL" if dialect.family == ServerFamily::MariaDb => SEQUENCE,
        _ => return None,
    })
}

/// The name in upper case, where it is short enough to be known; names of keywords and built-ins are ASCII.
pub(super) fn upper_case<'b>(name: &[u8], buffer: &'b mut [u8; 32]) -> Option<&'b str> {
    let target = buffer.get_mut(..name.len())?;
    target.copy_from_slice(name);
    target.make_ascii_uppercase();
    std::str::from_utf8(target).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, dialect: &Dialect) -> StatementKind {
        called(name.as_bytes(), false, true, dialect).kind
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(NO_BLANK.is_sorted_by(|one, other| one < other));
        assert!(NOT_EMPTY_IN_MARIADB.is_sorted_by(|one, other| one < other));
    }

    #[test]
    fn no_harmless_name_is_also_special() {
        for name in super::super::builtins::every_name() {
            for empty in [true, false] {
                assert_eq!(
                    special(name, empty, &Dialect::from_server_version("11.8.1-MariaDB")),
                    None,
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn names_are_known_where_their_server_has_them() {
        let mysql = Dialect::default();
        let mariadb = Dialect::from_server_version("5.5.5-10.11.6-MariaDB");
        assert_eq!(kind("abs", &mysql), StatementKind::Read);
        assert_eq!(kind("UUID_TO_BIN", &mysql), StatementKind::Read);
        assert_eq!(kind("UUID_TO_BIN", &mariadb), StatementKind::Write);
        assert_eq!(kind("UUID_TO_BIN", &Dialect::from_server_version("5.7.44")), StatementKind::Write);
        assert_eq!(kind("NVL", &mariadb), StatementKind::Read);
        assert_eq!(kind("NVL", &mysql), StatementKind::Write);
        assert_eq!(kind("PASSWORD", &mysql), StatementKind::Write);
        assert_eq!(kind("MD5", &Dialect::from_server_version("9.5.0")), StatementKind::Read);
        assert_eq!(kind("MD5", &Dialect::from_server_version("9.6.0")), StatementKind::Write);
        assert_eq!(kind("MBREQUAL", &mysql), StatementKind::Write);
        assert_eq!(kind("JSON_SCHEMA_VALID", &mariadb), StatementKind::Write);
        assert_eq!(kind("POINT", &mariadb), StatementKind::Write);
        assert_eq!(called(b"POINT", false, false, &mariadb).kind, StatementKind::Read);
        assert_eq!(kind("my_func", &mysql), StatementKind::Write);
        assert_eq!(kind(&"a".repeat(100), &mysql), StatementKind::Write);
        assert_eq!(kind("GËT_LOCK", &mysql), StatementKind::Write);
    }

    #[test]
    fn a_blank_before_the_parenthesis_may_call_a_stored_function() {
        let mysql = Dialect::default();
        assert_eq!(called(b"count", true, false, &mysql).kind, StatementKind::Write);
        assert_eq!(called(b"abs", true, false, &mysql).kind, StatementKind::Read);
        let ignoring = Dialect { ignore_space: true, ..mysql };
        assert_eq!(called(b"count", true, false, &ignoring).kind, StatementKind::Read);
    }

    #[test]
    fn last_insert_id_with_an_argument_sets_it() {
        let mysql = Dialect::default();
        assert_eq!(called(b"LAST_INSERT_ID", false, true, &mysql).kind, StatementKind::LastStatement);
        assert_eq!(called(b"LAST_INSERT_ID", false, false, &mysql).effects, Effects::SETS_INSERT_ID);
    }
}
