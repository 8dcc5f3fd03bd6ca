//! What the firewall can protect from, found in the tokens of a statement, comments and strings aside.
//!
//! The hazards of a text are the same for all texts of one cache key, so they are part of its class and a
//! cached statement is judged by one AND. The exception is text inside a string (`PREPARE s FROM '…'`),
//! which is looked into each time.

use std::fmt;

use super::dialect::{Dialect, ServerFamily};
use super::inner::{self, Source};
use super::lex::{Kind, Token};
use super::reader::{Reader, is_word, unquoted};

/// One kind of statement that the firewall can refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hazard {
    /// DELETE without a WHERE of its own.
    DeleteWithoutWhere,
    /// UPDATE without a WHERE of its own.
    UpdateWithoutWhere,
    /// `SLEEP()` or `BENCHMARK()`.
    Sleep,
    /// DROP TABLE, DROP DATABASE, DROP PARTITION, and CREATE OR REPLACE of a table or database.
    Drop,
    /// TRUNCATE of a table or partition.
    Truncate,
    /// What Telamon cannot read: a text over the limit, bytes that a character set makes ambiguous, a
    /// statement that is built by the server.
    Unread,
}

impl Hazard {
    /// Every hazard, in the order in which one is named where a statement has several.
    pub const ALL: [Self; 6] = [
        Self::DeleteWithoutWhere,
        Self::UpdateWithoutWhere,
        Self::Sleep,
        Self::Drop,
        Self::Truncate,
        Self::Unread,
    ];

    /// The key of `[firewall]`, and the name in `explain`, traces and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DeleteWithoutWhere => "delete_without_where",
            Self::UpdateWithoutWhere => "update_without_where",
            Self::Sleep => "sleep",
            Self::Drop => "drop",
            Self::Truncate => "truncate",
            Self::Unread => "unread",
        }
    }

    /// What the client is told: what is wrong with its statement, and the mend.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::DeleteWithoutWhere => "DELETE without WHERE; add a WHERE clause",
            Self::UpdateWithoutWhere => "UPDATE without WHERE; add a WHERE clause",
            Self::Sleep => "SLEEP() and BENCHMARK() are not allowed; wait in the application",
            Self::Drop => "DROP of a table, partition or database; connect to the server itself for it",
            Self::Truncate => "TRUNCATE; delete rows with a WHERE clause, or connect to the server itself",
            Self::Unread => {
                "the statement cannot be read in full: too long (limits.classify_bytes), built from an \
                 expression, or of bytes whose meaning its character set leaves open"
            }
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of hazards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Hazards(u8);

/// The statement has another one in a string. Not a hazard by itself.
const IN_STRING: u8 = 1 << 7;

impl Hazards {
    /// No hazard.
    pub const NONE: Self = Self(0);

    /// This set with one more.
    #[must_use]
    pub const fn with(self, hazard: Hazard) -> Self {
        Self(self.0 | hazard.bit())
    }

    /// Whether the set has none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 & !IN_STRING == 0
    }

    /// Whether the hazard is in the set.
    #[must_use]
    pub const fn contains(self, hazard: Hazard) -> bool {
        self.0 & hazard.bit() != 0
    }

    /// The first hazard that both sets have.
    #[must_use]
    pub fn first_common(self, other: Self) -> Option<Hazard> {
        if self.0 & other.0 == 0 {
            return None;
        }
        Hazard::ALL.into_iter().find(|hazard| self.contains(*hazard) && other.contains(*hazard))
    }

    /// Whether the text has a statement inside a string, whose hazards [`in_strings`] finds.
    #[must_use]
    pub(super) const fn hides_text(self) -> bool {
        self.0 & IN_STRING != 0
    }

    fn add(&mut self, hazard: Hazard) {
        *self = self.with(hazard);
    }
}

/// The hazards of a text. Linear in its length.
pub(super) fn hazards(sql: &[u8], dialect: &Dialect) -> Hazards {
    let mut reader = Reader::new(sql, dialect);
    let mut watch = Watch::default();
    while reader.this.is_some() {
        watch.token(&reader);
        reader.bump();
    }
    watch.end_of_statement();
    watch.found
}

