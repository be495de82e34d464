//! 7, Signals: all of them, ranked by departure from the time before.

use model::Series;
use report::format;

use super::departures::{self, Departure};
use super::view::{Body, View, counted};
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

/// Strips are the dear part: they are made for rows that are seen, of a table that is arranged anew for so many.
const STRIPS_MAX: usize = 200;

/// The screen.
pub fn body(view: &View<'_>) -> Body {
    let all = departures::every(view);
    let moved = all.iter().filter(|one| one.by.abs() >= 4.0).count();
    let normal = view.normal();
    let others = departures::not_compared(view);
    let count = counted(all.len() + others.len(), "signal", "signals");
    let head = Line::plain(&match all.is_empty() {
        true => format!("{count}; too few earlier readings to compare with"),
        false => format!(
            "{count}, {moved} not as usual; usual is {}",
            view.span(normal.from, normal.to)
        ),
    });
    let wanted = view.state.wanted();
    let is_arranged = wanted.sort.is_some() || wanted.reversed || wanted.filter.is_some();
    let last = (all.len() + others.len()).saturating_sub(1);
    let is_near = |rank: usize| rank.abs_diff(wanted.chosen.min(last)) <= view.lines;
    // In the order of rank the others are not seen; they are counted.
    let is_made = |rank: usize| is_arranged || is_near(rank);
    let has_strip = |rank: usize| match is_arranged {
        true => rank < STRIPS_MAX,
        false => is_near(rank),
    };
    let compared = all
        .iter()
        .enumerate()
        .map(|(rank, one)| match is_made(rank) {
            true => row(view, one, has_strip(rank)),
            false => Row::default(),
        });
    let others = others.iter().zip(all.len()..);
    let others = others.map(|((series, now), rank)| match is_made(rank) {
        true => alone(view, series, *now, has_strip(rank)),
        false => Row::default(),
    });
    let rows = compared.chain(others).collect();
    let table = Table {
        columns: &COLUMNS,
        rows,
        empty: "no numbers were read at this moment".to_owned(),
    };
    Body::from_table(vec![head], table)
}

fn row(view: &View<'_>, one: &Departure<'_>, with_strip: bool) -> Row {
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
            Cell::number(Some(one.now), format::value(one.series, one.now)),
            Cell::number(
                Some(one.spread.mean),
                format::value(one.series, one.spread.mean),
            ),
            Cell::number(Some(one.now - one.spread.mean), one.change()).ink(ink),
            Cell::number(Some(one.by), format!("{:+.0}", one.by)),
            Cell::text(strip).ink(Ink::Good),
        ],
        signal: Some(one.series.name.clone()),
        ..Row::default()
    }
}

/// A signal with nothing to compare it with.
fn alone(view: &View<'_>, series: &Series, now: f64, with_strip: bool) -> Row {
    let strip = match with_strip {
        true => view.strip(&series.name, STRIP),
        false => String::new(),
    };
    Row {
        cells: vec![
            Cell::text(&series.name),
            Cell::number(Some(now), format::value(series, now)),
            Cell::text("–"),
            Cell::text("–"),
            Cell::text("–"),
            Cell::text(strip).ink(Ink::Good),
        ],
        signal: Some(series.name.clone()),
        ..Row::default()
    }
}

/// A signal alone: what it is, and its last readings.
pub fn detail(view: &View<'_>, name: &str) -> Vec<String> {
    let timeline = view.timeline();
    let Some(series) = timeline.get(name) else {
        return Vec::new();
    };
    let say = |value: f64| format::value(series, value);
    let or_none = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), say);
    let now = stats::now(timeline, series, view.at);
    let usual = view.usual(series);
    let change = now.zip(usual).map(|(now, usual)| usual.change(now));
    let mut lines = vec![
        format!(
            "{} ({}, {})",
            series.name,
            series.kind.name(),
            series.unit.name()
        ),
        format!("source: {}", timeline.source_of(series)),
        format!(
            "now {}, usually {} (largest {}), {}",
            or_none(now),
            or_none(usual.map(|usual| usual.mean)),
            or_none(usual.map(|usual| usual.max)),
            change.unwrap_or_else(|| "not compared".to_owned())
        ),
        String::new(),
    ];
    let points = stats::points(timeline, series, view.strip_window(60));
    lines.extend(points.iter().rev().map(|point| {
        let at = view.clock(point.at);
        match point.since == point.at {
            true => format!("{at}  {}", say(point.value)),
            false => format!("{} to {at}  {}", view.clock(point.since), say(point.value)),
        }
    }));
    lines
}
