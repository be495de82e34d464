//! Many runs, scored; those of an earlier sitting count.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use lab::{Scenario, ServerKind};

use super::run::{self, Options, Outcome};
use super::{chosen, code, harm, here, row, table};
use crate::args::ScenarioScore;
use crate::output;

/// Runs that are kept: more would be no score.
const KEPT_BYTES_MAX: u64 = 64 << 20;

/// `lab score`.
pub(crate) fn score(args: &ScenarioScore) -> Result<ExitCode> {
    let scenarios = chosen(&args.names)?;
    let mut outcomes = match &args.keep {
        Some(path) => kept(path)?,
        None => Vec::new(),
    };
    let mut skipped = Vec::new();
    for scenario in &scenarios {
        let kinds = match here(scenario) {
            Ok(kinds) => wanted(kinds, args),
            Err(error) => {
                skipped.push(format!("{}: {error}", scenario.name));
                continue;
            }
        };
        for kind in kinds {
            let earlier = outcomes
                .iter()
                .filter(|one| is_of(one, scenario, kind))
                .count();
            for time in earlier..usize::try_from(args.times).unwrap_or(usize::MAX) {
                match once(args, scenario, kind, time == 0) {
                    Ok(outcome) => {
                        if !args.json {
                            output::print(&row(&outcome))?;
                        }
                        if let Some(path) = &args.keep {
                            keep(path, &outcome)?;
                        }
                        outcomes.push(outcome);
                    }
                    Err(error) => {
                        let why = format!("{} on {}: {error:#}", scenario.name, kind.name());
                        eprintln!("freezeframe: {why}");
                        skipped.push(why);
                    }
                }
            }
        }
    }
    // Another one may have written to the file meanwhile.
    if let Some(path) = &args.keep {
        outcomes = kept(path)?;
    }
    let passed = outcomes.iter().filter(|outcome| outcome.passed()).count();
    if args.json {
        output::print(&serde_json::to_string_pretty(&serde_json::json!({
            "runs": outcomes,
            "passed": passed,
            "not_run": skipped,
        }))?)?;
    } else {
        output::print(&format!(
            "{passed} of {} runs have the true cause at rank 1 and nothing wrong beside it",
            outcomes.len()
        ))?;
        for text in &skipped {
            output::print(&format!("not run: {text}"))?;
        }
    }
    if let Some(path) = &args.markdown {
        let page = table::markdown(&outcomes, &skipped);
        std::fs::write(path, page).with_context(|| path.display().to_string())?;
    }
    Ok(code(passed == outcomes.len() && !outcomes.is_empty()))
}

fn wanted(mut kinds: Vec<ServerKind>, args: &ScenarioScore) -> Vec<ServerKind> {
    if args.servers.is_empty() {
        kinds.truncate(if args.all { usize::MAX } else { 1 });
    } else {
        kinds.retain(|kind| {
            args.servers
                .iter()
                .any(|server| ServerKind::from(*server) == *kind)
        });
    }
    kinds
}

fn is_of(outcome: &Outcome, scenario: &Scenario, kind: ServerKind) -> bool {
    outcome.scenario == scenario.name && outcome.server == kind.name()
}

fn once(
    args: &ScenarioScore,
    scenario: &Scenario,
    kind: ServerKind,
    first: bool,
) -> Result<Outcome> {
    let dir = args.dir.join(&scenario.name);
    let options = Options {
        quiet: true,
        prove: args.prove,
        brief: false,
    };
    let mut outcome = run::run(scenario, kind, &dir, options)?;
    // What it costs is the same each time.
    if args.harm && first {
        outcome.harm = Some(harm::harm(scenario, kind, &dir)?);
    }
    Ok(outcome)
}

/// The runs of a file, one a line. A file that is not there has none.
fn kept(path: &Path) -> Result<Vec<Outcome>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let mut outcomes = Vec::new();
    for (index, line) in BufReader::new(file.take(KEPT_BYTES_MAX))
        .lines()
        .enumerate()
    {
        let place = || format!("{}:{}", path.display(), index + 1);
        let line = line.with_context(place)?;
        if !line.trim().is_empty() {
            outcomes.push(serde_json::from_str(&line).with_context(place)?);
        }
    }
    Ok(outcomes)
}

/// Adds a run, in one write: another score may add its own.
fn keep(path: &Path, outcome: &Outcome) -> Result<()> {
    let line = format!("{}\n", serde_json::to_string(outcome)?);
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .with_context(|| path.display().to_string())
}
