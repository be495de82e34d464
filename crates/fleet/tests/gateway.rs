//! A gateway's journal, and whose rows a host may send.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use fleet::batch_bytes::{from_bytes, to_bytes};
use fleet::error::StoreError;
use fleet::from_incident::{IncidentRows, frame_id, host_id};
use fleet::gateway::{
    Added, Arrival, Foreign, GroupLimits, Journal, Narrowed, Owner, check_owner, days,
};
use fleet::row::{Day, FrameRow, Hash64, HealthRow, HostRow, Row, Seconds, StackFramesRow};
use fleet::sqlite::Store;
use fleet::tables::SCHEMA_VERSION;
use fleet::{Batch, Token};

use crate::incident::{SALT, incident, rows_of};

const ALL: GroupLimits = GroupLimits {
    batches: 1000,
    cells: 1_000_000,
    bytes: 1 << 30,
    days: 60,
};

/// A minute of a server, with a mark of its own.
fn minute(seq: u64, ts: i64) -> Batch {
    let mut batch = Batch::new(Token {
        host_id: 1,
        boot: 2,
        seq,
    });
    batch.push(&HealthRow {
        host_id: Hash64(1),
        ts: Seconds(ts),
        absent: vec![format!("mark {seq}")],
        ..HealthRow::default()
    });
    batch
}

fn arrival(seq: u64, ts: i64) -> Arrival {
    let batch = minute(seq, ts);
    Arrival {
        token: batch.token,
        bytes: to_bytes(&batch).unwrap(),
        days: days(&batch),
        cells: batch.cells(),
    }
}

fn seqs(journal: &mut Journal, limits: &GroupLimits) -> Vec<u64> {
    let group = journal.group(limits).unwrap();
    let batches = group.into_iter().flat_map(|group| group.batches);
    batches
        .map(|bytes| from_bytes(&bytes).unwrap().token.seq)
        .collect()
}

fn done(journal: &mut Journal, limits: &GroupLimits) {
    let group = journal.group(limits).unwrap().unwrap();
    journal.done(&group).unwrap();
}

fn open(dir: &Path) -> Journal {
    Journal::open(&dir.join("journal.db"), 1 << 20).unwrap()
}

#[test]
fn a_journal_keeps_each_batch_once_and_its_token_longer() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path());
    let first = [arrival(1, 60), arrival(2, 60), arrival(1, 60)];
    let added = journal.add(&first, 7).unwrap();
    assert_eq!(added, [Added::New, Added::New, Added::Known]);
    let waiting = journal.waiting().unwrap();
    let bytes = (first[0].bytes.len() + first[1].bytes.len()) as u64;
    assert_eq!(
        (waiting.batches, waiting.bytes, waiting.oldest_at),
        (2, bytes, Some(7))
    );
    // As after a kill.
    let mut journal = open(dir.path());
    assert_eq!(journal.waiting().unwrap(), waiting);
    assert_eq!(journal.add(&first[..1], 8).unwrap(), [Added::Known]);
    assert_eq!(seqs(&mut journal, &ALL), [1, 2]);
    done(&mut journal, &ALL);
    assert_eq!(journal.waiting().unwrap().batches, 0);
    let mut journal = open(dir.path());
    assert!(seqs(&mut journal, &ALL).is_empty());
    assert_eq!(journal.add(&first, 9).unwrap(), [Added::Known; 3]);
    assert_eq!(journal.waiting().unwrap().bytes, 0);
    let file = dir.path().join("journal.db").metadata().unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
}

/// A gateway that is killed between the store and its journal sends the same group again, whatever came meanwhile.
#[test]
fn a_group_stays_the_same_until_the_store_has_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path());
    journal.add(&[arrival(1, 60), arrival(2, 60)], 7).unwrap();
    let group = journal.group(&ALL).unwrap();
    journal.add(&[arrival(3, 60)], 7).unwrap();
    let small = GroupLimits { batches: 1, ..ALL };
    for limits in [&ALL, &small] {
        let mut journal = open(dir.path());
        assert_eq!(journal.group(limits).unwrap(), group);
    }
    let mut journal = open(dir.path());
    done(&mut journal, &ALL);
    assert_eq!(seqs(&mut journal, &ALL), [3]);
}

