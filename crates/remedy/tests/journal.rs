//! The journal: what is written is there, what is no lease does no harm, and two processes do not give back at once.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use remedy::fix::FixJournal;
use remedy::general_log::{GeneralLogChange, Values};
use remedy::{
    Change, Journal, JournalError, Lease, LoginSource, Outcome, Patience, ProcessId, ServerAddress,
    ServerLogin, by_hand, leftovers, revert_leftovers,
};

fn values(on: bool, file: &str) -> Values {
    Values {
        general_log: on,
        log_output: "FILE".to_owned(),
        general_log_file: file.to_owned(),
    }
}

fn lease(id: &str, owner: ProcessId) -> Lease {
    let ours = format!("/data/freezeframe-general-{id}.log");
    Lease {
        version: 1,
        id: id.to_owned(),
        server: ServerLogin {
            // Nobody listens there.
            address: ServerAddress::Socket("/nonexistent/mysqld.sock".into()),
            process: None,
            login: LoginSource {
                user: "root".to_owned(),
                password_file: Some("/etc/secret".into()),
                defaults_file: None,
                ..LoginSource::default()
            },
        },
        change: Change::GeneralLog(GeneralLogChange {
            previous: values(false, "/data/it's.log"),
            ours: values(true, &ours),
            file_here: ours.into(),
            bytes_max: 1,
            free_bytes_min: 1,
            connection: 7,
        }),
        taken_us: 5,
        deadline_us: 6,
        owner,
    }
}

/// A process that is gone: there is none with the start time of the machine.
fn gone() -> ProcessId {
    ProcessId {
        pid: std::process::id(),
        start_time_ticks: 1,
    }
}

fn journal(dir: &Path) -> Journal<Lease> {
    Journal::open(&dir.join("leases")).unwrap()
}

#[test]
fn a_lease_is_written_and_read_and_nobody_else_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let journal = journal(dir.path());
    let lease = lease("0123456789abcdef", ProcessId::own());
    journal.write(&lease).unwrap();
    assert_eq!(journal.read(&lease.id).unwrap(), Some(lease.clone()));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(journal.dir()), mode(&journal.path(&lease.id))),
        (0o700, 0o600)
    );
    let files = std::fs::read_dir(journal.dir()).unwrap().count();
    assert_eq!(files, 1, "no temporary file is left");
    journal
        .lock_record(&lease.id, None)
        .unwrap()
        .unwrap()
        .forget()
        .unwrap();
    assert_eq!(journal.read(&lease.id).unwrap(), None);
    assert!(journal.lock_record(&lease.id, None).unwrap().is_none());
}

#[test]
fn one_at_a_time_has_a_lease_in_hand() {
    let dir = tempfile::tempdir().unwrap();
    let journal = journal(dir.path());
    let id = "0123456789abcdef";
    journal.write(&lease(id, gone())).unwrap();
    let first = journal.lock_record(id, None).unwrap().unwrap();
    let second = journal.lock_record(id, Some(Duration::from_millis(50)));
    assert!(
        matches!(second, Err(JournalError::Locked { .. })),
        "{second:?}"
    );
    // Whoever waits sees that it was given back, not the file without a name.
    let waiting = journal.clone();
    let thread = std::thread::spawn(move || {
        waiting
            .lock_record("0123456789abcdef", None)
            .unwrap()
            .is_none()
    });
    std::thread::sleep(Duration::from_millis(50));
    first.forget().unwrap();
    assert!(thread.join().unwrap());
}

#[test]
fn a_lease_of_a_living_process_is_left_alone_and_a_dead_one_s_is_tried() {
    let dir = tempfile::tempdir().unwrap();
    let journal = journal(dir.path());
    journal
        .write(&lease("00000000000000aa", ProcessId::own()))
        .unwrap();
    journal.write(&lease("00000000000000bb", gone())).unwrap();
    std::fs::write(journal.path("00000000000000cc"), "{}").unwrap();
    let outcomes = |found: Vec<Result<remedy::Leftover, JournalError>>| -> Vec<String> {
        let words = found.into_iter().map(|one| match one {
            Ok(leftover) => format!("{} {:?}", leftover.lease.id, leftover.outcome),
            Err(_) => "no lease".to_owned(),
        });
        let mut words: Vec<String> = words.collect();
        words.sort();
        words
    };
    let listed = outcomes(leftovers(journal.dir()).unwrap());
    assert_eq!(
        listed,
        [
            "00000000000000aa InForce",
            "00000000000000bb Left",
            "no lease"
        ]
    );
    let mut said = Vec::new();
    let login = |lease: &Lease| {
        Ok(server::Login {
            user: lease.server.login.user.clone(),
            password: None,
            from: "the test".to_owned(),
            tls: server::Tls::default(),
        })
    };
    let patience = Patience::within(Duration::from_millis(100));
    let found = revert_leftovers(journal.dir(), &login, &patience, &mut |line| {
        said.push(line.to_owned())
    })
    .unwrap();
    let failed = found
        .iter()
        .flatten()
        .filter(|one| matches!(one.outcome, Outcome::Failed(_)));
    assert_eq!(failed.count(), 1, "{found:?}");
    assert!(
        journal.read("00000000000000bb").unwrap().is_some(),
        "what is not back is not forgotten"
    );
    let refused = |_: &Lease| Err("no password".to_owned());
    let found = revert_leftovers(journal.dir(), &refused, &patience, &mut |_| {}).unwrap();
    assert!(
        found
            .iter()
            .flatten()
            .any(|one| one.outcome == Outcome::Failed("no password".to_owned()))
    );
}

