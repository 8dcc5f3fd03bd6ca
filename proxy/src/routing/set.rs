//! SET in all its forms, assignment by assignment.

use super::body::{Body, BodyReader, Findings, system_variable_name};
use super::class::{Reason, StatementKind};
use super::effects::Effects;
use super::lex::{Kind, Token};
use super::reader::{Reader, unquoted};
use super::variables;

/// For whom an assignment holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Session,
    Global,
    /// `@@name` without a scope.
    Unnamed,
}

/// Reads a SET statement, from behind the keyword.
pub(super) fn set_statement(reader: &mut Reader<'_>) -> Findings {
    let findings = Findings::new(StatementKind::SessionSet, Reason::SetStatement);
    if let Some(findings) = account_statement(reader, findings) {
        return BodyReader::new(Body::Definition, findings).rest(reader);
    }
    let mut body = BodyReader::new(Body::Change, findings);
    // A keyword holds for the assignments behind it, until the next one.
    let mut sticky = Scope::Session;
    loop {
        if reader.at_any(&["GLOBAL", "PERSIST", "PERSIST_ONLY"]) && !at_assigned(reader) {
            sticky = Scope::Global;
            reader.bump();
        } else if reader.at_any(&["SESSION", "LOCAL"]) && !at_assigned(reader) {
            sticky = Scope::Session;
            reader.bump();
            if reader.at_word("TRANSACTION") {
                body.findings.effects |= Effects::SETS_SESSION_VARIABLES;
                return body.rest(reader);
            }
        }
        assignment(reader, &mut body, sticky);
        if !reader.at(Kind::Comma) {
            break;
        }
        reader.bump();
    }
    if !reader.at_end() {
        body.findings.note(StatementKind::Write, Reason::NotUnderstood, Effects::MAY_CALL_UNKNOWN);
    }
    body.rest(reader)
}

/// Whether the word here is itself the variable that is set.
fn at_assigned(reader: &Reader<'_>) -> bool {
    reader.next_is(Kind::Assign)
        || reader.next.is_some_and(|token| token.kind == Kind::Operator && token.text == b"=")
}

/// SET TRANSACTION, PASSWORD, ROLE and what else is no assignment.
fn account_statement(reader: &Reader<'_>, mut findings: Findings) -> Option<Findings> {
    if at_assigned(reader) && !reader.at_word("PASSWORD") {
        return None;
    }
    let (kind, reason, effects) = if reader.at_word("TRANSACTION") {
        (StatementKind::Transaction, Reason::TransactionControl, Effects::SETS_NEXT_TRANSACTION)
    } else if reader.at_any(&["ROLE", "RESOURCE"]) {
        (StatementKind::Write, Reason::NotARead, Effects::SETS_UNTRACKED_STATE)
    } else if reader.at_word("PASSWORD")
        || reader.at_word("GLOBAL") && reader.next_is_word("TRANSACTION")
        || reader.at_word("DEFAULT") && reader.next_is_word("ROLE")
    {
        (StatementKind::Write, Reason::NotARead, Effects::NONE)
    } else {
        return None;
    };
    findings.note(kind, reason, effects);
    Some(findings)
}

/// One assignment: the name, the sign, and the value up to the next comma.
fn assignment(reader: &mut Reader<'_>, body: &mut BodyReader, sticky: Scope) {
    if reader.at_any(&["NAMES", "CHARSET", "CHARACTER", "CHAR"]) && !at_assigned(reader) {
        body.findings.effects |= Effects::SETS_SESSION_VARIABLES;
        return value(reader, body);
    }
    let Some(token) = reader.this else { return };
    let (name, scope) = match token.kind {
        Kind::UserVariable => {
            body.findings.effects |= Effects::SETS_USER_VARIABLES;
            (&b""[..], None)
        }
        Kind::SystemVariable => (system_variable_name(reader, &token), Some(written_scope(reader, &token))),
        Kind::Word | Kind::QuotedName => (unquoted(token.text), Some(sticky)),
        _ => return,
    };
    reader.bump();
    while reader.at(Kind::Dot) {
        reader.bump();
        reader.bump();
    }
    if !reader.at(Kind::Assign) && !reader.at_operator(b'=') {
        body.findings.note(StatementKind::Write, Reason::NotUnderstood, Effects::NONE);
        return;
    }
    reader.bump();
    if let Some(scope) = scope {
        assigned(reader, &mut body.findings, name, scope);
    }
    value(reader, body);
}

fn written_scope(reader: &Reader<'_>, token: &Token<'_>) -> Scope {
    let first = unquoted(&token.text[2..]);
    let named = |name: &str| first.eq_ignore_ascii_case(name.as_bytes());
    match reader.next_is(Kind::Dot) {
        true if named("session") || named("local") => Scope::Session,
        true => Scope::Global,
        false => Scope::Unnamed,
    }
}

/// The effects of an assignment, at its value.
fn assigned(reader: &Reader<'_>, findings: &mut Findings, name: &[u8], scope: Scope) {
    if scope == Scope::Global {
        findings.note(StatementKind::Write, Reason::NotARead, Effects::NONE);
        return;
    }
    if scope == Scope::Unnamed && variables::is_transaction_characteristic(name) {
        findings.effects |= Effects::SETS_NEXT_TRANSACTION;
        return;
    }
    findings.effects |= Effects::SETS_SESSION_VARIABLES;
    if variables::is_untracked(name) {
        findings.effects |= Effects::SETS_UNTRACKED_STATE;
    }
    if name.eq_ignore_ascii_case(b"autocommit") {
        findings.effects |= if is_on(reader) { Effects::AUTOCOMMIT_ON } else { Effects::AUTOCOMMIT_OFF };
    }
}

/// Whether the value is plainly 1. Anything that is not counts as 0, the side that keeps one connection.
fn is_on(reader: &Reader<'_>) -> bool {
    let alone = reader.next.is_none_or(|token| matches!(token.kind, Kind::Comma | Kind::Semicolon));
    let Some(token) = reader.this.filter(|_| alone) else { return false };
    match token.kind {
        Kind::Number => token.text == b"1",
        Kind::Word | Kind::String => {
            let word = unquoted(token.text);
            [&b"ON"[..], b"TRUE", b"DEFAULT", b"1"].iter().any(|on| word.eq_ignore_ascii_case(on))
        }
        _ => false,
    }
}

/// Reads a value: everything up to a comma outside parentheses.
fn value(reader: &mut Reader<'_>, body: &mut BodyReader) {
    let depth = reader.depth;
    let at_comma = |reader: &Reader<'_>| reader.at(Kind::Comma) && reader.depth == depth;
    while !reader.at_end() && !at_comma(reader) {
        body.token(reader);
        reader.bump();
    }
}
