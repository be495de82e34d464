//! Lock tables of the stacks in the project's captures (`captures/`), as gdb and pt-pmp print them.

use std::path::Path;

use model::LockTable;

use crate::notation::{Story, row};

fn read(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let bytes = std::fs::read(folder.join(file)).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
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

/// Groups of pt-pmp: `count frame(image),frame,…`. Other lines of a capture have no count, or blanks.
fn pmp(text: &str) -> Story {
    story(text.lines().filter_map(|line| {
        let (count, frames) = line.trim().split_once(' ')?;
        if frames.contains(' ') {
            return None;
        }
        let frames = frames
            .split(',')
            .map(|frame| frame.split('(').next().unwrap_or(frame).to_owned())
            .filter(|name| name != "...")
            .collect();
        Some((count.parse().ok()?, frames))
    }))
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
                name if ["pthread_", "lll_", "futex_", "os_event::"]
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
fn adaptive_hash_latch_of_5_5() {
    let table = pmp(&read("ahi-latch-evict-pmp-55.txt")).table();
    assert_eq!(
        names(&table),
        [("btr_search_latch (adaptive hash index)", 127 + 38 + 9)]
    );
    assert_eq!(
        table.locks[0].callers[0].path[..2],
        ["row_search_for_mysql", "ha_innobase::index_read"]
    );
    assert!(table.conditions.is_empty(), "{:?}", table.conditions);
    // Four read their client; the listener, the signal thread and three background threads wait; ten do I/O, of which
    // the innermost function tells that they wait for it.
    assert_eq!(table.idle_threads, 4 + 1 + 1 + 2);
}

#[test]
fn single_page_flushes_of_5_7_wait_for_the_doublewrite_buffer() {
    let table = pmp(&read("dblwr-single-slots-57-pmp.txt")).table();
    let mut found = names(&table);
    found.sort_by_key(|row| std::cmp::Reverse(row.1));
    assert_eq!(
        found,
        [("doublewrite buffer", 402 + 3), ("doublewrite mutex", 391)]
    );
    assert_eq!(table.idle_threads, 96 + 1);
}

#[test]
fn lock_system_mutex_of_5_7() {
    let table = pmp(&read("lock-sys-mutex-pmp-hot-queue-57.txt")).table();
    assert_eq!(names(&table), [("lock_sys mutex", 291 + 89)]);
    assert_eq!(table.locks[0].callers[0].path[0], "lock_rec_lock");
    assert_eq!(
        table.locks[0].callers[1].path[..2],
        ["lock_trx_release_locks", "trx_commit_in_memory"]
    );
    assert_eq!(table.idle_threads, 11);
}

#[test]
fn log_mutex_of_5_6_that_nobody_has() {
    let table = pmp(&read("long-semaphore-lost-wakeup-log-mutex-56.txt")).table();
    let log = row(&table.locks, "log_sys mutex");
    assert_eq!(log.waiters_max, 64 + 3);
    assert!(log.holders.is_empty(), "{:?}", log.holders);
    assert_eq!(log.callers[0].path[0], "log_reserve_and_write_fast");
    assert_eq!(row(&table.locks, "LOCK_status").waiters_max, 6);
    // Of this mutex there is neither an address nor a function that is known for it.
    assert_eq!(row(&table.locks, "address not known").waiters_max, 1102 + 1);
}

#[test]
fn an_idle_mariadb_has_no_contention() {
    let table = pmp(&read("none-idle-mariadb-pmp-processlist.txt")).table();
    assert!(
        table.locks.is_empty() && table.conditions.is_empty(),
        "{table:?}"
    );
    assert_eq!(table.idle_threads, 24 + 3 + 1 + 1 + 1 + 1);
}

#[test]
fn who_sleeps_until_a_page_is_free_waits_for_one() {
    let table = pmp(&read("percona-empty-free-list-backoff-pmp-56.txt")).table();
    assert_eq!(
        names(&table),
        [("a free page of the buffer pool", 1214 + 377 + 96)]
    );
}

#[test]
fn truncates_of_5_6_wait_for_the_dictionary_and_openers_for_the_table_cache() {
    let table = gdb(&read("drop-table-bufpool-two-truncates-gdb-56.txt")).table();
    let mut found = names(&table);
    found.sort_unstable();
    assert_eq!(
        found,
        [("dict_sys mutex", 1), ("table cache (LOCK_table_cache)", 1)]
    );
    assert_eq!(
        row(&table.locks, "dict_sys mutex").callers[0].path[..2],
        ["dict_table_close", "row_prebuilt_free"]
    );
}

#[test]
fn waits_for_the_order_of_commits_are_a_condition_and_no_lock() {
    let table = gdb(&read("galera-commit-order-sync-wait-104.txt")).table();
    assert!(table.locks.is_empty(), "{:?}", table.locks);
    let waiters: Vec<u32> = table.conditions.iter().map(|row| row.waiters_max).collect();
    assert_eq!(waiters, [3]);
}
