//! The loop: keys, readings, drawing. Reading has a thread of its own, so that a key is answered while a disk hangs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use cli::output::{Look, Screen as Terminal};
use crossterm::event::{self, Event, KeyEvent};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::control::{Effect, press};
use crate::draw::draw;
use crate::ink::{Palette, width};
use crate::judging::{Judge, Judging};
use crate::keys::{Press, Screen};
use crate::model::{Model, RecorderState, RecordingKind};
use crate::precedence::Precedence;
use crate::screens::page;
use crate::source::Source;
use crate::state::State;

/// What is read is drawn four times a second at the most; a key is answered at once.
const DRAWN_EVERY: Duration = Duration::from_millis(250);

/// An answer that is under way is looked for this often, for so long; then as often as all else.
const ANSWER_EVERY: Duration = Duration::from_millis(25);
const ANSWER_SOON: Duration = Duration::from_millis(200);

/// So long after its onset a stall has its verdict, if the recorder tells one, milliseconds: until then that is looked for
/// this often. It is a line that the recorder is asked; nothing else is read for it.
const VERDICT_MS: model::Millis = 30_000;
const VERDICT_EVERY: Duration = Duration::from_millis(100);

/// Keys that came together are taken before the next drawing.
const KEYS_MAX: usize = 100;

/// Recordings that are opened from one another.
const DEPTH_MAX: usize = 20;

/// The widest and highest terminal that is drawn on; what is beyond stays empty.
const LARGEST: (u16, u16) = (500, 200);

/// How the view looks.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Its colours.
    pub palette: Palette,
    /// Letters of ASCII only.
    pub is_ascii: bool,
    /// It never reserves processor time.
    pub is_ordinary: bool,
}

/// What the view can do with the files of a list.
pub struct Files<'a> {
    /// Opens one.
    pub open: &'a dyn Fn(&Path) -> Result<Box<dyn Source + Send>>,
    /// Says what came of one.
    pub judge: Judge,
}

enum Ask {
    /// The time around a moment, or the newest; with the stacks in a recorder's memory, or without.
    Read(Option<i64>, bool),
    Tell,
    Export(Arc<Model>, PathBuf),
}

enum Got {
    Read(Option<i64>, Result<Option<Arc<Model>>>, Option<Duration>),
    Told(Option<RecorderState>),
    Exported(Result<PathBuf>),
}

/// One recording with its reader.
struct Opened {
    model: Arc<Model>,
    state: State,
    asks: Sender<Ask>,
    got: Receiver<Got>,
    /// When it is read again.
    every: Option<Duration>,
    next: Instant,
    /// A reading is under way.
    is_reading: bool,
    /// When something was asked for last.
    asked: Instant,
    /// The time around which nothing was found.
    empty: Option<i64>,
    /// The last reading was with stacks.
    has_stacks: bool,
    /// A recorder goes on with what had ended: it is read at once.
    goes_on: bool,
}

