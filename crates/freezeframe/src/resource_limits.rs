//! Whether the limits that hold for this process are enough for so many servers: what the control group allows of memory
//! and threads, and how many files may be open. One that is too small ends the recorder, or a part of it, in the night.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernel::procfs::cgroup::{self, Limit};
use kernel::roots::ProcRoot;
use rustix::process::{Resource, getrlimit};

/// What the first server takes, with its incident and its page, MiB: as measured, with room.
const FIRST_MIB: u64 = 96;

/// What each further one may take, MiB: 5 in calm (the target of `freezeframe-lab bench --part targets`), and as much again
/// where all of them stall together for as long as an incident lasts, as behind a disk or a switch that they share.
const FURTHER_MIB: u64 = 10;

/// Threads of the process, and of each server: a server of this host has more, the others fewer.
const OWN_THREADS: u64 = 20;
const THREADS_EACH: u64 = 8;

/// Threads that come for a moment: an incident is written, a name looked up.
const SPARE_EACH: u64 = 1;

/// Files of the process, and of each server: its connections, its history with journal and lock.
const OWN_FILES: u64 = 64;
const FILES_EACH: u64 = 12;

/// Levels of control groups that are looked at.
const LEVELS_MAX: usize = 32;

/// What is needed, or allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ResourceLimits {
    memory_mib: Option<u64>,
    threads: Option<u64>,
    files: Option<u64>,
}

/// The unit of the packages.
const SERVICE: &str = "freezeframe.service";

/// What systemd is asked of it, and how long it may take.
const ASKED: &str = "--property=LoadState,MemoryHigh,MemoryMax,TasksMax,LimitNOFILE";
const ASKED_LIMITS: transport::program::Limits = transport::program::Limits {
    deadline: Duration::from_secs(2),
    output_bytes: 4096,
};

/// What is too small for so many servers, a line each; empty when all is well, or nothing is limited.
pub(crate) fn too_small(targets: usize) -> Vec<String> {
    lines(targets, allowed(&ProcRoot::default()))
}

/// The same of the service, which has limits of its own whoever asks; empty where there is none.
pub(crate) fn too_small_for_service(targets: usize) -> Vec<String> {
    let asked = ["systemctl", "show", SERVICE, "--no-pager", ASKED].map(str::to_owned);
    let Ok(output) = transport::program::output(&asked, &BTreeMap::new(), b"", ASKED_LIMITS) else {
        return Vec::new();
    };
    let Some(limits) = of_unit(&String::from_utf8_lossy(&output.stdout)) else {
        return Vec::new();
    };
    let lines = lines(targets, limits).into_iter();
    lines.map(|line| format!("{SERVICE}: {line}")).collect()
}

/// The limits of a unit, as `systemctl show` prints them (`infinity`: none).
fn of_unit(shown: &str) -> Option<ResourceLimits> {
    let value = |name: &str| {
        let mut lines = shown.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
    };
    let number = |name: &str| value(name)?.parse::<u64>().ok();
    let memory = [number("MemoryHigh"), number("MemoryMax")];
    (value("LoadState") == Some("loaded")).then(|| ResourceLimits {
        memory_mib: memory.into_iter().flatten().min().map(|bytes| bytes >> 20),
        threads: number("TasksMax"),
        files: number("LimitNOFILE"),
    })
}

fn needed(targets: usize) -> (u64, u64, u64) {
    let targets = targets as u64;
    let further = targets.saturating_sub(1);
    (
        FIRST_MIB + FURTHER_MIB * further,
        OWN_THREADS + (THREADS_EACH + SPARE_EACH) * targets,
        OWN_FILES + FILES_EACH * targets,
    )
}

