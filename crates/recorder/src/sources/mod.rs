//! The sources: one [`Reader`] for each row of [`model::SOURCES`], with the signals that it brings. The build script finds
//! them in the files of this folder.

use std::io;

use kernel::read::ReadError;
use model::{Absent, Reading, Reason, SourceData};

use crate::context::Context;
pub(crate) use crate::reader::{Outcome, Reader, Signals, State, signals};
use crate::worker;

include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Starts the threads. They end by themselves when `stop` is set; one that hangs in a reading is
/// left behind, it holds nothing that others need.
pub(crate) fn start(context: &Context) -> io::Result<()> {
    THREADS.iter().try_for_each(|start| start(context))
}

/// The signals of each source.
pub(crate) fn brought() -> impl Iterator<Item = (&'static str, &'static Signals)> {
    let sources = BROUGHT.iter();
    sources.flat_map(|(source, signals)| signals.iter().map(|signals| (*source, signals)))
}

/// The absence that a failed read of a kernel file is.
pub(crate) fn absent(what: &str, error: &ReadError) -> Absent {
    let reason = match error {
        ReadError::Io { source, .. } => match source.kind() {
            std::io::ErrorKind::PermissionDenied => Reason::Permission,
            std::io::ErrorKind::NotFound => Reason::Unsupported,
            _ if error.is_gone() => Reason::Gone,
            _ => Reason::Failed,
        },
        ReadError::TooLong { .. } => Reason::Limit,
        ReadError::Format { .. } => Reason::Failed,
    };
    Absent::new(what, reason, error.to_string())
}

/// Readings and nothing else.
pub(crate) fn readings(readings: Vec<Reading>) -> SourceData {
    SourceData {
        readings,
        ..SourceData::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_row_has_one_reader_and_the_areas_of_its_signals_are_known() {
        let rows: Vec<&str> = model::SOURCES.iter().map(|row| row.name).collect();
        let readers: BTreeSet<&str> = BROUGHT.iter().map(|(source, _)| *source).collect();
        assert_eq!((rows.len(), readers.len()), (BROUGHT.len(), BROUGHT.len()));
        assert!(rows.iter().all(|row| readers.contains(row)));
        for (source, signals) in brought() {
            let known = signals
                .names
                .iter()
                .all(|name| model::area_of(name).is_some());
            assert!(known, "{source}: {signals:?}");
        }
    }
}
