//! Where files of incidents go for a fleet, and how one is put there and fetched.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};
use fleet::clickhouse::Then;
use fleet::s3::{self, Found};
use store::StoreError;

/// Where files of incidents go.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FramePlace {
    /// A directory, of another host as a rule.
    Directory(PathBuf),
    /// A store that speaks S3.
    S3(s3::Place, s3::Access),
}

impl FramePlace {
    /// What the table calls a file there.
    pub(super) fn key(&self, host: &str, name: &str) -> String {
        match self {
            Self::Directory(to) => to.join(host).join(name).display().to_string(),
            Self::S3(place, _) => place.below(host).below(name).url(),
        }
    }

    /// The file that a table calls so; none where it is not below this place: what a host says is believed no further.
    ///
    /// # Errors
    ///
    /// When it cannot be had.
    pub(crate) fn fetch(&self, key: &str) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Directory(dir) => {
                let path = Path::new(key);
                let is_plain = |part| matches!(part, Component::Normal(_));
                let is_below = path
                    .strip_prefix(dir)
                    .is_ok_and(|rest| rest.components().all(is_plain));
                if !is_below {
                    return Ok(None);
                }
                let bytes = std::fs::read(path).with_context(|| key.to_owned())?;
                Ok(Some(bytes))
            }
            Self::S3(place, access) => match s3::Place::parse(key) {
                Ok(file) if file.is_below(place) => Ok(Some(file.get(access)?)),
                _ => Ok(None),
            },
        }
    }

    /// For people.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Directory(path) => path.display().to_string(),
            Self::S3(place, _) => place.url(),
        }
    }

    /// Whether a file could be put there, as far as that can be seen without putting one.
    pub(super) fn tried(&self) -> Result<&'static str> {
        match self {
            Self::Directory(path) => directory(path).map(|()| "reached"),
            Self::S3(place, access) => Ok(match place.check(access)? {
                Found::Readable => "reached",
                Found::NotReadable => {
                    "reached; the key may not read, whether it may write is not known"
                }
            }),
        }
    }

    pub(super) fn put(&self, host: &str, name: &str, bytes: &[u8]) -> Result<(), (Then, String)> {
        match self {
            Self::Directory(to) => {
                put_into(to, host, name, bytes).map_err(|error| (Then::Retry, error.to_string()))
            }
            Self::S3(place, access) => place
                .below(host)
                .below(name)
                .put(access, bytes)
                .map_err(|failure| (failure.then, failure.said)),
        }
    }
}

/// Puts a file into a directory, below its host.
pub(super) fn put_into(to: &Path, host: &str, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let to = to.join(host);
    store::make_private_dir(&to)?;
    store::write_private(&to.join(name), bytes)
}

/// Whether a directory is there.
pub(super) fn directory(path: &Path) -> Result<()> {
    let found = path
        .metadata()
        .with_context(|| path.display().to_string())?;
    match found.is_dir() {
        true => Ok(()),
        false => bail!("{}: not a directory", path.display()),
    }
}
