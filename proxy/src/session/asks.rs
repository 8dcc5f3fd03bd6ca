//! What a statement asks about the ones before it.

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
    /// What a statement of this class asks.
    pub(super) fn of(class: &StatementClass, family: ServerFamily) -> Self {
        let is_question = class.kind == StatementKind::LastStatement;
        let asks = |effect| class.effects.contains(effect);
        let (insert_id, counts) = (asks(Effects::ASKS_INSERT_ID), asks(Effects::ASKS_COUNTS));
        Self {
            insert_id,
            inserts: asks(Effects::INSERTS),
            warnings: is_question && !insert_id && !counts,
            counts,
            is_question,
            // MariaDB keeps the list until a statement uses a table or has a warning of its own.
            clears_warnings: !is_question && (family == ServerFamily::MySql || !class.tables.is_empty()),
        }
    }
}
