//! Small statuses in the words of each generation of servers.

use server_text::innodb::{InnodbStatus, parse, redact, signals};

fn read(text: &str) -> InnodbStatus {
    let status = parse(text);
    assert_eq!(parse(&redact(text)), status);
    status
}

/// MySQL 5.0 and 5.1 with the built-in InnoDB: numbers in two halves, names as `database/table`.
const MYSQL_5_1: &str = "\
=====================================
100217  9:14:36 INNODB MONITOR OUTPUT
=====================================
Per second averages calculated from the last 7 seconds
----------
SEMAPHORES
----------
OS WAIT ARRAY INFO: reservation count 341, signal count 338
--Thread 1159211360 has waited at ./../include/buf0buf.ic line 621 for 0.00 seconds the semaphore:
Mutex at 0x2b10c6f1e8 created file buf0buf.c line 538, lock var 0
waiters flag 0
wait is ending
--Thread 1183549248 has waited at row/row0sel.c line 3495 for 2.00 seconds the semaphore:
S-lock on RW-latch at 0x2b10c7d3a0b8 created in file btr/btr0sea.c line 139
a writer (thread id 1159211360) has reserved it in mode  exclusive
number of readers 0, waiters flag 1
Last time read locked in file row/row0sel.c line 3495
Last time write locked in file btr/btr0sea.c line 1024
Mutex spin waits 0, rounds 1682, OS waits 39
RW-shared spins 326, OS waits 163; RW-excl spins 9, OS waits 8
------------
TRANSACTIONS
------------
Trx id counter 1 4410060
Purge done for trx's n:o < 1 4410032 undo n:o < 0 0
History list length 9
Total number of lock structs in row lock hash table 2
LIST OF TRANSACTIONS FOR EACH SESSION:
---TRANSACTION 0 0, not started, process no 7, OS thread id 9120
MySQL thread id 611, query id 30212 10.0.0.1 someone
SHOW /*!50000 ENGINE*/ INNODB STATUS
---TRANSACTION 1 4410058, ACTIVE 6 sec, process no 7, OS thread id 1159211360 updating or deleting, thread declared inside InnoDB 499
mysql tables in use 1, locked 1
2 lock struct(s), heap size 368, 7 row lock(s), undo log entries 3
MySQL thread id 607, query id 30177 10.0.0.2 someone Updating
UPDATE t SET a = 'x'
WHERE b = 5
Trx read view will not see trx with id >= 1 4410059, sees < 1 4410000
--------
FILE I/O
--------
I/O thread 0 state: wait Windows aio (insert buffer thread)
Pending normal aio reads: 2, aio writes: 1,
 ibuf aio reads: 0, log i/o's: 0, sync i/o's: 0
Pending flushes (fsync) log: 1; buffer pool: 2
-------------------------------------
INSERT BUFFER AND ADAPTIVE HASH INDEX
-------------------------------------
Ibuf: size 1, free list len 0, seg size 2,
6 inserts, 6 merged recs, 6 merges
52.10 hash searches/s, 210.64 non-hash searches/s
---
LOG
---
Log sequence number 1 2077130702
Log flushed up to   1 2077130700
Last checkpoint at  1 2077130602
1 pending log writes, 0 pending chkp writes
----------------------
BUFFER POOL AND MEMORY
----------------------
Total memory allocated 268412928; in additional pool allocated 1048576
Buffer pool size   16000
Free buffers       12104
Database pages     3877
Modified db pages  5
Pending reads 3
Pending writes: LRU 1, flush list 1, single page 1
Pages read 3877, created 0, written 1203
No buffer pool page gets since the last printout
--------------
ROW OPERATIONS
--------------
1 queries inside InnoDB, 2 queries in queue
1 read views open inside InnoDB
Main thread id 140, state: sleeping
----------------------------
END OF INNODB MONITOR OUTPUT
============================
";

#[test]
fn mysql_5_1() {
    let status = read(MYSQL_5_1);
    assert!(status.complete);
    assert_eq!(status.taken.as_deref(), Some("100217 9:14:36"));
    assert_eq!(status.averaged_seconds, Some(7));
    let [mutex, latch] = status.semaphore_waits.as_slice() else {
        panic!("{:?}", status.semaphore_waits);
    };
    assert!(mutex.ended && !latch.ended);
    assert_eq!(mutex.connection_id, Some(607));
    assert_eq!(latch.holder_connection_id, Some(607));
    assert_eq!(latch.connection_id, None);
    assert_eq!(
        latch.holder_query.as_deref(),
        Some("UPDATE t SET a = ? WHERE b = ?")
    );
    let transactions = &status.transactions;
    assert_eq!(transactions.trx_id_counter, Some((1 << 32) + 4_410_060));
    assert_eq!(transactions.history_list_length, Some(9));
    assert_eq!(transactions.active_count, Some(1));
    assert_eq!(transactions.lock_structs, Some(2));
    assert!(!transactions.list_cut);
    assert_eq!(status.blockers[0].trx_id, "1 4410058");
    assert_eq!(
        status.blockers[0].state.as_deref(),
        Some("updating or deleting")
    );
    assert_eq!(status.pending_io.log_flushes, Some(1));
    assert_eq!(status.pending_io.fsyncs, Some(3));
    assert_eq!(status.pending_io.page_writes, Some(3));
    assert_eq!(status.log.checkpoint_age_bytes(), Some(100));
    assert_eq!(status.log.unflushed_bytes(), Some(2));
    assert_eq!(status.buffer_pool.hit_rate_per_1000, None);
    assert_eq!(status.rows.queries_in_queue, Some(2));
    assert_eq!(status.main_thread_state.as_deref(), Some("sleeping"));
}

