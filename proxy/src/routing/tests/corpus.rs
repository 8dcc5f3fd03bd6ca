//! Every statement of `testdata/corpus.tsv` has the class that stands beside it, and no statement
//! that is not a read there becomes one by another spelling.

use std::collections::HashSet;

use proptest::prelude::*;

use crate::routing::{ClassCache, Dialect, Effects, StatementClass, StatementKind, classify};

static CORPUS: &str = include_str!("../../../testdata/corpus.tsv");

struct Line {
    kind: &'static str,
    effects: &'static str,
    dialects: Vec<Dialect>,
    sql: String,
}

fn dialect(name: &str) -> Dialect {
    let mut parts = name.split('+');
    let base = match parts.next() {
        Some("mysql") => Dialect::default(),
        Some("mariadb") => Dialect::from_server_version("5.5.5-10.11.6-MariaDB"),
        other => panic!("unknown dialect {other:?}"),
    };
    base.with_sql_mode(&parts.collect::<Vec<_>>().join(","))
}

fn lines() -> Vec<Line> {
    let fields = |line: &'static str| line.split('\t').collect::<Vec<_>>();
    CORPUS
        .lines()
        .filter(|line| !line.starts_with("#\t") && !line.is_empty())
        .map(|line| match fields(line)[..] {
            [kind, names, effects, statement, _note] => Line {
                kind,
                effects,
                dialects: match names {
                    "any" => vec![dialect("mysql"), dialect("mariadb")],
                    _ => vec![dialect(names)],
                },
                sql: statement.replace("{LF}", "\n"),
            },
            _ => panic!("five fields expected: {line}"),
        })
        .collect()
}

#[test]
fn the_corpus_is_large_and_its_lines_are_sound() {
    let lines = lines();
    let distinct: HashSet<_> = lines.iter().map(|line| line.sql.as_str()).collect();
    assert!(distinct.len() >= 600, "{}", distinct.len());
    let known: Vec<_> = StatementKind::ALL.iter().map(|kind| kind.as_str()).collect();
    for line in &lines {
        assert!(known.contains(&line.kind), "{}", line.kind);
        for name in line.effects.split(',').filter(|name| *name != "-") {
            assert!(Effects::NAMES.iter().any(|(_, effect)| *effect == name), "{name}");
        }
    }
}

