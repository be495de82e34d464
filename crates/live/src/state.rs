//! What the reader of the screens has chosen: screen, moment, rows, filters, what lies over it.

use std::collections::HashMap;
use std::sync::Arc;

use model::Millis;

use crate::judging::Outcomes;
use crate::keys::{SCREENS, Screen};
use crate::model::Model;
use crate::table::TableOptions;

/// What lies over a screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Overlay {
    /// Nothing.
    #[default]
    Nothing,
    /// The keys.
    Help,
    /// Witnesses.
    Why,
    /// What to do.
    Remedy,
    /// How long answers took, by fifths of a second.
    Map,
    /// One row, in full.
    Detail {
        /// Its title.
        title: String,
        /// Its lines.
        lines: Vec<String>,
    },
}

/// What is being typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptKind {
    /// A filter of the table.
    Filter,
    /// A moment.
    Time,
    /// A word in the help.
    Help,
}

/// A line that is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What for.
    pub asked: PromptKind,
    /// So far.
    pub text: String,
    /// What is wrong with it.
    pub wrong: Option<String>,
}

/// Which threads the flame graph is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FlameOf {
    /// Those that a processor runs.
    #[default]
    Processors,
    /// Those that wait.
    Waiting,
}

/// How the flame graph is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flame {
    /// What it is of.
    pub of: FlameOf,
    /// As a table of functions.
    pub is_table: bool,
    /// The names from the root to the frame that fills the picture: profiles come and go, names stay.
    pub zoom: Vec<String>,
}

/// The state.
#[derive(Debug, Clone)]
pub struct State {
    /// The screen.
    pub shown: Screen,
    /// The moment that is looked at, milliseconds since 1970 UTC; the newest where there is none.
    pub at_wall_ms: Option<i64>,
    /// How each table is wanted.
    pub tables: HashMap<Screen, TableOptions>,
    /// The filters as they were typed.
    pub filters: HashMap<Screen, String>,
    /// How the flame graph is looked at.
    pub flame: Flame,
    /// What lies over it.
    pub over: Overlay,
    /// Lines of it that are above.
    pub scroll: usize,
    /// What is typed.
    pub input: Option<Prompt>,
    /// The word that the help is searched for.
    pub help_word: String,
    /// Said once.
    pub message: Option<String>,
    /// The screens before, for Backspace.
    pub trail: Vec<Screen>,
    /// Recordings that lie below this one: it was opened from a list.
    pub depth: usize,
    /// What came of the incidents in the list, as far as they were judged.
    pub outcomes: Arc<Outcomes>,
    /// Letters of ASCII only.
    pub is_ascii: bool,
}

/// Screens that Backspace goes back through.
pub const TRAIL_MAX: usize = 50;

impl State {
    /// At the begin: the first screen, at the moment where the model opens.
    pub fn new(model: &Model, is_ascii: bool) -> Self {
        let is_newest = model.opening() == model.last();
        Self {
            shown: Screen::Now,
            at_wall_ms: (!is_newest).then(|| model.clock().wall_ms(model.opening())),
            tables: HashMap::new(),
            filters: HashMap::new(),
            flame: Flame::default(),
            over: Overlay::Nothing,
            scroll: 0,
            input: None,
            help_word: String::new(),
            message: None,
            trail: Vec::new(),
            depth: 0,
            outcomes: Arc::default(),
            is_ascii,
        }
    }

    /// The moment that is looked at.
    pub fn at(&self, model: &Model) -> Millis {
        self.at_wall_ms
            .map_or_else(|| model.last(), |wall| model.own(wall))
    }

    /// How the table of the screen is wanted.
    pub fn wanted(&self) -> TableOptions {
        self.tables.get(&self.shown).cloned().unwrap_or_default()
    }

    /// The name of the screen.
    pub fn name(&self) -> &'static str {
        let mut screens = SCREENS.iter();
        let shown = screens.find(|screen| screen.shown == self.shown);
        shown.map_or("", |screen| screen.name)
    }
}