/// MySQL 5.5 and Percona Server 5.5: hexadecimal numbers, transactions last, more of everything.
const PERCONA_5_5: &str = "\
=====================================
130311 15:07:48 INNODB MONITOR OUTPUT
=====================================
Per second averages calculated from the last 9 seconds
----------
SEMAPHORES
----------
OS WAIT ARRAY INFO: reservation count 31804420, signal count 120774019
--Thread 139871165359872 has waited at trx/trx0trx.c line 1621 for 0.0000 seconds the semaphore:
Mutex at 0xe51c90 '&kernel_mutex', lock var 1
waiters flag 1
Mutex spin waits 440871203, rounds 902114477, OS waits 7011206
RW-shared spins 51200417, rounds 301118224, OS waits 6610932
RW-excl spins 40811377, rounds 880214466, OS waits 11097021
--------
FILE I/O
--------
Pending normal aio reads: 0 [0, 0, 0, 0] , aio writes: 3 [0, 3, 0, 0] ,
 ibuf aio reads: 0, log i/o's: 0, sync i/o's: 0
Pending flushes (fsync) log: 0; buffer pool: 0
---
LOG
---
Log sequence number 20117344902611
Log flushed up to   20117344902611
Last checkpoint at  20116733702271
Max checkpoint age    869019772
Checkpoint age        611200340
0 pending log writes, 0 pending chkp writes
--------------
ROW OPERATIONS
--------------
0 queries inside InnoDB, 0 queries in queue
2 read views open inside InnoDB
---OLDEST VIEW---
Normal read view
Read view trx id 9C12E07A
-----------------
Main thread process no. 2714, id 139871165359872, state: flushing log
------------
TRANSACTIONS
------------
Trx id counter 7A31
Purge done for trx's n:o < 7A30 undo n:o < 0
History list length 1833
LIST OF TRANSACTIONS FOR EACH SESSION:
---TRANSACTION 9C11D3F0, ACTIVE 354 sec
18207 lock struct(s), heap size 1947064, 2810442 row lock(s), undo log entries 41
MySQL thread id 71225, OS thread handle 0x7f36c8b1e700, query id 20418806 10.4.1.12 batch
TABLE LOCK table `ware`.`bin` trx id 9C11D3F0 lock mode IS
RECORD LOCKS space id 77 page no 3 n bits 152 index `PRIMARY` of table `ware`.`bin` trx id 9C11D3F0 lock mode S
TOO MANY LOCKS PRINTED FOR THIS TRX: SUPPRESSING FURTHER PRINTS
----------------------------
END OF INNODB MONITOR OUTPUT
============================
";

#[test]
fn percona_5_5() {
    let status = read(PERCONA_5_5);
    assert!(status.complete && !status.transactions.list_cut);
    assert_eq!(
        status.semaphore_waits[0].lock_name.as_deref(),
        Some("&kernel_mutex")
    );
    assert_eq!(status.semaphores.rw_excl.rounds, Some(880_214_466));
    assert_eq!(status.pending_io.aio_writes, Some(3));
    assert_eq!(status.log.checkpoint_age_bytes(), Some(611_200_340));
    assert_eq!(status.log.checkpoint_age_max_bytes, Some(869_019_772));
    assert_eq!(status.transactions.trx_id_counter, Some(0x7A31));
    assert_eq!(status.main_thread_state.as_deref(), Some("flushing log"));
    let blocker = &status.blockers[0];
    assert_eq!(blocker.row_locks, 2_810_442);
    assert!(!blocker.has_query && !blocker.waits);
    assert_eq!(status.lock_waits, []);
}

