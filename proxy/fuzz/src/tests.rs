//! The corpus holds what is demanded of every text, and each demand sees what breaks it.

use super::*;

static CORPUS: &str = include_str!("../../testdata/corpus.tsv");

fn texts() -> impl Iterator<Item = String> {
    CORPUS.lines().filter_map(|line| line.split('\t').nth(3)).map(|sql| sql.replace("{LF}", "\n"))
}

#[test]
fn every_text_of_the_corpus_holds_in_every_dialect() {
    let mut texts_seen = 0;
    for sql in texts() {
        for choice in [0, 1, 2, 3, 4, 8, 16, 33, 64, 128, 192] {
            check(&[&[choice], sql.as_bytes()].concat());
        }
        texts_seen += 1;
    }
    assert!(texts_seen > 600);
}

#[test]
fn a_text_cut_anywhere_holds() {
    for sql in texts().step_by(7) {
        for end in (0..sql.len()).step_by(5) {
            check(&[b"\0", &sql.as_bytes()[..end]].concat());
            check(&[b"\x01", &sql.as_bytes()[end..]].concat());
        }
    }
}

#[test]
fn what_no_read_may_have_is_seen_outside_strings_names_and_comments() {
    let complains = |sql: &str| {
        let dialect = Dialect::default();
        std::panic::catch_unwind(|| check_read(sql.as_bytes(), &dialect)).is_err()
    };
    for bad in [
        "SELECT 1 FROM t FOR /* x */ UPDATE",
        "(SELECT 1 FROM t LOCK\nIN SHARE MODE)",
        "SELECT 1 INTO @a",
        "SELECT @a := 1",
        "SELECT evil (1)",
        "SELECT 1; DELETE FROM t",
        "(UPDATE t SET a = 1)",
        "SELECT 'a",
    ] {
        assert!(complains(bad), "{bad}");
    }
    for good in [
        "SELECT 'FOR UPDATE', `INTO` -- FOR UPDATE\n, t.into /* := */",
        "WITH evil (a) AS (SELECT 1) SELECT a FROM evil",
        "SELECT 'it''s \\' FOR UPDATE'",
        "SELECT 1 /*!99999 FOR UPDATE */",
    ] {
        assert!(!complains(good), "{good}");
    }
}

#[test]
fn another_class_is_told_apart() {
    let dialect = Dialect::default();
    let (read, write) = (classify(b"SELECT 1", &dialect), classify(b"DELETE FROM t", &dialect));
    assert!(std::panic::catch_unwind(|| compare(&read, &write, "differs")).is_err());
    compare(&read, &classify(b"select  2", &dialect), "differs");
}
