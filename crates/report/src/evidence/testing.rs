//! What the unit tests of evidence share.

use model::{
    FrameSide, FutexWait, RunState, SnapshotMethod, SnapshotThread, StackFrame, StackId, Syscall,
    ThreadSession, ThreadSnapshot, UnnamedReason,
};

pub(crate) fn user(name: &str) -> StackFrame {
    frame(name, "mysqld", FrameSide::User)
}

pub(crate) fn kernel(name: &str) -> StackFrame {
    frame(name, "[kernel]", FrameSide::Kernel)
}

pub(crate) fn unnamed(name: &str, image: &str) -> StackFrame {
    StackFrame {
        nameless: Some(UnnamedReason::NoSymbol),
        ..frame(name, image, FrameSide::User)
    }
}

fn frame(name: &str, image: &str, side: FrameSide) -> StackFrame {
    StackFrame {
        name: name.to_owned(),
        image: image.to_owned(),
        side,
        nameless: None,
    }
}

pub(crate) fn thread(tid: u32, stack: StackId) -> SnapshotThread {
    SnapshotThread {
        tid,
        name: "mysqld".to_owned(),
        state: RunState::Sleeping,
        syscall: None,
        stack,
        switches: 7,
        sampled: false,
    }
}

pub(crate) fn snapshot(threads: Vec<SnapshotThread>) -> ThreadSnapshot {
    ThreadSnapshot {
        at: 0,
        method: SnapshotMethod::Bpf,
        wall_us: 5350,
        stopped_us: 0,
        threads,
        left_out: 0,
    }
}

pub(crate) fn in_call(mut thread: SnapshotThread, number: i64, name: &str) -> SnapshotThread {
    thread.syscall = Some(Syscall {
        number,
        name: name.to_owned(),
        futex: None,
    });
    thread
}

pub(crate) fn waiting(thread: SnapshotThread, address: u64, operation: u32) -> SnapshotThread {
    let mut thread = in_call(thread, 202, "futex");
    if let Some(call) = &mut thread.syscall {
        call.futex = Some(FutexWait {
            address,
            operation,
            owner_word: 0,
            pointer_owner: 0,
            latch_owner: 0,
        });
    }
    thread
}

pub(crate) fn session(connection: u64, class: &str, seconds: f64) -> ThreadSession {
    ThreadSession {
        connection,
        command: "Query".to_owned(),
        state: "Sending data".to_owned(),
        statement_class: class.to_owned(),
        seconds,
    }
}

/// Names that mean harm to a terminal, a page or a format.
pub(crate) const NASTY: &str =
    "a;b,c\u{1b}[2J\n#0 0x1 in x\r\n\t\u{9b}31m\u{202e}<script>alert(1)</script>\"\\ 12";
