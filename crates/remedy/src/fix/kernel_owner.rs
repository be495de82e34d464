//! Whose kernel it is: in a container its settings are the host's. There `/sys` and `/proc/sys` are mounted read-only,
//! unless the container is privileged, and what boots the host does not read the container's files.

use std::path::Path;

use kernel::roots::ProcRoot;

use super::control_group::{self, Container, Runtime};
use super::root::Root;

/// The namespace of the processes of a host (`PROC_PID_INIT_INO`, include/linux/proc_ns.h).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// What a systemd writes that is the first process of a container (systemd-detect-virt(1)).
const SYSTEMD_MARK: &str = "/run/systemd/container";

const MARK_MAX: usize = 256;

/// The container that we are in ourselves, by our control group or by the runtime's own mark.
pub(super) fn own_container(root: &Root, proc: &ProcRoot) -> Option<Container> {
    let group = kernel::read::head(&proc.file("self/cgroup"), 1 << 16).unwrap_or_default();
    let group = control_group::read(&String::from_utf8_lossy(&group));
    group.container.or_else(|| by_mark(root, proc))
}

/// The container that the runtime's mark tells. A mark that an image left on a host makes no container of it.
pub(super) fn by_mark(root: &Root, proc: &ProcRoot) -> Option<Container> {
    let namespace = std::fs::read_link(proc.file("self/ns/pid")).ok()?;
    if namespace == Path::new(FIRST_PID_NAMESPACE) {
        return None;
    }
    let is = |file: &str| root.has(Path::new(file));
    if is("/run/.containerenv") {
        return Some(Container::from_group(Runtime::Podman, ""));
    }
    if is("/run/secrets/kubernetes.io") || is("/var/run/secrets/kubernetes.io") {
        return Some(Container::from_group(Runtime::Kubernetes, ""));
    }
    if is("/.dockerenv") {
        return Some(Container::from_group(Runtime::Docker, ""));
    }
    let mark = root.read(Path::new(SYSTEMD_MARK), MARK_MAX).ok()?;
    let mark = String::from_utf8_lossy(&mark).trim().to_owned();
    Some(match mark.as_str() {
        "systemd-nspawn" => Container::from_group(Runtime::Machine, ""),
        "lxc" | "lxc-libvirt" => Container::from_group(Runtime::Lxc, ""),
        other => Container::from_group(Runtime::Unknown, other),
    })
}
