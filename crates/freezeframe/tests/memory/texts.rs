//! Texts and captures of others that become much more than their bytes.

use std::fmt::Write as _;

use super::{file, is_refused, run};

#[test]
fn lines_that_take_more_than_their_letters() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "ends", &vec![b'\n'; 16 << 20]);
    is_refused(&["explain"], &path, "nothing");
    let mut status = String::from("Variable_name\tValue\n");
    for number in 0..150_000 {
        let _ = writeln!(status, "a{number}\t1");
    }
    let path = file(&dir, "status", status.as_bytes());
    let ran = run(&["explain"], &path);
    assert!(
        ran.status == 0 || ran.errors.contains("512 MiB"),
        "{}",
        ran.errors
    );
}

#[test]
fn a_line_that_does_not_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "line", &vec![b'a'; 16 << 20]);
    is_refused(&["explain"], &path, "nothing recognised in 1 line of text");
}

#[test]
fn many_stacks() {
    let dir = tempfile::tempdir().unwrap();
    let mut folded = String::new();
    for number in 0..50_000 {
        let _ = writeln!(
            folded,
            "mysqld;start_thread;f{number};g{};h 1",
            number % 1000
        );
    }
    let path = file(&dir, "folded", folded.as_bytes());
    for words in [&["explain"][..], &["stacks", "--from"]] {
        let ran = run(words, &path);
        assert!(
            ran.status == 0 || ran.errors.contains("512 MiB"),
            "{}",
            ran.errors
        );
    }
    let mut gdb = String::new();
    for number in 0..25_000 {
        let _ = writeln!(
            gdb,
            "Thread {number} (Thread 0x7f{number:010x} (LWP {number})):\n#0  0x00007f1d4cb62d13 in f{number} () from /lib64/libc.so.6\n#1  0x0000000000f0a1b2 in main () at a.c:1\n"
        );
    }
    let path = file(&dir, "gdb", gdb.as_bytes());
    let ran = run(&["stacks", "--from"], &path);
    assert!(
        ran.status == 0 || ran.errors.contains("512 MiB"),
        "{}",
        ran.errors
    );
}

#[test]
fn json_that_is_deep() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "deep", &vec![b'['; 8 << 20]);
    is_refused(&["explain"], &path, "nothing");
    let path = file(
        &dir,
        "profile.json",
        &[b"{\"profile\":".to_vec(), vec![b'['; 8 << 20]].concat(),
    );
    is_refused(
        &["profile", "--diff", &path.display().to_string()],
        &path,
        "profile.json",
    );
}

#[test]
fn lengths_that_lie() {
    let dir = tempfile::tempdir().unwrap();
    // A packet of 4 GiB (pcap-savefile(5)).
    let mut pcap = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    pcap.extend([0; 8]);
    pcap.extend([0xff; 4]);
    pcap.extend([1, 0, 0, 0]);
    pcap.extend([0; 8]);
    pcap.extend([0xff; 8]);
    pcap.extend([0; 4096]);
    run(&["explain"], &file(&dir, "x.pcap", &pcap));
    // pprof: strings of no letters, two bytes each, and a sample of many places.
    let mut pprof = vec![0x0a, 4, 0x08, 1, 0x10, 2];
    pprof.extend([0x32, 0].repeat(4 << 20));
    let path = file(&dir, "x.pprof", &pprof);
    for words in [&["explain"][..], &["stacks", "--from"]] {
        run(words, &path);
    }
    let mut pprof = vec![0x0a, 4, 0x08, 1, 0x10, 2];
    pprof.extend([0x12, 4, 0x0a, 2, 1, 1].repeat(1 << 18));
    run(&["explain"], &file(&dir, "y.pprof", &pprof));
}
