//! Another memory allocator for the server.

use std::path::{Path, PathBuf};

use model::FixAction;

use super::contained::{self, ContainerPart};
use super::launch::{self, Launch};
use crate::fix::root::Root;
use crate::fix::step::{RestartReason, Step, StepState, When, restart};
use crate::fix::system::System;

/// Where distributions put libraries; mysqld_safe takes malloc-lib from these only (scripts/mysqld_safe.sh).
const DIRECTORIES: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib64",
    "/usr/local/lib",
];

/// The better one first.
const LIBRARIES: [&str; 5] = [
    "libjemalloc.so.2",
    "libjemalloc.so.1",
    "libtcmalloc_minimal.so.4",
    "libtcmalloc.so.4",
    "libtcmalloc_and_profiler.so.4",
];

pub(super) fn steps(_: &FixAction, system: &System, _: When) -> Vec<Step> {
    vec![step(system)]
}

fn step(system: &System) -> Step {
    let says = "Another memory allocator for the server".to_owned();
    let server = system.server.as_ref();
    if let Some(allocator) = server.and_then(|server| server.allocator.as_ref()) {
        let state = StepState::Already(format!("the server already uses {allocator}"));
        return Step::new(When::Durable, says, "its memory map".to_owned(), state);
    }
    let Some(library) = library(system) else {
        return without_library(system, says);
    };
    let shown = library.display().to_string();
    let says = format!("Start the server with {shown} as its memory allocator");
    let other = server.and_then(|server| server.environment("LD_PRELOAD"));
    let mut step = match (server, other) {
        (Some(_), Some(other)) if other.split([':', ' ']).any(|one| one == shown) => {
            let state = StepState::Already(format!(
                "the server was started with LD_PRELOAD={other}, but has not loaded it; look for 'cannot be preloaded' in its log"
            ));
            Step::new(When::Durable, says, PLACE.to_owned(), state)
        }
        (Some(server), Some(other)) => {
            // A drop-in would take it out.
            let state = StepState::ByHand {
                why: format!("the server is already started with LD_PRELOAD={other}"),
                commands: vec![format!("LD_PRELOAD={shown}:{other}, where that is set")],
            };
            let mut step = Step::new(When::Durable, says, PLACE.to_owned(), state);
            step.restart = Some(restart(Some(server), RestartReason::Made));
            step
        }
        _ => launch::step(
            system,
            Launch {
                says,
                name: "LD_PRELOAD",
                unit: format!("Environment=LD_PRELOAD={shown}"),
                safe: Some(("malloc-lib", format!("malloc-lib = {shown}"))),
                container: ContainerPart::Environment("LD_PRELOAD", &shown),
                shell: format!("LD_PRELOAD={shown}"),
                in_force: false,
            },
        ),
    };
    if let Some(kib) = server.and_then(|server| server.resident_kib) {
        step.notes.push(format!(
            "the server has {} MiB resident now; compare after a day, since allocators keep memory differently",
            kib >> 10
        ));
    }
    step
}

const PLACE: &str = "how the server is started";

/// Neither library is where the server would find it.
fn without_library(system: &System, says: String) -> Step {
    let server = system.server.as_ref();
    let distribution = server
        .and_then(|server| server.distribution.as_ref())
        .unwrap_or(&system.distribution);
    let package = package(&distribution.family);
    let container = server.and_then(|server| server.container.as_ref());
    let state = match container {
        Some(container) => StepState::ByHand {
            why: format!(
                "neither jemalloc nor tcmalloc is installed in the server's container ({})",
                container.name()
            ),
            commands: contained::with_package(container, package),
        },
        None => StepState::ByHand {
            why: "neither jemalloc nor tcmalloc is installed".to_owned(),
            commands: vec![package.to_owned()],
        },
    };
    let mut step = Step::new(When::Durable, says, "the library".to_owned(), state);
    step.notes
        .push("then run freezeframe fix again: it finds the library's path".to_owned());
    step
}

/// The library's path as the server sees it.
fn library(system: &System) -> Option<PathBuf> {
    let other = system
        .server
        .as_ref()
        .and_then(|server| server.other_root.as_ref())
        .map(Root::at);
    let tree = other.as_ref().unwrap_or(&system.root);
    LIBRARIES.iter().find_map(|library| {
        DIRECTORIES
            .iter()
            .map(|directory| Path::new(directory).join(library))
            .find(|path| tree.has(path))
    })
}

fn package(family: &str) -> &'static str {
    let is = |names: &[&str]| family.split_whitespace().any(|word| names.contains(&word));
    if is(&["debian", "ubuntu"]) {
        "apt-get install libjemalloc2"
    } else if is(&["fedora"]) && !is(&["rhel", "centos"]) {
        "dnf install jemalloc"
    } else if is(&["rhel", "centos", "fedora"]) {
        "dnf install epel-release && dnf install jemalloc"
    } else if is(&["suse", "opensuse"]) {
        "zypper install libjemalloc2"
    } else if is(&["arch"]) {
        "pacman -S jemalloc"
    } else {
        "install the package of jemalloc or tcmalloc (gperftools)"
    }
}
