//! What the unit tests of evidence share.

use model::{Frame, Method, Nameless, RunState, Side, StackId, Syscall, ThreadAt, ThreadSnapshot};

pub(crate) fn user(name: &str) -> Frame {
    frame(name, "mysqld", Side::User)
}

pub(crate) fn lib(name: &str, image: &str) -> Frame {
    frame(name, image, Side::User)
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

pub(crate) fn in_call(number: i64, name: &str) -> Option<Syscall> {
    Some(Syscall {
        number,
        name: name.to_owned(),
        futex: None,
    })
}

/// Names that mean harm to a terminal, a page or a format.
pub(crate) const NASTY: &str =
    "a;b,c\u{1b}[2J\n#0 0x1 in x\r\n\t\u{9b}31m\u{202e}<script>alert(1)</script>\"\\ 12";
