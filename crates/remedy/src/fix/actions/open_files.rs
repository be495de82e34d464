//! How many files the server may have open: a limit that a process is started with (getrlimit(2)).

use model::{FixAction, FixValue};

use super::contained::ContainerPart;
use super::launch::{self, Launch};
use super::sysctl::wanted;
use crate::fix::step::{Step, StepState, When};
use crate::fix::system::{NO_PROCESS, System};

pub(super) fn steps(action: &FixAction, system: &System, _: When) -> Vec<Step> {
    let FixAction::OpenFilesLimit { value } = action else {
        return Vec::new();
    };
    let now = system
        .server
        .as_ref()
        .and_then(|server| server.open_files_limit.as_deref());
    let place = "the limit of open files".to_owned();
    let says = "How many files the server may have open".to_owned();
    let Some(now) = now else {
        let why = match &system.server {
            Some(server) if server.process.is_none() => NO_PROCESS,
            _ => "no server whose limit could be read was found",
        };
        let why = why.to_owned();
        return vec![Step::new(
            When::Durable,
            says,
            place,
            StepState::NotHere(why),
        )];
    };
    let limit = match wanted(value, now, system.cpus) {
        Ok(limit) => limit,
        Err(why) => {
            return vec![Step::new(
                When::Durable,
                says,
                place,
                StepState::NotHere(why),
            )];
        }
    };
    let says = format!("Start the server with a limit of {limit} open files");
    if limit == now {
        let says = match value {
            FixValue::AtLeast(least) => format!("A limit of {least} open files or more"),
            FixValue::AtMost(most) => format!("A limit of {most} open files or less"),
            _ => says,
        };
        let state = StepState::Already(format!("the server was started with {now}"));
        return vec![Step::new(When::Durable, says, place, state)];
    }
    let launch = Launch {
        says,
        name: "LimitNOFILE",
        unit: format!("LimitNOFILE={limit}"),
        safe: Some(("open-files-limit", format!("open-files-limit = {limit}"))),
        container: ContainerPart::OpenFiles(&limit),
        shell: format!("ulimit -n {limit} &&"),
        in_force: false,
    };
    let mut step = launch::step(system, launch);
    step.before = Some(format!("Max open files {now} (of the running server)"));
    vec![step]
}
