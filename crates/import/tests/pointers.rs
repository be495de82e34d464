//! What points at a cause where none is found: a line of a log that nobody's sign asks for, a single print of counters.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy does not see that helpers of tests are test code"
)]

use diagnosis::{Catalogue, Level, diagnose_closely};
use import::{Input, import};

fn found(text: &str) -> Vec<(String, Level)> {
    let input = Input {
        path: "x",
        bytes: text.as_bytes(),
    };
    let incident = import(&[input]).incident.unwrap();
    let findings = diagnose_closely(&incident, Catalogue::builtin()).findings;
    let named = findings.into_iter();
    named
        .map(|finding| (finding.cause, finding.level))
        .collect()
}

/// The lexicon knows the line and its layer, and several causes are about the layer: the line tells which.
#[test]
fn a_line_about_a_layer_tells_which_cause_of_it() {
    for (text, cause) in [
        (
            "Mar 03 02:11:09 db1 kernel: nfs: server 10.1.1.9 not responding, still trying\n",
            "slow-fsync",
        ),
        (
            "[91223.112233] device-mapper: multipath: 253:2: Failing path 8:32.\n\
             [91224.112233] sd 2:0:0:1: rejecting I/O to offline device\n",
            "slow-fsync",
        ),
        (
            "[91223.112233] md: recovery of RAID array md0\n",
            "slow-fsync",
        ),
        (
            "[91223.112233] device-mapper: thin: 253:4: switching pool to out-of-data-space (queue IO) mode\n",
            "disk-full",
        ),
        (
            "Mar 03 02:11:09 h corosync[12]: [MAIN  ] Corosync main process was not scheduled for 9122.1 ms\n",
            "steal-time",
        ),
        (
            "Mar 03 02:11:09 h kernel: PM: suspend entry (s2idle)\n",
            "server-stopped",
        ),
        (
            "[9122.112233] hv_balloon: Balloon request will be partially fulfilled. Balloon floor reached.\n",
            "direct-reclaim",
        ),
        (
            "SQLSTATE[08004] [1040] Demasiadas conexiones\n",
            "max-connections",
        ),
        (
            "ERROR 1040 (08004): Zu viele Verbindungen\n",
            "max-connections",
        ),
    ] {
        let found = found(text);
        let first = found.first().map(|(cause, level)| (cause.as_str(), *level));
        assert_eq!(first, Some((cause, Level::Suspicion)), "{text}: {found:?}");
    }
}

/// Values that are well, as `SHOW GLOBAL STATUS` prints them once.
const WELL: [(&str, u64); 20] = [
    ("Com_commit", 8_110),
    ("Com_select", 911_200),
    ("Com_show_warnings", 12),
    ("Connections", 90_120),
    ("Created_tmp_disk_tables", 12),
    ("Created_tmp_tables", 81_200),
    ("Handler_read_rnd_next", 812_000),
    ("Innodb_buffer_pool_read_requests", 8_812_000_000),
    ("Innodb_buffer_pool_reads", 81_200),
    ("Innodb_buffer_pool_wait_free", 0),
    ("Innodb_log_waits", 0),
    ("Innodb_log_writes", 712_000),
    ("Innodb_row_lock_time", 1_200),
    ("Innodb_row_lock_waits", 120),
    ("Opened_tables", 1_200),
    ("Questions", 9_120_000),
    ("Table_locks_immediate", 6_120_000),
    ("Table_locks_waited", 2),
    ("Threads_created", 120),
    ("Uptime", 91_200),
];

/// The print with other values. It is a whole one: nobody picked a line of it.
fn status(changed: &[(&str, u64)]) -> String {
    let mut text = String::from("Variable_name\tValue\n");
    for (name, well) in WELL {
        let changed = changed.iter().find(|(other, _)| *other == name);
        let value = changed.map_or(well, |(_, value)| *value);
        text += &format!("{name}\t{value}\n");
    }
    for other in 0..25 {
        text += &format!("Com_other_{other}\t{other}\n");
    }
    text
}

