//! `/proc/PID/task/TID/syscall` (fs/proc/base.c, `proc_pid_syscall`).

use super::RawSyscall;

/// What the file says of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyscallLine {
    /// `running`: on a processor or ready to be, or it moved while the kernel looked.
    Running,
    /// Waiting in the kernel.
    Waiting {
        /// Absent when it is there for another reason, such as a page fault.
        syscall: Option<RawSyscall>,
        sp: u64,
        ip: u64,
    },
}

/// Parses the file. `None` when it is not one.
pub(super) fn parse(bytes: &[u8]) -> Option<SyscallLine> {
    let text = str::from_utf8(bytes).ok()?.trim_end();
    if text == "running" {
        return Some(SyscallLine::Running);
    }
    let mut fields = text.split(' ');
    let number: i64 = fields.next()?.parse().ok()?;
    let mut next = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
    let mut syscall = None;
    if number >= 0 {
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = next()?;
        }
        syscall = Some(RawSyscall { number, arguments });
    }
    Some(SyscallLine::Waiting {
        syscall,
        sp: next()?,
        ip: next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_system_call() {
        let line = "202 0x7f12 0x189 0x0 0x7ffe 0x0 0xffffffff 0x7f3400 0x7f5678\n";
        let syscall = RawSyscall {
            number: 202,
            arguments: [0x7f12, 0x189, 0, 0x7ffe, 0, 0xffff_ffff],
        };
        let expected = SyscallLine::Waiting {
            syscall: Some(syscall),
            sp: 0x7f_3400,
            ip: 0x7f_5678,
        };
        assert_eq!(parse(line.as_bytes()), Some(expected));
    }

    #[test]
    fn outside_of_system_calls() {
        let expected = SyscallLine::Waiting {
            syscall: None,
            sp: 0x7ffd,
            ip: 0x55,
        };
        assert_eq!(parse(b"-1 0x7ffd 0x55\n"), Some(expected));
        assert_eq!(parse(b"running\n"), Some(SyscallLine::Running));
    }

    #[test]
    fn anything_else_is_none() {
        for bytes in [&b""[..], b"202 0x1 0x2\n", b"-1 0x7ffd", b"-1 7 8", b"run"] {
            assert_eq!(parse(bytes), None);
        }
    }
}
