//! `stacks` of programs whose stacks are known.

use std::path::{Path, PathBuf};

use serde_json::Value;
use testbed::build_victim;

use crate::tool::{Known, compile, frames_in, json, methods, text, user_frames, wait_until};

const SNAPSHOTS: u64 = 8;

fn snapshots(pid: &str, method: &str) -> Value {
    let samples = SNAPSHOTS.to_string();
    let document = json(&[
        "stacks",
        "--pid",
        pid,
        "--json",
        "--method",
        method,
        "--samples",
        &samples,
        "--interval",
        "20ms",
    ]);
    assert_eq!(document["method"], method);
    assert_eq!(document["pid"].to_string(), pid);
    assert_eq!(document["samples"], SNAPSHOTS);
    assert_eq!(document["stopped_ms"], 0.0);
    consistent(&document);
    document
}

/// Numbers that have to agree, and a reason for every stack that is cut.
fn consistent(document: &Value) {
    let groups = document["groups"].as_array().unwrap();
    let sum = |wanted: &dyn Fn(&Value) -> bool| -> u64 {
        let groups = groups.iter().filter(|group| wanted(group));
        groups.map(|group| group["count"].as_u64().unwrap()).sum()
    };
    assert_eq!(document["threads"], sum(&|_| true));
    assert_eq!(document["complete"], sum(&|group| group["end"].is_null()));
    for group in groups {
        assert_eq!(
            group["end"].is_null(),
            group["end_reason"].is_null(),
            "{group}"
        );
        for frame in group["frames"].as_array().unwrap() {
            assert_ne!(frame["name"], "", "{group}");
        }
    }
}

/// Every snapshot shows these threads with a whole stack whose frames in the program are the
/// `expected` ones, and with this name.
fn stand(document: &Value, tids: &[u64], name: &str, image: &str, expected: &[String]) {
    for tid in tids {
        let mut samples = 0;
        for group in document["groups"].as_array().unwrap() {
            let threads = group["threads"].as_array().unwrap();
            let Some(thread) = threads.iter().find(|thread| thread["tid"] == *tid) else {
                continue;
            };
            assert_eq!(thread["name"], name);
            assert_eq!(frames_in(&group["frames"], image), expected, "{group}");
            assert_eq!(group["end"], Value::Null, "{group}");
            let frames = user_frames(&group["frames"]);
            assert!(
                frames.last().is_some_and(|last| last.contains("clone")),
                "not down to the thread's begin: {frames:?}"
            );
            samples += thread["samples"].as_u64().unwrap();
        }
        assert_eq!(samples, SNAPSHOTS, "thread {tid}, {name}");
    }
}

/// Every snapshot shows these threads with the `expected` frames in the program, or with the inner
/// ones of them and a reason.
fn begin(document: &Value, tids: &[u64], image: &str, expected: &[String]) {
    for group in document["groups"].as_array().unwrap() {
        let threads = group["threads"].as_array().unwrap();
        let of_them = |thread: &Value| tids.contains(&thread["tid"].as_u64().unwrap());
        if threads.iter().any(of_them) {
            let frames = frames_in(&group["frames"], image);
            assert!(!frames.is_empty(), "{group}");
            assert_eq!(frames, expected[..frames.len()], "{group}");
            assert_eq!(
                frames.len() == expected.len(),
                group["end"].is_null(),
                "{group}"
            );
        }
    }
}

/// The same source with other options of the compiler.
fn built_with(name: &str, dir: &Path, options: &[&str]) -> PathBuf {
    build_victim(name, dir).unwrap();
    let program = dir.join(name);
    compile(&dir.join(format!("{name}.c")), &program, options);
    program
}

