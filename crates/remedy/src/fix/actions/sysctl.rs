//! Settings below /proc/sys: at once, and by a file of our own in /etc/sysctl.d.

use std::path::PathBuf;

use model::{FixAction, FixValue};

use super::contained::{self, ContainerPart};
use super::file_step;
use super::reach::{ON_THE_HOST, out_of_reach};
use crate::fix::change::Change;
use crate::fix::kernel_setting::KernelSetting;
use crate::fix::step::{RestartReason, Step, StepState, When, restart};
use crate::fix::system::System;

/// Of these pairs the one that was set last counts, and the other one reads 0
/// (Documentation/admin-guide/sysctl/vm.rst).
const TWINS: [(&str, &str); 2] = [
    ("vm.dirty_bytes", "vm.dirty_ratio"),
    ("vm.dirty_background_bytes", "vm.dirty_background_ratio"),
];

pub(super) fn steps(action: &FixAction, system: &System, when: When) -> Vec<Step> {
    let FixAction::Sysctl { key, value } = action else {
        return Vec::new();
    };
    if let Some(step) = of_other_network(system, key, value, when) {
        return vec![step];
    }
    let path = file_of(key);
    let read = system.kernel(&path);
    let wanted = read
        .as_ref()
        .map_err(|why| format!("this kernel has no such setting ({why})"))
        .and_then(|(_, now)| wanted(value, now, system.cpus));
    vec![match (when, wanted) {
        (_, Err(why)) => {
            let says = format!("Set {key}");
            Step::new(when, says, key.clone(), StepState::NotHere(why))
        }
        (When::Now, Ok(wanted)) => now(system, key, read.ok(), &wanted),
        (When::Durable, Ok(wanted)) => durable(system, key, &wanted),
    }]
}

/// Settings below `net` are of a network, and a server in a container has its own: ours says nothing of it.
fn of_other_network(system: &System, key: &str, value: &FixValue, when: When) -> Option<Step> {
    let server = system
        .server
        .as_ref()
        .filter(|server| server.other_network && is_of_a_network(key))?;
    let wanted = match value {
        FixValue::Exactly(text) => text.clone(),
        FixValue::AtLeast(number) | FixValue::AtMost(number) => number.to_string(),
        FixValue::Times { .. } | FixValue::PerCpu(_) => "N".to_owned(),
    };
    let says = format!("Set {key} to {wanted} in the server's network");
    let state = match (&server.container, when) {
        // It is made with the container, so there is nothing to be done to the one that runs.
        (Some(_), When::Now) => StepState::NotHere(
            "the server runs in a container with its own network, and this is set where the container is created"
                .to_owned(),
        ),
        (Some(container), When::Durable) => {
            contained::by_hand(container, ContainerPart::Sysctl(key, &wanted), None)
        }
        (None, _) => StepState::ByHand {
            why: "the server has its own network namespace, to which this setting belongs".to_owned(),
            commands: vec![format!("sysctl -w {key}={wanted}, in that network")],
        },
    };
    let mut step = Step::new(when, says, key.to_owned(), state);
    step.restart = Some(restart(Some(server), RestartReason::Made));
    Some(step)
}

/// Each network has its own settings of these.
fn is_of_a_network(key: &str) -> bool {
    key.starts_with("net.")
}

pub(super) fn file_of(key: &str) -> PathBuf {
    PathBuf::from("/proc/sys").join(key.replace('.', "/"))
}

