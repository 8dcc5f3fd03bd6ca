//! The statements that make, end or shape session state, each by its head.

use super::body::{Body, BodyReader, Findings};
use super::class::{KillTarget, Reason, StatementKind};
use super::effects::Effects;
use super::lex::Kind;
use super::read::{Details, administration, not_a_read, not_understood};
use super::reader::{Reader, unquoted};

pub(super) fn use_schema(reader: &mut Reader<'_>, details: &mut Details) -> Findings {
    let mut findings = Findings::new(StatementKind::SessionSet, Reason::SetStatement);
    findings.effects = Effects::USES_SCHEMA;
    reader.bump();
    let Some(token) = reader.this.filter(|_| reader.at_name()) else { return not_understood(reader) };
    details.schema = Some(schema_name(token.text));
    reader.bump();
    if reader.at_end() { findings } else { not_understood(reader) }
}

fn schema_name(text: &[u8]) -> Box<[u8]> {
    let quote = text[0];
    let name = unquoted(text);
    if name.len() == text.len() {
        return name.into();
    }
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter().copied();
    while let Some(byte) = bytes.next() {
        plain.push(byte);
        if byte == quote {
            bytes.next();
        }
    }
    plain.into()
}

pub(super) fn kill(reader: &mut Reader<'_>, details: &mut Details) -> Findings {
    let mut findings = Findings::new(StatementKind::Kill, Reason::Kill);
    findings.effects = Effects::KILLS;
    reader.bump();
    reader.accept_all(&["HARD", "SOFT"]);
    let query_only = reader.at_word("QUERY");
    reader.accept_all(&["CONNECTION", "QUERY"]);
    let connection_id = reader
        .this
        .filter(|token| token.kind == Kind::Number)
        .and_then(|token| std::str::from_utf8(token.text).ok()?.parse().ok());
    details.kill = Some(KillTarget { query_only, connection_id });
    BodyReader::new(Body::Change, findings).rest(reader)
}

pub(super) fn transaction(reader: &mut Reader<'_>) -> Findings {
    let mut findings = Findings::new(StatementKind::Transaction, Reason::TransactionControl);
    let mut buffer = [0; 32];
    let head = reader.keyword(&mut buffer).to_owned();
    reader.bump();
    match head.as_str() {
        "BEGIN" => {
            reader.accept("WORK");
            if !reader.at_end() {
                return compound(reader, Reason::NotUnderstood);
            }
            findings.effects = Effects::BEGINS_TRANSACTION;
        }
        "START" => return start(reader),
        "COMMIT" | "ROLLBACK" => return end_of_transaction(reader),
        "XA" => {
            if reader.at_word("RECOVER") {
                return administration(reader, Effects::NONE);
            }
            findings.effects = Effects::XA;
            if reader.at_any(&["COMMIT", "ROLLBACK"]) {
                findings.effects |= Effects::ENDS_TRANSACTION;
            }
        }
        _ => {}
    }
    BodyReader::new(Body::Change, findings).rest(reader)
}

/// START TRANSACTION with its characteristics; START of anything else administers.
fn start(reader: &mut Reader<'_>) -> Findings {
    if !reader.accept("TRANSACTION") {
        return administration(reader, Effects::NONE);
    }
    let mut findings = Findings::new(StatementKind::Transaction, Reason::TransactionControl);
    findings.effects = Effects::BEGINS_TRANSACTION;
    while !reader.at_end() {
        if reader.last_is_word("READ") && reader.at_word("ONLY") {
            findings.effects |= Effects::BEGINS_READ_ONLY_TRANSACTION;
        }
        let known = reader.at_any(&["WITH", "CONSISTENT", "SNAPSHOT", "READ", "ONLY", "WRITE"]);
        if !known && !reader.at(Kind::Comma) {
            findings.kind = StatementKind::Write;
            findings.reason = Reason::NotUnderstood;
        }
        reader.bump();
    }
    findings
}

/// Behind COMMIT or ROLLBACK.
fn end_of_transaction(reader: &mut Reader<'_>) -> Findings {
    let mut findings = Findings::new(StatementKind::Transaction, Reason::TransactionControl);
    reader.accept("WORK");
    if reader.at_word("TO") {
        return BodyReader::new(Body::Change, findings).rest(reader);
    }
    findings.effects = Effects::ENDS_TRANSACTION;
    while !reader.at_end() {
        if reader.at_word("CHAIN") && !reader.last_is_word("NO") {
            findings.effects |= Effects::BEGINS_TRANSACTION;
        }
        if reader.at_word("RELEASE") && !reader.last_is_word("NO") {
            findings.effects |= Effects::ENDS_SESSION;
        }
        reader.bump();
    }
    findings
}

