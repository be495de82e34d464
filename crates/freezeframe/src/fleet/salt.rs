//! The salt of a fleet: what names and statements are hashed with, a file beside the store.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use ::fleet::url::StoreUrl;
use anyhow::{Context, Result, anyhow, bail};

/// Bytes of a salt, at the least and as it is made.
const BYTES: usize = 32;

/// Bytes of a file that are read.
const BYTES_MAX: u64 = 4096;

/// Of a store that is no file, where none is named: the same on every host.
pub(crate) const OF_HOST: &str = "/etc/freezeframe/fleet.salt";

/// `fleet.db.salt` of `fleet.db`.
pub(crate) fn path_beside(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".salt");
    PathBuf::from(name)
}

/// The file of a store's salt, where none is named.
pub(crate) fn path_for(store: &StoreUrl) -> PathBuf {
    match store {
        StoreUrl::Sqlite(path) => path_beside(path),
        StoreUrl::ClickHouse(_) => PathBuf::from(OF_HOST),
    }
}

/// Makes a salt where there is none; whether it did.
pub(crate) fn make(path: &Path) -> Result<bool> {
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let mut file = match file {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    let mut salt = [0; BYTES];
    getrandom::fill(&mut salt)
        .map_err(|error| anyhow!("{}: no random numbers for it: {error}", path.display()))?;
    file.write_all(&salt)
        .and_then(|()| file.sync_all())
        .with_context(|| path.display().to_string())?;
    Ok(true)
}

/// The salt in this file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut salt = Vec::new();
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "{}: the salt of the store is missing, and nothing would match with another one: restore it (`freezeframe fleet init URL --salt-file FILE` makes the first one), or name it with --salt-file",
            path.display()
        ),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    file.take(BYTES_MAX)
        .read_to_end(&mut salt)
        .with_context(|| path.display().to_string())?;
    if salt.len() < BYTES {
        bail!(
            "{}: a salt needs at least {BYTES} bytes, this one has {}",
            path.display(),
            salt.len()
        );
    }
    Ok(salt)
}