#[test]
fn no_directory_is_no_leases() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = dir.path().join("nowhere");
    assert_eq!(leftovers(&nowhere).unwrap().len(), 0);
    assert!(!nowhere.exists(), "looking makes nothing");
}

#[test]
fn a_journal_that_others_may_write_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let journal = journal(dir.path());
    let id = "0123456789abcdef";
    journal.write(&lease(id, gone())).unwrap();
    std::fs::set_permissions(journal.dir(), std::fs::Permissions::from_mode(0o770)).unwrap();
    assert!(matches!(
        leftovers(journal.dir()),
        Err(JournalError::NotOurs { .. })
    ));
}

#[test]
fn what_a_person_would_do_is_told() {
    let text = by_hand(&lease("0123456789abcdef", gone()));
    assert_eq!(
        text,
        "SET GLOBAL general_log = OFF; SET GLOBAL log_output = 'FILE'; \
         SET GLOBAL general_log_file = '/data/it''s.log';"
    );
}

#[test]
fn a_lease_under_another_name_or_of_another_version_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let journal = journal(dir.path());
    let id = "0123456789abcdef";
    journal.write(&lease(id, gone())).unwrap();
    std::fs::copy(journal.path(id), journal.path("another")).unwrap();
    assert!(matches!(
        journal.read("another"),
        Err(JournalError::NotARecord { .. })
    ));
    let newer = Lease {
        version: 2,
        ..lease("0000000000000002", gone())
    };
    journal.write(&newer).unwrap();
    let error = journal.read(&newer.id).unwrap_err().to_string();
    assert!(error.contains("version 2"), "{error}");
    std::fs::write(journal.path("long"), vec![b' '; 1 << 20]).unwrap();
    let error = journal.read("long").unwrap_err().to_string();
    assert!(error.contains("too long"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_file_in_the_journal_does_harm(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        cut in 0_usize..2000,
        flip in (0_usize..2000, any::<u8>()),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let journal = journal(dir.path());
        let id = "0123456789abcdef";
        journal.write(&lease(id, ProcessId::own())).unwrap();
        let mut text = std::fs::read(journal.path(id)).unwrap();
        text.truncate(cut.max(1));
        if let Some(byte) = text.get_mut(flip.0) {
            *byte ^= flip.1;
        }
        std::fs::write(journal.path(id), text).unwrap();
        std::fs::write(journal.path("bytes"), bytes).unwrap();
        let found = leftovers(journal.dir()).unwrap();
        prop_assert_eq!(found.len(), 2);
    }
}

/// What builds from before the journals were one have written.
#[test]
fn files_of_older_builds_are_read_and_written_again_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let id = "0123456789abcdef";
    let lease = r#"{
  "version": 1,
  "id": "0123456789abcdef",
  "server": {
    "address": {
      "socket": "/run/mysqld/mysqld.sock"
    },
    "process": {
      "pid": 7,
      "start_time_ticks": 8
    },
    "login": {
      "user": "root",
      "password_file": null,
      "defaults_file": "/root/.my.cnf"
    }
  },
  "change": {
    "kind": "general-log",
    "previous": {
      "general_log": false,
      "log_output": "FILE",
      "general_log_file": "/data/host.log"
    },
    "ours": {
      "general_log": true,
      "log_output": "FILE",
      "general_log_file": "/data/freezeframe-general-0123456789abcdef.log"
    },
    "file_here": "/data/freezeframe-general-0123456789abcdef.log",
    "bytes_max": 1,
    "free_bytes_min": 2,
    "connection": 9
  },
  "taken_us": 5,
  "deadline_us": 6,
  "owner": {
    "pid": 7,
    "start_time_ticks": 1
  }
}"#;
    let leases = journal(dir.path());
    let file = leases.dir().join(format!("{id}.lease.json"));
    std::fs::write(&file, lease).unwrap();
    let read = leases.read(id).unwrap().unwrap();
    leases.write(&read).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), lease);

    let fix = r#"{
  "version": 1,
  "id": "0123456789abcdef",
  "cause": "thp-compaction",
  "incident": null,
  "root": "/",
  "server": null,
  "steps": [
    {
      "says": "set it",
      "change": {
        "kind": "kernel-setting",
        "path": "/sys/kernel/mm/transparent_hugepage/defrag",
        "shown": "always [madvise] never",
        "before": "madvise",
        "after": "never",
        "instead": null
      }
    }
  ],
  "state": "applied",
  "taken_us": 5,
  "deadline_us": null,
  "ended_us": null,
  "notes": []
}"#;
    let fixes = FixJournal::open(&dir.path().join("fixes")).unwrap();
    let file = fixes.dir().join(format!("{id}.fix.json"));
    std::fs::write(&file, fix).unwrap();
    // What a killed process was about to write does not stand in the way.
    std::fs::write(fixes.dir().join(format!("{id}.tmp")), "{").unwrap();
    let read = fixes.list().unwrap().pop().unwrap().unwrap();
    fixes.lock(None).unwrap().write(&read).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), fix);
}
