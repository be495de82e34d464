//! Bars: values beside each other on one scale.

use serde::Serialize;

use crate::escape;
use crate::text::page::{Page, Style};
use crate::text::wrap;
use crate::units::Quantity;

/// Columns of a bar at the most and at least.
pub(super) const BAR_MAX: usize = 60;
const BAR_MIN: usize = 10;

/// Values beside each other, as bars from zero on one scale.
#[derive(Debug, Clone)]
pub struct Bars {
    /// What is shown.
    pub title: String,
    /// What they count.
    pub unit: BarUnit,
    /// The bars, in groups.
    pub groups: Vec<BarGroup>,
}

/// Bars that belong together.
#[derive(Debug, Clone)]
pub struct BarGroup {
    /// What they have in common; empty when there is one group only.
    pub title: String,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Whose value it is.
    pub name: String,
    /// The value; none where there is none.
    pub value: Option<Interval>,
}

/// A mean and where it may lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The lower end of its 95 % interval, and
    pub low: f64,
    /// the upper one; both are the mean where there is one reading only.
    pub high: f64,
}

/// What bars count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarUnit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Things a second.
    PerSecond,
    /// How often one holds the other.
    Times,
    /// A share of 1.
    Share,
    /// Things.
    Count,
}

impl BarUnit {
    pub(crate) fn quantity(self) -> Quantity {
        match self {
            Self::Seconds => Quantity::Seconds,
            Self::Bytes => Quantity::Bytes,
            Self::PerSecond => Quantity::PerSecond,
            Self::Share => Quantity::Share,
            Self::Times | Self::Count => Quantity::Count,
        }
    }

    /// The value as people read it.
    pub fn to_text(self, value: f64) -> String {
        match self {
            Self::Times => format!("{value:.2} ×"),
            _ => self.quantity().to_text(value),
        }
    }

    /// The mean with its interval.
    pub fn interval_text(self, interval: Interval) -> String {
        if interval.low == interval.high {
            return self.to_text(interval.mean);
        }
        let [mean, low, high] =
            [interval.mean, interval.low, interval.high].map(|v| self.to_text(v));
        // "281 (204 – 359) ms": the unit once, where it is the same.
        let split = |text: &str| -> usize {
            text.rfind(|c: char| c.is_ascii_digit())
                .map_or(0, |at| at + 1)
        };
        let (numbers, unit) = mean.split_at(split(&mean));
        match (low.strip_suffix(unit), high.strip_suffix(unit)) {
            (Some(below), Some(above))
                if split(below) == below.len() && split(above) == above.len() =>
            {
                format!("{numbers} ({below} – {above}){unit}")
            }
            _ => format!("{mean} ({low} – {high})"),
        }
    }
}

impl Bars {
    /// The largest value that has to find room.
    pub(crate) fn highest(&self) -> f64 {
        self.groups
            .iter()
            .flat_map(|group| &group.bars)
            .filter_map(|bar| bar.value)
            .map(|value| value.high.max(value.mean))
            .fold(0.0, f64::max)
    }
}

/// The bars for a terminal.
pub(super) fn bars_text(page: &mut Page, bars: &Bars) {
    page.blank();
    page.paragraph(2, &bars.title, Style::Bold);
    let all = || bars.groups.iter().flat_map(|group| &group.bars);
    let said = |bar: &Bar| {
        bar.value
            .map_or_else(|| "–".to_owned(), |value| bars.unit.interval_text(value))
    };
    let name = |bar: &Bar| escape::terminal(&bar.name);
    let name_width = all()
        .map(|bar| wrap::columns(&name(bar)))
        .max()
        .unwrap_or(0);
    let said_width = all()
        .map(|bar| wrap::columns(&said(bar)))
        .max()
        .unwrap_or(0);
    let room = page
        .width()
        .saturating_sub(4 + name_width + 2 + said_width + 2)
        .clamp(BAR_MIN, BAR_MAX);
    let highest = bars.highest();
    for group in &bars.groups {
        if !group.title.is_empty() {
            page.paragraph(2, &group.title, Style::Dim);
        }
        for bar in &group.bars {
            let (name, said) = (name(bar), said(bar));
            let lead = format!(
                "    {name}{}  {}{said}  ",
                " ".repeat(name_width.saturating_sub(wrap::columns(&name))),
                " ".repeat(said_width.saturating_sub(wrap::columns(&said))),
            );
            page.raw(&[
                (&lead, Style::Plain),
                (&bar_text(bar.value, highest, room), Style::Mark),
            ]);
        }
    }
}

/// A bar up to the mean; its interval is drawn over its end: `████├──┤`.
fn bar_text(value: Option<Interval>, highest: f64, room: usize) -> String {
    let Some(value) = value.filter(|value| value.mean.is_finite() && highest > 0.0) else {
        return String::new();
    };
    let cell = |at: f64| ((at / highest).clamp(0.0, 1.0) * room as f64).round() as usize;
    let (mean, low, high) = (cell(value.mean), cell(value.low), cell(value.high));
    let mut out = String::new();
    for at in 0..mean.max(high).max(1) {
        out.push(match at {
            // An interval of less than two cells is not drawn.
            _ if high <= low + 1 => '█',
            at if at == low => '├',
            at if at + 1 == high => '┤',
            at if at > low && at < high => '─',
            _ => '█',
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(mean: f64, low: f64, high: f64) -> Option<Interval> {
        Some(Interval { mean, low, high })
    }

    #[test]
    fn a_bar_ends_at_its_mean_and_its_interval_lies_over_it() {
        assert_eq!(bar_text(interval(5.0, 5.0, 5.0), 10.0, 10), "█████");
        assert_eq!(bar_text(interval(6.0, 4.0, 8.0), 10.0, 10), "████├──┤");
        assert_eq!(bar_text(interval(10.0, 9.9, 10.0), 10.0, 4), "████");
        assert_eq!(bar_text(None, 10.0, 4), "");
        assert_eq!(bar_text(interval(f64::NAN, 0.0, 0.0), 10.0, 4), "");
        assert_eq!(bar_text(interval(1.0, 1.0, 1.0), 0.0, 4), "");
    }

    #[test]
    fn the_unit_stands_once_where_it_is_the_same() {
        let say = |unit: BarUnit, mean, low, high| unit.interval_text(Interval { mean, low, high });
        assert_eq!(
            say(BarUnit::Seconds, 0.281, 0.204, 0.359),
            "281 (204 – 359) ms"
        );
        assert_eq!(say(BarUnit::Seconds, 1.0, 0.8, 1.2), "1 s (800 ms – 1.2 s)");
        assert_eq!(say(BarUnit::Times, 2.0, 1.5, 2.5), "2.00 (1.50 – 2.50) ×");
        assert_eq!(say(BarUnit::Times, 2.0, 2.0, 2.0), "2.00 ×");
    }
}
