//! The demonstration: a real server, a real stall, recorded from outside by this same program.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use cli::output;
use serde_json::Value;
use testbed::{Load, PrivateServer, Withheld};

use crate::background::{Background, load};
use crate::product::{Recorder, explain};

/// Ordinary load before the flood: the detector needs ten seconds of it to know what is usual.
const ORDINARY: Duration = Duration::from_secs(16);

/// The flood of story S2: thirty clients.
const FLOOD: Duration = Duration::from_secs(12);
const FLOOD_CLIENTS: usize = 30;

/// glibc's malloc with its threshold for giving memory back to the kernel where it is at a process's
/// start, and kept there. The buffers of each compressed packet (zlib's, about 256 KiB) then go
/// back after every packet and are faulted in again. Without it two cores hardly show what the
/// published case lost on thirty-two: measured here over the socket, 131,000 statements a second
/// uncompressed, 75,000 compressed with glibc's adaptive threshold, 25,000 with this one.
const MALLOC: &str = "glibc.malloc.trim_threshold=131072";

/// What the recorder keeps after the end here; in production it is 30 s.
const AFTER: &str = "4s";

/// How long the incident may take after the flood: quiet, the time kept after it, writing.
const INCIDENT_DEADLINE: Duration = Duration::from_secs(30);

/// No cool-down to wait out, should the machine itself stall the server before the flood does.
const CONFIG: &str = "[detect]\nsame_incident_seconds = 1\n";

/// The recorder ends by itself after this, whatever becomes of us.
const RECORDER_BOUND: &str = "180s";

pub(crate) fn run(dir: &Path) -> Result<ExitCode> {
    std::fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    say(&format!(
        "starting a private MariaDB (performance_schema on; malloc as on an old, large host: {MALLOC})"
    ))?;
    let server = PrivateServer::start(&testbed::Options {
        // As MySQL has it by default: it tells which sessions are compressed.
        arguments: vec!["--performance-schema=ON".to_owned()],
        environment: vec![("GLIBC_TUNABLES".to_owned(), MALLOC.to_owned())],
        ..testbed::Options::default()
    })?;
    say(&format!(
        "it listens on {} and 127.0.0.1:{}",
        server.socket().display(),
        server.port()
    ))?;
    let ordinary = testbed::mix("ordinary").context("the mix 'ordinary' is gone")?;
    ordinary.prepare(&server.login())?;
    let mut recorder = Recorder::start(
        &server,
        dir,
        CONFIG,
        &["--after", AFTER, "--for", RECORDER_BOUND],
    )?;

    say(&format!("ordinary load for {} s", ORDINARY.as_secs()))?;
    let usual = Background::start(load(server.login(), ordinary, 4, Some(400.0), false))?;
    recorder.wait(ORDINARY, |_| false)?;
    // A busy or paused machine can stall a server by itself; that is another incident.
    recorder.wait(INCIDENT_DEADLINE, |recorder| !recorder.in_stall())?;
    let earlier = recorder.incidents().len();
    say(&format!(
        "FLOOD: {FLOOD_CLIENTS} clients send SHOW WARNINGS over the compressed protocol for {} s",
        FLOOD.as_secs()
    ))?;
    let withheld = Withheld::start();
    let warnings = testbed::mix("show-warnings").context("the mix 'show-warnings' is gone")?;
    let flood = Background::start(Load {
        duration: FLOOD,
        ..load(server.tcp_login(), warnings, FLOOD_CLIENTS, None, true)
    })?;
    recorder.wait(FLOOD, |_| false)?;
    let flooded = flood.end()?;
    say(&format!(
        "the flood is over: {:.0} SHOW WARNINGS a second",
        flooded.per_second
    ))?;
    recorder.wait(INCIDENT_DEADLINE, |recorder| {
        recorder.incidents().len() > earlier
    })?;
    usual.end()?;
    let frame = recorder.incidents().get(earlier).cloned();
    recorder.stop()?;
    drop(server);
    let frame = frame.context("no incident was written: the stall was not noticed")?;
    judge(&explain(&frame)?, &frame, &withheld)
}

/// Passes when the first finding is the flood, at least likely, and the compression aggravates it. What the machine's
/// own hypervisor took meanwhile is true as well, and may stand before it.
fn judge(verdict: &Value, frame: &Path, withheld: &Withheld) -> Result<ExitCode> {
    let findings = withheld.others(&verdict["findings"]);
    let first = findings.first().copied().unwrap_or(&Value::Null);
    let named = first["cause"] == "show-warnings-flood"
        && (first["level"] == "likely" || first["level"] == "certain");
    let aggravated = first["relations"].as_array().is_some_and(|relations| {
        relations.iter().any(|relation| {
            relation["kind"] == "aggravated-by" && relation["cause"] == "compressed-protocol"
        })
    });
    say(&format!("incident {}", frame.display()))?;
    say(&format!(
        "report   {}",
        frame.with_extension("html").display()
    ))?;
    if named && aggravated {
        say("noticed, captured and named: show-warnings-flood, aggravated by compressed-protocol")?;
        return Ok(ExitCode::SUCCESS);
    }
    bail!(
        "the stall was captured, but not named as expected: {}",
        verdict["sentence"].as_str().unwrap_or("no verdict")
    )
}

fn say(text: &str) -> Result<()> {
    output::print(&format!("── {text}"))
}
