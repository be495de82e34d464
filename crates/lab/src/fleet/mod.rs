//! A fleet without servers: recorded incidents repeated on many simulated hosts, through the batches and the code of
//! recorders, to measure a store and its questions.
//!
//! **Chance has a seed**: the same fleet comes again, but for the moment that it ends at, which is now.

mod agents;
mod ask;
mod gateway;
mod layout;
mod made;
mod month;
mod place;
mod plan;
mod rows;
mod templates;
mod write;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use cli::output;
use serde_json::{Value, json};

use crate::args::{FleetRun, FleetSignals};
pub(crate) use agents::run as run_agents;
use ask::{Alike, Asked};
pub(crate) use gateway::Gateway;
pub(crate) use layout::Layouts;
pub(crate) use place::DevelopmentServer;
use place::Place;
use plan::Size;
use write::{Writer, Written};

/// Incidents are of so many days.
const INCIDENT_DAYS: f64 = 30.0;

const DAY_SECONDS: f64 = 86_400.0;

/// What is wanted of 'like-this'.
const ALIKE_MIN: f64 = 0.95;

/// What is wanted of each question, milliseconds, of a fleet of this size.
pub(crate) const QUESTION_MS_MAX: f64 = 100.0;

/// A fleet that is simulated.
pub(crate) struct Fleet {
    pub(crate) hosts: usize,
    pub(crate) days: f64,
    pub(crate) incidents: usize,
    pub(crate) signals: FleetSignals,
    pub(crate) seed: u64,
    pub(crate) frames: Vec<PathBuf>,
    pub(crate) cases: usize,
    /// Its minutes are repeated until they are a month.
    pub(crate) month: bool,
}

/// Which store it is written to.
pub(crate) enum Into {
    /// That of this URL.
    Url(String),
    /// A file of its own.
    File,
    /// A development server.
    Server,
}

/// What came of it.
pub(crate) struct Outcome {
    shown: String,
    incidents: Written,
    minutes: Written,
    /// Size of the store's file.
    file_bytes: Option<u64>,
    /// What both layouts take, in ClickHouse.
    pub(crate) layouts: Option<Layouts>,
    asked: Vec<Asked>,
    alike: Alike,
    templates: usize,
    /// Longest that this process was, MiB.
    mebibytes: f64,
}

pub(crate) fn run(args: &FleetRun) -> Result<ExitCode> {
    let fleet = Fleet {
        hosts: args.hosts as usize,
        days: args.days,
        incidents: args.incidents as usize,
        signals: args.signals,
        seed: args.seed,
        frames: args.frames.clone(),
        cases: args.cases as usize,
        month: args.month,
    };
    let into = match (&args.url, args.server) {
        (Some(url), _) => Into::Url(url.clone()),
        (None, true) => Into::Server,
        (None, false) => Into::File,
    };
    let outcome = simulate(&fleet, &into)?.context("scripts/fleet-server fetch was not done")?;
    match args.json {
        true => output::print_json(&outcome.as_json(&fleet))?,
        false => {
            for (what, value) in outcome.lines(&fleet) {
                output::print(&format!("{what:<28} {value}"))?;
            }
        }
    }
    let is_right = outcome.alike.asked == 0 || outcome.alike.share() >= ALIKE_MIN;
    Ok(match is_right {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(3),
    })
}

/// Writes a fleet and asks it. None where the development server was not fetched.
pub(crate) fn simulate(fleet: &Fleet, into: &Into) -> Result<Option<Outcome>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let now = i64::try_from(now.as_secs())?;
    let mut place = match into {
        Into::Url(url) => Place::at(url, now)?,
        Into::File => Place::of_our_own(now)?,
        Into::Server => match Place::development(now)? {
            Some(place) => place,
            None => return Ok(None),
        },
    };
    let salt = fleet.seed.to_le_bytes();
    let templates = templates::read(&fleet.frames, fleet.signals, &salt, fleet.seed)?;
    let truths: Vec<&str> = templates.iter().map(|one| one.truth.as_str()).collect();
    let size = Size {
        hosts: fleet.hosts,
        incidents: fleet.incidents,
        from_ms: (now - (INCIDENT_DAYS * DAY_SECONDS) as i64) * 1000,
        // An incident of the last minutes is on its way.
        to_ms: (now - 600) * 1000,
    };
    let plan = plan::plan(fleet.seed, size, &truths);
    let writer = Writer {
        plan: &plan,
        templates: &templates,
        salt: &salt,
        seed: fleet.seed,
        now,
    };
    let mut stalled = Vec::new();
    let incidents = writer.incidents(&mut place.store, &mut stalled)?;
    let end = now - now.rem_euclid(60) - 60;
    let begin = end - (fleet.days * DAY_SECONDS) as i64;
    let begin = begin - begin.rem_euclid(60);
    let minutes = writer.minutes(&mut place.store, begin..end)?;
    if fleet.month {
        month::fill(&place.store, fleet.days)?;
    }
    let asked = ask::all(&place.store, now, place.process())?;
    let alike = ask::alike(&place.store, now, &stalled, &templates, fleet.cases)?;
    Ok(Some(Outcome {
        layouts: layout::measured(&place.store)?,
        file_bytes: place
            .file
            .and_then(|file| Some(file.metadata().ok()?.len())),
        shown: place.shown,
        incidents,
        minutes,
        asked,
        alike,
        templates: templates.len(),
        mebibytes: longest_mebibytes_of(std::process::id()),
    }))
}