/// MySQL 5.7: shared-exclusive latches, buffer pool instances, no sums of pending reads.
const MYSQL_5_7: &str = "\
=====================================
2018-06-12 07:48:15 0x7f2c1a5f7700 INNODB MONITOR OUTPUT
=====================================
----------
SEMAPHORES
----------
OS WAIT ARRAY INFO: reservation count 1184
--Thread 139828 has waited at btr0cur.cc line 975 for 31.00 seconds the semaphore:
SX-lock on RW-latch at 0x7f2bd created in file dict0dict.cc line 2687
a writer (thread id 139829) has reserved it in mode  SX
number of readers 0, waiters flag 1, lock_word: 10000000
Last time read locked in file btr0cur.cc line 1008
Last time write locked in file /build/mysql-5.7.20/storage/innobase/btr/btr0cur.cc line 975
--Thread 139830 has waited at dict0dict.cc line 1239 for 7.00 seconds the semaphore:
Mutex at 0x7f2be, Mutex DICT_SYS created dict0dict.cc:1173, lock var 1

OS WAIT ARRAY INFO: signal count 1182
RW-shared spins 0, rounds 2, OS waits 1
RW-sx spins 5, rounds 150, OS waits 3
------------
TRANSACTIONS
------------
Trx id counter 10000
Purge done for trx's n:o < 9999 undo n:o < 0 state: running
History list length 1000000
LIST OF TRANSACTIONS FOR EACH SESSION:
---TRANSACTION 421733001204880, not started
0 lock struct(s), heap size 1136, 0 row lock(s)
---TRANSACTION 9998, ACTIVE 61 sec inserting
mysql tables in use 1, locked 1
LOCK WAIT 2 lock struct(s), heap size 1136, 1 row lock(s), undo log entries 1
MySQL thread id 8, OS thread handle 139829, query id 40 localhost root update
insert into t values (5, 'x')
------- TRX HAS BEEN WAITING 51 SEC FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 23 page no 3 n bits 72 index PRIMARY of table `d`.`t` trx id 9998 lock_mode X insert intention waiting
Record lock, heap no 1 PHYSICAL RECORD: n_fields 1; compact format; info bits 0
 0: len 8; hex 73757072656d756d; asc supremum;;

------------------
---TRANSACTION 9990, ACTIVE (PREPARED) 70 sec recovered trx
2 lock struct(s), heap size 1136, 1 row lock(s), undo log entries 1
--------
FILE I/O
--------
Pending normal aio reads: [0, 1, 0, 0] , aio writes: [0, 0, 0, 0] ,
 ibuf aio reads:, log i/o's:, sync i/o's:
Pending flushes (fsync) log: 0; buffer pool: 0
---
LOG
---
Log sequence number 2700
Log flushed up to   2600
Pages flushed up to 2500
Last checkpoint at  2400
2 pending log flushes, 0 pending chkp writes
----------------------
BUFFER POOL AND MEMORY
----------------------
Total large memory allocated 140509184
Buffer pool size   16382
Free buffers       15360
Buffer pool hit rate 971 / 1000, young-making rate 0 / 1000 not 0 / 1000
----------------------
INDIVIDUAL BUFFER POOL INFO
----------------------
---BUFFER POOL 0
Buffer pool size   8191
Modified db pages  12
--------------
ROW OPERATIONS
--------------
0 queries inside InnoDB, 0 queries in queue
0 read views open inside InnoDB
Process ID=3009, Main thread ID=139828, state: sleeping
----------------------------
END OF INNODB MONITOR OUTPUT
============================
";

#[test]
fn mysql_5_7() {
    let status = read(MYSQL_5_7);
    let [latch, mutex] = status.semaphore_waits.as_slice() else {
        panic!("{:?}", status.semaphore_waits);
    };
    assert_eq!((latch.lock_kind.as_str(), latch.seconds), ("SX-lock", 31.0));
    assert_eq!(latch.holder_mode.as_deref(), Some("SX"));
    assert_eq!(latch.holder_connection_id, Some(8));
    assert_eq!(mutex.lock_name.as_deref(), Some("DICT_SYS"));
    assert_eq!(status.semaphores.rw_sx.os_waits, Some(3));
    assert_eq!(status.semaphores.signal_count, Some(1182));
    let transactions = &status.transactions;
    assert_eq!(transactions.history_list_length, Some(1_000_000));
    assert_eq!(transactions.trx_id_counter, Some(10_000));
    assert_eq!(transactions.longest_lock_wait_seconds, Some(51.0));
    assert_eq!(transactions.prepared_count, Some(1));
    assert_eq!(
        status.lock_waits[0].lock_mode.as_deref(),
        Some("X insert intention")
    );
    let blocker = &status.blockers[0];
    assert_eq!((blocker.active_seconds, blocker.prepared), (70.0, true));
    assert_eq!(blocker.state.as_deref(), Some("recovered trx"));
    assert_eq!(status.pending_io.aio_reads, Some(1));
    assert_eq!(status.pending_io.log_flushes, Some(2));
    assert_eq!(status.log.checkpoint_age_bytes(), Some(300));
    assert_eq!(status.buffer_pool.total_pages, Some(16_382));
    assert_eq!(status.buffer_pool.dirty_pages, None);
    assert_eq!(status.buffer_pool.hit_rate_per_1000, Some(971));
}

