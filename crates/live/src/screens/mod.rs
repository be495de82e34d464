//! The screens: each is a function of what was recorded, the moment, and what its reader chose.

mod departures;
mod flame;
mod flame_picture;
mod heat_map;
mod host;
mod incidents;
mod locks;
mod lower_part;
mod now;
mod overlay;
mod recorder;
mod samples;
mod signals;
mod state_line;
mod statements;
mod strips;
mod threads;
mod told_locks;
mod verdict;
mod view;
mod waits;

use std::sync::Arc;

use model::Millis;
use report::format;

use crate::derived::Part;
use crate::ink::{Ink, Line, cut};
use crate::judging::Outcomes;
use crate::keys::{Screen, foot};
use crate::model::{Model, RecordingKind};
use crate::state::{Flame, FlameOf, Overlay, PromptKind, State};
use crate::table::{Row, TableOptions};

pub use flame_picture::Chosen;
pub use view::{Body, View};

/// Lines that are not the screen's own: head, rule, foot.
const FRAME: usize = 3;

/// The smallest terminal that is drawn on, columns and lines.
pub const SMALLEST: (usize, usize) = (40, 10);

/// What a screen has, for keys that choose a row.
pub fn body(model: &Model, state: &State, columns: usize, lines: usize) -> Arc<Body> {
    of_screen(&view(model, state, columns, lines))
}

/// What changed on the processors, or among threads that wait, at a moment, in a line of text.
pub fn flame_text(model: &Model, of: FlameOf, at: Millis) -> Option<String> {
    let mut state = State::new(model, true);
    state.flame.of = of;
    let view = View {
        at,
        normal: model.normal(at),
        ..view(model, &state, 0, 0)
    };
    flame_picture::as_text(&view)
}

/// What there is to see of the chosen box of the flame graph, when the graph is shown as a picture.
pub fn chosen_frame(model: &Model, state: &State, (columns, lines): (usize, usize)) -> Chosen {
    flame_picture::chosen(&view(model, state, columns, lines))
}

/// What there is to see of a row alone.
pub fn detail(
    model: &Model,
    state: &State,
    row: &Row,
    (columns, lines): (usize, usize),
) -> Vec<String> {
    let view = view(model, state, columns, lines);
    match (&row.signal, &row.function) {
        (Some(name), _) => signals::detail(&view, name),
        (None, Some(name)) => flame::detail(&view, name),
        (None, None) => row.detail.clone(),
    }
}

fn view<'a>(model: &'a Model, state: &'a State, columns: usize, lines: usize) -> View<'a> {
    let at = state.at(model);
    View {
        model,
        state,
        at,
        normal: model.normal(at),
        columns,
        lines: lines.saturating_sub(FRAME),
    }
}

/// What a screen is a function of besides its rows.
#[derive(Debug, PartialEq)]
struct BodyKey {
    at: Millis,
    is_newest: bool,
    size: (usize, usize),
    is_ascii: bool,
    flame: Flame,
    outcomes: Arc<Outcomes>,
    /// For screens on which more than the lines of the table depends on it.
    wanted: Option<TableOptions>,
}

fn of_screen(view: &View<'_>) -> Arc<Body> {
    let state = view.state;
    let depends_on_wanted = match state.shown {
        Screen::Flame => !state.flame.is_table,
        Screen::Signals | Screen::Incidents => true,
        _ => false,
    };
    let key = BodyKey {
        at: view.at,
        is_newest: state.at_wall_ms.is_none(),
        size: (view.columns, view.lines),
        is_ascii: state.is_ascii,
        flame: state.flame.clone(),
        outcomes: state.outcomes.clone(),
        wanted: depends_on_wanted.then(|| state.wanted()),
    };
    let derived = &view.model.derived;
    derived.of(Part::Body(state.shown), key, || made(view))
}

fn made(view: &View<'_>) -> Body {
    match view.state.shown {
        Screen::Now => now::body(view),
        Screen::Threads => threads::body(view),
        Screen::Locks => locks::body(view),
        Screen::Flame if !view.state.flame.is_table => flame_picture::body(view),
        Screen::Flame => flame::table(view),
        Screen::Statements => statements::body(view),
        Screen::Host => host::body(view),
        Screen::Signals => signals::body(view),
        Screen::Incidents => incidents::body(view),
        Screen::Recorder => recorder::body(view),
    }
}

