//! An incident as pt-stalk would have collected it: its file names, its formats, so that whoever is
//! used to such a directory, people and programs, can read it.
//!
//! What is written is what was recorded. Nothing is made up: a file of pt-stalk for which the
//! incident has nothing is not there, and a README says so; a column of which nothing is known is
//! `-` where readers bear it and `0` where they do not, and the README names those columns.
//!
//! Formats: `bin/pt-stalk` of percona-toolkit 3.2 to 3.7 (`lib/bash/collect.sh`), as its functions
//! write them on Linux.

mod host;
mod moments;
mod processors;
mod readme;
mod server;
mod stacks;

use jiff::tz::TimeZone;
use model::{Incident, Window};

use moments::{PREFIX, Scene};

/// Where nothing of a source may be older than this before the onset, to be the base of its
/// counters, in milliseconds.
const BASE_MS: u64 = 20_000;

/// A file of the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its path in the directory.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// What it is made of, and what is different from pt-stalk's, for people.
    pub note: &'static str,
}

/// A directory as pt-stalk writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// All files, the README first.
    pub files: Vec<File>,
    /// What pt-stalk writes and is not here, with the reason.
    pub missing: Vec<Missing>,
}

/// A file of pt-stalk that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Its suffix (`mutex-status1`).
    pub file: &'static str,
    /// Why.
    pub why: String,
}

/// The incident as a directory of pt-stalk's. The stall itself, from its onset to its end, is the
/// one collection at the top; the calm before it and what came after it are collections of their own
/// in `before/` and `after/`, so that whoever sums up a collection sums up the stall.
///
/// Times of day are those of `zone`, as pt-stalk's are those of its host.
pub fn pt_stalk(incident: &Incident, zone: &TimeZone) -> Directory {
    let stall = incident.stall_window();
    let before = Window {
        from: incident.window.from,
        to: stall.from,
    };
    let after = Window {
        from: stall.to,
        to: incident.window.to,
    };
    let scene = Scene {
        incident,
        zone,
        window: stall,
        base_ms: BASE_MS,
        named_at: incident.stall.trigger.clamp(stall.from, stall.to),
        logs_from: incident.window.from,
    };
    let mut files = collection(&scene, "");
    let missing = readme::missing(incident, &files);
    for (folder, window) in [("before/", before), ("after/", after)] {
        if window.to <= window.from {
            continue;
        }
        let scene = Scene {
            window,
            base_ms: 0,
            named_at: window.from,
            logs_from: window.from,
            ..scene
        };
        let part = collection(&scene, folder);
        // Its name and its output alone say nothing.
        if part.len() > ALWAYS {
            files.extend(part);
        }
    }
    let readme = readme::readme(&scene, &files, &missing);
    files.insert(
        0,
        File {
            path: "README".to_owned(),
            bytes: readme.into_bytes(),
            note: "",
        },
    );
    Directory { files, missing }
}

/// Files that every collection has: `output`, `hostname`, `trigger`.
const ALWAYS: usize = 3;

/// The files of one stretch of time, by name.
fn collection(scene: &Scene<'_>, folder: &str) -> Vec<File> {
    let parts: [(&'static str, String, &'static str); 21] = [
        (
            "output",
            server::output(scene),
            "what was exported, and when; pt-sift finds collections by it",
        ),
        (
            "trigger",
            server::trigger(scene),
            "the rules that fired, instead of a variable over its threshold",
        ),
        ("hostname", server::hostname(scene), "of the recorded host"),
        (
            "mysqladmin",
            server::mysqladmin(scene),
            "SHOW GLOBAL STATUS each second; its variables that are no numbers were not recorded",
        ),
        (
            "processlist",
            server::processlist(scene),
            "SHOW PROCESSLIST each second: the sessions that do something and have done so longest, without idle ones; statements have no literals and at most 100 characters",
        ),
        (
            "variables",
            server::variables(scene),
            "SHOW GLOBAL VARIABLES; secrets are (hidden)",
        ),
        (
            "log_error",
            server::error_log(scene),
            "new lines of the error log since the recording began, without literals",
        ),
        (
            "dmesg",
            server::kernel_log(scene),
            "lines of the kernel from warnings on, and those on memory, disks and hung tasks",
        ),
        (
            "stacktrace",
            stacks::stacktrace(scene),
            "all threads, about once a second, as gdb prints them: taken without stopping the server, no arguments and no lines of source, the kernel's functions left out",
        ),
        (
            "folded",
            stacks::folded(scene),
            "not of pt-stalk: samples of all processors as folded stacks (FlameGraph, speedscope)",
        ),
        (
            "vmstat",
            processors::vmstat(scene),
            "made of /proc/stat, /proc/meminfo and /proc/diskstats; swpd is SwapTotal less SwapFree, bi and bo are those of whole disks, in was not recorded and is -",
        ),
        (
            "vmstat-overall",
            processors::vmstat_overall(scene),
            "likewise",
        ),
        (
            "procstat",
            processors::procstat(scene),
            "/proc/stat; without guest time, interrupts and soft interrupts by kind",
        ),
        (
            "procvmstat",
            host::procvmstat(scene),
            "/proc/vmstat: compaction, huge pages, reclaim, swap and faults",
        ),
        ("meminfo", host::meminfo(scene), "/proc/meminfo"),
        (
            "diskstats",
            host::diskstats(scene),
            "/proc/diskstats of whole disks; device numbers, merged requests and weighted time were not recorded and are 0; flushes are left out, for pt-diskstats",
        ),
        (
            "netstat_s",
            host::netstat(scene),
            "two lines of netstat -s: connections that found the accept queue full",
        ),
        (
            "sysctl",
            host::sysctl(scene),
            "the kernel settings that matter to stalls",
        ),
        (
            "innodbstatus1",
            server::innodb_status(scene, 1),
            "SHOW ENGINE INNODB STATUS, the first; literals and row values are ?",
        ),
        ("innodbstatus2", server::innodb_status(scene, 2), "the last"),
        (
            "facts",
            host::facts(scene),
            "not of pt-stalk: what else was known of server and host (huge pages, allocator, limits)",
        ),
    ];
    let prefix = scene.prefix();
    let mut files: Vec<File> = parts
        .into_iter()
        .filter(|(_, body, _)| !body.is_empty())
        .map(|(suffix, body, note)| File {
            path: format!("{folder}{prefix}-{suffix}"),
            bytes: body.into_bytes(),
            note,
        })
        .collect();
    for (number, body) in server::more_innodb_statuses(scene) {
        files.push(File {
            path: format!("{folder}{prefix}-innodbstatus{number}"),
            bytes: body.into_bytes(),
            note: "not of pt-stalk: those between the first and the last",
        });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// Begin of a file's name: `2026_11_20_23_30_15`.
fn prefix_format() -> &'static str {
    PREFIX
}
