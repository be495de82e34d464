//! What an import read as stacks.

use model::{
    FrameSide, Incident, Profile, ProfileCount, RunState, StackEnd, StackFrame, StackTable, Stall,
    ThreadRun, Trigger,
};

use super::super::redact;
use super::blank;

fn frame(name: &str) -> StackFrame {
    StackFrame {
        name: name.to_owned(),
        image: String::new(),
        side: FrameSide::User,
        nameless: None,
    }
}

/// A stack of functions, and a row of somebody's table: `alice;Alice Miller;4711;hunter2 12`.
fn with_both(rule: &str) -> Incident {
    let mut incident = blank();
    incident.stall.triggers.push(Trigger {
        rule: rule.to_owned(),
        says: "captured by other tools".to_owned(),
    });
    let mut table = StackTable::default();
    let code = ["buf_page_get_gen", "acme_udf", "start_thread"].map(frame);
    let row = ["hunter2", "4711", "Alice Miller"].map(frame);
    let count = |stack, thread: &str| ProfileCount {
        stack,
        thread: thread.to_owned(),
        server: true,
        count: 12,
    };
    let code = count(table.intern(code.to_vec(), StackEnd::Complete), "mysqld");
    let row = count(table.intern(row.to_vec(), StackEnd::FrameLimit), "alice");
    for (one, name) in [(&code, "ib_io_rd-1"), (&row, "quillfeather")] {
        incident.stacks.runs.push(ThreadRun {
            tid: 1,
            name: name.to_owned(),
            from: 0,
            to: 1,
            snapshots: 1,
            unmoved: false,
            state: RunState::Sleeping,
            syscall: None,
            stack: one.stack,
        });
    }
    incident.stacks.table = table;
    incident.stacks.profiles.push(Profile {
        from: 0,
        to: 1,
        hz: 0,
        processors: 1,
        counts: vec![code, row],
        lost: 0,
    });
    incident
}

#[test]
fn a_row_that_was_taken_for_a_stack_is_somebodys() {
    let incident = with_both(Stall::IMPORTED);
    let redacted = redact(&incident, b"0123456789abcdef", "").unwrap().incident;
    let all = format!("{:?}", redacted.stacks).to_lowercase();
    for word in ["hunter2", "alice", "miller", "quillfeather"] {
        assert!(!all.contains(word), "{word}: {all}");
    }
    for own in [
        "buf_page_get_gen",
        "acme_udf",
        "start_thread",
        "mysqld",
        "ib_io_rd-1",
    ] {
        assert!(all.contains(own), "{own}: {all}");
    }
}

/// `perf script` of a whole host: the server, and a program of somebody's with the same kernel below.
#[test]
fn functions_of_other_programs_are_somebodys() {
    let mut incident = with_both(Stall::IMPORTED);
    let mut table = incident.stacks.table.clone();
    let of = |name: &str, image: &str, side| StackFrame {
        image: image.to_owned(),
        side,
        ..frame(name)
    };
    let futex = of("do_futex", "[kernel]", FrameSide::Kernel);
    let odd = of("acme_module_read", "[kernel]", FrameSide::Kernel);
    let poll = of("poll", "libc.so.6", FrameSide::User);
    let main = of("quill_main", "libquill.so", FrameSide::User);
    let shared = frame("acme_udf");
    let own = [futex, odd, poll, main, shared];
    let stack = table.intern(own.to_vec(), StackEnd::Complete);
    incident.stacks.table = table;
    incident.stacks.profiles[0].counts.push(ProfileCount {
        stack,
        thread: "quillprog".to_owned(),
        server: false,
        count: 3,
    });
    let redacted = redact(&incident, b"0123456789abcdef", "").unwrap().incident;
    let all = format!("{:?}", redacted.stacks).to_lowercase();
    assert!(!all.contains("quill"), "{all}");
    for kept in [
        "do_futex",
        "acme_module_read",
        "\"poll\"",
        "acme_udf",
        "buf_page_get_gen",
    ] {
        assert!(all.contains(kept), "{kept}: {all}");
    }
    // As one of the server's it stays.
    incident.stacks.profiles[0]
        .counts
        .last_mut()
        .unwrap()
        .server = true;
    let redacted = redact(&incident, b"0123456789abcdef", "").unwrap().incident;
    assert!(format!("{:?}", redacted.stacks).contains("quill_main"));
}

/// `info threads` of gdb: whoever names a thread says what stands there, whatever its stack is.
#[test]
fn names_of_threads_in_a_capture_are_the_servers_or_somebodys() {
    let mut incident = with_both(Stall::IMPORTED);
    let known = incident.stacks.runs[0].clone();
    let names = [
        "ib_log_fl_notif",
        "rpl_rca_wkr-12",
        "ib_pg_flush_coo",
        "connection",
        "quillfeather",
        "ib_quillwork-1",
    ];
    incident.stacks.runs = names
        .iter()
        .map(|name| ThreadRun {
            name: (*name).to_owned(),
            ..known.clone()
        })
        .collect();
    let redacted = redact(&incident, b"0123456789abcdef", "").unwrap().incident;
    let named: Vec<&str> = redacted
        .stacks
        .runs
        .iter()
        .map(|run| run.name.as_str())
        .collect();
    assert_eq!(named[..4], names[..4]);
    assert!(!format!("{named:?}").contains("quill"), "{named:?}");
    assert_ne!(named[4], named[5]);
}

#[test]
fn a_recorder_has_its_functions_from_programs() {
    let incident = with_both("query-probe");
    let redacted = redact(&incident, b"0123456789abcdef", "").unwrap().incident;
    assert_eq!(redacted.stacks, incident.stacks);
}
