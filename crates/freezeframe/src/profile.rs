//! `freezeframe profile`: what the processors run, measured or read from a file.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use ::stacks::profiler::{Profiled, Profiler, Subject};
use anyhow::{Context, Result, bail};
use cli::output;
use model::Profile;
use report::evidence::folded::folded_profile;
use report::evidence::pprof::{PprofOptions, pprof};
use report::evidence::profile_diff::{RankBy, profile_diff};
use report::evidence::profile_document::ProfileDocument;
use report::evidence::profile_json::{diff_json, profile_json};
use report::evidence::profile_text::{ProfileTextOptions, diff_text, profile_text};
use store::write_private;

use crate::args;
use crate::config::Config;
use crate::live::{self, Progress};
use crate::no_loss::refuse_loss;
use crate::{captures, memory};

/// A profile file of ours that is read at the most: more than a day at 99 Hz. What it becomes is larger.
const FILE_BYTES_MAX: u64 = 96 << 20;

pub(crate) fn run(args: &args::Profile) -> Result<ExitCode> {
    for (option, path) in [
        ("--output", &args.output),
        ("--html", &args.html),
        ("--pprof", &args.pprof),
    ] {
        cli::file_only(option, path.as_deref())?;
        if let Some(path) = path {
            refuse_loss(option, path, args.diff.as_deref().unwrap_or_default())?;
        }
    }
    match args.diff.as_deref() {
        Some([a, b]) => diff(args, a, b),
        _ => take(args),
    }
}

fn take(args: &args::Profile) -> Result<ExitCode> {
    let chosen = args.server.names_one();
    // Whether a server is found is no matter then, but what is said of it must be right.
    Config::load(args.server.config.as_deref())?;
    let live = if chosen {
        Some(live::find(&args.server)?)
    } else {
        // Whose samples are the server's, when there is just one.
        live::find(&args.server).ok()
    };
    let pid = live.map(|live| live.pid);
    let subject = match pid.filter(|_| chosen) {
        Some(pid) => Subject::Process(pid),
        None => Subject::Machine,
    };
    for path in [&args.output, &args.html, &args.pprof]
        .into_iter()
        .flatten()
    {
        try_to_open(path)?;
    }
    let wall_at_zero_ms = kernel::clock::wall_ms();
    let mut profiler = Profiler::open(subject, pid, args.hz)?;
    let stop = live::stop_on_signals()?;
    let end = Instant::now() + args.seconds;
    let mut progress = Progress::new("samples", 0);
    profiler.run(|samples| {
        progress.show(samples as usize);
        Instant::now() < end && !stop.is_set()
    });
    progress.clear();
    if !profiler.sees_kernel() {
        output::note("user side only: the kernel's side needs CAP_PERFMON (see freezeframe check)");
    }
    let Profiled {
        profile,
        book,
        build_ids,
    } = profiler.finish();
    if let Some(path) = &args.html {
        let title = format!("Profile of {}", subject_words(subject));
        let page = report::profile_page(&title, &profile, &book);
        write_private(path, page.as_bytes())?;
    }
    if let Some(path) = &args.pprof {
        let options = PprofOptions {
            wall_at_zero_ms,
            build_ids,
            server_only: false,
        };
        write_private(path, &pprof(&profile, &book, &options))?;
    }
    let limit = args.limit;
    let text = if args.json {
        profile_json(&profile, &book, false, limit)
    } else if args.folded {
        folded_profile(&profile, &book, false)
    } else {
        let options = ProfileTextOptions {
            text: output::text_options(),
            limit,
            server_only: false,
        };
        profile_text(&profile, &book, &options)
    };
    if let Some(path) = &args.output {
        let document = ProfileDocument {
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            host: recorder::host_name(),
            pid,
            wall_at_zero_ms,
            ..ProfileDocument::new(profile, book)
        };
        write_private(path, document.to_json().as_bytes())?;
    }
    output::print_either(args.json, &text)?;
    Ok(ExitCode::SUCCESS)
}

fn subject_words(subject: Subject) -> String {
    match subject {
        Subject::Machine => "the whole machine".to_owned(),
        Subject::Process(pid) => format!("process {pid}"),
    }
}

fn diff(args: &args::Profile, a: &Path, b: &Path) -> Result<ExitCode> {
    let (first, second) = (read(a)?, read(b)?);
    let (first_side, second_side) = (
        (&first.profile, &first.book),
        (&second.profile, &second.book),
    );
    if let Some(path) = &args.html {
        let title = format!("{} against {}", b.display(), a.display());
        let page = report::profile_diff_page(&title, first_side, second_side);
        write_private(path, page.as_bytes())?;
    }
    let rank_by = RankBy::usual(&first.profile, &second.profile);
    let compared = profile_diff(first_side, second_side, false, rank_by);
    let text = if args.json {
        diff_json(&compared, args.limit)
    } else {
        let options = ProfileTextOptions {
            text: output::text_options(),
            limit: args.limit,
            server_only: false,
        };
        let names = (a.display().to_string(), b.display().to_string());
        diff_text(&compared, (&names.0, &names.1), &options)
    };
    output::print_either(args.json, &text)?;
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<ProfileDocument> {
    memory::now_reading(path);
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .with_context(|| path.display().to_string())?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        drop(bytes);
        // What other profilers print is read as far as it goes.
        return captured(path).with_context(|| {
            format!(
                "{}: more than {} MiB, too large for a profile",
                path.display(),
                FILE_BYTES_MAX >> 20
            )
        });
    }
    let text = String::from_utf8_lossy(&bytes);
    match ProfileDocument::read(&text) {
        Ok(document) => Ok(document),
        // Neither ours nor folded: perhaps what another profiler printed.
        Err(error) => match captured(path) {
            Some(document) => Ok(document),
            // What a reader of lines says of it would be a piece of it.
            None if bytes.contains(&0) => bail!(
                "{}: neither a profile nor what a profiler prints: it is no text",
                path.display()
            ),
            None => Err(error).with_context(|| path.display().to_string()),
        },
    }
}

/// The samples that another profiler printed: opreport, perf report, perf script, pprof; of an
/// incident all of its samples.
fn captured(path: &Path) -> Option<ProfileDocument> {
    let incident = match captures::is_incident_file(path) {
        true => store::read_incident(path).ok()?.incident,
        false => captures::incident(&[path.to_owned()]).ok()?.0,
    };
    let wall_at_zero_ms = incident.clock.wall_at_zero_ms;
    let evidence = incident.stacks;
    if evidence.profiles.is_empty() {
        return None;
    }
    // Captures need not tell how long they took: only shares are compared.
    let profile = Profile {
        from: 0,
        to: 0,
        hz: 0,
        ..captures::all_samples(&evidence)
    };
    Some(ProfileDocument {
        host: incident.host,
        wall_at_zero_ms,
        ..ProfileDocument::new(profile, evidence.table)
    })
}

/// Tells before anything is measured of a file that cannot be written; what is there stays, and nothing new is left.
fn try_to_open(path: &Path) -> Result<()> {
    let is_new = path.symlink_metadata().is_err();
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    options
        .open(path)
        .and_then(|_| {
            if is_new {
                std::fs::remove_file(path)
            } else {
                Ok(())
            }
        })
        .with_context(|| path.display().to_string())
}
