//! The control groups of a process: `/proc/PID/cgroup` (kernel/cgroup/cgroup.c, `proc_cgroup_show`; cgroups(7)) and
//! the files of a cgroup's directory (Documentation/admin-guide/cgroup-v2.rst).

use super::text::{fields, lines, name_and_number, number};
use crate::read::{self, ReadError};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

const CGROUP_BYTES_MAX: usize = 64 << 10;
/// A container host may have tens of thousands of mounts.
const MOUNTINFO_BYTES_MAX: usize = 16 << 20;

/// The cgroups of a process. Paths are below the hierarchy's mount point.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cgroups {
    /// In the unified hierarchy (v2).
    pub v2: Option<String>,
    /// In each v1 hierarchy: its controllers (`cpu`, `memory`, …, or `name=systemd`) and the path.
    pub v1: Vec<(Vec<String>, String)>,
}

/// Parses `/proc/PID/cgroup`.
pub fn parse(bytes: &[u8]) -> Cgroups {
    let mut cgroups = Cgroups::default();
    for line in lines(bytes) {
        let text = String::from_utf8_lossy(line);
        let mut parts = text.splitn(3, ':');
        let (Some(id), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if id == "0" && controllers.is_empty() {
            cgroups.v2 = Some(path.to_owned());
        } else {
            let controllers = controllers.split(',').map(str::to_owned).collect();
            cgroups.v1.push((controllers, path.to_owned()));
        }
    }
    cgroups
}

/// Reads `/proc/PID/cgroup`.
pub fn read(path: &Path) -> Result<Cgroups, ReadError> {
    Ok(parse(&read::whole(path, CGROUP_BYTES_MAX)?))
}

/// `cpu.stat` of v2, or of a v1 `cpu` cgroup (kernel/sched/core.c, `cpu_cfs_stat_show`), which has only the last three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuStat {
    /// CPU time in microseconds.
    pub usage_us: Option<u64>,
    /// In user mode.
    pub user_us: Option<u64>,
    /// In the kernel.
    pub system_us: Option<u64>,
    /// Enforcement periods that passed while the group was runnable.
    pub periods: Option<u64>,
    /// Periods in which the group used up its quota.
    pub throttled_periods: Option<u64>,
    /// Microseconds for which CPUs of the group were stopped by its quota, summed over the CPUs.
    pub throttled_us: Option<u64>,
}

/// Parses `cpu.stat`.
pub fn parse_cpu_stat(bytes: &[u8]) -> CpuStat {
    let mut stat = CpuStat::default();
    for (name, value) in lines(bytes).filter_map(name_and_number) {
        match name {
            "usage_usec" => stat.usage_us = Some(value),
            "user_usec" => stat.user_us = Some(value),
            "system_usec" => stat.system_us = Some(value),
            "nr_periods" => stat.periods = Some(value),
            "nr_throttled" => stat.throttled_periods = Some(value),
            "throttled_usec" => stat.throttled_us = Some(value),
            "throttled_time" => stat.throttled_us = Some(value / 1000), // v1: nanoseconds
            _ => {}
        }
    }
    stat
}

/// `memory.events`: how often the group met a memory limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryEvents {
    /// Reclaimed although below `memory.low`.
    pub low: Option<u64>,
    /// Throttled and made to reclaim because `memory.high` was exceeded.
    pub high: Option<u64>,
    /// About to go over `memory.max`.
    pub max: Option<u64>,
    /// At the limit with an allocation about to fail.
    pub oom: Option<u64>,
    /// Processes killed by the OOM killer.
    pub oom_kill: Option<u64>,
}

/// Parses `memory.events`, or `pids.events`, which has `max` alone: how often a fork failed at the limit.
pub fn parse_memory_events(bytes: &[u8]) -> MemoryEvents {
    let mut events = MemoryEvents::default();
    for (name, value) in lines(bytes).filter_map(name_and_number) {
        match name {
            "low" => events.low = Some(value),
            "high" => events.high = Some(value),
            "max" => events.max = Some(value),
            "oom" => events.oom = Some(value),
            "oom_kill" => events.oom_kill = Some(value),
            _ => {}
        }
    }
    events
}

/// A limit that may be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The file says `max`.
    Unlimited,
    /// In the file's unit.
    At(u64),
}

/// Parses a file of one value: `memory.current`, `memory.max`, `memory.swap.max` (bytes), `pids.max`.
pub fn parse_limit(bytes: &[u8]) -> Option<Limit> {
    limit(fields(bytes).next()?)
}

fn limit(field: &[u8]) -> Option<Limit> {
    match field {
        b"max" => Some(Limit::Unlimited),
        _ => number(field).map(Limit::At),
    }
}

