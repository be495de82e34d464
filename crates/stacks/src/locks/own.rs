//! The lock's own functions: what stands between the system call and the code that asked.

use super::matching::matches_any;

/// What a thread waits with. Later ones outrank earlier ones: an InnoDB mutex waits on a condition
/// variable, which may wait for a pthread mutex to wake up under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// Nothing is known.
    Unknown,
    /// Input or an event from outside: a socket, a signal, finished I/O.
    Input,
    /// A stretch of time.
    Sleep,
    /// A futex of the program's own.
    OwnFutex,
    /// A plain word of libc's own (`__libc_lock_t`): it has no owner field.
    LowLevel,
    /// A condition variable or an event made of one.
    Condition,
    /// A semaphore.
    Semaphore,
    /// The end of another thread.
    Join,
    /// A mutex of pthread.
    Mutex,
    /// A read-write lock of pthread or of the server's SQL layer.
    RwLock,
    /// A mutex of InnoDB.
    InnodbMutex,
    /// A read-write lock of InnoDB.
    InnodbRwLock,
}

impl Kind {
    /// Several threads want it and one has it.
    pub(super) fn is_lock(self) -> bool {
        matches!(
            self,
            Self::OwnFutex
                | Self::LowLevel
                | Self::Mutex
                | Self::RwLock
                | Self::InnodbMutex
                | Self::InnodbRwLock
        )
    }
}