/// The hazards of the statements that stand in strings behind PREPARE … FROM and EXECUTE IMMEDIATE.
pub(super) fn in_strings(sql: &[u8], dialect: &Dialect) -> Hazards {
    let mut found = Hazards::NONE;
    for text in inner::texts(sql, dialect) {
        found.0 |= hazards(&text, dialect).0;
    }
    // Text within text within text is nobody's need.
    if found.hides_text() {
        found.add(Hazard::Unread);
    }
    found
}

/// A DELETE or UPDATE whose WHERE has not come yet.
#[derive(Clone, Copy)]
struct Change {
    hazard: Hazard,
    depth: usize,
}

/// What is known at a place in the text.
#[derive(Default)]
struct Watch {
    found: Hazards,
    change: Option<Change>,
    /// In EXPLAIN without ANALYZE, or in HELP: the statement is not run.
    explained: bool,
    /// In MariaDB's SET STATEMENT, before its FOR.
    set_statement: bool,
    /// In a SET.
    in_set: bool,
    /// The SET changes what the texts behind it mean.
    changes_meaning: bool,
}

impl Watch {
    fn end_of_statement(&mut self) {
        if let Some(change) = self.change.take().filter(|_| !self.explained) {
            self.found.add(change.hazard);
        }
        self.explained = false;
        self.set_statement = false;
        self.in_set = false;
    }

    /// A SET of the sql_mode or the character set: what stands behind it in the same text is read under the old one here,
    /// and under the new one by the server.
    fn setting(&mut self, reader: &Reader<'_>, token: &Token<'_>) {
        if token.kind == Kind::Word && token.text.eq_ignore_ascii_case(b"SET") && begins_statement(reader) {
            self.in_set = true;
        } else if self.in_set && matches!(token.kind, Kind::Word | Kind::NameAfterDot | Kind::SystemVariable)
        {
            let name = token.text.to_ascii_lowercase();
            let has = |word: &[u8]| name.windows(word.len()).any(|window| window == word);
            self.changes_meaning |=
                name == b"names" || has(b"sql_mode") || has(b"character") || has(b"charset");
        }
    }

    fn token(&mut self, reader: &Reader<'_>) {
        let Some(token) = reader.this else { return };
        self.setting(reader, &token);
        match token.kind {
            Kind::Semicolon => {
                if self.changes_meaning && reader.next.is_some() {
                    self.found.add(Hazard::Unread);
                }
                self.end_of_statement();
            }
            Kind::Bad => self.found.add(Hazard::Unread),
            Kind::Word => {
                self.word(reader, &token);
                self.call(reader, &token);
            }
            Kind::QuotedName => self.call(reader, &token),
            _ => {}
        }
    }

    /// A built-in function may be called by its quoted name, but not by a qualified one.
    fn call(&mut self, reader: &Reader<'_>, token: &Token<'_>) {
        let name = unquoted(token.text);
        let delays = || [&b"sleep"[..], b"benchmark"].iter().any(|delay| name.eq_ignore_ascii_case(delay));
        let is_named = || NAMES_A_TABLE.iter().any(|word| reader.last_is_word(word));
        if reader.next_is(Kind::Open) && !reader.last_is(Kind::Dot) && delays() && !is_named() {
            self.found.add(Hazard::Sleep);
        }
    }

    fn word(&mut self, reader: &Reader<'_>, token: &Token<'_>) {
        let is = |word: &str| token.text.eq_ignore_ascii_case(word.as_bytes());
        match token.text.first().map(u8::to_ascii_uppercase) {
            Some(b'W') if is("WHERE") => self.change = self.change.filter(|c| c.depth != reader.depth),
            Some(b'D') if is("DELETE") => self.change(reader, Hazard::DeleteWithoutWhere),
            Some(b'U') if is("UPDATE") => self.change(reader, Hazard::UpdateWithoutWhere),
            Some(b'D') if is("DROP") && next_is_any(reader, &DROPPED) => self.found.add(Hazard::Drop),
            Some(b'D') if is("DESC") || is("DESCRIBE") => self.explain(reader),
            Some(b'E') if is("EXPLAIN") => self.explain(reader),
            Some(b'H') if is("HELP") => self.explained |= helps(reader),
            Some(b'E') if is("EXECUTE") => self.built(reader),
            Some(b'F') if is("FROM") => self.built(reader),
            Some(b'R') if is("REPLACE") && replaces(reader) => self.found.add(Hazard::Drop),
            Some(b'S') if is("SET") && begins_statement(reader) && reader.next_is_word("STATEMENT") => {
                self.set_statement = true;
            }
            Some(b'T') if is("TRUNCATE") && truncates(reader) => self.found.add(Hazard::Truncate),
            _ => {}
        }
    }

