//! What a check looks at once, beside the sources: limits of the server's process, NUMA nodes,
//! settings of the kernel, and the room in the server's directories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use kernel::procfs::{limits, mountinfo};
use kernel::roots::{ProcRoot, SysRoot};
use kernel::{places, read};
use model::{Absent, Reason};

/// Longest file that is read here, in bytes.
const BYTES_MAX: usize = 64 * 1024;

/// Open files that are counted; a server with more is counted as having these.
const OPEN_FILES_MAX: usize = 1_000_000;

/// How long a file system may take to tell its room.
const PATIENCE: Duration = Duration::from_secs(2);

/// Settings of the kernel that no source reads.
const SETTINGS: [&str; 4] = [
    "vm/dirty_bytes",
    "vm/dirty_background_bytes",
    "net/ipv4/tcp_max_syn_backlog",
    "kernel/core_pattern",
];

/// What was found, and what could not be.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) facts: BTreeMap<String, String>,
    pub(crate) absent: Vec<Absent>,
}

/// Looks once. `known` are the facts that the sources brought, the server's variables among them.
pub(crate) fn look(pid: Option<u32>, known: &BTreeMap<String, String>) -> Surroundings {
    let (proc, sys) = (ProcRoot::default(), SysRoot::default());
    let mut out = Surroundings::default();
    for name in SETTINGS {
        if let Some(text) = text(&proc.file(&format!("sys/{name}"))) {
            let name = format!("sysctl.{}", name.replace('/', "."));
            out.facts.insert(name, without_options(&text).to_owned());
        }
    }
    if let Some(text) = text(&sys.file("devices/system/node/online")) {
        out.facts.insert("host.numa_nodes".to_owned(), text);
    } else {
        // A kernel without NUMA has no such directory, and one node.
        out.facts
            .insert("host.numa_nodes".to_owned(), "0".to_owned());
    }
    if let Some(uptime) = text(&proc.file("uptime"))
        && let Some(seconds) = uptime.split_whitespace().next()
    {
        out.facts
            .insert("host.uptime_seconds".to_owned(), seconds.to_owned());
    }
    let Some(pid) = pid else {
        let why = "the server's process is unknown";
        let absent = |what| Absent::new(what, Reason::Unsupported, why);
        out.absent.extend([absent("limits"), absent("places")]);
        return out;
    };
    process(&proc, pid, &mut out);
    rooms(&proc, pid, known, &mut out);
    out
}

/// A program that takes cores without what it is given: that may be a key.
fn without_options(text: &str) -> &str {
    match text.starts_with('|') {
        true => text.split_whitespace().next().unwrap_or(text),
        false => text,
    }
}

