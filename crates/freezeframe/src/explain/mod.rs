//! `freezeframe explain`: reads an incident, asks for the verdict, prints it.

mod history;
mod pair;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::fleet::any_store::Access;
use ::fleet::url::StoreUrl;
use anyhow::{Result, anyhow, bail};
use cli::output;
use diagnosis::{Level, SourceRead, Verdict, diagnose_closely, order_by_times};
use model::{Absent, Incident, Reason};
use report::HtmlOptions;
use rustix::fs::{FileType, fstat};
use store::{LoadedIncident, write_private};

use crate::args::Explain;
use crate::captures::{self, OpenedCaptures, OpenedInput, STALK_COLLECTION};
use crate::config::Config;
use crate::fleet::known::{KnownInFleet, known};
use crate::fleet::store_url;
use crate::newest::{called, newest, of_recorder};
use crate::no_loss::refuse_loss;
use crate::{causes, of_service, shell};

/// `explain --exit-code` when no cause is at least likely.
const NOT_NAMED: u8 = 3;

/// What a file of ours is called among what was read.
const INCIDENT: &str = "freezeframe incident";

pub(crate) fn run(args: &Explain) -> Result<ExitCode> {
    let config = Config::load(args.history.config.as_deref())?;
    causes::use_directory(args.causes.as_deref(), &config);
    refuse_history(args)?;
    let fleet = args.fleet.as_deref().map(|url| store(url, &config));
    let fleet = fleet.transpose().map_err(cli::usage)?;
    let paths = match args.paths.is_empty() && args.at.is_none() {
        true => vec![newest_incident(&config)?],
        false => match args.paths.as_slice() {
            [one] => {
                let meant = match of_recorder(one)? {
                    None => called(&config.directory(None), one),
                    found => found,
                };
                vec![meant.unwrap_or_else(|| one.clone())]
            }
            several => several.to_vec(),
        },
    };
    if let Some(page) = &args.html {
        refuse_loss("--html", page, &paths)?;
    }
    if let (Some(page), [first, second]) = (&args.html, &paths[..])
        && let Some(both) = pair::read(first, second)?
    {
        return pair::page(&both, page, args.exit_code);
    }
    let (incident, mut verdict) = match &args.at {
        Some(at) => of_history(history::make(at, &args.history, config)?),
        None => match captures::open_input(&paths)? {
            OpenedInput::Incident(loaded, file) => recorded(*loaded, file.filter(|_| !args.json)),
            OpenedInput::Captures(found) => imported(&found, &paths)?,
        },
    };
    let known = fleet.and_then(|(url, access)| in_fleet(&url, access, &mut verdict));
    match &args.html {
        Some(path) => {
            let page = report::html(&incident, &verdict, &HtmlOptions::default());
            put(path, &page)?;
        }
        None if args.json => {
            let text = report::json(&incident, &verdict);
            match &known {
                Some(known) => output::print_json(&with_fleet(&text, known)?)?,
                None => output::print_json_text(&text)?,
            }
        }
        None => output::print_page(&text_of(&incident, &verdict, known.as_ref(), args))?,
    }
    Ok(code(args.exit_code, [&verdict]))
}

/// The store that is meant, and how it is reached.
fn store(url: &str, config: &Config) -> Result<(StoreUrl, Access)> {
    if url.is_empty() {
        return config.fleet.store();
    }
    let url = store_url::parse(url)?;
    let access = store_url::access(&url, None)?;
    Ok((url, access))
}

/// What the fleet knows of the first finding; of suspicions those come first that it had. A fleet that does not answer takes
/// nothing from the verdict.
fn in_fleet(url: &StoreUrl, access: Access, verdict: &mut Verdict) -> Option<KnownInFleet> {
    let findings = verdict.findings.iter();
    let causes: Vec<&str> = findings.map(|finding| finding.cause.as_str()).collect();
    if causes.is_empty() {
        return None;
    }
    let known = known(url, access, &causes)
        .inspect_err(|error| output::note(&format!("the fleet: {error:#}")))
        .ok()?;
    // What other servers of the same people have is likelier than what none has.
    order_by_times(verdict, |cause| {
        let of_it = known.iter().find(|one| one.cause == cause);
        of_it.map_or(0, |one| one.stalls)
    });
    let first = verdict.findings.first()?;
    known.into_iter().find(|one| one.cause == first.cause)
}

/// The verdict as JSON, with what the fleet knows.
fn with_fleet(text: &str, known: &KnownInFleet) -> Result<serde_json::Value> {
    let mut all: serde_json::Value = serde_json::from_str(text)?;
    all["fleet"] = serde_json::to_value(known)?;
    Ok(all)
}

