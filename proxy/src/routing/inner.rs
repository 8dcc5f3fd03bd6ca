//! Statements inside strings: PREPARE … FROM '…' and MariaDB's EXECUTE IMMEDIATE '…'.

use super::dialect::Dialect;
use super::lex::{Kind, Token};
use super::reader::{Reader, is_word};

/// What stands behind PREPARE … FROM or EXECUTE IMMEDIATE.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    /// A string literal and nothing else, quotes included.
    Literal(&'a [u8]),
    /// A variable or an expression, of which only the server knows the text.
    Built,
}

/// The source that the reader stands before: at the FROM of PREPARE, or at the EXECUTE of EXECUTE IMMEDIATE.
pub(super) fn source<'a>(reader: &Reader<'a>) -> Option<Source<'a>> {
    let mut behind = if reader.at_word("EXECUTE") && reader.next_is_word("IMMEDIATE") {
        None.into_iter().chain(reader.ahead())
    } else if reader.at_word("FROM") && is_word(reader.before_last.as_ref(), "PREPARE") {
        reader.next.into_iter().chain(reader.ahead())
    } else {
        return None;
    };
    let literal = behind.next().filter(|token| token.kind == Kind::String);
    let ends = |token: Token<'_>| {
        token.kind == Kind::Semicolon || is_word(Some(&token), "USING") || is_word(Some(&token), "INTO")
    };
    Some(match literal {
        Some(literal) if behind.next().is_none_or(ends) => Source::Literal(literal.text),
        _ => Source::Built,
    })
}

/// The texts of all literals of a text in which a statement stands.
pub(super) fn texts(sql: &[u8], dialect: &Dialect) -> Vec<Vec<u8>> {
    let mut reader = Reader::new(sql, dialect);
    let mut texts = Vec::new();
    while reader.this.is_some() {
        if let Some(Source::Literal(literal)) = source(&reader) {
            texts.push(content(literal, dialect));
        }
        reader.bump();
    }
    texts
}

/// Whether the text is one PREPARE or EXECUTE IMMEDIATE and nothing else, so that what its literal says is all
/// that it does.
pub(super) fn is_alone(sql: &[u8], dialect: &Dialect) -> bool {
    let mut reader = Reader::new(sql, dialect);
    let heads = reader.at_any(&["PREPARE", "EXECUTE"]);
    while !reader.at_end() {
        reader.bump();
    }
    heads && reader.next.is_none()
}

/// The content of a string literal.
pub(super) fn content(literal: &[u8], dialect: &Dialect) -> Vec<u8> {
    let mut content = Vec::with_capacity(literal.len());
    let Some((&quote, rest)) = literal.split_first() else { return content };
    let mut bytes = rest.strip_suffix(&[quote]).unwrap_or(rest).iter().copied();
    while let Some(byte) = bytes.next() {
        let plain = if byte == b'\\' && !dialect.no_backslash_escapes {
            match bytes.next() {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(b'0') => 0,
                Some(other) => other,
                None => byte,
            }
        } else {
            if byte == quote {
                bytes.next();
            }
            byte
        };
        content.push(plain);
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sql: &str) -> Vec<String> {
        let texts = texts(sql.as_bytes(), &Dialect::default());
        texts.into_iter().map(|text| String::from_utf8(text).unwrap()).collect()
    }

    #[test]
    fn only_the_strings_that_are_statements_are_taken_for_such() {
        assert_eq!(found(r"PREPARE s FROM 'SELECT \'a\', ''b'''"), ["SELECT 'a', 'b'"]);
        assert_eq!(found("EXECUTE IMMEDIATE \"DO 1\" USING 'x'; SELECT 'y'"), ["DO 1"]);
        for sql in
            ["SELECT 'a'", "PREPARE s FROM @a", "EXECUTE IMMEDIATE CONCAT('DO 1')", "EXECUTE s USING 'a'"]
        {
            assert!(found(sql).is_empty(), "{sql}");
        }
    }

    #[test]
    fn a_text_with_another_statement_is_not_alone() {
        let alone = |sql: &str| is_alone(sql.as_bytes(), &Dialect::default());
        assert!(alone("PREPARE s FROM 'SELECT 1'") && alone("EXECUTE IMMEDIATE 'DO 1';"));
        for sql in [
            "PREPARE s FROM 'DO 1'; DO 2",
            "DO 2; PREPARE s FROM 'DO 1'",
            "BEGIN NOT ATOMIC PREPARE s FROM 'DO 1'; END",
        ] {
            assert!(!alone(sql), "{sql}");
        }
    }
}
