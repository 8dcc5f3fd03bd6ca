//! What a rule asks of a statement. All that it names must hold; what it does not name is not asked.

use super::Pattern;
use crate::routing::class::{StatementClass, StatementKind, TableName};
use crate::routing::dialect::Dialect;

/// What a rule asks of a statement; an empty list asks nothing.
///
/// Names of schemas and tables are compared without regard to ASCII case: on servers with
/// `lower_case_table_names` a statement may write them in any, and where case counts hardly anybody has
/// two tables that differ by it alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matcher {
    /// It touches a table of one of these schemas, or names no known table in a session whose schema is
    /// one of them, or behind a USE of one.
    pub schemas: Vec<String>,
    /// It names one of these tables; with a schema, that schema's.
    pub tables: Vec<TableName>,
    /// It is of one of these kinds.
    pub kinds: Vec<StatementKind>,
    /// Its fingerprint is one of these.
    pub fingerprints: Vec<u64>,
    /// Its normal form matches.
    pub regex: Option<Pattern>,
}

/// A statement about which rules are asked.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Its class.
    pub class: &'a StatementClass,
    /// Its text and dialect, where they are at hand: for statements inside strings.
    pub text: Option<(&'a [u8], &'a Dialect)>,
    /// The session's schema.
    pub schema: Option<&'a [u8]>,
}

impl Matcher {
    /// Whether the class is one that the rule is for, apart from its regex and the session's schema.
    pub(super) fn allows_class(&self, class: &StatementClass) -> bool {
        let kind = self.kinds.is_empty() || self.kinds.contains(&class.kind);
        let fingerprint = self.fingerprints.is_empty() || self.fingerprints.contains(&class.fingerprint);
        let table = self.tables.is_empty()
            || class.tables.iter().any(|named| self.tables.iter().any(|wanted| may_be(named, wanted)));
        kind && fingerprint && table
    }

    /// Whether the session's schema matters.
    pub(super) fn asks_schema(&self) -> bool {
        !self.schemas.is_empty() || self.tables.iter().any(|table| table.schema.is_some())
    }

    pub(super) fn allows_schema(&self, asked: &Asked<'_>) -> bool {
        let tables = &asked.class.tables;
        let wanted = |name: &[u8]| self.schemas.iter().any(|schema| eq(schema.as_bytes(), name));
        let own = asked.schema.is_some_and(wanted);
        let in_wanted = |table: &TableName| table.schema.as_ref().map_or(own, |s| wanted(s.as_bytes()));
        // Of a statement that could touch tables, though none is known; not of COMMIT, SET and their like.
        let may_touch = matches!(asked.class.kind, StatementKind::Read | StatementKind::Write);
        let used = asked.class.schema.as_deref().is_some_and(wanted);
        let unknown = tables.is_empty() && (own || used) && may_touch;
        let in_schema = self.schemas.is_empty() || unknown || tables.iter().any(in_wanted);
        let in_table = self.tables.is_empty()
            || tables.iter().any(|named| self.tables.iter().any(|wanted| is(named, wanted, asked.schema)));
        in_schema && in_table
    }
}

fn eq(one: &[u8], other: &[u8]) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Whether a table may be the wanted one in some session.
fn may_be(named: &TableName, wanted: &TableName) -> bool {
    named.table.eq_ignore_ascii_case(&wanted.table)
        && match (&named.schema, &wanted.schema) {
            (Some(named), Some(wanted)) => named.eq_ignore_ascii_case(wanted),
            _ => true,
        }
}

/// Whether a table is the wanted one in a session of this schema.
fn is(named: &TableName, wanted: &TableName, own: Option<&[u8]>) -> bool {
    let Some(schema) = &wanted.schema else { return may_be(named, wanted) };
    let of = named.schema.as_deref().map(str::as_bytes).or(own);
    may_be(named, wanted) && of.is_some_and(|of| eq(of, schema.as_bytes()))
}
