//! User variables whose values can be named: `SET @a = 5, @b = 'x'` and nothing else.

use super::dialect::Dialect;
use super::lex::{Kind, Lexer, Token};

/// The name of a user variable, in lower case, and the text of its value.
pub type UserVariable = (Box<[u8]>, Box<[u8]>);

/// The assignments of a SET that sets user variables to literals, and does nothing else; `None` for any other text.
///
/// The literals mean the same under every sql_mode: numbers, NULL, TRUE, FALSE, and strings in single quotes of
/// printable ASCII without quotes and backslashes in them.
#[must_use]
pub fn literal_user_variables(sql: &[u8], dialect: &Dialect) -> Option<Vec<UserVariable>> {
    let mut lexer = Lexer::new(sql, dialect);
    let mut found = Vec::new();
    let set = lexer.next_token()?;
    if set.kind != Kind::Word || !set.text.eq_ignore_ascii_case(b"SET") {
        return None;
    }
    loop {
        let name = lexer.next_token()?;
        let equals = lexer.next_token()?;
        if !is_plain_name(&name) || !(equals.kind == Kind::Assign || equals.text == b"=") {
            return None;
        }
        let mut value = Vec::new();
        let mut token = lexer.next_token()?;
        if token.text == b"-" {
            value.push(b'-');
            token = lexer.next_token()?;
            if token.kind != Kind::Number {
                return None;
            }
        }
        if !is_literal(&token) {
            return None;
        }
        value.extend_from_slice(token.text);
        found.push((name.text.to_ascii_lowercase().into(), value.into()));
        match lexer.next_token() {
            None => return Some(found),
            Some(Token { kind: Kind::Comma, .. }) => {}
            Some(Token { kind: Kind::Semicolon, .. }) => {
                return lexer.next_token().is_none().then_some(found);
            }
            Some(_) => return None,
        }
    }
}

fn is_plain_name(token: &Token<'_>) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    token.kind == Kind::UserVariable && token.text.len() > 1 && token.text[1..].iter().all(is_word)
}

fn is_literal(token: &Token<'_>) -> bool {
    match token.kind {
        Kind::Number => token.text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.'),
        Kind::Word => ["NULL", "TRUE", "FALSE"].iter().any(|w| token.text.eq_ignore_ascii_case(w.as_bytes())),
        Kind::String => {
            let inner = token.text.strip_prefix(b"'").and_then(|text| text.strip_suffix(b"'"));
            let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'\'' | b'\\');
            inner.is_some_and(|inner| inner.iter().all(is_plain))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(sql: &str) -> Option<Vec<(String, String)>> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let pairs = literal_user_variables(sql.as_bytes(), &Dialect::default())?;
        Some(pairs.iter().map(|(name, value)| (text(name), text(value))).collect())
    }

    #[test]
    fn literals_can_be_named() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            named("SET @A = 5, @b:='x y', @c=-1.50 ;"),
            Some(vec![pair("@a", "5"), pair("@b", "'x y'"), pair("@c", "-1.50")])
        );
        assert_eq!(named("/* x */ set @n = NULL"), Some(vec![pair("@n", "NULL")]));
    }

    #[test]
    fn what_is_no_literal_or_means_something_else_elsewhere_cannot() {
        for sql in [
            "SET @a = 1+1",
            "SET @a = @b",
            "SET @a = (SELECT 1)",
            "SET @a = 'it''s'",
            "SET @a = 'x' 'y'",
            r"SET @a = '\n'",
            "SET @a = \"x\"",
            "SET @a = _utf8'x'",
            "SET @a = 5, sql_mode = ''",
            "SET @a = 5; SELECT 1",
            "SET @`a b` = 5",
            "SET @a = 5 COLLATE x",
            "SET @a = 'ä'",
            "SELECT @a := 5",
            "SET",
        ] {
            assert_eq!(named(sql), None, "{sql}");
        }
    }
}
