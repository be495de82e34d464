//! What helps against a cause, on this very system: planned, shown, done, written down, put back.
//!
//! [`System::observe`] looks at the host and the server, [`plan`] makes of a cause's fixes the steps that they are
//! here, without changing anything. [`apply`] writes the changes into the [`FixJournal`] before it makes the first one,
//! and [`undo`] puts them back: whoever is killed in between, what the journal says can be put back.
//!
//! Three kinds of things are changed, and no others ([`Change`]): a file of our own is put beside those of the user
//! (which are never edited, so that there is nothing to restore but its absence), a setting of the running kernel, a
//! variable of the running server or one that it keeps for its next start. One thing is done that has no way back: a
//! session that others wait behind is ended, when it is still the one of the incident.
//!
//! **A change knows three states of its place**: as before, as ours, as somebody else's. An undo needs no more: it
//! may be repeated, interrupted, or started by another process, and the journal needs no progress of its own. Files
//! are only made where none is, by a link, which does not replace.
//!
//! **The journal's lock shows who works.** Whoever has it and finds an entry that is being applied knows that its
//! process is gone.
//!
//! **A lease of a fix outlives its command**, unlike that of the general log: a trial takes hours, a terminal session
//! does not. So two processes watch the time and each other, and a shared lock on a file says that somebody does.
//!
//! **What starts the server decides the step** (`actions/launch.rs`): a unit's drop-in, a section of mysqld_safe, or,
//! for a container, instructions in words (`actions/contained.rs`), since a container's files and environment are
//! made anew with it. Files in another root are opened by openat2(2) with `RESOLVE_IN_ROOT`: Debian's
//! `/etc/mysql/my.cnf` is an absolute link, which would otherwise lead to the host's.
//!
//! **tmpfiles.d instead of a unit** for the switch of huge pages at boot: one file, where a unit would need a second
//! one that enables it.
//!
//! **SET PERSIST_ONLY before an option file** on MySQL 8: the server checks the value when it is kept, not when it
//! starts.

mod actions;
mod change;
mod command;
mod control_group;
mod end_session;
mod journal;
mod kernel_owner;
mod kernel_setting;
mod known;
mod locked;
mod memory_map;
mod memory_nodes;
mod option_files;
mod own_file;
mod plan;
mod proof;
mod public;
mod root;
mod run;
mod settle;
mod step;
mod system;
mod undo;
mod undone;
mod variable;
mod watch;

pub use change::Change;
pub use control_group::{Container, Runtime};
pub use end_session::{EndSession, Suspect};
pub use journal::{DoneStep, Entry, FixJournal, State};
pub use kernel_setting::KernelSetting;
pub use kernel_setting::in_force;
pub use known::{known_journals, remember_journal};
pub use locked::LockedJournal;
pub use own_file::{OwnFile, Reload};
pub use plan::{Plan, plan};
pub use proof::note_proof;
pub use public::{
    ChangeKind, Outcome, PUBLIC, PUBLIC_BESIDE, Proof, PublicError, PublicPlace, PublicRecord,
    PublicRecords, Skipped, make_public_directory, read_public,
};
pub use root::Root;
pub use run::{Applied, ApplyRequest, FixError, apply};
pub use settle::{Unsettled, settle, unsettled};
pub use step::{Step, StepState, When};
pub use system::{Distribution, OBSERVE_TIMEOUT, ObservedServer, System, TasksLimit};
pub use undo::{UndoneEntry, undo};
pub use undone::Undone;
pub use variable::{Access, GlobalVariable, PersistedVariable};
pub use watch::{COMMAND as WATCH_COMMAND, watch};
