//! Acts on one server: a break, its cause named, its remedy applied and proven, and the next one begins.

mod act;
mod chain;
mod headline;
mod summary;
mod world;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use cli::output;
use store::write_private;
use testbed::{Cascade, Scenario, ServerKind};

use crate::args::CascadeRun;
use crate::scenario::judge::Outcome;
use act::ActResult;
use world::World;

/// An act's cause was not named, its remedy is not proven, or a wrong one was named beside it.
const NOT_PROVEN: u8 = 3;

/// `freezeframe-lab cascade`.
pub(crate) fn run(args: &CascadeRun) -> Result<ExitCode> {
    let cascade = match &args.file {
        Some(path) => testbed::cascade_file(path)?,
        None => chosen(args.server.map(ServerKind::from))?,
    };
    let begin = jiff::Timestamp::now();
    let mut world = World::new(cascade.kind, &cascade.acts)?;
    let mut told = Vec::new();
    for (number, act) in cascade.acts.iter().enumerate() {
        if !args.json {
            output::print(&format!("\n{}. {}: {}", number + 1, act.name, act.what))?;
        }
        told.push(act::run(&mut world, act, &args.dir, args.json)?);
    }
    world.stage.end()?;
    let server = cascade.kind.name();
    let sheet = summary::sheet(server, &cascade.what, begin, &told);
    let page = args.dir.join("cascade.html");
    write_private(&page, report::document_html(&sheet).as_bytes())?;
    if args.json {
        let document = serde_json::json!({ "server": server, "what": cascade.what, "acts": told });
        output::print_json(&document)?;
    } else {
        output::print("")?;
        output::print_page(&report::document_text(&sheet, &output::text_options()))?;
        output::print_line(&format!("wrote {}", page.display()))?;
    }
    let proven = told.iter().all(summary::is_proven);
    Ok(ExitCode::from(if proven { 0 } else { NOT_PROVEN }))
}

fn chosen(kind: Option<ServerKind>) -> Result<Cascade> {
    let all = testbed::cascades()?;
    let of = |kind: ServerKind| all.iter().find(|cascade| cascade.kind == kind).cloned();
    match kind {
        Some(kind) => of(kind).with_context(|| format!("there is no cascade on {}", kind.name())),
        None => all
            .iter()
            .find(|cascade| testbed::installed(cascade.kind).is_ok())
            .cloned()
            .context("no server for a cascade is installed; `scripts/need mysql-5.5` fetches one"),
    }
}

/// A scenario whose remedy needs a new start of the server, with its proof. Its page is beside the incident.
pub(crate) fn prove(
    scenario: &Scenario,
    kind: ServerKind,
    dir: &Path,
    quiet: bool,
) -> Result<Outcome> {
    let begin = jiff::Timestamp::now();
    let mut world = World::new(kind, std::slice::from_ref(scenario))?;
    let told: ActResult = act::run(&mut world, scenario, dir, quiet)?;
    world.stage.end()?;
    let told = [told];
    let sheet = summary::sheet(kind.name(), &scenario.what, begin, &told);
    let page = dir.join(format!("{}.html", scenario.name));
    write_private(&page, report::document_html(&sheet).as_bytes())?;
    if !quiet {
        output::print_page(&report::document_text(&sheet, &output::text_options()))?;
        output::print_line(&format!("wrote {}", page.display()))?;
    }
    let [told] = told;
    Ok(told.outcome)
}
