//! freezeframe's words as plain types; no I/O, no clock.
//!
//! Everything that flows from the sources to the report is made of these: a [`Sample`] is what one
//! run of one source brought, a [`Timeline`] is many samples laid out per signal, an [`Incident`]
//! is a stall with everything that was recorded around it.

mod absent;
mod fix;
mod incident;
mod list_texts;
mod list_view;
mod lock;
mod order;
mod pattern;
mod plain;
mod probe;
mod processlist;
mod profile;
mod queries;
mod sample;
mod secrets;
mod semaphore;
mod signal;
mod source;
mod stack;
mod text;
mod threads;
mod timeline;
mod window;

pub use absent::{Absent, READ_IN_PART, Reason};
pub use fix::{Fix, FixAction, FixValue, FixWhen, Release, Releases, release};
pub use incident::{
    BASELINE_MIN_MS, Clock, EARLIER_MAX, Incident, Mention, Server, StackEvidence, Stall,
    TimedAbsent, TimedDigest, TimedFact, TimedText, Trigger,
};
pub use lexicon::is_kernel_word;
pub use list_texts::ListTexts;
pub use list_view::ListView;
pub use lock::{
    ChainLink, Holder, HolderBy, KernelLockRow, LockCaller, LockRow, LockTable, NamedBy, WaitChain,
    WaitCounting,
};
pub use order::OrderBy;
pub use pattern::matches_pattern;
pub use plain::{Plain, is_deceptive, push_visible};
pub use probe::ProbeOutcome;
pub use processlist::{ProcessList, Session};
pub use profile::{Callers, ENDED_THREAD, Profile, ProfileCount};
pub use queries::{
    ConnectionMix, Counted, FoldedClasses, PER_CONNECTION, QueryClass, QueryDigest, QueryMeasure,
    QueryMethod,
};
pub use sample::{Fact, Reading, Sample, SourceData};
pub use secrets::{SECRET_WORDS, WHOLE_SECRET_WORDS, names_a_secret};
pub use semaphore::SemaphoreWait;
pub use signal::{SignalKind, Unit, kind_of_status_variable};
pub use source::{Area, Cost, SOURCES, Says, SourceSpec, area_of, areas, source_says};
pub use stack::{
    FrameId, FrameSide, Stack, StackEnd, StackFrame, StackId, StackTable, UnnamedReason,
};
pub use text::{OwnText, RedactedText, Text, TextKind};
pub use threads::{
    FutexWait, RunState, SnapshotMeta, SnapshotMethod, SnapshotThread, Syscall, ThreadRun,
    ThreadSession, ThreadSnapshot,
};
pub use timeline::{LateTimeline, Measure, Series, Source, Timeline, View};
pub use window::Window;

/// Milliseconds on the recorder's own clock: since the session began, monotonic, unmoved by
/// changes of the wall clock. [`Clock`] turns it into wall-clock time.
pub type Millis = u64;
