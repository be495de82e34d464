//! The difference of two readings of the digests, for tables that grow, are emptied and lose rows.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::HashMap;

use model::{QueryMethod, Reason};
use proptest::prelude::*;
use server::digests::{
    DigestKey, DigestReading, DigestRow, DigestSums, delta, fingerprint_of_digest_text,
};

const TEXTS: [&str; 4] = [
    "SELECT * FROM `t` WHERE `id` = ?",
    "SELECT * FROM `t` WHERE `id` IN (...)",
    "SHOW WARNINGS",
    "INSERT INTO `t` VALUES (...) /* , ... */",
];

fn key(schema: usize, digest: usize) -> DigestKey {
    DigestKey {
        schema: ["", "a", "b"][schema].to_owned(),
        digest: format!("{digest:032x}"),
    }
}

fn row(text: usize, count: u64, first_seen: &str) -> DigestRow {
    DigestRow {
        sums: DigestSums {
            count,
            wait: count * 3_000_000,
            wait_min: 1_000_000,
            wait_max: 9_000_000,
            errors: count / 2,
            rows_sent: count * 5,
            ..DigestSums::default()
        },
        first_seen: first_seen.to_owned(),
        text: TEXTS[text].to_owned(),
    }
}

fn reading(rows: impl IntoIterator<Item = (DigestKey, DigestRow)>) -> DigestReading {
    DigestReading {
        rows: rows.into_iter().collect(),
        ..DigestReading::default()
    }
}

/// What happens to one row between the readings.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// So many more.
    Grows(u64),
    /// Emptied, and so many since.
    Emptied(u64),
    /// Emptied, and nothing since.
    Gone,
    /// Made in between, with so many.
    New(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u64..1000).prop_map(Step::Grows),
        1 => (1_u64..2000).prop_map(Step::Emptied),
        1 => Just(Step::Gone),
        2 => (1_u64..1000).prop_map(Step::New),
    ]
}

proptest! {
    #[test]
    fn nothing_is_counted_twice_and_nothing_is_forgotten(
        steps in prop::collection::vec((0_usize..3, 0_usize..4, 1_u64..1000, step()), 0..40)
    ) {
        let mut before = HashMap::new();
        let mut after = HashMap::new();
        let mut expected: HashMap<String, u64> = HashMap::new();
        let mut emptied = false;
        for (number, (schema, text, old, step)) in steps.into_iter().enumerate() {
            let key = key(schema, number);
            let count = match step {
                Step::Grows(more) => {
                    before.insert(key.clone(), row(text, old, "t0"));
                    after.insert(key, row(text, old + more, "t0"));
                    more
                }
                Step::Emptied(since) => {
                    before.insert(key.clone(), row(text, old, "t0"));
                    after.insert(key, row(text, since, "t1"));
                    emptied = true;
                    since
                }
                Step::Gone => {
                    before.insert(key, row(text, old, "t0"));
                    emptied = true;
                    0
                }
                Step::New(count) => {
                    after.insert(key, row(text, count, "t1"));
                    count
                }
            };
            if count > 0 {
                *expected.entry(fingerprint_of_digest_text(TEXTS[text])).or_default() += count;
            }
        }
        let digest = delta(&reading(before), &reading(after));
        let told: HashMap<String, u64> = digest.classes.iter().map(|class| (class.fingerprint.clone(), class.count)).collect();
        prop_assert_eq!(&told, &expected);
        prop_assert_eq!(digest.count, expected.values().sum::<u64>());
        prop_assert_eq!(digest.method, QueryMethod::PerformanceSchema);
        prop_assert_eq!(digest.blind.iter().any(|absent| absent.reason == Reason::Gone), emptied);
        for class in &digest.classes {
            let databases: u64 = class.databases.iter().map(|database| database.count).sum();
            prop_assert!(databases <= class.count);
            prop_assert_eq!(&class.id, &sql::fingerprint_id(&class.fingerprint));
            let seconds = class.sum("Query_time").unwrap();
            prop_assert!((seconds - class.count as f64 * 3e-6).abs() < 1e-9, "{seconds}");
        }
        let times: Vec<f64> = digest.classes.iter().filter_map(|class| class.sum("Query_time")).collect();
        prop_assert!(times.is_sorted_by(|a, b| a >= b), "{:?}", times);
    }

    #[test]
    fn no_number_of_a_server_is_too_much(
        before in prop::collection::vec((any::<u64>(), any::<u64>(), "[a-z`.()?]{0,20}"), 0..8),
        after in prop::collection::vec((any::<u64>(), any::<u64>(), "[a-z`.()?]{0,20}"), 0..8),
        lost in any::<(u64, u64)>(),
        no_room in any::<(u64, u64)>(),
    ) {
        let table = |rows: &[(u64, u64, String)], lost, no_room: u64| DigestReading {
            rows: rows.iter().enumerate().map(|(number, (count, wait, text))| {
                let sums = DigestSums { count: *count, wait: *wait, errors: *wait, ..DigestSums::default() };
                (key(0, number), DigestRow { sums, first_seen: String::new(), text: text.clone() })
            }).collect(),
            no_room: Some(row(0, no_room / 8_000_000, "t")),
            lost,
            ..DigestReading::default()
        };
        let digest = delta(&table(&before, lost.0, no_room.0), &table(&after, lost.1, no_room.1));
        prop_assert!(digest.classes.iter().all(|class| class.count > 0));
    }

    #[test]
    fn any_text_has_a_fingerprint_that_is_its_own(text in "\\PC{0,80}") {
        let once = fingerprint_of_digest_text(&text);
        prop_assert_eq!(sql::fingerprint(&once), once);
    }
}

