//! What a server is started with, by whatever starts it: a unit of systemd, mysqld_safe, a container, a person.

use std::path::PathBuf;

use super::contained::{self, ContainerPart};
use super::file_step;
use crate::fix::command::to_text;
use crate::fix::own_file::Reload;
use crate::fix::step::{RestartReason, Step, StepState, When, restart};
use crate::fix::system::{NO_PROCESS, ObservedServer, System};

/// Something that the server is started with.
pub(super) struct Launch<'a> {
    /// The step in words.
    pub(super) says: String,
    /// The name of it in files of ours.
    pub(super) name: &'a str,
    /// A line of a unit's `[Service]`.
    pub(super) unit: String,
    /// The name of its file, and a line of `[mysqld_safe]`, where mysqld_safe does it.
    pub(super) safe: Option<(&'a str, String)>,
    /// Of a container.
    pub(super) container: ContainerPart<'a>,
    /// Before a command in a shell; the command follows.
    pub(super) shell: String,
    /// The running server has it.
    pub(super) in_force: bool,
}

/// A file of ours for what starts the server, or what a person does where none would be read.
pub(super) fn step(system: &System, launch: Launch<'_>) -> Step {
    let server = system.server.as_ref();
    let mut step = match server {
        None => by_hand(
            &launch,
            "no server was found here".to_owned(),
            vec![format!("{} and then the server's command", launch.shell)],
        ),
        Some(ObservedServer { process: None, .. }) => by_hand(
            &launch,
            format!("how the server is started is {NO_PROCESS}; try as root"),
            vec![format!("{} and then the server's command", launch.shell)],
        ),
        Some(ObservedServer {
            container: Some(container),
            ..
        }) => Step::new(
            When::Durable,
            launch.says.clone(),
            PLACE.to_owned(),
            contained::by_hand(container, launch.container, None),
        ),
        Some(server) if server.safe.is_some() && launch.safe.is_some() => {
            by_safe(system, server, &launch)
        }
        Some(server) => match &server.unit {
            Some(unit) if server.is_transient => by_hand(
                &launch,
                format!("{unit} was created by systemd-run and disappears when it stops"),
                vec![format!(
                    "systemd-run --property={} ..., when you create it again",
                    launch.unit
                )],
            ),
            Some(unit) => {
                let path = PathBuf::from(format!(
                    "/etc/systemd/system/{unit}.d/zz-freezeframe-{}.conf",
                    launch.name
                ));
                let lines = format!("[Service]\n{}\n", launch.unit);
                file_step(
                    system,
                    launch.says.clone(),
                    path,
                    &lines,
                    Some(Reload::Systemd),
                )
            }
            None => by_hand(
                &launch,
                "the server does not run in a systemd unit".to_owned(),
                vec![format!("{} {}", launch.shell, command(server))],
            ),
        },
    };
    step.restart = Some(restart(server, RestartReason::Made));
    not_yet(&mut step, launch.in_force);
    step
}

/// A file that is there already may still wait for a restart.
pub(super) fn not_yet(step: &mut Step, in_force: bool) {
    if in_force {
        return;
    }
    if let (StepState::Already(why), Some(restart)) = (&mut step.state, &step.restart) {
        *why +=
            &format!("; the running server does not use it yet; it takes effect after: {restart}");
    }
}

const PLACE: &str = "how the server is started";

fn by_hand(launch: &Launch<'_>, why: String, commands: Vec<String>) -> Step {
    let state = StepState::ByHand { why, commands };
    Step::new(When::Durable, launch.says.clone(), PLACE.to_owned(), state)
}

/// mysqld_safe does what its section of the option files says.
fn by_safe(system: &System, server: &ObservedServer, launch: &Launch<'_>) -> Step {
    let (name, line) = launch.safe.clone().unwrap_or_default();
    let lines = format!("[mysqld_safe]\n{line}\n");
    let why = if server.no_defaults {
        "the server was started with --no-defaults and reads no option file"
    } else if server.other_root.is_some() {
        "the server's files are in another root, which freezeframe does not change"
    } else if let Some(directory) = server.include_directories.last() {
        let path = directory.join(format!("zz-freezeframe-{name}.cnf"));
        return file_step(system, launch.says.clone(), path, &lines, None);
    } else {
        "no option file of the server includes a directory, and freezeframe does not edit existing files"
    };
    let place = server
        .option_files
        .last()
        .filter(|_| !server.no_defaults)
        .map_or_else(
            || "mysqld_safe".to_owned(),
            |file| file.display().to_string(),
        );
    let commands = if server.no_defaults {
        let option = line.replace(" = ", "=");
        let mut command = server.safe_command.clone();
        command.push(format!("--{option}"));
        vec![to_text(&command)]
    } else {
        lines.lines().map(str::to_owned).collect()
    };
    let state = StepState::ByHand {
        why: why.to_owned(),
        commands,
    };
    Step::new(When::Durable, launch.says.clone(), place, state)
}

/// The command that started the server, by whom it was.
fn command(server: &ObservedServer) -> String {
    if !server.safe_command.is_empty() {
        return to_text(&server.safe_command);
    }
    match server.arguments.split_first() {
        // The directory that a relative name is of need not be ours.
        Some((name, rest)) => match &server.program {
            Some(program) if !name.starts_with('/') => {
                let name = program.display().to_string();
                to_text(&[&[name], rest].concat())
            }
            _ => to_text(&server.arguments),
        },
        None => "and then the server's command".to_owned(),
    }
}
