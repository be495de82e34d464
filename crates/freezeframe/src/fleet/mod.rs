//! `freezeframe fleet`: the store of many servers' incidents, and the questions to it.

mod add;
mod ask;
mod json;
mod read;
mod salt;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use ::fleet::sqlite::{Initialised, Store};
use ::fleet::url::StoreUrl;
use anyhow::{Result, anyhow, bail};
use cli::{output, usage};

use crate::args::{Fleet, FleetCommand};

pub(crate) fn run(args: &Fleet) -> Result<ExitCode> {
    match &args.command {
        FleetCommand::Init { url } => init(url),
        FleetCommand::Add(args) => add::run(args),
        FleetCommand::Ask(args) => ask::run(args),
    }
}

fn init(url: &str) -> Result<ExitCode> {
    let path = sqlite_path(url)?;
    let (_, done) = Store::init(&path, now_ms() / 1000, env!("CARGO_PKG_VERSION"))?;
    let salt = salt::path_beside(&path);
    let is_new_salt = salt::make(&salt)?;
    let shown = path.display();
    let did = match done {
        Initialised::Made => format!("{shown}: a store is made"),
        Initialised::Migrated(from) => format!(
            "{shown}: the tables were of version {from}, and are of version {} now",
            ::fleet::tables::VERSION
        ),
        Initialised::Unchanged => {
            format!("{shown}: a store of this version is there; nothing was changed")
        }
    };
    output::print_line(&did)?;
    if is_new_salt && done != Initialised::Made {
        output::note(&format!(
            "{}: the salt was gone, and a new one is made: statements and servers of before match no new ones",
            salt.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The file of a store; an error for what is no store, or none that this program can use.
fn sqlite_path(url: &str) -> Result<PathBuf> {
    match url.parse::<StoreUrl>() {
        Ok(StoreUrl::Sqlite(path)) => Ok(path),
        Ok(StoreUrl::ClickHouse(url)) => bail!(
            "{url}: this version has no way to ClickHouse yet; sqlite:///DIR/FILE is a store for some twenty servers"
        ),
        Err(error) => Err(usage(anyhow!(error))),
    }
}

/// Milliseconds since 1970 UTC.
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