/// The largest resident memory of a process, which the kernel keeps.
fn longest_mebibytes_of(process: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0
}

impl Outcome {
    /// For people: what, and its value.
    pub(crate) fn lines(&self, fleet: &Fleet) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        let mut line = |what: &str, value: String| lines.push((what.to_owned(), value));
        line(
            "the fleet",
            format!(
                "{} servers, {} incidents like {} recorded ones, {} days of minutes; {}",
                fleet.hosts, fleet.incidents, self.templates, fleet.days, self.shown
            ),
        );
        for (what, written) in [("incidents", &self.incidents), ("minutes", &self.minutes)] {
            line(
                &format!("{what}: rows"),
                format!(
                    "{} in {:.1} s, {:.0} rows/s, {:.1} million points/s",
                    written.rows,
                    written.took.as_secs_f64(),
                    written.rows_per_second(),
                    written.points as f64 / written.took.as_secs_f64().max(1e-9) / 1e6
                ),
            );
        }
        if let Some(bytes) = self.file_bytes {
            line(
                "the file",
                format!(
                    "{:.1} MB, {:.2} bytes a point of signals, all other rows included",
                    bytes as f64 / 1e6,
                    bytes as f64 / (self.minutes.points + self.incidents.points).max(1) as f64
                ),
            );
        }
        for asked in &self.asked {
            line(
                asked.name,
                format!(
                    "{:.1} ms, the first time {:.1} ms, {} rows{}",
                    asked.best_ms,
                    asked.first_ms,
                    asked.rows,
                    asked
                        .cpu_ms
                        .map_or_else(String::new, |ms| format!("; {ms:.0} ms of processor time"))
                ),
            );
        }
        line(
            "like-this, first is alike",
            format!(
                "{} of {} ({:.1} %)",
                self.alike.right,
                self.alike.asked,
                self.alike.share() * 100.0
            ),
        );
        let mut wrong: Vec<String> = self.alike.wrong.iter().map(wrong_text).collect();
        wrong.sort_unstable();
        wrong.dedup();
        for told in wrong.iter().take(10) {
            line("  not so", told.clone());
        }
        line("largest memory", format!("{:.0} MiB", self.mebibytes));
        lines
    }

    fn as_json(&self, fleet: &Fleet) -> Value {
        let written = |written: &Written| {
            json!({
                "rows": written.rows, "points": written.points, "batches": written.batches,
                "seconds": written.took.as_secs_f64(), "rows_per_second": written.rows_per_second(),
            })
        };
        let asked: Vec<Value> = self.asked.iter().map(|asked| {
            json!({"question": asked.name, "ms": asked.best_ms, "first_ms": asked.first_ms, "cpu_ms": asked.cpu_ms, "rows": asked.rows})
        }).collect();
        json!({
            "store": self.shown,
            "hosts": fleet.hosts,
            "incident_count": fleet.incidents,
            "days": fleet.days,
            "seed": fleet.seed,
            "templates": self.templates,
            "incidents": written(&self.incidents),
            "minutes": written(&self.minutes),
            "file_bytes": self.file_bytes,
            "layouts": self.layouts.as_ref().map(Layouts::as_json),
            "questions": asked,
            "alike": {
                "asked": self.alike.asked,
                "right": self.alike.right,
                "wrong": self.alike.wrong.iter().map(wrong_text).collect::<Vec<_>>(),
            },
            "memory_mebibytes": self.mebibytes,
        })
    }

    /// The slowest question and how long it took, milliseconds.
    pub(crate) fn slowest(&self) -> (&'static str, f64) {
        let slowest = self
            .asked
            .iter()
            .max_by(|a, b| a.best_ms.total_cmp(&b.best_ms));
        slowest.map_or(("", 0.0), |asked| (asked.name, asked.best_ms))
    }
}

fn wrong_text((is, evidence, found): &(String, String, String)) -> String {
    match found.is_empty() {
        true => format!("{is} with {evidence}: nothing was found"),
        false => format!("{is} with {evidence}: {found} was first"),
    }
}
