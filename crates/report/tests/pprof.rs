//! The pprof export, read with a decoder of its own and with `go tool pprof` where it is installed.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::{
    collections::{BTreeMap, HashMap},
    io::Read,
    path::PathBuf,
    process::Command,
};

use model::{FrameSide, Profile, ProfileCount, StackEnd, StackFrame, StackTable};
use report::evidence::pprof::{PprofOptions, pprof};

const NASTY: &str = "evil\u{1b}[2J\n\"<script>;name";

fn frame(name: &str, image: &str, side: FrameSide) -> StackFrame {
    StackFrame {
        name: name.to_owned(),
        image: image.to_owned(),
        side,
        nameless: None,
    }
}

fn sample() -> (Profile, StackTable) {
    let mut book = StackTable::default();
    let main = || frame("main", "mariadbd", FrameSide::User);
    let eval = || frame("Item::val_int", "mariadbd", FrameSide::User);
    let stall = book.intern(
        [
            frame("compaction_alloc", "[kernel]", FrameSide::Kernel),
            eval(),
            eval(),
            main(),
        ],
        StackEnd::Complete,
    );
    let work = book.intern([eval(), main()], StackEnd::Complete);
    let nasty = book.intern([frame(NASTY, "", FrameSide::User)], StackEnd::Broken);
    let nothing = book.intern([], StackEnd::Refused);
    let count = |stack, thread: &str, server, count| ProfileCount {
        stack,
        thread: thread.to_owned(),
        server,
        count,
    };
    let profile = Profile {
        from: 1000,
        to: 11_000,
        hz: 100,
        processors: 2,
        counts: vec![
            count(stall, "mariadbd", true, 300),
            count(stall, "mariadbd", true, 40),
            count(work, "mariadbd", true, 600),
            count(work, "cron", false, 50),
            count(nasty, NASTY, true, 7),
            count(nothing, "", true, 3),
            count(work, "zero", true, 0),
        ],
        lost: 0,
    };
    (profile, book)
}

fn options() -> PprofOptions {
    PprofOptions {
        wall_at_zero_ms: 1_715_483_525_120,
        build_ids: HashMap::from([("mariadbd".to_owned(), "0badc0de".to_owned())]),
        server_only: false,
    }
}

/// Fields of a message by number: numbers, and bytes.
#[derive(Default, Debug)]
struct Message {
    numbers: BTreeMap<u64, u64>,
    bytes: BTreeMap<u64, Vec<Vec<u8>>>,
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return value;
        }
    }
    unreachable!()
}

fn decode(mut bytes: &[u8]) -> Message {
    let mut message = Message::default();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        match tag & 7 {
            0 => {
                let value = varint(&mut bytes);
                message.numbers.insert(tag >> 3, value);
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                message
                    .bytes
                    .entry(tag >> 3)
                    .or_default()
                    .push(value.to_vec());
                bytes = rest;
            }
            other => panic!("wire type {other}"),
        }
    }
    message
}

fn packed(bytes: &[u8]) -> Vec<u64> {
    let mut bytes = bytes;
    let mut out = Vec::new();
    while !bytes.is_empty() {
        out.push(varint(&mut bytes));
    }
    out
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(bytes)
        .read_to_end(&mut out)
        .unwrap();
    out
}

/// Samples as `thread: innermost < … = count, nanoseconds`.
fn samples(message: &Message) -> Vec<String> {
    let strings: Vec<String> = message.bytes[&6]
        .iter()
        .map(|text| String::from_utf8(text.clone()).unwrap())
        .collect();
    let by_id = |field: u64| -> BTreeMap<u64, Message> {
        let all = message.bytes.get(&field).into_iter().flatten();
        all.map(|bytes| decode(bytes))
            .map(|message| (message.numbers[&1], message))
            .collect()
    };
    let (mappings, locations, functions) = (by_id(3), by_id(4), by_id(5));
    let place = |id: &u64| {
        let location = &locations[id];
        let line = decode(&location.bytes[&4][0]);
        let function = &functions[&line.numbers[&1]];
        let image = location.numbers.get(&2).map_or("", |mapping| {
            strings[mappings[mapping].numbers[&5] as usize].as_str()
        });
        format!("{}@{image}", strings[function.numbers[&2] as usize])
    };
    message.bytes[&2]
        .iter()
        .map(|bytes| {
            let sample = decode(bytes);
            let label = decode(&sample.bytes[&3][0]);
            assert_eq!(strings[label.numbers[&1] as usize], "thread");
            let thread = label
                .numbers
                .get(&2)
                .map_or("", |text| &strings[*text as usize]);
            let places: Vec<String> = packed(&sample.bytes[&1][0]).iter().map(place).collect();
            format!(
                "{thread}: {} = {:?}",
                places.join(" < "),
                packed(&sample.bytes[&2][0])
            )
        })
        .collect()
}

