//! Witnesses that look at waits for InnoDB's latches, its status and lines of logs, and evidence that
//! was taken once, by hand. The causes and the evidence here are made up.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy does not see that helpers of tests are test code"
)]

use crate::common;
use common::Story;
use diagnosis::{Catalogue, Verdict, diagnose};
use model::{
    FrameSide, Incident, LockCaller, LockRow, LockTable, NamedBy, ProcessList, Profile,
    ProfileCount, Reading, Reason, RunState, SemaphoreWait, SnapshotMeta, SnapshotMethod, StackEnd,
    TextKind, ThreadRun, TimedText, Unit, WaitCounting, Window,
};

const HEAD: &str = r#"id = "x"
title = "A cause"
what = "It is this. It does that."
refuted_by = ["This."]
sources = ["A page."]
"#;

const TAIL: &str = r#"
[remedy]
now = ["a"]
durable = ["b"]
undo = ["c"]
risk = "d"
verify = ["e"]
"#;

fn catalogue(signs: &str) -> Catalogue {
    Catalogue::from_files(&[("x.toml", format!("{HEAD}{signs}{TAIL}"))])
        .unwrap_or_else(|error| panic!("{error}"))
}

fn verdict(incident: &Incident, sign: &str) -> Verdict {
    let sign = format!("[[witness]]\nid = \"w\"\n{sign}\n");
    diagnose(incident, &catalogue(&sign))
}

/// The sentence of the only witness and its source, or nothing.
fn says(incident: &Incident, sign: &str) -> Option<(String, String)> {
    let verdict = verdict(incident, sign);
    let witness = verdict.findings.first()?.witnesses.first()?;
    Some((witness.source.clone(), witness.says.clone()))
}

/// Why the cause was turned down: the sign is necessary beside one on `beside` that holds.
fn why_not(incident: &Incident, sign: &str, beside: &str) -> String {
    let signs = format!(
        "[[witness]]\nid = \"w\"\nnecessary = true\n{sign}\n[[witness]]\nid = \"q\"\n{beside}\nsays = \"q\"\n"
    );
    let verdict = diagnose(incident, &catalogue(&signs));
    assert!(verdict.findings.is_empty(), "{}", verdict.sentence);
    verdict
        .rejected
        .first()
        .map_or(verdict.sentence, |rejected| rejected.why.clone())
}

/// No logs, no status of InnoDB.
fn bare() -> Story {
    ["innodb.", "error_log.", "kernel_log."]
        .iter()
        .fold(Story::healthy(), |story, prefix| {
            story.without(prefix, Reason::NotRecorded)
        })
}

const QUESTIONS: &str = "measure = \"rate(status.Questions)\"\nabove = 1\nunit = \"per_second\"";

fn source_says(source: &str, says: &str) -> Option<(String, String)> {
    Some((source.to_owned(), says.to_owned()))
}

fn wait(file: &str, line: u32, seconds: f64) -> SemaphoreWait {
    SemaphoreWait {
        thread: "140".to_owned(),
        file: file.to_owned(),
        line,
        seconds,
        lock_kind: "S-lock".to_owned(),
        created_file: Some("btr/btr0sea.c".to_owned()),
        created_line: Some(139),
        last_write_locked: Some("/build/storage/innobase/dict/dict0stats.cc line 2366".to_owned()),
        ..SemaphoreWait::default()
    }
}

fn crowd() -> Story {
    let mutex = SemaphoreWait {
        lock_kind: "Mutex".to_owned(),
        lock_name: Some("DICT_SYS".to_owned()),
        created_file: None,
        holder_query: Some("drop table `t`".to_owned()),
        last_write_locked: None,
        ..wait("row0purge.cc", 862, 250.0)
    };
    let mut waits = vec![wait("row/row0sel.c", 3549, 2.0); 3];
    waits.push(mutex);
    bare()
        .semaphores(50, &waits[..1])
        .semaphores(60, &[])
        .semaphores(63, &waits)
        .semaphores(70, &waits[..2])
}

const AHI: &str = r#"measure = '''latch_waits(created_at = '^btr0sea\.c')'''
above = 3
times_baseline = 2
baseline_optional = true
says = "{value} threads waited for {each}[, {baseline} before], the limit is {limit}""#;

