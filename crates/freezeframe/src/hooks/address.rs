//! Where a hook posts to. **An address is a secret**: whoever knows the path of a chat's hook can post to it, and some
//! have a user and a password. So it shows as `https://host:port/…` and as nothing else; the whole of it is only for
//! whoever sends.

use std::fmt;
use std::str::FromStr;

/// An address of http or https.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) is_tls: bool,
    /// Host and port, to connect to.
    pub(super) host: String,
    pub(super) port: u16,
    /// As it stands in the `Host` line: never with a user.
    pub(super) authority: String,
    /// Path and query, to be sent.
    pub(super) path: String,
    /// As it was given, user and all: for curl(1).
    given: String,
}

/// What an address must be like. It does not say what was given instead.
const FORM: &str = "http://host[:port]/path or https://host[:port]/path expected";
const CHARACTERS: &str = "escape blanks, quotes and characters other than ASCII";
const NO_USER: &str = "a user is not sent by http: headers = [\"Authorization: …\"]";
const AT: &str = "escape @ after the host as %40, and / ? # in a password as %2F %3F %23";

impl Address {
    /// All of it.
    pub(super) fn whole(&self) -> &str {
        &self.given
    }
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(url: &str) -> Result<Self, Self::Err> {
        let is_clean = url.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_clean || url.contains(['"', '\\']) {
            return Err(CHARACTERS);
        }
        let (scheme, rest) = url.split_once("://").ok_or(FORM)?;
        let is_tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(FORM),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        // Of `u:p/w@h` a part of the login would be the host, which shows, and would be asked for by its name.
        if path.contains('@') {
            return Err(AT);
        }
        let authority = match authority.rsplit_once('@') {
            None => authority,
            // curl sends it as it must be.
            Some((_, authority)) if is_tls => authority,
            Some(_) => return Err(NO_USER),
        };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| FORM)?),
            _ => (authority, if is_tls { 443 } else { 80 }),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(FORM);
        }
        let path = path.split('#').next().unwrap_or_default();
        Ok(Self {
            is_tls,
            host: host.to_owned(),
            port,
            authority: authority.to_owned(),
            path: match path {
                path if path.starts_with('/') => path.to_owned(),
                path => format!("/{path}"),
            },
            given: url.to_owned(),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}/…", self.authority)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        for (url, host, port, path) in [
            ("http://a.example/x?y=1#z", "a.example", 80, "/x?y=1"),
            ("http://127.0.0.1:8080", "127.0.0.1", 8080, "/"),
            ("http://[::1]:99/a", "::1", 99, "/a"),
            ("http://[::1]/a", "::1", 80, "/a"),
            ("http://h?q", "h", 80, "/?q"),
            ("https://h/a", "h", 443, "/a"),
            ("https://u:p@h:8443/a", "h", 8443, "/a"),
            ("https://u:p%2Fw@h/%40a", "h", 443, "/%40a"),
        ] {
            let address: Address = url.parse().unwrap();
            assert_eq!(
                (address.host.as_str(), address.port, address.path.as_str()),
                (host, port, path),
                "{url}"
            );
            assert_eq!(address.whole(), url);
        }
    }

    #[test]
    fn an_address_shows_its_host_and_nothing_behind_or_before_it() {
        for (url, shown) in [
            (
                "https://bot:T0K3N@alerts.example/x",
                "https://alerts.example/…",
            ),
            (
                "https://T0K3N@alerts.example:8443?a=b",
                "https://alerts.example:8443/…",
            ),
            ("https://a@T0K3N@alerts.example", "https://alerts.example/…"),
            ("http://chat.example/T0K3N#T0K3N", "http://chat.example/…"),
        ] {
            let address: Address = url.parse().unwrap();
            assert_eq!(address.to_string(), shown);
            assert_eq!(format!("{address:?}"), shown);
            assert!(!address.authority.contains('@'), "{url}");
        }
    }

    #[test]
    fn what_is_no_address_is_not_quoted() {
        for url in [
            "ftp://T0K3N/",
            "http://",
            "https://T0K3N@",
            "http://u:T0K3N@h/",
            "http://h:T0K3N/",
            "https://h:99999/T0K3N",
            "http://h/ T0K3N",
            "http://h/\r\nX: T0K3N",
            "https://h/\"T0K3N",
            "https://T0K3N/x@h/y",
            "https://u:1/T0K3N@h/y",
            "https://u:T0K3N?x@h",
            "https://T0K3N#x@h",
            "http://T0K3N/x@h",
            "T0K3N",
        ] {
            let told = url.parse::<Address>().unwrap_err();
            assert!(!told.contains("T0K3N"), "{url}: {told}");
        }
    }
}
