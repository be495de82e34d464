//! A comparison as a page: the answer, charts before and after, tables.

use std::fmt::Write;

use diagnosis::compare::{
    Answer, Change, Comparison, Role, SettingChange, SideHead, SideNumbers, SignalChange,
};

use super::HtmlOptions;
use super::head;
use super::table::{Column, Holds, Table, cell};
use crate::axis::ValueAxis;
use crate::text::compare::side;
use crate::units::{self, Quantity};
use crate::{escape, when};

/// Units of the stretched picture, across and down.
const WIDTH: f64 = 2000.0;
const HEIGHT: f64 = 1000.0;
/// Height of the plot in CSS pixels.
const PLOT_PX: f64 = 128.0;
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
/// Rows of a table.
const ROWS_MAX: usize = 40;

/// A comparison as one HTML page that needs nothing else and has no script. Times are UTC.
pub fn compare_html(comparison: &Comparison, _options: &HtmlOptions) -> String {
    let mut out = head::document(&comparison.sentence, &[]);
    out.push_str("<main>\n");
    out.push_str(&header(comparison));
    let with_cause = comparison.cause.is_some();
    for (role, id) in [
        (Role::Deciding, "deciding"),
        (Role::Supporting, "supporting"),
        (Role::ServerWide, "server"),
    ] {
        let title = match (role, with_cause) {
            (Role::Deciding, true) => "Signs that decide",
            (Role::Deciding, false) => "What clients feel",
            (Role::Supporting, _) => "Other signs of the cause",
            (Role::ServerWide, _) => "The server",
        };
        let rows: Vec<&SignalChange> = comparison
            .signals
            .iter()
            .filter(|signal| signal.role == role)
            .collect();
        if rows.is_empty() {
            continue;
        }
        let figures: String = rows.iter().map(|row| figure(comparison, row)).collect();
        section(
            &mut out,
            id,
            title,
            &format!("<div class=\"charts\">{figures}</div>"),
        );
    }
    section(
        &mut out,
        "numbers",
        "All numbers",
        &numbers(&comparison.signals),
    );
    let tables = [
        (
            "statements",
            "Statements a second",
            &comparison.statements,
            PER_SECOND,
        ),
        (
            "functions",
            "Functions, share of the server's samples",
            &comparison.functions,
            SHARE,
        ),
        (
            "locks",
            "Locks, threads that waited",
            &comparison.locks,
            PLAIN,
        ),
    ];
    for (id, title, rows, say) in tables {
        if !rows.is_empty() {
            section(&mut out, id, title, &changes(rows, say));
        }
    }
    if !comparison.settings.is_empty() {
        section(
            &mut out,
            "settings",
            "Settings and facts that differ",
            &settings(&comparison.settings),
        );
    }
    section(
        &mut out,
        "how",
        "How it was computed",
        &format!("<p>{}</p>", escape::html(&comparison.method)),
    );
    let _ = write!(
        out,
        "</main>\n<footer><p>Written by freezeframe {}. All times are UTC. Statements have no literals.</p></footer>\n\
         </body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    out
}

type Say = fn(f64) -> String;
const PER_SECOND: Say = |value| format!("{}/s", units::bare(value));
const SHARE: Say = |value| Quantity::Share.say(value);
const PLAIN: Say = units::bare;

fn section(out: &mut String, id: &str, title: &str, body: &str) {
    let _ = writeln!(out, "<section id=\"{id}\"><h2>{title}</h2>{body}</section>");
}

fn header(comparison: &Comparison) -> String {
    let class = match comparison.verdict {
        Answer::Worked => "worked",
        Answer::NoEffect => "no-effect",
        Answer::Worse => "worse",
        Answer::NotProven => "not-proven",
    };
    let cause = comparison.cause.as_ref().map_or_else(String::new, |cause| {
        format!(
            " <b>{}</b> <code>{}</code>",
            escape::html(&cause.title),
            escape::html(&cause.id)
        )
    });
    let row = |name: &str, side_of: &SideHead| {
        format!(
            "<div class=\"wide\"><dt>{name}</dt><dd>{}</dd></div>",
            escape::html(&side(side_of))
        )
    };
    let list = |title: &str, lines: &[String]| match lines.is_empty() {
        true => String::new(),
        false => {
            let items: String = lines
                .iter()
                .map(|line| format!("<li>{}</li>", escape::html(line)))
                .collect();
            format!("<div class=\"half\"><h3>{title}</h3><ul>{items}</ul></div>")
        }
    };
    format!(
        "<header class=\"top\"><p class=\"brand\">freezeframe <span>before and after</span></p>\n\
         <h1>{sentence}</h1>\n<p class=\"line\"><span class=\"badge {class}\">{answer}</span>{cause}</p>\n\
         <dl class=\"head\">{before}{after}</dl></header>\n<div class=\"halves\">{why}{missing}</div>\n",
        sentence = escape::html(&comparison.sentence),
        answer = comparison.verdict.words(),
        before = row("Before", &comparison.before),
        after = row("After", &comparison.after),
        why = list("Why", &comparison.reasons),
        missing = list("What is missing", &comparison.missing),
    )
}

fn quantity(signal: &SignalChange) -> (Quantity, f64) {
    match signal.unit {
        "percent" => (Quantity::Share, 1.0),
        "per-second" => (Quantity::PerSecond, 1.0),
        "milliseconds" => (Quantity::Seconds, 1e-3),
        "seconds" => (Quantity::Seconds, 1.0),
        "bytes" => (Quantity::Bytes, 1.0),
        _ => (Quantity::Count, 1.0),
    }
}

fn figure(comparison: &Comparison, signal: &SignalChange) -> String {
    let say = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| signal.say(value));
    let row = |name: &str, index: usize, numbers: &SideNumbers| {
        let held = numbers
            .held
            .map_or_else(|| "–".to_owned(), |held| Quantity::Share.say(held));
        format!(
            "<tr><th scope=\"row\"><i class=\"swatch c{index}\"></i>{name}</th>\
             <td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{held}</td></tr>",
            escape::html(&say(numbers.mean)),
            escape::html(&say(numbers.median)),
            escape::html(&say(numbers.p95)),
            escape::html(&say(numbers.max)),
        )
    };
    format!(
        "<figure class=\"chart\"><figcaption><h3>{title}</h3><p><b>{fate}</b>: {change} \
         (95 % interval {interval})</p></figcaption>\n<div class=\"frame\">{svg}</div>\n\
         <table class=\"legend\"><thead><tr><th scope=\"col\"><span class=\"unseen\">Side</span></th>\
         <th scope=\"col\">mean</th><th scope=\"col\">median</th><th scope=\"col\">95 %</th>\
         <th scope=\"col\">max</th><th scope=\"col\" title=\"share of the readings in which it was a sign of the cause\">\
         sign</th></tr></thead><tbody>{before}{after}</tbody></table></figure>\n",
        title = cell(&signal.title),
        fate = signal.fate.words(),
        change = escape::html(&signal.say_change()),
        interval = escape::html(&signal.say_interval()),
        svg = svg(comparison, signal),
        before = row("before", 1, &signal.before),
        after = row("after", 0, &signal.after),
    )
}