pub(super) fn prepared(reader: &mut Reader<'_>) -> Findings {
    let mut findings = Findings::new(StatementKind::Prepared, Reason::PreparedByName);
    if reader.at_word("PREPARE") {
        findings.effects = Effects::PREPARES_STATEMENT;
    } else if reader.at_word("DEALLOCATE") {
        findings.effects = Effects::DEALLOCATES_STATEMENT;
    } else if reader.next_is_word("IMMEDIATE") {
        findings = not_a_read();
        findings.effects = Effects::MAY_CALL_UNKNOWN;
    } else {
        findings.effects = Effects::EXECUTES_STATEMENT.with(Effects::MAY_CALL_UNKNOWN);
    }
    BodyReader::new(Body::Change, findings).rest(reader)
}

/// GET DIAGNOSTICS.
pub(super) fn last_statement(reader: &mut Reader<'_>) -> Findings {
    let mut findings = Findings::new(StatementKind::LastStatement, Reason::LastStatement);
    findings.effects = Effects::ASKS_DIAGNOSTICS;
    reader.bump();
    reader.accept_all(&["CURRENT", "STACKED"]);
    if !reader.accept("DIAGNOSTICS") {
        return not_understood(reader);
    }
    while !reader.at_end() {
        if reader.at(Kind::UserVariable) {
            let assigned =
                reader.next.is_some_and(|token| token.kind == Kind::Operator && token.text == b"=");
            findings.effects |=
                if assigned { Effects::SETS_USER_VARIABLES } else { Effects::READS_USER_VARIABLES };
        }
        reader.bump();
    }
    findings
}

/// CREATE, ALTER, DROP: what is defined stands behind some words, and may be a program with `;` inside.
pub(super) fn definition(reader: &mut Reader<'_>) -> Findings {
    let creates = reader.at_word("CREATE");
    let drops = reader.at_word("DROP");
    if drops && reader.next_is_word("PREPARE") {
        let mut findings = Findings::new(StatementKind::Prepared, Reason::PreparedByName);
        findings.effects = Effects::DEALLOCATES_STATEMENT;
        return BodyReader::new(Body::Change, findings).rest(reader);
    }
    let mut effects = Effects::NONE;
    reader.bump();
    for _ in 0..24 {
        if reader.at_word("TEMPORARY") {
            effects |= match (creates, drops) {
                (true, _) => Effects::CREATES_TEMPORARY_TABLE,
                (_, true) => Effects::DROPS_TEMPORARY_TABLE,
                _ => Effects::NONE,
            };
        }
        if !drops && reader.at_any(&["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE", "LIBRARY"]) {
            return compound(reader, Reason::NotARead);
        }
        if reader.at_end() || reader.at_any(&["TABLE", "VIEW", "INDEX", "USER", "DATABASE", "SCHEMA"]) {
            break;
        }
        reader.bump();
    }
    let mut findings = not_a_read();
    findings.effects = effects;
    BodyReader::new(Body::Definition, findings).rest(reader)
}

/// A stored program or compound statement: it goes to the end of the text, for its own `;` cannot be
/// told from those between statements.
pub(super) fn compound(reader: &mut Reader<'_>, reason: Reason) -> Findings {
    let mut findings = Findings::new(StatementKind::Write, reason);
    if reason != Reason::NotARead {
        findings.effects = Effects::MAY_CALL_UNKNOWN;
    }
    while reader.this.is_some() {
        if reader.at(Kind::Semicolon) && reader.next.is_some_and(|next| next.kind != Kind::Semicolon) {
            findings.effects |= Effects::MAY_CALL_UNKNOWN;
        }
        reader.bump();
    }
    findings
}

/// LOCK, UNLOCK, FLUSH, HANDLER, BACKUP.
pub(super) fn locking(reader: &mut Reader<'_>) -> Findings {
    let mut buffer = [0; 32];
    let head = reader.keyword(&mut buffer).to_owned();
    reader.bump();
    let at_tables = reader.at_any(&["TABLE", "TABLES"]);
    let mut findings = not_a_read();
    findings.effects = match head.as_str() {
        "LOCK" if at_tables => Effects::LOCKS_TABLES,
        "LOCK" | "BACKUP" => Effects::SETS_UNTRACKED_STATE,
        "UNLOCK" if at_tables => Effects::UNLOCKS_TABLES,
        _ => Effects::NONE,
    };
    let mut body = BodyReader::new(Body::Definition, findings);
    while !reader.at_end() {
        let read_lock = reader.at_word("LOCK") && reader.last_is_word("READ");
        let export = reader.at_word("EXPORT") && reader.last_is_word("FOR");
        body.findings.effects |= match head.as_str() {
            "FLUSH" if read_lock || export => Effects::LOCKS_TABLES,
            "HANDLER" if reader.at_word("OPEN") => Effects::OPENS_HANDLER,
            "HANDLER" if reader.at_word("CLOSE") => Effects::CLOSES_HANDLER,
            _ => Effects::NONE,
        };
        body.token(reader);
        reader.bump();
    }
    body.findings
}