fn narrow(journal: &mut Journal) -> Narrowed {
    let group = journal.group(&ALL).unwrap().unwrap();
    journal.narrow(&group).unwrap()
}

#[test]
fn a_group_that_is_refused_is_halved_and_its_last_batch_set_aside() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path());
    let all: Vec<Arrival> = (1..=5).map(|seq| arrival(seq, 60)).collect();
    journal.add(&all, 7).unwrap();
    assert_eq!(narrow(&mut journal), Narrowed::Halved);
    // As after a kill.
    let mut journal = open(dir.path());
    assert_eq!(seqs(&mut journal, &ALL), [1, 2]);
    assert_eq!(narrow(&mut journal), Narrowed::Halved);
    assert_eq!(seqs(&mut journal, &ALL), [1]);
    assert_eq!(narrow(&mut journal), Narrowed::SetAside { lost: 0 });
    let mut journal = open(dir.path());
    assert_eq!(seqs(&mut journal, &ALL), [2, 3, 4, 5]);
    let waiting = journal.waiting().unwrap();
    let bytes: usize = all[1..].iter().map(|one| one.bytes.len()).sum();
    assert_eq!(
        (waiting.batches, waiting.bytes, waiting.aside),
        (4, bytes as u64, 1)
    );
    // Whoever did not hear the answer sends it again.
    assert_eq!(journal.add(&all[..1], 8).unwrap(), [Added::Known]);
    let one = journal.next_aside(0).unwrap().unwrap();
    assert_eq!(one.bytes, all[0].bytes);
    assert_eq!(journal.next_aside(one.id).unwrap(), Some(one.clone()));
    journal.forget_aside(&one).unwrap();
    assert_eq!(journal.next_aside(0).unwrap(), None);
    assert_eq!(journal.waiting().unwrap().aside, 0);
    done(&mut journal, &ALL);
    assert_eq!(journal.waiting().unwrap().batches, 0);
}

#[test]
fn what_is_set_aside_has_a_part_of_the_room() {
    let dir = tempfile::tempdir().unwrap();
    let all: Vec<Arrival> = (1..=3).map(|seq| arrival(seq, 60)).collect();
    let largest = all.iter().map(|one| one.bytes.len() as u64).max().unwrap();
    let mut journal = Journal::open(&dir.path().join("journal.db"), 8 * largest).unwrap();
    let mut lost = Vec::new();
    for one in &all {
        let added = journal.add(std::slice::from_ref(one), 7).unwrap();
        assert_eq!(added, [Added::New]);
        lost.push(narrow(&mut journal));
    }
    let wanted = [0, 0, 1].map(|lost| Narrowed::SetAside { lost });
    assert_eq!(lost, wanted);
    assert_eq!(journal.waiting().unwrap().aside, 2);
    let oldest = journal.next_aside(0).unwrap().unwrap();
    assert_eq!(oldest.bytes, all[1].bytes);
}

#[test]
fn a_group_is_within_its_limits_and_has_one_batch_at_least() {
    let group = |limits: GroupLimits| {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = open(dir.path());
        let day = 86_400;
        // The fourth is of a host whose clock is half a year behind.
        let all = [10, 11, 12, -170, 10].map(|days| 1_795_000_000 + days * day);
        let all: Vec<Arrival> = (1..).zip(all).map(|(seq, ts)| arrival(seq, ts)).collect();
        journal.add(&all, 7).unwrap();
        let mut groups = Vec::new();
        while journal.waiting().unwrap().batches > 0 {
            groups.push(seqs(&mut journal, &limits).len());
            done(&mut journal, &limits);
        }
        groups
    };
    assert_eq!(group(ALL), [3, 1, 1]);
    let days = 1000;
    assert_eq!(group(GroupLimits { days, ..ALL }), [5]);
    assert_eq!(
        group(GroupLimits {
            days,
            batches: 2,
            ..ALL
        }),
        [2, 2, 1]
    );
    assert_eq!(
        group(GroupLimits {
            days,
            bytes: 1,
            ..ALL
        }),
        [1; 5]
    );
    let cells = 2 * HealthRow::TABLE.columns.len();
    assert_eq!(group(GroupLimits { days, cells, ..ALL }), [2, 2, 1]);
}

