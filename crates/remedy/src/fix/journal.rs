//! What was done, one small file each. A fix is written down and synced before anything is changed, and stays after it
//! was put back, as history.

use std::fs::{File, OpenOptions};
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::change::Change;
use super::public::{Proof, PublicPlace};
use super::root::Root;
use crate::journal::{JournalFormat, Record, open_lock, try_lock};
use crate::{Journal, ServerLogin};

/// Where fixes are written down.
pub type FixJournal = Journal<Entry>;

/// What was done about a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The form of this file.
    pub version: u32,
    /// 16 hexadecimal digits, also the name of its file.
    pub id: String,
    /// The cause's id.
    pub cause: String,
    /// The incident that it was found in.
    pub incident: Option<String>,
    /// The tree of files that was changed; `/` outside of trials.
    pub root: PathBuf,
    /// The server that was changed, and how to get in again; never with a password.
    pub server: Option<ServerLogin>,
    /// What was changed, in this order.
    pub steps: Vec<DoneStep>,
    /// How far it is.
    pub state: State,
    /// When it began, microseconds since 1970 UTC.
    pub taken_us: i64,
    /// When a lease is to be given back, likewise; absent when it was made for good.
    pub deadline_us: Option<i64>,
    /// When everything was back, likewise.
    pub ended_us: Option<i64>,
    /// What went wrong, or what was left as somebody else has set it.
    pub notes: Vec<String>,
    /// The user who asked the helper for it; absent when whoever ran the command made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<u32>,
    /// The boot that it was made in, where the kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// Who is told of it, and of what server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public: Option<PublicPlace>,
    /// What the last comparison of before and after said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
}

impl Record for Entry {
    const FORM: JournalFormat = JournalFormat {
        suffix: ".fix.json",
        version: 1,
        bytes_max: 1 << 20,
        one: "an entry",
        all: "fixes",
        at_work: "using it (waited for a while)",
    };

    fn id(&self) -> &str {
        &self.id
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn taken_us(&self) -> i64 {
        self.taken_us
    }
}

impl Entry {
    /// How a person puts one of its steps back, in the tree of files that it was made in.
    pub fn undo_by_hand(&self, step: &DoneStep) -> String {
        step.change.undo_by_hand(&Root::at(&self.root))
    }
}

/// A change that was made, or was about to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoneStep {
    /// The step in words.
    pub says: String,
    /// What was changed, with what was there before.
    pub change: Change,
    /// What the fleet calls it: the action, with the name of its setting.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

/// How far a fix is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Begun. Found by anybody who has the journal's lock, it was interrupted.
    Applying,
    /// Everything is changed.
    Applied,
    /// Something could not be put back, or somebody else has changed it since.
    Left,
    /// Everything is back.
    Undone,
    /// It is done, and there is nothing that could be put back.
    Done,
}

impl Entry {
    /// Whether there is still something to be put back.
    pub fn is_open(&self) -> bool {
        !matches!(self.state, State::Undone | State::Done)
    }

    /// Whether the host was started again since a lease was taken: the kernel's settings went with the old one, and what
    /// they are now is somebody else's choice.
    pub(super) fn is_of_another_boot(&self) -> bool {
        let now = boot(&Root::at(&self.root));
        self.deadline_us.is_some() && self.boot.is_some() && now.is_some() && self.boot != now
    }

    /// Whether it needs the server to be put back.
    pub fn needs_server(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| step.change.needs_server() && step.change.has_undo())
    }
}

/// The number of this boot.
pub(super) fn boot(root: &Root) -> Option<String> {
    const FILE: &str = "/proc/sys/kernel/random/boot_id";
    let bytes = kernel::read::head(&root.here(FILE.as_ref()), 64).ok()?;
    let id = String::from_utf8(bytes).ok()?.trim().to_owned();
    (!id.is_empty()).then_some(id)
}

impl Journal<Entry> {
    /// The file whose shared lock says that a lease is watched.
    pub(super) fn watch_path(&self, id: &str) -> PathBuf {
        self.dir().join(format!("{id}.watch"))
    }

    /// Whether a process watches this lease.
    pub fn is_watched(&self, id: &str) -> bool {
        let path = self.watch_path(id);
        let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else {
            return false;
        };
        !try_lock(&file).unwrap_or(true)
    }
}

/// Holds the lock that says that a lease is watched, as long as the file is open.
pub(super) fn watch_lock(journal: &FixJournal, id: &str) -> std::io::Result<File> {
    let file = open_lock(&journal.watch_path(id))?;
    flock(&file, FlockOperation::LockShared)?;
    Ok(file)
}
