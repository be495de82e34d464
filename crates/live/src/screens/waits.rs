//! What threads and sessions wait for, and who has it.

use std::sync::Arc;

use model::{Holder, HolderBy, LockRow, LockTable, Millis, OrderBy, ProcessList, TextKind};

use super::view::View;
use crate::derived::Part;

/// A text is of this moment, when it is not older, milliseconds: the history keeps one in ten seconds.
const TEXT_MS: Millis = 15_000;

/// Something that is waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    /// What.
    pub what: String,
    /// Threads or sessions.
    pub waiters: u64,
    /// Who has it; empty where it is not known.
    pub holder: String,
    /// How many there were before.
    pub before: Option<u64>,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq)]
pub struct Waits {
    /// What the rows are, and of when where that is not this moment.
    pub title: String,
    /// They are locks, whose holders may be known.
    pub is_locks: bool,
    /// The rows, most waiters first.
    pub rows: Vec<Wait>,
}

impl Waits {
    fn locks(title: String, rows: Vec<Wait>) -> Self {
        Self {
            title,
            is_locks: true,
            rows,
        }
    }
}

/// A table that is older than this is said to be, milliseconds.
const OLD_MS: Millis = 2_000;

/// The lock table of a moment: the latest that begins before it.
pub fn lock_table<'a>(view: &View<'a>) -> Option<&'a LockTable> {
    let mut tables = view.stacks().locks.iter();
    tables.rfind(|table| table.from <= view.at && near(table, view))
}

/// Bursts follow each other through a stall; one of long ago tells nothing of now.
fn near(table: &LockTable, view: &View<'_>) -> bool {
    let stall = view.incident().stall_window();
    let same = |at: Millis| (stall.from..=stall.to).contains(&at);
    view.at <= table.to.saturating_add(TEXT_MS) || (same(view.at) && same(table.to))
}

/// The last lock table of the time before.
pub fn lock_table_before<'a>(view: &View<'a>) -> Option<&'a LockTable> {
    let calm = view.normal();
    let mut tables = view.stacks().locks.iter();
    tables.rfind(|table| table.from >= calm.from && table.from <= calm.to)
}

/// A holder in words.
pub fn holder_words(row: &LockRow) -> String {
    let Some(first) = row.holders.first() else {
        return String::new();
    };
    let more = match row.holders.len() {
        1 => String::new(),
        count => format!(" +{}", count - 1),
    };
    format!("{}{more} {}", who(first), first.doing)
        .trim_end()
        .to_owned()
}

/// Who holds.
pub fn who(holder: &Holder) -> String {
    match holder.by {
        HolderBy::Server => holder.name.clone(),
        _ => format!("T{}", holder.tid),
    }
}

/// The sessions at a moment.
#[derive(Debug, PartialEq)]
pub struct Sessions {
    /// When they were read.
    pub at: Millis,
    /// They.
    pub list: ProcessList,
}

/// The sessions of the moment that is looked at.
pub fn sessions(view: &View<'_>) -> Option<Arc<Sessions>> {
    sessions_at(view, Part::Sessions, view.at)
}

/// The last sessions of the time before.
pub fn sessions_before(view: &View<'_>) -> Option<Arc<Sessions>> {
    sessions_at(view, Part::SessionsBefore, view.normal().to)
}

fn sessions_at(view: &View<'_>, part: Part, at: Millis) -> Option<Arc<Sessions>> {
    let lists = view
        .incident()
        .texts
        .iter()
        .filter(|timed| timed.text.kind() == TextKind::Processlist);
    let last = lists.rev().find(|timed| timed.at <= at)?;
    if at.saturating_sub(last.at) > TEXT_MS {
        return None;
    }
    let read = || {
        let list = ProcessList::from_text(last.text.body())?;
        let at = last.at;
        Some(Arc::new(Sessions { at, list }))
    };
    let derived = &view.model.derived;
    derived.of(part, last.at, read).as_ref().clone()
}

/// What is waited for: locks where stacks tell them, else the states that sessions say they are in.
pub fn waits(view: &View<'_>) -> Waits {
    if let Some(table) = lock_table(view).filter(|table| !table.locks.is_empty()) {
        let title = match table.to.saturating_add(OLD_MS) < view.at {
            true => format!("WAITING FOR, at {}", view.clock(table.to)),
            false => "WAITING FOR".to_owned(),
        };
        return Waits::locks(title, locks(view, table));
    }
    let Some(sessions) = sessions(view) else {
        return Waits::locks("WAITING FOR".to_owned(), Vec::new());
    };
    Waits {
        title: "SESSIONS IN STATE".to_owned(),
        is_locks: false,
        rows: states(view, &sessions.list),
    }
}

fn locks(view: &View<'_>, table: &LockTable) -> Vec<Wait> {
    let before = lock_table_before(view);
    let of_before = |name: &str| {
        let mut rows = before?.locks.iter();
        let same = rows.find(|row| row.name == name);
        Some(same.map_or(0, |row| u64::from(row.waiters_max)))
    };
    let rows = table.locks.iter().map(|row| Wait {
        what: row.name.clone(),
        waiters: u64::from(row.waiters_max),
        holder: holder_words(row),
        before: of_before(&row.name),
    });
    let mut rows: Vec<Wait> = rows.collect();
    rows.order_by_key(|wait| std::cmp::Reverse(wait.waiters));
    rows
}

fn states(view: &View<'_>, list: &ProcessList) -> Vec<Wait> {
    let before = sessions_before(view);
    let of_before = |state: &str| {
        let by_state = &before.as_ref()?.list.by_state;
        Some(by_state.get(state).copied().unwrap_or(0))
    };
    let rows = list.by_state.iter().map(|(state, count)| Wait {
        what: match state.as_str() {
            "" => "(no state)".to_owned(),
            state => state.to_owned(),
        },
        waiters: *count,
        holder: String::new(),
        before: of_before(state),
    });
    let mut rows: Vec<Wait> = rows.collect();
    rows.order_by(|a, b| {
        let by_count = b.waiters.cmp(&a.waiters);
        by_count.then_with(|| a.what.cmp(&b.what))
    });
    rows
}
