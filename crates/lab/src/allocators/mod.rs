//! `freezeframe-lab allocators`: the same work under several memory allocators.

mod numbers;
mod rounds;
mod summary;

use std::process::ExitCode;

use anyhow::{Context, Result};
use cli::output;
use store::write_private;
use testbed::{Allocator, ServerKind};

use crate::args::Allocators;

pub(crate) use rounds::memory;

/// Servers that run with the allocator they are given, the best known one first. MySQL 9 of Debian
/// brings tcmalloc with it.
const SERVERS: [ServerKind; 3] = [
    ServerKind::MySql55,
    ServerKind::MariaDb,
    ServerKind::MariaDb11,
];

pub(crate) fn run(args: &Allocators) -> Result<ExitCode> {
    let kind = match args.server {
        Some(server) => ServerKind::from(server),
        None => SERVERS
            .into_iter()
            .find(|kind| testbed::installed(*kind).is_ok())
            .context("there is no server; `scripts/need server` installs one")?,
    };
    let allocators = match args.allocators.as_slice() {
        [] => Allocator::ALL.to_vec(),
        some => some.to_vec(),
    };
    let (trials, left_out) = rounds::run(kind, &allocators, args.rounds, args.json)?;
    let summaries = summary::summaries(&trials);
    let sheet = summary::sheet(kind, args.rounds, &trials, &summaries, &left_out);
    if let Some(path) = &args.html {
        write_private(path, report::document_html(&sheet).as_bytes())?;
    }
    if args.json {
        let document = summary::json(kind, args.rounds, &trials, &summaries, &left_out);
        output::print_json(&document)?;
    } else {
        output::print_page(&report::document_text(&sheet, &output::text_options()))?;
        if let Some(path) = &args.html {
            output::print(&format!("wrote {}", path.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
