//! The rows of an embedded cluster: one store that all its servers share, so a replica is never behind.
//!
//! Writes apply at once, inside a transaction too: there is no undo, no row lock, no isolation. That is enough for
//! the bench's workloads, which never roll back and never look at each other's rows.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

/// One row of a sysbench table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) k: i64,
    pub(crate) c: String,
    pub(crate) pad: String,
}

/// A table by its primary key.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) rows: BTreeMap<i64, Row>,
}

impl Table {
    /// The id that AUTO_INCREMENT gives next.
    pub(crate) fn next_id(&self) -> i64 {
        self.rows.last_key_value().map_or(1, |(id, _)| id + 1)
    }
}

/// Schema and table, both as they are compared: in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TableName {
    pub(crate) schema: String,
    pub(crate) table: String,
}

type Schema = HashMap<String, Arc<RwLock<Table>>>;

/// All schemas and tables.
#[derive(Debug, Default)]
pub(crate) struct Store {
    schemas: RwLock<HashMap<String, Schema>>,
}

impl Store {
    fn read<T>(&self, look: impl FnOnce(&HashMap<String, Schema>) -> T) -> T {
        look(&self.schemas.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut HashMap<String, Schema>) -> T) -> T {
        change(&mut self.schemas.write().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn has_schema(&self, schema: &str) -> bool {
        self.read(|schemas| schemas.contains_key(schema))
    }

    /// False where it was there already.
    pub(crate) fn create_schema(&self, schema: &str) -> bool {
        self.write(|schemas| match schemas.contains_key(schema) {
            true => false,
            false => schemas.insert(schema.to_owned(), Schema::new()).is_none(),
        })
    }

    /// False where there was none.
    pub(crate) fn drop_schema(&self, schema: &str) -> bool {
        self.write(|schemas| schemas.remove(schema).is_some())
    }

    pub(crate) fn table(&self, name: &TableName) -> Option<Arc<RwLock<Table>>> {
        self.read(|schemas| schemas.get(&name.schema)?.get(&name.table).cloned())
    }

    /// False where it was there already, or its schema is not.
    pub(crate) fn create_table(&self, name: &TableName) -> bool {
        self.write(|schemas| match schemas.get_mut(&name.schema) {
            Some(schema) if !schema.contains_key(&name.table) => {
                schema.insert(name.table.clone(), Arc::default()).is_none()
            }
            _ => false,
        })
    }

    /// False where there was none.
    pub(crate) fn drop_table(&self, name: &TableName) -> bool {
        self.write(|schemas| schemas.get_mut(&name.schema).and_then(|s| s.remove(&name.table)).is_some())
    }
}
