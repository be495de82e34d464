//! What is kept on disk: the incident file (`.frame`, described in `docs/reference/frame-format.md`) and the
//! history of the last hours. Both are SQLite, files are 0600. Here too because it is SQLite: the
//! replay files of dolphie, which are only read.
//!
//! **The incident** is SQLite with a row per signal: its changes as a JSON array, against the ticks of its source.
//! The view `point` expands them for people. The file is written under another name, synced and renamed.
//!
//! **The history is chunks of a second.** A row per signal and minute, packed at the minute's end, would be lost when
//! the recorder is killed in that minute, and that is the minute that counts. So a chunk holds the ticks of about a
//! second, each with only what changed since the tick before (variable-length differences), and every minute starts
//! with all values. One second is the most that a SIGKILL costs, nothing is written twice, a minute can be deleted by
//! itself, and the size is 40 KiB a minute for 764 signals of MariaDB. The price: one signal of a day cannot be read
//! without decoding the others. 24 hours are 58 MB, about a second.
//!
//! **Texts are thinner in the history than in the ring** (one processlist in ten seconds outside of a stall), because
//! their histograms are signals at full resolution.

mod budget;
mod cells;
mod codec;
mod columns;
mod dolphie;
mod error;
mod files;
mod history;
mod history_follow;
mod history_open;
mod history_read;
mod history_retain;
mod history_upgrade;
mod history_window;
mod incident_file;
mod incident_queries;
mod incident_read;
mod incident_stacks;
mod session;
mod tables;

pub use budget::READ_BYTES_MAX;
pub use cells::{Cell, each_cell};
pub use dolphie::{Replay, is_replay, read_replay};
pub use error::StoreError;
pub use files::{TARGETS_DIR, make_private_dir, state_dirs, write_private};
pub use history::{History, HistoryLimits, IncidentMargins};
pub use history_follow::{HistoryFollower, HistoryPart};
pub use history_read::Recovered;
pub use history_retain::history_bytes;
pub use history_window::{
    HistoryCoverage, HistoryWindow, history_coverage, history_of, read_history, read_minutes,
    read_signals,
};
pub use incident_file::{
    INCIDENT_FILE_SCHEMA, INCIDENT_FILE_VERSION, write_incident, write_incident_file,
};
pub use incident_read::{
    IncidentSummary, LoadedIncident, read_incident, read_incident_within, read_summary,
};
pub use session::{OpenIncident, SessionStart};
pub use tables::Damage;
