//! A comparison: its sides, its signals in numbers, why, what is missing, what else changed.

use diagnosis::compare::{Change, Comparison, Role, SettingChange, SideHead, SideNumbers};
use model::area_of;

use crate::document::{CellKind, Column, Part, Prose, Row, Section, Shape, Table};
use crate::standard;
use crate::time_format;
use crate::units::{self, Quantity};

/// Rows of the tables of statements, functions and locks, on a terminal and on a page.
const ROWS_MAX: (usize, usize) = (6, 40);
/// Settings that are listed, on a terminal and on a page.
const SETTINGS_MAX: (usize, usize) = (10, 40);
/// Least columns of a signal's name on a terminal.
const NAME_MIN: usize = 30;
/// Lines that it may take: what a sign is about must be read whole.
const NAME_LINES: usize = 3;

/// "2026-11-21 09:23:47 to 09:26:48 UTC, 3 min 1 s, the stall of 3306 on db7".
pub(crate) fn side(side: &SideHead) -> String {
    let second = |wall_ms: i64| {
        let text = time_format::date_time(wall_ms);
        text.split_once('.')
            .map_or(text.clone(), |(seconds, _)| seconds.to_owned())
    };
    let host = match side.host.as_str() {
        "" => String::new(),
        host => format!(" on {host}"),
    };
    let what = format!(
        "{}, {} of {}{host}",
        time_format::duration(side.length_ms()),
        side.stretch.words(),
        side.server
    );
    if !side.time_is_known() {
        return format!("unknown time, {what}");
    }
    let (from, to) = (second(side.from_ms), second(side.to_ms));
    let to = match (from.split_once(' '), to.split_once(' ')) {
        (Some((day, _)), Some((same, time))) if day == same => time.to_owned(),
        _ => to,
    };
    format!("{from} to {to} UTC, {what}")
}

/// A sentence of the comparison without names of signals: `cpu.system_share fell` is `system (CPU) fell`. What the server
/// itself calls its counters stays.
pub(crate) fn in_words(text: &str) -> String {
    let is_space = char::is_whitespace;
    let words = text.split_inclusive(is_space).map(|word| {
        let bare = word.trim_start_matches('(');
        let name = bare.trim_end_matches(|letter| is_space(letter) || ",;:.)".contains(letter));
        match name.contains('.') && area_of(name).is_some() {
            true => word.replace(name, &standard::in_words(name)),
            false => word.to_owned(),
        }
    });
    words.collect()
}

/// A setting or a fact as people call it: the server's own name of a variable.
fn setting(name: &str) -> String {
    match name.split_once('.') {
        Some(("variables", own)) => own.to_owned(),
        Some((of, own)) if area_of(name).is_none() => {
            format!("{} ({of})", own.replace('_', " "))
        }
        _ => standard::in_words(name),
    }
}

/// The heading of the signals of a role.
pub(crate) fn role_title(role: Role, comparison: &Comparison) -> &'static str {
    match role {
        Role::Deciding if comparison.cause.is_some() => "Deciding signs",
        Role::Deciding => "Effect on clients",
        Role::Supporting => "Other signs of the cause",
        Role::ServerWide => "The server",
    }
}

pub(super) fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".to_owned())
}

/// The signals in numbers: those of a role, or all. The columns are as wide as all of them need.
pub(crate) fn signals(comparison: &Comparison, role: Option<Role>) -> Table {
    let of_role = |of: Role| role.is_none_or(|role| role == of);
    let blocks = |side: &SideNumbers| or_dash(side.blocks.map(|blocks| format!("{blocks:.0}")));
    let rows: Vec<(Role, Row)> = comparison
        .signals
        .iter()
        .map(|signal| {
            let say = |value: Option<f64>| or_dash(value.map(|value| signal.say(value)));
            let row = Row::new([
                in_words(&signal.title),
                say(signal.before.mean),
                say(signal.after.mean),
                signal.say_change(),
                signal.say_interval(),
                or_dash(signal.cliff.map(|cliff| format!("{cliff:+.2}"))),
                match signal.p_adjusted.or(signal.p) {
                    Some(p) if p < 0.001 => "< 0.001".to_owned(),
                    p => or_dash(p.map(|p| format!("{p:.3}"))),
                },
                format!("{} / {}", signal.before.readings, signal.after.readings),
                format!("{} / {}", blocks(&signal.before), blocks(&signal.after)),
                signal.fate.words().to_owned(),
            ]);
            let strong = signal.role == Role::Deciding;
            (signal.role, Row { strong, ..row })
        })
        .collect();
    let number = |title: &str| Column::new(title, CellKind::Numbers);
    let on_terminal = |title: &str, short: &str, at: usize| {
        let cells = rows.iter().filter_map(|(_, row)| row.cells.get(at));
        let widest = cells.map(|cell| crate::text::wrap::columns(&cell.plain()));
        number(title).short(short, widest.max().unwrap_or(0))
    };
    let columns = vec![
        Column::new("Signal", CellKind::Code).short("", 0),
        on_terminal("Before", "before", 1),
        on_terminal("After", "after", 2),
        on_terminal("Change", "change", 3),
        on_terminal("95 % interval", "95 % interval", 4),
        number("Effect (Cliff's delta)").page_only(),
        number("p").page_only(),
        number("Readings").page_only(),
        number("Independent blocks").page_only(),
        Column {
            holds: CellKind::Text,
            ..on_terminal("Result", "", 9)
        }
        .rank(1),
    ];
    let shown = rows.into_iter().filter(|(role, _)| of_role(*role));
    let shape = Shape {
        name_min: NAME_MIN,
        name_lines: NAME_LINES,
        ..Shape::USUAL
    };
    Table::new(columns)
        .rows(shown.map(|(_, row)| row))
        .shape(shape)
        .limits(usize::MAX, ROWS_MAX.1)
}