/// `cpu.max`: so much CPU time in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuMax {
    /// Microseconds of CPU time a period.
    pub quota_us: Limit,
    /// Length of a period in microseconds.
    pub period_us: u64,
}

/// `cpu.max` as it would be for a v1 group, from `cpu.cfs_quota_us` (-1: unlimited) and `cpu.cfs_period_us`.
pub fn cpu_max_of_v1(quota: &[u8], period: &[u8]) -> Option<CpuMax> {
    let quota = fields(quota).next()?;
    Some(CpuMax {
        quota_us: match quota {
            b"-1" => Limit::Unlimited,
            _ => Limit::At(number(quota)?),
        },
        period_us: number(fields(period).next()?)?,
    })
}

/// Where the unified hierarchy is mounted, from `/proc/self/mountinfo` (proc_pid_mountinfo(5)): `/sys/fs/cgroup`, or
/// `/sys/fs/cgroup/unified` where v1 is mounted too. Mount points with escaped characters are passed over.
pub fn v2_mount_point(mountinfo: &[u8]) -> Option<PathBuf> {
    lines(mountinfo).find_map(|line| {
        let mut rest = fields(line);
        let mount_point = rest.nth(4)?;
        // A lone hyphen ends the optional fields; the type of the file system follows it.
        rest.find(|&field| field == b"-")?;
        (rest.next()? == b"cgroup2" && !mount_point.contains(&b'\\'))
            .then(|| PathBuf::from(OsStr::from_bytes(mount_point)))
    })
}

/// Where the v1 hierarchy of a controller (`cpu`, `memory`) is mounted, and which of its cgroups is shown there: `/`
/// outside of containers.
pub fn v1_mount_point(mountinfo: &[u8], controller: &str) -> Option<(PathBuf, String)> {
    lines(mountinfo).find_map(|line| {
        let mut rest = fields(line);
        let root = String::from_utf8_lossy(rest.nth(3)?).into_owned();
        let mount_point = rest.next()?;
        rest.find(|&field| field == b"-")?;
        let is_v1 = rest.next()? == b"cgroup" && !mount_point.contains(&b'\\');
        // Device, then the options of the file system, among them the controllers.
        let options = rest.nth(1)?;
        let has = options
            .split(|&byte| byte == b',')
            .any(|option| option == controller.as_bytes());
        (is_v1 && has).then(|| (PathBuf::from(OsStr::from_bytes(mount_point)), root))
    })
}

/// The directory of a process's cgroup in the v1 hierarchy of a controller; `None` where there is none.
pub fn v1_directory(cgroups: &Cgroups, mountinfo: &[u8], controller: &str) -> Option<PathBuf> {
    let (_, path) = cgroups
        .v1
        .iter()
        .find(|(controllers, _)| controllers.iter().any(|name| name == controller))?;
    let (mount_point, root) = v1_mount_point(mountinfo, controller)?;
    directory(&mount_point, below(path, &root)?)
}

/// The directory of a process's cgroup in the unified hierarchy; `None` where these mounts do not show it. In the
/// `mountinfo` of the process itself a container's own cgroup is the root of its mount, under the same name that
/// `/proc/PID/cgroup` has: the kernel tells both as the reader's cgroup namespace has them.
pub fn v2_directory(cgroups: &Cgroups, mountinfo: &[u8]) -> Option<PathBuf> {
    let path = cgroups.v2.as_deref()?;
    lines(mountinfo).find_map(|line| {
        let root = String::from_utf8_lossy(fields(line).nth(3)?).into_owned();
        let mount_point = v2_mount_point(line)?;
        directory(&mount_point, below(path, &root)?)
    })
}

/// A cgroup's path below another one.
fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Reads a `mountinfo` file.
pub fn read_mountinfo(path: &Path) -> Result<Vec<u8>, ReadError> {
    read::whole(path, MOUNTINFO_BYTES_MAX)
}

/// The directory of a cgroup. `None` for a cgroup outside this mount, which the kernel shows as `/../…`
/// (cgroup_namespaces(7)).
pub fn directory(mount_point: &Path, cgroup: &str) -> Option<PathBuf> {
    let below = Path::new(cgroup.trim_start_matches('/'));
    below
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
        .then(|| mount_point.join(below))
}

