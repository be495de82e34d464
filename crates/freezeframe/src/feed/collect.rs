//! What a recorder wrote becomes batches: minutes of its histories, and its incidents.
//!
//! **From the disk, not from the recorder.** History and incidents are there for good already, in files that others may
//! read. So nothing is added to the recorder's threads, a killed recorder costs the fleet nothing that it did not cost
//! itself, and a store that was away for an hour is no matter of memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow};
use fleet::from_incident::{KnownNames, host_id, minutes, minutes_of};
use fleet::row::{HostRow, SignalRow};
use fleet::vitals::is_vital;
use fleet::{Batch, Token};
use store::{HistoryWindow, history_coverage, read_minutes, read_summary, state_dirs};

use super::config::{Fleet, Place, Seconds};
use super::cursor::Cursor;
use super::frame_place::put_into;
use super::frames::{Frames, folder};
use super::remedies::Remedies;
use super::spool::{Kind, Spool};
use super::{FeedState, Lost};
use crate::fleet::read::incident_rows;

/// A minute is summed up so long after its end: the history has it, and what slow sources read then. Seconds.
const AFTER: i64 = 20;

/// What is read beyond a minute's end, seconds: less than [`AFTER`].
const BEYOND: i64 = 15;

/// Minutes before an onset and after an end that keep their seconds, in seconds.
const AROUND: i64 = 300;

/// A recorder that stood still for longer looks for the next minute that was recorded. Seconds.
const GAP: i64 = 300;

/// An incident of the time before that is not older is no backlog.
const FRESH: Duration = Duration::from_secs(600);

/// Incidents of a backlog are judged for a tenth of the time.
const BACKLOG_SHARE: u32 = 10;

/// Collects for one directory.
pub(super) struct Collector {
    /// The recorder's directory.
    dir: PathBuf,
    /// Ours in it.
    own_dir: PathBuf,
    fleet: Fleet,
    salt: Vec<u8>,
    /// What an owner says of servers, by their labels.
    labels: BTreeMap<String, Vec<(String, String)>>,
    cursor: Cursor,
    backlog_at: Instant,
    remedies: Remedies,
    /// By the history's file.
    names: HashMap<PathBuf, KnownNames>,
}

impl Collector {
    pub(super) fn new(
        dir: &Path,
        own_dir: &Path,
        fleet: Fleet,
        labels: BTreeMap<String, Vec<(String, String)>>,
        spool: &Spool,
        now: i64,
    ) -> Result<Self> {
        let salt = fleet.salt()?;
        let mut cursor = match Cursor::load(own_dir) {
            Some(cursor) => cursor,
            None => Cursor::begin(now - now.rem_euclid(60))?,
        };
        // It was killed between both.
        if let Some(minute) = spool.last_minutes(cursor.life) {
            cursor.minute = cursor.minute.max(minute + 60);
        }
        cursor.save(own_dir)?;
        Ok(Self {
            dir: dir.to_owned(),
            own_dir: own_dir.to_owned(),
            fleet,
            remedies: Remedies::new(dir, &salt),
            salt,
            labels,
            cursor,
            backlog_at: Instant::now(),
            names: HashMap::new(),
        })
    }

    /// Collects what is there, for a moment; whether there is more.
    pub(super) fn turn(
        &mut self,
        spool: &mut Spool,
        frames: Option<&Frames>,
        state: &FeedState,
        now: i64,
    ) -> Result<bool> {
        let more = self.next_incident(spool, frames, state, now)?;
        // A directory gets the incidents alone.
        if matches!(self.fleet.place, Place::Directory(_)) {
            return Ok(more);
        }
        let more = self.next_minute(spool, state, now)? || more;
        if self.remedies.turn(&mut self.cursor, spool, state)? {
            self.cursor.save(&self.own_dir)?;
        }
        Ok(more)
    }

