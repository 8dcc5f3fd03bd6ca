//! Values that are one word out of a few: the one list that reading, advice and the reference share.

use super::{
    Balance, Consistency, Fallback, FirewallMode, LogFormat, LogLevel, PoolMode, Role, Stick, TlsClientMode,
    TlsServerMode,
};
use crate::routing::StatementKind;

/// A type whose values are written as words.
pub(super) trait Word: Copy + PartialEq + 'static {
    /// Each value with its word, in the order the reference shows them.
    const WORDS: &'static [(&'static str, Self)];

    /// The word of a value.
    fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, value)| *value == self);
        found.map(|(word, _)| *word).expect("WORDS names every value: a test reads them all")
    }
}

/// `"a", "b" or "c"`.
pub(super) fn choices<T: Word>() -> String {
    let quoted: Vec<String> = T::WORDS.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

impl Word for Role {
    const WORDS: &'static [(&'static str, Self)] = &[("primary", Self::Primary), ("replica", Self::Replica)];
}

impl Word for Balance {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("round_robin", Self::RoundRobin),
        ("least_outstanding", Self::LeastOutstanding),
        ("latency", Self::Latency),
    ];
}

impl Word for Stick {
    const WORDS: &'static [(&'static str, Self)] =
        &[("statement", Self::Statement), ("session", Self::Session)];
}

impl Word for Fallback {
    const WORDS: &'static [(&'static str, Self)] = &[("primary", Self::Primary), ("error", Self::Error)];
}

impl Word for Consistency {
    const WORDS: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("session", Self::Session), ("global", Self::Global)];
}

impl Word for PoolMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("transaction", Self::Transaction), ("session", Self::Session)];
}

impl Word for FirewallMode {
    const WORDS: &'static [(&'static str, Self)] = &[("off", Self::Off), ("reject", Self::Reject)];
}

impl Word for StatementKind {
    const WORDS: &'static [(&'static str, Self)] = &{
        let mut words = [("", Self::Read); Self::ALL.len()];
        let mut at = 0;
        while at < words.len() {
            words[at] = (Self::ALL[at].as_str(), Self::ALL[at]);
            at += 1;
        }
        words
    };
}

impl Word for TlsClientMode {
    const WORDS: &'static [(&'static str, Self)] =
        &[("off", Self::Off), ("preferred", Self::Preferred), ("required", Self::Required)];
}

impl Word for TlsServerMode {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("off", Self::Off),
        ("preferred", Self::Preferred),
        ("required", Self::Required),
        ("verify_ca", Self::VerifyCa),
        ("verify_identity", Self::VerifyIdentity),
    ];
}

impl Word for LogLevel {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];
}

impl Word for LogFormat {
    const WORDS: &'static [(&'static str, Self)] = &[("text", Self::Text), ("json", Self::Json)];
}

/// A value prints as the file writes it.
macro_rules! display_as_word {
    ($($kind:ty),*) => {$(
        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }
    )*};
}

display_as_word!(
    Role,
    Consistency,
    Fallback,
    FirewallMode,
    PoolMode,
    Balance,
    Stick,
    TlsClientMode,
    TlsServerMode,
    LogLevel,
    LogFormat
);
