//! What this machine allows us: tried where that can be tried without harm, and read where it cannot. Plain data;
//! [`advise`] turns it into sentences and commands.

mod advice;
mod capabilities;
mod process;
mod tier;
mod trial;

use std::path::{Path, PathBuf};
use std::str::FromStr;

pub use advice::{EvidenceAdvice, advise};
pub use capabilities::{Capabilities, Capability};
pub use process::{ProcessAccess, process_access};
pub use tier::{TIER_RIGHTS, Tier, TierRight, tier};
pub use trial::Refusal;

use crate::read;
use crate::roots::ProcRoot;

/// Files of one value, or one line.
const SMALL_BYTES_MAX: usize = 4096;
/// Addresses looked at in `/proc/kallsyms`: the first ones are of per-CPU variables and may be 0 in truth.
const KALLSYMS_BYTES: usize = 64 << 10;

/// Numbers of the first namespaces (include/linux/proc_ns.h, `PROC_IPC_INIT_INO` and so on).
const FIRST_IPC: u64 = 0xEFFF_FFFF;
const FIRST_UTS: u64 = 0xEFFF_FFFE;
const FIRST_USER: u64 = 0xEFFF_FFFD;
const FIRST_PID: u64 = 0xEFFF_FFFC;
const FIRST_CGROUP: u64 = 0xEFFF_FFFB;

/// What this process may do on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Our effective capabilities.
    pub capabilities: Capabilities,
    /// The capabilities of our executable's file do not count (prctl(2), PR_SET_NO_NEW_PRIVS), as under a unit with
    /// `NoNewPrivileges=`.
    pub no_new_privs: bool,
    /// Our effective user id.
    pub uid: u32,
    /// Our executable: what `setcap` has to name.
    pub program: PathBuf,
    /// `kernel.perf_event_paranoid`; absent without perf events.
    pub perf_event_paranoid: Option<i32>,
    /// `kernel.kptr_restrict`.
    pub kptr_restrict: Option<i32>,
    /// `kernel.unprivileged_bpf_disabled`.
    pub unprivileged_bpf_disabled: Option<i32>,
    /// `kernel.yama.ptrace_scope`; absent without Yama.
    pub yama_ptrace_scope: Option<i32>,
    /// Major and minor version of the kernel.
    pub kernel: (u32, u32),
    /// The kernel's types are there (`/sys/kernel/btf/vmlinux`).
    pub has_btf: bool,
    /// What lockdown is set to, unless `none`; absent too where securityfs is not mounted.
    pub lockdown: Option<String>,
    /// What kind of container we are in.
    pub in_container: Option<String>,
    /// We are in the user namespace in which capabilities count for the machine.
    pub in_first_user_namespace: bool,
    /// Process ids here are the kernel's own.
    pub in_first_pid_namespace: bool,
    /// tracefs is mounted.
    pub tracefs_mounted: bool,
    /// Trial: sampling a processor, kernel side too.
    pub sample_processors: Result<(), Refusal>,
    /// Trial: sampling a thread of our own, kernel side too.
    pub sample_own_kernel_side: Result<(), Refusal>,
    /// Trial: loading a BPF program for tracing.
    pub load_bpf: Result<(), Refusal>,
    /// `/proc/kallsyms` shows addresses to us.
    pub kernel_names_visible: bool,
}

/// Looks and tries. It opens two perf events that never start, and loads a BPF program that is attached to nothing.
pub fn access() -> Access {
    Access {
        capabilities: Capabilities::effective(),
        no_new_privs: no_new_privs(),
        uid: rustix::process::geteuid().as_raw(),
        program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("freezeframe")),
        perf_event_paranoid: sysctl("kernel/perf_event_paranoid"),
        kptr_restrict: sysctl("kernel/kptr_restrict"),
        unprivileged_bpf_disabled: sysctl("kernel/unprivileged_bpf_disabled"),
        yama_ptrace_scope: sysctl("kernel/yama/ptrace_scope"),
        kernel: kernel_version(),
        has_btf: Path::new("/sys/kernel/btf/vmlinux").exists(),
        lockdown: lockdown(),
        in_container: container(),
        in_first_user_namespace: namespace("user") == Some(FIRST_USER),
        in_first_pid_namespace: namespace("pid") == Some(FIRST_PID),
        tracefs_mounted: tracefs_mounted(),
        sample_processors: trial::sample_processor(),
        sample_own_kernel_side: trial::sample_own_kernel_side(),
        load_bpf: trial::load_bpf(),
        kernel_names_visible: kernel_names_visible(),
    }
}

