//! One pass over a statement's bytes: the hint of its leading comment, and two hashes of its tokens.
//!
//! The fingerprint is the public one: literals count as one mark, lists of them as one, unquoted words
//! without case, blanks and comments not at all. The key is the cache's own: the same tokens under a
//! secret seed, with what else can change the class: blanks before a parenthesis (`COUNT (`), the value
//! given to autocommit, the number of a KILL, the exact schema of a USE.

use super::dialect::Dialect;
use super::lex::{Kind, Lexer, Token, is_blank};

/// What the leading comment asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hint {
    /// `/*master*/`, `/*primary*/`.
    Primary,
    /// `/*slave*/`, `/*replica*/`.
    Replica,
}

/// What the pass finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    /// See [`super::StatementClass::fingerprint`].
    pub fingerprint: u64,
    /// The hint, from the text's leading comments.
    pub hint: Option<Hint>,
    /// The keyed hash; equal for texts of equal class.
    pub(super) key: u64,
}

/// Scans a statement. Linear in its length; allocates nothing.
#[must_use]
pub fn scan(sql: &[u8], dialect: &Dialect) -> Scan {
    scan_with_seed(sql, dialect, 0)
}

pub(super) fn scan_with_seed(sql: &[u8], dialect: &Dialect, seed: u64) -> Scan {
    let mut lexer = Lexer::new(sql, dialect);
    let mut hasher = Hasher::new(seed, dialect.bits());
    while let Some(token) = lexer.next_token() {
        hasher.token(&token);
    }
    Scan { fingerprint: hasher.state.fingerprint(), hint: leading_hint(sql), key: hasher.state.keyed }
}

/// The hint among the comments that stand before anything else.
pub(super) fn leading_hint(sql: &[u8]) -> Option<Hint> {
    let mut rest = sql;
    loop {
        let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
        rest = rest[blanks..].strip_prefix(b"/*")?;
        let length = rest.windows(2).position(|pair| pair == b"*/")?;
        match rest[..length].trim_ascii() {
            word if any_of(word, &["master", "primary"]) => return Some(Hint::Primary),
            word if any_of(word, &["slave", "replica"]) => return Some(Hint::Replica),
            [b'!', ..] => return None,
            _ => rest = &rest[length + 2..],
        }
    }
}

fn any_of(word: &[u8], names: &[&str]) -> bool {
    names.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
}

/// The two running hashes.
#[derive(Clone, Copy)]
struct State {
    public: u64,
    keyed: u64,
}

