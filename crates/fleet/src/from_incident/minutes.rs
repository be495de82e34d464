//! Minutes of a server's history as rows: what the fleet knows of it while nothing stalls.
//!
//! Redacted and searched as an incident is. A history holds no statements, so the names in it are those of programs,
//! disks, folders and settings.

use std::ops::Range;

use model::{Incident, Window};

use super::known_names::KnownNames;
use super::{Refused, facts, host_id, signals};
use crate::batch::{Batch, Token};
use crate::row::{HealthRow, HostRow, Seconds, SignalRow};

/// Minutes of a server as rows.
#[derive(Debug, Clone, PartialEq)]
pub struct MinuteRows {
    /// The server, as it was at the end of the time.
    pub host: HostRow,
    /// Signals by the minute, with their seconds.
    pub signals: Vec<SignalRow>,
    /// That the recorder lived at the end, and what it lost.
    pub health: HealthRow,
}

/// The rows of the minutes that begin in this time, seconds since 1970. `history`: a stretch of a history that holds
/// them, and a little before and after, so that the first second has a rate and a slow reading is spread to its begin.
///
/// # Errors
///
/// When its times are not known, or a name could not be taken out of it.
pub fn minutes(history: Incident, salt: &[u8], begins: Range<i64>) -> Result<MinuteRows, Refused> {
    minutes_of(history, &mut KnownNames::new(salt), begins)
}

/// The same of a history whose names are known from the minutes before.
///
/// # Errors
///
/// As [`minutes`].
pub fn minutes_of(
    mut history: Incident,
    names: &mut KnownNames,
    begins: Range<i64>,
) -> Result<MinuteRows, Refused> {
    if !history.clock.is_known() {
        return Err(Refused::NoTime);
    }
    let host_id = host_id(names.salt(), &history.host, &history.server.label);
    let (renamed, known) = names.rename(&history)?;
    let own = |seconds: i64| {
        let ms = seconds.saturating_mul(1000);
        u64::try_from(ms.saturating_sub(history.clock.wall_at_zero_ms)).unwrap_or(0)
    };
    let window = Window {
        from: own(begins.start),
        to: own(begins.end),
    };
    let host = facts::host(&history, &renamed, host_id, Seconds(begins.end));
    let health = facts::health(&history, &renamed, host_id, window);
    let name = |name: &str| known.signal(name).map(str::to_owned);
    let rows = MinuteRows {
        host,
        signals: signals::minutes_between(&mut history, host_id, &begins, name),
        health,
    };
    // What stands for signals was searched when it was found out.
    let mut batch = Batch::new(Token::default());
    batch.push(&rows.host);
    batch.push(&rows.health);
    known.check(&batch)?;
    Ok(rows)
}