fn lines(targets: usize, allowed: ResourceLimits) -> Vec<String> {
    let (memory, threads, files) = needed(targets);
    let servers = match targets {
        1 => "1 server needs".to_owned(),
        count => format!("{count} servers need"),
    };
    let line = |what: &str, allowed: Option<u64>, needed: u64, unit: &str, cure: &str| {
        let allowed = allowed.filter(|allowed| *allowed < needed)?;
        Some(format!(
            "{what}: {allowed}{unit} allowed, {servers} about {needed}{unit} ({cure})"
        ))
    };
    let drop_in = |key: &str, value: &str| {
        format!(
            "{key}={value} by `systemctl edit freezeframe`, or the container's limit; docs/install.md"
        )
    };
    [
        line(
            "memory of the control group",
            allowed.memory_mib,
            memory,
            " MiB",
            &drop_in("MemoryMax", &format!("{memory}M")),
        ),
        line(
            "threads of the control group",
            allowed.threads,
            threads,
            "",
            &drop_in("TasksMax", &threads.to_string()),
        ),
        line(
            "open files",
            allowed.files,
            files,
            "",
            &format!("LimitNOFILE={files} of the unit, or ulimit -n"),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn allowed(proc: &ProcRoot) -> ResourceLimits {
    let files = getrlimit(Resource::Nofile).current;
    let mut limits = ResourceLimits {
        files,
        ..ResourceLimits::default()
    };
    let groups = cgroup::read(&proc.file("self/cgroup")).unwrap_or_default();
    let mounts = cgroup::read_mountinfo(&proc.file("self/mountinfo")).unwrap_or_default();
    if let Some(directory) = cgroup::v2_directory(&groups, &mounts) {
        let top = cgroup::v2_mount_point(&mounts).unwrap_or_default();
        for level in levels(directory, &top) {
            limits.limit_by(&level, "memory.max", "pids.max");
            limits.limit_by(&level, "memory.high", "pids.max");
        }
    }
    for (controller, memory) in [("memory", "memory.limit_in_bytes"), ("pids", "")] {
        if let Some(directory) = cgroup::v1_directory(&groups, &mounts, controller) {
            limits.limit_by(&directory, memory, "pids.max");
        }
    }
    limits
}

/// A group and those above it: each holds for all below.
fn levels(directory: PathBuf, top: &Path) -> impl Iterator<Item = PathBuf> {
    let above = std::iter::successors(Some(directory), |level| Some(level.parent()?.to_owned()));
    let inside = above.take_while(move |level| level.starts_with(top));
    inside.take(LEVELS_MAX)
}

impl ResourceLimits {
    fn limit_by(&mut self, group: &Path, memory: &str, pids: &str) {
        let limit = |name: &str| {
            let bytes = (!name.is_empty()).then(|| cgroup::read_file(group, name).ok())??;
            match cgroup::parse_limit(&bytes)? {
                Limit::At(limit) => Some(limit),
                Limit::Unlimited => None,
            }
        };
        let less = |known: Option<u64>, limit: Option<u64>| match (known, limit) {
            (Some(known), Some(limit)) => Some(known.min(limit)),
            (known, limit) => known.or(limit),
        };
        self.memory_mib = less(self.memory_mib, limit(memory).map(|bytes| bytes >> 20));
        self.threads = less(self.threads, limit(pids));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(memory_mib: u64, threads: u64, files: u64) -> ResourceLimits {
        ResourceLimits {
            memory_mib: Some(memory_mib),
            threads: Some(threads),
            files: Some(files),
        }
    }

    #[test]
    fn what_is_too_small_is_told_with_what_it_should_be() {
        assert!(lines(200, ResourceLimits::default()).is_empty());
        // As the unit has it.
        assert!(lines(17, limits(256, 2048, 65_536)).is_empty());
        let told = lines(200, limits(256, 512, 1024));
        assert_eq!(told.len(), 3, "{told:#?}");
        assert!(told[0].contains("256 MiB allowed, 200 servers need about 2086 MiB"));
        assert!(told[0].contains("MemoryMax=2086M"), "{}", told[0]);
        assert!(told[1].contains("TasksMax=1820"), "{}", told[1]);
        assert!(told[2].contains("LimitNOFILE=2464"), "{}", told[2]);
        assert_eq!(lines(1, limits(64, 512, 1024)).len(), 1);
    }

    #[test]
    fn the_limits_of_a_unit_are_read_as_systemd_prints_them() {
        let shown = "LoadState=loaded\nMemoryHigh=infinity\nMemoryMax=268435456\nTasksMax=2048\nLimitNOFILE=65536\n";
        assert_eq!(of_unit(shown), Some(limits(256, 2048, 65_536)));
        let unlimited = "LoadState=loaded\nMemoryMax=infinity\nTasksMax=18446744073709551615\n";
        let found = of_unit(unlimited).unwrap();
        assert!(lines(1000, found).is_empty(), "{found:?}");
        assert_eq!(of_unit("LoadState=not-found\nMemoryMax=1\n"), None);
        assert_eq!(of_unit(""), None);
    }

    #[test]
    fn the_least_of_all_levels_holds() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a.slice/b.service");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("memory.max"), "max\n").unwrap();
        std::fs::write(inner.join("pids.max"), "512\n").unwrap();
        let outer = dir.path().join("a.slice");
        std::fs::write(outer.join("memory.max"), "268435456\n").unwrap();
        std::fs::write(outer.join("pids.max"), "9000\n").unwrap();
        let mut found = ResourceLimits::default();
        for level in levels(inner, dir.path()) {
            found.limit_by(&level, "memory.max", "pids.max");
        }
        assert_eq!((found.memory_mib, found.threads), (Some(256), Some(512)));
    }
}
