//! The general log for a time: every statement that the server is sent, written to a file of ours.
//!
//! Three variables of the server are changed: `general_log_file` first and put back last, so that it marks the lease:
//! while it has our name, the other two are ours as well. Whoever changes them holds the server's own lock
//! [`SERVER_LOCK`] (`GET_LOCK`), so that a statement which a killed process left under way is over before another process
//! gives the lease back.

mod capture;
mod change;
mod give_back;
mod log_directory;
mod plan;
mod read;
mod take_lease;
mod values;
mod watch;

pub use capture::{Captured, capture};
pub use change::{GeneralLogChange, is_our_log};
pub use give_back::GaveBack;
pub use plan::{EndedBy, Plan};
pub use read::digest_log;
pub use take_lease::{GeneralLogLease, LeaseError, open_log};
pub use values::Values;
pub use watch::watch;

pub(crate) use change::remove_log;
pub(crate) use give_back::give_back_once;
pub(crate) use values::quoted;

/// The name of the server's lock, held by the connection that changes the general log.
const SERVER_LOCK: &str = "freezeframe.general_log";
