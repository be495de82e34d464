//! 9, Recorder: can this be trusted. What is absent stands first.

use model::{Millis, OrderBy};
use report::format;

use super::view::{Body, View, counted};
use crate::ink::{Ink, Line, cut};
use crate::model::RecordingKind;
use crate::stats;
use crate::table::{Cell, Column, Row, Table};

const COLUMNS: [Column; 5] = [
    Column::text("SOURCE", 22, 0),
    Column::number("AGE", 9, 0),
    Column::number("READ", 7, 1),
    Column::number("EACH", 8, 2),
    Column::rest("MISSING, AND WHY", 24),
];

/// The same where files of others were read.
const WITH_FILES: [Column; 5] = [
    COLUMNS[0],
    COLUMNS[1],
    COLUMNS[2],
    COLUMNS[3],
    Column::rest("MISSING, AND WHY; WHAT A FILE BROUGHT", 24),
];

/// The screen.
pub fn body(view: &View<'_>) -> Body {
    let mut rows = absent(view);
    rows.extend(files(view));
    rows.extend(sources(view));
    Body::from_table(
        head(view),
        Table {
            columns: match view.model.kind {
                RecordingKind::Captures => &WITH_FILES,
                _ => &COLUMNS,
            },
            rows,
            empty: "nothing was read".to_owned(),
        },
    )
}

fn head(view: &View<'_>) -> Vec<Line> {
    let model = view.model;
    let timeline = view.timeline();
    let now = |name: &str| stats::now_of(timeline, name, view.at);
    let cost = [
        now("recorder.cpu_ticks").map(|ticks| format!("{} of a CPU", format::share(ticks / 100.0))),
        now("recorder.resident_bytes").map(|bytes| format!("{} resident", format::bytes(bytes))),
        now("recorder.late_ms").map(|ms| format!("{} late", format::seconds(ms / 1000.0))),
        now("recorder.statements")
            .map(|rate| format!("{} own statements", format::per_second(rate))),
        now("recorder.lost_samples").map(|lost| format!("{lost:.0} samples lost a second")),
    ];
    let cost: Vec<String> = cost.into_iter().flatten().collect();
    let line = |name: &str, text: &str| {
        Line::colored(Ink::Strong, &format!("{name:<9}")).add(
            Ink::Plain,
            &cut(&Line::plain(text).text(), view.columns.saturating_sub(9)),
        )
    };
    let told = match &model.recorder {
        None => String::new(),
        Some(told) => match (told.beat_age_ms, told.unanswered_ms) {
            (Some(age), Some(ms)) => format!(
                "; its last beat {}, its query probe has no answer for {}",
                format::duration(age),
                format::duration(ms)
            ),
            (Some(age), None) => format!("; its last beat {} ago", format::duration(age)),
            _ => String::new(),
        },
    };
    let mut lines = vec![
        line(
            "READ FROM",
            &format!(
                " {} ({}){told}",
                model.path,
                model.kind.label().to_lowercase()
            ),
        ),
        line(
            "HOLDS",
            &format!(
                " {}, {}, {}, {}",
                view.span(model.first(), model.last()),
                counted(timeline.series.len(), "signal", "signals"),
                counted(view.incident().texts.len(), "text", "texts"),
                counted(view.incident().facts.len(), "fact", "facts")
            ),
        ),
    ];
    if !cost.is_empty() {
        lines.push(line("COST", &format!(" {}", cost.join(", "))));
    }
    lines.extend(
        model
            .notes
            .iter()
            .map(|note| Line::colored(Ink::Bad, &cut(&Line::plain(note).text(), view.columns))),
    );
    lines
}

/// Evidence that is absent at this moment first, then what was at other times.
fn absent(view: &View<'_>) -> Vec<Row> {
    let mut all: Vec<_> = view.incident().absent.iter().collect();
    all.order_by_key(|timed| !view.model.is_absent(timed, view.at));
    all.iter()
        .map(|timed| {
            let now = view.model.is_absent(timed, view.at);
            let when = match now {
                true => format!("{}; {}", timed.absent.reason.to_text(), timed.absent.detail),
                false => format!(
                    "{} from {} to {}; {}",
                    timed.absent.reason.to_text(),
                    view.clock(timed.first),
                    view.clock(timed.last),
                    timed.absent.detail
                ),
            };
            Row {
                cells: vec![
                    Cell::text(&timed.absent.what).ink(if now { Ink::Bad } else { Ink::Dim }),
                    Cell::text(if now { "missing" } else { "" }),
                    Cell::number(Some(timed.count as f64), timed.count.to_string()),
                    Cell::default(),
                    Cell::text(&when),
                ],
                detail: vec![
                    timed.absent.what.clone(),
                    when,
                    format!("{} readings", timed.count),
                ],
                ..Row::default()
            }
        })
        .collect()
}

/// The files that captures were read from: what each is taken for, what it brought, what of it was left out.
fn files(view: &View<'_>) -> Vec<Row> {
    let is_captures = view.model.kind == RecordingKind::Captures;
    let verdict = view.model.verdict.as_ref().filter(|_| is_captures);
    let files = verdict.into_iter().flat_map(|verdict| &verdict.sources);
    files
        .map(|file| {
            let name = file.path.rsplit('/').next().unwrap_or(&file.path);
            let brought = [&file.kind, &file.brought].into_iter();
            let brought: Vec<&str> = brought
                .filter(|text| !text.is_empty())
                .map(String::as_str)
                .collect();
            let skipped = file.skipped.iter().map(|why| format!("left out: {why}"));
            let words = brought.into_iter().map(str::to_owned).chain(skipped);
            let words: Vec<String> = words.collect();
            let is_read = !file.brought.is_empty() || file.skipped.is_none();
            Row {
                cells: vec![
                    Cell::text(name),
                    Cell::text(if is_read { "read" } else { "left out" }),
                    Cell::default(),
                    Cell::default(),
                    Cell::text(words.join("; ")),
                ],
                detail: vec![file.line()],
                ..Row::default()
            }
        })
        .collect()
}

/// Each source with the age of its last reading at this moment.
fn sources(view: &View<'_>) -> Vec<Row> {
    view.timeline()
        .sources
        .iter()
        .map(|source| {
            let read = source.ticks.partition_point(|tick| *tick <= view.at);
            let last = read
                .checked_sub(1)
                .and_then(|index| source.ticks.get(index));
            let age = last.map(|last| view.at.saturating_sub(*last));
            let span = source
                .ticks
                .first()
                .zip(source.ticks.last())
                .map(|(first, last)| last.saturating_sub(*first));
            let each = span
                .filter(|_| source.ticks.len() > 1)
                .map(|span| span / (source.ticks.len() as Millis - 1));
            let say = |ms: Option<Millis>| ms.map_or("–".to_owned(), format::duration);
            Row {
                cells: vec![
                    Cell::text(&source.name),
                    Cell::number(age.map(|ms| ms as f64 / 1000.0), say(age)),
                    Cell::number(Some(read as f64), read.to_string()),
                    Cell::number(each.map(|ms| ms as f64 / 1000.0), say(each)),
                    Cell::default(),
                ],
                detail: vec![
                    source.name.clone(),
                    format!("{read} readings up to here, the last {} old", say(age)),
                ],
                ..Row::default()
            }
        })
        .collect()
}
