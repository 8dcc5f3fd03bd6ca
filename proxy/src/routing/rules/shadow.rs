//! Whether a rule can never be the first that matches, because an earlier one takes all that it asks for.

use super::Matcher;
use crate::routing::class::TableName;

/// Whether all that `narrow` matches is known to be matched by `wide`. False where it cannot be proved.
#[must_use]
pub fn is_wider(wide: &Matcher, narrow: &Matcher) -> bool {
    covers(&wide.kinds, &narrow.kinds, |a, b| a == b)
        && covers(&wide.fingerprints, &narrow.fingerprints, |a, b| a == b)
        && covers(&wide.schemas, &narrow.schemas, |a, b| a.eq_ignore_ascii_case(b))
        && covers(&wide.tables, &narrow.tables, covers_table)
        && match (&wide.regex, &narrow.regex) {
            (None, _) => true,
            (Some(wide), Some(narrow)) => wide.is_wider(narrow),
            (Some(_), None) => false,
        }
}

/// Whether a list of alternatives takes in all of another; an empty one takes in everything.
pub fn covers<T>(wide: &[T], narrow: &[T], takes_in: impl Fn(&T, &T) -> bool) -> bool {
    wide.is_empty() || !narrow.is_empty() && narrow.iter().all(|n| wide.iter().any(|w| takes_in(w, n)))
}

fn covers_table(wide: &TableName, narrow: &TableName) -> bool {
    let schema = match (&wide.schema, &narrow.schema) {
        (None, _) => true,
        (Some(wide), Some(narrow)) => wide.eq_ignore_ascii_case(narrow),
        (Some(_), None) => false,
    };
    schema && wide.table.eq_ignore_ascii_case(&narrow.table)
}
