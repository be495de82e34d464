//! Everything that changes a system.
//!
//! A change for a time is a *lease*: what was there before is written into a [`Journal`] and synced first, a second
//! process watches (see [`watchdog`]), and whoever survives gives the lease back: we ourselves, the watchdog when we
//! were killed, the next start of a command when both were ([`revert_leftovers`]).

pub mod fix;
pub mod general_log;
mod journal;
mod lease;
mod leftovers;
mod trust;
mod until_back;
pub mod watchdog;

pub use journal::{Form, InHand, Journal, JournalError, Record, random_id};
pub use lease::{Change, Lease, LoginWay, ProcessId, ServerWay, Way};
pub use leftovers::{Leftover, Outcome, leftovers, revert_leftovers};
pub use trust::{Distrust, check_writers};
pub use until_back::{Back, Patience, by_hand};

/// Where what there is to tell goes, a line at a time.
pub type Say = fn(&str);
