//! What a quote ends: strings, names and variables in quotes, and the hints whose quotes must pair.

use super::blanks::find_comment_end;
use super::{Kind, Lexer};

impl Lexer<'_> {
    pub(super) fn quoted_as(&mut self, kind: Kind, quote: u8, escapes: bool) -> Kind {
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

    /// From behind a `@`.
    pub(super) fn variable(&mut self) -> Kind {
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
    pub(super) fn optimizer_hint(&mut self, start: usize) -> Kind {
        let Some(end) = find_comment_end(self.sql, start + 3) else { return Kind::Bad };
        self.pos = end;
        let body = &self.sql[start..end];
        let pairs = |quote: u8| body.iter().filter(|byte| **byte == quote).count() % 2 == 0;
        if pairs(b'\'') && pairs(b'"') && pairs(b'`') { Kind::OptimizerHint } else { Kind::Bad }
    }
}
