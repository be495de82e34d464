//! The speedscope export, read back as its format says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;

use model::{FrameSide, Profile, ProfileCount, StackEnd, StackFrame, StackTable};
use report::evidence::speedscope::speedscope;
use serde_json::Value;

const NASTY: &str = "evil\u{1b}[2J\n\"<script>;name";

fn sample() -> (Profile, StackTable) {
    let mut book = StackTable::default();
    let frame = |name: &str, image: &str, side| StackFrame {
        name: name.to_owned(),
        image: image.to_owned(),
        side,
        nameless: None,
    };
    let main = || frame("main", "mariadbd", FrameSide::User);
    let eval = || frame("Item::val_int", "mariadbd", FrameSide::User);
    let kernel = frame("compaction_alloc", "[kernel]", FrameSide::Kernel);
    let stall = book.intern([kernel, eval(), eval(), main()], StackEnd::Complete);
    let work = book.intern([eval(), main()], StackEnd::Complete);
    let nasty = book.intern([frame(NASTY, "", FrameSide::User)], StackEnd::Broken);
    let nothing = book.intern([], StackEnd::Refused);
    let count = |stack, thread: &str, count| ProfileCount {
        stack,
        thread: thread.to_owned(),
        server: true,
        count,
    };
    let counts = vec![
        count(stall, "mariadbd", 300),
        count(stall, "mariadbd", 40),
        count(work, "mariadbd", 600),
        count(work, "cron", 50),
        count(nasty, NASTY, 7),
        count(nothing, "", 3),
        count(work, "zero", 0),
    ];
    let profile = Profile {
        from: 1000,
        to: 11_000,
        hz: 100,
        processors: 2,
        counts,
        lost: 0,
    };
    (profile, book)
}

/// The profiles of a file by name: for each its unit, and the weight of each stack, written outermost first. Checks what
/// the format demands.
fn read(text: &str) -> BTreeMap<String, (String, BTreeMap<String, u64>)> {
    let file: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(
        file["$schema"],
        "https://www.speedscope.app/file-format-schema.json"
    );
    let frames = file["shared"]["frames"].as_array().unwrap();
    let name = |index: &Value| {
        let index = usize::try_from(index.as_u64().unwrap()).unwrap();
        frames.get(index).expect("a frame of the table")["name"]
            .as_str()
            .unwrap()
    };
    let profiles = file["profiles"].as_array().unwrap();
    assert!(file["activeProfileIndex"].as_u64().unwrap() < profiles.len() as u64);
    let profiles = profiles.iter().map(|profile| {
        assert_eq!(profile["type"], "sampled");
        let samples = profile["samples"].as_array().unwrap();
        let weights = profile["weights"].as_array().unwrap();
        assert_eq!(samples.len(), weights.len());
        let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
        for (sample, weight) in samples.iter().zip(weights) {
            let names: Vec<&str> = sample.as_array().unwrap().iter().map(name).collect();
            *stacks.entry(names.join(";")).or_default() += weight.as_u64().unwrap();
        }
        let (start, end) = (&profile["startValue"], &profile["endValue"]);
        let length = end.as_u64().unwrap() - start.as_u64().unwrap();
        assert_eq!(stacks.values().sum::<u64>(), length);
        let text = |key: &str| profile[key].as_str().unwrap().to_owned();
        (text("name"), (text("unit"), stacks))
    });
    profiles.collect()
}

#[test]
fn weights_are_processor_time_and_stacks_begin_outside() {
    let (profile, book) = sample();
    let found = read(&speedscope(&profile, &book, "x"));
    // At 100 Hz a sample is 10 ms.
    let ms = |count: u64| count * 10_000_000;
    let (unit, all) = &found["all threads"];
    assert_eq!(unit, "nanoseconds");
    assert_eq!(all.len(), 4);
    assert_eq!(
        all["main;Item::val_int;Item::val_int;compaction_alloc"],
        ms(340)
    );
    assert_eq!(all["main;Item::val_int"], ms(650));
    assert_eq!(all[""], ms(3));
    assert_eq!(all.values().sum::<u64>(), ms(1000));
    // Each name of threads has its own, and together they are all.
    assert_eq!(found.len(), 1 + 4);
    assert_eq!(found["mariadbd"].1["main;Item::val_int"], ms(600));
    assert_eq!(found["cron"].1["main;Item::val_int"], ms(50));
    let of_threads = found.iter().filter(|(name, _)| *name != "all threads");
    let sum: u64 = of_threads
        .flat_map(|(_, (_, stacks))| stacks.values())
        .sum();
    assert_eq!(sum, ms(1000));
}

#[test]
fn frames_are_listed_once_with_their_image() {
    let (profile, book) = sample();
    let file: Value = serde_json::from_str(&speedscope(&profile, &book, "x")).unwrap();
    let frames = file["shared"]["frames"].as_array().unwrap();
    let mut named: Vec<(&str, Option<&str>)> = frames
        .iter()
        .map(|frame| (frame["name"].as_str().unwrap(), frame["file"].as_str()))
        .collect();
    named.sort_unstable();
    assert_eq!(named.len(), 4);
    assert!(named.contains(&("main", Some("mariadbd"))));
    assert!(named.contains(&("compaction_alloc", Some("[kernel]"))));
    // Not known is not said.
    assert!(
        named
            .iter()
            .any(|(name, image)| name.contains("script") && image.is_none())
    );
}

#[test]
fn samples_without_a_rate_are_counted() {
    let (mut profile, book) = sample();
    profile.hz = 0;
    let found = read(&speedscope(&profile, &book, "x"));
    let (unit, all) = &found["all threads"];
    assert_eq!(unit, "none");
    assert_eq!(all.values().sum::<u64>(), 1000);
}

#[test]
fn odd_profiles_are_files_too() {
    let (mut profile, book) = sample();
    for row in &mut profile.counts {
        row.count = u64::MAX;
    }
    // All numbers stay exact for a reader in JavaScript.
    let found = read(&speedscope(&profile, &book, NASTY));
    assert!(found["all threads"].1.values().sum::<u64>() <= 1 << 53);
    profile.counts.clear();
    let found = read(&speedscope(&profile, &book, ""));
    assert_eq!(found.len(), 1);
    assert!(found["all threads"].1.is_empty());
}

#[test]
fn nothing_in_it_moves_a_cursor() {
    let (profile, book) = sample();
    let text = speedscope(&profile, &book, NASTY);
    let controls = text.trim_end().chars().filter(|c| c.is_control());
    assert_eq!(controls.count(), 0);
}
