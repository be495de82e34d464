//! `freezeframe check`: what a recording of a server will have, what it will lack, and why.

mod account;
mod audit;
mod reachability;
mod rights;
mod shared;
mod stalls;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use cli::output;
use cli::output::wrapped;
use kernel::access::{EvidenceAdvice, access, advise, process_access};
use recorder::{SourceCheck, Target, check_server};
use serde_json::json;

use crate::args::Check;
use crate::config::Config;
use crate::feed::FleetReached;
use crate::refused::RefusedLogin;
use crate::{feed, resource_limits, symbols, targets, targets_file};

use self::reachability::Unreached;

/// Columns of a line where standard output is no terminal.
const WIDTH_UNKNOWN: usize = 100;

/// How long the sources have to answer once.
const PATIENCE: Duration = Duration::from_millis(3500);

/// `check --exit-code` when something was seen that servers stalled with.
const SERIOUS: u8 = 4;

/// The servers that a recorder with this command line would record.
fn selected_targets(args: &Check, config: &Config) -> Result<Vec<Target>> {
    match targets_file::select(args.targets.as_deref(), &args.server, config)? {
        None => targets::find_listening(&args.server, config),
        Some(targets) => targets
            .iter()
            .map(|one| one.find(config).with_context(|| one.name.clone()))
            .collect(),
    }
}

pub(crate) fn run(args: &Check) -> Result<ExitCode> {
    let config = Config::load(args.server.config.as_deref())?;
    let recording = config.recorder(std::env::temp_dir())?;
    let mut answers = Vec::new();
    let (mut serious, mut failed) = (false, Vec::new());
    let targets = selected_targets(args, &config)?;
    let fleet = feed::reached(&config.fleet, &config.directory(None))?;
    let mut too_small = resource_limits::too_small(targets.len());
    too_small.extend(resource_limits::too_small_for_service(targets.len()));
    for target in targets {
        let (label, name, who) = (
            target.label.clone(),
            target.name(),
            RefusedLogin::of(&target),
        );
        let pid = target.process.as_ref().map(|process| process.pid);
        let mut looked = check_server(target.clone(), &recording, PATIENCE, args.look)?;
        let evidence = evidence(pid);
        let checked = std::mem::take(&mut looked.checked);
        let took_ms = looked.took_ms;
        let unreached = reachability::unreached(&who, &checked);
        let account = match unreached.is_none() {
            true => account::read(&target).map(Some),
            false => Ok(None),
        };
        failed.extend(unreached.as_ref().map(|unreached| unreached.line(&name)));
        let audit = audit::audit_of(looked);
        serious |= audit.is_serious();
        if args.json {
            let mut answer = as_json(&label, &checked, &evidence);
            answer["name"] = json!(name);
            answer["login"] = match &unreached {
                Some(unreached) => unreached.as_json(),
                None => json!({"ok": true}),
            };
            if let Ok(Some(account)) = &account {
                answer["account"] = account.as_json(&checked);
            }
            answer["rights"] = rights::as_json(&access());
            answer["stalls"] = stalls::as_json(&recording, &checked);
            answer["too_small"] = json!(too_small);
            answer["fleet"] = json!(fleet.as_ref().map(FleetReached::as_json));
            answer["audit"] = audit::as_json(&audit, took_ms);
            answers.push(match args.redact {
                true => shared::of(answer, &audit),
                false => answer,
            });
        } else {
            let text = as_text(&name, &checked, unreached.as_ref(), args.verbose);
            output::print(&text)?;
            match account {
                Ok(Some(account)) => output::print(&account.as_text(&checked))?,
                Ok(None) => {}
                Err(absent) => {
                    output::print(&wrapped("  account        ", &absent.detail, width()))?
                }
            }
            output::print(&rights::as_text(&access()))?;
            output::print(&evidence_text(&evidence))?;
            output::print(&stalls::as_text(&recording, &checked, width()))?;
            let text = audit::as_text(&audit, took_ms, args.verbose, unreached.is_none());
            output::print(&text)?;
        }
    }
    if args.json {
        output::print_json(&answers)?;
    }
    if let Some(fleet) = &fleet {
        if !args.json {
            output::print(&wrapped("  fleet          ", &fleet.as_text(), width()))?;
        }
        failed.extend(fleet.failed());
    }
    for line in &failed {
        output::note(line);
    }
    for line in &too_small {
        output::note(line);
    }
    // Absent evidence is no error: a recording without it is worth having. A server or a fleet that does not let us in is.
    Ok(match (failed.is_empty(), args.exit_code && serious) {
        (false, _) => ExitCode::FAILURE,
        (true, true) => ExitCode::from(SERIOUS),
        (true, false) => ExitCode::SUCCESS,
    })
}

fn width() -> usize {
    match output::text_options().width {
        0 => WIDTH_UNKNOWN,
        width => width,
    }
}

/// What this machine allows to be taken of a server's threads, tried and not assumed.
fn evidence(pid: Option<u32>) -> Vec<EvidenceAdvice> {
    let process = pid.and_then(|pid| process_access(pid).ok());
    let mut evidence = advise(&access(), process.as_ref());
    evidence.extend(pid.and_then(symbols::advice));
    evidence
}

