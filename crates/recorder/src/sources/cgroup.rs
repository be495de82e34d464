//! The server's control group: what it was held back by, and its limits.
//!
//! The files of v1 say the same under other names. What they count has the names of v2: `memory.failcnt` counts how
//! often an allocation met the limit, like `max` in `memory.events` (mm/memcontrol.c, `try_charge_memcg`).

use super::{Outcome, absent, readings};
use std::path::{Path, PathBuf};

use kernel::procfs::cgroup as cg;
use kernel::roots::ProcRoot;
use model::{Absent, Fact, Reading, Reason, SourceData, Unit};

/// A v1 group without a limit has the largest number of whole pages that fits.
const NO_LIMIT_BYTES: u64 = 1 << 62;

/// The directories of a server's groups.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Of the unified hierarchy.
    v2: Option<PathBuf>,
    /// Of the v1 hierarchies of these controllers.
    cpu: Option<PathBuf>,
    memory: Option<PathBuf>,
    pids: Option<PathBuf>,
    /// One of them lies outside of our cgroup namespace, and the process does not show it either.
    is_hidden: bool,
}

impl Groups {
    /// Where they are. The root of a hierarchy has no limits and counts nothing of the server's.
    ///
    /// From within a container the groups of another one are outside of what is mounted here. That one has its own
    /// mounted as a rule, and they are read there.
    pub(crate) fn find(proc: &ProcRoot, pid: u32) -> Result<Self, Absent> {
        let read = |error| absent("cgroup", &error);
        let groups = cg::read(&proc.of(pid, "cgroup")).map_err(read)?;
        let mounts = cg::read_mountinfo(&proc.file("self/mountinfo")).map_err(read)?;
        let theirs = cg::read_mountinfo(&proc.of(pid, "mountinfo")).unwrap_or_default();
        let through = |directory: PathBuf| {
            let below = directory.strip_prefix("/").ok()?.to_owned();
            let through = proc.of(pid, "root").join(below);
            through.is_dir().then_some(through)
        };
        let shown = |of: &dyn Fn(&[u8]) -> Option<PathBuf>| {
            of(&mounts).or_else(|| of(&theirs).and_then(through))
        };
        let in_root = |controller: &str| {
            let mut of_v1 = groups.v1.iter();
            of_v1.any(|(names, path)| path == "/" && names.iter().any(|name| name == controller))
        };
        let v1 = |controller: &str| {
            (!in_root(controller))
                .then(|| shown(&|mounts| cg::v1_directory(&groups, mounts, controller)))
                .flatten()
        };
        let below_root = groups.v2.as_deref().is_some_and(|path| path != "/");
        let v2 = below_root.then(|| shown(&|mounts| cg::v2_directory(&groups, mounts)));
        let paths = groups.v1.iter().map(|(_, path)| path).chain(&groups.v2);
        let is_outside = paths.into_iter().any(|path| path.starts_with("/.."));
        let v2 = v2.flatten();
        Ok(Self {
            is_hidden: is_outside && v2.is_none(),
            v2,
            cpu: v1("cpu"),
            memory: v1("memory"),
            pids: v1("pids"),
        })
    }

    /// What they say now.
    pub(crate) fn read(&self) -> Outcome {
        let mut found = Found::default();
        if let Some(directory) = &self.v2 {
            found.cpu_stat(directory);
            found.memory_of_v2(directory);
            found.pids(directory);
            for name in ["cpu.max", "memory.max"] {
                if let Ok(bytes) = cg::read_file(directory, name) {
                    let value = String::from_utf8_lossy(&bytes).trim().to_owned();
                    found.fact(&name.replace('.', "_"), value);
                }
            }
        }
        // In a hybrid system a controller is in one hierarchy only.
        if let Some(directory) = &self.cpu {
            found.cpu_stat(directory);
            found.cpu_limit_of_v1(directory);
        }
        if let Some(directory) = &self.memory {
            found.memory_of_v1(directory);
        }
        if let Some(directory) = &self.pids {
            found.pids(directory);
        }
        if found.readings.is_empty() {
            let detail = match &self.v2 {
                Some(directory) => format!("{}: no controller is on", directory.display()),
                None if self.is_hidden => {
                    "the server's cgroup is in another container, which does not show it".to_owned()
                }
                None => "the server is in the root cgroup, which has no limits".to_owned(),
            };
            return Err(Absent::new("cgroup", Reason::Unsupported, detail));
        }
        let mut taken: SourceData = readings(found.readings);
        taken.facts = found.facts;
        Ok(taken)
    }
}

#[derive(Default)]
struct Found {
    readings: Vec<Reading>,
    facts: Vec<Fact>,
}

impl Found {
    fn counter(&mut self, name: &'static str, unit: Unit, value: Option<u64>) {
        let value = value.map(|value| Reading::counter(name, unit, value as f64));
        self.readings.extend(value);
    }

    fn fact(&mut self, name: &str, value: String) {
        self.facts.push(Fact::new(format!("cgroup.{name}"), value));
    }

    fn cpu_stat(&mut self, directory: &Path) {
        let Ok(bytes) = cg::read_file(directory, "cpu.stat") else {
            return;
        };
        let stat = cg::parse_cpu_stat(&bytes);
        let us = Unit::Microseconds;
        self.counter("cgroup.cpu.user_us", us, stat.user_us);
        self.counter("cgroup.cpu.system_us", us, stat.system_us);
        self.counter("cgroup.cpu.nr_periods", Unit::Count, stat.periods);
        self.counter(
            "cgroup.cpu.nr_throttled",
            Unit::Count,
            stat.throttled_periods,
        );
        self.counter("cgroup.cpu.throttled_us", us, stat.throttled_us);
    }

