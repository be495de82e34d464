//! Stalls of the fleet one by one, and one of them beside its relatives.

use std::collections::HashMap;
use std::path::Path;

use diagnosis::Level;
use fleet::any_store::{AnyError, AnyStore};
use fleet::cells::{self, Cells};
use fleet::questions::views;
use fleet::s3;
use fleet::sqlite::Given;
use report::served::{FleetIncident, FleetStall, NewStatement, Relative, StallsView};

use super::super::index::{Entry, Index};
use super::asked::Stalls;
use super::overview::{each, stall_ms, title, told};
use crate::explain;
use crate::fleet::known::remedies;
use crate::fleet::now_ms;

/// Stalls of a list.
const STALLS_MAX: u32 = 200;

/// Servers that stalled like an incident.
const RELATIVES_MAX: u32 = 50;

/// New statements that are looked through for those of an incident.
const STATEMENTS_MAX: u32 = 1_000;

/// As long as a store keeps incidents, milliseconds.
const KEPT_MS: i64 = 400 * 86_400_000;

/// The stalls of a time.
pub(super) fn stalls(store: &AnyStore, asked: &Stalls) -> Result<StallsView, AnyError> {
    let given = Given {
        since: asked.from_ms,
        now: asked.to_ms,
        rows: STALLS_MAX + 1,
        server: asked.server.clone(),
        ..Given::default()
    };
    let answer = store.ask(&views::INCIDENTS, &given)?;
    let rows = cells::rows(&views::INCIDENTS, &answer);
    Ok(StallsView {
        server: asked.server.clone(),
        from_ms: asked.from_ms,
        to_ms: asked.to_ms,
        stalls: rows.take(STALLS_MAX as usize).map(stall).collect(),
        is_cut: answer.rows.len() as u64 > u64::from(STALLS_MAX),
        ..StallsView::default()
    })
}

/// A row of incidents, or of relatives.
fn stall(row: Cells<'_>) -> FleetStall {
    let title = title(row.text("cause"));
    let level = Level::of_confidence(row.number("confidence"));
    FleetStall {
        id: row.text("incident").to_owned(),
        server: row.text("host").to_owned(),
        onset_ms: row.moment("onset").unwrap_or(0),
        length_ms: stall_ms(row),
        level: (!title.is_empty()).then_some(level),
        title,
        own: None,
        frame: row.text("frame").to_owned(),
    }
}

/// One incident with what is like it; none where the store has none of this name or identity.
pub(super) fn incident(store: &AnyStore, id: &str) -> Result<Option<FleetIncident>, AnyError> {
    let Some(subject) = store.subject(Some(id))? else {
        return Ok(None);
    };
    let (now, cause) = (now_ms(), subject.cause.clone());
    let given = Given {
        since: 0,
        now: now + KEPT_MS,
        rows: 1,
        subject: Some(subject),
        ..Given::default()
    };
    let answer = store.ask(&views::INCIDENTS, &given)?;
    let Some(row) = cells::rows(&views::INCIDENTS, &answer).next() else {
        return Ok(None);
    };
    let tried = remedies(store)?;
    let like = Given {
        since: now - KEPT_MS,
        now,
        rows: RELATIVES_MAX,
        ..given
    };
    let relatives = each(store, "like-this", &like, |row| Relative {
        stall: stall(row),
        stalls: row.count("stalls"),
        alike: row.text("alike").to_owned(),
        remedies: told(tried.get(row.text("cause"))),
    })?;
    let own = stall(row);
    Ok(Some(FleetIncident {
        name: row.text("name").to_owned(),
        trigger: row.text("trigger").to_owned(),
        functions: row.list("functions"),
        remedies: told(tried.get(&cause)),
        statement: new_statement(store, &own)?,
        stall: own,
        relatives,
        ..FleetIncident::default()
    }))
}

/// The statement that was first seen shortly before a stall.
fn new_statement(store: &AnyStore, stall: &FleetStall) -> Result<Option<NewStatement>, AnyError> {
    let given = Given {
        since: stall.onset_ms,
        now: now_ms(),
        rows: STATEMENTS_MAX,
        ..Given::default()
    };
    let all = each(store, "new-statements", &given, |row| {
        let is_own =
            row.text("host") == stall.server && row.moment("onset") == Some(stall.onset_ms);
        is_own.then(|| NewStatement {
            text: row.text("text").to_owned(),
            before_ms: (row.number("before_seconds").max(0.0) * 1000.0) as u64,
            statements: row.count("statements"),
        })
    })?;
    Ok(all.into_iter().flatten().next())
}

/// Says which of these have a page here: those whose file is in one of the directories.
pub(super) fn found_here(stalls: Vec<FleetStall>, index: &Index) -> Vec<FleetStall> {
    let here = here(index);
    let stalls = stalls.into_iter();
    stalls.map(|stall| with_page(stall, &here)).collect()
}

/// The same for an incident and its relatives; and of what has no page here, what shows its file.
pub(super) fn beside(view: FleetIncident, index: &Index) -> FleetIncident {
    let here = here(index);
    let stall = with_page(view.stall, &here);
    let relatives = view.relatives.into_iter();
    let command = match (&stall.own, stall.frame.as_str()) {
        (Some(_), _) | (None, "") => String::new(),
        (None, url) if s3::is_s3(url) => format!("freezeframe fleet fetch {}", view.name),
        (None, path) => format!("freezeframe explain {}", explain::argument(Path::new(path))),
    };
    FleetIncident {
        stall,
        command,
        relatives: relatives
            .map(|relative| Relative {
                stall: with_page(relative.stall, &here),
                ..relative
            })
            .collect(),
        ..view
    }
}

/// An incident's server and onset: two of one server never begin at once.
type Key = (String, i64);

/// The names of the incidents of this view.
fn here(index: &Index) -> HashMap<Key, String> {
    let key = |entry: &Entry| {
        let (host, label) = (
            &entry.caught.summary.host,
            &entry.caught.summary.server.label,
        );
        let server = match label.as_str() {
            "" => host.clone(),
            label => format!("{host}:{label}"),
        };
        (server, entry.caught.onset_ms())
    };
    index.with(|known| {
        let entries = known.entries.values();
        entries
            .map(|entry| (key(entry), entry.id.clone()))
            .collect()
    })
}

fn with_page(stall: FleetStall, here: &HashMap<Key, String>) -> FleetStall {
    let own = here.get(&(stall.server.clone(), stall.onset_ms)).cloned();
    FleetStall { own, ..stall }
}
