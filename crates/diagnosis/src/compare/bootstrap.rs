//! Is a difference of two stretches of seconds more than chance? Seconds follow each other: a busy
//! second has busy neighbours, and tests that take them for independent find differences everywhere.
//!
//! The circular block bootstrap (Politis and Romano 1992) draws whole blocks of neighbouring
//! seconds. The length of a block follows from the autocorrelation (Politis and White 2004, with
//! the correction of Patton, Politis and White 2009). Few blocks vary less than the truth does, so
//! the deviations are widened by Student's t for the number of blocks.

/// Draws. The smallest p-value that can come out is one in so many.
const DRAWS: usize = 2_000;

/// What is left on either side of an interval of 95 %.
const TAIL: f64 = 0.025;

/// The same quantile of the normal distribution.
const Z: f64 = 1.959_964;

/// Values of one side, with what is needed to draw from them.
struct Blocks {
    mean: f64,
    /// Sums of the first values, the values twice in a row: the sum of any circular block at once.
    sums: Vec<f64>,
    length: usize,
    rests: Rests,
    /// What the deviation of a draw is multiplied by.
    widening: f64,
}

/// What one side's mean rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rests {
    /// Length of a block, in values.
    pub(crate) block: usize,
    /// Independent blocks: values that tell as much as these do.
    pub(crate) blocks: f64,
}

/// A difference of means, the second less the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Difference {
    pub(crate) value: f64,
    /// 95 % interval.
    pub(crate) interval: (f64, f64),
    /// The second mean over the first with its interval; absent when the first one is not above 0.
    pub(crate) ratio: Option<(f64, f64, f64)>,
    /// Probability of such a difference, or a larger one, by chance.
    pub(crate) p: f64,
    pub(crate) rests: [Rests; 2],
}

/// Compares the means of two stretches; `name` seeds the draws, so that the same input gives the
/// same numbers. Nothing when either has fewer than two values.
pub(crate) fn difference(before: &[f64], after: &[f64], name: &str) -> Option<Difference> {
    let before = Blocks::new(before)?;
    let after = Blocks::new(after)?;
    let mut random = Random::new(name);
    let value = after.mean - before.mean;
    let mut differences = Vec::with_capacity(DRAWS);
    let mut ratios = Vec::with_capacity(DRAWS);
    let mut larger = 0_u32;
    for _ in 0..DRAWS {
        let off_before = before.deviation(&mut random);
        let off_after = after.deviation(&mut random);
        let off = off_after - off_before;
        larger += u32::from(off.abs() >= value.abs());
        differences.push(value + off);
        let under = before.mean + off_before;
        ratios.push(if under > 0.0 {
            ((after.mean + off_after) / under).max(0.0)
        } else {
            f64::INFINITY
        });
    }
    let ratio = (before.mean > 0.0).then(|| {
        let (low, high) = interval(&mut ratios);
        (after.mean / before.mean, low, high)
    });
    Some(Difference {
        value,
        interval: interval(&mut differences),
        ratio,
        p: (f64::from(larger) + 1.0) / (DRAWS as f64 + 1.0),
        rests: [before.rests, after.rests],
    })
}

fn interval(draws: &mut [f64]) -> (f64, f64) {
    draws.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let index = (share * (draws.len().saturating_sub(1)) as f64).round() as usize;
        draws.get(index).copied().unwrap_or(f64::NAN)
    };
    (at(TAIL), at(1.0 - TAIL))
}

impl Blocks {
    fn new(values: &[f64]) -> Option<Self> {
        if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let length = values.len();
        let mean = values.iter().sum::<f64>() / length as f64;
        let block = block_of(values);
        let blocks = length as f64 / block as f64;
        let mut sums = Vec::with_capacity(2 * length + 1);
        let mut sum = 0.0;
        sums.push(sum);
        // Deviations, not values: large sums of near values would lose their difference.
        for value in values.iter().chain(values) {
            sum += value - mean;
            sums.push(sum);
        }
        Some(Self {
            mean,
            sums,
            length,
            rests: Rests { block, blocks },
            widening: widening(blocks),
        })
    }