#[test]
fn every_statement_has_its_kind_and_effects() {
    let mut wrong = Vec::new();
    for line in lines() {
        for dialect in &line.dialects {
            let class = classify(line.sql.as_bytes(), dialect);
            let effects = if class.effects.is_empty() { "-".to_owned() } else { class.effects.to_string() };
            if class.kind.as_str() != line.kind || effects != line.effects {
                wrong.push(format!("{} {} {} | {}", class.kind, class.reason, effects, line.sql));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_cache_gives_the_class_that_judging_gives() {
    let mut cache = ClassCache::new(100_000);
    for pass in 0..2 {
        for line in lines() {
            for dialect in &line.dialects {
                let (cached, _) = cache.classify(line.sql.as_bytes(), dialect);
                let judged = classify(line.sql.as_bytes(), dialect);
                let comparable = |class: &StatementClass| {
                    (
                        class.kind,
                        class.reason,
                        class.effects,
                        class.fingerprint,
                        class.schema.clone(),
                        class.kill,
                    )
                };
                assert_eq!(comparable(&cached), comparable(&judged), "pass {pass}: {}", line.sql);
            }
        }
    }
}

#[test]
fn prepared_text_is_classified_like_the_text_it_stands_for() {
    for line in lines().iter().filter(|line| line.kind == "read") {
        for dialect in &line.dialects {
            let Some(prepared) = with_placeholders(&line.sql) else { continue };
            let class = classify(prepared.as_bytes(), dialect);
            assert!(class.is_read(), "{} {}: {prepared}", class.kind, class.reason);
        }
    }
}

/// The text with `= 1` as `= ?`, where it has one.
fn with_placeholders(sql: &str) -> Option<String> {
    (sql.contains("=1") || sql.contains("= 1")).then(|| sql.replace("=1", "=?").replace("= 1", "= ?"))
}

/// A way to write the same statement otherwise. None may make a read of what is none.
#[derive(Debug, Clone)]
enum Mutation {
    Case(u64),
    Blanks(&'static str),
    Surround(&'static str, &'static str),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let blanks = [
        "  ",
        "\t",
        "\n",
        "\r\n",
        "\x0b",
        " /* x */ ",
        "/**/",
        " /*! */ ",
        " -- x\n",
        " # x\n",
        "/*!99999 x*/ ",
    ];
    let around = [
        ("/*! ", " */"),
        ("/*!40001 ", " */"),
        ("/* lead */ ", ""),
        ("/*slave*/ ", ""),
        ("-- lead\n", ""),
        ("# lead\n", "\n"),
        (" \n", " ;"),
        ("SELECT 1;", ""),
        ("", "; SELECT 1"),
        ("(", ")"),
        ("((", "))"),
        ("WITH zz AS (SELECT 1) ", ""),
        ("WITH zz (a, b) AS (", ") SELECT * FROM zz"),
        ("SELECT * FROM (", ") zz"),
        ("SELECT 1 UNION ", ""),
        ("SELECT 1 UNION ALL (", ")"),
        ("SELECT EXISTS(", ")"),
        ("EXPLAIN ", ""),
        ("", " LIMIT 1"),
        ("", " -- tail"),
        ("", " /* tail */"),
    ];
    prop_oneof![
        any::<u64>().prop_map(Mutation::Case),
        prop::sample::select(blanks.to_vec()).prop_map(Mutation::Blanks),
        prop::sample::select(around.to_vec()).prop_map(|(before, after)| Mutation::Surround(before, after)),
    ]
}

fn mutated(sql: &str, mutation: &Mutation) -> String {
    match mutation {
        // MariaDB knows its comment by the capital letter.
        Mutation::Case(_) if sql.contains("/*M!") => sql.to_owned(),
        Mutation::Case(seed) => sql
            .chars()
            .enumerate()
            .map(|(i, c)| match seed.rotate_left(u32::try_from(i % 64).unwrap()) & 1 {
                0 => c.to_ascii_lowercase(),
                _ => c.to_ascii_uppercase(),
            })
            .collect(),
        Mutation::Blanks(blank) => between_quotes(sql, |part| part.replace(' ', blank)),
        Mutation::Surround(before, after) => format!("{before}{sql}{after}"),
    }
}

/// Changes what stands outside quotes and comments; where those are too tangled, nothing.
fn between_quotes(sql: &str, change: impl Fn(&str) -> String) -> String {
    if sql.contains(['\\', '\n', '#']) || sql.contains("/*") || sql.contains("--") {
        return sql.to_owned();
    }
    let mut out = String::new();
    let mut rest = sql;
    while let Some(start) = rest.find(['\'', '"', '`']) {
        let quote = rest[start..].chars().next().unwrap();
        let Some(length) = rest[start + 1..].find(quote) else { break };
        out.push_str(&change(&rest[..start]));
        out.push_str(&rest[start..=start + 1 + length]);
        rest = &rest[start + 2 + length..];
    }
    out.push_str(&change(rest));
    out
}

/// Whether the mutated text is still the same statement: a comment may close an unclosed one, a text
/// without a statement is nothing to surround, and one or two words may name a table, with a column
/// behind EXPLAIN or an alias behind FROM.
fn stays_itself(line: &Line, mutation: &Mutation) -> bool {
    let unclosed = line.sql.contains("unclosed") || line.sql.ends_with("'abc");
    let empty = ["", ";", "-- ping", "/* only a comment */"].contains(&line.sql.trim());
    match mutation {
        // EXPLAIN ANALYZE TABLE t is a read of MySQL's.
        Mutation::Surround("EXPLAIN ", _) if line.sql.starts_with("ANALYZE") => false,
        Mutation::Surround("EXPLAIN " | "SELECT * FROM (", _) => !unclosed && words(&line.sql) > 2,
        Mutation::Surround(..) => !unclosed && !empty,
        _ => true,
    }
}

/// Words of the first statement, outside comments before and behind it.
fn words(sql: &str) -> usize {
    let sql = sql.rsplit("*/").find(|part| !part.trim_matches([' ', ';']).is_empty()).unwrap_or(sql);
    sql.split(';').next().map_or(0, |first| first.split_whitespace().count())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_mutation_makes_a_read_of_what_is_none(
        mutations in prop::collection::vec(mutation(), 1..4)
    ) {
        for line in lines().iter().filter(|line| line.kind != "read") {
            let mut sql = line.sql.clone();
            for mutation in mutations.iter().filter(|mutation| stays_itself(line, mutation)) {
                sql = mutated(&sql, mutation);
            }
            for dialect in &line.dialects {
                let class = classify(sql.as_bytes(), dialect);
                prop_assert!(!class.is_read(), "{} became a read as {}", line.sql, sql);
            }
        }
    }

    #[test]
    fn blanks_comments_and_case_leave_a_read_a_read(
        mutations in prop::collection::vec(
            mutation().prop_filter("spelling only", |mutation| !matches!(mutation, Mutation::Surround(..))),
            1..3,
        )
    ) {
        for line in lines().iter().filter(|line| line.kind == "read") {
            let sql = mutations.iter().fold(line.sql.clone(), |sql, mutation| mutated(&sql, mutation));
            for dialect in &line.dialects {
                let class = classify(sql.as_bytes(), dialect);
                prop_assert!(class.is_read(), "{} {}: {}", class.kind, class.reason, sql);
            }
        }
    }
}
