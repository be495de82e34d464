//! The server of a command line, said again to a command that we start ourselves.

use std::ffi::OsString;

use crate::args::{ServerArgs, TlsArgs};

/// The server as it was named. Every part of it is taken by its name: one that is left out would be asked without the
/// protection that was wanted, or not at all.
pub(crate) fn arguments(server: &ServerArgs) -> Vec<OsString> {
    let ServerArgs {
        socket,
        host,
        port,
        pid,
        user,
        password_file,
        defaults_file,
        login_path,
        tls,
        config,
    } = server;
    let TlsArgs {
        ssl_mode,
        ssl_ca,
        ssl_cert,
        ssl_key,
    } = tls;
    let paths = [
        ("--socket", socket),
        ("--password-file", password_file),
        ("--defaults-file", defaults_file),
        ("--config", config),
        ("--ssl-ca", ssl_ca),
        ("--ssl-cert", ssl_cert),
        ("--ssl-key", ssl_key),
    ];
    let texts = [
        ("--host", host.clone()),
        ("--user", user.clone()),
        ("--login-path", login_path.clone()),
        ("--port", port.map(|port| port.to_string())),
        ("--pid", pid.map(|pid| pid.to_string())),
        ("--ssl-mode", ssl_mode.map(|mode| mode.name().to_owned())),
    ];
    let paths = paths
        .into_iter()
        .filter_map(|(name, path)| Some([name.into(), path.as_ref()?.into()]));
    let texts = texts
        .into_iter()
        .filter_map(|(name, text)| Some([name.into(), text?.into()]));
    paths.chain(texts).flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use server::TlsMode;

    use super::*;

    #[test]
    fn the_login_and_the_protection_that_were_asked_for_are_passed_on() {
        let path = |name: &str| Some(PathBuf::from(name));
        let asked = ServerArgs {
            host: Some("db7".to_owned()),
            port: Some(3307),
            login_path: Some("shop".to_owned()),
            tls: TlsArgs {
                ssl_mode: Some(TlsMode::VerifyIdentity),
                ssl_ca: path("/ca.pem"),
                ssl_cert: path("/cert.pem"),
                ssl_key: path("/key.pem"),
            },
            ..ServerArgs::default()
        };
        let given = arguments(&asked);
        for pair in [
            ["--host", "db7"],
            ["--port", "3307"],
            ["--login-path", "shop"],
            ["--ssl-mode", "VERIFY_IDENTITY"],
            ["--ssl-ca", "/ca.pem"],
            ["--ssl-cert", "/cert.pem"],
            ["--ssl-key", "/key.pem"],
        ] {
            assert!(
                given.windows(2).any(|two| two == pair),
                "{pair:?}: {given:?}"
            );
        }
        assert_eq!(given.len(), 14);
    }
}
