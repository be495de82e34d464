//! Stalls and alarms to look at, a line each.

use super::client_latency::ClientStall;
use super::lines::Stall;
use super::numbers::NEAR_S;
use super::table::Table;

impl Table<'_> {
    pub(super) fn missed(&self) -> Vec<String> {
        let missed = self.counted().filter(|stall| !stall.noticed);
        missed
            .map(|stall| {
                let felt = stall.felt.as_ref().map_or(0.0, ClientStall::seconds);
                let merged = if stall.merged {
                    ", merged with the previous stall"
                } else {
                    ""
                };
                format!(
                    "{}, felt {felt:.1} s{merged} ({})",
                    place(stall),
                    stall.from.stage
                )
            })
            .collect()
    }

    /// Onset or end further away than they may be.
    pub(super) fn inexact(&self) -> Vec<String> {
        let is_far = |error: Option<f64>| error.is_none_or(|error| error.abs() > NEAR_S);
        let seconds = |error: Option<f64>| {
            error.map_or_else(|| "none".to_owned(), |error| format!("{error:+.1} s"))
        };
        self.counted()
            .filter(|stall| {
                stall.noticed && (is_far(stall.onset_error_s) || is_far(stall.end_error_s))
            })
            .map(|stall| {
                format!(
                    "{}: onset {}, end {}{} [{}] {} ({})",
                    place(stall),
                    seconds(stall.onset_error_s),
                    seconds(stall.end_error_s),
                    if stall.pieces > 1 {
                        format!(", in {} pieces", stall.pieces)
                    } else {
                        String::new()
                    },
                    stall.rule.as_deref().unwrap_or("-"),
                    stall.says.as_deref().unwrap_or_default(),
                    stall.from.stage,
                )
            })
            .collect()
    }

    pub(super) fn false_alarms(&self) -> Vec<String> {
        let alarms = self.alarms.iter();
        alarms
            .map(|alarm| {
                let length = alarm
                    .end_ms
                    .map(|end| (end - alarm.onset_ms) as f64 / 1000.0);
                let length =
                    length.map_or_else(|| "no end".to_owned(), |length| format!("{length:.1} s"));
                format!(
                    "{}: [{}] {} ({length}, {})",
                    alarm.beside, alarm.rule, alarm.says, alarm.from.stage
                )
            })
            .collect()
    }
}

fn place(stall: &Stall) -> String {
    let cell = stall.cell;
    format!(
        "{}: {}, pool {}, {}, {} s, {} s after another",
        stall.from.server,
        cell.mechanism.name(),
        cell.pool,
        cell.load.name(),
        cell.length_s,
        cell.distance_s
    )
}
