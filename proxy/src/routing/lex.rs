//! Bytes to tokens, as the server's own lexer cuts them: blanks and comments of every kind, executable
//! comments by server family and version, strings and names under the session's sql_mode.
//!
//! Never fails and never allocates: what cannot be followed becomes one [`Kind::Bad`] token that
//! reaches to the end of the text.

use super::dialect::{ClientCharset, Dialect, ServerFamily};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A keyword or an unquoted name.
    Word,
    /// An unquoted name that stands directly behind a dot: never a keyword.
    NameAfterDot,
    /// A quoted name, quotes included.
    QuotedName,
    /// A string, quotes included.
    String,
    /// A number.
    Number,
    /// `@name` (or the `@` of an account).
    UserVariable,
    /// `@@name`: up to the first dot.
    SystemVariable,
    /// `?`
    Placeholder,
    /// `:=`
    Assign,
    /// `;`
    Semicolon,
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `/*+ … */`, all of it.
    OptimizerHint,
    /// Any other single byte.
    Operator,
    /// From here on the text cannot be followed.
    Bad,
}

impl Kind {
    /// Whether the token's content is left out of the fingerprint.
    pub(super) const fn is_literal(self) -> bool {
        matches!(self, Self::String | Self::Number | Self::Placeholder)
    }
}

/// One token: where it stands, and whether blanks or comments stand before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a [u8],
    pub(super) spaced: bool,
}

/// The lexer: a position in the text. Cheap to clone for a look ahead.
#[derive(Debug, Clone)]
pub(super) struct Lexer<'a> {
    sql: &'a [u8],
    pos: usize,
    dialect: Dialect,
    /// Inside an executable comment whose content counts.
    in_executable: bool,
    after_dot: bool,
    /// The word read last has bytes above 0x7F.
    high: bool,
    /// An executable comment has been met, skipped or not.
    met_executable: bool,
}

const WORD: u8 = 1;
const DIGIT: u8 = 2;
const BLANK: u8 = 4;
const HIGH: u8 = 8;

/// The class of each byte; a word is made of `WORD`, `DIGIT` and `HIGH` bytes.
static CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => WORD,
            b'0'..=b'9' => DIGIT,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => BLANK,
            0x80.. => HIGH,
            _ => 0,
        };
        if byte == u8::MAX {
            break;
        }
        byte += 1;
    }
    table
};

pub(super) fn is_word_byte(byte: u8) -> bool {
    CLASS[usize::from(byte)] & (WORD | DIGIT | HIGH) != 0
}

pub(super) fn is_blank(byte: u8) -> bool {
    CLASS[usize::from(byte)] == BLANK
}

impl<'a> Lexer<'a> {
    pub(super) fn new(sql: &'a [u8], dialect: &Dialect) -> Self {
        Self {
            sql,
            pos: 0,
            dialect: *dialect,
            in_executable: false,
            after_dot: false,
            high: false,
            met_executable: false,
        }
    }

    pub(super) fn met_executable_comment(&self) -> bool {
        self.met_executable
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.sql.get(at).copied()
    }

