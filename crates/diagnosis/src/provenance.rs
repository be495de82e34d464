//! From which source a signal is, and why one is missing.

use model::{Incident, area_of};

/// The name under which the processlists are a source, and are missed.
pub(crate) const PROCESSLIST: &str = "processlist";

/// The name under which profiles of the processors are a source, and are missed.
pub(crate) const PROFILE: &str = "profile";

/// The same of snapshots of all threads.
pub(crate) const STACKS: &str = "stacks";

/// The name under which lists of waits for latches are missed.
pub(crate) const SEMAPHORES: &str = "semaphores";

/// The source of a signal or fact: what witnesses must differ in to be independent.
pub(crate) fn source_of(name: &str) -> String {
    let first = name.split('.').next().unwrap_or(name);
    area_of(name).map_or(first, |area| area.source).to_owned()
}

/// Whether no recorder takes a signal, only other tools' captures: it has the same in more detail, and lacks nothing.
pub(crate) fn is_of_captures_alone(name: &str) -> bool {
    name == "process.cpus" || name.starts_with("top.")
}

/// Names that are told of one source, at the most.
const NAMES_MAX: usize = 3;

/// Says that signals or facts of one source are missing, what would have taken them, and why it did not.
pub(crate) fn missing(incident: &Incident, names: &[&str]) -> String {
    let Some(first) = names.first() else {
        return String::new();
    };
    let told = names.len().min(NAMES_MAX);
    let mut listed = names.get(..told).unwrap_or_default().join(", ");
    match (names.len(), names.len() - told) {
        (1, _) => listed.push_str(" is"),
        (_, 0) => listed.push_str(" are"),
        (_, more) => listed.push_str(&format!(" and {more} more are")),
    }
    let Some(area) = area_of(first) else {
        return format!("{listed} not in the record");
    };
    let mut text = format!("{listed} not in the record; taken by {}", area.taken_by);
    let mut absent = incident.absent.iter().map(|timed| &timed.absent);
    if let Some(why) = absent.find(|one| area.is_absent_as(&one.what)) {
        text.push_str(&format!(" ({}: {})", why.reason.to_text(), why.detail));
    }
    text
}

#[cfg(test)]
mod tests {
    use model::{Absent, Incident, Reason, TimedAbsent};

    use super::*;

    #[test]
    fn the_reason_is_found_under_the_name_that_the_recorder_tells() {
        let incident = |what: &str| Incident {
            absent: vec![TimedAbsent {
                first: 0,
                last: 0,
                count: 1,
                absent: Absent::new(what, Reason::Permission, "the reason"),
            }],
            ..Incident::default()
        };
        for (what, signal) in [
            ("pressure", "psi.io.some_us"),
            ("stat", "cpu.system_share"),
            ("compressed sessions", "sessions.compressed"),
            ("status", "status.Questions"),
            ("innodb status", "innodb.lock_waits"),
            ("stacks, profiles and locks", "profile"),
        ] {
            let text = missing(&incident(what), &[signal]);
            assert!(
                text.ends_with("(not permitted: the reason)"),
                "{what}: {text}"
            );
        }
        let other = missing(&incident("status"), &["cpu.system_share"]);
        assert!(!other.contains("the reason"), "{other}");
    }
}