#[test]
fn waits_for_latches_tell_file_and_line() {
    let incident = crowd().build();
    assert_eq!(
        says(&incident, AHI),
        source_says(
            "innodb",
            "3 threads waited for the latch created in btr0sea.c line 139, 1 before, the limit is 3"
        )
    );
    for (argument, holds) in [
        (r"asked_at = '^row0sel\.c line 35'", true),
        ("asked_at = '^row/row0sel'", false),
        ("created_at = 'btr0sea.* line 139$'", true),
        (r"last_locked_at = '^dict0stats\.cc line 2366$'", true),
        ("lock_kind = '^S-lock$'", true),
        ("lock_kind = '^Mutex$'", false),
        ("lock = '^DICT_SYS$'", false),
        ("min_seconds = 2", true),
        ("min_seconds = 2.5", false),
    ] {
        let sign = AHI.replace(r"created_at = '^btr0sea\.c'", argument);
        assert_eq!(says(&incident, &sign).is_some(), holds, "{argument}");
    }
}

#[test]
fn waits_are_counted_as_share_and_by_the_longest() {
    let incident = crowd().build();
    let sign = |measure: &str, value: f64| {
        format!("measure = \"{measure}\"\nabove = {value}\nsays = \"{{value}} for {{each}}\"")
    };
    let longest = sign(
        "latch_wait_seconds(lock = '^DICT_SYS$', holder_query = '^drop table')",
        240.0,
    );
    assert_eq!(
        says(&incident, &longest),
        source_says("innodb", "250 s for DICT_SYS")
    );
    // A thread that only begins to wait is printed with the time of the wait before it, or since 1970.
    let begins = SemaphoreWait {
        ended: true,
        ..wait("trx0trx.c", 991, 1_795_573_189.0)
    };
    let incident = bare().semaphores(63, &[begins]).build();
    for measure in ["latch_wait_seconds()", "latch_waits(min_seconds = 1)"] {
        assert_eq!(says(&incident, &sign(measure, 1.0)), None, "{measure}");
    }
    assert!(says(&incident, &sign("latch_waits()", 1.0)).is_some());
    let incident = crowd().build();
    let share = |min: u64| {
        let measure = format!("latch_waits_share(created_at = 'btr0sea', min_waits = {min})");
        sign(&measure, 0.7)
    };
    // The list with two of two waits is too short to have a share.
    assert_eq!(
        says(&incident, &share(3)),
        source_says("innodb", "75 % for the latch created in btr0sea.c line 139")
    );
    assert_eq!(
        why_not(&incident, &share(5), QUESTIONS),
        "a necessary sign is missing: the share of waits for InnoDB's latches created in /btr0sea/ \
         had nothing to count"
    );
}

#[test]
fn a_list_without_waits_is_zero_and_no_list_is_unknown() {
    let empty = bare().semaphores(63, &[]).build();
    assert_eq!(
        why_not(&empty, AHI, QUESTIONS),
        "a necessary sign is missing: the number of waits for InnoDB's latches created in \
         /^btr0sea\\.c/ was 0, the limit is 3"
    );
    for none in [
        bare(),
        // Of another time.
        bare().semaphores(50, &[]),
        bare().text(63, TextKind::Semaphores, "{broken"),
    ] {
        let why = why_not(&none.build(), AHI, QUESTIONS);
        assert!(why.contains("evidence is missing (innodb): x."), "{why}");
    }
}

const TOOK: &str = r#"measure = '''log_largest(log = error, line = 'page_cleaner: 1000ms intended loop took (?P<number>\d+)ms')'''
unit = "milliseconds"
above = 3000
says = "the page cleaner's loop took {value}: \"{each}\"""#;

const FULL: &str = r#"measure = "log_lines(log = kernel, line = 'Out of memory: Killed process|oom-kill:')"
above = 1
says = "the kernel logged {value} lines: {each}""#;

