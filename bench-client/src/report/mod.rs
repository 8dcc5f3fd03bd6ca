//! What is shown to the reader.

pub mod compare;
mod document;
pub mod html;
#[cfg(test)]
pub(crate) mod sample;
mod table;
pub mod text;

pub use document::{
    Comparison, Cpu, Document, DocumentError, Fairness, Figures, Point, Run, SCHEMA, Split, TargetResult,
    distribution, shown_command, write,
};
pub use table::{Align, Table};
pub use text::thousands_of;

/// A whole number with commas between its thousands.
#[must_use]
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let shown: Vec<String> = [0, 999, 1000, 1_234_567].into_iter().map(thousands).collect();
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }
}
