//! Events that wait for one hook, each a file: they survive the recorder's end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{make_private_dir, write_private};

/// Events of one hook that are kept at the most; of more, the oldest go.
const EVENTS_MAX: usize = 500;

/// Bytes of one event. The verdict of a larger one is left out.
pub(super) const EVENT_BYTES_MAX: usize = 1 << 20;

const SUFFIX: &str = ".json";

/// What earlier versions called an event that they could not read.
const UNREADABLE: &str = ".unreadable";

/// An event in the queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Queued {
    /// What a hook is given.
    pub(super) body: Value,
    /// The variables of a program.
    pub(super) environment: BTreeMap<String, String>,
    /// When it was told, milliseconds since 1970.
    pub(super) told_wall_ms: i64,
}

/// The queue of one hook. Where the disk refuses, events are kept in memory as long as we run.
#[derive(Debug)]
pub(super) struct Queue {
    dir: PathBuf,
    /// By name, which is their order.
    events: BTreeMap<String, Queued>,
    count: u64,
    /// Events of an earlier recorder that were given up.
    given_up: u64,
}

impl Queue {
    /// Takes up what an earlier recorder left. What cannot be read now is not read later: it would stay for ever.
    pub(super) fn open(dir: &Path) -> Self {
        let mut queue = Self {
            dir: dir.to_owned(),
            events: BTreeMap::new(),
            count: 0,
            given_up: 0,
        };
        let Ok(files) = std::fs::read_dir(dir) else {
            return queue;
        };
        let mut names: Vec<String> = files
            .filter_map(|file| file.ok()?.file_name().into_string().ok())
            .filter(|name| name.ends_with(SUFFIX) || name.ends_with(UNREADABLE))
            .collect();
        names.sort();
        // The latest are kept.
        for name in names.into_iter().rev() {
            let path = dir.join(&name);
            let has_room = queue.events.len() < EVENTS_MAX && name.ends_with(SUFFIX);
            match has_room.then(|| read(&path)).flatten() {
                Some(queued) => {
                    queue.events.insert(name, queued);
                }
                // Not where another recorder of this directory has just delivered it.
                None => queue.given_up += u64::from(std::fs::remove_file(&path).is_ok()),
            }
        }
        queue
    }

    /// How many events of an earlier recorder were given up: they cannot be read, or are too many.
    pub(super) fn given_up(&self) -> u64 {
        self.given_up
    }

    /// A first verdict that waits is nothing beside a newer one of the same incident.
    fn supersede(&mut self, newer: &Value) {
        if newer["event"] != "preliminary" {
            return;
        }
        let old: Vec<String> = self
            .events
            .iter()
            .filter(|(_, queued)| {
                queued.body["event"] == "preliminary" && queued.body["id"] == newer["id"]
            })
            .map(|(name, _)| name.clone())
            .collect();
        for name in old {
            self.remove(&name);
        }
    }

    /// Puts an event at the end and tells how many older ones had to go for it.
    pub(super) fn push(&mut self, queued: Queued) -> u64 {
        self.supersede(&queued.body);
        self.count += 1;
        // The process id keeps two recorders apart that were started in one millisecond.
        let name = format!(
            "{:015}-{}-{:06}{SUFFIX}",
            queued.told_wall_ms.max(0),
            std::process::id(),
            self.count
        );
        // Its name is made of an address or a command line, which could be tried against it.
        if make_private_dir(&self.dir).is_ok() {
            let bytes = serde_json::to_vec(&queued).unwrap_or_default();
            let _ = write_private(&self.dir.join(&name), &bytes);
        }
        self.events.insert(name, queued);
        let mut dropped = 0;
        while self.events.len() > EVENTS_MAX
            && let Some((name, _)) = self.events.pop_first()
        {
            let _ = std::fs::remove_file(self.dir.join(name));
            dropped += 1;
        }
        dropped
    }

    /// The oldest event.
    pub(super) fn first(&self) -> Option<(&String, &Queued)> {
        self.events.first_key_value()
    }

