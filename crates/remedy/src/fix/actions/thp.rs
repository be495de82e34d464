//! Transparent huge pages off, for the whole host.

use std::path::{Path, PathBuf};

use model::FixAction;

use super::file_step;
use super::reach::{ON_THE_HOST, out_of_reach};
use crate::fix::change::Change;
use crate::fix::kernel_setting::KernelSetting;
use crate::fix::step::{Step, StepState, When};
use crate::fix::system::System;

const SETTINGS: [(&str, &str); 2] = [
    (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "No transparent huge pages for new allocations, on the whole host",
    ),
    (
        "/sys/kernel/mm/transparent_hugepage/defrag",
        "No memory compaction for huge pages while a thread waits for memory",
    ),
];

/// Read at boot, before services start (tmpfiles.d(5)). One file of ours instead of a unit, which would have to be
/// enabled by a second one.
const AT_BOOT: &str = "/etc/tmpfiles.d/zz-freezeframe-thp.conf";

pub(super) fn steps(_: &FixAction, system: &System, when: When) -> Vec<Step> {
    match when {
        When::Now => SETTINGS
            .iter()
            .map(|(path, says)| now(system, path, says))
            .collect(),
        When::Durable => vec![durable(system)],
    }
}

fn now(system: &System, path: &str, says: &str) -> Step {
    let file = PathBuf::from(path);
    let place = path.to_owned();
    let (shown, before) = match system.kernel(&file) {
        Ok(read) => read,
        Err(why) => {
            let why = format!("this kernel has no such setting ({why})");
            return Step::new(When::Now, says.to_owned(), place, StepState::NotHere(why));
        }
    };
    let state = if before == "never" {
        StepState::Already("already never".to_owned())
    } else if let Some(why) = out_of_reach(system, &file, When::Now) {
        StepState::ByHand {
            why,
            commands: vec![format!("on the host: echo never > {path}")],
        }
    } else {
        StepState::ToDo(Change::KernelSetting(KernelSetting {
            path: file,
            shown,
            before: before.clone(),
            after: "never".to_owned(),
            instead: None,
        }))
    };
    let step = Step::new(When::Now, says.to_owned(), place, state).shown_as(before, "never");
    if path.ends_with("enabled") {
        step.note("huge pages that the server already has stay until it restarts")
    } else {
        step
    }
}

fn durable(system: &System) -> Step {
    let says = "The same at every boot".to_owned();
    if let Some(why) = out_of_reach(system, Path::new(SETTINGS[0].0), When::Durable) {
        let commands = vec![ON_THE_HOST.to_owned()];
        let state = StepState::ByHand { why, commands };
        return Step::new(When::Durable, says, "the host".to_owned(), state);
    }
    if !system.systemd {
        let why = "there is no systemd here to write settings at boot".to_owned();
        let commands = vec![
            "add transparent_hugepage=never to the kernel's command line in the boot loader"
                .to_owned(),
        ];
        let state = StepState::ByHand { why, commands };
        return Step::new(When::Durable, says, "the boot loader".to_owned(), state);
    }
    let lines: String = SETTINGS
        .iter()
        .map(|(path, _)| format!("w {path} - - - - never\n"))
        .collect();
    let mut step = file_step(system, says, PathBuf::from(AT_BOOT), &lines, None);
    step.notes.push(
        "the kernel argument transparent_hugepage=never does the same earlier, but needs a reboot"
            .to_owned(),
    );
    if let Some(profile) = &system.tuned {
        step.notes.push(format!(
            "tuned is active with profile {profile}, and may set it again later: see transparent_hugepages in \
             tuned-adm profile_info"
        ));
    }
    if system.exists(Path::new("/sys/kernel/mm/transparent_hugepage/defrag")) {
        return step;
    }
    step.state = StepState::NotHere("this kernel has no transparent huge pages".to_owned());
    step
}