    /// How far the mean of one draw is from the mean, widened for the number of blocks.
    fn deviation(&self, random: &mut Random) -> f64 {
        let mut left = self.length;
        let mut sum = 0.0;
        while left > 0 {
            let take = self.rests.block.min(left);
            let from = random.below(self.length);
            let end = self.sums.get(from + take).copied().unwrap_or(0.0);
            sum += end - self.sums.get(from).copied().unwrap_or(0.0);
            left -= take;
        }
        sum / self.length as f64 * self.widening
    }
}

/// Resampling k blocks gives (k - 1) / k of the variance, and knows it from k - 1 degrees of
/// freedom only.
fn widening(blocks: f64) -> f64 {
    let freedom = (blocks - 1.0).max(1.0);
    (blocks / freedom).sqrt() * student(freedom) / Z
}

/// The 97.5 % quantile of Student's t by the expansion of Cornish and Fisher (Abramowitz and
/// Stegun 26.7.5); within 1 % from 3 degrees of freedom on.
fn student(freedom: f64) -> f64 {
    let z = Z;
    let (z3, z5, z7) = (z.powi(3), z.powi(5), z.powi(7));
    z + (z3 + z) / (4.0 * freedom)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * freedom.powi(2))
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * freedom.powi(3))
}

/// The block length of Politis and White for the circular bootstrap of a mean, at least 1.
pub(super) fn block_of(values: &[f64]) -> usize {
    let length = values.len();
    let n = length as f64;
    let mean = values.iter().sum::<f64>() / n;
    let covariance = |lag: usize| -> f64 {
        let ahead = values.iter().skip(lag);
        let sum: f64 = values
            .iter()
            .zip(ahead)
            .map(|(one, other)| (one - mean) * (other - mean))
            .sum();
        sum / n
    };
    let variance = covariance(0);
    if length < 8 || variance <= 0.0 {
        return 1;
    }
    let near = ((n.log10().sqrt()).ceil() as usize).max(5);
    let lags_max = (n.sqrt().ceil() as usize + near).min(length - 1);
    let covariances: Vec<f64> = (0..=lags_max).map(covariance).collect();
    let negligible = 2.0 * (n.log10() / n).sqrt();
    let is_small =
        |lag: usize| covariances.get(lag).copied().unwrap_or(0.0).abs() / variance < negligible;
    let last = (0..lags_max)
        .find(|lag| (lag + 1..=lag + near).all(is_small))
        .unwrap_or(lags_max);
    let reach = (2 * last).clamp(1, lags_max);
    // The flat-top window: whole up to the half, then falling to 0.
    let (mut sum, mut weighted) = (variance, 0.0);
    for (lag, covariance) in covariances.iter().enumerate().skip(1).take(reach) {
        let window = (2.0 * (1.0 - lag as f64 / reach as f64)).clamp(0.0, 1.0);
        sum += 2.0 * window * covariance;
        weighted += 2.0 * window * lag as f64 * covariance;
    }
    if sum <= 0.0 {
        return 1;
    }
    let best = (2.0 * weighted.powi(2) / (4.0 / 3.0 * sum.powi(2))).cbrt() * n.cbrt();
    let most = (3.0 * n.sqrt()).min(n / 3.0).ceil();
    (best.min(most).ceil() as usize).clamp(1, length)
}

/// How often a value of the second side is above one of the first, less how often it is below
/// (Cliff's delta): -1 to 1.
pub(crate) fn cliff(before: &[f64], after: &[f64]) -> f64 {
    let mut sorted = before.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let balance: f64 = after
        .iter()
        .map(|value| {
            let below = sorted.partition_point(|one| one < value);
            let up_to = sorted.partition_point(|one| one <= value);
            below as f64 - (sorted.len() - up_to) as f64
        })
        .sum();
    let pairs = before.len() as f64 * after.len() as f64;
    if pairs > 0.0 { balance / pairs } else { 0.0 }
}

/// Holm's adjustment: each p-value as if it were the only one, for a set of which none may be wrong.
pub(crate) fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
    order.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    let mut adjusted = values.to_vec();
    let mut most = 0.0_f64;
    for (rank, (index, p)) in order.into_iter().enumerate() {
        most = most.max((p * (values.len() - rank) as f64).min(1.0));
        if let Some(slot) = adjusted.get_mut(index) {
            *slot = most;
        }
    }
    adjusted
}