/// The whole terminal: exactly so many lines, none wider than the columns.
pub fn page(model: &Model, state: &State, columns: usize, lines: usize) -> Vec<Line> {
    if columns < SMALLEST.0 || lines < SMALLEST.1 {
        let words = format!("too small: {} by {} at least", SMALLEST.0, SMALLEST.1);
        let mut page = vec![Line::plain(&cut(&words, columns))];
        page.resize(lines, Line::default());
        return page;
    }
    let view = view(model, state, columns, lines);
    let mut page = vec![head(&view), view.rule()];
    let below = below(&view);
    let room = view.lines.saturating_sub(below.len());
    let middle = match overlay::lines(&view) {
        Some(all) => {
            let last = all.len().saturating_sub(room);
            let from = state.scroll.min(last);
            let mut shown: Vec<Line> = all.iter().skip(from).take(room).cloned().collect();
            if from < last
                && let Some(end) = shown.last_mut()
            {
                *end = Line::colored(
                    Ink::Dim,
                    &format!("{} more lines: Down", all.len() - from - room + 1),
                );
            }
            shown
        }
        None => screen(&view, room),
    };
    page.extend(middle);
    page.resize(lines.saturating_sub(below.len() + 1), Line::default());
    page.extend(below);
    page.push(last_line(&view));
    page.into_iter().map(|line| line.cut(columns)).collect()
}

/// The screen's own lines.
fn screen(view: &View<'_>, room: usize) -> Vec<Line> {
    let body = of_screen(view);
    let mut out = body.head.clone();
    if let Some(table) = &body.table {
        let left = room.saturating_sub(out.len() + body.foot.len()).max(2);
        let mut lines = table.lines(&view.state.wanted(), view.columns, left);
        if !body.foot.is_empty() {
            lines.resize(left, Line::default());
        }
        out.extend(lines);
    }
    out.extend(body.foot.iter().cloned());
    out.truncate(room);
    out
}

/// Who is looked at, and when.
fn head(view: &View<'_>) -> Line {
    let incident = view.incident();
    let mut names = vec!["freezeframe".to_owned()];
    names.extend(
        [
            &incident.host,
            &incident.server.label,
            &incident.server.version,
        ]
        .into_iter()
        .filter(|name| !name.is_empty())
        .cloned(),
    );
    let when = when(view);
    let room = view.columns.saturating_sub(when.len() + 2);
    let left = Line::plain(&names.join("  ")).text();
    let ink = match (
        view.model.kind == RecordingKind::Recorder,
        view.state.at_wall_ms,
    ) {
        (true, None) => Ink::Good,
        _ => Ink::Strong,
    };
    Line::colored(Ink::Strong, &cut(&left, room)).right(ink, &when, view.columns)
}

fn when(view: &View<'_>) -> String {
    let model = view.model;
    let is_newest = view.state.at_wall_ms.is_none();
    let zone = if model.clock().is_known() { " UTC" } else { "" };
    // What was recorded some day is told with it; what is followed is of now.
    let dated_from = match model.kind {
        RecordingKind::Recorder => 100,
        _ => 80,
    };
    let moment = match view.columns >= dated_from {
        true => format!("{}{zone}", view.date(view.at)),
        false => format!("{}{zone}", view.clock(view.at)),
    };
    let back = model.last().saturating_sub(view.at);
    let how = match (&model.kind, is_newest) {
        (RecordingKind::Recorder, true) => format!("LIVE{}", recorder_words(view)),
        (RecordingKind::Recorder, false) => format!("FROZEN {} back", format::duration(back)),
        (kind, _) => kind.label().to_owned(),
    };
    format!("{moment}  {how}")
}

/// The recorder's share of one processor, where it is known.
fn recorder_words(view: &View<'_>) -> String {
    let ticks = crate::stats::now_of(view.timeline(), "recorder.cpu_ticks", view.at);
    ticks.map_or(String::new(), |ticks| {
        // The kernel counts hundredths of a second: more digits are noise.
        format!("  rec {}", format::share((ticks * 10.0).round() / 1000.0))
    })
}

/// A filter in force, a message: between the screen and the last line.
fn below(view: &View<'_>) -> Vec<Line> {
    let state = view.state;
    let mut out = Vec::new();
    if let Some(message) = &state.message {
        out.push(Line::colored(
            Ink::Strong,
            &cut(&Line::plain(message).text(), view.columns),
        ));
    } else if let Some(filter) = state
        .filters
        .get(&state.shown)
        .filter(|_| state.over == Overlay::Nothing)
    {
        let words = format!("only rows with {filter}  (Esc: all)");
        out.push(Line::colored(
            Ink::Strong,
            &cut(&Line::plain(&words).text(), view.columns),
        ));
    }
    out
}

/// What is typed, or the keys.
fn last_line(view: &View<'_>) -> Line {
    let Some(input) = &view.state.input else {
        return Line::colored(
            Ink::Bar,
            &cut(
                &format!("{:<1$}", foot(view.columns), view.columns),
                view.columns,
            ),
        );
    };
    let asks = match input.asked {
        PromptKind::Filter => "rows with: ",
        PromptKind::Time => "go to (03:12, -10s, +5m): ",
        PromptKind::Help => "search: ",
    };
    let wrong = input
        .wrong
        .as_ref()
        .map_or(String::new(), |wrong| format!("  {wrong}"));
    let line = Line::colored(Ink::Strong, asks).add(Ink::Plain, &format!("{}_", input.text));
    let room = view.columns.saturating_sub(line.width());
    line.add(Ink::Bad, &cut(&Line::plain(&wrong).text(), room))
}
