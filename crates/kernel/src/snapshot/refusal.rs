//! Why a way is not open, and what would open it.

use super::Way;
use crate::procfs::task_status;
use rustix::io::Errno;
use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;

/// Kernel with `bpf_copy_from_user_task`, which came with commit 376040e47334 (5.18). Some vendors' older ones have it.
const BPF_KERNEL: (u32, u32) = (5, 18);
/// The types of the running kernel.
const KERNEL_BTF: &str = "/sys/kernel/btf/vmlinux";
/// A verifier's log has thousands of lines; its reason is in the last.
const MESSAGE_BYTES_MAX: usize = 300;

/// A capability by its bit (include/uapi/linux/capability.h).
type Capability = (&'static str, u32);
const BPF: Capability = ("CAP_BPF", 39);
const PERFMON: Capability = ("CAP_PERFMON", 38);
const SYS_ADMIN: Capability = ("CAP_SYS_ADMIN", 21);
const SYS_PTRACE: Capability = ("CAP_SYS_PTRACE", 19);
const DAC_READ_SEARCH: Capability = ("CAP_DAC_READ_SEARCH", 2);
const DAC_OVERRIDE: Capability = ("CAP_DAC_OVERRIDE", 1);

/// The ways and what stands against them, in one line.
pub(super) fn list(refused: &[(Way, String)]) -> String {
    let each: Vec<String> = refused
        .iter()
        .map(|(way, reason)| format!("{}: {reason}", name(*way)))
        .collect();
    each.join("; ")
}

fn name(way: Way) -> &'static str {
    match way {
        Way::Bpf => "BPF",
        Way::Proc => "/proc",
        Way::Ptrace => "ptrace",
    }
}

/// Why the BPF program could not be used: `what` failed with `error`.
pub(super) fn bpf(what: &str, error: &(dyn Error + 'static)) -> String {
    let errno = errno_of(error);
    let message = words(error);
    let said = format!("{what}: {message}");
    if errno.is_some_and(|e| matches!(e, Errno::PERM | Errno::ACCESS)) {
        let lacking = bpf_lacking(effective_capabilities());
        if lacking.is_empty() {
            return format!(
                "{said} (the capabilities are effective, so a seccomp filter, a user namespace or kernel lockdown refuses it)"
            );
        }
        return format!("needs {}, or root ({said})", lacking.join(" and "));
    }
    if !Path::new(KERNEL_BTF).exists() {
        return format!("this kernel has no {KERNEL_BTF} (CONFIG_DEBUG_INFO_BTF) ({said})");
    }
    let (major, minor) = BPF_KERNEL;
    match kernel_version(&release()) {
        Some(version) if version < BPF_KERNEL => {
            format!(
                "needs kernel {major}.{minor}, this is {} ({said})",
                release().trim()
            )
        }
        _ => said,
    }
}

/// Why a file of /proc or the process's memory is not readable.
pub(super) fn proc(error: Errno, what: &str, pid: u32) -> String {
    let said = format!("{what}: {}", io::Error::from(error));
    if !super::task_files::is_refused(error) {
        return said;
    }
    let have = effective_capabilities();
    let mut lacking = Vec::new();
    if !has(have, SYS_PTRACE) {
        lacking.push(SYS_PTRACE.0);
    }
    // The file is 0400 and belongs to the process's user, or to root when the process may not be dumped.
    if error == Errno::ACCESS && !has(have, DAC_READ_SEARCH) && !has(have, DAC_OVERRIDE) {
        lacking.push(DAC_READ_SEARCH.0);
    }
    if lacking.is_empty() {
        return format!(
            "{said} (the capabilities are effective, so a security module, a user namespace or a tracer refuses it)"
        );
    }
    let needs = format!("needs {}, or root ({said})", lacking.join(" and "));
    if same_user(pid) {
        return format!(
            "{needs}; it is not enough to run as the server's user, because the server is not dumpable (it was started as root and changed its user) or kernel.yama.ptrace_scope forbids it"
        );
    }
    needs
}

/// Why ptrace is not possible.
pub(super) fn ptrace(error: Errno, pid: u32) -> String {
    match error {
        Errno::PERM => {
            let tracer = tracer(pid);
            if tracer == 0 {
                return proc(error, "PTRACE_SEIZE", pid);
            }
            format!("process {tracer} already traces it, and only one can")
        }
        _ => format!("PTRACE_SEIZE: {}", io::Error::from(error)),
    }
}

fn bpf_lacking(have: u64) -> Vec<&'static str> {
    if has(have, SYS_ADMIN) {
        return Vec::new();
    }
    [BPF, PERFMON]
        .into_iter()
        .filter(|capability| !has(have, *capability))
        .map(|(name, _)| name)
        .collect()
}

fn has(have: u64, (_, bit): Capability) -> bool {
    have >> bit & 1 == 1
}

fn effective_capabilities() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    status_field(&status, "CapEff:").map_or(0, |hex| u64::from_str_radix(hex, 16).unwrap_or(0))
}

fn tracer(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status_field(&status, "TracerPid:").map_or(0, |field| field.parse().unwrap_or(0))
}

fn status_field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .map(str::trim)
}

fn same_user(pid: u32) -> bool {
    let theirs = task_status::read(Path::new(&format!("/proc/{pid}/status")));
    theirs.is_ok_and(|status| status.uid == Some(rustix::process::getuid().as_raw()))
}

fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default()
}

fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The first errno in a chain of errors.
fn errno_of(error: &(dyn Error + 'static)) -> Option<Errno> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(errno) = error
            .downcast_ref::<io::Error>()
            .and_then(Errno::from_io_error)
        {
            return Some(errno);
        }
        next = error.source();
    }
    None
}

/// The words of all errors in a chain, those said twice only once.
fn words(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    let mut message = error.to_string();
    while let Some(source) = innermost.source() {
        innermost = source;
        let more = innermost.to_string();
        if !message.contains(&more) {
            message = format!("{message}: {more}");
        }
    }
    if message.len() <= MESSAGE_BYTES_MAX {
        return message;
    }
    let from = message.ceil_char_boundary(message.len() - MESSAGE_BYTES_MAX);
    format!("… {}", message.get(from..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_that_bpf_lacks() {
        assert_eq!(bpf_lacking(0), ["CAP_BPF", "CAP_PERFMON"]);
        assert_eq!(bpf_lacking(1 << 39), ["CAP_PERFMON"]);
        assert!(bpf_lacking(1 << 39 | 1 << 38).is_empty());
        assert!(bpf_lacking(1 << 21).is_empty());
    }

    #[test]
    fn kernel_versions() {
        assert_eq!(kernel_version("5.14.0-503.el9.x86_64\n"), Some((5, 14)));
        assert_eq!(kernel_version("6.1-rc3"), Some((6, 1)));
        assert!((5, 4) < BPF_KERNEL && (5, 18) >= BPF_KERNEL && (6, 1) > BPF_KERNEL);
        assert_eq!(kernel_version(""), None);
    }

    #[test]
    fn an_errno_below_other_errors() {
        let inner = io::Error::from_raw_os_error(libc::EPERM);
        let outer = super::super::SnapshotError::System {
            what: "x",
            source: inner,
        };
        assert_eq!(errno_of(&outer), Some(Errno::PERM));
    }

    #[test]
    fn a_long_message_keeps_its_end() {
        let long = io::Error::other(format!("{}the reason", "é".repeat(2000)));
        let short = words(&long);
        assert!(short.ends_with("the reason") && short.len() < MESSAGE_BYTES_MAX + 10);
    }
}
