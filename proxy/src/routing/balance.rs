//! Which of several usable replicas gets the next read: smooth weighted round robin.

/// Chooses among servers in proportion to their weights, spread evenly: weights 3 and 1 give
/// a, a, b, a and so on, not a, a, a, b. Exact over any window of the sum of the weights.
#[derive(Debug, Clone, Default)]
pub struct Balancer {
    /// Credit of each server, by its index; grows by its weight at each choice it may take part in.
    credits: Vec<i64>,
}

impl Balancer {
    /// A balancer with no history.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The index of the server for the next read, out of `usable` pairs of index and weight. `None`
    /// when none has a weight above 0. Servers that are not usable neither lose nor gather credit.
    pub fn choose(&mut self, usable: &[(usize, u32)]) -> Option<usize> {
        let mut total = 0_i64;
        let mut best: Option<(usize, i64)> = None;
        for &(index, weight) in usable.iter().filter(|(_, weight)| *weight > 0) {
            if self.credits.len() <= index {
                self.credits.resize(index + 1, 0);
            }
            total += i64::from(weight);
            self.credits[index] += i64::from(weight);
            if best.is_none_or(|(_, credit)| self.credits[index] > credit) {
                best = Some((index, self.credits[index]));
            }
        }
        let (index, _) = best?;
        self.credits[index] -= total;
        Some(index)
    }

    /// Forgets the history: for a changed set of servers, whose indexes mean others.
    pub fn reset(&mut self) {
        self.credits.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(balancer: &mut Balancer, usable: &[(usize, u32)], rounds: usize) -> Vec<usize> {
        let mut counts = vec![0; 8];
        for _ in 0..rounds {
            counts[balancer.choose(usable).unwrap()] += 1;
        }
        counts
    }

    #[test]
    fn weights_three_and_one_give_three_to_one_in_every_window_of_four() {
        let mut balancer = Balancer::new();
        for _ in 0..100 {
            assert_eq!(counts(&mut balancer, &[(0, 3), (1, 1)], 4)[..2], [3, 1]);
        }
    }

    #[test]
    fn choices_are_spread_not_bunched() {
        let mut balancer = Balancer::new();
        let chosen: Vec<_> = (0..8).filter_map(|_| balancer.choose(&[(0, 3), (1, 1)])).collect();
        assert!(chosen.windows(4).all(|window| window.contains(&1)));
    }

    #[test]
    fn the_weights_hold_among_those_left_while_another_is_down() {
        let mut balancer = Balancer::new();
        let all = [(0, 2), (1, 3), (2, 1)];
        counts(&mut balancer, &all, 5);
        let left = counts(&mut balancer, &all[1..], 4_000);
        assert!(left[1].abs_diff(3_000) <= 3 && left[2].abs_diff(1_000) <= 3, "{left:?}");
        let back = counts(&mut balancer, &all, 6_000);
        assert!(back[0].abs_diff(2_000) <= 6 && back[1].abs_diff(3_000) <= 6, "{back:?}");
    }

    #[test]
    fn nothing_usable_and_weight_zero_give_none() {
        let mut balancer = Balancer::new();
        assert_eq!(balancer.choose(&[]), None);
        assert_eq!(balancer.choose(&[(0, 0)]), None);
        assert_eq!(balancer.choose(&[(0, 0), (1, 1)]), Some(1));
        balancer.reset();
        assert_eq!(balancer.choose(&[(5, 1)]), Some(5));
    }
}