#[test]
fn a_single_print_of_the_status_tells_what_was_counted_since_the_start() {
    assert!(found(&status(&[])).is_empty(), "{:?}", found(&status(&[])));
    for (changed, cause) in [
        (vec![("Innodb_log_waits", 91_200)], "redo-log-buffer"),
        (
            vec![
                ("Created_tmp_disk_tables", 8_120_000),
                ("Created_tmp_tables", 9_120_000),
            ],
            "tmp-disk",
        ),
        (vec![("Opened_tables", 912_000)], "table-open-cache"),
        (
            vec![
                ("Innodb_buffer_pool_reads", 91_200_000),
                ("Innodb_buffer_pool_read_requests", 881_200_000),
            ],
            "small-bufpool",
        ),
        (vec![("Table_locks_waited", 812_000)], "table-lock-pileup"),
        (vec![("Innodb_row_lock_time", 9_120_000)], "row-lock-pileup"),
        (
            vec![("Handler_read_rnd_next", 81_200_000_000)],
            "optimizer-plan",
        ),
        (
            vec![("Threads_created", 9_120_000), ("Connections", 9_120_100)],
            "connection-storm",
        ),
    ] {
        let found = found(&status(&changed));
        let first = found.first().map(|(cause, level)| (cause.as_str(), *level));
        assert_eq!(
            first,
            Some((cause, Level::Suspicion)),
            "{changed:?}: {found:?}"
        );
    }
}

/// A list of sessions that commit in MariaDB, and what one more is in.
fn commits(state: &str) -> String {
    format!(
        "| Id | User | Host | db | Command | Time | State | Info |\n\
         | 12 | system user | | NULL | Sleep | 61 | Waiting for prior transaction to commit | NULL |\n\
         | 311 | web | 10.2.1.4 | shop | Query | 60 | Waiting for prior transaction to commit | COMMIT |\n\
         | 312 | web | 10.2.1.4 | shop | Query | 59 | Waiting for prior transaction to commit | COMMIT |\n\
         | 313 | web | 10.2.1.5 | shop | Query | 59 | {state} | COMMIT |\n"
    )
}

/// Members of a cluster and parallel replicas wait in the same words.
#[test]
fn the_order_of_a_cluster_is_no_replicas() {
    let replica = ("replication-apply".to_owned(), Level::Possible);
    assert!(found(&commits("Waiting for prior transaction to commit")).contains(&replica));
    for state in [
        "Waiting for certification",
        "wsrep: initiating replication for write set (-1)",
    ] {
        let found = found(&commits(state));
        assert!(!found.contains(&replica), "{state}: {found:?}");
    }
}

/// A database of another name ran out of memory.
#[test]
fn the_end_of_another_program_is_not_the_servers() {
    let level = |text: &str| {
        let found = found(text).into_iter();
        let mut oom = found.filter(|(cause, _)| cause == "oom");
        oom.next().map(|(_, level)| level)
    };
    let stamped = "[4711.2] Out of memory: Killed process 12 (NAME) total-vm:9kB\n";
    let told = "[4711.251] NAME invoked oom-killer: gfp_mask=0x100cca, order=0\n\
        Then we read Out of memory: Killed process 12 (NAME) in it.\n";
    assert_eq!(
        level(&stamped.replace("NAME", "mariadbd")),
        Some(Level::Likely)
    );
    for text in [stamped, told] {
        let other = level(&text.replace("NAME", "java"));
        assert!(other < Some(Level::Likely), "{text}: {other:?}");
    }
}

/// What Docker, Kubernetes and a cloud say of a server that somebody else looks after.
#[test]
fn those_who_run_servers_point_at_causes() {
    for (text, cause) in [
        (
            "The state that docker inspect shows of it:\n    \"Status\": \"paused\",\n    \"Running\": true,\n    \"Paused\": true,\n    \"OOMKilled\": false,\n",
            "server-stopped",
        ),
        (
            "mariadb-0 again: The node was low on resource: ephemeral-storage.\n",
            "disk-full",
        ),
        ("Warning FreeDiskSpaceFailed kubelet\n", "disk-full"),
        (
            "The event of the night is RDS-EVENT-0221, and we have a ticket for it.\n",
            "disk-full",
        ),
        (
            "The event says that a load causes the system to run critically low on memory.\n",
            "oom",
        ),
        (
            "In the console the EBS volume vol-1 is impaired since four.\n",
            "slow-fsync",
        ),
    ] {
        let found = found(text);
        let first = found.first().map(|(cause, level)| (cause.as_str(), *level));
        assert_eq!(first, Some((cause, Level::Suspicion)), "{text}: {found:?}");
    }
}

/// After a crash nobody is connected who could end it, and its row locks stay.
#[test]
fn a_prepared_transaction_of_before_a_crash_holds_its_rows() {
    for text in [
        "After the crash of the host one account cannot be changed any more.\n\
         ---TRANSACTION 4711, ACTIVE (PREPARED) 81233 sec recovered trx\n\
         4 lock struct(s), heap size 1136, 2 row lock(s), undo log entries 3\n",
        "Nach dem Absturz lässt sich ein Konto nicht mehr ändern.\n\
         ---TRANSACTION 91, ACTIVE (PREPARED) 901 sec recovered trx\n\
         2 lock struct(s), heap size 1136, 1 row lock(s), undo log entries 1\n",
    ] {
        let found = found(text);
        let is_told = found.iter().any(|(cause, _)| cause == "row-lock-pileup");
        assert!(is_told, "{text}: {found:?}");
    }
}

