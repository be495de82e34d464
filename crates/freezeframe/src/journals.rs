//! Where what is changed is written down, and how its server is logged in to again.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use remedy::fix::{PUBLIC, PUBLIC_BESIDE, Root};
use remedy::{LoginSource, TlsSource};

use crate::args::ServerArgs;
use crate::config::Config;
use crate::targets;

/// Where journals are when nobody says otherwise: beside the incidents. Where these are the service's, root has the
/// helper's directory: what others can write is no journal of root's.
pub(crate) fn state_dir(config: &Config) -> PathBuf {
    state_of(&config.directory(None))
}

/// The same for incidents in this directory.
fn state_of(incidents: &Path) -> PathBuf {
    let beside = absolute(incidents);
    let is_anothers = beside.metadata().is_ok_and(|state| state.uid() != 0);
    if rustix::process::geteuid().is_root() && is_anothers {
        return PathBuf::from(remedy::helper::STATE);
    }
    beside
}

/// Where the recorder is told of fixes: beside its incidents, where these are of the user who makes the fixes; of root's,
/// where they are the service's, in a directory that the packages make. So it is of another root than the system's own.
pub(crate) fn public_records(config: &Config, root: &Root) -> PathBuf {
    let state = state_dir(config);
    match root.is_real() && state != Path::new(remedy::helper::STATE) {
        true => state.join(PUBLIC_BESIDE),
        false => root.here(Path::new(PUBLIC)),
    }
}

/// The usual journal of fixes.
pub(crate) fn fixes_in(state: &Path) -> PathBuf {
    state.join("fixes")
}

/// Where fixes of the server are looked for whose incidents are in this directory: where `fix` of this user writes them
/// down, then beside the incidents, where their owner does.
pub(crate) fn fixes_of(incidents: &Path) -> Vec<PathBuf> {
    let (usual, beside) = (state_of(incidents), absolute(incidents));
    let others = (usual != beside).then(|| fixes_in(&beside));
    std::iter::once(fixes_in(&usual)).chain(others).collect()
}

/// Where leases are written down: what was said, or beside the incidents.
pub(crate) fn leases(said: Option<&Path>, config: &Config) -> PathBuf {
    said.map_or_else(|| state_dir(config).join("leases"), Path::to_owned)
}

/// How a lease's server is logged in to when everything of us is gone: by the files that were said, not by a password.
pub(crate) fn login_way(said: &ServerArgs, config: &Config, user: &str) -> LoginSource {
    let home = || {
        let path = PathBuf::from(std::env::var_os("HOME")?).join(".my.cnf");
        path.exists().then_some(path)
    };
    let path = |said: &Option<PathBuf>, configured: &Option<PathBuf>| {
        Some(absolute(said.as_deref().or(configured.as_deref())?))
    };
    let file = &config.server;
    // What cannot be read now is told by whoever logs in.
    let found = server::find_login(&targets::login_options(said, config));
    let tls = found.map_or_else(
        |_| TlsSource::default(),
        |found| found.login.tls.options().into(),
    );
    LoginSource {
        tls,
        user: user.to_owned(),
        password_file: path(&said.password_file, &file.password_file),
        login_path: said.login_path.clone().or_else(|| file.login_path.clone()),
        login_file: targets::login_file().filter(|path| path.exists()),
        defaults_file: path(&said.defaults_file, &file.defaults_file).or_else(home),
    }
}

pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixes_beside_a_service_are_looked_for_where_root_writes_them() {
        let dir = tempfile::tempdir().unwrap();
        let beside = dir.path().join("fixes");
        assert_eq!(fixes_of(dir.path()), std::slice::from_ref(&beside));
        if !rustix::process::geteuid().is_root() {
            return;
        }
        std::os::unix::fs::chown(dir.path(), Some(65_534), None).unwrap();
        let of_root = Path::new(remedy::helper::STATE).join("fixes");
        assert_eq!(fixes_of(dir.path()), [of_root, beside]);
    }
}
