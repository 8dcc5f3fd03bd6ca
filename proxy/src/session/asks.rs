//! What a statement asks about the ones before it.

use super::command_phase::contains;
use crate::routing::{Effects, ServerFamily, StatementClass, StatementKind};

/// What a statement asks about the ones before it, and whether it ends what they left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asks {
    /// The session's last insert id.
    pub(super) insert_id: bool,
    /// It may give an explicit one, which the OK packet reports and LAST_INSERT_ID() does not take over.
    pub(super) inserts: bool,
    /// The warnings and errors that are listed.
    pub(super) warnings: bool,
    /// How many rows the last statement changed or found.
    pub(super) counts: bool,
    /// One of these, and the statement does nothing else.
    pub(super) is_question: bool,
    /// Nothing; and it empties the list of warnings, whoever's they are.
    pub(super) clears_warnings: bool,
}

impl Asks {
    /// What a text of this class asks.
    pub(super) fn of(class: &StatementClass, text: &[u8], family: ServerFamily) -> Self {
        let is_question = class.kind == StatementKind::LastStatement;
        // MariaDB keeps the list until a statement uses a table or has a warning of its own.
        let clears_warnings = !is_question && (family == ServerFamily::MySql || !class.tables.is_empty());
        if !class.effects.contains(Effects::ASKS_LAST_STATEMENT) && !is_question {
            let inserts = class.kind == StatementKind::Write && may_insert(text);
            return Self { clears_warnings, inserts, ..Self::default() };
        }
        let insert_id = contains(text, b"insert_id") || contains(text, b"identity");
        let counts = contains(text, b"found_rows") || contains(text, b"row_count");
        Self {
            insert_id,
            inserts: !is_question,
            warnings: is_question && !insert_id && !counts,
            counts,
            is_question,
            clears_warnings,
        }
    }
}

/// Whether a write may be an INSERT, REPLACE or LOAD DATA: all but those that begin with another word.
fn may_insert(text: &[u8]) -> bool {
    // A command's payload has its byte in front, a prepared text has not.
    let text = text.strip_prefix(b"\x03").unwrap_or(text).trim_ascii_start();
    let begins = |word: &[u8]| text.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
    !OTHER_WRITES.iter().any(|word| begins(word.as_bytes()))
}

/// Words with which writes begin that insert no row of their own.
const OTHER_WRITES: [&str; 8] =
    ["UPDATE", "DELETE", "SELECT", "CREATE TABLE", "DROP", "ALTER", "TRUNCATE", "DO"];
