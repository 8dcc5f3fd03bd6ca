//! A second hand that cuts SQL into tokens, simple on purpose: it shares no code with the router's lexer, so that the
//! same mistake is not made twice.

use telamon::routing::{ClientCharset, Dialect};

/// What matters of a token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A keyword, name or number, in upper case.
    Word(Vec<u8>),
    /// A string or a quoted name.
    Quoted,
    /// `:=`
    Assign,
    /// Any other byte.
    Symbol(u8),
}

impl Token {
    /// Whether it is this word, given in upper case.
    pub(crate) fn is(&self, word: &str) -> bool {
        matches!(self, Token::Word(text) if text == word.as_bytes())
    }
}

/// Why a text could not be cut.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It has an executable comment, whose meaning hangs on the server's version.
    Executable,
    /// A string, quoted name or comment in it does not end.
    Open,
}

/// Cuts a text; comments and blanks are left out.
pub(crate) fn tokens(sql: &[u8], dialect: &Dialect) -> Result<Vec<Token>, Unread> {
    if dialect.charset != ClientCharset::Utf8 && !sql.is_ascii() {
        return Err(Unread::Executable);
    }
    let mut tokens = Vec::new();
    let mut rest = sql;
    while let [first, behind @ ..] = rest {
        rest = match rest {
            [b'/', b'*', b'!' | b'M', ..] => return Err(Unread::Executable),
            [b'/', b'*', body @ ..] => behind_first(body, b"*/").ok_or(Unread::Open)?,
            [b'#', ..] | [b'-', b'-'] => behind_first(rest, b"\n").unwrap_or_default(),
            [b'-', b'-', byte, ..] if *byte <= b' ' || *byte == 0x7f => {
                behind_first(rest, b"\n").unwrap_or_default()
            }
            [b'\'' | b'"' | b'`', ..] => {
                tokens.push(Token::Quoted);
                let name = *first == b'`' || *first == b'"' && dialect.ansi_quotes;
                behind_quoted(behind, *first, !name && !dialect.no_backslash_escapes)?
            }
            [b':', b'=', after @ ..] => {
                tokens.push(Token::Assign);
                after
            }
            _ if is_word(*first) => {
                let length = rest.iter().take_while(|byte| is_word(**byte)).count();
                tokens.push(Token::Word(rest[..length].to_ascii_uppercase()));
                &rest[length..]
            }
            _ => {
                if !matches!(first, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) {
                    tokens.push(Token::Symbol(*first));
                }
                behind
            }
        };
    }
    Ok(tokens)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

fn behind_first<'a>(text: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(end.len()).position(|part| part == end)?;
    Some(&text[at + end.len()..])
}

fn behind_quoted(mut rest: &[u8], quote: u8, escapes: bool) -> Result<&[u8], Unread> {
    loop {
        rest = match rest {
            [] => return Err(Unread::Open),
            [b'\\', _, after @ ..] if escapes => after,
            [byte, next, after @ ..] if *byte == quote && *next == quote => after,
            [byte, after @ ..] if *byte == quote => return Ok(after),
            [_, after @ ..] => after,
        }
    }
}
