//! `CONNECTION_ID()` as one number, whatever connection a statement runs on: the number takes the function's place.

use super::dialect::Dialect;
use super::lex::{Kind, Lexer, Token};

/// Words that end a SELECT's list.
const ENDS_LIST: [&str; 15] = [
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "INTO",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "FOR",
    "LOCK",
    "PROCEDURE",
    "WINDOW",
    "FETCH",
];

/// Where the server's own number is meant: it is compared with what the server says of its connections.
const SERVERS_OWN: [&str; 6] =
    ["IS_USED_LOCK", "PROCESSLIST", "INFORMATION_SCHEMA", "PERFORMANCE_SCHEMA", "SYS", "MYSQL"];

/// The text with `id` in the place of each call of `CONNECTION_ID()`; the column's name stays. `None` where it does
/// not call it, or compares its answer with the server's own list of connections or locks.
#[must_use]
pub fn with_connection_id(sql: &[u8], dialect: &Dialect, id: u32) -> Option<Vec<u8>> {
    let mut rewrite = Rewrite { sql, out: Vec::new(), copied: 0, list: None, depth: 0 };
    let mut lexer = Lexer::new(sql, dialect);
    let mut called = false;
    while let Some(token) = lexer.next_token() {
        match token.kind {
            Kind::Bad => return None,
            Kind::Word if is_any(&token, &SERVERS_OWN) => return None,
            Kind::QuotedName | Kind::NameAfterDot if is_any(&token, &SERVERS_OWN) => return None,
            Kind::Word if is_any(&token, &["CONNECTION_ID"]) => {
                let mut ahead = lexer.clone();
                let open = ahead.next_token();
                let close = ahead.next_token();
                if let (Some(Token { kind: Kind::Open, .. }), Some(close)) = (open, close)
                    && close.kind == Kind::Close
                {
                    lexer = ahead;
                    called = true;
                    rewrite.call(&token, &close, id);
                    continue;
                }
            }
            _ => {}
        }
        rewrite.pass(&token);
    }
    rewrite.end_item();
    called.then(|| {
        rewrite.copy_to(sql.len());
        rewrite.out
    })
}

fn is_any(token: &Token<'_>, words: &[&str]) -> bool {
    let text = token.text.strip_prefix(b"`").and_then(|t| t.strip_suffix(b"`")).unwrap_or(token.text);
    words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
}

struct Rewrite<'a> {
    sql: &'a [u8],
    out: Vec<u8>,
    /// How much of the text is in `out`.
    copied: usize,
    /// The item of a SELECT's list that is being read, outside parentheses.
    list: Option<Item>,
    depth: usize,
}

#[derive(Clone, Copy, Default)]
struct Item {
    /// From its first token to its last, once there is one.
    at: Option<(usize, usize)>,
    calls: bool,
    /// Its last token may be an alias.
    may_be_named: bool,
}

