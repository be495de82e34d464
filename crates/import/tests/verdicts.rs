//! From captures of many kinds to what is made of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use diagnosis::{Catalogue, Level, Verdict, diagnose, diagnose_closely};
use import::{Input, import};
use model::Incident;

fn causes(captures: &[&str]) -> Vec<(String, Level)> {
    let diagnosis = diagnose(&incident(captures), Catalogue::builtin());
    named(&diagnosis)
}

/// With suspicions where nothing is found.
fn closely(captures: &[&str]) -> Vec<(String, Level)> {
    named(&diagnose_closely(&incident(captures), Catalogue::builtin()))
}

fn named(verdict: &Verdict) -> Vec<(String, Level)> {
    let findings = verdict.findings.iter();
    findings
        .map(|finding| (finding.cause.clone(), finding.level))
        .collect()
}

fn incident(captures: &[&str]) -> Incident {
    let inputs: Vec<Input<'_>> = captures
        .iter()
        .map(|text| Input {
            path: "x",
            bytes: text.as_bytes(),
        })
        .collect();
    import(&inputs).incident.unwrap()
}

/// The table of plockstat, with several analytic queries at once.
const PLOCKSTAT: &str = "Mutex block\n\nCount     nsec Lock                         Caller\n-------------------------------------------------------------------------------\n\
    15823   201122 libc.so.1`libc_malloc_lock   libstdc++.so.6`operator new+0x1c\n\
    12011   190331 libc.so.1`libc_malloc_lock   libstdc++.so.6`operator delete+0xc\n\
    12    40111 mysqld`LOCK_thread_count     mysqld`dispatch_command+0x21\n\n\
    Mutex hold\n\nCount     nsec Lock                         Caller\n-------------------------------------------------------------------------------\n\
    3600211      912 libc.so.1`libc_malloc_lock   libstdc++.so.6`operator new+0x1c\n";

#[test]
fn plockstat_names_the_allocator() {
    let found = causes(&[PLOCKSTAT]);
    assert_eq!(found, [("malloc-arena".to_owned(), Level::Possible)]);
    // Waits for another lock say nothing of it.
    let other = PLOCKSTAT.replace("libc_malloc_lock", "LOCK_open");
    assert!(
        causes(&[&other])
            .iter()
            .all(|(cause, _)| cause != "malloc-arena")
    );
}

/// One wait of a status that says nothing else.
const KERNEL_MUTEX: &str = "--Thread 139918402647808 has waited at trx/trx0trx.c line 807 for 2.0000 seconds the semaphore:\n\
    Mutex at 0x1f3c7d8 '&kernel_mutex', lock var 1\nwaiters flag 1\n";

/// Two listings of opreport, of the timer and of a counter of the processor.
const OPREPORT: [&str; 2] = [
    "CPU: CPU with timer interrupt, speed 0 MHz (estimated)\n\
    Profiling through timer interrupt\n\
    samples  %        image name               symbol name\n\
    158694    25.9101  libc-2.7.so              memcpy\n\
    98732     16.1200  no-vmlinux               (no symbols)\n\
    44344      7.2401  mysqld                   _mi_rec_unpack\n\
    19109      3.1199  mysqld                   Query_cache::insert_into_free_memory_sorted_list(Query_cache_block*, Query_cache_block**)\n\
    14393      2.3500  mysqld                   ha_key_cmp\n\
    11086      1.8100  mysqld                   get_hash_link\n\
    8820       1.4400  mysqld                   MYSQLparse(void*)\n",
    "CPU: P4 / Xeon, speed 2992.5 MHz (estimated)\n\
    Counted GLOBAL_POWER_EVENTS events (time during which processor is not stopped) with a unit mask of 0x01 (mandatory) count 100000\n\
    samples  %        image name               symbol name\n\
    908217    41.2000  /usr/libexec/mysqld      Query_cache::insert_into_free_memory_sorted_list(Query_cache_block*, Query_cache_block**)\n\
    64810      2.9400  /usr/libexec/mysqld      my_strnncoll_binary\n\
    52245      2.3700  /usr/libexec/mysqld      MYSQLparse(void*)\n",
];

