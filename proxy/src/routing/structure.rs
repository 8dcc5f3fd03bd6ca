//! Where a query's grammar allows only a query or a table, nothing else may stand: so that a text the
//! server would refuse is not sent to a replica as a read.

use super::lex::{Kind, Token};
use super::reader::{Reader, is_word};

/// Whether what stands behind this word of a query cannot stand there. `windows`: a WINDOW clause has
/// been met, whose names may stand behind `AS (`.
pub(super) fn is_broken(reader: &Reader<'_>, word: &str, windows: bool) -> bool {
    let mut behind = reader.next.into_iter().chain(reader.ahead());
    match word {
        "UNION" | "EXCEPT" | "INTERSECT" => {
            let first = behind.find(|token| !is_any(token, &["ALL", "DISTINCT"]));
            let first = skip_open(first, &mut behind);
            !first.is_some_and(|token| starts_query(&token))
        }
        "EXISTS" | "FROM" | "JOIN" | "AS" if reader.next_is(Kind::Open) => {
            let first = behind.next();
            let Some(first) = skip_open(first, &mut behind) else { return true };
            let window = ["PARTITION", "ORDER", "ROWS", "RANGE", "GROUPS"];
            !(starts_query(&first)
                || word == "AS" && (windows || first.kind == Kind::Close || is_any(&first, &window))
                || matches!(word, "FROM" | "JOIN") && is_table(first, behind))
        }
        "TABLE" => !is_table_query(behind),
        _ => false,
    }
}

/// Behind `TABLE`: the name, and what may follow it.
fn is_table_query<'a>(mut behind: impl Iterator<Item = Token<'a>>) -> bool {
    let is_name =
        |token: &Token<'_>| matches!(token.kind, Kind::Word | Kind::QuotedName | Kind::NameAfterDot);
    let named = behind.next().is_some_and(|token| is_name(&token));
    let after = match behind.next() {
        Some(dot) if dot.kind == Kind::Dot => behind.nth(1),
        after => after,
    };
    let ends = ["ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "INTO", "FOR"];
    named
        && after
            .is_none_or(|token| matches!(token.kind, Kind::Close | Kind::Semicolon) || is_any(&token, &ends))
}

fn is_any(token: &Token<'_>, words: &[&str]) -> bool {
    words.iter().any(|word| is_word(Some(token), word))
}

fn starts_query(token: &Token<'_>) -> bool {
    is_any(token, &["SELECT", "WITH", "VALUES", "TABLE"])
}

fn skip_open<'a>(
    first: Option<Token<'a>>,
    behind: &mut impl Iterator<Item = Token<'a>>,
) -> Option<Token<'a>> {
    first.into_iter().chain(behind).find(|token| token.kind != Kind::Open)
}

/// Whether this is a statement's head that cannot be a table's name without quotes.
pub(super) fn is_reserved_head(token: &Token<'_>) -> bool {
    is_any(token, RESERVED_HEADS)
}

/// Heads of statements that are reserved words.
const RESERVED_HEADS: &[&str] = &[
    "ALTER", "ANALYZE", "CALL", "CREATE", "DELETE", "DESC", "DESCRIBE", "DROP", "EXPLAIN", "GET", "GRANT",
    "INSERT", "KILL", "LOAD", "LOCK", "OPTIMIZE", "PURGE", "RELEASE", "RENAME", "REPLACE", "RESIGNAL",
    "REVOKE", "SET", "SHOW", "SIGNAL", "UNLOCK", "UPDATE", "USE",
];

/// `t`, `db.t`, `t alias`, `t AS alias`, with a join, another table or the parenthesis behind it.
fn is_table<'a>(first: Token<'a>, behind: impl Iterator<Item = Token<'a>>) -> bool {
    let is_name =
        |token: &Token<'_>| matches!(token.kind, Kind::Word | Kind::QuotedName | Kind::NameAfterDot);
    let goes_on = |token: &Token<'_>| {
        matches!(token.kind, Kind::Comma | Kind::Close)
            || is_any(
                token,
                &[
                    "JOIN",
                    "INNER",
                    "CROSS",
                    "LEFT",
                    "RIGHT",
                    "NATURAL",
                    "STRAIGHT_JOIN",
                    "AS",
                    "PARTITION",
                    "USE",
                    "IGNORE",
                    "FORCE",
                ],
            )
    };
    // A table function or a call may take any argument; the body's reading judges it.
    let mut names = usize::from(is_name(&first));
    if names == 0 {
        return first.kind == Kind::Dot;
    }
    if is_reserved_head(&first) {
        return false;
    }
    for token in behind {
        if goes_on(&token) || token.kind == Kind::Open && names == 1 {
            return true;
        }
        match token.kind {
            Kind::Dot => names -= 1,
            _ if is_name(&token) && names < 2 => names += 1,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::routing::{Dialect, Reason, classify};

    #[test]
    fn a_statement_where_a_query_or_table_must_stand_is_not_understood() {
        for sql in [
            "WITH a AS (COMMIT) SELECT * FROM a",
            "SELECT 1 UNION COMMIT",
            "SELECT 1 UNION ALL (SHUTDOWN)",
            "SELECT EXISTS(COMMIT)",
            "SELECT * FROM (SHOW MASTER STATUS) z",
            "SELECT * FROM (KILLALL 5) z",
        ] {
            assert_eq!(classify(sql.as_bytes(), &Dialect::default()).reason, Reason::NotUnderstood, "{sql}");
        }
        for sql in ["WITH a AS (SELECT 1) (COMMIT)", "WITH a AS (SELECT 1) ((SHUTDOWN))"] {
            assert!(!classify(sql.as_bytes(), &Dialect::default()).is_read(), "{sql}");
        }
        assert!(classify(b"WITH a AS (SELECT 1) ((SELECT * FROM a))", &Dialect::default()).is_read());
    }

    #[test]
    fn tables_in_parentheses_are_read() {
        for sql in [
            "SELECT * FROM (t)",
            "SELECT * FROM ((a.t AS x JOIN b.u y ON x.id = y.id), v)",
            "SELECT * FROM t JOIN (u, v) ON 1",
            "SELECT SUM(a) OVER x FROM t WINDOW w AS (ORDER BY a), x AS (w)",
        ] {
            assert!(classify(sql.as_bytes(), &Dialect::default()).is_read(), "{sql}");
        }
    }
}