    fn cpu_limit_of_v1(&mut self, directory: &Path) {
        let file = |name| cg::read_file(directory, name).unwrap_or_default();
        let limit = cg::cpu_max_of_v1(&file("cpu.cfs_quota_us"), &file("cpu.cfs_period_us"));
        if let Some(limit) = limit {
            let quota = match limit.quota_us {
                cg::Limit::Unlimited => "max".to_owned(),
                cg::Limit::At(us) => us.to_string(),
            };
            self.fact("cpu_max", format!("{quota} {}", limit.period_us));
        }
    }

    fn memory_of_v2(&mut self, directory: &Path) {
        if let Ok(bytes) = cg::read_file(directory, "memory.events") {
            let events = cg::parse_memory_events(&bytes);
            self.counter("cgroup.memory.high", Unit::Count, events.high);
            self.counter("cgroup.memory.max", Unit::Count, events.max);
            self.counter("cgroup.memory.oom", Unit::Count, events.oom);
            self.counter("cgroup.memory.oom_kill", Unit::Count, events.oom_kill);
        }
        self.current(number(directory, "memory.current"));
    }

    fn memory_of_v1(&mut self, directory: &Path) {
        let limit = number(directory, "memory.limit_in_bytes");
        let met = number(directory, "memory.failcnt");
        self.counter("cgroup.memory.max", Unit::Count, met);
        // There is no such limit in v1; a formula with both needs it all the same.
        self.counter("cgroup.memory.high", Unit::Count, met.map(|_| 0));
        if let Ok(bytes) = cg::read_file(directory, "memory.oom_control") {
            let events = cg::parse_memory_events(&bytes);
            self.counter("cgroup.memory.oom_kill", Unit::Count, events.oom_kill);
        }
        self.current(number(directory, "memory.usage_in_bytes"));
        if let Some(bytes) = limit {
            let value = match bytes {
                NO_LIMIT_BYTES.. => "max".to_owned(),
                bytes => bytes.to_string(),
            };
            self.fact("memory_max", value);
        }
    }

    /// Threads are tasks, and each counts; v1 has the same files (kernel/cgroup/pids.c).
    fn pids(&mut self, directory: &Path) {
        let Ok(limit) = cg::read_file(directory, "pids.max") else {
            return;
        };
        let value = String::from_utf8_lossy(&limit).trim().to_owned();
        self.fact("pids_max", value);
        if let Ok(bytes) = cg::read_file(directory, "pids.events") {
            let refused = cg::parse_memory_events(&bytes).max;
            self.counter("cgroup.pids.max", Unit::Count, refused);
        }
        let name = "cgroup.pids.current";
        let current = number(directory, "pids.current");
        let reading = current.map(|tasks| Reading::gauge(name, Unit::Count, tasks as f64));
        self.readings.extend(reading);
    }

    fn current(&mut self, bytes: Option<u64>) {
        let name = "cgroup.memory.current_bytes";
        let reading = bytes.map(|bytes| Reading::gauge(name, Unit::Bytes, bytes as f64));
        self.readings.extend(reading);
    }
}

fn number(directory: &Path, name: &str) -> Option<u64> {
    match cg::parse_limit(&cg::read_file(directory, name).ok()?)? {
        cg::Limit::At(value) => Some(value),
        cg::Limit::Unlimited => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn v1_has_the_names_of_v2() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        file(
            "cpu.stat",
            "nr_periods 10\nnr_throttled 4\nthrottled_time 77000\n",
        );
        file("cpu.cfs_quota_us", "50000\n");
        file("cpu.cfs_period_us", "100000\n");
        file("memory.failcnt", "3\n");
        file("memory.usage_in_bytes", "4096\n");
        file("memory.limit_in_bytes", "9223372036854771712\n");
        file(
            "memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
        );
        file("pids.max", "50\n");
        file("pids.events", "max 7\n");
        file("pids.current", "49\n");
        let groups = Groups {
            v2: None,
            cpu: Some(dir.path().to_owned()),
            memory: Some(dir.path().to_owned()),
            pids: Some(dir.path().to_owned()),
            is_hidden: false,
        };
        let taken = groups.read().unwrap();
        let value = |name: &str| {
            let mut of_name = taken.readings.iter().filter(|one| one.name == name);
            of_name.next().map(|one| one.value)
        };
        assert_eq!(value("cgroup.cpu.nr_throttled"), Some(4.0));
        assert_eq!(value("cgroup.cpu.throttled_us"), Some(77.0));
        assert_eq!(value("cgroup.memory.max"), Some(3.0));
        assert_eq!(value("cgroup.memory.oom_kill"), Some(1.0));
        assert_eq!(value("cgroup.pids.max"), Some(7.0));
        assert_eq!(value("cgroup.pids.current"), Some(49.0));
        let facts: Vec<_> = taken
            .facts
            .iter()
            .map(|fact| (fact.name.as_str(), fact.value.as_str()))
            .collect();
        assert_eq!(
            facts,
            [
                ("cgroup.cpu_max", "50000 100000"),
                ("cgroup.memory_max", "max"),
                ("cgroup.pids_max", "50")
            ]
        );
    }

    #[test]
    fn no_group_is_said() {
        let absent = Groups::default().read().unwrap_err();
        assert!(absent.detail.contains("root cgroup"), "{}", absent.detail);
    }
}
