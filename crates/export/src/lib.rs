//! The other way of `import`: an incident in the formats that other tools and their people know, and
//! without the names that must not leave the house.
//!
//! Pure: an [`model::Incident`] in, bytes or another incident out. Writing files is the caller's.
//!
//! **The stall is a collection of its own** in a pt-stalk directory, and so is the calm before it. Otherwise people
//! and programs that sum up a directory would mix both. `freezeframe/src/captures/export_parts.rs` puts them on one
//! clock again.
//!
//! **The server's words are no names.** A table may be called `status`. Replacing that word everywhere would break
//! what causes are recognised by, and a search for it would find the server's. Words that occur in functions,
//! signals, settings and states (`redact/vocabulary.txt`) are replaced by their place only.

pub mod check;
pub mod redact;
pub mod stalk;

use model::{Incident, Profile, ProfileCount, StackId, Window};
use std::collections::BTreeMap;

/// All profiles of an incident that lie mostly in a window, as one; absent where there is none.
///
/// Rates may differ: 49 samples a second in calm, 99 in a burst. The sum counts samples; its `hz`
/// is the highest of the rates, so times made of it are a lower bound.
pub fn profile(incident: &Incident, window: Window) -> Option<Profile> {
    let inside = |profile: &&Profile| {
        let from = profile.from.max(window.from);
        let to = profile.to.min(window.to);
        let common = to.saturating_sub(from);
        common.saturating_mul(2) >= profile.to.saturating_sub(profile.from)
            && from <= to
            && profile.samples() > 0
    };
    let chosen: Vec<&Profile> = incident.stacks.profiles.iter().filter(inside).collect();
    let first = chosen.first()?;
    let mut sums: BTreeMap<(StackId, &str, bool), u64> = BTreeMap::new();
    for row in chosen.iter().flat_map(|profile| &profile.counts) {
        let sum = sums
            .entry((row.stack, row.thread.as_str(), row.server))
            .or_default();
        *sum = sum.saturating_add(row.count);
    }
    Some(Profile {
        from: first.from,
        to: chosen.iter().map(|one| one.to).max().unwrap_or(first.to),
        hz: chosen.iter().map(|one| one.hz).max().unwrap_or(0),
        processors: chosen.iter().map(|one| one.processors).max().unwrap_or(1),
        counts: sums
            .into_iter()
            .map(|((stack, thread, server), count)| ProfileCount {
                stack,
                thread: thread.to_owned(),
                server,
                count,
            })
            .collect(),
        lost: chosen
            .iter()
            .fold(0, |sum, one| sum.saturating_add(one.lost)),
    })
}
