//! The words of a statement. A small lexer: the bench's own statements, no sql_mode, no executable comments.

/// One lexical element.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token<'a> {
    /// A keyword or name, in lower case, without backticks.
    Word(&'a str),
    /// `@@session.name` without scope and signs, in lower case.
    Variable(&'a str),
    /// An integer.
    Number(i64),
    /// A string without its quotes.
    Text(String),
    /// `?`
    Placeholder,
    /// Any other character.
    Symbol(char),
}

/// Splits `original` into tokens; `lower` is the same text in ASCII lower case, byte for byte as long.
pub(crate) fn tokens<'a>(original: &str, lower: &'a str) -> Vec<Token<'a>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = lower[at..].chars().next() {
        let rest = &lower[at..];
        at += match first {
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '#' => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("-- ") => rest.find('\n').unwrap_or(rest.len()),
            '\'' | '"' => {
                let (text, length) = string(&original[at..], first);
                found.push(Token::Text(text));
                length
            }
            '`' => {
                let name = rest[1..].split('`').next().unwrap_or_default();
                found.push(Token::Word(name));
                (name.len() + 2).min(rest.len())
            }
            '@' if rest.starts_with("@@") => {
                let length = 2 + word_length(&rest[2..], |c| c == '.');
                let name = &rest[2..length];
                found.push(Token::Variable(name.rsplit('.').next().unwrap_or(name)));
                length
            }
            '0'..='9' => {
                let length = word_length(rest, |_| false);
                found.push(rest[..length].parse().map_or(Token::Word(&rest[..length]), Token::Number));
                length
            }
            'a'..='z' | '_' => {
                let length = word_length(rest, |_| false);
                found.push(Token::Word(&rest[..length]));
                length
            }
            '?' => {
                found.push(Token::Placeholder);
                1
            }
            _ => {
                if !first.is_whitespace() {
                    found.push(Token::Symbol(first));
                }
                first.len_utf8()
            }
        };
    }
    while found.last() == Some(&Token::Symbol(';')) {
        found.pop();
    }
    found
}

fn word_length(text: &str, also: impl Fn(char) -> bool) -> usize {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || also(c);
    text.find(|c| !inside(c)).unwrap_or(text.len())
}

/// The string that `text` begins with, and how many bytes it takes with its quotes.
fn string(text: &str, quote: char) -> (String, usize) {
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            value.extend(characters.next().map(|(_, escaped)| escaped));
        } else if character != quote {
            value.push(character);
        } else if characters.peek().is_some_and(|(_, next)| *next == quote) {
            value.push(quote);
            characters.next();
        } else {
            return (value, at + 1);
        }
    }
    (value, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_split_into_its_words() {
        let text = "SELECT c, @@Session.SQL_mode FROM `Sbtest1` /* hint */ WHERE id=? AND k = -7 OR c='It''s \\'so\\''; ";
        let lower = text.to_ascii_lowercase();
        use Token::{Number, Placeholder, Symbol, Text, Variable, Word};
        let expected = [
            Word("select"),
            Word("c"),
            Symbol(','),
            Variable("sql_mode"),
            Word("from"),
            Word("sbtest1"),
            Word("where"),
            Word("id"),
            Symbol('='),
            Placeholder,
            Word("and"),
            Word("k"),
            Symbol('='),
            Symbol('-'),
            Number(7),
            Word("or"),
            Word("c"),
            Symbol('='),
            Text("It's 'so'".into()),
        ];
        assert_eq!(tokens(text, &lower), expected);
    }

    #[test]
    fn unfinished_text_ends_where_the_statement_ends() {
        for text in ["select 'abc", "select `abc", "/* abc", "select @@", "# x", "'\\"] {
            tokens(text, &text.to_ascii_lowercase());
        }
    }
}
