//! Readers take whatever comes: nothing panics, nothing hangs, limits hold.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use import::{Input, import};
use proptest::prelude::*;

/// Lines of every format that is read, made up.
const LINES: &[&str] = &[
    "Thread 3 (Thread 0x7f00 (LWP 12)):",
    "TID 9:",
    "#0  0x00000039c2e0e334 in __lll_lock_wait () from /lib64/libc.so.6",
    "#1  0x00 in f<T>::g (this=0x1, x=<optimized out>) at a.cc:1#2 h () at b.h:2",
    "#2  0x00 in operator()(",
    "    12 pthread_cond_wait(libpthread.so.0),a<b,c>,...,clone(libc.so.6)",
    "mysqld;main;f;g_[k] 12",
    "mysqld 12/13 [001] 5.25: 1 cycles:",
    "\tffff81 do_futex+0x12 ([kernel.kallsyms])",
    "+   93.10%     0.00%  mysqld   libpthread-2.17.so   [.] start_thread",
    "    38.12%  [kernel]                 [k] compaction_alloc",
    "# Samples: 4K of event 'cycles'",
    "samples  %        image name               symbol name",
    "1000     50.0     mysqld                   memcpy",
    "=====================================",
    "2023-03-14 08:27:55 0x7f8f INNODB MONITOR OUTPUT",
    "END OF INNODB MONITOR OUTPUT",
    "SEMAPHORES",
    "TRANSACTIONS",
    "--Thread 1400 has waited at btr0sea.c line 1134 for 412.00 seconds the semaphore:",
    "Mutex at 0x1f3c7d8 '&kernel_mutex', lock var 0",
    "---TRANSACTION 5, ACTIVE 6075 sec",
    "MySQL thread id 5, OS thread handle 0x7f, query id 1 localhost root update",
    "UPDATE t SET a = 'b'",
    "------- TRX HAS BEEN WAITING 74 SEC FOR THIS LOCK TO BE GRANTED:",
    "2020-01-01T00:00:00.1Z 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took 9000ms.",
    "| Id | User | Host | db | Command | Time | State | Info |",
    "| 5 | root | localhost | NULL | Query | 18892 | Waiting for global read lock | FLUSH TABLES |",
    "*************************** 1. row ***************************",
    "Id: 5",
    "Command: Query",
    "State: init",
    "+---------------+-------+",
    "| Variable_name | Value |",
    "| Threads_running | 5 |",
    "| Uptime | 99 |",
    "| thread_handling | pool-of-threads |",
    "[mysqld]",
    "innodb_buffer_pool_size = 99999999999G",
    "[12345.678] Out of memory: Killed process 1 (mysqld)",
    "[  +0.000003] Killed process 20417 (mysqld) total-vm:9kB",
    "db-1 # [   16.869199] mysqld invoked oom-killer: order=0",
    "INFO: task jbd2/dm-9-8:762 blocked for more than 120 seconds.",
    "Thread 9 (LWP 22): #3 f (a=1, b=\"x\") at c.c:5 #4 a_b #5 c::d #6 e #1 x #2 y",
    "398 f_g, h::i(a.cc:1837), j_k(b.cc:5942), clone,",
    "Id, User, Host, db, Command, Time, State, Info, Progress",
    "177, 'app', 'web:62932', 'shop', 'Query', 23994, 'x', 'SELECT 'a', b', 0.000",
    "Id User Host db Command Time State Info",
    "9 app web:1 shop Query 7 update insert into t",
    "| NAME | COUNT |",
    "| trx_rseg_history_len | 730114209 |",
    "ROW OPERATIONS",
    "--------------",
    "Max open files            1024                 4096                 files",
    "procs -----------memory---------- ---swap--",
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st",
    " 9  2      0      1      1      1    8    0     0     0    5   70 10 80  5  5  0",
    "top - 10:00:00 up",
    "%Cpu(s): 10.5 us, 80.0 sy",
    "  PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND",
    "   62 root      39  19       0      0      0 R 100.0   0.0  41:17.08 khugepaged",
    "TS 1700000000.5 2023-11-14 22:13:20",
    "TS 99999999999.5 x",
    "nr_free_pages 5",
    "compact_stall 7",
    "cpu  10 0 10 80 0 0 0 0",
    "MemTotal:  99 kB",
    "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11",
    "```",
    "",
    "> quoted text",
    "db_1  | --Thread 1400 has waited at a.c line 1 for 9.00 seconds the semaphore:",
    "&lt;a&gt; &amp;amp;",
    "<!DOCTYPE html>",
    "<table><tr><td>5</td><td>root",
    "</td></tr></table>",
    "<pre><span class='a'>#0  0x01 in f ()</span><br>",
    "<resultset statement=\"SHOW PROCESSLIST\">",
    "<row><field name=\"Id\">5</field><field name=\"db\" xsi:nil=\"true\" />",
    "mysql> show processlist; +----+---+ | Id | a | +----+---+ | 5 | b | | 6 | c |",
];