impl Rewrite<'_> {
    fn copy_to(&mut self, end: usize) {
        self.out.extend_from_slice(&self.sql[self.copied..end]);
        self.copied = end;
    }

    /// Where a token stands in the text.
    fn place(&self, token: &Token<'_>) -> (usize, usize) {
        let start = token.text.as_ptr() as usize - self.sql.as_ptr() as usize;
        (start, start + token.text.len())
    }

    fn call(&mut self, name: &Token<'_>, close: &Token<'_>, id: u32) {
        let ((start, _), (_, end)) = (self.place(name), self.place(close));
        self.copy_to(start);
        // A literal alone would be a signed number of another width.
        self.out.extend_from_slice(format!("CAST({id} AS UNSIGNED)").as_bytes());
        self.copied = end;
        self.note(start, end, false);
        if let Some(item) = &mut self.list {
            item.calls = true;
        }
    }

    fn note(&mut self, start: usize, end: usize, may_be_named: bool) {
        if let Some(item) = &mut self.list {
            let first = item.at.map_or(start, |(first, _)| first);
            item.at = Some((first, end));
            item.may_be_named = may_be_named;
        }
    }

    fn pass(&mut self, token: &Token<'_>) {
        let (start, end) = self.place(token);
        match token.kind {
            Kind::Open => self.depth += 1,
            Kind::Close => self.depth = self.depth.saturating_sub(1),
            Kind::Word if self.depth == 0 && is_any(token, &["SELECT"]) => {
                self.end_item();
                self.list = Some(Item::default());
                return;
            }
            Kind::Word if self.depth == 0 && is_any(token, &ENDS_LIST) => {
                self.end_item();
                self.list = None;
                return;
            }
            Kind::Semicolon if self.depth == 0 => {
                self.end_item();
                self.list = None;
                return;
            }
            Kind::Comma if self.depth == 0 && self.list.is_some() => {
                self.end_item();
                self.list = Some(Item::default());
                return;
            }
            _ => {}
        }
        self.note(start, end, matches!(token.kind, Kind::Word | Kind::QuotedName | Kind::String));
    }

    /// Names an item as the server would have named it.
    fn end_item(&mut self) {
        let Some(Item { at: Some((start, end)), calls: true, may_be_named: false }) = self.list else {
            return;
        };
        self.copy_to(end.max(self.copied));
        self.out.extend_from_slice(b" AS `");
        let name = &self.sql[start..end];
        self.out.extend(
            name.iter().flat_map(|byte| std::iter::repeat_n(*byte, if *byte == b'`' { 2 } else { 1 })),
        );
        self.out.push(b'`');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(sql: &str) -> Option<String> {
        with_connection_id(sql.as_bytes(), &Dialect::default(), 7)
            .map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn the_number_takes_the_functions_place_and_the_column_keeps_its_name() {
        let one = "SELECT CAST(7 AS UNSIGNED) AS `connection_id()`";
        assert_eq!(rewritten("SELECT connection_id()").as_deref(), Some(one));
        let more = "SELECT a, CAST(7 AS UNSIGNED)+1 AS `CONNECTION_ID()+1`, 'CONNECTION_ID()' FROM t";
        assert_eq!(rewritten("SELECT a, CONNECTION_ID()+1, 'CONNECTION_ID()' FROM t").as_deref(), Some(more));
        let named = "SELECT CAST(7 AS UNSIGNED) AS id, CAST(7 AS UNSIGNED) x";
        assert_eq!(rewritten("SELECT CONNECTION_ID() AS id, CONNECTION_ID ( ) x").as_deref(), Some(named));
    }

    #[test]
    fn elsewhere_nothing_is_named() {
        for (sql, becomes) in [
            ("INSERT INTO t VALUES (1, CONNECTION_ID())", "INSERT INTO t VALUES (1, CAST(7 AS UNSIGNED))"),
            ("SET @a = CONNECTION_ID(), @b = 1", "SET @a = CAST(7 AS UNSIGNED), @b = 1"),
            (
                "SELECT a FROM t ORDER BY a, CONNECTION_ID()",
                "SELECT a FROM t ORDER BY a, CAST(7 AS UNSIGNED)",
            ),
        ] {
            assert_eq!(rewritten(sql).as_deref(), Some(becomes));
        }
    }

    #[test]
    fn the_servers_own_number_is_left_where_it_is_compared_with_the_servers_list() {
        for sql in [
            "SELECT IS_USED_LOCK('a') = CONNECTION_ID()",
            "SELECT * FROM information_schema.processlist WHERE id = CONNECTION_ID()",
            "SELECT * FROM `performance_schema`.threads WHERE processlist_id = CONNECTION_ID()",
            "SELECT 'CONNECTION_ID()' /* CONNECTION_ID() */, connection_id FROM t",
        ] {
            assert_eq!(rewritten(sql), None, "{sql}");
        }
    }
}
