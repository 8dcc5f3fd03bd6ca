//! Takes typed values out of a parsed TOML table. A wrong one is reported and leaves its default in place, so that
//! one pass finds every problem. Which keys there are is not known here.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::keys;
use super::problem::{PROBLEMS_KEPT, Problem};
use super::suggest;
use super::words::{Word, choices};

/// Characters of a wrong value that a message repeats.
const SHOWN: usize = 60;

/// What was found wrong so far, and on which line each key stands.
pub(super) struct Report {
    /// Offset of each line's first byte.
    line_starts: Vec<usize>,
    lines: RefCell<HashMap<String, usize>>,
    problems: RefCell<Vec<Problem>>,
    more: Cell<usize>,
    warnings: RefCell<Vec<Problem>>,
}

impl Report {
    pub(super) fn new(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self {
            line_starts: std::iter::once(0).chain(newlines).collect(),
            lines: RefCell::default(),
            problems: RefCell::default(),
            more: Cell::new(0),
            warnings: RefCell::default(),
        }
    }

    /// The line, from 1, that a byte stands on.
    pub(super) fn line_of(&self, byte: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= byte)
    }

    /// Notes a problem on a known line.
    pub(super) fn problem_on(&self, line: Option<usize>, key: &str, text: impl Into<String>) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < PROBLEMS_KEPT {
            problems.push(Problem { line, key: key.to_owned(), text: text.into() });
        } else {
            self.more.set(self.more.get() + 1);
        }
    }

    /// Notes a problem of a key, on the line of the key or of the nearest table above it that the file names.
    pub(super) fn problem(&self, key: &str, text: impl Into<String>) {
        self.problem_on(self.line_of_key(key), key, text);
    }

    /// Notes what is legal and surely not meant.
    pub(super) fn warning(&self, key: &str, text: impl Into<String>) {
        let line = self.line_of_key(key);
        let mut warnings = self.warnings.borrow_mut();
        if warnings.len() < PROBLEMS_KEPT {
            warnings.push(Problem { line, key: key.to_owned(), text: text.into() });
        }
    }

    /// Whether further problems are only counted, so that no advice on them is worth working out.
    fn is_full(&self) -> bool {
        self.problems.borrow().len() >= PROBLEMS_KEPT
    }

    /// Whether a problem of this very key was noted.
    pub(super) fn has_problem(&self, key: &str) -> bool {
        self.problems.borrow().iter().any(|problem| problem.key == key)
    }

    /// Problems in the order of lines (what is missing comes last), how many more there were, and warnings.
    pub(super) fn into_parts(self) -> (Vec<Problem>, usize, Vec<Problem>) {
        let ordered = |mut problems: Vec<Problem>| {
            problems.sort_by_key(|problem| problem.line.unwrap_or(usize::MAX));
            problems
        };
        (ordered(self.problems.into_inner()), self.more.get(), ordered(self.warnings.into_inner()))
    }

    fn line_of_key(&self, key: &str) -> Option<usize> {
        let lines = self.lines.borrow();
        let ends = key.rmatch_indices(['.', '[']).map(|(at, _)| at);
        std::iter::once(key.len()).chain(ends).find_map(|end| lines.get(&key[..end]).copied())
    }

    fn remember(&self, key: &str, span: &Range<usize>) -> usize {
        let line = self.line_of(span.start);
        self.lines.borrow_mut().insert(key.to_owned(), line);
        line
    }
}

/// One table of the file, and which of its keys were asked for.
pub(super) struct Section<'a> {
    report: &'a Report,
    /// With indexes (`servers[0]`); empty for the file itself.
    path: String,
    table: &'a DeTable<'a>,
    asked: Vec<&'static str>,
}

