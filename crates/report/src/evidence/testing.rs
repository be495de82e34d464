//! What the unit tests of evidence share.

use model::{
    Frame, FutexWait, Method, Nameless, RunState, Side, StackId, Syscall, ThreadAt, ThreadSession,
    ThreadSnapshot,
};

pub(crate) fn user(name: &str) -> Frame {
    frame(name, "mysqld", Side::User)
}

pub(crate) fn kernel(name: &str) -> Frame {
    frame(name, "[kernel]", Side::Kernel)
}

pub(crate) fn unnamed(name: &str, image: &str) -> Frame {
    Frame {
        nameless: Some(Nameless::NoSymbol),
        ..frame(name, image, Side::User)
    }
}

fn frame(name: &str, image: &str, side: Side) -> Frame {
    Frame {
        name: name.to_owned(),
        image: image.to_owned(),
        side,
        nameless: None,
    }
}

pub(crate) fn thread(tid: u32, stack: StackId) -> ThreadAt {
    ThreadAt {
        tid,
        name: "mysqld".to_owned(),
        state: RunState::Sleeping,
        syscall: None,
        stack,
        switches: 7,
        sampled: false,
    }
}

pub(crate) fn snapshot(threads: Vec<ThreadAt>) -> ThreadSnapshot {
    ThreadSnapshot {
        at: 0,
        method: Method::Bpf,
        wall_us: 5350,
        stopped_us: 0,
        threads,
        left_out: 0,
    }
}

pub(crate) fn in_call(mut thread: ThreadAt, number: i64, name: &str) -> ThreadAt {
    thread.syscall = Some(Syscall {
        number,
        name: name.to_owned(),
        futex: None,
    });
    thread
}

pub(crate) fn waiting(thread: ThreadAt, address: u64, operation: u32) -> ThreadAt {
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
