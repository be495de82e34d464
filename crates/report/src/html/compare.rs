//! A comparison as a page: the answer, charts before and after, tables.

use crate::markup::{Markup, markup, row};

use diagnosis::compare::{
    Answer, Change, Comparison, Role, SettingChange, SideHead, SideNumbers, SignalChange,
};

use super::HtmlOptions;
use super::head;
use super::table::{Holds, Table, cell, column};
use crate::axis::ValueAxis;
use crate::text::compare::side;
use crate::units::{self, Quantity};
use crate::when;

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
    out += Markup::literal("<main>\n");
    out += header(comparison);
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
        let figures: Markup = rows.iter().map(|row| figure(comparison, row)).collect();
        out += super::section(
            id,
            title,
            markup!("<div class=\"charts\">{figures}</div>", ..figures),
        );
    }
    out += super::section("numbers", "All numbers", numbers(&comparison.signals));
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
            out += super::section(id, title, changes(rows, say));
        }
    }
    if !comparison.settings.is_empty() {
        out += super::section(
            "settings",
            "Settings and facts that differ",
            settings(&comparison.settings),
        );
    }
    out += super::section(
        "how",
        "How it was computed",
        markup!("<p>{}</p>", comparison.method),
    );
    out += markup!(
        "</main>\n<footer><p>Written by freezeframe {}. All times are UTC. Statements have no literals.</p></footer>\n\
         </body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    out.into_string()
}

type Say = fn(f64) -> String;
const PER_SECOND: Say = |value| format!("{}/s", units::bare(value));
const SHARE: Say = |value| Quantity::Share.say(value);
const PLAIN: Say = units::bare;

fn header(comparison: &Comparison) -> Markup {
    let class = match comparison.verdict {
        Answer::Worked => "worked",
        Answer::NoEffect => "no-effect",
        Answer::Worse => "worse",
        Answer::NotProven => "not-proven",
    };
    let cause = comparison.cause.as_ref().map_or_else(Markup::new, |cause| {
        markup!(" <b>{}</b> <code>{}</code>", cause.title, cause.id)
    });
    let row = |name: &str, side_of: &SideHead| {
        markup!(
            "<div class=\"wide\"><dt>{name}</dt><dd>{}</dd></div>",
            side(side_of),
            ..name
        )
    };
    let list = |title: &str, lines: &[String]| match lines.is_empty() {
        true => Markup::new(),
        false => {
            let items: Markup = lines
                .iter()
                .map(|line| markup!("<li>{}</li>", line))
                .collect();
            markup!(
                "<div class=\"half\"><h3>{title}</h3><ul>{items}</ul></div>",
                ..title,
                ..items
            )
        }
    };
    markup!(
        "<header class=\"top\"><p class=\"brand\">freezeframe <span>before and after</span></p>\n\
         <h1>{sentence}</h1>\n<p class=\"line\"><span class=\"badge {class}\">{answer}</span>{cause}</p>\n\
         <dl class=\"head\">{before}{after}</dl></header>\n<div class=\"halves\">{why}{missing}</div>\n",
        sentence = comparison.sentence,
        answer = comparison.verdict.words(),
        before = row("Before", &comparison.before),
        after = row("After", &comparison.after),
        why = list("Why", &comparison.reasons),
        missing = list("What is missing", &comparison.missing),
        ..class,
        ..cause
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

fn figure(comparison: &Comparison, signal: &SignalChange) -> Markup {
    let say = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| signal.say(value));
    let row = |name: &str, index: usize, numbers: &SideNumbers| {
        let held = numbers
            .held
            .map_or_else(|| "–".to_owned(), |held| Quantity::Share.say(held));
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
    markup!(
        "<figure class=\"chart\"><figcaption><h3>{title}</h3><p><b>{fate}</b>: {change} \
         (95 % interval {interval})</p></figcaption>\n<div class=\"frame\">{svg}</div>\n\
         <table class=\"legend\"><thead><tr><th scope=\"col\"><span class=\"unseen\">Side</span></th>\
         <th scope=\"col\">mean</th><th scope=\"col\">median</th><th scope=\"col\">95 %</th>\
         <th scope=\"col\">max</th><th scope=\"col\" title=\"share of the readings in which it was a sign of the cause\">\
         sign</th></tr></thead><tbody>{before}{after}</tbody></table></figure>\n",
        title = cell(&signal.title),
        fate = signal.fate.words(),
        change = signal.say_change(),
        interval = signal.say_interval(),
        svg = svg(comparison, signal),
        before = row("before", 1, &signal.before),
        after = row("after", 0, &signal.after),
    )
}

fn svg(comparison: &Comparison, signal: &SignalChange) -> Markup {
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
    let mut out = markup!(
        "<svg class=\"plot\" role=\"img\" width=\"100%\" height=\"{}\"><title>{}</title>",
        bottom + BOTTOM_PX,
        cell(&signal.title)
    );
    for (value, label) in &axis.ticks {
        let y = bottom - axis.place(*value) * PLOT_PX;
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
        let clock = when::clock_time;
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
        "<svg class=\"curves\" y=\"{TOP_PX}\" width=\"100%\" height=\"{PLOT_PX}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
        ..TOP_PX,
        ..PLOT_PX,
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
        ends.sort_by_key(|(at, _)| *at);
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

fn numbers(signals: &[SignalChange]) -> Markup {
    let columns = [
        column("Signal", Holds::Code),
        column("Before", Holds::Numbers),
        column("After", Holds::Numbers),
        column("Change", Holds::Numbers),
        column("95 % interval", Holds::Numbers),
        column("Effect (Cliff's delta)", Holds::Numbers),
        column("p", Holds::Numbers),
        column("Readings", Holds::Numbers),
        column("Independent blocks", Holds::Numbers),
        column("", Holds::Words),
    ];
    let rows = signals.iter().map(|signal| {
        let say =
            |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| signal.say(value));
        let blocks = |side: &SideNumbers| {
            side.blocks
                .map_or_else(|| "–".to_owned(), |blocks| format!("{blocks:.0}"))
        };
        row![
            signal.title,
            say(signal.before.mean),
            say(signal.after.mean),
            signal.say_change(),
            signal.say_interval(),
            signal
                .cliff
                .map_or_else(|| "–".to_owned(), |cliff| format!("{cliff:+.2}")),
            match signal.p_adjusted.or(signal.p) {
                Some(p) if p < 0.001 => "< 0.001".to_owned(),
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

fn changes(rows: &[Change], say: Say) -> Markup {
    let columns = [
        column("", Holds::Code),
        column("Before", Holds::Numbers),
        column("After", Holds::Numbers),
        column("Difference", Holds::Numbers),
    ];
    let rows = rows.iter().map(|row| {
        let difference = row.after - row.before;
        let sign = if difference > 0.0 { "+" } else { "" };
        row![
            row.name,
            say(row.before),
            say(row.after),
            format!("{sign}{}", say(difference)),
        ]
    });
    Table::wide("", &columns).rows(rows, ROWS_MAX)
}

fn settings(rows: &[SettingChange]) -> Markup {
    let columns = [
        column("Name", Holds::Code),
        column("Before", Holds::Words),
        column("After", Holds::Words),
    ];
    let say = |value: &Option<String>| match value.as_deref() {
        None => "not read".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(value) => value.to_owned(),
    };
    let rows = rows.iter().map(|row| {
        let name = match row.of_cause {
            true => markup!("<b>{}</b>", cell(&row.name)),
            false => cell(&row.name),
        };
        row![name, say(&row.before), say(&row.after)]
    });
    Table::wide("", &columns).rows(rows, ROWS_MAX)
}
