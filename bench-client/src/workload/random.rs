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

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 (included) to 1 (not included).
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit exactly")]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number from 1 to `limit`, each as likely as the others.
    pub fn up_to(&mut self, limit: u32) -> u32 {
        // The high half of the product: no division, and no more bias than 1 in 2^32.
        let scaled = ((self.next_u64() >> 32) * u64::from(limit)) >> 32;
        u32::try_from(scaled).expect("below limit") + 1
    }

    /// Puts 0..`count` into a random order.
    #[must_use]
    pub fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            let other = self.up_to(u32::try_from(at + 1).unwrap_or(u32::MAX)) as usize - 1;
            order.swap(at, other);
        }
        order
    }

    /// Appends `groups` groups of eleven digits with dashes between them, as sysbench fills its text columns.
    pub fn digits(&mut self, groups: usize, text: &mut Vec<u8>) {
        for group in 0..groups {
            if group > 0 {
                text.push(b'-');
            }
            let mut number = self.next_u64();
            text.extend(std::array::from_fn::<u8, 11, _>(|_| {
                let digit = b'0' + u8::try_from(number % 10).expect("a digit");
                number /= 10;
                digit
            }));
        }
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
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.unit())));
    }

    #[test]
    fn text_has_sysbenchs_form() {
        let mut text = Vec::new();
        Random::new(1, 1).digits(10, &mut text);
        assert_eq!(text.len(), 119);
        assert!(text.split(|b| *b == b'-').all(|g| g.len() == 11 && g.iter().all(u8::is_ascii_digit)));
    }

    #[test]
    fn a_shuffle_keeps_every_element_and_its_order_differs_from_time_to_time() {
        let mut random = Random::new(1, 1);
        let orders: Vec<Vec<usize>> = (0..20).map(|_| random.shuffled(4)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
        assert!(orders.iter().any(|order| order != &orders[0]));
    }
}
