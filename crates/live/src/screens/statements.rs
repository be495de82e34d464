//! 5, Statements: what came in, by class, now and before.

use model::OrderBy;
use report::evidence::workload::{senders, workloads};
use report::format;

use super::view::{Body, View};
use super::waits;
use crate::ink::{Ink, Line};
use crate::stats;
use crate::table::{Cell, Column, Row, Table};

const COLUMNS: [Column; 6] = [
    Column::rest("STATEMENT", 28),
    Column::number("NOW", 9, 0),
    Column::number("BEFORE", 9, 0),
    Column::number("CHANGE", 9, 0),
    Column::text("SEEN BY", 12, 1),
    Column::text("FROM", 18, 2),
];

/// Statements that changed less than this are not told apart from noise, a second.
const LEAST: f64 = 0.05;

/// The screen.
pub fn body(view: &View<'_>) -> Body {
    let mut rows = classes(view);
    rows.extend(counters(view));
    let head = vec![
        Line::plain("a second: counters at this moment, classes over the whole stall and before"),
        running(view),
    ];
    let empty = view.missing(
        "statements over time",
        "no statements: no login, no packets or no performance_schema (9 says which)",
    );
    Body::from_table(
        head,
        Table {
            columns: &COLUMNS,
            rows,
            empty,
        },
    )
}

/// What the sessions run at this moment.
fn running(view: &View<'_>) -> Line {
    let Some(sessions) = waits::sessions(view) else {
        return Line::colored(Ink::Dim, "no processlist of this moment");
    };
    let mut classes: Vec<(&String, &u64)> = sessions.list.by_class.iter().collect();
    classes.order_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    let words: Vec<String> = classes
        .iter()
        .take(6)
        .map(|(class, count)| format!("{class} {count}"))
        .collect();
    let words = match words.is_empty() {
        true => "no statement".to_owned(),
        false => words.join(", "),
    };
    Line::colored(Ink::Strong, "SESSIONS RUN ").add(Ink::Plain, &words)
}

/// Classes, by the way that knows most.
fn classes(view: &View<'_>) -> Vec<Row> {
    let ways = workloads(view.incident());
    let Some(way) = ways.first().filter(|way| !way.rows.is_empty()) else {
        return Vec::new();
    };
    let seen_by = match way.way {
        model::QueryMethod::Packets => "packets",
        model::QueryMethod::PerformanceSchema => "perf_schema",
        model::QueryMethod::StatementCounters => "counters",
        model::QueryMethod::SlowLog => "slow log",
        model::QueryMethod::GeneralLog => "general log",
    };
    // The counters of this moment say the same, and more of it.
    if way.way == model::QueryMethod::StatementCounters {
        return Vec::new();
    }
    way.rows
        .iter()
        .map(|row| {
            let say = |rate: Option<f64>| {
                Cell::number(rate, rate.map_or("–".to_owned(), format::per_second))
            };
            let mut detail = vec![
                row.fingerprint.clone(),
                String::new(),
                format!("{} {}", row.kind, row.id),
            ];
            for (word, names) in [
                ("users", &row.users),
                ("hosts", &row.hosts),
                ("programs", &row.programs),
            ] {
                let names: Vec<String> = names
                    .iter()
                    .map(|one| format!("{} {}", one.name, one.count))
                    .collect();
                if !names.is_empty() {
                    detail.push(format!("{word}: {}", names.join(", ")));
                }
            }
            Row {
                cells: vec![
                    Cell::text(&row.fingerprint),
                    say(row.in_stall),
                    say(row.before),
                    change(row.in_stall, row.before),
                    Cell::text(seen_by),
                    Cell::text(senders(row)),
                ],
                detail,
                ..Row::default()
            }
        })
        .collect()
}

fn change(now: Option<f64>, before: Option<f64>) -> Cell {
    match now.zip(before) {
        None => Cell::text("–"),
        Some((now, before)) => {
            let text = match now / before.max(f64::MIN_POSITIVE) {
                _ if before < LEAST && now < LEAST => "as usual".to_owned(),
                _ if before < LEAST => "from 0".to_owned(),
                times if times >= 2.0 => format!("x{times:.1}"),
                times => format!("{:+.0} %", (times - 1.0) * 100.0),
            };
            Cell::number(Some(now - before), text)
        }
    }
}

/// The server's own counters of statements, at this moment.
fn counters(view: &View<'_>) -> Vec<Row> {
    let timeline = view.timeline();
    let mut rows: Vec<(f64, Row)> = timeline
        .matching("status.Com_*")
        .filter_map(|series| {
            let own = series.name.strip_prefix("status.Com_")?;
            let ours = timeline.get(&format!("recorder.com.{own}"));
            let ours = ours
                .and_then(|ours| stats::now(timeline, ours, view.at))
                .unwrap_or(0.0);
            let now = (stats::now(timeline, series, view.at)? - ours).max(0.0);
            let usual = view.usual(series);
            let before = usual.map(|usual| usual.mean);
            if now < LEAST && before.unwrap_or(0.0) < LEAST {
                return None;
            }
            let detail = vec![
                format!(
                    "{}: {} at {}",
                    series.name,
                    format::per_second(now),
                    view.clock(view.at)
                ),
                "counted by the server, without the recorder's own statements".to_owned(),
            ];
            let cells = vec![
                Cell::text(own.replace('_', " ")),
                Cell::number(Some(now), format::per_second(now)),
                Cell::number(before, before.map_or("–".to_owned(), format::per_second)),
                change(Some(now), before),
                Cell::text("counters"),
                Cell::default(),
            ];
            let far = (now - before.unwrap_or(now)).abs();
            Some((
                far,
                Row {
                    cells,
                    detail,
                    ..Row::default()
                },
            ))
        })
        .collect();
    rows.order_by(|a, b| b.0.total_cmp(&a.0));
    rows.into_iter().map(|(_, row)| row).collect()
}
