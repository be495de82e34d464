//! The schedule: sources, ring, detector, capture, history. One [`Recorder`] records one server.
//!
//! **One table.** `model/src/source.rs` has a row for every source: name, what it reads, cadence, cost, what it needs, and
//! the areas of its signals. `freezeframe sources` and `check`, absences, verdicts, redaction and the documents are made
//! from the table. It is in `model`, because diagnosis and reports know sources and not the recorder. Each row has a
//! reader (`sources/`), which the build script finds; its state names its thread.
//!
//! **Twelve threads read** (`worker.rs`), grouped by what can block together:
//!
//! 1. host files
//! 2. files of the server's process
//! 3. what may wait for the server's mmap_lock
//! 4. the status connection
//! 5. the connection to a replica: its status waits for STOP REPLICA, which waits for the transaction that is being
//!    applied
//! 6. the query probe
//! 7. the connect probe
//! 8. the stacks of all threads
//! 9. the samples of the processors
//! 10. the logs
//! 11. the packets on the server's port
//! 12. what the operator of a server on another host says of that host
//!
//! Those that have nothing to read of a server are not started. A thread sleeps until its next source is due; a stall and
//! the end of the recording wake all of them (`wake.rs`). A usual answer of the query probe waits for the recorder's next
//! turn (`quiet.rs`).
//!
//! None waits for another. When a reading is not back at its deadline, the recorder's own thread notes that while it
//! is missing (`in_flight.rs`). A probe that hangs is a signal (`probe.query_waiting_us`), so the detector sees it
//! before it fails. Not while the probe's own thread is ready and only lacks a processor (`kernel::run_delay`): the
//! server may have answered long ago. For the same reason that time is taken off what an answer took.
//!
//! **The recorder's thread** (`recorder.rs`) takes the samples, fills the ring, feeds the detector, and checks four
//! times a second what is due by time. It never touches the disk. The history has a thread with a bounded queue
//! (`history_queue.rs`, `history_thread.rs`); what does not fit is counted and reported. An incident is written by a thread of its
//! own, again and again when the disk refuses it (`incidents.rs`).
//!
//! **A trigger adds readings at once**: the InnoDB status and, where performance_schema is on, which sessions are
//! compressed. The server materialises the status by thread for every session, so it is read once a stall and not
//! each second.
//!
//! **One recorder for a directory and a server.** The history is locked, because a second recorder would take the
//! first one's open incident for that of a dead one. A reserve file of 512 KiB holds the room that deleting needs on
//! a full disk.
//!
//! **SHOW PROCESSLIST, not FULL, not information_schema.** The first hundred characters show the class. Whole
//! statements may be megabytes, and information_schema's copy makes a temporary table with a blob.
//!
//! **Thread CPU is accumulated by name.** A sum over living threads falls when one ends, so it is no counter. The
//! scan limits itself to 0.3 % of a core by its own CPU time: a server with thousands of threads is scanned less
//! often, and between two scans some of its threads tell how many wait for a processor (`run_queue.rs`).
//!
//! **A panic in a reader** costs that reading (`guard.rs`, `worker.rs`). The absence says where; nothing is printed.
//!
//! **Time** is CLOCK_BOOTTIME since the session's start. The wall clock is an anchor. Its steps are a signal
//! (`clock.wall_offset_ms`), and a large one begins another session of the history, so that what follows is found under the
//! time that is right (`clock.rs`). A pause of the whole machine shows as `recorder.late_ms`.
//!
//! **The pulse** (`recorder/src/pulse.rs`) is atomics that the recorder's thread writes and the status address reads:
//! a recorder that hangs shows by the age of its beat.

mod capture;
mod capture_requests;
mod check;
mod claims;
mod clock;
mod config;
mod context;
mod discover;
mod general_log;
mod guard;
mod held;
mod history_queue;
mod history_thread;
mod host;
mod in_flight;
mod incidents;
mod learned_state;
mod metrics;
mod newcomers;
mod notice;
pub mod packets;
mod pulse;
mod queries;
mod quiet;
mod reader;
mod recorder;
mod recording;
mod replay;
mod retention;
mod ring;
mod run_queue;
mod signals;
mod sources;
mod stacks;
mod surroundings;
mod target;
mod target_process;
mod wake;
mod worker;

pub use capture::incident_id;
pub use capture_requests::{CapturePromise, CaptureRequests, REQUESTED_MS};
pub use check::{ServerCheck, SourceCheck, check_server};
pub use claims::Claims;
pub use config::RecorderConfig;
pub use discover::{TargetError, Wanted, discover_targets, newcomer};
pub use general_log::GeneralLogPermit;
pub use guard::note_panic;
pub use held::HeldIncident;
pub use host::host_name;
pub use metrics::MetricsFrom;
pub use newcomers::Newcomers;
pub use notice::{DeletionReason, Notice};
pub use pulse::{Pulse, PulseNow};
pub use queries::counted_around;
pub use reader::Signals;
pub use recorder::{Heartbeat, Recorder, RecorderError};
pub use recording::recording;
pub use replay::{Replayed, replay};
pub use retention::{Disk, FreeMin, RetentionLimits, RetentionNow, RetentionState, keep_within};
pub use signals::{all_signals, can_bring, names_of_area};
pub use stacks::RecentStacks;
pub use target::Target;
