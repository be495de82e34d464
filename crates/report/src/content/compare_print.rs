//! What of a comparison goes on paper: the answer, what differs and why; then charts, and what else changed.
//!
//! Who reads it asks first whether the change helped. So what did not change is named in a line, and its numbers and
//! charts stay in the page. Each thing has a bound: a usual comparison takes two or three sheets.

use diagnosis::compare::{Change, Comparison, Fate, Role, SettingChange, SideHead, SignalChange};

use super::brief::quoted;
use super::compare::{changed, different, in_words, or_dash, side};
use crate::document::{Answer, CellKind, Column, Part, Prose, Row, Section, Table};
use crate::text::wrap::cut;

/// Signals in the table, and those with a chart.
const SIGNALS_MAX: usize = 10;
const CHARTS_MAX: usize = 9;

/// Signals without a difference that are named for each reason.
const NAMED_MAX: usize = 6;

/// Reasons, and what is missing for a proof.
const LINES_MAX: (usize, usize) = (6, 3);

/// A longer reason ends at the end of a clause, or of a word, in characters: it takes two lines.
const LINE_MAX: usize = 180;

/// Rows of the table of settings, and of each of the smaller ones.
const SETTINGS_MAX: usize = 12;
const CHANGES_MAX: usize = 6;

/// Characters of a setting's value, and of a statement's or a function's name.
const VALUE_MAX: usize = 80;
const NAME_MAX: usize = 120;

/// Both sides, in a line each.
pub(crate) fn sides(comparison: &Comparison) -> Vec<Part> {
    vec![Part::Answers(vec![
        Answer::new("before", side(&comparison.before)),
        Answer::new("after", side(&comparison.after)),
    ])]
}

/// Whether the numbers of a signal are printed: it decides, or it changed, or may have.
fn is_told(signal: &SignalChange) -> bool {
    match signal.fate {
        Fate::NotMeasured => false,
        Fate::Same | Fate::NotThere => signal.role == Role::Deciding,
        Fate::Gone | Fate::Less | Fate::More | Fate::Unclear | Fate::TooShort => true,
    }
}

fn told(comparison: &Comparison) -> impl Iterator<Item = &SignalChange> {
    comparison.signals.iter().filter(|signal| is_told(signal))
}

/// The signals that have a chart, those that decide first.
pub(crate) fn charts(comparison: &Comparison) -> Vec<&SignalChange> {
    told(comparison).take(CHARTS_MAX).collect()
}

/// What differs in numbers, and what does not.
pub(crate) fn differences(comparison: &Comparison) -> Vec<Part> {
    let number = |title: &str| Column::new(title, CellKind::Numbers);
    let columns = vec![
        Column::new("Signal", CellKind::Text),
        number("Before"),
        number("After"),
        number("Change"),
        number("95 % interval"),
        Column::new("Result", CellKind::Text),
    ];
    let rows: Vec<Row> = told(comparison).map(row).collect();
    let is_any = !rows.is_empty();
    let table = Table::new(columns).rows(rows);
    let table = Part::Table(table.limits(SIGNALS_MAX, SIGNALS_MAX));
    let unchanged = Part::Note(unchanged(comparison).into());
    let table = is_any.then_some(table).into_iter();
    table.chain([unchanged]).collect()
}

fn row(signal: &SignalChange) -> Row {
    let say = |value: Option<f64>| Prose::from(or_dash(value.map(|value| signal.say(value))));
    let title = in_words(&signal.title);
    let name = match signal.role {
        Role::Deciding => Prose::default().strong(title),
        Role::Supporting | Role::ServerWide => title.into(),
    };
    Row::new([
        name,
        say(signal.before.mean),
        say(signal.after.mean),
        signal.say_change().into(),
        signal.say_interval().into(),
        signal.fate.words().into(),
    ])
}

