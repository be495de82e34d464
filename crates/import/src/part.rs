//! Which captures are only a part: people show the one thread, the one session, the few lines that
//! seemed to matter. How many of something stand in a part says nothing of how many there were.

use model::{Fact, Incident, ProcessList, TextKind};

/// Fewer threads than any server has.
pub(crate) const THREADS_MIN: u32 = 10;

/// Fewer sessions than a list of a server in trouble has.
const SESSIONS_MIN: u64 = 4;

/// Fewer values than any server shows: MySQL 5.0 has more than 200 of either.
const VALUES_MIN: usize = 100;

/// A fact for each kind of evidence of which there is only a part: `capture.stacks` is `part`.
pub(crate) fn partial_evidence(incident: &Incident) -> Vec<Fact> {
    let stacks = &incident.stacks.snapshots;
    let threads = stacks.iter().map(|note| note.threads).max();
    let texts = |kind: TextKind| {
        incident
            .texts
            .iter()
            .filter(move |timed| timed.text.kind() == kind)
    };
    let sessions = texts(TextKind::Processlist)
        .filter_map(|timed| ProcessList::from_text(timed.text.body()))
        .map(|list| list.sessions)
        .max();
    let innodb_whole =
        texts(TextKind::InnodbStatus).any(|timed| timed.text.body().lines().any(is_monitor_start));
    let innodb = texts(TextKind::InnodbStatus)
        .chain(texts(TextKind::Semaphores))
        .next()
        .map(|_| innodb_whole);
    let series = incident.timeline.series.iter();
    let status = series
        .filter(|series| series.name.starts_with("status."))
        .count();
    let variables = incident
        .facts
        .iter()
        .filter(|timed| timed.fact.name.starts_with("variables."))
        .count();
    let has_section =
        texts(TextKind::InnodbStatus).any(|timed| timed.text.body().contains("OS WAIT ARRAY INFO"));
    let from_log = texts(TextKind::Semaphores).next().is_some()
        && texts(TextKind::ErrorLog).next().is_some()
        && !has_section;
    let parts = [
        (
            "stacks",
            threads.is_some_and(|threads| threads < THREADS_MIN),
        ),
        (
            "processlist",
            sessions.is_some_and(|sessions| sessions < SESSIONS_MIN),
        ),
        ("innodb", innodb == Some(false)),
        ("status", status > 0 && status < VALUES_MIN),
        ("variables", variables > 0 && variables < VALUES_MIN),
    ];
    parts
        .into_iter()
        .filter(|(_, is_part)| *is_part)
        .map(|(kind, _)| Fact::new(format!("capture.{kind}"), "part"))
        .chain(from_log.then(|| Fact::new("capture.semaphores", "error log")))
        .collect()
}

/// The line above the first section; the end alone is that of a printout whose begin is missing.
fn is_monitor_start(line: &str) -> bool {
    let line = line.trim();
    line.ends_with("INNODB MONITOR OUTPUT") && !line.starts_with("END OF")
}

#[cfg(test)]
mod tests {
    use crate::{Input, import};

    #[test]
    fn the_end_of_a_printout_is_a_part() {
        let row = "--------------\nROW OPERATIONS\n--------------\n5 queries inside InnoDB, 9 queries in queue\n";
        let end = "END OF INNODB MONITOR OUTPUT\n";
        let begin = "2026-11-21 06:25:01 0x7f INNODB MONITOR OUTPUT\n";
        for (text, part) in [
            (format!("{row}{end}"), Some("part")),
            (format!("{begin}{row}{end}"), None),
        ] {
            let bytes = text.as_bytes();
            let incident = import(&[Input { path: "x", bytes }]).incident.unwrap();
            assert_eq!(incident.fact("capture.innodb"), part, "{text}");
        }
    }
}
