//! A sheet as a page.

use crate::markup::{Markup, markup};

use super::head;
use super::table::{Column, Holds, Table, cell, column};
use crate::axis::ValueAxis;
use crate::sheet::{Bar, Bars, Part, Sheet, SheetSection, Tone};

/// Rows of a table.
const ROWS_MAX: usize = 200;
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

/// The sheet as one HTML page that needs nothing else and has no script.
pub fn sheet_html(sheet: &Sheet) -> String {
    let mut out = head::document(&sheet.title, &[]);
    out += markup!(
        "<main>\n<header class=\"top\"><p class=\"brand\">freezeframe <span>{}</span></p>\n\
         <h1>{}</h1>\n<p class=\"line\">{}</p></header>\n",
        sheet.kind,
        sheet.title,
        sheet.line,
    );
    for (number, section) in sheet.sections.iter().enumerate() {
        out += markup!(
            "<section id=\"s{}\"><h2>{}{}</h2>{}</section>\n",
            number + 1,
            section.title,
            badge(section),
            section.parts.iter().map(part).collect::<Markup>()
        );
    }
    out += markup!(
        "</main>\n<footer><p>Written by freezeframe {}. All times are UTC.</p></footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    out.into_string()
}

fn badge(section: &SheetSection) -> Markup {
    let Some((word, tone)) = &section.badge else {
        return Markup::new();
    };
    let class = match tone {
        Tone::Good => "worked",
        Tone::Bad => "worse",
        Tone::Open => "not-proven",
    };
    markup!(" <span class=\"badge {class}\">{}</span>", word, ..class)
}

fn part(part: &Part) -> Markup {
    match part {
        Part::Words(text) => markup!("<p>{}</p>\n", text),
        Part::Heading(text) => markup!("<h3>{}</h3>\n", text),
        Part::List(lines) => {
            let items: Markup = lines
                .iter()
                .map(|line| markup!("<li>{}</li>", line))
                .collect();
            markup!("<ul>{items}</ul>\n", ..items)
        }
        Part::Commands(lines) => lines
            .iter()
            .map(|line| markup!("<pre class=\"command\">{}</pre>\n", line))
            .collect(),
        Part::Table(columns, rows) => table(columns, rows),
        Part::Bars(bars) => figure(bars),
    }
}

fn table(columns: &[String], rows: &[Vec<String>]) -> Markup {
    let columns: Vec<Column> = columns
        .iter()
        .enumerate()
        .map(|(number, title)| match number {
            0 => column(title, Holds::Words),
            _ => column(title, Holds::Numbers),
        })
        .collect();
    let rows = rows
        .iter()
        .map(|row| row.iter().map(|text| cell(text)).collect());
    Table::wide("", &columns).rows(rows, ROWS_MAX)
}

fn figure(bars: &Bars) -> Markup {
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
            (bars.unit.say_interval(value), high.max(x(value.mean)))
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
    use crate::sheet::{BarGroup, BarUnit, Interval};

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
        let page = sheet_html(&Sheet {
            kind: evil.clone(),
            title: evil.clone(),
            line: evil.clone(),
            sections: vec![SheetSection {
                title: evil.clone(),
                badge: Some((evil.clone(), Tone::Open)),
                parts: vec![
                    Part::Words(evil.clone()),
                    Part::Heading(evil.clone()),
                    Part::List(vec![evil.clone()]),
                    Part::Commands(vec![evil.clone()]),
                    Part::Table(vec![evil.clone(); 2], vec![vec![evil.clone(); 2]]),
                    Part::Bars(bars),
                ],
            }],
        });
        assert!(!page.contains("<script"), "{page}");
        assert_eq!(page.matches("<rect ").count(), 1);
        // The mean of 3 lies below the end of the axis, and the whiskers reach over it.
        let width = page.split("width=\"").nth(2).unwrap();
        let width: f64 = width.split('%').next().unwrap().parse().unwrap();
        assert!(width > 0.0 && width < BAR_PERCENT, "{width}");
    }
}
