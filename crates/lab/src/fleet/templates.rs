//! Recorded incidents, as what a simulated fleet repeats.
//!
//! Each is judged and redacted once, as a recorder does it, and once more with less evidence: without stacks, without a
//! login, with half of the threads, with a short time before. What is repeated are the rows of these.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cli::output;
use diagnosis::{Catalogue, diagnose_closely};
use fleet::from_incident::{FrameFile, IncidentRows, rows};
use fleet::row::{FindingRow, IncidentRow, SignalRow, StackRow, VerdictKind};
use fleet::vitals::is_vital;
use model::{Absent, Incident, Reason, StackEvidence, TimedAbsent};

use super::made;
use crate::args::FleetSignals;

/// Signals that questions to a fleet read.
const ASKED: [&str; 6] = [
    "vmstat.compact_stall",
    "vmstat.pswpin",
    "status.Qcache_lowmem_prunes",
    "status.Threads_connected",
    "innodb.history_list_length",
    "net.listen_overflows",
];

/// What only a login brings.
const OF_A_LOGIN: [&str; 5] = ["status", "processlist", "innodb", "replica", "variables"];

/// Directories below one that was named.
const DEPTH_MAX: usize = 3;

/// A short time before the onset, milliseconds.
const SHORT_MS: u64 = 20_000;

type Less = fn(&mut Incident);

/// What a recorder may lack, and what takes it away.
const LESS: [(&str, Less); 4] = [
    ("no stacks", without_stacks),
    ("no login", without_login),
    ("half of the threads", with_half),
    ("a short time before", with_a_short_calm),
];

/// A recorded incident.
pub(super) struct Template {
    /// What it is of, whatever is named for it with less evidence.
    pub(super) truth: String,
    /// Its rows.
    pub(super) rows: IncidentRows,
    /// What differs with less evidence; the first has all.
    pub(super) views: Vec<View>,
    /// Seconds of its calm, by signal.
    pub(super) pools: Vec<Pool>,
}

impl Template {
    /// What differs by evidence; where there is no such view, that with all.
    pub(super) fn view(&self, number: usize) -> Option<&View> {
        self.views.get(number).or(self.views.first())
    }
}

/// What came of an incident with the evidence that there was.
pub(super) struct View {
    /// Which evidence, for people.
    pub(super) evidence: &'static str,
    pub(super) incident: IncidentRow,
    pub(super) findings: Vec<FindingRow>,
    pub(super) stacks: Vec<StackRow>,
}

/// Values of a signal in calm seconds.
pub(super) struct Pool {
    pub(super) signal: String,
    /// Its seconds are sent, too.
    pub(super) has_seconds: bool,
    pub(super) seconds: Vec<f64>,
}

impl Pool {
    /// It never changed.
    pub(super) fn is_constant(&self) -> bool {
        self.seconds
            .iter()
            .all(|value| Some(value) == self.seconds.first())
    }
}

/// Those of these directories, or made ones where none is named.
pub(super) fn read(
    dirs: &[PathBuf],
    signals: FleetSignals,
    salt: &[u8],
    seed: u64,
) -> Result<Vec<Template>> {
    let mut all = Vec::new();
    let mut take =
        |truth: &str, incident: &Incident, of: &str| match template(truth, incident, signals, salt)
        {
            Ok(template) => all.push(template),
            Err(error) => output::note(&format!("{of}: left out: {error:#}")),
        };
    if dirs.is_empty() {
        for (truth, incident) in made::incidents(seed) {
            take(&truth, &incident, &truth);
        }
    }
    for dir in dirs {
        for path in frames(dir)? {
            if output::is_terminal() {
                output::progress(&format!("reading {}", path.display()));
            }
            match store::read_incident(&path) {
                Ok(read) => take("", &read.incident, &path.display().to_string()),
                Err(error) => output::note(&format!("left out: {error}")),
            }
        }
        if output::is_terminal() {
            output::clear_progress();
        }
    }
    match all.is_empty() {
        true => bail!("no incident can be used"),
        false => Ok(all),
    }
}

