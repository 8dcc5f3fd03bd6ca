//! Statements with places for values, and the calls that an event is made of. An event's memory is used again for
//! the next one, so that making statements costs the driver no allocation.

use std::io::Write as _;
use std::ops::Range;

use super::Random;

/// What a statement does, as the servers' own counters tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// SELECT.
    Read,
    /// INSERT, UPDATE or DELETE.
    Write,
    /// BEGIN or COMMIT.
    Transaction,
}

/// A statement of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its text, with `?` for each value.
    pub sql: String,
    /// What it does.
    pub effect: Effect,
    /// Whether it is sent as text even where others are prepared, as sysbench does with `oltp_insert`.
    pub text_only: bool,
    parts: Vec<Range<usize>>,
}

impl Template {
    /// A statement with `?` for each value.
    #[must_use]
    pub fn new(effect: Effect, sql: impl Into<String>) -> Template {
        let sql = sql.into();
        let mut parts = Vec::new();
        let mut start = 0;
        for (at, _) in sql.match_indices('?') {
            parts.push(start..at);
            start = at + 1;
        }
        parts.push(start..sql.len());
        Template { sql, effect, text_only: false, parts }
    }

    /// The same, never prepared.
    #[must_use]
    pub fn as_text(mut self) -> Template {
        self.text_only = true;
        self
    }

    /// How many values it takes.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.parts.len() - 1
    }

    /// Appends its text with the call's values in their places.
    pub fn write(&self, event: &Event, call: &Call, out: &mut Vec<u8>) {
        let mut values = event.values(call).iter();
        for part in &self.parts {
            out.extend_from_slice(&self.sql.as_bytes()[part.clone()]);
            match values.next() {
                // A Vec takes every write.
                Some(Value::Integer(number)) => {
                    let _ = write!(out, "{number}");
                }
                Some(Value::Text(range)) => {
                    out.push(b'\'');
                    out.extend_from_slice(event.text(range));
                    out.push(b'\'');
                }
                None => {}
            }
        }
    }
}

/// A value of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// INTEGER.
    Integer(i32),
    /// CHAR, as a range of the event's text.
    Text(Range<usize>),
}

/// One statement of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The number of its template.
    pub template: usize,
    values: Range<usize>,
}

/// The statements of one event, in order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Event {
    calls: Vec<Call>,
    values: Vec<Value>,
    text: Vec<u8>,
}

impl Event {
    /// Forgets the statements, keeps the memory.
    pub fn clear(&mut self) {
        self.calls.clear();
        self.values.clear();
        self.text.clear();
    }

    /// The statements.
    #[must_use]
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// A call's values.
    #[must_use]
    pub fn values(&self, call: &Call) -> &[Value] {
        &self.values[call.values.clone()]
    }

    /// The text of a [`Value::Text`].
    #[must_use]
    pub fn text(&self, range: &Range<usize>) -> &[u8] {
        &self.text[range.clone()]
    }

    /// Adds a call of a template with all the values added since the last.
    pub(super) fn call(&mut self, template: usize) {
        let start = self.calls.last().map_or(0, |call| call.values.end);
        self.calls.push(Call { template, values: start..self.values.len() });
    }

    /// Adds a number for the next call.
    pub(super) fn integer(&mut self, number: u32) {
        // Ids are INTEGER columns: their highest is below 2^31, see the limit on --table-size.
        self.values.push(Value::Integer(i32::try_from(number).unwrap_or(i32::MAX)));
    }

    /// Adds `groups` groups of eleven digits for the next call.
    pub(super) fn digits(&mut self, random: &mut Random, groups: usize) {
        let start = self.text.len();
        random.digits(groups, &mut self.text);
        self.values.push(Value::Text(start..self.text.len()));
    }
}
