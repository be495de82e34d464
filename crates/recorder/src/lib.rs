//! The schedule: sources, ring, detector, capture, history. One [`Recorder`] records one server.

mod capture;
mod check;
mod clock;
mod config;
mod general_log;
mod guard;
mod in_flight;
mod incidents;
mod keeper;
mod learnt;
mod meant;
mod notice;
pub mod packets;
mod pulse;
mod queries;
mod recorder;
mod ring;
mod sources;
mod stacks;
mod surroundings;
mod table;
mod target;
mod worker;
mod writer;

pub use capture::host_name;
pub use check::{Checked, Looked, look_at};
pub use config::RecorderConfig;
pub use general_log::GeneralLogPermit;
pub use guard::note_panic;
pub use notice::Notice;
pub use pulse::{Pulse, PulseNow};
pub use recorder::{Recorder, RecorderError};
pub use table::{Cost, SOURCES, SourceSpec, Worker};
pub use target::{Target, TargetError, Wanted, discover_targets};
