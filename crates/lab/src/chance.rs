//! Chance that is the same for the same seed (splitmix64).

/// A source of numbers.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    /// One of its own for what these numbers tell apart.
    pub(crate) fn of(what: &[u64]) -> Self {
        let mut chance = Self(0);
        for number in what {
            chance.0 ^= *number;
            chance.0 = chance.number();
        }
        chance
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Below this number; 0 where there is none below.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % (end as u64).max(1)).unwrap_or(0)
    }

    /// From 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.share()
    }

    /// In this share of cases.
    pub(crate) fn is(&mut self, share: f64) -> bool {
        self.share() < share
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len())).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::Chance;

    #[test]
    fn the_same_seed_gives_the_same_and_another_another() {
        let of = |seed: u64| {
            let mut chance = Chance::of(&[seed, 7]);
            [chance.number(), chance.number()]
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        let mut chance = Chance::of(&[3]);
        let shares: Vec<f64> = (0..1000).map(|_| chance.share()).collect();
        assert!(shares.iter().all(|share| (0.0..1.0).contains(share)));
        let mean = shares.iter().sum::<f64>() / 1000.0;
        assert!((0.45..0.55).contains(&mean), "{mean}");
    }
}
