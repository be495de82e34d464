//! `freezeframe compare`: reads both sides, asks for the answer, prints it.

mod fix;
mod incidents;
mod windows;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use diagnosis::Cause;
use diagnosis::compare::{Answer, Comparison};
use report::HtmlOptions;
use store::write_private;

use crate::args::Compare;
use crate::config::{Config, default_dir};
use crate::{causes, output};

pub(crate) fn run(args: &Compare) -> Result<ExitCode> {
    let comparison = match &args.files[..] {
        [before, after] => incidents::compare(args, before, after)?,
        [one] => bail!(
            "{}: one incident is nothing to compare with; give two, or --before and --after",
            one.display()
        ),
        _ => windows::compare(args)?,
    };
    match &args.html {
        Some(path) => {
            let page = report::compare_html(&comparison, &HtmlOptions::default());
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
        None if args.json => output::print(&report::compare_json(&comparison))?,
        None => output::print(&report::compare_text(&comparison, &output::text_options()))?,
    }
    Ok(if args.exit_code {
        code(&comparison)
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
        None => bail!("--cause {id}: no such cause in the catalogue, nor none"),
    }
}

/// Where incidents and the history are.
fn directory(args: &Compare) -> Result<std::path::PathBuf> {
    let config = Config::load(args.config.as_deref())?;
    Ok(args.dir.clone().or(config.dir).unwrap_or_else(default_dir))
}
