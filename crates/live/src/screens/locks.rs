//! 3, Locks: what is waited for, by how many, from where, and who holds it.

use model::{LockRow, LockTable};
use report::evidence::chain::holder_by_words;
use report::format;

use super::view::{Body, View, counted};
use super::{told_locks, waits};
use crate::ink::{Ink, Line, wrapped};
use crate::table::{Cell, Column, Row, Table};

const COLUMNS: [Column; 7] = [
    Column::text("LOCK", 26, 0),
    Column::number("WAITERS", 7, 0),
    Column::number("BEFORE", 6, 2),
    Column::number("WAITED", 8, 1),
    Column::number("LONGEST", 8, 4),
    Column::text("CALLER", 22, 3),
    Column::rest("HOLDER (DOING)", 18),
];

/// The screen.
pub fn body(view: &View<'_>) -> Body {
    let Some(table) = waits::lock_table(view) else {
        return without_stacks(view);
    };
    let before = waits::lock_table_before(view);
    let mut head = vec![Line::plain(&format!(
        "{}: {} waited for, {} for work",
        view.span(table.from, table.to),
        counted(table.locks.len(), "lock is", "locks are"),
        counted(table.idle_threads as usize, "thread waits", "threads wait")
    ))];
    head.extend(told_locks::holders(view));
    for chain in table.chains.iter().take(2) {
        head.extend(wrapped(
            Ink::Plain,
            &format!("{}.", told_locks::chain_words(view, chain)),
            2,
            view.columns,
        ));
    }
    head.truncate((view.lines / 2).max(1));
    let rows = table
        .locks
        .iter()
        .chain(&table.conditions)
        .map(|lock| row(view, lock, before));
    Body::from_table(
        head,
        Table {
            columns: &COLUMNS,
            rows: rows.collect(),
            empty: "no waits for locks in the stacks".to_owned(),
        },
    )
}

/// Without stacks, what sessions and InnoDB tell of locks, and why there is no more.
fn without_stacks(view: &View<'_>) -> Body {
    let why = view.no_stacks(
        "stacks, which show latches and holders,",
        "they are recorded during a stall",
    );
    let mut head = told_locks::holders(view);
    head.extend(wrapped(Ink::Dim, &why, 2, view.columns));
    head.extend(semaphores(view));
    let told_at = waits::sessions(view).map(|sessions| sessions.at);
    if let Some(at) = told_at {
        let title = format!(
            "LOCKS as sessions and InnoDB tell of them at {}",
            view.clock(at)
        );
        head.push(Line::colored(Ink::Strong, &title));
    }
    Body::from_table(
        head,
        Table {
            columns: &COLUMNS,
            rows: told_locks::rows(view),
            empty: match told_at.is_some() {
                true => "no session waits for a lock",
                false => "no processlist of this moment: screen 9 says why",
            }
            .to_owned(),
        },
    )
}

fn row(view: &View<'_>, lock: &LockRow, before: Option<&LockTable>) -> Row {
    // One snapshot tells who waits, and not how long.
    let seconds = |us: f64| match us > 0.0 {
        true => Cell::number(Some(us / 1e6), format::seconds(us / 1e6)),
        false => Cell::text("–"),
    };
    let was = before.map(|table| {
        let same = table.locks.iter().find(|row| row.name == lock.name);
        same.map_or(0, |row| row.waiters_max)
    });
    let caller = lock.callers.first().and_then(|caller| caller.path.first());
    let holder = match waits::holder_words(lock) {
        holder if holder.is_empty() => match told_locks::holder(view, &lock.name) {
            Some(told) => Cell::text(told),
            None => Cell::text("unknown").ink(Ink::Dim),
        },
        holder => Cell::text(holder),
    };
    Row {
        cells: vec![
            Cell::text(&lock.name),
            Cell::number(
                Some(f64::from(lock.waiters_max)),
                lock.waiters_max.to_string(),
            ),
            Cell::number(
                was.map(f64::from),
                was.map_or("–".to_owned(), |was| was.to_string()),
            ),
            seconds(lock.total_us),
            seconds(lock.max_us),
            Cell::text(caller.cloned().unwrap_or_default()),
            holder,
        ],
        detail: detail(view, lock),
        ..Row::default()
    }
}

fn detail(view: &View<'_>, lock: &LockRow) -> Vec<String> {
    let seconds = |us: f64| format::seconds(us / 1e6);
    let mut out = vec![
        lock.name.clone(),
        format!(
            "{} waits, {} in all, {} the longest, {} at once",
            lock.waits,
            seconds(lock.total_us),
            seconds(lock.max_us),
            lock.waiters_max
        ),
    ];
    let book = &view.stacks().table;
    for holder in &lock.holders {
        out.push(String::new());
        out.push(format!(
            "held by {} {} ({}), {}",
            waits::who(holder),
            holder.name,
            holder_by_words(holder.by),
            holder.doing
        ));
        out.extend(
            book.frames_of(holder.stack)
                .map(|frame| format!("  {} ({})", frame.name, frame.image)),
        );
    }
    for caller in &lock.callers {
        out.push(String::new());
        out.push(format!(
            "{} waits, {}, from:",
            caller.waits,
            seconds(caller.total_us)
        ));
        out.extend(caller.path.iter().map(|name| format!("  {name}")));
    }
    out
}

/// What InnoDB itself lists as waited for.
fn semaphores(view: &View<'_>) -> Vec<Line> {
    let texts = view.incident().texts.iter();
    let last = texts
        .rev()
        .find(|timed| timed.text.kind() == model::TextKind::Semaphores && timed.at <= view.at);
    let waits: Vec<model::SemaphoreWait> = last
        .filter(|timed| view.at.saturating_sub(timed.at) <= 60_000)
        .and_then(|timed| serde_json::from_str(timed.text.body()).ok())
        .unwrap_or_default();
    let mut out: Vec<Line> = waits
        .iter()
        .take((view.lines / 2).max(1))
        .map(|wait| {
            let name = wait.lock_name.as_deref().unwrap_or("latch");
            let text = format!(
                "InnoDB: {} {name} from {}:{} for {}",
                wait.lock_kind,
                wait.file,
                wait.line,
                format::seconds(wait.lasts_seconds())
            );
            Line::plain(&text)
        })
        .collect();
    if !out.is_empty() {
        out.insert(
            0,
            Line::colored(Ink::Strong, "LATCHES as InnoDB lists them"),
        );
    }
    out
}