    fn next_incident(
        &mut self,
        spool: &mut Spool,
        files: Option<&Frames>,
        state: &FeedState,
        now: i64,
    ) -> Result<bool> {
        let found = frames(&self.dir);
        let new: Vec<&String> = found.difference(&self.cursor.incidents).collect();
        let written = |name: &&String| {
            let file = self.dir.join(name).metadata();
            file.and_then(|file| file.modified())
                .unwrap_or(SystemTime::UNIX_EPOCH)
        };
        // The newest first: it is asked for.
        let Some((written, name)) = new.iter().map(|name| (written(name), *name)).max() else {
            return Ok(false);
        };
        let is_fresh = written.elapsed().is_ok_and(|age| age < FRESH);
        if !is_fresh && Instant::now() < self.backlog_at {
            return Ok(false);
        }
        let (name, is_more) = (name.clone(), new.len() > 1);
        let began = Instant::now();
        let path = self.dir.join(&name);
        let sent = match &self.fleet.place {
            Place::Directory(to) => self.share(&path, to, state, now),
            Place::Store(..) | Place::Gateway(_) => self
                .spool_incident(&path, written, spool, files, state)
                .map(|(end, host)| {
                    self.remedies.saw(&host, &mut self.cursor);
                    self.cursor.seconds_until = self.cursor.seconds_until.max(end + AROUND);
                }),
        };
        export::redact::forget_forms();
        kernel::heap::give_back();
        self.backlog_at = Instant::now() + began.elapsed() * BACKLOG_SHARE;
        match sent {
            Err(Trouble::Wait(error)) => return Err(error),
            Err(Trouble::Never(error)) if is_disk_full(&error) => return Err(error),
            Err(Trouble::Never(error)) => {
                state.lost(Kind::Evidence, &format!("{error:#}"));
            }
            Ok(()) => {}
        }
        self.cursor.incidents.retain(|name| found.contains(name));
        self.cursor.incidents.insert(name);
        self.cursor.save(&self.own_dir)?;
        Ok(is_more)
    }

    /// An incident into the spool; when its stall ended, seconds since 1970, and its server.
    fn spool_incident(
        &self,
        path: &Path,
        written: SystemTime,
        spool: &mut Spool,
        files: Option<&Frames>,
        state: &FeedState,
    ) -> Result<(i64, HostRow), Trouble> {
        // Not of now: whoever is killed over it makes the same batches again. `fleet add` judges later.
        let judged = written.duration_since(SystemTime::UNIX_EPOCH);
        let judged = judged.map_or(0, |since| since.as_secs()).cast_signed();
        let mut rows = incident_rows(path, &self.salt, judged).map_err(Trouble::Never)?;
        rows.host.cluster.clone_from(&self.fleet.cluster);
        rows.host.labels = self.labels_of(&rows.host.label);
        if let Some(files) = files {
            match files.keep(path, &rows.host.host, &self.salt, state) {
                Ok(kept) => {
                    rows.incident.frame_key = kept.key;
                    rows.incident.frame_bytes = kept.bytes;
                    rows.incident.frame_sha256 = kept.sha256;
                }
                Err(error) if is_disk_full(&error) => return Err(Trouble::Wait(error)),
                // The rows need no file.
                Err(error) => state.lost(Lost::Frames, &format!("{error:#}")),
            }
        }
        let (onset, duration) = (rows.incident.onset.0, rows.incident.duration_ms);
        let (begin, end) = (onset / 1000, (onset + i64::from(duration)) / 1000);
        let mut push = |kind, batch: Batch| {
            let lost = spool.push(kind, begin, &batch).map_err(wait)?;
            state.lost_for_room(&lost);
            Ok::<_, Trouble>(batch.token)
        };
        // Each is gone before the next is made: an incident may have ten thousand rows.
        let token = push(Kind::Evidence, rows.evidence())?;
        push(Kind::Judgement, rows.judgement())?;
        let host = rows.host.clone();
        drop(rows);
        let seconds = self.seconds_around(&host.host_id, begin..end);
        if !seconds.is_empty() {
            // Another number than the incident's own batches have.
            let mut batch = Batch::new(Token {
                seq: u64::MAX,
                ..token
            });
            for row in seconds {
                batch.push(&row);
            }
            push(Kind::Minutes, batch)?;
        }
        Ok((end, host))
    }

