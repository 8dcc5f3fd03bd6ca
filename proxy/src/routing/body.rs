//! The strict reading of what stands inside a statement: every token that could lock, write, call or
//! touch session state counts, wherever it stands.

use super::class::{Reason, StatementKind};
use super::dialect::{ClientCharset, ServerFamily};
use super::effects::Effects;
use super::functions::{self, Call, upper_case};
use super::lex::{Kind, Token};
use super::reader::{Reader, is_word, unquoted};
use super::structure;
use super::variables;

/// What has been found so far: the strongest kind with its reason, and all effects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Findings {
    pub(super) kind: StatementKind,
    pub(super) reason: Reason,
    pub(super) effects: Effects,
}

impl Findings {
    pub(super) const fn new(kind: StatementKind, reason: Reason) -> Self {
        Self { kind, reason, effects: Effects::NONE }
    }

    pub(super) const fn read() -> Self {
        Self::new(StatementKind::Read, Reason::ProvedRead)
    }

    pub(super) fn note(&mut self, kind: StatementKind, reason: Reason, effects: Effects) {
        if kind > self.kind {
            self.kind = kind;
            self.reason = reason;
        }
        self.effects |= effects;
    }

    fn write(&mut self, reason: Reason) {
        self.note(StatementKind::Write, reason, Effects::NONE);
    }

    fn call(&mut self, call: Call) {
        self.note(call.kind, call.reason, call.effects);
    }
}

/// What kind of statement the tokens belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// A query: everything counts.
    Query,
    /// INSERT, UPDATE and other data changes, CALL, SET: their own keywords are no news.
    Change,
    /// Definitions and administration: names before parentheses are no calls, `@` is a host.
    Definition,
}

/// Reads a body token by token.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyReader {
    body: Body,
    pub(super) findings: Findings,
    /// `MATCH` has been seen and its `AGAINST` not yet.
    match_open: bool,
    /// A WINDOW clause has been seen.
    windows: bool,
    /// The name of the table that an INSERT names, with its column list, is still to come or to end.
    insert_target: bool,
}

impl BodyReader {
    pub(super) fn new(body: Body, findings: Findings) -> Self {
        Self { body, findings, match_open: false, windows: false, insert_target: false }
    }

    pub(super) fn of_insert(findings: Findings) -> Self {
        Self { insert_target: true, ..Self::new(Body::Change, findings) }
    }

    /// Reads to the end of the statement.
    pub(super) fn rest(mut self, reader: &mut Reader<'_>) -> Findings {
        while !reader.at_end() {
            self.token(reader);
            reader.bump();
        }
        self.findings
    }

    /// Judges this token; the reader stays where it is.
    pub(super) fn token(&mut self, reader: &Reader<'_>) {
        let Some(token) = reader.this else { return };
        match token.kind {
            Kind::Word => self.word(reader, &token),
            Kind::QuotedName | Kind::NameAfterDot => self.name(reader, &token),
            Kind::UserVariable => self.user_variable(reader, &token),
            Kind::SystemVariable => self.findings.call(variables::read(system_variable_name(reader, &token))),
            Kind::Assign => self.findings.note(
                StatementKind::Write,
                Reason::UserVariableAssignment,
                Effects::SETS_USER_VARIABLES,
            ),
            Kind::Bad => self.bad(reader),
            Kind::Open => self.insert_target = false,
            _ => {}
        }
    }

    fn bad(&mut self, reader: &Reader<'_>) {
        let reason = match reader.dialect.charset {
            ClientCharset::Utf8 => Reason::NotUnderstood,
            _ => Reason::AmbiguousCharset,
        };
        self.findings.note(StatementKind::Write, reason, Effects::MAY_CALL_UNKNOWN);
    }

    fn user_variable(&mut self, reader: &Reader<'_>, token: &Token<'_>) {
        let is_host = self.body == Body::Definition
            && !token.spaced
            && reader.last.is_some_and(|last| {
                matches!(last.kind, Kind::Word | Kind::QuotedName | Kind::String | Kind::NameAfterDot)
            });
        if !is_host {
            let effects = match reader.last_is_word("INTO") || reader.next_is(Kind::Assign) {
                true => Effects::SETS_USER_VARIABLES,
                false => Effects::READS_USER_VARIABLES,
            };
            self.findings.note(StatementKind::SessionRead, Reason::UserVariable, effects);
        }
    }

