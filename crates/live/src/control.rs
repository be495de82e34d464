//! What a key does: the state that follows, and what the loop around has to do.

use std::path::PathBuf;

use model::Millis;

use crate::filter::{Filter, LENGTH_MAX};
use crate::goto;
use crate::keys::{self, Action, Press, Screen};
use crate::model::{Model, RecordingKind};
use crate::screens;
use crate::state::{FlameOf, Overlay, Prompt, PromptKind, State, TRAIL_MAX};

/// A stall is shown at this time after its onset, so that the strips have both sides of it, milliseconds.
const BEHIND_ONSET_MS: i64 = 15_000;

/// What the loop has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Draw what changed.
    Draw,
    /// Nothing: the key means nothing here.
    Nothing,
    /// Draw everything.
    Redraw,
    /// End.
    Quit,
    /// Give this to the clipboard.
    Copy(String),
    /// Write what is shown as an incident.
    Export,
    /// Open a file.
    Open(PathBuf),
    /// Back to the recording that this one was opened from.
    Close,
}

/// Takes a key. `size` is that of the terminal, columns and lines.
pub fn press(model: &Model, state: &mut State, press: Press, size: (usize, usize)) -> Effect {
    state.message = None;
    if press == Press::Interrupt {
        return Effect::Quit;
    }
    if state.input.is_some() {
        return typed(model, state, press, size);
    }
    let Some(action) = keys::action(press) else {
        return Effect::Nothing;
    };
    act(model, state, action, size)
}

fn act(model: &Model, state: &mut State, action: Action, size: (usize, usize)) -> Effect {
    // These are about rows.
    if is_picture(state) && matches!(action, Action::Filter | Action::Sort | Action::Reverse) {
        table(state);
    }
    match action {
        Action::Quit => return Effect::Quit,
        Action::Redraw => return Effect::Redraw,
        Action::Export => return Effect::Export,
        Action::Show(shown) => show(state, shown),
        Action::Drill => return drill(model, state, size),
        Action::Back => return back(state),
        Action::Freeze => freeze(model, state),
        Action::Step(ms) => step(model, state, ms),
        Action::Incident(way) => to_stall(model, state, way),
        Action::Latest => latest(model, state),
        Action::GoTo => ask(state, PromptKind::Time, String::new()),
        Action::Map => over(state, Overlay::Map),
        Action::Table => table(state),
        Action::Waiting => waiting(state),
        Action::Filter if state.over == Overlay::Help => {
            let word = state.help_word.clone();
            ask(state, PromptKind::Help, word);
        }
        Action::Filter => {
            let before = state.filters.get(&state.shown).cloned();
            ask(state, PromptKind::Filter, before.unwrap_or_default());
        }
        Action::Clear => clear(state),
        Action::Sort => sort(model, state, size),
        Action::Reverse => {
            let wanted = state.tables.entry(state.shown).or_default();
            wanted.reversed = !wanted.reversed;
        }
        Action::Why => over(state, Overlay::Why),
        Action::Remedy => over(state, Overlay::Remedy),
        Action::Help => over(state, Overlay::Help),
        Action::Move(rows) => choose(model, state, rows, size),
        Action::Copy => return Effect::Copy(chosen_text(model, state, size)),
    }
    Effect::Draw
}

fn show(state: &mut State, shown: Screen) {
    state.over = Overlay::Nothing;
    state.scroll = 0;
    if state.shown != shown {
        state.trail.push(state.shown);
        let more = state.trail.len().saturating_sub(TRAIL_MAX);
        state.trail.drain(..more);
        state.shown = shown;
    }
}

/// The same key closes what it opened.
fn over(state: &mut State, over: Overlay) {
    state.scroll = 0;
    state.help_word.clear();
    state.over = match state.over == over {
        true => Overlay::Nothing,
        false => over,
    };
}

/// The flame graph is shown as a picture, and nothing lies over it.
fn is_picture(state: &State) -> bool {
    state.shown == Screen::Flame && !state.flame.is_table && state.over == Overlay::Nothing
}

/// The flame graph as a table, or as a picture; from elsewhere it is gone to.
fn table(state: &mut State) {
    let is_here = state.shown == Screen::Flame && state.over == Overlay::Nothing;
    show(state, Screen::Flame);
    state.flame.is_table = !is_here || !state.flame.is_table;
    state.tables.entry(Screen::Flame).or_default().chosen = 0;
}

/// The flame graph of threads that wait, or of the processors; from elsewhere it is gone to, and shows those that wait.
fn waiting(state: &mut State) {
    let is_here = state.shown == Screen::Flame && state.over == Overlay::Nothing;
    show(state, Screen::Flame);
    state.flame.of = match (is_here, state.flame.of) {
        (true, FlameOf::Waiting) => FlameOf::Processors,
        _ => FlameOf::Waiting,
    };
    // Other frames: those of the one are none of the other.
    state.flame.zoom.clear();
    state.tables.entry(Screen::Flame).or_default().chosen = 0;
}