fn svg(comparison: &Comparison, signal: &SignalChange) -> String {
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
    let bottom = TOP_PX + PLOT_PX;
    let mut out = format!(
        "<svg class=\"plot\" role=\"img\" width=\"100%\" height=\"{}\"><title>{}</title>",
        bottom + BOTTOM_PX,
        cell(&signal.title)
    );
    for (value, label) in &axis.ticks {
        let y = bottom - axis.place(*value) * PLOT_PX;
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"value\" x=\"-6\" y=\"{:.1}\">{}</text>",
            y + 3.5,
            escape::html(label),
        );
    }
    let sides = [
        ("before", 0.0, 1, &signal.before, &comparison.before),
        ("after", SECOND, 0, &signal.after, &comparison.after),
    ];
    for (name, from, _, _, head) in &sides {
        let clock = when::clock_time;
        let _ = write!(
            out,
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
        );
    }
    let _ = write!(
        out,
        "<svg class=\"curves\" y=\"{TOP_PX}\" width=\"100%\" height=\"{PLOT_PX}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    );
    let y = |value: f64| ((1.0 - axis.place(value * factor)) * HEIGHT).round();
    let edge = ((SIDE + SECOND) / 2.0 * WIDTH).round();
    let _ = write!(out, "<path class=\"divide\" d=\"M{edge} 0V{HEIGHT}\"/>");
    if let Some(limit) = signal.limit
        && limit * factor <= axis.high
    {
        let _ = write!(out, "<path class=\"limit\" d=\"M0 {}H{WIDTH}\"/>", y(limit));
    }
    for (_, from, index, numbers, head) in sides {
        let length = head.length_ms().max(1) as f64;
        let x = |at: u64| ((from + SIDE * (at as f64 / length).clamp(0.0, 1.0)) * WIDTH).round();
        let path = path(&numbers.points, x, y);
        if !path.is_empty() {
            let _ = write!(out, "<path class=\"line c{index}\" d=\"{path}\"/>");
        }
        if let Some(mean) = numbers.mean {
            let _ = write!(
                out,
                "<path class=\"mean c{index}\" d=\"M{:.0} {}H{:.0}\"/>",
                from * WIDTH,
                y(mean),
                (from + SIDE) * WIDTH
            );
        }
    }
    out.push_str("</svg></svg>");
    out
}

