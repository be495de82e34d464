//! An allocator that counts.
//!
//! Readers of files have limits of their own on what they keep, and say what they left out. What a
//! few bytes of a hostile file become in memory cannot all be foreseen: here every byte is counted
//! when it is asked for, so that the sum has a limit whatever was read.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicUsize, Ordering};

use super::give_back;

/// What a thread takes or gives is added to the sum of all in steps of this many bytes: threads that
/// all wrote to one number would wait for each other.
const STEP_BYTES: i64 = 512 << 10;

/// Requests from this size on are looked at as if all of it were in use at once.
const LARGE_BYTES: i64 = 8 << 20;

/// The limit on what is asked for is that much below the limit on resident memory: the program
/// itself, stacks of threads, SQLite's cache.
const BESIDE_BYTES: i64 = 40 << 20;

/// We end that much below the limit: what is between two looks.
const MARGIN_BYTES: i64 = 12 << 20;

/// Bytes that all threads have in use, to [`STEP_BYTES`] a thread.
static LIVE: AtomicI64 = AtomicI64::new(0);

/// Limit on resident memory, bytes; 0 where there is none.
static LIMIT: AtomicI64 = AtomicI64::new(0);

thread_local! {
    /// Bytes of this thread that are not in [`LIVE`] yet.
    static OWN: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counted;

// SAFETY: every call is handed on to the system's allocator as it came; the counting touches none of
// its memory and allocates nothing.
#[allow(unsafe_code, reason = "an allocator is unsafe by its contract")]
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout.size()));
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(size(layout.size()));
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-size(layout.size()));
        // SAFETY: the caller's promises are handed on.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(size(bytes) - size(layout.size()));
        // SAFETY: the caller's promises are handed on.
        unsafe { System.realloc(block, layout, bytes) }
    }
}

fn size(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX / 4)
}

/// Bytes that this process has asked its heap for and not given back, to half a MiB a thread. 0 in a
/// program whose allocator is another one.
pub fn live_bytes() -> u64 {
    u64::try_from(LIVE.load(Ordering::Relaxed)).unwrap_or(0)
}

/// From now on this process ends with one line on standard error and status 1 before it has more than
/// so many bytes of resident memory; 0 is no limit. Only where [`Counted`] is the allocator.
///
/// For commands that read files and change nothing: nothing is cleaned up.
pub fn limit(bytes: u64) {
    LIMIT.store(i64::try_from(bytes).unwrap_or(0), Ordering::Relaxed);
}

/// How much of the limit is in use, in percent; 0 where there is no limit. For readers, which stop
/// before the process has to.
pub fn in_use_percent() -> u64 {
    let limit = u64::try_from(LIMIT.load(Ordering::Relaxed)).unwrap_or(0);
    (live_bytes() * 100).checked_div(limit).unwrap_or(0)
}

fn count(bytes: i64) {
    let own = OWN.get().saturating_add(bytes);
    if own.abs() < STEP_BYTES {
        OWN.set(own);
        return;
    }
    OWN.set(0);
    let live = LIVE.fetch_add(own, Ordering::Relaxed).saturating_add(own);
    let limit = LIMIT.load(Ordering::Relaxed);
    if own > 0 && limit > 0 {
        look(live, bytes, limit);
    }
}

#[cold]
fn look(live: i64, asked: i64, limit: i64) {
    let asked = if asked >= LARGE_BYTES { asked } else { 0 };
    if live > limit - BESIDE_BYTES {
        end(limit);
    }
    let is_over = || resident_bytes().saturating_add(asked) > limit - MARGIN_BYTES;
    if is_over() {
        // Perhaps most of it is free and only kept.
        give_back();
        if is_over() {
            end(limit);
        }
    }
}

