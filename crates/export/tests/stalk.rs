//! The directory as pt-stalk writes it. What percona-toolkit makes of it is tested with the command.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::common::{Planted, incident};
use export::stalk::{Directory, pt_stalk};
use jiff::tz::{TimeZone, offset};

fn planted() -> Planted {
    let word = |text: &str| text.to_owned();
    Planted {
        user: word("app"),
        host: word("web1"),
        address: word("10.0.0.7"),
        schema: word("shop"),
        table: word("orders"),
        column: word("id"),
        literal: word("x"),
        folder: word("mysql"),
        program: word("java"),
        logged: (word("old"), word("t")),
    }
}

fn file(directory: &Directory, path: &str) -> String {
    let file = directory.files.iter().find(|file| file.path == path);
    let file = file.unwrap_or_else(|| {
        let paths: Vec<&str> = directory
            .files
            .iter()
            .map(|file| file.path.as_str())
            .collect();
        panic!("{path} is not among {paths:?}")
    });
    String::from_utf8(file.bytes.clone()).unwrap()
}

/// The moment of the trigger, 1795217012 since 1970, in a zone of its own.
const PREFIX: &str = "2026_11_21_07_23_32";

fn directory() -> Directory {
    let zone = TimeZone::fixed(offset(8));
    pt_stalk(&incident(&planted()), &zone)
}

#[test]
fn the_stall_is_one_collection_and_the_calm_another() {
    let directory = directory();
    let status = file(&directory, &format!("{PREFIX}-mysqladmin"));
    // One reading before the onset is the base of what counters grow by: seconds 9 to 20.
    assert_eq!(status.matches("| Questions ").count(), 12);
    assert!(
        status.starts_with("+---------------+-------+\n| Variable_name | Value |\n+---"),
        "{status}"
    );
    assert!(status.contains("\n| Questions     | 9     |\n"), "{status}");
    assert!(status.ends_with("+\n\n"));
    let before = file(&directory, "before/2026_11_21_07_23_20-mysqladmin");
    assert_eq!(before.matches("| Questions ").count(), 11);
    let after = file(&directory, "after/2026_11_21_07_23_40-mysqladmin");
    assert_eq!(after.matches("| Questions ").count(), 10);
}

#[test]
fn files_of_proc_have_their_moments() {
    let directory = directory();
    let vmstat = file(&directory, &format!("{PREFIX}-procvmstat"));
    let mut lines = vmstat.lines();
    assert_eq!(
        lines.next(),
        Some("TS 1795217009.001000000 2026-11-21 07:23:29")
    );
    assert_eq!(lines.next(), Some("compact_stall 9"));
    let stat = file(&directory, &format!("{PREFIX}-procstat"));
    assert!(stat.contains("\ncpu  1500 0 750 9250 0 0 0 0\n"), "{stat}");
    let disk = file(&directory, &format!("{PREFIX}-diskstats"));
    let line = disk.lines().nth(1).unwrap();
    assert_eq!(line, "   0       0 vda 90 0 9000 0 7 0 0 0 0 0 0");
    // pt-diskstats reads lines of 14 fields.
    assert_eq!(line.split_whitespace().count(), 14);
    let vmstat = file(&directory, &format!("{PREFIX}-vmstat"));
    let rows: Vec<Vec<&str>> = vmstat
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        rows[1].join(" "),
        "r b swpd free buff cache si so bi bo in cs us sy id wa st"
    );
    // Since the start of the host, then each second; what was not recorded is no number.
    assert_eq!(rows[3].join(" "), "3 - - - - - 0 - 500 - - - 50 25 25 0 0");
    assert_eq!(rows.len(), 2 + 11);
}

#[test]
fn texts_are_as_the_server_and_gdb_print_them() {
    let directory = directory();
    let list = file(&directory, &format!("{PREFIX}-processlist"));
    assert!(list.starts_with("TS 1795217011.000000000 2026-11-21 07:23:31\n*************************** 1. row ***************************\n     Id: 7\n   User: app\n"), "{list}");
    let status = file(&directory, &format!("{PREFIX}-innodbstatus1"));
    assert!(status.contains("INNODB MONITOR OUTPUT") && status.contains("END OF INNODB"));
    assert!(!file(&directory, &format!("{PREFIX}-innodbstatus2")).is_empty());
    let stacks = file(&directory, &format!("{PREFIX}-stacktrace"));
    assert!(
        stacks.contains("\nThread 2 (LWP 22 \"connection\"):\n#0  0x0000000000000000 in pthread_cond_timedwait () from libc.so.6\n#1  "),
        "{stacks}"
    );
    assert!(
        !stacks.contains("futex_wait"),
        "the kernel's functions are not gdb's"
    );
    let folded = file(&directory, &format!("{PREFIX}-folded"));
    assert!(folded.contains("mysqld;start_thread;handle_one_connection;MDL_wait::timed_wait;pthread_cond_timedwait;futex_wait_[k] 40\n"), "{folded}");
    let listing = file(&directory, &format!("{PREFIX}-opreport"));
    let mut rows = listing.lines();
    assert_eq!(
        rows.next(),
        Some("samples  %        image name               symbol name")
    );
    let words: Vec<&str> = rows.next().unwrap().split_whitespace().collect();
    assert_eq!(words[..2], ["40", "95.2381"], "{listing}");
    assert_eq!(words[3], "futex_wait", "{listing}");
    let variables = file(&directory, &format!("{PREFIX}-variables"));
    assert!(
        variables.starts_with(
            "\nSHOW GLOBAL VARIABLES\n\nVariable_name\tValue\nbind_address\t10.0.0.7\n"
        ),
        "{variables}"
    );
    let trigger = file(&directory, &format!("{PREFIX}-trigger"));
    assert!(
        trigger.starts_with(&format!(
            "{PREFIX} Check results: freezeframe(query-probe)="
        )),
        "{trigger}"
    );
    assert!(file(&directory, &format!("{PREFIX}-log_error")).contains("page_cleaner"));
    assert!(file(&directory, &format!("{PREFIX}-dmesg")).contains("Killed process"));
}

#[test]
fn what_is_missing_is_said_and_not_made_up() {
    let planted = planted();
    let mut incident = incident(&planted);
    incident.texts.clear();
    incident.stacks = model::StackEvidence::default();
    incident.absent.push(model::TimedAbsent {
        first: 0,
        last: 1,
        count: 1,
        absent: model::Absent::new("processlist", model::Reason::NoLogin, "no login was given"),
    });
    let directory = pt_stalk(&incident, &TimeZone::UTC);
    for suffix in [
        "processlist",
        "innodbstatus1",
        "stacktrace",
        "log_error",
        "dmesg",
        "folded",
        "meminfo",
    ] {
        assert!(
            !directory
                .files
                .iter()
                .any(|file| file.path.ends_with(&format!("-{suffix}"))),
            "{suffix}"
        );
    }
    let why = |file: &str| {
        let missing = directory
            .missing
            .iter()
            .find(|missing| missing.file == file);
        missing.map(|missing| missing.why.clone()).unwrap()
    };
    assert_eq!(
        why("processlist"),
        "processlist: no login (no login was given)"
    );
    assert!(why("lock-waits").contains("never queried"));
    let readme = file(&directory, "README");
    assert!(
        readme.contains("  processlist              processlist: no login (no login was given)\n"),
        "{readme}"
    );
    assert!(
        readme.lines().all(|line| line.chars().count() <= 110),
        "{readme}"
    );
}
