//! What a fix meets here: the host, and the server with its unit, its option files and its variables. Only looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kernel::procfs::cgroup;
use kernel::roots::ProcRoot;
use kernel::servers::ServerProcess;
use model::{Release, release};
use server::Waits;

use super::control_group::{self, Container, Group, Runtime};
use super::end_session::Suspect;
use super::kernel_owner;
use super::kernel_setting::{KernelSetting, in_force};
use super::memory_map::{self, MappedAllocators};
use super::memory_nodes;
use super::option_files::{self, OptionFiles};
use super::root::Root;
use super::variable::Access;
use crate::ProcessId;
use crate::give_back::DEADLINES;

const BYTES_MAX: usize = 256 << 10;
const VARIABLES_MAX: usize = 20_000;

/// How long a server may take to tell its settings, all questions together: a fix is looked for in a stall, and most of
/// what helps can be told without them.
pub const OBSERVE_TIMEOUT: Duration = Duration::from_secs(10);

/// There while systemd is the first process (sd_booted(3)).
const SYSTEMD: &str = "/run/systemd/system";

/// What is said where something follows from the server's process, and only a way in to the server was found: its
/// process belongs to another user or network, or does not run.
pub(super) const NO_PROCESS: &str = "unknown, because the server's process was not found";

/// The host, and the server if there is one.
#[derive(Debug, Clone, Default)]
pub struct System {
    /// The tree of files.
    pub root: Root,
    /// The distribution.
    pub distribution: Distribution,
    /// systemd is the first process.
    pub systemd: bool,
    /// The container that we are in ourselves: the kernel is another system's.
    pub container: Option<Container>,
    /// Processors.
    pub cpus: u64,
    /// NUMA nodes with memory, where the kernel tells.
    pub memory_nodes: Option<u64>,
    /// The active profile of tuned(8), which sets some of the same things.
    pub tuned: Option<String>,
    /// The server.
    pub server: Option<ObservedServer>,
    /// Sessions of the incident that may be ended, after it was looked whether they are still the same.
    pub suspects: Vec<Suspect>,
}

/// A distribution, by os-release(5).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Its name for people.
    pub name: String,
    /// `ID` and `ID_LIKE`, in lower case.
    pub family: String,
}

/// A server, as far as it could be seen.
#[derive(Debug, Clone, Default)]
pub struct ObservedServer {
    /// Its process.
    pub process: Option<ProcessId>,
    /// Its executable.
    pub program: Option<PathBuf>,
    /// The systemd unit that it runs in.
    pub unit: Option<String>,
    /// That unit was made by systemd-run(1): it is gone when it stops, and files for it are read by nobody.
    pub is_transient: bool,
    /// The process id of the mysqld_safe that started it.
    pub safe: Option<u32>,
    /// The command line of that, without the shell.
    pub safe_command: Vec<String>,
    /// The container that it runs in.
    pub container: Option<Container>,
    /// Its distribution where it has its own tree of files.
    pub distribution: Option<Distribution>,
    /// It has its own network, with settings of its own.
    pub other_network: bool,
    /// Files that it may have open at most: what its process was started with.
    pub open_files_limit: Option<String>,
    /// Tasks that its control group may have at most, where it says.
    pub tasks_limit: Option<TasksLimit>,
    /// Its own tree of files, when it is another one than ours.
    pub other_root: Option<PathBuf>,
    /// Option files that it reads at its start.
    pub option_files: Vec<PathBuf>,
    /// Directories of such files, the one that is read last at the end.
    pub include_directories: Vec<PathBuf>,
    /// It was started with `--no-defaults`.
    pub no_defaults: bool,
    /// Its command line.
    pub arguments: Vec<String>,
    /// The allocator that it runs with where it is not the C library's, by file name or in the server's words.
    pub allocator: Option<String>,
    /// The C library that it runs with, where its memory map could be read; its allocator is used without another one.
    pub c_library: Option<String>,
    /// Of its environment, what concerns memory allocators: `LD_PRELOAD=...`, `MALLOC_CONF=...` and the like.
    pub environment: Vec<String>,
    /// Its resident memory, KiB.
    pub resident_kib: Option<u64>,
    /// `@@version`, empty without a login.
    pub version: String,
    /// Whether it is a MariaDB.
    pub is_mariadb: bool,
    /// Its variables; empty without a login.
    pub variables: BTreeMap<String, String>,
    /// What it keeps for its next start, where it can (MySQL 8.0 and later).
    pub persisted: Option<BTreeMap<String, String>>,
    /// Variables that cannot be set while it runs, where it tells (MariaDB).
    pub read_only: Vec<String>,
    /// Its offset from UTC, as in `+02:00`.
    pub utc_offset: Option<String>,
    /// Why there is no login.
    pub no_login: Option<String>,
}

