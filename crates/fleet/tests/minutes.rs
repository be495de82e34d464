//! Minutes of a history as rows, and what is known of its names from one to the next.

use fleet::from_incident::{KnownNames, Refused, minutes, minutes_of};
use fleet::row::SignalRow;
use model::{Absent, Clock, Fact, Reading, Reason, TimedAbsent, TimedFact, Unit};

use crate::incident::{SALT, ZERO_MS, incident, rows_of};

#[test]
fn minutes_of_a_history_are_those_of_an_incident_and_have_no_names() {
    let mut history = incident("db1");
    for second in 60..100 {
        let folder = Reading::gauge("filesystem./srv/carolyn.used_share", Unit::Share, 0.5);
        history
            .timeline
            .push_readings("filesystem", second * 1000, &[folder]);
    }
    let begin = ZERO_MS / 1000 + 60;
    let made = minutes(history.clone(), SALT, begin..begin + 60).unwrap();
    let whole = rows_of(&history, SALT).unwrap();
    let told = |rows: &[SignalRow]| -> Vec<_> {
        rows.iter()
            .filter(|row| row.ts.0 == begin)
            .map(|row| (row.signal.clone(), row.n, row.max.to_bits()))
            .collect()
    };
    assert_eq!(told(&made.signals), told(&whole.signals));
    assert_eq!(made.signals.len(), told(&made.signals).len());
    let folders = made.signals.iter();
    let folders: Vec<_> = folders
        .filter(|row| row.signal.starts_with("filesystem."))
        .collect();
    assert!(folders.len() == 1 && !folders[0].signal.contains("carolyn"));
    assert_eq!(made.host.host_id, whole.host.host_id);
    assert_eq!(
        (made.host.seen.0, made.health.ts.0),
        (begin + 60, begin + 60)
    );
    history.clock = Clock::default();
    assert_eq!(minutes(history, SALT, 0..60), Err(Refused::NoTime));
}

/// One that is nobody's is learned by itself; one with a name is looked for everywhere.
#[test]
fn a_new_signal_gives_the_rows_that_are_made_without_what_is_known() {
    let begin = ZERO_MS / 1000;
    let mut names = KnownNames::new(SALT);
    let mut history = incident("db1");
    minutes_of(history.clone(), &mut names, begin..begin + 60).unwrap();
    for (step, signal) in [
        "processlist.state.Statistics",
        "processlist.class.show_other",
        "status.Innodb_row_lock_waits",
        "top.carolyn_app.cpu_ticks",
        "processlist.state.Writing_to_net",
        "filesystem./srv/carolyn.used_share",
        "processlist.state.carolyn_app",
    ]
    .into_iter()
    .enumerate()
    {
        let reading = Reading::gauge(signal, Unit::Count, 0.5);
        let (source, at) = (format!("source{step}"), 50_000);
        history.timeline.push_readings(&source, at, &[reading]);
        let wanted = minutes(history.clone(), SALT, begin..begin + 60).unwrap();
        let made = minutes_of(history.clone(), &mut names, begin..begin + 60).unwrap();
        assert_eq!(format!("{made:?}"), format!("{wanted:?}"), "{signal}");
        let has_name = made
            .signals
            .iter()
            .any(|row| row.signal.contains("carolyn"));
        assert!(!has_name, "{signal}");
        let is_there = made.signals.iter().any(|row| row.signal == signal);
        assert_eq!(is_there, !signal.contains("carolyn"), "{signal}");
    }
}

/// The same of a value of a fact and of an absence.
#[test]
fn a_new_fact_gives_the_rows_that_are_made_without_what_is_known() {
    let begin = ZERO_MS / 1000;
    let mut names = KnownNames::new(SALT);
    let mut history = incident("db1");
    minutes_of(history.clone(), &mut names, begin..begin + 60).unwrap();
    for (name, value) in [
        ("variables.innodb_io_capacity", "301"),
        ("variables.report_host", "carolyn-db"),
        ("variables.innodb_io_capacity", "302"),
        ("variables.innodb_flush_method", "fsync"),
        ("variables.log_error", "/var/log/carolyn.err"),
        ("host.kernel", "6.1.0-carolyn"),
        ("thp.enabled", "madvise"),
    ] {
        history.facts.push(TimedFact {
            at: 1,
            fact: Fact {
                name: name.to_owned(),
                value: value.to_owned(),
            },
        });
        let wanted = minutes(history.clone(), SALT, begin..begin + 60).unwrap();
        let made = minutes_of(history.clone(), &mut names, begin..begin + 60).unwrap();
        assert_eq!(format!("{made:?}"), format!("{wanted:?}"), "{name}");
        let told = format!("{:?}", made.host.settings);
        assert!(!told.contains("carolyn"), "{told}");
    }
    for what in ["stacks", "locks of carolyn@db1", "profile"] {
        history.absent.push(TimedAbsent {
            first: 1,
            last: 1,
            count: 1,
            absent: Absent::new(what, Reason::Failed, "it ended with 2"),
        });
        let wanted = minutes(history.clone(), SALT, begin..begin + 60).unwrap();
        let made = minutes_of(history.clone(), &mut names, begin..begin + 60).unwrap();
        assert_eq!(format!("{made:?}"), format!("{wanted:?}"), "{what}");
        let told = format!("{:?}", made.health.absent);
        assert!(!told.contains("carolyn"), "{told}");
        assert_eq!(told.contains(what), !what.contains("carolyn"), "{told}");
    }
}

