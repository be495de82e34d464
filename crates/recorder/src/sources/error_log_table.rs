//! The error log of a server on another host, by SQL.

use model::{Reading, SourceData, Unit};

use super::database::DatabaseState;
use super::{Outcome, Reader};

#[rustfmt::skip]
pub(crate) static ERROR_LOG_TABLE: Reader<DatabaseState> = Reader {
    source: "error-log-table",
    // Those of the error log.
    signals: &[],
    read: error_log_table,
};

fn error_log_table(state: &mut DatabaseState) -> Outcome {
    // Here its file is read.
    if !state.is_elsewhere() {
        return Ok(SourceData::default());
    }
    let mut table = std::mem::take(&mut state.error_log.table);
    let mut lines = Vec::new();
    let outcome = state.ask("error-log", |session| {
        lines = table.read(session)?;
        Ok(SourceData::default())
    });
    state.error_log.table = table;
    let mut taken = outcome?;
    let log = &mut state.error_log;
    log.lines += lines.len() as u64;
    log.bytes += lines.iter().map(|line| line.len() as u64 + 1).sum::<u64>();
    taken.readings = vec![
        Reading::counter("error_log.lines", Unit::Count, log.lines as f64),
        Reading::counter("error_log.bytes", Unit::Bytes, log.bytes as f64),
    ];
    if !lines.is_empty() {
        let text = lines.join("\n");
        taken.texts.extend(super::logs::error_log_texts(&text));
    }
    Ok(taken)
}