#[test]
fn lines_of_logs_are_counted_and_their_numbers_read() {
    let line = |took: u32| {
        format!(
            "2020-01-01T00:00:00Z 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took {took}ms. The settings might not be optimal."
        )
    };
    let (short, long) = (line(4_013), line(114_373));
    let story = bare().error_log(&[&short, &long, "another"]);
    assert_eq!(
        says(&story.build(), TOOK),
        source_says(
            "error_log",
            &format!(
                "the page cleaner's loop took 114 s: \"{}\"",
                long.trim_start_matches("2020-01-01T00:00:00Z 0 ")
            )
        )
    );
    let why = why_not(&bare().error_log(&["a"]).build(), TOOK, QUESTIONS);
    assert!(why.contains("had nothing to count"), "{why}");
    let killed = bare().kernel_log(&["oom-kill:constraint=CONSTRAINT_NONE", "other"]);
    assert_eq!(
        says(&killed.build(), FULL),
        source_says(
            "kernel_log",
            "the kernel logged 1 line: oom-kill:constraint=CONSTRAINT_NONE"
        )
    );
    // A quote in a pattern is written twice.
    let quoted = FULL.replace("oom-kill:", "can''t fork");
    let forked = bare().kernel_log(&["sh: can't fork"]);
    assert!(says(&forked.build(), &quoted).is_some());
    // Just before the onset, and long before it.
    let at = |second| {
        bare()
            .kernel_log(&[])
            .text(second, TextKind::KernelLog, "oom-kill:")
            .build()
    };
    assert!(says(&at(57), FULL).is_some());
    assert_eq!(says(&at(40), FULL), None);
}

#[test]
fn a_log_that_was_read_and_silent_is_zero_and_one_that_was_not_read_is_unknown() {
    assert_eq!(
        why_not(&bare().kernel_log(&[]).build(), FULL, QUESTIONS),
        "a necessary sign is missing: the number of lines in the kernel's log like \
         /Out of memory: Killed process|oom-kill:/ was 0, the limit is 1"
    );
    // Nothing points at the cause but load: it is not told of.
    let silent = bare().build();
    assert!(says(&silent, FULL).is_none());
    let why = why_not(&silent, FULL, QUESTIONS);
    assert!(
        why.contains("evidence is missing (kernel_log): x."),
        "{why}"
    );
    // A log of which the copy ends before the stall.
    let early = bare().text(20, TextKind::KernelLog, "a").build();
    let why = why_not(&early, FULL, QUESTIONS);
    assert!(
        why.contains("evidence is missing (kernel_log): x."),
        "{why}"
    );
    let around = bare()
        .text(20, TextKind::KernelLog, "a")
        .text(85, TextKind::KernelLog, "b")
        .build();
    assert!(why_not(&around, FULL, QUESTIONS).contains("was 0, the limit is 1"));
}

const STATUS: &str = "=====================================
2020-01-01 00:00:00 0x7f INNODB MONITOR OUTPUT
=====================================
------------
TRANSACTIONS
------------
History list length 2000000
---TRANSACTION 1, ACTIVE 6075 sec
---TRANSACTION 2, ACTIVE (PREPARED) 12 sec
--------
FILE I/O
--------
Pending flushes (fsync) log: 1; buffer pool: 0
----------------------------
END OF INNODB MONITOR OUTPUT
============================
";

fn innodb(measure: &str, above: u64) -> String {
    format!("measure = '''{measure}'''\nabove = {above}\nsays = \"{{value}}: {{each}}\"")
}

