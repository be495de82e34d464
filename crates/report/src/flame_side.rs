//! What a flame graph is of: whose samples, and how they were taken.

use model::{Profile, ProfileCount};

/// One of the two things to compare: samples of several profiles at the rate of the densest.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct FlameSide {
    /// Samples, scaled to `hz`.
    pub(crate) samples: u64,
    /// Samples as they were taken.
    pub(crate) taken: u64,
    /// Samples a second and processor; 0 without a profile.
    pub(crate) hz: u32,
    /// The least of the profiles' rates: below `hz` when their samples were scaled.
    pub(crate) hz_least: u32,
    /// Length of the profiles together, in milliseconds.
    pub(crate) length_ms: u64,
    /// Processors that were sampled.
    pub(crate) processors: u32,
    /// Samples lost.
    pub(crate) lost: u64,
}

impl FlameSide {
    pub(crate) fn from_profiles(whose: Whose, profiles: &[&Profile]) -> Self {
        let hz = || profiles.iter().map(|profile| profile.hz);
        let sum = |value: &dyn Fn(&Profile) -> u64| {
            profiles
                .iter()
                .fold(0u64, |sum, profile| sum.saturating_add(value(profile)))
        };
        Self {
            samples: 0,
            taken: sum(&|profile| {
                let rows = profile.counts.iter().filter(|row| whose.has(row));
                let counts = rows.map(|row| row.count);
                counts.fold(0, u64::saturating_add)
            }),
            hz: hz().max().unwrap_or(0),
            hz_least: hz().min().unwrap_or(0),
            length_ms: sum(&|profile| profile.to.saturating_sub(profile.from)),
            processors: profiles
                .iter()
                .map(|profile| profile.processors)
                .max()
                .unwrap_or(0),
            lost: sum(&|profile| profile.lost),
        }
    }

    /// Processors that one sample stands for on average over the profiles; absent where they have
    /// no length or no rate.
    pub(crate) fn processors_per_sample(&self) -> Option<f64> {
        let all = f64::from(self.hz) * self.length_ms as f64 / 1000.0;
        (all > 0.0).then(|| 1.0 / all)
    }
}

/// Whose samples a tree is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// All.
    Everybody,
    /// The server's.
    Server,
    /// Those of other programs and of the kernel's own threads.
    Others,
}

impl Whose {
    pub(crate) fn has(self, row: &ProfileCount) -> bool {
        match self {
            Self::Everybody => true,
            Self::Server => row.server,
            Self::Others => !row.server,
        }
    }
}
