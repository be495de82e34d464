//! What the directories hold: a thread looks again and again, and judges what is new. Who asks is given what is known.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use cli::{output, recorded};
use model::OrderBy;
use report::served::percent;
use store::read_summary;

use super::terms::{self, Term};
use crate::episodes::{self, Episode};
use crate::incidents::{CapturedIncident, IncidentFindings};
use crate::{explain, memory};

/// How soon a new incident is seen.
const LOOK_EACH: Duration = Duration::from_secs(2);

/// Incidents that are listed, of each directory the newest by name.
const INCIDENTS_MAX: usize = 5_000;

/// An incident.
pub(super) struct Entry {
    /// Its name in addresses.
    pub(super) id: String,
    /// Its server, as it is called in the view.
    pub(super) server: String,
    /// Which of the directories it is in.
    pub(super) dir: usize,
    pub(super) caught: CapturedIncident,
    /// Nothing came of it yet; else what it can be found by, or why it cannot be read.
    pub(super) read: Option<Result<Vec<Term>, String>>,
}

/// A history.
#[derive(Debug, Clone)]
pub(super) struct HistoryFile {
    /// Its server, as it is called in the view.
    pub(super) server: String,
    pub(super) label: String,
    pub(super) dir: usize,
    pub(super) path: PathBuf,
}

/// What is known of all directories.
#[derive(Default)]
pub(super) struct Known {
    /// By name.
    pub(super) entries: BTreeMap<String, Arc<Entry>>,
    pub(super) histories: Vec<HistoryFile>,
    /// Stalls that were noticed: which directory, its server, what was written down.
    pub(super) stalls: Vec<(usize, String, Episode)>,
    /// What cannot be read, in words.
    pub(super) problems: Vec<String>,
}

impl Known {
    /// The names of all servers.
    pub(super) fn servers(&self) -> Vec<String> {
        let of_entries = self.entries.values().map(|entry| &entry.server);
        let of_histories = self.histories.iter().map(|history| &history.server);
        let mut names: Vec<String> = of_entries.chain(of_histories).cloned().collect();
        names.sort();
        names.dedup();
        names
    }

    /// The incidents of a server, the oldest first.
    pub(super) fn of_server(&self, server: &str) -> Vec<&Arc<Entry>> {
        let mut own: Vec<&Arc<Entry>> = self
            .entries
            .values()
            .filter(|entry| entry.server == server)
            .collect();
        own.order_by_key(|entry| entry.caught.onset_ms());
        own
    }

    pub(super) fn history(&self, server: &str) -> Option<&HistoryFile> {
        self.histories
            .iter()
            .find(|history| history.server == server)
    }
}

/// When a file was written, and how long it is: another one in its place is read anew.
type Stamp = (SystemTime, u64);

/// The directories, and what is known of them.
pub(super) struct Index {
    dirs: Vec<PathBuf>,
    known: Mutex<Known>,
    /// One incident at a time is read: each may take much memory.
    reading: Mutex<()>,
}

impl Index {
    pub(super) fn new(dirs: Vec<PathBuf>) -> Self {
        Self {
            dirs,
            known: Mutex::default(),
            reading: Mutex::default(),
        }
    }

