//! Files, directories, archives and standard input with what others captured: opened here, read by
//! crate `import`.

mod archive;
#[cfg(test)]
mod cut_tests;
mod dolphie_replay;
mod export_parts;
#[cfg(test)]
mod files_tests;
mod folder;
mod incident_files;
mod memory_budget;
mod open;
mod packed;
mod tree;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use cli::{output, usage};
use diagnosis::SourceRead;
use import::{Input, Part};
use model::{Incident, Profile, StackEvidence};

use crate::args::Import;
use crate::memory;
use folder::Depth;
pub(crate) use folder::STALK_COLLECTION;
use incident_files::SqliteFile;
pub(crate) use incident_files::{OpenedInput, is_incident_file, open_input};
use memory_budget::{Bytes, MemoryBudget, ReadEnd, Span};
use tree::is_stalk_time;

/// Files of a directory or an archive that are read.
const FILES_MAX: usize = 10_000;

/// Names of such files that are told: pt-stalk has a few dozen.
const NAMED_MAX: usize = 100;

/// What was left out that is told one by one: a folder may have a hundred thousand links to one file.
const NOTES_MAX: usize = 2_000;

/// Files without anything known from which on they are told together.
const TOGETHER_MIN: usize = 4;

/// What SQLite files begin with: an incident of ours is one.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Captures as opened.
#[derive(Default)]
pub(crate) struct OpenedCaptures {
    files: Vec<(String, Bytes)>,
    /// What was not opened, with the reason.
    left_out: Vec<SourceRead>,
    /// Folders with another stretch of the same recording.
    stretches: Vec<(String, OpenedCaptures)>,
    /// Incidents of ours.
    frames: incident_files::IncidentFiles,
    /// Files and folders that were read, by device and inode.
    seen: HashMap<(u64, u64), String>,
    /// What may still be read.
    account: MemoryBudget,
}