fn texts() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        8 => proptest::sample::select(LINES).prop_map(str::to_owned),
        1 => ".{0,60}",
        1 => (proptest::sample::select(LINES), 0_usize..200).prop_map(|(line, at)| {
            line.chars().take(at).collect::<String>()
        }),
    ];
    proptest::collection::vec(line, 0..60).prop_map(|lines| lines.join("\n"))
}

fn read(bytes: &[u8]) {
    let imported = import(&[Input { path: "x", bytes }]);
    for part in &imported.parts {
        if let Some((from, to)) = part.lines {
            assert!(from <= to, "{part:?}");
        }
    }
    if let Some(incident) = imported.incident {
        assert!(incident.window.to >= incident.stall.onset);
        assert!(
            incident
                .texts
                .iter()
                .all(|text| text.at <= incident.window.to)
        );
        assert!(
            incident
                .stacks
                .runs
                .iter()
                .all(|run| run.to <= incident.window.to)
        );
    }
}

proptest! {
    #[test]
    fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        read(&bytes);
    }

    #[test]
    fn no_mixture_of_lines_breaks_it(text in texts()) {
        read(text.as_bytes());
        read(text.replace('\n', "\r\n").as_bytes());
    }

    #[test]
    fn a_capture_may_be_cut_anywhere(text in texts(), from in 0_usize..4000, to in 0_usize..4000) {
        let bytes = text.as_bytes();
        let from = from.min(bytes.len());
        read(&bytes[from..to.clamp(from, bytes.len())]);
    }
}

#[test]
fn the_lines_of_a_part_of_a_page_are_from_and_to() {
    // Found by the test above; and what stands between the cells of a row comes before it.
    read(b"<!DOCTYPE html>\nThread 3 (Thread 0x7f00 (LWP 12)):\n\r\r\n2023-03-14 08:27:55 0x7f8f INNODB MONITOR OUTPUT\n<table><tr><td>5</td><td>root\nThread 3 (Thread 0x7f00 (LWP 12)):");
    let between = "<table><tr><td>1 a,poll</td>\n2 a,poll\n<td></td></tr></table>";
    let imported = import(&[Input {
        path: "x",
        bytes: between.as_bytes(),
    }]);
    let lines: Vec<_> = imported.parts.iter().map(|part| part.lines).collect();
    assert_eq!(lines, [Some((1, 2))]);
}

#[test]
fn a_long_text_without_meaning_takes_no_more_than_its_length() {
    // Lines that could begin something, many times over: recognising must not be quadratic.
    for line in [
        "(",
        "#0 (",
        "| a | b |",
        "1 a,b",
        "---TRANSACTION 1, ACTIVE 1 sec",
        "<<<<<<<<",
        "<table><tr><td>",
        "<!DOCTYPE html><pre>",
        "+---+---+ | 1 | 2 |",
    ] {
        let text = format!("{line}\n").repeat(20_000);
        read(text.as_bytes());
    }
}

/// Letters of a long line: what took the square of its length would take a minute.
const LETTERS: usize = 1 << 18;

/// Reads `head` and as often `part` as makes a long line.
fn read_line(head: &str, part: &str) {
    read(format!("{head}{}", part.repeat(LETTERS / part.len())).as_bytes());
}

#[test]
fn a_long_line_without_meaning_is_read_to_its_end() {
    read_line("", "(");
    read_line("", "#0 ");
    read_line("", "+---+ | 1 ");
}

#[test]
fn a_long_line_without_meaning_in_a_page_is_read_to_its_end() {
    read_line("", "<table><td>");
    read_line("<html>", "<a b='c' ");
}

#[test]
fn a_long_line_without_meaning_in_json_is_read_to_its_end() {
    read_line("", "{\"a\":[");
    read_line("{\"a\":[", "1,");
    read_line("", "{\"State\":\"\\\"");
}
