//! Known waits: one row for each, by the functions that wait. Adding a row is all it takes to teach
//! the tables a new one.

mod idle;
mod innodb;
mod libraries;
mod server;

use super::matching::{goes_through, matches_any};
use super::own::Kind;

/// What a known wait is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitMeaning {
    /// For work, in these words (`waits for its client`).
    Idle(&'static str),
    /// For an answer or for time to pass: neither work nor a lock.
    Condition(&'static str),
    /// For a lock of which there is one, or whose many are best seen together.
    Lock(&'static str),
    /// For a lock of which there are many, told apart by their addresses.
    LockEach(&'static str),
    /// For something another thread does, which makes the crowd as a lock does.
    Wait(&'static str),
}

/// Generations of InnoDB whose functions have the same names and other locks inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InnodbGeneration {
    /// Up to MySQL 5.5: one `kernel_mutex`.
    KernelMutex,
    /// From MySQL 5.6: `lock_sys`, `trx_sys` and others in its place.
    AfterKernelMutex,
    /// The same in MariaDB from 10.1 on, whose SQL layer has other locks too.
    MariaDb,
}

/// A known wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownWait {
    /// Functions in order, as [`goes_through`] reads them. The first is the one that asked: the
    /// first above the lock's own.
    path: &'static [&'static str],
    /// What one of the lock's own functions is; empty when it does not matter.
    via: &'static str,
    /// With what it waits; empty for anything.
    on: &'static [Kind],
    /// The generation that must be proven, where names alone are ambiguous.
    era: Option<InnodbGeneration>,
    /// What it is.
    pub(super) what: WaitMeaning,
    /// Server generations it was seen in, or whose source has it. Read by people.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for readers, and the test that every row has it")
    )]
    seen: &'static str,
    /// Where that is from: a source file, or a published stack. Read by people.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for readers, and the test that every row has it")
    )]
    source: &'static str,
}

/// Waits that may be idle: never those for a lock, which the same functions also take.
const NO_LOCK: &[Kind] = &[
    Kind::Unknown,
    Kind::Input,
    Kind::Sleep,
    Kind::Condition,
    Kind::Semaphore,
];
const LATCH: &[Kind] = &[Kind::InnodbMutex, Kind::InnodbRwLock];
const INNODB_MUTEX: &[Kind] = &[Kind::InnodbMutex];
const INNODB_RW_LOCK: &[Kind] = &[Kind::InnodbRwLock];
const PTHREAD_LOCK: &[Kind] = &[Kind::Mutex, Kind::RwLock];
const LIBC_LOCK: &[Kind] = &[Kind::LowLevel, Kind::Mutex, Kind::RwLock];
const EVENT: &[Kind] = &[
    Kind::Unknown,
    Kind::Condition,
    Kind::Semaphore,
    Kind::Sleep,
    Kind::OwnFutex,
];
const CONDITION: &[Kind] = &[Kind::Condition];
const ANY: &[Kind] = &[];

const fn row(
    what: WaitMeaning,
    on: &'static [Kind],
    path: &'static [&'static str],
    seen: &'static str,
    source: &'static str,
) -> KnownWait {
    KnownWait {
        path,
        via: "",
        on,
        era: None,
        what,
        seen,
        source,
    }
}

impl KnownWait {
    const fn via(mut self, own_functions: &'static str) -> Self {
        self.via = own_functions;
        self
    }

    const fn only(mut self, era: InnodbGeneration) -> Self {
        self.era = Some(era);
        self
    }

    fn applies(
        &self,
        own: &[&str],
        above: &[&str],
        kind: Kind,
        era: Option<InnodbGeneration>,
    ) -> bool {
        (self.on.is_empty() || self.on.contains(&kind))
            && (self.era.is_none()
                || self.era == era
                || (self.era, era)
                    == (
                        Some(InnodbGeneration::AfterKernelMutex),
                        Some(InnodbGeneration::MariaDb),
                    ))
            && (self.via.is_empty() || own.iter().any(|name| matches_any(self.via, name)))
            && goes_through(self.path, above)
    }
}

fn all() -> impl Iterator<Item = &'static KnownWait> {
    [libraries::ROWS, idle::ROWS, server::ROWS, innodb::ROWS]
        .into_iter()
        .flatten()
}

