//! Did a sign become rarer or more frequent by chance? The share of readings in which it held says so where means
//! do not: a counter that jumps between 0 and thousands has a mean that a few readings make.
//!
//! Whole blocks of neighbouring readings are dealt to the two sides anew (a permutation test of blocks): were
//! both sides alike, any way to deal them were as likely as the one that was seen. That holds for any distribution,
//! also where one side has nothing but zeros, from which a bootstrap learns no spread.

use super::bootstrap::{self, Random};

/// Deals. The smallest p-value that can come out is one in so many.
const DEALS: usize = 2_000;

/// With fewer blocks on a side no deal is rare enough to tell anything.
const BLOCKS_MIN: usize = 4;

/// Shares of blocks differ by more than this, or they are equal: sums in another order differ in their last digits.
const EQUAL: f64 = 1e-9;

/// The probability that the shares of true readings differ as much as they do, or more, by chance; `name` seeds
/// the deals. Nothing when a side has too few blocks, or when all readings of both sides are alike.
pub(super) fn share_differs(before: &[bool], after: &[bool], name: &str) -> Option<f64> {
    let first = before.first()?;
    if before.iter().chain(after).all(|one| one == first) {
        return None;
    }
    let [before, after] = [before, after]
        .map(|side| -> Vec<f64> { side.iter().map(|held| f64::from(u8::from(*held))).collect() });
    let block = bootstrap::block_of(&before).max(bootstrap::block_of(&after));
    let (before, after) = (blocks(&before, block)?, blocks(&after, block)?);
    let mut all = before;
    let count = all.len();
    all.extend(after);
    let seen = apart(&all, count);
    let mut random = Random::new(name);
    let mut as_far = 0_u32;
    for _ in 0..DEALS {
        for last in (1..all.len()).rev() {
            all.swap(last, random.below(last + 1));
        }
        as_far += u32::from(apart(&all, count) >= seen - EQUAL);
    }
    Some((f64::from(as_far) + 1.0) / (DEALS as f64 + 1.0))
}

/// Means of as many stretches of at least this length as there are, nearly equal ones.
fn blocks(values: &[f64], length: usize) -> Option<Vec<f64>> {
    let count = values.len() / length.max(1);
    if count < BLOCKS_MIN {
        return None;
    }
    let bound = |index: usize| index * values.len() / count;
    let means = (0..count).filter_map(|index| {
        let block = values.get(bound(index)..bound(index + 1))?;
        Some(block.iter().sum::<f64>() / block.len() as f64)
    });
    Some(means.collect())
}

/// How far the mean of the first so many values is from that of the others.
fn apart(values: &[f64], count: usize) -> f64 {
    let (first, second) = values.split_at(count.min(values.len()));
    let mean = |side: &[f64]| side.iter().sum::<f64>() / side.len().max(1) as f64;
    (mean(first) - mean(second)).abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of a given length, each true with probability a half.
    fn runs(random: &mut Random, length: usize, run: usize) -> Vec<bool> {
        (0..length.div_ceil(run))
            .map(|_| random.below(2) == 0)
            .flat_map(|held| std::iter::repeat_n(held, run))
            .take(length)
            .collect()
    }

    #[test]
    fn what_is_alike_is_seldom_told_apart_though_readings_depend_on_each_other() {
        let mut random = Random::new("alike");
        for (run, most) in [(1, 0.07), (3, 0.08), (6, 0.09)] {
            let rounds = 200;
            let found: u32 = (0..rounds)
                .map(|_| {
                    let sides = [90, 60].map(|length| runs(&mut random, length, run));
                    let p = share_differs(&sides[0], &sides[1], "x");
                    u32::from(p.is_some_and(|p| p < 0.05))
                })
                .sum();
            let share = f64::from(found) / f64::from(rounds);
            eprintln!("runs of {run}: {:.1} % p < 0.05", share * 100.0);
            assert!(share <= most, "runs of {run}: {share}");
        }
    }

    #[test]
    fn a_sign_that_came_and_went_and_is_gone_is_told() {
        let mut random = Random::new("gone");
        let before: Vec<bool> = (0..36).map(|_| random.below(4) != 0).collect();
        let p = share_differs(&before, &[false; 33], "x").unwrap();
        assert!(p < 0.002, "{p}");
        assert_eq!(share_differs(&before, &[false; 33], "x"), Some(p));
        let same = share_differs(&before, &before, "x").unwrap();
        assert!(same > 0.5, "{same}");
    }

    #[test]
    fn few_or_equal_readings_tell_nothing() {
        assert_eq!(share_differs(&[], &[true], "x"), None);
        assert_eq!(share_differs(&[true; 3], &[false; 3], "x"), None);
        assert_eq!(share_differs(&[true; 40], &[true; 40], "x"), None);
        assert!(share_differs(&[true; 40], &[false; 40], "x").unwrap() < 0.001);
        let once: Vec<bool> = (0..40).map(|at| at < 20).collect();
        assert!(share_differs(&once, &[false; 40], "x").is_none_or(|p| p > 0.05));
    }
}
