//! `freezeframe-lab peers`: the same scenarios, watched by nobody, by the recorder and by pt-stalk.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use cli::output;
use jiff::Timestamp;
use model::Incident;
use serde_json::Value;
use testbed::{Scenario, ServerKind};

use super::client_latency::{Nobody, Watcher, measure};
use super::overhead::Freezeframe;
use super::peers_table::{NOBODY, RECORDER, Row, noticed};
use super::pt_stalk::{PtStalk, TUNINGS, collection};
use super::{chosen, here, peers_table, result_lines};
use crate::args::ScenarioPeers;
use crate::product::explain;

pub(crate) fn run(args: &ScenarioPeers) -> Result<ExitCode> {
    let mut rows: Vec<Row> = match &args.keep {
        Some(path) => result_lines::read(path)?,
        None => Vec::new(),
    };
    let mut skipped = Vec::new();
    match (args.again, &args.keep) {
        (true, Some(path)) => {
            for row in &mut rows {
                if let Some(path) = row.captured.as_deref().filter(|path| path.exists()) {
                    row.named = named(&explain(path)?);
                }
            }
            result_lines::replace(path, &rows)?;
        }
        _ => run_all(args, &mut rows, &mut skipped)?,
    }
    if args.json {
        let told = serde_json::json!({"runs": rows, "not_run": skipped});
        output::print_json(&told)?;
    } else {
        for text in &skipped {
            output::print(&format!("not run: {text}"))?;
        }
    }
    if let Some(path) = &args.markdown {
        let text = peers_table::markdown(&rows, &skipped);
        std::fs::write(path, text).with_context(|| path.display().to_string())?;
    }
    Ok(ExitCode::from(u8::from(rows.is_empty())))
}

/// Every scenario that is wanted and not kept; and what was not run, and why.
fn run_all(args: &ScenarioPeers, rows: &mut Vec<Row>, skipped: &mut Vec<String>) -> Result<()> {
    for scenario in chosen(&args.names)? {
        let kinds = match here(&scenario) {
            Ok(kinds) => kinds,
            Err(error) => {
                skipped.push(format!("{}: {error}", scenario.name));
                continue;
            }
        };
        let wanted = args.server.map(ServerKind::from);
        let kind = match wanted {
            Some(wanted) => kinds.into_iter().find(|kind| *kind == wanted),
            None => kinds.into_iter().next(),
        };
        let Some(kind) = kind else {
            skipped.push(format!("{}: not on this server", scenario.name));
            continue;
        };
        let is_of = |row: &Row| row.scenario == scenario.name && row.server == kind.name();
        if rows.iter().any(is_of) {
            continue;
        }
        let dir = args.dir.join(&scenario.name);
        match beside(&scenario, kind, &dir, args) {
            Ok(more) => {
                if let Some(path) = &args.keep {
                    result_lines::add(path, &more)?;
                }
                rows.extend(more);
            }
            Err(error) => {
                let why = format!("{} on {}: {error:#}", scenario.name, kind.name());
                output::note(&why);
                skipped.push(why);
            }
        }
    }
    Ok(())
}