/// The incidents below a directory, sorted.
fn frames(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![(dir.to_owned(), 0)];
    while let Some((dir, depth)) = open.pop() {
        let entries = std::fs::read_dir(&dir).with_context(|| dir.display().to_string())?;
        for entry in entries.flatten() {
            let path = entry.path();
            let kind = entry.file_type()?;
            if kind.is_dir() && depth < DEPTH_MAX {
                open.push((path, depth + 1));
            } else if kind.is_file() && path.extension().is_some_and(|end| end == "frame") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// `truth`: what it is of; empty where the verdict of all its evidence says so.
fn template(
    truth: &str,
    incident: &Incident,
    signals: FleetSignals,
    salt: &[u8],
) -> Result<Template> {
    let mut whole = judged(incident, salt)?;
    let truth = match (truth, whole.incident.verdict) {
        ("", VerdictKind::Named) => whole.incident.cause.clone(),
        ("", _) => bail!("no cause is named for it"),
        (truth, _) => truth.to_owned(),
    };
    let onset = whole.incident.onset.0.div_euclid(1000);
    let pools = pools(&whole.signals, onset, signals);
    let kept: BTreeSet<&str> = pools.iter().map(|pool| pool.signal.as_str()).collect();
    whole
        .signals
        .retain(|row| kept.contains(row.signal.as_str()));
    let mut views = vec![View {
        evidence: "all evidence",
        incident: whole.incident.clone(),
        findings: whole.findings.clone(),
        stacks: std::mem::take(&mut whole.stacks),
    }];
    for (evidence, less) in LESS {
        let mut incident = incident.clone();
        less(&mut incident);
        let rows = judged(&incident, salt)?;
        // Where nothing is left, nobody could tell what it is like.
        if !rows.incident.cause.is_empty() || !rows.incident.heaviest.is_empty() {
            views.push(View {
                evidence,
                incident: rows.incident,
                findings: rows.findings,
                stacks: rows.stacks,
            });
        }
    }
    whole.stack_frames.shrink_to_fit();
    Ok(Template {
        truth,
        rows: whole,
        views,
        pools,
    })
}

fn judged(incident: &Incident, salt: &[u8]) -> Result<IncidentRows> {
    let verdict = diagnose_closely(incident, Catalogue::builtin());
    Ok(rows(incident, &verdict, salt, &FrameFile::default(), 1)?)
}

fn pools(rows: &[SignalRow], onset: i64, signals: FleetSignals) -> Vec<Pool> {
    let mut pools: Vec<Pool> = Vec::new();
    for row in rows {
        let is_vital = is_vital(&row.signal);
        let is_asked = ASKED.contains(&row.signal.as_str()) || row.signal.ends_with("used_share");
        let is_wanted = match signals {
            FleetSignals::All | FleetSignals::Seconds => true,
            FleetSignals::Vital => is_vital || is_asked,
            FleetSignals::Asked => is_asked,
        };
        if !is_wanted {
            continue;
        }
        let place = pools.iter().position(|pool| pool.signal == row.signal);
        let place = place.unwrap_or_else(|| {
            pools.push(Pool {
                signal: row.signal.clone(),
                has_seconds: is_vital || signals == FleetSignals::Seconds,
                seconds: Vec::new(),
            });
            pools.len() - 1
        });
        let Some(pool) = pools.get_mut(place) else {
            continue;
        };
        // The same all the minute: once is enough.
        if row.seconds.is_empty() && (pool.seconds.is_empty() || row.ts.0 < onset) {
            pool.seconds.push(row.min);
        }
        let calm = (row.ts.0..onset).zip(&row.seconds);
        pool.seconds.extend(
            calm.map(|(_, value)| *value)
                .filter(|value| value.is_finite()),
        );
    }
    pools.retain(|pool| !pool.seconds.is_empty());
    pools
}

fn without_stacks(incident: &mut Incident) {
    incident.stacks = StackEvidence::default();
    lacks(incident, "stacks");
}

fn without_login(incident: &mut Incident) {
    let sources = incident.timeline.sources.iter();
    let gone: Vec<bool> = sources
        .map(|source| OF_A_LOGIN.contains(&source.name.as_str()))
        .collect();
    for series in &mut incident.timeline.series {
        if gone.get(series.source).copied().unwrap_or(false) {
            series.values.fill(f64::NAN);
        }
    }
    // Of whose values nothing is left, it forgets the names, too.
    incident.timeline.forget_before(incident.window.from);
    incident.texts.retain(|text| {
        !matches!(
            text.text.kind(),
            model::TextKind::Processlist
                | model::TextKind::InnodbStatus
                | model::TextKind::Semaphores
        )
    });
    let facts = &mut incident.facts;
    facts.retain(|timed| !timed.fact.name.starts_with("variables."));
    incident.queries.clear();
    for source in OF_A_LOGIN {
        lacks(incident, source);
    }
}

/// Every second thread, and every second stack of a profile.
fn with_half(incident: &mut Incident) {
    let stacks = &mut incident.stacks;
    stacks.runs.retain(|run| run.tid % 2 == 0);
    for profile in &mut stacks.profiles {
        let mut place = 0;
        profile.counts.retain(|_| {
            place += 1;
            place % 2 == 0
        });
    }
}

fn with_a_short_calm(incident: &mut Incident) {
    let from = incident.stall.onset.saturating_sub(SHORT_MS);
    let from = from.max(incident.window.from);
    incident.window.from = from;
    incident.timeline.forget_before(from);
    incident.stacks.runs.retain(|run| run.from >= from);
    incident
        .stacks
        .profiles
        .retain(|profile| profile.from >= from);
    incident.stacks.snapshots.retain(|note| note.at >= from);
}

fn lacks(incident: &mut Incident, source: &str) {
    incident.absent.push(TimedAbsent {
        first: incident.window.from,
        last: incident.window.to,
        count: 1,
        absent: Absent::new(source.to_owned(), Reason::Permission, ""),
    });
}
