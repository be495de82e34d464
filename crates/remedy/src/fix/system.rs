//! What a fix meets here: the host, and the server with its unit, its option files and its variables. Only looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use kernel::roots::ProcRoot;
use kernel::servers::ServerProcess;
use model::{Release, release};

use super::kernel_setting::{KernelSetting, in_force};
use super::option_files::{self, OptionFiles};
use super::root::Root;
use super::variable::Access;
use crate::ProcessId;

const BYTES_MAX: usize = 256 << 10;
const VARIABLES_MAX: usize = 20_000;
const MAPS_BYTES_MAX: usize = 4 << 20;

/// Reading a process's map waits for its mmap_lock, which a stalled server may hold for long.
const MAPS_PATIENCE: Duration = Duration::from_secs(1);

/// The host, and the server if there is one.
#[derive(Debug, Clone)]
pub struct System {
    /// The tree of files.
    pub root: Root,
    /// The distribution.
    pub distribution: Distribution,
    /// systemd is the first process.
    pub systemd: bool,
    /// Processors.
    pub cpus: u64,
    /// The active profile of tuned(8), which sets some of the same things.
    pub tuned: Option<String>,
    /// The server.
    pub server: Option<SeenServer>,
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
pub struct SeenServer {
    /// Its process.
    pub process: Option<ProcessId>,
    /// Its executable.
    pub program: Option<PathBuf>,
    /// The systemd unit that it runs in.
    pub unit: Option<String>,
    /// The process id of the mysqld_safe that started it.
    pub safe: Option<u32>,
    /// The container that it runs in, by the name of its control group.
    pub container: Option<String>,
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
    /// Libraries that are preloaded already, as its environment names them.
    pub preloaded: Option<String>,
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

impl SeenServer {
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
        let read = |path: &str| read_text(&root.here(Path::new(path)));
        let mut server = process.map(|process| seen_process(root, process));
        if let Some(access) = access {
            let seen = server.get_or_insert_default();
            if let Err(why) = ask(access, seen) {
                seen.no_login = Some(why);
            }
        }
        Self {
            root: root.clone(),
            distribution: distribution(
                &read("/etc/os-release")
                    .or_else(|| read("/usr/lib/os-release"))
                    .unwrap_or_default(),
            ),
            systemd: root.here(Path::new("/run/systemd/system")).is_dir(),
            cpus: std::thread::available_parallelism()
                .map_or(1, |cpus| u64::try_from(cpus.get()).unwrap_or(1)),
            tuned: read("/etc/tuned/active_profile")
                .map(|text| text.trim().to_owned())
                .filter(|profile| !profile.is_empty()),
            server,
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
        self.root.here(path).exists()
    }
}

fn seen_process(root: &Root, process: &ServerProcess) -> SeenServer {
    let proc = root.proc();
    let pid = process.pid;
    let (unit, container) = control_group(&read_text(&proc.of(pid, "cgroup")).unwrap_or_default());
    let arguments: Vec<String> = kernel::read::head(&proc.of(pid, "cmdline"), BYTES_MAX)
        .unwrap_or_default()
        .split(|byte| *byte == 0)
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect();
    let other_root = other_root(root, &proc, pid);
    let own_tree = other_root.clone();
    let read = move |path: &Path, limit: usize| {
        let here = match &own_tree {
            Some(tree) => tree.join(path.strip_prefix("/").unwrap_or(path)),
            None => root.here(path),
        };
        kernel::read::head(&here, limit)
            .ok()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let OptionFiles {
        files,
        directories,
        none,
    } = option_files::find(&arguments, &read);
    let status = read_text(&proc.of(pid, "status")).unwrap_or_default();
    SeenServer {
        process: Some(ProcessId {
            pid,
            start_time_ticks: process.start_time_ticks,
        }),
        program: process.exe.clone(),
        unit,
        safe: safe_parent(&proc, &status),
        container,
        other_root,
        option_files: files,
        include_directories: directories,
        no_defaults: none,
        arguments,
        allocator: mapped_allocator(&proc.of(pid, "maps")),
        preloaded: kernel::read::head(&proc.of(pid, "environ"), BYTES_MAX)
            .unwrap_or_default()
            .split(|byte| *byte == 0)
            .find_map(|line| line.strip_prefix(b"LD_PRELOAD="))
            .map(|value| String::from_utf8_lossy(value).into_owned())
            .filter(|value| !value.is_empty()),
        resident_kib: field(&status, "VmRSS:")
            .and_then(|value| value.split_whitespace().next()?.parse().ok()),
        ..SeenServer::default()
    }
}

/// The unit and the container of a process, by /proc/PID/cgroup (cgroups(7)): the last part of the path that ends in
/// `.service` or is made by a container runtime.
fn control_group(text: &str) -> (Option<String>, Option<String>) {
    let path = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (number, controllers) = (fields.next()?, fields.next()?);
            let path = fields.next()?;
            (number == "0" || controllers == "name=systemd").then_some(path)
        })
        .max_by_key(|path| path.len())
        .unwrap_or_default();
    let mut unit = None;
    let mut container = None;
    let runtimes = [
        "docker",
        "libpod",
        "kubepods",
        "cri-",
        "crio-",
        "lxc",
        "machine-",
        "containerd",
    ];
    for part in path.split('/') {
        if runtimes.iter().any(|runtime| part.starts_with(runtime)) {
            container = Some(part.to_owned());
            unit = None;
        } else if part.ends_with(".service") && is_unit_name(part) {
            unit = Some(part.to_owned());
        }
    }
    // The user manager is a unit of the system; a server below it is none of ours.
    let unit = unit.filter(|unit| !unit.starts_with("user@") && container.is_none());
    (unit, container)
}

/// A name that may become part of a path (systemd.unit(5)).
fn is_unit_name(name: &str) -> bool {
    name.len() < 256
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b":-_.\\@".contains(&b))
}

