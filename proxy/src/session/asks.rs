//! What a statement asks about the ones before it.

use super::command_phase::contains;
use crate::routing::{Effects, ServerFamily, StatementClass, StatementKind};

/// What a statement asks about the ones before it, and whether it ends what they left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Asks {
    /// The session's last insert id.
    pub(super) insert_id: bool,
    /// And nothing else, not even by the way.
    pub(super) only_insert_id: bool,
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
        if !class.effects.contains(Effects::ASKS_LAST_STATEMENT) && !is_question {
            // MariaDB keeps the list until a statement uses a table or has a warning of its own.
            let clears_warnings = family == ServerFamily::MySql || !class.tables.is_empty();
            return Self { clears_warnings, ..Self::default() };
        }
        let insert_id = contains(text, b"insert_id") || contains(text, b"identity");
        let counts = contains(text, b"found_rows") || contains(text, b"row_count");
        Self {
            insert_id,
            only_insert_id: is_question && insert_id && !counts,
            warnings: is_question && !insert_id && !counts,
            counts,
            is_question,
            clears_warnings: false,
        }
    }
}
