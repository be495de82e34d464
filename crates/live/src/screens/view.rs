//! What a screen is given, and what it makes of it.

use model::{Incident, Millis, Series, StackEvidence, Timeline, Window};
use report::format;

use crate::ink::{Ink, Line};
use crate::model::{IncidentEntry, Model, RecordingKind};
use crate::state::State;
use crate::stats::{self, Point, Spread};
use crate::table::{Table, TableOptions};

/// A strip of the last minute has at least this length, milliseconds.
const STRIP_MS: Millis = 60_000;

/// What a screen is a function of.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// What was recorded.
    pub model: &'a Model,
    /// What its reader chose.
    pub state: &'a State,
    /// The moment that is looked at.
    pub at: Millis,
    /// The time that it is compared with.
    pub normal: Window,
    /// Columns of the terminal.
    pub columns: usize,
    /// Lines that the screen may have.
    pub lines: usize,
}

/// What a screen is: lines above, a table, lines below; or lines in which boxes are chosen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Body {
    /// Above the table.
    pub head: Vec<Line>,
    /// The table.
    pub table: Option<Table>,
    /// Below it.
    pub foot: Vec<Line>,
    /// Boxes among the lines above that can be chosen.
    pub boxes: usize,
}

/// A number of things in words: `1 text`, `3 texts`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

impl Body {
    /// Lines and a table.
    pub fn from_table(head: Vec<Line>, table: Table) -> Self {
        Self {
            head,
            table: Some(table),
            ..Self::default()
        }
    }
}

impl Body {
    /// What can be chosen: rows, or boxes.
    pub fn choices(&self, wanted: &TableOptions) -> usize {
        let rows = self.table.as_ref().map(|table| table.wanted(wanted).len());
        rows.unwrap_or(self.boxes)
    }
}

impl<'a> View<'a> {
    /// The incident.
    pub fn incident(&self) -> &'a Incident {
        &self.model.incident
    }

    /// The stacks.
    pub fn stacks(&self) -> &'a StackEvidence {
        self.model.stacks()
    }

    /// The signals.
    pub fn timeline(&self) -> &'a Timeline {
        &self.model.incident.timeline
    }

    /// The time that the moment is compared with.
    pub fn normal(&self) -> Window {
        self.normal
    }

    /// What a signal was in that time.
    pub fn usual(&self, series: &Series) -> Option<Spread> {
        self.usual_of(&series.name, || {
            stats::spread(self.timeline(), series, self.normal)
        })
    }

    /// The same of what is made of several signals.
    pub fn usual_of(&self, name: &str, compute: impl FnOnce() -> Option<Spread>) -> Option<Spread> {
        let clock = self.model.clock();
        let window = (
            clock.wall_ms(self.normal.from),
            clock.wall_ms(self.normal.to),
        );
        self.model.usual.of(window, name, compute)
    }

    /// A moment in words.
    pub fn clock(&self, at: Millis) -> String {
        format::time_text(self.model.clock(), at)
    }

    /// From one moment to another, in words.
    pub fn span(&self, from: Millis, to: Millis) -> String {
        let (from, to) = (self.clock(from), self.clock(to));
        match from == to {
            true => from,
            false => format!("{from} to {to}"),
        }
    }

    /// A moment in words with its date, where it is known.
    pub fn date(&self, at: Millis) -> String {
        let clock = self.model.clock();
        let moment = jiff::Timestamp::from_millisecond(clock.wall_ms(at));
        match moment.ok().filter(|_| clock.is_known()) {
            Some(moment) => moment.strftime("%Y-%m-%d %H:%M:%S").to_string(),
            None => self.clock(at),
        }
    }

    /// Why something is not there: of a recording in these words, and captures never had it.
    pub fn missing(&self, captures: &str, recorded: &str) -> String {
        match self.model.kind {
            RecordingKind::Captures => format!("{captures} are not among the captures"),
            _ => recorded.to_owned(),
        }
    }

    /// Why stacks, or what is made of them, are not there, and where they are.
    pub fn no_stacks(&self, what: &str, taken: &str) -> String {
        let is_history = matches!(
            self.model.kind,
            RecordingKind::History | RecordingKind::Recorder
        );
        let stall = self.model.stall_at(self.at).filter(|_| is_history);
        let onset = stall.map(|stall| self.model.clock().wall_ms(stall.onset));
        let is_of_stall = |one: &&IncidentEntry| {
            one.path.is_some()
                && one.server == self.incident().server.label
                && onset.is_some_and(|onset| one.is_of(onset))
        };
        let where_they_are = match self.model.incidents.iter().find(is_of_stall) {
            Some(_) => "a history keeps none, the incident of this stall has them: 8, Enter",
            None if onset.is_some() => {
                "a history keeps none, they will be in the incident of this stall: 8"
            }
            None if self.model.has_recent_stacks(self.at) => taken,
            None if self.model.kind == RecordingKind::Recorder => {
                "the recorder has those of the last minutes in memory, incidents keep them: 8"
            }
            None if is_history => "a history keeps none, incidents have them: 8",
            None => taken,
        };
        self.missing(what, &format!("no {what} of this moment: {where_they_are}"))
    }

    /// A line across.
    pub fn rule(&self) -> Line {
        let sign = if self.state.is_ascii { "-" } else { "─" };
        Line::colored(Ink::Dim, &sign.repeat(self.columns))
    }

    /// How long a strip of so many columns reaches back: a second each, or a minute in all.
    pub fn strip_ms(count: usize) -> Millis {
        (count as Millis * 1000).max(STRIP_MS)
    }

    /// The time of such a strip, as far as there is one: a recording's clock begins at 0.
    pub fn strip_window(&self, count: usize) -> Window {
        Window {
            from: self.at.saturating_sub(Self::strip_ms(count)),
            to: self.at,
        }
    }

    /// The columns of a strip; empty those before the clock's begin.
    pub fn strip_columns(&self, points: &[Point], count: usize) -> Vec<Option<f64>> {
        let window = self.strip_window(count);
        let there = window.to - window.from;
        let used = (there * count as Millis).div_ceil(Self::strip_ms(count));
        let used = usize::try_from(used).unwrap_or(count).min(count);
        let mut columns = vec![None; count - used];
        columns.extend(stats::columns(points, window, used));
        columns
    }

    /// A signal as a strip. What is a share stands for itself; all else for the most that it was.
    pub fn strip(&self, name: &str, count: usize) -> String {
        let Some(series) = self.timeline().get(name) else {
            return String::new();
        };
        let points = stats::points(self.timeline(), series, self.strip_window(count));
        let top = match series.unit {
            model::Unit::Share => 1.0,
            _ => points.iter().map(|point| point.value).fold(0.0, f64::max),
        };
        self.letters(&points, top, count)
    }

    /// Values as a strip.
    pub fn letters(&self, points: &[Point], top: f64, count: usize) -> String {
        let columns = self.strip_columns(points, count);
        stats::strip(&columns, top, self.state.is_ascii)
    }
}
