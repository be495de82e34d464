//! Which part of a capture is the stall, and what it is compared with.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy does not see that helpers of tests are test code"
)]

use std::fmt::Write as _;

use diagnosis::{Catalogue, Level, diagnose, diagnose_closely};
use import::{Input, import};
use model::{Incident, TextKind, Window};

/// A second of `mysqladmin extended-status -i1`.
#[derive(Clone, Copy)]
struct Second {
    running: u32,
    statements: u32,
    on_disk: u32,
}

const fn second(running: u32, statements: u32, on_disk: u32) -> Second {
    Second {
        running,
        statements,
        on_disk,
    }
}

const STALLED: Second = second(41, 60, 300);
const CALM: Second = second(2, 400, 3);

fn status(course: &[Second]) -> String {
    let mut text = String::new();
    let (mut questions, mut tables) = (1_000, 500);
    for now in course {
        questions += now.statements;
        tables += now.on_disk;
        let rows = [
            ("Created_tmp_disk_tables", tables),
            ("Questions", questions),
            ("Threads_running", now.running),
        ];
        let _ = writeln!(text, "+---+\n| Variable_name | Value |\n+---+");
        for (name, value) in rows {
            let _ = writeln!(text, "| {name} | {value} |");
        }
        let _ = writeln!(text, "+---+\n");
    }
    text
}

fn course(parts: &[(Second, usize)]) -> Vec<Second> {
    let parts = parts.iter();
    parts
        .flat_map(|(second, count)| vec![*second; *count])
        .collect()
}

fn incident(files: &[&str]) -> Incident {
    let inputs: Vec<Input<'_>> = files
        .iter()
        .map(|text| Input {
            path: "x",
            bytes: text.as_bytes(),
        })
        .collect();
    import(&inputs).incident.unwrap()
}

/// One list, without a time.
fn list() -> String {
    let head = "| Id | User | Host | db | Command | Time | State | Info |\n".to_owned();
    (1..=6).fold(head, |text, id| {
        text + &format!(
            "| {id} | app | web:{id} | shop | Query | 12 | converting HEAP to Aria | SELECT {id} |\n"
        )
    })
}

#[test]
fn a_capture_that_goes_on_is_compared_with_its_end() {
    let seconds = course(&[(STALLED, 9), (CALM, 21)]);
    let both = incident(&[&status(&seconds), &list()]);
    assert_eq!(both.stall_window(), Window::new(0, 9_500));
    assert_eq!(both.calm_after(), Some(Window::new(11_500, 31_000)));
    let verdict = diagnose(&both, Catalogue::builtin());
    let first = verdict.findings.first().unwrap();
    assert_eq!(
        (first.cause.as_str(), first.level),
        ("tmp-disk", Level::Likely)
    );
    let says = first.witnesses.iter().map(|witness| witness.says.as_str());
    let compared = says.filter(|says| says.contains("after the end"));
    assert!(compared.count() > 0, "{:?}", first.witnesses);
    // The same number of tables in calm is no sign.
    let same = course(&[(STALLED, 9), (second(2, 400, 300), 21)]);
    let verdict = diagnose(&incident(&[&status(&same), &list()]), Catalogue::builtin());
    let found = verdict.findings.iter().map(|one| one.cause.as_str());
    assert!(found.clone().all(|cause| cause != "tmp-disk"), "{found:?}");
}

#[test]
fn a_server_without_work_is_no_calm_one() {
    let seconds = course(&[(STALLED, 9), (second(1, 2, 0), 21)]);
    let incident = incident(&[&status(&seconds)]);
    assert_eq!(incident.stall.end, Some(9_500));
    assert_eq!(incident.calm_after(), None);
}

#[test]
fn a_stall_in_the_middle_has_what_tells_no_time() {
    let seconds = course(&[(CALM, 15), (STALLED, 8), (CALM, 12)]);
    let incident = incident(&[&status(&seconds), &list()]);
    assert_eq!(incident.stall_window(), Window::new(15_000, 23_500));
    assert_eq!(incident.baseline_window(), Window::new(0, 15_000));
    assert_eq!(incident.calm_after(), None);
    let mut texts = incident.texts.iter();
    let list = texts.find(|text| text.text.kind() == TextKind::Processlist);
    assert_eq!(list.unwrap().at, 16_000);
    let verdict = diagnose(&incident, Catalogue::builtin());
    assert_eq!(verdict.findings[0].cause, "tmp-disk");
}

#[test]
fn what_was_taken_when_it_was_over_is_no_measure_of_it() {
    let trigger = |running: u32| {
        format!(
            "2026_11_21_12_55_42 Check results: status(Threads_running)={running}, matched=yes, cycles_true=5\n"
        )
    };
    let cpus = "host.cpus = 2\n";
    let after = status(&course(&[(second(6, 400, 300), 30)]));
    let late = incident(&[&trigger(290), &after, &list(), cpus]);
    assert!(late.began_after_it());
    let running = late.timeline.get("status.Threads_running").unwrap();
    assert_eq!(running.values.first(), Some(&290.0));
    let verdict = diagnose_closely(&late, Catalogue::builtin());
    let found = verdict.findings.iter();
    let found: Vec<(&str, Level)> = found.map(|one| (one.cause.as_str(), one.level)).collect();
    assert_eq!(found, [("too-many-running", Level::Suspicion)]);
    // The same lists, taken in a stall.
    let stalled = status(&course(&[(STALLED, 9), (CALM, 21)]));
    let in_time = incident(&[&trigger(41), &stalled, &list(), cpus]);
    assert!(!in_time.began_after_it());
    let verdict = diagnose(&in_time, Catalogue::builtin());
    assert_eq!(verdict.findings[0].cause, "tmp-disk");
}

#[test]
fn all_of_it_is_the_stall_where_no_part_differs() {
    for seconds in [course(&[(STALLED, 30)]), course(&[(CALM, 30)])] {
        let incident = incident(&[&status(&seconds)]);
        assert_eq!(incident.stall.end, None);
        assert_eq!(incident.stall_window(), incident.window);
    }
}
