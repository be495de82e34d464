//! Names of locks, and which waits are for the same one.

use model::NamedBy;

use super::LockSymbols;
use super::classify::{Activity, Class, EventPart};
use super::known::{WaitMeaning, is_idle_symbol};
use super::own::Kind;
use crate::latches::{EVENT_FUTEXES, Latch};

/// Size of a heap of glibc's allocator and its alignment (`HEAP_MAX_SIZE`, malloc/arena.c; with the
/// default of `DEFAULT_MMAP_THRESHOLD_MAX`).
const HEAP_BYTES: u64 = 64 << 20;
/// An arena that lies in a heap of its own stands behind the heap's header, which is at least
/// two words long.
const ARENA_OFFSETS: std::ops::Range<u64> = 16..4096;
/// `pthread_cond_t`; its futex words are the two groups' signals (`__g_signals`).
const COND_BYTES: u64 = 48;
/// The largest of pthread's locks with the pointer that the server's instrumentation puts behind it.
const LOCK_BYTES_MAX: u64 = 64;

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct RowName {
    /// It counts as contention.
    pub(super) contended: bool,
    pub(super) name: String,
    pub(super) named_by: NamedBy,
    /// Told apart from others of the same name by this address; 0 when they are put together.
    pub(super) address: u64,
    /// What the many of its kind are called together; empty for a lock of which there is one, and
    /// for one that is known by its address only.
    pub(super) family: String,
}

impl RowName {
    /// Several locks of one kind, put together.
    pub(super) fn is_several(&self) -> bool {
        self.address == 0 && !self.family.is_empty()
    }
}

/// The address that stands for a lock: a condition variable and a read-write lock have two futex
/// words in the same eight bytes (`__g_signals` at 40 and 44; `__wrphase_futex` and
/// `__writers_futex` at 8 and 12 of glibc), and so has a latch of MariaDB's InnoDB (`writer` and
/// `readers` of `ssux_lock_impl`).
///
/// For a read-write lock of MySQL's InnoDB of which the server's table of waits told it is the lock's
/// own: who waits as the next writer sleeps on another event than the others.
pub(super) fn lock_address(class: &Class, futex: u64, symbols: &LockSymbols) -> u64 {
    if let Some(latch) = latch_of(class, futex, symbols) {
        return latch.address;
    }
    match class.event {
        Some(EventPart::Mutex) => return futex & !7,
        Some(EventPart::Condition) => {
            // Which of them, only a known mutex tells.
            let [since_2_41, before] = EVENT_FUTEXES.map(|at| (futex & !7).saturating_sub(at));
            let known = symbols.events.contains_key(&since_2_41);
            return if known { since_2_41 } else { before };
        }
        None => {}
    }
    let two_words = matches!(
        class.kind,
        Kind::RwLock | Kind::OwnFutex | Kind::InnodbMutex | Kind::InnodbRwLock
    );
    if class.on_condition || two_words {
        futex & !7
    } else {
        futex
    }
}

fn latch_of<'a>(class: &Class, futex: u64, symbols: &'a LockSymbols) -> Option<&'a Latch> {
    (class.kind == Kind::InnodbRwLock)
        .then(|| symbols.latches.get(&(futex & !7)))
        .flatten()
}

/// Whether a thread that waits here on something nameless idles after all: the data symbol says so,
/// or nothing says more than that a background thread is at rest.
pub(super) fn idles_after_all(class: &Class, futex: u64, symbols: &LockSymbols) -> bool {
    matches!(class.doing, Activity::Condition(None))
        && symbols
            .names
            .get(&futex)
            .map_or(class.at_rest, |symbol| is_idle_symbol(&symbol.name))
}