fn evidence_text(evidence: &[EvidenceAdvice]) -> String {
    let width = width();
    let mut text = "  stacks, profiles and locks\n".to_owned();
    let mut told: Vec<&String> = Vec::new();
    for advice in evidence {
        let state = if advice.available { "ok" } else { "no" };
        text += &wrapped(
            &format!("    {state}  {:<36} ", advice.evidence),
            &advice.why,
            width,
        );
        let Some(cure) = &advice.cure else { continue };
        let known = told.contains(&cure);
        text += &wrapped(
            "        to enable: ",
            if known { "as above" } else { cure },
            width,
        );
        told.push(cure);
    }
    text
}

/// What is read of the server. Sources that work are one line unless each is `wanted`: what is missing stands out then.
fn as_text(
    name: &str,
    checked: &[SourceCheck],
    unreached: Option<&Unreached>,
    wanted: bool,
) -> String {
    let width = width();
    let mut text = format!("server {name}\n");
    let without = unreached.map_or(&[][..], |unreached| &unreached.sources);
    let shared = missing_alike(checked, without);
    let is_told_below = |source: &'static str| {
        let mut all = shared.iter();
        without.contains(&source) || all.any(|(_, sources)| sources.contains(&source))
    };
    let is_whole = |one: &SourceCheck| one.taken && one.absent.is_empty();
    if !wanted {
        let whole = checked.iter().filter(|one| is_whole(one));
        let whole: Vec<&str> = whole.map(|one| one.source).collect();
        let what = match whole.len() {
            0 => "no source".to_owned(),
            1 => format!("1 source: {}", whole.join(", ")),
            count => format!("{count} sources: {}", whole.join(", ")),
        };
        text += &wrapped("  read           ", &what, width);
    }
    for checked in checked {
        if is_told_below(checked.source) || (!wanted && is_whole(checked)) {
            continue;
        }
        let state = match (checked.taken, checked.absent.is_empty()) {
            (true, true) => format!(
                "ok       {:>4} signals, {:.1} ms",
                checked.signals, checked.took_ms
            ),
            (true, false) => "partly".to_owned(),
            (false, _) => "missing".to_owned(),
        };
        text += &format!("  {:<14} {state}\n", checked.source);
        for absent in &checked.absent {
            let what = format!(
                "{}: {} ({})",
                absent.what,
                absent.reason.to_text(),
                absent.detail
            );
            text += &wrapped(&format!("  {:<14}   ", ""), &what, width);
        }
    }
    for (why, sources) in &shared {
        let what = format!("{}: {why}", sources.join(", "));
        text += &wrapped("  missing        ", &what, width);
    }
    if let Some(unreached) = unreached {
        text += &wrapped("  server         ", &unreached.to_text(), width);
    }
    text
}

/// Sources that are missing for the same reason, told once: a server whose process is not found takes ten with it, and
/// what matters would be lost among them.
fn missing_alike(checked: &[SourceCheck], without: &[&str]) -> Vec<(String, Vec<&'static str>)> {
    let mut alike: Vec<(String, Vec<&'static str>)> = Vec::new();
    for checked in checked {
        let [absent] = checked.absent.as_slice() else {
            continue;
        };
        if checked.taken || without.contains(&checked.source) {
            continue;
        }
        let why = format!("{} ({})", absent.reason.to_text(), absent.detail);
        match alike.iter_mut().find(|(known, _)| *known == why) {
            Some((_, sources)) => sources.push(checked.source),
            None => alike.push((why, vec![checked.source])),
        }
    }
    alike.retain(|(_, sources)| sources.len() > 1);
    alike
}

fn as_json(label: &str, checked: &[SourceCheck], evidence: &[EvidenceAdvice]) -> serde_json::Value {
    json!({
        "server": label,
        "sources": checked.iter().map(|checked| json!({
            "source": checked.source,
            "taken": checked.taken,
            "signals": checked.signals,
            "took_ms": checked.took_ms,
            "absent": checked.absent,
        })).collect::<Vec<_>>(),
        "evidence": evidence.iter().map(|advice| json!({
            "evidence": advice.evidence,
            "available": advice.available,
            "why": advice.why,
            "cure": advice.cure,
        })).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use model::{Absent, Reason};

    use super::*;

    #[test]
    fn what_is_missing_for_one_reason_is_told_once() {
        let source = |source: &'static str, taken: bool, absent: &[(Reason, &str)]| SourceCheck {
            source,
            taken,
            signals: 1,
            took_ms: 1.0,
            absent: absent
                .iter()
                .map(|(reason, detail)| Absent::new(source, *reason, *detail))
                .collect(),
        };
        let gone = (
            Reason::Unsupported,
            "the server's process was not found: it may not run",
        );
        let checked = [
            source("stat", true, &[]),
            source("process", false, &[gone]),
            source("threads", false, &[gone]),
            source("server", true, &[gone]),
            source("kernel-log", false, &[(Reason::Permission, "/dev/kmsg")]),
            source("stacks", false, &[gone]),
        ];
        let text = as_text("vm:1", &checked, None, false);
        assert_eq!(text.matches("was not found").count(), 2, "{text}");
        assert!(
            text.contains("  missing        process, threads, stacks: "),
            "{text}"
        );
        assert!(text.contains("  server         partly\n"), "{text}");
        assert!(text.contains("  kernel-log     missing\n"), "{text}");
        assert!(!text.contains("  process "), "{text}");
        assert!(
            text.starts_with("server vm:1\n  read           1 source: stat\n"),
            "{text}"
        );
        let each = as_text("vm:1", &checked, None, true);
        assert!(
            each.contains("  stat           ok          1 signals, 1.0 ms\n"),
            "{each}"
        );
        assert!(!each.contains("  read  "), "{each}");
    }
}