/// The watchers beside one scenario, one after another, each with a server of its own.
fn beside(
    scenario: &Scenario,
    kind: ServerKind,
    dir: &Path,
    args: &ScenarioPeers,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let blank = |watcher: &str, felt| Row {
        scenario: scenario.name.clone(),
        server: kind.name().to_owned(),
        watcher: watcher.to_owned(),
        noticed_seconds: None,
        too_early: false,
        kinds: Vec::new(),
        mib: 0.0,
        captured: None,
        truth: scenario.truth.cause.clone(),
        named: None,
        felt,
    };
    let mut add = |row: Row| {
        if !args.json {
            output::print(&line(&row))?;
        }
        rows.push(row);
        anyhow::Ok(())
    };
    if !args.only_pt_stalk {
        add(blank(NOBODY, measure(scenario, kind, &mut Nobody)?))?;
        let mut recorder = Freezeframe::new(scenario, dir.join(RECORDER));
        let mut timed = Timed::new(&mut recorder);
        let felt = measure(scenario, kind, &mut timed)?;
        let begin = timed.begin;
        let row = recorded(blank(RECORDER, felt), recorder.incident.as_deref(), begin)?;
        add(row)?;
    }
    let tunings = match (args.untuned, args.tuned) {
        (true, _) => &TUNINGS[..1],
        (_, true) => &TUNINGS[1..],
        _ => &TUNINGS[..],
    };
    for &tuning in tunings {
        let mut stalk = PtStalk::new(tuning, dir.join(tuning.name.replace(", ", "-")));
        let felt = measure(scenario, kind, &mut stalk)?;
        let mut row = blank(tuning.name, felt);
        row.noticed_seconds = stalk.noticed.map(|time| time.as_secs_f64());
        row.too_early = stalk.too_early;
        if stalk.noticed.is_some() {
            let (kinds, bytes) = collection(&stalk.collected())?;
            row.kinds = kinds.into_iter().collect();
            row.mib = mib(bytes);
            row.captured = Some(stalk.collected());
            row.named = explain(&stalk.collected())
                .ok()
                .and_then(|verdict| named(&verdict));
        }
        add(row)?;
    }
    Ok(rows)
}

/// The recorder's row: when it noticed, and what its incident is called.
fn recorded(mut row: Row, incident: Option<&Path>, begin: Timestamp) -> Result<Row> {
    let Some(incident) = incident else {
        return Ok(row);
    };
    let verdict = explain(incident)?;
    let trigger = verdict["incident"]["trigger"].as_str().unwrap_or_default();
    let trigger: Timestamp = trigger.parse().context("the trigger's time")?;
    row.noticed_seconds = Some(trigger.duration_since(begin).as_secs_f64());
    row.named = named(&verdict);
    row.mib = mib(std::fs::metadata(incident)?.len());
    row.kinds = kinds_of(&store::read_incident(incident)?.incident);
    row.captured = Some(incident.to_owned());
    Ok(row)
}

/// The kinds of evidence that an incident has: each text by its name, and what is no text.
fn kinds_of(incident: &Incident) -> Vec<String> {
    let stacks = &incident.stacks;
    let others = [
        ("signals", incident.timeline.series.is_empty()),
        ("stacks", stacks.snapshots.is_empty()),
        ("profile", stacks.profiles.is_empty()),
        ("locks", stacks.locks.is_empty()),
        ("statements", incident.queries.is_empty()),
    ];
    let others = others
        .into_iter()
        .filter_map(|(name, missing)| (!missing).then_some(name));
    let texts = incident.texts.iter().map(|text| text.text.kind().name());
    let kinds: BTreeSet<&str> = texts.chain(others).collect();
    kinds.into_iter().map(str::to_owned).collect()
}

/// A watcher, and when its break began.
struct Timed<'a> {
    watcher: &'a mut dyn Watcher,
    begin: Timestamp,
}

impl<'a> Timed<'a> {
    fn new(watcher: &'a mut dyn Watcher) -> Self {
        Self {
            watcher,
            begin: Timestamp::now(),
        }
    }
}

impl Watcher for Timed<'_> {
    fn start(&mut self, server: &testbed::PrivateServer) -> Result<()> {
        self.watcher.start(server)
    }

    fn broken(&mut self) {
        self.watcher.broken();
        self.begin = Timestamp::now();
    }

    fn end(&mut self) -> Result<()> {
        self.watcher.end()
    }
}

fn named(verdict: &Value) -> Option<String> {
    let first = verdict["findings"].as_array()?.first()?;
    let level = first["level"].as_str()?;
    ["likely", "certain"]
        .contains(&level)
        .then(|| first["cause"].as_str().map(str::to_owned))?
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn line(row: &Row) -> String {
    format!(
        "{:<22}  {:<20}  {:<16}  noticed {:>16}  {:>2} kinds {:>5.1} MiB  named {:<20}  {:>7.0}/s, worst probe {:.0} ms",
        row.scenario,
        row.server,
        row.watcher,
        noticed(row),
        row.kinds.len(),
        row.mib,
        row.named.as_deref().unwrap_or("-"),
        row.felt.broken.per_second,
        row.felt.broken.probe_worst_ms
    )
}
