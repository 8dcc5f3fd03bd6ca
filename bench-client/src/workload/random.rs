//! Random numbers that a seed repeats.

/// A SplitMix64 stream: small, quick, good enough to pick rows.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream number `stream` of a seed.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut random = Random { state: seed ^ stream.wrapping_mul(0xA076_1D64_78BD_642F) };
        random.next_u64();
        random
    }

    fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 1 to `limit`, each as likely as the others.
    pub fn up_to(&mut self, limit: u32) -> u32 {
        // The high half of the product: no division, and no more bias than 1 in 2^32.
        let scaled = ((self.next_u64() >> 32) * u64::from(limit)) >> 32;
        u32::try_from(scaled).expect("below limit") + 1
    }

    /// `groups` groups of eleven digits with dashes between them, as sysbench fills its text columns.
    pub fn digits(&mut self, groups: usize) -> String {
        let mut text = String::with_capacity(groups * 12);
        for group in 0..groups {
            if group > 0 {
                text.push('-');
            }
            let mut number = self.next_u64();
            for _ in 0..11 {
                text.push(char::from(b'0' + u8::try_from(number % 10).expect("a digit")));
                number /= 10;
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_stream_and_streams_differ() {
        let draw = |stream| {
            let mut random = Random::new(7, stream);
            (0..8).map(|_| random.up_to(1_000_000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn numbers_stay_in_their_range_and_reach_its_ends() {
        let mut random = Random::new(1, 1);
        let drawn: Vec<u32> = (0..1000).map(|_| random.up_to(10)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&1), Some(&10)));
    }

    #[test]
    fn text_has_sysbenchs_form() {
        let text = Random::new(1, 1).digits(10);
        assert_eq!(text.len(), 119);
        assert!(text.split('-').all(|group| group.len() == 11 && group.bytes().all(|b| b.is_ascii_digit())));
    }
}
