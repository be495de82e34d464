//! 2, Threads: what the threads of the server do, who waits for whom, and what the sessions say of themselves.

use std::collections::HashMap;

use model::{FrameSide, OrderBy, RunState, StackId, ThreadRun};
use report::format;

use super::view::{Body, View};
use super::{told_locks, waits};
use crate::ink::{Ink, Line, cut, wrapped};
use crate::table::{Cell, Column, Row, Table};

const COLUMNS: [Column; 8] = [
    Column::number("TIME", 7, 0),
    Column::number("ID", 8, 1),
    Column::text("USER", 12, 2),
    Column::text("HOST", 14, 4),
    Column::text("DB", 10, 5),
    Column::text("COMMAND", 8, 6),
    Column::text("STATE", 22, 3),
    Column::rest("STATEMENT", 20),
];

/// Groups of threads with equal stacks that are shown.
const GROUPS_MAX: usize = 4;

/// Functions of a stack in a line.
const FRAMES_MAX: usize = 4;

/// The screen.
pub fn body(view: &View<'_>) -> Body {
    let room = view.lines / 3;
    let mut head = chains(view);
    head.extend(groups(view));
    head.truncate(room.max(3));
    head.push(sessions_line(view));
    let sessions = waits::sessions(view);
    let table = Table {
        columns: &COLUMNS,
        rows: sessions
            .iter()
            .flat_map(|sessions| sessions.list.longest.iter().map(row))
            .collect(),
        empty: match sessions.is_some() {
            true => "no session is active",
            false => "no processlist of this moment: screen 9 says why",
        }
        .to_owned(),
    };
    Body::from_table(head, table)
}

fn row(session: &model::Session) -> Row {
    Row {
        cells: vec![
            Cell::number(Some(session.seconds), format::seconds(session.seconds)),
            Cell::number(Some(session.id as f64), session.id.to_string()),
            Cell::text(&session.user),
            Cell::text(&session.host),
            Cell::text(&session.db),
            Cell::text(&session.command),
            Cell::text(&session.state),
            Cell::text(&session.statement),
        ],
        name: Some(format!("connection {}", session.id)),
        detail: vec![
            format!(
                "connection {}, {}@{}, {}",
                session.id,
                session.user,
                session.host,
                match session.db.as_str() {
                    "" => "no database".to_owned(),
                    db => format!("database {db}"),
                }
            ),
            format!(
                "{} for {}: {}",
                session.command,
                format::seconds(session.seconds),
                session.state
            ),
            String::new(),
            session.statement.clone(),
        ],
        ..Row::default()
    }
}

fn sessions_line(view: &View<'_>) -> Line {
    let Some(sessions) = waits::sessions(view) else {
        return Line::colored(Ink::Strong, "SESSIONS");
    };
    let list = &sessions.list;
    let before = waits::sessions_before(view);
    let before = before.map_or(String::new(), |before| {
        format!(" ({} before)", before.list.active())
    });
    let longest = match list.longest.len() {
        0 => String::new(),
        count => format!("; the {count} longest active:"),
    };
    let text = format!(
        " {} active{before}, {} in all, at {}{longest}",
        list.active(),
        list.sessions,
        view.clock(sessions.at)
    );
    Line::colored(Ink::Strong, "SESSIONS")
        .add(Ink::Plain, &cut(&text, view.columns.saturating_sub(8)))
}

/// Who waits for whom, a sentence a chain.
fn chains(view: &View<'_>) -> Vec<Line> {
    let Some(table) = waits::lock_table(view) else {
        return Vec::new();
    };
    let chains = table.chains.iter().take(2);
    chains
        .flat_map(|chain| {
            wrapped(
                Ink::Plain,
                &format!("{}.", told_locks::chain_words(view, chain)),
                2,
                view.columns,
            )
        })
        .collect()
}

/// Threads with equal stacks at this moment.
struct Group<'a> {
    run: &'a ThreadRun,
    count: usize,
}

fn at_moment<'a>(view: &View<'a>) -> Vec<Group<'a>> {
    let evidence = view.stacks();
    let mut notes = evidence.snapshots.iter();
    let Some(last) = notes.rfind(|note| note.at <= view.at && view.at - note.at <= 5_000) else {
        return Vec::new();
    };
    let mut groups: HashMap<(StackId, RunState), Group<'a>> = HashMap::new();
    let there = |run: &&ThreadRun| run.from <= last.at && run.to >= last.at;
    for run in evidence.runs.iter().filter(there) {
        let group = groups
            .entry((run.stack, run.state))
            .or_insert(Group { run, count: 0 });
        group.count += 1;
    }
    let mut groups: Vec<Group<'a>> = groups.into_values().collect();
    groups.order_by(|a, b| {
        let by_count = b.count.cmp(&a.count);
        by_count.then_with(|| (a.run.stack, a.run.tid).cmp(&(b.run.stack, b.run.tid)))
    });
    groups
}

fn groups(view: &View<'_>) -> Vec<Line> {
    let groups = at_moment(view);
    if groups.is_empty() {
        let why = view.no_stacks("stacks", "they are recorded during a stall");
        return wrapped(Ink::Dim, &format!("THREADS  {why}"), 2, view.columns);
    }
    let threads: usize = groups.iter().map(|group| group.count).sum();
    let count = |state: RunState| -> usize {
        let of_state = groups.iter().filter(|group| group.run.state == state);
        of_state.map(|group| group.count).sum()
    };
    let head = format!(
        " {threads}: {} running, {} uninterruptible, {} asleep; most with one stack:",
        count(RunState::Running),
        count(RunState::Uninterruptible),
        count(RunState::Sleeping)
    );
    let mut lines = vec![
        Line::colored(Ink::Strong, "THREADS")
            .add(Ink::Plain, &cut(&head, view.columns.saturating_sub(7))),
    ];
    for group in groups.iter().take(GROUPS_MAX) {
        let book = &view.stacks().table;
        let frames = || book.frames_of(group.run.stack);
        // The server's functions say what for; the kernel's, where there are no others.
        let user: Vec<&str> = frames()
            .filter(|frame| frame.side == FrameSide::User)
            .map(|frame| frame.name.as_str())
            .collect();
        let all: Vec<&str> = frames().map(|frame| frame.name.as_str()).collect();
        let names = if user.is_empty() { all } else { user };
        let names: Vec<&str> = names.into_iter().take(FRAMES_MAX).collect();
        let call = group
            .run
            .syscall
            .as_ref()
            .map_or("", |call| call.name.as_str());
        let text = format!(
            "{:>5} {} {call:<8} {}",
            group.count,
            group.run.state.letter(),
            names.join(" < ")
        );
        lines.push(Line::plain(&cut(&Line::plain(&text).text(), view.columns)));
    }
    lines
}