fn now(system: &System, key: &str, read: Option<(String, String)>, wanted: &str) -> Step {
    let says = format!("Set {key} to {wanted} in the running kernel");
    let (shown, before) = read.unwrap_or_default();
    if before == wanted {
        let state = StepState::Already(format!("already {wanted}"));
        return Step::new(When::Now, says, key.to_owned(), state).shown_as(before, wanted);
    }
    if let Some(why) = out_of_reach(system, &file_of(key), When::Now) {
        let mut command = format!("on the host: sysctl -w {key}={wanted}");
        if is_of_a_network(key) {
            command += ", if the container has the host's network";
        }
        let commands = vec![command];
        let state = StepState::ByHand { why, commands };
        return Step::new(When::Now, says, key.to_owned(), state).shown_as(before, wanted);
    }
    let instead = TWINS
        .iter()
        .find(|(one, _)| *one == key && before == "0")
        .and_then(|(_, other)| {
            let path = file_of(other);
            let (_, value) = system.kernel(&path).ok()?;
            Some((path, value))
        });
    let state = StepState::ToDo(Change::KernelSetting(KernelSetting {
        path: file_of(key),
        shown,
        before: before.clone(),
        after: wanted.to_owned(),
        instead,
    }));
    let step = Step::new(When::Now, says, key.to_owned(), state).shown_as(before, wanted);
    if key == "net.core.somaxconn" {
        step.note("the server uses it from its next start on")
    } else {
        step
    }
}

fn durable(system: &System, key: &str, wanted: &str) -> Step {
    let says = format!("The same at every boot: {key} = {wanted}");
    if let Some(why) = out_of_reach(system, &file_of(key), When::Durable) {
        let mut commands = vec![ON_THE_HOST.to_owned()];
        if let Some(container) = system.container.as_ref().filter(|_| is_of_a_network(key)) {
            commands[0] += "; if the container has its own network:";
            commands.extend(contained::commands(
                container,
                ContainerPart::Sysctl(key, wanted),
            ));
        }
        let state = StepState::ByHand { why, commands };
        return Step::new(When::Durable, says, key.to_owned(), state);
    }
    // sysctl.d(5) reads by name; Debian's link to /etc/sysctl.conf is 99-sysctl.conf.
    let path = PathBuf::from(format!("/etc/sysctl.d/zz-freezeframe-{key}.conf"));
    let mut step = file_step(system, says, path, &format!("{key} = {wanted}\n"), None);
    if let Some(profile) = &system.tuned {
        step.notes.push(format!(
            "tuned is active with profile {profile}, and may set it again later"
        ));
    }
    step
}

/// The value, or why there is nothing to set.
pub(super) fn wanted(value: &FixValue, now: &str, cpus: u64) -> Result<String, String> {
    let number = now.trim().parse::<f64>().ok();
    let whole = |number: Option<f64>| {
        number
            .filter(|number| *number >= 0.0 && *number < 9e15)
            .ok_or_else(|| format!("it is {now}, which is not a number"))
    };
    Ok(match value {
        FixValue::Exactly(text) => text.clone(),
        FixValue::AtLeast(least) => {
            let now = whole(number)?;
            // As it is: the step then says that it is so already.
            if now >= *least as f64 {
                format!("{now}")
            } else {
                least.to_string()
            }
        }
        FixValue::AtMost(most) => {
            let now = whole(number)?;
            if now <= *most as f64 {
                format!("{now}")
            } else {
                most.to_string()
            }
        }
        FixValue::Times { factor, limit } => {
            let now = whole(number)?;
            if now >= *limit as f64 {
                format!("{now}")
            } else {
                format!("{}", (now * factor).round().min(*limit as f64))
            }
        }
        FixValue::PerCpu(per) => per.saturating_mul(cpus).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_follows_what_is_there() {
        let of = |value: &FixValue, now: &str| wanted(value, now, 4).unwrap();
        assert_eq!(of(&FixValue::Exactly("x".to_owned()), "y"), "x");
        assert_eq!(of(&FixValue::AtLeast(10), "3"), "10");
        assert_eq!(of(&FixValue::AtLeast(10), "30"), "30");
        assert_eq!(of(&FixValue::AtMost(10), "30"), "10");
        assert_eq!(of(&FixValue::AtMost(10), "3"), "3");
        let times = FixValue::Times {
            factor: 2.0,
            limit: 10,
        };
        assert_eq!(of(&times, "4"), "8");
        assert_eq!(of(&times, "8"), "10");
        assert_eq!(of(&times, "12"), "12");
        assert_eq!(of(&FixValue::PerCpu(2), "0"), "8");
        assert!(wanted(&FixValue::AtLeast(1), "x", 4).is_err());
    }
}
