//! A time of a history, as it was asked.

use report::served::{HistoryView, HistoryWindow, Mark, is_of_hours};

use super::index::{HistoryFile, Index, Known};
use super::query::Query;

/// What is shown when no time is asked for, milliseconds: the last hours.
const SPAN_MS: i64 = 6 * 3_600_000;

/// Around a moment that is asked for without a span, milliseconds.
const AROUND_MS: i64 = 5 * 60_000;

/// The longest time that is shown, milliseconds.
const SPAN_MAX_MS: i64 = 31 * 86_400_000;

/// Up to this long sessions are shown by their states, milliseconds: of these there may be hundreds.
const STATES_MAX_MS: i64 = 2 * 3_600_000;

/// What is asked of a history.
pub(super) struct HistoryQuery {
    file: Option<HistoryFile>,
    servers: Vec<String>,
    from: Option<i64>,
    to: Option<i64>,
    at: Option<i64>,
}

impl HistoryQuery {
    /// An error says what cannot be understood.
    pub(super) fn from_query(index: &Index, query: &Query) -> Result<Self, String> {
        let server = query.get("server");
        let (from, to, at) = (query.time("from")?, query.time("to")?, query.time("at")?);
        if let (Some(from), Some(to)) = (from, to)
            && from >= to
        {
            return Err("from must be before to".to_owned());
        }
        index.with(|known| {
            let file = match server {
                "" => known.histories.first(),
                name => Some(
                    known
                        .history(name)
                        .ok_or_else(|| format!("server: no history of '{name}'"))?,
                ),
            };
            let histories = known.histories.iter();
            Ok(Self {
                file: file.cloned(),
                servers: histories.map(|history| history.server.clone()).collect(),
                from,
                to,
                at,
            })
        })
    }

    /// The history and the time, where both ends are said and no moment in it.
    pub(super) fn stretch(&self) -> Option<(String, i64, i64)> {
        let file = self.file.as_ref().filter(|_| self.at.is_none())?;
        Some((file.server.clone(), self.from?, self.to?))
    }

    /// Reads it.
    pub(super) fn view(&self, index: &Index) -> HistoryView {
        let servers = self.servers.iter();
        let mut view = HistoryView {
            servers: servers.map(|name| (name.clone(), name.clone())).collect(),
            at_ms: self.at,
            ..HistoryView::default()
        };
        let Some(file) = &self.file else {
            return view;
        };
        view.server = (file.server.clone(), file.server.clone());
        match store::history_coverage(&file.path, i64::MIN / 2, i64::MAX / 2) {
            Ok(all) => {
                // It is known to the minute, and the last one is not over.
                let now = jiff::Timestamp::now().as_millisecond();
                let last = all.last_wall_ms.map(|last| last.min(now));
                view.recorded = all.first_wall_ms.zip(last);
            }
            Err(error) => view.problem = Some(error.to_string()),
        }
        (view.from_ms, view.to_ms) = self.span(view.recorded);
        let has_states = view.to_ms - view.from_ms <= STATES_MAX_MS;
        let wanted = |name: &str| is_of_hours(name, has_states);
        match store::read_signals(&file.path, view.from_ms, view.to_ms, &wanted) {
            Ok(Some(stretch)) => {
                if stretch.damaged_chunks > 0 {
                    let count = stretch.damaged_chunks;
                    view.problem = Some(format!("{count} parts of it cannot be read"));
                }
                if stretch.over_bytes.is_some() {
                    view.problem =
                        Some("too much at once: the end of that time is left out".to_owned());
                }
                view.stretch = Some(HistoryWindow {
                    incident: stretch.incident,
                });
            }
            Ok(None) => {}
            Err(error) => view.problem = Some(error.to_string()),
        }
        view.marks = index.with(|known| marks(known, file, view.from_ms, view.to_ms));
        view
    }

    fn span(&self, recorded: Option<(i64, i64)>) -> (i64, i64) {
        let now = || jiff::Timestamp::now().as_millisecond();
        let last = || recorded.map_or_else(now, |(_, last)| last);
        let (from, to) = match (self.from, self.to, self.at) {
            (Some(from), Some(to), _) => (from, to),
            (None, None, Some(at)) => (at - AROUND_MS, at + AROUND_MS),
            (Some(from), None, _) => (from, last().max(from + 1)),
            (None, Some(to), _) => (to - SPAN_MS, to),
            (None, None, None) => {
                let first = recorded.map_or(i64::MIN, |(first, _)| first);
                ((last() - SPAN_MS).max(first), last())
            }
        };
        (from.max(to - SPAN_MAX_MS), to)
    }
}

/// Incidents and stalls that were not captured.
fn marks(known: &Known, file: &HistoryFile, from_ms: i64, to_ms: i64) -> Vec<Mark> {
    let is_inside =
        |begin: i64, end: Option<i64>| begin <= to_ms && end.unwrap_or(begin) >= from_ms;
    let entries = known.of_server(&file.server).into_iter();
    let captured = entries.filter_map(|entry| {
        let caught = &entry.caught;
        let onset = caught.onset_ms();
        let end = caught
            .length_ms()
            .map(|ms| onset.saturating_add_unsigned(ms));
        is_inside(onset, end).then(|| Mark {
            from_ms: onset,
            to_ms: end,
            id: Some(entry.id.clone()),
            title: match (caught.finding(), entry.read.is_some()) {
                (Some(found), _) => found.title.clone(),
                (None, true) => "no known cause fits".to_owned(),
                (None, false) => "not read yet".to_owned(),
            },
        })
    });
    let stalls = known.stalls.iter().filter(|(dir, _, stall)| {
        *dir == file.dir && stall.server == file.label && stall.incident.is_none()
    });
    let near = stalls.filter(|(_, _, stall)| is_inside(stall.onset_ms, stall.end_ms));
    let others = near.map(|(_, _, stall)| Mark {
        from_ms: stall.onset_ms,
        to_ms: stall.end_ms,
        id: None,
        title: stall.says.clone().unwrap_or_else(|| "a stall".to_owned()),
    });
    let mut marks: Vec<Mark> = captured.chain(others).collect();
    marks.sort_by_key(|mark| mark.from_ms);
    marks
}
