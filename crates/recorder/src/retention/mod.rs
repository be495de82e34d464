//! What is kept of what was recorded: by age, by size, and by the room that the file system must have left. The history
//! goes first (its own thread sees to that), then histories that were put aside, incidents last.

mod files;
mod plan;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use kernel::places;

use crate::notice::{Notice, Notices};

pub use self::plan::{Disk, FreeMin, RetentionLimits};

use self::files::kept_in;
use self::plan::{KeptKind, RetentionInput, plan};

/// How often it is looked after. The history's thread looks as often.
const EVERY: Duration = Duration::from_secs(60);

/// How soon the end of the recording is seen.
const NAP: Duration = Duration::from_millis(200);

/// How long room must be short before an incident goes for it, milliseconds: the histories are cut first, and what fills
/// the disk may be gone by then.
const SHORT_MS_MIN: u64 = 180_000;

/// How long the time of day must run evenly before anything goes by its age, milliseconds. A clock that was wrong at boot
/// is set within minutes.
const EVEN_MS_MIN: u64 = 3_600_000;

/// A time of day that moves by more than this against the clock since boot was set.
const SET_MS_MIN: u64 = 60_000;

/// How retention does, for the status address.
#[derive(Debug, Default)]
pub struct RetentionState {
    incidents: AtomicU64,
    incident_bytes: AtomicU64,
    free_bytes: AtomicU64,
    is_short: AtomicBool,
}

/// The same at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionNow {
    /// Incidents that are kept.
    pub incidents: u64,
    /// Their bytes, pages included.
    pub incident_bytes: u64,
    /// Bytes that the file system has left; 0 where it does not tell.
    pub free_bytes: u64,
    /// There is less left than there must be.
    pub is_short: bool,
}

impl RetentionState {
    /// How it does now.
    pub fn now(&self) -> RetentionNow {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        RetentionNow {
            incidents: of(&self.incidents),
            incident_bytes: of(&self.incident_bytes),
            free_bytes: of(&self.free_bytes),
            is_short: self.is_short.load(Ordering::Relaxed),
        }
    }
}

/// Looks after a directory until `stop`. Notices go to a channel of its own: on a disk that hangs this thread does not end,
/// and nobody may wait for it.
///
/// # Errors
///
/// No thread can be started.
pub fn keep_within(
    dir: &Path,
    limits: RetentionLimits,
    stop: Arc<AtomicBool>,
    notices: Sender<(String, Notice)>,
) -> std::io::Result<Arc<RetentionState>> {
    let state = Arc::new(RetentionState::default());
    let mut retention = Retention::new(dir, limits, state.clone(), notices);
    kernel::own_threads::start("ff-retention", move || {
        let is_over = || stop.load(Ordering::Relaxed);
        while !is_over() {
            let moment = BothClocks {
                wall_ms: kernel::clock::wall_ms(),
                boot_ms: kernel::clock::boottime_ms(),
            };
            retention.pass(moment, disk_of(&retention.dir));
            let mut waited = Duration::ZERO;
            while waited < EVERY && !is_over() {
                std::thread::sleep(NAP);
                waited += NAP;
            }
        }
    })?;
    Ok(state)
}

/// What the file system of a directory tells.
pub(crate) fn disk_of(dir: &Path) -> Option<Disk> {
    let room = places::room(dir).ok()?;
    (room.bytes > 0).then_some(Disk {
        free: room.free_bytes,
        all: room.bytes,
    })
}

/// A moment by both clocks, milliseconds.
#[derive(Debug, Clone, Copy)]
struct BothClocks {
    wall_ms: i64,
    boot_ms: u64,
}

struct Retention {
    dir: PathBuf,
    limits: RetentionLimits,
    state: Arc<RetentionState>,
    notices: Sender<(String, Notice)>,
    /// The moment before, and since when the time of day runs evenly by the clock since boot.
    before: Option<BothClocks>,
    even_since_ms: u64,
    short_since_ms: Option<u64>,
    told_helpless: bool,
}

impl Retention {
    fn new(
        dir: &Path,
        limits: RetentionLimits,
        state: Arc<RetentionState>,
        notices: Sender<(String, Notice)>,
    ) -> Self {
        Self {
            dir: dir.to_owned(),
            limits,
            state,
            notices,
            before: None,
            even_since_ms: 0,
            short_since_ms: None,
            told_helpless: false,
        }
    }