#[test]
fn what_is_written_is_what_was_seen() {
    let (profile, book) = sample();
    let message = decode(&unzipped(&pprof(&profile, &book, &options())));
    assert_eq!(
        samples(&message),
        [
            "mariadbd: compaction_alloc@[kernel] < Item::val_int@mariadbd < Item::val_int@mariadbd \
             < main@mariadbd = [340, 3400000000]",
            "cron: Item::val_int@mariadbd < main@mariadbd = [50, 500000000]",
            "mariadbd: Item::val_int@mariadbd < main@mariadbd = [600, 6000000000]",
            "evil\\x1b[2J\\n\"<script>;name: evil\\x1b[2J\\n\"<script>;name@ = [7, 70000000]",
            ":  = [3, 30000000]",
        ]
    );
    assert_eq!(message.numbers[&9], 1_715_483_526_120_000_000);
    assert_eq!(message.numbers[&10], 10_000_000_000);
    assert_eq!(message.numbers[&12], 10_000_000);
    let strings = &message.bytes[&6];
    assert!(strings[0].is_empty(), "the first string is empty");
    assert!(strings.iter().any(|text| text == b"0badc0de"));
    let only = PprofOptions {
        server_only: true,
        ..options()
    };
    let server = decode(&unzipped(&pprof(&profile, &book, &only)));
    assert!(!samples(&server).iter().any(|line| line.contains("cron")));
}

#[test]
fn nothing_and_absurd_counts_are_a_profile() {
    let (mut profile, book) = sample();
    for row in &mut profile.counts {
        row.count = u64::MAX;
    }
    let message = decode(&unzipped(&pprof(&profile, &book, &options())));
    for line in samples(&message) {
        assert!(
            line.ends_with("= [9223372036854775807, 9223372036854775807]"),
            "{line}"
        );
    }
    profile.counts.clear();
    profile.hz = 0;
    let message = decode(&unzipped(&pprof(&profile, &book, &PprofOptions::default())));
    assert!(!message.bytes.contains_key(&2));
    assert_eq!(message.bytes[&1].len(), 2);
}

struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn go_reads_it() {
    let usable = Command::new("go").args(["tool", "-n", "pprof"]).output();
    if !usable.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: go with its pprof is not installed");
        return;
    }
    let name = format!("pprof-{}", std::process::id());
    let dir = Dir(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name));
    std::fs::create_dir_all(&dir.0).unwrap();
    let (profile, book) = sample();
    std::fs::write(dir.0.join("p.pb.gz"), pprof(&profile, &book, &options())).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new("go")
            .args(["tool", "pprof"])
            .args(arguments)
            .arg("p.pb.gz")
            .current_dir(&dir.0)
            .env("PPROF_TMPDIR", &dir.0)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    };
    let top = run(&["-top", "-sample_index=samples"]);
    let line = |name: &str| {
        let found = top.lines().find(|line| line.ends_with(name));
        found
            .unwrap_or_else(|| panic!("{name} in {top}"))
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert!(top.contains("Type: samples"), "{top}");
    assert!(top.contains("of 1000 total"), "{top}");
    assert_eq!(line("Item::val_int")[..2], ["650", "65.00%"]);
    assert_eq!(line("compaction_alloc")[3..5], ["340", "34.00%"]);
    assert_eq!(line("main")[3], "990");
    let tags = run(&["-tags", "-sample_index=samples"]);
    assert!(tags.contains("thread: Total 997"), "{tags}");
}