/// `pids.max` of a control group (Linux, Documentation/admin-guide/cgroup-v2.rst, PID).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TasksLimit {
    /// The file.
    pub file: PathBuf,
    /// What it says: a number, or `max`.
    pub value: String,
}

impl ObservedServer {
    /// The number of its release.
    pub fn release(&self) -> Option<Release> {
        release(&self.version)
    }

    /// Its name for people.
    pub fn name(&self) -> String {
        let make = if self.is_mariadb { "MariaDB" } else { "MySQL" };
        match self.release() {
            Some([major, minor, patch]) => format!("{make} {major}.{minor}.{patch}"),
            None => "the server".to_owned(),
        }
    }

    /// A variable of its environment, where it is not empty.
    pub fn environment(&self, name: &str) -> Option<&str> {
        self.environment
            .iter()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .filter(|value| !value.is_empty())
    }

    /// Whether its command line sets a variable, which goes before every file.
    pub fn is_on_command_line(&self, variable: &str) -> bool {
        let dashes = variable.replace('_', "-");
        self.arguments.iter().any(|argument| {
            let name = argument.trim_start_matches('-');
            let name = name.split('=').next().unwrap_or(name);
            argument.starts_with("--") && name.replace('_', "-") == dashes
        })
    }
}

impl System {
    /// Looks at the host, and at a server: its process where it was found, its variables where there is a way in.
    pub fn observe(
        root: &Root,
        process: Option<&ServerProcess>,
        access: Option<&mut Access>,
    ) -> Self {
        let read = |path: &str| text_of(root, path);
        let mut server = process.map(|process| seen_process(root, process));
        if let Some(access) = access {
            let seen = server.get_or_insert_default();
            access
                .set_waits(Waits::from(DEADLINES).no_later_than(Instant::now() + OBSERVE_TIMEOUT));
            if let Err(why) = ask(access, seen) {
                seen.no_login = Some(why);
            }
            access.set_waits(DEADLINES);
        }
        Self {
            root: root.clone(),
            distribution: distribution(&read),
            systemd: root.here(Path::new(SYSTEMD)).is_dir(),
            container: kernel_owner::own_container(root, &root.proc()),
            cpus: std::thread::available_parallelism()
                .map_or(1, |cpus| u64::try_from(cpus.get()).unwrap_or(1)),
            memory_nodes: memory_nodes::count(root),
            tuned: read("/etc/tuned/active_profile")
                .map(|text| text.trim().to_owned())
                .filter(|profile| !profile.is_empty()),
            server,
            suspects: Vec::new(),
        }
    }

    /// A setting of the kernel: its file as it is, and the value in force.
    pub(super) fn kernel(&self, path: &Path) -> Result<(String, String), String> {
        let shown = KernelSetting::read(&self.root, path).map_err(|error| error.to_string())?;
        let value = in_force(&shown).to_owned();
        Ok((shown, value))
    }

    /// A file that another one of ours would sit beside, when it is there.
    pub(super) fn exists(&self, path: &Path) -> bool {
        self.root.has(path)
    }
}