/// The signals that have no row, by why they have none.
fn unchanged(comparison: &Comparison) -> String {
    let named = |fate: Fate| -> Option<String> {
        let signals = comparison.signals.iter();
        let names: Vec<String> = signals
            .filter(|signal| signal.fate == fate && !is_told(signal))
            .map(|signal| in_words(&signal.title))
            .collect();
        let more = match names.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!("; {more} more"),
        };
        let shown = names.get(..NAMED_MAX).unwrap_or(&names);
        (!names.is_empty()).then(|| shown.join("; ") + &more)
    };
    let lines = [
        (Fate::Same, "The same"),
        (Fate::NotThere, "Neither before nor after"),
        (Fate::NotMeasured, "Measured on one side only"),
    ];
    let lines = lines
        .into_iter()
        .filter_map(|(fate, title)| Some(format!(" {title}: {}.", named(fate)?)));
    let bold = "Bold: what decides the answer.";
    std::iter::once(bold.to_owned()).chain(lines).collect()
}

/// Why the answer is what it is, and what is missing.
pub(crate) fn reasons(comparison: &Comparison) -> Vec<Section> {
    let list = |lines: &[String], most: usize| {
        let shown = lines.iter().take(most);
        let shown: Vec<String> = shown
            .map(|line| quoted(&in_words(line), LINE_MAX))
            .collect();
        let more = match lines.len().saturating_sub(most) {
            0 => None,
            more => Some(Part::Note(format!("{more} more in the page.").into())),
        };
        let list = (!shown.is_empty()).then(|| Part::list(shown));
        list.into_iter().chain(more).collect::<Vec<Part>>()
    };
    [
        ("Why", list(&comparison.reasons, LINES_MAX.0)),
        (
            "Missing for a proof",
            list(&comparison.missing, LINES_MAX.1),
        ),
    ]
    .into_iter()
    .filter_map(|(title, parts)| Section::from_parts(title, parts))
    .collect()
}

/// Settings and facts that differ.
pub(crate) fn settings(comparison: &Comparison) -> Option<Section> {
    let short = |value: &Option<String>| value.as_deref().map(|value| cut(value, VALUE_MAX));
    let rows = comparison.settings.iter().map(|row| SettingChange {
        name: cut(&row.name, VALUE_MAX),
        before: short(&row.before),
        after: short(&row.after),
        of_cause: row.of_cause,
    });
    let section = different(&rows.collect::<Vec<_>>())?;
    Some(bounded(section, SETTINGS_MAX))
}

/// Statements, functions and locks that there is more or less of; what is seen from both numbers is left out.
pub(crate) fn changes(comparison: &Comparison) -> Vec<Section> {
    let short = |rows: &Vec<Change>| -> Vec<Change> {
        let rows = rows.iter().map(|row| Change {
            name: cut(&row.name, NAME_MAX),
            ..row.clone()
        });
        rows.collect()
    };
    let all = [
        &comparison.statements,
        &comparison.functions,
        &comparison.locks,
    ];
    let all = all.map(short);
    let sections = changed(all.each_ref().map(Vec::as_slice)).into_iter();
    sections
        .map(|section| bounded(section, CHANGES_MAX))
        .collect()
}

/// A section whose tables have a name, both values, and so many rows.
fn bounded(mut section: Section, rows: usize) -> Section {
    for part in &mut section.parts {
        if let Part::Table(table) = part {
            table.columns.truncate(3);
            table.page_max = rows;
        }
    }
    section
}

/// Where it is from, and how it was computed.
pub(crate) fn origin(comparison: &Comparison) -> Vec<Part> {
    let of = |side: &SideHead| {
        let names = [&side.id, &side.version].into_iter();
        let names: Vec<&str> = names
            .map(String::as_str)
            .filter(|name| !name.is_empty())
            .collect();
        names.join(", ")
    };
    let answers = [
        ("before", of(&comparison.before)),
        ("after", of(&comparison.after)),
        ("method", comparison.method.clone()),
        (
            "program",
            format!("freezeframe {}", env!("CARGO_PKG_VERSION")),
        ),
    ];
    let answers = answers.into_iter().filter(|(_, says)| !says.is_empty());
    let answers = answers.map(|(label, says)| Answer::new(label, says));
    vec![Part::Answers(answers.collect())]
}
