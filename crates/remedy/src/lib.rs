//! Everything that changes a system.
//!
//! A change for a time is a *lease*: what was there before is written into a [`Journal`] and synced first, a second
//! process watches (see [`watchdog`]), and whoever survives gives the lease back: we ourselves, the watchdog when we
//! were killed, the next start of a command when both were ([`revert_leftovers`]).
//!
//! **The order is the design.** The watchdog runs before the journal is written, the journal is synced before the
//! server is changed, and the name of the log file is the first variable to be set and the last to be set back. So a
//! lease in the journal has always been watched. And when the server has the file's name, the other two variables are
//! ours as well; without it nothing of ours is set, and what somebody else set is left alone.
//!
//! **A statement outlives its client.** A process may be killed with a `SET GLOBAL` on its way, which a slow server
//! executes after the watchdog has looked. Whoever changes the log holds a lock of the server's (`GET_LOCK`); whoever
//! gives it back ends the connection that has it and waits until it is gone.
//!
//! **Twice is harmless.** Owner, watchdog and the next start may all give the same lease back: a lock on the lease's
//! file keeps them apart, and each step sets what is written down. The thousand rounds of `tests/live/lease_kills.rs`
//! kill owner, watchdog and next start at random moments.
//!
//! **The password goes through the pipe** to the watchdog, never into a file, an argument or the environment.

pub mod fix;
pub mod general_log;
mod give_back;
pub mod helper;
mod journal;
mod lease;
mod leftovers;
mod trust;
pub mod watchdog;

pub use give_back::{GiveBackEnd, Patience, by_hand};
pub use journal::{Journal, JournalError, JournalFormat, LockedRecord, Record, random_id};
pub use lease::{Change, Lease, LoginSource, ProcessId, ServerAddress, ServerLogin, TlsSource};
pub use leftovers::{Leftover, Outcome, leftovers, revert_leftovers};
pub use trust::{Distrust, check_writers};

/// Where what there is to tell goes, a line at a time.
pub type Say = fn(&str);
