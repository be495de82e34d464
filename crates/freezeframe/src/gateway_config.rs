//! `[gateway]` of the configuration, and the arguments that replace it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use cli::usage;
use fleet::any_store::Access;
use fleet::url::StoreUrl;
use serde::Deserialize;

use crate::args::Gateway;
use crate::fleet::{salt, store_url};

/// Where the journal and the hosts are.
const DIR: &str = "/var/lib/freezeframe-gateway";

/// On this machine: tokens come without encryption.
const LISTEN: ([u8; 4], u16) = ([127, 0, 0, 1], 9308);

/// What may wait for the store, MiB: a day of the minutes of hundreds of hosts.
const JOURNAL_MEBIBYTES: u64 = 4096;

/// `[gateway]`, as the configuration has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GatewayConfig {
    /// The store that it writes to.
    url: Option<String>,
    /// Where recorders reach it.
    listen: Option<SocketAddr>,
    /// What names and statements are hashed with.
    salt_file: Option<PathBuf>,
    /// Certificates that are trusted at the store instead of the system's.
    ca_file: Option<PathBuf>,
    /// Where its journal and its hosts are.
    dir: Option<PathBuf>,
    /// What may wait for the store.
    journal_mebibytes: Option<u64>,
}

/// How a gateway runs.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) store: StoreUrl,
    pub(crate) access: Access,
    pub(crate) listen: SocketAddr,
    pub(crate) salt_file: PathBuf,
    pub(crate) dir: PathBuf,
    pub(crate) journal_bytes: u64,
}

impl GatewayConfig {
    /// Where its journal and its hosts are.
    pub(crate) fn dir(&self, named: Option<&Path>) -> PathBuf {
        let dir = named.or(self.dir.as_deref());
        dir.unwrap_or(Path::new(DIR)).to_owned()
    }

    /// How a gateway with these arguments runs.
    ///
    /// # Errors
    ///
    /// When no store is named, or anything is not well formed.
    pub(crate) fn settings(&self, args: &Gateway) -> Result<Settings> {
        let url = args.url.as_ref().or(self.url.as_ref()).ok_or_else(|| {
            usage(anyhow!(
                "the store is missing: --url, or url in [gateway] of the configuration"
            ))
        })?;
        let store = store_url::parse(url)?;
        let ca_file = args.ca_file.as_ref().or(self.ca_file.as_ref());
        let access = store_url::access(&store, ca_file.map(PathBuf::as_path))?;
        let salt_file = args.salt_file.clone().or_else(|| self.salt_file.clone());
        let salt_file = salt_file.unwrap_or_else(|| salt::path_for(&store));
        let mebibytes = args.journal_mebibytes.or(self.journal_mebibytes);
        Ok(Settings {
            store,
            access,
            listen: args.listen.or(self.listen).unwrap_or(LISTEN.into()),
            salt_file,
            dir: self.dir(args.dir.as_deref()),
            journal_bytes: mebibytes
                .unwrap_or(JOURNAL_MEBIBYTES)
                .saturating_mul(1 << 20),
        })
    }
}

/// Whether `[gateway]` is well formed.
///
/// # Errors
///
/// When its store is none.
pub(crate) fn check(config: &GatewayConfig) -> Result<()> {
    if let Some(url) = &config.url {
        store_url::parse(url).context("gateway: url")?;
    }
    Ok(())
}
