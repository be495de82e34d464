//! What was changed against a cause, for the fleet: the public records of fixes become rows of `remedies`.
//!
//! A row is of one server. What is set on a host is of all servers of it, and what is set in a server of that one alone.
//! Which servers there are is told by what else is collected, and kept with the cursor. A row needs its server's own row
//! beside it, so that nobody sends for another: one that says who the server is, and is older than any that says more.
//!
//! **Once.** A batch is numbered by the fix, the server, and how far the fix is. A recorder that begins anew makes the
//! same numbers, of which the store takes one; and the row of a fix that has ended has the key of the same fix in force.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use fleet::from_incident::host_id;
use fleet::row::{Action, Hash64, HostRow, Proof, RemedyRow, Seconds};
use fleet::{Batch, Token};
use remedy::fix::{
    ChangeKind, Outcome, PUBLIC, PUBLIC_BESIDE, Proof as Said, PublicRecord, read_public,
};

use super::FeedState;
use super::cursor::Cursor;
use super::spool::{Kind, Spool};

/// How often it is looked for what was changed.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// What could not be read is told of so many files.
const TOLD_MAX: usize = 1024;

/// A server that was not seen for so long before a fix was made is gone, and was not changed. Seconds.
const UNSEEN_MAX: i64 = 24 * 3600;

/// A server that was not seen for so long is forgotten: a host whose sockets change has many names. Seconds.
const FORGOTTEN: i64 = 30 * 24 * 3600;

/// Microseconds of a second.
const SECOND_US: i64 = 1_000_000;

/// Looks for records of fixes.
pub(super) struct Remedies {
    dirs: [PathBuf; 2],
    salt: Vec<u8>,
    host: String,
    look_at: Instant,
    /// What could not be read, and was counted.
    skipped: BTreeSet<String>,
}

impl Remedies {
    /// Those of this recorder's directory, and root's.
    pub(super) fn new(dir: &Path, salt: &[u8]) -> Self {
        Self {
            dirs: [dir.join(PUBLIC_BESIDE), PathBuf::from(PUBLIC)],
            salt: salt.to_owned(),
            host: recorder::host_name(),
            look_at: Instant::now(),
            skipped: BTreeSet::new(),
        }
    }

    /// A server was seen. One of another host is no matter of what is changed here.
    pub(super) fn saw(&mut self, host: &HostRow, cursor: &mut Cursor) {
        if host.host != self.host {
            return;
        }
        let known = cursor.servers.entry(host.label.clone()).or_insert_with(|| {
            self.look_at = Instant::now();
            0
        });
        *known = host.seen.0.max(*known);
        let newest = cursor.servers.values().copied().max().unwrap_or(0);
        cursor.servers.retain(|_, seen| *seen > newest - FORGOTTEN);
    }

    /// Puts what is new into the spool; whether the cursor was moved.
    ///
    /// # Errors
    ///
    /// When the disk does not take it.
    pub(super) fn turn(
        &mut self,
        cursor: &mut Cursor,
        spool: &mut Spool,
        state: &FeedState,
    ) -> Result<bool> {
        if cursor.servers.is_empty() || Instant::now() < self.look_at {
            return Ok(false);
        }
        let (records, are_all) = self.records(state);
        let mut moved = false;
        let mut there = BTreeSet::new();
        for record in &records {
            for label in servers_of(record, &cursor.servers) {
                let host_id = host_id(&self.salt, &self.host, &label);
                let Some(rows) = rows(record, host_id) else {
                    continue;
                };
                let key = format!("{} {label}", record.id);
                let stage = stage(record);
                if cursor.remedies.get(&key) != Some(&stage) {
                    let mut batch = Batch::new(Token {
                        host_id: host_id.0,
                        boot: u64::from_str_radix(&record.id, 16).unwrap_or_default(),
                        seq: stage,
                    });
                    batch.push(&HostRow {
                        host_id,
                        host: self.host.clone(),
                        label,
                        ..HostRow::default()
                    });
                    batch.extend(&rows);
                    let lost = spool.push(Kind::Remedies, rows[0].at.0, &batch)?;
                    state.lost_for_room(&lost);
                    cursor.remedies.insert(key.clone(), stage);
                    moved = true;
                }
                there.insert(key);
            }
        }
        if are_all {
            let before = cursor.remedies.len();
            let is_there = |key: &String| {
                there.contains(key) || {
                    let id = key.split(' ').next().unwrap_or_default();
                    records.iter().any(|record| record.id == id)
                }
            };
            cursor.remedies.retain(|key, _| is_there(key));
            moved |= cursor.remedies.len() != before;
        }
        self.look_at = Instant::now() + LOOK_EVERY;
        Ok(moved)
    }

