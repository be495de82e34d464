//! A store of files that speaks the protocol of Amazon S3: incidents are put there, and fetched from there.
//!
//! **Three requests** are all that is needed (put, get, and a get that finds out whether the keys are good). So there is no
//! client library: it would bring a reader of XML, a URL type and its own HTTP for what is signed here in a few lines, with
//! the HMAC that hooks have.
//!
//! **The path names the bucket** (`https://HOST/BUCKET/KEY`): all servers of this kind understand it, and no name of a
//! bucket has to be a name of a host.

mod signature;

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use crate::clickhouse::{Failure, Then, line};
use crate::endpoint::{Endpoint, Request, escaped, user_agent};
use crate::from_incident::hash_of_bytes;
use crate::url::shown;
use signature::{Signed, Signer};

/// What the URL of a store begins with.
const SCHEME_HTTPS: &str = "s3+https://";
/// The same without TLS: for a network that nobody else is in.
const SCHEME_HTTP: &str = "s3+http://";

/// How a URL is written, for those that are not.
const FORM: &str = "the URL of a store of files is s3+https://HOST/BUCKET/FOLDER";

/// The region of most servers that are not Amazon's.
pub const REGION: &str = "us-east-1";

/// Where programs look for a key, as all clients of such stores do.
pub const KEY_ID: &str = "AWS_ACCESS_KEY_ID";
/// Its secret.
pub const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
/// Its token, where it has one.
pub const TOKEN: &str = "AWS_SESSION_TOKEN";

/// A dot and a slash as escapes: with them a name would lead out of the folder that it seems to be in.
const HIDDEN: [&str; 2] = ["%2e", "%2f"];

/// How long an answer may take, and how much longer for each MiB that is sent.
const DEADLINE: Duration = Duration::from_secs(60);
const DEADLINE_PER_MIB: Duration = Duration::from_secs(10);

/// What is asked for to see whether the keys are good. Nobody puts it there.
const CHECKED: &str = "freezeframe-check";

/// What is said of key, bucket or clock, which is the same for each file.
const OF_ALL: [&str; 9] = [
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "NoSuchBucket",
    "RequestTimeTooSkewed",
    "ExpiredToken",
    "InvalidToken",
    "PermanentRedirect",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
];

/// Whether a URL means such a store.
pub fn is_s3(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    lower.starts_with("s3:") || lower.starts_with("s3+")
}

/// A folder or a file in a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    endpoint: Endpoint,
    /// `/BUCKET/KEY`, escaped.
    path: String,
}

/// Who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Id of the access key.
    pub id: String,
    /// Its secret.
    pub secret: String,
    /// The token that belongs to a key of a short life.
    pub token: Option<String>,
}

/// Without what is secret: it goes into messages.
impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.id)
    }
}

/// How a store is reached, beside its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Who asks; without one nothing can be asked.
    pub key: Option<Key>,
    /// The region that the bucket is in.
    pub region: String,
    /// Certificates that are trusted instead of the system's.
    pub ca_file: Option<PathBuf>,
}

/// How a place was found by [`Place::check`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The keys may read there.
    Readable,
    /// The keys are known, and may not read: whether they may write is not known.
    NotReadable,
}

