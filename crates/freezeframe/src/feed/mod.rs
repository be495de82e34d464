//! What a recorder wrote is sent to the fleet, by a thread that nobody waits for.
//!
//! **Nothing of it is in the recorder**: the thread reads what histories and incidents have on the disk, keeps batches in a
//! spool until the fleet has them, and ends with the process as a kill would end it. A fleet that hangs, refuses or is
//! gone costs this thread its time and nobody else anything.
//!
//! **Exactly once.** A batch is in the spool before the cursor says that it is, and goes from it after the store said that
//! it has it; what a kill comes between is done again with the same token, of which the store takes one.

mod collect;
mod config;
mod cursor;
mod frame_place;
mod frames;
mod reachability;
mod remedies;
mod send;
mod spool;

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cli::output;
use rustix::fs::FlockOperation;

use collect::Collector;
use config::Fleet;
pub(crate) use config::{FleetConfig, check};
use frames::Frames;
pub(crate) use reachability::{FleetReached, reached};
use send::Sender;
use spool::{Kind, Spool, Waiting};

use crate::target_config::TargetConfig;

/// Below the recorder's directory.
const DIR: &str = "fleet";

/// How often it is looked for what is new, where nothing is known to wait.
const NAP: Duration = Duration::from_secs(5);

/// How often is tried again what failed here: another process may feed from this directory, the disk may be full.
const AGAIN: Duration = Duration::from_secs(15);

/// How long batches are sent before it is looked again for what is new.
const SEND_MAX: Duration = Duration::from_secs(5);

/// How the feeding does. Written by its thread, read by anybody.
#[derive(Debug, Default)]
pub(crate) struct FeedState {
    /// Where it goes.
    pub(crate) name: String,
    waiting: AtomicU64,
    waiting_bytes: AtomicU64,
    sent: AtomicU64,
    failures: AtomicU64,
    lost_minutes: AtomicU64,
    lost_incidents: AtomicU64,
    lost_remedies: AtomicU64,
    lost_frames: AtomicU64,
    thinned: AtomicU64,
    sent_at: AtomicI64,
    /// What is wrong with each part, if anything.
    troubles: Mutex<[Option<String>; 4]>,
}

/// What can be in trouble for itself.
#[derive(Debug, Clone, Copy)]
enum Part {
    Collecting = 0,
    Sending = 1,
    Frames = 2,
    /// Batches that are refused while others are taken.
    Refused = 3,
}

/// What can be lost for the fleet.
#[derive(Debug, Clone, Copy)]
enum Lost {
    Minutes,
    Incidents,
    Remedies,
    /// Files of incidents.
    Frames,
}

impl From<Kind> for Lost {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Minutes => Self::Minutes,
            Kind::Evidence | Kind::Judgement => Self::Incidents,
            Kind::Remedies => Self::Remedies,
        }
    }
}

/// What [`FeedState`] says at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FeedNow {
    /// Batches in the spool, and their bytes.
    pub(crate) waiting: u64,
    pub(crate) waiting_bytes: u64,
    /// Batches that the fleet has, and attempts that failed.
    pub(crate) sent: u64,
    pub(crate) failures: u64,
    /// What was lost: batches of minutes, of incidents, of remedies, with the records of fixes that cannot be read; files
    /// of incidents.
    pub(crate) lost: [u64; 4],
    /// Batches of minutes that were made without seconds, because much was waiting.
    pub(crate) thinned: u64,
    /// When the last one was taken, seconds since 1970.
    pub(crate) sent_at: Option<i64>,
    /// What is wrong, if anything.
    pub(crate) trouble: Option<String>,
}

impl FeedState {
    pub(crate) fn now(&self) -> FeedNow {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        FeedNow {
            waiting: load(&self.waiting),
            waiting_bytes: load(&self.waiting_bytes),
            sent: load(&self.sent),
            failures: load(&self.failures),
            lost: [
                load(&self.lost_minutes),
                load(&self.lost_incidents),
                load(&self.lost_remedies),
                load(&self.lost_frames),
            ],
            thinned: load(&self.thinned),
            sent_at: Some(self.sent_at.load(Ordering::Relaxed)).filter(|at| *at > 0),
            trouble: self.troubles().iter().flatten().next().cloned(),
        }
    }