/// The names of other things have the letters of a word in them.
#[test]
fn a_word_points_where_it_is_a_word() {
    for (text, not) in [
        (
            "InnoDB: Difficult to find free blocks in the buffer pool (324 search iterations)!\n",
            "regex-json",
        ),
        (
            "Nearly all threads stand in Sql_cmd_dml::execute and in do_huge_pmd_wp_page, says gdb.\n",
            "ssd-trim-raid",
        ),
        (
            "Nearly all threads stand in tcmalloc::ThreadCache::Scavenge, says perf.\n",
            "fs-memory-reclaim",
        ),
        (
            "The table has innodb_autoinc_lock_mode = 1 and the mutex autoinc_mutex is hot.\n",
            "galera-toi-ddl",
        ),
        (
            "Threads stand in __lll_lock_wait_private under free, nothing else.\n",
            "row-lock-pileup",
        ),
        (
            "Threads stand in pages_purge_forced of jemalloc, nothing else.\n",
            "purge-lag",
        ),
    ] {
        let found = found(text);
        assert!(!found.is_empty(), "{text}");
        assert!(
            found.iter().all(|(cause, _)| cause != not),
            "{text}: {found:?}"
        );
    }
}

/// A plugin of the server writes statements down; the kernel's audit writes system calls.
#[test]
fn the_audit_of_statements_is_not_the_kernels() {
    for (text, cause) in [
        (
            "Most threads stand in mysql_audit_notify and in audit_handler_file_write, says gdb.\n",
            "general-log",
        ),
        (
            "Since the audit plug-in is there each statement is slow; audit_json_file = 1, audit_record_cmds = 1.\n",
            "general-log",
        ),
        (
            "Most threads stand in audit_log_start and wait_for_auditd, says the kernel.\n",
            "linux-auditd",
        ),
    ] {
        let found = found(text);
        let first = found.first().map(|(cause, _)| cause.as_str());
        assert_eq!(first, Some(cause), "{text}: {found:?}");
    }
}

/// People leave out a host, or a letter.
#[test]
fn a_message_with_something_left_out_is_that_message() {
    for (text, cause) in [
        (
            "dbi connect failed: can't connect to mysql server on (99), every hour\n",
            "conntrack-ephemeral",
        ),
        (
            "It says \"Too many connection\" since Monday, and the list is full of sleeping connections.\n",
            "max-connections",
        ),
    ] {
        let found = found(text);
        let first = found.first().map(|(cause, _)| cause.as_str());
        assert_eq!(first, Some(cause), "{text}: {found:?}");
    }
}

/// Whether some processors idled is not in a list of programs.
#[test]
fn a_list_of_programs_tells_who_keeps_processors_busy() {
    for list in [
        "  PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n\
          812 root      20   0  412112 311223   9912 R  98.0   3.1   7:12.11 gzip\n\
         4711 mysql     20   0   21.3g  17.4g  12312 S   3.0  55.3  99:11.02 mysqld\n",
        "  PID USER      PRI  NI  VIRT   RES   SHR S CPU% MEM%   TIME+  Command\n\
          812 scan       20   0  912M  711M  9912 R 99.0 13.1  7:12.11 /opt/scanner/bin/scand -r /\n\
          813 scan       20   0  912M  711M  9912 R 97.0 13.1  7:12.09 /opt/scanner/bin/scand -r /\n\
         4711 mysql      20   0 2912M 1711M 12312 S  2.0 35.3 99:11.02 /usr/sbin/mariadbd\n",
    ] {
        let found = found(&format!("Every evening the shop is slow.\n\n{list}"));
        let first = found.first().map(|(cause, level)| (cause.as_str(), *level));
        assert_eq!(
            first,
            Some(("other-programs-cpu", Level::Suspicion)),
            "{list}: {found:?}"
        );
        // The server itself.
        let own = list.replace("gzip", "mysqld").replace("scand", "mariadbd");
        let own = self::found(&format!("Every evening the shop is slow.\n\n{own}"));
        let is_named = own.iter().any(|(cause, _)| cause == "other-programs-cpu");
        assert!(!is_named, "{own:?}");
    }
}
