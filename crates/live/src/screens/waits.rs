//! What threads and sessions wait for, and who has it.

use model::{Holder, HolderBy, LockRow, LockTable, Millis, ProcessList, TextKind};

use super::view::View;

/// A text is of this moment, when it is not older, milliseconds: the history keeps one in ten seconds.
const TEXT_MS: Millis = 15_000;

/// The word for locks, whose holders may be known.
pub const LOCKS: &str = "WAITING FOR";

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

/// The lock table of a moment: the latest that begins before it.
pub fn lock_table<'a>(view: &View<'a>) -> Option<&'a LockTable> {
    let mut tables = view.incident().stacks.locks.iter();
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
    let mut tables = view.incident().stacks.locks.iter();
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

/// The processlist of a moment.
pub fn processlist(view: &View<'_>, at: Millis) -> Option<(Millis, ProcessList)> {
    let lists = view
        .incident()
        .texts
        .iter()
        .filter(|timed| timed.text.kind() == TextKind::Processlist);
    let last = lists.rev().find(|timed| timed.at <= at)?;
    if at.saturating_sub(last.at) > TEXT_MS {
        return None;
    }
    let list = serde_json::from_str(last.text.body()).ok()?;
    Some((last.at, list))
}

/// What is waited for: locks where stacks tell them, else the states that sessions say they are in. The word says which.
pub fn waits(view: &View<'_>) -> (&'static str, Vec<Wait>) {
    let locks = lock_table(view).map(|table| {
        let before = lock_table_before(view);
        let of_before = |name: &str| {
            let rows = before.map(|table| table.locks.iter());
            rows.map(|mut rows| {
                rows.find(|row| row.name == name)
                    .map_or(0, |row| u64::from(row.waiters_max))
            })
        };
        let rows = table.locks.iter().map(|row| Wait {
            what: row.name.clone(),
            waiters: u64::from(row.waiters_max),
            holder: holder_words(row),
            before: of_before(&row.name),
        });
        rows.collect::<Vec<Wait>>()
    });
    if let Some(mut locks) = locks.filter(|locks| !locks.is_empty()) {
        locks.sort_by_key(|wait| std::cmp::Reverse(wait.waiters));
        return (LOCKS, locks);
    }
    let Some((_, list)) = processlist(view, view.at) else {
        return (LOCKS, Vec::new());
    };
    let before = processlist(view, view.normal().to);
    let mut states: Vec<Wait> = list
        .by_state
        .iter()
        .map(|(state, count)| Wait {
            what: match state.as_str() {
                "" => "(no state)".to_owned(),
                state => state.to_owned(),
            },
            waiters: *count,
            holder: String::new(),
            before: before
                .as_ref()
                .map(|(_, list)| list.by_state.get(state).copied().unwrap_or(0)),
        })
        .collect();
    states.sort_by(|a, b| b.waiters.cmp(&a.waiters).then_with(|| a.what.cmp(&b.what)));
    ("SESSIONS IN STATE", states)
}
