//! What a word means.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::harness::{freezeframe, run};

#[test]
fn words_of_every_kind_are_told() {
    let output = run(&[
        "meaning",
        "Waiting for table metadata lock",
        "compaction_alloc.isra.0",
        "Innodb_row_lock_waits",
    ]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    for part in [
        "state of a session; metadata locks, waits: ",
        "; the kernel's memory: allocation, compaction, huge pages, page faults, work: ",
        "status variable or counter; row locks: ",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

/// As debuggers print it: the name itself says more than its family.
#[test]
fn arguments_of_functions_are_left_out() {
    for printed in [
        "buf_flush_single_page_from_LRU",
        "buf_flush_single_page_from_LRU(buf_pool_t*)",
        "buf_flush_single_page_from_LRU.constprop.0",
    ] {
        let output = run(&["meaning", "--json", printed]);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let pattern = &told[0]["meanings"][0]["pattern"];
        assert_eq!(pattern, "buf_flush_single_page_from_LRU", "{printed}");
    }
}

#[test]
fn what_is_not_known_is_said_so() {
    let output = run(&["meaning", "--json", "no such thing", "fdatasync"]);
    assert_eq!(output.status.code(), Some(1));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told[0]["meanings"], Value::Array(Vec::new()));
    assert_eq!(told[1]["meanings"][0]["kind"], "function");
}

#[test]
fn lines_come_from_standard_input() {
    let mut child = freezeframe()
        .args(["meaning", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(
            b"kernel: INFO: task mysqld:812 blocked for more than 120 seconds.\n\n\x1b[2Jx\n",
        )
        .unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("line of the kernel's log"), "{said}");
    assert!(!said.contains('\x1b'), "{said}");
}
