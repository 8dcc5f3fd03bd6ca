//! The first judge: Telamon's own strict reading of a text, statement by statement.
//!
//! Each statement is known by its head; what follows is read by [`super::body`]. A head that is not
//! known, or a head with something unexpected behind it, is a write.

use super::body::{Body, BodyReader, Findings};
use super::class::{KillTarget, Reason, StatementKind};
use super::dialect::{Dialect, ServerFamily};
use super::effects::Effects;
use super::lex::Kind;
use super::reader::{Reader, Shape, unquoted};
use super::set::set_statement;
use super::show;

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
struct Details {
    schema: Option<Box<[u8]>>,
    kill: Option<KillTarget>,
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
    while !reader.at_end() && !(reader.depth == 0 && reader.at_word("FOR")) {
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
            BodyReader::of_insert(not_a_read()).rest(reader)
        }
        "UPDATE" | "DELETE" | "LOAD" | "DO" => BodyReader::new(Body::Change, not_a_read()).rest(reader),
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
            only(reader, Findings::read(), |reader| reader.at(Kind::String) || reader.at_name())
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

const fn not_a_read() -> Findings {
    Findings::new(StatementKind::Write, Reason::NotARead)
}

fn not_understood(reader: &mut Reader<'_>) -> Findings {
    let findings = Findings::new(StatementKind::Write, Reason::NotUnderstood);
    BodyReader::new(Body::Change, findings).rest(reader)
}

/// A known statement whose rest is definitions, names and hosts.
fn administration(reader: &mut Reader<'_>, effects: Effects) -> Findings {
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
    let with = reader.at_word("WITH");
    if !with && !reader.at_any(&["SELECT", "VALUES", "TABLE"]) {
        body.findings.note(StatementKind::Write, Reason::NotUnderstood, Effects::NONE);
    }
    let depth = reader.depth;
    let mut head_open = with;
    while !reader.at_end() {
        // Behind the list of common table expressions only a query makes the whole a read.
        if head_open && reader.depth == depth && reader.last_is(Kind::Close) && !reader.at(Kind::Comma) {
            head_open = reader.at_any(&["AS", "CYCLE"]);
            if !head_open && !at_query(reader) {
                body.findings.note(StatementKind::Write, Reason::NotARead, Effects::NONE);
            }
        }
        body.token(reader);
        reader.bump();
    }
    if head_open {
        body.findings.note(StatementKind::Write, Reason::NotUnderstood, Effects::NONE);
    }
    body.findings
}

fn call(reader: &mut Reader<'_>) -> Findings {
    let mut findings = not_a_read();
    findings.effects = Effects::MAY_CALL_UNKNOWN;
    BodyReader::new(Body::Change, findings).rest(reader)
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
        if reader.at_any(&["ANALYZE", "EXTENDED", "PARTITIONS"]) && before_statement(reader) {
            reader.bump();
        } else if reader.at_word("FORMAT")
            && reader.next.is_some_and(|token| token.kind == Kind::Operator && token.text == b"=")
        {
            reader.bump();
            reader.bump();
            reader.bump();
        } else if reader.at_word("FOR") && (reader.next_is_word("SCHEMA") || reader.next_is_word("DATABASE"))
        {
            reader.bump();
            reader.bump();
            reader.bump();
        } else {
            return;
        }
    }
}

/// `t`, `db.t`, `t column`, `t 'pattern'`.
fn table_description(reader: &mut Reader<'_>) -> Findings {
    let mut body = BodyReader::new(Body::Query, Findings::read());
    if !reader.at_name() {
        return not_understood(reader);
    }
    for _ in 0..4 {
        let fits = reader.at_name() || reader.at(Kind::Dot) || reader.at(Kind::String);
        if reader.at_end() || !fits {
            break;
        }
        body.token(reader);
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
        return BodyReader::of_insert(not_a_read()).rest(reader);
    }
    administration(reader, Effects::NONE)
}

fn use_schema(reader: &mut Reader<'_>, details: &mut Details) -> Findings {
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

fn kill(reader: &mut Reader<'_>, details: &mut Details) -> Findings {
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

fn transaction(reader: &mut Reader<'_>) -> Findings {
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

fn prepared(reader: &mut Reader<'_>) -> Findings {
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
fn last_statement(reader: &mut Reader<'_>) -> Findings {
    let mut findings = Findings::new(StatementKind::LastStatement, Reason::LastStatement);
    findings.effects = Effects::ASKS_LAST_STATEMENT;
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
fn definition(reader: &mut Reader<'_>) -> Findings {
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
fn compound(reader: &mut Reader<'_>, reason: Reason) -> Findings {
    let mut findings = Findings::new(StatementKind::Write, reason);
    if reason != Reason::NotARead {
        findings.effects = Effects::MAY_CALL_UNKNOWN;
    }
    while reader.this.is_some() {
        if reader.at(Kind::Semicolon) && reader.next.is_some() {
            findings.effects |= Effects::MAY_CALL_UNKNOWN;
        }
        reader.bump();
    }
    findings
}

/// LOCK, UNLOCK, FLUSH, HANDLER, BACKUP.
fn locking(reader: &mut Reader<'_>) -> Findings {
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