/// SplitMix64 (Steele, Lea and Flood 2014): small, and the same everywhere.
pub(super) struct Random(u64);

impl Random {
    /// Seeded by the FNV-1a hash of a name.
    pub(super) fn new(name: &str) -> Self {
        Self(name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below this one.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An autoregressive series of the first order with mean 10 and variance 1.
    fn series(random: &mut Random, length: usize, phi: f64) -> Vec<f64> {
        let mut normal = || -> f64 {
            let uniform: f64 = (0..12)
                .map(|_| random.below(1 << 30) as f64 / f64::from(1 << 30))
                .sum();
            uniform - 6.0
        };
        let mut level = normal();
        let noise = (1.0 - phi * phi).sqrt();
        (0..length)
            .map(|_| {
                level = phi * level + noise * normal();
                10.0 + level
            })
            .collect()
    }

    #[test]
    fn intervals_cover_the_truth_though_seconds_depend_on_each_other() {
        let mut random = Random::new("coverage");
        for (phi, before, after, least) in [
            (0.0, 60, 60, 0.92),
            (0.0, 300, 120, 0.92),
            (0.5, 120, 120, 0.91),
            (0.8, 300, 300, 0.90),
            (0.9, 600, 300, 0.88),
        ] {
            let rounds = 200;
            let mut covered = 0;
            let mut found = 0;
            for _ in 0..rounds {
                let before = series(&mut random, before, phi);
                let after = series(&mut random, after, phi);
                let seen = difference(&before, &after, "x").unwrap();
                covered += u32::from(seen.interval.0 <= 0.0 && seen.interval.1 >= 0.0);
                found += u32::from(seen.p < 0.05);
            }
            let share = f64::from(covered) / f64::from(rounds);
            eprintln!(
                "phi {phi}, {before} and {after} seconds: {:.1} % covered, {:.1} % p < 0.05",
                share * 100.0,
                f64::from(found) / f64::from(rounds) * 100.0
            );
            assert!(share >= least && share <= 0.995, "phi {phi}: {share}");
        }
    }

    #[test]
    fn a_real_difference_is_found_and_the_same_input_gives_the_same_numbers() {
        let mut random = Random::new("power");
        let before = series(&mut random, 120, 0.6);
        let after: Vec<f64> = series(&mut random, 120, 0.6)
            .iter()
            .map(|value| value / 2.0)
            .collect();
        let seen = difference(&before, &after, "x").unwrap();
        assert!(seen.p < 0.001, "{seen:?}");
        let (ratio, low, high) = seen.ratio.unwrap();
        assert!(low < ratio && ratio < high && high < 0.6, "{seen:?}");
        assert_eq!(difference(&before, &after, "x"), Some(seen));
    }

    #[test]
    fn blocks_grow_with_dependence() {
        let mut random = Random::new("blocks");
        let block = |random: &mut Random, phi| {
            let values = series(random, 600, phi);
            Blocks::new(&values).unwrap().rests.block
        };
        let alone = block(&mut random, 0.0);
        let near = block(&mut random, 0.9);
        assert!(alone <= 5 && near >= 15, "{alone} {near}");
    }

    #[test]
    fn few_odd_or_constant_values_do_no_harm() {
        assert_eq!(difference(&[1.0], &[1.0, 2.0], "x"), None);
        assert_eq!(difference(&[1.0, f64::NAN], &[1.0, 2.0], "x"), None);
        let same = difference(&[3.0; 20], &[3.0; 20], "x").unwrap();
        assert_eq!((same.value, same.p), (0.0, 1.0));
        let zero = difference(&[0.0; 20], &[5.0; 20], "x").unwrap();
        assert_eq!((zero.interval, zero.ratio), ((5.0, 5.0), None));
        assert!(zero.p < 0.001);
    }

    #[test]
    fn effects_and_adjustments() {
        assert_eq!(cliff(&[1.0, 2.0], &[3.0, 4.0]), 1.0);
        assert_eq!(cliff(&[1.0, 2.0], &[1.0, 2.0]), 0.0);
        assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
        assert!((student(5.0) - 2.571).abs() < 0.02);
        assert!((student(30.0) - 2.042).abs() < 0.001);
    }
}
