//! `stacks --from` and `profile --diff` on what others captured, and captures without a time.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::{FrameSide, Profile, ProfileCount, StackEnd, StackFrame, StackTable};
use report::evidence::pprof::{PprofOptions, pprof};
use serde_json::Value;

use crate::harness::{freezeframe, run};

const GDB: &str = "Thread 3 (Thread 0x7f00 (LWP 13)):\n\
    #0  0x00007f in poll () from /lib/libc.so.6\n\
    #1  0x00007f in vio_io_wait (vio=0x1, event=VIO_IO_EVENT_READ) at /src/vio/viosocket.c:771\n\
    #2  0x00007f in clone () from /lib/libc.so.6\n\n\
    Thread 2 (Thread 0x7f01 (LWP 12) \"connection\"):\n\
    #0  0x00007f in poll () from /lib/libc.so.6\n\
    #1  0x00007f in vio_io_wait (vio=0x2, event=VIO_IO_EVENT_READ) at /src/vio/viosocket.c:771\n\
    #2  0x00007f in clone () from /lib/libc.so.6\n\n\
    Thread 1 (Thread 0x7f02 (LWP 11)):\n\
    #0  0x00007f in std::vector<int>::push (this=0x1) at x.h:1\n\
    #1  0x00007f in main ()\n";

const PERF_SCRIPT: &str = "mysqld 12/13 [001] 5.25: 1 cycles:\n\
    \tffff81 do_futex+0x12 ([kernel.kallsyms])\n\
    \t7f00 row_search_mvcc+0x1 (/usr/sbin/mysqld)\n\n\
    mysqld 12/14 [001] 5.35: 1 cycles:\n\
    \tffff81 do_futex+0x12 ([kernel.kallsyms])\n\
    \t7f00 row_search_mvcc+0x1 (/usr/sbin/mysqld)\n\n";

fn written(dir: &Path, name: &str, bytes: &[u8]) -> String {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn text(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&text(arguments)).unwrap()
}

#[test]
fn backtraces_in_all_outputs() {
    let dir = tempfile::tempdir().unwrap();
    let gdb = written(dir.path(), "gdb.txt", GDB.as_bytes());
    let said = text(&["stacks", "--from", &gdb]);
    assert!(said.contains("gdb.txt: 3 threads in 2 groups"), "{said}");
    assert!(said.contains("connection (12)"), "{said}");
    let document = json(&["stacks", "--from", &gdb, "--json"]);
    assert_eq!(document["threads"], 3);
    assert_eq!(document["pid"], Value::Null);
    assert_eq!(document["groups"][0]["count"], 2);
    assert_eq!(document["groups"][0]["frames"][0]["name"], "poll");
    assert_eq!(document["groups"][0]["threads"][1]["tid"], 13);
    assert_eq!(document["sources"][0]["kind"], "backtraces of threads");
    let folded = text(&["stacks", "--from", &gdb, "--folded"]);
    assert!(
        folded.contains("connection;clone;vio_io_wait;poll 1\n"),
        "{folded}"
    );
    // The file stands beside a function only where gdb prints it with its whole path.
    assert_eq!(
        text(&["stacks", "--from", &gdb, "--pt-pmp"]),
        "      2 poll(libc.so.6),vio_io_wait(viosocket.c:771),clone(libc.so.6)\n      1 std::vector::push,main\n"
    );
    let limited = text(&["stacks", "--from", &gdb, "--limit", "1"]);
    assert!(
        limited.contains("1 more group with 1 thread not shown."),
        "{limited}"
    );
}