#[test]
fn an_innodb_status_is_read_by_section() {
    let incident = bare().text(63, TextKind::InnodbStatus, STATUS).build();
    let prepared = |section: &str| {
        let measure = format!("innodb_lines({section}line = 'PREPARED')");
        innodb(&measure, 1)
    };
    for section in ["", "section = 'Transactions', "] {
        assert_eq!(
            says(&incident, &prepared(section)),
            source_says("innodb", "1: ---TRANSACTION 2, ACTIVE (PREPARED) 12 sec")
        );
    }
    assert_eq!(
        why_not(&incident, &prepared("section = 'FILE I/O', "), QUESTIONS),
        "a necessary sign is missing: the number of lines in InnoDB's status, FILE I/O, like \
         /PREPARED/ was 0, the limit is 1"
    );
    let active = innodb(
        r"innodb_largest(section = 'TRANSACTIONS', line = 'ACTIVE (\(PREPARED\) )?(?P<number>\d+) sec')",
        600,
    );
    assert_eq!(
        says(&incident, &format!("{active}\nunit = \"seconds\"")),
        source_says("innodb", "1 h 41 min: ---TRANSACTION 1, ACTIVE 6075 sec")
    );
    // A text that was cut off does not say what stood behind its end; one with an end does.
    let deadlock = innodb(
        "innodb_lines(section = 'LATEST DETECTED DEADLOCK', line = 'WE ROLL BACK')",
        1,
    );
    assert!(why_not(&incident, &deadlock, QUESTIONS).contains("was 0, the limit is 1"));
    let cut = bare()
        .text(63, TextKind::InnodbStatus, &STATUS[..200])
        .build();
    let why = why_not(&cut, &deadlock, QUESTIONS);
    assert!(why.contains("evidence is missing (innodb): x."), "{why}");
}

#[test]
fn mistakes_in_these_kinds_are_told() {
    for (sign, expected) in [
        (
            "measure = \"latch_waits_share()\"",
            "measure: column 18: needs asked_at",
        ),
        (
            "measure = \"latch_waits(asked_at = '(')\"",
            "x.toml:8: measure: column 24: asked_at: not a regular expression",
        ),
        (
            "measure = \"latch_waits(min_seconds = -1)\"",
            "x.toml:8: measure: column 27: min_seconds: must be 0 or more",
        ),
        (
            "measure = \"log_lines(line = 'a')\"",
            "measure: column 10: needs log = error",
        ),
        (
            "measure = \"log_largest(log = error, line = 'a')\"",
            "x.toml:8: measure: column 33: line: needs a group (?P<number>…)",
        ),
        (
            "measure = \"log_lines(log = error, line = 'a')\"\nunit = \"seconds\"",
            "x.toml:9: unit: is that of the function",
        ),
        (
            "measure = \"innodb_lines(section = '', line = 'a')\"",
            "x.toml:8: measure: column 24: section: must not be empty",
        ),
        (
            "measure = \"innodb_lines(log = error, line = 'a')\"",
            "x.toml:8: measure: column 20: log: is no argument of innodb_lines",
        ),
    ] {
        let sign = format!("{sign}\nabove = 1\nsays = \"a\"");
        let file = format!("{HEAD}[[witness]]\nid = \"w\"\n{sign}\n{TAIL}");
        let error = Catalogue::from_files(&[("x.toml", file)]).unwrap_err();
        assert!(error.to_string().contains(expected), "{sign}\n{error}");
    }
}

/// Something that was taken once: nobody knows how long the stall lasted, and nothing else was
/// recorded. `length_s` is what the incident is said to cover.
fn taken_once(length_s: u64) -> Incident {
    Incident {
        id: "imported".to_owned(),
        window: Window {
            from: 0,
            to: length_s * 1000,
        },
        ..Incident::default()
    }
}

fn with_text(mut incident: Incident, kind: TextKind, body: String) -> Incident {
    incident.texts.push(TimedText {
        at: 0,
        text: server_text::stored(kind, &body),
    });
    incident
}

fn processlist() -> String {
    let mut list = ProcessList {
        sessions: 40,
        ..ProcessList::default()
    };
    list.by_state
        .insert("Waiting for table metadata lock".to_owned(), 30);
    list.by_command.insert("Query".to_owned(), 30);
    list.by_class.insert("update".to_owned(), 30);
    serde_json::to_string(&list).unwrap()
}

/// Its witness holds for 30 sessions and not for 50, which is a statement about this stall.
#[test]
fn a_single_processlist_is_evidence() {
    let sign = |above: u32| {
        format!(
            "measure = \"sessions(state = 'metadata lock')\"\nabove = {above}\nsays = \"{{value}} waited\""
        )
    };
    let beside = "measure = \"sessions(state = 'metadata')\"\nabove = 1";
    for length_s in [0, 30, 3_600] {
        let incident = with_text(taken_once(length_s), TextKind::Processlist, processlist());
        assert_eq!(
            says(&incident, &sign(10)),
            source_says("processlist", "30 waited"),
            "{length_s}"
        );
        let why = why_not(&incident, &sign(50), beside);
        assert!(why.contains("was 30, the limit is 50"), "{length_s}: {why}");
    }
}

