//! What a record shows where no cause of the catalogue fits: whoever reads one sentence only must not miss what the
//! server itself says.

use model::{HolderBy, Incident, LockRow, OrderBy, Stall, TextKind};

use crate::human::{Show, show};

/// How far a replica must be behind to be worth a word, in seconds.
const BEHIND_MIN: f64 = 60.0;

/// Locks that are told, at the most.
const LOCKS_MAX: usize = 2;

/// What a server writes that ends itself, or is ended by a mistake of its own (sql/signal_handler.cc, ut0dbg.cc).
const CRASHES: [&str; 3] = ["got signal ", "Assertion failure", "got exception 0x"];

/// In a few words each, most telling first.
pub(crate) fn evident_facts(incident: &Incident) -> Vec<String> {
    let triggers = incident.stall.triggers.iter();
    let noticed = triggers
        .filter(|trigger| trigger.rule != Stall::IMPORTED)
        .map(|trigger| trigger.says.trim().trim_end_matches('.').to_owned())
        .filter(|says| !says.is_empty());
    noticed
        .chain(crash(incident))
        .chain(locks(incident))
        .chain(behind(incident))
        .collect()
}

fn crash(incident: &Incident) -> Option<String> {
    let texts = incident.texts.iter();
    let mut lines = texts
        .filter(|timed| timed.text.kind() == TextKind::ErrorLog)
        .flat_map(|timed| timed.text.body().lines());
    let is_crash = |line: &&str| CRASHES.iter().any(|words| line.contains(words));
    let found = lines.any(|line| is_crash(&line));
    found.then(|| "the error log reports a crash of the server".to_owned())
}

/// Locks whose waiters and holders the server told.
fn locks(incident: &Incident) -> Vec<String> {
    let tables = incident.stacks.locks.iter();
    let told = |row: &LockRow| {
        let mut holders = row.holders.iter();
        let holder = holders.find(|holder| holder.by == HolderBy::Server)?;
        Some((row.waiters_max, row.name.clone(), holder.name.clone()))
    };
    let mut rows: Vec<(u32, String, String)> = tables
        .flat_map(|table| &table.locks)
        .filter(|row| row.waiters_max > 0)
        .filter_map(told)
        .collect();
    rows.order_by_key(|(waiters, ..)| std::cmp::Reverse(*waiters));
    let rows = rows.into_iter().take(LOCKS_MAX);
    rows.map(|(waiters, lock, holder)| {
        let waits = match waiters {
            1 => "1 session waited".to_owned(),
            waiters => format!("{waiters} sessions waited"),
        };
        format!("{waits} for {lock}, held by {holder}")
    })
    .collect()
}

fn behind(incident: &Incident) -> Option<String> {
    let timeline = &incident.timeline;
    let series = timeline.get("replica.seconds_behind")?;
    let most = timeline
        .points(series)
        .map(|(_, value)| value)
        .reduce(f64::max)?;
    let most = Some(most).filter(|most| *most >= BEHIND_MIN)?;
    Some(format!(
        "the replica was {} behind its source",
        show(most, Show::Seconds)
    ))
}
