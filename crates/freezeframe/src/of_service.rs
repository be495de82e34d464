//! A hint for who forgets sudo: recordings of a service are root's and the service's, and a user's own directory is empty.
//! That must not look like a server that never stalled.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use cli::{output, recorded};

use crate::config::{Config, SERVICE_DIR};
use crate::shell;

/// Where recordings are read from; where there are none while a service keeps some, this is said.
pub(crate) fn directory(config: &Config, named: Option<&Path>) -> PathBuf {
    if let Some(hint) = hint(config, named) {
        output::note(&hint);
    }
    config.directory(named)
}

/// The same for who only reads: where there is no directory at all, the hint is the whole answer.
pub(crate) fn existing(config: &Config, named: Option<&Path>) -> Result<PathBuf> {
    let dir = config.directory(named);
    match hint(config, named) {
        Some(hint) if !dir.exists() => bail!("{hint}"),
        Some(hint) => output::note(&hint),
        None => {}
    }
    Ok(dir)
}

/// What to do instead, where nobody named a directory and the usual one has nothing.
pub(crate) fn hint(config: &Config, named: Option<&Path>) -> Option<String> {
    let is_usual = named.is_none() && config.dir.is_none();
    let dir = config.directory(None);
    (is_usual && is_elsewhere(&dir, Path::new(SERVICE_DIR))).then(|| {
        format!(
            "{} has no recordings; those of the service are in {SERVICE_DIR}: sudo {}",
            dir.display(),
            shell::this_command()
        )
    })
}

/// Nothing was recorded here, and a service has a directory.
fn is_elsewhere(dir: &Path, of_service: &Path) -> bool {
    dir != of_service
        && of_service.is_dir()
        && recorded::frames(dir).unwrap_or_default().is_empty()
        && recorded::histories(dir).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_directory_beside_that_of_a_service_is_not_the_one_that_is_meant() {
        let (own, service) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (own, service) = (own.path(), service.path());
        assert!(is_elsewhere(own, service));
        assert!(is_elsewhere(&own.join("never made"), service));
        assert!(!is_elsewhere(service, service), "root's is that one");
        assert!(!is_elsewhere(own, &service.join("none")), "no service");
        std::fs::write(own.join("history-3306.db"), "").unwrap();
        assert!(!is_elsewhere(own, service), "own recordings are meant");
        let named = Some(own);
        assert_eq!(hint(&Config::default(), named), None);
    }
}
