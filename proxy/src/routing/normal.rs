//! The normal form of a text: what is left of it when nothing counts that its fingerprint leaves out.
//!
//! Unquoted words in lower case, every literal with its sign a `?`, a list of literals or of rows of them one, no
//! comments, blanks where this file puts them. Two texts have the same normal form if and only if they
//! have the same fingerprint, hash collisions aside; a test holds the two passes together.

use super::dialect::Dialect;
use super::lex::{Kind, Lexer, Token};

/// The normal form of a text, as rules match it and `explain` shows it. Quoted names keep their bytes,
/// which need not be UTF-8.
#[must_use]
pub fn normal_form(sql: &[u8], dialect: &Dialect) -> Vec<u8> {
    let mut lexer = Lexer::new(sql, dialect);
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    while let Some(token) = lexer.next_token() {
        push(&mut pieces, &token);
    }
    let mut text = Vec::with_capacity(sql.len().min(4096));
    let mut last = None;
    for piece in pieces {
        if last.is_some_and(|last| is_blank_between(last, piece)) {
            text.push(b' ');
        }
        match piece.kind {
            Kind::Word | Kind::NameAfterDot => text.extend(piece.text.iter().map(u8::to_ascii_lowercase)),
            kind if is_literal(kind) => text.push(b'?'),
            _ => text.extend_from_slice(piece.text),
        }
        last = Some(piece);
    }
    text
}

#[derive(Clone, Copy)]
struct Piece<'a> {
    kind: Kind,
    text: &'a [u8],
}

/// Adds a token, and takes back what only makes a list longer.
fn push<'a>(pieces: &mut Vec<Piece<'a>>, token: &Token<'a>) {
    if is_literal(token.kind) {
        while ends_with_sign(pieces) {
            pieces.pop();
        }
    }
    pieces.push(Piece { kind: token.kind, text: token.text });
    let is = |back: usize, kind: fn(Kind) -> bool| {
        pieces.len().checked_sub(back).is_some_and(|at| kind(pieces[at].kind))
    };
    const LITERAL: fn(Kind) -> bool = is_literal;
    const COMMA: fn(Kind) -> bool = |kind| kind == Kind::Comma;
    const OPEN: fn(Kind) -> bool = |kind| kind == Kind::Open;
    const CLOSE: fn(Kind) -> bool = |kind| kind == Kind::Close;
    if is(1, LITERAL) && pieces.len() >= 3 && is(2, COMMA) && is(3, LITERAL) {
        pieces.truncate(pieces.len() - 2);
    } else if pieces.len() >= 7
        && [(1, CLOSE), (2, LITERAL), (3, OPEN), (4, COMMA), (5, CLOSE), (6, LITERAL), (7, OPEN)]
            .into_iter()
            .all(|(back, kind)| is(back, kind))
    {
        pieces.truncate(pieces.len() - 4);
    }
}

