//! Names that mean harm and numbers that mean nothing, in every text and every document.

use std::collections::HashMap;

use model::{
    Absent, ChainLink, FrameSide, FutexWait, Holder, HolderBy, KernelLockRow, LockCaller, LockRow,
    LockTable, NamedBy, Profile, ProfileCount, Reason, RunState, SnapshotThread, StackEnd,
    StackFrame, StackId, StackTable, Syscall, ThreadSession, ThreadSnapshot, UnnamedReason,
    WaitChain,
};
use report::evidence::{
    folded::{folded_profile, folded_stacks, parse_folded},
    groups::group_snapshots,
    locks_json::{LocksInput, locks_json},
    profile_diff::{RankBy, profile_diff},
    profile_document::ProfileDocument,
    profile_json::{diff_json, profile_json},
    stacks_json::{StacksInput, stacks_json},
};

use crate::evidence::{assert_fits, data, diff, locks, profile, stacks};

const NASTY: &str =
    "a;b,c\u{1b}[2J\n#0 0x1 in x\r\n\t\u{9b}31m\u{202e}<script>alert(1)</script>\"\\ 12\n\n";

fn names() -> Vec<String> {
    vec![
        NASTY.to_owned(),
        String::new(),
        " ".to_owned(),
        "\n".to_owned(),
        "_[k]".to_owned(),
        "std::vector<".repeat(500) + &">".repeat(500) + "::f",
        "日本語".repeat(40),
    ]
}

fn book() -> (StackTable, Vec<StackId>) {
    let mut book = StackTable::default();
    let names = names();
    let frames: Vec<StackFrame> = names
        .iter()
        .flat_map(|name| {
            names.iter().map(move |image| StackFrame {
                name: name.clone(),
                image: image.clone(),
                side: if image.is_empty() {
                    FrameSide::Kernel
                } else {
                    FrameSide::User
                },
                nameless: (image == "\n").then_some(UnnamedReason::NotMapped),
            })
        })
        .collect();
    let ids = [
        book.intern(frames.clone(), StackEnd::Broken),
        book.intern([], StackEnd::Overflow),
        book.intern(frames.into_iter().rev(), StackEnd::KernelOnly),
        StackId(u32::MAX),
    ];
    (book, ids.to_vec())
}

fn snapshot(stacks: &[StackId]) -> ThreadSnapshot {
    let mut snapshot = ThreadSnapshot {
        wall_us: u64::MAX,
        stopped_us: u64::MAX,
        left_out: u32::MAX,
        threads: Vec::new(),
        ..data::server().snapshot
    };
    for (index, name) in names().into_iter().enumerate() {
        for stack in stacks {
            snapshot.threads.push(SnapshotThread {
                tid: index as u32,
                name: name.clone(),
                state: RunState::Other,
                syscall: Some(Syscall {
                    number: i64::MIN,
                    name: name.clone(),
                    futex: Some(FutexWait {
                        address: u64::MAX,
                        operation: u32::MAX,
                        owner_word: 0,
                        pointer_owner: 0,
                        latch_owner: 0,
                    }),
                }),
                stack: *stack,
                switches: 0,
                sampled: false,
            });
        }
    }
    snapshot
}

fn sessions() -> HashMap<u32, ThreadSession> {
    let seconds = [f64::NAN, f64::INFINITY, -1.0, f64::MAX, 0.0];
    (0..5)
        .zip(names())
        .zip(seconds)
        .map(|((tid, name), seconds)| {
            let session = ThreadSession {
                connection: u64::MAX,
                command: name.clone(),
                state: name.clone(),
                statement_class: name,
                seconds,
            };
            (tid, session)
        })
        .collect()
}

fn a_profile(book: &StackTable, stacks: &[StackId], count: u64) -> (Profile, StackTable) {
    let counts = names()
        .into_iter()
        .flat_map(|thread| {
            stacks.iter().map(move |stack| ProfileCount {
                stack: *stack,
                thread: thread.clone(),
                server: thread.is_empty(),
                count,
            })
        })
        .collect();
    let profile = Profile {
        from: u64::MAX,
        to: 0,
        hz: u32::MAX,
        processors: 0,
        counts,
        lost: u64::MAX,
    };
    (profile, book.clone())
}

