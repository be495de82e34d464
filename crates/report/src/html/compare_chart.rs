//! The chart of a signal in a comparison: the time before and the time after beside each other, on one axis of values.

use diagnosis::Show;
use diagnosis::compare::{Comparison, SideNumbers, SignalChange};
use model::OrderBy;

use super::table::cell;
use crate::axis::ValueAxis;
use crate::content::compare::in_words;
use crate::markup::{Markup, markup};
use crate::time_format;
use crate::units::Quantity;

/// Units of the stretched picture, across and down.
const WIDTH: f64 = 2000.0;
const HEIGHT: f64 = 1000.0;
/// Heights of the plot in CSS pixels: on a screen, and where many are printed.
const PLOT_PX: f64 = 128.0;
const SMALL_PLOT_PX: f64 = 66.0;
/// Room above the plot for the names of the sides, in CSS pixels.
const TOP_PX: f64 = 16.0;
/// Room below it for the times, in CSS pixels.
const BOTTOM_PX: f64 = 20.0;
/// Where the second side begins; between the two is a gap.
const SECOND: f64 = 0.505;
/// Share of the width that a side takes.
const SIDE: f64 = 0.495;
/// Stretches of time of a side whose smallest and largest values are drawn.
const BUCKETS: usize = 240;
/// Two readings further apart than this many usual distances are not joined.
const GAP_FACTOR: u64 = 4;

fn quantity(signal: &SignalChange) -> (Quantity, f64) {
    match signal.unit {
        Show::Percent => (Quantity::Share, 1.0),
        Show::PerSecond => (Quantity::PerSecond, 1.0),
        Show::Milliseconds => (Quantity::Seconds, 1e-3),
        Show::Seconds => (Quantity::Seconds, 1.0),
        Show::Bytes => (Quantity::Bytes, 1.0),
        Show::Count => (Quantity::Count, 1.0),
    }
}

/// The chart of a signal with its numbers.
pub(super) fn figure(comparison: &Comparison, signal: &SignalChange) -> Markup {
    let say = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| signal.say(value));
    let row = |name: &str, index: usize, numbers: &SideNumbers| {
        let held = numbers
            .held
            .map_or_else(|| "–".to_owned(), |held| Quantity::Share.to_text(held));
        markup!(
            "<tr><th scope=\"row\"><i class=\"swatch c{index}\"></i>{name}</th>\
             <td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{held}</td></tr>",
            say(numbers.mean),
            say(numbers.median),
            say(numbers.p95),
            say(numbers.max),
            ..index,
            ..name,
            ..held
        )
    };
    let numbers = markup!(
        "<table class=\"legend\"><thead><tr><th scope=\"col\"><span class=\"unseen\">Side</span></th>\
         <th scope=\"col\">mean</th><th scope=\"col\">median</th><th scope=\"col\">95 %</th>\
         <th scope=\"col\">max</th><th scope=\"col\" title=\"share of the readings in which it was a sign of the cause\">\
         sign</th></tr></thead><tbody>{}{}</tbody></table>",
        row("before", 1, &signal.before),
        row("after", 0, &signal.after)
    );
    framed(comparison, signal, PLOT_PX, numbers)
}

/// The chart of a signal without its numbers, which stand elsewhere.
pub(super) fn small(comparison: &Comparison, signal: &SignalChange) -> Markup {
    framed(comparison, signal, SMALL_PLOT_PX, Markup::new())
}

fn framed(comparison: &Comparison, signal: &SignalChange, plot_px: f64, numbers: Markup) -> Markup {
    markup!(
        "<figure class=\"chart\"><figcaption><h3>{title}</h3><p><b>{fate}</b>: {change} \
         (95 % interval {interval})</p></figcaption>\n<div class=\"frame\">{svg}</div>\n{numbers}</figure>\n",
        title = cell(&in_words(&signal.title)),
        fate = signal.fate.words(),
        change = signal.say_change(),
        interval = signal.say_interval(),
        svg = svg(comparison, signal, plot_px),
        ..numbers
    )
}

