//! 7, Signals: all of them, ranked by departure from the time before.

use report::words;

use super::departures::{self, Departure};
use super::view::{Body, View};
use crate::ink::{Ink, Line};
use crate::stats;
use crate::table::{Cell, Column, Row, Table};

/// Columns of a strip.
const STRIP: usize = 18;

const COLUMNS: [Column; 6] = [
    Column::rest("SIGNAL", 26),
    Column::number("NOW", 11, 0),
    Column::number("USUAL", 11, 0),
    Column::number("CHANGE", 9, 0),
    Column::number("SWINGS", 6, 2),
    Column::text("LAST MINUTE", STRIP, 1),
];

/// A strip is made for so many rows: it is the dear part, and others are not seen.
const STRIPS_MAX: usize = 200;

/// The screen.
pub fn body(view: &View<'_>) -> Body {
    let all = departures::every(view);
    let moved = all.iter().filter(|one| one.by.abs() >= 4.0).count();
    let normal = view.normal();
    let head = Line::plain(&format!(
        "{} signals, {moved} not as usual; usual is {} to {}",
        all.len(),
        view.clock(normal.from),
        view.clock(normal.to)
    ));
    let rows = all
        .iter()
        .enumerate()
        .map(|(rank, one)| row(view, one, rank < STRIPS_MAX))
        .collect();
    let table = Table {
        columns: &COLUMNS,
        rows,
        empty: "nothing that can be compared: the recording is too short, or nothing was read"
            .to_owned(),
    };
    Body::of(vec![head], table)
}

/// A row; the host's screen has the same.
pub fn row(view: &View<'_>, one: &Departure<'_>, with_strip: bool) -> Row {
    let ink = match one.by.abs() >= 4.0 {
        true => Ink::Bad,
        false => Ink::Plain,
    };
    let strip = match with_strip {
        true => view.strip(&one.series.name, STRIP),
        false => String::new(),
    };
    Row {
        cells: vec![
            Cell::text(&one.series.name),
            Cell::number(Some(one.now), words::value(one.series, one.now)),
            Cell::number(
                Some(one.spread.mean),
                words::value(one.series, one.spread.mean),
            ),
            Cell::number(Some(one.now - one.spread.mean), &one.change).ink(ink),
            Cell::number(Some(one.by), format!("{:+.0}", one.by)),
            Cell::text(strip).ink(Ink::Good),
        ],
        detail: detail(view, one),
        opens: None,
    }
}

/// A signal alone: what it is, and its last readings.
fn detail(view: &View<'_>, one: &Departure<'_>) -> Vec<String> {
    let series = one.series;
    let say = |value: f64| words::value(series, value);
    let mut lines = vec![
        format!(
            "{} ({}, {})",
            series.name,
            series.kind.name(),
            series.unit.name()
        ),
        format!("source: {}", view.timeline().source_of(series)),
        format!(
            "now {}, usually {} (largest {}), {}",
            say(one.now),
            say(one.spread.mean),
            say(one.spread.max),
            one.change
        ),
        String::new(),
    ];
    let window = view.strip_window(60);
    let points = stats::points(view.timeline(), series, window);
    lines.extend(
        points
            .iter()
            .rev()
            .map(|point| match point.since == point.at {
                true => format!("{}  {}", view.clock(point.at), say(point.value)),
                false => format!(
                    "{} to {}  {}",
                    view.clock(point.since),
                    view.clock(point.at),
                    say(point.value)
                ),
            }),
    );
    lines
}
