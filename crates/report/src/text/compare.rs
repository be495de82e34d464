//! A comparison for a terminal: the answer, a table, what is missing.

use diagnosis::compare::{Change, Comparison, Role, SideHead, SignalChange};

use super::page::{Page, Style};
use super::{TextOptions, wrap};
use crate::{escape, units, when};

/// Least columns of a signal's name.
const NAME_MIN: usize = 30;
/// Rows of the tables of statements, functions and locks.
const ROWS_MAX: usize = 6;
/// Settings that are listed.
const SETTINGS_MAX: usize = 10;

/// The answer in words: one sentence, both sides, the signals, why, and what is missing. Times are
/// UTC. No line is wider than the width.
pub fn compare_text(comparison: &Comparison, options: &TextOptions) -> String {
    let mut page = options.page();
    page.paragraph(0, &comparison.sentence, Style::Bold);
    page.blank();
    page.field("before", &side(&comparison.before));
    page.field("after", &side(&comparison.after));
    if let Some(cause) = &comparison.cause {
        page.field("cause", &format!("{} ({})", cause.title, cause.id));
    }
    signals(&mut page, comparison);
    list(&mut page, "WHY", &comparison.reasons);
    list(&mut page, "WHAT IS MISSING", &comparison.missing);
    settings(&mut page, comparison);
    changes(
        &mut page,
        "STATEMENTS A SECOND",
        &comparison.statements,
        |value| format!("{}/s", units::bare(value)),
    );
    changes(
        &mut page,
        "FUNCTIONS, SHARE OF THE SERVER'S SAMPLES",
        &comparison.functions,
        |value| units::Quantity::Share.say(value),
    );
    changes(
        &mut page,
        "LOCKS, THREADS THAT WAITED",
        &comparison.locks,
        units::bare,
    );
    page.heading("HOW");
    page.paragraph(2, &comparison.method, Style::Dim);
    page.finish()
}

/// "2026-11-21 09:23:47 to 09:26:48 UTC, 3 min 1 s, the stall of 3306 on db7".
pub(crate) fn side(side: &SideHead) -> String {
    let second = |wall_ms: i64| {
        let text = when::date_time(wall_ms);
        text.split_once('.')
            .map_or(text.clone(), |(seconds, _)| seconds.to_owned())
    };
    if !side.time_is_known() {
        return format!(
            "time not known, {}, {} of {}{}",
            when::duration(side.length_ms()),
            side.stretch.words(),
            side.server,
            match side.host.as_str() {
                "" => String::new(),
                host => format!(" on {host}"),
            }
        );
    }
    let (from, to) = (second(side.from_ms), second(side.to_ms));
    let to = match (from.split_once(' '), to.split_once(' ')) {
        (Some((day, _)), Some((same, time))) if day == same => time.to_owned(),
        _ => to,
    };
    format!(
        "{from} to {to} UTC, {}, {} of {} on {}",
        when::duration(side.length_ms()),
        side.stretch.words(),
        side.server,
        side.host
    )
}

struct Row {
    name: String,
    cells: [String; 4],
    fate: &'static str,
    role: Role,
}

fn row(signal: &SignalChange) -> Row {
    let say = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| signal.say(value));
    Row {
        name: escape::terminal(&signal.title),
        cells: [
            say(signal.before.mean),
            say(signal.after.mean),
            signal.say_change(),
            signal.say_interval(),
        ],
        fate: signal.fate.words(),
        role: signal.role,
    }
}

const HEADS: [&str; 4] = ["before", "after", "change", "95 % interval"];