/// `freezeframe import`.
pub(crate) fn run(args: &Import) -> Result<ExitCode> {
    cli::file_only("--output", Some(&args.output))?;
    // What is in the way is told before any work is done.
    if !args.force && args.output.symlink_metadata().is_ok() {
        bail!(
            "{}: already exists; --force replaces it",
            args.output.display()
        );
    }
    let found = opened(&args.paths)?;
    if let Some(path) = found.frames.only(&found) {
        bail!("{path}: this is already an incident; use it with explain as it is");
    }
    let (incident, sources) = incident_of(&found, &args.paths)?;
    store::write_incident_file(&incident, &args.output)?;
    if args.json {
        output::print_json(
            &serde_json::json!({ "wrote": args.output.display().to_string(), "sources": sources }),
        )?;
    } else {
        for source in &sources {
            output::print(&source.line())?;
        }
        output::print_line(&format!("wrote {}", args.output.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The incident that captures tell of, or that came out of a pipe as it is, and what was read.
pub(crate) fn incident(paths: &[PathBuf]) -> Result<(Incident, Vec<SourceRead>)> {
    let found = opened(paths)?;
    match found.frames.only(&found) {
        Some(path) => {
            let loaded = found.frames.load()?;
            Ok((
                loaded.incident,
                incident_files::sources(path, &loaded.damage),
            ))
        }
        None => incident_of(&found, paths),
    }
}

/// Opens captures, and archives among them.
pub(crate) fn opened(paths: &[PathBuf]) -> Result<OpenedCaptures> {
    let mut found = OpenedCaptures::default();
    for path in paths {
        open(path, &mut found)?;
    }
    memory::now_reading_all(paths);
    Ok(found)
}

/// The incident that opened captures tell of, and what was read.
pub(crate) fn incident_of(
    found: &OpenedCaptures,
    paths: &[PathBuf],
) -> Result<(Incident, Vec<SourceRead>)> {
    let inputs: Vec<Input<'_>> = found.inputs().collect();
    let mut imported = import::import(&inputs);
    if let Some(incident) = &mut imported.incident {
        name(incident, paths);
    }
    let mut sources = together(imported.parts.into_iter().map(source).collect());
    sources.extend(found.left_out.iter().cloned());
    sources.extend(found.frames.left_out());
    match imported.incident {
        Some(incident) => {
            let incident = export_parts::join(incident, &found.stretches, &mut sources);
            Ok((incident, sources))
        }
        None if sources.is_empty() => bail!("no file in it"),
        None if found.frames.only_these(found) > 1 => Err(usage(anyhow!(
            "{} incidents were given, but only one can be used: name one (or use freezeframe compare A B, explain A B --html FILE)",
            found.frames.only_these(found)
        ))),
        None => {
            let told: Vec<String> = sources.iter().take(3).map(SourceRead::line).collect();
            bail!(
                "no evidence of a stall was recognised in it: {}",
                told.join("; ")
            )
        }
    }
}

/// An incident has the name of what was given first.
fn name(incident: &mut Incident, paths: &[PathBuf]) {
    let has_name = |path: &&PathBuf| path.as_path() != Path::new("-") && !open::is_pipe(path);
    let first = paths.first().filter(has_name);
    let first = first.and_then(|path| path.file_name());
    if let Some(first) = first.map(|name| name.to_string_lossy().into_owned()) {
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
    let mut named = names
        .get(..names.len().min(NAMED_MAX))
        .unwrap_or_default()
        .join(", ");
    if names.len() > NAMED_MAX {
        named += &format!(" and {} more", names.len() - NAMED_MAX);
    }
    kept.push(SourceRead {
        path: format!("{} files", names.len()),
        kind: "unknown".to_owned(),
        skipped: Some(format!("nothing was recognised in: {named}")),
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

fn open(path: &Path, found: &mut OpenedCaptures) -> Result<()> {
    if path == Path::new("-") {
        kernel::heap::now_reading("standard input");
        let (bytes, ended) = open::bounded(std::io::stdin().lock(), &found.account);
        match ended {
            ReadEnd::Whole => {}
            ReadEnd::Cut(why) => found.note_cut("standard input".to_owned(), why),
            ReadEnd::Failed(error) => return Err(error).context("standard input"),
        }
        folder::unpack("-".to_owned(), Span::Held(bytes), found, Depth::default());
        return Ok(());
    }
    if path.is_dir() {
        return folder::directory(path, None, Depth::default(), found);
    }
    if let Some((folder, prefix)) = stalk_prefix(path) {
        return folder::directory(&folder, Some(&prefix), Depth::default(), found);
    }
    folder::file(path, Depth::default(), found)
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

impl OpenedCaptures {
    /// The files, as the import takes them.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Input<'_>> {
        self.files.iter().map(|(path, bytes)| Input { path, bytes })
    }

    /// A place for what stands beside this: the bounds and what was seen are of both.
    fn sibling(&mut self) -> Self {
        Self {
            account: self.account.clone(),
            seen: std::mem::take(&mut self.seen),
            ..Self::default()
        }
    }

    /// Takes what was begun by [`OpenedCaptures::sibling`].
    fn keep_stretch(&mut self, path: String, mut stretch: Self) {
        self.seen = std::mem::take(&mut stretch.seen);
        self.stretches.push((path, stretch));
    }

    fn add(&mut self, path: String, bytes: Bytes) {
        if bytes.starts_with(SQLITE) {
            match SqliteFile::copied(&bytes) {
                Ok(file) => {
                    drop(bytes);
                    self.add_sqlite(path, file);
                }
                Err(error) => self.note(path, format!("{error:#}")),
            }
            return;
        }
        if self.files.len() >= FILES_MAX {
            self.note(path, format!("over {FILES_MAX} files"));
            return;
        }
        let (bytes, ended) = open::as_utf8(bytes, &self.account);
        if let ReadEnd::Cut(why) = ended {
            self.note_cut(path.clone(), why);
        }
        self.files.push((path, bytes));
    }

    /// An SQLite file: dolphie's replays are read, an incident of ours only alone.
    fn add_sqlite(&mut self, path: String, file: SqliteFile) {
        match dolphie_replay::texts(file.path()) {
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
                    let path = format!("{path}/{name}");
                    match self.account.hold(text.into_bytes()) {
                        Some(bytes) => self.add(path, bytes),
                        None => {
                            self.note_cut(path, "left out: the memory limit was reached".to_owned())
                        }
                    }
                }
            }
            Ok(None) => match self.frames.add(path.clone(), file) {
                Ok(()) => {}
                Err(error) => {
                    let why = format!("an SQLite file, but not a dolphie replay; {error:#}");
                    self.note(path, why);
                }
            },
            Err(error) => self.note(path, format!("{error:#}")),
        }
    }

    /// Tells of what is cut.
    fn note_cut(&mut self, path: String, why: String) {
        self.left_out_as(model::READ_IN_PART, path, why);
    }

    fn note(&mut self, path: String, why: String) {
        self.left_out_as("not opened", path, why);
    }

    fn left_out_as(&mut self, kind: &str, path: String, why: String) {
        let (path, why) = match self.left_out.len() {
            0..NOTES_MAX => (path, why),
            NOTES_MAX => {
                let why = "more was left out, not listed here".to_owned();
                ("more files".to_owned(), why)
            }
            _ => return,
        };
        self.left_out.push(SourceRead {
            path,
            kind: kind.to_owned(),
            skipped: Some(why),
            ..SourceRead::default()
        });
    }
}
