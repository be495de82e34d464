//! `freezeframe support-bundle`: one file for whoever helps, without what is nobody's business.

mod collect;
mod directory;
mod known;
mod log;
mod met;
mod scrub;
mod settings;
mod tar;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use cli::{output, recorded};
use flate2::Compression;
use flate2::write::GzEncoder;
use model::OrderBy;
use serde_json::{Value, json};

use crate::args::SupportBundle;
use crate::config::Config;
use crate::episodes::{self, Episode};
use crate::server_arguments::arguments;
use crate::{causes, export, self_test, shell};

use self::collect::SERVICE;
use self::scrub::Scrub;
use self::tar::Tar;

/// How long `freezeframe check` may take, and the journal.
const CHECK_TIME_MAX: Duration = Duration::from_secs(40);
const LOG_TIME_MAX: Duration = Duration::from_secs(10);

/// Stalls that are listed, the latest.
const STALLS_MAX: usize = 200;

/// Lines of the recorder's log.
const LOG_LINES: &str = "2000";

const README: &str = "\
This is the content of a support bundle, made by freezeframe support-bundle. Nothing was sent anywhere.

version.json         this program, the kernel, the distribution
configuration.toml   without texts, except names of signals and events
self-test.json       freezeframe self-test
check.json           freezeframe check
unit.txt             the service, as systemd knows it
log.txt              the last lines of the recorder's journal, without what stands in quotes
metrics.txt          from the status address
directory.txt        the files of the recorder's directory: mode, bytes, name
incidents.json       the incidents
stalls.json          all stalls, captured or not
incidents/N.frame    the last incidents, latest first, as export --redact writes them

Removed everywhere: passwords, tokens and addresses of hooks, the texts of the configuration; parentheses say what was
removed. Users, hosts, and names of servers and files are replaced, the same one by the same word in every part and in the
incidents: host_…, user_…, dir_…. A part that is missing says why.
";

/// A part of the bundle.
struct Part {
    name: String,
    bytes: Vec<u8>,
    /// It could not be had, and why.
    absent: Option<String>,
}

/// What is collected, cleaned.
struct Parts {
    scrub: Scrub,
    parts: Vec<Part>,
}

impl Parts {
    fn add(&mut self, name: &str, text: Result<String, String>) {
        let absent = text.as_ref().err().map(|why| self.scrub.clean(why));
        let text = match &text {
            Ok(text) => self.scrub.clean(text),
            Err(_) => format!("missing: {}\n", absent.as_deref().unwrap_or_default()),
        };
        self.parts.push(Part {
            name: name.to_owned(),
            bytes: text.into_bytes(),
            absent,
        });
    }

    fn add_json(&mut self, name: &str, value: &Value) {
        let text = serde_json::to_string_pretty(value);
        self.add(name, text.map_err(|error| error.to_string()));
    }
}

