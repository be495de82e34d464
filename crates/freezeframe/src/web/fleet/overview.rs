//! The whole fleet: its servers, when they stalled, and by what.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use fleet::any_store::{AnyError, AnyStore};
use fleet::cells::{self, Cells};
use fleet::questions::{Question, question, views};
use fleet::sqlite::Given;
use report::served::{CauseCost, FleetRemedy, FleetServer, FleetView, MapCell, Silence, StallMap};

use super::asked::Overview;
use crate::causes;
use crate::fleet::known::{Tried, remedies};

/// Servers that are asked for.
const SERVERS_MAX: u32 = 10_000;

/// Hours with a stall that are asked for: more than a fleet of 400 servers has in three months.
const HOURS_MAX: u32 = 50_000;

/// Servers in the map, those with the most stall time.
const MAPPED_MAX: usize = 40;

/// Causes that are listed.
const CAUSES_MAX: u32 = 8;

/// Asks the store.
pub(super) fn view(store: &AnyStore, asked: &Overview) -> Result<FleetView, AnyError> {
    let columns = i64::try_from(asked.columns).unwrap_or(0);
    let given = |now, rows| Given {
        since: asked.from_ms,
        now,
        rows,
        ..Given::default()
    };
    let end = asked.from_ms + asked.step_ms * columns;
    let mut silences = silences(store, &given(asked.now_ms, SERVERS_MAX))?;
    let hosts = store.ask(&views::HOSTS, &given(end, SERVERS_MAX))?;
    let mut servers: Vec<FleetServer> = cells::rows(&views::HOSTS, &hosts)
        .map(|row| server(row, &mut silences))
        .collect();
    match asked.sort {
        "silent" => servers.sort_by_key(|server| Reverse(server.silent_seconds())),
        "name" => servers.sort_by(|one, other| one.name.cmp(&other.name)),
        // As the store has them.
        _ => {}
    }
    let hours = store.ask(&views::HOURS, &given(end, HOURS_MAX))?;
    let is_whole = |rows: usize, limit: u32| (rows as u64) < u64::from(limit);
    let problem = match (
        is_whole(hosts.rows.len(), SERVERS_MAX),
        is_whole(hours.rows.len(), HOURS_MAX),
    ) {
        (true, true) => None,
        (false, _) => Some(format!("Only the first {SERVERS_MAX} servers are shown.")),
        (true, false) => {
            Some("Too many stalls: the oldest are missing in the map of stalls.".to_owned())
        }
    };
    Ok(FleetView {
        servers,
        map: map(asked, cells::rows(&views::HOURS, &hours)),
        causes: costs(store, &given(asked.now_ms, CAUSES_MAX))?,
        since: asked.since.to_owned(),
        sort: asked.sort.to_owned(),
        problem,
        now_ms: asked.now_ms,
        ..FleetView::default()
    })
}

/// Stall time in milliseconds.
pub(super) fn stall_ms(row: Cells<'_>) -> u64 {
    (row.number("stall_seconds").max(0.0) * 1000.0).round() as u64
}

/// What a cause is called; nothing where none was found.
pub(super) fn title(cause: &str) -> String {
    match cause {
        "(none named)" => String::new(),
        cause => {
            let known = causes::catalogue().get(cause);
            known.map_or_else(|| cause.to_owned(), |known| known.title.clone())
        }
    }
}

/// What was tried, as pages have it.
pub(super) fn told(tried: Option<&Vec<Tried>>) -> Vec<FleetRemedy> {
    let tried = tried.into_iter().flatten();
    tried
        .map(|one| FleetRemedy {
            name: one.remedy.clone(),
            servers: one.servers,
            helped: one.helped,
            undecided: one.undecided,
        })
        .collect()
}

/// The rows of the answer to a question of `fleet ask`, each made into something.
pub(super) fn each<T>(
    store: &AnyStore,
    name: &str,
    given: &Given,
    make: impl FnMut(Cells<'_>) -> T,
) -> Result<Vec<T>, AnyError> {
    let Some(question): Option<&'static Question> = question(name) else {
        return Ok(Vec::new());
    };
    let answer = store.ask(question, given)?;
    Ok(cells::rows(question, &answer).map(make).collect())
}

/// Who is not heard of, or lacks evidence, by server.
fn silences(store: &AnyStore, given: &Given) -> Result<HashMap<String, Silence>, AnyError> {
    let silent = each(store, "silent", given, |row| {
        let silence = Silence {
            last_ms: row.moment("last"),
            silent_seconds: row.count("silent_seconds"),
            lost: row.count("lost"),
            absent: row.list("absent"),
        };
        (row.text("host").to_owned(), silence)
    })?;
    Ok(silent.into_iter().collect())
}

fn server(row: Cells<'_>, silences: &mut HashMap<String, Silence>) -> FleetServer {
    let (name, vendor, version) = (row.text("host"), row.text("vendor"), row.text("version"));
    FleetServer {
        name: name.to_owned(),
        version: match version.contains(vendor) {
            true => version.to_owned(),
            false => format!("{vendor} {version}").trim_end().to_owned(),
        },
        cluster: row.text("cluster").to_owned(),
        stalls: row.count("stalls"),
        stall_ms: stall_ms(row),
        last_stall_ms: row.moment("last_stall"),
        silence: silences.remove(name),
    }
}

/// Hours as columns, the servers with the most stall time first.
fn map<'a>(asked: &Overview, hours: impl Iterator<Item = Cells<'a>>) -> StallMap {
    let mut rows: BTreeMap<String, Vec<MapCell>> = BTreeMap::new();
    for row in hours {
        let column = row
            .moment("hour")
            .and_then(|hour| usize::try_from((hour - asked.from_ms) / asked.step_ms).ok());
        let cells = rows
            .entry(row.text("host").to_owned())
            .or_insert_with(|| vec![MapCell::default(); asked.columns]);
        if let Some(cell) = column.and_then(|column| cells.get_mut(column)) {
            cell.stalls += row.count("stalls");
            cell.stall_ms += stall_ms(row);
        }
    }
    let mut rows: Vec<(String, Vec<MapCell>)> = rows.into_iter().collect();
    let total = |cells: &[MapCell]| cells.iter().map(|cell| cell.stall_ms).sum::<u64>();
    rows.sort_by_key(|(_, cells)| Reverse(total(cells)));
    let left_out = rows.len().saturating_sub(MAPPED_MAX);
    rows.truncate(MAPPED_MAX);
    StallMap {
        from_ms: asked.from_ms,
        step_ms: asked.step_ms,
        columns: asked.columns,
        rows,
        left_out,
    }
}

fn costs(store: &AnyStore, given: &Given) -> Result<Vec<CauseCost>, AnyError> {
    let tried = remedies(store)?;
    each(store, "costs", given, |row| {
        let cause = row.text("cause");
        CauseCost {
            title: match title(cause) {
                title if title.is_empty() => "No cause is named".to_owned(),
                title => title,
            },
            stall_ms: stall_ms(row),
            share: row.number("share"),
            stalls: row.count("stalls"),
            servers: row.count("servers"),
            remedies: told(tried.get(cause)),
        }
    })
}