/// The known wait of a stack: `own` are the lock's own functions and `above` the rest, innermost
/// first, with plain names. The first row that applies.
pub(super) fn find(
    own: &[&str],
    above: &[&str],
    kind: Kind,
    era: Option<InnodbGeneration>,
) -> Option<&'static KnownWait> {
    all().find(|known| known.applies(own, above, kind, era))
}

/// The generation of InnoDB, by functions that only one of them has. Every server shows one of
/// them in any snapshot of all its threads.
pub(super) fn era_of<'a>(plain_names: impl Iterator<Item = &'a str>) -> Option<InnodbGeneration> {
    const UP_TO_5_5: &str = "srv_lock_timeout_thread|srv_lock_timeout_and_monitor_thread|trx_commit_off_kernel|\
        lock_release_off_kernel|srv_suspend_mysql_thread|srv_suspend_thread";
    const FROM_5_6: &str = "lock_wait_timeout_thread|lock_wait_suspend_thread|buf_flush_page_cleaner*|srv_worker_thread|\
        srv_purge_coordinator_*|trx_commit_in_memory|Per_thread_connection_handler::*";
    const MARIADB: &str = "tpool::*|tdc_acquire_share|tc_acquire_table|tc_release_table|CONNECT_cache::*|handle_slave_background|slave_deadlock_handler";
    let mut era = None;
    for name in plain_names {
        if matches_any(UP_TO_5_5, name) {
            return Some(InnodbGeneration::KernelMutex);
        }
        if matches_any(MARIADB, name) {
            era = Some(InnodbGeneration::MariaDb);
        } else if era.is_none() && matches_any(FROM_5_6, name) {
            era = Some(InnodbGeneration::AfterKernelMutex);
        }
    }
    era
}

/// Whether a condition variable with this name is one that only idle threads wait on, for servers
/// whose functions have no names.
pub(super) fn is_idle_symbol(name: &str) -> bool {
    const SYMBOLS: &str = "COND_manager|COND_thread_cache|COND_slave_deadlock_handler|COND_slave_background|\
        COND_compress_gtid_table|COND_rpl_opt_tracker|COND_start_signal_handler|COND_timer|COND_binlog_background_thread";
    matches_any(SYMBOLS, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_says_where_it_is_from() {
        for known in all() {
            assert!(!known.path.is_empty(), "{known:?}");
            assert!(
                !known.seen.is_empty() && !known.source.is_empty(),
                "{known:?}"
            );
            for names in known.path {
                for name in names.split('|') {
                    assert!(!name.is_empty() && name.trim() == name, "{known:?}");
                    assert_eq!(
                        super::super::plain::plain(name),
                        name,
                        "not as names are compared: {known:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn each_lock_has_a_meaning() {
        let words = lexicon::Lexicon::get();
        for known in all() {
            if let WaitMeaning::Lock(name) | WaitMeaning::LockEach(name) | WaitMeaning::Wait(name) =
                known.what
            {
                let is_known = words.lookup(lexicon::Kind::Latch, name).is_some();
                assert!(is_known, "no line of it in latches.txt: {name}");
            }
        }
    }

    #[test]
    fn every_row_can_be_reached() {
        for known in all() {
            let above: Vec<String> = known
                .path
                .iter()
                .map(|names| names.split('|').next().unwrap().replace('*', "x"))
                .collect();
            let above: Vec<&str> = above.iter().map(String::as_str).collect();
            let own = [known.via.split('|').next().unwrap().replace('*', "")];
            let kind = known.on.first().copied().unwrap_or(Kind::Condition);
            let found = find(&[own[0].as_str()], &above, kind, known.era)
                .expect("a row applies to its own path");
            assert_eq!(
                found.what, known.what,
                "{known:?} is hidden behind {found:?}"
            );
        }
    }

    #[test]
    fn the_generation_is_told_by_threads_that_every_server_has() {
        assert_eq!(
            era_of(["main", "srv_lock_timeout_thread"].into_iter()),
            Some(InnodbGeneration::KernelMutex)
        );
        assert_eq!(
            era_of(["lock_wait_timeout_thread"].into_iter()),
            Some(InnodbGeneration::AfterKernelMutex)
        );
        assert_eq!(
            era_of(["tpool::task_group::execute", "buf_flush_page_cleaner"].into_iter()),
            Some(InnodbGeneration::MariaDb)
        );
        assert_eq!(era_of(["main"].into_iter()), None);
    }
}
