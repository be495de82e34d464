use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use cli::{output, recorded};
use serde_json::json;
use store::{Summary, read_summary};

use crate::args::Incidents;
use crate::config::Config;
use crate::episodes::{self, Episode};

pub(crate) fn run(args: &Incidents) -> Result<ExitCode> {
    let config = Config::load(args.config.as_deref())?;
    let dir = config.directory(args.dir.as_deref());
    let paths = recorded::frames(&dir)
        .with_context(|| format!("{}: no incidents can be listed", dir.display()))?;
    let mut found: Vec<(PathBuf, Summary)> = Vec::new();
    for path in paths {
        crate::memory::now_reading(&path);
        match read_summary(&path) {
            Ok(summary) => found.push((path, summary)),
            Err(error) => output::note(&error.to_string()),
        }
    }
    let stalls: Vec<Episode> = episodes::read(&dir)
        .into_iter()
        .filter(|stall| stall.incident.is_none())
        .collect();
    found.sort_by_key(|(_, summary)| std::cmp::Reverse(summary.clock.wall_ms(summary.stall.onset)));
    if args.json {
        let captured = found.iter().map(|(path, summary)| as_json(path, summary));
        let list: Vec<_> = captured.chain(stalls.iter().map(stall_as_json)).collect();
        output::print_json(&list)?;
    } else if found.is_empty() && stalls.is_empty() {
        output::print(&format!("no incidents in {}", dir.display()))?;
    } else {
        let mut text = String::new();
        for (path, summary) in &found {
            let stall = &summary.stall;
            let length = stall.end.map_or_else(
                || "?".to_owned(),
                |end| format!("{:.1} s", (end.saturating_sub(stall.onset)) as f64 / 1000.0),
            );
            let rule = stall
                .triggers
                .first()
                .map_or("", |trigger| trigger.rule.as_str());
            text += &format!(
                "{:<19}  {:>9}  {:<20}  {:<8}  {}\n",
                match summary.clock.is_known() {
                    true => output::date(summary.clock.wall_ms(stall.onset)),
                    false => "time not known".to_owned(),
                },
                length,
                output::plain(rule),
                output::plain(&summary.server.label),
                path.display()
            );
        }
        text += &not_captured(&stalls);
        output::print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Stalls that are remembered and have no file.
fn not_captured(stalls: &[Episode]) -> String {
    if stalls.is_empty() {
        return String::new();
    }
    let mut text = "\nstalls that were noticed and not captured\n".to_owned();
    for stall in stalls {
        let length = stall.end_ms.map_or_else(
            || "?".to_owned(),
            |end| format!("{:.1} s", (end - stall.onset_ms) as f64 / 1000.0),
        );
        text += &format!(
            "{:<19}  {:>9}  {:<20}  {:<8}  {}{}\n",
            output::date(stall.onset_ms),
            length,
            output::plain(stall.rule.as_deref().unwrap_or("")),
            output::plain(&stall.server),
            output::plain(stall.says.as_deref().unwrap_or("")),
            match &stall.cause {
                Some(cause) => format!("; cause: {}", output::plain(cause)),
                None => String::new(),
            },
        );
    }
    text
}

fn stall_as_json(stall: &Episode) -> serde_json::Value {
    let time = |ms: Option<i64>| {
        let moment = jiff::Timestamp::from_millisecond(ms?).ok()?;
        Some(moment.to_string())
    };
    json!({
        "path": null,
        "id": null,
        "server": {"label": stall.server},
        "onset": time(Some(stall.onset_ms)),
        "trigger": time(stall.trigger_ms),
        "end": time(stall.end_ms),
        "cause": stall.cause,
        "triggers": stall.rule.iter().map(|rule| json!({
            "rule": rule, "says": stall.says,
        })).collect::<Vec<_>>(),
    })
}

fn as_json(path: &std::path::Path, summary: &Summary) -> serde_json::Value {
    let stall = &summary.stall;
    let time = |at: u64| {
        // Captures of other tools need not tell a time.
        jiff::Timestamp::from_millisecond(summary.clock.wall_ms(at))
            .map(|moment| moment.to_string())
            .ok()
            .filter(|_| summary.clock.is_known())
    };
    json!({
        "path": path,
        "id": summary.id,
        "host": summary.host,
        "server": summary.server,
        "onset": time(stall.onset),
        "trigger": time(stall.trigger),
        "end": stall.end.and_then(time),
        "previous": stall.previous().map(|previous| json!({
            "from": time(previous.from), "to": time(previous.to),
        })),
        "triggers": stall.triggers.iter().map(|trigger| json!({
            "rule": trigger.rule, "says": trigger.says,
        })).collect::<Vec<_>>(),
    })
}
