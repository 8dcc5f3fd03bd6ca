//! The classes of the statements a worker has seen: bounded, single-threaded, no allocation on a hit.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::rc::Rc;
use std::sync::Arc;

use super::class::StatementClass;
use super::classify::classify_scanned;
use super::dialect::Dialect;
use super::rules::Rules;
use super::scan::{Hint, scan_with_seed};

/// How the cache has served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStats {
    /// Statements whose class was there.
    pub hits: u64,
    /// Statements that had to be judged.
    pub misses: u64,
    /// Entries let go to keep the bound.
    pub evicted: u64,
}

/// What two texts of one class have in common: the fingerprint and the keyed hash of the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    fingerprint: u64,
    keyed: u64,
}

impl std::hash::Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.keyed);
    }
}

/// The key is a hash already.
#[derive(Debug, Clone, Copy, Default)]
struct Ready(u64);

impl Hasher for Ready {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

type Generation = HashMap<Key, Rc<StatementClass>, BuildHasherDefault<Ready>>;

/// A bounded cache of statement classes. Two generations: a hit in the old one moves to the young one,
/// and when the young one is full it becomes the old one, whose entries go.
#[derive(Debug)]
pub struct ClassCache {
    young: Generation,
    old: Generation,
    /// Entries of one generation.
    half: usize,
    /// Secret of this cache, so that nobody can write a text with another's key.
    seed: u64,
    stats: CacheStats,
    rules: Arc<Rules>,
}

impl ClassCache {
    /// A cache of at most `capacity` entries (at least 2).
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self::with_rules(capacity, Arc::default())
    }

    /// The same, with the rules that each class is to be matched with once.
    #[must_use]
    pub fn with_rules(capacity: usize, rules: Arc<Rules>) -> Self {
        let half = (capacity / 2).max(1);
        let generation = || Generation::with_capacity_and_hasher(half, BuildHasherDefault::default());
        Self {
            young: generation(),
            old: generation(),
            half,
            seed: RandomState::new().hash_one(half),
            stats: CacheStats::default(),
            rules,
        }
    }

    /// The class of a text, and the hint of its leading comment.
    pub fn classify(&mut self, sql: &[u8], dialect: &Dialect) -> (Rc<StatementClass>, Option<Hint>) {
        let scan = scan_with_seed(sql, dialect, self.seed);
        let key = Key { fingerprint: scan.fingerprint, keyed: scan.key };
        if let Some(class) = self.young.get(&key) {
            self.stats.hits += 1;
            return (Rc::clone(class), scan.hint);
        }
        let class = if let Some(class) = self.old.remove(&key) {
            self.stats.hits += 1;
            class
        } else {
            self.stats.misses += 1;
            let mut class = classify_scanned(sql, dialect, scan.fingerprint);
            class.rules = self.rules.matching(&class, sql, dialect);
            Rc::new(class)
        };
        self.insert(key, Rc::clone(&class));
        (class, scan.hint)
    }

    /// The class of a text that is too long to be read.
    #[must_use]
    pub fn unread(&self) -> Rc<StatementClass> {
        let mut class = StatementClass::not_read();
        class.rules = self.rules.matching_unread(&class);
        Rc::new(class)
    }

    fn insert(&mut self, key: Key, class: Rc<StatementClass>) {
        if self.young.len() >= self.half {
            std::mem::swap(&mut self.young, &mut self.old);
            self.stats.evicted += self.young.len() as u64;
            self.young.clear();
        }
        self.young.insert(key, class);
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the cache has served since it was made.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::{Effects, StatementKind};

    #[test]
    fn texts_of_one_fingerprint_share_one_class() {
        let mut cache = ClassCache::new(100);
        let dialect = Dialect::default();
        let (first, _) = cache.classify(b"SELECT a FROM t WHERE id=1", &dialect);
        let (second, hint) = cache.classify(b"/*slave*/ select a from t where id = 'x'", &dialect);
        assert!(Rc::ptr_eq(&first, &second));
        assert_eq!(hint, Some(Hint::Replica));
        assert_eq!(cache.stats(), CacheStats { hits: 1, misses: 1, evicted: 0 });
    }

    #[test]
    fn what_changes_the_class_is_not_shared() {
        let mut cache = ClassCache::new(100);
        let dialect = Dialect::default();
        let (on, _) = cache.classify(b"SET autocommit=1", &dialect);
        let (off, _) = cache.classify(b"SET autocommit=0", &dialect);
        assert!(on.effects.contains(Effects::AUTOCOMMIT_ON) && off.effects.contains(Effects::AUTOCOMMIT_OFF));
        let text = br"SELECT 'a\' FOR UPDATE -- '";
        let plain = Dialect { no_backslash_escapes: true, ..dialect };
        assert_eq!(cache.classify(text, &dialect).0.kind, StatementKind::Read);
        assert_eq!(cache.classify(text, &plain).0.kind, StatementKind::Write);
    }

    #[test]
    fn the_format_that_explain_prints_may_be_any_literal() {
        let dialect = Dialect::default();
        for format in ["'json'", "'no such format'", "1", "0x6A"] {
            let sql = format!("EXPLAIN FORMAT={format} SELECT * FROM t");
            let class = crate::routing::classify(sql.as_bytes(), &dialect);
            assert_eq!(class.kind, StatementKind::Read, "{sql}");
        }
    }

    #[test]
    fn a_statement_in_a_literal_is_not_taken_for_another() {
        let mut cache = ClassCache::new(100);
        let dialect = Dialect::default();
        for pair in [
            ["EXECUTE IMMEDIATE 0x53", "EXECUTE IMMEDIATE 'DELETE FROM t'"],
            ["SELECT 1; PREPARE s FROM 'SELECT 1'", "SELECT 1; PREPARE s FROM 'DELETE FROM t'"],
        ] {
            let classes = pair.map(|sql| cache.classify(sql.as_bytes(), &dialect).0);
            assert!(!Rc::ptr_eq(&classes[0], &classes[1]), "{pair:?}");
        }
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_what_is_used() {
        let mut cache = ClassCache::new(10);
        let dialect = Dialect::default();
        for i in 0..1_000 {
            cache.classify(format!("SELECT c{i} FROM t").as_bytes(), &dialect);
            cache.classify(b"SELECT used FROM t", &dialect);
            assert!(cache.len() <= 10);
        }
        assert_eq!(cache.stats().misses, 1_001);
        assert!(!cache.is_empty());
    }
}
