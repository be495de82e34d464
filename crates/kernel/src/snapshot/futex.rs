//! Which system calls wait on a futex.

use super::{RawFutex, RawSyscall};

/// Bytes read from the futex on: see [`RawFutex::words`].
pub(super) const FUTEX_BYTES: usize = 64;

/// The number of futex(2).
#[cfg(target_arch = "x86_64")]
pub(super) const FUTEX_SYSCALL: i64 = 202;
/// The number of futex(2) in the kernel's generic table (include/uapi/asm-generic/unistd.h).
#[cfg(not(target_arch = "x86_64"))]
pub(super) const FUTEX_SYSCALL: i64 = 98;

/// The operation without its flags FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME and what may follow.
const COMMAND_MASK: u64 = 127;
/// FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI, FUTEX_LOCK_PI2 (include/uapi/linux/futex.h).
const WAITS: [u64; 5] = [0, 6, 9, 11, 13];

/// The futex that this call waits on, its words not yet read.
pub(super) fn waited_for(syscall: &RawSyscall) -> Option<RawFutex> {
    let [address, operation, ..] = syscall.arguments;
    let waits = syscall.number == FUTEX_SYSCALL && WAITS.contains(&(operation & COMMAND_MASK));
    waits.then_some(RawFutex {
        address,
        // The kernel's parameter is an int.
        operation: (operation & u64::from(u32::MAX)) as u32,
        words: None,
    })
}

/// The bytes as the kernel's and glibc's 32-bit words.
pub(super) fn words(bytes: &[u8]) -> Option<[u32; 16]> {
    let mut words = [0; 16];
    for (word, bytes) in words
        .iter_mut()
        .zip(bytes.get(..FUTEX_BYTES)?.as_chunks().0)
    {
        *word = u32::from_ne_bytes(*bytes);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: i64, operation: u64) -> RawSyscall {
        RawSyscall {
            number,
            arguments: [0x7000, operation, 2, 0, 0, 0],
        }
    }

    #[test]
    fn waits_with_their_flags() {
        for operation in [0x189, 0x89, 0, 128, 0x86, 0x10d] {
            let futex = waited_for(&call(FUTEX_SYSCALL, operation)).unwrap();
            assert_eq!(
                (futex.address, u64::from(futex.operation)),
                (0x7000, operation)
            );
        }
    }

    #[test]
    fn wakes_and_others_are_no_waits() {
        for operation in [1, 129, 3, 7, 0x8a] {
            assert_eq!(waited_for(&call(FUTEX_SYSCALL, operation)), None);
        }
        assert_eq!(waited_for(&call(FUTEX_SYSCALL + 1, 0)), None);
    }

    #[test]
    fn words_in_order() {
        let bytes: Vec<u8> = (0u32..16).flat_map(u32::to_ne_bytes).collect();
        assert_eq!(words(&bytes).unwrap(), std::array::from_fn(|i| i as u32));
        assert_eq!(words(&bytes[1..]), None);
    }
}