#[test]
fn every_format_of_stacks() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| written(dir.path(), name, text.as_bytes());
    let quickstack = file(
        "quickstack.txt",
        "Thread 2 (LWP 12):\n#01  0x0000000000a1b2c3 in poll () from /lib/libc.so.6\n\
         #02  0x0000000000a1b2c4 in clone () from /lib/libc.so.6\n\n\
         Thread 1 (LWP 11):\n#01  0x0000000000a1b2c3 in poll () from /lib/libc.so.6\n\
         #02  0x0000000000a1b2c4 in clone () from /lib/libc.so.6\n",
    );
    let eu_stack = file(
        "eu.txt",
        "PID 11 - process\nTID 11:\n#0  0x00007f poll - /lib/libc.so.6\n#1  0x00007f main - /usr/sbin/mysqld\n\
         TID 12:\n#0  0x00007f poll - /lib/libc.so.6\n#1  0x00007f clone - 1 - /lib/libc.so.6\n",
    );
    let pt_pmp = file(
        "pmp.txt",
        "     12 poll(libc.so.6),vio_io_wait,clone(libc.so.6)\n      1 sigwait,main\n",
    );
    let folded = file(
        "x.folded",
        "mysqld;main;poll 7\nmysqld;clone;read;do_futex_[k] 3\n",
    );
    let script = file("perf.txt", PERF_SCRIPT);
    for (path, threads, groups, counted) in [
        (&quickstack, 2, 1, "threads"),
        (&eu_stack, 2, 2, "threads"),
        (&pt_pmp, 13, 2, "threads"),
        (&folded, 10, 2, "samples"),
        (&script, 2, 1, "samples"),
    ] {
        let document = json(&["stacks", "--from", path, "--json"]);
        let found = document["groups"].as_array().unwrap().len();
        assert_eq!(
            (&document["threads"], found, &document["counted"]),
            (&Value::from(threads), groups, &Value::from(counted)),
            "{path}"
        );
    }
    // Ids that pt-pmp does not tell are not made up.
    let document = json(&["stacks", "--from", &pt_pmp, "--json"]);
    assert_eq!(document["groups"][0]["threads"], serde_json::json!([]));
    assert_eq!(
        text(&["stacks", "--from", &pt_pmp, "--pt-pmp"]),
        "     12 poll(libc.so.6),vio_io_wait,clone(libc.so.6)\n      1 sigwait,main\n"
    );
    assert_eq!(
        text(&["stacks", "--from", &folded, "--folded"]),
        "mysqld;clone;read;do_futex_[k] 3\nmysqld;main;poll 7\n"
    );

    // Kept as an incident, it is the same.
    let frame = dir.path().join("x.frame");
    let frame = frame.to_str().unwrap();
    text(&["import", &quickstack, "-o", frame]);
    let document = json(&["stacks", "--from", frame, "--json"]);
    assert_eq!(document["groups"][0]["count"], 2);
    // Several files, and standard input.
    let both = json(&["stacks", "--from", &quickstack, &eu_stack, "--json"]);
    assert_eq!(
        (&both["samples"], &both["threads"]),
        (&Value::from(2), &Value::from(4))
    );
    let mut child = freezeframe()
        .args(["stacks", "--from", "-", "--pt-pmp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(GDB.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.stdout.starts_with(b"      2 poll"));
}

#[test]
fn without_stacks_one_line_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(
        dir.path(),
        "status.txt",
        b"| Threads_running | 5 |\n| Uptime | 9 |\n",
    );
    let output = run(&["stacks", "--from", &path]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("freezeframe: no stacks in it: "), "{said}");
    assert_eq!(said.lines().count(), 1);
    let output = run(&["stacks", "--from", &path, "--pid", "1"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_pprof_of_our_own_comes_back() {
    let mut book = StackTable::default();
    let frame = |name: &str, image: &str, side| StackFrame {
        name: name.to_owned(),
        image: image.to_owned(),
        side,
        nameless: None,
    };
    let stack = book.intern(
        [
            frame("clear_page", "[kernel]", FrameSide::Kernel),
            frame("row_search_mvcc", "mysqld", FrameSide::User),
            frame("start_thread", "libc.so.6", FrameSide::User),
        ],
        StackEnd::Complete,
    );
    let profile = Profile {
        from: 0,
        to: 10_000,
        hz: 99,
        processors: 2,
        counts: vec![ProfileCount {
            stack,
            thread: "connection".to_owned(),
            server: true,
            count: 42,
        }],
        lost: 0,
    };
    let options = PprofOptions {
        wall_at_zero_ms: 1_715_483_525_120,
        build_ids: Default::default(),
        server_only: false,
    };
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path(), "x.pb.gz", &pprof(&profile, &book, &options));
    assert_eq!(
        text(&["stacks", "--from", &path, "--folded"]),
        "connection;start_thread;row_search_mvcc;clear_page_[k] 42\n"
    );
    let verdict = json(&["explain", &path, "--json"]);
    assert_eq!(verdict["sources"][0]["kind"], "pprof profile");
    assert_eq!(verdict["sources"][0]["brought"], "42 samples of 1 stacks");
}

/// Two listings of opreport: an idle server has nearly all samples in `poll_idle`, a stalled one a fifth in compaction.
const IDLE: &str = "CPU: Intel Nehalem microarchitecture, speed 2666.7 MHz (estimated)\n\
    Counted CPU_CLK_UNHALTED events (Clock cycles when not halted) with a unit mask of 0x00 (No unit mask) count 6000000\n\
    samples  %        image name               app name                 symbol name\n\
    986412   98.6412  vmlinux                  vmlinux                  poll_idle\n\
    4107      0.4107  vmlinux                  vmlinux                  schedule\n\
    2980      0.2980  vmlinux                  vmlinux                  page_fault\n\
    1750      0.1750  mysqld                   mysqld                   MYSQLparse(void*)\n";
const STALLED: &str = "CPU: Intel Nehalem microarchitecture, speed 2666.7 MHz (estimated)\n\
    Counted CPU_CLK_UNHALTED events (Clock cycles when not halted) with a unit mask of 0x00 (No unit mask) count 6000000\n\
    samples  %        image name               app name                 symbol name\n\
    688400   68.8400  vmlinux                  vmlinux                  poll_idle\n\
    121320   12.1320  vmlinux                  vmlinux                  compaction_alloc\n\
    74450     7.4450  vmlinux                  vmlinux                  compact_zone\n\
    25060     2.5060  vmlinux                  vmlinux                  _spin_lock_irqsave\n\
    13180     1.3180  vmlinux                  vmlinux                  schedule\n\
    1620      0.1620  mysqld                   mysqld                   MYSQLparse(void*)\n";

#[test]
fn an_idle_and_a_stalled_listing_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let idle = written(dir.path(), "idle.txt", IDLE.as_bytes());
    let stalled = written(dir.path(), "stalled.txt", STALLED.as_bytes());
    let diff = json(&["profile", "--diff", &idle, &stalled, "--json"]);
    let rows = diff["rows"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert_eq!(rows[0]["name"], "poll_idle", "the largest change");
    assert_eq!(row("compaction_alloc")["a"]["self_samples"], 0);
    assert_eq!(row("compaction_alloc")["b"]["self_samples"], 121_320);
    assert_eq!(row("compaction_alloc")["side"], "kernel");
    let rose = |name: &str| row(name)["self_change"].as_f64().unwrap();
    let of_all = 121_320.0 / (688_400.0 + 121_320.0 + 74_450.0 + 25_060.0 + 13_180.0 + 1_620.0);
    assert!((rose("compaction_alloc") - of_all).abs() < 1e-9);
    let said = text(&["profile", "--diff", &idle, &stalled]);
    assert!(said.contains("compaction_alloc"), "{said}");
    let verdict = json(&["explain", &stalled, "--json"]);
    assert_eq!(verdict["findings"][0]["cause"], "thp-compaction");
    let verdict = json(&["explain", &idle, "--json"]);
    assert_eq!(verdict["findings"], serde_json::json!([]));
}

#[test]
fn stacks_of_kernel_mutex_tell_the_crowd_from_the_holder() {
    // kernel_mutex of MySQL 5.1 and 5.5: a crowd waits for it, its holder for an arena of malloc.
    let waits = "__lll_lock_wait(libpthread.so.0),_L_lock_854(libpthread.so.0),pthread_mutex_lock(libpthread.so.0),\
        os_mutex_enter,mutex_spin_wait,mutex_enter_func,trx_commit_off_kernel,trx_commit_for_mysql,\
        innobase_commit,ha_commit_trans,dispatch_command,start_thread(libpthread.so.0),clone(libc.so.6)";
    let holds = "__lll_lock_wait_private(libc.so.6),_L_lock_5189(libc.so.6),_int_free(libc.so.6),mem_area_free,\
        mem_heap_block_free,trx_commit_off_kernel,trx_commit_for_mysql,innobase_commit,ha_commit_trans,\
        dispatch_command,start_thread(libpthread.so.0),clone(libc.so.6)";
    let dir = tempfile::tempdir().unwrap();
    let pmp =
        format!("    140 {waits}\n      9 {holds}\n      3 poll(libc.so.6),vio_io_wait,main\n");
    let path = written(dir.path(), "pmp.txt", pmp.as_bytes());
    let document = json(&["stacks", "--from", &path, "--json"]);
    assert_eq!(document["threads"], 152);
    assert_eq!(document["groups"][1]["frames"][2]["name"], "_int_free");
    let verdict = json(&["explain", &path, "--json"]);
    let named: Vec<&str> = verdict["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|finding| finding["cause"].as_str())
        .collect();
    assert!(
        named.contains(&"malloc-arena") || named.contains(&"kernel-mutex"),
        "{named:?}"
    );
}

#[test]
fn a_capture_without_a_time_shows_none() {
    let dir = tempfile::tempdir().unwrap();
    let gdb = written(dir.path(), "gdb.txt", GDB.as_bytes());
    let verdict = json(&["explain", &gdb, "--json"]);
    let incident = &verdict["incident"];
    assert_eq!(incident["time_known"], false);
    for moment in ["onset", "trigger", "end"] {
        assert_eq!(incident[moment], Value::Null);
    }
    assert_eq!(incident["window"]["from"], Value::Null);
    let page = text(&["explain", &gdb, "--html", "-"]);
    let said = text(&["explain", &gdb, "--full"]);
    for shown in [&page, &said, &verdict.to_string()] {
        assert!(!shown.contains("1970"), "{shown}");
    }
    assert!(page.contains("not in the input"));
    assert!(said.contains("not in the input"));
    // Nor does the list of incidents, once it is kept.
    let frame = dir.path().join("kept.frame");
    text(&["import", &gdb, "-o", frame.to_str().unwrap()]);
    let folder = dir.path().to_str().unwrap();
    assert!(text(&["incidents", "--dir", folder]).contains("\nunknown time "));
    let listed = json(&["incidents", "--dir", folder, "--json"]);
    assert_eq!(listed[0]["onset"], Value::Null);
    // What tells one shows it.
    let timed = written(
        dir.path(),
        "timed.txt",
        b"TS 1700000000.5 2023-11-14 22:13:20\nThread 1 (LWP 5):\n#0  0x1 in poll () from /lib/libc.so.6\n#1  0x2 in main ()\n",
    );
    let verdict = json(&["explain", &timed, "--json"]);
    assert_eq!(verdict["incident"]["trigger"], "2023-11-14T22:13:20.500Z");
}

/// pt-pmp of percona-toolkit on a file; absent where it is not installed.
fn pt_pmp(path: &Path) -> Option<String> {
    let output = Command::new("pt-pmp")
        .arg(path)
        .env("LC_ALL", "C")
        .env("HOME", "/dev/null")
        .output();
    match output {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            eprintln!("skipped: pt-pmp: {error}");
            None
        }
    }
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// `Thread 3 (…`, `#12 …`, and lines on which gdb goes on with a frame.
fn is_of_a_backtrace(line: &str) -> bool {
    let is_frame = line
        .strip_prefix('#')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(" ("));
    is_frame || (line.starts_with("Thread ") && line.contains("LWP "))
}

/// So many backtraces there are at least; of so many the threads are counted in JSON as well.
const COMPARED_MIN: usize = 3;

#[test]
fn backtraces_of_captures_are_counted_as_pt_pmp_counts_them() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let dir = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Of a ticket what a person would cut out of it: pt-pmp takes headings for frames.
        let mut backtrace = String::new();
        let mut has_head = false;
        let text_of = std::fs::read_to_string(&path).unwrap_or_default();
        for line in text_of.lines().filter(|line| is_of_a_backtrace(line)) {
            // pt-pmp knows a thread by its head only; single stacks are often shown without.
            if line.starts_with("#0 ") && !has_head {
                backtrace.push_str("Thread 1 (LWP 1):\n");
            }
            has_head = line.starts_with("Thread ");
            backtrace.push_str(line);
            backtrace.push('\n');
        }
        if !backtrace.contains("\n#1 ") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        let path = PathBuf::from(written(dir.path(), name, backtrace.as_bytes()));
        let Some(theirs) = pt_pmp(&path) else {
            return;
        };
        let ours = text(&["stacks", "--from", path.to_str().unwrap(), "--pt-pmp"]);
        assert_eq!(sorted(&ours), sorted(&theirs), "{}", path.display());
        compared += 1;
        if compared > COMPARED_MIN {
            continue;
        }
        let threads: u64 = ours
            .lines()
            .filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok())
            .sum();
        let document = json(&["stacks", "--from", path.to_str().unwrap(), "--json"]);
        assert_eq!(document["threads"], threads, "{}", path.display());
    }
    assert!(compared >= COMPARED_MIN, "only {compared} backtraces");
}
