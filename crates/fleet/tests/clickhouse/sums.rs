//! A store of an older version: where threads stand is added up, and the largest values of signals are known.

use std::time::{Duration, Instant};

use fleet::clickhouse::{Layout, Store};
use fleet::questions::question;
use fleet::sqlite::{self, Answer, Given, Initialised};
use fleet::{Batch, Token};

use super::both::{assert_alike, batches, now};
use super::live;

const NAME: &str = "sums";

fn init(store: &Store) -> Initialised {
    store.init(&Layout::Single, 1_795_000_000, "0.1.0").unwrap()
}

/// Sums that are there, and times in them, each once.
fn sums() -> String {
    live::run(
        "SELECT count(), sum(length(place)), sum(arraySum(stall_ns)), sum(arraySum(calm_ns)), sum(stacks) \
         FROM freezeframe_test_sums.stack_sums FINAL",
    )
}

/// Of rows of signals that are there the smallest and the largest value of each piece is known.
fn is_indexed() -> bool {
    let bytes = live::run(
        "SELECT sum(data_uncompressed_bytes) FROM system.data_skipping_indices \
         WHERE database = 'freezeframe_test_sums' AND table = 'signals' AND name = 'largest'",
    );
    bytes != "0"
}

#[test]
fn stacks_are_added_up_once_and_those_of_an_older_version_too() {
    let Some(store) = live::store(NAME) else {
        return;
    };
    assert_eq!(init(&store), Initialised::Made);
    let now = now();
    let mut sqlite = sqlite::Store::temporary().unwrap();
    let all = batches(now);
    let (earlier, later) = all.split_at(all.len() / 2);
    let send = |batches: &[Batch]| batches.iter().for_each(|one| store.insert(one).unwrap());
    for batch in &all {
        sqlite.insert(batch, now).unwrap();
    }
    let question = question("new-in-stalls").unwrap();
    let given = Given {
        since: (now - i64::from(question.days) * 86_400) * 1000,
        now: now * 1000,
        rows: 1000,
        ..Given::default()
    };
    let wanted = sqlite.ask(question, &given).unwrap();
    assert!(wanted.rows.len() > 5);
    let check = |what: &str| {
        let answer: Answer = store.ask(question, &given).unwrap();
        assert_alike(what, &answer, &wanted);
    };

    // The first half came before there were sums.
    send(earlier);
    let of_insert = sums();
    for statement in [
        "DROP TABLE freezeframe_test_sums.stack_sums",
        "DROP TABLE freezeframe_test_sums.places",
        "ALTER TABLE freezeframe_test_sums.signals DROP INDEX largest",
        "TRUNCATE TABLE freezeframe_test_sums.schema_version",
        "INSERT INTO freezeframe_test_sums.schema_version VALUES (2, now(), 'x')",
    ] {
        live::run(statement);
    }
    assert_eq!(init(&store), Initialised::Migrated(2));
    assert_eq!(sums(), of_insert);
    let end = Instant::now() + Duration::from_secs(60);
    while !is_indexed() {
        assert!(Instant::now() < end, "rows that were there have no index");
        std::thread::sleep(Duration::from_millis(50));
    }
    send(later);
    check("half of them by the migration");

    // Under other tokens, and of recorders that have not heard of it.
    let whole = sums();
    let again: Vec<Batch> = (0..)
        .zip(all.clone())
        .map(|(seq, mut batch)| {
            batch.token = Token {
                host_id: 1,
                boot: 99,
                seq,
            };
            batch
        })
        .collect();
    send(&again);
    assert_eq!(sums(), whole);
    check("all of them twice");
    live::run(
        "ALTER TABLE freezeframe_test_sums.stack_sums DELETE WHERE cityHash64(incident_id) % 3 = 0 \
         SETTINGS mutations_sync = 2",
    );
    assert_ne!(sums(), whole);
    assert_eq!(init(&store), Initialised::Unchanged);
    assert_eq!(sums(), whole);
    check("some of them after another init");
}