#[test]
fn a_full_table_is_told() {
    let mut before = reading([(key(1, 1), row(0, 10, "t"))]);
    before.no_room = Some(row(0, 100, "t"));
    before.lost = 100;
    let mut after = reading([(key(1, 1), row(0, 15, "t"))]);
    after.no_room = Some(row(0, 140, "t"));
    after.lost = 143;
    let digest = delta(&before, &after);
    assert_eq!((digest.count, digest.lost), (45, 3));
    let folded = digest.folded.unwrap();
    assert_eq!((folded.count, folded.classes_at_least), (40, 1));
    let limit = digest
        .blind
        .iter()
        .find(|absent| absent.reason == Reason::Limit)
        .unwrap();
    assert!(limit.detail.contains("40 statements"), "{limit:?}");
}

#[test]
fn an_extreme_is_told_when_the_window_moved_it() {
    let mut old = row(0, 10, "t");
    let mut new = row(0, 11, "t");
    let measure = |old: &DigestRow, new: &DigestRow| {
        let digest = delta(
            &reading([(key(0, 1), old.clone())]),
            &reading([(key(0, 1), new.clone())]),
        );
        let time = digest.classes[0]
            .measures
            .iter()
            .find(|measure| measure.name == "Query_time")
            .cloned();
        let time = time.unwrap();
        (time.min, time.max)
    };
    assert_eq!(measure(&old, &new), (None, None), "it was reached before");
    new.sums.wait_max = 2_000_000_000_000;
    assert_eq!(measure(&old, &new), (None, Some(2.0)));
    new.sums.wait_min = 1_000;
    old.sums.wait_max = new.sums.wait_max;
    assert_eq!(measure(&old, &new), (Some(1e-9), None));
}

#[test]
fn our_own_questions_are_left_out() {
    let mut own = row(0, 3, "t");
    own.text = "SELECT SCHEMA_NAME , `DIGEST` , `COUNT_STAR` , `SUM_TIMER_WAIT` , `MIN_TIMER_WAIT` , `MAX_TIMER_WAIT` \
        FROM `performance_schema` . `events_statements_summary_by_digest` LIMIT ?"
        .to_owned();
    let mut others = row(0, 3, "t");
    others.text =
        "SELECT `DIGEST` FROM `performance_schema` . `events_statements_summary_by_digest`"
            .to_owned();
    let digest = delta(
        &reading([]),
        &reading([(key(0, 1), own), (key(0, 2), others)]),
    );
    assert_eq!(
        digest.classes.len(),
        1,
        "another tool's question is the server's work"
    );
    assert_eq!(digest.count, 3);
}
