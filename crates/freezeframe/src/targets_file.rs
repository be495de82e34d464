//! Servers that are recorded by name: `[[targets]]` of the configuration, or of a file of them.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use recorder::Target;
use serde::Deserialize;

use crate::args::{ServerArgs, TlsArgs};
use crate::config::Config;
use crate::target_config::{TargetConfig, check, error_position};
use crate::targets;

/// The port of a host that is named without one.
const USUAL_PORT: u16 = 3306;

/// A file of targets and nothing else.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TargetsFile {
    targets: Vec<TargetConfig>,
}

impl TargetConfig {
    /// The server. Looks the host's name up, which may take the resolver's time.
    pub(crate) fn find(&self, config: &Config) -> Result<Target> {
        let port = match (&self.host, self.port) {
            (Some(_), None) => Some(USUAL_PORT),
            (_, port) => port,
        };
        let args = ServerArgs {
            socket: self.socket.clone(),
            host: self.host.clone(),
            port,
            user: self.user.clone(),
            password_file: self.password_file.clone(),
            defaults_file: self.defaults_file.clone(),
            login_path: self.login_path.clone(),
            tls: TlsArgs {
                ssl_mode: self.ssl_mode,
                ssl_ca: self.ssl_ca.clone(),
                ssl_cert: self.ssl_cert.clone(),
                ssl_key: self.ssl_key.clone(),
            },
            ..ServerArgs::default()
        };
        let mut config = config.clone();
        let usual = &mut config.server;
        (usual.socket, usual.host, usual.port) = (None, None, None);
        let mut found = targets::find(&args, &config)?;
        let (Some(mut target), true) = (found.pop(), found.is_empty()) else {
            bail!("it names several servers: choose one by host, port or socket");
        };
        target.label = self.name.clone();
        target.is_named = true;
        target.metrics = self.metrics.clone();
        if self.remote {
            // What listens here is the end of a tunnel, and this host tells nothing of the server.
            target.process = None;
            target.other_host.get_or_insert_with(|| self.name.clone());
        }
        ensure!(
            target.metrics.is_none() || target.other_host.is_some(),
            "'{}' has metrics, but runs on this host (if its address is a tunnel, set remote = true)",
            self.name
        );
        Ok(target)
    }
}

/// Reads a file of targets.
pub(crate) fn read(path: &Path) -> Result<Vec<TargetConfig>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let file: TargetsFile = match toml::from_str(&text) {
        Ok(file) => file,
        Err(error) => bail!("{}:{}", path.display(), error_position(&text, &error)),
    };
    check(path, &text, &file.targets)?;
    ensure!(
        !file.targets.is_empty(),
        "{}: no [[targets]] in it",
        path.display()
    );
    Ok(file.targets)
}

/// The named servers that are meant: of the file, else of the configuration where the command line names no server.
pub(crate) fn select(
    file: Option<&Path>,
    args: &ServerArgs,
    config: &Config,
) -> Result<Option<Vec<TargetConfig>>> {
    match file {
        Some(path) => read(path).map(Some),
        None if args.names_one() || config.targets.is_empty() => Ok(None),
        None => Ok(Some(config.targets.clone())),
    }
}

#[cfg(test)]
mod tests {
    use server::TlsMode;

    use super::*;

    fn read_text(text: &str) -> Result<Vec<TargetConfig>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.toml");
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    fn error_of(text: &str) -> String {
        let mut error = format!("{:#}", read_text(text).unwrap_err());
        assert!(!error.contains('\n'), "{error}");
        let at = error.find("t.toml:").unwrap();
        error.split_off(at)
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let first = "[[targets]]\nname = 'a'\nhost = 'db7'\n";
        for (more, told) in [
            (
                "[[targets]]\nhost = 'b'\n",
                "t.toml:4: targets: a target needs a name",
            ),
            (
                "[[targets]]\nname = 'A'\nport = 1\n",
                "t.toml:4: targets: two targets are called 'A'",
            ),
            (
                "[[targets]]\nname = 'b'\n",
                "t.toml:4: targets: 'b' needs host",
            ),
            (
                "[[targets]]\nname = '../b'\nport = 1\n",
                "t.toml:4: targets: name: at most 64",
            ),
            (
                "[[targets]]\nname = 'b'\nport = 1\nsocket = '/s'\n",
                "t.toml:4: targets: 'b' has both a socket",
            ),
            (
                "[[targets]]\nname = 'b'\nport = 1\nlabels = { 'a-b' = 'x' }\n",
                "t.toml:4: targets: 'b': label 1, in alphabetical order: its name needs letters",
            ),
            (
                "[[targets]]\nname = 'b'\nport = 1\npassword = 'x'\n",
                "t.toml:7: unknown field `password`",
            ),
            (
                "[[targets]]\nname = 'b'\nport = 1\nssl_mode = 'on'\n",
                "t.toml:7: ssl_mode: one of DISABLED",
            ),
        ] {
            let error = error_of(&format!("{first}{more}"));
            assert!(error.starts_with(told), "{error}");
        }
        assert!(error_of("").starts_with("t.toml: no [[targets]]"));
    }

    #[test]
    fn a_target_has_its_name_and_what_the_server_section_says() {
        let text = "[[targets]]\nname = 'shop-1'\nhost = '192.0.2.7'\nlabels = { team = 'shop' }\n\
                    [[targets]]\nname = 'here'\nsocket = '/nowhere/s'\nuser = 'other'\nssl_mode = 'DISABLED'\n";
        let targets = read_text(text).unwrap();
        let config: Config = toml::from_str(
            "[server]\nport = 3311\nuser = 'ff'\nssl_mode = 'REQUIRED'\ndefaults_file = '/dev/null'\n",
        )
        .unwrap();
        let shop = targets[0].find(&config).unwrap();
        assert_eq!(
            (shop.label.as_str(), shop.name()),
            ("shop-1", "shop-1".to_owned())
        );
        assert_eq!(
            shop.addresses,
            [server::Address::Tcp("192.0.2.7".to_owned(), 3306)]
        );
        assert_eq!(shop.other_host.as_deref(), Some("192.0.2.7"));
        assert_eq!(shop.login.user, "ff");
        assert_eq!(shop.login.tls.options().mode, Some(TlsMode::Required));
        let here = targets[1].find(&config).unwrap();
        assert_eq!((here.login.user.as_str(), here.other_host), ("other", None));
        let text = "[[targets]]\nname = 'cloud-1'\nport = 3399\nremote = true\n";
        let behind = read_text(text).unwrap()[0].find(&config).unwrap();
        assert_eq!(behind.other_host.as_deref(), Some("cloud-1"));
        assert_eq!(
            behind.addresses,
            [server::Address::Tcp("127.0.0.1".to_owned(), 3399)]
        );
        assert_eq!(here.login.tls.options().mode, Some(TlsMode::Disabled));
    }
}
