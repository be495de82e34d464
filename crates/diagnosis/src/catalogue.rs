//! The catalogue: causes as plain data, read from one TOML file each.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Serialize;

use crate::advice::Advice;
use crate::cause_file::{self, CauseFile};
use crate::functions::Call;
use crate::human::Show;
use crate::provenance;
use crate::template::Template;
use crate::verdict::Remedy;
use expression::{Condition, Expression};

/// The files of `causes/`, as (name, text), embedded by `build.rs`.
const BUILTIN_FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/builtin_causes.rs"));

/// The name under which the processlists are a source, and are missed.
pub(crate) const PROCESSLIST: &str = "processlist";

/// The name under which profiles of the processors are a source, and are missed.
pub(crate) const PROFILE: &str = "profile";

/// The same of snapshots of all threads.
pub(crate) const STACKS: &str = "stacks";

/// The name under which lists of waits for latches are missed.
pub(crate) const SEMAPHORES: &str = "semaphores";

/// Stands for every other cause in `effect_of`.
pub(crate) const ANY_CAUSE: &str = "*";

/// Known causes of stalls.
#[derive(Debug, Clone)]
pub struct Catalogue {
    causes: Vec<Cause>,
}

/// One cause.
#[derive(Debug, Clone)]
pub struct Cause {
    /// Unique id, the name of its file.
    pub id: String,
    /// Short name for people.
    pub title: String,
    /// What it is, in two sentences.
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

/// A cause that looks alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LookAlike {
    /// Its id.
    pub cause: String,
    /// How to tell the two apart.
    pub difference: String,
    /// It has no file in the catalogue; the difference is told in words only.
    pub external: bool,
}

/// A test on the evidence whose outcome speaks for or against a cause.
#[derive(Debug, Clone)]
pub(crate) struct Sign {
    pub(crate) id: String,
    pub(crate) says: Template,
    pub(crate) need: Need,
    pub(crate) conclusive: bool,
    /// Whether it counts for the level: a circumstance that must hold does not.
    pub(crate) counts: bool,
    /// For a sign against: whether it refutes, or only weakens.
    pub(crate) refutes: bool,
    pub(crate) test: Test,
    /// A number says nothing in windows in which one of these does not hold.
    pub(crate) only_if: Vec<Condition>,
    /// Windows in which all of these hold say nothing.
    pub(crate) left_out_if: Vec<Condition>,
    /// It is looked for in each thing that `*` stands for.
    pub(crate) each: bool,
    /// None for a fact, which is compared as a text.
    pub(crate) limits: Limits,
    pub(crate) over: Over,
    /// How its number is written.
    pub(crate) show: Show,
}

/// Whether a cause can be considered without a sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Need {
    Optional,
    Necessary,
    /// One of the signs of this group is necessary.
    OneOf(String),
    /// It takes the place of the sign with this id where that one cannot be judged.
    InsteadOf(String),
}

impl Need {
    /// Whether a cause is not considered without it, or without its group.
    pub(crate) fn is_needed(&self) -> bool {
        matches!(self, Self::Necessary | Self::OneOf(_))
    }
}

/// What is looked at.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    /// A number that is computed from signals.
    Signals(SignalsTest),
    /// The number of a function.
    Call(Call),
    Fact(FactTest),
}

#[derive(Debug, Clone)]
pub(crate) struct SignalsTest {
    /// As it is written in the file.
    pub(crate) text: String,
    pub(crate) expression: Expression,
}

#[derive(Debug, Clone)]
pub(crate) struct FactTest {
    pub(crate) name: String,
    pub(crate) wanted: Wanted,
    /// How its number is written; else as the server writes it.
    pub(crate) show: Option<Show>,
}

#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    Equals(String),
    Not(String),
    Matches(regex::Regex),
    Above(f64),
    Below(f64),
}

