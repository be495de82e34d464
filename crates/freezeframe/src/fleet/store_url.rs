//! Where a store is, and how it is reached: the URL, the password, the certificates.

use ::fleet::any_store::Access;
use ::fleet::clickhouse::Address;
use ::fleet::url::StoreUrl;
use anyhow::{Result, anyhow, bail};
use cli::usage;

use crate::args::FleetAccess;

/// Where the password is: everybody on the host sees the arguments of programs.
const PASSWORD: &str = "FREEZEFRAME_FLEET_PASSWORD";

/// The store of this URL; an error of usage for what is none, or has a password in it.
pub(super) fn parse(url: &str) -> Result<StoreUrl> {
    let parsed = url.parse::<StoreUrl>().map_err(usage)?;
    if let StoreUrl::ClickHouse(url) = &parsed {
        let address = Address::parse(url).map_err(usage)?;
        if address.has_password() {
            bail!(usage(anyhow!(
                "{}: everybody on this host can read a password in the URL: leave it out, and put it into {PASSWORD}",
                address.shown()
            )));
        }
    }
    Ok(parsed)
}

/// How the store of this URL is reached.
pub(super) fn access(url: &StoreUrl, args: &FleetAccess) -> Result<Access> {
    let address = match url {
        StoreUrl::Sqlite(_) => None,
        StoreUrl::ClickHouse(url) => Some(Address::parse(url)?),
    };
    if args.ca_file.is_some() && !address.as_ref().is_some_and(Address::is_https) {
        bail!(usage(anyhow!("--ca-file: only https:// has certificates")));
    }
    let password = match (address, std::env::var_os(PASSWORD)) {
        (Some(_), Some(password)) if !password.is_empty() => {
            let password = password.into_string().ok();
            // It becomes a line of a request.
            let password = password.filter(|password| !password.contains(char::is_control));
            Some(password.ok_or_else(|| {
                anyhow!("{PASSWORD}: no password: it is one line of UTF-8, without its end")
            })?)
        }
        _ => None,
    };
    Ok(Access {
        password,
        ca_file: args.ca_file.clone(),
    })
}
