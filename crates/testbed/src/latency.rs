//! A histogram of latencies of fixed size, with percentiles.

use serde::{Deserialize, Serialize};

/// A power of two is divided into this many buckets.
const SUB_BUCKETS: u64 = 64;
const SUB_BUCKET_BITS: u32 = SUB_BUCKETS.ilog2();

/// Values up to [`SUB_BUCKETS`] have a bucket each, then come this many powers of two.
const BUCKETS: usize = ((64 - SUB_BUCKET_BITS + 1) as usize) * (SUB_BUCKETS as usize);

/// A percentile of [`Latency`] is above the true one by at most this share of it, never below:
/// it is the upper end of the true one's bucket. Count and maximum are exact.
pub const RELATIVE_ERROR: f64 = 1.0 / SUB_BUCKETS as f64;

/// Durations in logarithmic buckets: the shape of HdrHistogram with 64 buckets per power of two.
pub(crate) struct Histogram {
    counts: Vec<u64>,
    max_ns: u64,
}

/// How long statements took, in microseconds, from sending one to its last row.
/// The percentiles have an error of at most [`RELATIVE_ERROR`].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Latency {
    /// Half of the statements were at most this slow.
    pub p50_us: f64,
    /// 95 of 100 statements were at most this slow.
    pub p95_us: f64,
    /// 99 of 100 statements were at most this slow.
    pub p99_us: f64,
    /// The slowest statement.
    pub max_us: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            max_ns: 0,
        }
    }
}

impl Histogram {
    pub(crate) fn record(&mut self, ns: u64) {
        if let Some(count) = self.counts.get_mut(bucket(ns)) {
            *count += 1;
        }
        self.max_ns = self.max_ns.max(ns);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// All values are zero when nothing was recorded.
    pub(crate) fn latency(&self) -> Latency {
        Latency {
            p50_us: self.percentile_us(0.50),
            p95_us: self.percentile_us(0.95),
            p99_us: self.percentile_us(0.99),
            max_us: microseconds(self.max_ns),
        }
    }

    fn percentile_us(&self, share: f64) -> f64 {
        let total: u64 = self.counts.iter().sum();
        let rank = (share * total as f64).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank && *count > 0 {
                return microseconds(upper_end(bucket).min(self.max_ns));
            }
        }
        0.0
    }
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

/// A value below [`SUB_BUCKETS`] is its own bucket; the others are found by the power of two and
/// the six bits after the leading one.
fn bucket(ns: u64) -> usize {
    if ns < SUB_BUCKETS {
        return ns as usize;
    }
    let shift = ns.ilog2() - SUB_BUCKET_BITS;
    let within = (ns >> shift) - SUB_BUCKETS;
    (u64::from(shift + 1) * SUB_BUCKETS + within) as usize
}

/// The largest value of a bucket.
fn upper_end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < SUB_BUCKETS {
        return bucket;
    }
    let shift = bucket / SUB_BUCKETS - 1;
    let next = u128::from(bucket % SUB_BUCKETS + SUB_BUCKETS + 1) << shift;
    u64::try_from(next - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_at_most_one_sixty_fourth_below_the_end_of_its_bucket() {
        for power in 0..64 {
            for offset in [0, 1, 7, 1_000_003] {
                let ns = (1_u64 << power).saturating_add(offset);
                let end = upper_end(bucket(ns));
                assert!(bucket(ns) < BUCKETS);
                assert!(end >= ns, "{ns} {end}");
                assert!(
                    (end - ns) as f64 <= ns as f64 * RELATIVE_ERROR,
                    "{ns} {end}"
                );
            }
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert_eq!(upper_end(BUCKETS - 1), u64::MAX);
    }

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for n in 1..BUCKETS {
            assert_eq!(bucket(upper_end(n - 1) + 1), n);
        }
    }

    #[test]
    fn percentiles_of_a_known_distribution() {
        let mut low = Histogram::default();
        let mut high = Histogram::default();
        for ns in 1..=500_000 {
            low.record(ns);
            high.record(ns + 500_000);
        }
        low.merge(&high);
        let latency = low.latency();
        for (found, true_us) in [
            (latency.p50_us, 500.0),
            (latency.p95_us, 950.0),
            (latency.p99_us, 990.0),
        ] {
            assert!(
                found >= true_us && found <= true_us * (1.0 + RELATIVE_ERROR),
                "{found}"
            );
        }
        assert_eq!(latency.max_us, 1000.0);
    }

    #[test]
    fn nothing_recorded_is_zero() {
        assert_eq!(Histogram::default().latency(), Latency::default());
    }
}
