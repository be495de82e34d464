//! `freezeframe export`: an incident for other tools and other people.

mod profile_text;
mod summary;
mod target;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::export::check::{Check, Part};
use ::export::redact::{Leak, Names, Redacted};
use ::export::{redact, stalk};
use anyhow::{Context, Result, anyhow, bail};
use cli::{output, usage};
use diagnosis::{Verdict, diagnose};
use model::{Incident, Window};
use report::evidence::folded::folded_profile;
use report::evidence::pprof::{PprofOptions, pprof};
use report::evidence::speedscope::speedscope;

use crate::args::{Export, WhenArg};
use crate::config::Config;
use crate::{captures, causes};

use summary::{Redaction, Summary, WrittenFile};
use target::{Directory, File, SearchedPart};

/// Where the lines of logs stand in an incident's file, beside other texts.
const LOG_CELL: &str = "table text,";

/// A salt that is shorter can be tried.
const SALT_BYTES_MIN: usize = 16;

/// More of a salt file is not read.
const SALT_BYTES_MAX: u64 = 64 << 10;

/// A profile that is searched is no longer than this when unpacked.
const PROFILE_BYTES_MAX: u64 = 1 << 30;

pub(crate) fn run(args: &Export) -> Result<ExitCode> {
    let outputs = [
        &args.pt_stalk,
        &args.folded,
        &args.pprof,
        &args.speedscope,
        &args.output,
    ];
    if outputs.iter().all(|output| output.is_none()) {
        return Err(usage(anyhow!(
            "name an output: --pt-stalk DIR, --folded FILE, --pprof FILE, --speedscope FILE, or --redact -o FILE.frame"
        )));
    }
    cli::file_only("--output", args.output.as_deref())?;
    cli::file_only("--pt-stalk", args.pt_stalk.as_deref())?;
    let to_stdout = |path: &&PathBuf| path.as_path() == Path::new("-");
    let on_stdout = [&args.folded, &args.pprof, &args.speedscope];
    let on_stdout = on_stdout
        .iter()
        .filter_map(|path| path.as_ref())
        .filter(to_stdout);
    let quiet = match on_stdout.count() {
        0 => false,
        1 if args.json => {
            return Err(usage(anyhow!(
                "only one can go to standard output: --json or the samples"
            )));
        }
        1 => true,
        _ => {
            return Err(usage(anyhow!(
                "only one can go to standard output: --folded, --pprof or --speedscope"
            )));
        }
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
    let speedscope = file(&args.speedscope)?;
    let incident = incident(args)?;
    let mut told = Summary::default();
    let (incident, names) = match args.redact {
        false => (incident, None),
        true => {
            causes::use_directory(None, &Config::load(None)?);
            let check = Check::of(
                &incident,
                &raw_logs(&args.paths),
                store::INCIDENT_FILE_SCHEMA,
            );
            let (redacted, redaction) = redacted(&incident, &check, args.salt_file.as_deref())?;
            told.redaction = Some(redaction);
            let names = redacted.names;
            (redacted.incident, Some(Searched { names, check }))
        }
    };
    let names = names.as_ref();
    // All is made and searched before anything is written.
    let mut work: Vec<Box<dyn FnOnce() -> Result<()>>> = Vec::new();
    if let Some(directory) = directory {
        let made = stalk::pt_stalk(&incident, &jiff::tz::TimeZone::system());
        for one in &made.files {
            let is_log = ["log_error", "dmesg"]
                .iter()
                .any(|end| one.path.ends_with(end));
            search_text(
                names,
                &one.bytes,
                if is_log { Part::Log } else { Part::Other },
                &format!("{}/{}", directory.path().display(), one.path),
            )?;
            search(
                names,
                one.path.as_bytes(),
                "the name of a file for pt-stalk's directory",
            )?;
        }
        told.wrote.push(WrittenFile::new(
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
        let text = folded_profile(&profile, &incident.stacks.table, false);
        search_text(
            names,
            text.as_bytes(),
            Part::Other,
            &file.path().display().to_string(),
        )?;
        told.wrote
            .push(WrittenFile::new(file.path(), "folded stacks", None));
        work.push(Box::new(move || file.write(text.as_bytes())));
    }
    if let Some(file) = pprof {
        let profile = profile(&incident, args.when)?;
        let options = PprofOptions {
            wall_at_zero_ms: incident.clock.wall_at_zero_ms,
            ..PprofOptions::default()
        };
        let packed = self::pprof(&profile, &incident.stacks.table, &options);
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice())
            .take(PROFILE_BYTES_MAX)
            .read_to_end(&mut plain)?;
        // Text by text: behind each stands the mark of the next one, which is a letter or a digit, too.
        for text in profile_text::strings(&plain) {
            search(names, text, &file.path().display().to_string())?;
        }
        told.wrote
            .push(WrittenFile::new(file.path(), "pprof profile", None));
        work.push(Box::new(move || file.write(&packed)));
    }
    if let Some(file) = speedscope {
        let profile = profile(&incident, args.when)?;
        let text = self::speedscope(&profile, &incident.stacks.table, &incident.id);
        for text in profile_text::of_speedscope(&text) {
            search(names, text.as_bytes(), &file.path().display().to_string())?;
        }
        told.wrote
            .push(WrittenFile::new(file.path(), "speedscope profile", None));
        work.push(Box::new(move || file.write(text.as_bytes())));
    }
    if let Some(file) = frame {
        told.wrote
            .push(WrittenFile::new(file.path(), "incident", None));
        let incident = &incident;
        // The last: it is searched as it lies on the disk.
        let bytes = write_searched(&file, incident, names)?;
        if let Some(redaction) = &mut told.redaction {
            redaction.searched_bytes = redaction.searched_bytes.saturating_add(bytes);
        }
    }
    for write in work {
        write()?;
    }
    if quiet {
        return Ok(ExitCode::SUCCESS);
    }
    output::print_either(
        args.json,
        &if args.json { told.json()? } else { told.text() },
    )?;
    Ok(ExitCode::SUCCESS)
}

/// An incident's file without literals and names, as `--redact -o` writes it: searched, and refused where a name would
/// still stand in it. `room`: a directory of our own to write it to.
pub(crate) fn shared_file(path: &Path, salt: &[u8], room: &Path) -> Result<Vec<u8>> {
    crate::memory::now_reading(path);
    let incident = store::read_incident(path)?.incident;
    let check = Check::of(
        &incident,
        &raw_logs(&[path.to_owned()]),
        store::INCIDENT_FILE_SCHEMA,
    );
    let redacted = redact::redact(&incident, salt, store::INCIDENT_FILE_SCHEMA)
        .context("the incident cannot be redacted")?;
    let searched = Searched {
        names: redacted.names,
        check,
    };
    let file = File::at(&room.join("shared.frame"), true)?;
    write_searched(&file, &redacted.incident, Some(&searched))?;
    let bytes = std::fs::read(file.path()).with_context(|| file.path().display().to_string())?;
    std::fs::remove_file(file.path())?;
    Ok(bytes)
}

/// A salt that nobody knows and that is forgotten.
pub(crate) fn random_salt() -> Result<Vec<u8>> {
    salt(None)
}

/// Writes an incident's file, searches it as it lies on the disk; answers how many bytes it has.
fn write_searched(file: &File, incident: &Incident, names: Option<&Searched>) -> Result<u64> {
    file.write_incident(incident, |path, place, bytes| {
        let said = |place: &str| format!("{}, {place}", path.display());
        match place {
            SearchedPart::Cell(cell) => {
                let is_log = cell.starts_with(LOG_CELL) && !is_json(bytes);
                let part = if is_log { Part::Log } else { Part::Other };
                search_text(names, bytes, part, &said(cell))
            }
            SearchedPart::File => {
                let leak = names.and_then(|searched| searched.names.find_in_file(bytes));
                refused(leak, &said("the file's bytes"))
            }
        }
    })
}

/// The incident that is exported.
fn incident(args: &Export) -> Result<Incident> {
    match args.paths.as_slice() {
        [file] if captures::is_incident_file(file) => {
            crate::memory::now_reading(file);
            let loaded = store::read_incident(file)?;
            for damage in &loaded.damage {
                output::note(&format!("{}: {}", file.display(), damage.line()));
            }
            Ok(loaded.incident)
        }
        paths => Ok(captures::incident(paths)?.0),
    }
}

/// Texts of logs as the incident's file holds them: what is read from it has lost its values already.
fn raw_logs(paths: &[PathBuf]) -> Vec<String> {
    let mut logs = Vec::new();
    for path in paths.iter().filter(|path| captures::is_incident_file(path)) {
        // A file that cannot be read has been told already.
        let _ = store::each_cell(path, &mut |cell| {
            if cell.table == "text" && cell.column == "body" && !is_json(cell.bytes) {
                logs.push(String::from_utf8_lossy(cell.bytes).into_owned());
            }
            true
        });
    }
    logs
}

/// Whether a text of an incident's file is one of ours: sessions, semaphores, threads.
fn is_json(text: &[u8]) -> bool {
    text.starts_with(b"{") || text.starts_with(b"[")
}

/// What the result is searched for: the names that were replaced, and those that were read by other code.
struct Searched {
    names: Names,
    check: Check,
}

fn redacted(
    incident: &Incident,
    check: &Check,
    salt_file: Option<&Path>,
) -> Result<(Redacted, Redaction)> {
    let salt = salt(salt_file)?;
    let redacted = redact::redact(incident, &salt, store::INCIDENT_FILE_SCHEMA)
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
        checked: check.searched(),
        unchecked: check.unchecked().to_vec(),
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
            "{}: a salt needs at least {SALT_BYTES_MIN} bytes, this one has {}: head -c 32 /dev/urandom > {}",
            file.display(),
            salt.len(),
            file.display()
        );
    }
    Ok(salt)
}

