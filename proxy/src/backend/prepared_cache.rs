//! The prepared statements of one connection, shared by all sessions that use it one after the other.

use super::settings::Settings;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// What makes a prepared statement what it is: its text, and what the text meant when it was prepared.
#[derive(Debug)]
pub struct PreparedKey {
    /// The statement's text.
    pub sql: Box<[u8]>,
    /// The settings that its meaning came from.
    pub settings: Rc<Settings>,
    hash: u64,
}

impl PreparedKey {
    /// `settings` are interned, and only [`Settings::of_text`].
    #[must_use]
    pub fn new(sql: Box<[u8]>, settings: Rc<Settings>) -> Self {
        let mut hasher = DefaultHasher::new();
        sql.hash(&mut hasher);
        Rc::as_ptr(&settings).hash(&mut hasher);
        Self { sql, settings, hash: hasher.finish() }
    }

    fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.settings, &other.settings) && self.sql == other.sql
    }
}

/// A statement as it is prepared on one connection.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The server's id of it.
    pub id: u32,
    /// How many parameters it has.
    pub parameters: u16,
    /// The parameter types that the server has for it.
    pub types: Option<Rc<[u8]>>,
}

impl Prepared {
    /// Whether the server has these parameter types for it.
    pub fn has_types(&self, types: &Rc<[u8]>) -> bool {
        self.types.as_ref().is_some_and(|bound| Rc::ptr_eq(bound, types) || bound == types)
    }
}

#[derive(Debug)]
struct Entry {
    key: Rc<PreparedKey>,
    prepared: Prepared,
    used: u64,
}

/// The statements of one connection, at most as many as it was made for.
#[derive(Debug)]
pub struct PreparedCache {
    entries: HashMap<u64, Entry>,
    limit: usize,
    /// Counts uses; the entry whose last use is the oldest goes first.
    clock: u64,
}

impl PreparedCache {
    /// Of at most `limit` statements (at least 1).
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { entries: HashMap::new(), limit: limit.max(1), clock: 0 }
    }

    /// The statement, if the connection has it.
    pub fn get_mut(&mut self, key: &Rc<PreparedKey>) -> Option<&mut Prepared> {
        let entry = self.entries.get_mut(&key.hash)?;
        if !Rc::ptr_eq(&entry.key, key) && !entry.key.is(key) {
            return None;
        }
        self.clock += 1;
        entry.used = self.clock;
        Some(&mut entry.prepared)
    }

    /// Adds a statement; answers the server's id of one that is to be closed for it.
    pub fn insert(&mut self, key: Rc<PreparedKey>, prepared: Prepared) -> Option<u32> {
        self.clock += 1;
        let entry = Entry { prepared, used: self.clock, key };
        let hash = entry.key.hash;
        if let Some(before) = self.entries.insert(hash, entry) {
            return Some(before.prepared.id);
        }
        if self.entries.len() <= self.limit {
            return None;
        }
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(hash, _)| *hash)?;
        self.entries.remove(&oldest).map(|entry| entry.prepared.id)
    }

    /// Takes a statement out: nobody else is to use it on this connection.
    pub fn take(&mut self, key: &Rc<PreparedKey>) -> Option<Prepared> {
        self.get_mut(key)?;
        self.entries.remove(&key.hash).map(|entry| entry.prepared)
    }

    /// The connection was reset: the server has forgotten them.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::settings::Interner;

    fn key(interner: &Interner, sql: &str, schema: &str) -> Rc<PreparedKey> {
        let settings = Settings { schema: Some(schema.as_bytes().into()), ..Settings::default() };
        Rc::new(PreparedKey::new(sql.as_bytes().into(), interner.intern(settings)))
    }

    fn prepared(id: u32) -> Prepared {
        Prepared { id, parameters: 0, types: None }
    }

    #[test]
    fn sessions_with_the_same_text_and_schema_share_a_statement() {
        let interner = Interner::default();
        let mut cache = PreparedCache::new(10);
        assert_eq!(cache.insert(key(&interner, "SELECT 1", "a"), prepared(7)), None);
        assert_eq!(cache.get_mut(&key(&interner, "SELECT 1", "a")).map(|p| p.id), Some(7));
        assert!(cache.get_mut(&key(&interner, "SELECT 1", "b")).is_none());
    }

    #[test]
    fn the_one_unused_for_longest_is_closed_and_so_is_one_prepared_again() {
        let interner = Interner::default();
        let mut cache = PreparedCache::new(2);
        let keys: Vec<_> = ["a", "b", "c"].iter().map(|sql| key(&interner, sql, "s")).collect();
        cache.insert(keys[0].clone(), prepared(1));
        cache.insert(keys[1].clone(), prepared(2));
        cache.get_mut(&keys[0]);
        assert_eq!(cache.insert(keys[2].clone(), prepared(3)), Some(2));
        assert_eq!(cache.insert(keys[2].clone(), prepared(4)), Some(3));
        assert_eq!(cache.take(&keys[2]).map(|p| p.id), Some(4));
        assert!(cache.get_mut(&keys[2]).is_none());
    }
}