/// Zooms into the chosen frame; of the one that fills the picture already its samples are shown.
fn zoom(model: &Model, state: &mut State, size: (usize, usize)) -> Effect {
    let chosen = screens::chosen_frame(model, state, size);
    if chosen.path.is_empty() {
        return Effect::Nothing;
    }
    match chosen.path == state.flame.zoom {
        false => {
            state.flame.zoom = chosen.path;
            state.tables.entry(Screen::Flame).or_default().chosen = 0;
        }
        true => over(
            state,
            Overlay::Detail {
                title: format!("{} > {}", state.name(), chosen.words),
                lines: chosen.detail,
            },
        ),
    }
    Effect::Draw
}

fn drill(model: &Model, state: &mut State, size: (usize, usize)) -> Effect {
    if state.over != Overlay::Nothing {
        return Effect::Nothing;
    }
    if state.shown == Screen::Now {
        over(state, Overlay::Why);
        return Effect::Draw;
    }
    if is_picture(state) {
        return zoom(model, state, size);
    }
    let body = screens::body(model, state, size.0, size.1);
    let wanted = state.wanted();
    let rows = body.table.as_ref().map(|table| table.wanted(&wanted));
    let row = rows
        .as_ref()
        .and_then(|rows| rows.get(wanted.chosen.min(rows.len().saturating_sub(1))));
    let Some(row) = row else {
        return Effect::Nothing;
    };
    if let Some(path) = &row.opens {
        return Effect::Open(path.clone());
    }
    let first = || row.cells.first().map(|cell| cell.text.clone());
    let title = row.name.clone().or_else(first).unwrap_or_default();
    let lines = screens::detail(model, state, row, size);
    over(
        state,
        Overlay::Detail {
            title: format!("{} > {title}", state.name()),
            lines,
        },
    );
    Effect::Draw
}

fn back(state: &mut State) -> Effect {
    if state.over != Overlay::Nothing {
        state.over = Overlay::Nothing;
        state.scroll = 0;
        return Effect::Draw;
    }
    if is_picture(state) && state.flame.zoom.pop().is_some() {
        state.tables.entry(Screen::Flame).or_default().chosen = 0;
        return Effect::Draw;
    }
    match state.trail.pop() {
        Some(before) => {
            state.shown = before;
            Effect::Draw
        }
        None if state.depth > 0 => Effect::Close,
        None => Effect::Nothing,
    }
}

fn clear(state: &mut State) {
    if state.over != Overlay::Nothing {
        state.over = Overlay::Nothing;
        state.scroll = 0;
        return;
    }
    if is_picture(state) {
        state.flame.zoom.clear();
    }
    state.filters.remove(&state.shown);
    if let Some(wanted) = state.tables.get_mut(&state.shown) {
        wanted.filter = None;
    }
}

fn freeze(model: &Model, state: &mut State) {
    match state.at_wall_ms {
        None => state.at_wall_ms = Some(model.clock().wall_ms(model.last())),
        Some(_) => latest(model, state),
    }
}

/// The newest: of a recorder's it goes on, of all else it is the end of what was recorded.
fn latest(model: &Model, state: &mut State) {
    state.at_wall_ms = match model.kind {
        RecordingKind::Recorder => None,
        _ => Some(model.clock().wall_ms(model.last())),
    };
}

/// A history reaches further than what is read of it: the loop reads there, and says so where nothing is.
fn can_leave(model: &Model) -> bool {
    matches!(model.kind, RecordingKind::History | RecordingKind::Recorder)
}

fn go(model: &Model, state: &mut State, wall_ms: i64) {
    let clock = model.clock();
    let (first, last) = (clock.wall_ms(model.first()), clock.wall_ms(model.last()));
    let wall = match can_leave(model) {
        true => wall_ms,
        false => wall_ms.clamp(first, last.max(first)),
    };
    state.at_wall_ms =
        match model.kind == RecordingKind::Recorder && wall >= last && model.is_newest {
            true => None,
            false => Some(wall),
        };
}

fn step(model: &Model, state: &mut State, ms: i64) {
    let now = model.clock().wall_ms(state.at(model));
    go(model, state, now.saturating_add(ms));
}

fn to_stall(model: &Model, state: &mut State, way: i8) {
    let now = model.clock().wall_ms(state.at(model));
    let landing = |onset: i64, length: Option<Millis>| {
        let length = length.map_or(BEHIND_ONSET_MS, |ms| i64::try_from(ms).unwrap_or(i64::MAX));
        onset.saturating_add(length.min(BEHIND_ONSET_MS))
    };
    let own = model.stalls.iter().map(|stall| {
        let length = stall.end.map(|end| end.saturating_sub(stall.onset));
        landing(model.clock().wall_ms(stall.onset), length)
    });
    let server = &model.incident.server.label;
    let listed = model
        .incidents
        .iter()
        .filter(|one| can_leave(model) && &one.server == server);
    let listed = listed.map(|one| landing(one.onset_wall_ms, one.length_ms));
    let all = own.chain(listed);
    let found = match way < 0 {
        true => all.filter(|wall| *wall < now).max(),
        false => all.filter(|wall| *wall > now).min(),
    };
    match found {
        Some(wall) => go(model, state, wall),
        None => {
            state.message = Some(match way < 0 {
                true => "no stall before this moment".to_owned(),
                false => "no stall after this moment".to_owned(),
            })
        }
    }
}

