//! Tokens to hashes. What a token adds is its bytes, eight in a number, the last number ending in a zero byte: so
//! no two rows of tokens give the same numbers, since each token's own bytes tell where it ends. Marks that are no
//! token have a last byte that is not zero behind a first one with which no long token begins.

use super::super::lex::{Kind, Token};
use super::super::swar;
use super::any_of;

const PUBLIC_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A mark of its own for what no token says.
const fn mark(what: u8) -> u64 {
    1 << 56 | (what as u64) << 8 | 1
}
/// A literal, or a list of them.
const LITERAL: u64 = b'?' as u64;
const BAD: u64 = mark(1);
const AFTER_DOT: u64 = mark(2);
const SPACED: u64 = mark(3);
const EXACT: u64 = mark(4);

/// The two running hashes.
#[derive(Clone, Copy)]
struct State {
    public: u64,
    keyed: u64,
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

/// Whether the next literal or name counts byte for byte in the key.
#[derive(Clone, Copy, PartialEq)]
enum Exact {
    No,
    /// Behind `autocommit`, with at most this many other tokens between.
    Within2,
    Within1,
    Within0,
    /// In a KILL or USE, and behind PREPARE or EXECUTE: everything.
    Statement,
}

/// The sign of a literal: a `-` behind `=`, `,` `(` and their like, or several.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    No,
    /// Behind a token after which a `-` is a sign and no subtraction.
    Due,
    /// Behind such a `-`: before a literal it adds nothing.
    Read,
}

pub(super) struct Hasher {
    state: State,
    factor: u64,
    list: List,
    /// The state before the comma between two literals, and between two rows.
    before_comma: State,
    before_row_comma: State,
    /// The row being read is not the first of its list.
    further_row: bool,
    sign: Sign,
    /// The state and list before the sign.
    before_sign: (State, List),
    at_start: bool,
    /// Lists count as one: not in a SET or HELP, where one literal means another thing than two.
    merges: bool,
    after_word: bool,
    exact: Exact,
}

impl Hasher {
    pub(super) fn new(seed: u64, dialect: u64) -> Self {
        let state = State { public: 0, keyed: seed ^ dialect.wrapping_mul(PUBLIC_FACTOR) };
        Self {
            state,
            factor: (seed.rotate_left(32) ^ 0xa076_1d64_78bd_642f) | 1,
            list: List::Outside,
            before_comma: state,
            before_row_comma: state,
            further_row: false,
            sign: Sign::No,
            before_sign: (state, List::Outside),
            at_start: true,
            merges: true,
            after_word: false,
            exact: Exact::No,
        }
    }