    /// The records that are there, and whether these are all. One that cannot be read is counted once.
    fn records(&mut self, state: &FeedState) -> (Vec<PublicRecord>, bool) {
        let (mut records, mut are_all) = (Vec::new(), true);
        for dir in &self.dirs {
            let mut skip = |name: String, why: &str| {
                if self.skipped.len() < TOLD_MAX && self.skipped.insert(name.clone()) {
                    state.lost(Kind::Remedies, &format!("{name}: {why}"));
                }
            };
            match read_public(dir) {
                Ok(None) => {}
                Ok(Some(found)) => {
                    records.extend(found.records);
                    for one in found.skipped {
                        skip(dir.join(&one.name).display().to_string(), &one.why);
                    }
                }
                Err(error) => {
                    are_all = false;
                    skip(dir.display().to_string(), &error.to_string());
                }
            }
        }
        (records, are_all)
    }
}

/// The labels of the servers that were changed, of those that were there by then.
fn servers_of(record: &PublicRecord, servers: &BTreeMap<String, i64>) -> Vec<String> {
    let by_then = record.since_us.div_euclid(SECOND_US) - UNSEEN_MAX;
    let there = servers.iter().filter(|(_, seen)| **seen >= by_then);
    let there: Vec<&String> = there.map(|(label, _)| label).collect();
    match (&record.server, there.as_slice()) {
        // It can only be the one that there is.
        (None, [_]) => {}
        (None, _) if record.of_host => {}
        (None, _) => return Vec::new(),
        (Some(label), _) => {
            let named = there.contains(&label).then(|| label.clone());
            return named.into_iter().collect();
        }
    }
    there.into_iter().cloned().collect()
}

/// Why the fixes that root makes are not sent by a recorder with its incidents in `dir`; nothing where they are.
pub(super) fn untold(dir: &Path) -> Option<String> {
    // Root's own recorder finds them beside the incidents.
    if dir.metadata().map_or(true, |dir| dir.uid() == 0) {
        return None;
    }
    match read_public(Path::new(PUBLIC)) {
        Ok(Some(_)) => None,
        Ok(None) => Some(format!("{PUBLIC} does not exist")),
        Err(error) => Some(error.to_string()),
    }
}

/// How far a fix is, as a number: another one with each row that says something new.
fn stage(record: &PublicRecord) -> u64 {
    let proof = match record.proof {
        None => 0,
        Some(Said::NotProven) => 1,
        Some(Said::NoEffect) => 2,
        Some(Said::Worked) => 3,
        Some(Said::Worse) => 4,
    };
    let has_ended = u64::from(record.outcome == Outcome::GivenBack);
    1 + has_ended + 2 * proof
}

/// The rows of a fix on one of its servers: that it was made, and that it is back. None of one that failed, and none of a
/// session that was ended: that ends a stall, and holds off no other.
fn rows(record: &PublicRecord, host_id: Hash64) -> Option<Vec<RemedyRow>> {
    if record.outcome == Outcome::Refused || record.kinds == [ChangeKind::EndSession] {
        return None;
    }
    let since = record.since_us.div_euclid(SECOND_US);
    let made = RemedyRow {
        host_id,
        at: Seconds(since),
        remedy: record.remedy.clone(),
        cause: record.cause.clone(),
        action: Action::Apply,
        proof: match record.proof {
            None => Proof::Pending,
            Some(Said::Worked) => Proof::Proven,
            Some(Said::NoEffect | Said::NotProven) => Proof::NotProven,
            Some(Said::Worse) => Proof::Worse,
        },
        rev: u32::try_from(record.changed_us.div_euclid(SECOND_US)).unwrap_or(0),
    };
    let back = (record.outcome == Outcome::GivenBack).then(|| RemedyRow {
        // Within one second it would be the same row.
        at: Seconds(
            (record.ended_us.unwrap_or(record.changed_us))
                .div_euclid(SECOND_US)
                .max(since + 1),
        ),
        action: Action::Undo,
        proof: Proof::Pending,
        ..made.clone()
    });
    Some([Some(made), back].into_iter().flatten().collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests;
