//! `freezeframe record`: starts the recorders, and tells what they notice.

mod absences;
mod fleet;
mod journal;
mod lines;
mod newcomers;
mod reporter;
mod service;

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use cli::{one_line, output, usage};
use recorder::{GeneralLogPermit, REQUESTED_MS, host_name, keep_within};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};

use crate::args::Record;
use crate::config::Config;
use crate::control::ControlledRecorders;
use crate::episodes::Episodes;
use crate::feed::{self, FleetConfig};
use crate::hooks::Hooks;
use crate::listen::{self, Board, Names, Status};
use crate::{causes, control, journals, leases, own_recorder, targets, triggers};

use self::absences::Absences;
use self::fleet::{Fleet, TargetsFrom};
use self::journal::Journal;
use self::reporter::Reporter;
use self::service::Service;

/// How soon a signal that asks for an incident is seen.
const ASKED_POLL: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &Record) -> Result<ExitCode> {
    // Before anything is started or written.
    let triggers = args.triggers.iter().map(|text| triggers::parse(text));
    let triggers: Vec<_> = triggers.collect::<Result<_, _>>().map_err(usage)?;
    let mut config = Config::load(args.server.config.as_deref())?;
    if args.with_parent.is_some() {
        // Whoever only looks pages nobody, takes no port, and changes nothing on the server.
        config.hooks.clear();
        config.fleet = FleetConfig::default();
        config.listen = None;
        config.queries.general_log = false;
    }
    causes::use_directory(args.causes.as_deref(), &config);
    let dir = config.directory(args.dir.as_deref());
    let leases_dir = std::path::absolute(dir.join("leases"))?;
    let board = Arc::new(Board::default());
    let status = args.listen.or(config.listen);
    let hosts = [args.listen_hosts.as_slice(), &config.listen_hosts].concat();
    let names = Names::new("record", &host_name(), &hosts);
    let site = Box::new(Status::new(board.clone()));
    let listening = status.map(|address| listen::start(address, names, site, None));
    let listening = listening.transpose()?;
    let episodes = Episodes::in_dir(&dir);
    let hooks = Hooks::start(&config.hooks, &dir)?;
    board.hooks(hooks.states());
    if let Some(state) = feed::start(&config.fleet, &config.targets, &dir)? {
        board.feed(state);
    }
    let control_dir = dir.clone();
    let own_dir = dir.clone();
    let mut recording = config.recorder(dir)?;
    recording.detect.user.extend(triggers);
    let ms = |time: std::time::Duration| time.as_millis() as u64;
    recording.before_ms = args.before.map_or(recording.before_ms, ms);
    recording.after_ms = args.after.map_or(recording.after_ms, ms);
    if args.no_history {
        recording.history = None;
    }
    let from = targets_from(args, &config);
    // Without a name all are meant that run here, those that begin later too.
    let all = match from {
        // Who only looks has no use for a recorder that waits.
        None if args.with_parent.is_none() => targets::all_here(&args.server, &config)?,
        _ => None,
    };
    let targets = match (&from, &all) {
        (Some(_), _) => Vec::new(),
        (None, Some(_)) => targets::find_any(&args.server, &config)?,
        (None, None) => targets::find_resolved(&args.server, &config)?,
    };
    recording.general_log = general_log(args, &config, &leases_dir);
    revert_leftovers(leases_dir)?;
    let stop = stop_flag()?;
    if let Some(parent) = args.with_parent {
        own_recorder::end_with(parent, stop.clone())?;
    }
    let (notices, told) = channel();
    let service = Service::of_environment().context("NOTIFY_SOCKET")?;
    let service = service.map(Arc::new);
    let is_service = service.is_some();
    let retained = recording.retention;
    let mut fleet = Fleet::new(recording, stop.clone(), notices, service, board.clone());
    let (recorded, servers) = (fleet.recorded(), fleet.servers());
    let mut found = Vec::new();
    match &all {
        Some(_) => found = targets,
        None => {
            for target in targets {
                fleet.record(target)?;
            }
        }
    }
    // `systemctl reload` of a service without targets ends nothing.
    if from.is_none() && is_service {
        let unused = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGHUP, unused).context("cannot handle signals")?;
    }
    let several = from.is_some() || fleet.len() > 1 || found.len() > 1;
    let recorders = match (from, all) {
        (Some(from), _) => fleet.record_targets(from, &config)?,
        (None, Some(login)) => fleet.record_all(found, login)?,
        (None, None) => fleet.wait_for_end()?,
    };
    let (deletions, kept) = channel();
    let retention = keep_within(&control_dir, retained, stop.clone(), deletions)?;
    board.retention(retention);
    // Without it there is the signal.
    let control = control::serve(&control_dir, recorded.clone()).inspect_err(|error| {
        output::note(&format!(
            "`freezeframe capture` cannot reach this recorder: {}",
            one_line(error)
        ))
    });
    capture_when_asked(recorded, stop.clone())?;
    if let Some(time) = args.for_time {
        stop_after(time, stop.clone())?;
    }
    let teller = Reporter {
        json: args.json,
        verbose: args.verbose,
        html: !args.no_html,
        several,
        journal: Journal::of_environment(),
        board,
        hooks,
        lost: Cell::new(false),
        unwritten: Cell::new(false),
        so_far: RefCell::default(),
        absences: Absences::default(),
        episodes,
        servers,
    };
    if let Some(address) = listening {
        teller.listening(address)?;
    }
    let result = teller.run(&told, &kept);
    // Whatever ended the telling ends the recording too, and nothing that was captured is lost.
    stop.store(true, Ordering::Relaxed);
    let _ = recorders.join();
    // What the recorders told on their way out is an event too, whoever reads it.
    teller.rest(&told);
    teller.hooks.finish();
    drop(control);
    if args.with_parent.is_some() {
        // Who started it may be gone.
        let _ = std::fs::remove_dir_all(&own_dir);
    }
    result?;
    // A recording that kept nothing of a stall did not do what it is for.
    Ok(match teller.lost.get() {
        true => ExitCode::from(1),
        false => ExitCode::SUCCESS,
    })
}

