//! When things were that captures of pt-stalk tell no time of, and what is usual where nothing of the time before is told.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy does not see that helpers of tests are test code"
)]

use std::fmt::Write as _;

use diagnosis::{Catalogue, Level, Verdict, diagnose};
use import::{Input, import};
use model::{Incident, TextKind};

fn incident(files: &[(&str, &str)]) -> Incident {
    let inputs: Vec<Input<'_>> = files
        .iter()
        .map(|(path, text)| Input {
            path,
            bytes: text.as_bytes(),
        })
        .collect();
    import(&inputs).incident.unwrap()
}

fn verdict(files: &[(&str, &str)]) -> Verdict {
    diagnose(&incident(files), Catalogue::builtin())
}

fn found(verdict: &Verdict) -> Vec<(&str, Level)> {
    let findings = verdict.findings.iter();
    findings
        .map(|finding| (finding.cause.as_str(), finding.level))
        .collect()
}

/// So many sessions in a state, as `SHOW FULL PROCESSLIST\G` prints them.
fn list(sessions: usize, user: &str, state: &str) -> String {
    let mut text = String::new();
    for row in 1..=sessions + 1 {
        let (user, state) = match row {
            1 => ("root", "starting"),
            _ => (user, state),
        };
        let _ = writeln!(
            text,
            "*************************** {row}. row ***************************\n      Id: {row}\n    User: {user}\n    \
             Host: 10.0.0.7:5000\n      db: shop\n Command: Query\n    Time: 4\n   State: {state}\n    Info: NULL"
        );
    }
    text
}

#[test]
fn lists_of_one_file_are_a_second_apart() {
    let waits = list(6, "app", "Waiting for global read lock");
    let lists = waits.repeat(8) + &list(0, "", "").repeat(22);
    let incident = incident(&[("x-processlist", &lists)]);
    let of_lists = incident.texts.iter();
    let at: Vec<u64> = of_lists
        .filter(|text| text.text.kind() == TextKind::Processlist)
        .map(|text| text.at)
        .collect();
    assert_eq!(at.len(), 30);
    assert!(at.windows(2).all(|two| two[1] - two[0] == 1000), "{at:?}");
    // In most of them nobody waits any more.
    let verdict = diagnose(&incident, Catalogue::builtin());
    assert_eq!(found(&verdict), [("ftwrl-backup", Level::Likely)]);
}

fn monitor(date: &str) -> String {
    format!(
        "=====================================\n{date} 0x7f87f82196c0 INNODB MONITOR OUTPUT\n=====================================\n\
         ---\nLOG\n---\nLog sequence number 2000\nLog flushed up to 1900\nLast checkpoint at 1000\n\
         ----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n"
    )
}

#[test]
fn dates_of_the_monitor_count_where_the_zone_is_told() {
    let disks = "TS 1353536400.004 2012-11-21 17:20:00\n   8 0 sda 1 2 3 4 5 6 7 8 0 9 10\n\
                 TS 1353536430.004 2012-11-21 17:20:30\n   8 0 sda 2 2 3 4 5 6 7 8 0 9 10\n";
    let seconds = |first: &str, second: &str, disks: &str| -> Vec<u64> {
        let (first, second) = (monitor(first), monitor(second));
        let incident = incident(&[
            ("x-innodbstatus1", &first),
            ("x-innodbstatus2", &second),
            ("x-diskstats", disks),
        ]);
        let texts = incident.texts.iter();
        texts
            .filter(|text| text.text.kind() == TextKind::InnodbStatus)
            .map(|text| text.at.div_ceil(1000))
            .collect()
    };
    let dated = seconds("2012-11-21 17:20:01", "2012-11-21 17:20:31", disks);
    assert_eq!(dated, [2, 32]);
    // Without the zone, or of another day, they tell no time.
    let without = disks.replace(" 2012-11-21", "");
    let first = seconds("2012-11-21 17:20:01", "2012-11-21 17:20:31", &without);
    assert_eq!(first, [1, 1]);
    let other = seconds("2012-11-20 17:20:01", "2012-11-21 17:20:31", disks);
    assert_eq!(other, [1, 32]);
}

/// `mysqladmin ext -i1`, with so many connections since the start and 900 more in a second.
fn status(uptime_seconds: u64, connections: u64) -> String {
    (0..4)
        .map(|at| {
            format!(
                "| Variable_name | Value |\n| Aborted_clients | 3 |\n| Connections | {} |\n| Questions | {} |\n\
                 | Threads_running | 9 |\n| Uptime | {} |\n",
                connections + at * 900,
                connections + at * 2000,
                uptime_seconds + at
            )
        })
        .collect()
}

#[test]
fn what_is_usual_is_the_average_since_the_start_where_nothing_else_is_known() {
    let lists = list(9, "unauthenticated user", "Reading from net").repeat(4);
    let told = |uptime_seconds, connections| {
        let status = status(uptime_seconds, connections);
        verdict(&[("x-mysqladmin", &status), ("x-processlist", &lists)])
    };
    let storm = told(864_000, 9_000_000);
    assert_eq!(found(&storm), [("connection-storm", Level::Likely)]);
    let says: Vec<&str> = storm.findings[0]
        .witnesses
        .iter()
        .map(|witness| witness.says.as_str())
        .collect();
    assert_eq!(
        says[0],
        "new connections arrived at 900/s, against 10.4/s on average since its start"
    );
    // As ever; and a server that has just begun has no usual time.
    assert_eq!(found(&told(864_000, 400_000_000)), []);
    assert_eq!(found(&told(50, 600)), []);
}

#[test]
fn sessions_that_were_not_greeted_point_at_names() {
    let variables = "skip_name_resolve\tOFF\nmax_connections\t500\nversion\t8.0.40\n";
    let named = |state: &str| {
        let lists = list(12, "unauthenticated user", state).repeat(5);
        let verdict = verdict(&[("x-processlist", &lists), ("x-variables", variables)]);
        let found = found(&verdict).into_iter();
        found
            .map(|(cause, level)| (cause.to_owned(), level))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        named("login"),
        [("dns-resolve".to_owned(), Level::Possible)]
    );
    assert_eq!(named("Reading from net"), []);
}