/// Shows a source until its reader ends it.
pub fn run(source: Box<dyn Source + Send>, files: &Files<'_>, options: Options) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let precedence = Precedence::new();
    let pace = precedence.join();
    let mut stack = vec![opened(source, &precedence, options, 0)?];
    let mut judging = Judging::start(files.judge.clone())?;
    let mut screen = Terminal::open()?;
    let mut shown = Buffer::empty(Rect::default());
    let (mut is_changed, mut by_key) = (true, true);
    if !options.is_ordinary {
        precedence.watch();
    }
    let mut drawn = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let Some(top) = stack.last_mut() else { break };
        is_changed |= top.take() | judging.take();
        top.ask();
        if top.state.shown == Screen::Incidents {
            judging.ask(&top.model.incidents);
        }
        top.state.outcomes = judging.known();
        if is_changed && (by_key || drawn.elapsed() >= DRAWN_EVERY) {
            paint(&mut screen, &mut shown, top, options)?;
            (is_changed, by_key) = (false, false);
            drawn = Instant::now();
        }
        let mut patience = top.patience().min(wait(is_changed, drawn));
        for _ in 0..KEYS_MAX {
            precedence.comes_around_in(patience);
            if !event::poll(patience)? {
                break;
            }
            patience = Duration::ZERO;
            precedence.took_key();
            let effect = match event::read()? {
                Event::Resize(..) => Effect::Draw,
                Event::Key(key) => taken(&mut stack, key),
                _ => Effect::Nothing,
            };
            let is_answered = effect != Effect::Nothing;
            (is_changed, by_key) = (is_changed || is_answered, by_key || is_answered);
            match effect {
                Effect::Quit => return Ok(()),
                Effect::Redraw => shown = Buffer::empty(Rect::default()),
                Effect::Copy(text) => screen.copy(&text)?,
                Effect::Open(path) => {
                    pace.works(false);
                    open_into(&mut stack, &path, files, (&precedence, options));
                    pace.works(true);
                }
                Effect::Close => drop(stack.pop()),
                Effect::Export => stack.last_mut().map_or((), Opened::export),
                Effect::Draw | Effect::Nothing => {}
            }
        }
    }
    Ok(())
}

/// Gives a key to the recording on top.
fn taken(stack: &mut [Opened], key: KeyEvent) -> Effect {
    let (Some(top), Some(key)) = (stack.last_mut(), Press::from_event(key)) else {
        return Effect::Nothing;
    };
    let (columns, lines) = size();
    let effect = press(
        &top.model,
        &mut top.state,
        key,
        (columns.into(), lines.into()),
    );
    if let Effect::Copy(text) = &effect {
        top.state.message = Some(format!("copied: {text}"));
    }
    effect
}

/// Opens a file on top of what is shown; what is wrong with it is said there.
fn open_into(
    stack: &mut Vec<Opened>,
    path: &Path,
    files: &Files<'_>,
    (precedence, options): (&Arc<Precedence>, Options),
) {
    let depth = stack.len();
    let made = match depth < DEPTH_MAX {
        true => (files.open)(path).and_then(|source| opened(source, precedence, options, depth)),
        false => Err(anyhow::anyhow!(
            "{DEPTH_MAX} recordings are open: Backspace closes one"
        )),
    };
    match (made, stack.last_mut()) {
        (Ok(made), _) => stack.push(made),
        (Err(error), Some(top)) => top.state.message = Some(format!("{error:#}")),
        (Err(_), None) => {}
    }
}

/// Signals are looked for as often as readings.
fn wait(is_changed: bool, drawn: Instant) -> Duration {
    match is_changed {
        true => DRAWN_EVERY.saturating_sub(drawn.elapsed()),
        false => DRAWN_EVERY,
    }
}

fn size() -> (u16, u16) {
    let (columns, lines) = Terminal::size().unwrap_or((80, 24));
    (columns.min(LARGEST.0), lines.min(LARGEST.1))
}

/// Reads a source for the first time, and starts its reader.
fn opened(
    mut source: Box<dyn Source + Send>,
    precedence: &Arc<Precedence>,
    options: Options,
    depth: usize,
) -> Result<Opened> {
    let Some(model) = source.read(None)? else {
        anyhow::bail!("nothing was recorded yet");
    };
    let every = pace_of(&*source);
    let (asks, asked) = channel();
    let (gets, got) = channel();
    let precedence = precedence.clone();
    std::thread::Builder::new()
        .name("ff-read".to_owned())
        .spawn(move || reader(&mut *source, &asked, &gets, &precedence))?;
    let mut state = State::new(&model, options.is_ascii);
    state.depth = depth;
    Ok(Opened {
        model: Arc::new(model),
        state,
        asks,
        got,
        every,
        next: Instant::now() + every.unwrap_or_default(),
        is_reading: false,
        asked: Instant::now(),
        empty: None,
        has_stacks: false,
        goes_on: false,
    })
}