/// Names are looked through without the values, so that both need not be there at once.
#[test]
fn what_is_unknown_is_found_out_without_the_values() {
    let begin = ZERO_MS / 1000;
    let mut names = KnownNames::new(SALT);
    let mut history = incident("db1");
    // The first minute, a name that goes, and nothing new.
    for (signal, is_new) in [
        (None, true),
        (None, false),
        (Some("top.carolyn_app.cpu_ticks"), true),
        (None, false),
        (Some("processlist.state.Statistics"), false),
    ] {
        if let Some(signal) = signal {
            let reading = Reading::gauge(signal, Unit::Count, 0.5);
            let source = if is_new { "top" } else { "processlist" };
            history.timeline.push_readings(source, 50_000, &[reading]);
        }
        let unknown = names.unknown(&history);
        assert_eq!(unknown.is_some(), is_new, "{signal:?}");
        if let Some(unknown) = unknown {
            names.find_out(unknown).unwrap();
            assert!(names.unknown(&history).is_none(), "{signal:?}");
        }
        let wanted = minutes(history.clone(), SALT, begin..begin + 60).unwrap();
        let made = minutes_of(history.clone(), &mut names, begin..begin + 60).unwrap();
        assert_eq!(format!("{made:?}"), format!("{wanted:?}"), "{signal:?}");
        let mut signals = made.signals.iter();
        assert!(!signals.any(|row| row.signal.contains("carolyn")));
    }
}

/// What is known from the minutes before gives the rows that are made without it.
#[test]
fn names_that_are_known_change_no_row() {
    let mut names = KnownNames::new(SALT);
    let begin = ZERO_MS / 1000;
    let fact = |at: u64, name: &str, value: &str| TimedFact {
        at,
        fact: Fact {
            name: name.to_owned(),
            value: value.to_owned(),
        },
    };
    let mut history = incident("db1");
    let mut seen = Vec::new();
    for step in 0..7_u64 {
        match step {
            // Another minute of the same.
            0 | 1 | 6 => {}
            // A folder that comes, and is gone again.
            2 => {
                let folder = Reading::gauge("filesystem./srv/carolyn.used_share", Unit::Share, 0.5);
                history
                    .timeline
                    .push_readings("filesystem", 70_000, &[folder]);
            }
            3 => history.timeline = incident("db1").timeline,
            // A setting that changes, and back.
            4 => history
                .facts
                .push(fact(1, "variables.innodb_flush_method", "O_DIRECT")),
            5 => history
                .facts
                .push(fact(2, "variables.innodb_flush_method", "fsync")),
            _ => unreachable!(),
        }
        if step == 6 {
            history.server.version = "11.4.2-MariaDB-carolyn".to_owned();
        }
        for minute in [begin, begin + 60] {
            let wanted = minutes(history.clone(), SALT, minute..minute + 60).unwrap();
            let made = minutes_of(history.clone(), &mut names, minute..minute + 60).unwrap();
            // NaN is not what it is.
            assert_eq!(format!("{made:?}"), format!("{wanted:?}"), "step {step}");
            assert!(!made.signals.is_empty());
            assert!(!made.host.version.contains("carolyn"));
            let mut signals = made.signals.iter();
            assert!(!signals.any(|row| row.signal.contains("carolyn")));
            let settings = made.host.settings.into_iter();
            seen.extend(settings.filter(|(name, _)| name.ends_with("flush_method")));
        }
    }
    let values: Vec<&str> = seen.iter().map(|(_, value)| value.as_str()).collect();
    let wanted = [["O_DIRECT"; 2].as_slice(), &["fsync"; 4]].concat();
    assert_eq!(values, wanted);
}
