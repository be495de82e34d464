use std::error::Error;
use std::io;

use rustix::io::Errno;
use thiserror::Error as ThisError;

/// Why waits cannot be counted.
#[derive(Debug, ThisError)]
pub enum WaitError {
    /// The process does not exist, or the id is that of a thread.
    #[error("no process {pid}")]
    NoProcess {
        /// The id asked for.
        pid: u32,
    },
    /// This program sees other process ids than the kernel.
    #[error(
        "this program runs in its own pid namespace, so its process ids differ from the kernel's: run it on the host, or in a container with the host's pid namespace"
    )]
    PidNamespace,
    /// The system refused it.
    #[error("{what} was refused: {cure}")]
    NotPermitted {
        /// What was tried.
        what: &'static str,
        /// What would allow it.
        cure: String,
    },
    /// The kernel has no such thing.
    #[error("this kernel has no {what}; {needs}")]
    KernelLacks {
        /// What is missing.
        what: &'static str,
        /// From which version on or with which option it is there.
        needs: &'static str,
    },
    /// There is no BPF object for this processor.
    #[error("counting lock waits is built for x86-64 only")]
    Unsupported,
    /// The kernel did not take it for a reason of its own.
    #[error("{what} failed: {reason}")]
    Failed {
        /// What was tried.
        what: &'static str,
        /// Its words, the verifier's last lines where there are some.
        reason: String,
    },
}

/// Bits of `CapEff` (include/uapi/linux/capability.h).
const CAPABILITIES: [(u32, &str); 2] = [(39, "CAP_BPF"), (38, "CAP_PERFMON")];
const CAP_SYS_ADMIN: u32 = 21;

/// Longest part of the verifier's log that an error keeps: its end says why.
const REASON_BYTES_MAX: usize = 1500;

/// The error for a failed step, told apart by the system's error in its chain of causes.
pub(super) fn classify(what: &'static str, error: &(dyn Error + 'static)) -> WaitError {
    if os_error(error) == Some(Errno::PERM.raw_os_error()) {
        return WaitError::NotPermitted {
            what,
            cure: cure(effective_capabilities()),
        };
    }
    WaitError::Failed {
        what,
        reason: words(error),
    }
}

fn os_error(error: &(dyn Error + 'static)) -> Option<i32> {
    let mut next = Some(error);
    while let Some(e) = next {
        if let Some(io) = e.downcast_ref::<io::Error>() {
            return io.raw_os_error();
        }
        next = e.source();
    }
    None
}

fn words(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(e) = next {
        let more = e.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = e.source();
    }
    if text.len() > REASON_BYTES_MAX {
        let mut cut = text.len() - REASON_BYTES_MAX;
        while !text.is_char_boundary(cut) {
            cut += 1;
        }
        text = format!("…{}", &text[cut..]);
    }
    text
}

/// The capabilities this process can use now; `None` when /proc does not say.
fn effective_capabilities() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

fn cure(effective: Option<u64>) -> String {
    let effective = effective.unwrap_or(0);
    let has = |bit: u32| effective & (1 << bit) != 0;
    let missing: Vec<&str> = CAPABILITIES
        .into_iter()
        .filter(|(bit, _)| !has(*bit) && !has(CAP_SYS_ADMIN))
        .map(|(_, name)| name)
        .collect();
    if missing.is_empty() {
        "the capabilities are effective, so a seccomp filter, kernel lockdown or a security module refuses it: allow bpf(2) there".to_owned()
    } else {
        format!("needs {} (or root)", missing.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cure_names_what_is_missing() {
        assert_eq!(cure(Some(0)), "needs CAP_BPF and CAP_PERFMON (or root)");
        assert_eq!(cure(Some(1 << 39)), "needs CAP_PERFMON (or root)");
        assert!(cure(Some(1 << 21)).contains("seccomp"));
        assert!(cure(Some(1 << 39 | 1 << 38)).contains("seccomp"));
    }

    #[test]
    fn a_refusal_is_told_from_a_failure() {
        let refused = io::Error::from_raw_os_error(1);
        let error = classify("loading", &refused);
        assert!(matches!(error, WaitError::NotPermitted { .. }), "{error}");
        let other = io::Error::from_raw_os_error(22);
        let error = classify("loading", &other);
        assert!(matches!(error, WaitError::Failed { .. }), "{error}");
    }
}