fn frames_are_known(saves_frame_pointer: bool) {
    let option = if saves_frame_pointer {
        "-fno-omit-frame-pointer"
    } else {
        "-fomit-frame-pointer"
    };
    let known = Known::with("frames", &["4", "6"], &[], |name, dir| {
        Ok(built_with(name, dir, &[option]))
    });
    let pid = known.pid();
    let interrupted = [
        known.names("handler_frames"),
        known.names("interrupted_frames"),
    ]
    .concat();
    for method in methods() {
        let document = snapshots(&pid, method);
        let image = "frames";
        let stand = |role, frames: &[String]| {
            stand(&document, &known.tids(role), role, image, frames);
        };
        // Where nobody saved the frame pointer and /proc does not tell it, nobody knows where a
        // frame of such a size ends. Then the stack ends there, and says so.
        let alloca = known.names("alloca_frames");
        if *method == "proc" && !saves_frame_pointer {
            begin(&document, &known.tids("alloca"), image, &alloca);
        } else {
            stand("alloca", &alloca);
        }
        stand("plain", &known.names("plain_frames"));
        stand("signalled", &interrupted);
        // Threads that lived for a millisecond are there, and none of them has a wrong stack.
        let mut short_lived = 0;
        for group in document["groups"].as_array().unwrap() {
            let threads = group["threads"].as_array().unwrap();
            if threads.iter().any(|thread| thread["name"] == "short-lived")
                && frames_in(&group["frames"], image).contains(&"live_shortly")
            {
                let frames = frames_in(&group["frames"], image);
                assert_eq!(frames, ["live_shortly", "short_lived_thread"]);
                short_lived += threads.len();
            }
        }
        // Looking at them one by one, /proc may find each of them in motion.
        assert!(
            short_lived > 0 || *method == "proc",
            "none of the short-lived"
        );
    }
}

#[test]
fn without_frame_pointers_with_alloca_and_signals_while_threads_come_and_go() {
    frames_are_known(false);
}

#[test]
fn with_frame_pointers_too() {
    frames_are_known(true);
}

#[test]
fn waiters_for_a_mutex_and_idlers_deep_down() {
    let convoy = Known::start("convoy", &["12"]);
    let idlers = Known::start("idlers", &["20", "60"]);
    let depth = usize::try_from(idlers.number("depth")).unwrap();
    let deep = [
        idlers.names("inner_frames"),
        vec!["descend".to_owned(); depth],
        idlers.names("outer_frames"),
    ]
    .concat();
    for method in methods() {
        let document = snapshots(&convoy.pid(), method);
        assert_eq!(document["complete"], document["threads"]);
        let waiters = convoy.tids("waiters");
        let expected = convoy.names("waiter_frames");
        stand(&document, &waiters, "convoy-waiter", "convoy", &expected);
        let holder = [convoy.number("holder")];
        let expected = convoy.names("holder_frames");
        stand(&document, &holder, "convoy-holder", "convoy", &expected);
        // The largest group, with the futex that all of it waits on.
        let first = &document["groups"][0];
        assert_eq!(first["count"], 12 * SNAPSHOTS);
        let mutex = format!("{:#x}", convoy.number("mutex"));
        for thread in first["threads"].as_array().unwrap() {
            assert_eq!(thread["syscall"]["name"], "futex");
            assert_eq!(thread["futex"]["address"], mutex);
            assert_eq!(thread["state"], "sleeping");
            assert_eq!(thread["unmoved"], true);
        }
        let document = snapshots(&idlers.pid(), method);
        stand(&document, &idlers.tids("idlers"), "idler", "idlers", &deep);
    }
}

#[test]
fn sleepers_beside_threads_that_hold_the_memory_map() {
    let known = Known::start("mmap_hog", &["3", "20", "16"]);
    let frames = known.names("sleeper_frames");
    for method in methods() {
        let document = snapshots(&known.pid(), method);
        let sleepers = known.tids("sleepers");
        stand(&document, &sleepers, "sleeper", "mmap_hog", &frames);
    }
}

