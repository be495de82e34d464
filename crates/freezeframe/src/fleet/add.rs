//! `freezeframe fleet add`: incidents into a store.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ::fleet::Batch;
use ::fleet::any_store::{AnyError, AnyStore};
use ::fleet::clickhouse::{Failure, Then};
use ::fleet::sqlite::Inserted;
use ::fleet::url::StoreUrl;
use anyhow::{Error, Result, anyhow, bail};
use cli::{output, usage};

use super::{now_ms, read, salt, store_url};
use crate::args::FleetAdd;
use crate::causes;
use crate::config::Config;

/// How long a store is waited for that is away or has too much to do.
const PATIENCE: Duration = Duration::from_secs(300);

/// The first pause before it is tried again, and the longest; each is twice the one before.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

pub(super) fn run(args: &FleetAdd) -> Result<ExitCode> {
    let url = store_url::parse(&args.url)?;
    let access = store_url::access(&url, args.access.ca_file.as_deref())?;
    let salt_path = match (&args.salt_file, &url) {
        (Some(path), _) => path.clone(),
        (None, StoreUrl::Sqlite(path)) => salt::path_beside(path),
        (None, StoreUrl::ClickHouse(url)) => bail!(usage(anyhow!(
            "--salt-file: ClickHouse needs a file with the fleet's salt, the same for all who add; `freezeframe fleet init {url} --salt-file FILE` makes one"
        ))),
    };
    let mut store = AnyStore::open(&url, access)?;
    let salt = salt::read(&salt_path)?;
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
    let mut sum = Sum::default();
    let count = files.len();
    for (index, path) in files.iter().enumerate() {
        read::progress(index, count);
        let now = now_ms() / 1000;
        let mut rows = match read::incident_rows(path, &salt, now) {
            Ok(rows) => rows,
            Err(error) => {
                sum.failed += 1;
                output::note(&format!("{error:#}"));
                continue;
            }
        };
        rows.host.cluster = args.cluster.clone().unwrap_or_default();
        match insert(&mut store, &rows.evidence(), now)? {
            Some(Inserted::New) => sum.new += 1,
            Some(Inserted::Repeated) => sum.known += 1,
            None => sum.untold += 1,
        }
        insert(&mut store, &rows.judgement(), now)?;
    }
    read::progress_ends(count);
    store.expire(now_ms() / 1000)?;
    output::print_line(&told(&sum, &args.url))?;
    Ok(match sum.failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// What became of the files.
#[derive(Default)]
struct Sum {
    new: usize,
    known: usize,
    /// Of a store that does not say which of both.
    untold: usize,
    failed: usize,
}

/// Inserts a batch. What passes by itself is tried again, the same batch with the same token.
fn insert(store: &mut AnyStore, batch: &Batch, now: i64) -> Result<Option<Inserted>> {
    let end = Instant::now() + PATIENCE;
    let mut pause = PAUSE_MIN;
    loop {
        let error = match store.insert(batch, now) {
            Ok(inserted) => return Ok(inserted),
            Err(error) => error,
        };
        if matches!(error.then(), Then::Stop | Then::Leave) || Instant::now() + pause > end {
            return Err(cut_off(error));
        }
        output::note(&format!("{error}; trying again in {} s", pause.as_secs()));
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// What passes by itself is told with what to do: the same command, as nothing comes in twice.
fn cut_off(error: AnyError) -> Error {
    match error {
        AnyError::Server(Failure { then, said, .. })
            if !matches!(then, Then::Stop | Then::Leave) =>
        {
            anyhow!("{said}. What was stored stays; run the same command later to store the rest")
        }
        error => error.into(),
    }
}

fn told(sum: &Sum, url: &str) -> String {
    let incidents = |count: usize| match count {
        1 => "1 incident".to_owned(),
        count => format!("{count} incidents"),
    };
    let mut parts = match sum.untold {
        0 => vec![format!("{} added", incidents(sum.new))],
        count => vec![
            format!("{} stored", incidents(count)),
            "those already there were judged again".to_owned(),
        ],
    };
    match sum.known {
        0 => {}
        1 => parts.push("1 was already there and was judged again".to_owned()),
        known => parts.push(format!("{known} were already there and were judged again")),
    }
    if sum.failed > 0 {
        // Unreadable, or not fit to be shared: each has a line of its own.
        parts.push(format!("{} left out", sum.failed));
    }
    let told = parts.join(", ");
    match sum.new + sum.known + sum.untold {
        0 => told,
        _ => format!("{told}. Ask: freezeframe fleet ask costs --url {url}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_stored_is_told() {
        let sum = Sum {
            new: 74,
            failed: 18,
            ..Sum::default()
        };
        assert!(told(&sum, "sqlite:f.db").starts_with("74 incidents added, 18 left out"));
    }
}