/// When a number is a sign. Limits are included: `above = 3` holds for 3.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Limits {
    pub(crate) above: Option<f64>,
    pub(crate) below: Option<f64>,
    /// At least so many times the value before the onset.
    pub(crate) times_baseline: Option<f64>,
    /// At most so many times the value before the onset.
    pub(crate) at_most_times_baseline: Option<f64>,
    /// Where nothing is known of the time before, the other limits suffice.
    pub(crate) baseline_optional: bool,
}

impl Cause {
    /// The sources that its counting witnesses come from; it can be likely when there are two.
    pub fn independent_sources(&self) -> BTreeSet<String> {
        self.witnesses
            .iter()
            .filter(|sign| sign.counts)
            .map(Sign::source)
            .collect()
    }
}

impl Sign {
    /// The source of the evidence: that of the first signal or fact.
    pub(crate) fn source(&self) -> String {
        match &self.test {
            Test::Signals(SignalsTest { expression, .. }) => {
                let patterns = expression.patterns();
                let name = patterns.first().copied();
                provenance::source_of(name.or(expression.first_fact()).unwrap_or_default())
            }
            Test::Call(call) => call.function.source().to_owned(),
            Test::Fact(test) => provenance::source_of(&test.name),
        }
    }

    /// The function that it asks.
    pub(crate) fn call(&self) -> Option<&Call> {
        match &self.test {
            Test::Call(call) => Some(call),
            Test::Signals(_) | Test::Fact(_) => None,
        }
    }
}

impl Limits {
    /// Whether large values are the sign, or small ones.
    pub(crate) fn wants_high(&self) -> bool {
        self.above.is_some() || self.times_baseline.is_some()
    }

    /// The same on a number of threads, sessions or waits where so few sessions are in statements that they cannot be a
    /// crowd: half of them is one.
    pub(crate) fn of_few(mut self, in_statements: f64) -> Self {
        self.above = self.above.map(|above| above.min(in_statements / 2.0));
        self
    }

    /// The same on a number of threads, sessions or waits of which a part is shown: one is what was shown.
    pub(crate) fn in_part(mut self) -> Self {
        self.above = self.above.map(|above| above.min(1.0));
        self
    }
}

/// Over which part of the stall a number must be a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// In the slice where it is most so.
    Worst,
    /// In every slice.
    Every,
    /// Over the stall as a whole.
    Stall,
}

/// What is wrong with a catalogue, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{file}:{line}: {}{problem}", key.as_ref().map_or(String::new(), |key| format!("{key}: ")))]
pub struct CatalogueError {
    /// The file's name as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in it, in characters, from 1.
    pub column: usize,
    /// The key at fault, where there is one.
    pub key: Option<String>,
    /// What is wrong.
    pub problem: String,
}

/// The built-in catalogue with a user's own causes.
#[derive(Debug, Clone)]
pub struct Extended {
    /// All causes, by id.
    pub catalogue: Catalogue,
    /// Ids of those that are the user's.
    pub own: BTreeSet<String>,
    /// Ids of built-in causes whose place was taken.
    pub replaced: BTreeSet<String>,
    /// What is wrong with files; none of these is in the catalogue.
    pub problems: Vec<CatalogueError>,
}

/// Reads files that must make a whole by themselves.
fn read_all<N: AsRef<str>, T: AsRef<str>>(
    files: &[(N, T)],
) -> (Vec<CauseFile>, Vec<CatalogueError>) {
    let mut ids = BTreeSet::new();
    let mut read = Vec::new();
    let mut problems = Vec::new();
    for (name, text) in files {
        match cause_file::read(name.as_ref(), text.as_ref()) {
            Err(found) => problems.extend(found),
            Ok(file) if !ids.insert(file.cause.id.clone()) => problems.push(twice(&file)),
            Ok(file) => read.push(file),
        }
    }
    for file in &read {
        problems.extend(dangling(file, |id| ids.contains(id)));
    }
    (read, problems)
}

