//! `freezeframe fleet add`: incidents into a store.

use std::path::PathBuf;
use std::process::ExitCode;

use ::fleet::sqlite::{Inserted, Store};
use anyhow::Result;
use cli::output;

use super::{now_ms, read, salt, sqlite_path};
use crate::args::FleetAdd;
use crate::causes;
use crate::config::Config;

pub(super) fn run(args: &FleetAdd) -> Result<ExitCode> {
    let store_path = sqlite_path(&args.url)?;
    let mut store = Store::open(&store_path)?;
    let salt_path = args.salt_file.clone();
    let salt = salt::read(&salt_path.unwrap_or_else(|| salt::path_beside(&store_path)))?;
    causes::use_directory(
        args.causes.as_deref(),
        &Config::load(args.config.as_deref())?,
    );
    let mut files: Vec<PathBuf> = Vec::new();
    for path in &args.paths {
        match path.is_dir() {
            true => files.extend(read::frames_below(path)?),
            false => files.push(path.clone()),
        }
    }
    let (mut new, mut known, mut failed) = (0, 0, 0);
    let count = files.len();
    for (index, path) in files.iter().enumerate() {
        read::progress(index, count);
        let now = now_ms() / 1000;
        let mut rows = match read::incident_rows(path, &salt, now) {
            Ok(rows) => rows,
            Err(error) => {
                failed += 1;
                output::note(&format!("{error:#}"));
                continue;
            }
        };
        rows.host.cluster = args.cluster.clone().unwrap_or_default();
        match store.insert(&rows.evidence(), now)? {
            Inserted::New => new += 1,
            Inserted::Repeated => known += 1,
        }
        store.insert(&rows.judgement(), now)?;
    }
    read::progress_ends(count);
    store.expire(now_ms() / 1000)?;
    output::print_line(&told(new, known, failed, &args.url))?;
    Ok(match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

fn told(new: usize, known: usize, failed: usize, url: &str) -> String {
    let mut parts = vec![match new {
        1 => "1 incident added".to_owned(),
        count => format!("{count} incidents added"),
    }];
    match known {
        0 => {}
        1 => parts.push("1 was there and is judged anew".to_owned()),
        known => parts.push(format!("{known} were there and are judged anew")),
    }
    if failed > 0 {
        parts.push(format!("{failed} could not be read"));
    }
    let told = parts.join(", ");
    match new + known {
        0 => told,
        _ => format!("{told}. Ask: freezeframe fleet ask costs --url {url}"),
    }
}
