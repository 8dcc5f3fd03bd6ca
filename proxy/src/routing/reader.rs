//! A window on the token stream: the token before, this one and the next, statement by statement.

use super::dialect::Dialect;
use super::functions::upper_case;
use super::lex::{Kind, Lexer, Token};

/// Reads tokens in order. Optimizer hints are blanks to it.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    lexer: Lexer<'a>,
    pub(super) dialect: Dialect,
    pub(super) before_last: Option<Token<'a>>,
    pub(super) last: Option<Token<'a>>,
    pub(super) this: Option<Token<'a>>,
    pub(super) next: Option<Token<'a>>,
    /// Parentheses open before this token.
    pub(super) depth: usize,
    pub(super) shape: Shape,
}

/// How large a tree a parser would build of the text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shape {
    pub(super) tokens: usize,
    /// Tokens that may put one tree level on another without a parenthesis.
    pub(super) operators: usize,
    pub(super) deepest: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(sql: &'a [u8], dialect: &Dialect) -> Self {
        let mut reader = Self {
            lexer: Lexer::new(sql, dialect),
            dialect: *dialect,
            before_last: None,
            last: None,
            this: None,
            next: None,
            depth: 0,
            shape: Shape::default(),
        };
        reader.next = reader.pull();
        reader.bump();
        reader
    }

    fn pull(&mut self) -> Option<Token<'a>> {
        loop {
            let token = self.lexer.next_token()?;
            if token.kind != Kind::OptimizerHint {
                return Some(token);
            }
        }
    }

    /// Goes one token on.
    pub(super) fn bump(&mut self) {
        match self.this.map(|token| token.kind) {
            Some(Kind::Open) => {
                self.depth += 1;
                self.shape.deepest = self.shape.deepest.max(self.depth);
            }
            Some(Kind::Close) => self.depth = self.depth.saturating_sub(1),
            Some(Kind::Semicolon) => self.depth = 0,
            _ => {}
        }
        self.before_last = self.last;
        self.last = self.this;
        self.this = self.next;
        self.next = self.pull();
        if let Some(token) = self.this {
            self.shape.tokens += 1;
            self.shape.operators += usize::from(nests(&token));
        }
    }

    /// The tokens behind `next`, without going on.
    pub(super) fn ahead(&self) -> impl Iterator<Item = Token<'a>> + use<'a> {
        let mut lexer = self.lexer.clone();
        std::iter::from_fn(move || lexer.next_token()).filter(|token| token.kind != Kind::OptimizerHint)
    }

    pub(super) fn met_executable_comment(&self) -> bool {
        self.lexer.met_executable_comment()
    }

    /// Whether the statement ends here: at a `;` or the end of the text.
    pub(super) fn at_end(&self) -> bool {
        self.this.is_none_or(|token| token.kind == Kind::Semicolon)
    }

    pub(super) fn at(&self, kind: Kind) -> bool {
        self.this.is_some_and(|token| token.kind == kind)
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        is_word(self.this.as_ref(), word)
    }

    pub(super) fn at_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.at_word(word))
    }

    pub(super) fn at_operator(&self, operator: u8) -> bool {
        self.this.is_some_and(|token| token.kind == Kind::Operator && token.text == [operator])
    }

    pub(super) fn next_is(&self, kind: Kind) -> bool {
        self.next.is_some_and(|token| token.kind == kind)
    }

    pub(super) fn next_is_word(&self, word: &str) -> bool {
        is_word(self.next.as_ref(), word)
    }

    pub(super) fn last_is(&self, kind: Kind) -> bool {
        self.last.is_some_and(|token| token.kind == kind)
    }

    pub(super) fn last_is_word(&self, word: &str) -> bool {
        is_word(self.last.as_ref(), word)
    }

    /// Goes past the word if it stands here.
    pub(super) fn accept(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// Goes past any of the words, as many as stand here.
    pub(super) fn accept_all(&mut self, words: &[&str]) {
        while self.at_any(words) {
            self.bump();
        }
    }

    /// This token as an upper-case keyword; empty for anything else.
    pub(super) fn keyword<'b>(&self, buffer: &'b mut [u8; 32]) -> &'b str {
        match self.this {
            Some(token) if token.kind == Kind::Word => upper_case(token.text, buffer).unwrap_or_default(),
            _ => "",
        }
    }

    /// Whether this token may be a name.
    pub(super) fn at_name(&self) -> bool {
        self.this
            .is_some_and(|token| matches!(token.kind, Kind::Word | Kind::QuotedName | Kind::NameAfterDot))
    }
}

pub(super) fn is_word(token: Option<&Token<'_>>, word: &str) -> bool {
    token.is_some_and(|token| token.kind == Kind::Word && token.text.eq_ignore_ascii_case(word.as_bytes()))
}

/// A name without its quotes. A doubled quote inside is left as it is: no name looked for has one.
pub(super) fn unquoted(text: &[u8]) -> &[u8] {
    match text {
        [b'`', inner @ .., b'`'] | [b'"', inner @ .., b'"'] | [b'\'', inner @ .., b'\''] => inner,
        _ => text,
    }
}

/// Whether a parser may wrap what stands before the token into a new tree level.
fn nests(token: &Token<'_>) -> bool {
    match token.kind {
        Kind::Operator | Kind::Assign => true,
        Kind::Word => {
            let mut buffer = [0; 32];
            matches!(
                upper_case(token.text, &mut buffer).unwrap_or_default(),
                "AND"
                    | "OR"
                    | "XOR"
                    | "DIV"
                    | "MOD"
                    | "OVERLAPS"
                    | "IS"
                    | "AT"
                    | "NOT"
                    | "IN"
                    | "BETWEEN"
                    | "LIKE"
                    | "ILIKE"
                    | "SIMILAR"
                    | "REGEXP"
                    | "RLIKE"
                    | "NOTNULL"
                    | "ISNULL"
                    | "MEMBER"
                    | "COLLATE"
                    | "UNION"
                    | "EXCEPT"
                    | "INTERSECT"
                    | "MINUS"
                    | "CASE"
                    | "INTERVAL"
                    | "PIVOT"
                    | "UNPIVOT"
                    | "MATCH_RECOGNIZE"
                    | "JOIN"
                    | "BINARY"
                    | "PRIOR"
            )
        }
        _ => false,
    }
}
