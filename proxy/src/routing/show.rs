//! SHOW in all its forms: what describes schema objects is a read, what describes a server is not.

use super::body::{Body, BodyReader, Findings};
use super::class::{Reason, StatementKind};
use super::effects::Effects;
use super::lex::Kind;
use super::reader::Reader;

/// Reads a SHOW statement, from behind the keyword.
pub(super) fn show(reader: &mut Reader<'_>) -> Findings {
    let (kind, reason) = subject(reader);
    let mut findings = Findings::new(kind, reason);
    if kind == StatementKind::LastStatement {
        findings.effects = Effects::ASKS_DIAGNOSTICS;
    }
    // Accounts have hosts behind an `@`; an object that was created may have any name behind its kind.
    let accounts = reason == Reason::SystemSchema;
    let body = if accounts || reader.at_word("CREATE") { Body::Definition } else { Body::Query };
    if kind < StatementKind::Write {
        reader.bump();
    }
    BodyReader::new(body, findings).rest(reader)
}

const READ: (StatementKind, Reason) = (StatementKind::Read, Reason::ProvedRead);
const ROLE: (StatementKind, Reason) = (StatementKind::PrimaryRead, Reason::ServerRoleQuestion);
const LAST: (StatementKind, Reason) = (StatementKind::LastStatement, Reason::LastStatement);
const ACCOUNTS: (StatementKind, Reason) = (StatementKind::PrimaryRead, Reason::SystemSchema);

/// What the statement shows.
fn subject(reader: &mut Reader<'_>) -> (StatementKind, Reason) {
    reader.accept_all(&["FULL", "EXTENDED"]);
    let mut buffer = [0; 32];
    match reader.keyword(&mut buffer) {
        "DATABASES" | "SCHEMAS" | "TABLES" | "COLUMNS" | "FIELDS" | "INDEX" | "INDEXES" | "KEYS"
        | "COLLATION" | "CHARSET" | "ENGINES" | "PLUGINS" | "PRIVILEGES" | "TRIGGERS" | "EVENTS" => READ,
        "CHARACTER" if reader.next_is_word("SET") => READ,
        "STORAGE" if reader.next_is_word("ENGINES") => READ,
        "TABLE" | "PROCEDURE" | "FUNCTION" | "PACKAGE" | "LIBRARY" if reader.next_is_word("STATUS") => READ,
        "PACKAGE" if reader.next_is_word("BODY") => READ,
        "CREATE" => created(reader),
        "GRANTS" => ACCOUNTS,
        "WARNINGS" | "ERRORS" | "PROFILE" | "PROFILES" => LAST,
        "COUNT" if counts_warnings(reader) => LAST,
        "VARIABLES" | "STATUS" | "GLOBAL" | "SESSION" | "LOCAL" | "MASTER" | "BINARY" | "BINLOG"
        | "REPLICA" | "REPLICAS" | "SLAVE" | "ALL" | "RELAYLOG" | "ENGINE" | "PROCESSLIST" | "OPEN"
        | "EXPLAIN" | "AUTHORS" | "CONTRIBUTORS" | "USER_STATISTICS" | "CLIENT_STATISTICS"
        | "INDEX_STATISTICS" | "TABLE_STATISTICS" | "ANALYZE" | "INNODB" | "MUTEX" => ROLE,
        _ => (StatementKind::Write, Reason::NotUnderstood),
    }
}

/// `SHOW CREATE …`: by what was created.
fn created(reader: &Reader<'_>) -> (StatementKind, Reason) {
    let is = |words: &[&str]| words.iter().any(|word| reader.next_is_word(word));
    if is(&["USER"]) {
        ACCOUNTS
    } else if is(&[
        "TABLE",
        "VIEW",
        "DATABASE",
        "SCHEMA",
        "PROCEDURE",
        "FUNCTION",
        "TRIGGER",
        "EVENT",
        "SEQUENCE",
        "PACKAGE",
        "LIBRARY",
        "SERVER",
    ]) {
        READ
    } else {
        (StatementKind::Write, Reason::NotUnderstood)
    }
}

/// `COUNT(*) WARNINGS`, at the COUNT.
fn counts_warnings(reader: &Reader<'_>) -> bool {
    reader.next_is(Kind::Open)
        && reader.ahead().nth(2).is_some_and(|token| {
            [&b"WARNINGS"[..], b"ERRORS"].iter().any(|word| token.text.eq_ignore_ascii_case(word))
        })
}