fn signals(page: &mut Page, comparison: &Comparison) {
    let rows: Vec<Row> = comparison.signals.iter().map(row).collect();
    let widths: Vec<usize> = HEADS
        .iter()
        .enumerate()
        .map(|(column, head)| {
            let cells = rows.iter().filter_map(|row| row.cells.get(column));
            let widest = cells.map(|cell| wrap::columns(cell)).max().unwrap_or(0);
            widest.max(wrap::columns(head))
        })
        .collect();
    let fate = rows.iter().map(|row| row.fate.len()).max().unwrap_or(0);
    let taken: usize = widths.iter().map(|width| width + 2).sum::<usize>() + 2;
    let with_fate = page.width() >= taken + fate + 2 + NAME_MIN;
    let fate = if with_fate { fate + 2 } else { 0 };
    let longest = rows.iter().map(|row| wrap::columns(&row.name)).max();
    let room = page.width().saturating_sub(taken + fate);
    let name = longest.unwrap_or(0).min(room);
    let line = |page: &mut Page, title: &str, cells: &[&str], last: &str, style: Style| {
        let title = wrap::cut_middle(title, name);
        let mut text = format!(
            "  {title}{}",
            " ".repeat(name.saturating_sub(wrap::columns(&title)))
        );
        for (cell, width) in cells.iter().zip(&widths) {
            text.push_str(&" ".repeat(2 + width.saturating_sub(wrap::columns(cell))));
            text.push_str(cell);
        }
        if with_fate {
            text.push_str("  ");
            text.push_str(last);
        }
        page.raw(&[(&wrap::cut(&text, page.width()), style)]);
    };
    let mut role = None;
    for row in &rows {
        if role != Some(row.role) {
            page.heading(heading(row.role, comparison.cause.is_some()));
            if role.is_none() {
                line(page, "", &HEADS, "", Style::Dim);
            }
            role = Some(row.role);
        }
        let cells: Vec<&str> = row.cells.iter().map(String::as_str).collect();
        let style = match row.role {
            Role::Deciding => Style::Bold,
            _ => Style::Plain,
        };
        line(page, &row.name, &cells, row.fate, style);
    }
}

pub(crate) fn heading(role: Role, with_cause: bool) -> &'static str {
    match (role, with_cause) {
        (Role::Deciding, true) => "SIGNS THAT DECIDE",
        (Role::Deciding, false) => "WHAT CLIENTS FEEL",
        (Role::Supporting, _) => "OTHER SIGNS OF THE CAUSE",
        (Role::ServerWide, _) => "THE SERVER",
    }
}

fn list(page: &mut Page, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    page.heading(heading);
    for line in lines {
        page.item(2, "- ", line, Style::Plain);
    }
}

fn settings(page: &mut Page, comparison: &Comparison) {
    if comparison.settings.is_empty() {
        return;
    }
    page.heading("SETTINGS AND FACTS THAT DIFFER");
    for setting in comparison.settings.iter().take(SETTINGS_MAX) {
        let say = |value: &Option<String>| match value.as_deref() {
            None => "not read".to_owned(),
            Some("") => "(empty)".to_owned(),
            Some(value) => value.to_owned(),
        };
        let text = format!(
            "{}: {} → {}",
            setting.name,
            say(&setting.before),
            say(&setting.after)
        );
        let style = match setting.of_cause {
            true => Style::Bold,
            false => Style::Plain,
        };
        page.item(2, "- ", &text, style);
    }
    let more = comparison.settings.len().saturating_sub(SETTINGS_MAX);
    if more > 0 {
        page.paragraph(2, &format!("and {more} more"), Style::Dim);
    }
}

fn changes(page: &mut Page, heading: &str, rows: &[Change], say: impl Fn(f64) -> String) {
    if rows.is_empty() {
        return;
    }
    page.heading(heading);
    let rows: Vec<(String, String, String)> = rows
        .iter()
        .take(ROWS_MAX)
        .map(|row| (escape::terminal(&row.name), say(row.before), say(row.after)))
        .collect();
    let width = |pick: fn(&(String, String, String)) -> &String| {
        let cells = rows.iter().map(|row| wrap::columns(pick(row)));
        cells.max().unwrap_or(0)
    };
    let (before, after) = (width(|row| &row.1).max(6), width(|row| &row.2).max(5));
    let room = page.width().saturating_sub(before + after + 6);
    let name = width(|row| &row.0).min(room);
    for (title, first, second) in &rows {
        let title = wrap::cut_middle(title, name);
        let pad = |text: &str, to: usize| " ".repeat(to.saturating_sub(wrap::columns(text)));
        let line = format!(
            "  {title}{}  {}{first}  {}{second}",
            pad(&title, name),
            pad(first, before),
            pad(second, after)
        );
        page.raw(&[(&line, Style::Plain)]);
    }
}