/// How often it is looked at: to read what is new, or whether a recorder goes on.
fn pace_of(source: &dyn Source) -> Option<Duration> {
    source.every().or_else(|| source.awaits())
}

fn reader(
    source: &mut dyn Source,
    asked: &Receiver<Ask>,
    gets: &Sender<Got>,
    precedence: &Arc<Precedence>,
) {
    let pace = precedence.join();
    for ask in asked {
        // Another time, and an incident, take long.
        pace.works(matches!(ask, Ask::Read(None, _) | Ask::Tell));
        let got = match ask {
            Ask::Read(around, with_stacks) => {
                source.want_stacks(with_stacks);
                let read = source.read(around).map(|model| model.map(Arc::new));
                Got::Read(around, read, pace_of(source))
            }
            Ask::Tell => Got::Told(source.recorder_state()),
            Ask::Export(model, directory) => Got::Exported(source.export(&model, &directory)),
        };
        pace.works(true);
        if gets.send(got).is_err() {
            return;
        }
    }
}

impl Opened {
    /// Takes what was read; whether anything came.
    fn take(&mut self) -> bool {
        let mut came = false;
        while let Ok(got) = self.got.try_recv() {
            // That all is well changes nothing of what is shown.
            let is_awaited = self.awaits_verdict();
            came |= match &got {
                Got::Told(told) => !is_awaited && told.as_ref().is_some_and(stalls),
                Got::Read(..) | Got::Exported(_) => true,
            };
            match got {
                Got::Read(around, read, every) => {
                    self.is_reading = false;
                    self.every = every;
                    // From its begin: one that had to wait is not followed by another wait.
                    let soonest = Instant::now() + every.unwrap_or_default() / 4;
                    self.next = self.next.max(soonest);
                    match read {
                        Ok(Some(model)) => self.model = model,
                        Ok(None) => self.is_empty_there(around),
                        Err(error) => self.state.message = Some(format!("{error:#}")),
                    }
                }
                Got::Told(told) if is_awaited => {
                    self.is_reading = false;
                    // It is read with all that belongs to it.
                    if told.is_some_and(|told| told.verdict.is_some()) {
                        self.next = Instant::now();
                    }
                }
                Got::Told(told) => {
                    self.is_reading = false;
                    self.goes_on = told.is_some() && self.model.kind == RecordingKind::History;
                    if told.as_ref().is_some_and(stalls) {
                        self.state.message =
                            Some("the server stalls now: End goes there".to_owned());
                    } else if self.goes_on {
                        let is_frozen = self.state.at_wall_ms.is_some();
                        self.state.message = Some(match is_frozen {
                            true => "a recorder runs now: End goes there".to_owned(),
                            false => "a recorder runs now".to_owned(),
                        });
                    }
                }
                Got::Exported(Ok(path)) => {
                    self.state.message = Some(format!("wrote {}", path.display()))
                }
                Got::Exported(Err(error)) => self.state.message = Some(format!("{error:#}")),
            }
        }
        came
    }

    fn is_empty_there(&mut self, around: Option<i64>) {
        if around.is_some() {
            self.empty = around;
            self.state.message = Some("nothing was recorded then".to_owned());
            let at = self.state.at(&self.model);
            self.state.at_wall_ms = Some(self.model.clock().wall_ms(at));
        }
    }

