//! The lower part of the first screen: waits, what else moved, what is absent.

use report::{format, plain_words};

use super::departures::Departure;
use super::view::View;
use super::{told_locks, waits};
use crate::ink::{Ink, Line, cut};

/// What is waited for.
pub fn waits(view: &View<'_>, most: usize) -> Vec<Line> {
    let waited = waits::waits(view);
    let counts = (view.columns / 2).clamp(20, 41) - 8;
    let before = view.columns.saturating_sub(8);
    let row = |what: &str, count: &str, held: &str, was: &str, ink: Ink| {
        let mut line = Line::colored(ink, &cut(&Line::plain(what).text(), counts - 1));
        line.pad(counts);
        line.push(ink, &format!("{count:>6}  "));
        let room = before.saturating_sub(line.width() + 1);
        line.push(ink, &cut(&Line::plain(held).text(), room));
        line.right(ink, &format!("{was:>7}"), view.columns)
    };
    let is_locks = waited.is_locks;
    let head = if is_locks { "HOLDER" } else { "" };
    let mut lines = vec![row(&waited.title, "now", head, "BEFORE", Ink::Strong)];
    if waited.rows.is_empty() {
        lines.push(Line::colored(
            Ink::Dim,
            "no waiting session was seen (9 shows what is missing)",
        ));
    }
    lines.extend(waited.rows.iter().take(most).map(|wait| {
        let before = wait
            .before
            .map_or("–".to_owned(), |before| before.to_string());
        let holder = match wait.holder.as_str() {
            "" if is_locks => {
                let told = told_locks::holder(view, &wait.what);
                told.unwrap_or_else(|| "not known".to_owned())
            }
            holder => holder.to_owned(),
        };
        row(
            &wait.what,
            &wait.waiters.to_string(),
            &holder,
            &before,
            Ink::Plain,
        )
    }));
    lines.truncate(most + 1);
    lines
}

/// Behind what is absent.
const WHY: &str = "; 9 says why";

/// What is absent at this moment, and when there was an incident last.
pub fn absent(view: &View<'_>) -> Line {
    let mut names: Vec<String> = view
        .incident()
        .absent
        .iter()
        .filter(|timed| view.model.is_absent(timed, view.at))
        .map(|timed| timed.absent.what.clone())
        .collect();
    names.sort();
    names.dedup();
    let count = names.len();
    let right = last_incident(view);
    let room = view.columns.saturating_sub(right.len() + 2);
    let words = match count {
        0 if view.incident().absent.is_empty() => "nothing is missing".to_owned(),
        0 => "nothing is missing now; 9 shows what was".to_owned(),
        _ => {
            let names = format!("absent: {}", names.join(", "));
            cut(&Line::plain(&names).text(), room.saturating_sub(WHY.len())) + WHY
        }
    };
    Line::colored(Ink::Dim, &cut(&Line::plain(&words).text(), room)).right(
        Ink::Dim,
        &right,
        view.columns,
    )
}

fn last_incident(view: &View<'_>) -> String {
    let clock = view.model.clock();
    let now = clock.wall_ms(view.at);
    // The stall that is looked at is none that was before.
    let stall = view.model.stall_at(view.at);
    let own = stall.map(|stall| clock.wall_ms(stall.onset));
    let last = view
        .model
        .incidents
        .iter()
        .map(|listed| listed.onset_wall_ms)
        .filter(|wall| *wall < now && own.is_none_or(|own| wall.abs_diff(own) > 5_000))
        .max();
    match last {
        None => String::new(),
        Some(last) => {
            let ago = u64::try_from(now.saturating_sub(last)).unwrap_or(0);
            format!("last incident {} ago", format::duration(ago))
        }
    }
}

/// Lines that this takes at the least.
pub const NOT_AS_USUAL_MIN: usize = 5;

/// Where there is room left: what else is not as it was.
pub fn not_as_usual(view: &View<'_>, room: usize, all: &[Departure<'_>]) -> Vec<Line> {
    if all.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        Line::default(),
        Line::colored(Ink::Strong, "NOT AS USUAL").right(Ink::Dim, "7 all", view.columns),
    ];
    lines.extend(all.iter().take(room.saturating_sub(3)).map(|one| {
        let name = Line::plain(&plain_words::signal(&one.series.name)).text();
        let mut line = Line::plain(&cut(&name, 30));
        let usually = format::value(one.series, one.spread.mean);
        for (column, text) in [
            (31, one.change()),
            (41, format::value(one.series, one.now)),
            (55, format!("usually {usually}")),
        ] {
            line.pad(column);
            line.push(Ink::Plain, &text);
        }
        line
    }));
    lines
}
