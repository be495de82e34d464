//! The readings that the audit rules check: some seconds of signals, with facts, sessions and stacks.

use std::collections::BTreeMap;

use model::{Absent, Measure, ProcessList, StackEvidence, TimedAbsent, Timeline, Window};

use super::Untold::{self, Fine, Missing};

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

/// Beginnings of names that are of no area, or of another source than their area, and what their absence is called.
const ABSENT_AS: [(&str, &str); 4] = [
    ("thp.server", "process"),
    ("limits.", "limits"),
    ("place.", "places"),
    ("server.allocator", "allocator"),
];

impl Look {
    /// A fact; fine where it is a variable that the server's version does not have.
    pub(super) fn fact(&self, name: &str) -> Result<&str, Untold> {
        let lacks = || {
            let mut names = self.facts.keys();
            is_variable(name) && names.any(|name| is_variable(name))
        };
        match self.facts.get(name) {
            Some(value) => Ok(value),
            None if lacks() => Err(Fine),
            None => Err(self.missing(name)),
        }
    }

    /// A fact that is a number.
    pub(super) fn number(&self, name: &str) -> Result<f64, Untold> {
        self.fact(name)?.parse().map_err(|_| match name {
            name if is_variable(name) => Fine,
            name => Missing(format!("{name} is no number")),
        })
    }

    /// What a signal came to, or all that match a pattern; fine where it is of a status variable that the server's version
    /// does not have.
    pub(super) fn signal(&self, name: &str, measure: Measure) -> Result<f64, Untold> {
        let is_there = |name| self.timeline.matching(name).next().is_some();
        if name.starts_with("status.") && !is_there(name) && is_there("status.*") {
            return Err(Fine);
        }
        let series = self.timeline.matching(name);
        let values = series.filter_map(|one| self.timeline.measure(one, measure, ALL));
        let sum = values.reduce(|sum, value| sum + value);
        sum.ok_or_else(|| match measure {
            Measure::Rate if is_there(name) => Missing(format!("{name} was read only once")),
            _ => self.missing(name),
        })
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

fn is_variable(name: &str) -> bool {
    name.starts_with("variables.")
}