fn safe_parent(proc: &ProcRoot, status: &str) -> Option<u32> {
    let parent: u32 = field(status, "PPid:")?.trim().parse().ok()?;
    let cmdline = kernel::read::head(&proc.of(parent, "cmdline"), BYTES_MAX).ok()?;
    let is_safe = cmdline.split(|byte| *byte == 0).take(3).any(|argument| {
        let argument = String::from_utf8_lossy(argument);
        let name = argument.rsplit('/').next().unwrap_or_default();
        matches!(name, "mysqld_safe" | "mariadbd-safe")
    });
    is_safe.then_some(parent)
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

/// The file name of an allocator that is mapped.
fn mapped_allocator(maps: &Path) -> Option<String> {
    let maps = maps.to_owned();
    let (sender, answer) = channel();
    std::thread::Builder::new()
        .name("ff-maps".to_owned())
        .spawn(move || {
            let _ = sender.send(kernel::read::head(&maps, MAPS_BYTES_MAX).unwrap_or_default());
        })
        .ok()?;
    let text = answer.recv_timeout(MAPS_PATIENCE).ok()?;
    let text = String::from_utf8_lossy(&text);
    let name = text
        .lines()
        .filter_map(|line| line.rsplit('/').next())
        .find(|name| {
            ["libjemalloc", "libtcmalloc", "libmimalloc"]
                .iter()
                .any(|allocator| name.starts_with(allocator))
        })?;
    Some(name.to_owned())
}

fn ask(access: &mut Access, seen: &mut SeenServer) -> Result<(), String> {
    seen.process = seen.process.or(access.way().process);
    let session = access.session()?;
    let text = |error: server::ServerError| error.to_string();
    let (rows, _) = session
        .rows("SHOW GLOBAL VARIABLES", VARIABLES_MAX)
        .map_err(text)?;
    seen.variables = rows
        .iter()
        .map(|row| (row.at(0).to_ascii_lowercase(), row.at(1).to_owned()))
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
            .map(|row| row.at(0).to_ascii_lowercase())
            .collect();
    } else if seen.release().is_some_and(|release| release >= [8, 0, 0]) {
        let question =
            "SELECT variable_name, variable_value FROM performance_schema.persisted_variables";
        seen.persisted = list(question).map(|rows| {
            rows.iter()
                .map(|row| (row.at(0).to_ascii_lowercase(), row.at(1).to_owned()))
                .collect()
        });
    }
    seen.utc_offset = list("SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP())")
        .and_then(|rows| rows.first().map(|row| offset(row.at(0))))
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

fn distribution(text: &str) -> Distribution {
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

fn read_text(path: &Path) -> Option<String> {
    let bytes = kernel::read::head(path, BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_containers_are_told_by_the_control_group() {
        let of = |text: &str| control_group(text);
        let unit = |name: &str| (Some(name.to_owned()), None);
        assert_eq!(
            of("0::/system.slice/mariadb.service\n"),
            unit("mariadb.service")
        );
        assert_eq!(
            of("0::/system.slice/system-mysql.slice/mysql@a.service\n"),
            unit("mysql@a.service")
        );
        assert_eq!(
            of("12:pids:/x\n1:name=systemd:/system.slice/mysqld.service\n0::/\n"),
            unit("mysqld.service")
        );
        assert_eq!(
            of("0::/system.slice/docker-0123.scope\n"),
            (None, Some("docker-0123.scope".to_owned()))
        );
        assert_eq!(
            of("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-1.scope\n").1,
            Some("cri-containerd-1.scope".to_owned())
        );
        assert_eq!(
            of("0::/user.slice/user-0.slice/session-1.scope\n"),
            (None, None)
        );
        assert_eq!(of("0::/user.slice/user@0.service\n"), (None, None));
        assert_eq!(of("0::/a/b c.service\n"), (None, None));
        assert_eq!(of(""), (None, None));
    }

    #[test]
    fn a_difference_is_a_time_zone() {
        assert_eq!(offset("02:00:00"), Some("+02:00".to_owned()));
        assert_eq!(offset("-05:30:00"), Some("-05:30".to_owned()));
        assert_eq!(offset("00:00:00.000"), Some("+00:00".to_owned()));
        assert_eq!(offset("x"), None);
    }

    #[test]
    fn the_command_line_goes_before_files() {
        let server = SeenServer {
            arguments: vec!["/usr/sbin/mysqld".to_owned(), "--sync-binlog=1".to_owned()],
            ..SeenServer::default()
        };
        assert!(server.is_on_command_line("sync_binlog"));
        assert!(!server.is_on_command_line("sync_binlog_x"));
    }
}
