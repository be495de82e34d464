//! `[fleet]` of the configuration.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fleet::any_store::Access;
use fleet::gateway::Gateway;
use fleet::s3;
use fleet::url::{StoreUrl, is_gateway};
use serde::Deserialize;

use super::frame_place::FramePlace;
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
    /// Of which signals each second is sent.
    seconds: Seconds,
    /// Where files of incidents go: a store that speaks S3, or a directory.
    frames: Option<String>,
    /// The region of that store's bucket.
    frames_region: Option<String>,
}

/// Of which signals each second is sent, also far from a stall.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Seconds {
    /// Of the vital ones.
    #[default]
    Vital,
    /// Of all: several times as much.
    All,
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
    pub(super) seconds: Seconds,
    /// Where files of incidents go, beside the rows.
    pub(super) frames: Option<FramePlace>,
}

impl FleetConfig {
    /// The fleet; none when none is configured.
    ///
    /// # Errors
    ///
    /// When it is not well formed. What is missing on the disk now is none of that.
    pub(super) fn fleet(&self) -> Result<Option<Fleet>> {
        let Some(url) = &self.url else {
            if self.salt_file.is_some()
                || self.ca_file.is_some()
                || self.frames.is_some()
                || !self.cluster.is_empty()
            {
                bail!("fleet: url = \"…\" is missing, so nothing is sent");
            }
            return Ok(None);
        };
        let frames = self.frames().context("fleet: frames")?;
        if frames.is_some() && url.starts_with('/') {
            bail!("fleet: frames: the incidents go to the directory of url already");
        }
        // It is for whoever speaks https.
        let ca_file = match &frames {
            Some(FramePlace::S3(place, _)) if place.is_https() && !is_https(url) => None,
            _ => self.ca_file.as_deref(),
        };
        let place = match url.starts_with('/') {
            true => Place::Directory(PathBuf::from(url)),
            false if is_gateway(url) => Place::Gateway(self.gateway(url, ca_file)?),
            false => {
                let store = store_url::parse(url).context("fleet: url")?;
                if let StoreUrl::Sqlite(path) = &store
                    && path.is_relative()
                {
                    bail!("fleet: url: its path is not absolute: sqlite:///DIR/FILE");
                }
                let access = store_url::access(&store, ca_file).context("fleet")?;
                Place::Store(store, access)
            }
        };
        let salt_file = self.salt_file.clone().unwrap_or_else(|| match &place {
            Place::Directory(path) => salt::path_beside(path),
            Place::Store(store, _) => salt::path_for(store),
            Place::Gateway(_) => PathBuf::from(salt::OF_HOST),
        });
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
            seconds: self.seconds,
            frames,
        }))
    }

    fn frames(&self) -> Result<Option<FramePlace>> {
        match (&self.frames, &self.frames_region) {
            (Some(text), _) => self.frames_at(text).map(Some),
            (None, Some(_)) => bail!("is missing, so frames_region is of no use"),
            (None, None) => Ok(None),
        }
    }

    fn frames_at(&self, text: &str) -> Result<FramePlace> {
        if text.starts_with('/') {
            return Ok(FramePlace::Directory(PathBuf::from(text)));
        }
        if !s3::is_s3(text) {
            bail!("this is no place for files: /DIRECTORY, or s3+https://HOST/BUCKET/FOLDER");
        }
        let place = s3::Place::parse(text)?;
        let ca_file = self.ca_file.as_deref().filter(|_| place.is_https());
        let access = store_url::frame_access(self.frames_region.as_deref(), ca_file)?;
        Ok(FramePlace::S3(place, access))
    }

    /// Where recorders put files of incidents: there, else where this configuration says.
    ///
    /// # Errors
    ///
    /// When that is no place for them, or nothing says it.
    pub(crate) fn frame_place(&self, place: Option<&str>) -> Result<FramePlace> {
        let place = place.or(self.frames.as_deref());
        let place = place.context("nothing says where recorders put files: --frames PLACE")?;
        self.frames_at(place)
    }

    fn gateway(&self, url: &str, ca_file: Option<&Path>) -> Result<Gateway> {
        let gateway = Gateway::parse(url).context("fleet: url")?;
        if ca_file.is_some() && !gateway.is_https() {
            bail!("fleet: ca_file is only for gateway+https://");
        }
        Ok(gateway.with_access(Access {
            password: store_url::password().context("fleet")?,
            ca_file: ca_file.map(Path::to_owned),
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
                "{}: is a gateway, which answers no questions: give the URL of its store",
                gateway.shown()
            ),
            None => {
                bail!("no store is named: give its URL, or set url in [fleet] of the configuration")
            }
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

fn is_https(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    lower.starts_with("https://") || lower.starts_with("gateway+https://")
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
        assert_eq!(one.seconds, Seconds::Vital);
        let all = fleet("url = 'sqlite:///x/fleet.db'\nseconds = 'all'").unwrap();
        assert_eq!(all.unwrap().seconds, Seconds::All);
        assert!(toml::from_str::<FleetConfig>("seconds = 'some'").is_err());
        assert_eq!(one.frames, None);
        let with_files = "url = 'sqlite:///x/fleet.db'\nca_file = '/ca.pem'\nframes = 's3+https://s3.example/stalls'";
        let Some(FramePlace::S3(place, access)) = fleet(with_files).unwrap().unwrap().frames else {
            panic!("it is a store that speaks S3");
        };
        assert_eq!(place.url(), "s3+https://s3.example/stalls");
        assert_eq!(access.ca_file.as_deref(), Some(Path::new("/ca.pem")));
        for url in ["http://me@db1/f", "gateway+http://f1"] {
            let one = fleet(&format!("url = '{url}'")).unwrap().unwrap();
            assert_eq!(one.salt_file, Path::new(salt::OF_HOST));
        }
        let one = fleet("url = '/mnt/frames'").unwrap().unwrap();
        assert_eq!(one.place, Place::Directory("/mnt/frames".into()));
    }

    #[test]
    fn what_cannot_be_meant_is_told_without_a_password() {
        let told = |text: &str| format!("{:#}", fleet(text).unwrap_err());
        assert!(told("cluster = 'shop'").contains("is missing"));
        assert!(told("url = 'sqlite:x.db'").contains("not absolute"));
        let secret = told("url = 'http://me:s3cret@db1/f'\nsalt_file = '/x'");
        assert!(secret.contains("in the URL") && !secret.contains("s3cret"));
        assert!(told("url = 'sqlite:///x'\nca_file = '/y'").contains("ca-file"));
        assert!(told("url = 'gateway://f1'\nsalt_file = '/x'").contains("gateway+http://HOST"));
        let tls = "url = 'gateway+http://f1'\nsalt_file = '/x'\nca_file = '/y'";
        assert!(told(tls).contains("gateway+https://"));
        let one = "url = 'gateway+http://f1'\nsalt_file = '/x'";
        assert_eq!(fleet(one).unwrap().unwrap().name, "gateway+http://f1:9308");
        let frames = |frames: &str| told(&format!("url = 'sqlite:///x'\nframes = '{frames}'"));
        assert!(frames("minio:9000/b").contains("is no place for files"));
        assert!(frames("s3://b").contains("s3+https://HOST/BUCKET"));
        assert!(told("url = '/mnt'\nframes = '/mnt'").contains("already"));
        assert!(told("frames = '/mnt'").contains("is missing"));
        assert!(told("url = 'sqlite:///x'\nframes_region = 'eu'").contains("of no use"));
        let one = "url = 'http://me@db1/f'\nsalt_file = '/x'";
        assert_eq!(fleet(one).unwrap().unwrap().name, "http://db1:8123/f");
    }
}
