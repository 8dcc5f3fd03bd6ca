//! Statements that take or give back what binds a session to its connection, where their text is plain enough to tell
//! exactly what.
//!
//! Any other text that takes something is believed to take what nobody can name, so that it binds to the session's end.

use super::Session;
use crate::routing::{Effects, StatementClass, StatementKind};

/// What a statement did, if the server answered OK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cause {
    /// GET_LOCK() of this name, once; it may not have got it.
    TakesLock(Box<[u8]>),
    /// RELEASE_LOCK() of this name, once.
    ReleasesLock(Box<[u8]>),
    /// RELEASE_ALL_LOCKS().
    ReleasesAllLocks,
    /// There is a temporary table of this name.
    MakesTable(Box<[u8]>),
    /// There are no temporary tables of these names.
    DropsTables(Vec<Box<[u8]>>),
    /// A temporary table may have another name now.
    MayRename,
    /// `SET timestamp = DEFAULT`.
    LetsTimeRun,
}

/// Effects of statements that are looked at whatever the session has.
const NAMED: Effects = Effects::TAKES_NAMED_LOCK
    .with(Effects::RELEASES_NAMED_LOCK)
    .with(Effects::CREATES_TEMPORARY_TABLE)
    .with(Effects::DROPS_TEMPORARY_TABLE);

impl Session {
    /// What the statement takes or gives back. Its unqualified names belong to `schema`.
    pub(super) fn cause(&self, class: &StatementClass, sql: &[u8], schema: Option<&[u8]>) -> Option<Cause> {
        let has_tables = self.state.has_temporary_tables() && class.kind == StatementKind::Write;
        if has_tables && super::command_phase::contains(sql, b"RENAME") {
            return Some(Cause::MayRename);
        }
        let sets_time = self.state.has_fixed_time() && class.kind == StatementKind::SessionSet;
        if class.effects.contains(Effects::MULTI_STATEMENT)
            || !(has_tables || sets_time || class.effects.intersects(NAMED))
        {
            return None;
        }
        Cause::of(sql, schema)
    }
}

impl Cause {
    fn of(sql: &[u8], schema: Option<&[u8]>) -> Option<Self> {
        let end = sql.iter().rposition(|byte| !byte.is_ascii_whitespace() && *byte != b';')?;
        let mut text = Text(sql.get(..=end)?);
        let Token::Word(head) = text.next() else { return None };
        match head.to_ascii_uppercase().as_slice() {
            b"SELECT" | b"DO" => lock(&mut text),
            b"CREATE" => made_table(&mut text, schema),
            b"DROP" => dropped_tables(&mut text, schema),
            b"SET" => time_runs(&mut text),
            _ => None,
        }
    }
}

fn lock(text: &mut Text<'_>) -> Option<Cause> {
    let Token::Word(function) = text.next() else { return None };
    text.sign(b'(')?;
    let cause = match function.to_ascii_uppercase().as_slice() {
        b"RELEASE_ALL_LOCKS" => Cause::ReleasesAllLocks,
        b"RELEASE_LOCK" => Cause::ReleasesLock(text.string()?.into()),
        b"GET_LOCK" => {
            let name = text.string()?.into();
            text.sign(b',')?;
            if text.peek() == Token::Sign(b'-') {
                text.next();
            }
            let Token::Word(_seconds) = text.next() else { return None };
            Cause::TakesLock(name)
        }
        _ => return None,
    };
    text.sign(b')')?;
    if text.word("AS") {
        text.name()?; // of the column
    }
    (text.next() == Token::End).then_some(cause)
}

fn made_table(text: &mut Text<'_>, schema: Option<&[u8]>) -> Option<Cause> {
    if text.word("OR") && !text.word("REPLACE") {
        return None;
    }
    if !text.word("TEMPORARY") || !text.word("TABLE") {
        return None;
    }
    if text.word("IF") && !(text.word("NOT") && text.word("EXISTS")) {
        return None;
    }
    let table = text.table(schema)?;
    // What follows is columns and options, or a word such as LIKE and SELECT.
    matches!(text.next(), Token::Sign(b'(') | Token::Word(_)).then_some(Cause::MakesTable(table))
}

fn dropped_tables(text: &mut Text<'_>, schema: Option<&[u8]>) -> Option<Cause> {
    text.word("TEMPORARY");
    if !text.word("TABLE") || (text.word("IF") && !text.word("EXISTS")) {
        return None;
    }
    let mut tables = vec![text.table(schema)?];
    loop {
        match text.next() {
            Token::End => return Some(Cause::DropsTables(tables)),
            Token::Sign(b',') => tables.push(text.table(schema)?),
            _ => return None,
        }
    }
}

fn time_runs(text: &mut Text<'_>) -> Option<Cause> {
    if text.peek() == Token::Sign(b'@') {
        text.sign(b'@')?;
        text.sign(b'@')?;
        if text.word("SESSION") || text.word("LOCAL") {
            text.sign(b'.')?;
        }
    } else if !text.word("SESSION") {
        text.word("LOCAL");
    }
    if !text.word("timestamp") {
        return None;
    }
    if text.peek() == Token::Sign(b':') {
        text.next();
    }
    text.sign(b'=')?;
    (text.word("DEFAULT") && text.next() == Token::End).then_some(Cause::LetsTimeRun)
}