/// Refuses what holds a name that was replaced.
fn search(searched: Option<&Searched>, bytes: &[u8], place: &str) -> Result<()> {
    let leak = searched.and_then(|searched| {
        let leak = searched.names.find(bytes);
        leak.or_else(|| searched.check.find(bytes, Part::Other))
    });
    refused(leak, place)
}

/// Refuses the same in a text, and what by its form can only be somebody's.
fn search_text(searched: Option<&Searched>, bytes: &[u8], part: Part, place: &str) -> Result<()> {
    let leak = searched.and_then(|searched| {
        let leak = searched.names.find_in_text(bytes);
        leak.or_else(|| searched.check.find(bytes, part))
    });
    refused(leak, place)
}

fn refused(leak: Option<Leak>, place: &str) -> Result<()> {
    match leak {
        None => Ok(()),
        Some(leak) => bail!(
            "nothing was written: {leak} would still be in {place}, byte {}; please report it",
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
            "the incident has no CPU samples: {} ({})",
            absent.reason.to_text(),
            absent.detail
        ),
        None if incident.stacks.profiles.is_empty() => {
            bail!("the incident has no CPU samples")
        }
        None => {
            bail!("the incident has no CPU samples of that time; --when all writes those it has")
        }
    }
}

#[cfg(test)]
mod tests {
    use testbed::{IncidentSize, made_incident};

    use super::*;

    /// Its rule is kept as it is: so a rule that is called like a name stands for one that the redactor forgot.
    #[test]
    fn a_refusal_never_says_what_it_found() {
        for name in ["payroll7.acme.example", "10.20.30.40", "quillfeather"] {
            let dir = tempfile::tempdir().unwrap();
            let mut incident = made_incident(&IncidentSize::small());
            incident.host = name.to_owned();
            incident.stall.triggers[0].rule = name.to_owned();
            let path = store::write_incident(&incident, dir.path()).unwrap();
            let salt = b"0123456789abcdef";
            let told = format!("{:#}", shared_file(&path, salt, dir.path()).unwrap_err());
            assert!(
                told.contains(&format!("of {} bytes (", name.len())),
                "{told}"
            );
            assert!(
                told.contains("would still be in") && told.contains("column"),
                "{told}"
            );
            assert!(!told.contains(name), "{told}");
        }
    }
}
