//! The first judge: Telamon's own strict reading of a text, statement by statement.
//!
//! Each statement is known by its head; what follows is read by [`super::body`]. A head that is not
//! known, or a head with something unexpected behind it, is a write.

use super::body::{Body, BodyReader, Findings};
use super::class::{KillTarget, Reason, StatementKind};
use super::dialect::{Dialect, ServerFamily};
use super::effects::Effects;
use super::heads::{compound, definition, kill, last_statement, locking, prepared, transaction, use_schema};
use super::lex::{Kind, Token};
use super::reader::{Reader, Shape, is_word, unquoted};
use super::set::set_statement;
use super::show;
use super::structure::is_reserved_head;

/// What the reading of a whole text gives.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) findings: Findings,
    pub(super) schema: Option<Box<[u8]>>,
    pub(super) kill: Option<KillTarget>,
    /// How large a parser's tree would be.
    pub(super) shape: Shape,
    /// The text has executable comments, which parsers read in their own ways.
    pub(super) executable_comments: bool,
}

/// Reads all statements of a text. Linear in its length, without recursion.
pub(super) fn read(sql: &[u8], dialect: &Dialect) -> Reading {
    let mut reader = Reader::new(sql, dialect);
    let mut details = Details::default();
    let mut whole: Option<Findings> = None;
    loop {
        while reader.at(Kind::Semicolon) {
            reader.bump();
        }
        if reader.this.is_none() {
            break;
        }
        let part = statement(&mut reader, &mut details);
        whole = Some(match whole {
            None => part,
            Some(mut whole) => {
                whole.note(part.kind, part.reason, part.effects | Effects::MULTI_STATEMENT);
                whole
            }
        });
    }
    Reading {
        findings: whole.unwrap_or(Findings::new(StatementKind::Write, Reason::Empty)),
        schema: details.schema,
        kill: details.kill,
        shape: reader.shape,
        executable_comments: reader.met_executable_comment(),
    }
}

/// What a class names besides kind, reason and effects.
#[derive(Default)]
pub(super) struct Details {
    pub(super) schema: Option<Box<[u8]>>,
    pub(super) kill: Option<KillTarget>,
}

/// Reads one statement, past the prefixes that leave the class to what stands behind them.
fn statement(reader: &mut Reader<'_>, details: &mut Details) -> Findings {
    let mut prefix = Findings::read();
    loop {
        if reader.at_word("SET") && reader.next_is_word("STATEMENT") {
            prefix = set_statement_for(reader, prefix);
            continue;
        }
        let mut part = headed(reader, details);
        if prefix.kind > part.kind {
            part.kind = prefix.kind;
            part.reason = prefix.reason;
        }
        part.effects |= prefix.effects;
        return part;
    }
}

/// MariaDB's `SET STATEMENT x = y FOR …`, up to and past the FOR.
fn set_statement_for(reader: &mut Reader<'_>, prefix: Findings) -> Findings {
    let mut body = BodyReader::new(Body::Change, prefix);
    if reader.dialect.family != ServerFamily::MariaDb {
        body.findings.note(StatementKind::Write, Reason::NotUnderstood, Effects::NONE);
    }
    reader.bump();
    reader.bump();
    let at_for = |reader: &Reader<'_>| reader.depth == 0 && reader.at_word("FOR");
    while !reader.at_end() && !at_for(reader) {
        body.token(reader);
        reader.bump();
    }
    reader.accept("FOR");
    body.findings
}

