//! Published stacks of real stalls, from a folder that is not part of the project: `FREEZEFRAME_CORPUS`,
//! or `../shared/corpus` beside the repository. Without it these tests are skipped.

use std::path::PathBuf;

use model::LockTable;

use crate::notation::{Story, row};

fn read(file: &str) -> Option<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [
        std::env::var_os("FREEZEFRAME_CORPUS").map(PathBuf::from),
        Some(root.join("../shared/corpus")),
        Some(root.join("../../shared/corpus")),
    ];
    let text = folders
        .into_iter()
        .flatten()
        .find_map(|folder| std::fs::read(folder.join(file)).ok());
    if text.is_none() {
        eprintln!("skipped: {file} is not here");
    }
    text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The name in a line of gdb's `bt`: `#3  0x00 in f<T>::g (this=…) at file.cc:3`.
fn gdb_name(line: &str) -> String {
    let line = line
        .trim_start_matches(|letter: char| letter == '#' || letter.is_ascii_digit())
        .trim();
    let line = match line.split_once(" in ") {
        Some((address, rest)) if address.starts_with("0x") => rest,
        _ => line,
    };
    // Up to the parenthesis of the arguments, outside of template arguments.
    let mut depth = 0_i32;
    for (at, letter) in line.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth <= 0 && at > 0 => return line[..at].trim().to_owned(),
            _ => {}
        }
    }
    line.trim().to_owned()
}

/// Threads of gdb's `thread apply all bt`. Innermost functions tell the state: one that waits sleeps.
fn gdb(text: &str) -> Story {
    let mut threads: Vec<Vec<String>> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("Thread ") {
            threads.push(Vec::new());
        } else if line.starts_with('#')
            && line[1..].starts_with(|letter: char| letter.is_ascii_digit())
            && let Some(thread) = threads.last_mut()
        {
            thread.push(gdb_name(line));
        }
    }
    story(threads.into_iter().map(|frames| (1, frames)))
}

/// Groups of pt-pmp: `count frame(image),frame,…`.
fn pmp(text: &str) -> Story {
    story(text.lines().filter_map(|line| {
        let (count, frames) = line.trim().split_once(' ')?;
        let frames = split_pmp(frames)
            .into_iter()
            .filter(|name| name != "...")
            .collect();
        Some((count.parse().ok()?, frames))
    }))
}

fn split_pmp(frames: &str) -> Vec<String> {
    frames
        .split(',')
        .map(|frame| frame.split('(').next().unwrap_or(frame).trim().to_owned())
        .collect()
}

fn story(groups: impl Iterator<Item = (u32, Vec<String>)>) -> Story {
    let mut lines = String::new();
    let mut tid = 0;
    for (count, frames) in groups {
        for _ in 0..count {
            tid += 1;
            // `??` is a frame without a name.
            let frames: Vec<String> = frames
                .iter()
                .map(|name| {
                    if name == "??" {
                        "mysqld+0x1".to_owned()
                    } else {
                        name.clone()
                    }
                })
                .collect();
            let inner = frames.first().map_or("", String::as_str);
            let wait = match inner.trim_start_matches("__GI_").trim_start_matches('_') {
                "poll" => "S in poll",
                "read" => "S in read",
                "select" => "S in select",
                "fsync" => "D in fsync",
                "pread64" => "D in pread64",
                "clock_nanosleep" | "nanosleep" => "S in clock_nanosleep",
                "epoll_wait" => "S in epoll_wait",
                "sigtimedwait" | "do_sigwait" => "S in rt_sigtimedwait",
                "syscall" if frames.get(1).is_some_and(|name| name == "io_getevents") => {
                    "S in io_getevents"
                }
                name if ["pthread_", "lll_", "futex_"]
                    .iter()
                    .any(|start| name.starts_with(start)) =>
                {
                    "S"
                }
                "mysqld+0x1" | "libaio::??" => "S in io_getevents",
                _ => "R",
            };
            lines.push_str(&format!("tid {tid} {wait} | {}\n", frames.join(" < ")));
        }
    }
    Story::of(&[&lines])
}

fn names(table: &LockTable) -> Vec<(&str, u32)> {
    table
        .locks
        .iter()
        .map(|row| (row.name.as_str(), row.waiters_max))
        .collect()
}

#[test]
fn lock_open_of_5_0() {
    let Some(text) = read("ptk-pmp-lock-open-50.txt") else {
        return;
    };
    let table = pmp(&text).table();
    let open = row(&table.locks, "LOCK_open");
    assert_eq!(open.waiters_max, 187 + 62 + 15 + 12);
    assert_eq!(table.locks[0].name, "LOCK_open");
    assert_eq!(open.callers[0].path[..2], ["open_table", "open_tables"]);
    assert_eq!(table.conditions.len(), 0, "{:?}", table.conditions);
    // 39 read their client, 18 I/O threads, 15 cached threads, 4 background threads, the listener,
    // the signal thread.
    assert_eq!(table.idle_threads, 39 + 18 + 15 + 3 + 1 + 1);
    eprintln!("{:?}", names(&table));
}

