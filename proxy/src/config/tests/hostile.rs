//! No text, whatever it is, ends in anything but a configuration or a list of problems.

use proptest::prelude::*;

use super::super::problem::PROBLEMS_KEPT;
use super::super::{Config, ConfigErrors, reference};
use super::no_env;

/// A list of problems is never empty, never too long, and one line each.
fn answers(text: &str) {
    match Config::parse(text, no_env) {
        Ok(config) => {
            assert!(config.primary().is_some() && !config.users.is_empty() && !config.listen.is_empty());
        }
        Err(errors) => {
            let shown = errors.to_string();
            let ConfigErrors::Problems { problems, more, .. } = errors else { panic!("{shown}") };
            assert!(!problems.is_empty() && problems.len() <= PROBLEMS_KEPT);
            assert_eq!(shown.lines().count(), problems.len() + usize::from(more > 0), "{shown}");
            let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
            assert!(
                problems.iter().all(|problem| problem.line.is_none_or(|line| (1..=lines).contains(&line)))
            );
        }
    }
}

/// The reference with a stretch of its bytes taken out, and something put in its place.
fn mutated(at: usize, removed: usize, inserted: &str) -> String {
    let text = reference().into_bytes();
    let at = at % text.len();
    let end = (at + removed).min(text.len());
    let bytes = [&text[..at], inserted.as_bytes(), &text[end..]].concat();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Pieces of TOML in any order: closer to the grammar's corners than random characters.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "[[servers]]",
        "[servers]",
        "[tls.client]",
        "[tls]",
        "[[users]]",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "'''",
        "\"\"\"",
        "=",
        " = ",
        ".",
        ",",
        "\n",
        "\r\n",
        "\r",
        "#",
        "name",
        "role",
        "address",
        "password",
        "listen",
        "workers",
        "\"a:1\"",
        "\"primary\"",
        "\"file:\"",
        "\"env:\"",
        "-1",
        "0x",
        "1e9",
        "nan",
        "1979-05-27",
        "true",
        "\\u0000",
        "\0",
        "é",
        "[]",
        "99999999999999999999999999999999999999999",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_gets_an_answer(text in any::<String>()) {
        answers(&text);
    }

    #[test]
    fn any_pieces_of_toml_get_an_answer(text in pieces()) {
        answers(&text);
    }

    #[test]
    fn a_file_damaged_anywhere_gets_an_answer(at in any::<usize>(), removed in 0..40_usize, inserted in pieces()) {
        answers(&mutated(at, removed, &inserted));
        answers(&mutated(at, removed, ""));
    }

    #[test]
    fn any_bytes_on_disk_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        prop_assert!(Config::load(file.path()).is_err());
    }
}

#[test]
fn a_file_of_a_megabyte_gets_an_answer() {
    const SIZE: usize = 1 << 20;
    for piece in [
        "a",
        "[",
        "{a=",
        "a.",
        "a=1\n",
        "[[servers]]\n",
        "\"",
        "[a]\n",
        "#\n",
        "\n",
        "x = [\n",
        "[[servers]]\nname=\"a\"\n",
    ] {
        answers(&piece.repeat(SIZE / piece.len()));
    }
    let distinct: String = (0..SIZE / 20).map(|number| format!("max_conections{number} = 1\n")).collect();
    answers(&distinct);
    answers(&format!("{} = 1", "k".repeat(SIZE)));
    answers(&format!("listen = [{}]", "\"127.0.0.1:1\",".repeat(SIZE / 14)));
    answers(&format!("listen = {}", "[".repeat(SIZE)));
}

#[test]
fn problems_beyond_those_kept_are_counted() {
    let text: String = (0..PROBLEMS_KEPT + 50).map(|number| format!("k{number} = 1\n")).collect();
    let shown = Config::parse(&text, no_env).unwrap_err().to_string();
    assert!(shown.ends_with("telamon.toml: and 52 more problems"), "{shown}");
}
