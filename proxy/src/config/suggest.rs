//! The nearest right name of a wrong one.

use strsim::damerau_levenshtein;

use super::keys::KEYS;

/// Longer names are nobody's slip of the pen, and comparing them would cost more than it tells.
const LONGEST_COMPARED: usize = 64;

/// Letters of difference that another section counts for.
const ELSEWHERE: usize = 2;

/// The nearest of some names, if it is near enough to have been meant.
pub(super) fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = comparable(wrong)?;
    let scored = names.map(|name| (damerau_levenshtein(&wrong, name), name));
    scored.filter(|(distance, name)| near(*distance, name)).min().map(|(_, name)| name)
}

/// The nearest known keys of a wrong one, as whole paths in the reference's order: more than one where several
/// sections have the name. A key of the same section is nearer than one of another. `section` is without indexes.
pub(super) fn nearest_keys(section: &str, wrong: &str) -> Vec<&'static str> {
    let Some(wrong) = comparable(wrong) else { return Vec::new() };
    let mut least = usize::MAX;
    let mut nearest = Vec::new();
    for path in paths() {
        let (home, name) = path.rsplit_once('.').unwrap_or(("", path));
        let distance = damerau_levenshtein(&wrong, name);
        let with_way = if home == section { distance } else { distance + ELSEWHERE };
        if !near(distance, name) || with_way > least || nearest.contains(&path) {
            continue;
        }
        if with_way < least {
            least = with_way;
            nearest.clear();
        }
        nearest.push(path);
    }
    nearest
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
