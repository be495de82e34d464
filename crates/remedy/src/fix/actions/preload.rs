//! Another memory allocator for the server.

use std::path::{Path, PathBuf};

use model::FixAction;

use super::environment::in_the_unit;
use super::file_step;
use crate::fix::plan::{Step, StepState, When, restart};
use crate::fix::system::{SeenServer, System};

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
        let state = StepState::Already(format!("the server runs with {allocator} already"));
        return Step::new(When::Durable, says, "its memory map".to_owned(), state);
    }
    let Some(library) = library(system) else {
        let state = StepState::ByHand {
            why: "neither jemalloc nor tcmalloc is installed".to_owned(),
            commands: vec![package(&system.distribution.family).to_owned()],
        };
        let mut step = Step::new(When::Durable, says, "the library".to_owned(), state);
        step.notes
            .push("then freezeframe fix again: it finds the library's path".to_owned());
        return step;
    };
    let shown = library.display().to_string();
    let says = format!("Start the server with {shown} as its memory allocator");
    if let Some(other) = server.and_then(|server| server.preloaded.as_ref()) {
        // A drop-in would take it out.
        let state = StepState::ByHand {
            why: format!("the server is started with LD_PRELOAD={other} already"),
            commands: vec![format!("LD_PRELOAD={shown}:{other}, where that is set")],
        };
        let mut step = Step::new(
            When::Durable,
            says,
            "how the server is started".to_owned(),
            state,
        );
        step.restart = Some(restart(server));
        return step;
    }
    let mut step = match server {
        Some(server) if server.safe.is_some() && server.container.is_none() => {
            by_safe(system, server, &shown, says)
        }
        _ => in_the_unit(system, "LD_PRELOAD", &shown, says),
    };
    step.restart = Some(restart(server));
    if let Some(kib) = server.and_then(|server| server.resident_kib) {
        step.notes.push(format!(
            "the server has {} MiB resident now; compare after a day: another allocator keeps memory differently",
            kib >> 10
        ));
    }
    step
}

/// mysqld_safe preloads what `malloc-lib` names.
fn by_safe(system: &System, server: &SeenServer, library: &str, says: String) -> Step {
    let lines = format!("[mysqld_safe]\nmalloc-lib = {library}\n");
    match server.include_directories.last() {
        Some(directory) if server.other_root.is_none() => {
            let path = directory.join("zz-freezeframe-malloc-lib.cnf");
            file_step(system, says, path, &lines, None)
        }
        _ => Step::new(
            When::Durable,
            says,
            "the option file of mysqld_safe".to_owned(),
            StepState::ByHand {
                why: "no option file of the server includes a directory, and users' files are not edited".to_owned(),
                commands: lines.lines().map(str::to_owned).collect(),
            },
        ),
    }
}

/// The library's path as the server sees it.
fn library(system: &System) -> Option<PathBuf> {
    let other = system
        .server
        .as_ref()
        .and_then(|server| server.other_root.as_ref());
    let here = |path: &Path| match other {
        Some(tree) => tree.join(path.strip_prefix("/").unwrap_or(path)),
        None => system.root.here(path),
    };
    LIBRARIES.iter().find_map(|library| {
        DIRECTORIES
            .iter()
            .map(|directory| Path::new(directory).join(library))
            .find(|path| here(path).exists())
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
