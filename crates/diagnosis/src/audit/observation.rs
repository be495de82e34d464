//! The readings that the audit rules check: some seconds of signals, with facts, sessions and stacks.

use std::collections::BTreeMap;

use model::{
    Absent, FrameSide, Measure, ProcessList, Series, StackEvidence, TimedAbsent, Timeline, Window,
};

use super::Untold::{self, Fine, Missing};
use super::{fine_if, or};

/// Some seconds of a server, to which the audit rules are applied.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// Signals of some seconds.
    pub timeline: Timeline,
    /// Facts by name: variables, settings of the kernel, limits, places.
    pub facts: BTreeMap<String, String>,
    /// The last processlist.
    pub processlist: Option<ProcessList>,
    /// Stacks and profile of the same seconds.
    pub stacks: StackEvidence,
    /// What could not be taken.
    pub absent: Vec<TimedAbsent>,
}

/// All values fall within this window.
const ALL: Window = Window::new(0, u64::MAX);

/// With fewer samples of the server's threads than this, no share of them is reported.
const SAMPLES_MIN: u64 = 50;

/// Beginnings of names that are of no area, or of another source than their area, and what their absence is called.
const ABSENT_AS: [(&str, &str); 4] = [
    ("thp.server", "process"),
    ("limits.", "limits"),
    ("place.", "places"),
    ("server.allocator", "allocator"),
];

impl Look {
    /// A fact that every system of ours has.
    pub(super) fn fact(&self, name: &str) -> Result<&str, Untold> {
        self.maybe(name).ok_or_else(|| self.missing(name))
    }

    /// A fact that need not be there.
    pub(super) fn maybe(&self, name: &str) -> Option<&str> {
        self.facts.get(name).map(String::as_str)
    }

    /// A limit of the control group that need not be there; nothing where it is `max`.
    pub(super) fn maybe_number(&self, name: &str) -> Option<f64> {
        self.maybe(name)?.parse().ok()
    }

    /// A fact that is a number.
    pub(super) fn number(&self, name: &str) -> Result<f64, Untold> {
        self.fact(name)?
            .parse()
            .map_err(|_| Missing(format!("{name} is no number")))
    }

    /// A variable of the server; fine where the server's version does not have it.
    pub(super) fn variable(&self, name: &str) -> Result<&str, Untold> {
        let full = format!("variables.{name}");
        self.maybe(&full).ok_or_else(|| {
            let mut facts = self.facts.keys();
            match facts.any(|name| name.starts_with("variables.")) {
                true => Fine,
                false => self.missing(&full),
            }
        })
    }

    /// The same as a number.
    pub(super) fn variable_number(&self, name: &str) -> Result<f64, Untold> {
        self.variable(name)?.parse().map_err(|_| Fine)
    }

    /// Whether a switch of the server is on.
    pub(super) fn is_on(&self, name: &str) -> Result<bool, Untold> {
        Ok(matches!(or(self.variable(name), "")?, "ON" | "1" | "YES"))
    }

    fn series(&self, name: &str) -> Option<&Series> {
        self.timeline.get(name)
    }

    fn measured(&self, name: &str, measure: Measure) -> Option<f64> {
        self.timeline.measure(self.series(name)?, measure, ALL)
    }

    /// The last value of a signal.
    pub(super) fn last(&self, name: &str) -> Result<f64, Untold> {
        self.measured(name, Measure::Last)
            .ok_or_else(|| self.missing(name))
    }

    /// The same, of a signal that need not be there.
    pub(super) fn last_or(&self, name: &str, otherwise: f64) -> f64 {
        self.measured(name, Measure::Last).unwrap_or(otherwise)
    }

    /// The mean of a level.
    pub(super) fn mean(&self, name: &str) -> Result<f64, Untold> {
        self.measured(name, Measure::Mean)
            .ok_or_else(|| self.missing(name))
    }

    /// The growth of a counter a second.
    pub(super) fn rate(&self, name: &str) -> Result<f64, Untold> {
        self.measured(name, Measure::Rate)
            .ok_or_else(|| match self.series(name) {
                Some(_) => Missing(format!("{name} was read only once")),
                None => self.missing(name),
            })
    }

    /// The same, zero where the signal is not there.
    pub(super) fn rate_or_zero(&self, name: &str) -> f64 {
        self.measured(name, Measure::Rate).unwrap_or(0.0)
    }

    /// The growth of a counter of the server's status a second; fine where its version does not
    /// have it.
    pub(super) fn status_rate(&self, name: &str) -> Result<f64, Untold> {
        self.rate(&self.of_status(name)?)
    }

    /// Its last value; fine where the server's version does not have it.
    pub(super) fn status(&self, name: &str) -> Result<f64, Untold> {
        self.last(&self.of_status(name)?)
    }

    /// The signal of a status variable; fine where others are there and it is not.
    fn of_status(&self, name: &str) -> Result<String, Untold> {
        let full = format!("status.{name}");
        let lacks = self.series(&full).is_none();
        fine_if(lacks && self.timeline.matching("status.*").next().is_some())?;
        Ok(full)
    }

    /// Names of the signals `HEAD*TAIL`, as what stands for the star.
    pub(super) fn named(&self, head: &str, tail: &str) -> Vec<&str> {
        self.timeline
            .series
            .iter()
            .filter_map(|series| series.name.strip_prefix(head)?.strip_suffix(tail))
            .collect()
    }

    /// The last processlist.
    pub(super) fn processlist(&self) -> Result<&ProcessList, Untold> {
        self.processlist
            .as_ref()
            .ok_or_else(|| self.missing("processlist.sessions"))
    }

    /// The share of the server's CPU samples with one of these functions anywhere in the stack.
    pub(super) fn profile_share(&self, functions: &[&str]) -> Result<f64, Untold> {
        let book = &self.stacks.book;
        let named = |frame: &model::FrameId| {
            book.frame(*frame).is_some_and(|frame| {
                frame.side == FrameSide::User
                    && functions.iter().any(|name| frame.name.starts_with(name))
            })
        };
        let (mut all, mut hit) = (0_u64, 0_u64);
        for row in self.stacks.profiles.iter().flat_map(|p| &p.counts) {
            if row.server {
                all = all.saturating_add(row.count);
                if book.stack(row.stack).frames.iter().any(named) {
                    hit = hit.saturating_add(row.count);
                }
            }
        }
        if all < SAMPLES_MIN {
            return Err(Missing(format!(
                "{all} samples of the server's CPU time: too few to tell a share"
            )));
        }
        Ok(hit as f64 / all as f64)
    }

    /// Why something is not there, by what its source said.
    pub(super) fn missing(&self, name: &str) -> Untold {
        let own = ABSENT_AS.iter().find(|(head, _)| name.starts_with(head));
        let is_of_name = |absent: &&Absent| match own {
            Some((_, what)) => absent.what == *what,
            None => model::area_of(name).is_some_and(|area| area.is_absent_as(&absent.what)),
        };
        let mut absent = self.absent.iter().map(|timed| &timed.absent);
        let said = absent.find(is_of_name);
        Missing(match said {
            Some(absent) => format!("{name}: {} ({})", absent.reason.to_text(), absent.detail),
            None => format!("{name} is not there"),
        })
    }
}
