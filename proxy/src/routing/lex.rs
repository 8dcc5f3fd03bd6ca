//! Bytes to tokens, as the server's own lexer cuts them: blanks and comments of every kind, executable
//! comments by server family and version, strings and names under the session's sql_mode.
//!
//! Never fails and never allocates: what cannot be followed becomes one [`Kind::Bad`] token that
//! reaches to the end of the text.

mod blanks;
mod number;
mod quoted;

use super::dialect::{ClientCharset, Dialect, ServerFamily};
use super::swar;

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

/// One token: where it stands, and whether blanks or comments stand before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a [u8],
    /// Where it begins in the text.
    pub(super) start: usize,
    /// Of a word, the bytes behind a multiple of eight.
    pub(super) tail: u64,
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
    /// Its last bytes: those behind a multiple of eight.
    tail: u64,
    /// An executable comment has been met, skipped or not.
    met_executable: bool,
}

/// What a token is that begins with a byte.
#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
enum Lead {
    /// Letters and `_`.
    Word,
    Digit,
    /// Blanks, and what may begin or end a comment.
    Gap,
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `'`
    Quote,
    /// A backtick.
    Backtick,
    /// What else is a token alone.
    Single,
    /// What takes a closer look to tell where the token ends.
    Other,
    /// The end of the text.
    End,
}

static LEADS: [Lead; 256] = {
    let mut table = [Lead::Other; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Lead::Word,
            b'0'..=b'9' => Lead::Digit,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | b'#' | b'-' | b'/' | b'*' => Lead::Gap,
            b'(' => Lead::Open,
            b')' => Lead::Close,
            b',' => Lead::Comma,
            b'.' => Lead::Dot,
            b'\'' => Lead::Quote,
            b'`' => Lead::Backtick,
            b'=' | b'<' | b'>' | b'!' | b'+' | b'%' | b'&' | b'|' | b'^' | b'~' | b'{' | b'}' | b'['
            | b']' | b'\\' => Lead::Single,
            _ => Lead::Other,
        };
        if byte == u8::MAX {
            break;
        }
        byte += 1;
    }
    table
};