fn text(path: &Path) -> Option<String> {
    let bytes = read::whole(path, BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn process(proc: &ProcRoot, pid: u32, out: &mut Surroundings) {
    match limits::read(&proc.of(pid, "limits")) {
        Ok(bytes) => {
            for (name, fact) in [
                ("Max open files", "limits.open_files"),
                ("Max core file size", "limits.core_bytes"),
            ] {
                if let Some(value) = limits::soft(&bytes, name) {
                    out.facts.insert(fact.to_owned(), value.to_owned());
                }
            }
        }
        Err(error) => out.absent.push(crate::sources::absent("limits", &error)),
    }
    if let Some(status) = text(&proc.of(pid, "status"))
        && let Some(nodes) = status
            .lines()
            .find_map(|line| line.strip_prefix("Mems_allowed_list:"))
    {
        out.facts
            .insert("process.mems_allowed".to_owned(), nodes.trim().to_owned());
    }
    match std::fs::read_dir(proc.of(pid, "fd")) {
        Ok(files) => {
            let count = files.take(OPEN_FILES_MAX).count();
            out.facts
                .insert("process.open_files".to_owned(), count.to_string());
        }
        Err(error) => out.absent.push(Absent::new(
            "process",
            Reason::Permission,
            format!("/proc/{pid}/fd: {error}"),
        )),
    }
}

/// The server's directories, as it sees them.
fn directories(known: &BTreeMap<String, String>) -> Vec<(&'static str, PathBuf)> {
    let variable = |name: &str| {
        known
            .get(&format!("variables.{name}"))
            .filter(|value| !value.is_empty())
    };
    let Some(data) = variable("datadir").map(PathBuf::from) else {
        return Vec::new();
    };
    let mut found = vec![("datadir", data.clone())];
    // Several, with colons between them, are used in turn.
    if let Some(path) = variable("tmpdir").and_then(|list| list.split(':').next()) {
        found.push(("tmpdir", data.join(path)));
    }
    if let Some(path) = variable("innodb_log_group_home_dir") {
        found.push(("innodb_log", data.join(path)));
    }
    if let Some(path) = variable("log_bin_basename")
        && let Some(parent) = data.join(path).parent()
    {
        found.push(("log_bin", parent.to_owned()));
    }
    found
}

/// Options of a mount without the values that name something: `username=` of a share, `addr=` of its server, the folders
/// of an overlay. Words of the kernel's have small letters, digits, `-`, `.` and `:` only.
fn told(options: &str) -> String {
    const WORDS: [&str; 12] = [
        "cache",
        "commit",
        "compress",
        "data",
        "errors",
        "lookupcache",
        "mode",
        "proto",
        "sec",
        "size",
        "vers",
        "barrier",
    ];
    let is_told = |option: &&str| {
        option.split_once('=').is_none_or(|(key, value)| {
            (value.bytes().all(|byte| byte.is_ascii_digit()) && !model::names_a_secret(key))
                || (WORDS.contains(&key)
                    && value.bytes().all(|byte| {
                        byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.:".contains(&byte)
                    }))
        })
    };
    let told: Vec<&str> = options.split(',').filter(is_told).collect();
    told.join(",")
}

fn rooms(proc: &ProcRoot, pid: u32, known: &BTreeMap<String, String>, out: &mut Surroundings) {
    let wanted = directories(known);
    if wanted.is_empty() {
        let detail = "the server's variables are unknown";
        out.absent
            .push(Absent::new("places", Reason::NoConnection, detail));
        return;
    }
    let root = proc.of(pid, "root");
    let mounts = proc.of(pid, "mountinfo");
    let (sender, answers) = channel();
    // A file system that does not answer must not hold the check.
    let spawned = kernel::own_threads::start("ff-places", move || {
        let mounts = mountinfo::read(&mounts).unwrap_or_default();
        for (name, path) in wanted {
            let below = path.strip_prefix("/").unwrap_or(&path);
            let room = places::room(&root.join(below));
            let real = std::fs::canonicalize(root.join(below));
            let inside = real
                .ok()
                .and_then(|real| Some(Path::new("/").join(real.strip_prefix(&root).ok()?)))
                .unwrap_or_else(|| path.clone());
            let mount = mountinfo::of_path(&mounts, &inside);
            if sender.send((name, path, room, mount)).is_err() {
                return;
            }
        }
    });
    if spawned.is_err() {
        return;
    }
    loop {
        match answers.recv_timeout(PATIENCE) {
            Ok((name, path, room, mount)) => {
                let mut put = |part: &str, value: String| {
                    out.facts.insert(format!("place.{name}.{part}"), value);
                };
                put("path", path.display().to_string());
                if let Some(mount) = mount {
                    put("file_system", mount.file_system);
                    put("mount_options", told(&mount.options));
                }
                match room {
                    Ok(room) => {
                        put("bytes", room.bytes.to_string());
                        put("free_bytes", room.free_bytes.to_string());
                        put("inodes", room.inodes.to_string());
                        put("free_inodes", room.free_inodes.to_string());
                    }
                    Err(error) => out.absent.push(Absent::new(
                        "places",
                        Reason::Permission,
                        format!("{}: {error}", path.display()),
                    )),
                }
            }
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                let detail = "the file system does not answer";
                out.absent
                    .push(Absent::new("places", Reason::Deadline, detail));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_process_is_looked_at() {
        let known = BTreeMap::from([
            ("variables.datadir".to_owned(), "/".to_owned()),
            ("variables.tmpdir".to_owned(), "tmp:/other".to_owned()),
            (
                "variables.log_bin_basename".to_owned(),
                "/var/log/binlog".to_owned(),
            ),
        ]);
        let found = look(Some(std::process::id()), &known);
        assert_eq!(found.facts["place.tmpdir.path"], "/tmp");
        assert_eq!(found.facts["place.log_bin.path"], "/var/log");
        assert!(found.facts["place.datadir.bytes"].parse::<u64>().unwrap() > 0);
        assert!(!found.facts["place.datadir.file_system"].is_empty());
        assert!(found.facts["process.open_files"].parse::<u64>().unwrap() > 2);
        assert!(found.facts.contains_key("limits.open_files"));
        assert!(found.facts.contains_key("host.numa_nodes"));
    }

    #[test]
    fn what_a_program_for_cores_is_given_is_nobodys_to_read() {
        for (text, shown) in [
            (
                "|/usr/bin/store-core --key hunter2 %p",
                "|/usr/bin/store-core",
            ),
            ("|/usr/bin/store-core", "|/usr/bin/store-core"),
            ("core.%e", "core.%e"),
            ("4096\t16384\t4194304", "4096\t16384\t4194304"),
            ("", ""),
        ] {
            assert_eq!(without_options(text), shown);
        }
    }

    #[test]
    fn options_of_a_mount_name_nobody() {
        for (options, shown) in [
            (
                "rw,relatime,rw,errors=remount-ro,data=ordered,commit=30",
                "rw,relatime,rw,errors=remount-ro,data=ordered,commit=30",
            ),
            (
                "rw,vers=3.1.1,cache=strict,username=alice,domain=ACME,addr=10.1.2.3,rsize=4194304,discard",
                "rw,vers=3.1.1,cache=strict,rsize=4194304,discard",
            ),
            (
                "rw,lowerdir=/srv/acme/l:/x,upperdir=/srv/acme/u,xino=off",
                "rw",
            ),
            ("rw,mode=hunter_2,subvol=/acme,secret=x,password=4711", "rw"),
        ] {
            assert_eq!(told(options), shown);
        }
    }

    #[test]
    fn what_is_not_known_is_absent() {
        let found = look(None, &BTreeMap::new());
        let absent: Vec<&str> = found.absent.iter().map(|a| a.what.as_str()).collect();
        assert_eq!(absent, ["limits", "places"]);
        let found = look(Some(std::process::id()), &BTreeMap::new());
        assert!(found.absent.iter().any(|a| a.what == "places"));
    }
}
