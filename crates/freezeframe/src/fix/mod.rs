//! `freezeframe fix`: what helps against a cause on this system, made and put back.

mod clients;
mod helped;
mod json;
mod revert;
mod selection;
mod suspects;
mod text;
mod waiting;
mod whose;

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use cli::output;
use remedy::fix::{
    Access, Applied, ApplyRequest, Change, DoneStep, Entry, FixJournal, OBSERVE_TIMEOUT,
    PUBLIC_BESIDE, Plan, PublicPlace, Root, Step, System, When, apply, make_public_directory, plan,
    remember_journal, settle, unsettled,
};

use self::waiting::Waiting;
use self::whose::Found;
use crate::args::Fix;
use crate::config::Config;
use crate::{causes, journals, memory};

pub(crate) use self::helped::leases as helper_leases;
pub(crate) use self::revert::{entry_line, revert_unsettled};

/// The incident names no cause.
const NOT_NAMED: u8 = 3;

/// How long another process may be at work on the journal.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// Where fixes are written down: what was said, or beside the incidents.
pub(crate) fn dir(said: Option<&Path>, root: &Root, config: &Config) -> PathBuf {
    let dir = said.map_or_else(
        || {
            let beside = journals::state_dir(config);
            root.here(&journals::fixes_in(&beside))
        },
        Path::to_owned,
    );
    std::path::absolute(&dir).unwrap_or(dir)
}

