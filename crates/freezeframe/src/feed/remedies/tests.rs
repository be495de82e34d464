//! Records of fixes become rows: of which servers, when, and once.

use fleet::gateway::{Owner, check_owner};

use super::*;

const SINCE: i64 = 1_795_000_000;

fn record(id: u64) -> PublicRecord {
    PublicRecord {
        version: 1,
        id: format!("{id:016x}"),
        cause: "numa-swap".to_owned(),
        remedy: "sysctl vm.swappiness".to_owned(),
        kinds: vec![ChangeKind::KernelSetting],
        incident: None,
        of_host: true,
        server: None,
        since_us: SINCE * SECOND_US + 7,
        due_us: None,
        ended_us: None,
        outcome: Outcome::Held,
        proof: None,
        changed_us: SINCE * SECOND_US + 9,
    }
}

fn server(label: &str) -> HostRow {
    HostRow {
        host: recorder::host_name(),
        label: label.to_owned(),
        seen: Seconds(SINCE),
        ..HostRow::default()
    }
}

#[test]
fn a_fix_is_a_row_and_its_end_another() {
    let held = record(1);
    let made = rows(&held, Hash64(7)).unwrap();
    assert_eq!(made.len(), 1);
    assert_eq!(
        (made[0].at, made[0].action),
        (Seconds(SINCE), Action::Apply)
    );
    // Given back within the same second.
    let ended = PublicRecord {
        outcome: Outcome::GivenBack,
        ended_us: Some(SINCE * SECOND_US + 8),
        proof: Some(Said::Worked),
        ..held.clone()
    };
    let both = rows(&ended, Hash64(7)).unwrap();
    let told: Vec<_> = both
        .iter()
        .map(|row| (row.at.0, row.action, row.proof))
        .collect();
    assert_eq!(
        told,
        [
            (SINCE, Action::Apply, Proof::Proven),
            (SINCE + 1, Action::Undo, Proof::Pending)
        ]
    );
    // Each that says something new has a number of its own.
    let mut stages = BTreeSet::new();
    for proof in [
        None,
        Some(Said::Worked),
        Some(Said::NoEffect),
        Some(Said::Worse),
        Some(Said::NotProven),
    ] {
        for outcome in [Outcome::Held, Outcome::GivenBack] {
            stages.insert(stage(&PublicRecord {
                outcome,
                proof,
                ..held.clone()
            }));
        }
    }
    assert_eq!(stages.len(), 10);
    let left = PublicRecord {
        outcome: Outcome::Left,
        ..held.clone()
    };
    assert_eq!(stage(&left), stage(&held), "it is still in force");
    let refused = PublicRecord {
        outcome: Outcome::Refused,
        ..held.clone()
    };
    let ended = PublicRecord {
        kinds: vec![ChangeKind::EndSession],
        outcome: Outcome::Done,
        ..held
    };
    assert!(rows(&refused, Hash64(7)).is_none() && rows(&ended, Hash64(7)).is_none());
}

#[test]
fn a_fix_is_of_its_server_or_of_all_of_the_host() {
    let mut remedies = Remedies::new(Path::new("/nonexistent"), &[7; 32]);
    let mut cursor = Cursor::begin(0).unwrap();
    let labels = |cursor: &Cursor, of_host, server: Option<&str>| {
        let record = PublicRecord {
            of_host,
            server: server.map(str::to_owned),
            ..record(1)
        };
        servers_of(&record, &cursor.servers)
    };
    let elsewhere = HostRow {
        host: "elsewhere".to_owned(),
        ..server("3309")
    };
    remedies.saw(&elsewhere, &mut cursor);
    assert!(labels(&cursor, true, None).is_empty());
    remedies.saw(&server("3306"), &mut cursor);
    assert_eq!(labels(&cursor, false, None), ["3306"]);
    remedies.saw(&server("33070"), &mut cursor);
    assert_eq!(labels(&cursor, true, None), ["3306", "33070"]);
    assert_eq!(labels(&cursor, false, Some("33070")), ["33070"]);
    assert!(labels(&cursor, false, Some("3308")).is_empty());
    assert!(labels(&cursor, false, None).is_empty(), "it may be either");
    // One that was gone by then was not changed.
    let gone = HostRow {
        seen: Seconds(SINCE - 2 * UNSEEN_MAX),
        ..server("old")
    };
    remedies.saw(&gone, &mut cursor);
    assert_eq!(labels(&cursor, true, None), ["3306", "33070"]);
    assert!(labels(&cursor, false, Some("old")).is_empty());
    // What was seen earlier says nothing new.
    let earlier = HostRow {
        seen: Seconds(1),
        ..server("3306")
    };
    remedies.saw(&earlier, &mut cursor);
    assert_eq!(cursor.servers["3306"], SINCE);
}

#[test]
fn it_is_told_once_and_again_when_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let public = dir.path().join(PUBLIC_BESIDE);
    remedy::fix::make_public_directory(&public).unwrap();
    let (mut spool, state) = (
        Spool::open(&dir.path().join("fleet"), 1 << 20).unwrap(),
        FeedState::default(),
    );
    let mut cursor = Cursor::begin(0).unwrap();
    let put = |record: &PublicRecord| {
        let path = public.join(format!("{}.remedy.json", record.id));
        std::fs::write(path, serde_json::to_vec(record).unwrap()).unwrap();
    };
    let fed = |cursor: &mut Cursor, spool: &mut Spool| {
        let mut remedies = Remedies::new(dir.path(), &[7; 32]);
        remedies.dirs[1] = dir.path().join("missing");
        remedies.saw(&server("3306"), cursor);
        let moved = remedies.turn(cursor, spool, &state).unwrap();
        (moved, spool.size().0)
    };
    put(&record(1));
    std::fs::write(public.join("0.remedy.json"), "{").unwrap();
    assert_eq!(fed(&mut cursor, &mut spool), (true, 1));
    assert_eq!(fed(&mut cursor, &mut spool), (false, 1));
    // A gateway takes it of this host, and of no other.
    let batch = spool.read(&spool.first().unwrap()).unwrap().unwrap();
    let owner = |name: &str| Owner {
        name: name.to_owned(),
        ..Owner::default()
    };
    assert_eq!(
        check_owner(&batch, &owner(&recorder::host_name()), &[7; 32]),
        Ok(())
    );
    assert!(check_owner(&batch, &owner("another"), &[7; 32]).is_err());
    // A cursor that is lost costs no second row: it is the same batch.
    let mut lost = Cursor::begin(0).unwrap();
    assert_eq!(fed(&mut lost, &mut spool), (true, 1));
    put(&PublicRecord {
        outcome: Outcome::GivenBack,
        ended_us: Some((SINCE + 60) * SECOND_US),
        ..record(1)
    });
    assert_eq!(fed(&mut cursor, &mut spool), (true, 2));
    // It is forgotten with its file.
    std::fs::remove_file(public.join(format!("{:016x}.remedy.json", 1))).unwrap();
    assert_eq!(fed(&mut cursor, &mut spool), (true, 2));
    assert!(cursor.remedies.is_empty());
    assert!(state.now().lost[2] > 0);
}