#[test]
fn listings_name_what_they_show() {
    let possible = |cause: &str| [(cause.to_owned(), Level::Possible)];
    assert_eq!(causes(&[KERNEL_MUTEX]), possible("kernel-mutex"));
    let [memcpy, query_cache] = OPREPORT;
    // 5 % of the first server's time were of the query cache as well, which is no stall.
    assert_eq!(causes(&[memcpy]), []);
    assert_eq!(causes(&[query_cache]), possible("query-cache"));
    let off = "Variable_name\tValue\nquery_cache_size\t536870912\nquery_cache_type\tOFF\nquery_cache_limit\t1048576\n";
    assert_eq!(causes(&[query_cache, off]), []);
}

/// As people paste it: mangled names, one blank between columns, and no section of what was waited for.
const PLOCKSTAT_HOLDS: &str = "# plockstat -A -p 1187\n^C\nMutex hold\nCount nsec Lock Caller\n\
    -------------------------------------------------------------------------------\n\
    2711902 1064 libc.so.1`libc_malloc_lock libstdc++.so.6`_Znwm+0x2b\n\
    2709417 988 libc.so.1`libc_malloc_lock libstdc++.so.6`_ZdlPv+0xe\n\
    4 402118093 0x1a40c60 mysqld`_ZN8Pack_map7releaseEv+0x1a\n\
    7 5110274 mysqld`LOCK_open mysqld`_Z10open_tableP3THDP13st_table_listP11st_mem_rootPbj+0x3c1\n\
    8120 1101 libc.so.1`libc_malloc_lock libstdc++.so.6`_Znwm+0x2b\n\
    612 1230 libc.so.1`libc_malloc_lock libstdc++.so.6`_ZdlPv+0xe\n";

#[test]
fn holds_of_plockstat_name_the_allocator() {
    let found = causes(&[PLOCKSTAT_HOLDS]);
    assert_eq!(found, [("malloc-arena".to_owned(), Level::Possible)]);
    for other in [
        // A lock of the server's own.
        PLOCKSTAT_HOLDS.replace("libc.so.1`libc_malloc_lock", "mysqld`LOCK_open"),
        // Hardly anything ran.
        PLOCKSTAT_HOLDS.replace("27119", "3").replace("27094", "3"),
    ] {
        assert_eq!(causes(&[&other]), [], "{other}");
    }
}

#[test]
fn one_table_of_waits_is_one_source() {
    let mut rows = String::new();
    for waiter in 10..20 {
        rows.push_str(&format!(
            "*************************** {}. row ***************************\nwaiting_trx_id: {waiter}0\nwaiting_thread: {waiter}\nwait_time: 30\nwaiting_query: update t set a = 1\nwaiting_table_lock: `a`.`t`\nblocking_trx_id: 50\nblocking_thread: 5\nblocking_query: NULL\n",
            waiter - 9
        ));
    }
    let found = causes(&[&rows]);
    assert_eq!(found, [("row-lock-pileup".to_owned(), Level::Possible)]);
}

#[test]
fn a_full_file_system_is_a_second_witness() {
    let log = "2026-11-21 12:55:23 0 [ERROR] mariadbd: Disk is full writing './binlog.000001' (Errcode: 28). Waiting for someone to free space...\n";
    let df = "Filesystem     1K-blocks     Used Available Use% Mounted on\n/dev/vdb1 100 100 0 100% /var/lib/mysql\n";
    let level = |captures: &[&str]| {
        let found = causes(captures);
        let full = found.iter().find(|(cause, _)| cause == "disk-full");
        full.map(|(_, level)| *level)
    };
    let (alone, both) = (level(&[log]).unwrap(), level(&[log, df]).unwrap());
    assert!(both > alone, "{alone:?} {both:?}");
    assert_eq!(level(&[log, &df.replace("100%", "97%")]), Some(alone));
}

