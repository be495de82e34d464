use std::io;

use crate::read::ReadError;

/// Why there are no samples.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// An option that no kernel takes.
    #[error("{0}")]
    Options(&'static str),
    /// This processor architecture is not supported here.
    #[error("sampling is not supported on this processor architecture")]
    Architecture,
    /// The system does not allow it.
    #[error("{what} is refused ({source}): {why}; {cure}")]
    Refused {
        /// What was asked for.
        what: &'static str,
        /// Why the kernel refuses it, as far as can be told from outside.
        why: String,
        /// What would allow it.
        cure: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The kernel was built without perf events.
    #[error("this kernel has no perf events (CONFIG_PERF_EVENTS)")]
    NotInKernel,
    /// There is no such process.
    #[error("process {0} does not exist")]
    NoProcess(u32),
    /// The limit on open files leaves no room for one event for each processor.
    #[error(
        "out of file descriptors with {opened} perf events open: raise the limit (ulimit -n, LimitNOFILE=)"
    )]
    Descriptors {
        /// Events opened so far.
        opened: usize,
    },
    /// Not even the smallest ring fits in what may be locked in memory.
    #[error(
        "no memory for perf rings of {bytes} bytes on each of {processors} CPUs: perf_event_mlock_kb is {}, the limit on locked memory {}; setcap cap_ipc_lock=ep, LimitMEMLOCK= or sysctl kernel.perf_event_mlock_kb allow more",
        text(*mlock_kb), text(*locked_limit_bytes)
    )]
    Memory {
        /// Size that was refused at last.
        bytes: usize,
        /// Rings.
        processors: usize,
        /// `/proc/sys/kernel/perf_event_mlock_kb`: KiB a processor that each user may lock for rings.
        mlock_kb: Option<u64>,
        /// RLIMIT_MEMLOCK, bytes.
        locked_limit_bytes: Option<u64>,
    },
    /// Something the kernel tells could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Anything else.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
}

fn text(value: Option<u64>) -> String {
    value.map_or_else(|| "unlimited".to_owned(), |value| value.to_string())
}

/// What a refused event was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Machine,
    Process,
}

/// What the reason of a refusal depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances {
    pub(super) asked: Asked,
    pub(super) kernel: bool,
    /// `/proc/sys/kernel/perf_event_paranoid`.
    pub(super) paranoid: Option<i32>,
    /// CAP_PERFMON or CAP_SYS_ADMIN is effective.
    pub(super) privileged: bool,
}

/// The reason and the cure of EACCES or EPERM at `perf_event_open`.
pub(super) fn refusal(circumstances: Circumstances, source: io::Error) -> PerfError {
    let Circumstances {
        asked,
        kernel,
        paranoid,
        privileged,
    } = circumstances;
    let what = match (asked, kernel) {
        (Asked::Machine, _) => "sampling the CPUs",
        (Asked::Process, true) => "sampling the process with its kernel side",
        (Asked::Process, false) => "sampling the process",
    };
    // The highest setting that allows it without a capability (Documentation/admin-guide/sysctl/kernel.rst).
    let highest = match (asked, kernel) {
        (Asked::Machine, _) => 0,
        (Asked::Process, true) => 1,
        (Asked::Process, false) => 2,
    };
    let setting = paranoid.map_or_else(|| "unknown".to_owned(), |value| value.to_string());
    let (why, cure) = if privileged && source.raw_os_error() == Some(libc::EPERM) {
        (
            "the capability is effective, so a seccomp filter or the kernel's lockdown forbids perf_event_open".to_owned(),
            "allow the system call in the container's seccomp profile (--cap-add PERFMON does in newer runtimes)".to_owned(),
        )
    } else if privileged {
        (
            format!(
                "the capability is effective, but kernel.perf_event_paranoid is {setting}, and some kernels then require CAP_SYS_ADMIN"
            ),
            format!("sysctl kernel.perf_event_paranoid={highest}"),
        )
    } else if paranoid.is_some_and(|value| value <= highest) {
        match (asked, source.raw_os_error()) {
            (_, Some(libc::EPERM)) => (
                format!(
                    "kernel.perf_event_paranoid is {setting}, which allows it, so a seccomp filter or a security module forbids it"
                ),
                "allow perf_event_open in the container's seccomp profile".to_owned(),
            ),
            (Asked::Process, _) => (
                "the process belongs to another user, or cannot be dumped".to_owned(),
                "setcap cap_perfmon=ep on this program (cap_sys_ptrace before Linux 5.8)"
                    .to_owned(),
            ),
            (Asked::Machine, _) => (
                format!(
                    "kernel.perf_event_paranoid is {setting}, which allows it, so a security module forbids it"
                ),
                "allow perf_event in its policy".to_owned(),
            ),
        }
    } else {
        (
            format!("kernel.perf_event_paranoid is {setting} and CAP_PERFMON is not effective"),
            format!(
                "setcap cap_perfmon=ep on this program (cap_sys_admin before Linux 5.8), or sysctl kernel.perf_event_paranoid={highest}"
            ),
        )
    };
    PerfError::Refused {
        what,
        why,
        cure,
        source,
    }
}