/// The part of a text that is still to be read.
#[derive(Debug, Clone, Copy)]
struct Text<'a>(&'a [u8]);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a [u8]),
    /// A name in backquotes.
    Name(&'a [u8]),
    /// What is between single quotes.
    String(&'a [u8]),
    Sign(u8),
    End,
    /// Whatever may mean something else in another character set or sql_mode.
    NotPlain,
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

impl<'a> Text<'a> {
    fn next(&mut self) -> Token<'a> {
        let text = self.0.trim_ascii_start();
        let Some(first) = text.first().copied() else {
            self.0 = text;
            return Token::End;
        };
        let words = |text: &[u8]| text.iter().position(|byte| !is_word(*byte)).unwrap_or(text.len());
        let (token, len) = match first {
            byte if is_word(byte) => {
                let len = words(text);
                (Token::Word(&text[..len]), len)
            }
            b'`' => {
                let len = words(&text[1..]);
                match text.get(1 + len..) {
                    Some([b'`', rest @ ..]) if len > 0 && rest.first() != Some(&b'`') => {
                        (Token::Name(&text[1..=len]), len + 2)
                    }
                    _ => (Token::NotPlain, 0),
                }
            }
            b'\'' => match text[1..].iter().position(|byte| !matches!(byte, b' '..=b'~') || *byte == b'\'') {
                Some(len) if text[1 + len] == b'\'' && !text[1..=len].contains(&b'\\') => {
                    (Token::String(&text[1..=len]), len + 2)
                }
                _ => (Token::NotPlain, 0),
            },
            b'(' | b')' | b',' | b'.' | b'=' | b':' | b'@' | b'-' => (Token::Sign(first), 1),
            _ => (Token::NotPlain, 0),
        };
        self.0 = &text[len..];
        token
    }

    fn peek(mut self) -> Token<'a> {
        self.next()
    }

    /// Takes this word, if it is the next token.
    fn word(&mut self, word: &str) -> bool {
        let is_next =
            matches!(self.peek(), Token::Word(there) if there.eq_ignore_ascii_case(word.as_bytes()));
        if is_next {
            self.next();
        }
        is_next
    }

    fn sign(&mut self, sign: u8) -> Option<()> {
        (self.next() == Token::Sign(sign)).then_some(())
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        match self.next() {
            Token::String(inner) => Some(inner),
            _ => None,
        }
    }

    fn name(&mut self) -> Option<&'a [u8]> {
        match self.next() {
            Token::Word(name) | Token::Name(name) => Some(name),
            _ => None,
        }
    }

    /// A table's name, with its schema.
    fn table(&mut self, schema: Option<&[u8]>) -> Option<Box<[u8]>> {
        let first = self.name()?;
        if self.peek() != Token::Sign(b'.') {
            return Some([schema?, b".", first].concat().into());
        }
        self.next();
        Some([first, b".", self.name()?].concat().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> Option<Cause> {
        Cause::of(sql.as_bytes(), Some(b"app"))
    }

    fn named(name: &str) -> Box<[u8]> {
        name.as_bytes().into()
    }

    #[test]
    fn plain_texts_say_what_they_take_and_give_back() {
        for sql in ["SELECT GET_LOCK('a', 10)", "do get_lock ( 'a',-1 );", "SELECT GET_LOCK('a',0) AS `got`"]
        {
            assert_eq!(of(sql), Some(Cause::TakesLock(named("a"))), "{sql}");
        }
        assert_eq!(of("SELECT RELEASE_LOCK('a')"), Some(Cause::ReleasesLock(named("a"))));
        assert_eq!(of("DO RELEASE_ALL_LOCKS()"), Some(Cause::ReleasesAllLocks));
        for sql in [
            "CREATE TEMPORARY TABLE t (id INT)",
            "create temporary table if not exists `t` select 1",
            "CREATE OR REPLACE TEMPORARY TABLE app.t LIKE u",
        ] {
            assert_eq!(of(sql), Some(Cause::MakesTable(named("app.t"))), "{sql}");
        }
        for sql in ["DROP TEMPORARY TABLE t, `b`.u ;", "DROP TABLE IF EXISTS t,b.u"] {
            assert_eq!(of(sql), Some(Cause::DropsTables(vec![named("app.t"), named("b.u")])), "{sql}");
        }
        for sql in
            ["SET timestamp=DEFAULT", "SET @@session.timestamp := default", "SET LOCAL timestamp = DEFAULT"]
        {
            assert_eq!(of(sql), Some(Cause::LetsTimeRun), "{sql}");
        }
    }

    #[test]
    fn what_may_mean_something_else_says_nothing() {
        for sql in [
            "SELECT GET_LOCK('a', 1), GET_LOCK('b', 1)",
            "SELECT GET_LOCK(name, 1) FROM t",
            "SELECT RELEASE_LOCK('a') FROM t",
            "SELECT RELEASE_LOCK('a''b')",
            "SELECT RELEASE_LOCK('a' 'b')",
            r"SELECT RELEASE_LOCK('\a')",
            "SELECT RELEASE_LOCK(\"a\")",
            "SELECT RELEASE_LOCK('ä')",
            "SELECT /*!99999 RELEASE_ALL_LOCKS() */",
            "SELECT IF(0, RELEASE_ALL_LOCKS(), 1)",
            "SELECT `RELEASE_ALL_LOCKS`()",
            "SELECT app.RELEASE_ALL_LOCKS()",
            "CREATE TEMPORARY TABLE tä (id INT)",
            "CREATE TEMPORARY TABLE /* x */ t (id INT)",
            "CREATE TEMPORARY SEQUENCE t",
            "DROP TEMPORARY TABLE t /*! , u */",
            "DROP TEMPORARY TABLE t RESTRICT",
            "DROP TEMPORARY SEQUENCE t",
            "DROP TABLE `t``u`",
            "SET timestamp = DEFAULT, sql_mode = ''",
            "SET timestamp = 5",
            "SET GLOBAL timestamp = DEFAULT",
            "SET @timestamp = DEFAULT",
            "",
        ] {
            assert_eq!(of(sql), None, "{sql}");
        }
        assert_eq!(Cause::of(b"DROP TABLE t", None), None, "in whatever schema");
    }
}
