//! 4, Flame: where the processors are, against the time before: as a picture (`flame_picture.rs`), or as a table.

use model::{Millis, Profile, Window};
use report::evidence::profile_diff::{RankBy, profile_diff};
use report::format;

use super::view::{Body, View};
use crate::ink::{Ink, Line};
use crate::table::{Cell, Column, Row, Table};

const COLUMNS: [Column; 6] = [
    Column::rest("FUNCTION", 30),
    Column::number("SELF", 7, 0),
    Column::number("BEFORE", 7, 0),
    Column::number("CHANGE", 8, 0),
    Column::number("TOTAL", 7, 1),
    Column::text("IMAGE", 16, 2),
];

/// Profiles are of five seconds, and a waiting server gives few samples: it is looked back so far, milliseconds, until
/// there are enough.
const BACK_MS: [Millis; 4] = [0, 5_000, 10_000, 15_000];

/// Enough samples to tell functions by.
const ENOUGH: u64 = 200;

/// Rows that are made.
const ROWS_MAX: usize = 300;

/// Stacks of a function that are shown with it.
const STACKS_MAX: usize = 3;

/// The samples of a moment, and those of the time before where there are any.
pub(super) struct Samples {
    pub(super) now: Profile,
    pub(super) before: Option<Profile>,
}

/// The samples that the screen is of.
pub(super) fn samples(view: &View<'_>) -> Option<Samples> {
    let now = of_moment(view)?;
    let calm = view.normal();
    let inside = |profile: &&Profile| within(profile, calm);
    let before = merged(view.incident().stacks.profiles.iter().filter(inside));
    Some(Samples { now, before })
}

/// The screen.
pub fn body(view: &View<'_>) -> Body {
    let evidence = &view.incident().stacks;
    let Some(Samples { now, before }) = samples(view) else {
        return Body::from_table(Vec::new(), Table {
            columns: &COLUMNS,
            rows: Vec::new(),
            empty: "no samples of the processors at this moment: they need CAP_PERFMON, and a history keeps none".to_owned(),
        });
    };
    let empty = Profile {
        counts: Vec::new(),
        ..now.clone()
    };
    let base = before.as_ref().unwrap_or(&empty);
    let rank = match before {
        Some(_) => RankBy::usual(base, &now),
        None => RankBy::Own,
    };
    let diff = profile_diff((base, &evidence.book), (&now, &evidence.book), false, rank);
    let ranked = match rank.is_time() {
        true => ", ranked by processor time",
        false => "",
    };
    let head = Line::plain(&format!("{}{ranked}", caption(view, &now, before.as_ref())));
    let rows = diff.rows.iter().take(ROWS_MAX).map(|row| {
        let change = row.self_change();
        Row {
            cells: vec![
                Cell::text(&row.symbol.name),
                Cell::number(Some(row.b.self_share), format::share(row.b.self_share)),
                match before {
                    Some(_) => {
                        Cell::number(Some(row.a.self_share), format::share(row.a.self_share))
                    }
                    None => Cell::text("–"),
                },
                Cell::number(Some(change), format!("{:+.1}", change * 100.0)).ink(match change {
                    more if more > 0.01 => Ink::Bad,
                    less if less < -0.01 => Ink::Good,
                    _ => Ink::Plain,
                }),
                Cell::number(Some(row.b.total_share), format::share(row.b.total_share)),
                Cell::text(row.symbol.image.clone()),
            ],
            detail: stacks_with(view, &now, &row.symbol.name),
            ..Row::default()
        }
    });
    Body::from_table(
        vec![head],
        Table {
            columns: &COLUMNS,
            rows: rows.collect(),
            empty: "the processors idled".to_owned(),
        },
    )
}

/// Of when the samples are, and how many.
pub(super) fn caption(view: &View<'_>, now: &Profile, before: Option<&Profile>) -> String {
    format!(
        "{} to {}: {} samples; before: {} samples",
        view.clock(now.from),
        view.clock(now.to),
        now.samples(),
        before.map_or(0, Profile::samples)
    )
}

/// The samples of the moment, with some before it where they are few. Those from before a stall are not mixed with its own.
fn of_moment(view: &View<'_>) -> Option<Profile> {
    let profiles = &view.incident().stacks.profiles;
    let begin = view.model.stall_at(view.at).map_or(0, |stall| stall.onset);
    let mut found = None;
    for back in BACK_MS {
        let from = view.at.saturating_sub(back).max(begin);
        let inside = profiles
            .iter()
            .filter(|profile| profile.from <= view.at && profile.to >= from);
        found = merged(inside);
        if found
            .as_ref()
            .is_some_and(|found| found.samples() >= ENOUGH)
        {
            break;
        }
    }
    found
}

fn within(profile: &Profile, window: Window) -> bool {
    profile.from >= window.from && profile.to <= window.to
}

/// Several profiles as one.
fn merged<'a>(mut profiles: impl Iterator<Item = &'a Profile>) -> Option<Profile> {
    let mut all = profiles.next()?.clone();
    for profile in profiles {
        all.to = all.to.max(profile.to);
        all.lost = all.lost.saturating_add(profile.lost);
        all.counts.extend(profile.counts.iter().cloned());
    }
    Some(all)
}

/// The stacks that end in a function, those with most samples first.
pub(super) fn stacks_with(view: &View<'_>, profile: &Profile, name: &str) -> Vec<String> {
    let book = &view.incident().stacks.book;
    let mut rows: Vec<_> = profile
        .counts
        .iter()
        .filter(|row| {
            book.frames_of(row.stack)
                .next()
                .is_some_and(|frame| frame.name == name)
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    let mut out = Vec::new();
    for row in rows.iter().take(STACKS_MAX) {
        out.push(format!("{} samples, thread {}", row.count, row.thread));
        out.extend(
            book.frames_of(row.stack)
                .map(|frame| format!("  {} ({})", frame.name, frame.image)),
        );
        out.push(String::new());
    }
    if rows.is_empty() {
        out.push("it is only a caller here: no sample ends in it".to_owned());
    }
    out
}