impl<'a> Section<'a> {
    /// The file itself.
    pub(super) fn root(report: &'a Report, table: &'a DeTable<'a>) -> Self {
        Self { report, path: String::new(), table, asked: Vec::new() }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The path of one of this table's keys.
    pub(super) fn key(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// A table inside this one, if the file has it.
    pub(super) fn section(&mut self, name: &'static str) -> Option<Section<'a>> {
        let (key, value) = self.take(name)?;
        match value.get_ref() {
            DeValue::Table(table) => {
                Some(Section { report: self.report, path: key, table, asked: Vec::new() })
            }
            other => self.mismatch(&key, &format!("a table: write [{key}]"), other),
        }
    }

    /// The tables of an array of tables, in the file's order.
    pub(super) fn sections(&mut self, name: &'static str) -> Vec<Section<'a>> {
        let Some((key, value)) = self.take(name) else { return Vec::new() };
        let DeValue::Array(items) = value.get_ref() else {
            self.mismatch::<()>(&key, &format!("an array of tables: write [[{key}]]"), value.get_ref());
            return Vec::new();
        };
        let sections = items.iter().enumerate().filter_map(|(index, item)| {
            let path = format!("{key}[{index}]");
            self.report.remember(&path, &item.span());
            match item.get_ref() {
                DeValue::Table(table) => {
                    Some(Section { report: self.report, path, table, asked: Vec::new() })
                }
                other => self.mismatch(&path, &format!("a table: write [[{key}]]"), other),
            }
        });
        sections.collect()
    }

    /// A text, if the file has it.
    pub(super) fn text(&mut self, name: &'static str) -> Option<&'a str> {
        let (key, value) = self.take(name)?;
        match value.get_ref() {
            DeValue::String(text) => Some(text),
            other => self.mismatch(&key, "a text in quotes", other),
        }
    }

    /// A text that a type understands.
    pub(super) fn parsed<T: FromStr<Err = String>>(&mut self, name: &'static str) -> Option<T> {
        let text = self.text(name)?;
        self.parse(&self.key(name), text)
    }

    /// A list of such texts; `None` in place of each that was reported.
    pub(super) fn list<T: FromStr<Err = String>>(&mut self, name: &'static str) -> Option<Vec<Option<T>>> {
        let (key, value) = self.take(name)?;
        let DeValue::Array(items) = value.get_ref() else {
            return self.mismatch(&key, "a list: write [\"…\", \"…\"]", value.get_ref());
        };
        let parsed = items.iter().enumerate().map(|(index, item)| {
            let path = format!("{key}[{index}]");
            self.report.remember(&path, &item.span());
            match item.get_ref() {
                DeValue::String(text) => self.parse(&path, text),
                other => self.mismatch(&path, "a text in quotes", other),
            }
        });
        Some(parsed.collect())
    }

    /// One such text, or a list of them, without those that were reported.
    pub(super) fn one_or_more<T: FromStr<Err = String>>(&mut self, name: &'static str) -> Vec<T> {
        match self.entry(name).map(|(_, value)| value.get_ref()) {
            Some(DeValue::String(text)) => match several::<T>(text) {
                Some(list) => {
                    self.take(name);
                    let text = format!("must be a list where there are several: write {list}");
                    self.report.problem(&self.key(name), text);
                    Vec::new()
                }
                None => self.parsed(name).into_iter().collect(),
            },
            _ => self.list(name).into_iter().flatten().flatten().collect(),
        }
    }

    /// Such a text, where "" is as good as none.
    pub(super) fn filled<T: FromStr<Err = String>>(&mut self, name: &'static str) -> Option<T> {
        let text = self.text(name).filter(|text| !text.is_empty())?;
        self.parse(&self.key(name), text)
    }

    /// true or false.
    pub(super) fn flag(&mut self, name: &'static str) -> Option<bool> {
        let (key, value) = self.take(name)?;
        match value.get_ref() {
            DeValue::Boolean(flag) => Some(*flag),
            other => self.mismatch(&key, "true or false without quotes", other),
        }
    }

    /// A whole number inside the range that `keys` holds for it.
    pub(super) fn number<T: TryFrom<u64>>(&mut self, name: &'static str) -> Option<T> {
        let (key, value) = self.take(name)?;
        let DeValue::Integer(integer) = value.get_ref() else {
            return self.mismatch(&key, "a whole number without quotes", value.get_ref());
        };
        let (least, most) = keys::range(&without_indexes(&key));
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let inside = number.filter(|number| (least..=most).contains(number));
        let taken = inside.and_then(|number| T::try_from(number).ok());
        if taken.is_none() {
            self.report
                .problem(&key, format!("{} is not from {least} to {most}", shorten(&integer.to_string())));
        }
        taken
    }

    /// One word of a type's list.
    pub(super) fn word<T: Word>(&mut self, name: &'static str) -> Option<T> {
        let text = self.text(name)?;
        let found = T::WORDS.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if found.is_none() {
            let nearest = suggest::nearest(text, T::WORDS.iter().map(|(word, _)| *word));
            let advice = nearest.map_or(String::new(), |word| format!("; did you mean \"{word}\"?"));
            let wrong = shorten(text);
            self.report.problem(&self.key(name), format!("{wrong:?} is not {}{advice}", choices::<T>()));
        }
        found
    }

    /// Reports a key without which this table means nothing.
    pub(super) fn missing(&self, name: &str, advice: &str) {
        self.report.problem(&self.key(name), format!("is missing; {advice}"));
    }

    /// Whether the file has this key, of whatever type.
    pub(super) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// Whether a key holds this very text.
    pub(super) fn is_text(&mut self, name: &'static str, text: &str) -> bool {
        let value = self.take(name).map(|(_, value)| value.get_ref());
        matches!(value, Some(DeValue::String(found)) if found.as_ref() == text)
    }

    /// Reports each key that was never asked for.
    pub(super) fn finish(self) {
        let unknown = self.table.iter().filter(|(key, _)| !self.asked.contains(&key.get_ref().as_ref()));
        for (key, _) in unknown {
            let name: &str = key.get_ref();
            let advice = if self.report.is_full() { String::new() } else { self.advice(name) };
            let line = self.report.line_of(key.span().start);
            self.report.problem_on(Some(line), &self.key(&bare(name)), format!("unknown key; {advice}"));
        }
    }

    /// What an unknown key may have been meant to be.
    fn advice(&self, name: &str) -> String {
        let home = without_indexes(&self.path);
        let nearest = suggest::nearest_keys(&home, name);
        if nearest.is_empty() {
            return format!("known here: {}", suggest::known_in(&home).join(", "));
        }
        let shown = nearest.into_iter().map(|path| match path.rsplit_once('.').unwrap_or(("", path)) {
            (section, name) if section == home => self.key(name),
            _ => path.to_owned(),
        });
        format!("did you mean {}?", shown.collect::<Vec<_>>().join(" or "))
    }

    /// The value of a key, and its path.
    fn take(&mut self, name: &'static str) -> Option<(String, &'a Spanned<DeValue<'a>>)> {
        self.asked.push(name);
        let (key, value) = self.entry(name)?;
        let path = self.key(name);
        self.report.remember(&path, &key.span());
        Some((path, value))
    }

    fn entry(&self, name: &str) -> Option<(&'a Spanned<DeString<'a>>, &'a Spanned<DeValue<'a>>)> {
        self.table.get_key_value(name)
    }

    fn parse<T: FromStr<Err = String>>(&self, key: &str, text: &str) -> Option<T> {
        match text.parse() {
            Ok(value) => Some(value),
            Err(why) => {
                self.report.problem(key, format!("{:?}: {why}", shorten(text)));
                None
            }
        }
    }

    /// Reports a value of the wrong type. The value itself is not shown: it may be a password.
    fn mismatch<T>(&self, key: &str, wanted: &str, found: &DeValue<'_>) -> Option<T> {
        let found = match found {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.report.problem(key, format!("must be {wanted}; found {found}"));
        None
    }
}

/// The list that a text of several, each good by itself, should have been.
fn several<T: FromStr>(text: &str) -> Option<String> {
    let parts: Vec<_> = text.split([',', ';', ' ']).filter(|part| !part.is_empty()).collect();
    let good = |text: &str| text.parse::<T>().is_ok();
    (parts.len() > 1 && parts.len() <= 8 && !good(text) && parts.iter().all(|part| good(part)))
        .then(|| format!("{parts:?}"))
}

/// `servers[0].name` as `keys` knows it: `servers.name`.
fn without_indexes(path: &str) -> String {
    let mut inside = false;
    let outside = path.chars().filter(|c| {
        inside |= *c == '[';
        let keep = !inside;
        inside &= *c != ']';
        keep
    });
    outside.collect()
}

/// A key as a message shows it: quoted where TOML would ask for quotes, and of bearable length.
fn bare(name: &str) -> String {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if !name.is_empty() && name.len() <= SHOWN && name.bytes().all(legal) {
        name.to_owned()
    } else {
        format!("{:?}", shorten(name))
    }
}

/// The beginning of a text that may be of any length.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
