//! Patterns that no normal form can match, as far as that can be told: what a pattern asks for word by word is
//! brought into its own normal form, and if that is another text, no normal form has it.

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use crate::routing::dialect::Dialect;
use crate::routing::normal::normal_form;

/// Pieces looked at; a pattern of more is left alone.
const MOST_PIECES: usize = 1000;

const LITERAL: &str = "what it is compared with has a ? in place of each literal";

/// What a pattern asks for at a place.
enum Piece {
    Text(Vec<u8>),
    /// One of several texts, or none; whether it takes a byte at the least.
    Gap(bool),
    Look(Look),
}

/// Why the pattern cannot match; `None` where it may, or cannot be told.
pub(super) fn why(pattern: &str) -> Option<String> {
    let mut parser = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build();
    why_not(&parser.parse(pattern).ok()?)
}

fn why_not(hir: &Hir) -> Option<String> {
    let mut pieces = Vec::new();
    let impossible = flatten(hir, &mut pieces);
    if pieces.len() >= MOST_PIECES {
        return None;
    }
    impossible.or_else(|| misplaced_anchor(&pieces)).or_else(|| {
        let mut run = Run::default();
        for piece in pieces.iter().chain([&Piece::Gap(false)]) {
            match piece {
                Piece::Text(text) => run.text.extend_from_slice(text),
                Piece::Look(_) if run.text.is_empty() => run.begins_token = true,
                Piece::Look(_) => {}
                Piece::Gap(_) => {
                    if let Some(why) = std::mem::take(&mut run).why() {
                        return Some(why);
                    }
                }
            }
        }
        None
    })
}

/// Adds the pieces of a pattern; why a part of it that must match cannot.
fn flatten(hir: &Hir, pieces: &mut Vec<Piece>) -> Option<String> {
    if pieces.len() >= MOST_PIECES {
        return None;
    }
    match hir.kind() {
        HirKind::Empty => {}
        HirKind::Literal(literal) => pieces.push(Piece::Text(literal.0.to_vec())),
        HirKind::Class(class) => pieces.push(class_piece(class)),
        HirKind::Look(look) => pieces.push(Piece::Look(*look)),
        HirKind::Capture(capture) => return flatten(&capture.sub, pieces),
        HirKind::Concat(parts) => return parts.iter().find_map(|part| flatten(part, pieces)),
        HirKind::Repetition(repetition) => return repeated(repetition, pieces),
        HirKind::Alternation(choices) => {
            let why: Option<Vec<String>> = choices.iter().map(why_not).collect();
            pieces.push(Piece::Gap(hir.properties().minimum_len() > Some(0)));
            return why.and_then(|why| why.into_iter().next());
        }
    }
    None
}

/// Digits are one number, and blanks one blank, which is all that a normal form has.
fn repeated(repetition: &Repetition, pieces: &mut Vec<Piece>) -> Option<String> {
    let Repetition { min, max, sub, .. } = repetition;
    if *min == 0 {
        pieces.push(Piece::Gap(false));
        return None;
    }
    let one = match sub.kind() {
        HirKind::Class(class) => Some(class_piece(class)).filter(|piece| matches!(piece, Piece::Text(_))),
        _ => None,
    };
    if let Some(one) = one {
        pieces.push(one);
        return None;
    }
    if (*min, *max) == (1, Some(1)) {
        return flatten(sub, pieces);
    }
    let longer = sub.properties().minimum_len() > Some(0);
    pieces.push(Piece::Gap(false));
    let why = flatten(sub, pieces);
    pieces.push(Piece::Gap(longer && *min > 1));
    why
}

fn class_piece(class: &Class) -> Piece {
    let Class::Bytes(bytes) = class else { return Piece::Gap(true) };
    let within = |set: &[u8]| bytes.ranges().iter().all(|r| (r.start()..=r.end()).all(|b| set.contains(&b)));
    let any = |byte: u8| Piece::Text(vec![byte]);
    match bytes.ranges() {
        [] => Piece::Gap(true),
        _ if within(b"0123456789") => any(b'5'),
        _ if within(b" \t\n\r\x0b\x0c") => any(b' '),
        _ => Piece::Gap(true),
    }
}

/// `^` behind something, or `$` before something.
fn misplaced_anchor(pieces: &[Piece]) -> Option<String> {
    let takes = |piece: &Piece| match piece {
        Piece::Text(text) => !text.is_empty(),
        Piece::Gap(takes) => *takes,
        Piece::Look(_) => false,
    };
    let misplaced = pieces.iter().enumerate().find_map(|(at, piece)| match piece {
        Piece::Look(Look::Start) => pieces[..at].iter().any(takes).then_some('^'),
        Piece::Look(Look::End) => pieces[at + 1..].iter().any(takes).then_some('$'),
        _ => None,
    })?;
    Some(format!(
        "{misplaced} is an end of the text and stands within it; write \\{misplaced} for the character"
    ))
}

/// Text that a pattern asks for in one piece.
#[derive(Default)]
struct Run {
    text: Vec<u8>,
    /// It does not begin within a word.
    begins_token: bool,
}