/// Functions by what they wait with. Names as [`super::plain::plain`] leaves them; `*` is any run.
static OWN: &[(&str, Kind)] = &[
    // glibc, nptl.
    (
        "futex_wait*|futex_abstimed_wait*|futex_reltimed_wait*|futex_lock_pi*|do_futex_wait*",
        Kind::Unknown,
    ),
    ("syscall", Kind::Unknown),
    (
        "lll_lock*|lll_mutex_*|lll_timedlock*|_L_lock_*|_L_mutex_lock_*|_L_cond_lock_*|_L_timedlock_*",
        Kind::LowLevel,
    ),
    (
        "pthread_mutex_lock*|pthread_mutex_timedlock*|pthread_mutex_clocklock*|pthread_mutex_cond_lock*",
        Kind::Mutex,
    ),
    ("pthread_rwlock_*", Kind::RwLock),
    (
        "pthread_cond_wait*|pthread_cond_timedwait*|pthread_cond_clockwait*",
        Kind::Condition,
    ),
    // Signalling waits too, for those of the signal before to leave (nptl/pthread_cond_common.c,
    // __condvar_quiesce_and_switch_g1).
    (
        "pthread_cond_broadcast*|pthread_cond_signal*",
        Kind::LowLevel,
    ),
    (
        "sem_wait*|sem_timedwait*|sem_clockwait*|new_sem_wait*",
        Kind::Semaphore,
    ),
    (
        "pthread_join*|pthread_timedjoin*|pthread_clockjoin*|std::thread::join",
        Kind::Join,
    ),
    (
        "nanosleep*|clock_nanosleep*|usleep|sleep|std::this_thread::sleep_for|std::this_thread::sleep_until",
        Kind::Sleep,
    ),
    (
        "os_thread_sleep|my_sleep|sched_yield|os_thread_yield|ut_delay|ut_delay_low",
        Kind::Sleep,
    ),
    (
        "read|recv|recvfrom|recvmsg|accept|accept4|poll|ppoll|select|pselect*|epoll_wait|epoll_pwait*",
        Kind::Input,
    ),
    (
        "io_getevents*|io_uring_*|sigtimedwait|sigwait|sigwaitinfo|do_sigwait|rt_sigtimedwait",
        Kind::Input,
    ),
    // libstdc++.
    (
        "std::mutex::lock|std::timed_mutex::*|std::unique_lock::*|std::lock_guard::*|std::scoped_lock::*|gthread_mutex_*",
        Kind::Mutex,
    ),
    (
        "std::shared_mutex::*|std::shared_timed_mutex::*|std::shared_lock::*|std::__shared_mutex_pthread::*",
        Kind::RwLock,
    ),
    (
        "std::condition_variable*|std::_V2::condition_variable*|std::__condvar::*|gthread_cond_*|std::__atomic_futex_*",
        Kind::Condition,
    ),
    // mysys of MySQL 5.0 to 9 and of MariaDB.
    (
        "native_mutex_lock|my_mutex_lock|safe_mutex_lock|my_pthread_fastmutex_lock|inline_mysql_mutex_lock|psi_mutex_lock",
        Kind::Mutex,
    ),
    (
        "native_rw_*|my_rw_*|rw_pr_rdlock|rw_pr_wrlock|inline_mysql_rwlock_*|inline_mysql_prlock_*|psi_rwlock_*|psi_prlock_*",
        Kind::RwLock,
    ),
    (
        "native_cond_*|my_cond_*|safe_cond_*|inline_mysql_cond_*|psi_cond_*",
        Kind::Condition,
    ),
    // InnoDB: events, and the mutexes and latches that wait on them (os0event, sync0arr, sync0rw).
    (
        "os_event_wait*|os_event::*|os_cond_wait*|ib_wqueue_wait*|ib_wqueue_timedwait|Log_thread_waiting::wait|wait",
        Kind::Condition,
    ),
    // They take the event's mutex.
    ("os_event_set|os_event_reset", Kind::Unknown),
    (
        "os_fast_mutex_lock*|pfs_os_fast_mutex_lock*|os_mutex_enter|OSMutex::enter",
        Kind::Mutex,
    ),
    (
        "sync_array_wait_event|mutex_spin_wait|mutex_enter_func|pfs_mutex_enter_func|mutex_enter_inline|mutex_enter",
        Kind::InnodbMutex,
    ),
    (
        "TTASEventMutex::*|TTASFutexMutex::*|TTASMutex::*|PolicyMutex|PolicyMutex::*|spin_and_try_lock|enter",
        Kind::InnodbMutex,
    ),
    (
        "rw_lock_s_lock*|rw_lock_x_lock*|rw_lock_sx_lock*|rw_lock_lock_word_decr|pfs_rw_lock_*",
        Kind::InnodbRwLock,
    ),
    (
        "mtr_s_lock*|mtr_x_lock*|mtr_sx_lock*|mtr_t::s_lock|mtr_t::x_lock|mtr_t::sx_lock|mtr_t::u_lock",
        Kind::InnodbRwLock,
    ),
    // InnoDB of MariaDB 10.6 and later, which calls futex itself (srw_lock.cc).
    (
        "srw_mutex_impl::*|pthread_mutex_wrapper::*",
        Kind::InnodbMutex,
    ),
    (
        "ssux_lock_impl::*|ssux_lock::*|sux_lock::*|srw_lock_impl::*|srw_lock_low::*|srw_spin_lock*|index_lock::*|block_lock::*",
        Kind::InnodbRwLock,
    ),
    ("binary_semaphore::wait", Kind::Condition),
    // MySQL's X plugin.
    (
        "xpl::Cond::*|xpl::Synchronize::*|ngs::Cond::*",
        Kind::Condition,
    ),
    // Allocators other than glibc's.
    (
        "malloc_mutex_lock_slow|je_malloc_mutex_lock_slow|mutex_lock_slow",
        Kind::Mutex,
    ),
    (
        "base::internal::SpinLockDelay|*SpinLockDelay|SpinLock::SlowLock|SpinLock::Lock|SpinLockHolder::*",
        Kind::OwnFutex,
    ),
];

/// What the function waits with; absent when it is none of a lock's own.
pub(super) fn own_kind(plain_name: &str) -> Option<Kind> {
    OWN.iter()
        .find(|(patterns, _)| matches_any(patterns, plain_name))
        .map(|(_, kind)| *kind)
}

