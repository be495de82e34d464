//! Waits that InnoDB lists itself: which latch it is tells the cause, and its look-alikes have another one. The
//! lists are made up after published ones (files and lines of 5.1, 5.5, 5.6 and 5.7).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy does not see that helpers of tests are test code"
)]

use crate::common;
use common::deep_stalls::more::{locked, wait};
use common::deep_stalls::waiting;
use common::named;
use model::SemaphoreWait;

fn named_lock(name: &str) -> SemaphoreWait {
    SemaphoreWait {
        lock_name: Some(name.to_owned()),
        lock_kind: "Mutex".to_owned(),
        created_file: None,
        created_line: None,
        ..wait(("row0sel.c", 3549), ("", 0), 1.0)
    }
}

/// The list, the cause that it tells, and those that it must not be taken for.
fn cases() -> Vec<(SemaphoreWait, &'static str, &'static [&'static str])> {
    vec![
        (
            wait(("row/row0sel.c", 3549), ("btr/btr0sea.c", 139), 1.0),
            "ahi-latch",
            &["btr-index-latch", "hot-page-latch"],
        ),
        (
            named_lock("&btr_search_latch"),
            "ahi-latch",
            &["btr-index-latch", "kernel-mutex"],
        ),
        (
            wait(("btr0cur.cc", 554), ("dict0dict.cc", 2420), 1.0),
            "btr-index-latch",
            &["ahi-latch", "hot-page-latch"],
        ),
        (
            named_lock("&new_index->lock"),
            "btr-index-latch",
            &["ahi-latch", "hot-page-latch"],
        ),
        (
            wait(("btr0cur.cc", 1010), ("buf0buf.cc", 996), 1.0),
            "hot-page-latch",
            &["btr-index-latch", "ahi-latch"],
        ),
        (
            named_lock("&kernel_mutex"),
            "kernel-mutex",
            &["trx-sys-rseg", "ahi-latch"],
        ),
        (
            named_lock("&rseg->mutex"),
            "trx-sys-rseg",
            &["hot-page-latch", "ahi-latch"],
        ),
        (
            locked(
                ("row0purge.cc", 862),
                "/build/dict/dict0stats.cc line 2376",
                241.0,
            ),
            "persistent-stats",
            &["drop-table-bufpool", "is-metadata-cost", "ahi-latch"],
        ),
        (
            locked(
                ("btr0cur.cc", 554),
                "/sb/innobase/ibuf/ibuf0ibuf.cc line 409",
                1.0,
            ),
            "change-buffer",
            &["persistent-stats", "ahi-latch"],
        ),
        (
            named_lock("FIL_SYSTEM"),
            "fil-system",
            &["trx-sys-rseg", "hot-page-latch"],
        ),
        (
            named_lock("LOCK_SYS"),
            "deadlock-detect",
            &["trx-sys-rseg", "kernel-mutex"],
        ),
        (
            wait(("fts0fts.cc", 3622), ("fts0fts.cc", 643), 1.0),
            "fts-aux",
            &["persistent-stats", "hot-page-latch"],
        ),
    ]
}

#[test]
fn the_latch_tells_the_cause_and_not_its_look_alikes() {
    let mut wrong = Vec::new();
    for (one, cause, others) in cases() {
        let version = match cause {
            "kernel-mutex" => "5.5.62",
            _ => "5.7.29",
        };
        let verdict = waiting("Opening tables")
            .fact("variables.version", version)
            .semaphores(63, &vec![one.clone(); 12])
            .verdict();
        let found = named(&verdict);
        let is_found = found.iter().any(|(found, _)| *found == cause);
        let is_other = found.iter().any(|(found, _)| others.contains(found));
        if !is_found || is_other {
            wrong.push(format!("{cause}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Many waits of no time are contention; a list that is as long in calm is how this server is.
#[test]
fn a_list_that_is_always_so_long_is_no_sign() {
    for (one, cause, _) in cases() {
        if one.seconds > 100.0 || ["persistent-stats", "fts-aux", "change-buffer"].contains(&cause)
        {
            continue;
        }
        let list = vec![one.clone(); 12];
        let verdict = waiting("Opening tables")
            .semaphores(30, &list)
            .semaphores(63, &list)
            .verdict();
        let found = named(&verdict);
        assert!(
            !found.iter().any(|(found, _)| *found == cause),
            "{cause}: {found:?}"
        );
    }
}