#[test]
fn what_the_journal_says_of_the_server_is_its_log() {
    let journal = "Aug 25 10:07:45 db1 mariadbd[659]: 2025-08-25 10:07:45 9 [Warning] Aborted connection 9 to db: 'a'
Aug 25 11:10:09 db1 systemd[1]: mariadb.service: A process of this unit has been killed by the OOM killer.
Aug 25 11:10:11 db1 systemd[1]: mariadb.service: Failed with result 'oom-kill'.
";
    assert_eq!(causes(&[journal]), [("oom".to_owned(), Level::Likely)]);
    let full = "100611  7:02:19  InnoDB: ERROR: the age of the last checkpoint is 9433587,
InnoDB: which exceeds the log group capacity 9433498.
";
    assert_eq!(
        causes(&[full]),
        [("checkpoint-sync-flush".to_owned(), Level::Possible)]
    );
}

/// A list of Galera's status alone has no name with a capital letter, as settings have none.
#[test]
fn the_status_of_a_cluster_is_no_list_of_settings() {
    let status = "+----------------------------+-------+
| Variable_name              | Value |
+----------------------------+-------+
| wsrep_flow_control_paused  | 0.984 |
| wsrep_local_recv_queue     | 4031  |
+----------------------------+-------+
";
    assert_eq!(
        causes(&[status]),
        [("galera-gr-flow-control".to_owned(), Level::Possible)]
    );
}

#[test]
fn sessions_that_write_temporary_tables_need_no_second_status() {
    let row = |id: u32| {
        format!(
            "| {id} | app | web:{id} | shop | Query | 398 | converting HEAP to MyISAM | SELECT a FROM b GROUP BY c |\n"
        )
    };
    let list = format!(
        "| Id | User | Host | db | Command | Time | State | Info |\n{}",
        (1..=6).map(row).collect::<String>()
    );
    let found = causes(&[&list]);
    assert!(
        found.iter().any(|(cause, _)| cause == "tmp-disk"),
        "{found:?}"
    );
}

/// Three functions of the kernel's audit that call each other had 10 % alone; the outermost had
/// 26 % with what it called, and the three together no more.
#[test]
fn callers_that_include_each_other_do_not_add_up() {
    let listing = "# Samples: 4K of event 'cycles'
# Children      Self  Command  Shared Object      Symbol
    99.00%     0.00%  mysqld   libpthread.so      [.] start_thread
    26.00%     1.00%  mysqld   [kernel.kallsyms]  [k] syscall_trace_enter
    25.00%     3.00%  mysqld   [kernel.kallsyms]  [k] __audit_syscall_entry
    19.00%     6.00%  mysqld   [kernel.kallsyms]  [k] audit_filter_syscall
    30.00%    30.00%  mysqld   mysqld             [.] ut_delay
";
    let incident = import(&[Input {
        path: "x",
        bytes: listing.as_bytes(),
    }])
    .incident
    .unwrap();
    let diagnosis = diagnose(&incident, Catalogue::builtin());
    let audit = diagnosis
        .findings
        .iter()
        .find(|finding| finding.cause == "linux-auditd")
        .unwrap();
    let said: Vec<&str> = audit
        .witnesses
        .iter()
        .map(|one| one.says.as_str())
        .collect();
    assert!(said.iter().any(|says| says.contains("26 %")), "{said:?}");
}

/// Logs that somebody copied without the host, and without the kernel's name.
#[test]
fn a_log_needs_no_host_behind_its_date() {
    let killed =
        "Nov 22 10:11:12 Out of memory: Kill process 20417 (mysqld) score 902 or sacrifice child
Nov 22 10:11:12 Killed process 20417 (mysqld) total-vm:24117248kB, anon-rss:23068672kB, file-rss:0kB
";
    assert_eq!(causes(&[killed]), [("oom".to_owned(), Level::Likely)]);
    let stamped = killed.replace("12 ", "12 kernel: [812.000001] ");
    assert_eq!(causes(&[&stamped]), [("oom".to_owned(), Level::Likely)]);
    let pages = "Aug  3 08:32:23 [Note] InnoDB: Starting a batch to recover 9962 pages from redo log.
Aug  3 08:32:23 [Warning] InnoDB: Difficult to find free blocks in the buffer pool (21 search iterations)! 21 failed attempts to flush a page!
";
    let imported = import(&[Input {
        path: "x",
        bytes: pages.as_bytes(),
    }]);
    let part = &imported.parts[0];
    assert_eq!(
        (part.kind.as_str(), part.brought.as_str()),
        ("error log", "2 log lines")
    );
}

