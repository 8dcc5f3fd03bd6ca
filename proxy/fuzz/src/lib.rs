//! What must hold for every text that the router reads, whatever its bytes.
//!
//! An input is one byte that chooses the dialect and the text behind it. [`check`] panics where the router breaks a
//! promise: a text that is classified differently when it comes from the cache, whose class or fingerprint changes
//! with the blanks before it, or that is called a read though its tokens, cut by a second hand (`tokens.rs`),
//! lock, assign, write or call what is not built in.

mod tokens;

use std::cell::RefCell;

use telamon::routing::{ClassCache, Dialect, Reason, StatementClass, classify, scan};
use tokens::{Token, tokens};

/// Texts whose classes are remembered from one input to the next, so that two with one key meet.
const CACHED: usize = 100_000;

/// Checks one input.
///
/// # Panics
/// The router breaks a promise; the text says which.
pub fn check(input: &[u8]) {
    let Some((&choice, sql)) = input.split_first() else { return };
    let dialect = dialect(choice);
    let class = classify(sql, &dialect);
    assert!(scan(sql, &dialect).fingerprint == class.fingerprint, "two fingerprints of one text");
    check_cache(sql, &dialect, &class);
    check_blanks(sql, &dialect, &class);
    if class.is_read() {
        check_read(sql, &dialect);
    }
}

/// The dialect that the first byte of an input stands for.
fn dialect(choice: u8) -> Dialect {
    let version = match choice & 3 {
        0 => "8.0.36",
        1 => "5.5.5-10.11.6-MariaDB",
        2 => "9.7.0",
        _ => "11.8.1-MariaDB",
    };
    let modes = [(4, "ANSI_QUOTES"), (8, "NO_BACKSLASH_ESCAPES"), (16, "IGNORE_SPACE"), (32, "ORACLE")];
    let chosen: Vec<_> = modes.iter().filter(|(bit, _)| choice & bit != 0).map(|(_, mode)| *mode).collect();
    let charset = match choice >> 6 {
        0 | 1 => "utf8mb4",
        2 => "latin1",
        _ => "gbk",
    };
    Dialect::from_server_version(version).with_sql_mode(&chosen.join(",")).with_character_set(charset)
}

/// What a session goes by; the tables are for the user's eyes.
fn compare(one: &StatementClass, other: &StatementClass, what: &str) {
    assert_eq!((one.kind, one.reason, one.effects), (other.kind, other.reason, other.effects), "{what}");
    assert_eq!(
        (one.fingerprint, &one.schema, one.kill),
        (other.fingerprint, &other.schema, other.kill),
        "{what}"
    );
}

fn check_cache(sql: &[u8], dialect: &Dialect, class: &StatementClass) {
    thread_local! {
        static CACHE: RefCell<ClassCache> = RefCell::new(ClassCache::new(CACHED));
    }
    CACHE.with_borrow_mut(|cache| {
        for _ in 0..2 {
            let cached = cache.classify(sql, dialect).0;
            // Of two texts that differ in their literals, the parser may follow one alone.
            if [class.reason, cached.reason].contains(&Reason::JudgesDisagree) {
                assert_eq!((cached.effects, cached.fingerprint), (class.effects, class.fingerprint));
            } else {
                compare(&cached, class, "the cache gives another text's class");
            }
        }
    });
}

fn check_blanks(sql: &[u8], dialect: &Dialect, class: &StatementClass) {
    for blanks in [&b"\t\n "[..], b"/* x */", b"-- x\n", b"#'\n"] {
        let spaced = [blanks, sql].concat();
        compare(&classify(&spaced, dialect), class, "blanks before a text change its class");
    }
}

fn check_read(sql: &[u8], dialect: &Dialect) {
    let tokens = match tokens(sql, dialect) {
        Ok(tokens) => tokens,
        // What the second hand does not follow because it is too simple.
        Err(tokens::Unread::Executable) => return,
        Err(tokens::Unread::Open) => panic!("a read that does not end"),
    };
    for statement in tokens.split(|token| *token == Token::Symbol(b';')) {
        check_statement(statement);
    }
}

const WRITING_VERBS: [&str; 24] = [
    "INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER", "TRUNCATE", "RENAME", "CALL", "DO",
    "GRANT", "REVOKE", "LOAD", "LOCK", "UNLOCK", "FLUSH", "KILL", "BEGIN", "COMMIT", "ROLLBACK", "XA",
    "HANDLER", "EXECUTE",
];
/// With a parenthesis behind them, what no replica may be asked for.
const CALLS: [&str; 8] = [
    "GET_LOCK",
    "RELEASE_LOCK",
    "LAST_INSERT_ID",
    "LOAD_FILE",
    "SETVAL",
    "FOUND_ROWS",
    "EVIL",
    "MASTER_POS_WAIT",
];

/// Checks that a statement which is a read, or part of one, has nothing in it that none may have.
fn check_statement(statement: &[Token]) {
    let first = statement.iter().find(|token| **token != Token::Symbol(b'('));
    assert!(
        !first.is_some_and(|token| WRITING_VERBS.iter().any(|verb| token.is(verb))),
        "a read that writes: {first:?}"
    );
    if first.is_some_and(|token| token.is("HELP")) {
        return; // whatever its words are, they are names
    }
    // A common table expression, a window, an alias with columns or an object that is shown may have any name.
    let named =
        statement.iter().any(|token| ["WITH", "AS", "WINDOW", "CREATE"].iter().any(|word| token.is(word)));
    for (at, token) in statement.iter().enumerate() {
        let next = statement.get(at + 1);
        let is_next = |words: &[&str]| next.is_some_and(|next| words.iter().any(|word| next.is(word)));
        let is_behind = |symbol: u8| at > 0 && statement[at - 1] == Token::Symbol(symbol);
        if is_behind(b'.') {
            continue;
        }
        assert!(*token != Token::Assign, "a read that assigns");
        assert!(!token.is("INTO"), "a read that selects into something");
        assert!(!(token.is("FOR") && is_next(&["UPDATE"])), "a read that locks");
        assert!(!(token.is("LOCK") && is_next(&["IN"])), "a read that locks");
        let called = next == Some(&Token::Symbol(b'(')) && !named && !is_behind(b')');
        assert!(!(called && CALLS.iter().any(|name| token.is(name))), "a read that calls {token:?}");
    }
}

#[cfg(test)]
mod tests;
