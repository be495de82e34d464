//! `freezeframe live`: what the view reads, and how it looks. The view itself is the crate `live`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use cli::{output, recorded};
use diagnosis::diagnose_closely;
use live::{
    Files, History, HistoryOptions, IncidentOutcome, Model, NotedStall, Options, Palette,
    Recording, RecordingKind, Source,
};
use model::OrderBy;

use crate::args::LiveView;
use crate::captures::{self, OpenedInput};
use crate::config::Config;
use crate::own_recorder::OwnRecorder;
use crate::{causes, control, episodes, explain, memory, of_service, record};

pub(crate) fn run(args: &LiveView) -> Result<ExitCode> {
    let config = Config::load(args.own.config.as_deref())?;
    causes::use_directory(args.causes.as_deref(), &config);
    if !args.record
        && args.paths.is_empty()
        && let Some(hint) = of_service::hint(&config, args.dir.as_deref())
    {
        bail!("{hint}; to record on your own: --record");
    }
    // It ends with this function, after the view.
    let mut own = match args.record || records_nothing(args, &config) {
        true => Some(OwnRecorder::start(&args.own)?),
        false => None,
    };
    // What was recorded is of a server already: another one would be shown than the one that was named.
    if own.is_none() && args.own.names_one() {
        return Err(cli::usage(anyhow!(
            "--host, --port, --socket and --pid name a server to record: add --record; of those that are recorded, --server LABEL chooses one"
        )));
    }
    let path = match &mut own {
        Some(own) => Some(own.wait(args.server.as_deref())?),
        None => history_path(args, &config)?,
    };
    let mut source = match path {
        Some(path) => history(&path, &config)?,
        None => memory::limited(|| recording(&args.paths))?,
    };
    if args.plain {
        let stop = record::stop_flag()?;
        let ends = || stop.load(std::sync::atomic::Ordering::Relaxed);
        live::plain(&mut *source, output::print_line, ends)?;
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = args.palette.as_deref().and_then(|word| {
        let mut words = Palette::WORDS.iter();
        words
            .find(|(known, _)| *known == word)
            .map(|(_, palette)| *palette)
    });
    let environment = |name: &str| std::env::var(name).ok();
    let options = Options {
        palette: wanted.unwrap_or_else(|| Palette::from_environment(environment)),
        is_ascii: args.ascii,
        is_ordinary: args.ordinary,
    };
    let files = Files {
        open: &|path| recording(&[path.to_owned()]),
        judge: Arc::new(judged),
    };
    live::run(source, &files, options)?;
    Ok(ExitCode::SUCCESS)
}

/// Nothing is named, and nobody records here or did: no history, no incident.
fn records_nothing(args: &LiveView, config: &Config) -> bool {
    let is_named = !args.paths.is_empty() || args.dir.is_some();
    let dir = config.directory(None);
    // One that cannot be looked into is not empty.
    let is_readable = !dir.exists() || std::fs::read_dir(&dir).is_ok();
    !is_named && is_readable && recorded::histories(&dir).is_empty()
}

/// The history that is meant: that of the directory where no file is named, or a file that is one.
fn history_path(args: &LiveView, config: &Config) -> Result<Option<PathBuf>> {
    match args.paths.as_slice() {
        [] => {
            let dir = config.directory(args.dir.as_deref());
            let only = match &args.server {
                None => only_recorded(&dir),
                Some(_) => None,
            };
            only.map_or_else(|| recorded::history(&dir, args.server.as_deref()), Ok)
                .map(Some)
        }
        [one] if recorded::history_label(one).is_some() => Ok(Some(one.clone())),
        // A recorder's directory, as after --dir.
        [one] if one.is_dir() && !recorded::histories(one).is_empty() => {
            let only = only_recorded(one);
            only.map_or_else(|| recorded::history(one, None), Ok)
                .map(Some)
        }
        _ => Ok(None),
    }
}

/// Of several histories the one that is written now, where it is the only one: the others are of servers that are gone.
fn only_recorded(dir: &Path) -> Option<PathBuf> {
    let all = recorded::histories(dir);
    let is_written = |(path, label): &(PathBuf, String)| {
        let dirs = recorder_dirs(path.parent().unwrap_or(dir));
        let mut told = dirs.iter().filter_map(|dir| control::now(dir, label));
        told.any(|told| told.beat_age_ms.is_some())
    };
    let mut written = all.into_iter().filter(is_written);
    match (written.next(), written.next()) {
        (Some((path, _)), None) => Some(path),
        _ => None,
    }
}

fn history(path: &Path, config: &Config) -> Result<Box<dyn Source + Send>> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let dir = parent.unwrap_or(Path::new(".")).to_owned();
    let recording = config.recorder(dir.clone())?;
    let label = recorded::history_label(path).unwrap_or_default();
    let dirs = recorder_dirs(&dir);
    let (of_recorder, of_stalls, of_threads) = (dirs.clone(), dirs.clone(), dirs);
    let same = label.clone();
    Ok(Box::new(History::new(HistoryOptions {
        path: path.to_owned(),
        dir,
        detect: recording.detect,
        before_ms: recording.before_ms,
        diagnose: Box::new(|incident| diagnose_closely(incident, causes::catalogue())),
        noted: Box::new(noted_in(of_stalls)),
        ask: Box::new(move || {
            let mut dirs = of_recorder.iter();
            dirs.find_map(|dir| control::now(dir, &label))
        }),
        stacks: Box::new(move |for_ms| {
            let mut dirs = of_threads.iter();
            dirs.find_map(|dir| control::stacks(dir, &same, for_ms))
        }),
        now: || jiff::Timestamp::now().as_millisecond(),
    })))
}

