//! A set of rules, as one bit for each.

/// Which rules of the file are meant. Empty sets of no rules take no memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleSet(Box<[u64]>);

impl RuleSet {
    /// An empty set that can take the first `rules` rules.
    pub(super) fn empty(rules: usize) -> Self {
        Self(vec![0; rules.div_ceil(64)].into_boxed_slice())
    }

    pub(super) fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    /// Its rules, in the file's order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.common(self)
    }

    /// The rules in both sets, in the file's order.
    pub(super) fn common<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = usize> + 'a {
        self.0.iter().zip(&other.0).enumerate().flat_map(|(word, (one, other))| {
            let mut left = one & other;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(word * 64 + bit as usize)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_sets_share_comes_in_order() {
        let of = |places: &[usize]| {
            let mut set = RuleSet::empty(200);
            places.iter().for_each(|at| set.insert(*at));
            set
        };
        let (one, other) = (of(&[199, 0, 63, 64, 127, 5]), of(&[64, 63, 199, 6, 0]));
        assert_eq!(one.common(&other).collect::<Vec<_>>(), [0, 63, 64, 199]);
        assert_eq!(one.common(&RuleSet::default()).count(), 0);
        assert_eq!(one.iter().collect::<Vec<_>>(), [0, 5, 63, 64, 127, 199]);
    }
}