/// The one that has been in the state for longest, of those that are in it; others are older.
#[test]
fn how_long_a_session_is_in_its_state_is_measured() {
    let session = |state: &str, seconds: f64| model::Session {
        id: 1,
        user: "app".to_owned(),
        host: "h".to_owned(),
        db: "shop".to_owned(),
        command: "Query".to_owned(),
        seconds,
        state: state.to_owned(),
        statement: "SELECT".to_owned(),
    };
    let list = ProcessList {
        sessions: 3,
        longest: vec![
            session("", 900.0),
            session("Sending data", 74.0),
            session("Sending data", 8.0),
        ],
        by_class: [("select".to_owned(), 3)].into(),
        ..ProcessList::default()
    };
    let body = serde_json::to_string(&list).unwrap();
    let incident = with_text(taken_once(0), TextKind::Processlist, body);
    let sign =
        "measure = \"session_seconds(state = '^Sending data$')\"\nabove = 60\nsays = \"{value}\"";
    assert_eq!(says(&incident, sign), source_says("processlist", "74 s"));
    let more = sign.replace("above = 60", "above = 90");
    let beside = "measure = \"session_seconds(state = 'data')\"\nabove = 60";
    let why = why_not(&incident, &more, beside);
    assert!(why.contains("was 74 s, the limit is 90 s"), "{why}");
}

#[test]
fn a_single_status_of_innodb_is_evidence() {
    let waits = vec![wait("row/row0sel.c", 3549, 2.0); 3];
    let beside = "measure = \"latch_waits()\"\nabove = 1";
    let sign = "measure = \"latch_waits(created_at = 'btr0sea')\"\nabove = 3\nsays = \"{value}\"";
    let history = r#"measure = '''innodb_largest(line = 'History list length (?P<number>\d+)')'''
above = 1e6
says = "{value}""#;
    for length_s in [0, 30, 3_600] {
        let body = serde_json::to_string(&waits).unwrap();
        let incident = with_text(taken_once(length_s), TextKind::Semaphores, body);
        let incident = with_text(incident, TextKind::InnodbStatus, STATUS.to_owned());
        assert_eq!(says(&incident, sign), source_says("innodb", "3"));
        assert_eq!(says(&incident, history), source_says("innodb", "2 M"));
        let more = sign.replace("above = 3", "above = 4");
        assert!(why_not(&incident, &more, beside).contains("was 3, the limit is 4"));
    }
}

/// A number that was read once, such as one of an InnoDB status.
#[test]
fn a_signal_that_was_read_once_is_evidence() {
    let sign = |above: u32| {
        format!(
            "measure = \"max(innodb.history_list_length)\"\nunit = \"count\"\nabove = {above}\nsays = \"{{value}}\""
        )
    };
    let beside = "measure = \"max(innodb.history_list_length)\"\nunit = \"count\"\nabove = 1";
    for length_s in [0, 30, 3_600] {
        let mut incident = taken_once(length_s);
        let reading = Reading::gauge("innodb.history_list_length", Unit::Count, 2e6);
        incident.timeline.push_readings("innodb", 0, &[reading]);
        assert_eq!(
            says(&incident, &sign(1_000_000)),
            source_says("innodb", "2 M")
        );
        let why = why_not(&incident, &sign(3_000_000), beside);
        assert!(
            why.contains("was 2 M, the limit is 3 M"),
            "{length_s}: {why}"
        );
    }
}

