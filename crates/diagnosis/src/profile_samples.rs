//! Profiles, as signs look at them.

use model::StackId;

/// The samples of one profile without the threads' names, added up once for all signs.
pub(crate) struct ProfileSamples {
    pub(crate) server: u64,
    pub(crate) machine: u64,
    /// Stack, whether of the server, and samples.
    pub(crate) rows: Vec<(StackId, bool, u64)>,
}

impl ProfileSamples {
    pub(crate) fn new(profile: &model::Profile) -> Self {
        let rows = profile.counts.iter();
        let mut rows: Vec<_> = rows.map(|row| (row.stack, row.server, row.count)).collect();
        rows.sort_unstable_by_key(|(stack, server, _)| (*stack, *server));
        rows.dedup_by(|next, kept| {
            let is_same = (next.0, next.1) == (kept.0, kept.1);
            if is_same {
                kept.2 = kept.2.saturating_add(next.2);
            }
            is_same
        });
        let of_server = rows.iter().filter(|(_, server, _)| *server);
        Self {
            server: sum(of_server.map(|(_, _, count)| *count)),
            machine: sum(rows.iter().map(|(_, _, count)| *count)),
            rows,
        }
    }
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}