    /// Asks for what is missing: the time that the cursor went to, the newest where it follows.
    fn ask(&mut self) {
        if self.is_reading
            || !matches!(
                self.model.kind,
                RecordingKind::History | RecordingKind::Recorder
            )
        {
            return;
        }
        let clock = self.model.clock();
        let (first, last) = (
            clock.wall_ms(self.model.first()),
            clock.wall_ms(self.model.last()),
        );
        let wanted = self.wants_stacks();
        let goes_on = std::mem::take(&mut self.goes_on);
        let is_followed = self.every.is_some() && self.model.kind == RecordingKind::Recorder;
        let is_due = self.every.is_some() && Instant::now() >= self.next;
        let ask = match self.state.at_wall_ms {
            around if goes_on => Some(Ask::Read(around, wanted)),
            None if !self.model.is_newest => Some(Ask::Read(None, wanted)),
            Some(wall) if wall < first || (wall > last && !self.model.is_newest) => {
                (self.empty != Some(wall)).then_some(Ask::Read(Some(wall), wanted))
            }
            around if is_followed && wanted && !self.has_stacks => Some(Ask::Read(around, wanted)),
            None if is_followed && is_due => Some(Ask::Read(None, wanted)),
            None if self.awaits_verdict() && self.asked.elapsed() >= VERDICT_EVERY => {
                Some(Ask::Tell)
            }
            _ if is_due => Some(Ask::Tell),
            _ => None,
        };
        if let Some(ask) = ask {
            if let Ask::Read(_, with_stacks) = ask {
                self.has_stacks = with_stacks;
            }
            self.asked = Instant::now();
            if is_due || matches!(ask, Ask::Read(..)) {
                self.next = self.asked + self.every.unwrap_or_default();
            }
            self.is_reading = self.asks.send(ask).is_ok();
        }
    }

    /// The stall of this moment was noticed, and its recorder has not said yet what it is.
    fn awaits_verdict(&self) -> bool {
        let awaits = |told: &RecorderState| {
            told.verdict.is_none() && told.stalled_ms.is_some_and(|ms| ms < VERDICT_MS)
        };
        self.state.at_wall_ms.is_none() && self.model.recorder.as_ref().is_some_and(awaits)
    }

    /// How long there is nothing to take.
    fn patience(&self) -> Duration {
        match self.is_reading && self.asked.elapsed() < ANSWER_SOON {
            true => ANSWER_EVERY,
            false if self.awaits_verdict() => VERDICT_EVERY,
            false => DRAWN_EVERY,
        }
    }

    /// Stacks are shown: on the screens of threads, and on others while a stall lasts.
    fn wants_stacks(&self) -> bool {
        let screens = [Screen::Threads, Screen::Locks, Screen::Flame];
        screens.contains(&self.state.shown) || self.model.recorder.as_ref().is_some_and(stalls)
    }

    fn export(&mut self) {
        let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let _ = self.asks.send(Ask::Export(self.model.clone(), directory));
        self.state.message = Some("writing".to_owned());
    }
}

fn stalls(told: &RecorderState) -> bool {
    told.stalled_ms.is_some()
}

/// Draws the cells that changed.
fn paint(screen: &mut Terminal, shown: &mut Buffer, top: &Opened, options: Options) -> Result<()> {
    let (columns, lines) = size();
    let area = Rect::new(0, 0, columns, lines);
    if shown.area() != &area {
        screen.clear()?;
        *shown = Buffer::empty(area);
    }
    let mut next = Buffer::empty(area);
    let lines = page(&top.model, &top.state, columns.into(), lines.into());
    draw(&lines, area, &mut next, options.palette, options.is_ascii);
    let mut last: Option<(u16, u16)> = None;
    for (x, y, cell) in shown.diff(&next) {
        // The cursor is where the cell before left it, unless that one was wide.
        if last != Some((x, y)) {
            screen.go(x, y)?;
        }
        let modifier = cell.modifier;
        let look = Look {
            colour: match cell.fg {
                Color::Indexed(colour) => Some(colour),
                _ => None,
            },
            bold: modifier.contains(Modifier::BOLD),
            faint: modifier.contains(Modifier::DIM),
            reversed: modifier.contains(Modifier::REVERSED),
        };
        screen.write(cell.symbol(), look)?;
        last = (width(cell.symbol()) == 1).then_some((x + 1, y));
    }
    screen.flush()?;
    *shown = next;
    Ok(())
}

#[cfg(test)]
mod tests;
