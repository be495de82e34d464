//! What captures lack, with what would have taken it: said together, once.

use model::{Absent, Incident, Reason, TextKind};

/// Kinds of evidence that a verdict rests on, and how people take them.
pub(crate) fn missing_evidence(incident: &Incident) -> Vec<Absent> {
    let has_text = |kind: TextKind| incident.texts.iter().any(|timed| timed.text.kind() == kind);
    let has_signal = |start: &str| {
        incident
            .timeline
            .series
            .iter()
            .any(|series| series.name.starts_with(start))
    };
    let has_fact = |start: &str| {
        incident
            .facts
            .iter()
            .any(|timed| timed.fact.name.starts_with(start))
    };
    let repeated = incident
        .timeline
        .sources
        .iter()
        .any(|source| source.name == "status" && source.ticks.len() > 1);
    let kinds: [(&str, bool, &str); 10] = [
        (
            "stacks of all threads",
            !incident.stacks.snapshots.is_empty(),
            "freezeframe stacks --json, or: gdb -p PID -batch -ex 'thread apply all bt' (stops the server for a second or more)",
        ),
        (
            "profile of the processors",
            !incident.stacks.profiles.is_empty(),
            "perf record -a -g -F 99 -- sleep 10; perf report --stdio",
        ),
        (
            "processlist",
            has_text(TextKind::Processlist),
            "mysql -e 'SHOW FULL PROCESSLIST\\G'",
        ),
        (
            "InnoDB status",
            has_text(TextKind::InnodbStatus),
            "mysql -e 'SHOW ENGINE INNODB STATUS\\G'",
        ),
        (
            "server status, repeated",
            repeated,
            "mysqladmin extended-status -i 1 -c 30",
        ),
        (
            "server variables",
            has_fact("variables.") && incident.facts.len() > 3,
            "mysql -e 'SHOW GLOBAL VARIABLES'",
        ),
        (
            "processors, memory and disks of the host",
            has_signal("cpu.") || has_signal("vmstat.") || has_signal("disk."),
            "vmstat 1 30; cat /proc/vmstat and /proc/diskstats, twice",
        ),
        (
            "statements",
            !incident.queries.is_empty(),
            "the slow log of that time, or: tcpdump -i any -s 0 -w FILE port 3306, for half a minute",
        ),
        (
            "error log",
            has_text(TextKind::ErrorLog),
            "the lines of log_error from an hour before the stall",
        ),
        ("kernel log", has_text(TextKind::KernelLog), "dmesg -T"),
    ];
    kinds
        .into_iter()
        .filter(|(_, there, _)| !there)
        .map(|(what, _, command)| {
            Absent::new(
                what,
                Reason::NotRecorded,
                format!("not among the captures; taken by: {command}"),
            )
        })
        .collect()
}