impl Run {
    fn why(self) -> Option<String> {
        if self.text.contains(&b'\'') {
            return Some(LITERAL.to_owned());
        }
        let text = std::str::from_utf8(&self.text).ok()?.to_ascii_lowercase();
        if may_be_quoted(&text) {
            return None;
        }
        if text.contains("/*") {
            return Some("what it is compared with has no comments".to_owned());
        }
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$');
        let rest = text.trim_start_matches(is_word);
        let mut whole = match rest {
            _ if self.begins_token || rest.len() == text.len() => text.clone(),
            // The end of any word, and before a blank and a parenthesis of a keyword.
            _ => format!("{}{rest}", if rest.starts_with(" (") { "in" } else { "x" }),
        };
        // What a blank at an end may stand beside.
        if whole.starts_with(' ') {
            whole.insert_str(0, "in");
        } else if whole.starts_with('.') {
            whole.insert(0, 'x');
        }
        if whole.ends_with(' ') {
            whole.push('x');
        }
        if normal(&whole) == whole {
            return None;
        }
        let (asked, has) = (text.trim(), normal(text.trim()));
        if asked == has {
            let what = "a blank, which no normal form has there";
            return Some(format!("before or behind {asked:?} it asks for {what}"));
        }
        Some(format!("what it is compared with has {has:?} for {asked:?}"))
    }
}

fn normal(text: &str) -> String {
    String::from_utf8_lossy(&normal_form(text.as_bytes(), &Dialect::default())).into_owned()
}

/// Whether the text may be, or cut through, a quoted name, a variable or a hint, which keep their bytes.
fn may_be_quoted(text: &str) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let in_name = |three: &[u8]| three[1] == b'-' && is_word(&three[0]) && is_word(&three[2]);
    !text.is_ascii()
        || text.contains(['`', '"', '@', '\\'])
        || text.contains("/*+")
        || text.contains("*/") && !text.contains("/*")
        || text.as_bytes().windows(3).any(in_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_no_normal_form_has_is_told_with_what_it_has() {
        for (pattern, expected) in [
            ("id = 5", r#"what it is compared with has "id = ?" for "id = 5""#),
            (
                r"where ID = \d+ and",
                r#"what it is compared with has "where id = ? and" for "where id = 5 and""#,
            ),
            ("limit [0-9]+$", r#"what it is compared with has "limit ?" for "limit 5""#),
            ("id=", r#"what it is compared with has "id =" for "id=""#),
            (r"/\* app \*/ select", "what it is compared with has no comments"),
            (r"/\*", "what it is compared with has no comments"),
            ("a -- b", r#"what it is compared with has "a" for "a -- b""#),
            ("select  a", r#"what it is compared with has "select a" for "select  a""#),
            ("select a,b", r#"what it is compared with has "select a, b" for "select a,b""#),
            (r"a\^b", r#"what it is compared with has "a ^ b" for "a^b""#),
            (r"id in\(\?\)", r#"what it is compared with has "id in (?)" for "id in(?)""#),
            (r"count \(", r#"what it is compared with has "count(" for "count (""#),
            (r"in \(\?, \?\)", r#"what it is compared with has "in (?)" for "in (?, ?)""#),
            (
                "(delete from t where a = 1|update t set b=2)",
                r#"what it is compared with has "delete from t where a = ?" for "delete from t where a = 1""#,
            ),
            ("name = '[^']*'", LITERAL),
            ("a^b", r"^ is an end of the text and stands within it; write \^ for the character"),
            ("a$b", r"$ is an end of the text and stands within it; write \$ for the character"),
        ] {
            let words = pattern.starts_with("count").then(|| format!(r"\b{pattern}"));
            assert_eq!(why(words.as_deref().unwrap_or(pattern)).as_deref(), Some(expected), "{pattern}");
        }
    }

    #[test]
    fn what_a_normal_form_may_have_is_left_alone() {
        for pattern in [
            "^select .* from orders where id in \\(\\?\\)$",
            "orders",
            "from t1 ",
            " t2",
            "[a-z]+_5",
            "utf8mb4",
            "(^| )a",
            "a( |$)",
            "^$",
            "",
            r"n \(",
            r"\bin \(",
            r"`a,b`",
            "my-table",
            r"@v:=",
            r"delete\s+from\s+t",
            r"from\s*t",
            "a|id = 5",
            "(id = 5)?",
            r"t\d+",
            "(?i)ORDERS",
            "^(select|with) ",
            r"a\.b",
            "a >= \\?",
            r"\(select",
            "x.*,",
            "- \\?",
            r"5 = a",
        ] {
            assert_eq!(why(pattern), None, "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn a_part_of_a_normal_form_is_never_said_to_be_in_none(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "a", "t1", "1", "'x'", "?", ",", "(", ")", ".", ";", "IN", "values", "+", "-", ">", "=", "f", "count", "<", "!",
            ]), 0..16),
            from in 0_usize..40,
            length in 0_usize..40,
        ) {
            let form = normal(&pieces.join(" "));
            prop_assume!(normal(&form) == form); // not so behind a dot with blanks
            let from = from.min(form.len());
            let part = &form[from..(from + length).min(form.len())];
            prop_assert_eq!(why(&regex::escape(part)), None, "{:?} of {:?}", part, form);
        }
    }
}