/// Where named servers are from: `--targets`, or the configuration where the command line names no server.
fn targets_from(args: &Record, config: &Config) -> Option<TargetsFrom> {
    let named = &args.server;
    match &args.targets {
        Some(path) => Some(TargetsFrom::File(path.clone())),
        None if named.names_one() || config.targets.is_empty() => None,
        None => Some(TargetsFrom::Config(named.config.clone())),
    }
}

/// What the configuration permits to do at a trigger.
fn general_log(args: &Record, config: &Config, leases: &Path) -> Option<GeneralLogPermit> {
    let queries = &config.queries;
    queries.general_log.then(|| GeneralLogPermit {
        journal: leases.to_owned(),
        login: journals::login_way(&args.server, config, ""),
        time_max: Duration::from_secs(queries.general_log_seconds.unwrap_or(10)),
        bytes_max: queries.general_log_mebibytes.unwrap_or(64) << 20,
        free_bytes_min: 1 << 30,
        program: PathBuf::from("/proc/self/exe"),
    })
}

/// What an earlier recorder changed and could not give back is given back beside the recording.
fn revert_leftovers(dir: PathBuf) -> Result<()> {
    kernel::own_threads::start("ff-leases", move || leases::revert_all(&dir))?;
    Ok(())
}

/// Whether a journal reads our standard output.
pub(crate) fn is_journaled() -> bool {
    Journal::of_environment().is_some()
}

/// Set by the first SIGINT or SIGTERM; the second one ends the process at once.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 1, stop.clone())
            .and_then(|_| signal_hook::flag::register(signal, stop.clone()))
            .context("cannot handle signals")?;
    }
    Ok(stop)
}

/// SIGUSR1: an incident of each recorded server, now.
fn capture_when_asked(recorded: ControlledRecorders, stop: Arc<AtomicBool>) -> Result<()> {
    let signal = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, signal.clone()).context("cannot handle signals")?;
    kernel::own_threads::start("ff-asked", move || {
        while !stop.load(Ordering::Relaxed) {
            if signal.swap(false, Ordering::Relaxed) {
                for recorder in recorded.now() {
                    drop(recorder.asked.ask(REQUESTED_MS));
                }
            }
            std::thread::sleep(ASKED_POLL);
        }
    })?;
    Ok(())
}

fn stop_after(time: std::time::Duration, stop: Arc<AtomicBool>) -> Result<()> {
    let end = Instant::now() + time;
    kernel::own_threads::start("ff-timer", move || {
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            std::thread::sleep(left);
        }
        stop.store(true, Ordering::Relaxed);
    })?;
    Ok(())
}
