//! The log of a lease, as a digest by class.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use model::{QueryDigest, QueryMethod};
use sql::digest::{Digester, Options, Order};
use sql::log::{EVENT_BYTES_MAX, LogKind, Reader, Rest, Step};

/// Bytes read at once.
const READ_BYTES: usize = 1 << 20;

/// What a general log says, by class: the `read` of [`super::capture`] for who wants no more than that. Of the classes
/// `classes_max` are told one by one; samples have their literals only when `literals` says so.
///
/// The moments are those of the log, in which some servers write seconds only and their local time.
pub fn digest_log(log: &Path, classes_max: usize, literals: bool) -> std::io::Result<QueryDigest> {
    let mut file = File::open(log)?;
    let mut digester = Digester::new(Options::default());
    let mut reader = Reader::new(LogKind::General);
    let mut buffer: Vec<u8> = Vec::new();
    let mut is_end = false;
    while !is_end {
        is_end = (&mut file)
            .take(READ_BYTES as u64)
            .read_to_end(&mut buffer)?
            == 0;
        let mut from = 0;
        loop {
            let bytes = buffer.get(from..).unwrap_or_default();
            if bytes.is_empty() {
                break;
            }
            let rest = if is_end {
                Rest::Nothing
            } else if bytes.len() >= EVENT_BYTES_MAX {
                Rest::NoRoom
            } else {
                Rest::Follows
            };
            match reader.next(bytes, rest) {
                Step::Event(event, used) => {
                    digester.add(&event);
                    from += used.max(1);
                }
                Step::Skipped(used) => from += used.max(1),
                Step::More => break,
            }
        }
        buffer.drain(..from.min(buffer.len()));
    }
    let told = digester.finish(
        QueryMethod::GeneralLog,
        &Order::Usual,
        Some(classes_max),
        literals,
    );
    Ok(told.digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_longer_than_a_read_is_counted_whole() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let mut text = String::from(
            "/usr/sbin/mysqld, Version: 9.7.0. started with:\nTcp port: 0  Unix socket: /s\nTime                 Id Command    Argument\n",
        );
        for number in 0..40_000 {
            text.push_str(&format!(
                "2026-11-21T07:00:00.{number:06}Z\t   12 Query\tSELECT 'secret{number}', {number}\n"
            ));
        }
        std::fs::write(&log, &text).unwrap();
        assert!(text.len() > 2 * READ_BYTES);
        let digest = digest_log(&log, 10, false).unwrap();
        assert_eq!(
            (digest.count, digest.classes.len()),
            (40_000, 1),
            "{digest:?}"
        );
        assert_eq!(digest.classes[0].fingerprint, "select ?, ?");
        assert!(!format!("{digest:?}").contains("secret"));
        std::fs::write(&log, "").unwrap();
        assert_eq!(digest_log(&log, 10, false).unwrap().count, 0);
    }
}
