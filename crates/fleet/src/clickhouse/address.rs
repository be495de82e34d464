//! Where ClickHouse listens, and as whom we come.

use super::failure::Failure;
use crate::endpoint::Endpoint;
use crate::url::shown;

/// The database when the URL names none.
const DATABASE: &str = "freezeframe";

/// A server by its URL: `http://USER:PASSWORD@HOST:8123/DATABASE`.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// Its HTTP interface.
    pub(super) endpoint: Endpoint,
    /// The database with the tables.
    pub(super) database: String,
    pub(super) user: String,
    pub(super) password: String,
    /// Certificates that are trusted instead of the system's.
    pub(super) ca_file: Option<std::path::PathBuf>,
}

/// Without the password: it goes into messages.
impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Address {
    /// The address in this URL.
    ///
    /// # Errors
    ///
    /// When it is none, or its database has a name that needs quotes.
    pub fn parse(url: &str) -> Result<Self, Failure> {
        let wrong = |what: &str| Failure::stop(&shown(url), what);
        let lower = url.to_ascii_lowercase();
        let is_tls = lower.starts_with("https://");
        let rest = url.split_once("://").map(|(_, rest)| rest);
        let rest = rest.filter(|_| is_tls || lower.starts_with("http://"));
        let rest = rest.ok_or_else(|| wrong("no URL of ClickHouse: http://HOST:8123/DATABASE"))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = match authority.rsplit_once('@') {
            Some((login, place)) => (login, place),
            None => ("", authority),
        };
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let decoded =
            |text: &str| decode(text).ok_or_else(|| wrong("user or password has a wrong % escape"));
        let default_port = if is_tls { 8443 } else { 8123 };
        let endpoint = Endpoint::parse(place, is_tls, default_port).map_err(wrong)?;
        let database = match path.trim_end_matches('/') {
            "" => DATABASE,
            path => path,
        };
        let is_name = database
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            return Err(wrong("a database name may have only letters, digits and _"));
        }
        Ok(Self {
            endpoint,
            database: database.to_owned(),
            user: decoded(user)?,
            password: decoded(password)?,
            ca_file: None,
        })
    }

    /// Whether there is a password in it.
    pub fn has_password(&self) -> bool {
        !self.password.is_empty()
    }

    /// Whether it is reached by https.
    pub fn is_https(&self) -> bool {
        self.endpoint.is_tls
    }

    /// With this password instead of the URL's, which everybody on the host may see.
    #[must_use]
    pub fn with_password(self, password: String) -> Self {
        Self { password, ..self }
    }

    /// Trusts these certificates instead of the system's.
    #[must_use]
    pub fn with_ca_file(self, path: std::path::PathBuf) -> Self {
        let ca_file = Some(path);
        Self { ca_file, ..self }
    }

    /// For messages: without user and password.
    pub fn shown(&self) -> String {
        let scheme = if self.is_https() { "https" } else { "http" };
        format!("{scheme}://{}/{}", self.endpoint.authority(), self.database)
    }
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains(char::is_control)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_shown_without_its_password() {
        let address = Address::parse("http://me:p%40ss@db1:9000/fleet").unwrap();
        assert_eq!(address.endpoint.authority(), "db1:9000");
        assert_eq!(
            (address.user.as_str(), address.password.as_str()),
            ("me", "p@ss")
        );
        assert_eq!(format!("{address:?}"), "http://db1:9000/fleet");
        let short = Address::parse("https://[::1]").unwrap();
        assert_eq!(short.shown(), "https://[::1]:8443/freezeframe");
    }

    #[test]
    fn what_is_no_address_is_told_without_its_password() {
        for url in [
            "ftp://x",
            "http://",
            "http://a:b/c",
            "http://u:secret@h/a-b",
            "http://u:secret",
            "http://u@secret:pw/x-y",
            "http://h:1/secret-x",
            "http://u:%zz@h",
        ] {
            let said = Address::parse(url).unwrap_err().said;
            assert!(!said.contains("secret") && !said.contains('\n'), "{said}");
        }
    }
}
