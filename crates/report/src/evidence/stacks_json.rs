//! Stacks of all threads as one JSON document. Fields are added over time; none is renamed,
//! removed or given another meaning.

use std::collections::HashMap;
use std::time::Duration;

use model::{
    FrameSide, FutexWait, StackId, StackTable, Syscall, ThreadSession, ThreadSnapshot,
    UnnamedReason,
};
use serde::Serialize;

use super::{
    futex::futex_operation_name,
    groups::{GroupThread, StackGroup, StackGroups, group_snapshots},
};
use crate::escape;

/// All threads of a process at one or several moments.
#[derive(Debug, Clone, Copy)]
pub struct StacksInput<'a> {
    /// Process id.
    pub pid: u32,
    /// The snapshots, oldest first.
    pub snapshots: &'a [ThreadSnapshot],
    /// Their stacks.
    pub book: &'a StackTable,
    /// The connections that threads work for, by thread id.
    pub sessions: &'a HashMap<u32, ThreadSession>,
    /// What unwinding and naming took, where somebody measured it.
    pub took: Option<CaptureCost<'a>>,
}

/// What came after the capture.
#[derive(Debug, Clone, Copy)]
pub struct CaptureCost<'a> {
    /// Time to unwind each snapshot, in their order.
    pub unwinding: &'a [Duration],
    /// Time to name the stacks of all.
    pub naming: Duration,
}

/// The document of `freezeframe stacks --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StacksDocument<'a> {
    /// Process id.
    pub pid: u32,
    /// How the stacks were taken: `bpf`, `proc` or `ptrace`; the first method of several. `null`
    /// without a snapshot.
    pub method: Option<&'static str>,
    /// Threads. Several snapshots: their sum.
    pub threads: u64,
    /// Threads whose stack is complete. Several snapshots: their sum.
    pub complete: u64,
    /// Wall time of the capture before unwinding and naming, milliseconds. Several snapshots: the
    /// longest.
    pub wall_ms: f64,
    /// The longest that any one thread was stopped, milliseconds. Several snapshots: the longest.
    pub stopped_ms: f64,
    /// Time to unwind the stacks after the capture, milliseconds, the reading of unwind tables at
    /// their first use included. Several snapshots: the longest. Only there when it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwind_ms: Option<f64>,
    /// Time to give the stacks of all snapshots their names, milliseconds, the reading of symbol
    /// tables included. Only there when it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub naming_ms: Option<f64>,
    /// Number of snapshots; only there when they are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u32>,
    /// Threads that were there and are not in the document; only there when there are any.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// Each snapshot; only there when they are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<SnapshotOut>,
    /// Threads with equal stacks, the largest group first.
    pub groups: Vec<GroupOut<'a>>,
}

/// One of several snapshots.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SnapshotOut {
    /// When it began, milliseconds since the first.
    pub at_ms: u64,
    /// Wall time of the capture, milliseconds.
    pub wall_ms: f64,
    /// The longest that any one thread was stopped, milliseconds.
    pub stopped_ms: f64,
    /// Time to unwind its stacks, milliseconds; only there when it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwind_ms: Option<f64>,
    /// Threads.
    pub threads: usize,
    /// Threads whose stack is complete.
    pub complete: usize,
}

impl SnapshotOut {
    fn of(snapshot: &ThreadSnapshot, unwinding: Option<Duration>, input: &StacksInput<'_>) -> Self {
        let complete =
            |thread: &&model::SnapshotThread| input.book.stack(thread.stack).end.is_complete();
        let first = input.snapshots.first().map_or(0, |first| first.at);
        Self {
            at_ms: snapshot.at.saturating_sub(first),
            wall_ms: snapshot.wall_us as f64 / 1000.0,
            stopped_ms: snapshot.stopped_us as f64 / 1000.0,
            unwind_ms: unwinding.map(milliseconds),
            threads: snapshot.threads.len(),
            complete: snapshot.threads.iter().filter(complete).count(),
        }
    }
}

/// Threads with the same stack.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupOut<'a> {
    /// Threads. Several snapshots: their sum.
    pub count: u64,
    /// `count` as the average of a snapshot; only there when they are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average: Option<f64>,
    /// The stack, innermost first.
    pub frames: Vec<FrameOut<'a>>,
    /// Why the stack ends early, as a word (`too-deep`); only there when it is not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<model::StackEnd>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_reason: Option<&'static str>,
    /// The threads, each once, by id.
    pub threads: Vec<ThreadOut<'a>>,
}

