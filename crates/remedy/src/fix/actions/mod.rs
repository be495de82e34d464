//! The kinds of changes. Each is a function from a fix and what was seen of the system to steps, and changes nothing.

mod contained;
mod end_session;
mod environment;
mod launch;
mod open_files;
mod preload;
mod reach;
mod sysctl;
mod tasks;
mod thp;
mod variable;

use std::path::PathBuf;

use model::{Fix, FixAction};

use super::change::Change;
use super::command::to_text;
use super::own_file::{OwnFile, Reload};
use super::step::{Step, StepState, When};
use super::system::System;
use super::variable::same;

/// A kind of change.
pub(super) struct Action {
    /// Its name in cause files.
    pub(super) name: &'static str,
    /// Its steps on a system, of those that count at one time.
    pub(super) steps: fn(&FixAction, &System, When) -> Vec<Step>,
}

/// All kinds.
const ACTIONS: [Action; 9] = [
    Action {
        name: "thp-never",
        steps: thp::steps,
    },
    Action {
        name: "sysctl",
        steps: sysctl::steps,
    },
    Action {
        name: "set-global",
        steps: variable::steps,
    },
    Action {
        name: "option-file",
        steps: variable::steps,
    },
    Action {
        name: "preload-allocator",
        steps: preload::steps,
    },
    Action {
        name: "server-environment",
        steps: environment::steps,
    },
    Action {
        name: "open-files-limit",
        steps: open_files::steps,
    },
    Action {
        name: "end-session",
        steps: end_session::steps,
    },
    Action {
        name: "tasks-limit",
        steps: tasks::steps,
    },
];

/// The kind of a fix.
pub(super) fn for_action(action: &FixAction) -> Option<&'static Action> {
    ACTIONS.iter().find(|known| known.name == action.name())
}

/// Why a setting that has another value than the fix is for is left alone. The value that the fix itself sets is none.
pub(super) fn other_value(fix: &Fix, system: &System) -> Option<String> {
    let from = fix.from.as_ref()?;
    let (now, value) = match &fix.action {
        FixAction::Sysctl { key, value } => {
            (system.kernel(&sysctl::file_of(key)).ok()?.1, value.clone())
        }
        FixAction::SetGlobal { variable, value } | FixAction::OptionFile { variable, value } => {
            let server = system.server.as_ref()?;
            let value = variable::filled(value, server).ok()?;
            (server.variables.get(variable)?.clone(), value)
        }
        _ => return None,
    };
    let ours = sysctl::wanted(&value, &now, system.cpus).is_ok_and(|wanted| same(&wanted, &now));
    (!ours && !same(&now, from)).then(|| format!("it is {now}; this helps only if it is {from}"))
}

/// The first line of every file of ours. Files are compared as a whole, so it stays as it is.
const HEADER: &str =
    "# Written by freezeframe fix, which takes it away again: freezeframe fix --undo\n";

/// A step that puts a file of our own somewhere, or finds it there.
fn file_step(
    system: &System,
    says: String,
    path: PathBuf,
    lines: &str,
    reload: Option<Reload>,
) -> Step {
    let content = format!("{HEADER}{lines}");
    let file = OwnFile::new(&system.root, path, content, reload);
    let place = file.path.display().to_string();
    let state = match file.is_ours(&system.root) {
        Ok(None) => StepState::ToDo(Change::OwnFile(file)),
        Ok(Some(true)) => StepState::Already(format!("{place} already has these lines")),
        Ok(Some(false)) => StepState::ByHand {
            why: format!("{place} exists with another content, and freezeframe does not edit it"),
            commands: vec![format!(
                "cat {}",
                to_text(&[system.root.here(&file.path).display().to_string()])
            )],
        },
        Err(error) => StepState::ByHand {
            why: format!("{place}: {error}"),
            commands: Vec::new(),
        },
    };
    let mut step = Step::new(When::Durable, says, place, state);
    step.after = Some(lines.trim_end().to_owned());
    step
}
