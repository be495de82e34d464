//! What a diagnosis says. This is also the JSON contract (`docs/reference/json.md`): fields are added, never
//! renamed or given another meaning. It is read back by the live view, which shows what the recorder found.

use model::{Absent, Plain};
use serde::{Deserialize, Serialize};

use crate::actors::Actor;
use crate::human::Show;

/// How sure a finding is.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// No finding: something points at the cause, and nothing is known of what it needs.
    #[default]
    Suspicion,
    /// One witness, or several that are not independent.
    Possible,
    /// Two independent witnesses, or a state of the processlist that is conclusive by itself.
    Likely,
    /// Three independent witnesses, or two of which one is conclusive by itself.
    Certain,
}

impl Level {
    /// The level as a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Suspicion => "suspicion",
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }

    /// The level of a finding with this confidence: the numbers of two levels are far from each other.
    pub fn of_confidence(confidence: f64) -> Self {
        match confidence {
            value if value >= 0.8 => Self::Certain,
            value if value >= 0.5 => Self::Likely,
            value if value > 0.27 => Self::Possible,
            _ => Self::Suspicion,
        }
    }
}

/// A sign of a cause that was found in the evidence, or that speaks against it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Witness {
    /// Id, unique within its cause.
    pub id: String,
    /// The source of the evidence; witnesses of different sources are independent.
    pub source: String,
    /// What was seen, in words, with the number and the limit.
    pub says: String,
    /// The measured number, where there is one.
    pub value: Option<f64>,
    /// The same before the onset, or after the end where too little was recorded before; where it could be measured.
    pub baseline: Option<f64>,
    /// The limit that it crossed.
    pub limit: Option<f64>,
    /// Signals that it was computed from; charts and links point at them.
    pub signals: Vec<String>,
    /// Whether it proves the cause by itself once a second witness stands beside it.
    pub conclusive: bool,
    /// What its numbers are, so that a report writes them as the sentence does.
    #[serde(skip)]
    pub show: Show,
}

/// A link to another finding of the same incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// `aggravated-by`, `aggravates`, `effect-of`, `root-of`.
    pub kind: String,
    /// The other cause's id.
    pub cause: String,
}

/// What to do about a cause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Remedy {
    /// Steps that end the stall now.
    pub now: Vec<String>,
    /// Permanent changes that keep the stall from returning.
    pub durable: Vec<String>,
    /// How to undo each change.
    pub undo: Vec<String>,
    /// What may go wrong.
    pub risk: String,
    /// How to see that it worked.
    pub verify: Vec<String>,
    /// The commands of ours that show and make these changes for the very incident; whoever knows its
    /// file adds them, where the cause has changes that can be made.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub fix: Vec<String>,
}

/// A cause with its witnesses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The cause's id in the catalogue.
    pub cause: String,
    /// The cause's title.
    pub title: String,
    /// What happens, in two or three sentences.
    pub what: String,
    /// How certain the finding is.
    pub level: Level,
    /// The same as a number between 0 and 1, for ranking; the level is what is meant.
    pub confidence: f64,
    /// Signs for it.
    pub witnesses: Vec<Witness>,
    /// Signs against it.
    pub against: Vec<Witness>,
    /// What would refute it, in words.
    pub refuted_by: Vec<String>,
    /// Evidence that would have carried a witness and is absent.
    pub unknown: Vec<String>,
    /// Who did it, as far as it was recorded: sessions, transactions, processes.
    pub actors: Vec<Actor>,
    /// Links to other findings.
    pub relations: Vec<Relation>,
    /// How to end the stall and keep it from returning.
    pub remedy: Remedy,
    /// Where the knowledge is from.
    pub sources: Vec<String>,
}

/// A cause that looked alike and is not it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rejected {
    /// The cause's id.
    pub cause: String,
    /// The cause's title.
    pub title: String,
    /// Why it is not it.
    pub why: String,
    /// Where its necessary signs were looked for and were not: the sources of these. Empty where something else
    /// speaks against it.
    #[serde(skip)]
    pub looked_in: Vec<String>,
}

/// What was read for a verdict, or was not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRead {
    /// Path, or `-`.
    pub path: String,
    /// What it is ("freezeframe incident").
    pub kind: String,
    /// First and last line, from 1, of a piece of a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(usize, usize)>,
    /// What came of it ("42 threads"); empty where there is nothing to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub brought: String,
    /// Why it, or some of it, was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

impl SourceRead {
    /// The source in one line, for people: path, lines, kind, what came of it, what was left out.
    pub fn line(&self) -> String {
        let lines = match self.lines {
            Some((from, to)) if from == to => format!(":{from}"),
            Some((from, to)) => format!(":{from}-{to}"),
            None => String::new(),
        };
        let brought = if self.brought.is_empty() {
            String::new()
        } else {
            format!(", {}", self.brought)
        };
        let skipped = self
            .skipped
            .as_ref()
            .map_or_else(String::new, |why| format!("; left out: {why}"));
        let path = Plain::line(&self.path);
        format!("{path}{lines}: {}{brought}{skipped}", self.kind)
    }
}

/// What a part of what was seen is in: a layer of the server, its host or its clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mechanism {
    /// Where it was seen: `profile`, `stacks`, `processlist`, `semaphores`, `sentences`.
    pub source: String,
    /// The lexicon's layer.
    pub layer: String,
    /// `work`, `waits` or `told`, by the name with the largest share.
    pub role: String,
    /// Of all that was seen there and does not idle, 0 to 1.
    pub share: f64,
    /// The names that say so, those with the largest share first.
    pub names: Vec<String>,
    /// The same in one sentence, with what the first name means.
    pub says: String,
}

/// The answer for one incident.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The whole verdict in one sentence.
    pub sentence: String,
    /// At most [`crate::FINDINGS_MAX`] findings, the strongest first.
    pub findings: Vec<Finding>,
    /// Findings beyond these.
    pub folded: Vec<Finding>,
    /// What was seen is in these layers, whether a cause is found or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mechanism: Vec<Mechanism>,
    /// Causes that had signs and were refuted.
    pub rejected: Vec<Rejected>,
    /// Evidence that is absent.
    pub absent: Vec<Absent>,
    /// What was read.
    pub sources: Vec<SourceRead>,
}
