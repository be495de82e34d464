//! A digest of statements as JSON. Fields are added over time; none is renamed, removed or given another meaning.

use model::{QueryClass, QueryDigest};
use serde::Serialize;

use super::{queries_words::seconds, stacks_json::to_text};
use crate::when;

/// The document of `freezeframe queries --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueriesDocument<'a> {
    /// `freezeframe-queries/1`.
    pub format: &'static str,
    /// Statements, those of `folded` included; the same as `count`.
    pub total: u64,
    /// The first moment, RFC 3339 in UTC.
    pub from: Option<String>,
    /// The last moment.
    pub to: Option<String>,
    /// Seconds between them, at least one for a log.
    pub seconds: Option<f64>,
    /// Statements a second.
    pub per_second: Option<f64>,
    /// All statements as if they were one class, where single statements were seen.
    pub overall: Option<&'a QueryClass>,
    /// `way`, `from_us`, `to_us`, `count`, `errors`, `classes`, `folded`, `lost`, `blind`.
    #[serde(flatten)]
    pub digest: &'a QueryDigest,
}

/// The document of a digest. It can be read back as a [`QueryDigest`].
pub fn queries_document<'a>(
    digest: &'a QueryDigest,
    overall: Option<&'a QueryClass>,
) -> QueriesDocument<'a> {
    let moment = |us: Option<i64>| us.map(|us| when::rfc3339(us / 1000));
    let seconds = seconds(digest);
    QueriesDocument {
        format: "freezeframe-queries/1",
        total: digest.count,
        from: moment(digest.from_us),
        to: moment(digest.to_us),
        seconds,
        per_second: seconds.map(|seconds| digest.count as f64 / seconds),
        overall,
        digest,
    }
}

/// [`queries_document`] as text.
pub fn queries_json(digest: &QueryDigest, overall: Option<&QueryClass>) -> String {
    to_text(&queries_document(digest, overall))
}
