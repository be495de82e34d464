//! One step of what is to be done.

use super::change::Change;
use super::command::to_text;
use super::control_group::{Container, Runtime};
use super::system::ObservedServer;

/// When a step counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// At once, until the next start of what it changes.
    Now,
    /// From the next start on.
    Durable,
}

/// One thing to do.
#[derive(Debug, Clone)]
pub struct Step {
    /// The action's name in cause files.
    pub action: &'static str,
    /// The same with the name of its setting, as the fleet calls it: `sysctl vm.swappiness`.
    pub remedy: String,
    /// When it counts.
    pub when: When,
    /// What it does, a sentence without a full stop.
    pub says: String,
    /// Where: a file, a setting, a variable.
    pub place: String,
    /// What is there, where that is known.
    pub before: Option<String>,
    /// What is there afterwards.
    pub after: Option<String>,
    /// Whether it is to be done, and by whom.
    pub state: StepState,
    /// How a person takes it back.
    pub undo: String,
    /// What may go wrong; absent: what the remedy says.
    pub risk: Option<String>,
    /// What somebody else must agree to.
    pub consent: Option<String>,
    /// It counts after a restart only: of what, and how. Nobody but a person restarts it.
    pub restart: Option<String>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
}

/// Whether a step is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepState {
    /// By us, when we are told to.
    ToDo(Change),
    /// It is so already.
    Already(String),
    /// It does not concern this system: why.
    NotHere(String),
    /// By a person: why we do not, and what to do.
    ByHand {
        /// Why.
        why: String,
        /// Commands, or lines of a file.
        commands: Vec<String>,
    },
}

impl Step {
    /// The change, when we can make it.
    pub fn change(&self) -> Option<&Change> {
        match &self.state {
            StepState::ToDo(change) => Some(change),
            _ => None,
        }
    }
}

impl Step {
    /// A step of which only the essentials are known yet.
    pub(super) fn new(when: When, says: String, place: String, state: StepState) -> Self {
        Self {
            action: "",
            remedy: String::new(),
            when,
            says,
            place,
            before: None,
            after: None,
            undo: String::new(),
            state,
            risk: None,
            consent: None,
            restart: None,
            notes: Vec::new(),
        }
    }

    pub(super) fn shown_as(mut self, before: impl Into<String>, after: impl Into<String>) -> Self {
        self.before = Some(before.into());
        self.after = Some(after.into());
        self
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// What a restart is for, which makes a difference to containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestartReason {
    /// What the server reads when it starts.
    Read,
    /// What it is started with.
    Made,
}

/// How a person starts the server again.
pub(super) fn restart(server: Option<&ObservedServer>, anew: RestartReason) -> String {
    let Some(server) = server else {
        return "the server".to_owned();
    };
    if let Some(container) = &server.container {
        let name = container.name();
        return match (&container.unit, anew) {
            (Some(unit), _) => format!("systemctl restart {unit}, in the container ({name})"),
            (None, RestartReason::Read) => restart_container(container),
            (None, RestartReason::Made) => {
                format!(
                    "a new container in place of {name} (a restart does not change how it was created)"
                )
            }
        };
    }
    match &server.unit {
        Some(unit) => format!("systemctl restart {unit}"),
        None if !server.safe_command.is_empty() => {
            let shutdown = if server.is_mariadb {
                "mariadb-admin"
            } else {
                "mysqladmin"
            };
            let again = to_text(&server.safe_command);
            format!("{shutdown} shutdown, then start it again: {again}")
        }
        None => "the server".to_owned(),
    }
}

fn restart_container(container: &Container) -> String {
    match (container.runtime, container.short_id()) {
        (Runtime::Docker, Some(id)) => format!("docker restart {id}"),
        (Runtime::Podman, Some(id)) => format!("podman restart {id}"),
        _ => format!("the server's container ({})", container.name()),
    }
}
