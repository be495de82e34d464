//! `[fleet]` of the configuration.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fleet::any_store::Access;
use fleet::gateway::Gateway;
use fleet::url::{StoreUrl, is_gateway};
use serde::Deserialize;

use crate::fleet::{salt, store_url};

/// What may wait for the fleet, MiB: weeks of minutes of a server, or hundreds of incidents.
const SPOOL_MEBIBYTES: u64 = 256;

/// `[fleet]`, as the configuration has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FleetConfig {
    /// Where the fleet is: a store, or a directory.
    url: Option<String>,
    /// What names and statements are hashed with.
    salt_file: Option<PathBuf>,
    /// Certificates that are trusted there instead of the system's.
    ca_file: Option<PathBuf>,
    /// The cluster that the servers belong to.
    cluster: String,
    /// What may wait for it.
    spool_mebibytes: Option<u64>,
}

/// Where the fleet is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Place {
    /// A store.
    Store(StoreUrl, Access),
    /// A gateway before a store.
    Gateway(Gateway),
    /// A directory of redacted incidents.
    Directory(PathBuf),
}

/// A fleet that is well formed.
#[derive(Debug, Clone)]
pub(super) struct Fleet {
    pub(super) place: Place,
    /// How people call it, without user and password.
    pub(super) name: String,
    pub(super) salt_file: PathBuf,
    pub(super) cluster: String,
    pub(super) spool_bytes: u64,
}

impl FleetConfig {
    /// The fleet; none when none is configured.
    ///
    /// # Errors
    ///
    /// When it is not well formed. What is missing on the disk now is none of that.
    pub(super) fn fleet(&self) -> Result<Option<Fleet>> {
        let Some(url) = &self.url else {
            if self.salt_file.is_some() || self.ca_file.is_some() || !self.cluster.is_empty() {
                bail!("fleet: url = \"…\" is missing, so nothing is sent");
            }
            return Ok(None);
        };
        let place = match url.starts_with('/') {
            true => Place::Directory(PathBuf::from(url)),
            false if is_gateway(url) => Place::Gateway(self.gateway(url)?),
            false => {
                let store = store_url::parse(url).context("fleet: url")?;
                if let StoreUrl::Sqlite(path) = &store
                    && path.is_relative()
                {
                    bail!("fleet: url: '{url}' is not absolute: sqlite:///DIR/FILE");
                }
                let access = store_url::access(&store, self.ca_file.as_deref()).context("fleet")?;
                Place::Store(store, access)
            }
        };
        let beside = match &place {
            Place::Directory(path) | Place::Store(StoreUrl::Sqlite(path), _) => {
                Some(salt::path_beside(path))
            }
            Place::Store(StoreUrl::ClickHouse(_), _) | Place::Gateway(_) => None,
        };
        let salt_file = self.salt_file.clone().or(beside).context(
            "fleet: this store needs salt_file, the same file on every host: `freezeframe fleet init URL --salt-file FILE` makes one",
        )?;
        let mebibytes = self.spool_mebibytes.unwrap_or(SPOOL_MEBIBYTES);
        Ok(Some(Fleet {
            name: match &place {
                Place::Directory(path) => path.display().to_string(),
                Place::Store(url, _) => store_url::shown(url),
                Place::Gateway(gateway) => gateway.shown(),
            },
            place,
            salt_file,
            cluster: self.cluster.clone(),
            spool_bytes: mebibytes.saturating_mul(1 << 20),
        }))
    }

    fn gateway(&self, url: &str) -> Result<Gateway> {
        let gateway = Gateway::parse(url).context("fleet: url")?;
        if self.ca_file.is_some() && !gateway.is_https() {
            bail!("fleet: ca_file is only for gateway+https://");
        }
        Ok(gateway.with_access(Access {
            password: store_url::password().context("fleet")?,
            ca_file: self.ca_file.clone(),
        }))
    }
}

