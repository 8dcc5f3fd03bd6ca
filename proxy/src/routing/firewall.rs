//! What the firewall can protect from, found in the tokens of a statement, comments and strings aside.
//!
//! The hazards of a text are the same for all texts of one cache key, so they are part of its class and a
//! cached statement is judged by one AND. The exception is text inside a string (`PREPARE s FROM '…'`),
//! which is looked into each time.

use std::fmt;

use super::dialect::Dialect;
use super::lex::{Kind, Lexer, Token};
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
    let mut lexer = Lexer::new(sql, dialect);
    let mut found = Hazards::NONE;
    let mut inner = Vec::new();
    while let Some(token) = lexer.next_token() {
        if token.kind == Kind::String {
            unescape(token.text, dialect, &mut inner);
            found.0 |= hazards(&inner, dialect).0;
        }
    }
    // Text within text within text is nobody's need.
    if found.hides_text() {
        found.add(Hazard::Unread);
    }
    found
}

/// The content of a string literal.
fn unescape(literal: &[u8], dialect: &Dialect, content: &mut Vec<u8>) {
    content.clear();
    let Some((&quote, rest)) = literal.split_first() else { return };
    let mut bytes = rest.strip_suffix(&[quote]).unwrap_or(rest).iter().copied();
    while let Some(byte) = bytes.next() {
        let plain = if byte == b'\\' && !dialect.no_backslash_escapes {
            match bytes.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(b'0') => 0,
                Some(other) => other,
                None => byte,
            }
        } else {
            if byte == quote {
                bytes.next();
            }
            byte
        };
        content.push(plain);
    }
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
    /// In EXPLAIN without ANALYZE: the statement is not run.
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
            Some(b'E') if is("EXECUTE") && reader.next_is_word("IMMEDIATE") => {
                self.built(reader.ahead());
            }
            Some(b'F') if is("FROM") && is_word(reader.before_last.as_ref(), "PREPARE") => {
                self.built(reader.next.into_iter().chain(reader.ahead()));
            }
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
            !names_privilege_or_event && !reader.last_is(Kind::Comma)
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
    fn built<'a>(&mut self, mut behind: impl Iterator<Item = Token<'a>>) {
        let in_string = behind.next().is_some_and(|token| token.kind == Kind::String);
        let ends = behind.next().is_none_or(|token| {
            token.kind == Kind::Semicolon || is_word(Some(&token), "USING") || is_word(Some(&token), "INTO")
        });
        if in_string && ends {
            self.found.0 |= IN_STRING;
        } else {
            self.found.add(Hazard::Unread);
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
mod tests {
    use super::*;
    use crate::routing::ServerFamily;

    fn names(found: Hazards) -> Vec<&'static str> {
        Hazard::ALL.into_iter().filter(|h| found.contains(*h)).map(Hazard::as_str).collect()
    }

    fn of(sql: &str) -> Vec<&'static str> {
        let dialect = Dialect { family: ServerFamily::MariaDb, version: 101_106, ..Dialect::default() };
        let found = hazards(sql.as_bytes(), &dialect);
        let hidden = if found.hides_text() { in_strings(sql.as_bytes(), &dialect) } else { Hazards::NONE };
        names(Hazards(found.0 | hidden.0))
    }

    #[test]
    fn a_table_named_like_a_delay_is_no_call_of_it() {
        for sql in [
            "CREATE TABLE sleep (id INT)",
            "INSERT INTO sleep (id) VALUES (1)",
            "REPLACE INTO `benchmark` (a) SELECT 1",
            "WITH sleep (a) AS (SELECT 1) SELECT 1",
            "CALL sleep (1)",
        ] {
            assert_eq!(of(sql), Vec::<&str>::new(), "{sql}");
        }
        assert_eq!(of("SELECT 1 FROM t JOIN u ON sleep (5)"), ["sleep"]);
    }

    #[test]
    fn a_text_that_changes_its_own_meaning_is_not_read() {
        assert_eq!(of(r"SET sql_mode='NO_BACKSLASH_ESCAPES'; SELECT 'a\'; DELETE FROM t; -- '"), ["unread"]);
        assert_eq!(of("SET NAMES gbk; SELECT 1"), ["unread"]);
        assert_eq!(of("SET @@session.sql_mode = ''; SELECT 1"), ["unread"]);
        assert_eq!(of("SET sql_mode='ANSI_QUOTES';"), Vec::<&str>::new());
        assert_eq!(of("SET lock_wait_timeout = 1; SELECT 1"), Vec::<&str>::new());
    }

    #[test]
    fn a_delete_or_update_needs_a_where_of_its_own() {
        for sql in [
            "DELETE FROM t",
            "delete from t limit 5",
            "/* a */ DELETE -- WHERE\n FROM t",
            "DELETE FROM t /* WHERE */",
            "DELETE FROM t WHERE_x",
            "DELETE FROM `where`",
            "DELETE FROM t ORDER BY 'WHERE'",
            "SELECT 1 FROM t WHERE 1; DELETE FROM t",
            "WITH a AS (SELECT 1 FROM u WHERE 1) DELETE FROM t",
            "DELETE a FROM a JOIN (SELECT 1 FROM b WHERE 1) c",
            "/*!50000 DELETE */ FROM t",
            "DELETE FROM t /*!99999999 WHERE 1 */",
            "SET STATEMENT max_statement_time = 1 FOR DELETE FROM t",
            "ANALYZE DELETE FROM t",
            "BEGIN NOT ATOMIC DELETE FROM t; END",
            "CREATE PROCEDURE p() BEGIN IF 1 THEN DELETE FROM t; END IF; END",
            "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t",
            "PREPARE s FROM 'DELETE FROM t'",
            "EXECUTE IMMEDIATE 'DELETE FROM t'",
            "PREPARE s FROM 'SELECT ''x''; DELETE FROM t'",
        ] {
            assert_eq!(of(sql), ["delete_without_where"], "{sql}");
        }
        for sql in [
            "UPDATE t SET a = 1",
            "UPDATE t SET a = (SELECT b FROM u WHERE u.id = t.id)",
            "WITH a AS (SELECT 1) UPDATE t, a SET x = 1",
            "SET STATEMENT max_statement_time = 1 FOR UPDATE t SET a = 1",
            "EXPLAIN ANALYZE UPDATE t SET a = 1",
            "CREATE TRIGGER x AFTER UPDATE ON t FOR EACH ROW UPDATE u SET a = 1",
        ] {
            assert_eq!(of(sql), ["update_without_where"], "{sql}");
        }
    }

    #[test]
    fn what_has_a_where_or_is_no_change_passes() {
        for sql in [
            "DELETE FROM t WHERE id = 1",
            "DELETE FROM t /*! WHERE id = 1 */",
            "DELETE a FROM a JOIN b USING (id) WHERE b.x = 1",
            "UPDATE t SET a = 1 WHERE id IN (SELECT id FROM u)",
            "UPDATE t SET a = 1 WHERE 1; DELETE FROM t WHERE 1",
            "SELECT * FROM t FOR UPDATE",
            "SELECT * FROM t FOR UPDATE OF t",
            "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1",
            "CREATE TABLE t (a INT, b TIMESTAMP ON UPDATE NOW(), FOREIGN KEY (a) REFERENCES u (a) ON DELETE CASCADE)",
            "GRANT SELECT, UPDATE, DELETE, DROP ON a.* TO b",
            "GRANT DELETE ON a.* TO b",
            "CREATE TRIGGER x BEFORE DELETE ON t FOR EACH ROW SET @a = 1",
            "SELECT 'DELETE FROM t', `delete`, t.delete FROM t",
            "EXPLAIN DELETE FROM t",
            "DESC UPDATE t SET a = 1",
            "PREPARE s FROM 'DELETE FROM t WHERE id = ?'",
            "EXECUTE s",
            "CREATE PROCEDURE p() DELETE FROM t WHERE id = 1",
            "",
        ] {
            assert_eq!(of(sql), [""; 0], "{sql}");
        }
    }

    #[test]
    fn sleeping_and_burning_calls_are_found_wherever_they_stand() {
        for sql in [
            "SELECT SLEEP(5)",
            "select sleep (5)",
            "SELECT `sleep`(5)",
            "SELECT 1 FROM t WHERE a = 1 OR BENCHMARK(1e9, MD5(1))",
            "DO SLEEP(1)",
            "SELECT /*!50000 SLEEP*/(5)",
            "INSERT INTO t SELECT SLEEP(1)",
            "WITH a AS (SELECT SLEEP(1)) SELECT * FROM a",
            "PREPARE s FROM 'DO SL\\EEP(1)'",
        ] {
            assert_eq!(of(sql), ["sleep"], "{sql}");
        }
        for sql in [
            "SELECT sleep FROM t",
            "SELECT 'SLEEP(5)'",
            "SELECT a.sleep(1), a.`sleep`(2)",
            "SELECT asleep(1)",
        ] {
            assert_eq!(of(sql), [""; 0], "{sql}");
        }
    }

    #[test]
    fn drops_and_truncations_are_told_from_their_namesakes() {
        for sql in [
            "DROP TABLE IF EXISTS t",
            "drop database d",
            "ALTER TABLE t DROP PARTITION p",
            "SELECT 1; DROP TABLE t",
            "CREATE OR REPLACE TABLE t (a INT)",
        ] {
            assert_eq!(of(sql), ["drop"], "{sql}");
        }
        for sql in [
            "TRUNCATE t",
            "TRUNCATE TABLE t",
            "ALTER TABLE t TRUNCATE PARTITION p",
            "BEGIN NOT ATOMIC TRUNCATE t; END",
        ] {
            assert_eq!(of(sql), ["truncate"], "{sql}");
        }
        for sql in [
            "DROP TEMPORARY TABLE t",
            "DROP VIEW v",
            "ALTER TABLE t DROP COLUMN c, DROP INDEX i",
            "CREATE OR REPLACE VIEW v AS SELECT 1",
            "REPLACE INTO t VALUES (1)",
            "SELECT TRUNCATE(1.5, 0), truncate FROM t",
        ] {
            assert_eq!(of(sql), [""; 0], "{sql}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_so() {
        for sql in ["SELECT 'open", "PREPARE s FROM @text", "EXECUTE IMMEDIATE CONCAT('DELETE ', 'FROM t')"] {
            assert_eq!(of(sql), ["unread"], "{sql}");
        }
        let gbk = Dialect::default().with_character_set("gbk");
        assert_eq!(names(hazards(b"SELECT '\xbf\\' OR SLEEP(5) -- '", &gbk)), ["unread"]);
    }

    #[test]
    fn every_hazard_has_a_bit_of_its_own() {
        let all = Hazard::ALL.into_iter().fold(Hazards::NONE, Hazards::with);
        assert_eq!(all.0.count_ones() as usize, Hazard::ALL.len());
        assert_eq!(all.first_common(Hazards::NONE.with(Hazard::Drop)), Some(Hazard::Drop));
        assert_eq!(Hazards(IN_STRING).first_common(Hazards(IN_STRING)), None);
    }
}