/// Functions of glibc's allocator, from the entry to where the arena's lock is taken
/// (`malloc/malloc.c`, `malloc/arena.c`).
pub(super) fn is_allocator(plain_name: &str) -> bool {
    const FUNCTIONS: &str = "malloc|free|calloc|realloc|memalign|cfree|aligned_alloc|posix_memalign|valloc|pvalloc|\
        _int_malloc|_int_free|_int_free_*|_int_realloc|_int_memalign|arena_get*|reused_arena|arena_lookup*|\
        malloc_consolidate|sysmalloc*|systrim*|heap_trim*|sYSMALLOc|sYSTRIm|tcache_*|malloc_trim|mallinfo*|mallopt|\
        _mid_memalign|detach_arena|arena_thread_freeres|malloc_check|free_check|realloc_check";
    matches_any(FUNCTIONS, plain_name)
}

/// The outermost function of a thread or of the program, or one that only starts another.
pub(super) fn is_root(plain_name: &str) -> bool {
    matches_any(
        "start_thread|clone|clone3|_start|libc_start_main*|start_main*|start_call_main*|pfs_spawn_thread|\
            execute_native_thread_routine|std::thread::_State_impl::*|std::thread::_Invoker::*|std::__invoke*|std::invoke*|\
            Detached_thread::operator()|Runnable::*",
        plain_name,
    )
}

/// Functions of InnoDB between a mutex and its event: what a thread does that has found the mutex
/// taken and has not begun to wait.
pub(super) fn reserves_event(plain_name: &str) -> bool {
    matches_any(
        "sync_array_reserve_cell|sync_array_get_and_reserve_cell",
        plain_name,
    )
}

#[cfg(test)]
mod tests {
    use super::super::plain::plain;
    use super::*;

    #[test]
    fn own_functions_have_their_kind() {
        for (name, expected) in [
            ("__lll_lock_wait_private", Some(Kind::LowLevel)),
            ("_L_mutex_lock_1133", Some(Kind::LowLevel)),
            ("lll_mutex_lock_optimized", Some(Kind::LowLevel)),
            ("___pthread_cond_timedwait64", Some(Kind::Condition)),
            ("__pthread_mutex_cond_lock", Some(Kind::Mutex)),
            (
                "__GI___futex_abstimed_wait_cancelable64",
                Some(Kind::Unknown),
            ),
            ("__pthread_rwlock_wrlock_full64", Some(Kind::RwLock)),
            ("pthread_rwlock_rdlock", Some(Kind::RwLock)),
            ("rw_pr_wrlock", Some(Kind::RwLock)),
            (
                "srw_mutex_impl<true>::wait_and_lock",
                Some(Kind::InnodbMutex),
            ),
            (
                "sux_lock<ssux_lock_impl<true> >::x_lock",
                Some(Kind::InnodbRwLock),
            ),
            ("pfs_rw_lock_sx_lock_func", Some(Kind::InnodbRwLock)),
            ("std::__condvar::wait", Some(Kind::Condition)),
            ("syscall", Some(Kind::Unknown)),
            ("buf_page_get_gen", None),
            ("MDL_wait::timed_wait", None),
            ("lock_wait_suspend_thread", None),
        ] {
            assert_eq!(own_kind(&plain(name)), expected, "{name}");
        }
    }

    #[test]
    fn allocator_functions_are_known_by_any_name() {
        for name in [
            "__GI___libc_malloc",
            "_int_free",
            "__libc_calloc",
            "cfree@GLIBC_2.2.5",
            "sysmalloc",
            "arena_get2.part.0",
            "_int_free_merge_chunk",
        ] {
            assert!(is_allocator(&plain(name)), "{name}");
        }
        for name in [
            "my_malloc",
            "operator new",
            "mem_heap_create_block",
            "ut_malloc_low",
        ] {
            assert!(!is_allocator(&plain(name)), "{name}");
        }
    }
}