/// One function on a stack.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FrameOut<'a> {
    /// The function, without parameters; image and address where it has no name.
    pub name: &'a str,
    /// File name of its image; empty when unknown.
    pub image: &'a str,
    /// `kernel` or `user`.
    pub side: FrameSide,
    /// Why it has no name: `no-symbol`, `image-unreadable`, `not-mapped`, `kernel-hidden`; only
    /// there when it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nameless: Option<UnnamedReason>,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreadOut<'a> {
    /// Thread id in the host's pid namespace.
    pub tid: u32,
    /// Its name.
    pub name: &'a str,
    /// `running`, `sleeping`, `uninterruptible`, `stopped`, `dead` or `other`.
    pub state: model::RunState,
    /// The system call it is in; `null` when it runs, or when that cannot be read.
    pub syscall: Option<SyscallOut<'a>>,
    /// The futex it waits on; `null` when it waits on none.
    pub futex: Option<FutexOut>,
    /// The connection it works for; `null` when there is none, or when the server did not tell.
    pub session: Option<&'a ThreadSession>,
    /// Snapshots that show it in this group; only there when there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u32>,
    /// It was not switched in from the first to the last of them; only there when there are
    /// several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmoved: Option<bool>,
    /// Its stack is from a perf event, because it was on a processor; only there when it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sampled: bool,
}

/// A system call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SyscallOut<'a> {
    /// Its number on this architecture.
    pub number: i64,
    /// Its name; empty when it is not known.
    pub name: &'a str,
}

/// A futex.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FutexOut {
    /// Address of its word in the process, hexadecimal with `0x`.
    pub address: String,
    /// The operation with its flags, as given to futex(2).
    pub operation: u32,
    /// The operation in words: `FUTEX_WAIT_BITSET|FUTEX_PRIVATE_FLAG`.
    pub operation_name: String,
}

/// The document of one or several snapshots.
pub fn stacks_document<'a>(input: &StacksInput<'a>, groups: &'a StackGroups) -> StacksDocument<'a> {
    let snapshots = input.snapshots;
    let longest = |of: fn(&ThreadSnapshot) -> u64| {
        let us = snapshots.iter().map(of).max().unwrap_or(0);
        us as f64 / 1000.0
    };
    let several = groups.snapshots > 1;
    let unwinding = input.took.map_or(&[] as &[Duration], |took| took.unwinding);
    StacksDocument {
        pid: input.pid,
        method: snapshots.first().map(|snapshot| snapshot.method.name()),
        threads: groups.threads,
        complete: groups.complete,
        wall_ms: longest(|snapshot| snapshot.wall_us),
        stopped_ms: longest(|snapshot| snapshot.stopped_us),
        unwind_ms: unwinding.iter().max().copied().map(milliseconds),
        naming_ms: input.took.map(|took| milliseconds(took.naming)),
        samples: several.then_some(groups.snapshots),
        left_out: snapshots
            .iter()
            .map(|snapshot| u64::from(snapshot.left_out))
            .sum(),
        snapshots: snapshots
            .iter()
            .enumerate()
            .filter(|_| several)
            .map(|(n, snapshot)| SnapshotOut::of(snapshot, unwinding.get(n).copied(), input))
            .collect(),
        groups: groups
            .groups
            .iter()
            .map(|group| group_out(input, groups, group, several))
            .collect(),
    }
}

/// The document as text with a line end. Everything a terminal would obey is escaped.
pub fn stacks_json(input: &StacksInput<'_>) -> String {
    let groups = group_snapshots(input.snapshots, input.book);
    to_text(&stacks_document(input, &groups))
}

/// A document of evidence as text with a line end.
pub(crate) fn to_text(document: &impl Serialize) -> String {
    // Only maps with keys that are no strings fail, and there are none.
    let text = serde_json::to_string_pretty(document)
        .unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }).to_string());
    escape::json(&text) + "\n"
}

/// The frames of a stack, innermost first.
pub(crate) fn frames_out(book: &StackTable, stack: StackId) -> Vec<FrameOut<'_>> {
    book.frames_of(stack)
        .map(|frame| FrameOut {
            name: &frame.name,
            image: &frame.image,
            side: frame.side,
            nameless: frame.nameless,
        })
        .collect()
}

/// An address as it is written.
pub(crate) fn address(value: u64) -> String {
    format!("{value:#x}")
}

fn group_out<'a>(
    input: &StacksInput<'a>,
    groups: &StackGroups,
    group: &'a StackGroup,
    several: bool,
) -> GroupOut<'a> {
    let end = input.book.stack(group.stack).end;
    let cut = Some(end).filter(|end| !end.is_complete());
    GroupOut {
        count: group.count,
        average: several.then(|| groups.average(group.count)),
        frames: frames_out(input.book, group.stack),
        end: cut,
        end_reason: cut.map(model::StackEnd::to_text),
        threads: group
            .threads
            .iter()
            .map(|thread| thread_out(thread, input.sessions.get(&thread.tid), several))
            .collect(),
    }
}

pub(super) fn thread_out<'a>(
    thread: &'a GroupThread,
    session: Option<&'a ThreadSession>,
    several: bool,
) -> ThreadOut<'a> {
    ThreadOut {
        tid: thread.tid,
        name: &thread.name,
        state: thread.state,
        syscall: thread.syscall.as_ref().map(|call| SyscallOut {
            number: call.number,
            name: &call.name,
        }),
        futex: thread.syscall.as_ref().and_then(futex_out),
        session,
        samples: several.then_some(thread.snapshots),
        unmoved: several.then_some(thread.unmoved),
        sampled: thread.sampled,
    }
}

fn futex_out(call: &Syscall) -> Option<FutexOut> {
    let FutexWait {
        address: at,
        operation,
        ..
    } = call.futex?;
    Some(FutexOut {
        address: address(at),
        operation,
        operation_name: futex_operation_name(operation),
    })
}

