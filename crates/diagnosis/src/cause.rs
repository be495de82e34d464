//! A cause as plain data.

use serde::{Deserialize, Serialize};

use crate::measure::{Sign, Test};
use crate::verdict::{Finding, Level, Remedy};

/// Stands for every other cause in `effect_of`.
pub(crate) const ANY_CAUSE: &str = "*";

/// One cause.
#[derive(Debug, Clone)]
pub struct Cause {
    /// Unique id, the name of its file.
    pub id: String,
    /// Short name for people.
    pub title: String,
    /// What happens, in two or three sentences.
    pub what: String,
    /// What would refute it, in words.
    pub refuted_by: Vec<String>,
    /// Causes that look alike.
    pub look_alikes: Vec<LookAlike>,
    /// Ids of causes that this one makes worse.
    pub aggravates: Vec<String>,
    /// Ids of causes of which this one is usually a consequence when both are found; `*` is all.
    pub effect_of: Vec<String>,
    /// The layers of the lexicon that are busy or waited for when it is at work.
    pub about: Vec<String>,
    /// Words of the lexicon that point at it wherever they stand, in lower case, `*` for any letters.
    pub told: Vec<String>,
    /// Terms of the lexicon, by name, that people use when they have it.
    pub terms: Vec<String>,
    /// What to do, in general words.
    pub remedy: Remedy,
    /// Its steps that are about nobody.
    pub(crate) steps: Remedy,
    /// Its steps about somebody.
    pub(crate) advice: Vec<Advice>,
    /// Those parts of it that a program can do, in the order in which they are done.
    pub fixes: Vec<model::Fix>,
    /// Where the knowledge is from.
    pub sources: Vec<String>,
    pub(crate) witnesses: Vec<Sign>,
    pub(crate) against: Vec<Sign>,
}

impl Cause {
    /// The parts that its advice is about: whom it would name (docs/reference/causes.md).
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.advice.iter().map(|one| one.who.as_str())
    }

    /// Whether it follows from whatever makes a server slow.
    pub(crate) fn follows_from_all(&self) -> bool {
        self.effect_of.iter().any(|id| id == ANY_CAUSE)
    }

    /// A finding of it, without what speaks for it.
    pub(crate) fn finding(&self, level: Level, confidence: f64) -> Finding {
        Finding {
            cause: self.id.clone(),
            title: self.title.clone(),
            what: self.what.clone(),
            level,
            confidence,
            refuted_by: self.refuted_by.clone(),
            sources: self.sources.clone(),
            ..Finding::default()
        }
    }

    /// Its signs that count for the level.
    pub(crate) fn counting(&self) -> impl Iterator<Item = &Sign> {
        self.witnesses.iter().filter(|sign| sign.counts)
    }

    /// One of these asks for such a name of the lexicon.
    pub(crate) fn asks_for(&self, kind: lexicon::Kind, name: &str) -> bool {
        let mut calls = self.counting().filter_map(Sign::call);
        calls.any(|call| call.function.asks_for(kind, name))
    }

    /// A sign of it looks at this setting or counter, or its remedy changes it or looks at it.
    pub(crate) fn speaks_of(&self, name: &str) -> bool {
        let tests = self.witnesses.iter().map(|sign| match &sign.test {
            Test::Signals(test) => test.text.as_str(),
            Test::Fact(test) => test.name.as_str(),
            Test::Call(_) => "",
        });
        let remedy = [&self.remedy.now, &self.remedy.durable, &self.remedy.verify];
        let steps = remedy.into_iter().flatten().map(String::as_str);
        tests.chain(steps).any(|text| has_name(text, name))
    }
}

/// Whether a text has this name as a word of its own, in letters of any size.
fn has_name(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = text.split(|c| !is_part(c));
    !name.is_empty() && words.any(|word| word.eq_ignore_ascii_case(name))
}

/// A cause that looks alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LookAlike {
    /// The other cause's id.
    pub cause: String,
    /// How to tell the two apart.
    pub difference: String,
    /// It has no file in the catalogue; the difference is described in words only.
    pub external: bool,
}

/// Where in a remedy a step stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum List {
    #[default]
    Now,
    Durable,
    Undo,
    Verify,
}

/// A step about somebody.
#[derive(Debug, Clone)]
pub(crate) struct Advice {
    pub(crate) list: List,
    /// One of [`crate::actors::parts`].
    pub(crate) who: String,
    /// What is done about each that has this part, with places for its values; absent: other steps say it.
    pub(crate) step: Option<String>,
    /// The same where it is only one of those that may be it; absent: how to find it.
    pub(crate) perhaps: Option<String>,
    /// How to find it where nobody of the record has this part; absent: nothing is said.
    pub(crate) unknown: Option<String>,
    /// The same where not only this part, but none of the cause's has anybody.
    pub(crate) nobody: Option<String>,
}
