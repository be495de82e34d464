//! `freezeframe incidents`: what was caught, with what it was and what users felt.

pub(crate) mod json;
mod text;

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use cli::{output, recorded, usage};
use diagnosis::{Level, Verdict, diagnose_closely};
use jiff::{Timestamp, Zoned};
use model::{Incident, OrderBy};
use store::{IncidentSummary, read_incident, read_summary};

use crate::args::{Incidents, SortArg};
use crate::config::Config;
use crate::episodes::{self, Episode};
use crate::queries::options::parse_time;
use crate::{causes, memory, of_service};

/// Incidents that a text lists when nothing else is said: each of them is read and judged.
const FOR_PEOPLE: usize = 30;

/// A stall that began longer ago and has no file will get none: it was deleted, or its recorder is gone.
const UNWRITTEN_MS: i64 = 3_600_000;

/// An incident that was captured.
pub(crate) struct CapturedIncident {
    pub(crate) path: PathBuf,
    pub(crate) summary: IncidentSummary,
    /// What came of it; absent where its file cannot be read.
    pub(crate) findings: Option<IncidentFindings>,
}

/// What a record says in short.
pub(crate) struct IncidentFindings {
    /// The finding that comes first.
    pub(crate) finding: Option<FirstFinding>,
    /// What users felt.
    pub(crate) client_impact: String,
    /// How long it lasted at the least: up to the end of the record.
    pub(crate) recorded_ms: u64,
}

pub(crate) struct FirstFinding {
    pub(crate) cause: String,
    pub(crate) title: String,
    pub(crate) level: Level,
}

impl CapturedIncident {
    pub(crate) fn onset_ms(&self) -> i64 {
        self.summary.clock.wall_ms(self.summary.stall.onset)
    }

    /// How long it lasted; absent where the record ends first.
    pub(crate) fn length_ms(&self) -> Option<u64> {
        let stall = &self.summary.stall;
        Some(stall.end?.saturating_sub(stall.onset))
    }

    pub(crate) fn finding(&self) -> Option<&FirstFinding> {
        self.findings.as_ref()?.finding.as_ref()
    }

    /// Reads and judges it.
    fn read(&mut self) {
        memory::now_reading(&self.path);
        match read_incident(&self.path) {
            Ok(loaded) => {
                // As `explain` judges it.
                let verdict = diagnose_closely(&loaded.incident, causes::catalogue());
                self.findings = Some(IncidentFindings::of(&loaded.incident, verdict));
            }
            Err(error) => output::note(&error.to_string()),
        }
    }
}

impl IncidentFindings {
    pub(crate) fn of(incident: &Incident, verdict: Verdict) -> Self {
        Self {
            finding: found(verdict),
            client_impact: report::client_impact(incident),
            recorded_ms: incident.window.to.saturating_sub(incident.stall.onset),
        }
    }
}

fn found(verdict: Verdict) -> Option<FirstFinding> {
    let first = verdict.findings.into_iter().next()?;
    Some(FirstFinding {
        cause: first.cause,
        title: first.title,
        level: first.level,
    })
}

/// Which of them are wanted.
#[derive(Default)]
pub(crate) struct Filter<'a> {
    pub(crate) cause: Option<&'a str>,
    pub(crate) server: Option<&'a str>,
    pub(crate) since_ms: Option<i64>,
    pub(crate) until_ms: Option<i64>,
    pub(crate) longer_ms: Option<u64>,
    pub(crate) shorter_ms: Option<u64>,
}

impl<'a> Filter<'a> {
    fn of(args: &'a Incidents) -> Result<Self> {
        let now = Zoned::now();
        let at = |text: &Option<String>, name: &str| -> Result<Option<i64>> {
            let us = text.as_deref().map(|text| parse_time(text, &now));
            let us = us.transpose().with_context(|| name.to_owned());
            Ok(us.map_err(usage)?.map(|us| us / 1000))
        };
        let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        if let Some(id) = &args.cause
            && causes::catalogue().get(id).is_none()
        {
            bail!(usage(anyhow!(
                "--cause: no cause '{id}'; `freezeframe causes` lists them"
            )));
        }
        Ok(Self {
            cause: args.cause.as_deref(),
            server: args.server.as_deref(),
            since_ms: at(&args.since, "--since")?,
            until_ms: at(&args.until, "--until")?,
            longer_ms: args.longer.map(ms),
            shorter_ms: args.shorter.map(ms),
        })
    }

    /// Without a look at what came of it. A stall whose end is not known was long.
    pub(crate) fn wants(
        &self,
        server: &str,
        onset_ms: Option<i64>,
        length_ms: Option<u64>,
    ) -> bool {
        let length = length_ms.unwrap_or(u64::MAX);
        let is_in_time = match onset_ms {
            Some(at) => {
                self.since_ms.is_none_or(|since| at >= since)
                    && self.until_ms.is_none_or(|until| at <= until)
            }
            None => self.since_ms.is_none() && self.until_ms.is_none(),
        };
        is_in_time
            && self.server.is_none_or(|wanted| wanted == server)
            && self.longer_ms.is_none_or(|least| length >= least)
            && self.shorter_ms.is_none_or(|most| length <= most)
    }

    pub(crate) fn wants_cause(&self, cause: Option<&str>) -> bool {
        self.cause.is_none_or(|wanted| cause == Some(wanted))
    }
}

