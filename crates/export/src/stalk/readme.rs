//! What is in the directory, what is not, and why.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use model::Incident;

use super::ticks::Scene;
use super::{File, Missing};

/// Never recorded: pt-stalk's suffixes, with the reason.
const NEVER: [(&str, &str); 23] = [
    ("disk-space", "free room on disks is not recorded"),
    ("interrupts", "not recorded"),
    ("iostat", "not recorded as such: diskstats has its numbers"),
    (
        "iostat-overall",
        "not recorded as such: diskstats has its numbers",
    ),
    (
        "lock-waits",
        "the lock tables are never queried while recording: in a stall that can block the server. innodbstatus has the waiting transactions",
    ),
    ("lsof", "not recorded"),
    ("mpstat", "not recorded as such: procstat has its numbers"),
    (
        "mpstat-overall",
        "not recorded as such: procstat has its numbers",
    ),
    (
        "mutex-status1",
        "SHOW ENGINE INNODB MUTEX is not asked in a stall",
    ),
    (
        "mutex-status2",
        "SHOW ENGINE INNODB MUTEX is not asked in a stall",
    ),
    ("netstat", "connections are counted, not listed"),
    ("numastat", "not recorded"),
    ("opentables1", "SHOW OPEN TABLES is not asked in a stall"),
    ("opentables2", "SHOW OPEN TABLES is not asked in a stall"),
    ("opreport", "the incident has no CPU samples"),
    ("pmap", "not recorded: reading it blocks the server"),
    ("prepared-statements", "not recorded"),
    ("ps", "other processes are not listed"),
    (
        "ps-locks-transactions",
        "performance_schema's locks are never queried in a stall",
    ),
    ("slabinfo", "not recorded"),
    (
        "slave-status",
        "recorded are only how far it is behind and whether it runs",
    ),
    (
        "top",
        "not recorded as such: folded tells who used the processors",
    ),
    (
        "transactions",
        "the lock tables are never queried: in a stall that can block the server. innodbstatus has the transactions",
    ),
];

/// Recorded where it can be: pt-stalk's suffixes, what of the incident they are made of, and the words
/// by which an absence names it.
const USUAL: [(&str, &str, &[&str]); 16] = [
    ("df", "how full file systems are", &["filesystem"]),
    (
        "dmesg",
        "lines of the kernel's log in this time",
        &["kernel log", "kernel-log"],
    ),
    (
        "diskstats",
        "disks",
        &["disk", "processors, memory and disks"],
    ),
    ("hostname", "the host's name", &[]),
    (
        "innodbstatus1",
        "SHOW ENGINE INNODB STATUS in the stall",
        &["innodb", "InnoDB status"],
    ),
    (
        "innodbstatus2",
        "a second SHOW ENGINE INNODB STATUS in the stall",
        &["innodb", "InnoDB status"],
    ),
    (
        "log_error",
        "lines of the error log in this time",
        &["error log", "error-log"],
    ),
    (
        "meminfo",
        "/proc/meminfo",
        &["meminfo", "processors, memory and disks"],
    ),
    (
        "mysqladmin",
        "SHOW GLOBAL STATUS",
        &["status", "server status"],
    ),
    (
        "processlist",
        "sessions that did something",
        &["processlist"],
    ),
    (
        "procstat",
        "/proc/stat",
        &["stat", "processors, memory and disks"],
    ),
    (
        "procvmstat",
        "/proc/vmstat",
        &["vmstat", "processors, memory and disks"],
    ),
    (
        "stacktrace",
        "stacks of all threads in the stall",
        &["stacks", "stacks of all threads"],
    ),
    ("sysctl", "kernel settings", &["host"]),
    (
        "variables",
        "SHOW GLOBAL VARIABLES",
        &["variables", "server variables"],
    ),
    (
        "vmstat",
        "processors and memory",
        &["stat", "processors, memory and disks"],
    ),
];

/// Files of pt-stalk that are not in the collection.
pub(super) fn missing(incident: &Incident, files: &[File]) -> Vec<Missing> {
    let there: BTreeSet<&str> = files
        .iter()
        .filter_map(|file| file.path.split_once('-'))
        .map(|(_, suffix)| suffix)
        .collect();
    let usual =
        USUAL
            .iter()
            .filter(|(file, ..)| !there.contains(file))
            .map(|(file, what, words)| {
                let absent = incident
                    .absent
                    .iter()
                    .map(|timed| &timed.absent)
                    .find(|absent| words.iter().any(|word| absent.what.starts_with(word)));
                let why = match absent {
                    Some(absent) => format!(
                        "{}: {} ({})",
                        absent.what,
                        absent.reason.to_text(),
                        absent.detail.replace(char::is_control, " ")
                    ),
                    None => format!("the incident has none: {what}"),
                };
                Missing { file, why }
            });
    let never = NEVER
        .iter()
        .filter(|(file, _)| !there.contains(file))
        .map(|(file, why)| Missing {
            file,
            why: (*why).to_owned(),
        });
    usual.chain(never).collect()
}

pub(super) fn readme(scene: &Scene<'_>, files: &[File], missing: &[Missing]) -> String {
    let mut out = format!(
        "This directory was written by freezeframe {}, from an incident that it recorded, with the file\n\
         names and formats of pt-stalk. pt-sift, pt-mext, pt-pmp, pt-diskstats and pt-align read it.\n\n\
         The files at the top are of the stall itself, from {} to {} (local time {}).\n\
         before/ has the calm before it, after/ what followed, where the incident has them; 'freezeframe\n\
         explain' of this directory compares the stall with before/.\n\
         Sampling was about once a second; nothing was stopped for it, and no gdb was attached.\n\n",
        env!("CARGO_PKG_VERSION"),
        scene.local(scene.window.from, "%F %T"),
        scene.local(scene.window.to, "%T"),
        scene.local(scene.window.from, "%:z"),
    );
    out.push_str("What is in it:\n\n");
    for file in files.iter().filter(|file| !file.path.contains('/')) {
        let (_, suffix) = file.path.split_once('-').unwrap_or_default();
        paragraph(&mut out, suffix, file.note);
    }
    out.push_str("\nWhat pt-stalk writes and is not here, and why:\n\n");
    for one in missing {
        paragraph(&mut out, one.file, &one.why);
    }
    let absent: Vec<_> = scene
        .incident
        .absent
        .iter()
        .map(|timed| &timed.absent)
        .collect();
    if !absent.is_empty() {
        out.push_str("\nWhat could not be recorded:\n\n");
        for absent in absent {
            let why = format!(
                "{} ({})",
                absent.reason.to_text(),
                absent.detail.replace(char::is_control, " ")
            );
            paragraph(&mut out, &absent.what.replace(char::is_control, " "), &why);
        }
    }
    out
}

/// Columns of a line.
const WIDTH: usize = 100;
/// Columns of the names in front.
const NAME: usize = 24;

fn paragraph(out: &mut String, name: &str, text: &str) {
    let mut line = format!("  {name:<NAME$}");
    let mut words = 0;
    for word in text.split_whitespace() {
        if words > 0 && line.chars().count() + word.chars().count() + 1 > WIDTH {
            let _ = writeln!(out, "{}", line.trim_end());
            line = " ".repeat(NAME + 2);
            words = 0;
        }
        line.push(' ');
        line.push_str(word);
        words += 1;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}