#[test]
fn open_table_behind_an_alter_of_5_1() {
    let Some(text) = read("ptk-pmp-open-table-behind-alter-partition.txt") else {
        return;
    };
    let table = pmp(&text).table();
    assert_eq!(
        names(&table),
        [("table being altered or flushed", 2387 + 5 + 4)]
    );
    assert!(table.conditions.is_empty());
    assert_eq!(table.idle_threads, 4 + 1 + 1 + 1 + 1 + 1 + 1 + 1);
}

#[test]
fn time_zone_lock_of_5_6() {
    let Some(text) = read("timezone-lock-mysql56.txt") else {
        return;
    };
    let table = gdb(&text).table();
    assert_eq!(names(&table), [("libc time zone lock (tzset_lock)", 1)]);
    assert_eq!(
        table.locks[0].callers[0].path[1],
        "Time_zone_system::gmt_sec_to_TIME"
    );
}

#[test]
fn index_latch_of_8_0() {
    let Some(text) = read("ptk-gdb-index-sx-lock-80.txt") else {
        return;
    };
    let table = gdb(&text).table();
    assert_eq!(names(&table), [("index latch", 1)]);
    assert_eq!(
        table.locks[0].callers[0].path[..2],
        ["btr_cur_search_to_nth_level", "btr_pcur_t::open"]
    );
}

#[test]
fn sync_array_mutex_of_5_6() {
    let Some(text) = read("wsrep-sync-array-221.txt") else {
        return;
    };
    assert_eq!(names(&gdb(&text).table()), [("InnoDB sync array mutex", 1)]);
}

#[test]
fn galera_flow_control() {
    let Some(text) = read("galera-flow-control-164.txt") else {
        return;
    };
    assert_eq!(
        names(&gdb(&text).table()),
        [("Galera: queue of the send monitor (flow control)", 1)]
    );
}

#[test]
fn a_healthy_server_of_8_0_has_two_short_latch_waits_and_otherwise_idles() {
    let Some(text) = read("ptk-gdb-baseline-80.txt") else {
        return;
    };
    let table = gdb(&text).table();
    let mut found = names(&table);
    found.sort_unstable();
    assert_eq!(found, [("buffer pool mutex", 2)], "{:?}", table.locks);
    assert!(table.conditions.is_empty(), "{:?}", table.conditions);
    // Of 45 threads: two wait for the latch, two are in fsync, one copies a page.
    assert_eq!(table.idle_threads, 37, "{:?}", table.idle_threads);
}

#[test]
fn an_idle_server_of_5_1_has_no_contention() {
    let Some(text) = read("ptk-gdb-baseline-idle-51.txt") else {
        return;
    };
    let table = gdb(&text).table();
    assert!(
        table.locks.is_empty() && table.conditions.is_empty(),
        "{table:?}"
    );
    assert_eq!(table.idle_threads, 35 + 20 + 18 + 3 + 1 + 1 + 1 + 1 + 1);
}

#[test]
fn a_slow_disk_of_5_7_is_behind_the_waits() {
    let Some(text) = read("tachikoma-lab-fsync1s-redo-queue-5732.md") else {
        return;
    };
    let table = gdb(&text).table();
    let mut found = names(&table);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("checkpoint lock of the redo log", 1),
            ("flush of a data file", 1)
        ],
        "{:?}",
        table.locks
    );
    assert!(table.conditions.is_empty(), "{:?}", table.conditions);

    let Some(text) = read("tachikoma-lab-fsync1s-page-latch-5732.md") else {
        return;
    };
    let table = gdb(&text).table();
    let mut found = names(&table);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("block or buffer pool mutex", 1),
            ("buffer pool mutex", 1),
            ("doublewrite buffer", 1),
            ("flush of a data file", 1),
        ],
        "{:?}",
        table.locks
    );
    assert_eq!(
        row(&table.locks, "flush of a data file").holders[0].doing,
        "in fsync, uninterruptible"
    );
    assert!(table.conditions.is_empty(), "{:?}", table.conditions);
}

#[test]
fn waiting_for_the_checkpoint_of_5_7() {
    let Some(text) = read("tachikoma-flushlist-sys-tables-5729.md") else {
        return;
    };
    let table = gdb(&text).table();
    let mut found = names(&table);
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("LOCK_open", 1),
            ("dict_sys mutex", 1),
            ("flush list mutex", 1)
        ],
        "{:?}",
        table.locks
    );
}

#[test]
fn page_shortage_of_5_7() {
    for (file, expected) in [
        (
            "percona-pmp-single-page-flush-5711.txt",
            &[
                ("doublewrite mutex", 660),
                ("doublewrite buffer", 631),
                ("trx_sys or rollback segments (get_next_redo_rseg)", 337),
                ("trx_sys mutex", 241),
                ("rollback segment latch", 147),
            ][..],
        ),
        (
            "percona-pmp-free-page-shortage-5710.txt",
            &[
                ("a free page of the buffer pool", 2678),
                ("redo log write and flush", 867),
                ("index latch", 396),
            ],
        ),
        (
            "percona-pmp-doublewrite-batch-5710.txt",
            &[("doublewrite buffer", 56), ("buffer pool mutex", 21)],
        ),
    ] {
        let Some(text) = read(file) else { return };
        let table = pmp(&text).table();
        let mut found = names(&table);
        found.sort_by_key(|row| std::cmp::Reverse(row.1));
        assert_eq!(found, expected, "{file}");
        assert!(table.conditions.is_empty(), "{:?}", table.conditions);
    }
}
