//! What the flame graph of a moment is made of: samples of the processors, or threads that waited in snapshots.

use std::sync::Arc;

use model::{Millis, Profile, Window};
use report::evidence::waiting::waiting_threads;

use super::view::View;
use crate::derived::Part;
use crate::state::FlameOf;

/// Profiles are of five seconds, and a waiting server gives few samples: it is looked back so far, milliseconds, until
/// there are enough.
const BACK_MS: [Millis; 4] = [0, 5_000, 10_000, 15_000];

/// Enough samples to tell functions by.
const ENOUGH: u64 = 200;

/// Snapshots of so long before a moment are its own, milliseconds.
const NEAR_MS: Millis = 1_000;

/// Threads that wait are compared with those of so long before the stall, milliseconds, as on the page.
const CALM_MS: Millis = 60_000;

/// The samples of a moment, and those of the time before where there are any.
pub(super) struct Samples {
    pub(super) now: Profile,
    pub(super) before: Option<Profile>,
    /// Threads that waited on average, now and before; nothing where the samples are of the processors.
    pub(super) waiting: Option<[Option<f64>; 2]>,
    /// Which part of the processors' samples other programs took, which are left out; nothing where none did.
    pub(super) others: Option<f64>,
}

/// The samples that the screen is of.
pub(super) fn samples(view: &View<'_>) -> Option<Arc<Samples>> {
    let of = view.state.flame.of;
    let make = || match of {
        FlameOf::Processors => on_processors(view).map(Arc::new),
        FlameOf::Waiting => waiting(view).map(Arc::new),
    };
    let derived = &view.model.derived;
    derived
        .of(Part::Samples, (of, view.at), make)
        .as_ref()
        .clone()
}

fn on_processors(view: &View<'_>) -> Option<Samples> {
    let profiles = &view.stacks().profiles;
    let begin = begin(view);
    let now = looked_back(|back| {
        let from = view.at.saturating_sub(back).max(begin);
        let inside = profiles
            .iter()
            .filter(|profile| profile.from <= view.at && profile.to >= from);
        merged(inside.cloned())
    })?;
    let calm = view.normal();
    let is_calm = |profile: &&Profile| profile.from >= calm.from && profile.to <= calm.to;
    let before = merged(profiles.iter().filter(is_calm).cloned());
    // The server is what is looked at; a profile of others alone is theirs.
    let is_apart = now.counts.iter().any(|row| row.server);
    let own = |mut profile: Profile| {
        profile.counts.retain(|row| row.server || !is_apart);
        profile
    };
    let all = now.samples() as f64;
    let now = own(now);
    let others = 1.0 - now.samples() as f64 / all;
    Some(Samples {
        now,
        before: before.map(own),
        waiting: None,
        others: Some(others).filter(|others| *others > 0.0),
    })
}

fn waiting(view: &View<'_>) -> Option<Samples> {
    let stacks = view.stacks();
    let moments: Vec<Millis> = stacks.snapshots.iter().map(|note| note.at).collect();
    let of_window = |window: Window| {
        let parts = waiting_threads(&stacks.runs, &moments, window, Millis::MAX);
        merged(parts.into_iter())
    };
    let begin = begin(view);
    let now = looked_back(|back| {
        let from = view.at.saturating_sub(NEAR_MS + back).max(begin);
        of_window(Window { from, to: view.at })
    })?;
    let calm = view.normal();
    let before = of_window(Window {
        from: calm.from.max(calm.to.saturating_sub(CALM_MS)),
        to: calm.to,
    });
    // A snapshot in which nobody waited counts as well.
    let threads = |profile: &Profile| {
        let first = moments.partition_point(|at| *at < profile.from);
        let behind = moments.partition_point(|at| *at <= profile.to);
        let count = behind.saturating_sub(first);
        (count > 0).then(|| profile.samples() as f64 / count as f64)
    };
    Some(Samples {
        waiting: Some([threads(&now), before.as_ref().and_then(threads)]),
        now,
        before,
        others: None,
    })
}

/// What is from before a stall is not mixed with its own.
fn begin(view: &View<'_>) -> Millis {
    view.model.stall_at(view.at).map_or(0, |stall| stall.onset)
}

/// The samples of a moment, with some before it where they are few.
fn looked_back(of: impl Fn(Millis) -> Option<Profile>) -> Option<Profile> {
    let mut found = None;
    for back in BACK_MS {
        found = of(back);
        let is_enough = |found: &Profile| found.samples() >= ENOUGH;
        if found.as_ref().is_some_and(is_enough) {
            break;
        }
    }
    found
}

/// Several profiles as one.
fn merged(mut profiles: impl Iterator<Item = Profile>) -> Option<Profile> {
    let mut all = profiles.next()?;
    for profile in profiles {
        all.to = all.to.max(profile.to);
        all.lost = all.lost.saturating_add(profile.lost);
        all.counts.extend(profile.counts);
    }
    Some(all)
}