pub(crate) fn run(args: &SupportBundle) -> Result<ExitCode> {
    cli::file_only("--output", args.output.as_deref())?;
    let path = match &args.output {
        Some(path) => path.clone(),
        None => {
            let stamp = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
            PathBuf::from(format!("freezeframe-support-{stamp}.tar.gz"))
        }
    };
    if path.symlink_metadata().is_ok() && !args.force {
        bail!("{}: already exists; --force replaces it", path.display());
    }
    let config_path = Config::path(args.server.config.as_deref());
    // A configuration that is wrong is what a bundle may be needed for.
    let config = Config::load(args.server.config.as_deref()).unwrap_or_default();
    causes::use_directory(None, &config);
    // What is found in it is told by its path, which is known in this form.
    let named_dir = args.dir.as_deref().map(whole);
    let named_config = args.server.config.as_deref().map(whole);
    let dir = config.directory(named_dir.as_deref());
    let (shown, texts) = match &config_path {
        Some(path) => settings::shown(path),
        None => (
            "# there is none: all is as by default\n".to_owned(),
            Vec::new(),
        ),
    };
    let salt = export::random_salt()?;
    let mut scrub = Scrub::new(&salt);
    known::of_login(&mut scrub, args, &config);
    known::of_settings(&mut scrub, &texts);
    known::of_causes(&mut scrub);
    let server = &args.server;
    let paths = [
        &server.socket,
        &server.password_file,
        &server.defaults_file,
        &server.tls.ssl_ca,
        &server.tls.ssl_cert,
        &server.tls.ssl_key,
        &named_config,
    ];
    let paths = paths.into_iter().flatten().map(PathBuf::as_path);
    known::of_paths(&mut scrub, paths.chain([dir.as_path()]));
    let tells_all = known::of_service(&mut scrub, &dir);
    let frames = latest(&dir);
    for (_, summary) in &frames {
        scrub.add_host(&summary.host);
        scrub.add_label(&summary.server.label);
        known::of_incident(&mut scrub, &summary.id);
    }
    let stalls = episodes::read(&dir);
    for stall in &stalls {
        known::of_server(&mut scrub, &stall.server);
        if let Some(id) = &stall.incident {
            known::of_incident(&mut scrub, id);
        }
        known::of_cause(&mut scrub, stall.cause.as_deref().unwrap_or_default());
    }
    let listed = directory::listed(&dir, &mut scrub);
    progress("check");
    let checked = check(args);
    known::of_check(&mut scrub, checked.as_deref().unwrap_or_default());
    met::learn(checked.as_deref().unwrap_or_default(), &mut scrub);
    progress("self-test");
    let tested = self_test::test(named_dir.as_deref(), named_config.as_deref()).as_json();
    met::learn(&tested.to_string(), &mut scrub);
    let (version, incidents) = (version(), incidents(&frames));
    met::learn(&version.to_string(), &mut scrub);
    met::learn(&incidents.to_string(), &mut scrub);
    progress("log and metrics");
    let metrics = match config.listen {
        Some(listen) => collect::metrics(listen),
        None => Err("no status address is configured (listen)".to_owned()),
    };
    known::of_metrics(&mut scrub, metrics.as_deref().unwrap_or_default());
    let metrics = metrics.map(|metrics| known::without_label_names(&scrub, &metrics));
    let journal = [
        "--unit=freezeframe",
        "--no-pager",
        "--quiet",
        "--output=short-iso",
    ];
    let mut journalctl = Command::new("journalctl");
    journalctl.args(journal).args(["--lines", LOG_LINES]);
    let log = match tells_all {
        true => Err("left out: with --verbose or --json whole reports are in it".to_owned()),
        false => collect::program(&mut journalctl, LOG_TIME_MAX),
    };
    let log = log.map(|log| log::shown(&log, &mut scrub));
    // From here on all names are known.
    let mut parts = Parts {
        scrub,
        parts: Vec::new(),
    };
    parts.add("README.txt", Ok(README.to_owned()));
    parts.add_json("version.json", &version);
    parts.add("configuration.toml", Ok(shown));
    parts.add_json("self-test.json", &tested);
    parts.add("check.json", checked);
    parts.add("log.txt", log);
    let unit = "--property=ActiveState,SubState,Result,NRestarts,ExecMainStatus,MemoryCurrent,CPUUsageNSec,ActiveEnterTimestamp";
    let mut systemctl = Command::new("systemctl");
    systemctl.args(["show", SERVICE, "--no-pager", unit]);
    parts.add("unit.txt", collect::program(&mut systemctl, LOG_TIME_MAX));
    parts.add("metrics.txt", metrics);
    parts.add("directory.txt", listed);
    parts.add_json("incidents.json", &incidents);
    parts.add_json("stalls.json", &latest_stalls(&stalls));
    add_incidents(&mut parts, &frames, usize::from(args.incidents), &salt)?;
    output::clear_progress();
    let bytes = packed(&parts)?;
    store::write_private(&path, &bytes)?;
    print_result(args.json, &path, &bytes, &parts.parts)?;
    Ok(ExitCode::SUCCESS)
}

/// The whole path of one that was said.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn progress(what: &str) {
    if output::is_terminal() {
        output::progress(&format!("support bundle: {what}"));
    }
}

fn version() -> Value {
    let line = |path: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().next().unwrap_or_default().to_owned()
    };
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let pretty = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "architecture": std::env::consts::ARCH,
        "kernel": line("/proc/sys/kernel/osrelease"),
        "distribution": pretty.map(|name| name.trim_matches('"')),
        "frame_version": store::INCIDENT_FILE_VERSION,
        "made": jiff::Timestamp::now().to_string(),
    })
}

/// `freezeframe check` by itself: a server that hangs costs its part alone.
fn check(args: &SupportBundle) -> Result<String, String> {
    if args.no_check {
        return Err("left out (--no-check)".to_owned());
    }
    let mut command = Command::new("/proc/self/exe");
    command.args(["check", "--json", "--redact", "--look", "2s"]);
    command.args(arguments(&args.server));
    collect::program(&mut command, CHECK_TIME_MAX)
}

