//! Where a store is, and how it is reached: the URL, the password, the certificates.

use std::path::Path;

use ::fleet::any_store::Access;
use ::fleet::clickhouse::Address;
use ::fleet::s3;
use ::fleet::url::StoreUrl;
use anyhow::{Context, Result, anyhow, bail};
use cli::usage;

/// Where the password is: everybody on the host sees the arguments of programs.
const PASSWORD: &str = "FREEZEFRAME_FLEET_PASSWORD";

/// The same as a credential of the service.
const CREDENTIAL: &str = "fleet-password";

/// The key to the store of files as a credential of the service.
const FRAME_KEY: &str = "fleet-frames-key";

/// The store of this URL; an error of usage for what is none, or has a password in it.
pub(crate) fn parse(url: &str) -> Result<StoreUrl> {
    let parsed = url.parse::<StoreUrl>().map_err(usage)?;
    if let StoreUrl::ClickHouse(url) = &parsed {
        let address = Address::parse(url).map_err(usage)?;
        if address.has_password() {
            bail!(usage(anyhow!(
                "{}: everybody on this host can read a password in the URL: set it in {PASSWORD} instead",
                address.shown()
            )));
        }
    }
    Ok(parsed)
}

/// How people call a store: its URL without user and password.
pub(crate) fn shown(url: &StoreUrl) -> String {
    match url {
        StoreUrl::Sqlite(path) => path.display().to_string(),
        StoreUrl::ClickHouse(url) => {
            Address::parse(url).map_or_else(|_| String::new(), |at| at.shown())
        }
    }
}

/// How the store of this URL is reached.
pub(crate) fn access(url: &StoreUrl, ca_file: Option<&Path>) -> Result<Access> {
    let address = match url {
        StoreUrl::Sqlite(_) => None,
        StoreUrl::ClickHouse(url) => Some(Address::parse(url)?),
    };
    if ca_file.is_some() && !address.as_ref().is_some_and(Address::is_https) {
        bail!(usage(anyhow!("--ca-file: only for https://")));
    }
    let password = match address {
        Some(_) => password()?,
        None => None,
    };
    Ok(Access {
        password,
        ca_file: ca_file.map(Path::to_owned),
    })
}

/// The password: of the environment, else what systemd hands to the service.
pub(crate) fn password() -> Result<Option<String>> {
    secret(PASSWORD, CREDENTIAL)
}

/// How files of incidents are reached: with the key of the environment, else of the service, `ID:SECRET`.
pub(crate) fn frame_access(region: Option<&str>, ca_file: Option<&Path>) -> Result<s3::Access> {
    let of_environment = |name: &str| secret(name, "");
    let key = match of_environment(s3::KEY_ID)? {
        Some(id) => Some(s3::Key {
            id,
            secret: of_environment(s3::SECRET)?
                .with_context(|| format!("{}: is missing beside {}", s3::SECRET, s3::KEY_ID))?,
            token: of_environment(s3::TOKEN)?,
        }),
        None => match secret("", FRAME_KEY)? {
            Some(line) => {
                let (id, secret) = line
                    .split_once(':')
                    .with_context(|| format!("{FRAME_KEY}: one line ID:SECRET expected"))?;
                Some(s3::Key {
                    id: id.to_owned(),
                    secret: secret.to_owned(),
                    token: None,
                })
            }
            None => None,
        },
    };
    Ok(s3::Access {
        key,
        region: region.unwrap_or(s3::REGION).to_owned(),
        ca_file: ca_file.map(Path::to_owned),
    })
}

/// A secret of one line: of this variable of the environment, else the credential of this name that systemd hands to the
/// service (systemd.exec(5), `LoadCredential=`). An empty name means none.
fn secret(variable: &str, credential: &str) -> Result<Option<String>> {
    let of_environment = match variable {
        "" => None,
        name => std::env::var_os(name).filter(|secret| !secret.is_empty()),
    };
    let (whence, secret) = match of_environment {
        Some(secret) => (variable.to_owned(), secret.into_string()),
        None => {
            let dir = std::env::var_os("CREDENTIALS_DIRECTORY").filter(|_| !credential.is_empty());
            let Some(dir) = dir else {
                return Ok(None);
            };
            let path = Path::new(&dir).join(credential);
            match std::fs::read_to_string(&path) {
                Ok(text) => (
                    path.display().to_string(),
                    Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
                ),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error).with_context(|| path.display().to_string()),
            }
        }
    };
    // It becomes a line of a request.
    let secret = secret
        .ok()
        .filter(|secret| !secret.contains(char::is_control));
    let wrong = || anyhow!("{whence}: not a secret: one line of UTF-8 expected");
    secret.map(Some).ok_or_else(wrong)
}
