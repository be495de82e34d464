//! A capture by the general log, from taking the lease to removing the file.

use std::path::Path;

use super::plan::{EndedBy, Plan};
use super::{GeneralLogLease, LeaseError};
use crate::GiveBackEnd;
use crate::journal::now_us;

/// What a capture gives.
#[derive(Debug)]
pub struct Captured<T> {
    /// What was made of the log.
    pub read: T,
    /// Why it ended.
    pub ended_by: EndedBy,
    /// What became of the server's values.
    pub back: GiveBackEnd,
    /// When the log went on, microseconds since 1970 UTC.
    pub begin_us: i64,
    /// When it was to go off: a server that does not answer goes on for longer.
    pub end_us: i64,
    /// Slow statements, which the server writes into a table, went to its slow log's file for this time.
    pub diverted_slow_log: bool,
}

/// The whole of it: takes the lease, waits, gives it back, has the log read and removes it.
///
/// `stop` ends it early, `tell` is given a line when the server does not take its values back, `read` is given the log
/// when the server has its values again. When this fails after the lease was taken, what is not back is the watchdog's
/// work, and the next start's.
pub fn capture<T>(
    plan: &Plan,
    stop: &mut dyn FnMut() -> bool,
    tell: &mut dyn FnMut(&str),
    read: impl FnOnce(&Path) -> T,
) -> Result<Captured<T>, LeaseError> {
    let mut lease = GeneralLogLease::take(plan)?;
    let ended_by = lease.wait(stop);
    let begin_us = lease.begin_us();
    let end_us = now_us();
    let diverted_slow_log = lease.diverts_slow_log();
    let (back, read) = lease.give_back(tell, read).map_err(LeaseError::Other)?;
    Ok(Captured {
        read,
        ended_by,
        back,
        begin_us,
        end_us,
        diverted_slow_log,
    })
}
