//! Many runs, scored; those of an earlier sitting count.

use std::process::ExitCode;

use anyhow::{Context, Result};
use cli::output;
use testbed::{Scenario, ServerKind};

use super::judge::{self, Outcome};
use super::run::{self, Options};
use super::{chosen, code, here, overhead, result_lines, row, table};
use crate::args::ScenarioScore;

/// `freezeframe-lab score`.
pub(crate) fn score(args: &ScenarioScore) -> Result<ExitCode> {
    let (mut outcomes, skipped) = if args.again {
        (Vec::new(), Vec::new())
    } else {
        run_all(args)?
    };
    // Another one may have written to the file meanwhile.
    if let Some(path) = &args.keep {
        outcomes = result_lines::read(path)?;
    }
    if args.again {
        judge_again(&mut outcomes)?;
    }
    let passed = outcomes.iter().filter(|outcome| outcome.passed()).count();
    if args.json {
        output::print_json(&serde_json::json!({
            "runs": outcomes,
            "passed": passed,
            "not_run": skipped,
        }))?;
    } else {
        output::print(&format!(
            "{passed} of {} runs have the true cause at rank 1 and no wrong cause",
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

/// Every run that is wanted and not kept; and what was not run, and why.
fn run_all(args: &ScenarioScore) -> Result<(Vec<Outcome>, Vec<String>)> {
    let scenarios = chosen(&args.names)?;
    let mut outcomes = match &args.keep {
        Some(path) => result_lines::read(path)?,
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
                            result_lines::add(path, std::slice::from_ref(&outcome))?;
                        }
                        outcomes.push(outcome);
                    }
                    Err(error) => {
                        let why = format!("{} on {}: {error:#}", scenario.name, kind.name());
                        output::note(&why);
                        skipped.push(why);
                    }
                }
            }
        }
    }
    Ok((outcomes, skipped))
}

/// What this build says of the kept runs of the scenarios and servers that there are.
fn judge_again(outcomes: &mut Vec<Outcome>) -> Result<()> {
    let scenarios = testbed::scenarios()?;
    let of = |outcome: &Outcome| {
        scenarios.iter().find(|scenario| {
            let mut kinds = scenario.kinds().into_iter();
            kinds.any(|kind| is_of(outcome, scenario, kind))
        })
    };
    outcomes.retain(|outcome| of(outcome).is_some());
    for outcome in outcomes {
        if let Some(scenario) = of(outcome) {
            judge::again(outcome, scenario)
                .with_context(|| format!("{} on {}", outcome.scenario, outcome.server))?;
        }
    }
    Ok(())
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
        outcome.harm = Some(overhead::measure_overhead(scenario, kind, &dir)?);
    }
    Ok(outcome)
}