const PUBLIC_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl State {
    fn fingerprint(self) -> u64 {
        let mixed = (self.public ^ (self.public >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }
}

/// Where the pass stands in a list of literals, or of rows of them.
#[derive(Clone, Copy, PartialEq)]
enum List {
    Outside,
    /// Behind a literal: another one after a comma adds nothing.
    Literal,
    Comma,
    /// Behind the `(` that may open a row.
    RowOpen,
    RowLiteral,
    RowComma,
    /// Behind a row of literals: another one after a comma adds nothing.
    Row,
    CommaAfterRow,
}

/// What the next literal or name means for the key, beyond being one.
#[derive(Clone, Copy, PartialEq)]
enum Exact {
    No,
    /// Behind `autocommit`, for so many tokens more.
    Autocommit(u8),
    /// In a KILL or USE: everything.
    Statement,
}

struct Hasher {
    state: State,
    factor: u64,
    list: List,
    /// The state before the comma between two literals, and between two rows.
    before_comma: State,
    before_row_comma: State,
    /// The row being read is not the first of its list.
    further_row: bool,
    at_start: bool,
    after_word: bool,
    exact: Exact,
}

impl Hasher {
    fn new(seed: u64, dialect: u64) -> Self {
        let state = State { public: 0, keyed: seed ^ dialect.wrapping_mul(PUBLIC_FACTOR) };
        Self {
            state,
            factor: (seed.rotate_left(32) ^ 0xa076_1d64_78bd_642f) | 1,
            list: List::Outside,
            before_comma: state,
            before_row_comma: state,
            further_row: false,
            at_start: true,
            after_word: false,
            exact: Exact::No,
        }
    }

    #[inline]
    fn absorb(&mut self, value: u64) {
        self.state.public = (self.state.public.rotate_left(23) ^ value).wrapping_mul(PUBLIC_FACTOR);
        self.absorb_keyed(value);
    }

    #[inline]
    fn absorb_keyed(&mut self, value: u64) {
        let wide = u128::from(self.state.keyed ^ value).wrapping_mul(u128::from(self.factor));
        #[expect(clippy::cast_possible_truncation, reason = "the fold takes both halves")]
        let folded = (wide as u64) ^ ((wide >> 64) as u64);
        self.state.keyed = folded.wrapping_add(value.rotate_left(17));
    }

    #[inline]
    fn token(&mut self, token: &Token<'_>) {
        match token.kind {
            kind if kind.is_literal() => self.literal(token),
            Kind::Word => self.word(token),
            Kind::NameAfterDot => {
                self.word(token);
                self.absorb_keyed(1);
            }
            Kind::UserVariable => {
                self.other(token);
                self.absorb_keyed(u64::from(token.spaced));
            }
            Kind::Open => self.open(token),
            Kind::Close => self.close(),
            Kind::Comma => self.comma(),
            Kind::Semicolon => {
                self.other(token);
                self.at_start = true;
                self.exact = Exact::No;
            }
            _ => self.other(token),
        }
    }

    fn word(&mut self, token: &Token<'_>) {
        let text = token.text;
        self.list = List::Outside;
        self.absorb(text.len() as u64);
        let mut chunks = text.chunks_exact(8);
        for chunk in &mut chunks {
            let value = u64::from_le_bytes(chunk.try_into().expect("chunks of 8"));
            self.absorb(lower_case(value));
        }
        if !chunks.remainder().is_empty() {
            self.absorb(lower_case(partial(chunks.remainder())));
        }
        if self.at_start && any_of(text, &["KILL", "USE"]) {
            self.exact = Exact::Statement;
        } else {
            self.note_name(text);
        }
        self.at_start = false;
        self.after_word = true;
    }

    /// Names count byte for byte; a name may be `autocommit`.
    fn other(&mut self, token: &Token<'_>) {
        self.list = List::Outside;
        self.after_word = false;
        self.absorb((token.kind as u64) << 32 | token.text.len() as u64 & 0xffff_ffff);
        self.bytes(token.text);
        self.note_name(token.text);
        self.at_start = false;
    }

    fn bytes(&mut self, text: &[u8]) {
        let mut chunks = text.chunks_exact(8);
        for chunk in &mut chunks {
            self.absorb(u64::from_le_bytes(chunk.try_into().expect("chunks of 8")));
        }
        if !chunks.remainder().is_empty() {
            self.absorb(partial(chunks.remainder()));
        }
    }

    fn keyed_bytes(&mut self, text: &[u8]) {
        self.absorb_keyed(text.len() as u64);
        for chunk in text.chunks(8) {
            self.absorb_keyed(partial(chunk));
        }
    }

    fn note_name(&mut self, text: &[u8]) {
        match self.exact {
            Exact::Statement => self.keyed_bytes(text),
            _ if is_autocommit(text) => self.exact = Exact::Autocommit(2),
            Exact::Autocommit(left) if left > 0 => self.exact = Exact::Autocommit(left - 1),
            _ => self.exact = Exact::No,
        }
    }

    fn literal(&mut self, token: &Token<'_>) {
        self.after_word = false;
        self.at_start = false;
        if self.exact != Exact::No {
            self.keyed_bytes(token.text);
            if self.exact != Exact::Statement {
                self.exact = Exact::No;
            }
        }
        self.list = match self.list {
            List::Comma => {
                self.state = self.before_comma;
                self.list = List::Literal;
                return;
            }
            List::RowComma => {
                self.state = self.before_comma;
                self.list = List::RowLiteral;
                return;
            }
            List::RowOpen => List::RowLiteral,
            _ => List::Literal,
        };
        self.absorb(u64::from(b'?'));
    }

    fn comma(&mut self) {
        self.after_word = false;
        let before = self.state;
        self.list = match self.list {
            List::Literal => List::Comma,
            List::RowLiteral => List::RowComma,
            List::Row => List::CommaAfterRow,
            _ => List::Outside,
        };
        match self.list {
            List::CommaAfterRow => self.before_row_comma = before,
            _ => self.before_comma = before,
        }
        self.absorb(u64::from(b','));
    }

    fn open(&mut self, token: &Token<'_>) {
        self.further_row = self.list == List::CommaAfterRow;
        self.list = List::RowOpen;
        self.absorb(u64::from(b'('));
        if self.after_word && token.spaced {
            self.absorb_keyed(u64::from(b' '));
        }
        self.after_word = false;
    }

    fn close(&mut self) {
        self.after_word = false;
        self.at_start = false;
        if self.list != List::RowLiteral {
            self.list = List::Outside;
        } else {
            self.list = List::Row;
            if self.further_row {
                self.state = self.before_row_comma;
                return;
            }
        }
        self.absorb(u64::from(b')'));
    }
}

fn is_autocommit(text: &[u8]) -> bool {
    const NAME: &[u8] = b"autocommit";
    match text.len() {
        10 => text.eq_ignore_ascii_case(NAME),
        12 if text[0] == b'@' => text[2..].eq_ignore_ascii_case(NAME),
        12 => text[1..11].eq_ignore_ascii_case(NAME),
        14 => text[3..13].eq_ignore_ascii_case(NAME),
        _ => false,
    }
}

/// One to eight bytes as a number that differs for any two of the same length: by reads that overlap,
/// not by a copy of their length.
#[inline]
fn partial(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
    } else if length > 0 {
        u64::from(bytes[0]) | u64::from(bytes[length / 2]) << 8 | u64::from(bytes[length - 1]) << 16
    } else {
        0
    }
}

/// Eight bytes with ASCII's upper case made lower, all at once.
#[inline]
fn lower_case(bytes: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let low = bytes & (0x7f * ONES);
    let at_least_a = low + ((0x80 - b'A' as u64) * ONES);
    let above_z = low + ((0x80 - b'Z' as u64 - 1) * ONES);
    let upper = (at_least_a ^ above_z) & !bytes & (0x80 * ONES);
    bytes | (upper >> 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(sql: &str) -> u64 {
        scan(sql.as_bytes(), &Dialect::default()).fingerprint
    }

    fn key(sql: &str) -> u64 {
        scan_with_seed(sql.as_bytes(), &Dialect::default(), 7).key
    }

    #[test]
    fn literals_blanks_comments_and_case_do_not_change_the_fingerprint() {
        let base = print("SELECT a FROM t WHERE id = 5");
        for same in [
            "select a from t where id=?",
            "SELECT /* x */ a FROM t WHERE id = 'x''y' -- z",
            "SELECT a FROM t WHERE id=0x1F",
            "SELECT a\nFROM t\tWHERE id=1.5e3 /*!99999 FOR UPDATE */",
        ] {
            assert_eq!(print(same), base, "{same}");
        }
        for other in [
            "SELECT b FROM t WHERE id=5",
            "SELECT a FROM t WHERE id=5 FOR UPDATE",
            "SELECT a FROM `t` WHERE id=5",
        ] {
            assert_ne!(print(other), base, "{other}");
        }
    }

    #[test]
    fn lists_of_literals_and_rows_count_as_one() {
        assert_eq!(print("SELECT 1 FROM t WHERE a IN (1,2,3)"), print("SELECT ? FROM t WHERE a IN (?)"));
        assert_eq!(print("INSERT INTO t VALUES (1,'a'),(2,'b')"), print("INSERT INTO t VALUES (?,?)"));
        assert_ne!(print("INSERT INTO t VALUES (1),(f(2))"), print("INSERT INTO t VALUES (1)"));
        assert_ne!(print("SELECT 1, a"), print("SELECT 1, b"));
    }

    #[test]
    fn what_changes_the_class_changes_the_key() {
        for (one, other) in [
            ("SET autocommit=0", "SET autocommit=1"),
            ("SET @@autocommit = 'off'", "SET @@autocommit = 'on'"),
            ("SET @@session.`autocommit` := 0", "SET @@session.`autocommit` := 1"),
            ("SET a=5, autocommit=0", "SET a=5, autocommit=1"),
            ("KILL 5", "KILL 6"),
            ("USE a", "USE A"),
            ("SELECT 1; USE a", "SELECT 1; USE A"),
            ("SELECT COUNT(a)", "SELECT COUNT (a)"),
        ] {
            assert_ne!(key(one), key(other), "{one}");
            assert_eq!(key(one), key(one));
        }
        assert_eq!(key("SET a=1"), key("SET a=2"));
        let ansi = Dialect { ansi_quotes: true, ..Dialect::default() };
        assert_ne!(scan_with_seed(b"SELECT 1", &ansi, 7).key, key("SELECT 1"));
    }

    #[test]
    fn hints_are_read_from_leading_comments_only() {
        let hint = |sql: &str| leading_hint(sql.as_bytes());
        assert_eq!(hint("/*master*/ SELECT 1"), Some(Hint::Primary));
        assert_eq!(hint("  /* Primary */SELECT 1"), Some(Hint::Primary));
        assert_eq!(hint("/*\tSLAVE */ SELECT 1"), Some(Hint::Replica));
        assert_eq!(hint("/* app */ /*replica*/ SELECT 1"), Some(Hint::Replica));
        for none in [
            "SELECT /*master*/ 1",
            "/*!master*/",
            "/*masters*/ SELECT 1",
            "/*master",
            "",
            "/*",
            "'/*master*/'",
        ] {
            assert_eq!(hint(none), None, "{none}");
        }
    }

    #[test]
    fn lower_case_changes_letters_only() {
        for byte in 0..=255_u8 {
            let value = u64::from_le_bytes([byte; 8]);
            assert_eq!(lower_case(value).to_le_bytes(), [byte.to_ascii_lowercase(); 8], "{byte}");
        }
    }
}