    /// The minutes around a stall that were sent without their seconds.
    fn seconds_around(
        &self,
        host: &fleet::row::Hash64,
        stall: std::ops::Range<i64>,
    ) -> Vec<SignalRow> {
        let from = stall.start - AROUND;
        let from = from - from.rem_euclid(60);
        let to = (stall.end + AROUND).min(self.cursor.minute);
        let to = to - to.rem_euclid(60);
        let mut rows = Vec::new();
        if from >= to {
            return rows;
        }
        for found in histories(&self.dir) {
            // What cannot be read has its seconds in the incident itself.
            let Ok(Some(window)) = stretch(&found, from..to) else {
                continue;
            };
            let incident = window.incident;
            if host_id(&self.salt, &incident.host, &incident.server.label) == *host
                && let Ok(minutes) = minutes(incident, &self.salt, from..to)
            {
                rows.extend(minutes.signals);
            }
        }
        rows
    }

    /// An incident without names into a directory, below its host.
    fn share(&self, path: &Path, to: &Path, state: &FeedState, now: i64) -> Result<(), Trouble> {
        let summary = read_summary(path).map_err(|error| Trouble::Never(error.into()))?;
        let bytes =
            crate::export::shared_file(path, &self.salt, &self.own_dir).map_err(Trouble::Never)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        put_into(to, &folder(&summary.host), &name, &bytes).map_err(wait)?;
        state.sent(now);
        Ok(())
    }

    fn next_minute(&mut self, spool: &mut Spool, state: &FeedState, now: i64) -> Result<bool> {
        let complete = now - AFTER;
        let complete = complete - complete.rem_euclid(60);
        // The time of day went back: its minutes come again, with other content.
        if self.cursor.minute > complete + 2 * 60 {
            self.cursor.life = Cursor::begin(0)?.life;
            self.cursor.minute = complete;
        }
        if self.cursor.minute >= complete {
            return Ok(false);
        }
        let histories = histories(&self.dir);
        if complete - self.cursor.minute > GAP {
            self.cursor.minute = next_recorded(&histories, self.cursor.minute..complete);
        }
        let minute = self.cursor.minute;
        if minute >= complete {
            return Ok(false);
        }
        let mut batch = Batch::new(Token {
            host_id: host_id(&self.salt, &recorder::host_name(), "").0,
            boot: self.cursor.life,
            seq: minute.unsigned_abs(),
        });
        self.names.retain(|path, _| histories.contains(path));
        for path in histories {
            if let Err(error) = self.minute_of(&path, minute, &mut batch, spool) {
                state.lost(Kind::Minutes, &format!("{error:#}"));
            }
        }
        if !batch.is_empty() {
            let is_thin = self.is_thin(minute, spool);
            let lost = spool.push(Kind::Minutes, minute, &batch)?;
            state.lost_for_room(&lost);
            if is_thin {
                state.thinned();
            }
        }
        self.cursor.minute = minute + 60;
        self.cursor.save(&self.own_dir)?;
        Ok(minute + 60 < complete)
    }

    fn minute_of(
        &mut self,
        path: &Path,
        minute: i64,
        batch: &mut Batch,
        spool: &Spool,
    ) -> Result<()> {
        let begins = minute..minute + 60;
        let Some(mut window) = stretch(path, begins.clone())? else {
            return Ok(());
        };
        let names = self.names.entry(path.to_owned());
        let names = names.or_insert_with(|| KnownNames::new(&self.salt));
        let unknown = names.unknown(&window.incident);
        // Where something new was met, much was made ready to look at it. What is done with the minute needs the room.
        export::redact::forget_forms();
        if let Some(unknown) = unknown {
            // To look through all names takes what the minute takes, too: one after the other.
            drop(window);
            let found = names.find_out(unknown);
            kernel::heap::give_back();
            found.with_context(|| path.display().to_string())?;
            let Some(again) = stretch(path, begins.clone())? else {
                return Ok(());
            };
            window = again;
        }
        let rows = minutes_of(window.incident, names, begins);
        export::redact::forget_forms();
        let mut rows = rows.with_context(|| path.display().to_string())?;
        if rows.signals.is_empty() {
            return Ok(());
        }
        if self.is_thin(minute, spool) {
            leave_out_seconds(&mut rows.signals, None);
        } else if minute >= self.cursor.seconds_until {
            leave_out_seconds(&mut rows.signals, Some(self.fleet.seconds));
        }
        rows.host.cluster.clone_from(&self.fleet.cluster);
        rows.host.labels = self.labels_of(&rows.host.label);
        self.remedies.saw(&rows.host, &mut self.cursor);
        rows.health.spooled_bytes = spool.size().1;
        batch.push(&rows.host);
        batch.push(&rows.health);
        // One after the other, so that they are not there twice.
        for row in rows.signals {
            batch.push(&row);
        }
        Ok(())
    }