    pub(super) fn fingerprint(&self) -> u64 {
        let public = self.state.public;
        let mixed = (public ^ (public >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }

    pub(super) fn key(&self) -> u64 {
        self.state.keyed
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

    /// The next token of `sql`.
    #[inline]
    pub(super) fn token(&mut self, token: &Token<'_>, sql: &[u8]) {
        match token.kind {
            Kind::Word => self.word(token),
            Kind::Number | Kind::String | Kind::Placeholder => self.literal(token),
            Kind::Comma => self.comma(),
            Kind::Open => self.open(token),
            Kind::Close => self.close(),
            Kind::NameAfterDot => {
                self.word(token);
                self.absorb_keyed(AFTER_DOT);
            }
            Kind::Operator => self.signed_operator(token),
            Kind::Dot => self.operator(token),
            Kind::QuotedName | Kind::SystemVariable | Kind::OptimizerHint => self.name(token, sql),
            Kind::Assign => {
                self.name(token, sql);
                self.sign = Sign::Due;
            }
            Kind::UserVariable => {
                self.name(token, sql);
                if token.spaced {
                    self.absorb_keyed(SPACED);
                }
            }
            Kind::Semicolon => {
                self.operator(token);
                self.at_start = true;
                self.merges = true;
                self.exact = Exact::No;
            }
            Kind::Bad => {
                self.absorb(BAD);
                self.name(token, sql);
            }
        }
    }

    #[inline(always)]
    fn word(&mut self, token: &Token<'_>) {
        let text = token.text;
        self.list = List::Outside;
        self.sign = Sign::No;
        for chunk in text.chunks_exact(8) {
            self.absorb(swar::fold_word(swar::eight_at(chunk, 0)));
        }
        self.absorb(swar::fold_word(token.tail));
        if self.at_start && matches!(text.len(), 3 | 4) {
            self.first_word(text);
        } else {
            self.note_name(text);
        }
        self.at_start = false;
        self.after_word = true;
    }

    fn first_word(&mut self, text: &[u8]) {
        if any_of(text, &["KILL", "USE"]) {
            self.exact = Exact::Statement;
        }
        self.merges = !any_of(text, &["SET", "HELP"]);
    }

    /// Names and variables count byte for byte; they may be `autocommit`.
    #[inline(always)]
    fn name(&mut self, token: &Token<'_>, sql: &[u8]) {
        self.list = List::Outside;
        self.sign = Sign::No;
        self.after_word = false;
        self.at_start = false;
        let (mut at, end) = (token.start, token.start + token.text.len());
        while end - at >= 8 {
            self.absorb(swar::eight_at(sql, at));
            at += 8;
        }
        self.absorb(swar::first_bytes(swar::eight_at(sql, at), end - at));
        self.note_name(token.text);
    }

    #[inline]
    fn signed_operator(&mut self, token: &Token<'_>) {
        let sign = match self.sign {
            _ if token.text != b"-" => Sign::Due,
            Sign::No => Sign::Due,
            Sign::Due => {
                self.before_sign = (self.state, self.list);
                Sign::Read
            }
            Sign::Read => Sign::Read,
        };
        self.operator(token);
        self.sign = sign;
    }

    /// A single byte.
    #[inline]
    fn operator(&mut self, token: &Token<'_>) {
        self.list = List::Outside;
        self.sign = Sign::No;
        self.after_word = false;
        self.at_start = false;
        self.absorb(u64::from(token.text[0]));
        if self.exact != Exact::No {
            self.note_exactly(token.text);
        }
    }

    #[inline(always)]
    fn note_name(&mut self, text: &[u8]) {
        if text.len() == 7 && any_of(text, &["PREPARE", "EXECUTE"]) {
            self.exact = Exact::Statement; // what the firewall is asked about stands in a literal
        }
        if matches!(text.len(), 10..=14) && self.exact != Exact::Statement && is_autocommit(text) {
            self.exact = Exact::Within2;
        } else if self.exact != Exact::No {
            self.note_exactly(text);
        }
    }

    #[cold]
    fn note_exactly(&mut self, text: &[u8]) {
        match self.exact {
            Exact::Statement => self.keyed_bytes(text),
            Exact::Within2 => self.exact = Exact::Within1,
            Exact::Within1 => self.exact = Exact::Within0,
            Exact::Within0 | Exact::No => self.exact = Exact::No,
        }
    }

    /// Bytes that the public hash does not have, behind their number.
    #[cold]
    fn keyed_bytes(&mut self, text: &[u8]) {
        self.absorb_keyed(EXACT);
        self.absorb_keyed(text.len() as u64);
        for at in (0..text.len()).step_by(8) {
            self.absorb_keyed(swar::eight_at(text, at));
        }
    }

    #[inline]
    fn literal(&mut self, token: &Token<'_>) {
        self.after_word = false;
        self.at_start = false;
        if std::mem::replace(&mut self.sign, Sign::No) == Sign::Read {
            self.take_back_sign();
        }
        if self.exact != Exact::No {
            self.exact_literal(token.text);
            return;
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
        self.absorb(LITERAL);
    }

    /// Where a literal counts, so does its sign, to the key.
    #[cold]
    fn take_back_sign(&mut self) {
        let (state, list) = self.before_sign;
        self.list = list;
        match self.exact {
            Exact::No => self.state = state,
            _ => self.state.public = state.public,
        }
    }

    /// One that counts byte for byte, and thus never merges with another.
    #[cold]
    fn exact_literal(&mut self, text: &[u8]) {
        self.list = List::Outside;
        self.absorb(LITERAL);
        self.keyed_bytes(text);
        if self.exact != Exact::Statement {
            self.exact = Exact::No;
        }
    }

    #[inline]
    fn comma(&mut self) {
        self.after_word = false;
        self.sign = Sign::Due;
        let before = self.state;
        self.list = match self.list {
            _ if !self.merges => List::Outside,
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

    #[inline]
    fn open(&mut self, token: &Token<'_>) {
        self.further_row = self.list == List::CommaAfterRow;
        self.list = List::RowOpen;
        self.sign = Sign::Due;
        self.absorb(u64::from(b'('));
        if self.after_word && token.spaced {
            self.absorb_keyed(SPACED);
        }
        self.after_word = false;
    }

    #[inline]
    fn close(&mut self) {
        self.after_word = false;
        self.sign = Sign::No;
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
