//! `freezeframe capture`: an incident of now, by the recorder that runs, or without one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cli::{output, usage};
use recorder::{Notice, Recorder, RecorderConfig};

use crate::args::Capture;
use crate::config::Config;
use crate::control::{self, PendingCapture};
use crate::record::stop_flag;
use crate::{causes, explain, of_service, targets};

/// How long we record before the incident begins, when nobody does: rates need two readings, and
/// what is usual ten seconds.
const BEFORE: Duration = Duration::from_secs(12);

/// How often the incident's file is looked for.
const POLL: Duration = Duration::from_millis(200);

/// How often a recorder is asked whether it is still there.
const STILL_THERE: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &Capture) -> Result<ExitCode> {
    let config = Config::load(args.server.config.as_deref())?;
    causes::use_directory(args.causes.as_deref(), &config);
    let dir = of_service::directory(&config, args.dir.as_deref());
    let recording = config.recorder(dir.clone())?;
    let for_ms = u64::try_from(args.for_time.as_millis()).unwrap_or(u64::MAX);
    if !(1000..=recording.incident_max_ms).contains(&for_ms) {
        return Err(usage(anyhow::anyhow!(
            "--for: 1s to {}s; the most is max_seconds of [incident] in the configuration",
            recording.incident_max_ms / 1000
        )));
    }
    let stop = stop_flag()?;
    let asked = match names_a_server(args) {
        // A running recorder knows its servers by label.
        true => Vec::new(),
        false => control::ask(&dir, for_ms, args.label.as_deref())?,
    };
    let paths = if asked.is_empty() {
        let why = match &args.label {
            Some(label) => format!("no recorder of '{label}' runs"),
            None => "no recorder runs".to_owned(),
        };
        if args.label.is_some() && !names_a_server(args) {
            bail!(
                "{why} in {}; name the server with --socket or --port to record it just for this time",
                dir.display()
            );
        }
        by_ourselves(args, &config, recording, &stop)?
    } else {
        by_recorders(&asked, &dir, &stop)?
    };
    explain::print_files(&paths, args.json)?;
    Ok(ExitCode::SUCCESS)
}

fn names_a_server(args: &Capture) -> bool {
    let server = &args.server;
    server.socket.is_some()
        || server.host.is_some()
        || server.port.is_some()
        || server.pid.is_some()
}

/// Waits for the files of incidents that were promised.
fn by_recorders(asked: &[PendingCapture], dir: &Path, stop: &AtomicBool) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for asking in asked {
        let capture = &asking.capture;
        let places = places_of(dir, capture);
        let there = || places.iter().find(|path| path.exists());
        output::note(&format!(
            "{}: recording an incident for {:.0} s; Ctrl-C stops only the waiting",
            capture.server,
            capture.for_ms as f64 / 1000.0
        ));
        let due = Instant::now() + Duration::from_millis(capture.for_ms) + STILL_THERE;
        let mut is_late = false;
        let mut look = Instant::now() + STILL_THERE;
        let path = loop {
            if let Some(path) = there() {
                break path.clone();
            }
            let due_there = places.last().map_or(dir, PathBuf::as_path).display();
            if stop.load(Ordering::Relaxed) {
                bail!("stopped waiting; the incident will be {due_there}");
            }
            if Instant::now() >= look {
                look = Instant::now() + STILL_THERE;
                if !control::is_there(&asking.socket) && there().is_none() {
                    bail!("the recorder has ended without writing {due_there}");
                }
            }
            if Instant::now() >= due && !std::mem::replace(&mut is_late, true) {
                output::note(&format!(
                    "{}: a stall is going on; the incident is written when it ends, or at the longest length of an incident",
                    capture.server
                ));
            }
            std::thread::sleep(POLL);
        };
        paths.push(path);
    }
    Ok(paths)
}

/// Where the file of an incident may be: in the recorder's directory, or in that of a server with a name.
fn places_of(dir: &Path, capture: &control::Capture) -> Vec<PathBuf> {
    let name = format!("{}.frame", capture.id);
    let of_target = dir.join(store::TARGETS_DIR).join(&capture.server);
    let of_target = of_target.is_dir().then(|| of_target.join(&name));
    std::iter::once(dir.join(&name)).chain(of_target).collect()
}

/// Whoever captures waits for nothing else: a directory that takes no file is told before, not after.
fn must_take_files(dir: &Path) -> Result<()> {
    store::make_private_dir(dir)?;
    tempfile::Builder::new()
        .prefix(".capture-")
        .tempfile_in(dir)
        .map(drop)
        .with_context(|| {
            format!(
                "{}: the incident could not be written there; use another directory with --dir",
                dir.display()
            )
        })
}

/// Records for this once, in memory.
fn by_ourselves(
    args: &Capture,
    config: &Config,
    mut recording: RecorderConfig,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<PathBuf>> {
    recording.history = None;
    let targets = targets::find_resolved(&args.server, config)?;
    must_take_files(&recording.dir)?;
    // One that runs may be beside another server than the one that is named.
    let why = match names_a_server(args) {
        true => "no recorder is asked when a server is named".to_owned(),
        false => format!("no recorder runs in {}", recording.dir.display()),
    };
    output::note(&format!(
        "{why}: recording for {:.0} s; the first {} are to learn what is usual",
        (BEFORE + args.for_time).as_secs_f64(),
        BEFORE.as_secs()
    ));
    // The recorders end by their own flag, so that what was taken until Ctrl-C is written.
    let end = Arc::new(AtomicBool::new(false));
    let (notices, told) = channel();
    let (mut recorders, mut asked) = (Vec::new(), Vec::new());
    for target in targets {
        let label = target.label.clone();
        let recorder = Recorder::start(target, recording.clone(), end.clone(), notices.clone())?;
        asked.push(recorder.capture_requests());
        let thread = kernel::own_threads::start(format!("ff-{label}"), move || recorder.run())?;
        recorders.push(thread);
    }
    drop(notices);
    let began = Instant::now();
    let mut is_asked = false;
    let mut paths = Vec::new();
    // A recorder tries again for as long as it runs; here nobody mends the disk meanwhile.
    let mut refused = BTreeSet::new();
    let mut trouble = None;
    loop {
        let is_stopped = stop.load(Ordering::Relaxed);
        if !is_asked && !is_stopped && began.elapsed() >= BEFORE {
            is_asked = true;
            for recorder in &asked {
                drop(recorder.ask(args.for_time.as_millis() as u64));
            }
        }
        let all = paths.len() + refused.len() >= recorders.len();
        if all || is_stopped {
            end.store(true, Ordering::Relaxed);
        }
        match told.recv_timeout(POLL) {
            Ok((_, Notice::Written { path, .. })) => paths.push(path),
            Ok((label, Notice::IncidentLost { error, .. } | Notice::NotWritten(error))) => {
                refused.insert(label);
                trouble = Some(error);
            }
            Ok((label, Notice::Triggered { trigger, .. })) => {
                output::note(&format!("{label}: a stall: {}", trigger.says));
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    for recorder in recorders {
        let _ = recorder.join();
    }
    match (paths.is_empty(), trouble) {
        (false, _) => Ok(paths),
        (true, Some(error)) => bail!("the incident cannot be written: {error}"),
        (true, None) => bail!("stopped before anything was recorded"),
    }
}