#[test]
fn a_full_journal_takes_nothing_and_forgets_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.db");
    let size = arrival(1, 60).bytes.len() as u64;
    let mut journal = Journal::open(&path, 2 * size + size / 2).unwrap();
    let all = [1, 2, 3].map(|seq| arrival(seq, 60));
    let added = journal.add(&all, 7).unwrap();
    assert_eq!(added, [Added::New, Added::New, Added::Full]);
    assert_eq!(
        journal.add(&all, 7).unwrap(),
        [Added::Known, Added::Known, Added::Full]
    );
    assert_eq!(seqs(&mut journal, &ALL), [1, 2]);
    done(&mut journal, &ALL);
    assert_eq!(journal.add(&all[2..], 7).unwrap(), [Added::New]);
    assert_eq!(seqs(&mut journal, &ALL), [3]);
}

#[test]
fn what_is_no_journal_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("text");
    std::fs::write(
        &text,
        "no database, and longer than a page's head is, as it must be",
    )
    .unwrap();
    let store = dir.path().join("fleet.db");
    drop(Store::init(&store, 1, "1").unwrap());
    for path in [&text, &store] {
        let before = std::fs::read(path).unwrap();
        let opened = Journal::open(path, 1);
        assert!(
            matches!(opened, Err(StoreError::NotAJournal { .. })),
            "{path:?}"
        );
        assert_eq!(std::fs::read(path).unwrap(), before);
    }
}

#[test]
fn batches_of_many_hosts_come_to_a_store_at_once_and_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fleet.db");
    let (mut store, _) = Store::init(&path, 1, "1").unwrap();
    let all = |seqs: [u64; 3]| seqs.map(|seq| minute(seq, 60 * seq as i64));
    let told = |store: &mut Store, seqs| format!("{:?}", store.insert_all(&all(seqs), 1).unwrap());
    assert_eq!(told(&mut store, [1, 2, 3]), "[New, New, New]");
    assert_eq!(told(&mut store, [2, 3, 4]), "[Repeated, Repeated, New]");
}

fn owner(name: &str) -> Owner {
    Owner {
        name: name.to_owned(),
        ..Owner::default()
    }
}

fn recorded(host: &str) -> IncidentRows {
    rows_of(&incident(host), SALT).unwrap()
}

/// A minute as a recorder of this host makes it.
fn minutes(host: &str, salt: &[u8]) -> Batch {
    let mut batch = Batch::new(Token {
        host_id: host_id(salt, host, "").0,
        boot: 7,
        seq: 60,
    });
    let id = host_id(salt, host, "3306");
    batch.push(&HostRow {
        host_id: id,
        host: host.to_owned(),
        label: "3306".to_owned(),
        ..HostRow::default()
    });
    batch.push(&HealthRow {
        host_id: id,
        ts: Seconds(60),
        ..HealthRow::default()
    });
    batch
}

#[test]
fn a_host_sends_its_own_rows() {
    let own = recorded("db1");
    for batch in [own.evidence(), own.judgement(), minutes("db1", SALT)] {
        assert_eq!(check_owner(&batch, &owner("db1"), SALT), Ok(()));
        let foreign = check_owner(&batch, &owner("db2"), SALT);
        let wanted = Foreign::Host {
            of: "db2".to_owned(),
            found: "db1".to_owned(),
        };
        assert_eq!(foreign, Err(wanted));
        let also = Owner {
            also: vec!["db1".to_owned()],
            ..owner("watch")
        };
        assert_eq!(check_owner(&batch, &also, SALT), Ok(()));
        let any = Owner {
            any: true,
            ..owner("watch")
        };
        assert_eq!(check_owner(&batch, &any, SALT), Ok(()));
    }
    let other = minutes("db1", b"another salt, of another fleet..");
    let wanted = Err(Foreign::Salt("db1".to_owned()));
    assert_eq!(check_owner(&other, &owner("db1"), SALT), wanted);
}

