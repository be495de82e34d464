//! Captures of other tools, made: as large as those of a server with thousands of sessions, for the
//! measures of how fast they are read. Their form is that of pt-stalk 3.2 and gdb 13.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// Samples of a collection: what pt-stalk takes in its `--run-time` of 30 s.
const SAMPLES: u64 = 30;

/// The moment of the first sample, seconds since 1970.
const BEGIN: u64 = 1_700_000_000;

/// Name of the collection.
const PREFIX: &str = "2023_11_14_22_13_20";

/// A file of the collection: its name, its share of all bytes in percent, and what writes one sample
/// of it with so many rows.
type Kind = (&'static str, u64, fn(&mut String, u64, u64));

const KINDS: [Kind; 14] = [
    ("processlist", 34, processlist),
    ("netstat", 15, netstat),
    ("transactions", 10, transactions),
    ("mysqladmin", 6, mysqladmin),
    ("lsof", 6, lsof),
    ("log_error", 6, log_error),
    ("opentables1", 5, open_tables),
    ("top", 5, top),
    ("ps", 3, ps),
    ("interrupts", 3, interrupts),
    ("diskstats", 2, diskstats),
    ("procvmstat", 2, procvmstat),
    ("innodbstatus1", 1, innodb_status),
    ("vmstat", 1, vmstat),
];

/// What most of a collection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bulk {
    /// Sessions, connections, counters: a server with thousands of clients.
    Sessions,
    /// One list of transactions: a server on which hundreds wait for row locks all the time. Nine
    /// tenths of the bytes are in one file.
    Transactions,
}

impl Bulk {
    /// How many of so many bytes a file has.
    fn bytes_of(self, name: &str, percent: u64, bytes: u64) -> u64 {
        match self {
            Self::Sessions => bytes * percent / 100,
            Self::Transactions if name == "transactions" => bytes / 10 * 9,
            Self::Transactions => bytes * percent / 1000,
        }
    }
}

/// Writes a collection of pt-stalk of about so many bytes into a folder; gives the bytes written.
///
/// # Errors
///
/// A file cannot be written.
pub fn made_stalk(folder: &Path, bytes: u64, bulk: Bulk) -> io::Result<u64> {
    let mut written = 0;
    for (name, percent, write) in KINDS {
        let wanted = bulk.bytes_of(name, percent, bytes) / SAMPLES;
        let mut one = String::new();
        write(&mut one, 0, 100);
        // The innodb status has one sample, and is cut by the server at 1 MB.
        let (samples, rows) = match name {
            "innodbstatus1" => (1, 2_000),
            _ => (SAMPLES, (wanted * 100 / (one.len() as u64).max(1)).max(1)),
        };
        let mut text = String::new();
        for sample in 0..samples {
            if has_stamp(name) {
                let at = BEGIN + sample;
                let _ = writeln!(
                    text,
                    "TS {at}.002345678 2023-11-14 22:13:{:02}",
                    20 + sample
                );
            }
            write(&mut text, sample, rows);
        }
        std::fs::write(folder.join(format!("{PREFIX}-{name}")), &text)?;
        written += text.len() as u64;
    }
    let left = bytes.saturating_sub(written).min(8 << 20);
    let threads = made_gdb(usize::try_from(left / 1100).unwrap_or(0).clamp(100, 2_400));
    std::fs::write(folder.join(format!("{PREFIX}-stacktrace")), &threads)?;
    Ok(written + threads.len() as u64)
}

/// pt-stalk writes `TS` in front of what it reads in its loop.
fn has_stamp(name: &str) -> bool {
    !matches!(
        name,
        "transactions"
            | "mysqladmin"
            | "lsof"
            | "log_error"
            | "opentables1"
            | "top"
            | "vmstat"
            | "innodbstatus1"
    )
}