fn a_table(book: &StackTable, stack: StackId) -> (LockTable, StackTable) {
    let numbers = [f64::NAN, f64::INFINITY, -1.0, f64::MAX, 0.0, 1e-9, 1.0];
    let holder = |name: &str| Holder {
        tid: u32::MAX,
        name: name.to_owned(),
        by: HolderBy::Stack,
        snapshots: u32::MAX,
        stack,
        doing: name.to_owned(),
    };
    let rows: Vec<LockRow> = names()
        .iter()
        .zip(numbers)
        .map(|(name, number)| LockRow {
            name: name.clone(),
            named_by: NamedBy::Address,
            address: u64::MAX,
            waiters_max: u32::MAX,
            waits: u64::MAX,
            total_us: number,
            max_us: number,
            share: number,
            callers: vec![LockCaller {
                path: names(),
                stack,
                waits: u64::MAX,
                total_us: number,
                max_us: number,
            }],
            holders: vec![holder(name)],
        })
        .collect();
    let table = LockTable {
        from: 9,
        to: 0,
        locks: rows.clone(),
        conditions: rows,
        idle_threads: u32::MAX,
        chains: names()
            .iter()
            .map(|name| WaitChain {
                links: vec![ChainLink {
                    lock: name.clone(),
                    waiters: u32::MAX,
                    holder: Some(holder(name)),
                }],
                circular: false,
            })
            .collect(),
        kernel_locks: names()
            .iter()
            .zip(numbers)
            .map(|(name, number)| KernelLockRow {
                name: name.clone(),
                path: names(),
                waits: u64::MAX,
                total_us: number,
                max_us: number,
                server_waits: u64::MAX,
            })
            .collect(),
        absent: vec![Absent::new(NASTY, Reason::Failed, NASTY)],
        ..data::locks(true).0
    };
    (table, book.clone())
}

#[test]
fn texts_keep_to_their_lines() {
    let (book, ids) = book();
    let snapshots = [snapshot(&ids), snapshot(&ids)];
    for width in [40, 80, 200] {
        for count in [1, 2] {
            let text = stacks(&snapshots[..count], &book, &sessions(), width);
            assert_fits(&text, width);
            assert!(text.contains("\\x1b[2J\\n#0"), "{text}");
        }
        for count in [0, 1, u64::MAX] {
            let one = a_profile(&book, &ids, count);
            assert_fits(&profile(&one, width), width);
            for by in [RankBy::Own, RankBy::TotalTime] {
                assert_fits(&diff(&one, &data::profile(true), by, width), width);
                assert_fits(&diff(&data::profile(true), &one, by, width), width);
            }
        }
        assert_fits(&locks(&a_table(&book, ids[0]), width), width);
    }
}

#[test]
fn documents_stay_json() {
    let (book, ids) = book();
    let snapshots = [snapshot(&ids), snapshot(&ids)];
    let sessions = sessions();
    let input = StacksInput {
        pid: u32::MAX,
        snapshots: &snapshots,
        book: &book,
        sessions: &sessions,
        took: None,
    };
    let (one, _) = a_profile(&book, &ids, u64::MAX);
    let (calm, calm_book) = data::profile(false);
    let compared = profile_diff((&one, &book), (&calm, &calm_book), false, RankBy::OwnTime);
    let (table, _) = a_table(&book, ids[0]);
    let input_locks = LocksInput {
        pid: 1,
        table: &table,
        book: &book,
    };
    for text in [
        stacks_json(&input),
        profile_json(&one, &book, false, 0),
        diff_json(&compared, 0),
        locks_json(&input_locks),
        ProfileDocument::new(calm, calm_book).to_json(),
    ] {
        assert!(!text.replace('\n', "").chars().any(char::is_control));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(value.is_object() && value.get("error").is_none());
    }
}

#[test]
fn folded_lines_are_read_back() {
    let (book, ids) = book();
    let (one, _) = a_profile(&book, &ids, 3);
    let groups = group_snapshots(&[snapshot(&ids)], &book);
    for text in [
        folded_profile(&one, &book, false),
        folded_stacks(&groups, &book),
    ] {
        let (read, counts) = parse_folded(&text).unwrap();
        assert!(text.lines().count() >= counts.len());
        let frames = book.stack(ids[0]).frames.len();
        let deepest = counts
            .iter()
            .map(|row| read.stack(row.stack).frames.len())
            .max();
        assert_eq!(deepest, Some(frames), "no frame was split or lost");
        for line in text.lines() {
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }
}
