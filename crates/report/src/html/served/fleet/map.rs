//! When servers stalled: a table with a row for each server and a column for each part of the time.

use super::counted;
use super::stalls::stalls_address;
use crate::markup::{Markup, markup};
use crate::time_format;

/// What the shades are: stall time within a cell.
const SHADES: [&str; 5] = [
    "below 10 s",
    "to 1 min",
    "to 5 min",
    "to 30 min",
    "30 min or more",
];

/// From which stall time on each shade but the first begins, milliseconds.
const LIMITS_MS: [u64; 4] = [10_000, 60_000, 300_000, 1_800_000];

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// Bytes of markup of a server's name in the map at the most, about.
const NAME_BYTES_MAX: usize = 300;

/// When servers stalled.
#[derive(Debug, Clone, Default)]
pub struct StallMap {
    /// Begin of the first column, milliseconds since 1970 UTC.
    pub from_ms: i64,
    /// Length of a column, milliseconds.
    pub step_ms: i64,
    /// How many columns there are.
    pub columns: usize,
    /// Servers that stalled, each with its columns.
    pub rows: Vec<(String, Vec<MapCell>)>,
    /// So many more stalled and are not shown.
    pub left_out: usize,
}

/// What a server stalled within a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MapCell {
    /// How often.
    pub stalls: u64,
    /// How long, milliseconds.
    pub stall_ms: u64,
}

impl MapCell {
    fn shade(self) -> usize {
        let reached = LIMITS_MS.iter().filter(|limit| self.stall_ms >= **limit);
        reached.count()
    }
}

impl StallMap {
    fn begin(&self, column: usize) -> i64 {
        let columns = i64::try_from(column).unwrap_or(i64::MAX);
        self.from_ms
            .saturating_add(self.step_ms.saturating_mul(columns))
    }

    /// The end of the last column.
    pub fn to_ms(&self) -> i64 {
        self.begin(self.columns)
    }

    /// What the heads of columns are grouped by, and what each says.
    fn head(&self, column: usize) -> (String, String) {
        let begin = time_format::date_second(self.begin(column));
        let part = |from: usize, to: usize| begin.get(from..to).unwrap_or_default().to_owned();
        match self.step_ms < DAY_MS {
            true => (part(5, 10), part(11, 13)),
            false => (part(0, 7), part(8, 10)),
        }
    }
}

/// The map with its key.
pub(super) fn section(map: &StallMap) -> Markup {
    if map.rows.is_empty() {
        return Markup::literal("<p class=\"none\">No server stalled in this time.</p>");
    }
    let keys: Markup = SHADES
        .iter()
        .enumerate()
        .map(|(shade, words)| {
            markup!(
                "<span class=\"key\"><i class=\"swatch h{}\"></i>{}</span> ",
                shade,
                words
            )
        })
        .collect();
    let rows: Markup = map.rows.iter().map(|row| one(map, row)).collect();
    let more = match map.left_out {
        0 => Markup::new(),
        more => markup!(
            "<p class=\"none\">{} more stalled for a shorter time: see the list of servers.</p>\n",
            more
        ),
    };
    markup!(
        "<p class=\"map-keys\">A number is how many stalls began then; its colour is their length: {keys}</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"map\">\
         <table class=\"stall-map\"><caption class=\"unseen\">Stalls by server and time</caption>\n\
         <thead>{heads}</thead>\n<tbody>{rows}</tbody></table></div>\n{more}",
        heads = heads(map),
        ..keys,
        ..rows,
        ..more
    )
}

/// Two lines: days and hours, or months and days.
fn heads(map: &StallMap) -> Markup {
    let heads: Vec<(String, String)> = (0..map.columns).map(|column| map.head(column)).collect();
    let groups: Markup = heads
        .chunk_by(|one, other| one.0 == other.0)
        .filter_map(|group| {
            let (name, _) = group.first()?;
            Some(match group.len() {
                // A name that is wider than its column would make it wider.
                1 => Markup::literal("<td colspan=\"1\"></td>"),
                count => markup!("<th scope=\"colgroup\" colspan=\"{}\">{}</th>", count, name),
            })
        })
        .collect();
    let columns: Markup = heads
        .iter()
        .map(|(_, name)| markup!("<th scope=\"col\">{}</th>", name))
        .collect();
    markup!(
        "<tr><th rowspan=\"2\" scope=\"col\">Server</th>{groups}</tr>\n<tr>{columns}</tr>",
        ..groups,
        ..columns
    )
}

fn one(map: &StallMap, (server, cells): &(String, Vec<MapCell>)) -> Markup {
    let parts: Markup = cells
        .iter()
        .enumerate()
        .map(|(column, cell)| {
            if cell.stalls == 0 {
                return Markup::literal("<td></td>");
            }
            let (from, to) = (map.begin(column), map.begin(column + 1));
            let words = format!(
                "{}, {}, from {} on",
                counted(cell.stalls, "stall"),
                time_format::duration(cell.stall_ms),
                minute(from)
            );
            markup!(
                "<td class=\"h{}\"><a href=\"fleet/{}\" title=\"{}\" aria-label=\"{}\">{}</a></td>",
                cell.shade(),
                stalls_address(server, from, to),
                words,
                words,
                cell.stalls
            )
        })
        .collect();
    markup!(
        "<tr><th scope=\"row\"><a href=\"fleet/{}\">{}</a></th>{parts}</tr>\n",
        stalls_address(server, map.from_ms, map.to_ms()),
        Markup::cut(server, NAME_BYTES_MAX),
        ..parts
    )
}

/// `2026-11-28 06:00`.
fn minute(at_ms: i64) -> String {
    let mut text = time_format::date_second(at_ms);
    text.truncate(16);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-28 00:00:00 UTC.
    const BEGIN_MS: i64 = 1_795_824_000_000;

    fn cell(stalls: u64, seconds: u64) -> MapCell {
        MapCell {
            stalls,
            stall_ms: seconds * 1000,
        }
    }

    #[test]
    fn a_cell_has_its_number_its_shade_and_its_address() {
        let map = StallMap {
            from_ms: BEGIN_MS,
            step_ms: 6 * 3_600_000,
            columns: 5,
            rows: vec![(
                "db1:3306".to_owned(),
                vec![
                    cell(0, 0),
                    cell(1, 9),
                    cell(3, 60),
                    cell(2, 1799),
                    cell(9, 1800),
                ],
            )],
            left_out: 0,
        };
        let html = section(&map).into_string();
        for (shade, number) in [(0, 1), (2, 3), (3, 2), (4, 9)] {
            assert!(html.contains(&format!("<td class=\"h{shade}\"")), "{html}");
            assert!(html.contains(&format!(">{number}</a></td>")), "{html}");
        }
        assert_eq!(html.matches("<td></td>").count(), 1);
        assert!(html.contains("3 stalls, 1 min, from 2026-11-28 12:00 on"));
        let (from, to) = (BEGIN_MS + 6 * 3_600_000, BEGIN_MS + 12 * 3_600_000);
        let address =
            format!("href=\"fleet/stalls?server=db1%3A3306&amp;from={from}&amp;to={to}\"");
        assert!(html.contains(&address), "{html}");
        // A day of four columns, and the begin of the next.
        assert!(
            html.contains("colspan=\"4\">11-28</th>") && html.contains("<td colspan=\"1\"></td>")
        );
    }
}
