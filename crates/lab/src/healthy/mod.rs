//! Healthy servers, captured again and again while nothing is wrong: what the diagnosis then calls likely or certain
//! is a false alarm.
//!
//! A stall's capture is provoked by a trigger that has nothing to do with any cause: one client says `SHOW PRIVILEGES`
//! a few times a second. It is done twice for each load: at the moment when the load begins, so that the time before
//! was idle, and again while it has been running for a while.

pub(crate) mod work;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::Value;
use testbed::{Load, PrivateServer, ServerKind};

use cli::output;

use crate::args::Healthy;
use crate::background::Background;
use crate::product::{Recorder, explain};
use work::{KINDS, Kind, PREPARE};

/// Nothing runs: the time before the first capture of a load.
const CALM: Duration = Duration::from_secs(20);

/// The same with `--brief`: a baseline needs 10 s.
const CALM_BRIEF: Duration = Duration::from_secs(12);

/// From the begin of a capture to the restart of the server, in the loads with one.
const RESTART_AFTER: Duration = Duration::from_secs(3);

/// How long the trigger holds.
const MARK: Duration = Duration::from_secs(12);

/// How long the load runs between its two captures; the second has this as its time before.
const STEADY: Duration = Duration::from_secs(25);

/// Until an incident is written: quiet, the time kept after it, writing.
const WRITTEN_MAX: Duration = Duration::from_secs(60);

/// How long one statement of the preparation may take.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(120);

const MARK_STATEMENT: &str = "SHOW PRIVILEGES";
const MARK_RATE: f64 = 5.0;
const MARK_TRIGGER: &str = "rate(status.Com_show_privileges) > 1 for 1s";

/// Nothing is held back: every capture counts.
/// A load at full speed from one second to the next can be a stall by the recorder's own rules, for as long as it runs.
const CONFIG: &str = "[detect]\nsame_incident_seconds = 1\nincidents_per_hour = 10000\n[incident]\nmax_seconds = 30\n";

/// What one capture came to.
#[derive(Debug, Serialize)]
struct Capture {
    server: &'static str,
    load: &'static str,
    /// The trigger was ours; else the recorder saw a stall by itself.
    provoked: bool,
    path: PathBuf,
    sentence: String,
    /// Causes at least likely, as "level: cause".
    named: Vec<String>,
    /// Causes that are possible.
    possible: Vec<String>,
}

pub(crate) fn run(args: &Healthy) -> Result<ExitCode> {
    let begin = Instant::now();
    let mut captures = Vec::new();
    let mut skipped = Vec::new();
    let mut kinds = Vec::new();
    let wanted: Vec<ServerKind> = match args.servers.as_slice() {
        [] => ServerKind::ALL.to_vec(),
        servers => servers.iter().copied().map(ServerKind::from).collect(),
    };
    for kind in wanted {
        match testbed::installed(kind) {
            Ok(_) => kinds.push(kind),
            Err(error) => skipped.push(format!("{}: {error}", kind.name())),
        }
    }
    for text in &skipped {
        output::note(&format!("skipped: {text}"));
    }
    if kinds.is_empty() {
        bail!("there is no server to capture");
    }
    let mut failed = Vec::new();
    let mut round = 1;
    loop {
        for kind in &kinds {
            let dir = args.dir.join(format!("{}-{round}", kind.need()));
            if let Err(error) = beside(*kind, &dir, args, &mut captures) {
                let why = format!("{}: {error:#}", kind.name());
                output::note(&why);
                failed.push(why);
            }
        }
        round += 1;
        if begin.elapsed() >= args.for_time {
            break;
        }
    }
    report(args, &captures, &skipped, &failed, begin.elapsed())
}

