//! `queries --diff A B`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use cli::{output, usage};
use jiff::Zoned;
use model::QueryDigest;
use report::evidence::queries_diff::{QueriesDiffOptions, diff_json, queries_diff};
use report::evidence::queries_text::diff_text;
use sql::digest::Order;

use super::{file, options};
use crate::args::Queries;

/// An output of `--json` that is read at the most.
const JSON_BYTES_MAX: u64 = 64 << 20;

pub(super) fn run(args: &Queries, a: &str, b: &str) -> Result<ExitCode> {
    // A mistake in the second is told before the first is read.
    let (of_a, of_b) = (file_and_interval(a)?, file_and_interval(b)?);
    let (before, during) = (side(args, of_a)?, side(args, of_b)?);
    let changes = queries_diff(&before, &during);
    let limit = options::limit(args).unwrap_or(usize::MAX);
    if let Some(path) = &args.html {
        let title = format!("{b} against {a}");
        super::write_page(path, &report::queries_diff_page(&title, &before, &during))?;
        if !args.json {
            return Ok(ExitCode::SUCCESS);
        }
    }
    let text = if args.json {
        diff_json(&changes, limit)
    } else {
        let options = QueriesDiffOptions {
            text: output::text_options(),
            limit,
            names: (a, b),
        };
        diff_text(&changes, &options)
    };
    output::print_either(args.json, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// A log, a stretch of one, or a digest that was printed before.
fn side(args: &Queries, (path, stretch): (PathBuf, Option<Stretch>)) -> Result<QueryDigest> {
    if stretch.is_none()
        && let Some(digest) = printed(&path)?
    {
        return Ok(digest);
    }
    let mut wanted = options::options(args)?;
    if let Some((from_us, to_us)) = stretch {
        wanted.since_us = from_us.or(wanted.since_us);
        wanted.until_us = to_us.or(wanted.until_us);
    }
    let (digester, kind, amount) = file::read(std::slice::from_ref(&path), &wanted)?;
    file::print_remarks(&digester, amount);
    let mut digest = digester
        .finish(file::method(kind), &Order::Usual, None, args.no_redact)
        .digest;
    // Rates are of the stretch that was asked for, also where its first minute had no statement.
    digest.from_us = wanted.since_us.or(digest.from_us);
    digest.to_us = wanted.until_us.or(digest.to_us);
    Ok(digest)
}

type Stretch = (Option<i64>, Option<i64>);

/// `FILE@FROM..TO`, either of which may be missing. A file that is there under the whole name is one.
fn file_and_interval(text: &str) -> Result<(PathBuf, Option<Stretch>)> {
    let whole = PathBuf::from(text);
    let Some((path, stretch)) = text.rsplit_once('@').filter(|_| !whole.exists()) else {
        return Ok((whole, None));
    };
    let Some((from, to)) = stretch.split_once("..") else {
        return Err(usage(anyhow!("{text}: FILE@FROM..TO expected")));
    };
    let now = Zoned::now();
    let moment = |text: &str| match text {
        "" => Ok(None),
        text => options::parse_time(text, &now).map(Some).map_err(usage),
    };
    Ok((PathBuf::from(path), Some((moment(from)?, moment(to)?))))
}

/// An output of `queries --json`; `None` when it is something else.
fn printed(path: &Path) -> Result<Option<QueryDigest>> {
    use std::io::Read;
    let read = || -> std::io::Result<Option<Vec<u8>>> {
        if !std::fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        let mut file = std::fs::File::open(path)?;
        let mut bytes = vec![0; 1];
        if file.read(&mut bytes)? == 0 || bytes != b"{" {
            return Ok(None);
        }
        file.take(JSON_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    };
    let Some(bytes) = read().with_context(|| path.display().to_string())? else {
        return Ok(None);
    };
    let digest = serde_json::from_slice(&bytes)
        .with_context(|| format!("{}: not an output of queries --json", path.display()))?;
    Ok(Some(digest))
}
