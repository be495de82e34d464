//! A recorder's way to a gateway: the bytes of a batch as they are in its spool, by http or https.

use std::time::Duration;

use crate::any_store::Access;
use crate::batch::Batch;
use crate::batch_bytes;
use crate::clickhouse::{Failure, Then, line};
use crate::endpoint::{Endpoint, Request, user_agent};
use crate::url::shown;

/// What the URL of a gateway begins with.
const SCHEME_HTTP: &str = "gateway+http://";
/// The same behind a proxy that ends TLS.
const SCHEME_HTTPS: &str = "gateway+https://";

/// Where batches are posted to.
pub const INSERT_PATH: &str = "/v1/batch";
/// Where a recorder asks whether its token is good.
pub const CHECK_PATH: &str = "/v1/check";

/// The port where a URL without TLS names none.
const PORT: u16 = 9308;
const PORT_TLS: u16 = 443;

/// How long a gateway has to answer: it waits for its disk, not for the store.
const DEADLINE: Duration = Duration::from_secs(60);

/// A gateway by its URL, `gateway+http://HOST:9308`.
#[derive(Clone, PartialEq, Eq)]
pub struct Gateway {
    endpoint: Endpoint,
    /// Where a proxy puts it; empty, or begins with a slash.
    path: String,
    access: Access,
}

