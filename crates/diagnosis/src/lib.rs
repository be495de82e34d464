//! The catalogue of causes, and the diagnosis of a stall by it. Pure: an incident and a catalogue
//! in, a verdict out; no clock, no I/O.
//!
//! A cause is a TOML file (`docs/reference/causes.md`). Its *signs* are tests on the recorded evidence; a
//! sign that is found becomes a [`Witness`] of a [`Finding`]. Evidence that is absent never counts
//! for or against a cause: it is listed.
//!
//! **Levels.** Two independent sources make a finding *likely*; three, or a conclusive one with another, make it
//! *certain*. A conclusive state of the processlist makes it *likely* alone: it is the server's own word for what its
//! sessions wait for. A conclusive witness of stacks or a profile does not, because in captures a second cause would
//! be called *likely* before the true one. Absent evidence is *unknown*, never zero.
//!
//! **All evidence is read in one language.** A function (`diagnosis/src/functions`, a file for each kind of evidence)
//! has its arguments, its evaluation, its words and its source. Limits, windows, conditions, levels and comparisons
//! (`sign.rs`) know functions by their table only. What is special about a kind is what it returns: that only a part
//! was shown, or a limit that cannot be reached. A function is alone in a measure: quotients of functions would need
//! windows that both know. A fact is no function: it compares a text with a text.
//!
//! **Fast enough for the ring.** Patterns are matched with each distinct frame, state and statement once, not with
//! each record. A pattern that no frame of a record can match reads no stack; one that some frames match reads only
//! the stacks with those frames (`frames.rs`, `thread_runs.rs`). Which moments lie in which window is found
//! once (`moments.rs`).

mod actors;
mod advice;
mod audit;
mod catalogue;
mod cause;
mod cause_file;
mod chains;
pub mod compare;
mod describe;
mod diagnose;
mod embedded;
mod evaluate;
mod evidence;
mod fallback;
mod frames;
mod functions;
mod grouped;
mod human;
mod idle;
mod judge;
mod meanings;
mod measure;
mod mechanism;
mod moments;
mod named;
mod names;
mod once;
mod profile_samples;
mod provenance;
mod rank;
mod sentence;
mod setting;
mod setting_value;
mod sign;
mod since_start;
mod statement_time;
mod suspicion;
mod template;
mod thread_runs;
mod undo;
mod verdict;
mod waits;

pub use actors::Actor;
pub use advice::advise;
pub use audit::{Audit, AuditLine, Look, NotJudged, Rule, Severity, audit, rules};
pub use catalogue::{Catalogue, Extended, builtin_files};
pub use cause::{Cause, LookAlike};
pub use cause_file::CatalogueError;
pub use describe::{Description, SignDescription};
pub use diagnose::{diagnose, diagnose_closely};
pub use functions::functions_documentation;
pub use human::{Show, show};
pub use idle::idle;
pub use suspicion::order_by_times;
pub use undo::{Paired, Undoable};
pub use verdict::{
    Finding, Level, Mechanism, Rejected, Relation, Remedy, SourceRead, Verdict, Witness,
};

/// Findings that a verdict shows; the others are folded away.
pub const FINDINGS_MAX: usize = 3;