/// The readings as a path: of many, the smallest and the largest of each stretch of time.
fn path(points: &[(u64, f64)], x: impl Fn(u64) -> f64, y: impl Fn(f64) -> f64) -> String {
    let mut distances: Vec<u64> = points
        .windows(2)
        .filter_map(|pair| Some(pair.get(1)?.0.saturating_sub(pair.first()?.0)))
        .collect();
    distances.sort_unstable();
    let usual = distances.get(distances.len() / 2).copied().unwrap_or(1_000);
    let per_bucket = points.len().div_ceil(BUCKETS).max(1);
    let gap = usual.saturating_mul(GAP_FACTOR * per_bucket as u64);
    let mut out = String::new();
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
        ends.sort_by_key(|(at, _)| *at);
        let distinct = if ends[0] == ends[1] {
            &ends[..1]
        } else {
            &ends[..]
        };
        for (at, value) in distinct {
            let joined = last.is_some_and(|last| at.saturating_sub(last) <= gap);
            let command = if joined { 'L' } else { 'M' };
            let _ = write!(out, "{command}{} {}", x(*at), y(*value));
            last = Some(*at);
        }
    }
    out
}

fn numbers(signals: &[SignalChange]) -> String {
    let columns = [
        Column("Signal", Holds::Code),
        Column("Before", Holds::Numbers),
        Column("After", Holds::Numbers),
        Column("Change", Holds::Numbers),
        Column("95 % interval", Holds::Numbers),
        Column("Effect (Cliff's delta)", Holds::Numbers),
        Column("p", Holds::Numbers),
        Column("Readings", Holds::Numbers),
        Column("Independent blocks", Holds::Numbers),
        Column("", Holds::Words),
    ];
    let rows = signals.iter().map(|signal| {
        let say =
            |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| signal.say(value));
        let blocks = |side: &SideNumbers| {
            side.blocks
                .map_or_else(|| "–".to_owned(), |blocks| format!("{blocks:.0}"))
        };
        vec![
            cell(&signal.title),
            escape::html(&say(signal.before.mean)),
            escape::html(&say(signal.after.mean)),
            escape::html(&signal.say_change()),
            escape::html(&signal.say_interval()),
            signal
                .cliff
                .map_or_else(|| "–".to_owned(), |cliff| format!("{cliff:+.2}")),
            match signal.p_adjusted.or(signal.p) {
                Some(p) if p < 0.001 => "&lt; 0.001".to_owned(),
                Some(p) => format!("{p:.3}"),
                None => "–".to_owned(),
            },
            format!("{} / {}", signal.before.readings, signal.after.readings),
            format!("{} / {}", blocks(&signal.before), blocks(&signal.after)),
            signal.fate.words().to_owned(),
        ]
    });
    Table::wide("", &columns).rows(rows, ROWS_MAX)
}

fn changes(rows: &[Change], say: Say) -> String {
    let columns = [
        Column("", Holds::Code),
        Column("Before", Holds::Numbers),
        Column("After", Holds::Numbers),
        Column("Difference", Holds::Numbers),
    ];
    let rows = rows.iter().map(|row| {
        let difference = row.after - row.before;
        let sign = if difference > 0.0 { "+" } else { "" };
        vec![
            cell(&row.name),
            escape::html(&say(row.before)),
            escape::html(&say(row.after)),
            escape::html(&format!("{sign}{}", say(difference))),
        ]
    });
    Table::wide("", &columns).rows(rows, ROWS_MAX)
}

fn settings(rows: &[SettingChange]) -> String {
    let columns = [
        Column("Name", Holds::Code),
        Column("Before", Holds::Words),
        Column("After", Holds::Words),
    ];
    let say = |value: &Option<String>| match value.as_deref() {
        None => "not read".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(value) => cell(value),
    };
    let rows = rows.iter().map(|row| {
        let name = match row.of_cause {
            true => format!("<b>{}</b>", cell(&row.name)),
            false => cell(&row.name),
        };
        vec![name, say(&row.before), say(&row.after)]
    });
    Table::wide("", &columns).rows(rows, ROWS_MAX)
}
