//! Exports with names left in them, and that the check finds each.

use model::{OwnText, Text, TextKind, TimedText};

use super::*;

fn incident(texts: Vec<Text>) -> Incident {
    let mut incident = Incident {
        host: "db7.orchard.invalid".to_owned(),
        ..Incident::default()
    };
    incident.server.address = "10.20.30.40:3306".to_owned();
    let texts = texts.into_iter();
    incident.texts = texts.map(|text| TimedText { at: 1000, text }).collect();
    incident
}

fn leak(check: &Check, text: &str, part: Part) -> Option<String> {
    let leak = check.find(text.as_bytes(), part)?;
    assert!(!leak.to_string().contains(&text[leak.range()]), "{leak}");
    Some(text[leak.range()].to_lowercase())
}

#[test]
fn names_of_every_source_are_found_wherever_they_are_left() {
    let sessions = r#"{"by_user":{"quillfeather":3},"longest":[{"user":"quillfeather","host":"app9.orchard.invalid",
        "db":"mandolin","statement":"SELECT * FROM harpsichord.strings JOIN `odd name` WHERE a = ?"}]}"#;
    let status = "MySQL thread id 5, OS thread handle 1, query id 9 trellis 10.9.8.7 gardener updating\n\
        TABLE LOCK table `mandolin`.`plectrum` trx id 7";
    let made = incident(vec![
        Text::own(OwnText::Processlist, sessions),
        server_text::innodb_status(status),
    ]);
    let raw =
        "[Note] CHANGE MASTER TO executed. New state master_host='mirror4', master_port='3306'."
            .to_owned();
    let check = Check::of(&made, &[raw], "");
    for name in [
        "db7.orchard.invalid",
        "10.20.30.40",
        "quillfeather",
        "app9.orchard.invalid",
        "mandolin",
        "harpsichord",
        "odd name",
        "trellis",
        "10.9.8.7",
        "gardener",
        "plectrum",
    ] {
        let left = format!("{{\"x\":\"before {} after\"}}", name.to_uppercase());
        assert_eq!(leak(&check, &left, Part::Other).as_deref(), Some(name));
    }
    // What stood in quotes in a log may be a setting elsewhere; in a log it is a leak.
    assert_eq!(
        leak(&check, "state mirror4, port", Part::Log).as_deref(),
        Some("mirror4")
    );
    assert_eq!(leak(&check, "state mirror4, port", Part::Other), None);
    for clean in [
        "schema_4qp9dj54zb",
        "quillfeathers",
        "SELECT * FROM t WHERE a = ?",
    ] {
        assert_eq!(leak(&check, clean, Part::Log), None);
    }
}

/// InnoDB's monitor prints the locks of a data definition, and `innodb_status_output` prints it into the error
/// log: what is in a schema of the server's own stands in both, and is no leak.
#[test]
fn what_is_in_a_schema_of_the_server_is_the_servers_in_every_source() {
    let lock = "RECORD LOCKS index PRIMARY of table `mysql`.`tablespace_files` trx id 7";
    let theirs = "TABLE LOCK table `mandolin`.`tablespace_parts` trx id 7 lock mode IX\n\
                  TABLE LOCK table `plectrum` trx id 7 lock mode IX";
    let sessions = r#"{"longest":[{"statement":"SELECT * FROM `mysql`.`index_partitions`"}]}"#;
    let both = format!("{lock}\n{theirs}");
    let made = incident(vec![
        Text::own(OwnText::Processlist, sessions),
        server_text::innodb_status(&both),
    ]);
    let check = Check::of(&made, std::slice::from_ref(&both), "");
    for part in [Part::Log, Part::Other] {
        assert_eq!(leak(&check, lock, part), None);
        assert_eq!(leak(&check, "`index_partitions`", part), None);
        for name in ["tablespace_parts", "mandolin", "plectrum"] {
            assert_eq!(leak(&check, name, part).as_deref(), Some(name));
        }
    }
}

/// Tables of InnoDB's own dictionary have no schema; the redactor keeps their names, so they are nobody's here.
#[test]
fn dictionary_tables_of_innodb_are_nobodys_names() {
    let locks = "TABLE LOCK table `SYS_FIELDS` trx id 7 lock mode IX\nTABLE LOCK table `plectrum` trx id 7 lock mode X";
    let made = incident(vec![server_text::innodb_status(locks)]);
    let check = Check::of(&made, &[locks.to_owned()], "");
    for part in [Part::Log, Part::Other] {
        assert_eq!(leak(&check, "table `SYS_FIELDS` trx id 7", part), None);
        assert_eq!(leak(&check, "plectrum", part).as_deref(), Some("plectrum"));
    }
}

#[test]
fn what_cannot_be_looked_for_is_told() {
    let sessions = r#"{"by_user":{"ab":1,"status":2,"4711":1,"root":9},"longest":[]}"#;
    let made = incident(vec![Text::own(OwnText::Processlist, sessions)]);
    let check = Check::of(&made, &[], "");
    let mut told: Vec<(&str, usize)> = check
        .unchecked()
        .iter()
        .filter(|one| one.source == "sessions")
        .map(|one| (one.why, one.names))
        .collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [
            ("a number", 1),
            ("a word that servers use themselves", 1),
            ("shorter than four characters", 1)
        ]
    );
}

#[test]
fn a_text_that_is_no_json_is_no_trouble() {
    let made = incident(vec![
        Text::own(OwnText::Processlist, "{"),
        Text::own(OwnText::Semaphores, "[{\"holder_query\": 5}, 7]"),
        server_text::stored(TextKind::ErrorLog, "'"),
    ]);
    assert!(Check::of(&made, &["\"'`'\u{0}".to_owned()], "").searched() > 0);
}

/// A zone of time in an option file, and an address in a file that was redacted before.
#[test]
fn a_time_and_what_stands_for_a_name_are_no_names() {
    let kernel = "[    0.000000] Linux version 6.1.0 (user_djrnr290qj@host_5skjc6b03b) (ops@orchard.invalid)";
    let made = incident(vec![Text::own(OwnText::KernelLog, kernel)]);
    let raw = "default_time_zone = '+00:00'\nold = '10.9.8.7'".to_owned();
    let check = Check::of(&made, &[raw], "");
    for kept in ["(user_djrnr290qj@host_5skjc6b03b)", "zone '+00:00'"] {
        assert_eq!(leak(&check, kept, Part::Log), None);
    }
    for left in ["ops@orchard.invalid", "10.9.8.7"] {
        assert_eq!(leak(&check, left, Part::Log).as_deref(), Some(left));
    }
}