    /// The next token; `None` at the end of the text.
    #[inline]
    pub(super) fn next_token(&mut self) -> Option<Token<'a>> {
        let before = self.pos;
        let comments_closed = self.skip_blanks();
        let start = self.pos;
        let spaced = start > before;
        let after_dot = std::mem::take(&mut self.after_dot) && !spaced;
        if !comments_closed {
            return Some(self.bad(start, spaced));
        }
        let Some(first) = self.byte(start) else {
            // The server refuses a text that ends inside an executable comment.
            return std::mem::take(&mut self.in_executable).then(|| self.bad(start, spaced));
        };
        let class = CLASS[usize::from(first)];
        let kind = if class & WORD != 0 {
            self.skip_word();
            if after_dot { Kind::NameAfterDot } else { Kind::Word }
        } else if class == DIGIT {
            if after_dot {
                self.skip_word();
                Kind::NameAfterDot
            } else {
                self.number()
            }
        } else if class == HIGH {
            self.skip_word();
            if after_dot { Kind::NameAfterDot } else { Kind::Word }
        } else {
            self.symbol(first)
        };
        let text = &self.sql[start..self.pos];
        if kind == Kind::Bad || self.is_ambiguous(kind, text) {
            return Some(self.bad(start, spaced));
        }
        Some(Token { kind, text, spaced })
    }

    fn bad(&mut self, start: usize, spaced: bool) -> Token<'a> {
        self.pos = self.sql.len();
        self.in_executable = false;
        Token { kind: Kind::Bad, text: &self.sql[start..], spaced }
    }

    /// Bytes above 0x7F that the server may read as something else, and MySQL 9's dollar quotes.
    #[inline]
    fn is_ambiguous(&self, kind: Kind, text: &[u8]) -> bool {
        match kind {
            Kind::Word | Kind::NameAfterDot => {
                self.high
                    && (self.dialect.charset != ClientCharset::Utf8 || std::str::from_utf8(text).is_err())
                    || text[0] == b'$' && self.is_dollar_quote(text)
            }
            Kind::String
            | Kind::QuotedName
            | Kind::UserVariable
            | Kind::SystemVariable
            | Kind::OptimizerHint => {
                self.dialect.charset == ClientCharset::BackslashInside
                    && text.iter().any(|byte| *byte >= 0x80)
            }
            _ => false,
        }
    }

    fn is_dollar_quote(&self, word: &[u8]) -> bool {
        self.dialect.family == ServerFamily::MySql
            && self.dialect.version >= 90_000
            && word[1..].contains(&b'$')
    }

    #[inline]
    fn skip_word(&mut self) {
        let rest = &self.sql[self.pos..];
        let mut high = 0;
        let length = rest.iter().position(|byte| {
            let class = CLASS[usize::from(*byte)];
            high |= class;
            class & (WORD | DIGIT | HIGH) == 0
        });
        self.high = high & HIGH != 0;
        self.pos += length.unwrap_or(rest.len());
    }

    fn skip_digits(&mut self) {
        while self.byte(self.pos).is_some_and(|byte| byte.is_ascii_digit()) {
            self.pos += 1;
        }
    }

    /// A token that starts with a digit: a number, or a name like `1a`.
    fn number(&mut self) -> Kind {
        let start = self.pos;
        self.skip_word();
        let run = &self.sql[start..self.pos];
        let digits = run.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == run.len() {
            if self.byte(self.pos) == Some(b'.') {
                self.fraction();
            }
            return Kind::Number;
        }
        match (&run[digits..], run) {
            ([b'e' | b'E'], _) if self.exponent_sign() => Kind::Number,
            ([b'e' | b'E', rest @ ..], _) if !rest.is_empty() && rest.iter().all(u8::is_ascii_digit) => {
                Kind::Number
            }
            (_, [b'0', b'x', hex @ ..]) if hex.iter().all(u8::is_ascii_hexdigit) => Kind::Number,
            (_, [b'0', b'b', bits @ ..]) if bits.iter().all(|bit| matches!(bit, b'0' | b'1')) => Kind::Number,
            _ => Kind::Word,
        }
    }

    /// `+5` behind `1e`: consumed when it is there.
    fn exponent_sign(&mut self) -> bool {
        let signed = matches!(self.byte(self.pos), Some(b'+' | b'-'))
            && self.byte(self.pos + 1).is_some_and(|byte| byte.is_ascii_digit());
        if signed {
            self.pos += 1;
            self.skip_digits();
        }
        signed
    }

    /// `.5e-3`, from the dot on.
    fn fraction(&mut self) {
        self.pos += 1;
        self.skip_digits();
        if !matches!(self.byte(self.pos), Some(b'e' | b'E')) {
            return;
        }
        let mark = self.pos;
        self.pos += 1;
        if self.byte(self.pos).is_some_and(|byte| byte.is_ascii_digit()) {
            self.skip_digits();
        } else if !self.exponent_sign() {
            self.pos = mark;
        }
    }

    fn symbol(&mut self, first: u8) -> Kind {
        let start = self.pos;
        self.pos += 1;
        match first {
            b'(' => Kind::Open,
            b')' => Kind::Close,
            b',' => Kind::Comma,
            b';' => Kind::Semicolon,
            b'?' => Kind::Placeholder,
            b'\'' => self.quoted_as(Kind::String, b'\'', !self.dialect.no_backslash_escapes),
            b'"' if self.dialect.ansi_quotes => self.quoted_as(Kind::QuotedName, b'"', false),
            b'"' => self.quoted_as(Kind::String, b'"', !self.dialect.no_backslash_escapes),
            b'`' => self.quoted_as(Kind::QuotedName, b'`', false),
            b'@' => self.variable(),
            b':' if self.byte(self.pos) == Some(b'=') => {
                self.pos += 1;
                Kind::Assign
            }
            b'.' => self.dot(start),
            b'/' if self.sql[start..].starts_with(b"/*+") => self.optimizer_hint(start),
            0 => Kind::Bad,
            _ => Kind::Operator,
        }
    }

    fn quoted_as(&mut self, kind: Kind, quote: u8, escapes: bool) -> Kind {
        if self.skip_quoted(quote, escapes) { kind } else { Kind::Bad }
    }

    /// From behind the opening quote to behind the closing one; false when there is none.
    #[inline]
    fn skip_quoted(&mut self, quote: u8, escapes: bool) -> bool {
        let mut at = self.pos;
        while let Some(&byte) = self.sql.get(at) {
            at += 1;
            if byte == quote {
                if self.byte(at) != Some(quote) {
                    self.pos = at;
                    return true;
                }
                at += 1;
            } else if byte == b'\\' && escapes {
                at += 1;
            }
        }
        self.pos = self.sql.len();
        false
    }

    fn dot(&mut self, start: usize) -> Kind {
        let behind_name =
            start > 0 && (is_word_byte(self.sql[start - 1]) || matches!(self.sql[start - 1], b'`' | b'"'));
        if !behind_name && self.byte(self.pos).is_some_and(|byte| byte.is_ascii_digit()) {
            self.pos = start;
            self.fraction();
            return Kind::Number;
        }
        self.after_dot = true;
        Kind::Dot
    }

    /// From behind a `@`.
    fn variable(&mut self) -> Kind {
        let system = self.byte(self.pos) == Some(b'@');
        let kind = if system { Kind::SystemVariable } else { Kind::UserVariable };
        if system {
            self.pos += 1;
        }
        match self.byte(self.pos) {
            Some(b'`') => {
                self.pos += 1;
                self.quoted_as(kind, b'`', false)
            }
            Some(quote @ (b'\'' | b'"')) if !system => {
                self.pos += 1;
                let name = quote == b'"' && self.dialect.ansi_quotes;
                let escapes = !name && !self.dialect.no_backslash_escapes;
                self.quoted_as(kind, quote, escapes)
            }
            _ => {
                let start = self.pos;
                self.skip_word();
                while !system && self.byte(self.pos) == Some(b'.') {
                    self.pos += 1;
                    self.skip_word();
                }
                if system && self.pos == start { Kind::Bad } else { kind }
            }
        }
    }

    /// From behind the slash of `/*+`. Quotes inside must pair, else the server may see another end.
    fn optimizer_hint(&mut self, start: usize) -> Kind {
        let Some(end) = find_comment_end(self.sql, start + 3) else { return Kind::Bad };
        self.pos = end;
        let body = &self.sql[start..end];
        let pairs = |quote: u8| body.iter().filter(|byte| **byte == quote).count() % 2 == 0;
        if pairs(b'\'') && pairs(b'"') && pairs(b'`') { Kind::OptimizerHint } else { Kind::Bad }
    }

    /// Skips blanks and comments; false for a comment that does not end or cannot be judged.
    #[inline]
    fn skip_blanks(&mut self) -> bool {
        while let Some(&byte) = self.sql.get(self.pos) {
            match byte {
                _ if is_blank(byte) => self.pos += 1,
                b'#' => self.skip_line(),
                b'-' if self.at_dash_comment() => self.skip_line(),
                b'/' if self.byte(self.pos + 1) == Some(b'*') => match self.skip_comment() {
                    Comment::Skipped => {}
                    Comment::Hint => return true,
                    Comment::Bad => return false,
                },
                b'*' if self.in_executable && self.byte(self.pos + 1) == Some(b'/') => {
                    self.in_executable = false;
                    self.pos += 2;
                }
                _ => break,
            }
        }
        true
    }

    /// `--` counts as a comment only before a blank, a control character or the end.
    fn at_dash_comment(&self) -> bool {
        self.byte(self.pos + 1) == Some(b'-')
            && self.byte(self.pos + 2).is_none_or(|byte| byte <= b' ' || byte == 0x7f)
    }

    fn skip_line(&mut self) {
        let rest = &self.sql[self.pos..];
        self.pos += rest.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| at + 1);
    }

    /// At a `/*`.
    fn skip_comment(&mut self) -> Comment {
        let body = self.pos + 2;
        let maria = self.dialect.family == ServerFamily::MariaDb;
        match (self.byte(body), self.byte(body + 1)) {
            (Some(b'+'), _) => Comment::Hint,
            (Some(b'!'), _) => self.executable_comment(body + 1, false),
            (Some(b'M'), Some(b'!')) if maria => self.executable_comment(body + 2, true),
            _ => self.skip_to(find_comment_end(self.sql, body)),
        }
    }

    fn skip_to(&mut self, end: Option<usize>) -> Comment {
        match end {
            Some(end) => {
                self.pos = end;
                Comment::Skipped
            }
            None => Comment::Bad,
        }
    }

    /// From behind the `!` on: enters the comment when the server would, else skips it.
    fn executable_comment(&mut self, at: usize, maria_only: bool) -> Comment {
        self.met_executable = true;
        let digits = self.sql[at..].iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
        let maria = self.dialect.family == ServerFamily::MariaDb;
        if digits == 6 && !maria && self.dialect.version < 80_000 {
            return Comment::Bad; // old servers differ in how many digits they take
        }
        let number_length = if digits >= 5 { digits } else { 0 };
        let number = self.sql[at..at + number_length]
            .iter()
            .fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
        // MariaDB skips what is meant for MySQL 5.7 and later.
        let for_mysql_only = maria && !maria_only && (50_700..=99_999).contains(&number);
        if number <= self.dialect.version && !for_mysql_only {
            self.in_executable = true;
            self.pos = at + number_length;
            return Comment::Skipped;
        }
        self.skip_to(find_nested_comment_end(self.sql, at))
    }
}

