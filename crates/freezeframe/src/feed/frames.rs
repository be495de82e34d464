//! Files of incidents on their way to a store of files, beside the rows of the fleet: a redacted copy of each waits on
//! the disk until the store has it.
//!
//! **The copy is made before the rows**, which name its place and its hash; who was killed between both finds it again,
//! so that the hash in the table is that of the file.
//!
//! **Nothing waits for a file that is refused**: too large for the store, or there already where nothing may be replaced. It
//! is tried again, more and more seldom, and all others go on. One at which the way breaks off is behind the others the
//! next time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, bail};
use fleet::clickhouse::Then;
use fleet::from_incident::{FrameFile, hash_of_bytes};

use super::frame_place::FramePlace;
use super::{FeedState, Lost, Part};
use crate::fleet::pause::Pause;

/// Below the feed's directory.
const DIR: &str = "frames";

/// When so many are refused one after the other, it is not the files: each of them is sent as a whole before it is.
const REFUSED_MAX: u32 = 3;

/// The files that wait.
pub(super) struct Frames {
    place: FramePlace,
    dir: PathBuf,
    bytes_max: u64,
    pause: Pause,
    /// Those that were tried and not taken.
    tried: BTreeMap<PathBuf, Tried>,
    /// How many were refused since one was taken.
    refused_in_row: u32,
}

/// What is known of a file that was not taken.
#[derive(Debug, Default)]
struct Tried {
    times: u32,
    /// When one that was refused is tried again.
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
            tried: BTreeMap::new(),
            refused_in_row: 0,
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

    /// Sends the newest file of those that were tried least, if one waits and it is time; whether another one can be sent
    /// at once.
    pub(super) fn turn(&mut self, state: &FeedState) -> bool {
        if !self.pause.is_over() {
            return false;
        }
        let waiting = self.waiting();
        // What was refused had to go for want of room.
        self.tried
            .retain(|path, _| waiting.iter().any(|one| one.path == *path));
        if self.tried.is_empty() {
            state.works(Part::Frames);
        }
        let tried = |one: &Waiting| self.tried.get(&one.path);
        let due = waiting
            .into_iter()
            .filter(|one| tried(one).is_none_or(|tried| tried.pause.is_over()));
        let first = due.min_by_key(|one| {
            let times = tried(one).map_or(0, |tried| tried.times);
            (times, Reverse(one.written))
        });
        let Some(one) = first else {
            return false;
        };
        let sent = match std::fs::read(&one.path) {
            Ok(bytes) => self.place.put(&one.host, &one.name, &bytes),
            // What the disk has damaged costs itself only.
            Err(error) => Err((Then::Leave, format!("{}: {error}", one.path.display()))),
        };
        if let Err((then, why)) = sent {
            state.frame_failed(&why);
            return self.failed(one, then);
        }
        // One that stays is sent again, as the same.
        let _ = std::fs::remove_file(&one.path);
        self.tried.remove(&one.path);
        self.pause = Pause::default();
        self.refused_in_row = 0;
        if self.tried.is_empty() {
            state.works(Part::Frames);
        }
        true
    }

