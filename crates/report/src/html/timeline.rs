//! The timeline of the first screen as pictures, with what each says in words.

use crate::axis::ValueAxis;
use crate::chart::{self, Frame, Place};
use crate::curve::Curve;
use crate::markup::{Markup, markup};
use crate::strip::{self, Strip};
use model::Incident;

/// Height of one strip's plot in CSS pixels.
const PLOT_PX: f64 = 58.0;

/// The figure; nothing where nothing was recorded over time.
pub(super) fn figure(incident: &Incident) -> Markup {
    let strips = strip::strips(incident);
    if strips.is_empty() {
        return Markup::new();
    }
    let frame = Frame::new(incident);
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

fn row(incident: &Incident, frame: &Frame, strip: &Strip, index: usize, is_last: bool) -> Markup {
    let values = || {
        let points = strip.curves.iter().flat_map(|curve| &curve.points);
        points.map(|point| point.value)
    };
    let level = strip.level.as_ref().map_or(0.0, |(level, _)| *level);
    let quantity = strip
        .curves
        .first()
        .map_or(crate::units::Quantity::Count, |curve| curve.quantity);
    let most = values().fold(level, f64::max);
    let axis = ValueAxis::new(quantity, 0.0, most);
    let place = Place {
        plot_px: PLOT_PX,
        has_events: index == 0,
        has_times: is_last,
        is_stacked: strip.is_stacked,
    };
    let picture = chart::strip(incident, frame, strip, &axis, &place);
    let keys: Markup = strip
        .curves
        .iter()
        .enumerate()
        .filter(|(_, curve)| strip.curves.len() > 1 && !curve.label.is_empty())
        .map(|(index, curve)| {
            markup!(
                "<span class=\"key\"><i class=\"swatch c{index}\"></i>{}</span> ",
                curve.label,
                ..index
            )
        })
        .collect();
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
    markup!(
        "<div class=\"strip\"><p><b>{title}</b> <span>{says}</span> {keys}{level}{failed}</p>\
         <div class=\"frame\">{picture}</div></div>\n",
        title = strip.title,
        says = says(incident, strip),
        ..keys,
        ..level,
        ..failed,
        ..picture
    )
}

/// What came of it, in numbers: `409/s before, 82/s in the stall`. Of areas that of all of them together, of lines that
/// of the first.
fn says(incident: &Incident, strip: &Strip) -> String {
    let curve = match strip.is_stacked {
        true => strip.curves.last(),
        false => strip.curves.first(),
    };
    let Some(curve) = curve else {
        return String::new();
    };
    let mean =
        |window| Curve::stats(curve, window).map(|stats| curve.quantity.say_short(stats.mean));
    let before = mean(incident.baseline_window());
    let stall = mean(incident.stall_window());
    match (before, stall) {
        (Some(before), Some(stall)) => format!("{before} before, {stall} in the stall"),
        (None, Some(stall)) => format!("{stall} in the stall"),
        (Some(before), None) => format!("{before} before, none known of the stall"),
        (None, None) => String::new(),
    }
}