/// Whether a comment that ends with its line begins here: `#`, or `--` before a blank, a control character or
/// the end.
pub(super) fn starts_line_comment(text: &[u8]) -> bool {
    match text {
        [b'#', ..] | [b'-', b'-'] => true,
        [b'-', b'-', byte, ..] => *byte <= b' ' || *byte == 0x7f,
        _ => false,
    }
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
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
            tail: 0,
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
        if self.byte(before) == Some(b' ') {
            self.pos += 1;
        }
        let mut lead = self.lead();
        if lead == Lead::Gap {
            if !self.skip_blanks() {
                return Some(self.bad(self.pos, self.pos > before));
            }
            lead = self.lead();
        }
        let start = self.pos;
        let spaced = start > before;
        let kind = match lead {
            _ if self.after_dot && self.continues_name(spaced) => self.name_after_dot(),
            Lead::Word => self.word(),
            Lead::Single => self.single(Kind::Operator),
            Lead::Comma => self.single(Kind::Comma),
            Lead::Open => self.single(Kind::Open),
            Lead::Close => self.single(Kind::Close),
            Lead::Dot => self.dot(),
            Lead::Quote => self.quoted_from(Kind::String, b'\'', !self.dialect.no_backslash_escapes),
            Lead::Backtick => self.quoted_from(Kind::QuotedName, b'`', false),
            Lead::Digit => self.number(),
            Lead::Other | Lead::Gap => self.other(),
            Lead::End => self.end()?,
        };
        if kind == Kind::Bad {
            return Some(self.bad(start, spaced));
        }
        Some(Token { kind, text: &self.sql[start..self.pos], start, tail: self.tail, spaced })
    }

    #[inline]
    fn lead(&self) -> Lead {
        self.byte(self.pos).map_or(Lead::End, |byte| LEADS[usize::from(byte)])
    }

    #[inline]
    fn single(&mut self, kind: Kind) -> Kind {
        self.pos += 1;
        kind
    }

    /// The server refuses a text that ends inside an executable comment.
    fn end(&mut self) -> Option<Kind> {
        std::mem::take(&mut self.in_executable).then_some(Kind::Bad)
    }

    #[cold]
    fn bad(&mut self, start: usize, spaced: bool) -> Token<'a> {
        self.pos = self.sql.len();
        self.in_executable = false;
        Token { kind: Kind::Bad, text: &self.sql[start..], start, tail: 0, spaced }
    }

    /// Whether what stands behind a dot is a name, though it may look like a keyword or a number.
    fn continues_name(&mut self, spaced: bool) -> bool {
        self.after_dot = false;
        !spaced && self.byte(self.pos).is_some_and(is_word_byte)
    }

    fn name_after_dot(&mut self) -> Kind {
        let word = if self.byte(self.pos) == Some(b'$') { self.dollar() } else { self.word() };
        if word == Kind::Word { Kind::NameAfterDot } else { word }
    }

    /// A word, unless the server may read it as something else.
    #[inline]
    fn word(&mut self) -> Kind {
        let start = self.pos;
        self.skip_word();
        self.word_from(start)
    }

    /// The word from `start` to here, unless the server may read it as something else.
    #[inline]
    fn word_from(&self, start: usize) -> Kind {
        if self.high && self.is_ambiguous(&self.sql[start..self.pos]) { Kind::Bad } else { Kind::Word }
    }

    /// Whether bytes above 0x7F may be blanks to the server, or no characters at all.
    #[cold]
    fn is_ambiguous(&self, word: &[u8]) -> bool {
        self.dialect.charset != ClientCharset::Utf8 || std::str::from_utf8(word).is_err()
    }

    /// A word that begins with `$`: in MySQL 9 perhaps a dollar-quoted string.
    fn dollar(&mut self) -> Kind {
        let start = self.pos;
        let word = self.word();
        let may_quote = self.dialect.family == ServerFamily::MySql && self.dialect.version >= 90_000;
        if may_quote && self.sql[start + 1..self.pos].contains(&b'$') { Kind::Bad } else { word }
    }

    #[inline]
    fn skip_word(&mut self) {
        let mut high = 0;
        loop {
            let eight = swar::eight_at(self.sql, self.pos);
            let stop = swar::not_of_word(eight);
            if stop != 0 {
                let length = swar::bytes_before(stop);
                self.pos += length;
                self.tail = swar::first_bytes(eight, length);
                self.high = swar::high(high | self.tail) != 0;
                return;
            }
            high |= eight;
            self.pos += 8;
        }
    }

    /// A token whose first byte does not tell where it ends.
    fn other(&mut self) -> Kind {
        match self.sql[self.pos] {
            b'"' if self.dialect.ansi_quotes => self.quoted_from(Kind::QuotedName, b'"', false),
            b'"' => self.quoted_from(Kind::String, b'"', !self.dialect.no_backslash_escapes),
            b'@' => self.variable(),
            b';' => self.single(Kind::Semicolon),
            b'?' => self.single(Kind::Placeholder),
            b':' if self.byte(self.pos + 1) == Some(b'=') => {
                self.pos += 2;
                Kind::Assign
            }
            b'/' if self.sql[self.pos..].starts_with(b"/*+") => self.optimizer_hint(),
            b'$' => self.dollar(),
            0x80.. => self.word(),
            0 => Kind::Bad,
            _ => self.single(Kind::Operator),
        }
    }

    #[inline]
    fn dot(&mut self) -> Kind {
        let start = self.pos;
        self.pos += 1;
        if self.byte(self.pos).is_some_and(|byte| byte.is_ascii_digit()) && !self.is_behind_name(start) {
            self.pos = start;
            self.fraction();
            return Kind::Number;
        }
        self.after_dot = true;
        Kind::Dot
    }

    fn is_behind_name(&self, at: usize) -> bool {
        at > 0 && (is_word_byte(self.sql[at - 1]) || matches!(self.sql[at - 1], b'`' | b'"'))
    }
}

#[cfg(test)]
mod tests;