/// The incidents, the latest first.
fn latest(dir: &Path) -> Vec<(PathBuf, store::IncidentSummary)> {
    let mut frames = recorded::summaries(dir);
    frames
        .order_by_key(|(_, summary)| std::cmp::Reverse(summary.clock.wall_ms(summary.stall.onset)));
    frames
}

fn incidents(frames: &[(PathBuf, store::IncidentSummary)]) -> Value {
    let each = frames.iter().map(|(path, summary)| {
        let stall = &summary.stall;
        let onset = jiff::Timestamp::from_millisecond(summary.clock.wall_ms(stall.onset));
        let rules: Vec<&str> = stall.triggers.iter().map(|one| one.rule.as_str()).collect();
        json!({
            "id": summary.id,
            "onset": onset.ok().map(|onset| onset.to_string()),
            "lasted_ms": stall.end.map(|end| end.saturating_sub(stall.onset)),
            "rules": rules,
            "server_version": summary.server.version,
            "bytes": path.metadata().map_or(0, |file| file.len()),
        })
    });
    each.collect()
}

fn latest_stalls(all: &[Episode]) -> Value {
    let from = all.len().saturating_sub(STALLS_MAX);
    // Without the words of what was felt: they may name things.
    let each = all.iter().skip(from).map(|stall| {
        json!({
            "server": stall.server,
            "onset_ms": stall.onset_ms,
            "trigger_ms": stall.trigger_ms,
            "end_ms": stall.end_ms,
            "rule": stall.rule,
            "incident": stall.incident,
            "cause": stall.cause,
        })
    });
    each.collect()
}

/// The last incidents without names. One that cannot be read or would not be clean costs itself alone.
fn add_incidents(
    parts: &mut Parts,
    frames: &[(PathBuf, store::IncidentSummary)],
    count: usize,
    salt: &[u8],
) -> Result<()> {
    let room = tempfile::tempdir().context("no temporary directory")?;
    for (index, (path, _)) in frames.iter().take(count).enumerate() {
        progress(&format!("incident {} of {count}", index + 1));
        let name = format!("incidents/{}.frame", index + 1);
        match export::shared_file(path, salt, room.path()) {
            Ok(bytes) => match parts.scrub.find_in_frame(&bytes) {
                None => parts.parts.push(Part {
                    name,
                    bytes,
                    absent: None,
                }),
                Some(what) => {
                    let why = format!("{what} would still be in it");
                    parts.add(&format!("{name}.absent.txt"), Err(why));
                }
            },
            Err(error) => {
                parts.add(&format!("{name}.absent.txt"), Err(format!("{error:#}")));
            }
        }
    }
    Ok(())
}

/// All parts in one file. Refused where something stands in it that must not.
fn packed(parts: &Parts) -> Result<Vec<u8>> {
    let now = u64::try_from(kernel::clock::wall_ms() / 1000).unwrap_or(0);
    let mut tar = Tar::default();
    for part in &parts.parts {
        let found = match part.name.ends_with(".frame") {
            true => parts.scrub.find_in_frame(&part.bytes),
            false => parts.scrub.find(&part.bytes),
        };
        if let Some(what) = found {
            bail!(
                "nothing was written: {what} would still be in {}; please report it",
                part.name
            );
        }
        tar.add(
            &format!("freezeframe-support/{}", part.name),
            &part.bytes,
            now,
        );
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&tar.finish())?;
    Ok(packed.finish()?)
}

fn print_result(json: bool, path: &Path, bytes: &[u8], parts: &[Part]) -> Result<()> {
    if json {
        let parts: Vec<Value> = parts
            .iter()
            .map(
                |part| json!({"name": part.name, "bytes": part.bytes.len(), "absent": part.absent}),
            )
            .collect();
        return output::print_json(&json!({"path": path, "bytes": bytes.len(), "parts": parts}));
    }
    let mut text = String::new();
    for part in parts {
        let _ = match &part.absent {
            None => writeln!(text, "  {:<24} {:>9} bytes", part.name, part.bytes.len()),
            Some(why) => writeln!(text, "  {:<24} missing: {why}", part.name),
        };
    }
    let kib = bytes.len().div_ceil(1024);
    let _ = writeln!(
        text,
        "{}: {kib} KiB, readable only by you; nothing was sent.\nLook at it before you send it: tar -xzf {}",
        output::plain(&path.display().to_string()),
        shell::word(&path.to_string_lossy())
    );
    output::print(&text)
}
