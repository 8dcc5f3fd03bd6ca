//! The class of a statement, by two judges.
//!
//! Telamon's own reading ([`super::read`]) says what the statement is; sqlparser's tree
//! ([`super::tree`]) must agree that a read is one, where it can parse the text. The tree can only take
//! the name of a read away, never give it.

use super::class::{Reason, StatementClass, StatementKind};
use super::dialect::Dialect;
use super::firewall;
use super::read::{Reading, read};
use super::rules::RuleSet;
use super::scan::scan;
use super::tables;
use super::tree;

/// Classifies a text, without a cache. Never fails: what is not understood is a write.
#[must_use]
pub fn classify(sql: &[u8], dialect: &Dialect) -> StatementClass {
    classify_scanned(sql, dialect, scan(sql, dialect).fingerprint)
}

pub(super) fn classify_scanned(sql: &[u8], dialect: &Dialect, fingerprint: u64) -> StatementClass {
    let reading = read(sql, dialect);
    let verdict = if parser_reads_alike(&reading, sql, dialect) {
        tree::judge(sql, reading.shape, dialect)
    } else {
        tree::Verdict::default()
    };
    let mut findings = reading.findings;
    if findings.kind <= StatementKind::PrimaryRead && verdict.is_read == Some(false) {
        findings.note(StatementKind::Write, Reason::JudgesDisagree, super::Effects::NONE);
    }
    StatementClass {
        kind: findings.kind,
        reason: findings.reason,
        effects: findings.effects,
        fingerprint,
        tables: verdict.tables.unwrap_or_else(|| tables::tables(sql, dialect)),
        schema: reading.schema,
        kill: reading.kill,
        hazards: firewall::hazards(sql, dialect),
        rules: RuleSet::default(),
    }
}

/// Whether the parser, which knows neither sql_mode nor the server's version, cuts the text as the
/// server does. If not, its tree would be of another statement.
fn parser_reads_alike(reading: &Reading, sql: &[u8], dialect: &Dialect) -> bool {
    let quotes_differ = dialect.ansi_quotes && sql.contains(&b'"');
    let escapes_differ = dialect.no_backslash_escapes && sql.contains(&b'\\');
    !reading.executable_comments && !quotes_differ && !escapes_differ
}
