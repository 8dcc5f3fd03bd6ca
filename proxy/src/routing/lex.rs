//! Bytes to tokens, as the server's own lexer cuts them: blanks and comments of every kind, executable
//! comments by server family and version, strings and names under the session's sql_mode.
//!
//! Never fails and never allocates: what cannot be followed becomes one [`Kind::Bad`] token that
//! reaches to the end of the text.

mod blanks;
mod number;
mod quoted;

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
}

#[cfg(test)]
mod tests;
