//! The session's prepared statements: the client's id ↔ the text ↔ the id on each connection.

use super::backends::Slot;
use crate::protocol::reply::PreparedHead;
use crate::routing::{Hint, StatementClass};
use std::collections::HashMap;
use std::rc::Rc;

/// MariaDB's clients may name the statement prepared last by this id.
const LAST_PREPARED: u32 = u32::MAX;

/// A statement on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OnServer {
    /// The server's id of it.
    pub(super) id: u32,
    /// Whether the parameter types that the client gave last are bound there.
    pub(super) types_bound: bool,
}

/// One prepared statement.
#[derive(Debug)]
pub(super) struct Statement {
    /// Its text.
    pub(super) sql: Vec<u8>,
    pub(super) class: Rc<StatementClass>,
    pub(super) hint: Option<Hint>,
    /// The schema that its unqualified names belong to.
    pub(super) schema: Option<Vec<u8>>,
    /// The session's [`SessionState::settings`](super::state::SessionState::settings) when it was prepared.
    pub(super) settings: u64,
    pub(super) parameters: u16,
    /// The parameter types of the last execute that gave any.
    pub(super) types: Vec<u8>,
    /// Long data sent since the last execute or reset, by parameter.
    pub(super) long_data: Vec<(u16, Vec<u8>)>,
    /// Long data went over its limit.
    pub(super) long_data_lost: bool,
    /// Where its open cursor is.
    pub(super) cursor: Option<Slot>,
    on: [Option<OnServer>; 2],
}

impl Statement {
    /// A statement that the server in `slot` just prepared.
    pub(super) fn new(sql: Vec<u8>, class: Rc<StatementClass>, hint: Option<Hint>) -> Self {
        Self {
            sql,
            class,
            hint,
            schema: None,
            settings: 0,
            parameters: 0,
            types: Vec::new(),
            long_data: Vec::new(),
            long_data_lost: false,
            cursor: None,
            on: [None; 2],
        }
    }

    pub(super) fn on(&self, slot: Slot) -> Option<OnServer> {
        self.on[slot as usize]
    }

    pub(super) fn prepared_on(&mut self, slot: Slot, head: PreparedHead) {
        self.parameters = head.parameters;
        self.on[slot as usize] = Some(OnServer { id: head.id, types_bound: false });
    }

    /// The client gave new types, and they went to `slot`.
    pub(super) fn bind_types(&mut self, slot: Slot, types: &[u8]) {
        self.types.clear();
        self.types.extend_from_slice(types);
        for on in self.on.iter_mut().flatten() {
            on.types_bound = false;
        }
        self.types_are_bound_on(slot);
    }

    pub(super) fn types_are_bound_on(&mut self, slot: Slot) {
        if let Some(on) = &mut self.on[slot as usize] {
            on.types_bound = true;
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

    /// The statements that the connection in `slot` does not have.
    pub(super) fn ids_not_on(&self, slot: Slot) -> Vec<u32> {
        let lacking = self.statements.iter().filter(|(_, statement)| statement.on(slot).is_none());
        lacking.map(|(id, _)| *id).collect()
    }

    /// Whether a cursor is open on the connection in `slot`.
    pub(super) fn has_cursor(&self, slot: Slot) -> bool {
        self.statements.values().any(|statement| statement.cursor == Some(slot))
    }

    pub(super) fn remove(&mut self, id: u32) -> Option<Statement> {
        self.statements.remove(&self.named(id))
    }

    pub(super) fn clear(&mut self) {
        self.statements.clear();
    }

    fn named(&self, id: u32) -> u32 {
        if id == LAST_PREPARED { self.last } else { id }
    }

    /// The connection in `slot` is another one now.
    pub(super) fn forget_slot(&mut self, slot: Slot) {
        for statement in self.statements.values_mut() {
            statement.on[slot as usize] = None;
            if statement.cursor == Some(slot) {
                statement.cursor = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::{ClassCache, Dialect};

    fn statement() -> Statement {
        let (class, hint) = ClassCache::new(4).classify(b"SELECT 1", &Dialect::default());
        Statement::new(b"SELECT 1".to_vec(), class, hint)
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
    fn types_bound_on_one_connection_are_not_bound_on_the_other() {
        let mut statement = statement();
        let head = PreparedHead { id: 9, columns: 1, parameters: 1 };
        statement.prepared_on(Slot::Primary, head);
        statement.prepared_on(Slot::Replica, head);
        statement.bind_types(Slot::Primary, b"\x03\0");
        assert!(statement.on(Slot::Primary).is_some_and(|on| on.types_bound));
        assert!(statement.on(Slot::Replica).is_some_and(|on| !on.types_bound));
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
