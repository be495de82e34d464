//! `queries FILE…`.

use std::process::ExitCode;

use anyhow::Result;
use cli::output;
use report::evidence::queries_json::write_queries_json;
use report::evidence::queries_text::{QueriesTextOptions, queries_text};
use sql::digest::LogDigest;

use super::{diff, file, follow, options};
use crate::args::{CompatArg, Queries};

/// Digests logs.
pub(super) fn run(args: &Queries) -> Result<ExitCode> {
    // What no log could make right is told before any is read.
    options::order(args)?;
    if let Some([a, b]) = args.diff.as_deref() {
        return diff::run(args, a, b);
    }
    let digest = if args.follow {
        follow::run(args)?
    } else {
        let (digester, kind, amount) = file::read(&args.files, &options::options(args)?)?;
        file::print_remarks(&digester, amount);
        file::finish(args, digester, kind)?
    };
    print(args, &digest)?;
    Ok(ExitCode::SUCCESS)
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
