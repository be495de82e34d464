//! The JSON of `freezeframe fix` (docs/reference/json.md).

use remedy::fix::{Entry, Plan, Step, StepState, System, UndoneEntry, When};
use serde_json::{Value, json};

use super::clients;
use super::selection::SelectedCause;
use super::text::undone_words;

pub(super) fn plan(
    what: &SelectedCause,
    system: &System,
    plan: &Plan,
    done: Option<&Entry>,
    by_helper: Option<&Entry>,
) -> Value {
    let remedy = what.remedy();
    json!({
        "cause": what.cause.id,
        "title": what.cause.title,
        "incident": what.incident_path,
        "level": what.finding.as_ref().map(|finding| finding.level),
        "root": system.root.dir(),
        "distribution": system.distribution.name,
        "systemd": system.systemd,
        "server": system.server.as_ref().map(|server| json!({
            "pid": server.process.map(|process| process.pid),
            "program": server.program,
            "version": server.version,
            "unit": server.unit,
            "mysqld_safe": server.safe,
            "container": server.container.as_ref().map(|container| container.group.clone()),
            "option_files": server.option_files,
            "include_directories": server.include_directories,
            "allocator": server.allocator,
            "no_login": server.no_login,
        })),
        "steps": (1..).zip(&plan.steps).map(|(number, step)| self::step(number, step)).collect::<Vec<_>>(),
        "found": what.incident.as_ref().map_or_else(Vec::new, |incident| clients::clients(incident, what.cause)),
        "remedy": remedy,
        "applied": done,
        "applied_by_helper": by_helper,
    })
}

fn step(number: usize, step: &Step) -> Value {
    let (state, why, commands) = match &step.state {
        StepState::ToDo(_) => ("to-do", None, &Vec::new()),
        StepState::Already(why) => ("already", Some(why), &Vec::new()),
        StepState::NotHere(why) => ("not-here", Some(why), &Vec::new()),
        StepState::ByHand { why, commands } => ("by-hand", Some(why), commands),
    };
    json!({
        "number": number,
        "action": step.action,
        "when": match step.when { When::Now => "now", When::Durable => "durable" },
        "says": step.says,
        "state": state,
        "why": why,
        "commands": commands,
        "place": step.place,
        "before": step.before,
        "after": step.after,
        "change": step.change(),
        "undo": step.undo,
        "risk": step.risk,
        "consent": step.consent,
        "restart": step.restart,
        "notes": step.notes,
    })
}

pub(super) fn undone(entry: &Entry, undone: &UndoneEntry) -> Value {
    json!({
        "id": entry.id,
        "cause": entry.cause,
        "over": undone.is_over(),
        "steps": undone.steps.iter().map(|(step, outcome)| {
            let (word, detail) = undone_words(outcome);
            json!({
                "change": step.change,
                "outcome": if word == "back" { "back" } else { "left" },
                "says": detail,
            })
        }).collect::<Vec<_>>(),
    })
}

pub(super) fn entry(entry: &Entry, is_watched: bool) -> Value {
    let mut object = json!(entry);
    if let Value::Object(fields) = &mut object {
        let watched = entry.deadline_us.is_some() && entry.is_open() && is_watched;
        fields.insert("watched".to_owned(), json!(watched));
    }
    object
}
