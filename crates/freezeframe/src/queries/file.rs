//! `queries FILE…`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use cli::output;
use model::QueryWay;
use report::evidence::queries_json::write_queries_json;
use report::evidence::queries_text::{QueriesTextOptions, queries_text};
use sql::digest::{Digester, LogDigest, Options, Order};
use sql::log::LogKind;

use super::progress::Progress;
use super::pump::Amount;
use super::{diff, follow, input, options, pump};
use crate::args::{CompatArg, Queries};

/// Digests logs.
pub(crate) fn run(args: &Queries) -> Result<ExitCode> {
    if let Some([a, b]) = args.diff.as_deref() {
        return diff::run(args, a, b);
    }
    let digest = if args.follow {
        follow::run(args)?
    } else {
        let (digester, kind, amount) = read(&args.files, &options::options(args)?)?;
        tell_remarks(&digester, amount);
        finish(args, digester, kind)?
    };
    print(args, &digest)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads logs of one kind, one after the other, into one digest.
pub(super) fn read(
    files: &[PathBuf],
    options: &Options,
) -> Result<(Digester, Option<LogKind>, Amount)> {
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
        bail!("some of these are slow logs and some general logs: they tell different things");
    }
    let progress = Progress::new(known);
    let mut digester = Digester::new(options.clone());
    let mut amount = Amount::default();
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
) -> Result<(Digester, Amount)> {
    let input = input::open_known(path, kind)?;
    let progress = Progress::new(fs::metadata(path).map_or(0, |data| data.len()));
    let mut digester = Digester::new(options.clone());
    let amount = pump::digest(input, &mut digester, options, &progress);
    progress.clear();
    Ok((digester, amount?))
}

/// What does not belong into a report, and should not go unsaid.
pub(super) fn tell_remarks(digester: &Digester, amount: Amount) {
    if amount.stray > 0 {
        output::note(&format!(
            "{} of {} bytes belong to no statement",
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
    finish_as(args, digester, way(kind))
}

/// The digest of statements that were seen in this way.
pub(super) fn finish_as(args: &Queries, digester: Digester, way: QueryWay) -> Result<LogDigest> {
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

pub(super) fn way(kind: Option<LogKind>) -> QueryWay {
    match kind {
        Some(LogKind::General) => QueryWay::GeneralLog,
        _ => QueryWay::SlowLog,
    }
}

/// Prints a digest in the form that is asked for.
fn print(args: &Queries, digest: &LogDigest) -> Result<()> {
    let total = Some(&digest.total);
    if let Some(path) = &args.html {
        let names: Vec<String> = args
            .files
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let title = format!("Queries of {}", names.join(", "));
        let page = report::queries_page(&title, &digest.digest, total);
        super::write_page(path, &page)?;
        if !args.json {
            return Ok(());
        }
    }
    if args.json {
        return output::stream_json(|out| write_queries_json(out, &digest.digest, total));
    }
    let options = QueriesTextOptions {
        text: output::text_options(),
        compat_ids: args.compat == Some(CompatArg::Pt),
    };
    output::print_page(&queries_text(&digest.digest, total, &options))
}