/// Resident memory of this process, bytes, by `/proc/self/statm` (proc_pid_statm(5)); 0 where it
/// cannot be read. Allocates nothing.
#[allow(unsafe_code, reason = "the standard library's files allocate")]
fn resident_bytes() -> i64 {
    let mut text = [0_u8; 128];
    // SAFETY: the path ends with a zero; the buffer is as long as is said; the file is our own.
    let length = unsafe {
        let file = libc::open(
            c"/proc/self/statm".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        );
        if file < 0 {
            return 0;
        }
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        usize::try_from(length).unwrap_or(0)
    };
    let mut words = text
        .get(..length)
        .unwrap_or_default()
        .split(|byte| *byte == b' ');
    let pages = words.nth(1).unwrap_or_default();
    let pages = pages
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .fold(0_i64, |sum, byte| {
            sum.saturating_mul(10)
                .saturating_add(i64::from(byte - b'0'))
        });
    // SAFETY: the call takes no pointer.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages.saturating_mul(page)
}

/// Longest name that is kept of what is read, bytes.
const NAME_BYTES: usize = 512;

/// What is read now, for the line at the end. Bytes and not a text: who ends may not allocate.
static NAME: [AtomicU8; NAME_BYTES] = [const { AtomicU8::new(0) }; NAME_BYTES];
static NAME_LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Says what is read from now on, by a path without control characters: the name of it stands in the
/// line that [`limit`] ends with.
pub fn now_reading(name: &str) {
    let kept = name
        .get(..name.floor_char_boundary(NAME_BYTES))
        .unwrap_or("");
    NAME_LENGTH.store(0, Ordering::Relaxed);
    for (place, byte) in NAME.iter().zip(kept.bytes()) {
        place.store(byte, Ordering::Relaxed);
    }
    NAME_LENGTH.store(kept.len(), Ordering::Relaxed);
}

/// A line on standard error that is put together without the heap.
struct Line {
    bytes: [u8; NAME_BYTES + 256],
    length: usize,
}

impl Line {
    fn push(&mut self, bytes: impl Iterator<Item = u8>) {
        for byte in bytes {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = byte;
                self.length += 1;
            }
        }
    }
}

/// Ends the process. Nothing is unwound: an allocator may not, and who reads has nothing to clean up.
#[allow(unsafe_code, reason = "the standard library's way out allocates")]
fn end(limit: i64) -> ! {
    let mut line = Line {
        bytes: [0; NAME_BYTES + 256],
        length: 0,
    };
    line.push(b"freezeframe: ".iter().copied());
    let length = NAME_LENGTH.load(Ordering::Relaxed);
    if length > 0 {
        let name = NAME.iter().take(length);
        line.push(name.map(|byte| byte.load(Ordering::Relaxed)));
        line.push(b": ".iter().copied());
    }
    line.push(b"reading it takes more than ".iter().copied());
    let mebibytes = limit >> 20;
    let mut power = 1_000_000;
    while power > 1 && mebibytes < power {
        power /= 10;
    }
    while power > 0 {
        let digit = u8::try_from(mebibytes / power % 10).unwrap_or(0);
        line.push(std::iter::once(b'0' + digit));
        power /= 10;
    }
    line.push(
        b" MiB of memory, which is the limit; use a smaller part\n"
            .iter()
            .copied(),
    );
    // SAFETY: the buffer is as long as is said; _exit(2) takes no pointer and does not return.
    unsafe {
        libc::write(2, line.bytes.as_ptr().cast(), line.length);
        libc::_exit(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_memory_is_that_of_proc() {
        let bytes = resident_bytes();
        assert!((1 << 20..1 << 40).contains(&bytes), "{bytes}");
    }

    #[test]
    fn what_is_taken_is_given_back() {
        let before = live_bytes();
        // The tests' allocator is the system's: what is asked for here is asked for directly.
        let layout = Layout::from_size_align(64 << 20, 8).unwrap();
        #[allow(unsafe_code, reason = "it is the allocator that is tested")]
        // SAFETY: the size is not 0; the block is given back with the layout that it was asked with.
        let between = unsafe {
            let block = Counted.alloc(layout);
            let between = live_bytes();
            Counted.dealloc(block, layout);
            between
        };
        assert_eq!(between - before, 64 << 20);
        assert_eq!(live_bytes(), before);
    }
}
