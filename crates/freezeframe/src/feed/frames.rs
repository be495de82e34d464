//! Files of incidents on their way to a store of files, beside the rows of the fleet: a redacted copy of each waits on
//! the disk until the store has it.
//!
//! **The copy is made before the rows**, which name its place and its hash; who was killed between both finds it again,
//! so that the hash in the table is that of the file.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use fleet::clickhouse::Then;
use fleet::from_incident::{FrameFile, hash_of_bytes};

use super::frame_place::FramePlace;
use super::{FeedState, Lost, Part};
use crate::fleet::pause::Pause;

/// Below the feed's directory.
const DIR: &str = "frames";

/// The files that wait.
pub(super) struct Frames {
    place: FramePlace,
    dir: PathBuf,
    bytes_max: u64,
    pause: Pause,
}

/// One that waits.
struct Waiting {
    path: PathBuf,
    host: String,
    name: String,
    bytes: u64,
    written: SystemTime,
}

impl Frames {
    /// Those of this feed's directory, which get `bytes_max` of it.
    pub(super) fn new(place: FramePlace, own_dir: &Path, bytes_max: u64) -> Self {
        Self {
            place,
            dir: own_dir.join(DIR),
            bytes_max,
            pause: Pause::default(),
        }
    }

    /// Keeps a redacted copy of an incident of this host until it is sent; where it will be, and its hash.
    ///
    /// # Errors
    ///
    /// When the incident cannot be redacted, the copy is larger than all that may wait, or the disk does not take it.
    pub(super) fn keep(
        &self,
        incident: &Path,
        host: &str,
        salt: &[u8],
        state: &FeedState,
    ) -> Result<FrameFile> {
        let host = folder(host);
        let name = incident.file_name().unwrap_or_default().to_string_lossy();
        let dir = self.dir.join(&host);
        store::make_private_dir(&self.dir)?;
        store::make_private_dir(&dir)?;
        let path = dir.join(&*name);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(_) => {
                let bytes = crate::export::shared_file(incident, salt, &self.dir)?;
                if bytes.len() as u64 > self.bytes_max {
                    bail!(
                        "{name} has {} bytes, more than may wait (spool_mebibytes)",
                        bytes.len()
                    );
                }
                self.make_room(bytes.len() as u64, state);
                store::write_private(&path, &bytes)?;
                bytes
            }
        };
        Ok(FrameFile {
            key: self.place.key(&host, &name),
            bytes: bytes.len() as u64,
            sha256: hash_of_bytes(&bytes),
        })
    }

    /// The oldest go for one of this size: a newer one is asked for sooner.
    fn make_room(&self, bytes: u64, state: &FeedState) {
        let mut waiting = self.waiting();
        let mut all: u64 = waiting.iter().map(|one| one.bytes).sum();
        waiting.sort_by_key(|one| one.written);
        for one in waiting {
            if all + bytes <= self.bytes_max {
                return;
            }
            if std::fs::remove_file(&one.path).is_ok() {
                all -= one.bytes;
                state.lost(Lost::Frames, "too much is waiting (spool_mebibytes)");
            }
        }
    }

    /// Sends the newest file, if one waits and it is time; whether another one can be sent at once.
    pub(super) fn turn(&mut self, state: &FeedState) -> bool {
        if !self.pause.is_over() {
            return false;
        }
        let Some(one) = self.waiting().into_iter().max_by_key(|one| one.written) else {
            return false;
        };
        let sent = std::fs::read(&one.path)
            .with_context(|| one.path.display().to_string())
            .map_err(|error| (Then::Retry, format!("{error:#}")))
            .and_then(|bytes| self.place.put(&one.host, &one.name, &bytes));
        if let Err((then, why)) = sent {
            self.pause.failed(then);
            state.frame_failed(&why);
            return false;
        }
        // One that stays is sent again, as the same.
        let _ = std::fs::remove_file(&one.path);
        self.pause = Pause::default();
        state.works(Part::Frames);
        true
    }

    fn waiting(&self) -> Vec<Waiting> {
        let mut found = Vec::new();
        for dir in entries(&self.dir).filter(|dir| dir.path().is_dir()) {
            for file in entries(&dir.path()) {
                let (path, name) = (file.path(), file.file_name());
                let (Some(host), Some(name), Ok(of)) = (
                    dir.file_name().into_string().ok(),
                    name.to_str(),
                    file.metadata(),
                ) else {
                    continue;
                };
                if name.ends_with(".frame") && of.is_file() {
                    found.push(Waiting {
                        name: name.to_owned(),
                        path,
                        host,
                        bytes: of.len(),
                        written: of.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    });
                }
            }
        }
        found
    }
}

/// A host's name as that of a directory.
pub(super) fn folder(host: &str) -> String {
    match host {
        "" | "." | ".." => "_".to_owned(),
        host => host.replace(['/', '\0'], "_"),
    }
}

fn entries(dir: &Path) -> impl Iterator<Item = std::fs::DirEntry> {
    std::fs::read_dir(dir).into_iter().flatten().flatten()
}