    /// Looks, and deletes what is over the limits.
    fn pass(&mut self, now: BothClocks, disk: Option<Disk>) {
        let is_even = self.runs_evenly(now);
        let is_short = disk.is_some_and(|disk| disk.shortfall(self.limits.free) > 0);
        match is_short {
            true => _ = self.short_since_ms.get_or_insert(now.boot_ms),
            false => {
                self.short_since_ms = None;
                self.told_helpless = false;
            }
        }
        let short_for = self
            .short_since_ms
            .map(|since| now.boot_ms.saturating_sub(since));
        let kept = kept_in(&self.dir);
        let planned = plan(
            &kept,
            &self.limits,
            &RetentionInput {
                // An age by a clock that is not trusted is none.
                wall_ms: is_even.then_some(now.wall_ms),
                clock_ms: now.wall_ms,
                disk,
                is_short_long: short_for.is_some_and(|ms| ms >= SHORT_MS_MIN),
            },
        );
        let mut gone = vec![false; kept.len()];
        for (index, why) in &planned.deletions {
            let Some(one) = kept.get(*index) else {
                continue;
            };
            if let Err(error) = one.delete() {
                self.send_notice(
                    &one.server,
                    Notice::Room(format!("{}: cannot delete: {error}", one.path.display())),
                );
                continue;
            }
            if let Some(gone) = gone.get_mut(*index) {
                *gone = true;
            }
            self.send_notice(
                &one.server,
                Notice::Deleted {
                    path: one.path.clone(),
                    bytes: one.bytes,
                    why: *why,
                },
            );
        }
        if planned.is_helpless && !self.told_helpless {
            self.told_helpless = true;
            let free = disk.map_or(0, |disk| disk.free >> 20);
            let says = format!(
                "the disk of {} has {free} MiB left, which is too little; deleting incidents would not help, so none was deleted: free some space there",
                self.dir.display()
            );
            self.send_notice("", Notice::Room(says));
        }
        let left = kept.iter().zip(gone).filter(|(_, gone)| !gone);
        let left: Vec<u64> = left
            .filter(|(one, _)| one.kind == KeptKind::Incident)
            .map(|(one, _)| one.bytes)
            .collect();
        let state = &self.state;
        state.incidents.store(left.len() as u64, Ordering::Relaxed);
        state
            .incident_bytes
            .store(left.iter().sum(), Ordering::Relaxed);
        let free = disk.map_or(0, |disk| disk.free);
        state.free_bytes.store(free, Ordering::Relaxed);
        state.is_short.store(is_short, Ordering::Relaxed);
    }

    /// Whether the time of day has run evenly for long enough that an age can be believed.
    fn runs_evenly(&mut self, now: BothClocks) -> bool {
        let was_set = self.before.is_none_or(|before| {
            let passed = now.boot_ms.saturating_sub(before.boot_ms);
            let expected = before.wall_ms.saturating_add_unsigned(passed);
            now.wall_ms.abs_diff(expected) > SET_MS_MIN
        });
        self.before = Some(now);
        if was_set {
            self.even_since_ms = now.boot_ms;
        }
        now.boot_ms.saturating_sub(self.even_since_ms) >= EVEN_MS_MIN
    }

