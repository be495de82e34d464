//! `freezeframe export`: an incident for other tools and other people.

mod target;
mod told;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::export::redact::{Leak, Names, Redacted};
use ::export::{redact, stalk};
use anyhow::{Context, Result, bail};
use diagnosis::{Verdict, diagnose};
use model::{Incident, Window};
use report::evidence::folded::folded_profile;
use report::evidence::pprof::{PprofOptions, pprof};

use crate::args::{Export, WhenArg};
use crate::config::Config;
use crate::{captures, causes, output};

use target::{Directory, File, Place};
use told::{Redaction, Told, Wrote};

/// A salt that is shorter can be tried.
const SALT_BYTES_MIN: usize = 16;

/// More of a salt file is not read.
const SALT_BYTES_MAX: u64 = 64 << 10;

/// A profile that is searched is no longer than this when unpacked.
const PROFILE_BYTES_MAX: u64 = 1 << 30;

pub(crate) fn run(args: &Export) -> Result<ExitCode> {
    let outputs = [&args.pt_stalk, &args.folded, &args.pprof, &args.output];
    if outputs.iter().all(|output| output.is_none()) {
        bail!(
            "say what to write: --pt-stalk DIR, --folded FILE, --pprof FILE, or --redact -o FILE.frame"
        );
    }
    let to_stdout = |path: &&PathBuf| path.as_path() == Path::new("-");
    let on_stdout = [&args.folded, &args.pprof];
    let on_stdout = on_stdout
        .iter()
        .filter_map(|path| path.as_ref())
        .filter(to_stdout);
    let quiet = match on_stdout.count() {
        0 => false,
        1 if args.json => bail!("standard output is for one of both: --json or the samples"),
        1 => true,
        _ => bail!("standard output is for one of both: --folded or --pprof"),
    };
    // What is in the way is told before any work is done.
    let directory = args
        .pt_stalk
        .as_deref()
        .map(|path| Directory::at(path, args.force))
        .transpose()?;
    let file = |path: &Option<PathBuf>| {
        path.as_deref()
            .map(|path| File::at(path, args.force))
            .transpose()
    };
    let (folded, pprof, frame) = (file(&args.folded)?, file(&args.pprof)?, file(&args.output)?);
    let incident = incident(args)?;
    let mut told = Told::default();
    let (incident, names) = match args.redact {
        false => (incident, None),
        true => {
            causes::use_directory(None, &Config::load(None)?);
            let (redacted, redaction) = redacted(&incident, args.salt_file.as_deref())?;
            told.redaction = Some(redaction);
            (redacted.incident, Some(redacted.names))
        }
    };
    let names = names.as_ref();
    // All is made and searched before anything is written.
    let mut work: Vec<Box<dyn FnOnce() -> Result<()>>> = Vec::new();
    if let Some(directory) = directory {
        let made = stalk::pt_stalk(&incident, &jiff::tz::TimeZone::system());
        for one in &made.files {
            search_text(
                names,
                &one.bytes,
                &format!("{}/{}", directory.path().display(), one.path),
            )?;
            search(
                names,
                one.path.as_bytes(),
                "the name of a file for pt-stalk's directory",
            )?;
        }
        told.wrote.push(Wrote::new(
            directory.path(),
            "pt-stalk directory",
            Some(made.files.len()),
        ));
        told.missing = made
            .missing
            .iter()
            .map(|one| (one.file, one.why.clone()))
            .collect();
        work.push(Box::new(move || directory.write(&made.files)));
    }
    if let Some(file) = folded {
        let profile = profile(&incident, args.when)?;
        let text = folded_profile(&profile, &incident.stacks.book, false);
        search_text(names, text.as_bytes(), &file.path().display().to_string())?;
        told.wrote
            .push(Wrote::new(file.path(), "folded stacks", None));
        work.push(Box::new(move || file.write(text.as_bytes())));
    }
    if let Some(file) = pprof {
        let profile = profile(&incident, args.when)?;
        let options = PprofOptions {
            wall_at_zero_ms: incident.clock.wall_at_zero_ms,
            ..PprofOptions::default()
        };
        let packed = self::pprof(&profile, &incident.stacks.book, &options);
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice())
            .take(PROFILE_BYTES_MAX)
            .read_to_end(&mut plain)?;
        search(names, &plain, &file.path().display().to_string())?;
        told.wrote
            .push(Wrote::new(file.path(), "pprof profile", None));
        work.push(Box::new(move || file.write(&packed)));
    }
    if let Some(file) = frame {
        told.wrote.push(Wrote::new(file.path(), "incident", None));
        let incident = &incident;
        // The last: it is searched as it lies on the disk.
        let bytes = file.write_incident(incident, |path, place, bytes| {
            let said = |place: &str| format!("{}, {place}", path.display());
            match place {
                Place::Cell(cell) => search_text(names, bytes, &said(cell)),
                Place::File => search(names, bytes, &said("the file's bytes")),
            }
        })?;
        if let Some(redaction) = &mut told.redaction {
            redaction.searched_bytes = redaction.searched_bytes.saturating_add(bytes);
        }
    }
    for write in work {
        write()?;
    }
    if quiet {
        std::io::stdout().flush()?;
    } else {
        output::print(&if args.json { told.json()? } else { told.text() })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The incident that is exported.
fn incident(args: &Export) -> Result<Incident> {
    match args.paths.as_slice() {
        [file] if captures::is_frame(file) => {
            let loaded = store::read_frame(file)?;
            for damage in &loaded.damage {
                output::note(&format!(
                    "{}: table '{}' is damaged after {} rows, the rest of it is left out: {}",
                    file.display(),
                    damage.table,
                    damage.rows_read,
                    damage.problem
                ));
            }
            Ok(loaded.incident)
        }
        paths => Ok(captures::incident(paths)?.0),
    }
}

fn redacted(incident: &Incident, salt_file: Option<&Path>) -> Result<(Redacted, Redaction)> {
    let salt = salt(salt_file)?;
    let redacted = redact::redact(incident, &salt, store::FRAME_SCHEMA)
        .context("the incident cannot be redacted")?;
    let first = |verdict: &Verdict| {
        verdict
            .findings
            .iter()
            .map(|finding| (finding.cause.clone(), finding.level))
            .collect::<Vec<_>>()
    };
    let (before, after) = (
        first(&diagnose(incident, causes::catalogue())),
        first(&diagnose(&redacted.incident, causes::catalogue())),
    );
    let redaction = Redaction {
        names: redacted.names.searched(),
        unsearched: redacted.names.unsearched.clone(),
        stable: salt_file.is_some(),
        same_verdict: before == after,
        before,
        after,
        searched_bytes: 0,
    };
    Ok((redacted, redaction))
}

fn salt(file: Option<&Path>) -> Result<Vec<u8>> {
    let Some(file) = file else {
        let mut salt = vec![0; 32];
        std::fs::File::open("/dev/urandom")
            .and_then(|mut random| random.read_exact(&mut salt))
            .context("/dev/urandom")?;
        return Ok(salt);
    };
    let mut salt = Vec::new();
    std::fs::File::open(file)
        .and_then(|file| file.take(SALT_BYTES_MAX).read_to_end(&mut salt))
        .with_context(|| file.display().to_string())?;
    if salt.len() < SALT_BYTES_MIN {
        bail!(
            "{}: a salt has at least {SALT_BYTES_MIN} bytes, this has {}: head -c 32 /dev/urandom > {}",
            file.display(),
            salt.len(),
            file.display()
        );
    }
    Ok(salt)
}

/// Refuses what holds a name that was replaced.
fn search(names: Option<&Names>, bytes: &[u8], place: &str) -> Result<()> {
    refused(names.and_then(|names| names.find(bytes)), place)
}

/// Refuses the same in a text, and what by its form can only be somebody's.
fn search_text(names: Option<&Names>, bytes: &[u8], place: &str) -> Result<()> {
    refused(names.and_then(|names| names.find_in_text(bytes)), place)
}

fn refused(leak: Option<Leak>, place: &str) -> Result<()> {
    match leak {
        None => Ok(()),
        Some(leak) => bail!(
            "nothing was written: '{}' would still stand in {place}, byte {}; please report it",
            leak.name,
            leak.at
        ),
    }
}

fn profile(incident: &Incident, when: WhenArg) -> Result<model::Profile> {
    let window = match when {
        WhenArg::Stall => incident.stall_window(),
        WhenArg::Before => incident.baseline_window(),
        WhenArg::All => Window {
            from: 0,
            to: u64::MAX,
        },
    };
    if let Some(profile) = ::export::profile(incident, window) {
        return Ok(profile);
    }
    let absent = incident
        .absent
        .iter()
        .map(|timed| &timed.absent)
        .find(|absent| absent.what.starts_with("profile"));
    match absent {
        Some(absent) => bail!(
            "the incident has no samples of the processors: {} ({})",
            absent.reason.words(),
            absent.detail
        ),
        None if incident.stacks.profiles.is_empty() => {
            bail!("the incident has no samples of the processors")
        }
        None => bail!("the incident has no samples of that time; --when all writes those it has"),
    }
}

/// The first finding in a few words.
pub(crate) fn verdict_line(findings: &[(String, diagnosis::Level)]) -> String {
    match findings.first() {
        Some((cause, level)) => format!("{cause} ({})", level.word()),
        None => "no cause".to_owned(),
    }
}