    /// Whether a minute goes without its seconds: it is not near a stall, and much is waiting.
    fn is_thin(&self, minute: i64, spool: &Spool) -> bool {
        minute >= self.cursor.seconds_until && spool.is_pressed()
    }

    fn labels_of(&self, label: &str) -> Vec<(String, String)> {
        self.labels.get(label).cloned().unwrap_or_default()
    }
}

/// Leaves out the seconds of these signals, but for those that are wanted.
fn leave_out_seconds(signals: &mut [SignalRow], wanted: Option<Seconds>) {
    let is_wanted = |signal: &str| match wanted {
        Some(Seconds::All) => true,
        Some(Seconds::Vital) => is_vital(signal),
        None => false,
    };
    for row in signals.iter_mut().filter(|row| !is_wanted(&row.signal)) {
        row.seconds.clear();
    }
}

/// Why an incident is not sent now.
enum Trouble {
    /// It is tried again.
    Wait(anyhow::Error),
    /// It would fail again.
    Never(anyhow::Error),
}

/// Room may come back.
fn is_disk_full(error: &anyhow::Error) -> bool {
    let of_store = |error: &store::StoreError| error.is_disk_full();
    let of_file = |error: &std::io::Error| error.kind() == std::io::ErrorKind::StorageFull;
    error.chain().any(|cause| {
        cause.downcast_ref().is_some_and(of_store) || cause.downcast_ref().is_some_and(of_file)
    })
}

fn wait(error: store::StoreError) -> Trouble {
    Trouble::Wait(anyhow!("{error}"))
}

/// The incidents of a recorder's directory and of its targets, by their place in it.
fn frames(dir: &Path) -> BTreeSet<String> {
    let found = files(dir, |name| {
        name.ends_with(".frame") && !name.starts_with('.')
    });
    let names = found
        .iter()
        .filter_map(|path| path.strip_prefix(dir).ok()?.to_str());
    names.map(str::to_owned).collect()
}

fn histories(dir: &Path) -> BTreeSet<PathBuf> {
    files(dir, |name| {
        name.starts_with("history-") && name.ends_with(".db")
    })
}

fn files(dir: &Path, wanted: impl Fn(&str) -> bool) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for dir in state_dirs(dir) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && entry.file_name().to_str().is_some_and(&wanted) {
                found.insert(entry.path());
            }
        }
    }
    found
}

/// These minutes of a history, and a little more, with its facts.
fn stretch(path: &Path, begins: std::ops::Range<i64>) -> Result<Option<HistoryWindow>> {
    let (from, to) = (begins.start * 1000, (begins.end + BEYOND) * 1000);
    Ok(read_minutes(path, from, to)?)
}

/// The first minute of this time that one of these histories has; else its end.
fn next_recorded(histories: &BTreeSet<PathBuf>, time: std::ops::Range<i64>) -> i64 {
    let first = histories.iter().filter_map(|path| {
        let coverage = history_coverage(path, time.start * 1000, time.end * 1000).ok()?;
        let second = coverage.first_wall_ms?.div_euclid(1000);
        Some(second - second.rem_euclid(60))
    });
    first.min().unwrap_or(time.end).max(time.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_those_of_the_signals_that_are_wanted() {
        let left = |wanted| {
            let signals = [
                "vmstat.nr_dirty",
                "status.Questions",
                "status.Threads_running",
            ];
            let mut signals = signals.map(|signal| SignalRow {
                signal: signal.to_owned(),
                seconds: vec![1.0; 60],
                ..SignalRow::default()
            });
            leave_out_seconds(&mut signals, wanted);
            signals.map(|row| !row.seconds.is_empty())
        };
        assert_eq!(left(Some(Seconds::All)), [true; 3]);
        assert_eq!(left(Some(Seconds::Vital)), [false, true, true]);
        assert_eq!(left(None), [false; 3]);
    }
}
