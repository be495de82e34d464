//! The list of incidents, narrowed and sorted as it was asked.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Zoned;
use jiff::tz::TimeZone;
use model::OrderBy;
use report::served::{Filters, ListView, Row, RowState, percent};
use serde_json::{Value, json};

use super::index::{Entry, Index, Known};
use super::query::Query;
use super::terms;
use crate::args::SortArg;
use crate::causes;
use crate::episodes::Episode;
use crate::incidents::{self, Filter};
use crate::queries::options::parse_time;

/// Rows of the page.
const ROWS_MAX: usize = 200;

/// Time that is shown around an incident, milliseconds.
const AROUND_MS: i64 = 5 * 60_000;

/// What was asked, understood.
struct ListQuery<'a> {
    filters: Filters,
    filter: Filter<'a>,
    sort: SortArg,
}

impl<'a> ListQuery<'a> {
    fn from_query(query: &'a Query) -> Result<Self, String> {
        let get = |name: &str| query.get(name).trim().to_owned();
        let filters = Filters {
            q: get("q"),
            server: get("server"),
            cause: get("cause"),
            since: get("since"),
            longer: get("longer"),
            sort: get("sort"),
        };
        let at = |name: &str| -> Result<Option<i64>, String> {
            let text = query.get(name).trim();
            if text.is_empty() {
                return Ok(None);
            }
            // As the page prints it.
            let now = Zoned::now().with_time_zone(TimeZone::UTC);
            let us = parse_time(text, &now).map_err(|error| format!("{name}: {error:#}"))?;
            Ok(Some(us / 1000))
        };
        let length = |name: &str| -> Result<Option<u64>, String> {
            let text = query.get(name).trim();
            if text.is_empty() {
                return Ok(None);
            }
            let time = cli::duration(text).map_err(|error| format!("{name}: {error}"))?;
            Ok(Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
        };
        let sort = match filters.sort.as_str() {
            "" | "time" => SortArg::Time,
            "length" => SortArg::Length,
            "cause" => SortArg::Cause,
            "level" => SortArg::Level,
            "server" => SortArg::Server,
            _ => return Err("sort: time, length, cause, level or server".to_owned()),
        };
        let cause = query.get("cause").trim();
        Ok(Self {
            filters,
            filter: Filter {
                cause: (!cause.is_empty()).then_some(cause),
                since_ms: at("since")?,
                until_ms: at("until")?,
                longer_ms: length("longer")?,
                shorter_ms: length("shorter")?,
                ..Filter::default()
            },
            sort,
        })
    }

    /// Those that are wanted, in their order, each with where it was found.
    fn entries(&self, known: &Known) -> Vec<(Arc<Entry>, Option<String>)> {
        let mut wanted: Vec<(Arc<Entry>, Option<String>)> = known
            .entries
            .values()
            .filter_map(|entry| {
                let caught = &entry.caught;
                let onset = caught.summary.clock.is_known().then(|| caught.onset_ms());
                let is_wanted = self.filter.wants(&entry.server, onset, caught.length_ms())
                    && self
                        .filter
                        .wants_cause(caught.finding().map(|found| found.cause.as_str()))
                    && (self.filters.server.is_empty() || self.filters.server == entry.server);
                let found = is_wanted.then(|| self.found(entry))??;
                Some((entry.clone(), found))
            })
            .collect();
        wanted.order_by(|(a, _), (b, _)| match self.sort {
            // By the name that people see.
            SortArg::Server => {
                let latest = Reverse(a.caught.onset_ms()).cmp(&Reverse(b.caught.onset_ms()));
                a.server.cmp(&b.server).then(latest)
            }
            sort => incidents::order(sort, &a.caught, &b.caught),
        });
        wanted
    }

    fn found(&self, entry: &Entry) -> Option<Option<String>> {
        match &entry.read {
            _ if self.filters.q.is_empty() => Some(None),
            Some(Ok(terms)) => terms::found(terms, &self.filters.q),
            _ => None,
        }
    }

    /// Stalls that were noticed and not captured.
    fn stalls<'k>(&self, known: &'k Known) -> Vec<(&'k String, &'k Episode)> {
        let words = self.filters.q.to_lowercase();
        let has_words = |server: &str, stall: &Episode| {
            let title = stall.cause.as_deref().map(causes::title);
            let texts = [&stall.cause, &title, &stall.says, &stall.rule];
            let texts = texts.into_iter().flatten().map(String::as_str);
            let mut all: String = texts.chain([server]).collect::<Vec<_>>().join(" ");
            all.make_ascii_lowercase();
            words.split_whitespace().all(|word| all.contains(word))
        };
        let stalls = known.stalls.iter().filter(|(_, server, stall)| {
            let length = stall.end_ms.map(|end| end.saturating_sub(stall.onset_ms));
            let length = length.map(|ms| u64::try_from(ms).unwrap_or(0));
            stall.incident.is_none()
                && self.filter.wants(server, Some(stall.onset_ms), length)
                && self.filter.wants_cause(stall.cause.as_deref())
                && (self.filters.server.is_empty() || self.filters.server == *server)
                && has_words(server, stall)
        });
        stalls.map(|(_, server, stall)| (server, stall)).collect()
    }
}

