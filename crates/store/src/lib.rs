//! What is kept on disk: the incident file (`.frame`, described in `docs/reference/frame-format.md`) and the
//! history of the last hours. Both are SQLite, files are 0600. Here too because it is SQLite: the
//! replay files of dolphie, which are only read.

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
pub use files::{make_private_dir, write_private};
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