fn seen_process(root: &Root, process: &ServerProcess) -> ObservedServer {
    let proc = root.proc();
    let pid = process.pid;
    let arguments = command_line(&proc, pid);
    let other_root = other_root(root, &proc, pid);
    let Group {
        unit, container, ..
    } = place(root, &proc, pid, other_root.is_some());
    let own_tree = other_root.as_ref().map(Root::at);
    let tree = own_tree.as_ref().unwrap_or(root);
    let read = |path: &Path, limit: usize| {
        let bytes = tree.read(path, limit).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let OptionFiles {
        files,
        directories,
        none,
    } = option_files::find(&arguments, &read);
    let status = read_text(&proc.of(pid, "status")).unwrap_or_default();
    let safe = safe_parent(&proc, &status);
    let is_transient = unit.as_ref().is_some_and(|unit| {
        let made = Path::new("/run/systemd/transient").join(unit);
        root.has(&made)
    });
    let MappedAllocators {
        allocator,
        c_library,
    } = memory_map::read(&proc.of(pid, "maps"));
    let limits = kernel::procfs::limits::read(&proc.of(pid, "limits")).unwrap_or_default();
    ObservedServer {
        process: Some(ProcessId {
            pid,
            start_time_ticks: process.start_time_ticks,
        }),
        program: process.exe.clone(),
        unit,
        is_transient,
        safe_command: safe.map_or_else(Vec::new, |safe| without_shell(command_line(&proc, safe))),
        safe,
        container,
        distribution: own_tree
            .as_ref()
            .map(|tree| distribution(&|path| text_of(tree, path))),
        other_root,
        other_network: process.same_net_namespace == Some(false),
        open_files_limit: kernel::procfs::limits::soft(&limits, "Max open files")
            .map(str::to_owned),
        tasks_limit: tasks_limit(root, &proc, pid),
        option_files: files,
        include_directories: directories,
        no_defaults: none,
        arguments,
        allocator,
        c_library,
        environment: kernel::read::head(&proc.of(pid, "environ"), BYTES_MAX)
            .unwrap_or_default()
            .split(|byte| *byte == 0)
            .map(|line| String::from_utf8_lossy(line).into_owned())
            // The rest is none of our business, and may hold passwords.
            .filter(|line| line.starts_with("LD_PRELOAD=") || line.contains("MALLOC"))
            .collect(),
        resident_kib: field(&status, "VmRSS:")
            .and_then(|value| value.split_whitespace().next()?.parse().ok()),
        ..ObservedServer::default()
    }
}

/// What the control group of a process says itself. The root of a hierarchy has no such file.
fn tasks_limit(root: &Root, proc: &ProcRoot, pid: u32) -> Option<TasksLimit> {
    let groups = cgroup::read(&proc.of(pid, "cgroup")).ok()?;
    let mounts = cgroup::read_mountinfo(&proc.file("self/mountinfo")).ok()?;
    let unified = groups.v2.as_deref().and_then(|path| {
        let mount_point = cgroup::v2_mount_point(&mounts)?;
        cgroup::directory(&mount_point, path)
    });
    let alone = cgroup::v1_directory(&groups, &mounts, "pids");
    [unified, alone]
        .into_iter()
        .flatten()
        .find_map(|directory| {
            let file = directory.join("pids.max");
            let bytes = root.read(&file, BYTES_MAX).ok()?;
            let value = String::from_utf8_lossy(&bytes).trim().to_owned();
            Some(TasksLimit { file, value })
        })
}

/// Where a process belongs: its unit, or its container. What no runtime's name tells, namespaces do.
fn place(root: &Root, proc: &ProcRoot, pid: u32, has_own_root: bool) -> Group {
    let mut found = control_group::read(&read_text(&proc.of(pid, "cgroup")).unwrap_or_default());
    if let Some(container) = &mut found.container {
        // Its runtime may show a container its control group as the host has it. In there the unit is ours.
        let is_own = |own: Container| !own.group.is_empty() && own.group == container.group;
        if root.has(Path::new(SYSTEMD))
            && kernel_owner::own_container(root, proc).is_some_and(is_own)
        {
            found.unit = container.unit.take();
        }
        if found.unit.is_some() {
            found.container = None;
        }
        return found;
    }
    let namespace = |path: PathBuf| std::fs::read_link(path).ok();
    let ours = namespace(proc.file("self/ns/pid"));
    let theirs = namespace(proc.of(pid, "ns/pid"));
    if has_own_root && ours.is_some() && theirs.is_some() && ours != theirs {
        // A unit is one of the systemd in there, not of ours.
        let mut container = Container::from_group(Runtime::Unknown, &found.last);
        if found.unit.is_some() {
            container.group.clear();
        }
        container.unit = found.unit.take();
        found.container = Some(container);
    } else if found.unit.is_none() && !root.has(Path::new(SYSTEMD)) {
        // We are in it as well, and it is no machine with a systemd.
        found.container = kernel_owner::by_mark(root, proc);
    }
    found
}

fn command_line(proc: &ProcRoot, pid: u32) -> Vec<String> {
    let bytes = kernel::read::head(&proc.of(pid, "cmdline"), BYTES_MAX).unwrap_or_default();
    if bytes.is_empty() {
        return Vec::new();
    }
    // Every argument ends with a zero, the last one as well.
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    bytes
        .split(|byte| *byte == 0)
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect()
}

/// A script's own command: `/bin/sh /usr/bin/mysqld_safe --user=mysql` without the first.
fn without_shell(mut command: Vec<String>) -> Vec<String> {
    command.retain(|argument| !argument.is_empty());
    if let Some(at) = command
        .iter()
        .take(3)
        .position(|argument| is_safe(argument))
    {
        command.drain(..at);
    }
    command
}

fn is_safe(argument: &str) -> bool {
    let name = argument.rsplit('/').next().unwrap_or_default();
    matches!(name, "mysqld_safe" | "mariadbd-safe")
}

fn safe_parent(proc: &ProcRoot, status: &str) -> Option<u32> {
    let parent: u32 = field(status, "PPid:")?.trim().parse().ok()?;
    let command = command_line(proc, parent);
    command
        .iter()
        .take(3)
        .any(|argument| is_safe(argument))
        .then_some(parent)
}

/// The server's tree of files when it has another mount namespace or root.
fn other_root(root: &Root, proc: &ProcRoot, pid: u32) -> Option<PathBuf> {
    if !root.is_real() {
        return None;
    }
    let namespace = |path: PathBuf| std::fs::read_link(path).ok();
    let theirs = namespace(proc.of(pid, "ns/mnt"))?;
    let ours = namespace(proc.file("self/ns/mnt"))?;
    let their_root = proc.of(pid, "root");
    let changed = std::fs::read_link(&their_root).is_ok_and(|link| link != Path::new("/"));
    // A unit with PrivateTmp= or ProtectSystem= has a namespace of its own over the same files.
    let same_etc = || {
        use std::os::unix::fs::MetadataExt;
        let etc = |path: PathBuf| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
        etc(their_root.join("etc")) == etc(PathBuf::from("/etc"))
    };
    (changed || (theirs != ours && !same_etc())).then_some(their_root)
}

fn ask(access: &mut Access, seen: &mut ObservedServer) -> Result<(), String> {
    seen.process = seen.process.or(access.server_login().process);
    let session = access.session()?;
    let text = |error: server::ServerError| error.to_string();
    let (rows, _) = session
        .rows("SHOW GLOBAL VARIABLES", VARIABLES_MAX)
        .map_err(text)?;
    seen.variables = rows
        .iter()
        .map(|row| (row.column(0).to_ascii_lowercase(), row.column(1).to_owned()))
        .collect();
    let variable = |name: &str| seen.variables.get(name).cloned().unwrap_or_default();
    seen.version = variable("version");
    seen.is_mariadb = seen.version.contains("MariaDB")
        || variable("version_comment")
            .to_ascii_lowercase()
            .contains("mariadb");
    let malloc = variable("version_malloc_library");
    if !malloc.is_empty() && malloc != "system" {
        seen.allocator = seen.allocator.take().or(Some(malloc));
    }
    let mut list = |question: &str| {
        session
            .rows(question, VARIABLES_MAX)
            .ok()
            .map(|(rows, _)| rows)
    };
    if seen.is_mariadb {
        let question =
            "SELECT variable_name FROM information_schema.system_variables WHERE read_only = 'YES'";
        seen.read_only = list(question)
            .unwrap_or_default()
            .iter()
            .map(|row| row.column(0).to_ascii_lowercase())
            .collect();
    } else if seen.release().is_some_and(|release| release >= [8, 0, 0]) {
        let question =
            "SELECT variable_name, variable_value FROM performance_schema.persisted_variables";
        seen.persisted = list(question).map(|rows| {
            rows.iter()
                .map(|row| (row.column(0).to_ascii_lowercase(), row.column(1).to_owned()))
                .collect()
        });
    }
    seen.utc_offset = list("SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP())")
        .and_then(|rows| rows.first().map(|row| offset(row.column(0))))
        .flatten();
    Ok(())
}

/// `02:00:00` as a time zone: `+02:00`. The two moments are of one statement, so there are no seconds.
fn offset(difference: &str) -> Option<String> {
    let (sign, digits) = match difference.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', difference),
    };
    let hours_minutes = digits.get(..5)?;
    let plain = hours_minutes.bytes().enumerate().all(|(at, b)| {
        if at == 2 {
            b == b':'
        } else {
            b.is_ascii_digit()
        }
    });
    plain.then(|| format!("{sign}{hours_minutes}"))
}