/// gdb's `thread apply all bt` of so many threads; a few dozen different stacks.
pub fn made_gdb(threads: usize) -> String {
    const INNER: [&str; 6] = [
        "#0  0x00007f1d4cb62d13 in poll () from /lib64/libc.so.6\n\
         #1  0x0000000000f0a1b2 in vio_io_wait (vio=0x7f1c0c0008c0, event=VIO_IO_EVENT_READ, timeout=28800000) at /src/vio/viosocket.c:771\n\
         #2  0x0000000000f0a2c3 in vio_socket_io_wait (vio=0x7f1c0c0008c0, event=VIO_IO_EVENT_READ) at /src/vio/viosocket.c:77\n\
         #3  0x0000000000f0a3d4 in vio_read (vio=0x7f1c0c0008c0, buf=0x7f1c0c00c0d0 \"\\001\", size=4) at /src/vio/viosocket.c:132\n",
        "#0  pthread_cond_wait@@GLIBC_2.3.2 () at ../sysdeps/unix/sysv/linux/x86_64/pthread_cond_wait.S:185\n\
         #1  0x0000000001a2b3c4 in os_event::wait (this=0x7f1d0a2b3c40) at /src/storage/innobase/os/os0event.cc:179\n\
         #2  0x0000000001a2b4d5 in os_event::wait_low (this=0x7f1d0a2b3c40, reset_sig_count=3) at /src/storage/innobase/os/os0event.cc:366\n\
         #3  0x0000000001a3c5e6 in sync_array_wait_event (arr=0x7f1d0a2b0000, cell=@0x7f1c0c1d2e3f: 0x7f1d0a2b1234) at /src/storage/innobase/sync/sync0arr.cc:475\n\
         #4  0x0000000001a4d6f7 in TTASEventMutex<GenericPolicy>::wait (this=0x3a4b5c6, filename=0x1d2e3f4 \"/src/storage/innobase/trx/trx0trx.cc\", line=1234, spin=4) at /src/storage/innobase/include/ut0mutex.ic:89\n",
        "#0  __lll_lock_wait () at ../nptl/sysdeps/unix/sysv/linux/x86_64/lowlevellock.S:135\n\
         #1  0x00007f1d4e21de01 in _L_lock_1022 () from /lib64/libpthread.so.0\n\
         #2  0x00007f1d4e21dda8 in __GI___pthread_mutex_lock (mutex=0x1f2e3d40) at ../nptl/pthread_mutex_lock.c:78\n\
         #3  0x0000000000d1e2f3 in inline_mysql_mutex_lock (that=0x1f2e3d40 <LOCK_open>, src_file=0x1b2c3d4 \"/src/sql/sql_base.cc\", src_line=3005) at /src/include/mysql/psi/mysql_thread.h:737\n\
         #4  0x0000000000d2f304 in open_table (thd=0x7f1c0c000ee0, table_list=0x7f1c0c005f80, ot_ctx=0x7f1d2e3f4a50) at /src/sql/sql_base.cc:3005\n",
        "#0  0x00007f1d4cb6a0e7 in fsync () from /lib64/libc.so.6\n\
         #1  0x0000000001b1c2d3 in os_file_fsync_posix (file=12) at /src/storage/innobase/os/os0file.cc:3096\n\
         #2  0x0000000001b2d3e4 in fil_flush (space_id=4294967280) at /src/storage/innobase/fil/fil0fil.cc:5955\n",
        "#0  0x0000000001c3d4e5 in rec_get_offsets_func (rec=0x7f1b0e1f2a3b \"\\200\", index=0x7f1b0c0d1e2f, offsets=0x7f1d2e3f1a20, n_fields=18446744073709551615, heap=0x7f1d2e3f1a08) at /src/storage/innobase/rem/rem0rec.cc:587\n\
         #1  0x0000000001c4e5f6 in row_search_mvcc (buf=0x7f1c0c01a2b3 \"\\377\", mode=PAGE_CUR_GE, prebuilt=0x7f1c0c0203f8, match_mode=1, direction=1) at /src/storage/innobase/row/row0sel.cc:5210\n",
        "#0  0x00007f1d4cb71e9d in nanosleep () from /lib64/libc.so.6\n\
         #1  0x0000000001d5f607 in os_thread_sleep (tm=1000000) at /src/storage/innobase/os/os0thread.cc:295\n",
    ];
    const OUTER: &str = "#A  0x0000000000e1f203 in mysql_execute_command (thd=0x7f1c0c000ee0, first_level=true) at /src/sql/sql_parse.cc:5052\n\
         #B  0x0000000000e20314 in mysql_parse (thd=0x7f1c0c000ee0, parser_state=0x7f1d2e3f6d30) at /src/sql/sql_parse.cc:5570\n\
         #C  0x0000000000e21425 in dispatch_command (thd=0x7f1c0c000ee0, com_data=0x7f1d2e3f7c90, command=COM_QUERY) at /src/sql/sql_parse.cc:1484\n\
         #D  0x0000000000e22536 in do_command (thd=0x7f1c0c000ee0) at /src/sql/sql_parse.cc:1025\n\
         #E  0x0000000000e33647 in handle_connection (arg=0x2d3e4f50) at /src/sql/conn_handler/connection_handler_per_thread.cc:306\n\
         #F  0x00007f1d4e21bea5 in start_thread () from /lib64/libpthread.so.0\n\
         #G  0x00007f1d4cb6d96d in clone () from /lib64/libc.so.6\n";
    let mut text = String::new();
    for thread in (1..=threads).rev() {
        let inner = INNER
            .get(thread * 7 % INNER.len())
            .copied()
            .unwrap_or_default();
        let _ = writeln!(
            text,
            "Thread {thread} (Thread 0x7f{:010x} (LWP {})):",
            0xd0c0b0a000_usize.wrapping_sub(thread * 0x40000),
            4711 + thread
        );
        text.push_str(inner);
        for (number, line) in (inner.lines().count()..).zip(OUTER.lines()) {
            let _ = writeln!(text, "#{number:<3}{}", line.get(4..).unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

fn processlist(text: &mut String, sample: u64, rows: u64) {
    const STATES: [&str; 5] = [
        "",
        "Sending data",
        "updating",
        "System lock",
        "Opening tables",
    ];
    for row in 1..=rows {
        let busy = row % 5;
        let state = STATES.get(busy as usize).copied().unwrap_or_default();
        let (command, info) = match busy {
            0 => ("Sleep", "NULL".to_owned()),
            _ => (
                "Query",
                format!(
                    "SELECT a.id, b.name FROM orders a JOIN customers b ON a.customer = b.id WHERE a.id = {}",
                    row * 31 + sample
                ),
            ),
        };
        let _ = write!(
            text,
            "*************************** {row}. row ***************************\n\
             \x20          Id: {}\n         User: app\n         Host: 10.0.{}.{}:{}\n           db: shop\n\
             \x20     Command: {command}\n         Time: {}\n        State: {state}\n         Info: {info}\n\
             \x20   Rows_sent: 0\nRows_examined: {}\n",
            row + 1000,
            row % 250,
            row % 199,
            30_000 + row % 30_000,
            sample + row % 17,
            row * 3,
        );
    }
}

fn netstat(text: &mut String, _: u64, rows: u64) {
    text.push_str("Active Internet connections (servers and established)\nProto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name\n");
    for row in 0..rows {
        let _ = writeln!(
            text,
            "tcp        0      0 10.0.0.1:3306           10.0.{}.{}:{}        ESTABLISHED 4711/mysqld",
            row % 250,
            row % 199,
            30_000 + row % 30_000
        );
    }
}

fn transactions(text: &mut String, sample: u64, rows: u64) {
    for row in 1..=rows {
        let _ = write!(
            text,
            "*************************** {row}. row ***************************\n\
             \x20                   trx_id: {}\n                 trx_state: RUNNING\n               trx_started: 2023-11-14 22:13:{:02}\n\
             \x20    trx_requested_lock_id: NULL\n          trx_wait_started: NULL\n                trx_weight: {}\n\
             \x20      trx_mysql_thread_id: {}\n                 trx_query: UPDATE orders SET state = 3 WHERE id = {row}\n\
             \x20      trx_operation_state: starting index read\n         trx_tables_in_use: 1\n         trx_tables_locked: 1\n\
             \x20         trx_lock_structs: 2\n     trx_lock_memory_bytes: 376\n           trx_rows_locked: 1\n\
             \x20        trx_rows_modified: {}\n   trx_concurrency_tickets: 0\n       trx_isolation_level: REPEATABLE READ\n\
             \x20        trx_unique_checks: 1\n    trx_foreign_key_checks: 1\ntrx_last_foreign_key_error: NULL\n\
             \x20trx_adaptive_hash_latched: 0\n trx_adaptive_hash_timeout: 10000\n",
            5_000_000 + row,
            sample + 20,
            row % 40,
            row + 1000,
            row % 3,
        );
    }
    // Who waits at one row waits for all in front of it.
    for pair in 1..=rows * 40 {
        let (waiter, blocker) = (5_000_000 + pair / 40, 5_000_000 + pair / 80);
        let _ = write!(
            text,
            "*************************** {pair}. row ***************************\n\
             requesting_trx_id: {waiter}\nrequested_lock_id: {waiter}:0:314:17\n  blocking_trx_id: {blocker}\n blocking_lock_id: {blocker}:0:314:17\n",
        );
    }
}

fn mysqladmin(text: &mut String, sample: u64, rows: u64) {
    const KNOWN: [(&str, u64); 6] = [
        ("Questions", 5_000),
        ("Com_select", 4_000),
        ("Innodb_rows_read", 90_000),
        ("Threads_running", 0),
        ("Uptime", 1),
        ("Handler_read_next", 70_000),
    ];
    text.push_str("+-----------------------------------------------+-------------+\n| Variable_name                                 | Value       |\n+-----------------------------------------------+-------------+\n");
    for (name, rate) in KNOWN {
        let _ = writeln!(text, "| {name:<45} | {:<11} |", 100_000 + sample * rate);
    }
    for row in 0..rows {
        let _ = writeln!(
            text,
            "| Innodb_made_up_{row:<30} | {:<11} |",
            row * 7 + sample * (row % 3)
        );
    }
    text.push_str("+-----------------------------------------------+-------------+\n\n");
}

fn lsof(text: &mut String, _: u64, rows: u64) {
    for row in 0..rows {
        let _ = writeln!(
            text,
            "mysqld  4711 mysql {:>5}uW  REG              253,0  98304 {:>9} /var/lib/mysql/shop/orders_{row}.ibd",
            row + 10,
            1_000_000 + row
        );
    }
}

fn log_error(text: &mut String, sample: u64, rows: u64) {
    for row in 0..rows {
        let _ = writeln!(
            text,
            "2023-11-14T22:13:{:02}.{:06}Z {} [Note] Aborted connection {} to db: 'shop' user: 'app' host: '10.0.0.{}' (Got timeout reading communication packets)",
            20 + sample,
            row % 1_000_000,
            row + 1000,
            row + 1000,
            row % 250
        );
    }
}

fn open_tables(text: &mut String, _: u64, rows: u64) {
    text.push_str("Database\tTable\tIn_use\tName_locked\n");
    for row in 0..rows {
        let _ = writeln!(text, "shop\torders_{row}\t{}\t0", row % 3);
    }
}

fn top(text: &mut String, sample: u64, rows: u64) {
    let _ = write!(
        text,
        "top - 22:13:{:02} up 100 days,  1:02,  1 user,  load average: 90.10, 40.20, 20.30\n\
         Tasks: 400 total,   9 running, 391 sleeping,   0 stopped,   0 zombie\n\
         %Cpu(s): 10.5 us, 80.0 sy,  0.0 ni,  9.0 id,  0.5 wa,  0.0 hi,  0.0 si,  0.0 st\n\
         KiB Mem : 13193872+total,  1000000 free, 120000000 used, 10938720 buff/cache\n\n\
         \x20 PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND\n",
        20 + sample
    );
    for row in 0..rows {
        let _ = writeln!(
            text,
            "{:>5} mysql     20   0  110.1g 101.2g   9000 S {:>5}.0 80.0   9:01.02 mysqld",
            4711 + row,
            row % 90
        );
    }
    text.push('\n');
}

fn ps(text: &mut String, _: u64, rows: u64) {
    for row in 0..rows {
        let _ = writeln!(
            text,
            "mysql    {:>6}  4000  4711  0.5 80.0 115448832 106000000 ?  Sl   Oct01 100:01 /usr/sbin/mysqld --basedir=/usr --datadir=/var/lib/mysql",
            4711 + row
        );
    }
}

fn interrupts(text: &mut String, sample: u64, rows: u64) {
    text.push_str("            CPU0       CPU1       CPU2       CPU3\n");
    for row in 0..rows {
        let _ = writeln!(
            text,
            "{row:>4}: {:>10} {:>10} {:>10} {:>10}  IR-PCI-MSI-edge      eth0-TxRx-{row}",
            sample * 31 + row,
            row,
            row * 2,
            row * 3
        );
    }
}

fn diskstats(text: &mut String, sample: u64, rows: u64) {
    for row in 0..rows {
        let _ = writeln!(
            text,
            "{:>4} {:>7} sd{row} {} 5 {} 900 {} 8 {} 4000 3 {} 9000",
            8 + row / 250,
            row % 250,
            1000 + sample * 100,
            8000 + sample * 800,
            2000 + sample * 50,
            16_000 + sample * 400,
            5000 + sample * 990
        );
    }
}

fn procvmstat(text: &mut String, sample: u64, rows: u64) {
    let _ = writeln!(
        text,
        "nr_free_pages {}\ncompact_stall {}",
        9_000_000 - sample,
        sample * 900
    );
    for row in 0..rows {
        let _ = writeln!(text, "nr_made_up_{row} {}", row * 1000 + sample);
    }
}

fn vmstat(text: &mut String, sample: u64, rows: u64) {
    if sample == 0 {
        text.push_str("procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n");
    }
    for row in 0..rows {
        let _ = writeln!(
            text,
            "{:>2}  1      0 1000000  90000 10938720    0    0     {}   900 50000 90000 10 80  9  1  0",
            row % 90,
            row % 10
        );
    }
}

fn innodb_status(text: &mut String, _: u64, rows: u64) {
    text.push_str("*************************** 1. row ***************************\n  Type: InnoDB\n  Name: \nStatus: \n\
        =====================================\n2023-11-14 22:13:20 0x7f1d2e3f8700 INNODB MONITOR OUTPUT\n=====================================\n\
        Per second averages calculated from the last 20 seconds\n-----------------\nBACKGROUND THREAD\n-----------------\n\
        srv_master_thread loops: 100 srv_active, 0 srv_shutdown, 9 srv_idle\n----------\nSEMAPHORES\n----------\n\
        OS WAIT ARRAY INFO: reservation count 1000\n");
    for row in 0..rows / 20 {
        let _ = write!(
            text,
            "--Thread {} has waited at btr0cur.cc line 1164 for {}.00 seconds the semaphore:\n\
             SX-lock on RW-latch at 0x7f1b0c0d1e2f created in file dict0dict.cc line 2687\n\
             a writer (thread id 139764) has reserved it in mode  SX\nnumber of readers 0, waiters flag 1, lock_word: 10000000\n\
             Last time read locked in file btr0cur.cc line 1008\n",
            139_000 + row,
            row % 30
        );
    }
    text.push_str("------------\nTRANSACTIONS\n------------\nTrx id counter 5000000\nHistory list length 90\nLIST OF TRANSACTIONS FOR EACH SESSION:\n");
    for row in 0..rows {
        let _ = write!(
            text,
            "---TRANSACTION {}, ACTIVE {} sec\n2 lock struct(s), heap size 1136, 1 row lock(s)\n\
             MySQL thread id {}, OS thread handle 139764{row:06}, query id {row} 10.0.0.9 app updating\nUPDATE orders SET state = 3 WHERE id = {row}\n",
            5_000_000 + row,
            row % 30,
            row + 1000
        );
    }
    text.push_str("--------\nFILE I/O\n--------\n----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n");
}
