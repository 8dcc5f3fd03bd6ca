//! How ids are drawn: sysbench's `--rand-type`.

use super::Random;
use crate::plan::{Rand, RandType};

/// Draws numbers from 1 to a limit.
#[derive(Debug, Clone)]
pub struct Ids {
    first: u32,
    count: f64,
    shape: Shape,
}

#[derive(Debug, Clone)]
enum Shape {
    Uniform,
    Gaussian { draws: u32 },
    Special { draws: u32, hit_middle: f64, middle: f64 },
    Pareto { power: f64 },
    Zipfian(Zipf),
}

impl Ids {
    /// Numbers from 1 to `limit`, distributed as the settings say.
    #[must_use]
    pub fn new(rand: &Rand, limit: u32) -> Ids {
        Ids::between(rand, 1, limit)
    }

    /// Numbers from `first` to `last`.
    #[must_use]
    pub fn between(rand: &Rand, first: u32, last: u32) -> Ids {
        let count = f64::from(last.max(first) - first) + 1.0;
        let draws = rand.spec_iter.max(1);
        let shape = match rand.kind {
            RandType::Uniform => Shape::Uniform,
            RandType::Gaussian => Shape::Gaussian { draws },
            RandType::Special => Shape::Special {
                draws,
                hit_middle: f64::from(rand.spec_res.min(100)) / 100.0,
                middle: (count * f64::from(rand.spec_pct) / 100.0).max(1.0),
            },
            RandType::Pareto => Shape::Pareto { power: rand.pareto_h.ln() / (1.0 - rand.pareto_h).ln() },
            RandType::Zipfian => Shape::Zipfian(Zipf::new(rand.zipfian_exp, count)),
        };
        Ids { first, count, shape }
    }

    /// The next number.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to below count, which came from a u32"
    )]
    pub fn draw(&self, random: &mut Random) -> u32 {
        let offset = match &self.shape {
            Shape::Uniform => random.unit() * self.count,
            Shape::Gaussian { draws } => bell(random, *draws) * self.count,
            Shape::Special { draws, hit_middle, middle } => {
                if random.unit() < *hit_middle {
                    self.count / 2.0 - middle / 2.0 + (random.unit() * middle).floor()
                } else {
                    bell(random, *draws) * self.count
                }
            }
            Shape::Pareto { power } => random.unit().powf(*power) * self.count,
            Shape::Zipfian(zipf) => zipf.draw(random) - 1.0,
        };
        self.first + offset.clamp(0.0, self.count - 1.0) as u32
    }
}

/// The mean of some uniform numbers: a bell around one half.
fn bell(random: &mut Random, draws: u32) -> f64 {
    (0..draws).map(|_| random.unit()).sum::<f64>() / f64::from(draws)
}

/// Zipf's law by rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone
/// discrete distributions", ACM TOMACS 6, 1996): no table, whatever the number of ids.
#[derive(Debug, Clone)]
struct Zipf {
    exponent: f64,
    count: f64,
    area_of_first: f64,
    area: f64,
    squeeze: f64,
}

impl Zipf {
    fn new(exponent: f64, count: f64) -> Zipf {
        let mut zipf = Zipf { exponent, count, area_of_first: 0.0, area: 0.0, squeeze: 0.0 };
        zipf.area_of_first = zipf.integral(1.5) - 1.0;
        zipf.area = zipf.integral(count + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// 1 / x^exponent.
    fn weight(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the weight up to a constant: ln x where the exponent is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.exponent) * log;
        if t.abs() < 1e-8 { log } else { t.exp_m1() / t * log }
    }

    fn inverse(&self, y: f64) -> f64 {
        let t = (y * (1.0 - self.exponent)).max(-1.0);
        if t.abs() < 1e-8 { y.exp() } else { (t.ln_1p() / t * y).exp() }
    }

    fn draw(&self, random: &mut Random) -> f64 {
        loop {
            let u = self.area + random.unit() * (self.area_of_first - self.area);
            let x = self.inverse(u);
            let k = x.round().clamp(1.0, self.count);
            if k - x <= self.squeeze || u >= self.integral(k + 0.5) - self.weight(k) {
                return k;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 100_000;

    fn counts(kind: RandType, limit: u32) -> Vec<u32> {
        let ids = Ids::new(&Rand { kind, ..Rand::default() }, limit);
        let mut random = Random::new(5, 1);
        let mut counts = vec![0; limit as usize];
        for _ in 0..DRAWS {
            counts[ids.draw(&mut random) as usize - 1] += 1;
        }
        counts
    }

    fn share(counts: &[u32], ids: std::ops::Range<usize>) -> f64 {
        f64::from(counts[ids].iter().sum::<u32>()) / f64::from(DRAWS)
    }

    #[track_caller]
    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 0.01, "{value} is not near {expected}");
    }

    #[test]
    fn uniform_ids_are_spread_evenly() {
        let counts = counts(RandType::Uniform, 1000);
        for hundred in 0..10 {
            near(share(&counts, hundred * 100..(hundred + 1) * 100), 0.1);
        }
    }

    #[test]
    fn gaussian_ids_are_in_the_middle_as_the_sum_of_twelve_is() {
        // The mean of twelve uniform numbers has a standard deviation of 1/12.
        let counts = counts(RandType::Gaussian, 1200);
        near(share(&counts, 500..700), 0.683);
        near(share(&counts, 400..800), 0.954);
    }

    #[test]
    fn one_in_a_hundred_special_ids_take_three_quarters_of_the_draws() {
        let counts = counts(RandType::Special, 10_000);
        let special = share(&counts, 4950..5050);
        // The bell that makes the rest reaches them too.
        assert!((0.75..0.80).contains(&special), "{special}");
    }

    #[test]
    fn a_fifth_of_the_ids_takes_four_fifths_of_pareto() {
        near(share(&counts(RandType::Pareto, 1000), 0..200), 0.8);
    }

    #[test]
    fn zipfian_shares_follow_the_law() {
        let counts = counts(RandType::Zipfian, 100);
        let total: f64 = (1..=100).map(|k| f64::from(k).powf(-0.8)).sum();
        for id in [1_u32, 2, 10, 50] {
            near(share(&counts, id as usize - 1..id as usize), f64::from(id).powf(-0.8) / total);
        }
    }

    #[test]
    fn every_distribution_keeps_to_its_range_even_where_it_is_one_id() {
        for kind in
            [RandType::Uniform, RandType::Gaussian, RandType::Special, RandType::Pareto, RandType::Zipfian]
        {
            let ids = Ids::between(&Rand { kind, ..Rand::default() }, 7, 7);
            let mut random = Random::new(1, 1);
            assert!((0..100).all(|_| ids.draw(&mut random) == 7), "{kind:?}");
        }
    }
}