    /// An event is done.
    pub(super) fn remove(&mut self, name: &str) {
        self.events.remove(name);
        let _ = std::fs::remove_file(self.dir.join(name));
    }

    /// The file for what the hook's program prints, beside the queue.
    pub(super) fn output_file(&self) -> PathBuf {
        self.dir.with_extension("output")
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }
}

fn read(path: &Path) -> Option<Queued> {
    let bytes = path.metadata().ok()?.len();
    if bytes > 2 * EVENT_BYTES_MAX as u64 {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn event(told_wall_ms: i64) -> Queued {
        Queued {
            body: serde_json::json!({"event": "start", "n": told_wall_ms}),
            environment: BTreeMap::new(),
            told_wall_ms,
        }
    }

    #[test]
    fn events_survive_and_keep_their_order() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("hooks/x");
        let mut queue = Queue::open(&dir);
        for at in [3, 4, 5] {
            assert_eq!(queue.push(event(at)), 0);
        }
        let first = queue.first().unwrap().0.clone();
        queue.remove(&first);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&dir), mode(dir.parent().unwrap())), (0o700, 0o700));
        let again = Queue::open(&dir);
        assert_eq!((again.len(), again.given_up()), (2, 0));
        assert_eq!(again.first().unwrap().1, &event(4));
    }

    #[test]
    fn what_cannot_be_read_or_is_too_much_is_counted_and_does_not_stay() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        for name in [
            "000000000000000-1-000001.json",
            "000000000000000-1-000002.unreadable",
        ] {
            std::fs::write(dir.join(name), "{").unwrap();
        }
        let large = dir.join("000000000000000-1-000003.json");
        std::fs::write(&large, vec![b' '; 2 * EVENT_BYTES_MAX + 1]).unwrap();
        for at in 0..EVENTS_MAX + 2 {
            let event = serde_json::to_vec(&event(at as i64)).unwrap();
            std::fs::write(dir.join(format!("{at:015}-2-000001.json")), event).unwrap();
        }
        let queue = Queue::open(dir);
        assert_eq!((queue.len(), queue.given_up()), (EVENTS_MAX, 5));
        assert_eq!(queue.first().unwrap().1, &event(2));
        assert_eq!(std::fs::read_dir(dir).unwrap().count(), EVENTS_MAX);
        let again = Queue::open(dir);
        assert_eq!((again.len(), again.given_up()), (EVENTS_MAX, 0));
    }

    #[test]
    fn a_newer_verdict_of_a_stall_takes_the_place_of_the_one_that_waits() {
        let dir = tempfile::tempdir().unwrap();
        let mut queue = Queue::open(dir.path());
        let event = |at, event: &str, id: &str| Queued {
            body: serde_json::json!({"event": event, "id": id, "n": at}),
            environment: BTreeMap::new(),
            told_wall_ms: at,
        };
        for (at, kind, id) in [
            (1, "start", "a"),
            (2, "preliminary", "a"),
            (3, "preliminary", "b"),
            (4, "preliminary", "a"),
            (5, "end", "a"),
        ] {
            queue.push(event(at, kind, id));
        }
        let left: Vec<i64> = queue.events.values().map(|one| one.told_wall_ms).collect();
        assert_eq!(left, [1, 3, 4, 5]);
        assert_eq!(Queue::open(dir.path()).len(), 4);
    }

    #[test]
    fn the_oldest_go_when_it_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let mut queue = Queue::open(dir.path());
        let dropped: u64 = (0..EVENTS_MAX as i64 + 3)
            .map(|at| queue.push(event(at)))
            .sum();
        assert_eq!((dropped, queue.len()), (3, EVENTS_MAX));
        assert_eq!(queue.first().unwrap().1, &event(3));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), EVENTS_MAX);
    }

    #[test]
    fn a_disk_that_refuses_costs_no_event_while_we_run() {
        let mut queue = Queue::open(Path::new("/dev/null/x"));
        queue.push(event(1));
        assert_eq!(queue.first().unwrap().1, &event(1));
        let name = queue.first().unwrap().0.clone();
        queue.remove(&name);
        assert_eq!(queue.len(), 0);
    }
}