/// Without the token: it goes into messages.
impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Gateway {
    /// The gateway of this URL.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn parse(url: &str) -> Result<Self, Failure> {
        let wrong = |what: &str| Failure::stop(&shown(url), what);
        let lower = url.to_ascii_lowercase();
        let is_tls = lower.starts_with(SCHEME_HTTPS);
        let scheme = if is_tls { SCHEME_HTTPS } else { SCHEME_HTTP };
        let rest = url.get(scheme.len()..);
        let rest = rest.filter(|_| is_tls || lower.starts_with(SCHEME_HTTP));
        let rest = rest.ok_or_else(|| {
            wrong("the URL of a gateway is gateway+http://HOST:9308, or gateway+https://HOST")
        })?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(wrong(
                "a gateway's URL has no user: the token of the host says who sends",
            ));
        }
        let default_port = if is_tls { PORT_TLS } else { PORT };
        let endpoint = Endpoint::parse(authority, is_tls, default_port).map_err(wrong)?;
        let path = path.trim_end_matches('/');
        // It becomes a line of a request.
        let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_plain || path.contains(['?', '#']) {
            return Err(wrong("the URL has characters that it may not have"));
        }
        Ok(Self {
            endpoint,
            path: match path {
                "" => String::new(),
                path => format!("/{path}"),
            },
            access: Access::default(),
        })
    }

    /// With the token of this host, and what certificates are trusted.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Whether it is reached by https.
    pub fn is_https(&self) -> bool {
        self.endpoint.is_tls
    }

    /// For messages.
    pub fn shown(&self) -> String {
        let scheme = if self.is_https() {
            SCHEME_HTTPS
        } else {
            SCHEME_HTTP
        };
        format!("{scheme}{}{}", self.endpoint.authority(), self.path)
    }

    /// Sends a batch; afterwards it is on the gateway's disk.
    ///
    /// # Errors
    ///
    /// When the gateway does not have it; [`Failure::then`] says what to do.
    pub fn insert(&self, batch: &Batch) -> Result<(), Failure> {
        self.post(INSERT_PATH, &self.bytes(batch)?).map(drop)
    }

    /// Whether it would take this batch: the name of the host whose token it is.
    ///
    /// # Errors
    ///
    /// When it would not.
    pub fn check(&self, batch: &Batch) -> Result<String, Failure> {
        let body = self.post(CHECK_PATH, &self.bytes(batch)?)?;
        let answer = serde_json::from_slice::<serde_json::Value>(&body).ok();
        let host = answer
            .as_ref()
            .and_then(|answer| answer.get("host")?.as_str());
        host.map(line)
            .ok_or_else(|| Failure::stop(&self.shown(), "something else answers there"))
    }

    fn bytes(&self, batch: &Batch) -> Result<Vec<u8>, Failure> {
        let bytes = batch_bytes::to_bytes(batch);
        bytes.map_err(|error| Failure::stop(&self.shown(), error))
    }

    fn post(&self, path: &str, body: &[u8]) -> Result<Vec<u8>, Failure> {
        let whom = self.shown();
        let Some(token) = &self.access.password else {
            return Err(Failure::stop(
                &whom,
                "the host's token is missing: `freezeframe fleet gateway add-host` makes one",
            ));
        };
        let target = format!("{}{path}", self.path);
        let headers = [
            user_agent(),
            "Content-Type: application/octet-stream".to_owned(),
            format!("Authorization: Bearer {token}"),
        ];
        let request = Request {
            method: "POST",
            target: &target,
            headers: &headers,
            body,
        };
        let answer = self
            .endpoint
            .exchange(&request, self.access.ca_file.as_deref(), DEADLINE);
        let answer = answer.map_err(|what| Failure {
            then: Then::Retry,
            code: None,
            said: format!("{whom}: {}", line(&what)),
        })?;
        if answer.status == 200 {
            return Ok(answer.body);
        }
        let then = match answer.status {
            429 | 503 => Then::BackOff,
            408 | 500 | 502 | 504 => Then::Retry,
            // It cannot be read there, has rows of another server, or is too large.
            400 | 403 | 413 => Then::Leave,
            _ => Then::Stop,
        };
        let words = line(&String::from_utf8_lossy(&answer.body));
        let words = match words.as_str() {
            "" => "it was refused",
            words => words,
        };
        Err(Failure {
            then,
            code: None,
            said: format!("{whom}: {words} (status {})", answer.status),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Token;

    #[test]
    fn a_gateway_is_told_by_its_scheme() {
        let shown = |url: &str| Gateway::parse(url).map(|gateway| gateway.shown());
        for (url, wanted) in [
            ("gateway+http://fleet1", "gateway+http://fleet1:9308"),
            ("gateway+HTTP://fleet1:80/", "gateway+http://fleet1:80"),
            (
                "gateway+https://f.example/a/",
                "gateway+https://f.example:443/a",
            ),
            ("gateway+http://[::1]:1", "gateway+http://[::1]:1"),
        ] {
            assert!(crate::url::is_gateway(url));
            assert_eq!(shown(url).unwrap(), wanted);
        }
        assert!(!crate::url::is_gateway("http://gateway:8123/x"));
    }

    #[test]
    fn what_is_no_gateway_says_how_one_is_written() {
        let said = |url: &str| Gateway::parse(url).unwrap_err().said;
        assert!(said("gateway://fleet1").contains("gateway+http://HOST"));
        assert!(said("gateway+http://").contains("no host"));
        assert!(said("gateway+http://a:b").contains("no number"));
        assert!(said("gateway+http://a/b?c").contains("characters"));
        assert!(said("gateway+http://a\nb/").contains("characters"));
        let secret = said("gateway+http://me:s3cret@db1");
        assert!(secret.contains("no user"), "{secret}");
        for url in [
            "gateway+http://me:s3cret@db1",
            "gateway+http://me:s3cret",
            "gateway+http://me@s3cret:x",
            "gateway+http://db1/x?token=s3cret",
        ] {
            assert!(!said(url).contains("s3cret"), "{}", said(url));
        }
    }

    #[test]
    fn without_a_token_nothing_is_asked() {
        let gateway = Gateway::parse("gateway+http://127.0.0.1:1").unwrap();
        let failure = gateway.check(&Batch::new(Token::default())).unwrap_err();
        assert_eq!(failure.then, Then::Stop);
        assert!(failure.said.contains("add-host"), "{failure}");
    }
}
