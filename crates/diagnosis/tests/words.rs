//! What the server and the kernel say of themselves: a line that names the cause is enough to call it likely, and
//! lines that many servers write without harm are not.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy does not see that helpers of tests are test code"
)]

use crate::common;
use common::{Story, named};
use diagnosis::Level;
use model::Reason;

/// No numbers of a stall: what somebody has who kept only the log.
fn bare() -> Story {
    [
        "probe.",
        "accept_queue.",
        "innodb.",
        "status.",
        "disk.",
        "error_log.",
        "kernel_log.",
    ]
    .iter()
    .fold(Story::healthy(), |story, prefix| {
        story.without(prefix, Reason::NotRecorded)
    })
}

fn named_by(story: &Story) -> Vec<(String, Level)> {
    let verdict = story.verdict();
    let found = named(&verdict).into_iter();
    found
        .map(|(cause, level)| (cause.to_owned(), level))
        .collect()
}

#[test]
fn the_kernel_says_whom_it_killed() {
    for line in [
        "Out of memory: Killed process 11726 (mariadbd) total-vm:7823732kB",
        "Memory cgroup out of memory: Kill process 71414 (mysqld) score 1910 or sacrifice child",
        "Killed process 11726, UID 498, (mysqld) total-vm:7823732kB, anon-rss:2539268kB, file-rss:768kB",
    ] {
        let found = named_by(&bare().kernel_log(&[line]));
        assert_eq!(found, [("oom".to_owned(), Level::Likely)], "{line}");
    }
    assert_eq!(
        named_by(&bare().kernel_log(&["Killed process 4711, UID 0, (stress) total-vm:1kB"])),
        []
    );
}

/// Half of the kernel's words: somebody asked, and the line that says who was killed is not there.
#[test]
fn a_thread_of_the_server_that_woke_the_killer_is_a_hint() {
    let asked = "mysqld invoked oom-killer: gfp_mask=0x280da, order=0, oom_score_adj=0";
    let found = named_by(&bare().kernel_log(&[asked]));
    assert_eq!(found, [("oom".to_owned(), Level::Possible)]);
}

#[test]
fn the_kernel_says_that_a_queue_of_connections_is_full() {
    let of_port = |port: &str| {
        let line = format!(
            "TCP: request_sock_TCP: Possible SYN flooding on port {port}. Sending cookies.  Check SNMP counters."
        );
        named_by(&bare().kernel_log(&[&line]))
    };
    for port in ["3306", "0.0.0.0:3306", "[::]:3306"] {
        let found = of_port(port);
        assert_eq!(
            found,
            [("tcp-accept-overflow".to_owned(), Level::Possible)],
            "{port}"
        );
    }
    // That of a web server, or of the X protocol, which few use.
    assert_eq!(of_port("443"), []);
    assert_eq!(of_port("33060"), []);
}

#[test]
fn the_server_says_that_it_has_no_connection_left() {
    let story = bare().error_log(&["[Warning] Too many connections"]);
    assert_eq!(
        named_by(&story),
        [("max-connections".to_owned(), Level::Likely)]
    );
}

#[test]
fn a_journal_that_hangs_is_a_disk_that_does_not_answer() {
    let hung = |task: &str| {
        let line = format!("INFO: task {task} blocked for more than 120 seconds.");
        named_by(&bare().kernel_log(&[&line]))
    };
    let found = [("slow-fsync".to_owned(), Level::Possible)];
    assert_eq!(hung("jbd2/rbd0-8:801166"), found);
    assert_eq!(hung("mysqld:4123"), []);
    let error = "blk_update_request: I/O error, dev sda, sector 5 op 0x1:(WRITE)";
    assert_eq!(named_by(&bare().kernel_log(&[error])), found);
    let empty_drive = "blk_update_request: I/O error, dev fd0, sector 0 op 0x0:(READ)";
    assert_eq!(named_by(&bare().kernel_log(&[empty_drive])), []);
}

/// Two servers on a host, each in a control group: the kernel kills one, and the other has its own trouble (seen in the
/// lab).
#[test]
fn a_server_that_answers_was_not_the_one_that_was_killed() {
    let line = "Memory cgroup out of memory: Killed process 4711 (mariadbd) total-vm:7823732kB";
    let found = named_by(&Story::healthy().kernel_log(&[line]));
    assert_eq!(found, [("oom".to_owned(), Level::Possible)]);
}

#[test]
fn the_server_says_that_its_disk_is_full() {
    let line = "[ERROR] Disk is full writing './bin.000007' (Errcode: 28). Waiting for someone to free space...";
    let story = bare().error_log(&[line]);
    assert_eq!(named_by(&story), [("disk-full".to_owned(), Level::Likely)]);
    // The line's own stops end the sentence.
    let sentence = story.verdict().sentence;
    assert!(sentence.ends_with("free space..."), "{sentence}");
}

#[test]
fn a_server_that_lowers_its_limits_at_the_start_has_files_enough() {
    let changed = "[Warning] Changed limits: max_open_files: 1024  max_connections: 151 (was 151)  table_cache: 421 (was 2000)";
    assert_eq!(named_by(&bare().error_log(&[changed])), []);
    let without = "[ERROR] Error in accept: Too many open files";
    assert_eq!(
        named_by(&bare().error_log(&[without])),
        [("ulimit-nofile-memory".to_owned(), Level::Likely)]
    );
}

/// The page cleaner of 8.0.28 and later says it in other words, and a loop that wrote nothing waited for something else.
#[test]
fn a_long_loop_of_the_page_cleaner_is_a_slow_disk_when_it_wrote_few_pages() {
    let causes = |line: &str| -> Vec<String> {
        let found = named_by(&bare().error_log(&[line]));
        found.into_iter().map(|(cause, _)| cause).collect()
    };
    const OLD: &str = "InnoDB: page_cleaner: 1000ms intended loop took 14013ms. The settings might not be optimal.";
    assert_eq!(
        causes(&format!(
            "{OLD} (flushed=12 and evicted=0, during the time.)"
        )),
        ["slow-fsync"]
    );
    assert_eq!(
        causes("[InnoDB] Page cleaner took 10614ms to flush 9 and evict 0 pages"),
        ["slow-fsync"]
    );
    assert_eq!(
        causes(&format!(
            "{OLD} (flushed=0 and evicted=0, during the time.)"
        )),
        Vec::<String>::new()
    );
    // Thousands of pages in seconds are much work, and no slow disk; but these came at 3 MB a second.
    let many = causes("[InnoDB] Page cleaner took 4614ms to flush 9000 and evict 0 pages");
    assert_eq!(many, Vec::<String>::new());
    assert_eq!(
        causes("[InnoDB] Page cleaner took 10614ms to flush 2000 and evict 0 pages"),
        ["slow-fsync"]
    );
}
