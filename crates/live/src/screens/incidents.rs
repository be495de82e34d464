//! 8, Incidents: the stalls of this recording and the files beside it: what each was, and what users felt.

use report::format;

use super::view::{Body, View};
use crate::ink::{Ink, Line, cut, wrapped};
use crate::judging::IncidentOutcome;
use crate::model::{IncidentEntry, RecordingKind, StallTimes};
use crate::table::{Cell, Column, Row, Table};

const COLUMNS: [Column; 6] = [
    Column::text("ONSET (UTC)", 19, 0),
    Column::number("LASTED", 10, 0),
    Column::text("SERVER", 10, 3),
    Column::text("LEVEL", 9, 1),
    Column::rest("CAUSE", 28),
    Column {
        gives_way: 2,
        ..Column::rest("FELT", 36)
    },
];

/// Lines of each thing that is told of the chosen one.
const LINES_MAX: usize = 2;

/// The screen.
pub fn body(view: &View<'_>) -> Body {
    let known: Vec<IncidentEntry> = match view.model.incidents.is_empty() {
        false => view.model.incidents.clone(),
        true => {
            let stalls = view.model.stalls.iter().rev();
            stalls.map(|stall| of_recording(view, stall)).collect()
        }
    };
    let files = known.iter().filter(|one| one.path.is_some()).count();
    let stalls = match known.len() {
        1 => "1 stall".to_owned(),
        count => format!("{count} stalls"),
    };
    let opens = match files {
        0 => String::new(),
        files => format!(", {files} with a file: Enter opens it, Backspace comes back"),
    };
    let head = Line::plain(&cut(&format!("{stalls}{opens}"), view.columns));
    let table = Table {
        columns: &COLUMNS,
        rows: known.iter().map(|one| row(view, one)).collect(),
        empty: "no stalls".to_owned(),
    };
    let foot = chosen(view, &table);
    Body {
        foot,
        ..Body::from_table(vec![head], table)
    }
}

fn of_recording(view: &View<'_>, stall: &StallTimes) -> IncidentEntry {
    let first = stall.triggers.first();
    IncidentEntry {
        path: None,
        onset_wall_ms: view.model.clock().wall_ms(stall.onset),
        length_ms: stall.end.map(|end| end.saturating_sub(stall.onset)),
        server: view.incident().server.label.clone(),
        rule: first.map_or(String::new(), |trigger| trigger.rule.clone()),
        says: first.map_or(String::new(), |trigger| trigger.says.clone()),
        cause: None,
    }
}

/// What came of it: of the stall that is looked at by its verdict, of a file when it was judged.
fn outcome(view: &View<'_>, listed: &IncidentEntry) -> Option<IncidentOutcome> {
    let file = listed.path.as_ref();
    if let Some(judged) = file.and_then(|path| view.state.outcomes.get(path)) {
        return Some(judged.clone());
    }
    let own = view.incident();
    let onset = own.clock.wall_ms(own.stall.onset);
    let is_own = listed.server == own.server.label && listed.is_of(onset);
    match &view.model.verdict {
        Some(verdict) if is_own => Some(IncidentOutcome::new(own, verdict)),
        _ => listed.cause.as_ref().map(|cause| IncidentOutcome {
            cause: cause.clone(),
            ..IncidentOutcome::default()
        }),
    }
}

fn row(view: &View<'_>, listed: &IncidentEntry) -> Row {
    let is_known = view.model.clock().is_known() || listed.path.is_some();
    let moment = jiff::Timestamp::from_millisecond(listed.onset_wall_ms);
    let moment = moment.ok().filter(|_| is_known).map_or_else(
        || "unknown time".to_owned(),
        |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string(),
    );
    let length = listed
        .length_ms
        .map_or("end unknown".to_owned(), format::duration);
    let path = listed.path.as_ref().map(|path| path.display().to_string());
    let came = outcome(view, listed);
    let not_judged = match &listed.path {
        Some(_) => "not judged yet",
        None => "not judged",
    };
    let level = came.as_ref().and_then(|came| came.level);
    Row {
        cells: vec![
            Cell::number(Some(listed.onset_wall_ms as f64), moment),
            Cell::number(listed.length_ms.map(|ms| ms as f64 / 1000.0), length),
            Cell::text(&listed.server),
            Cell::text(level.map_or("", |level| level.word())),
            Cell::text(came.as_ref().map_or(not_judged, |came| &came.cause)),
            Cell::text(came.as_ref().map_or("", |came| &came.felt)),
        ],
        detail: vec![
            came.map_or_else(String::new, |came| came.felt),
            match listed.rule.as_str() {
                model::Stall::IMPORTED => listed.says.clone(),
                rule => format!("noticed by {rule}: {}", listed.says),
            },
            path.unwrap_or_else(|| no_file(view).to_owned()),
        ],
        opens: listed.path.clone(),
        ..Row::default()
    }
}

fn no_file(view: &View<'_>) -> &'static str {
    match view.model.kind {
        RecordingKind::Captures => "none: it is what these captures show",
        _ => "none: it was noticed and not captured, or this is its recording",
    }
}

/// The chosen one in words, where the columns have no room for them.
fn chosen(view: &View<'_>, table: &Table) -> Vec<Line> {
    let wanted = view.state.wanted();
    let rows = table.wanted(&wanted);
    let Some(row) = rows.get(wanted.chosen.min(rows.len().saturating_sub(1))) else {
        return Vec::new();
    };
    let mut lines = vec![Line::default()];
    for (title, text) in ["FELT", "SEEN", "FILE"].iter().zip(&row.detail) {
        if !text.is_empty() {
            let words = format!("{title}  {text}");
            let mut told = wrapped(Ink::Plain, &words, 6, view.columns);
            told.truncate(LINES_MAX);
            lines.extend(told);
        }
    }
    lines.truncate(view.lines / 2);
    lines
}
