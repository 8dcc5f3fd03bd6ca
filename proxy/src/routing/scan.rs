//! One pass over a statement's bytes: the hint of its leading comment, and two hashes of its tokens.
//!
//! The fingerprint is the public one: literals count as one mark, lists of them as one, unquoted words
//! without case, blanks and comments not at all. The key is the cache's own: the same tokens under a
//! secret seed, with what else can change the class: blanks before a parenthesis (`COUNT (`), the value
//! given to autocommit, the number of a KILL, the exact schema of a USE.

mod hasher;

use super::dialect::Dialect;
use super::lex::{Lexer, is_blank, starts_line_comment};
use hasher::Hasher;

/// What the leading comment asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hint {
    /// `/*master*/`, `/*primary*/`.
    Primary,
    /// `/*slave*/`, `/*replica*/`.
    Replica,
}

/// What the pass finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    /// See [`super::StatementClass::fingerprint`].
    pub fingerprint: u64,
    /// The hint, from the text's leading comments.
    pub hint: Option<Hint>,
    /// The keyed hash; equal for texts of equal class.
    pub(super) key: u64,
}

/// Scans a statement. Linear in its length; allocates nothing.
#[must_use]
pub fn scan(sql: &[u8], dialect: &Dialect) -> Scan {
    scan_with_seed(sql, dialect, 0)
}

pub(super) fn scan_with_seed(sql: &[u8], dialect: &Dialect, seed: u64) -> Scan {
    let mut lexer = Lexer::new(sql, dialect);
    let mut hasher = Hasher::new(seed, dialect.bits());
    while let Some(token) = lexer.next_token() {
        hasher.token(&token, sql);
    }
    Scan { fingerprint: hasher.fingerprint(), hint: leading_hint(sql), key: hasher.key() }
}

/// The hint among the comments that stand before anything else.
pub(super) fn leading_hint(sql: &[u8]) -> Option<Hint> {
    let mut rest = sql;
    loop {
        let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
        rest = &rest[blanks..];
        if starts_line_comment(rest) {
            let line = rest.iter().position(|byte| *byte == b'\n')?;
            rest = &rest[line..];
            continue;
        }
        rest = rest.strip_prefix(b"/*")?;
        let length = rest.windows(2).position(|pair| pair == b"*/")?;
        match rest[..length].trim_ascii() {
            word if any_of(word, &["master", "primary"]) => return Some(Hint::Primary),
            word if any_of(word, &["slave", "replica"]) => return Some(Hint::Replica),
            [b'!', ..] => return None,
            _ => rest = &rest[length + 2..],
        }
    }
}

