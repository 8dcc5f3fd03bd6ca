//! Where the statements of a log would go: how many, by fingerprint, and why not to a replica.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use super::Explained;
use super::meaning::meaning;
use super::show::shown;
use crate::routing::{RouteReason, StatementKind, Target, normal_form};

/// Kinds of statements that are told apart; all others are only counted by their target.
const MOST_KINDS: usize = 50_000;

/// Bytes of a statement that are kept, and columns that are shown.
const KEPT: usize = 400;
const SHOWN: usize = 120;

/// Statements that count as one.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    fingerprint: u64,
    target: Target,
    reason: RouteReason,
    rule: Option<Box<str>>,
}

struct Line {
    count: u64,
    kind: StatementKind,
    /// The beginning of the normal form.
    form: Box<[u8]>,
}

/// What a log's statements come to.
#[derive(Default)]
pub(super) struct Summary {
    total: u64,
    by_target: BTreeMap<&'static str, u64>,
    lines: HashMap<Key, Line>,
    /// Statements beyond [`MOST_KINDS`].
    rest: u64,
}

impl Summary {
    /// Counts a statement.
    pub(super) fn add(&mut self, explained: &Explained<'_>) {
        let route = explained.route;
        self.total += 1;
        *self.by_target.entry(route.target.as_str()).or_default() += 1;
        let key = Key {
            fingerprint: explained.class.fingerprint,
            target: route.target,
            reason: route.reason,
            rule: explained.rule.map(Into::into),
        };
        if let Some(line) = self.lines.get_mut(&key) {
            line.count += 1;
        } else if self.lines.len() < MOST_KINDS {
            let mut form = normal_form(explained.sql, &explained.dialect);
            form.truncate(KEPT);
            let line = Line { count: 1, kind: explained.class.kind, form: form.into() };
            self.lines.insert(key, line);
        } else {
            self.rest += 1;
        }
    }

    /// Writes all that there is to say, the most frequent first, `most` lines of a table.
    pub(super) fn write(
        &self,
        log: &str,
        connections: u64,
        most: usize,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut lines: Vec<_> = self.lines.iter().collect();
        lines.sort_by(|(key, line), (other_key, other)| {
            (other.count, &line.form, key.reason.as_str()).cmp(&(
                line.count,
                &other.form,
                other_key.reason.as_str(),
            ))
        });
        writeln!(out, "{log}: {} statements of {connections} connections", self.total)?;
        for (target, count) in &self.by_target {
            writeln!(out, "{count:>10}  {:>5.1} %  {target}", share(*count, self.total))?;
        }
        if self.rest > 0 {
            writeln!(out, "{:>10}  of more than {MOST_KINDS} kinds are not listed below", self.rest)?;
        }
        writeln!(out, "\nBy statement, the most frequent first:")?;
        table(&lines, most, out)?;
        let away: Vec<_> = lines.into_iter().filter(|(key, line)| looks_like_read(key, line)).collect();
        let count: u64 = away.iter().map(|(_, line)| line.count).sum();
        writeln!(out, "\nOn the primary although they start like a read: {count} statements")?;
        let mut reasons: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for (key, line) in &away {
            *reasons.entry((key.reason.as_str(), meaning(key.reason))).or_default() += line.count;
        }
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for ((reason, meaning), count) in reasons {
            writeln!(out, "{count:>10}  {reason}: {meaning}")?;
        }
        if !away.is_empty() {
            writeln!(out)?;
            table(&away, most, out)?;
        }
        Ok(())
    }
}

fn share(count: u64, total: u64) -> f64 {
    // Exact up to 2^53 statements.
    #[expect(clippy::cast_precision_loss, reason = "a percentage with one digit")]
    let share = count as f64 * 100.0 / total.max(1) as f64;
    share
}

fn table(lines: &[(&Key, &Line)], most: usize, out: &mut impl Write) -> io::Result<()> {
    let shown_lines = &lines[..lines.len().min(most)];
    let width = |of: fn(&(&Key, &Line)) -> usize, least: usize| {
        shown_lines.iter().map(of).max().unwrap_or(0).max(least)
    };
    let reason = width(|(key, _)| key.reason.as_str().len(), 6);
    let class = width(|(_, line)| line.kind.as_str().len(), 5);
    let rule = width(|(key, _)| key.rule.as_deref().map_or(1, str::len), 4);
    writeln!(
        out,
        "{:>10}  {:<7}  {:<reason$}  {:<class$}  {:<rule$}  {:<16}  statement",
        "count", "target", "reason", "class", "rule", "fingerprint"
    )?;
    for (key, line) in shown_lines {
        writeln!(
            out,
            "{:>10}  {:<7}  {:<reason$}  {:<class$}  {:<rule$}  {:016x}  {}",
            line.count,
            key.target.as_str(),
            key.reason.as_str(),
            line.kind.as_str(),
            key.rule.as_deref().unwrap_or("-"),
            key.fingerprint,
            shown(&line.form, SHOWN)
        )?;
    }
    if lines.len() > most {
        writeln!(out, "{:>10}  more lines; --most N shows N of them", lines.len() - most)?;
    }
    Ok(())
}

/// Whether people would expect it on a replica.
fn looks_like_read(key: &Key, line: &Line) -> bool {
    let words: [&[u8]; 8] =
        [b"select", b"with", b"table", b"values", b"show", b"desc", b"describe", b"explain"];
    let open = line.form.iter().take_while(|byte| **byte == b'(').count();
    let form = &line.form[open..];
    let first = form.split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default();
    matches!(key.target, Target::Primary | Target::Held) && words.contains(&first)
}
