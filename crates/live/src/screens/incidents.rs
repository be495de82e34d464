//! 8, Incidents: the stalls of this recording and the files beside it.

use report::format;

use super::view::{Body, View};
use crate::ink::Line;
use crate::model::IncidentEntry;
use crate::table::{Cell, Column, Row, Table};

const COLUMNS: [Column; 5] = [
    Column::text("ONSET (UTC)", 19, 0),
    Column::number("LASTED", 10, 0),
    Column::text("SERVER", 10, 2),
    Column::text("NOTICED BY", 18, 1),
    Column::rest("WHAT IT SAW", 20),
];

/// The screen.
pub fn body(view: &View<'_>) -> Body {
    let known: Vec<IncidentEntry> = match view.model.incidents.is_empty() {
        false => view.model.incidents.clone(),
        true => view
            .model
            .stalls
            .iter()
            .rev()
            .map(|stall| of_recording(view, stall))
            .collect(),
    };
    let files = known.iter().filter(|one| one.path.is_some()).count();
    let stalls = match known.len() {
        1 => "1 stall".to_owned(),
        count => format!("{count} stalls"),
    };
    let head = Line::plain(&format!(
        "{stalls}, {files} with a file: Enter opens it, Backspace comes back"
    ));
    Body::from_table(
        vec![head],
        Table {
            columns: &COLUMNS,
            rows: known.iter().map(row).collect(),
            empty: "no stall is known".to_owned(),
        },
    )
}

fn of_recording(view: &View<'_>, stall: &crate::model::StallTimes) -> IncidentEntry {
    let first = stall.triggers.first();
    IncidentEntry {
        path: None,
        onset_wall_ms: view.model.clock().wall_ms(stall.onset),
        length_ms: stall.end.map(|end| end.saturating_sub(stall.onset)),
        server: view.incident().server.label.clone(),
        rule: first.map_or(String::new(), |trigger| trigger.rule.clone()),
        says: first.map_or(String::new(), |trigger| trigger.says.clone()),
    }
}

fn row(listed: &IncidentEntry) -> Row {
    let moment = jiff::Timestamp::from_millisecond(listed.onset_wall_ms);
    let moment = moment.map_or_else(
        |_| "–".to_owned(),
        |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string(),
    );
    let length = listed
        .length_ms
        .map_or("lasts, or ?".to_owned(), format::duration);
    let path = listed.path.as_ref().map(|path| path.display().to_string());
    Row {
        cells: vec![
            Cell::number(Some(listed.onset_wall_ms as f64), moment),
            Cell::number(listed.length_ms.map(|ms| ms as f64 / 1000.0), length),
            Cell::text(&listed.server),
            Cell::text(&listed.rule),
            Cell::text(&listed.says),
        ],
        detail: vec![
            format!("{}: {}", listed.rule, listed.says),
            path.unwrap_or_else(|| {
                "no file: it was noticed and not captured, or this is its recording".to_owned()
            }),
        ],
        opens: listed.path.clone(),
        ..Row::default()
    }
}
