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

mod account;
mod cells;
mod codec;
mod columns;
mod dolphie;
mod error;
mod files;
mod frame;
mod frame_queries;
mod frame_read;
mod frame_stacks;
mod history;
mod history_mend;
mod history_open;
mod history_read;
mod history_retain;
mod history_window;
mod session;
mod tables;

pub use account::READ_BYTES_MAX;
pub use cells::{Cell, each_cell};
pub use dolphie::{Replay, is_replay, read_replay};
pub use error::StoreError;
pub use files::{TARGETS_DIR, make_private_dir, state_dirs, write_private};
pub use frame::{FRAME_SCHEMA, FRAME_VERSION, write_frame, write_frame_file};
pub use frame_read::{Loaded, Summary, read_frame, read_frame_within, read_summary};
pub use history::{Around, History, HistoryLimits};
pub use history_read::Recovered;
pub use history_retain::history_bytes;
pub use history_window::{
    HistoryStretch, Recorded, history_of, read_history, read_signals, recorded,
};
pub use session::{OpenIncident, SessionStart};
pub use tables::Damage;
