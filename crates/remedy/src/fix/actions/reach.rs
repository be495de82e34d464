//! Whether a setting of the kernel can be set from here.

use std::path::Path;

use rustix::fs::{Access, access};
use rustix::io::Errno;

use crate::fix::step::When;
use crate::fix::system::System;

/// Why a setting of the kernel cannot be set, or not for good, from here.
pub(super) fn out_of_reach(system: &System, path: &Path, when: When) -> Option<String> {
    let is_read_only = access(system.root.here(path), Access::WRITE_OK) == Err(Errno::ROFS);
    match &system.container {
        Some(container) if is_read_only => Some(format!(
            "it belongs to the host's kernel, and cannot be written in this container ({})",
            container.name()
        )),
        None if is_read_only => Some("its file system is mounted read-only here".to_owned()),
        Some(container) if when == When::Durable && !system.systemd => Some(format!(
            "it belongs to the host's kernel, which reads no file of this container ({}) at boot",
            container.name()
        )),
        _ => None,
    }
}

/// What is done for good where the kernel is.
pub(super) const ON_THE_HOST: &str =
    "run freezeframe fix on the host, where it finds what sets it at boot";
