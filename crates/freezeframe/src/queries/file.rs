//! Reads logs into one digest.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use cli::output;
use model::QueryMethod;
use sql::digest::{Digester, LogDigest, Options, Order};
use sql::log::LogKind;

use super::progress::Progress;
use super::pump::ReadCounts;
use super::{input, options, pump};
use crate::args::Queries;

/// Reads logs of one kind, one after the other, into one digest.
pub(super) fn read(
    files: &[PathBuf],
    options: &Options,
) -> Result<(Digester, Option<LogKind>, ReadCounts)> {
    let sizes = files
        .iter()
        .map(|path| fs::metadata(path).map(|data| data.len()));
    // Of a pipe nobody knows how much will come, of a packed file how much is in it.
    let mut known = sizes.sum::<Result<u64, _>>().unwrap_or_default();
    let inputs = files
        .iter()
        .map(|path| input::open(path))
        .collect::<Result<Vec<_>>>()?;
    if inputs
        .iter()
        .any(|input| matches!(input.bytes, input::Bytes::Stream(_)))
    {
        known = 0;
    }
    let mut kinds = inputs.iter().filter_map(|input| input.kind);
    let kind = kinds.next();
    if kinds.any(|other| Some(other) != kind) {
        bail!("slow logs and general logs cannot be mixed");
    }
    // A log may be new. Nothing on standard input is a command before us that failed.
    if kind.is_none() && files.iter().all(|path| input::is_standard_input(path)) {
        bail!("standard input is empty: no log to read");
    }
    let progress = Progress::new(known);
    let mut digester = Digester::new(options.clone());
    let mut amount = ReadCounts::default();
    for input in inputs {
        let read = pump::digest(input, &mut digester, options, &progress);
        progress.clear();
        let read = read?;
        amount.bytes += read.bytes;
        amount.stray += read.stray;
    }
    Ok((digester, kind, amount))
}

/// Reads a log whose kind is known, whatever is in it.
pub(super) fn read_known(
    path: &Path,
    kind: LogKind,
    options: &Options,
) -> Result<(Digester, ReadCounts)> {
    let input = input::open_known(path, kind)?;
    let progress = Progress::new(fs::metadata(path).map_or(0, |data| data.len()));
    let mut digester = Digester::new(options.clone());
    let amount = pump::digest(input, &mut digester, options, &progress);
    progress.clear();
    Ok((digester, amount?))
}

/// What does not belong into a report, and should not go unsaid.
pub(super) fn print_remarks(digester: &Digester, amount: ReadCounts) {
    if amount.stray > 0 {
        output::note(&format!(
            "{} of {} bytes are not part of a statement",
            amount.stray, amount.bytes
        ));
    }
    if digester.count() == 0 && digester.filtered() > 0 {
        output::note(&format!(
            "all {} statements are left out by --since, --until or --filter",
            digester.filtered()
        ));
    }
}

/// The digest as it is to be told.
pub(super) fn finish(
    args: &Queries,
    digester: Digester,
    kind: Option<LogKind>,
) -> Result<LogDigest> {
    finish_as(args, digester, method(kind))
}

/// The digest of statements that were seen in this way.
pub(super) fn finish_as(args: &Queries, digester: Digester, way: QueryMethod) -> Result<LogDigest> {
    let order = options::order(args)?;
    if let Order::Measure(name, _) = &order
        && digester.count() > 0
        && !digester.measures(name)
    {
        let names: Vec<&str> = digester.measure_names().collect();
        bail!(
            "--order-by {name}: the log has no such number; it has: {}",
            names.join(", ")
        );
    }
    Ok(digester.finish(way, &order, options::limit(args), args.no_redact))
}

pub(super) fn method(kind: Option<LogKind>) -> QueryMethod {
    match kind {
        Some(LogKind::General) => QueryMethod::GeneralLog,
        _ => QueryMethod::SlowLog,
    }
}
