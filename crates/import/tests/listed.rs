//! Lists and prints that people paste: what is little beside the rest is not what it is about, and a name that no sign asks
//! for still points at a cause.

use diagnosis::{Catalogue, diagnose_closely};
use import::{Input, import};

fn first_of(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let incident = import(&[Input { path: "x", bytes }]).incident?;
    let verdict = diagnose_closely(&incident, Catalogue::builtin());
    verdict.findings.first().map(|one| one.cause.clone())
}

#[test]
fn a_wait_of_hardly_anybody_is_not_the_cause() {
    let list = |redo: &str, transactions: &str| {
        format!(
            "Performance Insights, waits of 14:00-14:15 (average active sessions):\n\n\
             wait/io/redo_log_flush                    {redo}\n\
             CPU                                      12.02\n\
             wait/synch/mutex/innodb/trx_sys_mutex     {transactions}\n"
        )
    };
    assert_eq!(
        first_of(&list("88.10", "0.31")).as_deref(),
        Some("slow-fsync")
    );
    assert_eq!(
        first_of(&list("0.31", "310.40")).as_deref(),
        Some("trx-sys-rseg")
    );
}

/// `performance_schema.metadata_locks`: sessions that wait for one lock, which another one has.
fn metadata_locks(kind: &str, schema: &str, name: &str) -> String {
    let mut text = String::from(
        "OBJECT_TYPE\tOBJECT_SCHEMA\tOBJECT_NAME\tLOCK_TYPE\tLOCK_DURATION\tLOCK_STATUS\tOWNER_THREAD_ID\n",
    );
    let mut row = |lock: &str, status: &str, thread: u32| {
        text += &format!("{kind}\t{schema}\t{name}\t{lock}\tEXPLICIT\t{status}\t{thread}\n");
    };
    row("SHARED", "GRANTED", 8120);
    for thread in 9_001..9_006 {
        row("INTENTION_EXCLUSIVE", "PENDING", thread);
    }
    text
}

/// The lock of all tables is a metadata lock, but nobody's table.
#[test]
fn the_lock_of_all_tables_is_not_that_of_one() {
    for (kind, schema, name, cause) in [
        ("GLOBAL", "NULL", "NULL", "ftwrl-backup"),
        ("COMMIT", "NULL", "NULL", "ftwrl-backup"),
        ("BACKUP LOCK", "NULL", "NULL", "ftwrl-backup"),
        ("TABLE", "shop", "orders", "mdl-pileup"),
        ("SCHEMA", "shop", "NULL", "mdl-pileup"),
    ] {
        let text = metadata_locks(kind, schema, name);
        assert_eq!(first_of(&text).as_deref(), Some(cause), "{kind}");
    }
}

/// What a disk does beside its writes is why they are slow.
#[test]
fn a_disk_that_discards_is_slow_because_of_that() {
    let list = |discards: &str| {
        let print = format!(
            "Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz d/s dkB/s drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util\n\
             nvme1n1 31.00 496.00 0.00 0.00 61.20 16.00 44.00 704.00 1.00 2.22 180.40 16.00 {discards} 3.00 310.00 201.10 100.00\n\n"
        );
        print.repeat(5)
    };
    let discards = list("2110.00 24100000.00 0.00 0.00 91.20 11421.80");
    assert_eq!(first_of(&discards).as_deref(), Some("ssd-trim-raid"));
    let none = list("0.00 0.00 0.00 0.00 0.00 0.00");
    assert_eq!(first_of(&none).as_deref(), Some("slow-fsync"));
}

/// Sessions counted by their state and their statement are counted by their state.
#[test]
fn a_count_of_states_may_have_a_statement_beside_each() {
    let text = "+-----+------------------------------+-----------------------------+\n\
        | cnt | state                        | info                        |\n\
        +-----+------------------------------+-----------------------------+\n\
        |  41 | Waiting for global read lock | INSERT INTO metric VALUES.. |\n\
        |   1 | Waiting for table flush      | FLUSH TABLES WITH READ LOCK |\n\
        |   1 | Creating sort index          | SELECT host, SUM(v) FROM .. |\n\
        +-----+------------------------------+-----------------------------+\n";
    assert_eq!(first_of(text).as_deref(), Some("ftwrl-backup"));
    let rows = text.replace(
        "Waiting for global read lock",
        "Waiting for table level lock",
    );
    assert_eq!(first_of(&rows).as_deref(), Some("table-lock-pileup"));
}

/// `SHOW ENGINE INNODB MUTEX` has hundreds of latches, and the one with nearly all waits tells.
#[test]
fn of_mutexes_the_one_with_most_waits_is_the_cause() {
    for (name, cause) in [
        (
            "mutex: TRX_SYS\tspins=1,waits=9912033,calls=3",
            "trx-sys-rseg",
        ),
        (
            "mutex: LOCK_SYS\tspins=1,waits=9912033,calls=3",
            "lock-sys-mutex",
        ),
        ("rwlock: btr0sea.cc:202\twaits=9912033", "ahi-latch"),
    ] {
        let text = format!(
            "InnoDB\trwlock: dict0dict.cc:1040\twaits=41\nInnoDB\tmutex: TRX_SYS\tspins=1,waits=31,calls=3\n\
             InnoDB\tmutex: LOCK_SYS\tspins=1,waits=32,calls=3\nInnoDB\t{name}\n\
             InnoDB\tsum rwlock: buf0buf.cc:790\twaits=9120\n"
        );
        assert_eq!(first_of(&text).as_deref(), Some(cause), "{name}");
    }
}

