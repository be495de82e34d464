//! `freezeframe compare`: reads both sides, asks for the answer, prints it.

mod fix;
mod incidents;
mod windows;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use cli::{output, usage};
use diagnosis::Cause;
use diagnosis::compare::{Answer, Comparison};
use model::{Incident, Window};
use report::HtmlOptions;
use store::{HistoryWindow, write_private};

use crate::args::Compare;
use crate::config::Config;
use crate::no_loss::refuse_loss;
use crate::{causes, of_service};

/// What came of it, and what was compared.
struct Compared {
    comparison: Comparison,
    sides: [(Incident, Window); 2],
}

pub(crate) fn run(args: &Compare) -> Result<ExitCode> {
    let config = Config::load(args.config.as_deref())?;
    causes::use_directory(args.causes.as_deref(), &config);
    if let Some(page) = &args.html {
        refuse_loss("--html", page, &args.files)?;
    }
    let compared = match &args.files[..] {
        [before, after] => incidents::compare(args, before, after)?,
        [one] => {
            return Err(usage(anyhow!(
                "{}: name two incidents to compare, or use --before and --after",
                one.display()
            )));
        }
        _ => windows::compare(args, &of_service::directory(&config, args.dir.as_deref()))?,
    };
    let comparison = &compared.comparison;
    match &args.html {
        Some(path) => {
            let sides = compared.sides.each_ref();
            let sides = sides.map(|(incident, window)| (incident, *window));
            let page = report::compare_html(comparison, sides, &HtmlOptions::default());
            if path == Path::new("-") {
                output::print(&page)?;
            } else {
                write_private(path, page.as_bytes())?;
                output::print(&format!(
                    "{}\nwrote {}",
                    comparison.sentence,
                    path.display()
                ))?;
            }
        }
        None if args.json => output::print_json_text(&report::compare_json(comparison))?,
        None => output::print_page(&report::compare_text(comparison, &output::text_options()))?,
    }
    Ok(if args.exit_code {
        code(comparison)
    } else {
        ExitCode::SUCCESS
    })
}

fn code(comparison: &Comparison) -> ExitCode {
    match comparison.verdict {
        Answer::Worked => ExitCode::SUCCESS,
        Answer::NoEffect => ExitCode::from(4),
        Answer::Worse => ExitCode::from(5),
        Answer::NotProven => ExitCode::from(6),
    }
}

/// The cause that was asked for; inside, none when what clients feel is.
fn wanted(args: &Compare) -> Result<Option<Option<&'static Cause>>> {
    let Some(id) = &args.cause else {
        return Ok(None);
    };
    match causes::catalogue().get(id) {
        Some(cause) => Ok(Some(Some(cause))),
        None if id == "none" => Ok(Some(None)),
        None => Err(usage(anyhow!(
            "--cause {id}: no such cause (freezeframe causes lists them); or say none"
        ))),
    }
}

/// Readings of the server further apart than this are not of one time, milliseconds.
const APART_MS: u64 = 30_000;

/// How much of a stretch the server answered in, milliseconds: a server that is switched off has no
/// stalls. Without a login, what was recorded at all.
fn answered_ms(stretch: &HistoryWindow) -> u64 {
    let timeline = &stretch.incident.timeline;
    let Some(series) = timeline.get("status.Questions") else {
        return stretch.recorded_ms;
    };
    let window = stretch.window;
    // Of long stretches a selection of the readings is kept.
    let apart = APART_MS.max(window.to.saturating_sub(window.from) / 1_000);
    let ticks: Vec<u64> = timeline
        .points_in(series, window)
        .map(|(at, _)| at)
        .collect();
    let steps = ticks.windows(2).map(|pair| match pair {
        [one, next] => next.saturating_sub(*one),
        _ => 0,
    });
    steps.filter(|step| *step <= apart).sum()
}