/// Why the answer is what it is, and what is missing.
pub(crate) fn reasons(comparison: &Comparison) -> Vec<Section> {
    let list = |lines: &[String]| match lines.is_empty() {
        true => Vec::new(),
        false => vec![Part::list(lines.iter().map(|line| in_words(line)))],
    };
    let why = Section::from_parts("Why", list(&comparison.reasons));
    let missing = Section::from_parts("Missing for a proof", list(&comparison.missing));
    why.into_iter().chain(missing).collect()
}

/// What else changed, and how all of it was computed.
pub(crate) fn sections(comparison: &Comparison) -> Vec<Section> {
    let changed = changed([
        &comparison.statements,
        &comparison.functions,
        &comparison.locks,
    ]);
    let method = vec![Part::Note(comparison.method.as_str().into())];
    different(&comparison.settings)
        .into_iter()
        .chain(changed)
        .chain(Section::from_parts("How it was computed", method))
        .collect()
}

/// Settings and facts that differ.
pub(super) fn different(rows: &[SettingChange]) -> Option<Section> {
    let parts = settings(rows, ["Before", "After"]);
    Section::from_parts("Different settings and facts", parts)
}

/// Statements, functions and locks that there is more or less of, as far as there are some.
pub(super) fn changed([statements, functions, locks]: [&[Change]; 3]) -> Vec<Section> {
    let per_second = |value: f64| format!("{}/s", units::rounded(value));
    let share = |value: f64| Quantity::Share.to_text(value);
    [
        (
            "Statements a second",
            changes("Statement", statements, &per_second),
        ),
        (
            "Functions, share of the server's samples",
            changes("Function", functions, &share),
        ),
        (
            "Locks, threads that waited",
            changes("Lock", locks, &units::bare),
        ),
    ]
    .into_iter()
    .filter_map(|(title, parts)| Section::from_parts(title, parts))
    .collect()
}

fn changes(name: &str, rows: &[Change], say: &dyn Fn(f64) -> String) -> Vec<Part> {
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        Column::new(name, CellKind::Code).short("", 0),
        Column::new("Before", CellKind::Numbers).short("before", 6),
        Column::new("After", CellKind::Numbers).short("after", 5),
        Column::new("Difference", CellKind::Numbers).page_only(),
    ];
    let rows = rows.iter().map(|row| {
        let difference = row.after - row.before;
        let sign = if difference > 0.0 { "+" } else { "" };
        Row::new([
            row.name.clone(),
            say(row.before),
            say(row.after),
            format!("{sign}{}", say(difference)),
        ])
    });
    let table = Table::new(columns).rows(rows);
    vec![Part::Table(table.limits(ROWS_MAX.0, ROWS_MAX.1))]
}

/// Settings and facts that differ between sides of these names.
pub(super) fn settings(rows: &[SettingChange], names: [&'static str; 2]) -> Vec<Part> {
    if rows.is_empty() {
        return Vec::new();
    }
    let say = |value: &Option<String>| match value.as_deref() {
        None => "not read".to_owned(),
        Some("") => "(empty)".to_owned(),
        Some(value) => value.to_owned(),
    };
    let columns = vec![
        Column::new("Name", CellKind::Code),
        Column::new(names[0], CellKind::Text),
        Column::new(names[1], CellKind::Text),
    ];
    let rows = rows.iter().map(|row| {
        let (before, after) = (say(&row.before), say(&row.after));
        let name = setting(&row.name);
        let sentence = format!("{name}: {before} → {after}");
        let name = match row.of_cause {
            true => Prose::default().strong(&name),
            false => name.as_str().into(),
        };
        Row {
            strong: row.of_cause,
            ..Row::new([name, before.into(), after.into()]).sentence(sentence)
        }
    });
    let table = Table::new(columns).rows(rows).shape(Shape::SENTENCES);
    vec![Part::Table(table.limits(SETTINGS_MAX.0, SETTINGS_MAX.1))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names_for_people() {
        for (text, words) in [
            (
                "cpu.system_share fell from 1 % to 0",
                "system (CPU) fell from 1 % to 0",
            ),
            (
                "rose (cpu.steal_share, 2.5 s); see cpu.iowait_share.",
                "rose (stolen (CPU), 2.5 s); see waiting for I/O (CPU).",
            ),
            ("largest cpu.steal_share:", "largest stolen (CPU):"),
            (
                "Com_show_warnings a second fell",
                "Com_show_warnings a second fell",
            ),
            ("SELECT 1 took 2.5 ms.", "SELECT 1 took 2.5 ms."),
        ] {
            assert_eq!(in_words(text), words);
        }
        assert_eq!(setting("variables.sync_binlog"), "sync_binlog");
        assert_eq!(setting("server.tcp_ports"), "tcp ports (server)");
        assert!(!setting("packets.show_warnings.senders").contains('.'));
    }
}