/// The bytes of one file of a cgroup's directory, for the parsers above. Files of controllers that are not enabled
/// do not exist, nor do limits in the root cgroup.
pub fn read_file(directory: &Path, name: &str) -> Result<Vec<u8>, ReadError> {
    read::whole(&directory.join(name), CGROUP_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hybrid_and_unified() {
        let cgroups = parse(
            b"9:name=systemd:/\n2:cpu,cpuacct:/docker/ab:c\n0::/system.slice/mariadb.service\n",
        );
        assert_eq!(cgroups.v2.as_deref(), Some("/system.slice/mariadb.service"));
        assert_eq!(
            cgroups.v1[1],
            (vec!["cpu".into(), "cpuacct".into()], "/docker/ab:c".into())
        );
        assert_eq!(parse(b"\n4:memory\n"), Cgroups::default());
    }

    #[test]
    fn a_container_shows_its_own_group_where_ours_does_not() {
        let cgroups = |path: &str| Cgroups {
            v2: Some(path.to_owned()),
            v1: Vec::new(),
        };
        let mount = |root: &str| {
            format!("31 30 0:27 {root} /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n")
        };
        let of = |path: &str, root: &str| v2_directory(&cgroups(path), mount(root).as_bytes());
        let shown = |below: &str| Some(Path::new("/sys/fs/cgroup").join(below));
        assert_eq!(of("/a/b", "/"), shown("a/b"));
        assert_eq!(of("/../pod7/ab", "/"), None);
        assert_eq!(of("/../pod7/ab", "/../pod7/ab"), shown(""));
        assert_eq!(of("/../pod7/ab/init", "/../pod7/ab"), shown("init"));
        assert_eq!(of("/../pod7/abc", "/../pod7/ab"), None, "of another one");
        assert_eq!(of("/docker/ab", "/docker/ab"), shown(""));
    }

    #[test]
    fn cpu_stat_of_both_versions() {
        let v2 = parse_cpu_stat(
            b"usage_usec 5\nuser_usec 3\nsystem_usec 2\nnice_usec 0\nnr_periods 10\nnr_throttled 4\nthrottled_usec 77\n",
        );
        assert_eq!(
            (v2.usage_us, v2.throttled_periods, v2.throttled_us),
            (Some(5), Some(4), Some(77))
        );
        let v1 = parse_cpu_stat(b"nr_periods 10\nnr_throttled 4\nthrottled_time 77000\n");
        assert_eq!(
            (v1.usage_us, v1.periods, v1.throttled_us),
            (None, Some(10), Some(77))
        );
    }

    #[test]
    fn memory() {
        let events =
            parse_memory_events(b"low 0\nhigh 3\nmax 4\noom 1\noom_kill 1\noom_group_kill 0\n");
        assert_eq!(
            (events.high, events.max, events.oom_kill),
            (Some(3), Some(4), Some(1))
        );
        assert_eq!(parse_limit(b"max\n"), Some(Limit::Unlimited));
        assert_eq!(parse_limit(b"1048576\n"), Some(Limit::At(1_048_576)));
        assert_eq!((parse_limit(b""), parse_limit(b"-1\n")), (None, None));
    }

    #[test]
    fn groups_of_v1() {
        let cgroups = parse(b"4:memory:/docker/ab\n2:cpu,cpuacct:/docker/ab\n0::/\n");
        let mountinfo = b"31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
            32 30 0:28 /docker/ab /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let of = |controller| v1_directory(&cgroups, mountinfo, controller);
        assert_eq!(of("cpu"), Some("/sys/fs/cgroup/cpu/docker/ab".into()));
        assert_eq!(of("memory"), Some("/sys/fs/cgroup/memory/".into()));
        assert_eq!(of("blkio"), None);
        assert_eq!(
            cpu_max_of_v1(b"50000\n", b"100000\n"),
            Some(CpuMax {
                quota_us: Limit::At(50_000),
                period_us: 100_000
            })
        );
        let unlimited = cpu_max_of_v1(b"-1\n", b"100000\n").unwrap();
        assert_eq!(unlimited.quota_us, Limit::Unlimited);
        assert_eq!(cpu_max_of_v1(b"", b"100000\n"), None);
    }

    #[test]
    fn mount_point_and_directory() {
        let mountinfo = b"22 27 0:21 / /proc rw,relatime - proc proc rw\n\
            31 30 0:27 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu\n\
            40 30 0:36 / /sys/fs/cgroup/unified rw shared:10 master:3 - cgroup2 cgroup2 rw\n";
        let mount = v2_mount_point(mountinfo).unwrap();
        assert_eq!(mount, Path::new("/sys/fs/cgroup/unified"));
        assert_eq!(
            directory(&mount, "/a/b"),
            Some("/sys/fs/cgroup/unified/a/b".into())
        );
        assert_eq!(
            directory(&mount, "/"),
            Some("/sys/fs/cgroup/unified/".into())
        );
        assert_eq!(directory(&mount, "/../other"), None);
    }
}
