//! The catalogue of causes, and the diagnosis of a stall by it. Pure: an incident and a catalogue
//! in, a verdict out; no clock, no I/O.
//!
//! A cause is a TOML file (`docs/reference/causes.md`). Its *signs* are tests on the recorded evidence; a
//! sign that is found becomes a [`Witness`] of a [`Finding`]. Evidence that is absent never counts
//! for or against a cause: it is listed.

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
mod evaluate;
mod evidence;
mod frames;
mod functions;
mod grouped;
mod human;
mod interned;
mod judge;
mod listed;
mod measure;
mod mechanism;
mod named;
mod names;
mod provenance;
mod rank;
mod runs;
mod sampled;
mod seen;
mod sentence;
mod sign;
mod since_start;
mod statement_time;
mod statuses;
mod suspicion;
mod template;
mod undo;
mod verdict;
mod waits;

pub use actors::Actor;
pub use advice::advise;
pub use audit::{Audit, AuditLine, Look, NotJudged, RULES, Rule, Severity, audit};
pub use catalogue::{Catalogue, Extended, builtin_files};
pub use cause::{Cause, LookAlike};
pub use cause_file::CatalogueError;
pub use describe::{Description, SignDescription};
pub use diagnose::{diagnose, diagnose_closely};
pub use functions::functions_documentation;
pub use undo::{Paired, Undoable};
pub use verdict::{
    Finding, Level, Mechanism, Rejected, Relation, Remedy, SourceRead, Verdict, Witness,
};

/// Findings that a verdict shows; the others are folded away.
pub const FINDINGS_MAX: usize = 3;
