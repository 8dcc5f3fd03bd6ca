//! Which of several usable servers gets the next read.
//!
//! Three policies, one pure function: what is known of each server goes in, the chosen one's index comes out. Servers
//! that a policy holds equally good take turns by weight.

/// How a server is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Each in turn, in proportion to its weight, spread evenly: weights 3 and 1 give a, a, b, a and so on, not
    /// a, a, a, b. Exact over any window of the sum of the weights.
    RoundRobin,
    /// The fewest statements running for each unit of weight: evens out servers, and statements, of unequal speed.
    LeastOutstanding,
    /// The least latency expected: what statements took lately, times those running and the new one, for each unit
    /// of weight. A server that was never measured is tried, with one statement at a time.
    Latency,
}

/// A server that may take the next read, and what is known of it at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Its index among all servers.
    pub index: usize,
    /// Its share of the reads; 0 takes none.
    pub weight: u32,
    /// Statements that run on it now, over all workers. Round robin does not look at it.
    pub outstanding: u32,
    /// What a statement took lately, in microseconds ([`super::Latency::at`]); `None` before the first. Only
    /// [`Policy::Latency`] looks at it.
    pub latency_us: Option<u32>,
}

impl Candidate {
    /// What speaks against it, as a fraction: the less, the better.
    fn burden(&self, policy: Policy) -> Burden {
        let load = match (policy, self.latency_us) {
            (Policy::RoundRobin, _) => 0,
            (Policy::LeastOutstanding, _) => u64::from(self.outstanding),
            (Policy::Latency, Some(latency)) => u64::from(latency) * (u64::from(self.outstanding) + 1),
            (Policy::Latency, None) if self.outstanding == 0 => 0,
            (Policy::Latency, None) => u64::MAX,
        };
        // Round robin has no burden, so that all tie.
        Burden { load, weight: self.weight }
    }
}

/// A load for each unit of weight.
#[derive(Clone, Copy)]
struct Burden {
    load: u64,
    weight: u32,
}

impl Burden {
    fn is_below(self, other: Burden) -> bool {
        self.cross(other) < other.cross(self)
    }

    fn equals(self, other: Burden) -> bool {
        self.cross(other) == other.cross(self)
    }

    fn cross(self, other: Burden) -> u128 {
        u128::from(self.load) * u128::from(other.weight)
    }
}

/// Chooses among servers. Keeps whose turn it is, so each worker has one of its own, with no lock.
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

    /// The index of the server for the next read by a policy; `None` when none has a weight above 0. Servers that
    /// are not among the candidates neither lose nor gather credit. Goes over them a few times and allocates nothing.
    pub fn choose_by(
        &mut self,
        policy: Policy,
        candidates: impl Iterator<Item = Candidate> + Clone,
    ) -> Option<usize> {
        let usable = candidates.filter(|candidate| candidate.weight > 0);
        let burdens = usable.clone().map(|candidate| candidate.burden(policy));
        let least = burdens.reduce(|least, burden| if burden.is_below(least) { burden } else { least })?;
        let best = usable.filter(|candidate| candidate.burden(policy).equals(least));
        self.take_turns(best.map(|candidate| (candidate.index, candidate.weight)))
    }

    /// Smooth weighted round robin.
    fn take_turns(&mut self, usable: impl Iterator<Item = (usize, u32)>) -> Option<usize> {
        let mut total = 0_i64;
        let mut best: Option<(usize, i64)> = None;
        for (index, weight) in usable.filter(|(_, weight)| *weight > 0) {
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
}

#[cfg(test)]
mod tests;
