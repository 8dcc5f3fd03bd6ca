//! The nearest right name of a wrong one.

use strsim::damerau_levenshtein;

use super::keys::KEYS;

/// Longer names are nobody's slip of the pen, and comparing them would cost more than it tells.
const LONGEST_COMPARED: usize = 64;

/// The nearest of some names, if it is near enough to have been meant.
pub(super) fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = comparable(wrong)?;
    let scored = names.map(|name| (damerau_levenshtein(&wrong, name), name));
    scored.filter(|(distance, name)| near(*distance, name)).min().map(|(_, name)| name)
}

/// The nearest known key of a wrong one: by its own name in its own section first, then anywhere.
/// `section` is the path without indexes; the answer is a whole path.
pub(super) fn nearest_key(section: &str, wrong: &str) -> Option<&'static str> {
    let wrong = comparable(wrong)?;
    let scored = paths().filter_map(|path| {
        let (home, name) = path.rsplit_once('.').unwrap_or(("", path));
        let distance = damerau_levenshtein(&wrong, name);
        let away = usize::from(home != section);
        near(distance, name).then_some((distance + away, path))
    });
    scored.min().map(|(_, path)| path)
}

/// The names that a section knows, in the reference's order.
pub(super) fn known_in(section: &str) -> Vec<&'static str> {
    let mut names = Vec::new();
    for path in paths() {
        let (home, name) = path.rsplit_once('.').unwrap_or(("", path));
        if home == section && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Every key, and every section above it.
fn paths() -> impl Iterator<Item = &'static str> {
    KEYS.iter().flat_map(|key| {
        let ends = key.path.match_indices('.').map(|(at, _)| &key.path[..at]);
        std::iter::once(key.path).chain(ends)
    })
}

fn comparable(wrong: &str) -> Option<String> {
    (wrong.len() <= LONGEST_COMPARED).then(|| wrong.to_lowercase().replace('-', "_"))
}

/// A third of the name may differ, at least one letter, at most four.
fn near(distance: usize, name: &str) -> bool {
    distance <= (name.len() / 3).clamp(1, 4)
}