impl Place {
    /// The place of this URL.
    ///
    /// # Errors
    ///
    /// When it is none, or names no bucket.
    pub fn parse(url: &str) -> Result<Self, Failure> {
        let wrong = |what: &str| Failure::stop(&shown(url), what);
        let lower = url.to_ascii_lowercase();
        let is_tls = lower.starts_with(SCHEME_HTTPS);
        let scheme = if is_tls { SCHEME_HTTPS } else { SCHEME_HTTP };
        let rest = url.get(scheme.len()..);
        let rest = rest.filter(|_| is_tls || lower.starts_with(SCHEME_HTTP));
        let rest = rest.ok_or_else(|| wrong(FORM))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(wrong("this URL has no user: keys are not part of it"));
        }
        let port = if is_tls { 443 } else { 80 };
        let endpoint = Endpoint::parse(authority, is_tls, port).map_err(wrong)?;
        let path = path.trim_matches('/');
        if path.is_empty() {
            return Err(wrong(FORM));
        }
        // As it is signed, which no escape that is written otherwise would be.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/%".contains(&byte);
        if !path.bytes().all(is_plain)
            || path.split('/').any(|part| matches!(part, "" | "." | ".."))
            || HIDDEN.iter().any(|escape| lower.contains(escape))
        {
            return Err(wrong("the URL has characters that must be escaped (%20)"));
        }
        Ok(Self {
            endpoint,
            path: format!("/{path}"),
        })
    }

    /// The place with this name in it.
    #[must_use]
    pub fn below(&self, name: &str) -> Self {
        Self {
            endpoint: self.endpoint.clone(),
            path: format!("{}/{}", self.path, escaped(name)),
        }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        let scheme = if self.is_https() {
            SCHEME_HTTPS
        } else {
            SCHEME_HTTP
        };
        format!("{scheme}{}{}", self.endpoint.host_line(), self.path)
    }

    /// Whether it is in that folder, or in one of it.
    pub fn is_below(&self, folder: &Self) -> bool {
        let rest = self.path.strip_prefix(&folder.path);
        self.endpoint == folder.endpoint && rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// Whether it is reached by https.
    pub fn is_https(&self) -> bool {
        self.endpoint.is_tls
    }

    /// Puts a file there. One of the same name is replaced.
    ///
    /// # Errors
    ///
    /// When it is not there afterwards; [`Failure::then`] says what to do.
    pub fn put(&self, access: &Access, bytes: &[u8]) -> Result<(), Failure> {
        self.ask("PUT", access, bytes)
            .map(drop)
            .map_err(Failure::from)
    }

    /// Fetches the file.
    ///
    /// # Errors
    ///
    /// When it cannot be had.
    pub fn get(&self, access: &Access) -> Result<Vec<u8>, Failure> {
        self.ask("GET", access, &[])
            .map_err(|refusal| refusal.failure)
    }

    /// Whether a file could be put here, as far as that can be seen without putting one.
    ///
    /// # Errors
    ///
    /// When the store cannot be reached, or knows neither key nor bucket.
    pub fn check(&self, access: &Access) -> Result<Found, Failure> {
        match self.below(CHECKED).ask("GET", access, &[]) {
            Ok(_) => Ok(Found::Readable),
            Err(refusal) => match refusal.code.as_str() {
                "NoSuchKey" => Ok(Found::Readable),
                // Without the right to list the bucket a missing file looks like a forbidden one.
                "AccessDenied" => Ok(Found::NotReadable),
                _ => Err(refusal.failure),
            },
        }
    }

    fn ask(&self, method: &str, access: &Access, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let whom = self.url();
        let Some(key) = &access.key else {
            let what = format!("no key to sign with: set {KEY_ID} and {SECRET}");
            return Err(Refusal {
                code: String::new(),
                failure: Failure::stop(&whom, what),
            });
        };
        let host = self.endpoint.host_line();
        let hash = hash_of_bytes(body);
        let moment = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let mut signed = vec![
            ("host", host.as_str()),
            ("x-amz-content-sha256", &hash),
            ("x-amz-date", &moment),
        ];
        if let Some(token) = &key.token {
            signed.push(("x-amz-security-token", token));
        }
        let signer = Signer {
            key_id: &key.id,
            secret: &key.secret,
            region: &access.region,
        };
        let authorization = signer.authorization(&Signed {
            method,
            path: &self.path,
            query: "",
            headers: &signed,
            body_sha256: &hash,
            moment: &moment,
        });
        let mut headers = vec![
            user_agent(),
            "Content-Type: application/octet-stream".to_owned(),
            format!("Authorization: {authorization}"),
        ];
        // The first is the host, which each request has.
        let others = signed.iter().skip(1);
        headers.extend(others.map(|(name, value)| format!("{name}: {value}")));
        let request = Request {
            method,
            target: &self.path,
            headers: &headers,
            body,
        };
        let mib = u32::try_from(body.len() >> 20).unwrap_or(u32::MAX);
        let deadline = DEADLINE + DEADLINE_PER_MIB.saturating_mul(mib);
        let answer = self
            .endpoint
            .exchange(&request, access.ca_file.as_deref(), deadline)
            .map_err(|what| Refusal {
                code: String::new(),
                failure: Failure::unreachable(&whom, what),
            })?;
        match answer.status {
            200..=299 => Ok(answer.body),
            status => Err(Refusal::of(&whom, status, &answer.body)),
        }
    }
}

/// Why a store did not do it.
struct Refusal {
    /// Its code for that; empty where it has none.
    code: String,
    failure: Failure,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        refusal.failure
    }
}

impl Refusal {
    fn of(whom: &str, status: u16, body: &[u8]) -> Self {
        let body = String::from_utf8_lossy(body);
        let code = element(&body, "Code").unwrap_or_default();
        let then = match status {
            429 | 503 => Then::BackOff,
            408 | 500 | 502 | 504 => Then::Retry,
            401 | 404 => Then::Stop,
            // Too large, or there already where nothing may be replaced: others may be taken.
            400..=499 if !OF_ALL.contains(&code.as_str()) => Then::Leave,
            _ => Then::Stop,
        };
        let what = match code.as_str() {
            "InvalidAccessKeyId" => "no such key".to_owned(),
            "SignatureDoesNotMatch" => {
                "the secret does not fit the key, or the region is another".to_owned()
            }
            "AccessDenied" => "the key has no right to this".to_owned(),
            "NoSuchBucket" => "no such bucket".to_owned(),
            "EntityTooLarge" => "the file is too large".to_owned(),
            "RequestTimeTooSkewed" => "the clock of this host is wrong".to_owned(),
            "ExpiredToken" => "the token is too old".to_owned(),
            "PermanentRedirect"
            | "AuthorizationHeaderMalformed"
            | "IllegalLocationConstraintException" => "the bucket is in another region".to_owned(),
            "" => "it was refused".to_owned(),
            // The message behind it may name who asked: a user's or a role's whole path.
            code => match code.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                true => code.to_owned(),
                false => "it was refused".to_owned(),
            },
        };
        Self {
            code,
            failure: Failure {
                then,
                code: None,
                said: format!("{whom}: {what} (status {status})"),
            },
        }
    }
}

/// The text of an element of an answer's XML; nothing where it has other elements in it.
fn element(body: &str, name: &str) -> Option<String> {
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    Some(line(text)).filter(|text| !text.contains('<'))
}

#[cfg(test)]
mod tests;
