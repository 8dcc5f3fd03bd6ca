//! What stands between tokens: blanks, comments of every kind, and executable comments by server family and version.

use super::{Lexer, is_blank, starts_line_comment};
use crate::routing::dialect::ServerFamily;

impl Lexer<'_> {
    /// Skips blanks and comments; false for a comment that does not end or cannot be judged.
    #[inline]
    pub(super) fn skip_blanks(&mut self) -> bool {
        while let Some(&byte) = self.sql.get(self.pos) {
            match byte {
                _ if is_blank(byte) => self.pos += 1,
                b'#' => self.skip_line(),
                b'-' if starts_line_comment(&self.sql[self.pos..]) => self.skip_line(),
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
pub(super) fn find_comment_end(sql: &[u8], at: usize) -> Option<usize> {
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