/// `/proc/kallsyms` shows addresses to us; else they are all 0 (`kallsyms_show_value`, kernel/ksyms_common.c).
pub fn kernel_names_visible() -> bool {
    let path = ProcRoot::default().file("kallsyms");
    read::head(&path, KALLSYMS_BYTES).is_ok_and(|head| shows_addresses(&head))
}

/// A line of kallsyms is address, type, name.
fn shows_addresses(kallsyms: &[u8]) -> bool {
    kallsyms
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').next())
        .any(|address| !address.is_empty() && address.iter().any(|digit| *digit != b'0'))
}

/// A setting below `/proc/sys`; `None` when it is not there or not readable.
pub(crate) fn sysctl<T: FromStr>(name: &str) -> Option<T> {
    let path = ProcRoot::default().path().join("sys").join(name);
    text(&path)?.parse().ok()
}

/// Process ids as we see them are those of the machine.
pub(crate) fn in_first_pid_namespace() -> bool {
    namespace("pid") == Some(FIRST_PID)
}

fn text(path: &Path) -> Option<String> {
    let bytes = read::head(path, SMALL_BYTES_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn no_new_privs() -> bool {
    let status = text(&ProcRoot::default().file("self/status")).unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("NoNewPrivs:"))
        .is_some_and(|value| value.trim() == "1")
}

fn kernel_version() -> (u32, u32) {
    let path = ProcRoot::default().file("sys/kernel/osrelease");
    parse_version(&text(&path).unwrap_or_default())
}

/// `6.18.44-generic`; what is missing is 0.
fn parse_version(release: &str) -> (u32, u32) {
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn lockdown() -> Option<String> {
    parse_lockdown(&text(Path::new("/sys/kernel/security/lockdown"))?)
}

/// `none [integrity] confidentiality`.
fn parse_lockdown(line: &str) -> Option<String> {
    let (_, rest) = line.split_once('[')?;
    let (chosen, _) = rest.split_once(']')?;
    (chosen != "none").then(|| chosen.to_owned())
}

fn tracefs_mounted() -> bool {
    ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
        .iter()
        .any(|path| rustix::fs::statfs(*path).is_ok_and(|fs| fs.f_type as u64 == TRACEFS_MAGIC))
}

/// include/uapi/linux/magic.h
const TRACEFS_MAGIC: u64 = 0x7472_6163;

/// The number of a namespace of ours, as in `pid:[4026531836]`.
fn namespace(kind: &str) -> Option<u64> {
    let link = std::fs::read_link(ProcRoot::default().file(&format!("self/ns/{kind}"))).ok()?;
    let name = link.to_str()?;
    name.split_once('[')?.1.strip_suffix(']')?.parse().ok()
}

/// A mark alone is not enough: machines are made from container images, too. So a namespace must be our own besides;
/// and a pid namespace of our own is enough without a mark.
fn container() -> Option<String> {
    let own = |kind, first| namespace(kind).is_some_and(|number| number != first);
    let own_pids = own("pid", FIRST_PID);
    let apart =
        own_pids || own("ipc", FIRST_IPC) || own("uts", FIRST_UTS) || own("cgroup", FIRST_CGROUP);
    let unnamed = own_pids.then(|| "a pid namespace of its own".to_owned());
    if apart { mark().or(unnamed) } else { None }
}

fn mark() -> Option<String> {
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return Some("kubernetes".to_owned());
    }
    if let Some(kind) = text(Path::new("/run/systemd/container")).filter(|kind| !kind.is_empty()) {
        return Some(kind);
    }
    [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")]
        .iter()
        .find(|(path, _)| Path::new(path).exists())
        .map(|(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::{parse_lockdown, parse_version, shows_addresses};

    #[test]
    fn versions() {
        assert_eq!(parse_version("6.18.44-fc-v669"), (6, 18));
        assert_eq!(parse_version("5.4.0-1-amd64"), (5, 4));
        assert_eq!(parse_version("4.18"), (4, 18));
        assert_eq!(parse_version(""), (0, 0));
    }

    #[test]
    fn lockdown() {
        assert_eq!(parse_lockdown("[none] integrity confidentiality"), None);
        assert_eq!(
            parse_lockdown("none [integrity] confidentiality").as_deref(),
            Some("integrity")
        );
        assert_eq!(parse_lockdown(""), None);
    }

    #[test]
    fn hidden_addresses() {
        let hidden = b"0000000000000000 A fixed_percpu_data\n0000000000000000 T _text\n";
        assert!(!shows_addresses(hidden));
        let shown = b"0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\n";
        assert!(shows_addresses(shown));
        assert!(!shows_addresses(b""));
    }
}
