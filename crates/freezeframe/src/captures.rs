//! Files, directories, archives and standard input with what others captured: opened here, read by
//! crate `import`.

mod archive;
#[cfg(test)]
mod cut_tests;
mod replay;
mod stretches;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use diagnosis::SourceRead;
use import::{Input, Part};
use model::{Incident, Profile, StackEvidence};

use crate::args::Import;
use crate::output;

/// Bytes of all captures together that are read.
const BYTES_MAX: u64 = 512 << 20;

/// Files of a directory or an archive that are read.
const FILES_MAX: usize = 10_000;

/// Files without anything known from which on they are told together.
const TOGETHER_MIN: usize = 4;

/// Folders in folders.
const DEPTH_MAX: usize = 8;

/// What SQLite files begin with: an incident of ours is one.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Captures as opened.
#[derive(Default)]
pub(crate) struct Found {
    files: Vec<(String, Vec<u8>)>,
    /// What was not opened, with the reason.
    left_out: Vec<SourceRead>,
    /// Folders with another stretch of the same recording.
    stretches: Vec<PathBuf>,
    bytes: u64,
}

/// Whether a path is an incident of ours: by its begin, or by its name where it cannot be read.
pub(crate) fn is_frame(path: &Path) -> bool {
    if path == Path::new("-") || path.is_dir() {
        return false;
    }
    let mut head = [0; SQLITE.len()];
    let is_sqlite = File::open(path)
        .and_then(|mut file| file.read_exact(&mut head))
        .is_ok_and(|()| head == SQLITE);
    (is_sqlite && !store::is_replay(path)) || path.extension().is_some_and(|end| end == "frame")
}

/// `freezeframe import`.
pub(crate) fn run(args: &Import) -> Result<ExitCode> {
    let (incident, sources) = incident(&args.paths)?;
    store::write_frame_file(&incident, &args.output)?;
    if args.json {
        output::print(&serde_json::to_string_pretty(
            &serde_json::json!({ "wrote": args.output.display().to_string(), "sources": sources }),
        )?)?;
    } else {
        for source in &sources {
            output::print(&source.line())?;
        }
        output::print(&format!("wrote {}", args.output.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The incident that captures tell of, and what was read.
pub(crate) fn incident(paths: &[PathBuf]) -> Result<(Incident, Vec<SourceRead>)> {
    incident_of(&opened(paths)?, paths)
}

/// Opens captures, and archives among them.
pub(crate) fn opened(paths: &[PathBuf]) -> Result<Found> {
    let mut found = Found::default();
    for path in paths {
        open(path, &mut found)?;
    }
    Ok(found)
}

/// The incident that opened captures tell of, and what was read.
pub(crate) fn incident_of(found: &Found, paths: &[PathBuf]) -> Result<(Incident, Vec<SourceRead>)> {
    let inputs: Vec<Input<'_>> = found.inputs().collect();
    let mut imported = import::import(&inputs);
    if let Some(incident) = &mut imported.incident {
        name(incident, paths);
    }
    let mut sources = together(imported.parts.into_iter().map(source).collect());
    sources.extend(found.left_out.iter().cloned());
    match imported.incident {
        Some(incident) => {
            let incident = stretches::join(incident, &found.stretches, &mut sources)?;
            Ok((incident, sources))
        }
        None if sources.is_empty() => bail!("there is no file in it"),
        None => {
            let told: Vec<String> = sources.iter().take(3).map(SourceRead::line).collect();
            bail!(
                "nothing in it is known as evidence of a stall: {}",
                told.join("; ")
            )
        }
    }
}

/// An incident has the name of what was given first.
fn name(incident: &mut Incident, paths: &[PathBuf]) {
    let first = paths.first().and_then(|path| path.file_name());
    if let Some(first) = first.map(|name| name.to_string_lossy().into_owned())
        && first != "-"
    {
        incident.id = format!("imported-{first}");
        incident.server.label = first;
    }
}

/// Files of a folder in which nothing is known, in one line: pt-stalk writes many that nobody reads.
fn together(sources: Vec<SourceRead>) -> Vec<SourceRead> {
    let is_unknown = |source: &SourceRead| source.kind == "unknown" && source.lines.is_some();
    let unknown = sources.iter().filter(|source| is_unknown(source));
    let names: Vec<String> = unknown
        .map(|source| {
            source
                .path
                .rsplit('/')
                .next()
                .unwrap_or(&source.path)
                .to_owned()
        })
        .collect();
    if names.len() < TOGETHER_MIN {
        return sources;
    }
    let mut kept: Vec<SourceRead> = sources
        .into_iter()
        .filter(|source| !is_unknown(source))
        .collect();
    kept.push(SourceRead {
        path: format!("{} files", names.len()),
        kind: "unknown".to_owned(),
        skipped: Some(format!("nothing known in them: {}", names.join(", "))),
        ..SourceRead::default()
    });
    kept
}

fn source(part: Part) -> SourceRead {
    SourceRead {
        path: part.path,
        kind: part.kind,
        lines: part.lines,
        brought: part.brought,
        skipped: part.skipped,
    }
}

fn open(path: &Path, found: &mut Found) -> Result<()> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .take(BYTES_MAX)
            .read_to_end(&mut bytes)
            .context("standard input")?;
        found.add("-".to_owned(), bytes);
        return Ok(());
    }
    if path.is_dir() {
        return directory(path, None, 0, found);
    }
    if let Some((folder, prefix)) = stalk_prefix(path) {
        return directory(&folder, Some(&prefix), 0, found);
    }
    file(path, found)
}

/// `DIR/2018_03_05_13_24_55`: what pt-stalk collected at once, where no file has that name.
fn stalk_prefix(path: &Path) -> Option<(PathBuf, String)> {
    let name = path.file_name()?.to_str()?;
    let is_prefix = name.len() >= 19 && is_stalk_time(name);
    (is_prefix && !path.exists()).then(|| {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        (folder.unwrap_or(Path::new(".")).to_owned(), name.to_owned())
    })
}

/// `2018_03_05_13_24_55` in front.
fn is_stalk_time(name: &str) -> bool {
    name.bytes()
        .take(19)
        .enumerate()
        .all(|(at, byte)| match at {
            4 | 7 | 10 | 13 | 16 => byte == b'_',
            _ => byte.is_ascii_digit(),
        })
        && name.len() >= 19
}

fn file(path: &Path, found: &mut Found) -> Result<()> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes))
        .with_context(|| name.clone())?;
    archive::unpack(name, bytes, found, 0);
    Ok(())
}