/// Where a history's recorder has its socket and its list of stalls: beside it, and for a server with a name in the
/// recorder's own directory, two above.
fn recorder_dirs(dir: &Path) -> Vec<PathBuf> {
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let targets = dir.parent().filter(|above| {
        above
            .file_name()
            .is_some_and(|name| name == store::TARGETS_DIR)
    });
    let own = targets.and_then(Path::parent).map(Path::to_owned);
    std::iter::once(dir.clone()).chain(own).collect()
}

/// The same, read again when more was written.
fn noted_in(dirs: Vec<PathBuf>) -> impl FnMut() -> Option<Vec<NotedStall>> {
    let mut known = None;
    move || {
        let stamp: Vec<_> = dirs.iter().map(|dir| episodes::stamp(dir)).collect();
        let of_stamp = known.take().filter(|(of, _)| *of == stamp);
        let (_, stalls) = known.insert(of_stamp.unwrap_or_else(|| (stamp, noted(&dirs))));
        stalls.clone()
    }
}

/// What recorders wrote down of the stalls that they noticed.
fn noted(dirs: &[PathBuf]) -> Option<Vec<NotedStall>> {
    let all = dirs.iter().flat_map(|dir| episodes::read(dir));
    let stalls = all.map(|stall| NotedStall {
        server: stall.server,
        onset_wall_ms: stall.onset_ms,
        trigger_wall_ms: stall.trigger_ms,
        end_wall_ms: stall.end_ms,
        rule: stall.rule.unwrap_or_default(),
        says: stall.says.unwrap_or_default(),
        cause: stall.cause.map(|id| causes::title(&id)),
        is_captured: stall.incident.is_some(),
    });
    let mut stalls: Vec<NotedStall> = stalls.collect();
    stalls.order_by_key(|stall| stall.onset_wall_ms);
    (!stalls.is_empty()).then_some(stalls)
}

/// What came of an incident, as `explain` judges it.
fn judged(path: &Path) -> Result<IncidentOutcome> {
    let incident = store::read_incident(path)?.incident;
    let verdict = diagnose_closely(&incident, causes::catalogue());
    Ok(IncidentOutcome::new(&incident, &verdict))
}

/// An incident's file, or what others captured.
fn recording(paths: &[PathBuf]) -> Result<Box<dyn Source + Send>> {
    let named = paths
        .first()
        .map_or(String::new(), |path| path.display().to_string());
    let model = match captures::open_input(paths)? {
        OpenedInput::Incident(loaded, file) => {
            let (incident, verdict) = explain::recorded(*loaded, file.clone());
            let mut model = Model::from_incident(incident, verdict, RecordingKind::File, named);
            let dir = file.as_deref().and_then(Path::parent);
            let dir = dir.filter(|dir| !dir.as_os_str().is_empty());
            model.incidents = live::list(dir.unwrap_or(Path::new(".")));
            model
        }
        OpenedInput::Captures(found) => {
            let (incident, verdict) = explain::imported(&found, paths)?;
            Model::from_incident(incident, verdict, RecordingKind::Captures, named)
        }
    };
    Ok(Box::new(Recording::new(model)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    #[test]
    fn the_recorder_of_a_named_server_is_two_directories_above() {
        let dirs = |dir: &str| recorder_dirs(Path::new(dir));
        assert_eq!(
            dirs("/var/lib/freezeframe/targets/shop"),
            [
                PathBuf::from("/var/lib/freezeframe/targets/shop"),
                PathBuf::from("/var/lib/freezeframe"),
            ]
        );
        assert_eq!(
            dirs("/var/lib/freezeframe"),
            [PathBuf::from("/var/lib/freezeframe")]
        );
        // Where it was changed to.
        let here = std::env::current_dir().unwrap();
        assert_eq!(
            dirs("targets/shop"),
            [here.join("targets/shop"), here.clone()]
        );
    }

    #[test]
    fn a_directory_with_named_servers_only_is_not_one_where_nobody_records() {
        let dir = tempfile::tempdir().unwrap();
        let config = Config {
            dir: Some(dir.path().to_owned()),
            ..Config::default()
        };
        let line = ["freezeframe", "live"];
        let Command::Live(args) = Cli::parse_from(line).command else {
            unreachable!()
        };
        assert!(records_nothing(&args, &config));
        let of_target = dir.path().join(store::TARGETS_DIR).join("shop");
        std::fs::create_dir_all(&of_target).unwrap();
        std::fs::write(of_target.join("history-shop.db"), "").unwrap();
        assert!(!records_nothing(&args, &config));
    }

    #[test]
    fn a_recorder_s_directory_is_its_history_with_or_without_a_word_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap();
        let found = |line: &[&str]| {
            let Command::Live(args) = Cli::parse_from(line).command else {
                unreachable!()
            };
            history_path(&args, &Config::default()).ok().flatten()
        };
        let named = ["freezeframe", "live", path];
        assert_eq!(found(&named), None, "captures");
        let history = dir.path().join("history-3306.db");
        std::fs::write(&history, "").unwrap();
        assert_eq!(found(&named), Some(history.clone()));
        assert_eq!(
            found(&["freezeframe", "live", "--dir", path]),
            Some(history)
        );
    }
}
