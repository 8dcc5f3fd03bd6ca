//! The session's prepared statements: the client's id ↔ the text ↔ the id on each connection.

use super::backends::Slot;
use crate::backend::PreparedKey;
use crate::routing::{Hint, StatementClass};
use std::collections::HashMap;
use std::rc::Rc;

/// MariaDB's clients may name the statement prepared last by this id.
const LAST_PREPARED: u32 = u32::MAX;

/// An open cursor: until it is closed, nobody else may execute the statement that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor {
    /// The connection that has it.
    pub(super) slot: Slot,
    /// The server's id of the statement.
    pub(super) id: u32,
}

/// One prepared statement.
#[derive(Debug)]
pub(super) struct Statement {
    /// Its text, and what that meant when it was prepared.
    pub(super) key: Rc<PreparedKey>,
    pub(super) class: Rc<StatementClass>,
    pub(super) hint: Option<Hint>,
    pub(super) parameters: u16,
    /// The parameter types of the last execute that gave any.
    pub(super) types: Rc<[u8]>,
    /// Long data sent since the last execute or reset, by parameter.
    pub(super) long_data: Vec<(u16, Vec<u8>)>,
    /// Long data went over its limit.
    pub(super) long_data_lost: bool,
    pub(super) cursor: Option<Cursor>,
    /// The server on which it was prepared, until it runs for the first time: a prepare is no turn of its own.
    pub(super) first: Option<usize>,
}

impl Statement {
    /// A statement that a server just prepared.
    pub(super) fn new(
        key: Rc<PreparedKey>,
        class: Rc<StatementClass>,
        hint: Option<Hint>,
        parameters: u16,
    ) -> Self {
        Self {
            key,
            class,
            hint,
            parameters,
            types: Rc::default(),
            long_data: Vec::new(),
            long_data_lost: false,
            cursor: None,
            first: None,
        }
    }

    /// Long data is used up by an execute, and dropped by a reset.
    pub(super) fn forget_long_data(&mut self) {
        self.long_data.clear();
        self.long_data_lost = false;
    }

    /// Adds long data, up to `limit` bytes a statement.
    pub(super) fn add_long_data(&mut self, parameter: u16, data: &[u8], limit: usize) {
        let held: usize = self.long_data.iter().map(|(_, d)| d.len()).sum();
        if held + data.len() > limit {
            self.long_data_lost = true;
        } else if let Some((_, all)) = self.long_data.iter_mut().find(|(p, _)| *p == parameter) {
            all.extend_from_slice(data);
        } else {
            self.long_data.push((parameter, data.to_vec()));
        }
    }
}

/// The session's prepared statements.
#[derive(Debug, Default)]
pub(super) struct StatementMap {
    last: u32,
    cursors: usize,
    statements: HashMap<u32, Statement>,
}

impl StatementMap {
    pub(super) fn len(&self) -> usize {
        self.statements.len()
    }

    /// The id that the next statement will have.
    pub(super) fn next_id(&self) -> u32 {
        let mut id = self.last.wrapping_add(1);
        while id == 0 || id == LAST_PREPARED || self.statements.contains_key(&id) {
            id = id.wrapping_add(1);
        }
        id
    }

    /// Keeps a statement under the id that the client was given.
    pub(super) fn insert(&mut self, id: u32, statement: Statement) {
        self.last = id;
        self.statements.insert(id, statement);
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Statement> {
        self.statements.get_mut(&self.named(id))
    }

    pub(super) fn remove(&mut self, id: u32) -> Option<Statement> {
        let statement = self.statements.remove(&self.named(id))?;
        self.cursors -= usize::from(statement.cursor.is_some());
        Some(statement)
    }

    pub(super) fn clear(&mut self) {
        self.statements.clear();
        self.cursors = 0;
    }

    fn named(&self, id: u32) -> u32 {
        if id == LAST_PREPARED { self.last } else { id }
    }

    /// Whether the connection in `slot` has an open cursor.
    pub(super) fn has_cursor(&self, slot: Slot) -> bool {
        self.cursors > 0 && self.statements.values().any(|s| s.cursor.is_some_and(|c| c.slot == slot))
    }

    /// A statement's cursor is open now, or closed; answers the one that it had.
    pub(super) fn set_cursor(&mut self, id: u32, cursor: Option<Cursor>) -> Option<Cursor> {
        let id = self.named(id);
        let before = std::mem::replace(&mut self.statements.get_mut(&id)?.cursor, cursor);
        self.cursors += usize::from(cursor.is_some());
        self.cursors -= usize::from(before.is_some());
        before
    }

    /// The connection in `slot` is gone, and its cursors with it.
    pub(super) fn forget_cursors(&mut self, slot: Slot) {
        for statement in self.statements.values_mut().filter(|s| s.cursor.is_some_and(|c| c.slot == slot)) {
            statement.cursor = None;
            self.cursors -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Settings;
    use crate::routing::{ClassCache, Dialect};

    fn statement() -> Statement {
        let (class, hint) = ClassCache::new(4).classify(b"SELECT 1", &Dialect::default());
        let key = PreparedKey::new(b"SELECT 1"[..].into(), Rc::new(Settings::default()));
        Statement::new(Rc::new(key), class, hint, 0)
    }

    #[test]
    fn the_last_statement_can_be_named_as_mariadbs_clients_do() {
        let mut map = StatementMap::default();
        let id = map.next_id();
        map.insert(id, statement());
        assert!(map.get_mut(LAST_PREPARED).is_some());
        assert!(map.remove(LAST_PREPARED).is_some());
        assert!(map.get_mut(id).is_none());
    }

    #[test]
    fn cursors_are_known_by_the_connection_that_has_them() {
        let mut map = StatementMap::default();
        for id in 1..=2 {
            map.insert(id, statement());
        }
        let cursor = Cursor { slot: Slot::Replica, id: 9 };
        assert_eq!(map.set_cursor(1, Some(cursor)), None);
        assert!(map.has_cursor(Slot::Replica) && !map.has_cursor(Slot::Primary));
        map.set_cursor(2, Some(Cursor { slot: Slot::Primary, id: 3 }));
        map.forget_cursors(Slot::Replica);
        assert!(!map.has_cursor(Slot::Replica) && map.has_cursor(Slot::Primary));
        map.remove(2);
        assert!(!map.has_cursor(Slot::Primary));
    }

    #[test]
    fn long_data_grows_by_parameter_up_to_its_limit() {
        let mut statement = statement();
        statement.add_long_data(1, b"ab", 4);
        statement.add_long_data(1, b"c", 4);
        assert_eq!(statement.long_data, [(1, b"abc".to_vec())]);
        statement.add_long_data(0, b"de", 4);
        assert!(statement.long_data_lost);
    }
}
