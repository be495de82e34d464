//! The lab's scenarios: run, and scored against their truth.

pub(crate) mod client_latency;
pub(crate) mod host;
pub(crate) mod judge;
mod overhead;
pub(crate) mod partner;
mod peers;
mod peers_table;
mod pt_stalk;
pub(crate) mod result_lines;
pub(crate) mod run;
mod score;
pub(crate) mod stage;
pub(crate) mod steps;
mod table;
pub(crate) mod traffic;
pub(crate) mod verification;
mod work;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use testbed::{Scenario, ServerKind};

use cli::output;

use crate::args::{Json, ScenarioRun};
pub(crate) use host::watchdog;
use judge::Outcome;
pub(crate) use peers::run as peers;
use run::Options;
pub(crate) use score::score;

/// The true cause does not stand first.
const NOT_NAMED: u8 = 3;

/// `freezeframe-lab list`.
pub(crate) fn list(args: &Json) -> Result<ExitCode> {
    let all = testbed::scenarios()?;
    if args.json {
        let list: Vec<_> = all
            .iter()
            .map(|scenario| {
                serde_json::json!({
                    "name": scenario.name,
                    "what": scenario.what,
                    "cause": scenario.truth.cause,
                    "servers": scenario.servers,
                    "can_run": here(scenario).is_ok(),
                    "why_not": here(scenario).err().map(|error| error.to_string()),
                })
            })
            .collect();
        output::print_json(&list)?;
    } else {
        let width = output::text_options().width;
        for scenario in &all {
            let servers = match here(scenario) {
                Ok(kinds) => kinds
                    .iter()
                    .map(|kind| kind.name())
                    .collect::<Vec<_>>()
                    .join(", "),
                Err(error) => format!("cannot run here: {error}"),
            };
            let head = output::wrapped(
                &format!("{}  ", scenario.name),
                &format!("({servers})"),
                width,
            );
            let what = output::wrapped("    ", scenario.what.trim(), width);
            output::print(&format!("{head}{what}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// `freezeframe-lab run`.
pub(crate) fn run(args: &ScenarioRun) -> Result<ExitCode> {
    let scenario = named(&args.name)?;
    let kind = match args.server {
        Some(server) => ServerKind::from(server),
        None => *here(&scenario)?.first().context("no server")?,
    };
    if !scenario.kinds().contains(&kind) {
        bail!("scenario {} cannot run on {}", scenario.name, kind.name());
    }
    let outcome = run::run(
        &scenario,
        kind,
        &args.dir,
        Options {
            quiet: args.json,
            prove: args.prove,
            brief: args.brief,
        },
    )?;
    if args.json {
        output::print_json(&outcome)?;
    } else {
        for stage in &outcome.stages {
            output::print(&format!(
                "{}: {} of {}",
                stage.what, stage.proof, stage.cause
            ))?;
        }
        output::print(&format!(
            "{}\n{}",
            outcome.sentence,
            rows(std::slice::from_ref(&outcome))
        ))?;
    }
    Ok(code(outcome.passed()))
}

fn code(passed: bool) -> ExitCode {
    ExitCode::from(if passed { 0 } else { NOT_NAMED })
}

/// By its name, or by the path of a file of one's own.
fn named(name: &str) -> Result<Scenario> {
    if name.ends_with(".toml") {
        return Ok(testbed::scenario_file(Path::new(name))?);
    }
    match testbed::scenario(name)? {
        Some(scenario) => Ok(scenario),
        None => bail!("there is no scenario '{name}'; `freezeframe-lab list` prints them"),
    }
}

/// The scenarios of these names; all of them without a name.
fn chosen(names: &[String]) -> Result<Vec<Scenario>> {
    match names {
        [] => Ok(testbed::scenarios()?),
        names => names.iter().map(|name| named(name)).collect(),
    }
}

/// The servers of a scenario that are on this machine.
fn here(scenario: &Scenario) -> Result<Vec<ServerKind>> {
    host::can_run(scenario)?;
    let mut missing = None;
    let mut found = Vec::new();
    for kind in scenario.kinds() {
        match testbed::installed(kind) {
            Ok(_) => found.push(kind),
            Err(error) => missing = Some(error),
        }
    }
    match missing {
        Some(error) if found.is_empty() => Err(error.into()),
        _ => Ok(found),
    }
}

fn seconds(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1} s"))
}

fn row(outcome: &Outcome) -> String {
    let rank = outcome
        .rank
        .map_or_else(|| "-".to_owned(), |rank| rank.to_string());
    format!(
        "{:<6}  {:<22}  {:<20}  noticed {:>7}  rank {rank}  {:<8}  {:<10}  {}",
        if outcome.passed() { "ok" } else { "MISSED" },
        outcome.scenario,
        outcome.server,
        seconds(outcome.noticed_seconds),
        outcome.level.as_deref().unwrap_or("-"),
        outcome.proof.as_deref().unwrap_or(""),
        match outcome.wrong.as_slice() {
            [] => String::new(),
            wrong => format!("wrong: {}", wrong.join(", ")),
        }
    )
}

fn rows(outcomes: &[Outcome]) -> String {
    outcomes.iter().map(row).collect::<Vec<_>>().join("\n")
}