/// Thirty threads in the allocator, and a lock table and a profile of them, of one moment.
fn one_snapshot(length_s: u64) -> Incident {
    let mut incident = taken_once(length_s);
    let stacks = &mut incident.stacks;
    let frames = ["__lll_lock_wait_private", "malloc", "my_malloc"].map(|name| model::StackFrame {
        name: name.to_owned(),
        image: "mysqld".to_owned(),
        side: FrameSide::User,
        nameless: None,
    });
    let stack = stacks.table.intern(frames, StackEnd::Complete);
    stacks.runs = (1..=30)
        .map(|tid| ThreadRun {
            tid,
            name: "mysqld".to_owned(),
            from: 0,
            to: 0,
            snapshots: 1,
            unmoved: true,
            state: RunState::Sleeping,
            syscall: None,
            stack,
        })
        .collect();
    stacks.snapshots = vec![SnapshotMeta {
        at: 0,
        method: SnapshotMethod::Proc,
        wall_us: 0,
        stopped_us: 0,
        threads: 40,
        complete: 40,
    }];
    stacks.profiles = vec![Profile {
        from: 0,
        to: 0,
        hz: 0,
        counts: vec![ProfileCount {
            stack,
            count: 200,
            server: true,
            thread: "mysqld".to_owned(),
        }],
        processors: 1,
        lost: 0,
    }];
    stacks.locks = vec![LockTable {
        from: 0,
        to: 0,
        depth: WaitCounting::Sampled {
            snapshots: 1,
            interval_ms: 0.0,
        },
        locks: vec![LockRow {
            name: "malloc arena main".to_owned(),
            named_by: NamedBy::Arena,
            address: 1,
            waits: 30,
            waiters_max: 30,
            total_us: 0.0,
            max_us: 0.0,
            share: 0.75,
            callers: vec![LockCaller {
                path: vec!["malloc".to_owned(), "my_malloc".to_owned()],
                stack,
                waits: 30,
                total_us: 0.0,
                max_us: 0.0,
            }],
            holders: Vec::new(),
        }],
        conditions: Vec::new(),
        idle_threads: 10,
        chains: Vec::new(),
        kernel_locks: Vec::new(),
        absent: Vec::new(),
    }];
    incident
}

#[test]
fn a_single_snapshot_of_stacks_is_evidence() {
    let stacks = "measure = \"threads(stack = ['malloc'])\"\nabove = 8\nsays = \"{value}\"";
    let lock = |function: &str, above: f64| {
        format!(
            "measure = \"{function}(lock = '^malloc arena', caller = 'my_malloc')\"\nabove = {above}\nsays = \"{{value}}\""
        )
    };
    let profile =
        "measure = \"profile_share(function = 'malloc')\"\nabove = 0.3\nsays = \"{value}\"";
    let beside = "measure = \"threads(stack = ['malloc'])\"\nabove = 1";
    for length_s in [0, 30, 3_600] {
        let incident = one_snapshot(length_s);
        assert_eq!(says(&incident, stacks), source_says("stacks", "30"));
        let more = stacks.replace("above = 8", "above = 31");
        assert!(why_not(&incident, &more, beside).contains("was 30, the limit is 31"));
        assert_eq!(
            says(&incident, &lock("lock_waiters", 8.0)),
            source_says("stacks", "30")
        );
        assert_eq!(
            says(&incident, &lock("lock_waiting", 8.0)),
            source_says("stacks", "30")
        );
        assert_eq!(
            says(&incident, &lock("lock_share", 0.5)),
            source_says("stacks", "75 %")
        );
        let why = why_not(&incident, &lock("lock_rate", 1.0), beside);
        assert!(why.contains("evidence is missing (stacks)"), "{why}");
        assert_eq!(says(&incident, profile), source_says("profile", "100 %"));
        // How many processors that were, nobody knows.
        let cpus = profile.replace("_share", "_cpus");
        let why = why_not(&incident, &cpus, beside);
        assert!(why.contains("evidence is missing (profile)"), "{why}");
    }
}

/// Where something is followed each second, one reading among holes cannot say what was not there.
#[test]
fn one_reading_among_holes_is_not_a_single_one() {
    let story = bare()
        .busy(&[("select", "Sending data", "app", 3)])
        .silent("status");
    let sign =
        "measure = \"max(status.Threads_running)\"\nunit = \"count\"\nabove = 50\nsays = \"a\"";
    let beside = "measure = \"sessions(state = 'Sending')\"\nabove = 1";
    let why = why_not(&story.build(), sign, beside);
    assert!(why.contains("evidence is missing (status): x."), "{why}");
}