/// Whether the last token is a `-` that subtracts nothing, as in `a = -5`.
fn ends_with_sign(pieces: &[Piece<'_>]) -> bool {
    let [.., before, last] = pieces else { return false };
    last.text == b"-"
        && last.kind == Kind::Operator
        && matches!(before.kind, Kind::Operator | Kind::Assign | Kind::Comma | Kind::Open)
}

/// Whether the token's content is left out of the fingerprint.
fn is_literal(kind: Kind) -> bool {
    matches!(kind, Kind::String | Kind::Number | Kind::Placeholder)
}

/// Between two tokens stands one blank, except around a dot, before `,` `)` and `;`, behind `(`, and
/// before a `(` that follows a name.
fn is_blank_between(before: Piece<'_>, behind: Piece<'_>) -> bool {
    match (before.kind, behind.kind) {
        (Kind::Dot | Kind::Open, _) | (_, Kind::Dot | Kind::Comma | Kind::Close | Kind::Semicolon) => false,
        (Kind::Word, Kind::Open) => is_clause_word(before.text),
        (Kind::NameAfterDot | Kind::QuotedName, Kind::Open) => false,
        // Two-byte operators come as two tokens.
        (Kind::Operator, Kind::Operator) => !matches!(
            (before.text, behind.text),
            (b"<" | b"!" | b">" | b":", b"=")
                | (b"<" | b"=" | b"-" | b">", b">")
                | (b"<", b"<")
                | (b"|", b"|")
                | (b"&", b"&")
        ),
        (Kind::SystemVariable | Kind::UserVariable, Kind::UserVariable) => true,
        (Kind::String, Kind::UserVariable) => false,
        _ => true,
    }
}

/// Words behind which a parenthesis is no argument list.
fn is_clause_word(word: &[u8]) -> bool {
    const WORDS: [&str; 36] = [
        "all",
        "and",
        "any",
        "as",
        "between",
        "by",
        "case",
        "distinct",
        "div",
        "else",
        "except",
        "exists",
        "from",
        "having",
        "in",
        "intersect",
        "into",
        "is",
        "join",
        "key",
        "like",
        "mod",
        "not",
        "on",
        "or",
        "over",
        "select",
        "set",
        "then",
        "union",
        "using",
        "value",
        "values",
        "when",
        "where",
        "xor",
    ];
    WORDS.iter().any(|clause| word.eq_ignore_ascii_case(clause.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::scan;
    use proptest::prelude::*;

    fn normal(sql: &str) -> String {
        String::from_utf8(normal_form(sql.as_bytes(), &Dialect::default())).unwrap()
    }

    #[test]
    fn what_the_fingerprint_leaves_out_is_not_there() {
        for (sql, expected) in [
            (
                "SELECT /* c */ a,b , COUNT( * ) FROM `T` t -- end\n WHERE t . id=5 AND x IN ( 1,2, 3 )",
                "select a, b, count(*) from `T` t where t.id = ? and x in (?)",
            ),
            ("INSERT INTO t(a,b) VALUES (1,'x'),(2,'y')", "insert into t(a, b) values (?)"),
            ("select 1+2;select\t'a'", "select ? + ?; select ?"),
            (
                "SELECT a FROM t WHERE b>=1 AND c!=2 OR d<>3",
                "select a from t where b >= ? and c != ? or d <> ?",
            ),
            ("SET @a := 'x', @@sql_mode = \"\"", "set @a := ?, @@sql_mode = ?"),
            ("SELECT (1),(2)", "select (?)"),
            (
                "SELECT a FROM t WHERE a = -5 AND b IN (-1, 2, - 3)",
                "select a from t where a = ? and b in (?)",
            ),
            ("INSERT INTO t VALUES (1,-2),(-'3',4)", "insert into t values (?)"),
            (
                "SET @a := - -5, b = 1--2, c = x-3, d = (1)-4",
                "set @a := ?, b = ? - ?, c = x - ?, d = (?) - ?",
            ),
            ("", ""),
        ] {
            assert_eq!(normal(sql), expected);
            assert_eq!(normal(expected), expected, "a normal form is its own");
        }
    }

    fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
        let piece = prop::sample::select(vec![
            "a", "A", "`a`", "1", "'x'", "?", ",", "(", ")", "(", ")", ",", ".", ";", "IN", "values", "+",
            "-", "-", "@v", "f", "/*+ x */",
        ]);
        prop::collection::vec(piece, 0..16)
    }

    proptest! {
        #[test]
        fn two_texts_have_one_normal_form_exactly_if_they_have_one_fingerprint(one in pieces(), other in pieces()) {
            let dialect = Dialect::default();
            let (one, other) = (one.join(" "), other.join("\n"));
            let print = |sql: &str| scan(sql.as_bytes(), &dialect).fingerprint;
            prop_assert_eq!(normal(&one) == normal(&other), print(&one) == print(&other), "{} / {}", one, other);
        }

        #[test]
        fn a_longer_list_changes_neither(before in pieces(), behind in pieces(), n in 1_usize..5) {
            let dialect = Dialect::default();
            let print = |sql: &str| scan(sql.as_bytes(), &dialect).fingerprint;
            let text = |n: usize, item: &str| {
                format!("{} in ({}) {}", before.join(" "), vec![item; n].join(","), behind.join(" "))
            };
            for item in ["1", "-1", "(1)", "(1, -1)", "(1, 'x')", "a", "(a)", "(1 + 1)"] {
                let (one, many) = (text(1, item), text(n, item));
                prop_assert_eq!(normal(&one) == normal(&many), print(&one) == print(&many), "{} / {}", one, many);
            }
        }
    }
}