fn distribution(read: &dyn Fn(&str) -> Option<String>) -> Distribution {
    let text = read("/etc/os-release")
        .or_else(|| read("/usr/lib/os-release"))
        .unwrap_or_default();
    let value = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .map(|value| value.trim().trim_matches('"').to_owned())
            .unwrap_or_default()
    };
    Distribution {
        name: value("PRETTY_NAME"),
        family: format!("{} {}", value("ID"), value("ID_LIKE")).to_ascii_lowercase(),
    }
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name))
}

fn text_of(root: &Root, path: &str) -> Option<String> {
    let bytes = root.read(Path::new(path), BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn read_text(path: &Path) -> Option<String> {
    let bytes = kernel::read::head(path, BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_a_time_zone() {
        assert_eq!(offset("02:00:00"), Some("+02:00".to_owned()));
        assert_eq!(offset("-05:30:00"), Some("-05:30".to_owned()));
        assert_eq!(offset("00:00:00.000"), Some("+00:00".to_owned()));
        assert_eq!(offset("x"), None);
    }

    #[test]
    fn the_command_line_goes_before_files() {
        let server = ObservedServer {
            arguments: vec!["/usr/sbin/mysqld".to_owned(), "--sync-binlog=1".to_owned()],
            ..ObservedServer::default()
        };
        assert!(server.is_on_command_line("sync_binlog"));
        assert!(!server.is_on_command_line("sync_binlog_x"));
    }
}