pub(crate) fn run(args: &Fix) -> Result<ExitCode> {
    let config = Config::load(args.server.config.as_deref())?;
    let root = match &args.root {
        Some(dir) => Root::at(std::path::absolute(dir)?),
        None => Root::default(),
    };
    let journal_dir = dir(args.fix_dir.as_deref(), &root, &config);
    if args.list {
        return revert::list(args, &journal_dir);
    }
    if let Some(id) = &args.undo {
        return revert::undo_some(args, &journal_dir, id.as_deref());
    }
    causes::use_directory(args.causes.as_deref(), &config);
    let Some(what) = memory::limited(|| selection::find(args, &config))? else {
        return Ok(ExitCode::from(NOT_NAMED));
    };
    if args.apply {
        what.refuse_guess(args)?;
        causes::refuse_untrusted(&what.cause.id)?;
        // What an earlier process left half done is put back before anything is looked at.
        if let Some(journal) = FixJournal::existing(&journal_dir)? {
            let locked = journal.lock(Some(LOCK_PATIENCE))?;
            let login = |entry: &Entry| revert::access(args, entry);
            let _told = Waiting::announce("undoing an interrupted fix", None);
            for left in settle(&locked, &login)? {
                output::note(&revert::settled_line(&left));
            }
        }
    } else {
        note_unsettled(&journal_dir);
    }
    let Found {
        process,
        mut access,
        label,
    } = whose::found(args, &config, &root, &what)?;
    let waiting = Waiting::announce("asking the server for its settings", Some(OBSERVE_TIMEOUT));
    let mut system = System::observe(&root, process.as_ref(), access.as_mut());
    system.suspects = suspects::find_live(&what, &system, access.as_mut());
    drop(waiting);
    if let Some(why) = system
        .server
        .as_ref()
        .and_then(|seen| seen.no_login.as_ref())
    {
        output::note(&format!(
            "the server's settings could not be read ({why}); changes that need them are shown as steps to do by hand"
        ));
    }
    let plan = plan(&what.cause.fixes, &system);
    if !args.apply {
        if args.json {
            let shown = json::plan(&what, &system, &plan, None, None);
            output::print_json(&shown)?;
        } else {
            output::print_page(&text::plan(&what, &system, &plan, args))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = chosen(args, &plan);
    if !args.json {
        output::print_page(&text::plan(&what, &system, &plan, args))?;
    }
    if chosen.is_empty() {
        if args.json {
            let shown = json::plan(&what, &system, &plan, None, None);
            output::print_json(&shown)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes && !agreed(&chosen)? {
        output::print("nothing was changed")?;
        return Ok(ExitCode::SUCCESS);
    }
    let (by_helper, chosen) = helped::part(args, &root, chosen)?;
    let lease = match (by_helper.as_slice(), args.for_time) {
        (changes @ [_, ..], Some(time)) => Some(helped::make(&what.cause.id, time, changes)?),
        _ => None,
    };
    let done = match chosen.is_empty() {
        true => None,
        false => {
            let public = public(&config, &root, label);
            let order = ApplyRequest {
                cause: what.cause.id.clone(),
                incident: what.incident_path.clone(),
                root,
                steps: chosen.iter().map(done_step).collect(),
                lease: args.for_time,
                asked_by: None,
                public: Some(public),
            };
            match make(args, &config, &journal_dir, order, access.as_mut()) {
                Ok(done) => Some(done),
                Err(error) => {
                    // All or none, whoever makes it.
                    if let Some(lease) = &lease {
                        helped::put_back(&lease.id)?;
                    }
                    return Err(error);
                }
            }
        }
    };
    if args.json {
        let entry = done.as_ref().map(|done| &done.entry);
        let shown = json::plan(&what, &system, &plan, entry, lease.as_ref());
        output::print_json(&shown)?;
        return Ok(ExitCode::SUCCESS);
    }
    let lease = lease.map(|entry| Applied {
        entry,
        untold: None,
    });
    for (done, chosen) in [(lease, by_helper), (done, chosen)] {
        if let Some(done) = done {
            output::print_page(&text::applied(&done, &chosen, &what.remedy()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the changes ourselves.
fn make(
    args: &Fix,
    config: &Config,
    journal_dir: &Path,
    order: ApplyRequest,
    access: Option<&mut Access>,
) -> Result<Applied> {
    let journal = FixJournal::open(journal_dir)?;
    if args.for_time.is_some() {
        remember(journal_dir, config);
    }
    let locked = journal.lock(Some(LOCK_PATIENCE))?;
    let _told = Waiting::announce("making the changes", None);
    let program = Path::new("/proc/self/exe");
    let done = apply(&locked, order, access, program)?;
    if let Some(why) = done.untold.as_ref().filter(|_| config.fleet.is_given()) {
        output::note(&format!("the fleet is not told of this fix: {why}"));
    }
    Ok(done)
}

fn done_step((_, step, change): &Chosen<'_>) -> DoneStep {
    DoneStep {
        says: step.says.clone(),
        change: (*change).clone(),
        remedy: step.remedy.clone(),
    }
}

/// Where the recorder is told of it. Beside incidents the directory is made, where that can be; why it is not there is
/// told by who writes to it.
fn public(config: &Config, root: &Root, server: Option<String>) -> PublicPlace {
    let dir = journals::public_records(config, root);
    let is_beside = dir.ends_with(PUBLIC_BESIDE) && dir.parent().is_some_and(Path::is_dir);
    if is_beside {
        let _ = make_public_directory(&dir);
    }
    PublicPlace { dir, server }
}

/// The watchdog of a lease of a fix; started by ourselves only.
pub(crate) fn watchdog() -> Result<ExitCode> {
    if let Err(why) = remedy::fix::watch(Path::new("/proc/self/exe")) {
        bail!("fix-watchdog: {why}");
    }
    Ok(ExitCode::SUCCESS)
}

/// A step that is made, with its number.
type Chosen<'a> = (usize, &'a Step, &'a Change);

/// The steps that are made.
fn chosen<'a>(args: &Fix, plan: &'a Plan) -> Vec<Chosen<'a>> {
    (1..)
        .zip(&plan.steps)
        .filter(|(_, step)| is_chosen(args, step))
        .filter_map(|(number, step)| Some((number, step, step.change()?)))
        .collect()
}

/// Whether a step would be made with these arguments, if it can be.
fn is_chosen(args: &Fix, step: &Step) -> bool {
    let only_now = args.now || args.for_time.is_some();
    let time = match step.when {
        When::Now => !args.durable,
        When::Durable => !only_now,
    };
    // What cannot be given back is nothing for a lease.
    let lasts = args.for_time.is_none() || step.change().is_none_or(Change::has_undo);
    time && lasts && (step.consent.is_none() || args.consent)
}

/// Asks on the terminal.
fn agreed(chosen: &[Chosen<'_>]) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("nothing was changed: there is no terminal to ask on; --yes changes without asking");
    }
    let numbers: Vec<usize> = chosen.iter().map(|(number, ..)| *number).collect();
    output::ask(&format!("Make {}? [y/N] ", text::changes(&numbers)));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(
        line.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}

/// A lease whose journal is not the usual one: `leases` has to find it all the same.
fn remember(journal_dir: &Path, config: &Config) {
    let state = journals::state_dir(config);
    if journal_dir == journals::fixes_in(&state) {
        return;
    }
    if let Err(error) = remember_journal(&state, journal_dir) {
        output::note(&format!(
            "'freezeframe leases' will find this lease only with --fix-dir {}: {error}",
            journal_dir.display()
        ));
    }
}

fn note_unsettled(journal_dir: &Path) {
    let found = FixJournal::existing(journal_dir)
        .and_then(|journal| journal.map_or(Ok(Vec::new()), |journal| unsettled(&journal)));
    match found {
        Ok(entries) => {
            for entry in entries {
                output::note(&format!(
                    "fix {} of {} was interrupted, or its lease has no watchdog any more: freezeframe fix --undo {}",
                    entry.id, entry.cause, entry.id
                ));
            }
        }
        Err(error) => output::note(&error.to_string()),
    }
}

/// What was applied, for people; see [`text`].
type Done = Applied;