    fn name(&mut self, reader: &Reader<'_>, token: &Token<'_>) {
        if reader.next_is(Kind::Open) {
            return self.name_before_parenthesis(reader);
        }
        let sequence = token.kind == Kind::NameAfterDot
            && reader.dialect.family == ServerFamily::MariaDb
            && [&b"nextval"[..], b"currval"].iter().any(|name| token.text.eq_ignore_ascii_case(name));
        if sequence {
            self.findings.call(functions::SEQUENCE);
        }
        self.qualifier(reader, unquoted(token.text));
    }

    fn word(&mut self, reader: &Reader<'_>, token: &Token<'_>) {
        let mut buffer = [0; 32];
        let word = upper_case(token.text, &mut buffer).unwrap_or_default();
        if self.body == Body::Query {
            self.query_word(reader, word);
        }
        match word {
            "INTO" if reader.next_is(Kind::UserVariable) => {
                self.findings.effects |= Effects::SETS_USER_VARIABLES;
            }
            "VALUES" | "VALUE" | "SET" | "SELECT" => self.insert_target = false,
            "SQL_CALC_FOUND_ROWS" => self.findings.effects |= Effects::FOUND_ROWS_WANTED,
            "MATCH" => self.match_open = true,
            "FOR" if reader.last_is_word("VALUE") => self.findings.call(functions::SEQUENCE),
            _ => {}
        }
        if reader.next_is(Kind::Open) {
            self.word_before_parenthesis(reader, word);
        } else {
            self.qualifier(reader, token.text);
        }
    }

    /// Words that a query must not have.
    fn query_word(&mut self, reader: &Reader<'_>, word: &str) {
        let called = reader.next_is(Kind::Open);
        if structure::is_broken(reader, word, self.windows) {
            self.findings.write(Reason::NotUnderstood);
        }
        match word {
            "FOR" if reader.next_is_word("UPDATE") || reader.next_is_word("SHARE") => {
                self.findings.write(Reason::LockingClause);
            }
            "LOCK" => self.findings.write(Reason::LockingClause),
            "INTO" => self.findings.write(Reason::IntoClause),
            "WINDOW" => self.windows = true,
            "PROCEDURE" if !reader.next_is_word("ANALYSE") => self.findings.write(Reason::NotUnderstood),
            "INSERT" | "REPLACE" if called => {}
            "INSERT" | "REPLACE" | "UPDATE" | "DELETE" | "LOAD" | "CALL" | "GRANT" | "REVOKE" | "DROP"
            | "ALTER" | "CREATE" | "RENAME" | "KILL" | "PURGE" | "UNLOCK" => {
                self.findings.write(Reason::NotARead);
            }
            _ => {}
        }
    }

    /// A name before a dot may be a schema that belongs to the server.
    fn qualifier(&mut self, reader: &Reader<'_>, name: &[u8]) {
        if !reader.next_is(Kind::Dot) {
            return;
        }
        let per_server = variables::is_system_schema(name)
            || variables::is_information_schema(name)
                && reader.ahead().next().is_some_and(|table| {
                    let all_columns = table.kind == Kind::Operator && table.text == b"*";
                    !(all_columns || variables::is_schema_object_table(unquoted(table.text)))
                });
        if per_server {
            self.findings.note(StatementKind::PrimaryRead, Reason::SystemSchema, Effects::NONE);
        }
    }

    /// A quoted or qualified name before a parenthesis: a stored function, unless names may stand there.
    fn name_before_parenthesis(&mut self, reader: &Reader<'_>) {
        if self.names_may_stand_here(reader) && !reader.last_is(Kind::Dot) || self.insert_target {
            self.insert_target = false;
        } else if self.body != Body::Definition {
            self.findings.call(functions::UNKNOWN_FUNCTION);
        }
    }

