#![allow(unsafe_code, reason = "the ring is memory shared with the kernel")]

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::record::{Next, next_record};
use crate::clock;

/// The ring of an event: a page of the kernel's and a power of two of data pages behind it.
pub(super) struct Ring {
    mapping: Mapping,
    /// Keeps the kernel's side of the ring.
    event: OwnedFd,
}

struct Mapping {
    page: NonNull<perf_event_mmap_page>,
    page_bytes: usize,
    data_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and is not bound to a thread; the kernel's side of it is the same for
// every thread of the process.
unsafe impl Send for Mapping {}

impl Ring {
    /// Maps a ring with `data_bytes` of room: a power of two of at least a page. EPERM when that is more than may be
    /// locked in memory (`perf_mmap`, kernel/events/core.c). The event comes back with the error.
    pub(super) fn map(event: OwnedFd, data_bytes: usize) -> Result<Self, (OwnedFd, io::Error)> {
        let page_bytes = clock::page_size_bytes();
        if !data_bytes.is_power_of_two() || data_bytes < page_bytes {
            return Err((event, io::ErrorKind::InvalidInput.into()));
        }
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing; the result is checked below.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page_bytes + data_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err((event, io::Error::last_os_error()));
        }
        match NonNull::new(address.cast()) {
            Some(page) => Ok(Self {
                mapping: Mapping {
                    page,
                    page_bytes,
                    data_bytes,
                },
                event,
            }),
            None => Err((event, io::ErrorKind::OutOfMemory.into())),
        }
    }

    pub(super) fn event(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// The event without its ring.
    pub(super) fn unmap(self) -> OwnedFd {
        self.event
    }

    /// Gives every record that is there now to `each`, and its room back to the kernel. False when the ring's content
    /// was not to be followed; the rest of it is dropped then.
    pub(super) fn drain(&mut self, scratch: &mut Vec<u8>, mut each: impl FnMut(&[u8])) -> bool {
        // Acquire: the records up to the head are written before it is (tools/lib/perf/include/internal/mmap.h; the
        // kernel's side is in kernel/events/ring_buffer.c, `perf_output_put_handle`).
        let head = self.mapping.head().load(Ordering::Acquire);
        loop {
            // Only we write the tail.
            let tail = self.mapping.tail().load(Ordering::Relaxed);
            let unread = head.wrapping_sub(tail);
            if unread > self.mapping.data_bytes as u64 {
                self.mapping.tail().store(head, Ordering::Release);
                return false;
            }
            let (first, second) = self.mapping.unread(tail, unread as usize);
            match next_record(first, second, scratch) {
                Next::End => return true,
                Next::Damaged => {
                    self.mapping.tail().store(head, Ordering::Release);
                    return false;
                }
                Next::Record(record) => {
                    each(record);
                    let next = tail.wrapping_add(record.len() as u64);
                    // Release: the record is read before its room is free.
                    self.mapping.tail().store(next, Ordering::Release);
                }
            }
        }
    }
}

impl Mapping {
    /// The unread bytes, in two pieces where they wrap around the ring's end.
    fn unread(&self, tail: u64, count: usize) -> (&[u8], &[u8]) {
        let start = (tail as usize) & (self.data_bytes - 1);
        let first = count.min(self.data_bytes - start);
        // SAFETY: the data lies behind the kernel's page, `data_bytes` long, mapped as long as `self` lives. The pieces
        // are within it: `start` is below its power of two, `first` ends at its end at the latest, and the caller has
        // checked that `count` is not more than all of it, so the second ends at `start`. The kernel does not write
        // between tail and head in a ring that is not overwritten, and the tail moves only when the pieces are dropped.
        unsafe {
            let data = self.page.as_ptr().cast::<u8>().add(self.page_bytes);
            (
                std::slice::from_raw_parts(data.add(start), first),
                std::slice::from_raw_parts(data, count - first),
            )
        }
    }

    fn head(&self) -> &AtomicU64 {
        // SAFETY: the field is inside the mapped page, aligned to 8, and written by the kernel alone, as a whole.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.page.as_ptr()).data_head) }
    }

    fn tail(&self) -> &AtomicU64 {
        // SAFETY: the field is inside the mapped page and aligned to 8; this value alone writes it, the kernel reads.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.page.as_ptr()).data_tail) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: address and length are those of the mapping made in `map`, and no slice of it outlives `self`.
        unsafe {
            libc::munmap(self.page.as_ptr().cast(), self.page_bytes + self.data_bytes);
        }
    }
}
