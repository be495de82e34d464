//! Locks as sessions and InnoDB tell of them, for moments without stacks: in calm no recorder takes the bursts of
//! snapshots that a lock table is made of, and what it reads anyway costs the server nothing more.
//!
//! A state names what is waited for and nobody who has it. Sessions that were asleep when the longest wait began may: they
//! are in the detail of the row. In a stall the verdict may know the session that holds a lock.

use model::{OrderBy, ProcessList, Session, WaitChain};
use report::evidence::chain::{chain_sentence, named_holder, with_named_holder};
use report::format;

use super::view::{View, counted};
use super::{verdict, waits};
use crate::ink::{Ink, Line, wrapped};
use crate::stats;
use crate::table::{Cell, Row};

/// Transactions that wait for a row, by InnoDB's status.
const ROW_WAITS: &str = "innodb.lock_wait_transactions";

/// For how long the longest of them waits, seconds.
const ROW_WAIT_LONGEST: &str = "innodb.lock_wait_seconds_max";

/// Sessions that are listed for a lock.
const SESSIONS_MAX: usize = 20;

/// Sessions in front that are named.
const HOLDERS_MAX: usize = 2;

/// How the part of a session that holds a lock ends, in a verdict.
const HOLDER: &str = "-holder";

/// Who holds the locks of the stall of this moment, as the verdict on it says.
pub(super) fn holders(view: &View<'_>) -> Vec<Line> {
    let first = verdict::told(view).and_then(|told| told.findings.first());
    let actors = first.map_or(&[][..], |finding| &finding.actors);
    let holders = actors.iter().filter(|actor| actor.who.ends_with(HOLDER));
    holders
        .take(HOLDERS_MAX)
        .flat_map(|actor| {
            let perhaps = if actor.sure { "" } else { "perhaps " };
            let text = format!("HELD BY {perhaps}{}", actor.says);
            wrapped(Ink::Bad, &text, 2, view.columns)
        })
        .collect()
}

/// The session that holds a lock of this name, as the verdict says.
pub(super) fn holder(view: &View<'_>, lock: &str) -> Option<String> {
    verdict::told(view).and_then(|told| named_holder(told, lock))
}

/// A chain in a sentence, with the holder that the verdict names.
pub(super) fn chain_words(view: &View<'_>, chain: &WaitChain) -> String {
    let said = chain_sentence(chain);
    match verdict::told(view) {
        Some(told) => with_named_holder(&said, told),
        None => said,
    }
}

/// What waits for one lock, as far as somebody tells.
struct Told<'a> {
    what: String,
    waiters: u64,
    before: Option<u64>,
    longest_seconds: Option<f64>,
    sessions: Vec<&'a Session>,
    /// Asleep since before the longest wait began.
    asleep: &'a [Session],
}

/// The rows, most waiters first: lock, waiters, before, waited in all, longest, caller, holder.
pub(super) fn rows(view: &View<'_>) -> Vec<Row> {
    let (sessions, before) = (waits::sessions(view), waits::sessions_before(view));
    let before = before.as_ref().map(|before| &before.list);
    let mut told: Vec<Told<'_>> = sessions
        .iter()
        .flat_map(|sessions| by_state(&sessions.list, before))
        .collect();
    told.extend(rows_waited_for(view));
    told.order_by_key(|one| std::cmp::Reverse(one.waiters));
    told.iter().map(row).collect()
}

/// A state that says that a lock of a table, a name or all tables is waited for; rows have none.
fn is_lock_wait(state: &str) -> bool {
    let state = state.to_ascii_lowercase();
    let waits_for = state.strip_prefix("waiting for ");
    waits_for.is_some_and(|what| what.contains("lock") || what.starts_with("table"))
        || ["locked", "user lock"].contains(&state.as_str())
}

fn by_state<'a>(list: &'a ProcessList, before: Option<&ProcessList>) -> Vec<Told<'a>> {
    let waiting = list
        .by_state
        .iter()
        .filter(|(state, _)| is_lock_wait(state));
    let told = waiting.map(|(state, count)| {
        let sessions = list.longest.iter().filter(|one| one.state == *state);
        let sessions: Vec<&Session> = sessions.collect();
        Told {
            what: state.clone(),
            waiters: *count,
            before: before.map(|list| list.by_state.get(state).copied().unwrap_or(0)),
            longest_seconds: sessions.iter().map(|one| one.seconds).reduce(f64::max),
            sessions,
            asleep: &list.idle,
        }
    });
    told.collect()
}

fn rows_waited_for<'a>(view: &View<'_>) -> Option<Told<'a>> {
    let timeline = view.timeline();
    let waiters = stats::now_of(timeline, ROW_WAITS, view.at).filter(|count| *count >= 1.0)?;
    let series = timeline.get(ROW_WAITS)?;
    let before = view.usual(series);
    Some(Told {
        what: "row lock (InnoDB)".to_owned(),
        waiters: waiters as u64,
        before: before.map(|spread| spread.mean.round() as u64),
        longest_seconds: stats::now_of(timeline, ROW_WAIT_LONGEST, view.at),
        sessions: Vec::new(),
        asleep: &[],
    })
}

fn row(told: &Told<'_>) -> Row {
    let count = |count: Option<u64>| match count {
        Some(count) => Cell::number(Some(count as f64), count.to_string()),
        None => Cell::text("–"),
    };
    let longest = told.longest_seconds.map_or_else(
        || Cell::text("–"),
        |seconds| Cell::number(Some(seconds), format::seconds(seconds)),
    );
    let first = told.sessions.first();
    let caller = first.and_then(|one| one.statement.split_whitespace().next());
    let holder = match told.asleep.len() {
        0 => "unknown".to_owned(),
        count => format!(
            "unknown; {}: Enter",
            counted(count, "session sleeps", "sessions sleep")
        ),
    };
    Row {
        cells: vec![
            Cell::text(&told.what),
            count(Some(told.waiters)),
            count(told.before),
            Cell::text("–"),
            longest,
            Cell::text(caller.unwrap_or_default()),
            Cell::text(holder).ink(Ink::Dim),
        ],
        detail: detail(told),
        ..Row::default()
    }
}

fn detail(told: &Told<'_>) -> Vec<String> {
    let mut lines = vec![
        told.what.clone(),
        format!("{} at once", counted_waiters(told.waiters)),
    ];
    let line = |one: &Session| {
        let (id, user, host) = (one.id, &one.user, &one.host);
        let since = format::seconds(one.seconds);
        format!("  {id} {user}@{host} for {since}: {}", one.statement)
    };
    for (title, sessions) in [
        ("waiting, the longest first:", told.sessions.clone()),
        (
            "asleep since before that; who holds it and does nothing is among them:",
            told.asleep.iter().collect(),
        ),
    ] {
        if !sessions.is_empty() {
            lines.extend([String::new(), title.to_owned()]);
            lines.extend(sessions.into_iter().take(SESSIONS_MAX).map(line));
        }
    }
    lines
}

fn counted_waiters(count: u64) -> String {
    counted(
        usize::try_from(count).unwrap_or(usize::MAX),
        "session waits",
        "sessions wait",
    )
}