/// Each status has a line on the change buffer. Of one that is empty it tells nothing.
#[test]
fn an_empty_change_buffer_is_nobodys_cause() {
    let status = |line: &str| {
        format!(
            "--Thread 22810010000 has waited at dict0dict.cc line 322 for 19 seconds the semaphore:\n\
             Mutex at 0x7f3a1c00e0, Mutex DICT_SYS created dict0dict.cc:1014, locked by 22810999001\n\
             ------------\nTRANSACTIONS\n------------\n\
             ---TRANSACTION 55120014, ACTIVE 27 sec dropping table\n\
             MySQL thread id 3301, OS thread handle 22810999001, query id 8812009 localhost maint checking permissions\n\
             drop table archive.order_line_2021\n\
             -------------------------------------\nINSERT BUFFER AND ADAPTIVE HASH INDEX\n-------------------------------------\n\
             {line}\n"
        )
    };
    let empty = status("Ibuf: size 1, free list len 0, seg size 2, 0 merges");
    assert_eq!(first_of(&empty).as_deref(), Some("drop-table-bufpool"));
}

/// `strace -c`: what the allocator asks of the kernel.
#[test]
fn of_system_calls_the_one_with_most_of_the_time_is_the_cause() {
    for (call, cause) in [
        ("munmap", "malloc-mmap-threshold"),
        ("madvise", "jemalloc-purge"),
        ("fsync", "slow-fsync"),
    ] {
        let text = format!(
            "% time     seconds  usecs/call     calls    errors syscall\n\
             ------ ----------- ----------- --------- --------- ----------------\n\
             88.20   44.100000         208    212033           {call}\n\
             8.10    4.050000          91     50112       912 futex\n\
             3.70    1.850000           9    388888           poll\n\
             ------ ----------- ----------- --------- --------- ----------------\n\
             100.00   50.000000                651033       912 total\n"
        );
        assert_eq!(first_of(&text).as_deref(), Some(cause), "{call}");
    }
}

/// Names that no sign asks for point at a cause: of a library's inner loops, a member's state, a RAID that is checked.
#[test]
fn prints_of_other_programs_point_at_a_cause() {
    let openssl = "# Overhead  Command  Shared Object         Symbol\n\
        \u{20}   31.20%  mysqld   libcrypto.so.1.1      [.] __bn_sqrx8x_internal\n\
        \u{20}   21.02%  mysqld   libcrypto.so.1.1      [.] mulx4x_internal\n\
        \u{20}    4.01%  mysqld   libc.so.6             [.] malloc\n\
        \u{20}    2.10%  mysqld   [kernel.kallsyms]     [k] tcp_ack\n";
    assert_eq!(first_of(openssl).as_deref(), Some("tls-handshake"));
    let members = "| CHANNEL_NAME              | MEMBER_ID | MEMBER_HOST | MEMBER_STATE |\n\
        | group_replication_applier | 0c11d2aa  | db1         | ONLINE       |\n\
        | group_replication_applier | 0c11d2ab  | db2         | UNREACHABLE  |\n\
        | group_replication_applier | 0c11d2ac  | db3         | UNREACHABLE  |\n";
    assert_eq!(first_of(members).as_deref(), Some("quorum-lost"));
}

/// The line that tells of a consequence is of the same layer as other causes: that makes none of them its root.
#[test]
fn a_layer_explains_nothing() {
    let text = "Jan 01 10:00:00 db kernel: cgroup: fork rejected by pids controller in /system.slice/mysqld.service\n";
    assert_eq!(first_of(text).as_deref(), Some("thread-limit"));
}

/// A print of top has the kernel's own threads, and how much of the time is the kernel's.
#[test]
fn top_shows_the_thread_that_compacts_memory() {
    let top = |share: &str| {
        format!(
            "top - 10:00:00 up 9 days, load average: 91, 60, 30\nThreads: 812 total, 60 running\n\
             %Cpu(s):  4.1 us, 93.2 sy,  0.0 ni,  2.0 id,  0.1 wa,  0.0 hi,  0.6 si,  0.0 st\n\
             \u{20}   PID USER      PR  NI    VIRT    RES    SHR S %CPU %MEM     TIME+ COMMAND\n\
             \u{20}    91 root      20   0       0      0      0 R {share}  0.0  91:20.31 kcompactd0\n\
             \u{20}  1211 mysql     20   0   91.2g  71.1g   9120 R 98.1 56.2  12:03.31 connection\n\
             \u{20}  1212 mysql     20   0   91.2g  71.1g   9120 R 97.3 56.2  12:01.31 connection\n"
        )
    };
    assert_eq!(first_of(&top("99.9")).as_deref(), Some("thp-compaction"));
    assert_ne!(first_of(&top(" 2.1")).as_deref(), Some("thp-compaction"));
}

/// `events_waits_current`: what most threads wait for tells, and one thread that waits for something else does not.
#[test]
fn of_waiting_threads_most_tell() {
    for (name, cause) in [
        ("mutex/sql/LOCK_table_cache", "table-open-cache"),
        ("cond/sql/MDL_context::COND_wait_status", "mdl-pileup"),
        ("mutex/innodb/trx_sys_mutex", "trx-sys-rseg"),
    ] {
        let mut text = String::from("THREAD_ID\tEVENT_ID\tEVENT_NAME\tTIMER_WAIT\tOPERATION\n");
        for thread in 41..53 {
            text += &format!("{thread}\t9120\twait/synch/{name}\t120331\twait\n");
        }
        text += "61\t9120\twait/synch/mutex/innodb/redo_rseg_mutex\t120331\tlock\n";
        assert_eq!(first_of(&text).as_deref(), Some(cause), "{name}");
    }
}
