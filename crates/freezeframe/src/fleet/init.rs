//! `freezeframe fleet init`: a store is made, or brought to this version.

use std::path::Path;
use std::process::ExitCode;

use ::fleet::any_store;
use ::fleet::clickhouse::{self, Layout};
use ::fleet::sqlite::{self, Initialised};
use ::fleet::url::StoreUrl;
use anyhow::{Result, anyhow, bail};
use cli::{output, usage};

use super::{now_ms, salt, store_url};
use crate::args::FleetInit;

pub(super) fn run(args: &FleetInit) -> Result<ExitCode> {
    let url = store_url::parse(&args.url)?;
    let access = store_url::access(&url, args.access.ca_file.as_deref())?;
    let (now, program) = (now_ms() / 1000, env!("CARGO_PKG_VERSION"));
    let (shown, version, done, salt) = match &url {
        StoreUrl::Sqlite(_) if args.on_cluster.is_some() => {
            bail!(usage(anyhow!("--on-cluster: only for ClickHouse")))
        }
        StoreUrl::Sqlite(path) => {
            let (_, done) = sqlite::Store::init(path, now, program)?;
            let beside = || salt::path_beside(path);
            let salt = args.salt_file.clone().unwrap_or_else(beside);
            let shown = path.display().to_string();
            (shown, sqlite::VERSION, done, Some(salt))
        }
        StoreUrl::ClickHouse(url) => {
            let layout = match &args.on_cluster {
                Some(cluster) => Layout::replicated(cluster).map_err(usage)?,
                None => Layout::Single,
            };
            let store = clickhouse::Store::at(any_store::address(url, access)?);
            let done = store.init(&layout, now, program)?;
            let salt = args.salt_file.clone();
            (store.shown(), clickhouse::VERSION, done, salt)
        }
    };
    let is_new_salt = salt.as_deref().map(salt::make).transpose()? == Some(true);
    output::print_line(&told(&shown, version, done))?;
    if let Some(salt) = salt.filter(|_| is_new_salt && done != Initialised::Made) {
        output::note(&new_salt(&salt));
    }
    Ok(ExitCode::SUCCESS)
}

fn told(shown: &str, version: u32, done: Initialised) -> String {
    match done {
        Initialised::Made => format!("{shown}: created a store"),
        Initialised::Migrated(from) => {
            format!("{shown}: upgraded the tables from version {from} to {version}")
        }
        Initialised::Unchanged => {
            format!("{shown}: the store already has this version; nothing was changed")
        }
    }
}

fn new_salt(salt: &Path) -> String {
    format!(
        "{}: the salt was gone, so a new one was made: earlier statements and servers match no new ones",
        salt.display()
    )
}
