//! What is done for a server in a container: by whoever makes the container, since its files and its environment are
//! made anew with it.

use crate::fix::step::StepState;
use crate::fix::{Container, Runtime};

/// What a container is made with.
#[derive(Debug, Clone, Copy)]
pub(super) enum ContainerPart<'a> {
    /// A variable of the environment.
    Environment(&'a str, &'a str),
    /// Files that may be open.
    OpenFiles(&'a str),
    /// Tasks that there may be in it: processes and their threads.
    Tasks(&'a str),
    /// A variable of the server.
    Option(&'a str, &'a str),
    /// A setting of the kernel that each network has its own of.
    Sysctl(&'a str, &'a str),
}

/// The step for a person. `directory` is one whose option files the server reads, as it sees it.
pub(super) fn by_hand(
    container: &Container,
    made: ContainerPart<'_>,
    directory: Option<&str>,
) -> StepState {
    let name = container.name();
    if let Some(unit) = &container.unit {
        return StepState::ByHand {
            why: format!(
                "the server runs in a container ({name}), where systemd starts it ({unit})"
            ),
            commands: vec![
                "run freezeframe fix in the container, where it finds the unit".to_owned(),
            ],
        };
    }
    let mut commands = commands(container, made);
    if let (ContainerPart::Option(variable, value), Some(directory)) = (made, directory) {
        let directory = directory.trim_end_matches('/');
        commands.push(format!(
            "or mount a file with [mysqld] and, below that, loose_{variable} = {value}, as {directory}/zz-{variable}.cnf"
        ));
    }
    StepState::ByHand {
        why: format!(
            "the server runs in a container ({name}), and this is set where the container is created"
        ),
        commands,
    }
}

/// What it is made with by those who make it.
pub(super) fn commands(container: &Container, made: ContainerPart<'_>) -> Vec<String> {
    let runtime = container.runtime;
    let run = |option: String, compose: String| {
        let program = match runtime {
            Runtime::Podman => "podman",
            _ => "docker",
        };
        let kept = "with all other options as they are";
        match made {
            // It goes behind the command, which is replaced as a whole.
            ContainerPart::Option(..) => vec![
                format!("{program} run ... IMAGE COMMAND {option}, {kept}"),
                format!("compose file: command: [COMMAND, \"{compose}\"]"),
                format!(
                    "COMMAND is its present command: {program} inspect --format '{{{{json .Config.Cmd}}}}' {}",
                    container.short_id().unwrap_or("CONTAINER")
                ),
            ],
            _ => vec![
                format!("{program} run {option} ... IMAGE, {kept}"),
                format!("compose file: {compose}"),
            ],
        }
    };
    match (runtime, made) {
        (Runtime::Docker | Runtime::Podman, ContainerPart::Environment(name, value)) => run(
            format!("--env {name}={value}"),
            format!("environment: {{ {name}: \"{value}\" }}"),
        ),
        (Runtime::Docker | Runtime::Podman, ContainerPart::OpenFiles(limit)) => run(
            format!("--ulimit nofile={limit}:{limit}"),
            format!("ulimits: {{ nofile: {limit} }}"),
        ),
        (Runtime::Docker | Runtime::Podman, ContainerPart::Tasks(limit)) => run(
            format!("--pids-limit {limit}"),
            format!("pids_limit: {limit}"),
        ),
        (Runtime::Docker | Runtime::Podman, ContainerPart::Option(variable, value)) => {
            run(option(variable, value), option(variable, value))
        }
        (Runtime::Docker | Runtime::Podman, ContainerPart::Sysctl(key, value)) => run(
            format!("--sysctl {key}={value}"),
            format!("sysctls: {{ {key}: \"{value}\" }}"),
        ),
        (Runtime::Kubernetes, ContainerPart::Environment(name, value)) => vec![format!(
            "pod, of the container: env: [{{ name: {name}, value: \"{value}\" }}]"
        )],
        (Runtime::Kubernetes, ContainerPart::OpenFiles(limit)) => vec![format!(
            "no setting of a pod: LimitNOFILE={limit} in the unit of containerd or CRI-O, on each node"
        )],
        (Runtime::Kubernetes, ContainerPart::Tasks(limit)) => vec![format!(
            "no setting of a pod: podPidsLimit: {limit} in the kubelet's configuration, on each node"
        )],
        (Runtime::Kubernetes, ContainerPart::Option(variable, value)) => vec![format!(
            "pod, of the container: args: [ARGS, \"{}\"], with ARGS as they are, or the image's command if there are none",
            option(variable, value)
        )],
        (Runtime::Kubernetes, ContainerPart::Sysctl(key, value)) => vec![
            format!("pod: securityContext: {{ sysctls: [{{ name: {key}, value: \"{value}\" }}] }}"),
            "an unsafe one also needs --allowed-unsafe-sysctls of the kubelet".to_owned(),
        ],
        (_, ContainerPart::Environment(name, value)) => vec![format!(
            "{name}={value}, in the environment from which the server is started there"
        )],
        (_, ContainerPart::OpenFiles(limit)) => {
            vec![format!(
                "ulimit -n {limit}, where the server is started there"
            )]
        }
        (_, ContainerPart::Tasks(limit)) => vec![format!(
            "{limit} in pids.max of the container's control group, set where the container is created"
        )],
        (_, ContainerPart::Option(variable, value)) => vec![format!(
            "{}, on the command line of the server there",
            option(variable, value)
        )],
        (_, ContainerPart::Sysctl(key, value)) => {
            vec![format!("sysctl -w {key}={value}, in the container")]
        }
    }
}

/// On a command line. A server that does not know an option any more does not start, unless it is loose.
pub(super) fn option(variable: &str, value: &str) -> String {
    format!("--loose-{}={value}", variable.replace('_', "-"))
}

/// How a package gets into it. An image is built without anybody to answer, and without lists of packages.
pub(super) fn with_package(container: &Container, command: &str) -> Vec<String> {
    let alone = command
        .replace(" install ", " install -y ")
        .replace("apt-get ", "apt-get update && apt-get ");
    match container.runtime {
        Runtime::Docker | Runtime::Podman | Runtime::Kubernetes => {
            vec![format!("in the image's Dockerfile: RUN {alone}")]
        }
        _ => vec![format!("in the container: {command}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_goes_behind_the_command_that_the_container_has() {
        let mut container = Container::from_group(Runtime::Podman, "x");
        container.id = Some("0123".to_owned());
        let StepState::ByHand { commands, .. } = by_hand(
            &container,
            ContainerPart::Option("back_log", "4096"),
            Some("/etc/mysql/conf.d/"),
        ) else {
            panic!("it is by hand");
        };
        // Alone it would be taken for the command, where the image has no entrypoint that knows options.
        assert_eq!(
            commands,
            [
                "podman run ... IMAGE COMMAND --loose-back-log=4096, with all other options as they are",
                "compose file: command: [COMMAND, \"--loose-back-log=4096\"]",
                "COMMAND is its present command: podman inspect --format '{{json .Config.Cmd}}' 0123",
                "or mount a file with [mysqld] and, below that, loose_back_log = 4096, as /etc/mysql/conf.d/zz-back_log.cnf",
            ]
        );
    }
}
