//! A record: what of an entry of the journal everybody may know.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::change::Change;
use super::super::journal::{Entry, State};
use super::place::Proof;
use crate::journal::now_us;

/// The form of records; another one is not understood.
const VERSION: u32 = 1;

/// Remedies of one fix that are told by name.
const REMEDIES_MAX: usize = 6;

/// Longest name of a cause, a remedy, an incident, a server, bytes.
const NAME_BYTES_MAX: usize = 200;

/// What others may know of a fix: no value, no path, no session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicRecord {
    /// The form of this file.
    pub version: u32,
    /// The fix: 16 hexadecimal digits, also the name of its file.
    pub id: String,
    /// The cause's id.
    pub cause: String,
    /// What was done, as cause files call it, with the setting's name: `sysctl vm.swappiness`. Several with ` + `.
    pub remedy: String,
    /// What kinds of things were changed.
    pub kinds: Vec<ChangeKind>,
    /// The incident that the cause was found in, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// It is of the whole host, and so of all servers on it.
    pub of_host: bool,
    /// What the recorder calls the one server that it is of, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// When it was made, microseconds since 1970 UTC.
    pub since_us: i64,
    /// When a lease is to end, likewise; absent when it was made for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_us: Option<i64>,
    /// When it ended, likewise; absent while it is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_us: Option<i64>,
    /// How far it is.
    pub outcome: Outcome,
    /// What a comparison of before and after said, where one was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// When this was so, likewise.
    pub changed_us: i64,
}

/// One kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// A file of ours, for the next start.
    OwnFile,
    /// A setting of the running kernel.
    KernelSetting,
    /// A variable of the running server.
    GlobalVariable,
    /// A variable that the server keeps for its next start.
    PersistedVariable,
    /// A session was ended.
    EndSession,
}

/// How far a fix is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// In force.
    Held,
    /// Not all of it could be put back, or somebody else has changed it since.
    Left,
    /// Everything is back.
    GivenBack,
    /// Done, and nothing of it is to be put back.
    Done,
    /// It failed, and nothing is changed.
    Refused,
}

impl PublicRecord {
    /// What may be known of an entry; nothing while it is being made.
    pub(super) fn of(entry: &Entry, server: Option<&str>) -> Option<Self> {
        let outcome = match entry.state {
            State::Applying => return None,
            State::Applied => Outcome::Held,
            State::Left => Outcome::Left,
            // What was put back because it could not be made has its reason.
            State::Undone if entry.notes.is_empty() => Outcome::GivenBack,
            State::Undone => Outcome::Refused,
            State::Done => Outcome::Done,
        };
        let of_host = entry.steps.iter().all(|step| is_of_host(&step.change));
        let mut kinds = Vec::new();
        for step in &entry.steps {
            let kind = kind(&step.change);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let incident = entry.incident.as_deref().and_then(|path| {
            let name = Path::new(path).file_name()?.to_str()?;
            Some(name.strip_suffix(".frame").unwrap_or(name))
        });
        Some(Self {
            version: VERSION,
            id: entry.id.clone(),
            cause: word(&entry.cause)?.to_owned(),
            remedy: remedy(entry),
            kinds,
            incident: incident.and_then(word).map(str::to_owned),
            of_host,
            server: server
                .filter(|label| !of_host && !is_odd(label))
                .map(str::to_owned),
            since_us: entry.taken_us,
            due_us: entry.deadline_us,
            // The clock may have been set back meanwhile.
            ended_us: entry.ended_us.map(|ended| ended.max(entry.taken_us)),
            outcome,
            proof: entry.proof,
            changed_us: now_us(),
        })
    }

    /// Why it is none, though its file can be read.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let is_late = |end: Option<i64>| end.is_some_and(|end| end < self.since_us);
        if self.version != VERSION {
            Some("of another version")
        } else if !is_id(&self.id) {
            Some("its id is none")
        } else if word(&self.cause).is_none() || self.remedy.split(" + ").any(|one| !is_remedy(one))
        {
            Some("its cause or remedy is none")
        } else if self.remedy.len() > NAME_BYTES_MAX
            || self.server.as_deref().is_some_and(is_odd)
            || self
                .incident
                .as_deref()
                .is_some_and(|one| word(one).is_none())
        {
            Some("a name in it is none")
        } else if self.since_us < 0 || is_late(self.ended_us) || is_late(self.due_us) {
            Some("its times are none")
        } else {
            None
        }
    }
}

/// 16 hexadecimal digits, as journals have them.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == 16
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A name of ours: of a cause, a setting, an incident. Nothing else has its way into a record.
fn word(text: &str) -> Option<&str> {
    let is_ours = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let is_word = !text.is_empty() && text.len() <= NAME_BYTES_MAX && text.chars().all(is_ours);
    is_word.then_some(text)
}

/// No label of a server.
fn is_odd(label: &str) -> bool {
    label.is_empty() || label.len() > NAME_BYTES_MAX || label.chars().any(char::is_control)
}

/// An action, or an action and the name of a setting; or how many changes there are.
fn is_remedy(text: &str) -> bool {
    let mut words = text.split(' ');
    let are_words = words.by_ref().take(2).all(|one| word(one).is_some());
    are_words && words.next().is_none()
}

/// What was done, each once, in the order of the steps.
fn remedy(entry: &Entry) -> String {
    let mut names: Vec<&str> = Vec::new();
    for step in &entry.steps {
        let name = match step.remedy.as_str() {
            name if is_remedy(name) => name,
            // Of an older program, or with a name that is none of ours.
            name => name.split(' ').next().and_then(word).unwrap_or("unnamed"),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let told = names.join(" + ");
    match names.len() {
        0 => "unnamed".to_owned(),
        1..=REMEDIES_MAX if told.len() <= NAME_BYTES_MAX => told,
        count => format!("{count} changes"),
    }
}

fn kind(change: &Change) -> ChangeKind {
    match change {
        Change::OwnFile(_) => ChangeKind::OwnFile,
        Change::KernelSetting(_) => ChangeKind::KernelSetting,
        Change::GlobalVariable(_) => ChangeKind::GlobalVariable,
        Change::PersistedVariable(_) => ChangeKind::PersistedVariable,
        Change::EndSession(_) => ChangeKind::EndSession,
    }
}

/// Whether all servers of the host have it.
fn is_of_host(change: &Change) -> bool {
    match change {
        Change::KernelSetting(_) => true,
        Change::OwnFile(file) => {
            let of_host = ["/etc/sysctl.d", "/etc/tmpfiles.d"];
            of_host.iter().any(|dir| file.path.starts_with(dir))
        }
        Change::GlobalVariable(_) | Change::PersistedVariable(_) | Change::EndSession(_) => false,
    }
}
