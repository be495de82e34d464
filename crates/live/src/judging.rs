//! What came of the incidents in the list: each is read and judged by a thread of its own, one after another, while
//! somebody looks at the list. What is not looked at costs nothing, and no key waits for it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::Result;
use diagnosis::{Level, Verdict};
use model::Incident;

use crate::model::IncidentEntry;

/// Incidents that are judged, the latest, as many as `freezeframe incidents` lists: each may take a second.
const JUDGED_MAX: usize = 30;

/// What came of an incident.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncidentOutcome {
    /// The cause that is named first; in words where there is none.
    pub cause: String,
    /// How sure it is; nothing where no cause was found.
    pub level: Option<Level>,
    /// What users felt.
    pub felt: String,
}

impl IncidentOutcome {
    /// Of what was judged.
    pub fn new(incident: &Incident, verdict: &Verdict) -> Self {
        let first = verdict.findings.first();
        Self {
            cause: first
                .map_or("no known cause fits", |first| &first.title)
                .to_owned(),
            level: first.map(|first| first.level),
            felt: report::client_impact(incident),
        }
    }

    /// Of a file that cannot be read.
    fn unread(error: &anyhow::Error) -> Self {
        Self {
            cause: format!("the file cannot be read: {error:#}"),
            ..Self::default()
        }
    }
}

/// Outcomes by file.
pub type Outcomes = HashMap<PathBuf, IncidentOutcome>;

/// Reads an incident and judges it.
pub type Judge = Arc<dyn Fn(&Path) -> Result<IncidentOutcome> + Send + Sync>;

/// The thread that judges, and what it found so far.
pub(crate) struct Judging {
    asks: Sender<PathBuf>,
    got: Receiver<(PathBuf, IncidentOutcome)>,
    is_busy: bool,
    known: Arc<Outcomes>,
}

impl Judging {
    pub(crate) fn start(judge: Judge) -> Result<Self> {
        let (asks, asked) = channel::<PathBuf>();
        let (gets, got) = channel();
        std::thread::Builder::new()
            .name("ff-judge".to_owned())
            .spawn(move || {
                for path in asked {
                    let outcome = judge(&path);
                    let outcome = outcome.unwrap_or_else(|error| IncidentOutcome::unread(&error));
                    if gets.send((path, outcome)).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            asks,
            got,
            is_busy: false,
            known: Arc::default(),
        })
    }

    /// Takes what was found; whether anything was.
    pub(crate) fn take(&mut self) -> bool {
        let mut came = false;
        while let Ok((path, outcome)) = self.got.try_recv() {
            Arc::make_mut(&mut self.known).insert(path, outcome);
            (came, self.is_busy) = (true, false);
        }
        came
    }

    /// Asks for the next of a list that is looked at.
    pub(crate) fn ask(&mut self, listed: &[IncidentEntry]) {
        if self.is_busy {
            return;
        }
        let files = listed.iter().filter_map(|one| one.path.as_ref());
        let mut unknown = files
            .take(JUDGED_MAX)
            .filter(|path| !self.known.contains_key(*path));
        if let Some(path) = unknown.next() {
            self.is_busy = self.asks.send(path.clone()).is_ok();
        }
    }

    pub(crate) fn known(&self) -> Arc<Outcomes> {
        self.known.clone()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn listed(name: &str) -> IncidentEntry {
        IncidentEntry {
            path: Some(name.into()),
            ..IncidentEntry::default()
        }
    }

    #[test]
    fn each_is_judged_once_the_latest_first_and_no_more_than_some() {
        let (told, seen) = channel();
        let told = std::sync::Mutex::new(told);
        let judge: Judge = Arc::new(move |path: &Path| {
            told.lock().unwrap().send(path.to_owned()).unwrap();
            match path.ends_with("1") {
                true => anyhow::bail!("damaged"),
                false => Ok(IncidentOutcome::default()),
            }
        });
        let all: Vec<IncidentEntry> = (0..100).map(|n| listed(&n.to_string())).collect();
        let mut judging = Judging::start(judge).unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while judging.known().len() < JUDGED_MAX {
            judging.ask(&all);
            judging.ask(&all);
            judging.take();
            assert!(
                Instant::now() < end,
                "{} were judged",
                judging.known().len()
            );
        }
        judging.ask(&all);
        let asked: Vec<PathBuf> = seen.try_iter().collect();
        let wanted: Vec<PathBuf> = (0..JUDGED_MAX).map(|n| n.to_string().into()).collect();
        assert_eq!(asked, wanted);
        let damaged = judging.known().get(Path::new("1")).cloned().unwrap();
        assert_eq!(damaged.cause, "the file cannot be read: damaged");
    }
}