fn twice(file: &CauseFile) -> CatalogueError {
    CatalogueError {
        file: file.name.clone(),
        line: 1,
        column: 1,
        key: Some("id".to_owned()),
        problem: format!("'{}' is the id of another file too", file.cause.id),
    }
}

/// The causes that a file names and that are not there.
fn dangling(file: &CauseFile, is_there: impl Fn(&str) -> bool) -> Vec<CatalogueError> {
    let references = file.references.iter();
    references
        .filter(|reference| !is_there(&reference.id))
        .map(|reference| CatalogueError {
            file: file.name.clone(),
            line: reference.line,
            column: reference.column,
            key: Some(reference.key.to_owned()),
            problem: format!("there is no cause '{}'", reference.id),
        })
        .collect()
}

static BUILTIN: LazyLock<Catalogue> = LazyLock::new(|| {
    #[expect(
        clippy::expect_used,
        reason = "the files are embedded; the crate's tests load them"
    )]
    Catalogue::from_files(BUILTIN_FILES).expect("the built-in catalogue is sound")
});

/// The embedded files as (name, text), to load together with others.
pub fn builtin_files() -> &'static [(&'static str, &'static str)] {
    BUILTIN_FILES
}

impl Catalogue {
    /// The causes that come with the program.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// Reads a catalogue from files given as (name, text).
    ///
    /// # Errors
    /// When a file is not a cause (`docs/causes.md`), two have the same id, or one names a cause
    /// that is not there.
    pub fn from_files<N: AsRef<str>, T: AsRef<str>>(
        files: &[(N, T)],
    ) -> Result<Self, CatalogueError> {
        let (files, problems) = read_all(files);
        match problems.into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(Self {
                causes: files.into_iter().map(|file| file.cause).collect(),
            }),
        }
    }

    /// The built-in causes with those of a user. One that has the id of a built-in cause takes its
    /// place. A file with a mistake is left out; everything that is wrong is told.
    pub fn extended<N: AsRef<str>, T: AsRef<str>>(files: &[(N, T)]) -> Extended {
        let mut problems = Vec::new();
        let mut own: BTreeMap<String, CauseFile> = BTreeMap::new();
        for (name, text) in files {
            match cause_file::read(name.as_ref(), text.as_ref()) {
                Err(found) => problems.extend(found),
                Ok(file) => match own.entry(file.cause.id.clone()) {
                    Entry::Occupied(_) => problems.push(twice(&file)),
                    Entry::Vacant(free) => {
                        free.insert(file);
                    }
                },
            }
        }
        // Who names a cause that is left out is left out with it.
        let builtin = Self::builtin();
        loop {
            let is_there = |id: &str| builtin.get(id).is_some() || own.contains_key(id);
            let dangling: Vec<(String, Vec<CatalogueError>)> = own
                .iter()
                .map(|(id, file)| (id.clone(), dangling(file, is_there)))
                .filter(|(_, found)| !found.is_empty())
                .collect();
            if dangling.is_empty() {
                break;
            }
            for (id, found) in dangling {
                own.remove(&id);
                problems.extend(found);
            }
        }
        let replaced = own
            .keys()
            .filter(|id| builtin.get(id).is_some())
            .cloned()
            .collect();
        let own_ids: BTreeSet<String> = own.keys().cloned().collect();
        let kept = builtin
            .causes
            .iter()
            .filter(|cause| !own.contains_key(&cause.id));
        let mut causes: Vec<Cause> = kept.cloned().collect();
        causes.extend(own.into_values().map(|file| file.cause));
        causes.sort_by(|left, right| left.id.cmp(&right.id));
        Extended {
            catalogue: Self { causes },
            own: own_ids,
            replaced,
            problems,
        }
    }

    /// The causes, in the order of their files.
    pub fn causes(&self) -> &[Cause] {
        &self.causes
    }

    /// The cause with this id.
    pub fn get(&self, id: &str) -> Option<&Cause> {
        self.causes.iter().find(|cause| cause.id == id)
    }
}