    fn word_before_parenthesis(&mut self, reader: &Reader<'_>, word: &str) {
        if reader.last_is(Kind::Dot) {
            return self.name_before_parenthesis(reader);
        }
        if is_clause(word) || self.is_clause_here(reader, word) || self.insert_target {
            self.insert_target = false;
            return;
        }
        if self.names_may_stand_here(reader) || self.body == Body::Definition {
            return;
        }
        let Some(token) = reader.this else { return };
        let spaced = reader.next.is_some_and(|next| next.spaced);
        let empty = reader.ahead().next().is_some_and(|token| token.kind == Kind::Close);
        self.findings.call(functions::called(token.text, spaced, empty, &reader.dialect));
    }

    /// Words that belong to a clause only behind certain others; elsewhere they may be functions.
    fn is_clause_here(&mut self, reader: &Reader<'_>, word: &str) -> bool {
        match word {
            "AGAINST" => std::mem::take(&mut self.match_open),
            "COLUMNS" => reader.last_is(Kind::String) || reader.last_is(Kind::Placeholder),
            "ANY" | "SOME" | "EXCEPT" | "INTERSECT" | "MINUS" | "LATERAL" => {
                let inner = reader.ahead().next();
                inner.is_some_and(|token| token.kind == Kind::Open)
                    || ["SELECT", "WITH", "TABLE", "VALUES"].iter().any(|word| is_word(inner.as_ref(), word))
            }
            "OF" => reader.last_is_word("MEMBER"),
            "OVER" => ["NULLS", "FIRST", "LAST"].iter().any(|word| reader.last_is_word(word)),
            "ANALYSE" => reader.last_is_word("PROCEDURE"),
            _ => false,
        }
    }

    /// Behind `AS` or `)` no call can stand; nor is the head of a common table expression one.
    fn names_may_stand_here(&self, reader: &Reader<'_>) -> bool {
        reader.last_is_word("AS") || reader.last_is(Kind::Close) || is_cte_head(reader)
    }
}

/// `name (a, b) AS (`, at the name.
fn is_cte_head(reader: &Reader<'_>) -> bool {
    let mut columns = 0_usize;
    let mut ahead = reader.ahead();
    for token in &mut ahead {
        match token.kind {
            Kind::Word | Kind::QuotedName | Kind::Comma => columns += 1,
            Kind::Close => break,
            _ => return false,
        }
    }
    columns > 0
        && is_word(ahead.next().as_ref(), "AS")
        && ahead.next().is_some_and(|token| token.kind == Kind::Open)
}

/// The name of the variable at this `@@` token: behind its scope, where it has one.
pub(super) fn system_variable_name<'a>(reader: &Reader<'a>, token: &Token<'a>) -> &'a [u8] {
    let name = unquoted(&token.text[2..]);
    if reader.next_is(Kind::Dot) && is_scope(name) {
        return reader.ahead().next().map_or(name, |token| unquoted(token.text));
    }
    name
}

fn is_scope(name: &[u8]) -> bool {
    [&b"global"[..], b"session", b"local", b"persist", b"persist_only"]
        .iter()
        .any(|scope| name.eq_ignore_ascii_case(scope))
}

/// Reserved words after which a parenthesis is no call, and types with a length.
fn is_clause(word: &str) -> bool {
    matches!(
        word,
        "AND"
            | "OR"
            | "XOR"
            | "NOT"
            | "IN"
            | "EXISTS"
            | "BETWEEN"
            | "LIKE"
            | "RLIKE"
            | "REGEXP"
            | "WHERE"
            | "ON"
            | "USING"
            | "HAVING"
            | "BY"
            | "SELECT"
            | "DISTINCT"
            | "DISTINCTROW"
            | "ALL"
            | "FROM"
            | "JOIN"
            | "STRAIGHT_JOIN"
            | "UNION"
            | "WHEN"
            | "THEN"
            | "ELSE"
            | "CASE"
            | "AS"
            | "ROW"
            | "DIV"
            | "BINARY"
            | "INDEX"
            | "KEY"
            | "PARTITION"
            | "GROUP"
            | "SET"
            | "UPDATE"
            | "INTO"
            | "TO"
            | "VARCHAR"
            | "DECIMAL"
            | "NUMERIC"
            | "FLOAT"
            | "DOUBLE"
            | "REAL"
            | "INT"
            | "INTEGER"
            | "BIGINT"
            | "TINYINT"
            | "SMALLINT"
            | "MEDIUMINT"
            | "VARBINARY"
            | "CHARACTER"
    )
}