/// MySQL 8: whole seconds, more log positions, another main thread line.
const MYSQL_8: &str = "\
=====================================
2023-10-03 05:12:40 140336602154560 INNODB MONITOR OUTPUT
=====================================
----------
SEMAPHORES
----------
-------------
RW-LATCH INFO
-------------
RW-LOCK: 0x7fa40c18e350
Locked: thread 140340117210880 file row0ins.cc line 2366  S-LOCK
Total number of rw-locks 6117
OS WAIT ARRAY INFO: reservation count 5220
--Thread 140340119324416 has waited at buf0block_hint.cc line 72 for 3 seconds the semaphore:
S-lock on RW-latch at 0x7fa43f0a2d10 created in file hash0hash.cc line 116
a writer (thread id 140336603211328) has reserved it in mode exclusive
number of readers 0, waiters flag 1, lock_word: 0
Last time read locked in file buf0block_hint.cc line 72
Last time write locked in file /build/mysql-8.1.0/storage/innobase/ha/hash0hash.cc line 64
OS WAIT ARRAY INFO: signal count 4871
------------
TRANSACTIONS
------------
Trx id counter 7240
History list length 84
LIST OF TRANSACTIONS FOR EACH SESSION:
--------
FILE I/O
--------
Pending normal aio reads: [0, 0, 0, 0] , aio writes: [0, 0, 0, 0] ,
 ibuf aio reads:
Pending flushes (fsync) log: 0; buffer pool: 1
---
LOG
---
Log sequence number          33120497
Log buffer assigned up to    33120497
Log written up to            33120490
Log flushed up to            33120400
Added dirty pages up to      33120497
Pages flushed up to          31972757
Last checkpoint at           31972757
--------------
ROW OPERATIONS
--------------
9 read views open inside InnoDB
Process ID=2206, Main thread ID=140336369403456 , state=sleeping
----------------------------
END OF INNODB MONITOR OUTPUT
============================
";

#[test]
fn mysql_8() {
    let status = read(MYSQL_8);
    assert!(status.complete);
    assert_eq!(status.semaphore_waits.len(), 1);
    assert_eq!(status.semaphore_waits[0].seconds, 3.0);
    assert_eq!(
        status.semaphore_waits[0].holder_mode.as_deref(),
        Some("exclusive")
    );
    assert_eq!(status.transactions.active_count, Some(0));
    assert_eq!(status.transactions.lock_structs, Some(0));
    assert_eq!(status.pending_io.aio_reads, Some(0));
    assert_eq!(status.pending_io.ibuf_aio_reads, None);
    assert_eq!(status.pending_io.fsyncs, Some(1));
    assert_eq!(status.log.checkpoint_age_bytes(), Some(1_147_740));
    assert_eq!(status.log.unflushed_bytes(), Some(97));
    assert_eq!(status.main_thread_state.as_deref(), Some("sleeping"));
    let longest = |text: &str| {
        let name = "innodb.semaphore_wait_seconds_max";
        let signals = signals(&parse(text));
        signals.iter().find(|it| it.0 == name).map(|it| it.1)
    };
    assert_eq!(longest(MYSQL_8), Some(3.0));
    let mode = "has reserved it in mode exclusive\n";
    let ended = MYSQL_8.replace(mode, &format!("{mode}wait has ended\n"));
    assert_eq!(longest(&ended), Some(0.0), "its time is no wait's");
}

/// Counts and maxima of lists, and sums that a cut may leave without a part.
const OF_LISTS: [&str; 10] = [
    "innodb.active_transactions",
    "innodb.active_seconds_max",
    "innodb.prepared_transactions",
    "innodb.lock_structs",
    "innodb.lock_wait_transactions",
    "innodb.lock_wait_seconds_max",
    "innodb.semaphore_waits",
    "innodb.semaphore_wait_seconds_max",
    "innodb.pending_log_flushes",
    "innodb.pending_writes",
];

#[test]
fn a_cut_status_tells_nothing_that_the_whole_does_not() {
    for text in [MYSQL_5_1, PERCONA_5_5, MYSQL_5_7, MYSQL_8] {
        let whole = signals(&parse(text));
        for (at, _) in text.char_indices().step_by(11) {
            let (head, _) = text.split_at(at);
            for (name, value) in signals(&parse(head)) {
                let of_whole = whole.iter().find(|(other, _)| *other == name);
                let same = of_whole.is_some_and(|(_, of_whole)| {
                    value == *of_whole || (OF_LISTS.contains(&name) && value <= *of_whole)
                });
                assert!(same, "{name} is {value}, not {of_whole:?}, cut at {at}");
            }
        }
    }
}