    fn send_notice(&self, server: &str, notice: Notice) {
        let notices = Notices {
            label: server.to_owned(),
            sender: self.notices.clone(),
        };
        notices.send(notice);
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::notice::DeletionReason;

    const MIB: u64 = 1 << 20;
    const HOUR_MS: u64 = 3_600_000;

    /// A directory, and time that passes when it is told to.
    struct Stage {
        dir: tempfile::TempDir,
        retention: Retention,
        told: Receiver<(String, Notice)>,
        now: BothClocks,
    }

    impl Stage {
        fn new(limits: RetentionLimits) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let (sender, told) = channel();
            let retention = Retention::new(dir.path(), limits, Arc::default(), sender);
            // The files are made now: an age is what passes from here on.
            let now = BothClocks {
                wall_ms: kernel::clock::wall_ms(),
                boot_ms: 1_000_000,
            };
            Self {
                dir,
                retention,
                told,
                now,
            }
        }

        /// An incident of so many MiB with its page.
        fn incident(&self, id: &str, mib: u64) {
            let file = |end: &str, bytes: u64| {
                let file = std::fs::File::create(self.dir.path().join(format!("{id}.{end}")));
                file.unwrap().set_len(bytes).unwrap();
            };
            file("frame", mib * MIB - 1000);
            file("html", 1000);
        }

        fn wait(&mut self, ms: u64) {
            self.now.boot_ms += ms;
            self.now.wall_ms += ms as i64;
        }

        /// A pass with so much left; what was deleted, and why.
        fn pass(&mut self, free_mib: u64) -> Vec<(String, DeletionReason)> {
            let disk = Disk {
                free: free_mib * MIB,
                all: 1 << 40,
            };
            self.retention.pass(self.now, Some(disk));
            let told = self.told.try_iter();
            told.filter_map(|(_, notice)| match notice {
                Notice::Deleted { path, why, .. } => {
                    Some((path.file_name()?.to_str()?.to_owned(), why))
                }
                _ => None,
            })
            .collect()
        }

        fn files(&self) -> Vec<String> {
            let files = std::fs::read_dir(self.dir.path()).unwrap();
            let mut names: Vec<String> = files
                .map(|file| file.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    const NONE: RetentionLimits = RetentionLimits {
        age: None,
        bytes: None,
        free: FreeMin::Bytes(0),
    };

    const A: &str = "3306-20241101T000000.000Z";
    const B: &str = "3306-20241102T000000.000Z";
    const C: &str = "3306-20241103T000000.000Z";
    const OTHER: &str = "3307-20241101T120000.000Z";

    #[test]
    fn by_size_the_oldest_go_with_their_pages_and_the_newest_of_each_server_stays() {
        let mut stage = Stage::new(RetentionLimits {
            bytes: Some(3 * MIB),
            ..NONE
        });
        for id in [A, B, C, OTHER] {
            stage.incident(id, 2);
        }
        // What is not named as we name files is not ours.
        std::fs::write(stage.dir.path().join("mine.frame"), vec![0; 100]).unwrap();
        std::fs::write(stage.dir.path().join("stalls.jsonl"), "{}").unwrap();
        let deleted = stage.pass(9000);
        let expected = [A, B].map(|id| (format!("{id}.frame"), DeletionReason::Size));
        assert_eq!(deleted, expected);
        let left = [C, OTHER].map(|id| [format!("{id}.frame"), format!("{id}.html")]);
        let mut left: Vec<String> = left.concat();
        left.extend(["mine.frame".to_owned(), "stalls.jsonl".to_owned()]);
        assert_eq!(stage.files(), left);
        let state = stage.retention.state.now();
        assert_eq!(
            state,
            RetentionNow {
                incidents: 2,
                incident_bytes: 4 * MIB,
                free_bytes: 9000 * MIB,
                is_short: false,
            }
        );
        assert_eq!(stage.pass(9000), []);
    }

    #[test]
    fn by_age_it_waits_until_the_clock_is_believed_and_a_clock_that_jumps_deletes_nothing() {
        let mut stage = Stage::new(RetentionLimits {
            age: Some(Duration::from_secs(24 * 3600)),
            ..NONE
        });
        for id in [A, B] {
            stage.incident(id, 1);
        }
        assert_eq!(stage.pass(9000), []);
        // Ten years ahead at once: somebody set the clock, perhaps wrongly.
        stage.now.wall_ms += 10 * 365 * 24 * 3_600_000;
        assert_eq!(stage.pass(9000), []);
        stage.wait(HOUR_MS / 2);
        assert_eq!(stage.pass(9000), []);
        // And back.
        stage.now.wall_ms -= 10 * 365 * 24 * 3_600_000;
        for _ in 0..23 {
            stage.wait(HOUR_MS);
            assert_eq!(stage.pass(9000), []);
        }
        stage.wait(HOUR_MS);
        assert_eq!(
            stage.pass(9000),
            [(format!("{A}.frame"), DeletionReason::Age)]
        );
        assert_eq!(stage.files(), [format!("{B}.frame"), format!("{B}.html")]);
    }

    #[test]
    fn for_want_of_room_what_was_put_aside_goes_first_and_young_incidents_never() {
        let mut stage = Stage::new(RetentionLimits {
            free: FreeMin::Bytes(100 * MIB),
            ..NONE
        });
        for id in [A, B, C] {
            stage.incident(id, 4);
        }
        let aside = stage.dir.path().join("history-3306.db.damaged-1");
        std::fs::File::create(&aside).unwrap().set_len(MIB).unwrap();
        // All are young: what fills the disk now may be what stalls the server.
        assert_eq!(stage.pass(97), []);
        stage.wait(SHORT_MS_MIN);
        assert_eq!(
            stage.pass(97),
            [(
                "history-3306.db.damaged-1".to_owned(),
                DeletionReason::Space
            )]
        );
        stage.wait(30 * HOUR_MS);
        assert!(stage.pass(500).is_empty() && !stage.retention.state.now().is_short);
        // It must be short for minutes: the histories are cut meanwhile.
        assert_eq!(stage.pass(95), []);
        stage.wait(60_000);
        assert_eq!(stage.pass(95), []);
        stage.wait(SHORT_MS_MIN);
        let deleted = stage.pass(95);
        let expected = [A, B].map(|id| (format!("{id}.frame"), DeletionReason::Space));
        assert_eq!(deleted, expected);
        assert!(stage.retention.state.now().is_short);
    }

    #[test]
    fn nothing_goes_where_that_would_not_help_and_it_is_said_once() {
        let mut stage = Stage::new(RetentionLimits {
            free: FreeMin::Bytes(1000 * MIB),
            ..NONE
        });
        for id in [A, B, C] {
            stage.incident(id, 4);
        }
        stage.pass(10);
        stage.wait(48 * HOUR_MS);
        let mut said = 0;
        for _ in 0..5 {
            let disk = Disk {
                free: 10 * MIB,
                all: 1 << 40,
            };
            stage.retention.pass(stage.now, Some(disk));
            for (_, notice) in stage.told.try_iter() {
                let Notice::Room(says) = notice else {
                    panic!("{notice:?}");
                };
                assert!(says.contains("has 10 MiB left"), "{says}");
                said += 1;
            }
            stage.wait(60_000);
        }
        assert_eq!((said, stage.files().len()), (1, 6));
    }
}
