//! A rule's regular expression: linear in the text whatever it is, over bytes, without regard to case.

use super::never;
use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// What one pattern, and a set of them, may take when compiled, in bytes.
const SIZE_LIMIT: usize = 1 << 20;
const SET_SIZE_LIMIT: usize = 1 << 30;

/// A pattern that was compiled. Equal to another of the same text.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl std::str::FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match compile(text) {
            Ok(regex) => Ok(Self { text: text.to_owned(), regex }),
            Err(regex::Error::CompiledTooBig(_)) => Err("takes too much memory; make it simpler".to_owned()),
            // The parser's message shows the place over several lines; the last one says what is wrong.
            Err(error) => {
                let message = error.to_string();
                let last = message.lines().last().unwrap_or_default();
                Err(format!("no regular expression: {}", last.trim_start_matches("error: ")))
            }
        }
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Pattern {
    /// The plain text that the pattern matches anywhere, if it is nothing but that.
    pub(super) fn literal(&self) -> Option<String> {
        let mut literal = String::new();
        let mut letters = self.text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => literal.push(letters.next().filter(char::is_ascii_punctuation)?),
                '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => return None,
                _ => literal.push(letter),
            }
        }
        Some(literal)
    }

    /// Whether all that `other` matches is known to be matched by this one too.
    pub(super) fn is_wider(&self, other: &Self) -> bool {
        // A match within the literal stays one within any text around it, unless the pattern looks at that.
        let looks_around = self.text.contains(['^', '$', '\\', '(']);
        let matches = |literal: String| self.regex.is_match(literal.as_bytes());
        self == other || !looks_around && other.literal().is_some_and(matches)
    }

    /// Why no normal form can match it, where that is known.
    pub fn why_never(&self) -> Option<String> {
        never::why(&self.text)
    }
}

// Unicode classes would not match text that is not UTF-8; what a pattern writes in UTF-8 matches its bytes.
fn compile(text: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text)
        .case_insensitive(true)
        .dot_matches_new_line(true)
        .unicode(false)
        .size_limit(SIZE_LIMIT)
        .build()
}

/// One machine for all patterns.
pub(super) fn set<'a>(patterns: impl Iterator<Item = &'a Pattern>) -> Result<RegexSet, regex::Error> {
    RegexSetBuilder::new(patterns.map(|pattern| &pattern.text))
        .case_insensitive(true)
        .dot_matches_new_line(true)
        .unicode(false)
        .size_limit(SET_SIZE_LIMIT)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        text.parse().unwrap()
    }

    #[test]
    fn a_wrong_pattern_is_explained_in_one_line() {
        for (wrong, word) in [
            ("a(", "unclosed group"),
            ("*", "repetition"),
            ("\\p{Greek}", "Unicode"),
            ("((a{999}){999}){9}", "memory"),
        ] {
            let why = wrong.parse::<Pattern>().unwrap_err();
            assert!(why.contains(word) && !why.contains('\n'), "{wrong}: {why}");
        }
    }

    #[test]
    fn what_another_pattern_matches_already_is_seen_where_it_can_be_proved() {
        for (wide, narrow) in [
            ("orders", "orders"),
            ("orders", "from ORDERS"),
            ("from .*ers", "select a from orders"),
            ("^a", "^a"),
        ] {
            assert!(pattern(wide).is_wider(&pattern(narrow)), "{wide} {narrow}");
        }
        for (wide, narrow) in
            [("from orders", "orders"), ("^orders", "orders"), ("orders", "order."), ("a\\b", "a b")]
        {
            assert!(!pattern(wide).is_wider(&pattern(narrow)), "{wide} {narrow}");
        }
        assert_eq!(pattern(r"count\(\*\)").literal().as_deref(), Some("count(*)"));
        assert_eq!(pattern(r"\d").literal(), None);
    }
}
