//! Locks inside libraries: glibc's own, and those of allocators. Arenas of glibc's allocator have
//! names by their addresses and no row here.

use super::WaitMeaning::{Lock, LockEach};
use super::{ANY, Kind, KnownWait, LIBC_LOCK, PTHREAD_LOCK, row};

const SPIN: &[Kind] = &[Kind::OwnFutex, Kind::Sleep, Kind::Mutex];

pub(super) static ROWS: &[KnownWait] = &[
    row(
        Lock("libc time zone lock (tzset_lock)"),
        LIBC_LOCK,
        &["tz_convert|tzset|tz_set|tzset_internal|localtime_r|localtime|mktime*"],
        "any server with time_zone=SYSTEM",
        "glibc time/tzset.c; published stack of 5.6",
    ),
    row(
        LockEach("stdio stream lock"),
        LIBC_LOCK,
        &[
            "_IO_*|fputs|fwrite|fprintf|vfprintf*|fflush|fputc|putc|getc|fgets|flockfile|printf_buffer*",
        ],
        "any",
        "glibc libio",
    ),
    row(
        Lock("libc locale lock (setlocale)"),
        LIBC_LOCK,
        &["setlocale|newlocale|freelocale|dcgettext*|dcigettext*"],
        "any",
        "glibc locale/setlocale.c, intl/dcigettext.c",
    ),
    row(
        Lock("dynamic loader lock (dl_load_lock)"),
        LIBC_LOCK,
        &["dl_iterate_phdr|dlopen*|dl_open|dlsym*|dladdr*|dl_addr|dlclose*|dl_close"],
        "any",
        "glibc elf/dl-iteratephdr.c",
    ),
    row(
        Lock("libc name service lock"),
        LIBC_LOCK,
        &["getaddrinfo|gethostby*|getnameinfo|getpw*|getgr*|nss_*|res_*"],
        "any",
        "glibc nss/nsswitch.c",
    ),
    row(
        Lock("waiters of the signal before (condition variable)"),
        &[Kind::LowLevel],
        &["*"],
        "any; MySQL 5.5.9",
        "glibc nptl/pthread_cond_common.c: __condvar_quiesce_and_switch_g1",
    )
    .via("pthread_cond_broadcast*|pthread_cond_signal*"),
    row(
        Lock("tcmalloc page heap lock"),
        SPIN,
        &[
            "*",
            "tcmalloc::PageHeap::*|PageHeap::*|tcmalloc::ThreadCache::IncreaseCacheLimit*|MallocExtension::*",
        ],
        "with tcmalloc preloaded",
        "gperftools src/page_heap.cc",
    ),
    row(
        LockEach("tcmalloc central free list"),
        SPIN,
        &["tcmalloc::CentralFreeList::*|CentralFreeList::*"],
        "with tcmalloc preloaded",
        "gperftools src/central_freelist.cc",
    ),
    row(
        LockEach("jemalloc lock"),
        PTHREAD_LOCK,
        &[
            "arena_*|je_arena_*|je_malloc*|je_free*|tcache_*|je_tcache_*|extent_*|je_extent_*|pac_*|pa_*|hpa_*",
        ],
        "with jemalloc preloaded",
        "jemalloc src/mutex.c",
    ),
    row(
        Lock("tcmalloc"),
        &[Kind::OwnFutex],
        &["tcmalloc::*"],
        "with tcmalloc preloaded",
        "gperftools src/base/spinlock_internal.cc",
    )
    .via("*SpinLock*"),
    row(
        Lock("Performance Schema"),
        ANY,
        &["PFS_*|pfs_lock::*|find_or_create_*"],
        "MySQL 5.5 to 8.0, MariaDB",
        "storage/perfschema",
    )
    .via("pthread_mutex_lock*|pthread_rwlock_*"),
];
