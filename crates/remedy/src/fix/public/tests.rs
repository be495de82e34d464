//! What a record has of a fix, and what is done about files and directories that are not as they should be.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use super::write::write;
use super::*;
use crate::fix::{Change, DoneStep, Entry, FixJournal, KernelSetting, Root, State, System, plan};
use crate::journal::Record;

const ID: &str = "00112233445566aa";

/// An entry as `fix` makes it, with what must not be told in all its texts.
fn entry(dir: &Path) -> Entry {
    let step = |remedy: &str| DoneStep {
        says: "sets s3cret".to_owned(),
        change: Change::KernelSetting(KernelSetting {
            path: "/proc/sys/vm/s3cret".into(),
            before: "s3cret".to_owned(),
            after: "s3cret".to_owned(),
            shown: "s3cret".to_owned(),
            instead: None,
        }),
        remedy: remedy.to_owned(),
    };
    Entry {
        version: Entry::FORM.version,
        id: ID.to_owned(),
        cause: "numa-swap".to_owned(),
        incident: Some("/s3cret/3306-20261120T233015.123Z.frame".to_owned()),
        root: "/s3cret".into(),
        server: None,
        steps: vec![step("sysctl vm.swappiness"), step("sysctl vm.swappiness")],
        state: State::Applied,
        taken_us: 1_795_000_000_000_000,
        deadline_us: Some(1_795_000_600_000_000),
        ended_us: None,
        notes: Vec::new(),
        asked_by: Some(1000),
        boot: Some("s3cret".to_owned()),
        public: Some(PublicPlace {
            dir: dir.to_owned(),
            server: Some("3306".to_owned()),
        }),
        proof: None,
    }
}

fn own_dir() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("remedies");
    make_public_directory(&path).unwrap();
    (dir, path)
}

fn read(dir: &Path) -> PublicRecords {
    read_public(dir).unwrap().unwrap()
}

#[test]
fn a_record_has_what_was_done_and_no_value_and_follows_the_journal() {
    let (dir, public) = own_dir();
    let journal = FixJournal::open(&dir.path().join("fixes")).unwrap();
    let locked = journal.lock(None).unwrap();
    let mut entry = entry(&public);
    entry.state = State::Applying;
    locked.write(&entry).unwrap();
    assert_eq!(
        read(&public),
        PublicRecords::default(),
        "nothing is made yet"
    );
    entry.state = State::Applied;
    locked.write(&entry).unwrap();
    assert!(locked.untold().is_none());
    let file = public.join(format!("{ID}.remedy.json"));
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    let record = read(&public).records.remove(0);
    assert_eq!(record.id, ID);
    assert_eq!(record.cause, "numa-swap");
    assert_eq!(record.remedy, "sysctl vm.swappiness");
    assert_eq!(record.kinds, [ChangeKind::KernelSetting]);
    assert_eq!(
        record.incident.as_deref(),
        Some("3306-20261120T233015.123Z")
    );
    assert_eq!((record.of_host, record.server), (true, None));
    assert_eq!(record.since_us, entry.taken_us);
    assert_eq!(record.due_us, entry.deadline_us);
    assert_eq!((record.outcome, record.ended_us), (Outcome::Held, None));
    for (state, notes, outcome) in [
        (
            State::Left,
            vec!["vm.s3cret: set to s3cret".to_owned()],
            Outcome::Left,
        ),
        (State::Undone, Vec::new(), Outcome::GivenBack),
        (State::Undone, vec!["s3cret".to_owned()], Outcome::Refused),
        (State::Done, Vec::new(), Outcome::Done),
    ] {
        (entry.state, entry.notes) = (state, notes);
        // The clock was set back.
        entry.ended_us = Some(entry.taken_us - 1);
        entry.proof = Some(Proof::Worked);
        locked.write(&entry).unwrap();
        let record = read(&public).records.remove(0);
        assert_eq!(
            (record.outcome, record.proof),
            (outcome, Some(Proof::Worked))
        );
        assert!(!fs::read_to_string(&file).unwrap().contains("s3cret"));
    }
    assert_eq!(fs::read_dir(&public).unwrap().count(), 1);
}