    fn troubles(&self) -> std::sync::MutexGuard<'_, [Option<String>; 4]> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sent(&self, now: i64) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        self.sent_at.store(now, Ordering::Relaxed);
        self.works(Part::Sending);
    }

    fn failed(&self, why: &str) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.trouble(Part::Sending, why);
    }

    fn refused(&self, why: &str) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.trouble(Part::Refused, why);
    }

    fn frame_failed(&self, why: &str) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.trouble(Part::Frames, why);
    }

    /// Loud once, until it works again.
    fn trouble(&self, part: Part, why: &str) {
        if self.troubles()[part as usize]
            .replace(why.to_owned())
            .is_none()
        {
            output::note(&format!("fleet: {why}; trying again"));
        }
    }

    fn works(&self, part: Part) {
        if self.troubles()[part as usize].take().is_some() {
            let what = match part {
                Part::Collecting => "collects again",
                Part::Sending => "works again",
                Part::Frames => "files of incidents are sent again",
                Part::Refused => "nothing is refused any more",
            };
            output::note(&format!("fleet: {}: {what}", self.name));
        }
    }

    /// Something is lost, and why. Loud once.
    fn lost(&self, lost: impl Into<Lost>, why: &str) {
        let (count, what) = match lost.into() {
            Lost::Minutes => (&self.lost_minutes, "minutes"),
            Lost::Incidents => (&self.lost_incidents, "incidents"),
            Lost::Remedies => (&self.lost_remedies, "remedies"),
            Lost::Frames => (&self.lost_frames, "files of incidents"),
        };
        if count.fetch_add(1, Ordering::Relaxed) == 0 {
            output::note(&format!(
                "fleet: not sent: {what}: {why}; /metrics counts them"
            ));
        }
    }

    /// A batch of minutes was made without seconds. Loud once.
    fn thinned(&self) {
        if self.thinned.fetch_add(1, Ordering::Relaxed) == 0 {
            output::note(
                "fleet: much is waiting: minutes are made without seconds meanwhile; /metrics counts them",
            );
        }
    }

    /// These had to go.
    fn lost_for_room(&self, lost: &[Waiting]) {
        for one in lost {
            self.lost(
                one.kind,
                "too much is waiting (spool_mebibytes), or the disk is full",
            );
        }
    }

    fn waits(&self, spool: &Spool) {
        let (batches, bytes) = spool.size();
        self.waiting.store(batches, Ordering::Relaxed);
        self.waiting_bytes.store(bytes, Ordering::Relaxed);
    }
}

/// Feeds the fleet that is configured with what is recorded in `dir`, until the process ends. None where none is
/// configured.
///
/// # Errors
///
/// When it is not well formed, or there is no thread for it.
pub(crate) fn start(
    config: &FleetConfig,
    targets: &[TargetConfig],
    dir: &Path,
) -> Result<Option<Arc<FeedState>>> {
    let Some(fleet) = config.fleet()? else {
        return Ok(None);
    };
    let state = Arc::new(FeedState {
        name: fleet.name.clone(),
        ..FeedState::default()
    });
    let labels = targets.iter().map(|target| {
        let labels = target.labels.clone().into_iter().collect();
        (target.name.clone(), labels)
    });
    let (labels, told) = (labels.collect(), state.clone());
    let dir = std::path::absolute(dir)?;
    kernel::own_threads::start("ff-fleet", move || {
        loop {
            match begin(&dir, &fleet, &labels) {
                Ok(feed) => feed.run(&told),
                Err(error) => told.trouble(Part::Collecting, &format!("{error:#}")),
            }
            std::thread::sleep(AGAIN);
        }
    })
    .context("cannot start the thread that sends to the fleet")?;
    Ok(Some(state))
}

/// What feeds, from one directory at a time.
struct Feed {
    collector: Collector,
    sender: Sender,
    frames: Option<Frames>,
    spool: Spool,
    /// Held as long as we run.
    _lock: File,
}

fn begin(
    dir: &Path,
    fleet: &Fleet,
    labels: &BTreeMap<String, Vec<(String, String)>>,
) -> Result<Feed> {
    let own_dir: PathBuf = dir.join(DIR);
    store::make_private_dir(&own_dir)?;
    let lock = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(own_dir.join(".lock"))
        .context("fleet/.lock")?;
    if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        bail!("another recorder already sends from {}", dir.display());
    }
    let spool = Spool::open(&own_dir, fleet.spool_bytes)?;
    let now = crate::fleet::now_ms() / 1000;
    Ok(Feed {
        collector: Collector::new(dir, &own_dir, fleet.clone(), labels.clone(), &spool, now)?,
        sender: Sender::new(fleet.clone()),
        frames: fleet
            .frames
            .clone()
            .map(|place| Frames::new(place, &own_dir, fleet.spool_bytes)),
        spool,
        _lock: lock,
    })
}

impl Feed {
    /// Feeds until the process ends.
    fn run(mut self, state: &FeedState) -> ! {
        let mut collect_at = Instant::now();
        loop {
            let now = crate::fleet::now_ms() / 1000;
            let (mut more, before) = (false, self.spool.size());
            if Instant::now() >= collect_at {
                match self
                    .collector
                    .turn(&mut self.spool, self.frames.as_ref(), state, now)
                {
                    Ok(is_more) => {
                        more = is_more;
                        state.works(Part::Collecting);
                    }
                    // What is sent meanwhile gives room on a full disk.
                    Err(error) => {
                        collect_at = Instant::now() + AGAIN;
                        state.trouble(Part::Collecting, &error.to_string());
                    }
                }
            }
            state.waits(&self.spool);
            let mut worked = self.spool.size() != before;
            let end = Instant::now() + SEND_MAX;
            while self.sender.turn(&mut self.spool, state, now) {
                worked = true;
                state.waits(&self.spool);
                if Instant::now() >= end {
                    more = true;
                    break;
                }
            }
            state.waits(&self.spool);
            if let Some(frames) = &mut self.frames {
                more = frames.turn(state) || more;
            }
            if !more {
                // A minute takes some MiB while it is summed up and sent, and nothing of it is needed until the next.
                if worked {
                    self.sender.rest();
                    kernel::heap::give_back();
                }
                std::thread::sleep(NAP);
            }
        }
    }
}