#[test]
fn a_deadlock_of_the_error_log_is_no_status() {
    let log = "2021-01-18T09:40:17.208101+08:00 51207 [Note] InnoDB: Transactions deadlock detected, dumping detailed information.
*** (1) TRANSACTION:
TRANSACTION 402117731, ACTIVE 0 sec setting auto-inc lock
*** (1) WAITING FOR THIS LOCK TO BE GRANTED:
TABLE LOCK table `a`.`b` trx id 402117731 lock mode AUTO-INC waiting
*** (2) TRANSACTION:
TRANSACTION 402117728, ACTIVE 1 sec fetching rows
*** WE ROLL BACK TRANSACTION (1)
";
    let incident = import(&[Input {
        path: "x",
        bytes: log.as_bytes(),
    }])
    .incident
    .unwrap();
    let diagnosis = diagnose(&incident, Catalogue::builtin());
    let said = &diagnosis.findings[0].witnesses[0].says;
    assert!(said.starts_with("InnoDB printed 2 lines of "), "{said}");
}

#[test]
fn disks_of_freebsd_are_disks() {
    let report = "                        extended device statistics
device       r/s     w/s     kr/s     kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b
da0          201      98   7201.8   5448.0     5    30     0    13    1  98
pass0          0       0      0.0      0.0     0     0     0     0    0   0
";
    let text = format!("root@:~ # iostat -x 1\n{}", report.repeat(4));
    let imported = import(&[Input {
        path: "x",
        bytes: text.as_bytes(),
    }]);
    let parts: Vec<(&str, &str)> = imported
        .parts
        .iter()
        .map(|part| (part.kind.as_str(), part.brought.as_str()))
        .collect();
    assert_eq!(parts, [("iostat output", "3 moments")]);
}

/// What the server says of one statement is named, to its last line, and ends where others begin.
#[test]
fn plans_and_profiles_of_a_ticket_have_their_names() {
    let plan = "plan of a statement (EXPLAIN)";
    let stages = "stages of one statement (SHOW PROFILE)";
    let list = "\n| 7 | app | web1:4711 | shop | Query | 12 | update | UPDATE t SET a = 1 |\n";
    for (name, text) in [
        (
            plan,
            "+----+-------------+-------+------+\n| id | select_type | table | type |\n+----+-------------+-------+------+\n|  1 | SIMPLE      | t     | ALL  |\n+----+-------------+-------+------+\n",
        ),
        (plan, "id\tselect_type\ttable\ttype\n1\tSIMPLE\tt\tALL\n"),
        (
            plan,
            "*************************** 1. row ***************************\n           id: 1\n  select_type: SIMPLE\n        table: t\n         type: ALL\n",
        ),
        (
            plan,
            "| -> Limit: 10 row(s)  (cost=1.2 rows=10)\n    -> Stream results\n        -> Table scan on t  (cost=10.2 rows=100) (actual time=0.1..2.3 rows=100 loops=1)\n |\n",
        ),
        (
            plan,
            "{\n  \"query_block\": {\n    \"select_id\": 1,\n    \"table\": {\n      \"table_name\": \"t\"\n    }\n  }\n}\n",
        ),
        (
            stages,
            "| Waiting for query cache lock | 0.000004 |\n| init | 0.000044 |\n| Copying to tmp table on disk | 4.040516 |\n+------+------+\n",
        ),
    ] {
        let text = format!("{text}{list}");
        let imported = import(&[Input {
            path: "x",
            bytes: text.as_bytes(),
        }]);
        let kinds: Vec<&str> = imported
            .parts
            .iter()
            .map(|part| part.kind.as_str())
            .collect();
        // Words of a plan may be told besides.
        assert_eq!(kinds[..2], [name, "processlist"], "{text}");
    }
}