    /// A file was not taken; whether another one can be sent at once.
    fn failed(&mut self, one: Waiting, then: Then) -> bool {
        let tried = self.tried.entry(one.path).or_default();
        tried.times = tried.times.saturating_add(1);
        if then != Then::Leave {
            self.pause.failed(then);
            return false;
        }
        tried.pause.failed(then);
        self.refused_in_row += 1;
        let is_one_too_many = self.refused_in_row.is_multiple_of(REFUSED_MAX);
        if is_one_too_many {
            self.pause.failed(then);
        }
        !is_one_too_many
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use fleet::s3;

    use super::*;
    use crate::http_request;

    /// What a store answers where a file's name has this in it, and the names of those that it has.
    #[derive(Default)]
    struct Behind {
        answers: Vec<(&'static str, &'static str)>,
        taken: Vec<String>,
        asked: usize,
    }

    /// A store that takes what it has no other answer for.
    fn store() -> (FramePlace, Arc<Mutex<Behind>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let behind = Arc::new(Mutex::new(Behind::default()));
        let known = behind.clone();
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let (head, _) = http_request::read(&mut stream);
                let path = head.split(' ').nth(1).unwrap();
                let name = path.rsplit('/').next().unwrap().to_owned();
                let mut behind = known.lock().unwrap();
                behind.asked += 1;
                let mut answers = behind.answers.iter();
                let answer = answers.find(|(word, _)| name.contains(word));
                let answer = answer.map_or("200 OK", |(_, answer)| answer);
                if answer == "200 OK" {
                    behind.taken.push(name);
                }
                let _ = write!(stream, "HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
            }
        });
        let place = s3::Place::parse(&format!("s3+http://127.0.0.1:{port}/b/f")).unwrap();
        let access = s3::Access {
            key: Some(s3::Key {
                id: "KEY".to_owned(),
                secret: "s3cret".to_owned(),
                token: None,
            }),
            region: s3::REGION.to_owned(),
            ca_file: None,
        };
        (FramePlace::S3(place, access), behind)
    }

    /// Files that wait, the last of them written last.
    fn frames(dir: &Path, place: FramePlace, names: &[&str]) -> Frames {
        let frames = Frames::new(place, dir, 1 << 20);
        let host = dir.join(DIR).join("db1");
        std::fs::create_dir_all(&host).unwrap();
        for (age, name) in (1..).zip(names.iter().rev()) {
            let path = host.join(format!("{name}.frame"));
            std::fs::write(&path, name).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            let written = SystemTime::now() - Duration::from_secs(60 * age);
            file.set_modified(written).unwrap();
        }
        frames
    }

    /// As the feed does it; how many turns it took.
    fn send(frames: &mut Frames, state: &FeedState) -> usize {
        (0..100).take_while(|_| frames.turn(state)).count()
    }

    #[test]
    fn a_file_that_is_refused_holds_up_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let (place, behind) = store();
        behind.lock().unwrap().answers = vec![("large", "413 Too Large")];
        let mut frames = frames(dir.path(), place, &["old", "new", "large"]);
        let state = FeedState::default();
        assert_eq!(send(&mut frames, &state), 3);
        assert_eq!(behind.lock().unwrap().taken, ["new.frame", "old.frame"]);
        let now = state.now();
        assert_eq!((now.failures, now.lost), (1, [0; 4]));
        assert!(now.trouble.is_some_and(|why| why.contains("413")));
        // Not before its time, which is longer each time.
        assert_eq!(send(&mut frames, &state), 0);
        let mut pauses = Vec::new();
        for _ in 0..3 {
            let tried = frames.tried.values_mut().next().unwrap();
            pauses.push(tried.pause.length.as_secs());
            tried.pause.end();
            frames.pause.end();
            send(&mut frames, &state);
        }
        assert_eq!(pauses, [30, 60, 120]);
        // Somebody permits it.
        behind.lock().unwrap().answers.clear();
        frames
            .tried
            .values_mut()
            .for_each(|tried| tried.pause.end());
        frames.pause.end();
        assert_eq!(send(&mut frames, &state), 1);
        assert_eq!(behind.lock().unwrap().taken[2..], ["large.frame"]);
        assert_eq!((frames.waiting().len(), state.now().trouble), (0, None));
    }

    #[test]
    fn a_file_at_which_the_way_breaks_off_is_behind_the_others_next_time() {
        let dir = tempfile::tempdir().unwrap();
        let (place, behind) = store();
        behind.lock().unwrap().answers = vec![("slow", "504 Gateway Timeout")];
        let mut frames = frames(dir.path(), place, &["old", "new", "slow"]);
        let state = FeedState::default();
        assert_eq!(send(&mut frames, &state), 0);
        assert!(!frames.pause.is_over());
        frames.pause.end();
        assert_eq!(send(&mut frames, &state), 2);
        assert_eq!(behind.lock().unwrap().taken, ["new.frame", "old.frame"]);
        assert!(state.now().trouble.is_some_and(|why| why.contains("504")));
        behind.lock().unwrap().answers.clear();
        frames.pause.end();
        assert_eq!(send(&mut frames, &state), 1);
        assert_eq!((frames.waiting().len(), state.now().trouble), (0, None));
    }

    #[test]
    fn where_all_are_refused_few_are_sent() {
        let dir = tempfile::tempdir().unwrap();
        let (place, behind) = store();
        behind.lock().unwrap().answers = vec![("", "403 Forbidden")];
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        let mut frames = frames(dir.path(), place, &names);
        let state = FeedState::default();
        for asked in [3, 6] {
            assert_eq!(send(&mut frames, &state), 2);
            assert_eq!(send(&mut frames, &state), 0);
            assert_eq!(behind.lock().unwrap().asked, asked);
            assert!(!frames.pause.is_over());
            frames.pause.end();
        }
        assert_eq!(frames.pause.length.as_secs(), 60);
        behind.lock().unwrap().answers.clear();
        assert_eq!(send(&mut frames, &state), 1);
        frames
            .tried
            .values_mut()
            .for_each(|tried| tried.pause.end());
        assert_eq!(send(&mut frames, &state), 6);
        assert_eq!((frames.waiting().len(), state.now().lost), (0, [0; 4]));
        assert_eq!(behind.lock().unwrap().taken.len(), 7);
        assert!(frames.tried.is_empty());
    }
}