impl FleetConfig {
    /// Whether there is one, well formed or not.
    pub(crate) fn is_given(&self) -> bool {
        self.url.is_some()
    }

    /// The store that is configured, where one is: a directory is none.
    ///
    /// # Errors
    ///
    /// When it is not well formed.
    pub(crate) fn stored(&self) -> Result<Option<(StoreUrl, Access)>> {
        Ok(match self.fleet()?.map(|fleet| fleet.place) {
            Some(Place::Store(url, access)) => Some((url, access)),
            Some(Place::Directory(_) | Place::Gateway(_)) | None => None,
        })
    }

    /// The store that is configured, to be asked.
    ///
    /// # Errors
    ///
    /// When none is, or it is not well formed.
    pub(crate) fn store(&self) -> Result<(StoreUrl, Access)> {
        match self.fleet()?.map(|fleet| fleet.place) {
            Some(Place::Store(url, access)) => Ok((url, access)),
            Some(Place::Directory(path)) => {
                bail!("{}: is a directory, not a store", path.display())
            }
            Some(Place::Gateway(gateway)) => bail!(
                "{}: is a gateway, which answers no questions: --fleet=URL of its store",
                gateway.shown()
            ),
            None => bail!("no [fleet] url is configured: --fleet=URL"),
        }
    }
}

impl Fleet {
    /// The salt. Where it lies beside what this recorder may make, it is made.
    pub(super) fn salt(&self) -> Result<Vec<u8>> {
        let is_beside = |store: &Path| self.salt_file == salt::path_beside(store);
        if let Place::Directory(path) | Place::Store(StoreUrl::Sqlite(path), _) = &self.place
            && is_beside(path)
            && !path.exists()
        {
            salt::make(&self.salt_file)?;
        }
        salt::read(&self.salt_file)
    }
}

/// Whether a fleet is well formed.
pub(crate) fn check(config: &FleetConfig) -> Result<()> {
    config.fleet().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(text: &str) -> Result<Option<Fleet>> {
        toml::from_str::<FleetConfig>(text).unwrap().fleet()
    }

    #[test]
    fn a_url_is_enough_for_a_file_and_a_directory() {
        assert!(fleet("").unwrap().is_none());
        let one = fleet("url = 'sqlite:///x/fleet.db'").unwrap().unwrap();
        assert_eq!(one.salt_file, Path::new("/x/fleet.db.salt"));
        assert_eq!(one.spool_bytes, 256 << 20);
        let one = fleet("url = '/mnt/frames'").unwrap().unwrap();
        assert_eq!(one.place, Place::Directory("/mnt/frames".into()));
    }

    #[test]
    fn what_cannot_be_meant_is_told_without_a_password() {
        let told = |text: &str| format!("{:#}", fleet(text).unwrap_err());
        assert!(told("cluster = 'shop'").contains("is missing"));
        assert!(told("url = 'sqlite:x.db'").contains("not absolute"));
        assert!(told("url = 'http://me@db1/f'").contains("needs salt_file"));
        let secret = told("url = 'http://me:s3cret@db1/f'\nsalt_file = '/x'");
        assert!(secret.contains("in the URL") && !secret.contains("s3cret"));
        assert!(told("url = 'sqlite:///x'\nca_file = '/y'").contains("ca-file"));
        assert!(told("url = 'gateway+http://f1'").contains("needs salt_file"));
        assert!(told("url = 'gateway://f1'\nsalt_file = '/x'").contains("gateway+http://HOST"));
        let tls = "url = 'gateway+http://f1'\nsalt_file = '/x'\nca_file = '/y'";
        assert!(told(tls).contains("gateway+https://"));
        let one = "url = 'gateway+http://f1'\nsalt_file = '/x'";
        assert_eq!(fleet(one).unwrap().unwrap().name, "gateway+http://f1:9308");
        let one = "url = 'http://me@db1/f'\nsalt_file = '/x'";
        assert_eq!(fleet(one).unwrap().unwrap().name, "http://db1:8123/f");
    }
}
