//! A program under another name.

use std::path::Path;
use std::process::Command;

/// Copies a program that is to be run, by a process of its own: a child that another test starts meanwhile would inherit a
/// descriptor of ours that writes, and until that child is another program, execve(2) of the copy fails with ETXTBSY.
pub fn to_run(from: &Path, to: &Path) {
    let copied = Command::new("install")
        .args(["-m", "755"])
        .args([from, to])
        .status();
    assert!(copied.unwrap().success());
}