#[test]
fn a_remedy_is_called_by_its_settings_and_never_by_odd_text() {
    let told = |remedies: &[&str]| {
        let mut entry = entry(Path::new("/x"));
        let step = entry.steps.remove(0);
        entry.steps = remedies
            .iter()
            .map(|remedy| DoneStep {
                remedy: (*remedy).to_owned(),
                ..step.clone()
            })
            .collect();
        let record = PublicRecord::of(&entry, None).unwrap();
        assert_eq!(record.problem(), None);
        record.remedy
    };
    assert_eq!(
        told(&["sysctl a", "sysctl b", "sysctl a"]),
        "sysctl a + sysctl b"
    );
    assert_eq!(told(&["set-global x'; DROP", ""]), "set-global + unnamed");
    assert_eq!(told(&["a", "b", "c", "d", "e", "f", "g"]), "7 changes");
    // What planned steps are called, of every cause of the program.
    let root = tempfile::tempdir().unwrap();
    let system = System::observe(&Root::at(root.path()), None, None);
    let fix = model::Fix {
        action: model::FixAction::Sysctl {
            key: "vm.swappiness".to_owned(),
            value: model::FixValue::Exactly("s3cret".to_owned()),
        },
        when: model::FixWhen::Both,
        from: None,
        risk: None,
        consent: None,
        mysql: model::Releases::ALL,
        mariadb: model::Releases::ALL,
    };
    let steps = plan(&[fix], &system).steps;
    assert!(!steps.is_empty());
    assert!(
        steps
            .iter()
            .all(|step| step.remedy == "sysctl vm.swappiness")
    );
}

#[test]
fn what_is_in_the_way_is_replaced_and_never_followed() {
    let (dir, public) = own_dir();
    let victim = dir.path().join("victim");
    fs::write(&victim, "whole").unwrap();
    let record = PublicRecord::of(&entry(&public), None).unwrap();
    let name = format!("{ID}.remedy.json");
    symlink(&victim, public.join(&name)).unwrap();
    symlink(&victim, public.join(format!(".{ID}.new"))).unwrap();
    // A link is none of the reader's either.
    let found = read(&public);
    assert_eq!((found.records.len(), found.skipped.len()), (0, 1));
    write(&public, &record).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "whole");
    assert!(!public.join(&name).is_symlink());
    assert_eq!(read(&public).records, std::slice::from_ref(&record));
    // A directory cannot be replaced: the record is missing, and nothing else happens.
    fs::remove_file(public.join(&name)).unwrap();
    fs::create_dir_all(public.join(&name).join("x")).unwrap();
    assert!(matches!(
        write(&public, &record),
        Err(PublicError::Io { .. })
    ));
    assert!(!public.join(format!(".{ID}.new")).exists());
    let odd = PublicRecord {
        id: "../../../../etc/x".to_owned(),
        ..record
    };
    assert!(write(&public, &odd).is_err());
}

#[test]
fn nothing_is_written_where_others_may_write_and_nothing_is_made() {
    let (dir, public) = own_dir();
    let record = PublicRecord::of(&entry(&public), None).unwrap();
    let missing = dir.path().join("missing");
    assert!(matches!(
        write(&missing, &record),
        Err(PublicError::Missing(_))
    ));
    assert!(read_public(&missing).unwrap().is_none());
    assert!(!missing.exists());
    let link = dir.path().join("link");
    symlink(&public, &link).unwrap();
    assert!(write(&link, &record).is_err());
    assert!(read_public(&link).is_err());
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    for open in [0o770, 0o1777] {
        mode(&public, open);
        assert!(matches!(
            write(&public, &record),
            Err(PublicError::NotTrusted(_))
        ));
        assert!(matches!(
            read_public(&public),
            Err(PublicError::NotTrusted(_))
        ));
    }
    // As the packages have it: the group reads.
    mode(&public, 0o750);
    write(&public, &record).unwrap();
    let file = public.join(format!("{ID}.remedy.json"));
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o644);
    mode(dir.path(), 0o777);
    assert!(write(&public, &record).is_err(), "it could be replaced");
    mode(dir.path(), 0o700);
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can give files away");
    }
    // A file of somebody else is none, as is one in a directory of somebody else.
    chown(&file, Some(4711), None).unwrap();
    let found = read(&public);
    assert_eq!((found.records.len(), found.skipped.len()), (0, 1));
    chown(&file, Some(0), None).unwrap();
    chown(&public, Some(4711), None).unwrap();
    assert!(matches!(
        write(&public, &record),
        Err(PublicError::NotTrusted(_))
    ));
    assert!(matches!(
        read_public(&public),
        Err(PublicError::NotTrusted(_))
    ));
}

