//! A digest of statements as JSON. Fields are added over time; none is renamed, removed or given another meaning.

use std::io::{self, BufWriter, Write};

use model::{QueryClass, QueryDigest};
use serde::Serialize;

use super::{queries_format::seconds, stacks_json::to_text};
use crate::{escape, time_format};

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
    let moment = |us: Option<i64>| us.map(|us| time_format::rfc3339(us / 1000));
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

/// [`queries_json`] piece by piece: a document of thousands of classes is many times as large as what it is made of.
pub fn write_queries_json(
    out: &mut dyn Write,
    digest: &QueryDigest,
    overall: Option<&QueryClass>,
) -> io::Result<()> {
    let mut out = Escaped(BufWriter::new(out));
    serde_json::to_writer_pretty(&mut out, &queries_document(digest, overall))?;
    out.0.write_all(b"\n")?;
    out.0.flush()
}

/// Escapes what is written. A serializer writes whole characters at once.
struct Escaped<W: Write>(W);

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(escape::json(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
