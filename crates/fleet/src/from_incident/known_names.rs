//! The names in a server's history and what stands for them, found out once.
//!
//! Calm has the same names from minute to minute. To look through its facts and signals for them takes longer than all else
//! that is done with a minute; so it is done when a name, a value of a fact or an absence is met that was not there before
//! and may be somebody's.

use std::collections::{HashMap, HashSet};

use export::redact::{self, Names, Newcomers};
use model::{Absent, Fact, Incident, Series, Server, TimedAbsent, TimedFact, Timeline};

use super::{Refused, redacted};
use crate::batch::Batch;
use crate::tables::SIGNALS;

/// Signals that are remembered: programs and disks come and go. With more, only those of now are.
const SIGNALS_MAX: usize = 8_192;

/// The same of absences, and of the values of a fact.
const ABSENT_MAX: usize = 512;
const VALUES_MAX: usize = 16;

/// What stands for the names in the history of one server, in a fleet with one salt.
pub struct KnownNames {
    salt: Vec<u8>,
    known: Option<Known>,
}

/// What was looked through, and what came of it.
pub(super) struct Known {
    host: String,
    server: Server,
    version: String,
    /// By the signal's name what stands for it, where that is another: most keep theirs.
    signals: HashMap<String, Option<String>>,
    /// By the fact's name: its values, and the fact that stands for each, where that is another.
    facts: HashMap<String, Vec<(String, Option<Fact>)>>,
    absent: HashMap<Absent, Absent>,
    /// What must be in no row.
    names: Names,
    /// Texts of rows in which none of them is.
    clean: HashSet<String>,
}

impl KnownNames {
    /// Nothing is known yet. `salt`: the fleet's.
    pub fn new(salt: &[u8]) -> Self {
        Self {
            salt: salt.to_vec(),
            known: None,
        }
    }

    /// The fleet's salt.
    pub(super) fn salt(&self) -> &[u8] {
        &self.salt
    }

    /// What of this history must be looked through before it can have other names, without its values; none where all is
    /// known. Looking takes as much memory as the values of a minute do: whoever has little lets go of them before
    /// [`KnownNames::find_out`], and reads them again afterwards.
    pub fn unknown(&mut self, history: &Incident) -> Option<UnknownNames> {
        let is_known = |known: &mut Known| known.knows(history);
        if self.known.as_mut().is_some_and(is_known) {
            return None;
        }
        let before = self.known.take();
        Some(UnknownNames::of(
            history,
            before.map(|before| before.signals),
        ))
    }

    /// Looks through what is unknown.
    ///
    /// # Errors
    ///
    /// When names were met that could not all be followed, or one would be left.
    pub fn find_out(&mut self, unknown: UnknownNames) -> Result<(), Refused> {
        let known = Known::find_out(unknown, &self.salt);
        // What is made of it now needs the room.
        redact::forget_forms();
        self.known = Some(known?);
        Ok(())
    }

    /// The history with other names, without values, and what stands for its signals.
    ///
    /// # Errors
    ///
    /// As [`KnownNames::find_out`].
    pub(super) fn rename(&mut self, history: &Incident) -> Result<(Incident, &mut Known), Refused> {
        if let Some(unknown) = self.unknown(history) {
            self.find_out(unknown)?;
        }
        let known = self.known.as_mut();
        // All of it is known by now.
        known
            .and_then(|known| Some((known.rename(history)?, known)))
            .ok_or(Refused::Unredactable(redact::Unredactable::TooManyNames))
    }
}

/// What of a history is to be looked through: its facts, absences and names of signals, without values.
pub struct UnknownNames(Incident);

