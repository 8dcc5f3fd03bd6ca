//! What the lexer cuts, token by token.

use super::*;

fn texts(sql: &str, dialect: &Dialect) -> Vec<String> {
    let mut lexer = Lexer::new(sql.as_bytes(), dialect);
    std::iter::from_fn(|| lexer.next_token())
        .map(|token| match token.kind {
            Kind::Bad => "BAD".to_owned(),
            _ => String::from_utf8_lossy(token.text).into_owned(),
        })
        .collect()
}

fn mysql(sql: &str) -> String {
    texts(sql, &Dialect::default()).join("|")
}

fn mariadb(sql: &str) -> String {
    texts(sql, &Dialect::from_server_version("5.5.5-10.11.6-MariaDB")).join("|")
}

#[test]
fn comments_of_every_kind_are_blanks() {
    assert_eq!(mysql("a/* x */b -- y\nc # z\nd--1"), "a|b|c|d|-|-|1");
    assert_eq!(mysql("a /* /* */ b"), "a|b");
    assert_eq!(mysql("a --"), "a");
    assert_eq!(mysql("a /*/ b */ c"), "a|c");
}

#[test]
fn executable_comments_count_when_the_version_is_met() {
    assert_eq!(mysql("a /*! b */ c"), "a|b|c");
    assert_eq!(mysql("a /*!40101 b */ c"), "a|b|c");
    assert_eq!(mysql("a /*!80036b*/ c"), "a|b|c");
    assert_eq!(mysql("a /*!080036 b*/ c"), "a|b|c");
    assert_eq!(mysql("a /*!80037 b /* x */ c */ d"), "a|d");
    assert_eq!(mysql("a /*!99999 FOR UPDATE */"), "a");
    assert_eq!(mysql("a /*!123 b */"), "a|123|b");
    assert_eq!(mysql("a /*M! b */ c"), "a|c");
    assert_eq!(mysql("a /*! b /* x */ c */ d"), "a|b|c|d");
    assert_eq!(mysql("a * / b"), "a|*|/|b");
}

#[test]
fn mariadb_has_executable_comments_of_its_own() {
    assert_eq!(mariadb("a /*M! b */ c"), "a|b|c");
    assert_eq!(mariadb("a /*M!100100 b */ c"), "a|b|c");
    assert_eq!(mariadb("a /*M!110000 b */ c"), "a|c");
    assert_eq!(mariadb("a /*!80000 b */ c"), "a|c");
    assert_eq!(mariadb("a /*!50699 b */ c"), "a|b|c");
    assert_eq!(mariadb("a /*!101106 b */ c"), "a|b|c");
}

#[test]
fn what_does_not_end_is_bad_to_the_end() {
    for sql in ["a 'b", "a \"b", "a `b", "a /* b", "a /*! b", "a /*+ b", "a @'b", "a @@", "a \0 b"] {
        assert_eq!(mysql(sql).split('|').next_back(), Some("BAD"), "{sql}");
    }
    assert_eq!(mysql("a /*!99999 b"), "a|BAD");
}

#[test]
fn strings_follow_the_sql_mode() {
    assert_eq!(mysql(r"'it''s' 'a\'b' x"), r"'it''s'|'a\'b'|x");
    let plain = Dialect { no_backslash_escapes: true, ..Dialect::default() };
    assert_eq!(texts(r"'a\' FOR UPDATE -- '", &plain).join("|"), r"'a\'|FOR|UPDATE");
    let ansi = Dialect { ansi_quotes: true, ..Dialect::default() };
    assert_eq!(texts(r#""a\" b"#, &ansi).join("|"), r#""a\"|b"#);
}

#[test]
fn numbers_and_digit_led_names_are_told_apart() {
    assert_eq!(
        mysql("1a .5e3 1. 1.5e+3 1e5 1e+5 0x1F 0b01 t.1 t.5e3 1e"),
        "1a|.5e3|1.|1.5e+3|1e5|1e+5|0x1F|0b01|t|.|1|t|.|5e3|1e"
    );
    let mut lexer = Lexer::new(b"1a 0x1F t.select", &Dialect::default());
    let kinds: Vec<_> = std::iter::from_fn(|| lexer.next_token()).map(|token| token.kind).collect();
    assert_eq!(kinds, [Kind::Word, Kind::Number, Kind::Word, Kind::Dot, Kind::NameAfterDot]);
}

#[test]
fn character_sets_that_hide_quotes_or_blanks_are_not_guessed() {
    let under = |name: &str, sql: &[u8]| {
        let dialect = Dialect::default().with_character_set(name);
        let mut lexer = Lexer::new(sql, &dialect);
        std::iter::from_fn(|| lexer.next_token()).any(|token| token.kind == Kind::Bad)
    };
    assert!(under("gbk", b"SELECT '\xbf\\' FOR UPDATE -- '"));
    assert!(under("latin1", b"SELECT 1 FROM t FOR\xa0UPDATE"));
    assert!(!under("latin1", b"SELECT '\xe9'"));
    assert!(under("utf8mb4", b"SELECT 1 FROM t FOR\xa0UPDATE"));
    assert!(!under("utf8mb4", "SELECT 'é' AS été".as_bytes()));
}

#[test]
fn dollar_quotes_are_names_before_mysql_9() {
    assert_eq!(mysql("$$ a$b"), "$$|a$b");
    assert_eq!(texts("a $$ b ; $$", &Dialect::from_server_version("9.1.0")).join("|"), "a|BAD");
}