fn svg(comparison: &Comparison, signal: &SignalChange, plot_px: f64) -> Markup {
    let (quantity, factor) = quantity(signal);
    let values = || {
        let points = signal.before.points.iter().chain(&signal.after.points);
        points.map(|(_, value)| value * factor)
    };
    let axis = ValueAxis::new(
        quantity,
        values().reduce(f64::min).unwrap_or(0.0).min(0.0),
        values().reduce(f64::max).unwrap_or(1.0),
    );
    let bottom = TOP_PX + plot_px;
    let mut out = markup!(
        "<svg class=\"plot\" role=\"img\" width=\"100%\" height=\"{}\"><title>{}</title>",
        bottom + BOTTOM_PX,
        cell(&in_words(&signal.title))
    );
    for (value, label) in &axis.ticks {
        let y = bottom - axis.place(*value) * plot_px;
        out += markup!(
            "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"value\" x=\"-6\" y=\"{:.1}\">{}</text>",
            y + 3.5,
            label,
            ..y
        );
    }
    let sides = [
        ("before", 0.0, 1, &signal.before, &comparison.before),
        ("after", SECOND, 0, &signal.after, &comparison.after),
    ];
    for (name, from, _, _, head) in &sides {
        let clock = time_format::clock_time;
        out += markup!(
            "<text x=\"{:.2}%\" y=\"{}\" style=\"text-anchor:middle\">{name}</text>\
             <text x=\"{:.2}%\" y=\"{y}\" style=\"text-anchor:start\">{}</text>\
             <text class=\"odd\" x=\"{:.2}%\" y=\"{y}\" style=\"text-anchor:end\">{}</text>",
            (from + SIDE / 2.0) * 100.0,
            TOP_PX - 6.0,
            from * 100.0,
            clock(head.from_ms),
            (from + SIDE) * 100.0,
            clock(head.to_ms),
            y = bottom + 15.0,
            ..name
        );
    }
    out += markup!(
        "<svg class=\"curves\" y=\"{TOP_PX}\" width=\"100%\" height=\"{plot_px}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
        ..TOP_PX,
        ..plot_px,
        ..WIDTH,
        ..HEIGHT
    );
    let y = |value: f64| ((1.0 - axis.place(value * factor)) * HEIGHT).round();
    let edge = ((SIDE + SECOND) / 2.0 * WIDTH).round();
    out += markup!(
        "<path class=\"divide\" d=\"M{edge} 0V{HEIGHT}\"/>",
        ..edge,
        ..HEIGHT
    );
    if let Some(limit) = signal.limit
        && limit * factor <= axis.high
    {
        out += markup!(
            "<path class=\"limit\" d=\"M0 {}H{WIDTH}\"/>",
            y(limit),
            ..WIDTH
        );
    }
    for (_, from, index, numbers, head) in sides {
        let length = head.length_ms().max(1) as f64;
        let x = |at: u64| ((from + SIDE * (at as f64 / length).clamp(0.0, 1.0)) * WIDTH).round();
        let path = path(&numbers.points, x, y);
        if !path.is_empty() {
            out += markup!(
                "<path class=\"line c{index}\" d=\"{path}\"/>",
                ..index,
                ..path
            );
        }
        if let Some(mean) = numbers.mean {
            out += markup!(
                "<path class=\"mean c{index}\" d=\"M{:.0} {}H{:.0}\"/>",
                from * WIDTH,
                y(mean),
                (from + SIDE) * WIDTH,
                ..index
            );
        }
    }
    out += Markup::literal("</svg></svg>");
    out
}

/// The readings as a path: of many, the smallest and the largest of each stretch of time.
fn path(points: &[(u64, f64)], x: impl Fn(u64) -> f64, y: impl Fn(f64) -> f64) -> Markup {
    let mut distances: Vec<u64> = points
        .windows(2)
        .filter_map(|pair| Some(pair.get(1)?.0.saturating_sub(pair.first()?.0)))
        .collect();
    distances.sort_unstable();
    let usual = distances.get(distances.len() / 2).copied().unwrap_or(1_000);
    let per_bucket = points.len().div_ceil(BUCKETS).max(1);
    let gap = usual.saturating_mul(GAP_FACTOR * per_bucket as u64);
    let mut out = Markup::new();
    let mut last: Option<u64> = None;
    for bucket in points.chunks(per_bucket) {
        let by_value = |one: &&(u64, f64), other: &&(u64, f64)| one.1.total_cmp(&other.1);
        let (Some(low), Some(high)) = (
            bucket.iter().min_by(by_value),
            bucket.iter().max_by(by_value),
        ) else {
            continue;
        };
        let mut ends = [low, high];
        ends.order_by_key(|(at, _)| *at);
        let distinct = if ends[0] == ends[1] {
            &ends[..1]
        } else {
            &ends[..]
        };
        for (at, value) in distinct {
            let joined = last.is_some_and(|last| at.saturating_sub(last) <= gap);
            let command = if joined { 'L' } else { 'M' };
            out += markup!("{command}{} {}", x(*at), y(*value), ..command);
            last = Some(*at);
        }
    }
    out
}
