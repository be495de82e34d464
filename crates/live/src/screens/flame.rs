//! 4, Flame: where the processors are, or where threads wait, against the time before: as a picture
//! (`flame_picture.rs`), or as a table.

use model::{OrderBy, Profile};
use report::evidence::profile_diff::{RankBy, profile_diff};
use report::format;

use super::samples::{Samples, samples};
use super::view::{Body, View};
use crate::ink::{Ink, Line, cut};
use crate::state::FlameOf;
use crate::table::{Cell, Column, Row, Table};

const COLUMNS: [Column; 6] = [
    Column::rest("FUNCTION", 30),
    Column::number("SELF", 7, 0),
    Column::number("BEFORE", 7, 0),
    Column::number("CHANGE", 8, 0),
    Column::number("TOTAL", 7, 1),
    Column::text("IMAGE", 16, 2),
];

/// Rows that are made.
const ROWS_MAX: usize = 300;

/// Stacks of a function that are shown with it.
const STACKS_MAX: usize = 3;

/// The screen as a table.
pub fn table(view: &View<'_>) -> Body {
    let evidence = view.stacks();
    let Some(samples) = samples(view) else {
        return Body::from_table(
            Vec::new(),
            Table {
                columns: &COLUMNS,
                rows: Vec::new(),
                empty: nothing(view),
            },
        );
    };
    let Samples { now, before, .. } = samples.as_ref();
    let empty = Profile {
        counts: Vec::new(),
        from: now.from,
        to: now.to,
        hz: now.hz,
        processors: now.processors,
        lost: 0,
    };
    let base = before.as_ref().unwrap_or(&empty);
    let rank = match before {
        Some(_) => RankBy::usual(base, now),
        None => RankBy::Own,
    };
    let diff = profile_diff((base, &evidence.table), (now, &evidence.table), false, rank);
    let ranked = match rank.is_time() {
        true => ", sorted by CPU time",
        false => "",
    };
    let head = head(view, &samples, ranked, "t picture");
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
                match before {
                    Some(_) => Cell::number(Some(change), format!("{:+.1}", change * 100.0)),
                    None => Cell::text("–"),
                }
                .ink(match change {
                    _ if before.is_none() => Ink::Plain,
                    more if more > 0.01 => Ink::Bad,
                    less if less < -0.01 => Ink::Good,
                    _ => Ink::Plain,
                }),
                Cell::number(Some(row.b.total_share), format::share(row.b.total_share)),
                Cell::text(row.symbol.image.clone()),
            ],
            function: Some(row.symbol.name.clone()),
            ..Row::default()
        }
    });
    Body::from_table(
        vec![head],
        Table {
            columns: &COLUMNS,
            rows: rows.collect(),
            empty: "the CPUs were idle".to_owned(),
        },
    )
}

/// What the samples are of, of when and how many, and the keys that show them otherwise.
pub fn head(view: &View<'_>, samples: &Samples, ranked: &str, keys: &str) -> Line {
    let (what, other) = match view.state.flame.of {
        FlameOf::Processors => ("ON CPU  ", "o waiting"),
        FlameOf::Waiting => ("WAITING ", "o on CPU"),
    };
    let others = samples.others.map_or(String::new(), |others| {
        format!("; other programs {}", format::share(others))
    });
    let text = format!(
        "{}: {} samples, before {}{others}{ranked}",
        view.span(samples.now.from, samples.now.to),
        samples.now.samples(),
        samples.before.as_ref().map_or(0, Profile::samples)
    );
    let keys = format!("{other}  {keys}");
    let room = view.columns.saturating_sub(what.len() + keys.len() + 2);
    Line::colored(Ink::Strong, what)
        .add(Ink::Plain, &cut(&text, room))
        .right(Ink::Dim, &keys, view.columns)
}

/// Why there is no picture.
fn nothing(view: &View<'_>) -> String {
    match view.state.flame.of {
        FlameOf::Processors => view.no_stacks(
            "CPU samples (o: threads that wait)",
            "they need CAP_PERFMON",
        ),
        FlameOf::Waiting => view.no_stacks(
            "stacks of threads that wait (o: CPUs)",
            "they are recorded during a stall",
        ),
    }
}

/// A function alone: the stacks that end in it.
pub fn detail(view: &View<'_>, name: &str) -> Vec<String> {
    let samples = samples(view);
    samples.map_or_else(Vec::new, |samples| stacks_with(view, &samples.now, name))
}

/// The stacks that end in a function, those with most samples first.
pub fn stacks_with(view: &View<'_>, profile: &Profile, name: &str) -> Vec<String> {
    let book = &view.stacks().table;
    let mut rows: Vec<_> = profile
        .counts
        .iter()
        .filter(|row| {
            book.frames_of(row.stack)
                .next()
                .is_some_and(|frame| frame.name == name)
        })
        .collect();
    rows.order_by_key(|row| std::cmp::Reverse(row.count));
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
        out.push("only a caller here: no sample ends in it".to_owned());
    }
    out
}