/// To the microsecond.
fn milliseconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use model::StackEnd;

    use super::*;
    use crate::evidence::testing::{
        NASTY, kernel, session, snapshot, thread, unnamed, user, waiting,
    };

    #[test]
    fn the_whole_document() {
        let mut book = StackTable::default();
        let wait = book.intern(
            [
                kernel("futex_wait"),
                unnamed("libc.so.6+0x89e00", "libc.so.6"),
                user("main"),
            ],
            StackEnd::TooDeep,
        );
        let snapshots = [snapshot(vec![waiting(
            thread(4711, wait),
            0x7f3a_0010,
            0x189,
        )])];
        let input = StacksInput {
            pid: 4242,
            snapshots: &snapshots,
            book: &book,
            sessions: &HashMap::from([(4711, session(12, "SELECT", 4.5))]),
            took: None,
        };
        let expected = r#"{
  "pid": 4242,
  "method": "bpf",
  "threads": 1,
  "complete": 0,
  "wall_ms": 5.35,
  "stopped_ms": 0.0,
  "groups": [
    {
      "count": 1,
      "frames": [
        {
          "name": "futex_wait",
          "image": "[kernel]",
          "side": "kernel"
        },
        {
          "name": "libc.so.6+0x89e00",
          "image": "libc.so.6",
          "side": "user",
          "nameless": "no-symbol"
        },
        {
          "name": "main",
          "image": "mysqld",
          "side": "user"
        }
      ],
      "end": "too-deep",
      "end_reason": "deeper than the bytes that were copied",
      "threads": [
        {
          "tid": 4711,
          "name": "mysqld",
          "state": "sleeping",
          "syscall": {
            "number": 202,
            "name": "futex"
          },
          "futex": {
            "address": "0x7f3a0010",
            "operation": 393,
            "operation_name": "FUTEX_WAIT_BITSET|FUTEX_PRIVATE_FLAG|FUTEX_CLOCK_REALTIME"
          },
          "session": {
            "connection": 12,
            "command": "Query",
            "state": "Sending data",
            "statement_class": "SELECT",
            "seconds": 4.5
          }
        }
      ]
    }
  ]
}
"#;
        assert_eq!(stacks_json(&input), expected);
    }

    #[test]
    fn several_snapshots_have_sums_and_averages() {
        let mut book = StackTable::default();
        let wait = book.intern([user("wait")], StackEnd::Complete);
        let mut first = snapshot(vec![thread(1, wait), thread(2, wait)]);
        first.left_out = 3;
        let mut second = snapshot(vec![thread(1, wait)]);
        second.wall_us = 7000;
        second.stopped_us = 40;
        let snapshots = [first, second];
        let input = StacksInput {
            pid: 1,
            snapshots: &snapshots,
            book: &book,
            sessions: &HashMap::new(),
            took: Some(CaptureCost {
                unwinding: &[Duration::from_micros(9500), Duration::from_micros(1250)],
                naming: Duration::from_micros(48_001),
            }),
        };
        let value: serde_json::Value = serde_json::from_str(&stacks_json(&input)).unwrap();
        for (pointer, expected) in [
            ("/samples", 2.0),
            ("/threads", 3.0),
            ("/complete", 3.0),
            ("/wall_ms", 7.0),
            ("/stopped_ms", 0.04),
            ("/left_out", 3.0),
            ("/unwind_ms", 9.5),
            ("/naming_ms", 48.001),
            ("/snapshots/1/unwind_ms", 1.25),
            ("/groups/0/count", 3.0),
            ("/groups/0/average", 1.5),
            ("/groups/0/threads/0/samples", 2.0),
        ] {
            let found = value.pointer(pointer).and_then(serde_json::Value::as_f64);
            assert_eq!(found, Some(expected), "{pointer}");
        }
        assert_eq!(value["groups"][0]["threads"][0]["unmoved"], true);
        assert_eq!(value["groups"][0]["threads"][1]["unmoved"], false);
        assert!(value["groups"][0].get("end").is_none());
    }

    #[test]
    fn hostile_names_and_nothing() {
        let mut book = StackTable::default();
        let stack = book.intern([user(NASTY)], StackEnd::Complete);
        let mut nasty = thread(1, stack);
        nasty.name = NASTY.to_owned();
        let snapshots = [snapshot(vec![nasty])];
        let mut input = StacksInput {
            pid: 1,
            snapshots: &snapshots,
            book: &book,
            sessions: &HashMap::from([(1, session(1, NASTY, f64::NAN))]),
            took: None,
        };
        let text = stacks_json(&input);
        assert!(!text.replace('\n', "").chars().any(char::is_control));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["groups"][0]["frames"][0]["name"], NASTY);
        assert!(value["groups"][0]["threads"][0]["session"]["seconds"].is_null());
        input.snapshots = &[];
        let value: serde_json::Value = serde_json::from_str(&stacks_json(&input)).unwrap();
        assert!(value["method"].is_null());
        assert_eq!(value["groups"], serde_json::json!([]));
    }
}