impl UnknownNames {
    /// Of this history, and of the signals that were known before: a program that is gone comes back.
    fn of(history: &Incident, before: Option<HashMap<String, Option<String>>>) -> Self {
        let mut looked_at = bare(history);
        looked_at.facts.clone_from(&history.facts);
        looked_at.absent.clone_from(&history.absent);
        for source in &history.timeline.sources {
            looked_at.timeline.add_source(&source.name, Vec::new());
        }
        let mut add = |series: Series| {
            looked_at.timeline.add_series(series);
        };
        for series in &history.timeline.series {
            add(Series {
                name: series.name.clone(),
                unit: series.unit,
                kind: series.kind,
                source: series.source,
                values: Vec::new(),
            });
        }
        let earlier = before.unwrap_or_default();
        let now = &history.timeline;
        if earlier.len() + now.series.len() <= SIGNALS_MAX {
            let mut earlier: Vec<String> = earlier.into_keys().collect();
            earlier.sort_unstable();
            for name in earlier {
                if now.get(&name).is_none() {
                    add(Series {
                        name,
                        unit: model::Unit::Count,
                        kind: model::SignalKind::Gauge,
                        source: 0,
                        values: Vec::new(),
                    });
                }
            }
        }
        Self(looked_at)
    }
}

impl Known {
    /// What stands for this signal.
    pub(super) fn signal(&self, name: &str) -> Option<&str> {
        let (own, other) = self.signals.get_key_value(name)?;
        Some(other.as_deref().unwrap_or(own))
    }

    /// Whether all of a history is known. What is new and nobody's is from now on.
    fn knows(&mut self, history: &Incident) -> bool {
        let is_its = self.host == history.host && self.server == history.server;
        let new = self.newcomers(history);
        let is_nothing = new.signals.is_empty() && new.facts.is_empty() && new.absent.is_empty();
        is_its && (is_nothing || self.learn(new))
    }

    /// The history with what is known; none where a fact or an absence of it is not.
    fn rename(&self, history: &Incident) -> Option<Incident> {
        let fact = |timed: &TimedFact| {
            let mut values = self.facts.get(&timed.fact.name)?.iter();
            let (_, renamed) = values.find(|(value, _)| *value == timed.fact.value)?;
            let fact = renamed.as_ref().unwrap_or(&timed.fact);
            Some(TimedFact {
                at: timed.at,
                fact: fact.clone(),
            })
        };
        let absent = |timed: &TimedAbsent| {
            let mut timed = timed.clone();
            timed.absent = self.absent.get(&timed.absent)?.clone();
            Some(timed)
        };
        let mut renamed = Incident {
            facts: history.facts.iter().map(fact).collect::<Option<_>>()?,
            absent: history.absent.iter().map(absent).collect::<Option<_>>()?,
            ..bare(history)
        };
        renamed.server.version.clone_from(&self.version);
        Some(renamed)
    }

    /// Adds what is new, where it is nobody's: a state that no session had before, a setting with another number. Whether
    /// it did.
    fn learn(&mut self, new: Newcomers<'_>) -> bool {
        let is_clean = |text: &str| self.names.find_in_text(text.as_bytes()).is_none();
        let (mut signals, mut facts) = (new.signals.iter(), new.facts.iter());
        let mut absent = new.absent.iter();
        let are_clean = signals.all(|name| is_clean(name))
            && facts.all(|fact| is_clean(&fact.name) && is_clean(&fact.value))
            && absent.all(|one| is_clean(&one.what) && is_clean(&one.detail));
        if !are_clean || !self.has_room(&new) || !redact::are_nobodys(&new) {
            return false;
        }
        let signals = new.signals.into_iter().map(|name| (name.to_owned(), None));
        self.signals.extend(signals);
        for fact in new.facts {
            let values = self.facts.entry(fact.name.clone()).or_default();
            if !values.iter().any(|(value, _)| *value == fact.value) {
                values.push((fact.value.clone(), None));
            }
        }
        let absent = new.absent.into_iter();
        let absent = absent.map(|absent| (absent.clone(), absent.clone()));
        self.absent.extend(absent);
        true
    }

