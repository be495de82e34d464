//! `freezeframe fleet ask`: a question to a store, or to a directory of incidents.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::fleet::any_store::AnyStore;
use ::fleet::questions::{Parameter, QUESTIONS, Question, question};
use ::fleet::sqlite::{Given, Store};
use ::fleet::subject::Subject;
use ::fleet::url::StoreUrl;
use anyhow::{Context, Result, anyhow, bail};
use cli::{output, usage};
use jiff::Zoned;

use super::{json, now_ms, read, salt, store_url, text};
use crate::args::FleetAsk;
use crate::causes;
use crate::config::Config;
use crate::queries::options::parse_time;

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// What is asked.
struct Source {
    store: AnyStore,
    /// How people call it.
    name: String,
    /// How names are hashed in it; of a store without its salt none is known.
    salt: Option<Vec<u8>>,
    /// It was made of files, so that all of it is asked, and nothing is known of now.
    is_of_files: bool,
}

pub(super) fn run(args: &FleetAsk) -> Result<ExitCode> {
    let Some(name) = &args.question else {
        match args.json {
            true => output::print_json(&json::list(&QUESTIONS))?,
            false => output::print(&text::list(&QUESTIONS))?,
        }
        return Ok(ExitCode::SUCCESS);
    };
    // clap has let in no other.
    let question = question(name).ok_or_else(|| anyhow!("no question '{name}'"))?;
    if args.incident.is_some() && !question.parameters.contains(&Parameter::Me) {
        bail!(usage(anyhow!(
            "--incident: only the question like-this uses an incident"
        )));
    }
    let url = args.url.as_deref().map(store_url::parse).transpose()?;
    if args.sql {
        let statement = match &url {
            Some(StoreUrl::ClickHouse(_)) => text::statement_of_clickhouse(question)?,
            _ => text::statement(question),
        };
        output::print(&statement)?;
        return Ok(ExitCode::SUCCESS);
    }
    let since = since(args)?;
    let config = Config::load(args.config.as_deref())?;
    causes::use_directory(args.causes.as_deref(), &config);
    let source = match &args.url {
        Some(url) => stored(url, args)?,
        None if args.access.ca_file.is_some() => {
            bail!(usage(anyhow!("--ca-file: only for a --url with https://")))
        }
        None => {
            let dirs = match args.dirs.as_slice() {
                [] => vec![config.directory(None)],
                dirs => dirs.to_vec(),
            };
            of_files(&dirs)?
        }
    };
    let extent = source.store.extent()?;
    let now = match source.is_of_files {
        true => extent.last.unwrap_or(0),
        false => now_ms(),
    };
    let since = since.unwrap_or(match source.is_of_files {
        true => extent.first.unwrap_or(0),
        false => now - i64::from(question.days) * DAY_MS,
    });
    let given = Given {
        since,
        now,
        rows: args.limit,
        subject: subject(args, question, &source)?,
        ..Given::default()
    };
    let answer = source.store.ask(question, &given)?;
    match args.json {
        true => output::print_json(&json::answer(question, &given, &answer))?,
        false => output::print(&text::answer(
            question,
            &given,
            &answer,
            &text::Asked {
                name: &source.name,
                is_of_files: source.is_of_files,
                extent,
            },
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn since(args: &FleetAsk) -> Result<Option<i64>> {
    let us = args
        .since
        .as_deref()
        .map(|text| parse_time(text, &Zoned::now()))
        .transpose()
        .context("--since")
        .map_err(usage)?;
    Ok(us.map(|us| us / 1000))
}

fn stored(url: &str, args: &FleetAsk) -> Result<Source> {
    let parsed = store_url::parse(url)?;
    let store = AnyStore::open_to_read(
        &parsed,
        store_url::access(&parsed, args.access.ca_file.as_deref())?,
    )?;
    let (beside, needed) = match &parsed {
        StoreUrl::Sqlite(path) => (salt::read(&salt::path_beside(path)).ok(), ""),
        StoreUrl::ClickHouse(_) => (None, " --salt-file FILE"),
    };
    let salt = match &args.salt_file {
        Some(path) => Some(salt::read(path)?),
        None => beside,
    };
    let extent = store.extent()?;
    if extent.hosts == 0 {
        bail!(
            "{url}: the store is empty: freezeframe fleet add {url} DIR{needed} adds recorded incidents"
        );
    }
    Ok(Source {
        store,
        name: url.to_owned(),
        salt,
        is_of_files: false,
    })
}

/// A store for this question, of the incidents below these directories.
fn of_files(dirs: &[PathBuf]) -> Result<Source> {
    let mut files = Vec::new();
    for dir in dirs {
        files.extend(read::frames_below(dir)?);
    }
    let names: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    let name = names.join(", ");
    if files.is_empty() {
        bail!(
            "{name}: no incidents there or below; name a recorder's directory with --dir, or a store with --url"
        );
    }
    let salt = crate::export::random_salt()?;
    let mut store = Store::temporary()?;
    let now = now_ms() / 1000;
    for (index, path) in files.iter().enumerate() {
        read::progress(index, files.len());
        match read::incident_rows(path, &salt, now) {
            Ok(rows) => {
                store.insert(&rows.evidence(), now)?;
                store.insert(&rows.judgement(), now)?;
            }
            Err(error) => output::note(&format!("{error:#}")),
        }
    }
    read::progress_ends(files.len());
    if store.extent()?.incidents == 0 {
        bail!("{name}: none of its {} incidents can be read", files.len());
    }
    Ok(Source {
        store: AnyStore::Sqlite(store),
        name,
        salt: Some(salt),
        is_of_files: true,
    })
}

/// The incident that others are compared with.
fn subject(args: &FleetAsk, question: &Question, source: &Source) -> Result<Option<Subject>> {
    if !question.parameters.contains(&Parameter::Me) {
        return Ok(None);
    }
    if let Some(name) = &args.incident {
        if let Some(known) = source.store.subject(Some(name))? {
            return Ok(Some(known));
        }
        let path = Path::new(name);
        if !path.exists() {
            bail!(
                "--incident {name}: no such file, and no incident of {} has this name",
                source.name
            );
        }
        // Without the salt of the store the incident itself is among the answers when it is there.
        let salt = match &source.salt {
            Some(salt) => salt.clone(),
            None => crate::export::random_salt()?,
        };
        let rows = read::incident_rows(path, &salt, now_ms() / 1000)?;
        return Ok(Some(rows.subject()));
    }
    let latest = source.store.subject(None)?;
    latest.map(Some).with_context(|| {
        format!(
            "{}: no incident to compare with; name one with --incident FILE",
            source.name
        )
    })
}
