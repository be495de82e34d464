//! Where a store is, and how it is reached: the URL, the password, the certificates.

use std::path::Path;

use ::fleet::any_store::Access;
use ::fleet::clickhouse::Address;
use ::fleet::url::StoreUrl;
use anyhow::{Context, Result, anyhow, bail};
use cli::usage;

/// Where the password is: everybody on the host sees the arguments of programs.
const PASSWORD: &str = "FREEZEFRAME_FLEET_PASSWORD";

/// The same as a credential of the service.
const CREDENTIAL: &str = "fleet-password";

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

/// The password: of the environment, else what systemd hands to the service (systemd.exec(5), `LoadCredential=`).
pub(crate) fn password() -> Result<Option<String>> {
    let (whence, password) = match std::env::var_os(PASSWORD) {
        Some(password) if !password.is_empty() => (PASSWORD.to_owned(), password.into_string()),
        _ => {
            let Some(dir) = std::env::var_os("CREDENTIALS_DIRECTORY") else {
                return Ok(None);
            };
            let path = Path::new(&dir).join(CREDENTIAL);
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
    let password = password
        .ok()
        .filter(|password| !password.contains(char::is_control));
    let wrong = || anyhow!("{whence}: not a password: one line of UTF-8 expected");
    password.map(Some).ok_or_else(wrong)
}