/// Writes a page where it is wanted, and tells where.
fn put(path: &Path, page: &str) -> Result<()> {
    if path == Path::new("-") {
        return output::print(page);
    }
    write_private(path, page.as_bytes())?;
    output::print_line(&format!("wrote {}", path.display()))
}

/// How the command ends: with `--exit-code` it tells whether a cause is at least likely.
fn code<'v>(is_asked: bool, verdicts: impl IntoIterator<Item = &'v Verdict>) -> ExitCode {
    let named = verdicts.into_iter().any(|verdict| {
        let first = verdict.findings.first();
        first.is_some_and(|finding| finding.level >= Level::Likely)
    });
    match is_asked && !named {
        true => ExitCode::from(NOT_NAMED),
        false => ExitCode::SUCCESS,
    }
}

/// The lines that are enough at night, or with everything behind them.
fn text_of(
    incident: &Incident,
    verdict: &Verdict,
    known: Option<&KnownInFleet>,
    args: &Explain,
) -> String {
    let options = output::text_options();
    let fleet = known.map(|known| {
        (
            format!("In the fleet: {}.", known.sentence()),
            String::new(),
        )
    });
    let mut lines: Vec<(String, String)> = fleet.into_iter().collect();
    if args.full {
        let brief = report::brief_text(incident, verdict, &lines, &options);
        return format!("{brief}\n{}", report::text(incident, verdict, &options));
    }
    lines.extend(more(None, verdict));
    report::brief_text(incident, verdict, &lines, &options)
}

/// How to see everything, and how to fix it. `file` is named where it is not what the command was given.
fn more(file: Option<&Path>, verdict: &Verdict) -> Vec<(String, String)> {
    let full = match file {
        Some(path) => (
            "Everything:",
            format!("freezeframe explain {} --full", argument(path)),
        ),
        None => ("Everything: add --full.", String::new()),
    };
    let first = verdict.findings.first();
    let fix = first
        .filter(|finding| finding.level > Level::Suspicion)
        .map(|first| {
            let mut sources = verdict.sources.iter();
            let incident = sources
                .find(|source| source.kind == INCIDENT)
                .map(|source| Path::new(&source.path));
            let what = match incident.filter(|path| path.exists()) {
                Some(path) => argument(path),
                // Of what others captured that command knows the cause only.
                None => first.cause.clone(),
            };
            (
                "Fix:",
                format!("freezeframe fix {what}{}", own_causes(&first.cause)),
            )
        });
    let lines = [full].into_iter().chain(fix);
    let lines = lines.map(|(words, command)| (words.to_owned(), command));
    collection_before(verdict)
        .into_iter()
        .chain(lines)
        .collect()
}

/// Of a folder with several collections of pt-stalk only the newest is explained.
fn collection_before(verdict: &Verdict) -> Option<(String, String)> {
    let others = verdict.sources.iter();
    let others =
        others.filter(|source| source.kind == STALK_COLLECTION && source.skipped.is_some());
    let before = others.clone().max_by_key(|source| &source.path)?;
    Some((
        format!(
            "This is the newest of {} collections there. The one before:",
            others.count() + 1
        ),
        format!("freezeframe explain {}", argument(Path::new(&before.path))),
    ))
}

/// Prints what incidents say that were just written.
pub(crate) fn print_files(paths: &[PathBuf], json: bool) -> Result<()> {
    for path in paths {
        let (incident, verdict) = match captures::open_input(std::slice::from_ref(path))? {
            OpenedInput::Incident(loaded, _) => recorded(*loaded, Some(path.clone())),
            OpenedInput::Captures(_) => bail!("{}: it is no incident", path.display()),
        };
        if json {
            output::print_json_text(&report::json(&incident, &verdict))?;
        } else {
            let more = more(Some(path), &verdict);
            let options = output::text_options();
            output::print_page(&report::brief_text(&incident, &verdict, &more, &options))?;
            output::print("")?;
            output::print_line(&format!("incident {}", path.display()))?;
        }
    }
    Ok(())
}

/// Refuses what is said of the history where a file is given: it would change nothing. clap does not see it, because
/// files exclude the option that these need.
fn refuse_history(args: &Explain) -> Result<()> {
    let said = [
        ("--keep", args.history.keep),
        ("--server", args.history.server.is_some()),
        ("--dir", args.history.dir.is_some()),
    ];
    match said.iter().find(|(_, is_said)| *is_said) {
        Some((option, _)) if args.at.is_none() => {
            Err(cli::usage(anyhow!("{option}: only with --at")))
        }
        _ => Ok(()),
    }
}

