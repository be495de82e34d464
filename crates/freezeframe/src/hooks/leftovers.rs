//! What waits for hooks that are no longer configured. Nobody delivers it, and it may tell what a stall was: it goes when it
//! is as old as events of other hooks become. Until then a recorder with another configuration may want it.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use cli::output;

use super::worker::PATIENCE;

/// How often it is looked whether something is old enough.
const EVERY: Duration = Duration::from_secs(600);

/// Hexadecimal digits of the name of a queue.
const KEY_DIGITS: usize = 16;

/// The directory of all queues, and the names of those that somebody delivers from.
pub(super) struct Leftovers {
    dir: PathBuf,
    keys: Vec<String>,
}

/// What a look found.
#[derive(Debug, Default, PartialEq)]
struct Swept {
    /// Files that were deleted.
    deleted: u64,
    /// Files that are not old enough.
    waiting: u64,
}

impl Leftovers {
    pub(super) fn new(dir: PathBuf, keys: Vec<String>) -> Self {
        Self { dir, keys }
    }

    /// Deletes what is old enough, now and later. Where nothing is left there is no thread.
    pub(super) fn give_end(self, stop: Arc<AtomicBool>) -> std::io::Result<()> {
        if self.look().waiting == 0 {
            return Ok(());
        }
        kernel::own_threads::start("ff-hook-old", move || {
            let mut waiting = 1;
            while waiting > 0 {
                // The end of the recording does not wait for this thread.
                std::thread::sleep(EVERY);
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                waiting = self.look().waiting;
            }
        })?;
        Ok(())
    }

    fn look(&self) -> Swept {
        let swept = self.sweep(SystemTime::now());
        if swept.deleted > 0 {
            output::note(&format!(
                "hooks: deleted files of hooks that are no longer configured: {} (older than {} hours)",
                swept.deleted,
                PATIENCE.as_secs() / 3600
            ));
        }
        swept
    }

    fn sweep(&self, now: SystemTime) -> Swept {
        let mut swept = Swept::default();
        for entry in entries(&self.dir) {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let key = name.split('.').next().unwrap_or_default();
            let is_key =
                key.len() == KEY_DIGITS && key.bytes().all(|byte| byte.is_ascii_hexdigit());
            let is_delivered = self.keys.iter().any(|own| own == key);
            // Not through a link: what it leads to is somebody else's.
            let Some(kind) = entry.file_type().ok().filter(|_| is_key && !is_delivered) else {
                continue;
            };
            if kind.is_dir() {
                for file in entries(&entry.path()) {
                    swept.take(&file, now);
                }
                // Refused while something is in it.
                let _ = std::fs::remove_dir(entry.path());
            } else {
                swept.take(&entry, now);
            }
        }
        swept
    }
}

impl Swept {
    fn take(&mut self, file: &DirEntry, now: SystemTime) {
        let written = file.metadata().and_then(|file| file.modified());
        let Ok(age) = written.map(|written| now.duration_since(written).unwrap_or_default()) else {
            return;
        };
        if age <= PATIENCE {
            self.waiting += 1;
        } else if std::fs::remove_file(file.path()).is_ok() {
            self.deleted += 1;
        }
    }
}

/// What is in a directory; nothing where it cannot be read.
fn entries(dir: &Path) -> impl Iterator<Item = DirEntry> {
    std::fs::read_dir(dir).into_iter().flatten().flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_no_hook_goes_after_a_day_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("hooks");
        let at = |name: &str| dir.join(name);
        let own = "00000000000000aa";
        for queue in [own, "00000000000000bb", "notes"] {
            std::fs::create_dir_all(at(queue)).unwrap();
        }
        for file in [
            "00000000000000aa/1.json",
            "00000000000000aa.output",
            "00000000000000bb/1.json",
            "00000000000000bb/2.unreadable",
            "00000000000000bb.output",
            "notes/1.json",
        ] {
            std::fs::write(at(file), "{}").unwrap();
        }
        let leftovers = Leftovers::new(dir.clone(), vec![own.to_owned()]);
        let now = SystemTime::now();
        let swept = |deleted, waiting| Swept { deleted, waiting };
        // A clock that was set back makes nothing old.
        assert_eq!(leftovers.sweep(now - PATIENCE), swept(0, 3));
        assert_eq!(leftovers.sweep(now), swept(0, 3));
        assert!(at("00000000000000bb/1.json").exists());
        let later = now + PATIENCE + Duration::from_secs(60);
        assert_eq!(leftovers.sweep(later), swept(3, 0));
        assert_eq!(leftovers.sweep(later), swept(0, 0));
        let mut left: Vec<String> = entries(&dir)
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [own, "00000000000000aa.output", "notes"]);
        assert!(at("00000000000000aa/1.json").exists());
        assert!(at("notes/1.json").exists());
        // Without any there is nothing to do, and no thread.
        let none = Leftovers::new(dir.join("nowhere"), Vec::new());
        assert_eq!(none.sweep(later), swept(0, 0));
    }
}
