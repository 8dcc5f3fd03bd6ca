//! Numbers, and the names that begin like one.

use super::{Kind, Lexer, is_word_byte, swar};

impl Lexer<'_> {
    fn skip_digits(&mut self) {
        while self.byte(self.pos).is_some_and(|byte| byte.is_ascii_digit()) {
            self.pos += 1;
        }
    }

    /// A token that starts with a digit: a number, or a name like `1a`.
    pub(super) fn number(&mut self) -> Kind {
        let start = self.pos;
        let digits = swar::bytes_before(swar::not_of_number(swar::eight_at(self.sql, start)));
        if digits < 8 && !self.byte(start + digits).is_some_and(|byte| byte == b'.' || is_word_byte(byte)) {
            self.pos += digits;
            return Kind::Number;
        }
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
            _ => self.word_from(start),
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
    pub(super) fn fraction(&mut self) {
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
}