    /// What was not looked through.
    fn newcomers<'a>(&self, history: &'a Incident) -> Newcomers<'a> {
        let signals = history.timeline.series.iter();
        let signals = signals.map(|series| series.name.as_str());
        let facts = history.facts.iter().map(|timed| &timed.fact);
        let absent = history.absent.iter().map(|timed| &timed.absent);
        let is_known = |fact: &Fact| {
            let mut values = self.facts.get(&fact.name).into_iter().flatten();
            values.any(|(value, _)| *value == fact.value)
        };
        Newcomers {
            signals: signals
                .filter(|name| !self.signals.contains_key(*name))
                .collect(),
            facts: facts.filter(|fact| !is_known(fact)).collect(),
            absent: absent
                .filter(|absent| !self.absent.contains_key(*absent))
                .collect(),
        }
    }

    /// What is remembered has a bound. Above it is forgotten what is not of now.
    fn has_room(&self, new: &Newcomers<'_>) -> bool {
        let has_room = |fact: &&Fact| {
            let values = self.facts.get(&fact.name);
            values.is_none_or(|values| values.len() < VALUES_MAX)
        };
        self.signals.len() + new.signals.len() <= SIGNALS_MAX
            && self.absent.len() + new.absent.len() <= ABSENT_MAX
            && new.facts.iter().all(has_room)
    }

    /// Looks through what is unknown.
    fn find_out(unknown: UnknownNames, salt: &[u8]) -> Result<Self, Refused> {
        let looked_at = unknown.0;
        let done = redact::redact(&looked_at, salt, "").map_err(Refused::Unredactable)?;
        // What is left is searched with other forms.
        redact::forget_forms();
        let renamed = done.incident;
        let signals = looked_at.timeline.series.into_iter();
        let signals = signals.zip(renamed.timeline.series);
        let signals = signals.map(|(one, renamed)| {
            let other = (renamed.name != one.name).then_some(renamed.name);
            (one.name, other)
        });
        let mut facts: HashMap<String, Vec<(String, Option<Fact>)>> = HashMap::new();
        for (one, renamed) in looked_at.facts.into_iter().zip(renamed.facts) {
            let other = (renamed.fact != one.fact).then_some(renamed.fact);
            // Nearly all have one value.
            let values = facts.entry(one.fact.name);
            let values = values.or_insert_with(|| Vec::with_capacity(1));
            if !values.iter().any(|(value, _)| *value == one.fact.value) {
                values.push((one.fact.value, other));
            }
        }
        let absent = looked_at.absent.into_iter().zip(renamed.absent);
        let known = Self {
            host: looked_at.host,
            server: looked_at.server,
            version: renamed.server.version,
            signals: signals.collect(),
            facts,
            absent: absent
                .map(|(one, renamed)| (one.absent, renamed.absent))
                .collect(),
            names: done.names,
            clean: HashSet::new(),
        };
        known.check_signals()?;
        Ok(known)
    }

    /// Refuses rows in which a name stands that was replaced. A text is searched once: what a minute says of its server is
    /// what the one before said.
    pub(super) fn check(&mut self, batch: &Batch) -> Result<(), Refused> {
        redacted::check_new(batch, &self.names, &mut self.clean)
    }

    /// Refuses signals in which a name stands that was replaced. All other texts of a minute are few, and are searched as
    /// they come.
    fn check_signals(&self) -> Result<(), Refused> {
        for (name, other) in &self.signals {
            let shown = other.as_ref().unwrap_or(name);
            if let Some(leak) = self.names.find_in_text(shown.as_bytes()) {
                return Err(Refused::Leak {
                    leak,
                    table: SIGNALS.name,
                    column: "signal",
                });
            }
        }
        Ok(())
    }
}

/// Whose history it is, and of when, without what was recorded.
fn bare(history: &Incident) -> Incident {
    Incident {
        id: history.id.clone(),
        host: history.host.clone(),
        tool_version: history.tool_version.clone(),
        server: history.server.clone(),
        clock: history.clock.clone(),
        stall: history.stall.clone(),
        window: history.window,
        timeline: Timeline::default(),
        texts: Vec::new(),
        facts: Vec::new(),
        stacks: model::StackEvidence::default(),
        queries: Vec::new(),
        mentions: Vec::new(),
        known_words: Vec::new(),
        absent: Vec::new(),
    }
}
