//! One explained statement, for people and for programs.

use std::io::{self, Write};

use serde::Serialize;

use super::Explained;
use super::meaning::meaning;
use crate::routing::normal_form;

/// Bytes of a statement that are shown to people.
const SHOWN: usize = 400;

/// One object a line, with exactly these keys.
#[derive(Serialize)]
struct Object<'a> {
    sql: &'a str,
    target: &'a str,
    class: &'a str,
    reason: &'a str,
    rule: Option<&'a str>,
    effects: Vec<&'a str>,
    fingerprint: Option<String>,
    normal_form: Option<&'a str>,
}

/// The fingerprint as rules name it, and the normal form; of a text too long to be worth it, none.
fn print(explained: &Explained<'_>) -> Option<(String, Vec<u8>)> {
    let short = explained.sql.len() <= 1 << 20;
    let print = || format!("{:016x}", explained.class.fingerprint);
    short.then(|| (print(), normal_form(explained.sql, &explained.dialect)))
}

/// Writes the statement as one line of JSON. Bytes that are not UTF-8 become U+FFFD.
pub(super) fn json(explained: &Explained<'_>, out: &mut impl Write) -> io::Result<()> {
    let (fingerprint, form) = print(explained).unzip();
    let form = form.as_deref().map(String::from_utf8_lossy);
    let object = Object {
        sql: &String::from_utf8_lossy(explained.sql),
        target: explained.route.target.as_str(),
        class: explained.class.kind.as_str(),
        reason: explained.route.reason.as_str(),
        rule: explained.rule,
        effects: explained.class.effects.names().collect(),
        fingerprint,
        normal_form: form.as_deref(),
    };
    serde_json::to_writer(&mut *out, &object)?;
    out.write_all(b"\n")
}

/// Writes the statement as a paragraph, behind an empty line where it is not the `first`.
pub(super) fn text(explained: &Explained<'_>, first: bool, out: &mut impl Write) -> io::Result<()> {
    let Explained { sql, class, route, .. } = explained;
    let rule = match (explained.rule, explained.matching_rule) {
        (Some(name), _) => name.to_owned(),
        (None, Some(name)) if route.rule_ignored => {
            format!("- ({name} matches, but the statement may not go where it wishes)")
        }
        (None, Some(name)) => format!("- ({name} matches, but did not decide)"),
        (None, None) => "-".to_owned(),
    };
    let effects: Vec<_> = class.effects.names().collect();
    let effects = if effects.is_empty() { "-".to_owned() } else { effects.join(", ") };
    writeln!(out, "{}{}", if first { "" } else { "\n" }, shown(sql, SHOWN))?;
    writeln!(out, "  target       {}", route.target)?;
    writeln!(out, "  class        {}", class.kind)?;
    writeln!(out, "  reason       {}: {}", route.reason, meaning(route.reason))?;
    if route.hint_ignored {
        writeln!(out, "  hint         ignored, for no replica may run the statement")?;
    }
    writeln!(out, "  rule         {rule}")?;
    writeln!(out, "  effects      {effects}")?;
    if let Some((fingerprint, form)) = print(explained) {
        writeln!(out, "  fingerprint  {fingerprint}")?;
        writeln!(out, "  normal form  {}", shown(&form, SHOWN))?;
    }
    Ok(())
}

/// Bytes as a terminal may have them: runs of blanks as one, what it could take for a command or not show
/// as an escape, and no more than `most` bytes.
pub(super) fn shown(bytes: &[u8], most: usize) -> String {
    let mut text = String::new();
    let cut = bytes.len() > most;
    for chunk in bytes[..bytes.len().min(most)].utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                ' ' | '\t' | '\n' | '\r' if text.ends_with(' ') || text.is_empty() => {}
                ' ' | '\t' | '\n' | '\r' => text.push(' '),
                _ if letter.is_control() || is_invisible(letter) => text.extend(letter.escape_unicode()),
                _ => text.push(letter),
            }
        }
        for byte in chunk.invalid() {
            // A character that the cut went through is no strange byte.
            if !(cut && chunk.invalid().len() < 4 && text.len() + 8 > most) {
                text.push_str(&format!("\\x{byte:02x}"));
            }
        }
    }
    text.truncate(text.trim_end_matches(' ').len());
    if cut {
        text.push_str(&format!("… ({} bytes)", bytes.len()));
    }
    text
}

/// Characters that change how the rest of a line is shown, or are not shown themselves.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_so_that_a_terminal_takes_none_for_a_command() {
        for (bytes, expected) in [
            (&b"SELECT\n\t 1"[..], "SELECT 1"),
            (b"a\x1b[31m\0", "a\\u{1b}[31m\\u{0}"),
            ("ä\u{202e}x\u{9b}".as_bytes(), "ä\\u{202e}x\\u{9b}"),
            (b"\xff\xfe'", "\\xff\\xfe'"),
            (b"0123456789abc", "0123456789… (13 bytes)"),
            (b"  ", ""),
        ] {
            assert_eq!(
                shown(bytes, 10).replace("… (12 bytes)", ""),
                expected.replace("… (12 bytes)", ""),
                "{bytes:?}"
            );
        }
    }
}
