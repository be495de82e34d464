//! How long answers took, by fifths of a second: a column is a second, a line a fifth of it. A pause of 300 ms is seen
//! here, which the mean of a second hides.

use model::{Incident, OrderBy};

use crate::chart::{self, ChartFrame};
use crate::evidence::heat::{CELL_MS, CELLS, Cell, Heat, answers};
use crate::markup::{Markup, markup};
use crate::{time_format, units::Quantity};

/// Height of one line of cells in CSS pixels.
const LINE_PX: f64 = 14.0;

/// Seconds in the table: the slowest.
const LISTED_MAX: usize = 10;

/// What the shades are, and the class of each.
const SHADES: [&str; 6] = [
    "below 3 ms",
    "to 30 ms",
    "to 0.3 s",
    "to 1 s",
    "1 s or more",
    "no answer",
];

/// The shade of a cell.
fn shade(cell: Cell) -> Option<usize> {
    match (cell, cell.level()) {
        (Cell::Unanswered, _) => Some(5),
        (_, level) => level.map(|level| match level {
            0 | 1 => 0,
            2 | 3 => 1,
            4 | 5 => 2,
            6 => 3,
            _ => 4,
        }),
    }
}

/// The map with its numbers; nothing where the server was not asked.
pub(super) fn section(incident: &Incident) -> Option<Markup> {
    let heat = answers(&incident.timeline, &incident.clock, incident.window)?;
    let frame = ChartFrame::new(incident);
    let keys: Markup = SHADES
        .iter()
        .enumerate()
        .map(|(shade, words)| {
            markup!(
                "<span class=\"key\"><i class=\"swatch h{shade}\"></i>{words}</span> ",
                ..shade,
                ..words
            )
        })
        .collect();
    Some(markup!(
        "<p>{says}</p>\n<figure class=\"timeline seconds\" data-begin=\"{begin}\" aria-label=\"Time to an answer, in steps of 0.2 s; the slowest seconds are below in numbers\"><div class=\"strip\"><p><b>SELECT 1, five times a second</b> \
         <span>a column for each second, a line for each 0.2 s, the first on top</span> {keys}</p>\
         <div class=\"frame\">{picture}</div></div></figure>\n\
         <details><summary>The slowest seconds in numbers</summary>{table}</details>",
        says = says(incident, &heat),
        begin = incident.window.from,
        picture = picture(&frame, &heat),
        table = table(incident, &heat),
        ..keys
    ))
}

/// How many were asked, how many had no answer, the slowest.
fn says(incident: &Incident, heat: &Heat) -> String {
    let slowest = heat.slowest.map_or_else(
        || "No answer came.".to_owned(),
        |(seconds, at)| {
            format!(
                "The slowest answer took {} and came at {}.",
                Quantity::Seconds.to_short_text(seconds),
                time_format::time_text(&incident.clock, at)
            )
        },
    );
    format!(
        "{} queries were sent; {} had no answer. {slowest}",
        heat.asked, heat.unanswered
    )
}

/// One path for each shade; cells of one shade beside each other are one.
fn picture(frame: &ChartFrame, heat: &Heat) -> Markup {
    let mut paths: [String; SHADES.len()] = Default::default();
    let line = chart::HEIGHT / CELLS as f64;
    for part in 0..CELLS {
        let shades = heat
            .seconds
            .iter()
            .map(|second| second.get(part).copied().and_then(shade));
        let mut begun: Option<(usize, u64)> = None;
        // One more, which ends the last run.
        for (second, own) in (0u64..).zip(shades.chain([None])) {
            if begun.map(|(shade, _)| shade) == own {
                continue;
            }
            if let Some((shade, since)) = begun
                && let Some(path) = paths.get_mut(shade)
            {
                let x = |second: u64| frame.x_percent(heat.from + second * 1000) * chart::WIDTH;
                let y = part as f64 * line;
                path.push_str(&format!(
                    "M{:.1} {y:.0}H{:.1}V{:.0}H{:.1}z",
                    x(since),
                    x(second),
                    y + line,
                    x(since)
                ));
            }
            begun = own.map(|own| (own, second));
        }
    }
    let drawn: Markup = paths
        .iter()
        .enumerate()
        .filter(|(_, path)| !path.is_empty())
        .map(|(shade, path)| markup!("<path class=\"h{}\" d=\"{}\"/>", shade, path.as_str()))
        .collect();
    chart::rows(frame, drawn, LINE_PX * CELLS as f64)
}

fn table(incident: &Incident, heat: &Heat) -> Markup {
    let worst = |second: &[Cell; CELLS]| {
        let unanswered = second.iter().filter(|cell| **cell == Cell::Unanswered);
        let took = second.iter().filter_map(|cell| match cell {
            Cell::Took(seconds) => Some(*seconds),
            _ => None,
        });
        (unanswered.count(), took.fold(0.0, f64::max))
    };
    let mut all: Vec<(u64, usize, f64)> = (0u64..)
        .zip(&heat.seconds)
        .map(|(number, second)| {
            let (unanswered, took) = worst(second);
            (number, unanswered, took)
        })
        .collect();
    all.order_by(|a, b| (b.1, b.2).partial_cmp(&(a.1, a.2)).unwrap_or(a.0.cmp(&b.0)));
    all.truncate(LISTED_MAX);
    all.order_by_key(|(number, _, _)| *number);
    let rows: Markup = all
        .iter()
        .map(|(number, unanswered, took)| {
            markup!(
                "<tr><th scope=\"row\">{}</th><td class=\"number\">{} ms</td><td class=\"number\">{}</td></tr>\n",
                time_format::time_text(&incident.clock, heat.from + number * 1000),
                *unanswered as u64 * CELL_MS,
                Quantity::Seconds.to_short_text(*took)
            )
        })
        .collect();
    markup!(
        "<table><thead><tr><th scope=\"col\">Second</th><th scope=\"col\" class=\"number\">Without an answer</th>\
         <th scope=\"col\" class=\"number\">Slowest answer</th></tr></thead><tbody>{rows}</tbody></table>",
        ..rows
    )
}