#[test]
fn words_that_point_at_a_cause_make_a_suspicion_and_nothing_more() {
    let told = closely(&["In the chat somebody said Innodb_log_waits = 4711, and it grows."]);
    assert_eq!(told, [("redo-log-buffer".to_owned(), Level::Suspicion)]);
    for (error, cause) in [
        ("errno=11", "thread-limit"),
        ("(errno= 24)", "ulimit-nofile-memory"),
        ("errno=28", "disk-full"),
    ] {
        let told = closely(&[error]);
        let first = told.first().map(|(cause, _)| cause.as_str());
        assert_eq!(first, Some(cause), "{error}: {told:?}");
    }
    // It is no evidence beside a finding: the same words behind a pile-up leave it alone.
    let list: String = (0..40)
        .map(|id| format!("| {id} | app | web1:4711 | shop | Query | 42 | Waiting for table metadata lock | UPDATE t SET a = 1 |\n"))
        .collect();
    let list = format!(
        "+----+------+-----------+------+---------+------+------+------+\n| Id | User | Host | db | Command | Time | State | Info |\n{list}"
    );
    let alone = closely(&[&list]);
    assert_eq!(
        alone.first().map(|(cause, _)| cause.as_str()),
        Some("mdl-pileup")
    );
    let beside = closely(&[&list, "Somebody said Innodb_log_waits = 4711."]);
    assert_eq!(beside, alone);
}

/// What a client, a pool or an orchestrator prints instead of the server's own words.
#[test]
fn messages_of_others_and_in_other_languages_point_at_the_same_causes() {
    for (text, cause) in [
        (
            "HikariPool-1 - Connection is not available, request timed out after 30000ms.",
            "max-connections",
        ),
        (
            "GetConnectionTimeoutException: wait millis 60000, active 20, maxActive 20",
            "max-connections",
        ),
        (
            "ERROR 1135 (HY000): Kann keinen neuen Thread erzeugen (Fehler: 11)",
            "thread-limit",
        ),
        (
            "ERROR 1114 (HY000): La table 'ventes' est pleine",
            "disk-full",
        ),
        (
            "ERROR 1114 (HY000): Таблица 'orders' переполнена",
            "disk-full",
        ),
        (
            "Can't connect to MySQL server on 'db1' (10048)",
            "conntrack-ephemeral",
        ),
        (
            "Can't connect to server on '10.0.3.7' (99)",
            "conntrack-ephemeral",
        ),
        (
            "kubelet: Startup probe failed: command \"mysqladmin ping\" timed out",
            "slow-startup",
        ),
    ] {
        let found = closely(&[text]);
        let first = found.first().map(|(cause, level)| (cause.as_str(), *level));
        assert_eq!(first, Some((cause, Level::Suspicion)), "{text}");
    }
}

/// Stacks of a client's threads, events of Windows and of a cloud: what somebody has who cannot look into the server.
#[test]
fn what_surrounds_a_server_points_at_causes() {
    for (text, cause) in [
        (
            "   java.lang.Thread.State: TIMED_WAITING (parking)\n\tat sun.misc.Unsafe.park(Native Method)\n\
             \tat com.zaxxer.hikari.util.ConcurrentBag.borrow(ConcurrentBag.java:151)\n",
            "max-connections",
        ),
        (
            "goroutine 4121 [select, 12 minutes]:\ndatabase/sql.(*DB).conn(0xc0001b2000, {0x1234, 0xc000}, 0x1)\n",
            "max-connections",
        ),
        (
            "Warning 129 storahci: Reset to device, \\Device\\RaidPort0, was issued.",
            "slow-fsync",
        ),
        (
            "Tcpip 4231: A request to allocate an ephemeral port number from the global TCP port space has failed",
            "conntrack-ephemeral",
        ),
        (
            "RDS event: The allocated storage for the DB instance has been exhausted.",
            "disk-full",
        ),
    ] {
        let found = closely(&[text]);
        let is_named = found
            .iter()
            .any(|(named, level)| named == cause && *level == Level::Suspicion);
        assert!(is_named, "{text}: {found:?}");
    }
}

