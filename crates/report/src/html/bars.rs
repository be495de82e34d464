//! Bars as a figure of a page.

use crate::markup::{Markup, markup};

use super::table::cell;
use crate::axis::ValueAxis;
use crate::document::{Bar, Bars};

/// Heights in CSS pixels: of a bar's row, of the bar in it, of a group's title, of the axis.
const ROW_PX: f64 = 22.0;
const BAR_PX: f64 = 12.0;
const GROUP_PX: f64 = 24.0;
const AXIS_PX: f64 = 18.0;
/// Share of the width, in percent, that names take; and that bars may take, the rest is for numbers.
const NAME_PERCENT: f64 = 20.0;
const BAR_PERCENT: f64 = 50.0;
/// Colours of the page's style.
const COLOURS: usize = 5;

/// The bars as a figure.
pub(super) fn figure(bars: &Bars) -> Markup {
    markup!(
        "<figure class=\"chart\"><figcaption><h3>{}</h3></figcaption>\n{}</figure>\n",
        bars.title,
        svg(bars)
    )
}

/// Bars from left to right, with whiskers where the mean may lie.
fn svg(bars: &Bars) -> Markup {
    let axis = ValueAxis::new(bars.unit.quantity(), 0.0, bars.highest());
    let x = |value: f64| NAME_PERCENT + axis.place(value).clamp(0.0, 1.0) * BAR_PERCENT;
    let mut body = Markup::new();
    let mut y = 0.0;
    for group in &bars.groups {
        if !group.title.is_empty() {
            y += GROUP_PX;
            body += markup!(
                "<text x=\"0\" y=\"{:.0}\" style=\"font-weight:600\">{}</text>",
                y - 7.0,
                cell(&group.title)
            );
        }
        for (number, bar) in group.bars.iter().enumerate() {
            body += row(bars, bar, number % COLOURS, y, &x);
            y += ROW_PX;
        }
    }
    let mut out = markup!(
        "<svg class=\"plot\" role=\"img\" width=\"100%\" height=\"{:.0}\"><title>{}</title>",
        y + AXIS_PX,
        cell(&bars.title)
    );
    for (value, label) in &axis.ticks {
        let at = x(*value);
        out += markup!(
            "<line class=\"grid\" x1=\"{at:.2}%\" x2=\"{at:.2}%\" y1=\"0\" y2=\"{y:.0}\"/>\
             <text x=\"{at:.2}%\" y=\"{:.0}\" style=\"text-anchor:middle\">{}</text>",
            y + 13.0,
            label,
            ..at,
            ..y
        );
    }
    out += body;
    out += Markup::literal("</svg>");
    out
}

fn row(bars: &Bars, bar: &Bar, colour: usize, y: f64, x: &impl Fn(f64) -> f64) -> Markup {
    let middle = y + ROW_PX / 2.0;
    let mut out = markup!(
        "<text x=\"{:.1}%\" y=\"{:.1}\" style=\"text-anchor:end\">{}</text>",
        NAME_PERCENT - 1.0,
        middle + 4.0,
        cell(&bar.name)
    );
    let (said, end) = match bar.value {
        None => ("–".to_owned(), NAME_PERCENT),
        Some(value) => {
            let (low, high) = (x(value.low), x(value.high));
            out += markup!(
                "<rect x=\"{NAME_PERCENT}%\" y=\"{:.1}\" width=\"{:.2}%\" height=\"{BAR_PX}\" \
                 style=\"fill:var(--c{colour})\"/>",
                middle - BAR_PX / 2.0,
                x(value.mean) - NAME_PERCENT,
                ..NAME_PERCENT,
                ..BAR_PX,
                ..colour
            );
            if value.high > value.low {
                out += markup!(
                    "<g style=\"stroke:var(--ink);stroke-width:1.5\">\
                     <line x1=\"{low:.2}%\" x2=\"{high:.2}%\" y1=\"{middle:.1}\" y2=\"{middle:.1}\"/>\
                     <line x1=\"{low:.2}%\" x2=\"{low:.2}%\" y1=\"{:.1}\" y2=\"{:.1}\"/>\
                     <line x1=\"{high:.2}%\" x2=\"{high:.2}%\" y1=\"{0:.1}\" y2=\"{1:.1}\"/></g>",
                    middle - 4.0,
                    middle + 4.0,
                    ..low,
                    ..high,
                    ..middle
                );
            }
            (bars.unit.interval_text(value), high.max(x(value.mean)))
        }
    };
    out += markup!(
        "<text x=\"{:.2}%\" y=\"{:.1}\">{}</text>",
        end + 1.0,
        middle + 4.0,
        said
    );
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::document::{BarGroup, BarUnit, Interval};

    #[test]
    fn what_is_in_it_is_text() {
        let evil = "<script>\"'&".to_owned();
        let bars = Bars {
            title: evil.clone(),
            unit: BarUnit::Bytes,
            groups: vec![BarGroup {
                title: evil.clone(),
                bars: vec![
                    Bar {
                        name: evil.clone(),
                        value: Some(Interval {
                            mean: 3.0,
                            low: 2.0,
                            high: 4.0,
                        }),
                    },
                    Bar {
                        name: evil.clone(),
                        value: None,
                    },
                ],
            }],
        };
        let page = figure(&bars).into_string();
        assert!(!page.contains("<script"), "{page}");
        assert_eq!(page.matches("<rect ").count(), 1);
        // The mean of 3 lies below the end of the axis, and the whiskers reach over it.
        let width = page.split("width=\"").nth(2).unwrap();
        let width: f64 = width.split('%').next().unwrap().parse().unwrap();
        assert!(width > 0.0 && width < BAR_PERCENT, "{width}");
    }
}