/// The incident that is meant by nothing: who comes in the night wants to know of the last stall.
fn newest_incident(config: &Config) -> Result<PathBuf> {
    let given = fstat(std::io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    if matches!(given, Ok(FileType::Fifo | FileType::RegularFile)) {
        return Err(cli::usage(anyhow!(
            "nothing is named: for standard input say - (freezeframe explain -), for the newest incident its file"
        )));
    }
    let dir = of_service::existing(config, None).map_err(cli::usage)?;
    let path = newest(&dir, "an incident or captures").map_err(cli::usage)?;
    output::note(&format!("the newest incident: {}", path.display()));
    Ok(path)
}

/// An incident of ours, with the verdict on it. Where no file is named it has the name that the
/// recorder gave it: what is told is the same then, wherever the file lies.
pub(crate) fn recorded(loaded: LoadedIncident, file: Option<PathBuf>) -> (Incident, Verdict) {
    let id = &loaded.incident.id;
    let file = file.unwrap_or_else(|| PathBuf::from(format!("{id}.frame")));
    for damage in &loaded.damage {
        output::note(&format!("{}: {}", file.display(), damage.line()));
    }
    judged(loaded, &file)
}

/// The same without a word on standard error.
pub(crate) fn judged(loaded: LoadedIncident, file: &Path) -> (Incident, Verdict) {
    let incident = loaded.incident;
    let mut verdict = verdict(&incident, file);
    for damage in loaded.damage {
        verdict.absent.push(Absent::new(
            format!("table {}", damage.table),
            match damage.is_limit {
                true => Reason::Limit,
                false => Reason::Failed,
            },
            match damage.is_limit {
                true => format!("{} rows were read: {}", damage.rows_read, damage.problem),
                false => format!(
                    "damaged after {} rows: {}",
                    damage.rows_read, damage.problem
                ),
            },
        ));
    }
    (incident, verdict)
}

/// A time of the history, with the verdict on it. Commands that want a file are told where there is one.
fn of_history(made: history::HistoryIncident) -> (Incident, Verdict) {
    let verdict = match &made.kept {
        Some(path) => {
            output::note(&format!("kept as {}", path.display()));
            verdict(&made.incident, path)
        }
        None => diagnose_closely(&made.incident, causes::catalogue()),
    };
    (made.incident, verdict)
}

/// Reads what every verdict needs on another processor, while captures are read.
fn prepare() {
    let read = || {
        lexicon::mentions("");
        diagnosis::Catalogue::builtin();
    };
    // Where the system gives no thread it is read when it is needed.
    let _ = std::thread::Builder::new().spawn(read);
}

/// What others captured, with the verdict on it.
pub(crate) fn imported(found: &OpenedCaptures, paths: &[PathBuf]) -> Result<(Incident, Verdict)> {
    prepare();
    let (incident, sources) = captures::incident_of(found, paths)?;
    let mut verdict = diagnose_closely(&incident, causes::catalogue());
    verdict.sources = sources;
    Ok((incident, verdict))
}

/// The verdict on an incident that was read from a file.
pub(crate) fn verdict(incident: &Incident, path: &Path) -> Verdict {
    let mut verdict = diagnose_closely(incident, causes::catalogue());
    if let Some(first) = verdict.findings.first_mut()
        && causes::catalogue()
            .get(&first.cause)
            .is_some_and(|cause| !cause.fixes.is_empty())
    {
        first.remedy.fix = fix_commands(path, &first.cause);
    }
    verdict.sources.push(SourceRead {
        path: path.display().to_string(),
        kind: INCIDENT.to_owned(),
        ..SourceRead::default()
    });
    verdict
}

/// The commands that show and make what helps against the first finding of an incident, `cause`.
fn fix_commands(path: &Path, cause: &str) -> Vec<String> {
    let command = format!("freezeframe fix {}{}", argument(path), own_causes(cause));
    vec![
        format!("Show the steps for this host, with risk and undo: {command}"),
        format!("Make the changes (shows them and asks first): {command} --apply"),
    ]
}

/// A path as an argument of a command.
pub(crate) fn argument(path: &Path) -> String {
    let path = path.display().to_string();
    // Of a file in the working directory that looks like an option.
    let path = match path.starts_with('-') {
        true => format!("./{path}"),
        false => path,
    };
    shell::word(&path)
}

/// The option that a command needs to know a cause that is not built in; empty for one that is.
fn own_causes(cause: &str) -> String {
    causes::own_directory(cause).map_or_else(String::new, |directory| {
        let directory = directory.display().to_string();
        format!(" --causes {}", shell::word(&directory))
    })
}

/// Writes the page, readable by its owner only: it tells what a server does.
pub(crate) fn write_html(path: &Path, incident: &Incident, verdict: &Verdict) -> Result<()> {
    let page = report::html(incident, verdict, &HtmlOptions::default());
    Ok(write_private(path, page.as_bytes())?)
}