    /// Looks at what is known.
    pub(super) fn with<R>(&self, look: impl FnOnce(&Known) -> R) -> R {
        look(&self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads incidents, while nobody else does.
    pub(super) fn reading<R>(&self, read: impl FnOnce() -> R) -> R {
        let _lock = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        read()
    }

    /// Looks for ever.
    pub(super) fn keep(self: Arc<Self>) -> Result<()> {
        let mut seen = PreviousScan::default();
        // What is there is listed before anybody asks.
        self.refresh(&mut seen);
        kernel::own_threads::start("ff-index", move || {
            loop {
                let begin = Instant::now();
                while begin.elapsed() < LOOK_EACH && self.judge_one() {}
                std::thread::sleep(LOOK_EACH.saturating_sub(begin.elapsed()));
                self.refresh(&mut seen);
            }
        })
        .context("a thread")?;
        Ok(())
    }

    /// Lists what is there.
    fn refresh(&self, seen: &mut PreviousScan) {
        let mut known = Known::default();
        let before = self.with(|known| known.entries.clone());
        for (dir, path) in self.dirs.iter().enumerate() {
            if let Err(error) = std::fs::read_dir(path) {
                known.problems.push(format!("{}: {error}", path.display()));
                continue;
            }
            for (label, file) in histories(path) {
                let server = seen.server_of(dir, &label, &file);
                known.histories.push(HistoryFile {
                    server,
                    label,
                    dir,
                    path: file,
                });
            }
            self.list(dir, path, &before, seen, &mut known);
            for stall in episodes::read(path) {
                let server = seen.named(dir, &stall.server);
                known.stalls.push((dir, server, stall));
            }
        }
        seen.files.retain(|path, _| path.exists());
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    fn list(
        &self,
        dir: usize,
        path: &Path,
        before: &BTreeMap<String, Arc<Entry>>,
        seen: &mut PreviousScan,
        known: &mut Known,
    ) {
        let mut frames = recorded::frames(path).unwrap_or_default();
        let left_out = frames.len().saturating_sub(INCIDENTS_MAX);
        if left_out > 0 {
            frames.drain(..left_out);
            let place = path.display();
            known
                .problems
                .push(format!("{place}: {left_out} incidents more are not listed"));
        }
        for file in frames {
            // A link may lead out of the directory.
            let Some(stamp) = stamp(&file) else { continue };
            let Some(id) = id(&file, dir) else { continue };
            let is_same = seen.files.get(&file) == Some(&stamp);
            if let Some(entry) = before.get(&id).filter(|_| is_same) {
                known.entries.insert(id, entry.clone());
                continue;
            }
            match read_summary(&file) {
                Ok(summary) => {
                    let server = seen.name(dir, &summary.host, &summary.server.label);
                    let caught = CapturedIncident {
                        path: file.clone(),
                        summary,
                        findings: None,
                    };
                    let entry = Entry {
                        id: id.clone(),
                        server,
                        dir,
                        caught,
                        read: None,
                    };
                    known.entries.insert(id, Arc::new(entry));
                    seen.files.insert(file, stamp);
                }
                Err(error) => known.problems.push(output::plain(&error.to_string())),
            }
        }
    }

    /// Judges the newest that is not judged yet; whether there was one.
    fn judge_one(&self) -> bool {
        let next = self.with(|known| {
            let waiting = known.entries.values().filter(|entry| entry.read.is_none());
            waiting.max_by_key(|entry| entry.caught.onset_ms()).cloned()
        });
        let Some(entry) = next else { return false };
        let path = entry.caught.path.clone();
        let read = self.reading(|| {
            memory::now_reading(&path);
            let loaded = store::read_incident(&path).map_err(|error| error.to_string())?;
            let (incident, verdict) = explain::judged(loaded, &path);
            let terms = terms::terms_of(&incident, &verdict, &entry.server);
            Ok((IncidentFindings::of(&incident, verdict), terms))
        });
        let (told, read) = match read {
            Ok((told, terms)) => (Some(told), Ok(terms)),
            Err(why) => (None, Err(why)),
        };
        let judged = Entry {
            id: entry.id.clone(),
            server: entry.server.clone(),
            dir: entry.dir,
            caught: CapturedIncident {
                path,
                summary: entry.caught.summary.clone(),
                findings: told,
            },
            read: Some(read),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entries.insert(judged.id.clone(), Arc::new(judged));
        true
    }
}

/// What was seen before.
#[derive(Default)]
struct PreviousScan {
    files: HashMap<PathBuf, Stamp>,
    /// What servers are called, by directory and label.
    names: HashMap<(usize, String), String>,
    /// Histories whose server was read.
    histories: HashMap<PathBuf, String>,
}

impl PreviousScan {
    /// A server's name in the view: its host and its label, which is its port as a rule. Of two directories with the
    /// same name the second one is told apart.
    fn name(&mut self, dir: usize, host: &str, label: &str) -> String {
        let (host, shown) = (output::plain(host), output::plain(label));
        let name = match (host.as_str(), shown.as_str()) {
            ("", "") => "unknown server".to_owned(),
            ("", label) => label.to_owned(),
            (host, "") => host.to_owned(),
            (host, label) => format!("{host}:{label}"),
        };
        let mut others = self.names.iter();
        let is_taken = others.any(|((other, _), taken)| *other != dir && *taken == name);
        let name = match is_taken {
            true => format!("{name} ({})", dir + 1),
            false => name,
        };
        self.names.insert((dir, label.to_owned()), name.clone());
        name
    }

    /// The name of a server of which the label alone is known.
    fn named(&self, dir: usize, label: &str) -> String {
        let known = self.names.get(&(dir, label.to_owned()));
        known.cloned().unwrap_or_else(|| output::plain(label))
    }

    fn server_of(&mut self, dir: usize, label: &str, file: &Path) -> String {
        if let Some(name) = self.histories.get(file) {
            return name.clone();
        }
        match store::history_of(file) {
            Ok(Some((server, host))) => {
                let label = match server.label.as_str() {
                    "" => label,
                    own => own,
                };
                let name = self.name(dir, &host, label);
                self.histories.insert(file.to_owned(), name.clone());
                name
            }
            _ => output::plain(label),
        }
    }
}

/// The histories of a directory: label, file.
fn histories(dir: &Path) -> Vec<(String, PathBuf)> {
    let found = recorded::histories(dir).into_iter();
    let mut found: Vec<(String, PathBuf)> = found
        .filter_map(|(path, label)| {
            stamp(&path)?;
            Some((label, path))
        })
        .collect();
    found.sort();
    found
}

/// Of a file, but of no link and no directory.
fn stamp(path: &Path) -> Option<Stamp> {
    let file = std::fs::symlink_metadata(path).ok()?;
    let is_file = file.file_type().is_file();
    is_file.then(|| Some((file.modified().ok()?, file.len())))?
}

/// What an incident is called in addresses: as its file, and in a further directory with that one's number. There is
/// nothing in it that an address or a page would take for something else.
fn id(path: &Path, dir: usize) -> Option<String> {
    let stem = percent(path.file_stem()?.to_str()?).replace('%', "=");
    Some(match dir {
        0 => stem,
        _ => format!("{stem}~{}", dir + 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_one_name_each() {
        let mut seen = PreviousScan::default();
        assert_eq!(seen.name(0, "db1", "3306"), "db1:3306");
        assert_eq!(seen.name(0, "db1", "3306"), "db1:3306");
        assert_eq!(seen.name(1, "db1", "3306"), "db1:3306 (2)");
        assert_eq!(seen.name(1, "db1", "3307"), "db1:3307");
        assert_eq!(seen.named(1, "3306"), "db1:3306 (2)");
        assert_eq!(seen.named(1, "x"), "x");
        assert_eq!(seen.name(2, "", ""), "unknown server");
    }

    #[test]
    fn links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.frame");
        std::fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("b.frame")).unwrap();
        assert!(stamp(&file).is_some());
        assert!(stamp(&dir.path().join("b.frame")).is_none());
        assert!(stamp(dir.path()).is_none());
        assert_eq!(id(&file, 0).as_deref(), Some("a"));
        assert_eq!(id(&file, 1).as_deref(), Some("a~2"));
        let odd = Path::new("/x/<a> b.frame");
        assert_eq!(id(odd, 0).as_deref(), Some("=3Ca=3E=20b"));
    }
}
