//! By which names an address of ours may be asked.
//!
//! A page of somebody else can make a browser ask us: it lets its own name lead to our address
//! (DNS rebinding). The browser still says the page's name in `Host`, so a name that is not ours is
//! refused. An address cannot be made to lead elsewhere, and is always right.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Answer;

/// Longest name of a host (RFC 1035, section 2.3.4).
const NAME_BYTES_MAX: usize = 253;

/// The names that are ours, in small letters.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    all: Vec<String>,
    takes_any: bool,
    /// The command that takes further ones.
    command: &'static str,
}

impl Names {
    /// `localhost`, this host's name, its first label, and the given ones.
    pub(crate) fn new(command: &'static str, host: &str, given: &[String]) -> Self {
        let first = host.split('.').next().unwrap_or_default();
        let own = ["localhost", host, first].map(str::to_owned);
        let all = own.into_iter().chain(given.iter().cloned());
        let all = all.filter(|name| !name.is_empty());
        Self {
            all: all.map(|name| plain(&name)).collect(),
            takes_any: false,
            command,
        }
    }

    /// Every name: where nothing is given to whoever has no token, which no browser sends for somebody else's page.
    pub(crate) fn any() -> Self {
        Self {
            all: Vec::new(),
            takes_any: true,
            command: "",
        }
    }

    /// Whether a request to this host, with or without a port, is meant for us.
    pub(super) fn admit(&self, authority: &str) -> Result<(), Answer> {
        let wrong = || Answer::text(400, "the Host header is not a host");
        let host = without_port(authority).ok_or_else(wrong)?;
        if let Some(inner) = host.strip_prefix('[') {
            let address = inner.strip_suffix(']').map(str::parse::<Ipv6Addr>);
            return match address {
                Some(Ok(_)) => Ok(()),
                _ => Err(wrong()),
            };
        }
        let host = host_name(host).map_err(|_| wrong())?;
        if self.takes_any || host.parse::<Ipv4Addr>().is_ok() || self.all.contains(&host) {
            return Ok(());
        }
        Err(Answer::text(
            421,
            &format!(
                "'{host}' is not a name of this address: use its IP address, or start {} with --listen-host {host}",
                self.command
            ),
        ))
    }
}

/// A name that is given with `--listen-host` or `listen_hosts`: a host's, without a port.
pub(crate) fn host_name(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name = plain(text);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_name) {
        return Err("a host name without a port expected, such as db1.example.com".to_owned());
    }
    Ok(name)
}

/// A final dot only says that the name is whole.
fn plain(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// The host of `host` or `host:port`; nothing where the port is no number.
fn without_port(authority: &str) -> Option<&str> {
    let end_of_address = authority.find(']').unwrap_or(0);
    let Some(colon) = authority.rfind(':').filter(|at| *at >= end_of_address) else {
        return Some(authority);
    };
    let (host, port) = authority.split_at_checked(colon)?;
    let is_port = port.bytes().skip(1).all(|byte| byte.is_ascii_digit());
    is_port.then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_own_names_are_admitted_and_no_others() {
        let names = Names::new(
            "record",
            "DB1.example.com",
            &["status.example.com".to_owned()],
        );
        for host in [
            "127.0.0.1",
            "127.0.0.1:9306",
            "10.1.2.3:80",
            "[::1]",
            "[::1]:9306",
            "localhost",
            "LocalHost:9306",
            "localhost.",
            "db1",
            "db1.EXAMPLE.com:9306",
            "status.example.com",
            "db1:",
        ] {
            assert!(names.admit(host).is_ok(), "{host}");
        }
        for (host, code) in [
            ("evil.example", 421),
            ("evil.example:9306", 421),
            ("127.0.0.1.evil.example", 421),
            ("localhost.evil.example", 421),
            ("db1.example.org", 421),
            ("", 400),
            (":9306", 400),
            ("a b", 400),
            ("db1:x", 400),
            ("[::1", 400),
            ("[evil]", 400),
            ("::1", 400),
            ("user@localhost", 400),
            ("localhost\u{1b}[2J", 400),
        ] {
            let refused = names.admit(host).unwrap_err();
            assert_eq!(refused.code, code, "{host}");
            assert!(!refused.body.contains('\u{1b}'), "{host}");
        }
    }

    #[test]
    fn a_given_name_is_a_name_without_a_port() {
        assert_eq!(host_name("DB1.Example.com.").unwrap(), "db1.example.com");
        for wrong in ["", "db1:9306", "http://db1", "*", "a b", &"x".repeat(300)] {
            assert!(host_name(wrong).is_err(), "{wrong}");
        }
    }
}
