//! The timeline of the first screen as pictures, with what each says in words.

use crate::axis::ValueAxis;
use crate::chart::{self, ChartFrame, StripLayout};
use crate::curve::Curve;
use crate::markup::{Markup, markup};
use crate::strip::{self, Strip};
use crate::units::{Quantity, digits, rounded};
use model::{Incident, Window};

/// Height of one strip's plot in CSS pixels.
const PLOT_PX: f64 = 58.0;

/// The figure; nothing where nothing was recorded over time.
pub(super) fn figure(incident: &Incident) -> Markup {
    let strips = strip::strips(incident);
    if strips.is_empty() {
        return Markup::new();
    }
    let frame = ChartFrame::new(incident);
    let last = strips.len() - 1;
    let rows: Markup = strips
        .iter()
        .enumerate()
        .map(|(index, strip)| row(incident, &frame, strip, index, index == last))
        .collect();
    markup!(
        "<figure class=\"timeline\" aria-label=\"From before the stall to behind it\">{rows}</figure>\n",
        ..rows
    )
}

fn row(
    incident: &Incident,
    frame: &ChartFrame,
    strip: &Strip,
    index: usize,
    is_last: bool,
) -> Markup {
    let axis = axis([strip]);
    markup!(
        "<div class=\"strip\"><p><b>{title}</b> <span>{says}</span> {keys}{marks}</p>\
         <div class=\"frame\">{picture}</div></div>\n",
        title = strip.title,
        says = says(incident, strip),
        keys = keys(strip),
        marks = marks(strip),
        picture = chart::strip(frame, strip, &axis, &place(strip, index == 0, is_last)),
    )
}

/// The axis of values for strips of one kind.
pub(super) fn axis<'s>(strips: impl IntoIterator<Item = &'s Strip>) -> ValueAxis {
    let mut quantity = Quantity::Count;
    let mut most = 0.0;
    for strip in strips {
        let points = strip.curves.iter().flat_map(|curve| &curve.points);
        let level = strip.level.as_ref().map_or(0.0, |(level, _)| *level);
        most = points
            .map(|point| point.value)
            .fold(level, f64::max)
            .max(most);
        if let Some(curve) = strip.curves.first() {
            quantity = curve.quantity;
        }
    }
    ValueAxis::new(quantity, 0.0, most)
}

/// How a strip is drawn.
pub(super) fn place(strip: &Strip, has_events: bool, has_times: bool) -> StripLayout {
    StripLayout {
        plot_px: PLOT_PX,
        has_events,
        has_times,
        is_stacked: strip.is_stacked,
    }
}

/// What the colours are.
pub(super) fn keys(strip: &Strip) -> Markup {
    let named = |(_, curve): &(usize, &Curve)| strip.curves.len() > 1 && !curve.label.is_empty();
    strip
        .curves
        .iter()
        .enumerate()
        .filter(named)
        .map(|(index, curve)| {
            markup!(
                "<span class=\"key\"><i class=\"swatch c{index}\"></i>{}</span> ",
                curve.label,
                ..index
            )
        })
        .collect()
}

/// What the level is, and how many probes had no answer.
pub(super) fn marks(strip: &Strip) -> Markup {
    let level = match &strip.level {
        Some((_, name)) if !name.is_empty() => markup!(
            "<span class=\"key\"><i class=\"swatch level\"></i>{}</span> ",
            name
        ),
        _ => Markup::new(),
    };
    let failed = match strip.failed.is_empty() {
        true => Markup::new(),
        false => markup!(
            "<span class=\"key\"><i class=\"swatch failed\"></i>{} without an answer</span>",
            strip.failed.len()
        ),
    };
    Markup::join([level, failed], "")
}

/// What came of it, in numbers: `409/s before, 82/s in the stall`.
pub(super) fn says(incident: &Incident, strip: &Strip) -> String {
    let before = mean(strip, incident.baseline_window());
    let stall = mean(strip, incident.stall_window());
    let numbers = match (before, stall) {
        (Some(before), Some(stall)) => format!("{before} before, {stall} in the stall"),
        (None, Some(stall)) => format!("{stall} in the stall"),
        (Some(before), None) => format!("{before} before, unknown in the stall"),
        (None, None) => return String::new(),
    };
    of_line(strip, &numbers)
}

/// Numbers that are those of one line of several, with its name: `SELECT 1: 3 ms on average`.
pub(super) fn of_line(strip: &Strip, numbers: &str) -> String {
    match strip.curves.as_slice() {
        [first, _, ..] if !strip.is_stacked && !first.label.is_empty() => {
            format!("{}: {numbers}", first.label)
        }
        _ => numbers.to_owned(),
    }
}

/// The mean in a window: of areas that of all of them together, of lines that of the first.
pub(super) fn mean(strip: &Strip, window: Window) -> Option<String> {
    let curve = match strip.is_stacked {
        true => strip.curves.last(),
        false => strip.curves.first(),
    }?;
    let stats = curve.stats(window)?;
    Some(match curve.quantity {
        // Hundredths of a session tell nobody anything.
        Quantity::Count if stats.mean < 9.95 => digits((stats.mean * 10.0).round() / 10.0),
        Quantity::Count => rounded(stats.mean.round()),
        quantity => quantity.to_short_text(stats.mean),
    })
}