pub(crate) fn run(args: &Incidents) -> Result<ExitCode> {
    let config = Config::load(args.config.as_deref())?;
    causes::use_directory(None, &config);
    let filter = Filter::of(args)?;
    let dir = of_service::existing(&config, args.dir.as_deref())?;
    let paths = recorded::frames(&dir)
        .with_context(|| format!("{}: cannot list incidents", dir.display()))?;
    let written: BTreeSet<OsString> = paths
        .iter()
        .filter_map(|path| path.file_stem().map(OsStr::to_owned))
        .collect();
    let mut caught: Vec<CapturedIncident> = Vec::new();
    let mut unread: Vec<String> = Vec::new();
    let files = paths.len();
    for path in paths {
        memory::now_reading(&path);
        match read_summary(&path) {
            Ok(summary) => caught.push(CapturedIncident {
                path,
                summary,
                findings: None,
            }),
            Err(error) => unread.push(error.to_string()),
        }
    }
    // There are files, and not one of them says anything: that must not look like a server that never stalled.
    if let ([only], true) = (unread.as_slice(), caught.is_empty()) {
        bail!("{only}");
    }
    unread.iter().for_each(|error| output::note(error));
    if caught.is_empty() && files > 0 {
        bail!(
            "{}: none of its {files} incidents can be read",
            dir.display()
        );
    }
    let all = caught.len();
    caught.retain(|one| {
        let onset = one.summary.clock.is_known().then(|| one.onset_ms());
        filter.wants(&one.summary.server.label, onset, one.length_ms())
    });
    caught.order_by_key(|one| Reverse(one.onset_ms()));
    let limit = match args.limit {
        Some(0) => None,
        None if args.json => None,
        limit => Some(limit.unwrap_or(FOR_PEOPLE)),
    };
    // What is asked of all of them cannot be answered from the latest.
    let needs_all = filter.cause.is_some() || args.sort != SortArg::Time;
    let mut left_out = 0;
    if let (Some(limit), false) = (limit, needs_all) {
        left_out = caught.len().saturating_sub(limit);
        caught.truncate(limit);
    }
    read_all(&mut caught);
    caught.retain(|one| filter.wants_cause(one.finding().map(|found| found.cause.as_str())));
    caught.order_by(|a, b| order(args.sort, a, b));
    if let (Some(limit), true) = (limit, needs_all) {
        left_out = caught.len().saturating_sub(limit);
        caught.truncate(limit);
    }
    let mut stalls: Vec<Episode> = episodes::read(&dir);
    stalls.retain(|stall| {
        let length = stall.end_ms.map(|end| end.saturating_sub(stall.onset_ms));
        let length = length.map(|ms| u64::try_from(ms).unwrap_or(0));
        filter.wants(&stall.server, Some(stall.onset_ms), length)
            && filter.wants_cause(stall.cause.as_deref())
    });
    let (mut unwritten, stalls): (Vec<_>, Vec<_>) = stalls
        .into_iter()
        .partition(|stall| stall.incident.is_some());
    let recent_ms = Timestamp::now()
        .as_millisecond()
        .saturating_sub(UNWRITTEN_MS);
    unwritten.retain(|stall| {
        let has_file = |id: &String| written.contains(OsStr::new(id));
        stall.onset_ms >= recent_ms && !stall.incident.as_ref().is_some_and(has_file)
    });
    match args.json {
        true => output::print_json(&json::list(&caught, &stalls))?,
        false => output::print(&text::list(
            &caught,
            &stalls,
            &text::Around {
                dir: &dir,
                unwritten: &unwritten,
                all,
                left_out,
                sort: args.sort,
            },
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads and judges each. Who looks on is told how far it is.
fn read_all(caught: &mut [CapturedIncident]) {
    let count = caught.len();
    let is_told = output::is_terminal() && count > 1;
    for (index, one) in caught.iter_mut().enumerate() {
        if is_told {
            output::progress(&format!("reading incident {} of {count}", index + 1));
        }
        one.read();
    }
    if is_told {
        output::clear_progress();
    }
}

/// What is looked for stands first: the latest, the longest, the surest.
pub(crate) fn order(sort: SortArg, a: &CapturedIncident, b: &CapturedIncident) -> Ordering {
    let latest = b.onset_ms().cmp(&a.onset_ms());
    let length = |one: &CapturedIncident| one.length_ms().unwrap_or(u64::MAX);
    let title = |one: &CapturedIncident| {
        let finding = one.finding();
        // Those without a cause come last.
        (
            finding.is_none(),
            finding.map(|found| found.title.clone()).unwrap_or_default(),
        )
    };
    let level = |one: &CapturedIncident| one.finding().map(|found| found.level);
    let by = match sort {
        SortArg::Time => Ordering::Equal,
        SortArg::Length => length(b).cmp(&length(a)),
        SortArg::Cause => title(a).cmp(&title(b)),
        SortArg::Level => level(b).cmp(&level(a)),
        SortArg::Server => a.summary.server.label.cmp(&b.summary.server.label),
    };
    by.then(latest)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn filters_ask_for_time_server_and_length() {
        let filter = Filter {
            cause: None,
            server: Some("3306"),
            since_ms: Some(1000),
            until_ms: Some(9000),
            longer_ms: Some(5000),
            shorter_ms: None,
        };
        assert!(filter.wants("3306", Some(1000), Some(5000)));
        assert!(filter.wants("3306", Some(9000), None), "no end");
        assert!(!filter.wants("3307", Some(1000), Some(5000)));
        assert!(!filter.wants("3306", Some(999), Some(5000)));
        assert!(!filter.wants("3306", Some(9001), Some(5000)));
        assert!(!filter.wants("3306", Some(1000), Some(4999)));
        assert!(!filter.wants("3306", None, Some(5000)), "unknown time");
        assert!(filter.wants_cause(None));
        let of_cause = Filter {
            cause: Some("disk-full"),
            ..filter
        };
        assert!(of_cause.wants_cause(Some("disk-full")));
        assert!(!of_cause.wants_cause(Some("mdl-pileup")) && !of_cause.wants_cause(None));
    }
}