#[test]
fn what_is_no_record_is_skipped_and_costs_no_other() {
    let (_dir, public) = own_dir();
    let record = PublicRecord::of(&entry(&public), None).unwrap();
    write(&public, &record).unwrap();
    let good = serde_json::to_string(&record).unwrap();
    let edited = |from: &str, to: &str| {
        assert!(good.contains(from), "{from} in {good}");
        good.replacen(from, to, 1)
    };
    let odd = [
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        "\u{0}".repeat(5000),
        format!("{good}{}", " ".repeat(BYTES_MAX)),
        // Of another fix than its name says.
        good.clone(),
        edited("\"version\":1", "\"version\":2"),
        edited("numa-swap", "numa swap"),
        edited("numa-swap", &"a".repeat(300)),
        edited("vm.swappiness", "vm.swappiness = 1"),
        edited("vm.swappiness", "vm.\\u001b[2J"),
        edited(
            "\"outcome\":\"held\"",
            "\"outcome\":\"held\",\"ended_us\":1",
        ),
        edited("1795000000000000", "-1"),
        edited("3306-2026", "../3306-2026"),
        edited(ID, "../../../etc/pass"),
    ];
    for (number, text) in odd.iter().enumerate() {
        fs::write(public.join(format!("{number:016x}.remedy.json")), text).unwrap();
    }
    rustix::fs::mknodat(
        rustix::fs::CWD,
        public.join("ffff.remedy.json"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    fs::write(public.join("notes.txt"), "of somebody").unwrap();
    let found = read(&public);
    assert_eq!(found.records, [record]);
    assert_eq!(found.skipped.len(), odd.len() + 1, "{:?}", found.skipped);
}

#[test]
fn the_oldest_records_go_and_nothing_else() {
    let (_dir, public) = own_dir();
    fs::write(public.join("notes.remedy.json"), "of somebody").unwrap();
    let mut record = PublicRecord::of(&entry(&public), None).unwrap();
    for number in 0..RECORDS_MAX + 3 {
        record.id = format!("{number:016x}");
        record.since_us += 1;
        if number + 3 < RECORDS_MAX {
            // As `write` does it, but for the sync.
            let path = public.join(format!("{}.remedy.json", record.id));
            fs::write(&path, serde_json::to_vec(&record).unwrap()).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        } else {
            write(&public, &record).unwrap();
        }
    }
    let found = read(&public);
    assert_eq!((found.records.len(), found.skipped.len()), (RECORDS_MAX, 1));
    assert_eq!(found.records.last().unwrap().id, record.id);
    // However many others are put there, looking ends.
    for number in 0..2 * RECORDS_MAX {
        fs::write(public.join(format!("x{number}.remedy.json")), "").unwrap();
    }
    let found = read(&public);
    assert!(found.records.len() + found.skipped.len() <= 2 * RECORDS_MAX + 1);
    assert!(
        found
            .skipped
            .iter()
            .any(|one| one.why.starts_with("more than"))
    );
}

#[test]
fn what_was_proven_is_told_and_not_taken_back_by_too_little() {
    let (dir, public) = own_dir();
    let fixes = dir.path().join("fixes");
    let proofs = |proof| crate::fix::note_proof(&fixes, ID, proof).unwrap();
    assert!(!proofs(Proof::Worked), "there is no journal");
    let journal = FixJournal::open(&fixes).unwrap();
    assert!(!proofs(Proof::Worked), "there is no such fix");
    journal.lock(None).unwrap().write(&entry(&public)).unwrap();
    for (proof, told) in [
        (Proof::NotProven, Proof::NotProven),
        (Proof::Worked, Proof::Worked),
        (Proof::NotProven, Proof::Worked),
        (Proof::Worse, Proof::Worse),
    ] {
        assert_eq!(proofs(proof), proof == told);
        assert_eq!(read(&public).records[0].proof, Some(told));
    }
    // Of a fix that nobody is told of, nothing is kept.
    let mut own = entry(&public);
    own.public = None;
    journal.lock(None).unwrap().write(&own).unwrap();
    assert!(!proofs(Proof::Worked));
}