fn any_of(word: &[u8], names: &[&str]) -> bool {
    names.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(sql: &str) -> u64 {
        scan(sql.as_bytes(), &Dialect::default()).fingerprint
    }

    fn key(sql: &str) -> u64 {
        scan_with_seed(sql.as_bytes(), &Dialect::default(), 7).key
    }

    #[test]
    fn literals_blanks_comments_and_case_do_not_change_the_fingerprint() {
        let base = print("SELECT a FROM t WHERE id = 5");
        for same in [
            "select a from t where id=?",
            "SELECT /* x */ a FROM t WHERE id = 'x''y' -- z",
            "SELECT a FROM t WHERE id=0x1F",
            "SELECT a FROM t WHERE id=-5",
            "SELECT a\nFROM t\tWHERE id=1.5e3 /*!99999 FOR UPDATE */",
        ] {
            assert_eq!(print(same), base, "{same}");
        }
        for other in [
            "SELECT b FROM t WHERE id=5",
            "SELECT a FROM t WHERE id=5 FOR UPDATE",
            "SELECT a FROM `t` WHERE id=5",
            "SELECT a FROM t WHERE id-5",
        ] {
            assert_ne!(print(other), base, "{other}");
        }
    }

    #[test]
    fn lists_of_literals_and_rows_count_as_one() {
        assert_eq!(print("SELECT 1 FROM t WHERE a IN (1,2,3)"), print("SELECT ? FROM t WHERE a IN (?)"));
        assert_eq!(print("INSERT INTO t VALUES (1,'a'),(2,'b')"), print("INSERT INTO t VALUES (?,?)"));
        assert_ne!(print("INSERT INTO t VALUES (1),(f(2))"), print("INSERT INTO t VALUES (1)"));
        assert_ne!(print("SELECT 1, a"), print("SELECT 1, b"));
    }

    #[test]
    fn what_changes_the_class_changes_the_key() {
        for (one, other) in [
            ("SET autocommit=0", "SET autocommit=1"),
            ("SET @@autocommit = 'off'", "SET @@autocommit = 'on'"),
            ("SET @@session.`autocommit` := 0", "SET @@session.`autocommit` := 1"),
            ("SET a=5, autocommit=0", "SET a=5, autocommit=1"),
            ("SET autocommit=-1", "SET autocommit=1"),
            ("KILL 5", "KILL 6"),
            ("USE a", "USE A"),
            ("SELECT 1; USE a", "SELECT 1; USE A"),
            ("SELECT COUNT(a)", "SELECT COUNT (a)"),
        ] {
            assert_ne!(key(one), key(other), "{one}");
            assert_eq!(key(one), key(one));
        }
        assert_eq!(key("SET a=1"), key("SET a=2"));
        let ansi = Dialect { ansi_quotes: true, ..Dialect::default() };
        assert_ne!(scan_with_seed(b"SELECT 1", &ansi, 7).key, key("SELECT 1"));
    }

    #[test]
    fn what_a_word_or_name_ends_with_counts_at_every_length() {
        let kinds: [fn(&str) -> String; 4] = [
            str::to_owned,
            |name| format!("`{name}`"),
            |name| format!("@{name}"),
            |name| format!("@@{name}"),
        ];
        let mut keys = std::collections::HashSet::new();
        let mut texts = 0;
        for spell in kinds {
            for length in 1..40 {
                let name = "abcdefgh".repeat(5)[..length].to_owned();
                for sql in
                    [name.clone() + "x", name.clone() + "y", name[1..].to_owned() + " x", name + " . x"]
                {
                    keys.insert(key(&spell(&sql)));
                    texts += 1;
                }
            }
        }
        assert_eq!(keys.len(), texts);
        assert_eq!(key("SELECT abcdefghij, ABCDEFGH"), key("select ABCDEFGHIJ,abcdefgh"));
    }

    #[test]
    fn a_literal_that_counts_does_not_merge_with_its_neighbour() {
        assert_ne!(key("KILL 5, 6"), key("KILL 5, 7"));
        assert_ne!(key("SET a = 1, 2"), key("SET a = 1"));
        assert_ne!(key("SET a = (1), (2)"), key("SET a = (1)"));
        assert_eq!(key("SET a = 1; SELECT 1, 2"), key("SET a = 2; SELECT 1"));
        assert_ne!(key("SET a = 1, autocommit = 1, 0"), key("SET a = 1, autocommit = 0, 0"));
    }

    #[test]
    fn hints_are_read_from_leading_comments_only() {
        let hint = |sql: &str| leading_hint(sql.as_bytes());
        assert_eq!(hint("/*master*/ SELECT 1"), Some(Hint::Primary));
        assert_eq!(hint("  /* Primary */SELECT 1"), Some(Hint::Primary));
        assert_eq!(hint("/*\tSLAVE */ SELECT 1"), Some(Hint::Replica));
        assert_eq!(hint("/* app */ /*replica*/ SELECT 1"), Some(Hint::Replica));
        assert_eq!(hint("-- app.py:12\n/*replica*/ SELECT 1"), Some(Hint::Replica));
        assert_eq!(hint("# a\n#b\n --\t/*primary*/\n /*slave*/ SELECT 1"), Some(Hint::Replica));
        for none in [
            "SELECT /*master*/ 1",
            "/*!master*/",
            "/*masters*/ SELECT 1",
            "/*master",
            "",
            "/*",
            "'/*master*/'",
            "--/*master*/ SELECT 1",
            "-- /*master*/ SELECT 1",
            "# /*master*/",
            "-- x",
            "--5\n/*master*/",
        ] {
            assert_eq!(hint(none), None, "{none}");
        }
    }
}
