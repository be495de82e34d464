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
mod processors;
mod readme;
mod server;
mod stacks;
mod ticks;

use jiff::tz::TimeZone;
use model::{Incident, OrderBy, Window};

use ticks::{PREFIX, Scene};

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

/// What each file is made of, and what is different from pt-stalk's, for people.
const NOTES: [(&str, &str); 25] = [
    (
        "output",
        "what was exported, and when; pt-sift finds collections by it",
    ),
    (
        "trigger",
        "the rules that fired, instead of a variable over its threshold",
    ),
    ("hostname", "of the recorded host"),
    (
        "mysqladmin",
        "SHOW GLOBAL STATUS each second; its variables that are no numbers were not recorded",
    ),
    (
        "processlist",
        "SHOW PROCESSLIST each second: the sessions that do something and have done so longest, without idle ones; statements have no literals and at most 100 characters",
    ),
    ("variables", "SHOW GLOBAL VARIABLES; secrets are (hidden)"),
    (
        "lock-waits",
        "who blocks how many, where the server was asked by another tool; idle_in_trx was not kept and is 0",
    ),
    (
        "log_error",
        "new lines of the error log since the recording began, without literals",
    ),
    (
        "dmesg",
        "lines of the kernel from warnings on, and those on memory, disks and hung tasks",
    ),
    (
        "stacktrace",
        "all threads, about once a second, as gdb prints them: taken without stopping the server, no arguments and no lines of source, the kernel's functions left out",
    ),
    (
        "folded",
        "not of pt-stalk: samples of all processors as folded stacks (FlameGraph, speedscope)",
    ),
    (
        "opreport",
        "the samples of folded by the function that ran, in opreport's form, for pt-sift",
    ),
    (
        "perf-report",
        "not of pt-stalk: functions with all that they called, where the capture told that and no stacks; their own samples are in folded",
    ),
    (
        "vmstat",
        "made of /proc/stat, /proc/meminfo and /proc/diskstats; swpd is SwapTotal less SwapFree, bi and bo are those of whole disks, in was not recorded and is -",
    ),
    ("vmstat-overall", "likewise"),
    (
        "procstat",
        "/proc/stat; without guest time, interrupts and soft interrupts by kind",
    ),
    (
        "procvmstat",
        "/proc/vmstat: compaction, huge pages, reclaim, swap and faults",
    ),
    ("meminfo", "/proc/meminfo"),
    (
        "df",
        "how full each file system was; sizes were not recorded and are -",
    ),
    (
        "diskstats",
        "/proc/diskstats of whole disks; device numbers, merged requests and weighted time were not recorded and are 0; flushes are left out, for pt-diskstats",
    ),
    (
        "netstat_s",
        "two lines of netstat -s: connections that found the accept queue full",
    ),
    ("sysctl", "the kernel settings that matter to stalls"),
    (
        "innodbstatus1",
        "SHOW ENGINE INNODB STATUS, the first; literals and row values are ?",
    ),
    ("innodbstatus2", "the last"),
    (
        "facts",
        "not of pt-stalk: what else was known of server and host (huge pages, allocator, limits)",
    ),
];

fn note(suffix: &str) -> &'static str {
    let found = NOTES.iter().find(|(known, _)| *known == suffix);
    found.map_or("", |(_, note)| note)
}

/// The files of one stretch of time, by name.
fn collection(scene: &Scene<'_>, folder: &str) -> Vec<File> {
    let parts: [(&'static str, String); 25] = [
        ("output", server::output(scene)),
        ("trigger", server::trigger(scene)),
        ("hostname", server::hostname(scene)),
        ("mysqladmin", server::mysqladmin(scene)),
        ("processlist", server::processlist(scene)),
        ("variables", server::variables(scene)),
        ("lock-waits", server::lock_waits(scene)),
        ("log_error", server::error_log(scene)),
        ("dmesg", server::kernel_log(scene)),
        ("stacktrace", stacks::stacktrace(scene)),
        ("folded", stacks::folded(scene)),
        ("opreport", stacks::opreport(scene)),
        ("perf-report", stacks::perf_report(scene)),
        ("vmstat", processors::vmstat(scene)),
        ("vmstat-overall", processors::vmstat_overall(scene)),
        ("procstat", processors::procstat(scene)),
        ("procvmstat", host::procvmstat(scene)),
        ("meminfo", host::meminfo(scene)),
        ("df", host::df(scene)),
        ("diskstats", host::diskstats(scene)),
        ("netstat_s", host::netstat(scene)),
        ("sysctl", host::sysctl(scene)),
        ("innodbstatus1", server::innodb_status(scene, 1)),
        ("innodbstatus2", server::innodb_status(scene, 2)),
        ("facts", host::facts(scene)),
    ];
    let prefix = scene.prefix();
    let mut files: Vec<File> = parts
        .into_iter()
        .filter(|(_, body)| !body.is_empty())
        .map(|(suffix, body)| File {
            path: format!("{folder}{prefix}-{suffix}"),
            bytes: body.into_bytes(),
            note: note(suffix),
        })
        .collect();
    for (number, body) in server::more_innodb_statuses(scene) {
        files.push(File {
            path: format!("{folder}{prefix}-innodbstatus{number}"),
            bytes: body.into_bytes(),
            note: "not of pt-stalk: those between the first and the last",
        });
    }
    files.order_by(|a, b| a.path.cmp(&b.path));
    files
}

/// All words that a directory has of itself, whatever incident it is made of.
pub(crate) fn own_words() -> String {
    let incident = Incident::default();
    let mut out = String::from(OWN);
    for file in pt_stalk(&incident, &TimeZone::UTC).files {
        out.push_str(&String::from_utf8_lossy(&file.bytes));
    }
    for (suffix, note) in NOTES {
        out.push_str(suffix);
        out.push(' ');
        out.push_str(note);
        out.push(' ');
    }
    for reason in model::Reason::ALL {
        out.push_str(reason.to_text());
        out.push(' ');
    }
    out
}

/// Words of the formats themselves.
const OWN: &str = "procs memory swap io system cpu r b swpd free buff cache si so bi bo in cs us sy id wa st \
    Variable_name Value SHOW GLOBAL VARIABLES row Id User Host db Command Time State Info NULL Type Name Status InnoDB \
    TcpExt times the listen queue of a socket overflowed SYNs to LISTEN sockets dropped Thread LWP in from TS samples image name symbol vmlinux symbols \
    Check results matched yes onset trigger end not seen Exported Collected incident kB ctxt processes unknown mysqld \
    mariadbd Filesystem 1K-blocks Used Available Use% Mounted on before after README What could not be recorded ";

/// Begin of a file's name: `2026_11_20_23_30_15`.
fn prefix_format() -> &'static str {
    PREFIX
}