/// Everything in a folder, by name. Of several collections of pt-stalk the latest is taken: they
/// are different stalls.
fn directory(path: &Path, prefix: Option<&str>, depth: usize, found: &mut Found) -> Result<()> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
        .and_then(|entries| {
            entries
                .map(|entry| entry.map(|entry| entry.path()))
                .collect()
        })
        .with_context(|| path.display().to_string())?;
    entries.sort();
    let name = |path: &Path| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let mut times: Vec<String> = entries
        .iter()
        .map(|path| name(path))
        .filter(|name| is_stalk_time(name))
        .filter_map(|name| name.get(..19).map(str::to_owned))
        .collect();
    times.dedup();
    let wanted = prefix.map(str::to_owned).or_else(|| times.last().cloned());
    let others = times.iter().filter(|time| Some(*time) != wanted.as_ref());
    if prefix.is_none() && times.len() > 1 {
        found
            .left_out
            .extend(others.clone().take(20).map(|time| {
                SourceRead {
                    path: path.join(time).display().to_string(),
                    kind: "collection of pt-stalk".to_owned(),
                    skipped: Some(
                        "another collection of the same folder: give this path to explain it"
                            .to_owned(),
                    ),
                    ..SourceRead::default()
                }
            }));
    }
    for entry in entries {
        let file_name = name(&entry);
        let is_others = match &wanted {
            Some(wanted) if is_stalk_time(&file_name) => !file_name.starts_with(wanted.as_str()),
            _ => prefix.is_some(),
        };
        if is_others {
            continue;
        }
        if found.files.len() >= FILES_MAX {
            found.note(
                path.display().to_string(),
                format!("files over {FILES_MAX} were not read"),
            );
            break;
        }
        if entry.is_dir() {
            if wanted.is_some() && stretches::is_stretch(&entry) {
                found.stretches.push(entry);
            } else if depth < DEPTH_MAX {
                directory(&entry, None, depth + 1, found)?;
            } else {
                found.note(
                    entry.display().to_string(),
                    format!("folders deeper than {DEPTH_MAX}"),
                );
            }
        } else if entry.is_file()
            && let Err(error) = file(&entry, found)
        {
            found.note(entry.display().to_string(), error.root_cause().to_string());
        }
    }
    Ok(())
}

/// All samples as one profile.
pub(crate) fn all_samples(evidence: &StackEvidence) -> Profile {
    let mut profiles = evidence.profiles.iter();
    let mut all = profiles.next().cloned().unwrap_or(Profile {
        from: 0,
        to: 0,
        hz: 0,
        processors: 1,
        counts: Vec::new(),
        lost: 0,
    });
    all.counts
        .extend(profiles.flat_map(|profile| profile.counts.iter().cloned()));
    all
}

impl Found {
    /// The files, as the import takes them.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Input<'_>> {
        self.files.iter().map(|(path, bytes)| Input { path, bytes })
    }

    fn add(&mut self, path: String, bytes: Vec<u8>) {
        if bytes.starts_with(SQLITE) {
            self.add_sqlite(path, &bytes);
            return;
        }
        let size = bytes.len() as u64;
        if self.files.len() >= FILES_MAX || self.bytes.saturating_add(size) > BYTES_MAX {
            self.note(
                path,
                format!("over {FILES_MAX} files or {BYTES_MAX} bytes in all"),
            );
            return;
        }
        self.bytes = self.bytes.saturating_add(size);
        self.files.push((path, bytes));
    }

    /// An SQLite file: dolphie's replays are read, incidents of ours only alone.
    fn add_sqlite(&mut self, path: String, bytes: &[u8]) {
        match replay::texts(bytes) {
            Ok(Some(made)) => {
                for why in made.left_out {
                    self.left_out.push(SourceRead {
                        path: path.clone(),
                        kind: format!("dolphie replay of {}", made.host),
                        skipped: Some(why),
                        ..SourceRead::default()
                    });
                }
                for (name, text) in made.texts {
                    self.add(format!("{path}/{name}"), text.into_bytes());
                }
            }
            Ok(None) => self.note(
                path,
                "an SQLite file that is no replay of dolphie; an incident of freezeframe is given alone"
                    .to_owned(),
            ),
            Err(error) => self.note(path, format!("{error:#}")),
        }
    }

    fn note(&mut self, path: String, why: String) {
        self.left_out.push(SourceRead {
            path,
            kind: "not opened".to_owned(),
            skipped: Some(why),
            ..SourceRead::default()
        });
    }
}