    /// At DELETE or UPDATE, which are verbs unless another clause has them.
    fn change(&mut self, reader: &Reader<'_>, hazard: Hazard) {
        let behind_for = reader.last_is_word("FOR");
        let verb = if behind_for {
            std::mem::take(&mut self.set_statement) || hazard == Hazard::DeleteWithoutWhere
        } else {
            let names_privilege_or_event = ["KEY", "ON", "AFTER", "BEFORE", "GRANT", "REVOKE", "OR"]
                .iter()
                .any(|w| reader.last_is_word(w));
            !names_privilege_or_event && !reader.last_is(Kind::Comma) && !deletes_history(reader)
        };
        if verb {
            // The statements of a stored program may stand behind each other without a `;` that is seen here.
            if let Some(before) = self.change.replace(Change { hazard, depth: reader.depth }) {
                self.found.add(before.hazard);
            }
        }
    }

    fn explain(&mut self, reader: &Reader<'_>) {
        if begins_statement(reader) && !reader.next_is_word("ANALYZE") {
            self.explained = true;
        }
    }

    /// A statement that comes from what stands behind PREPARE … FROM or EXECUTE IMMEDIATE.
    fn built(&mut self, reader: &Reader<'_>) {
        match inner::source(reader) {
            Some(Source::Literal(_)) => self.found.0 |= IN_STRING,
            Some(Source::Built) => self.found.add(Hazard::Unread),
            None => {}
        }
    }
}

/// Words behind which a name and a parenthesis are a table, an index or a procedure with its list, and no call.
const NAMES_A_TABLE: [&str; 14] = [
    "TABLE",
    "INTO",
    "INDEX",
    "KEY",
    "REFERENCES",
    "WITH",
    "RECURSIVE",
    "CALL",
    "PROCEDURE",
    "EXISTS",
    "INSERT",
    "REPLACE",
    "IGNORE",
    "VIEW",
];

/// What is lost with DROP.
const DROPPED: [&str; 5] = ["TABLE", "TABLES", "DATABASE", "SCHEMA", "PARTITION"];

fn next_is_any(reader: &Reader<'_>, words: &[&str]) -> bool {
    words.iter().any(|word| reader.next_is_word(word))
}

/// CREATE OR REPLACE of a table or database, at the REPLACE.
fn replaces(reader: &Reader<'_>) -> bool {
    reader.last_is_word("OR")
        && is_word(reader.before_last.as_ref(), "CREATE")
        && next_is_any(reader, &["TABLE", "DATABASE", "SCHEMA"])
}

/// `DELETE HISTORY FROM t`, which has no WHERE and leaves the rows that are there; to any other server `HISTORY` is a
/// table to delete from.
fn deletes_history(reader: &Reader<'_>) -> bool {
    reader.dialect.family == ServerFamily::MariaDb
        && reader.dialect.version >= 100_304
        && reader.next_is_word("HISTORY")
        && is_word(reader.ahead().next().as_ref(), "FROM")
}

/// HELP with its one word, and nothing that makes a label of it.
fn helps(reader: &Reader<'_>) -> bool {
    let begins = reader.last.is_none() || reader.last_is(Kind::Semicolon);
    begins && reader.ahead().next().is_none_or(|token| token.kind == Kind::Semicolon)
}

/// Whether a statement may begin with this token, also one of a stored program.
fn begins_statement(reader: &Reader<'_>) -> bool {
    reader.last.is_none()
        || reader.last_is(Kind::Semicolon)
        || ["BEGIN", "ATOMIC", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "ROW"]
            .iter()
            .any(|word| reader.last_is_word(word))
}

/// TRUNCATE is no reserved word: it may be a name or the function.
fn truncates(reader: &Reader<'_>) -> bool {
    next_is_any(reader, &["TABLE", "PARTITION"])
        || begins_statement(reader)
            && reader.next.is_some_and(|next| matches!(next.kind, Kind::Word | Kind::QuotedName))
}

#[cfg(test)]
mod tests;