/// One read that the kernel gives to a worker of its own, in the process: from a pipe that stays
/// empty.
const URING: &str = r#"
#include "victim.h"
#include <linux/io_uring.h>
#include <sys/mman.h>
int main(void) {
    victim_begins("uring");
    struct io_uring_params p = {0};
    int ring = (int)syscall(__NR_io_uring_setup, 4, &p);
    int pipe_ends[2];
    static char byte;
    if (ring >= 0 && pipe(pipe_ends) == 0) {
        size_t bytes = p.sq_off.array + p.sq_entries * sizeof(unsigned);
        int protection = PROT_READ | PROT_WRITE;
        char *sq = mmap(NULL, bytes, protection, MAP_SHARED, ring, IORING_OFF_SQ_RING);
        struct io_uring_sqe *entry =
            mmap(NULL, sizeof *entry, protection, MAP_SHARED, ring, IORING_OFF_SQES);
        *entry = (struct io_uring_sqe){.opcode = IORING_OP_READ, .fd = pipe_ends[0],
            .addr = (uintptr_t)&byte, .len = 1, .flags = IOSQE_ASYNC};
        *(unsigned *)(sq + p.sq_off.array) = 0;
        atomic_store((_Atomic unsigned *)(sq + p.sq_off.tail), 1);
        syscall(__NR_io_uring_enter, ring, 1, 0, 0, NULL, 0);
    }
    line_begins();
    print_number("refused", ring < 0);
    line_ends();
    wait_for_the_end();
    _exit(0);
}
"#;

#[test]
fn a_worker_of_the_kernel_has_no_more_than_the_kernels_part() {
    let known = Known::with("uring", &[], &[], |name, dir| {
        // For the header that victims share.
        build_victim("idlers", dir)?;
        let (source, program) = (dir.join("uring.c"), dir.join(name));
        std::fs::write(&source, URING).unwrap();
        compile(&source, &program, &[]);
        Ok(program)
    });
    if known.number("refused") != 0 {
        eprintln!("skipped: io_uring is refused here");
        return;
    }
    let tasks = format!("/proc/{}/task", known.pid());
    wait_until("its worker", || {
        std::fs::read_dir(&tasks).unwrap().count() == 2
    });
    for method in methods() {
        let document = snapshots(&known.pid(), method);
        assert_eq!(document["threads"], 2 * SNAPSHOTS);
        assert_eq!(document["complete"], document["threads"], "{document}");
    }
}

#[test]
fn formats_for_other_tools() {
    let known = Known::start("convoy", &["12"]);
    let pid = known.pid();
    let waiter = known.names("waiter_frames");

    let pt_pmp = text(&["stacks", "--pid", &pid, "--pt-pmp"]);
    for line in pt_pmp.lines() {
        let (count, frames) = line.trim_start().split_once(' ').unwrap();
        assert!(count.parse::<u32>().is_ok(), "{line}");
        assert!(!frames.contains([' ', ';']), "{line}");
        assert_eq!(line.find(count).unwrap() + count.len(), 7, "{line}");
    }
    let first = pt_pmp.lines().next().unwrap();
    assert!(first.trim_start().starts_with("12 "), "{first}");
    assert!(
        first.contains(&format!(",{},", waiter.join(","))),
        "{first}"
    );

    let folded = text(&["stacks", "--pid", &pid, "--folded", "--no-kernel"]);
    let outermost_first: Vec<&str> = waiter.iter().rev().map(String::as_str).collect();
    let chain = format!(";{};", outermost_first.join(";"));
    let line = folded.lines().find(|line| line.contains(&chain)).unwrap();
    assert!(line.starts_with("convoy-waiter;"), "{line}");
    assert!(line.ends_with(" 12"), "{line}");
    assert!(!folded.contains("[k]"), "{folded}");

    let plain = text(&["stacks", "--pid", &pid, "--limit", "1"]);
    assert!(plain.contains("12 threads"), "{plain}");
    assert!(plain.contains("convoy-waiter ×12"), "{plain}");
    assert!(plain.contains("take_the_lock"), "{plain}");
}
