//! Where a fleet's store is.

use std::path::PathBuf;

/// A store by its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// `sqlite:///var/lib/fleet.db`: a file on this machine.
    Sqlite(PathBuf),
    /// `http://…`, `https://…`: ClickHouse's HTTP interface, the URL as it was given.
    ClickHouse(String),
}

/// It is no URL of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Another scheme, or none.
    #[error("{} is no store: sqlite:///DIR/FILE, or http://HOST:8123/DATABASE for ClickHouse", shown(.0))]
    Unknown(String),
    /// A gateway: it takes rows and answers no question.
    #[error("{} is a gateway, which only takes what recorders send: name the store behind it", shown(.0))]
    Gateway(String),
    /// `sqlite://fleet.db`: two slashes begin a host.
    #[error(
        "'sqlite://…' has no path: three slashes stand before an absolute one, sqlite:///DIR/FILE"
    )]
    NoPath,
}

/// How a URL that is none of ours is called: it may be of another program, and a password may stand in any part of it.
pub(crate) fn shown(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, _))
            if scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+') =>
        {
            format!("'{scheme}://…'")
        }
        _ => "this".to_owned(),
    }
}

/// Whether a URL means a gateway.
pub fn is_gateway(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    lower.starts_with("gateway:") || lower.starts_with("gateway+") || lower.starts_with("gateway/")
}

impl std::str::FromStr for StoreUrl {
    type Err = UrlError;

    fn from_str(url: &str) -> Result<Self, UrlError> {
        if is_gateway(url) {
            return Err(UrlError::Gateway(url.to_owned()));
        }
        let lower = url.to_ascii_lowercase();
        if lower.starts_with("http://") || lower.starts_with("https://") {
            return Ok(Self::ClickHouse(url.to_owned()));
        }
        let path = lower
            .starts_with("sqlite:")
            .then(|| url.get("sqlite:".len()..));
        let path = path
            .flatten()
            .ok_or_else(|| UrlError::Unknown(url.to_owned()))?;
        // sqlite:///a, sqlite:/a: both are the absolute path.
        let path = match path.strip_prefix("//") {
            Some(path) if path.len() > 1 && path.starts_with('/') => path,
            Some(_) => return Err(UrlError::NoPath),
            None if path.len() > 1 => path,
            None => return Err(UrlError::Unknown(url.to_owned())),
        };
        Ok(Self::Sqlite(PathBuf::from(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_told_by_their_scheme() {
        let sqlite = |path: &str| Ok(StoreUrl::Sqlite(PathBuf::from(path)));
        assert_eq!("sqlite:///var/lib/f.db".parse(), sqlite("/var/lib/f.db"));
        assert_eq!("sqlite:/var/lib/f.db".parse(), sqlite("/var/lib/f.db"));
        assert_eq!("sqlite:f.db".parse(), sqlite("f.db"));
        let click = "http://db1:8123/fleet";
        assert_eq!(click.parse(), Ok(StoreUrl::ClickHouse(click.to_owned())));
    }

    #[test]
    fn what_is_no_store_says_how_one_is_written() {
        let told = |url: &str| url.parse::<StoreUrl>().unwrap_err().to_string();
        assert!(told("sqlite://fleet.db").contains("sqlite:///DIR/FILE"));
        assert!(told("/var/lib/fleet.db").contains("sqlite:///DIR/FILE"));
        assert!(told("sqlite:").contains("is no store"));
        assert!(told("sqlite:///").contains("has no path"));
        assert!(told("mysql://db1").contains("is no store"));
        assert!(told("gateway+http://f1").contains("the store behind it"));
        for url in [
            "mysql://ff:s3cret@db1/x",
            "ff:s3cret@db1",
            "gateway+http://s3cret@f1",
            "s3cret://",
            "sqlite://ff:s3cret@db1/x",
        ] {
            let told = told(url);
            assert!(!told.contains("ff:") && !told.contains("@"), "{told}");
        }
    }
}
