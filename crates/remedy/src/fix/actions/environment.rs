//! What the server is started with: a variable of its environment, by a drop-in of our own for its systemd unit.

use std::path::PathBuf;

use model::FixAction;

use super::file_step;
use crate::fix::own_file::Reload;
use crate::fix::plan::{Step, StepState, When, restart};
use crate::fix::system::{SeenServer, System};

pub(super) fn steps(action: &FixAction, system: &System, _: When) -> Vec<Step> {
    let FixAction::ServerEnvironment { variable, value } = action else {
        return Vec::new();
    };
    let says = format!("Start the server with {variable}={value}");
    vec![in_the_unit(system, variable, value, says)]
}

/// A drop-in with one variable, or what a person does where there is no unit of ours to have one.
pub(super) fn in_the_unit(system: &System, variable: &str, value: &str, says: String) -> Step {
    let by_hand = |why: &str, command: String| {
        let state = StepState::ByHand {
            why: why.to_owned(),
            commands: vec![command],
        };
        Step::new(
            When::Durable,
            says.clone(),
            "how the server is started".to_owned(),
            state,
        )
    };
    let assignment = format!("{variable}={value}");
    let Some(server) = &system.server else {
        return by_hand("no server was found here", assignment);
    };
    let mut step = match server {
        SeenServer {
            container: Some(_), ..
        } => by_hand(
            "the server runs in a container",
            format!("docker run --env {assignment} ..., or env: in the pod or compose file"),
        ),
        SeenServer { unit: None, .. } => by_hand(
            "the server is not in a unit of systemd",
            format!("{assignment}, in the environment of what starts it"),
        ),
        SeenServer {
            unit: Some(unit), ..
        } => {
            let path = PathBuf::from(format!(
                "/etc/systemd/system/{unit}.d/zz-freezeframe-{variable}.conf"
            ));
            let lines = format!("[Service]\nEnvironment={assignment}\n");
            file_step(system, says.clone(), path, &lines, Some(Reload::Systemd))
        }
    };
    step.restart = Some(restart(Some(server)));
    step
}
