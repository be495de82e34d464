//! Logs, packets, tables of the server and listings of the host, damaged in every way: nothing panics,
//! and what is made of them keeps within the incident.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use import::{Input, import};
use proptest::prelude::*;

/// Lines of these formats, made up.
const LINES: &[&str] = &[
    "/usr/sbin/mysqld, Version: 8.0.36. started with:",
    "# Time: 2026-11-21T10:00:00.000000Z",
    "# User@Host: app[app] @ web [10.0.0.7]  Id:     5",
    "# Query_time: 2.000000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 9",
    "SET timestamp=1795255200;",
    "select * from t where a = 'x;y' -- z",
    "select 1;",
    "2026-11-21T10:00:00.000000Z\t    5 Query\tselect 1",
    "\t\t    5 Quit\t",
    "*************************** 1. row ***************************",
    "*************************** 2. row ***************************",
    "                    trx_id: 42",
    "                 trx_state: LOCK WAIT",
    "               trx_started: 2026-11-21 10:00:00",
    "       trx_mysql_thread_id: 99999999999999999999",
    "                 trx_query: update t set a =",
    "blocking_trx_id: 41",
    "requesting_trx_id: 42",
    "waiting_trx_id: 1",
    "waiting_thread: 7",
    "blocking_thread: 7",
    "who_blocks: thread 7",
    "num_waiters: 3",
    "OBJECT_TYPE: TABLE",
    "OBJECT_SCHEMA: shop",
    "LOCK_DURATION: TRANSACTION",
    "LOCK_STATUS: PENDING",
    "+----+-----+",
    "| trx_id | trx_state | trx_started | trx_mysql_thread_id |",
    "| 5 | LOCK WAIT | 0000-00-00 | 9 | 10 |",
    "SCHEMA_NAME\tDIGEST\tDIGEST_TEXT\tCOUNT_STAR\tSUM_TIMER_WAIT",
    "shop\tab\tSELECT ?\t18446744073709551615\t18446744073709551615",
    "Type\tName\tStatus",
    "InnoDB\tdict0dict.cc:1\tos_waits=5",
    "Mutex block",
    "Mutex hold",
    "Count     nsec Lock                         Caller",
    "18446744073709551615 1e308 libc.so.1`libc_malloc_lock   libc.so.1`malloc+0x38",
    "    5  100000 libc.so.1`libc_malloc_lock   mysqld`f+0x1",
    "Linux 6.1.0 (db1) \t11/21/2026 \t_x86_64_\t(2 CPU)",
    "avg-cpu:  %user   %nice %system %iowait  %steal   %idle",
    "           5.00    0.00   80.00    1.00    0.00   14.00",
    "Device            r/s     rkB/s     w/s     wkB/s  aqu-sz  %util",
    "vda 1e300 1,5 -3 4 5 6",
    "12:00:00 PM  CPU    %usr   %nice    %sys",
    "23:59:60     all    5.00    0.00   80.00",
    "00:00:00     kbmemfree kbavail",
    "00:00:01     12 13",
    "               total        used        free      shared  buff/cache   available",
    "Mem:  16Gi 1Gi 9999999999999999999999Ti 1Mi 1Gi 8192Mi",
    "Active Internet connections (servers and established)",
    "tcp      151      0 0.0.0.0:3306            0.0.0.0:*               LISTEN      812/mysqld",
    "LISTEN 12 80 *:3306 *:*",
    "TcpExt:",
    "    5 times the listen queue of a socket overflowed",
    "/dev/vda1 100 99 1 99% /var/lib/mysql",
    "vm.swappiness = 60",
    "UID          PID    PPID  C    SZ   RSS PSR STIME TTY          TIME CMD",
    "mysql        812       1  5 500000 1048576   1 10:00 ?        00:10:00 /usr/sbin/mysqld",
    "# Samples: 4K of event 'cycles'",
    "    60.00%    10.00%  mysqld   mysqld  [.] row_search_mvcc",
    "            |",
    "            ---row_search_mvcc",
    "               |--9.05%--f",
    "                --99.71%--g",
    "9.05% f;g;h",
    "TS 1700000000.5 2023-11-14 22:13:20",
    "TS 1700000001.5 2023-11-14 22:13:21",
    "```",
    "",
];