/// The list for people.
pub(super) fn view(index: &Index, query: &Query) -> Result<ListView, String> {
    let asked = ListQuery::from_query(query)?;
    Ok(index.with(|known| {
        let wanted = asked.entries(known);
        let mut rows: Vec<Row> = wanted
            .iter()
            .take(ROWS_MAX)
            .map(|(entry, found)| row(known, entry, found.clone()))
            .collect();
        let stalls = asked.stalls(known).into_iter().take(ROWS_MAX);
        rows.extend(stalls.map(|(server, stall)| not_captured(known, server, stall)));
        if asked.sort == SortArg::Time {
            rows.order_by_key(|row| Reverse(row.onset_ms));
        }
        let mut causes: BTreeMap<String, String> = BTreeMap::new();
        for entry in known.entries.values() {
            if let Some(found) = entry.caught.finding() {
                causes.insert(found.cause.clone(), found.title.clone());
            }
        }
        let mut causes: Vec<(String, String)> = causes.into_iter().collect();
        causes.order_by(|a, b| a.1.cmp(&b.1));
        let servers = known.servers().into_iter();
        ListView {
            wanted: wanted.len(),
            all: known.entries.len(),
            waiting: waiting(known),
            problems: known.problems.clone(),
            servers: servers.map(|name| (name.clone(), name)).collect(),
            causes,
            rows,
            filters: asked.filters.clone(),
            now_ms: jiff::Timestamp::now().as_millisecond(),
        }
    }))
}

fn waiting(known: &Known) -> usize {
    let entries = known.entries.values();
    entries.filter(|entry| entry.read.is_none()).count()
}

fn row(known: &Known, entry: &Entry, found: Option<String>) -> Row {
    let caught = &entry.caught;
    let onset = caught.summary.clock.is_known().then(|| caught.onset_ms());
    let state = match (&entry.read, caught.finding()) {
        (None, _) => RowState::Waiting,
        (Some(Err(why)), _) => RowState::Unreadable(why.clone()),
        (Some(Ok(_)), Some(found)) => RowState::Cause(found.title.clone(), found.level),
        (Some(Ok(_)), None) => RowState::Unknown,
    };
    Row {
        id: Some(entry.id.clone()),
        server: entry.server.clone(),
        onset_ms: onset,
        length_ms: caught.length_ms(),
        state,
        felt: caught
            .findings
            .as_ref()
            .map_or_else(String::new, |told| told.client_impact.clone()),
        found,
        history: onset.and_then(|at| around(known, &entry.server, at, caught.length_ms())),
    }
}

fn not_captured(known: &Known, server: &str, stall: &Episode) -> Row {
    let length = stall.end_ms.map(|end| end.saturating_sub(stall.onset_ms));
    let length = length.map(|ms| u64::try_from(ms).unwrap_or(0));
    Row {
        id: None,
        server: server.to_owned(),
        onset_ms: Some(stall.onset_ms),
        length_ms: length,
        state: RowState::NotCaptured(stall.cause.as_deref().map(causes::title)),
        felt: stall.says.clone().unwrap_or_default(),
        found: None,
        history: around(known, server, stall.onset_ms, length),
    }
}

/// The address of the history around a stall, where there is one.
pub(super) fn around(
    known: &Known,
    server: &str,
    onset_ms: i64,
    length_ms: Option<u64>,
) -> Option<String> {
    known.history(server)?;
    let end = onset_ms.saturating_add_unsigned(length_ms.unwrap_or(0));
    Some(format!(
        "history?server={}&from={}&to={}&at={onset_ms}",
        percent(server),
        onset_ms.saturating_sub(AROUND_MS).max(0),
        end.saturating_add(AROUND_MS)
    ))
}

/// The list for programs: each incident as `freezeframe incidents --json` has it, but for its path.
pub(super) fn json(index: &Index, query: &Query) -> Result<Value, String> {
    let asked = ListQuery::from_query(query)?;
    Ok(index.with(|known| {
        let captured = asked.entries(known).into_iter().map(|(entry, found)| {
            let mut value = incidents::json::incident(&entry.caught);
            if let Some(object) = value.as_object_mut() {
                object.remove("path");
                object.insert("name".to_owned(), json!(entry.id));
                object.insert("recorded_of".to_owned(), json!(entry.server));
                object.insert("found_in".to_owned(), json!(found));
                object.insert("is_read".to_owned(), json!(entry.read.is_some()));
                object.insert(
                    "problem".to_owned(),
                    json!(entry.read.as_ref().and_then(|read| read.as_ref().err())),
                );
            }
            value
        });
        let captured: Vec<Value> = captured.collect();
        let stalls = asked.stalls(known).into_iter().map(|(server, stall)| {
            let mut value = incidents::json::stall(stall);
            if let Some(object) = value.as_object_mut() {
                object.remove("path");
                object.insert("recorded_of".to_owned(), json!(server));
            }
            value
        });
        json!({
            "incidents": captured,
            "not_captured": stalls.collect::<Vec<_>>(),
            "not_read_yet": waiting(known),
            "servers": known.servers(),
            "problems": known.problems,
        })
    }))
}