/// All loads on one server.
fn beside(kind: ServerKind, dir: &Path, args: &Healthy, captures: &mut Vec<Capture>) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let mut server = PrivateServer::start(&testbed::Options {
        kind,
        arguments: work::arguments(kind),
        ..testbed::Options::default()
    })?;
    for mix in testbed::MIXES {
        mix.prepare(&server.login())?;
    }
    testbed::say(
        &server.login(),
        &PREPARE.map(str::to_owned),
        PREPARE_TIMEOUT,
    )?;
    let mut recorder = Recorder::start(
        &server,
        dir,
        CONFIG,
        &[
            "--trigger",
            MARK_TRIGGER,
            "--before",
            "20s",
            "--after",
            "2s",
            "--no-html",
        ],
    )?;
    recorder.quiet();
    let wanted = |load: &&Kind| {
        load.is_for(kind)
            && (args.loads.is_empty() || args.loads.iter().any(|name| load.name.contains(name)))
    };
    let (calm, pauses) = if args.brief {
        (CALM_BRIEF, &[Duration::ZERO][..])
    } else {
        (CALM, &[Duration::ZERO, STEADY][..])
    };
    let mut judged_so_far = 0;
    for load_kind in KINDS.iter().filter(wanted) {
        recorder.wait(calm, |_| false)?;
        let running = load_kind.start(&server)?;
        for pause in pauses {
            recorder.wait(*pause, |_| false)?;
            let earlier = recorder.incidents().len();
            let mark = Background::start(mark(&server))?;
            if load_kind.restarts() {
                recorder.wait(RESTART_AFTER, |_| false)?;
                server.restart()?;
            }
            recorder.wait(MARK, |_| false)?;
            mark.end()?;
            let written = recorder.wait(WRITTEN_MAX, |recorder| {
                recorder.incidents().len() > earlier && !recorder.in_stall()
            })?;
            if !written {
                // It counts for nothing, and a reader should know.
                output::note(&format!(
                    "{}, {}: no incident was written within {} s",
                    kind.name(),
                    load_kind.name,
                    WRITTEN_MAX.as_secs()
                ));
            }
            // Also those that were written since the last look: a stall that nobody provoked counts.
            for path in recorder.incidents().iter().skip(judged_so_far) {
                let capture = judged(kind, load_kind, path)?;
                if !args.json {
                    output::print(&line(&capture))?;
                }
                captures.push(capture);
            }
            judged_so_far = recorder.incidents().len();
        }
        running.end()?;
    }
    recorder.stop()
}

fn mark(server: &PrivateServer) -> Load {
    Load {
        login: server.login(),
        clients: 1,
        rate_per_second: Some(MARK_RATE),
        compression: false,
        reconnect: false,
        statements: vec![(1, MARK_STATEMENT.to_owned())],
        duration: 2 * MARK,
        timeout: Duration::from_secs(10),
    }
}

fn judged(kind: ServerKind, load_kind: &Kind, path: &Path) -> Result<Capture> {
    let verdict = explain(path)?;
    let findings = || {
        ["findings", "folded"]
            .into_iter()
            .filter_map(|list| verdict[list].as_array())
            .flatten()
    };
    let level = |finding: &Value| finding["level"].as_str().unwrap_or_default().to_owned();
    let cause = |finding: &Value| finding["cause"].as_str().unwrap_or_default().to_owned();
    let provoked = verdict["incident"]["triggers"]
        .as_array()
        .is_some_and(|triggers| triggers.iter().any(|trigger| trigger["rule"] == "user"));
    Ok(Capture {
        server: kind.name(),
        load: load_kind.name,
        provoked,
        path: path.to_owned(),
        sentence: verdict["sentence"].as_str().unwrap_or_default().to_owned(),
        named: findings()
            .filter(|finding| level(finding) != "possible")
            .map(|finding| format!("{}: {}", level(finding), cause(finding)))
            .collect(),
        possible: findings()
            .filter(|finding| level(finding) == "possible")
            .map(cause)
            .collect(),
    })
}

fn line(capture: &Capture) -> String {
    let what = match (capture.named.as_slice(), capture.possible.as_slice()) {
        ([], []) => "nothing named".to_owned(),
        ([], possible) => format!("possible: {}", possible.join(", ")),
        (named, _) => format!("FALSE ALARM {}", named.join(", ")),
    };
    let by = if capture.provoked { "" } else { "  (stall)" };
    format!("{:<20}  {:<40}  {what}{by}", capture.server, capture.load)
}

fn report(
    args: &Healthy,
    captures: &[Capture],
    skipped: &[String],
    failed: &[String],
    time: Duration,
) -> Result<ExitCode> {
    let false_alarms = captures
        .iter()
        .filter(|capture| !capture.named.is_empty())
        .count();
    if args.json {
        output::print_json(&serde_json::json!({
            "seconds": time.as_secs(),
            "captures": captures,
            "false_alarms": false_alarms,
            "skipped": skipped,
            "failed": failed,
        }))?;
    } else {
        let possible = captures
            .iter()
            .filter(|capture| !capture.possible.is_empty())
            .count();
        let by_itself = captures.iter().filter(|capture| !capture.provoked).count();
        output::print(&format!(
            "{} captures in {} minutes ({by_itself} of them stalls that the recorder saw by itself): {false_alarms} with a cause \
             that is likely or certain, {possible} with one that is possible",
            captures.len(),
            time.as_secs() / 60,
        ))?;
    }
    Ok(ExitCode::from(match false_alarms {
        0 if failed.is_empty() => 0,
        0 => FAILED,
        _ => FALSE_ALARM,
    }))
}

/// A server could not be looked at to the end.
const FAILED: u8 = 1;

/// Something was named where nothing was wrong.
const FALSE_ALARM: u8 = 3;