/// The row of a wait; absent when it belongs to none. `futex` is 0 where the address is not known.
pub(super) fn row_of(class: &Class, futex: u64, symbols: &LockSymbols) -> Option<RowName> {
    let (contended, known) = match class.doing {
        Activity::Lock(known) => (true, known),
        Activity::Condition(known) => (false, known),
        Activity::Works | Activity::Idle(_) => return None,
    };
    let address = lock_address(class, futex, symbols);
    let row = |name: String, named_by, address| {
        Some(RowName {
            contended,
            name,
            named_by,
            address,
            family: String::new(),
        })
    };
    if class.allocator && known.is_none() && futex != 0 {
        let (name, named_by) = allocator_lock(futex, symbols);
        return row(name, named_by, futex);
    }
    if class.kind == Kind::InnodbMutex
        && let Some(name) = symbols.events.get(&address)
    {
        return row((*name).to_owned(), NamedBy::Symbol, address);
    }
    if let Some(name) = latch_of(class, futex, symbols).and_then(|latch| latch.name) {
        return row(name.to_owned(), NamedBy::Symbol, address);
    }
    if let Some((name, whole)) = symbol_name(futex, symbols)
        && (whole || known.is_none())
    {
        return row(name, NamedBy::Symbol, address);
    }
    // A wait whose address was not seen is one for the same lock.
    if let Some(WaitMeaning::Lock(name)) = known.map(|known| known.what)
        && futex == 0
        && let Some((event, _)) = symbols.events.iter().find(|(_, known)| **known == name)
    {
        return row(name.to_owned(), NamedBy::Symbol, *event);
    }
    let one_latch = |name: &str| {
        symbols
            .latches
            .values()
            .find(|latch| latch.name == Some(name))
            .filter(|_| class.kind == Kind::InnodbRwLock)
    };
    let what = match known.map(|known| known.what) {
        Some(WaitMeaning::Lock(name)) if let Some(latch) = one_latch(name) => {
            if futex == 0 {
                return row(name.to_owned(), NamedBy::Symbol, latch.address);
            }
            // What the call path says is not so: where the lock of that name is, is known.
            Some(WaitMeaning::LockEach("InnoDB read-write lock"))
        }
        // Functions that enter `kernel_mutex` also enter the mutex of a rollback segment
        // (trx_commit_off_kernel): where the address of the one is known, this is the other.
        Some(WaitMeaning::Lock(name))
            if address != 0
                && class.event.is_some()
                && symbols.events.values().any(|known| *known == name) =>
        {
            Some(WaitMeaning::LockEach("rollback segment latch"))
        }
        what => what,
    };
    match what {
        Some(WaitMeaning::LockEach(name)) if address != 0 => Some(RowName {
            contended,
            name: format!("{name} at {address:#x}"),
            named_by: NamedBy::CallPath,
            address,
            family: name.to_owned(),
        }),
        Some(
            WaitMeaning::Lock(name)
            | WaitMeaning::LockEach(name)
            | WaitMeaning::Wait(name)
            | WaitMeaning::Condition(name)
            | WaitMeaning::Idle(name),
        ) => row(name.to_owned(), NamedBy::CallPath, 0),
        None if class.allocator => row(
            "malloc arena (address not known)".to_owned(),
            NamedBy::CallPath,
            0,
        ),
        None if let Some((image, offset)) = symbols.in_image.get(&futex) => {
            // There is one of it, so it stands alone.
            let what = if contended { "lock" } else { "condition" };
            let offset = offset.saturating_sub(futex.saturating_sub(address));
            row(format!("{what} {image}+{offset:#x}"), NamedBy::Address, 0)
        }
        None if address != 0 => row(format!("{address:#x}"), NamedBy::Address, address),
        None => row("address not known".to_owned(), NamedBy::Address, 0),
    }
}

/// The lock that glibc's allocator waits for.
fn allocator_lock(futex: u64, symbols: &LockSymbols) -> (String, NamedBy) {
    if let Some(symbol) = symbols.names.get(&futex) {
        return if symbol.name == "main_arena" {
            ("malloc arena main_arena".to_owned(), NamedBy::Arena)
        } else {
            // `list_lock`, `free_list_lock`.
            (format!("malloc {}", symbol.name), NamedBy::Symbol)
        };
    }
    if symbols.in_libc_data(futex) {
        return ("malloc arena main_arena".to_owned(), NamedBy::Arena);
    }
    if ARENA_OFFSETS.contains(&(futex % HEAP_BYTES)) {
        return (format!("malloc arena at {futex:#x}"), NamedBy::Arena);
    }
    (format!("malloc lock at {futex:#x}"), NamedBy::CallPath)
}

/// The data symbol that covers the futex, and whether the symbol is the lock and not something
/// larger around it.
fn symbol_name(futex: u64, symbols: &LockSymbols) -> Option<(String, bool)> {
    let symbol = symbols.names.get(&futex)?;
    let inside_of_lock = (1..=LOCK_BYTES_MAX).contains(&symbol.size) && symbol.offset < COND_BYTES;
    Some(if symbol.offset == 0 || inside_of_lock {
        (symbol.name.clone(), true)
    } else {
        (format!("{}+{:#x}", symbol.name, symbol.offset), false)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::DataSymbol;
    use super::*;

    fn symbols() -> LockSymbols {
        let symbol = |name: &str, offset, size| DataSymbol {
            name: name.to_owned(),
            offset,
            size,
        };
        LockSymbols {
            names: HashMap::from([
                (0x1000, symbol("main_arena", 0, 2200)),
                (0x2000, symbol("list_lock", 0, 4)),
                (0x3028, symbol("COND_refresh", 40, 48)),
                (0x4060, symbol("fil_system", 0x60, 4096)),
                (0x5000, symbol("LOCK_open", 0, 48)),
            ]),
            libc_data: Vec::from_iter(Some(0x7f00_0000_0000..0x7f00_0000_4000)),
            ..LockSymbols::default()
        }
    }

    #[test]
    fn locks_of_the_allocator() {
        let symbols = symbols();
        for (futex, name, by) in [
            (0x1000, "malloc arena main_arena", NamedBy::Arena),
            (0x2000, "malloc list_lock", NamedBy::Symbol),
            (0x7f00_0000_3c60, "malloc arena main_arena", NamedBy::Arena),
            (
                0x7eff_f400_0030,
                "malloc arena at 0x7efff4000030",
                NamedBy::Arena,
            ),
            (
                0x7eff_f4ab_0030,
                "malloc lock at 0x7efff4ab0030",
                NamedBy::CallPath,
            ),
        ] {
            assert_eq!(allocator_lock(futex, &symbols), (name.to_owned(), by));
        }
    }

    #[test]
    fn a_symbol_is_the_lock_or_holds_it() {
        let symbols = symbols();
        for (futex, expected) in [
            (0x3028, Some(("COND_refresh", true))),
            (0x4060, Some(("fil_system+0x60", false))),
            (0x5000, Some(("LOCK_open", true))),
            (0x6000, None),
        ] {
            let found = symbol_name(futex, &symbols);
            assert_eq!(
                found.as_ref().map(|(name, whole)| (name.as_str(), *whole)),
                expected
            );
        }
    }
}
