//! Names of system calls by number.

use std::sync::LazyLock;

/// Number and name, in lines, ascending.
type Names = LazyLock<Vec<(u16, &'static str)>>;

/// x86-64's own: arch/x86/entry/syscalls/syscall_64.tbl.
static X86_64: Names = LazyLock::new(|| names(include_str!("syscalls/x86_64.txt")));

/// The generic table's own, which aarch64 has: scripts/syscall.tbl.
static GENERIC: Names = LazyLock::new(|| names(include_str!("syscalls/generic.txt")));

/// Those of a table, and those since Linux 5.1, which have one number everywhere (up to Linux 6.19).
fn names(own: &'static str) -> Vec<(u16, &'static str)> {
    let common = include_str!("syscalls/common.txt");
    let rows = own.lines().chain(common.lines());
    let rows = rows.filter_map(|line| line.split_once(' '));
    rows.filter_map(|(number, name)| Some((number.parse().ok()?, name)))
        .collect()
}

/// Whose numbers are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// x86-64, 64-bit calls. Numbers of the x32 interface (bit 30 set) have no names here.
    X86_64,
    /// aarch64, which has the generic table.
    Aarch64,
}

impl Architecture {
    /// What this program was built for; absent for an architecture without a table.
    pub const fn native() -> Option<Self> {
        if cfg!(target_arch = "x86_64") {
            Some(Self::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Some(Self::Aarch64)
        } else {
            None
        }
    }
}

/// The name of a system call of an architecture; absent for a number that has none.
pub fn name_on(architecture: Architecture, number: i64) -> Option<&'static str> {
    let names = match architecture {
        Architecture::X86_64 => &X86_64,
        Architecture::Aarch64 => &GENERIC,
    };
    let number = u16::try_from(number).ok()?;
    let at = names.binary_search_by_key(&number, |row| row.0).ok()?;
    names.get(at).map(|row| row.1)
}

/// The name of a system call of the architecture this program runs on.
pub fn name(number: i64) -> Option<&'static str> {
    name_on(Architecture::native()?, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_ascend_so_that_they_can_be_searched() {
        for (names, count) in [(&X86_64, 384), (&GENERIC, 326)] {
            assert!(names.windows(2).all(|pair| pair[0].0 < pair[1].0));
            assert_eq!(names.len(), count);
        }
    }

    #[test]
    fn numbers_that_a_stalled_server_shows() {
        for (number, expected) in [
            (0, "read"),
            (7, "poll"),
            (17, "pread64"),
            (74, "fsync"),
            (75, "fdatasync"),
            (128, "rt_sigtimedwait"),
            (202, "futex"),
            (208, "io_getevents"),
            (230, "clock_nanosleep"),
            (232, "epoll_wait"),
            (426, "io_uring_enter"),
            (449, "futex_waitv"),
            (455, "futex_wait"),
            (469, "file_setattr"),
        ] {
            assert_eq!(name_on(Architecture::X86_64, number), Some(expected));
        }
        for (number, expected) in [
            (98, "futex"),
            (82, "fsync"),
            (222, "mmap"),
            (63, "read"),
            (115, "clock_nanosleep"),
        ] {
            assert_eq!(name_on(Architecture::Aarch64, number), Some(expected));
        }
    }

    #[test]
    fn what_is_no_number_has_no_name() {
        for number in [-1, 400, 70_000, i64::MIN, 0x4000_0000] {
            assert_eq!(name_on(Architecture::X86_64, number), None);
        }
    }
}
