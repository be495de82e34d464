//! Where something listens that speaks HTTP, and one request to it: a store of rows, a gateway, a store of files.

use std::path::Path;
use std::time::Duration;

use transport::http::Answer;

/// A listener by its name and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// By https.
    pub(crate) is_tls: bool,
    /// Name or address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Endpoint {
    /// The endpoint of a URL's authority: `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`; what is wrong with it otherwise.
    pub(crate) fn parse(
        authority: &str,
        is_tls: bool,
        default_port: u16,
    ) -> Result<Self, &'static str> {
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => rest
                .split_once(']')
                .map(|(host, rest)| (host, rest.strip_prefix(':'))),
            None => Some(match authority.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            }),
        }
        .filter(|(host, _)| !host.is_empty())
        .ok_or("the URL names no host")?;
        // It becomes a line of a request.
        if !host.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the URL has characters that it may not have");
        }
        Ok(Self {
            is_tls,
            host: host.to_owned(),
            port: match port {
                Some(port) => port.parse().map_err(|_| "the port is no number")?,
                None => default_port,
            },
        })
    }

    /// Host and port, as a URL and the head of a request have them.
    pub(crate) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    /// The name that the head of a request has for it: curl leaves the usual port of https out.
    pub(crate) fn host_line(&self) -> String {
        let authority = self.authority();
        match authority.strip_suffix(":443") {
            Some(host) if self.is_tls => host.to_owned(),
            _ => authority,
        }
    }

    /// One request and its answer; why there is none, in a few words.
    pub(crate) fn exchange(
        &self,
        request: &Request<'_>,
        ca_file: Option<&Path>,
        deadline: Duration,
    ) -> Result<Answer, String> {
        let Request {
            method,
            target,
            headers,
            body,
        } = request;
        let authority = self.authority();
        if self.is_tls {
            let url = format!("https://{authority}{target}");
            return transport::curl::exchange(method, &url, headers, body, ca_file, deadline);
        }
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {authority}\r\n{}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            headers.join("\r\n"),
            body.len()
        );
        transport::http::exchange(
            (self.host.as_str(), self.port),
            &[head.as_bytes(), body],
            deadline,
        )
    }
}

/// What is asked of an endpoint.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// Path and query, escaped.
    pub(crate) target: &'a str,
    /// Lines of the head without their ends, at least one.
    pub(crate) headers: &'a [String],
    pub(crate) body: &'a [u8],
}

/// The line of a head that says which program asks.
pub(crate) fn user_agent() -> String {
    format!("User-Agent: freezeframe/{}", env!("CARGO_PKG_VERSION"))
}

/// As a value in a URL (RFC 3986, section 2.1): all but what needs no escape.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(byte.into());
            }
            byte => {
                let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('0');
                out.push('%');
                out.push(digit(byte >> 4).to_ascii_uppercase());
                out.push(digit(byte & 15).to_ascii_uppercase());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_read_and_written() {
        let read = |text: &str| Endpoint::parse(text, false, 80).map(|one| one.authority());
        assert_eq!(read("db1"), Ok("db1:80".to_owned()));
        assert_eq!(read("db1:9000"), Ok("db1:9000".to_owned()));
        assert_eq!(read("[::1]:9"), Ok("[::1]:9".to_owned()));
        assert_eq!(read("[::1]"), Ok("[::1]:80".to_owned()));
        for wrong in ["", ":80", "a:b", "a:70000", "[::1", "a b", "a\r\nb"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_are_written_for_a_url() {
        assert_eq!(escaped("a b&c=ü'"), "a%20b%26c%3D%C3%BC%27");
    }
}