enum Comment {
    Skipped,
    Hint,
    Bad,
}

/// Behind the first `*/` from `at` on.
fn find_comment_end(sql: &[u8], at: usize) -> Option<usize> {
    let rest = sql.get(at..)?;
    rest.windows(2).position(|pair| pair == b"*/").map(|found| at + found + 2)
}

/// Behind the `*/` that ends a skipped executable comment, in which plain comments may nest once.
fn find_nested_comment_end(sql: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match sql.get(at..at + 2)? {
            b"*/" => return Some(at + 2),
            b"/*" => at = find_comment_end(sql, at + 2)?,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sql: &str, dialect: &Dialect) -> Vec<String> {
        let mut lexer = Lexer::new(sql.as_bytes(), dialect);
        std::iter::from_fn(|| lexer.next_token())
            .map(|token| match token.kind {
                Kind::Bad => "BAD".to_owned(),
                _ => String::from_utf8_lossy(token.text).into_owned(),
            })
            .collect()
    }

    fn mysql(sql: &str) -> String {
        texts(sql, &Dialect::default()).join("|")
    }

    fn mariadb(sql: &str) -> String {
        texts(sql, &Dialect::from_server_version("5.5.5-10.11.6-MariaDB")).join("|")
    }

    #[test]
    fn comments_of_every_kind_are_blanks() {
        assert_eq!(mysql("a/* x */b -- y\nc # z\nd--1"), "a|b|c|d|-|-|1");
        assert_eq!(mysql("a /* /* */ b"), "a|b");
        assert_eq!(mysql("a --"), "a");
        assert_eq!(mysql("a /*/ b */ c"), "a|c");
    }

    #[test]
    fn executable_comments_count_when_the_version_is_met() {
        assert_eq!(mysql("a /*! b */ c"), "a|b|c");
        assert_eq!(mysql("a /*!40101 b */ c"), "a|b|c");
        assert_eq!(mysql("a /*!80036b*/ c"), "a|b|c");
        assert_eq!(mysql("a /*!080036 b*/ c"), "a|b|c");
        assert_eq!(mysql("a /*!80037 b /* x */ c */ d"), "a|d");
        assert_eq!(mysql("a /*!99999 FOR UPDATE */"), "a");
        assert_eq!(mysql("a /*!123 b */"), "a|123|b");
        assert_eq!(mysql("a /*M! b */ c"), "a|c");
        assert_eq!(mysql("a /*! b /* x */ c */ d"), "a|b|c|d");
        assert_eq!(mysql("a * / b"), "a|*|/|b");
    }

    #[test]
    fn mariadb_has_executable_comments_of_its_own() {
        assert_eq!(mariadb("a /*M! b */ c"), "a|b|c");
        assert_eq!(mariadb("a /*M!100100 b */ c"), "a|b|c");
        assert_eq!(mariadb("a /*M!110000 b */ c"), "a|c");
        assert_eq!(mariadb("a /*!80000 b */ c"), "a|c");
        assert_eq!(mariadb("a /*!50699 b */ c"), "a|b|c");
        assert_eq!(mariadb("a /*!101106 b */ c"), "a|b|c");
    }

    #[test]
    fn what_does_not_end_is_bad_to_the_end() {
        for sql in ["a 'b", "a \"b", "a `b", "a /* b", "a /*! b", "a /*+ b", "a @'b", "a @@", "a \0 b"] {
            assert_eq!(mysql(sql).split('|').next_back(), Some("BAD"), "{sql}");
        }
        assert_eq!(mysql("a /*!99999 b"), "a|BAD");
    }

    #[test]
    fn strings_follow_the_sql_mode() {
        assert_eq!(mysql(r"'it''s' 'a\'b' x"), r"'it''s'|'a\'b'|x");
        let plain = Dialect { no_backslash_escapes: true, ..Dialect::default() };
        assert_eq!(texts(r"'a\' FOR UPDATE -- '", &plain).join("|"), r"'a\'|FOR|UPDATE");
        let ansi = Dialect { ansi_quotes: true, ..Dialect::default() };
        assert_eq!(texts(r#""a\" b"#, &ansi).join("|"), r#""a\"|b"#);
    }

    #[test]
    fn numbers_and_digit_led_names_are_told_apart() {
        assert_eq!(
            mysql("1a .5e3 1. 1.5e+3 1e5 1e+5 0x1F 0b01 t.1 t.5e3 1e"),
            "1a|.5e3|1.|1.5e+3|1e5|1e+5|0x1F|0b01|t|.|1|t|.|5e3|1e"
        );
        let mut lexer = Lexer::new(b"1a 0x1F t.select", &Dialect::default());
        let kinds: Vec<_> = std::iter::from_fn(|| lexer.next_token()).map(|token| token.kind).collect();
        assert_eq!(kinds, [Kind::Word, Kind::Number, Kind::Word, Kind::Dot, Kind::NameAfterDot]);
    }

    #[test]
    fn character_sets_that_hide_quotes_or_blanks_are_not_guessed() {
        let under = |name: &str, sql: &[u8]| {
            let dialect = Dialect::default().with_character_set(name);
            let mut lexer = Lexer::new(sql, &dialect);
            std::iter::from_fn(|| lexer.next_token()).any(|token| token.kind == Kind::Bad)
        };
        assert!(under("gbk", b"SELECT '\xbf\\' FOR UPDATE -- '"));
        assert!(under("latin1", b"SELECT 1 FROM t FOR\xa0UPDATE"));
        assert!(!under("latin1", b"SELECT '\xe9'"));
        assert!(under("utf8mb4", b"SELECT 1 FROM t FOR\xa0UPDATE"));
        assert!(!under("utf8mb4", "SELECT 'é' AS été".as_bytes()));
    }

    #[test]
    fn dollar_quotes_are_names_before_mysql_9() {
        assert_eq!(mysql("$$ a$b"), "$$|a$b");
        assert_eq!(texts("a $$ b ; $$", &Dialect::from_server_version("9.1.0")).join("|"), "a|BAD");
    }
}
