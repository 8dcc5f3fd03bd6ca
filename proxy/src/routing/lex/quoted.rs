//! What a quote ends: strings, names and variables in quotes, and the hints whose quotes must pair.

use super::blanks::find_comment_end;
use super::{Kind, Lexer, swar};
use crate::routing::dialect::ClientCharset;

impl Lexer<'_> {
    /// A token that begins with this quote.
    #[inline]
    pub(super) fn quoted_from(&mut self, kind: Kind, quote: u8, escapes: bool) -> Kind {
        let start = self.pos;
        self.pos += 1;
        if self.skip_quoted(quote, escapes) { self.unless_ambiguous(kind, start) } else { Kind::Bad }
    }

    /// The kind of what stands from `start` to here, unless the character set may hide quotes in it.
    #[inline]
    fn unless_ambiguous(&self, kind: Kind, start: usize) -> Kind {
        let may_hide = self.dialect.charset == ClientCharset::BackslashInside;
        if may_hide && !self.sql[start..self.pos].is_ascii() { Kind::Bad } else { kind }
    }

    /// From behind the opening quote to behind the closing one; false when there is none.
    #[inline]
    fn skip_quoted(&mut self, quote: u8, escapes: bool) -> bool {
        let other = if escapes { b'\\' } else { quote };
        let mut at = self.pos;
        while at < self.sql.len() {
            let found = swar::first_of(swar::eight_at(self.sql, at), quote, other);
            if found == 0 {
                at += 8;
                continue;
            }
            at += swar::bytes_before(found);
            if self.byte(at) == Some(quote) && self.byte(at + 1) != Some(quote) {
                self.pos = at + 1;
                return true;
            }
            at += 2;
        }
        self.pos = self.sql.len();
        false
    }

    /// From a `@` on.
    pub(super) fn variable(&mut self) -> Kind {
        let start = self.pos;
        self.pos += 1;
        let system = self.byte(self.pos) == Some(b'@');
        let kind = if system { Kind::SystemVariable } else { Kind::UserVariable };
        self.pos += usize::from(system);
        let ends = match self.byte(self.pos) {
            Some(b'`') => {
                self.pos += 1;
                self.skip_quoted(b'`', false)
            }
            Some(quote @ (b'\'' | b'"')) if !system => {
                self.pos += 1;
                let name = quote == b'"' && self.dialect.ansi_quotes;
                self.skip_quoted(quote, !name && !self.dialect.no_backslash_escapes)
            }
            _ => self.skip_plain_variable(system),
        };
        if ends { self.unless_ambiguous(kind, start) } else { Kind::Bad }
    }

    /// The name of a variable without quotes; false for a system variable without a name.
    fn skip_plain_variable(&mut self, system: bool) -> bool {
        let start = self.pos;
        self.skip_word();
        while !system && self.byte(self.pos) == Some(b'.') {
            self.pos += 1;
            self.skip_word();
        }
        !system || self.pos > start
    }

    /// From the slash of `/*+` on. Quotes inside must pair, else the server may see another end.
    pub(super) fn optimizer_hint(&mut self) -> Kind {
        let start = self.pos;
        let Some(end) = find_comment_end(self.sql, start + 3) else { return Kind::Bad };
        self.pos = end;
        let body = &self.sql[start..end];
        let pairs = |quote: u8| body.iter().filter(|byte| **byte == quote).count() % 2 == 0;
        let paired = pairs(b'\'') && pairs(b'"') && pairs(b'`');
        if paired { self.unless_ambiguous(Kind::OptimizerHint, start) } else { Kind::Bad }
    }
}