/// Every way in which a host could write into what is another's.
#[test]
fn a_host_cannot_write_as_another() {
    let (own, other) = (recorded("db1"), recorded("db2"));
    let check = |batch: &Batch| check_owner(batch, &owner("db1"), SALT);
    // Rows of a server that it does not name.
    let mut batch = minutes("db1", SALT);
    batch.extend(&other.signals[..1]);
    assert_eq!(check(&batch), Err(Foreign::Unnamed("signals")));
    let mut batch = minutes("db1", SALT);
    batch.push(&other.incident);
    assert_eq!(check(&batch), Err(Foreign::Unnamed("incidents")));
    // Its own name with the other's id, which would also rename the other.
    let mut batch = minutes("db1", SALT);
    batch.push(&HostRow {
        host: "db1".to_owned(),
        ..other.host.clone()
    });
    assert_eq!(check(&batch), Err(Foreign::Salt("db1".to_owned())));
    // The other's next batch would be taken for one that is there.
    let mut batch = minutes("db1", SALT);
    batch.token.host_id = host_id(SALT, "db2", "").0;
    assert_eq!(check(&batch), Err(Foreign::Token("db1".to_owned())));
    batch.token.host_id = other.host.host_id.0;
    assert_eq!(check(&batch), Err(Foreign::Token("db1".to_owned())));
    // The other's incident under its own server.
    let mut batch = own.judgement();
    let mut incident = own.incident.clone();
    incident.incident_id = other.incident.incident_id;
    batch.push(&incident);
    assert_eq!(check(&batch), Err(Foreign::Id("incidents")));
    // What all share.
    let frame = FrameRow {
        frame_id: frame_id("mysqld", "do_command", ""),
        build_id: String::new(),
        offset: 0,
        module: "mysqld".to_owned(),
        function: "innocent".to_owned(),
        seen: Day(1),
    };
    let mut batch = minutes("db1", SALT);
    batch.push(&frame);
    assert_eq!(check(&batch), Err(Foreign::Id("frames")));
    let mut stack: StackFramesRow = own.stack_frames[0].clone();
    stack.frames.push(frame.frame_id);
    let mut batch = minutes("db1", SALT);
    batch.push(&stack);
    assert_eq!(check(&batch), Err(Foreign::Id("stack_frames")));
    // What says which version the tables have.
    let bytes = to_bytes(&with_version(&minutes("db1", SALT))).unwrap();
    let batch = from_bytes(&bytes).unwrap();
    assert_eq!(check(&batch), Err(Foreign::Table("schema_version")));
}

/// As someone who writes the bytes by hand.
fn with_version(batch: &Batch) -> Batch {
    struct Version;
    impl Row for Version {
        const TABLE: &'static fleet::table::Table = &SCHEMA_VERSION;
        fn values(&self) -> Vec<fleet::Value> {
            vec![
                fleet::Value::Unsigned(99),
                fleet::Value::Signed(1),
                fleet::Value::from("x"),
            ]
        }
    }
    let mut batch = batch.clone();
    batch.push(&Version);
    batch
}

#[test]
fn the_days_of_a_batch_are_those_that_tables_are_cut_by() {
    assert_eq!(days(&minute(1, 86_400 * 3 + 5)), Some((3, 3)));
    assert_eq!(days(&Batch::new(Token::default())), None);
    let made = recorded("db1");
    let (first, last) = days(&made.evidence()).unwrap();
    let onset = made.incident.onset.0.div_euclid(86_400_000);
    assert!(first <= onset && onset <= last && last - first < 2);
    assert_eq!(days(&made.judgement()), Some((onset, onset)));
}