fn ask(state: &mut State, asked: PromptKind, text: String) {
    state.input = Some(Prompt {
        asked,
        text,
        wrong: None,
    });
}

fn typed(model: &Model, state: &mut State, press: Press, size: (usize, usize)) -> Effect {
    let Some(mut input) = state.input.take() else {
        return Effect::Nothing;
    };
    match press {
        Press::Esc => return Effect::Draw,
        Press::Backspace => {
            input.text.pop();
        }
        Press::Char(letter) if input.text.chars().count() < LENGTH_MAX => input.text.push(letter),
        Press::Enter => {
            if let Some(wrong) = entered(model, state, &input, size) {
                input.wrong = Some(wrong);
                state.input = Some(input);
            }
            return Effect::Draw;
        }
        _ => {}
    }
    input.wrong = None;
    if input.asked == PromptKind::Help {
        state.help_word = input.text.clone();
        state.scroll = 0;
    }
    state.input = Some(input);
    Effect::Draw
}

/// Takes what was typed; answers with what is wrong with it.
fn entered(
    model: &Model,
    state: &mut State,
    input: &Prompt,
    size: (usize, usize),
) -> Option<String> {
    match input.asked {
        PromptKind::Filter => filter(model, state, &input.text, size).err(),
        PromptKind::Help => None,
        PromptKind::Time => {
            let clock = model.clock();
            let now = clock.wall_ms(state.at(model));
            match goto::parse_time(&input.text, now, clock.wall_ms(model.last())) {
                Ok(wall) => {
                    go(model, state, wall);
                    None
                }
                Err(wrong) => Some(wrong),
            }
        }
    }
}

fn filter(
    model: &Model,
    state: &mut State,
    text: &str,
    size: (usize, usize),
) -> Result<(), String> {
    let text = text.trim();
    if text.is_empty() {
        state.filters.remove(&state.shown);
        state.tables.entry(state.shown).or_default().filter = None;
        return Ok(());
    }
    let body = screens::body(model, state, size.0, size.1);
    let Some(table) = &body.table else {
        return Err("this screen has no rows".to_owned());
    };
    let names = table.names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let filter = Filter::parse(text, &names).map_err(|error| error.to_string())?;
    let wanted = state.tables.entry(state.shown).or_default();
    wanted.filter = Some(filter);
    wanted.chosen = 0;
    state.filters.insert(state.shown, text.to_owned());
    Ok(())
}

fn sort(model: &Model, state: &mut State, size: (usize, usize)) {
    let body = screens::body(model, state, size.0, size.1);
    let columns = body.table.as_ref().map_or(0, |table| table.columns.len());
    let wanted = state.tables.entry(state.shown).or_default();
    wanted.reversed = false;
    wanted.sort = match wanted.sort {
        None if columns > 0 => Some(0),
        Some(column) if column + 1 < columns => Some(column + 1),
        _ => None,
    };
}

fn choose(model: &Model, state: &mut State, rows: i32, size: (usize, usize)) {
    let moved = |from: usize, most: usize| {
        let to = i64::try_from(from)
            .unwrap_or(i64::MAX)
            .saturating_add(i64::from(rows));
        usize::try_from(to).unwrap_or(0).min(most)
    };
    if state.over != Overlay::Nothing {
        // The page stops at its last line.
        state.scroll = moved(state.scroll, 10_000);
        return;
    }
    let body = screens::body(model, state, size.0, size.1);
    let wanted = state.tables.entry(state.shown).or_default();
    let last = body.choices(wanted).saturating_sub(1);
    wanted.chosen = moved(wanted.chosen.min(last), last);
}

/// What `y` copies: the first line of what lies over the screen, the chosen row, or the sentence.
fn chosen_text(model: &Model, state: &State, size: (usize, usize)) -> String {
    if state.over != Overlay::Nothing || state.shown == Screen::Now {
        let page = screens::page(model, state, size.0, size.1);
        let line = page.get(2).map(|line| line.text().trim_end().to_owned());
        return line.unwrap_or_default();
    }
    if is_picture(state) {
        return screens::chosen_frame(model, state, size).words;
    }
    let body = screens::body(model, state, size.0, size.1);
    let wanted = state.wanted();
    let rows = body
        .table
        .as_ref()
        .map(|table| table.wanted(&wanted))
        .unwrap_or_default();
    let row = rows.get(wanted.chosen.min(rows.len().saturating_sub(1)));
    row.map_or(String::new(), |row| {
        let cells: Vec<&str> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
        cells.join("  ").trim_end().to_owned()
    })
}
