//! Names of signals: most are the kernel's and the server's, some hold what others chose.

use super::pseudonyms::Pseudonyms;
use super::{names, paths, states};

/// Beginnings of the kernel's names of disks, each followed by letters and digits of its own.
const DISKS: [&str; 20] = [
    "sd", "hd", "vd", "xvd", "nvme", "dm-", "md", "mmcblk", "loop", "sr", "zd", "rbd", "drbd",
    "nbd", "ram", "pmem", "bcache", "zram", "fd", "dasd",
];

/// A disk's number or letters are no longer.
const DISK_REST_CHARS_MAX: usize = 9;

/// The name of a signal, with other names in it.
pub(super) fn rename(pseudonyms: &mut Pseudonyms<'_>, name: &str) -> String {
    let between = |area: &str| {
        name.strip_prefix(area)
            .and_then(|rest| rest.rsplit_once('.'))
    };
    if let Some((program, end)) = between("top.") {
        return format!("top.{}.{end}", names::program(pseudonyms, program));
    }
    if let Some(renamed) = states::signal(pseudonyms, name) {
        return pseudonyms.sweep(&renamed).into_owned();
    }
    if let Some((directory, end)) = between("filesystem.") {
        return format!("filesystem.{}.{end}", directory_(pseudonyms, directory));
    }
    if let Some((device, end)) = between("disk.") {
        return format!("disk.{}.{end}", disk(pseudonyms, device));
    }
    if let Some((cache, group, end)) = of_group(name) {
        let group = paths::path(pseudonyms, group);
        return format!("{cache}({group}){end}");
    }
    let own = names::variable(pseudonyms, name);
    match name.starts_with("status.") {
        true => own,
        // A name of somebody's may stand across two of their words.
        false => pseudonyms.sweep(&own).into_owned(),
    }
}

/// `slab.dentry(42:acme.service).bytes`: before 5.9 each group of processes had caches of its own, called by the group.
fn of_group(name: &str) -> Option<(&str, &str, &str)> {
    let (cache, rest) = name.strip_prefix("slab.").and(name.split_once('('))?;
    let (group, end) = rest.rsplit_once(')')?;
    Some((cache, group, end))
}

/// A mount point or a data directory. Each word of it is one of a path, whatever else it may be.
fn directory_(pseudonyms: &mut Pseudonyms<'_>, directory: &str) -> String {
    paths::path(pseudonyms, directory)
}

/// A disk of the kernel's keeps its name; a volume has that of whoever made it.
fn disk(pseudonyms: &mut Pseudonyms<'_>, device: &str) -> String {
    let is_kernels = DISKS.iter().any(|start| {
        device.strip_prefix(start).is_some_and(|rest| {
            rest.len() <= DISK_REST_CHARS_MAX
                && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
                && (rest.len() <= 2 || rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    });
    let is_plain = is_kernels || paths::PATH.contains(&device) || paths::is_number(device);
    match is_plain {
        true => device.to_owned(),
        false => paths::path(pseudonyms, device),
    }
}