/// One statement by its head.
fn headed(reader: &mut Reader<'_>, details: &mut Details) -> Findings {
    let mut buffer = [0; 32];
    let head = reader.keyword(&mut buffer);
    match head {
        _ if at_query(reader) => query(reader),
        "INSERT" | "REPLACE" => {
            reader.bump();
            insert(reader)
        }
        "LOAD" if reader.next_is_word("INDEX") => administration(reader, Effects::NONE),
        "LOAD" => assigns_variables(insert(reader)),
        "UPDATE" | "DELETE" | "DO" => BodyReader::new(Body::Change, not_a_read()).rest(reader),
        "CALL" => call(reader),
        "SET" => {
            reader.bump();
            set_statement(reader)
        }
        "SHOW" => {
            reader.bump();
            show::show(reader)
        }
        "EXPLAIN" | "DESCRIBE" | "DESC" => explain(reader),
        "ANALYZE" => analyze(reader),
        "HELP" => {
            reader.bump();
            // Literals are alike to the cache; of another kind than a string they are the server's 1064.
            let is_literal = |kind| matches!(kind, Kind::String | Kind::Number | Kind::Placeholder);
            only(reader, Findings::read(), |reader| {
                reader.this.is_some_and(|token| is_literal(token.kind)) || reader.at_name()
            })
        }
        "USE" => use_schema(reader, details),
        "KILL" => kill(reader, details),
        "BEGIN" | "START" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" | "XA" => transaction(reader),
        "PREPARE" | "EXECUTE" | "DEALLOCATE" => prepared(reader),
        "GET" => last_statement(reader),
        "CREATE" | "ALTER" | "DROP" => definition(reader),
        "LOCK" | "UNLOCK" | "FLUSH" | "HANDLER" | "BACKUP" => locking(reader),
        "IF" | "CASE" | "LOOP" | "WHILE" | "REPEAT" | "FOR" | "DECLARE" => {
            compound(reader, Reason::NotUnderstood)
        }
        "TRUNCATE" | "RENAME" | "GRANT" | "REVOKE" | "OPTIMIZE" | "REPAIR" | "CHECK" | "CHECKSUM"
        | "PURGE" | "RESET" | "CHANGE" | "STOP" | "INSTALL" | "UNINSTALL" | "SHUTDOWN" | "RESTART"
        | "CLONE" | "IMPORT" | "BINLOG" | "CACHE" | "SIGNAL" | "RESIGNAL" => {
            administration(reader, Effects::NONE)
        }
        _ => {
            let mut findings = Findings::new(StatementKind::Write, Reason::NotUnderstood);
            findings.effects = Effects::MAY_CALL_UNKNOWN;
            BodyReader::new(Body::Change, findings).rest(reader)
        }
    }
}

fn insert(reader: &mut Reader<'_>) -> Findings {
    let mut findings = not_a_read();
    findings.effects = Effects::INSERTS;
    BodyReader::of_insert(findings).rest(reader)
}

pub(super) const fn not_a_read() -> Findings {
    Findings::new(StatementKind::Write, Reason::NotARead)
}

pub(super) fn not_understood(reader: &mut Reader<'_>) -> Findings {
    let findings = Findings::new(StatementKind::Write, Reason::NotUnderstood);
    BodyReader::new(Body::Change, findings).rest(reader)
}

/// A known statement whose rest is definitions, names and hosts.
pub(super) fn administration(reader: &mut Reader<'_>, effects: Effects) -> Findings {
    let mut findings = not_a_read();
    findings.effects = effects;
    reader.bump();
    BodyReader::new(Body::Definition, findings).rest(reader)
}

/// A head whose rest may only be tokens that `allowed` accepts, one at the least.
fn only(reader: &mut Reader<'_>, findings: Findings, allowed: impl Fn(&Reader<'_>) -> bool) -> Findings {
    let mut any = false;
    while allowed(reader) {
        any = true;
        reader.bump();
    }
    if any && reader.at_end() { findings } else { not_understood(reader) }
}

/// Whether a query starts here: SELECT, WITH, VALUES, TABLE, or parentheses around one.
fn at_query(reader: &Reader<'_>) -> bool {
    reader.at(Kind::Open) || reader.at_any(&["SELECT", "WITH", "VALUES", "TABLE"])
}

fn query(reader: &mut Reader<'_>) -> Findings {
    let mut body = BodyReader::new(Body::Query, Findings::read());
    while reader.at(Kind::Open) {
        reader.bump();
    }
    if !reader.at_word("WITH") && !at_main_query(reader) {
        body.findings.note(StatementKind::Write, Reason::NotUnderstood, Effects::NONE);
    }
    // The depths of the lists of common table expressions whose query has not come yet.
    let mut lists: Vec<usize> = Vec::new();
    let mut first = true;
    while !reader.at_end() {
        if reader.at_word("WITH") && (first || query_may_start(reader)) {
            lists.push(reader.depth);
        } else if lists.last() == Some(&reader.depth) && list_ends(reader) {
            lists.pop();
            if !at_main_query(reader) && !opens_query(reader) {
                body.findings.note(StatementKind::Write, Reason::NotARead, Effects::NONE);
            }
        }
        first = false;
        body.token(reader);
        reader.bump();
    }
    if !lists.is_empty() {
        body.findings.note(StatementKind::Write, Reason::NotUnderstood, Effects::NONE);
    }
    body.findings
}

fn at_main_query(reader: &Reader<'_>) -> bool {
    reader.at_any(&["SELECT", "VALUES", "TABLE"])
}

/// Whether parentheses open here around a query.
fn opens_query(reader: &Reader<'_>) -> bool {
    let behind = || reader.next.into_iter().chain(reader.ahead());
    let first = behind().find(|token| token.kind != Kind::Open);
    let starts = ["SELECT", "VALUES", "TABLE", "WITH"];
    reader.at(Kind::Open) && starts.iter().any(|word| is_word(first.as_ref(), word))
}

/// Whether the token before this one lets a query start here.
fn query_may_start(reader: &Reader<'_>) -> bool {
    reader.last_is(Kind::Open)
        || ["UNION", "EXCEPT", "INTERSECT", "ALL", "DISTINCT"].iter().any(|word| reader.last_is_word(word))
}