/// A storm of connections has the same layer, and nothing here speaks of one.
#[test]
fn what_a_word_points_at_stands_before_what_is_only_near() {
    for words in [
        "Лимит соединений",
        "Limit der Verbindungen",
        "the connection limit",
    ] {
        let found = closely(&[&format!(
            "{words}\n\n| Id | User | Host | db | Command | Time | State | Info |\n\
             | 31 | shop | web:1 | shop | Sleep | 700 |  | NULL |\n\
             | 32 | shop | web:2 | shop | Sleep | 640 |  | NULL |\n"
        )]);
        let first = found.first().map(|(cause, _)| cause.as_str());
        assert_eq!(first, Some("max-connections"), "{words}: {found:?}");
    }
}

/// The purge that begins is one of the last lines of a start; at its end, a server goes down.
#[test]
fn a_server_that_waits_for_the_purge_to_start_does_not_stop() {
    let found = |line: &str| {
        closely(&[&format!(
            "2021-03-04 05:10:11 7 [Note] InnoDB: Starting crash recovery.\n2021-03-04 05:59:40 7 [Note] InnoDB: {line}\n"
        )])
    };
    let stops = ("shutdown-hang".to_owned(), Level::Possible);
    let starts = found("Waiting for purge to start");
    assert!(!starts.contains(&stops), "{starts:?}");
    for line in [
        "Waiting for purge thread to be suspended",
        "Waiting for purge to complete",
    ] {
        let ends = found(line);
        assert!(ends.contains(&stops), "{line}: {ends:?}");
    }
}

/// Nobody pastes the server's counters with a list of sessions and a table of iostat.
#[test]
fn commits_that_stand_beside_a_slow_disk_wait_for_it() {
    let found = |state: &str, write_ms: &str| {
        let old = write_ms.parse::<f64>().unwrap() * 0.99;
        let lists = [
            format!(
                "Device   r/s    w/s   rkB/s   wkB/s  w_await  aqu-sz  %util\nsda     0.40  21.60    8.00  312.00   {write_ms}    9.81  99.80\n"
            ),
            format!(
                "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util\n\
                 sda               0.00     3.00    0.20   21.40     3.20   388.00    24.76     8.90  {old:.2}  31.60  99.84\n"
            ),
        ];
        lists.map(|disk| {
            closely(&[&format!(
                "| Id | User | Host | db | Command | Time | State | Info |\n\
                 | 31 | shop | web:1 | shop | Query | 7 | {state} | COMMIT |\n\
                 | 32 | shop | web:2 | shop | Query | 6 | {state} | COMMIT |\n\n{disk}"
            )])
        })
    };
    let is_it = ("slow-fsync".to_owned(), Level::Possible);
    for state in ["Commit", "waiting for handler commit", "query end"] {
        for found in found(state, "438.10") {
            assert_eq!(found.first(), Some(&is_it), "{state}: {found:?}");
        }
    }
    for (state, write_ms) in [("Commit", "2.10"), ("Sending data", "438.10")] {
        for found in found(state, write_ms) {
            assert!(!found.contains(&is_it), "{state} {write_ms}: {found:?}");
        }
    }
}

/// Monitoring piles up behind one commit that waits for a replica, until no connection is left.
#[test]
fn what_follows_from_anything_stands_behind_what_was_seen() {
    let list = "ERROR 1040 (HY000): Too many connections\n\n\
        | Id | User | Host | db | Command | Time | State | Info |\n\
        | 7 | app | web:1 | shop | Query | 1812 | Waiting for semi-sync ACK from slave | INSERT INTO beat VALUES (1) |\n";
    let waiting = (10..40).fold(list.to_owned(), |text, id| {
        text + &format!(
            "| {id} | mon | web:{id} | | Query | 1700 | starting | SHOW MASTER STATUS |\n"
        )
    });
    let found = closely(&[&waiting]);
    let causes: Vec<&str> = found.iter().map(|(cause, _)| cause.as_str()).collect();
    assert_eq!(
        causes[..2],
        ["semisync-ack", "max-connections"],
        "{found:?}"
    );
}

