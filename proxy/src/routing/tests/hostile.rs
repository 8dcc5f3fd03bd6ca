//! Texts made to break a reader: random bytes, depth, length.

use proptest::prelude::*;

use crate::routing::{ClassCache, Dialect, Reason, StatementKind, classify, scan};

fn dialects() -> [Dialect; 5] {
    let base = Dialect::default();
    [
        base,
        Dialect::from_server_version("11.8.1-MariaDB").with_sql_mode("ORACLE"),
        Dialect::from_server_version("9.1.0").with_sql_mode("ANSI_QUOTES,NO_BACKSLASH_ESCAPES"),
        base.with_character_set("gbk"),
        base.with_character_set("latin1"),
    ]
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let words: Vec<&'static [u8]> = vec![
        b"SELECT",
        b"FROM",
        b"(",
        b")",
        b",",
        b";",
        b"'",
        b"\"",
        b"`",
        b"\\",
        b"/*",
        b"*/",
        b"/*!",
        b"/*!50000",
        b"/*+",
        b"/*M!",
        b"--",
        b"-- ",
        b"#",
        b"\n",
        b" ",
        b"@",
        b"@@",
        b":=",
        b".",
        b"1",
        b"1e",
        b"0x",
        b"?",
        b"SET",
        b"autocommit",
        b"=",
        b"0",
        b"WITH",
        b"AS",
        b"CASE",
        b"NOT",
        b"-",
        b"INTERVAL",
        b"EXPLAIN",
        b"SET STATEMENT",
        b"FOR",
        b"\0",
        b"\xff",
        b"KILL",
        b"USE",
        b"SHOW",
        b"CREATE",
        b"GET",
        b"$$",
        b"VALUES",
        b"INSERT",
        b"{",
        b"}",
        b"[",
        b"]",
        b"->",
        b"::",
        b"x'",
    ];
    prop_oneof![
        4 => prop::sample::select(words).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_bytes_panic_and_the_cache_agrees(pieces in prop::collection::vec(piece(), 0..60)) {
        let sql = pieces.concat();
        for dialect in dialects() {
            let class = classify(&sql, &dialect);
            let (cached, _) = ClassCache::new(4).classify(&sql, &dialect);
            prop_assert_eq!(&class, &*cached);
        }
    }
}

/// The stack that a worker's thread, or a test's, has.
const STACK: usize = 2 * 1024 * 1024;

fn on_a_small_stack(sql: String) -> StatementKind {
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || classify(sql.as_bytes(), &Dialect::default()).kind)
        .unwrap()
        .join()
        .unwrap()
}

#[test]
fn depth_of_any_kind_does_not_overflow_the_stack() {
    for count in [20, 24, 25, 50, 150, 160, 161, 1_000, 100_000] {
        for text in [
            format!("SELECT 1 FROM t WHERE a=1{}", " OR a".repeat(count)),
            format!("SELECT {}1", "-".repeat(count)),
            format!("SELECT {}1", "NOT ".repeat(count)),
            format!("SELECT {}1", "!".repeat(count)),
            format!("SELECT {}1", "+ ".repeat(count)),
            format!("SELECT {}1{}", "(".repeat(count), ")".repeat(count)),
            format!("{}SELECT 1{}", "(".repeat(count), ")".repeat(count)),
            format!("SELECT {}1{}", "(SELECT ".repeat(count), ")".repeat(count)),
            format!("SELECT {}1{}", "ABS(".repeat(count), ")".repeat(count)),
            format!("SELECT 1{}", " UNION SELECT 1".repeat(count)),
            format!("SELECT {}1{}", "CASE WHEN ".repeat(count), " THEN 1 END".repeat(count)),
            format!("SELECT a{}", "->'$.a'".repeat(count)),
            format!("SELECT a{}", " COLLATE utf8mb4_bin".repeat(count)),
            format!("SELECT a{}", " IS NULL".repeat(count)),
            format!("SELECT a{}", " ISNULL".repeat(count)),
            format!("SELECT {}1 DAY", "INTERVAL ".repeat(count)),
            format!("SELECT 1 FROM t{}", " JOIN t".repeat(count)),
            format!("SELECT {}a", "BINARY ".repeat(count)),
            format!("{}SELECT 1", "EXPLAIN ".repeat(count)),
            format!("{}SELECT 1", "SET STATEMENT a=1 FOR ".repeat(count)),
            format!("SELECT {}", "{a: ".repeat(count)),
            format!("SELECT a{}", "[1]".repeat(count)),
            format!("SELECT {}", "ARRAY[".repeat(count)),
            format!("SELECT CAST(a AS {}", "ARRAY<".repeat(count)),
            format!("SELECT a{}", "::int".repeat(count)),
            "PREPARE a FROM ".repeat(count),
            "IF 1 THEN ".repeat(count),
            "BEGIN ".repeat(count),
            "CREATE PROCEDURE p() BEGIN ".repeat(count),
        ] {
            on_a_small_stack(text);
        }
    }
}

#[test]
fn deep_texts_are_still_classified() {
    let many = format!("SELECT 1 FROM t WHERE a=1{}", " OR a=2".repeat(100_000));
    assert_eq!(on_a_small_stack(many.clone()), StatementKind::Read);
    assert_eq!(on_a_small_stack(many + " FOR UPDATE"), StatementKind::Write);
}

#[test]
fn texts_of_16_mib_are_read_in_full() {
    let list = "'abcdefgh',".repeat(16 * 1024 * 1024 / 11);
    let select = format!("SELECT a FROM t WHERE b IN ({list}1)");
    let dialect = Dialect::default();
    assert_eq!(classify(select.as_bytes(), &dialect).kind, StatementKind::Read);
    let locked = format!("{select} FOR UPDATE");
    assert_eq!(classify(locked.as_bytes(), &dialect).reason, Reason::LockingClause);
    assert_eq!(
        scan(select.as_bytes(), &dialect).fingerprint,
        scan(b"SELECT a FROM t WHERE b IN (?)", &dialect).fingerprint
    );
    let string = format!("SELECT '{}'", "x".repeat(17 * 1024 * 1024));
    assert_eq!(classify(string.as_bytes(), &dialect).kind, StatementKind::Read);
}