/// Whether a list of common table expressions ends before this token, at the list's depth.
fn list_ends(reader: &Reader<'_>) -> bool {
    let behind_item = reader.last_is(Kind::Close) || reader.last_is_word("RESTRICT");
    behind_item && !reader.at(Kind::Comma) && !reader.at_any(&["AS", "CYCLE"])
}

fn call(reader: &mut Reader<'_>) -> Findings {
    let mut findings = not_a_read();
    findings.effects = Effects::MAY_CALL_UNKNOWN;
    assigns_variables(BodyReader::new(Body::Change, findings).rest(reader))
}

/// The user variables that LOAD and CALL name may be where values go.
fn assigns_variables(mut findings: Findings) -> Findings {
    if findings.effects.contains(Effects::READS_USER_VARIABLES) {
        findings.effects |= Effects::SETS_USER_VARIABLES;
    }
    findings
}

/// EXPLAIN, DESCRIBE, DESC: of a query or a table a read, of anything else as that thing.
fn explain(reader: &mut Reader<'_>) -> Findings {
    reader.bump();
    explain_options(reader);
    if at_query(reader) {
        return query(reader);
    }
    if reader.at_word("FOR") && reader.next_is_word("CONNECTION") {
        let mut findings = Findings::new(StatementKind::PrimaryRead, Reason::ServerRoleQuestion);
        findings.effects = Effects::NONE;
        return BodyReader::new(Body::Definition, findings).rest(reader);
    }
    if reader.at_any(&["INSERT", "REPLACE", "UPDATE", "DELETE", "SET", "INTO"]) {
        return BodyReader::of_insert(not_a_read()).rest(reader);
    }
    table_description(reader)
}

/// `ANALYZE`, `FORMAT = x`, `EXTENDED`, `PARTITIONS`, `FOR SCHEMA s`.
fn explain_options(reader: &mut Reader<'_>) {
    loop {
        let before_statement = |reader: &Reader<'_>| {
            [
                "SELECT", "WITH", "VALUES", "TABLE", "FORMAT", "INSERT", "REPLACE", "UPDATE", "DELETE",
                "FOR", "INTO",
            ]
            .iter()
            .any(|word| reader.next_is_word(word))
                || reader.next_is(Kind::Open)
        };
        let format = reader.at_word("FORMAT")
            && reader.next.is_some_and(|token| token.kind == Kind::Operator && token.text == b"=")
            && reader.ahead().next().is_some_and(|token| is_format(&token));
        let schema =
            reader.at_word("FOR") && (reader.next_is_word("SCHEMA") || reader.next_is_word("DATABASE"));
        if reader.at_any(&["ANALYZE", "EXTENDED", "PARTITIONS"]) && before_statement(reader) {
            reader.bump();
        } else if format || schema {
            reader.bump();
            reader.bump();
            reader.bump();
        } else {
            return;
        }
    }
}

/// What EXPLAIN can print, as a word or a string. Behind any other word the server's answer is an error; behind any
/// other literal too, but texts that differ in their literals alone have one class.
fn is_format(token: &Token<'_>) -> bool {
    if matches!(token.kind, Kind::String | Kind::Number) {
        return true;
    }
    let name = unquoted(token.text);
    ["TRADITIONAL", "JSON", "TREE"].iter().any(|format| name.eq_ignore_ascii_case(format.as_bytes()))
}

/// `t`, `db.t`, `t column`, `t 'pattern'`.
fn table_description(reader: &mut Reader<'_>) -> Findings {
    let mut body = BodyReader::new(Body::Query, Findings::read());
    if !reader.at_name() || reader.this.as_ref().is_some_and(is_reserved_head) {
        return not_understood(reader);
    }
    body.token(reader);
    reader.bump();
    if reader.at(Kind::Dot) {
        reader.bump();
        if !reader.at_name() {
            return not_understood(reader);
        }
        reader.bump();
    }
    if reader.at_name() || reader.at(Kind::String) {
        reader.bump();
    }
    if reader.at_end() { body.findings } else { not_understood(reader) }
}

/// MariaDB's ANALYZE of a statement runs it; ANALYZE TABLE writes statistics.
fn analyze(reader: &mut Reader<'_>) -> Findings {
    if reader.dialect.family == ServerFamily::MariaDb && !reader.next_is_word("TABLE") {
        reader.bump();
        explain_options(reader);
        if at_query(reader) {
            return query(reader);
        }
        let mut findings = not_a_read();
        if reader.at_any(&["INSERT", "REPLACE"]) {
            findings.effects = Effects::INSERTS;
        }
        return BodyReader::of_insert(findings).rest(reader);
    }
    administration(reader, Effects::NONE)
}
