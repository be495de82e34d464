//! How many tasks the server's control group may have: each of its threads is one (Linux, kernel/cgroup/pids.c).

use model::{FixAction, FixValue};

use super::contained::ContainerPart;
use super::launch::{self, Launch};
use super::sysctl::wanted;
use crate::fix::step::{Step, StepState, When};
use crate::fix::system::{NO_PROCESS, ObservedServer, System};

/// What `pids.max` says where there is no limit.
const NO_LIMIT: &str = "max";

pub(super) fn steps(action: &FixAction, system: &System, _: When) -> Vec<Step> {
    let FixAction::TasksLimit { value } = action else {
        return Vec::new();
    };
    vec![step(value, system)]
}

fn step(value: &FixValue, system: &System) -> Step {
    let place = "the limit of tasks".to_owned();
    let says = "How many tasks the server's control group may have".to_owned();
    let is = |says: String, state| Step::new(When::Durable, says, place.clone(), state);
    let server = system.server.as_ref();
    let Some((server, known)) = server.and_then(|it| Some((it, it.tasks_limit.as_ref()?))) else {
        let why = match server {
            Some(ObservedServer { process: None, .. }) => NO_PROCESS,
            Some(_) => "its control group has no own limit of tasks",
            None => "no server whose limit could be read was found",
        };
        return is(says, StepState::NotHere(why.to_owned()));
    };
    let now = known.value.as_str();
    if now == NO_LIMIT {
        let why = "its control group has no limit of tasks".to_owned();
        return is(says, StepState::Already(why));
    }
    let limit = match wanted(value, now, system.cpus) {
        Ok(limit) => limit,
        Err(why) => return is(says, StepState::NotHere(why)),
    };
    if limit == now {
        let why = format!("its control group may have {now}");
        return is(says, StepState::Already(why));
    }
    let says = format!("Let the server's control group have {limit} tasks");
    let mut step = if server.unit.is_none() && server.container.is_none() {
        // No unit would be read, and the file is the limit itself.
        let file = known.file.display();
        let state = StepState::ByHand {
            why: "the server does not run in a systemd unit: its limit was set by the creator of its control group"
                .to_owned(),
            commands: vec![format!("echo {limit} > {file}")],
        };
        is(says, state)
    } else {
        let launch = Launch {
            says,
            name: "TasksMax",
            unit: format!("TasksMax={limit}"),
            safe: None,
            container: ContainerPart::Tasks(&limit),
            shell: String::new(),
            in_force: false,
        };
        launch::step(system, launch)
    };
    step.before = Some(format!("pids.max {now} (of the running server)"));
    step
}