/// Lines of the samples of all formats.
fn sample_lines() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok())
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

fn texts() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        8 => proptest::sample::select(LINES).prop_map(str::to_owned),
        8 => proptest::sample::select(sample_lines()),
        1 => ".{0,60}",
        1 => (proptest::sample::select(LINES), 0_usize..200).prop_map(|(line, at)| {
            line.chars().take(at).collect::<String>()
        }),
    ];
    proptest::collection::vec(line, 0..60).prop_map(|lines| lines.join("\n"))
}

fn read(bytes: &[u8]) {
    let imported = import(&[Input { path: "x", bytes }]);
    let Some(incident) = imported.incident else {
        return;
    };
    let to = incident.window.to;
    let within = |from, until| from <= until && until <= to;
    assert!(
        incident
            .queries
            .iter()
            .all(|timed| within(timed.window.from, timed.window.to))
    );
    assert!(
        incident
            .stacks
            .locks
            .iter()
            .all(|table| within(table.from, table.to))
    );
    for table in &incident.stacks.locks {
        for holder in table.locks.iter().flat_map(|row| &row.holders) {
            // The stack is one of the book's.
            assert!((holder.stack.0 as usize) < incident.stacks.table.stacks().len());
        }
    }
}

/// A capture of one packet, `captured` bytes long by its own word.
fn pcap(link: u32, captured: u32, packet: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(0xa1b2_c3d4_u32.to_le_bytes());
    bytes.extend([2, 0, 4, 0]);
    bytes.extend([0; 8]);
    bytes.extend(65_535_u32.to_le_bytes());
    bytes.extend(link.to_le_bytes());
    for number in [1_700_000_000, 5, captured, captured] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(packet);
    bytes
}

proptest! {
    #[test]
    fn no_mixture_of_lines_breaks_it(text in texts()) {
        read(text.as_bytes());
    }

    #[test]
    fn a_capture_may_be_cut_anywhere(text in texts(), from in 0_usize..4000, to in 0_usize..4000) {
        let bytes = text.as_bytes();
        let from = from.min(bytes.len());
        read(&bytes[from..to.clamp(from, bytes.len())]);
    }

    #[test]
    fn no_packets_break_it(
        link in prop_oneof![Just(1_u32), Just(113), Just(276), Just(101), Just(0), any::<u32>()],
        packet in proptest::collection::vec(any::<u8>(), 0..200),
        captured in prop_oneof![Just(None), any::<u32>().prop_map(Some)],
    ) {
        let captured = captured.unwrap_or(packet.len() as u32);
        read(&pcap(link, captured, &packet));
    }

    #[test]
    fn no_blocks_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut file = 0x0a0d_0d0a_u32.to_le_bytes().to_vec();
        file.extend(28_u32.to_le_bytes());
        file.extend(0x1a2b_3c4d_u32.to_le_bytes());
        file.extend([1, 0, 0, 0]);
        file.extend([0xff; 8]);
        file.extend(28_u32.to_le_bytes());
        file.extend(bytes);
        read(&file);
    }
}

#[test]
fn a_log_that_never_ends_its_event_takes_no_more_than_its_length() {
    let head = "# Time: 2026-11-21T10:00:00.000000Z\n# User@Host: a[a] @ b [] Id: 1\n# Query_time: 1 Lock_time: 0 Rows_sent: 0 Rows_examined: 0\n";
    let log = format!("{head}select {}", "1, ".repeat(6 << 20));
    read(log.as_bytes());
    read("\t\t    5 Quit\t\n".repeat(100_000).as_bytes());
}