/// What shows a cause shows one that it may follow from as well: that is no reason to name the other one first.
#[test]
fn what_is_seen_in_the_same_stands_behind() {
    let profile = "perf report --no-children\n  47.20%  mysqld  [.] ut_delay\n  \
        13.90%  mysqld  [.] TTASEventMutex<GenericPolicy>::enter\n   7.00%  mysqld  [.] rw_lock_x_lock_func\n";
    let found = closely(&[profile]);
    let first = found.first().map(|(cause, _)| cause.as_str());
    assert_eq!(first, Some("spin-tuning"), "{found:?}");
}

/// Up to MySQL 5.0 one class writes the binary log and the general log.
#[test]
fn a_log_of_mysql_5_0_is_the_general_log_only_where_that_is_known() {
    let writer = |number: usize| {
        format!(
            "Thread {number} (Thread 0x4a1c{number:04x} (LWP {number})):\n#0  __lll_lock_wait ()\n#1  _L_lock_854 ()\n#2  pthread_mutex_lock ()\n#3  MYSQL_LOG::write ()\n#4  mysql_insert ()\n"
        )
    };
    let writers: String = (100..140).map(writer).collect();
    let purging = "Thread 88 (Thread 0x4a0c1940 (LWP 4112)):\n#0  unlink () from /lib64/libc.so.6\n#1  my_delete ()\n#2  MYSQL_LOG::purge_logs ()\n#3  MYSQL_LOG::purge_logs_before_date ()\n#4  MYSQL_LOG::rotate_and_purge ()\n#5  MYSQL_LOG::write ()\n#6  mysql_update ()\n";
    let found = closely(&[&format!("{purging}{writers}")]);
    let first = found.first().map(|(cause, _)| cause.as_str());
    assert_eq!(first, Some("binlog-rotation-flush"), "{found:?}");
    // It may be, but nothing says that it is.
    for text in [format!("{purging}{writers}"), writers] {
        let found = causes(&[&text]);
        assert!(
            found.iter().all(|(cause, _)| cause != "general-log"),
            "{found:?}"
        );
    }
}

/// A flat profile tells of no callers: who fights for a lock of the kernel is told besides, or not at all.
#[test]
fn a_spin_lock_without_callers_speaks_against_no_shrinking_cache() {
    let profile = "Overhead  Command          Shared Object       Symbol\n  83.12%  mysqld           [kernel.kallsyms]   [k] _raw_spin_lock_irqsave\n   3.01%  opsagent         [kernel.kallsyms]   [k] _raw_spin_lock_irqsave\n   0.90%  mysqld           [zfs]               [k] dnode_hold_impl\n";
    let told = "`arc_reclaim` and `kswapd0` on top of the process list with 100 % each.\n\n";
    let found = closely(&[&format!("{told}{profile}")]);
    let first = found.first().map(|(cause, _)| cause.as_str());
    assert_eq!(first, Some("fs-memory-reclaim"), "{found:?}");
}

/// The functions that copy the server's counters are monitoring, though they are in performance_schema's files.
#[test]
fn copying_of_counters_is_monitoring() {
    for text in [
        "All new connections hang. In gdb the only thread that does something is in PFS_status_variable_cache::do_materialize_all, called by SHOW GLOBAL STATUS of an agent.",
        "Each minute all sessions stand still for a second: the one that works is in PFS_system_variable_cache::do_materialize_all, it is the agent's SHOW GLOBAL VARIABLES.",
    ] {
        let found = closely(&[text]);
        let first = found.first().map(|(cause, _)| cause.as_str());
        assert_eq!(first, Some("status-monitoring"), "{text}: {found:?}");
    }
}

/// People paste the first rows of vmstat: the mean since the start, and one second.
#[test]
fn two_rows_of_vmstat_tell_of_swapping() {
    let rows = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n 2 21 2096620  70112   1012  55120   61   58   112   220  412  881  4 22  0 74  0\n 1 24 2096812  69840    988  54988 7044 6102 70011  6400 4402 9012  3 25  0 72  0\n";
    let found = causes(&[rows]);
    let first = found.first().map(|(cause, _)| cause.as_str());
    assert_eq!(first, Some("numa-swap"), "{found:?}");
}
