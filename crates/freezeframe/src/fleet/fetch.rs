//! `freezeframe fleet fetch`: the file of an incident, from where its recorder put it.

use std::path::PathBuf;
use std::process::ExitCode;

use ::fleet::any_store::AnyStore;
use ::fleet::cells;
use ::fleet::from_incident::hash_of_bytes;
use ::fleet::questions::views;
use ::fleet::sqlite::Given;
use anyhow::{Context, Result, anyhow, bail};
use cli::{output, usage};

use super::{now_ms, store_url};
use crate::args::FleetFetch;
use crate::config::Config;

/// The clock of the host that recorded it may be ahead of ours, milliseconds.
const AHEAD_MS: i64 = 400 * 86_400_000;

pub(super) fn run(args: &FleetFetch) -> Result<ExitCode> {
    cli::file_only("--output", args.output.as_deref())?;
    let config = Config::load(args.config.as_deref())?;
    let ca_file = args.access.ca_file.as_deref();
    let (url, access) = match &args.url {
        Some(url) => {
            let url = store_url::parse(url)?;
            let access = store_url::access(&url, ca_file)?;
            (url, access)
        }
        None if ca_file.is_some() => {
            bail!(usage(anyhow!("--ca-file: only for a --url with https://")))
        }
        None => config.fleet.store()?,
    };
    let name = store_url::shown(&url);
    let store = AnyStore::open_to_read(&url, access)?;
    let not_there = || format!("{name}: no incident '{}'", args.incident);
    let subject = store.subject(Some(&args.incident))?;
    let given = Given {
        now: now_ms() + AHEAD_MS,
        rows: 1,
        subject: Some(subject.with_context(not_there)?),
        ..Given::default()
    };
    let answer = store.ask(&views::INCIDENTS, &given)?;
    let row = cells::rows(&views::INCIDENTS, &answer).next();
    let row = row.with_context(not_there)?;
    let path = match &args.output {
        Some(path) => path.clone(),
        // A name is what its host said: it names no other directory.
        None => PathBuf::from(format!("{}.frame", row.text("name").replace('/', "_"))),
    };
    if path.exists() && !args.force {
        bail!("{}: exists; --force replaces it", path.display());
    }
    let key = row.text("frame");
    let place = config.fleet.frame_place(args.frames.as_deref())?;
    let Some(bytes) = place.fetch(key)? else {
        bail!(
            "{}: not below {}: its recorder, {}, sends files elsewhere, or none",
            key,
            place.shown(),
            row.text("host")
        );
    };
    let hash = row.text("frame_sha256");
    if hash_of_bytes(&bytes) != hash {
        bail!("{key}: not the file that {name} knows: its SHA-256 is another");
    }
    store::write_private(&path, &bytes)?;
    output::print_line(&path.display().to_string())?;
    Ok(ExitCode::SUCCESS)
}
