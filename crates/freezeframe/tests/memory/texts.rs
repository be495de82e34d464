//! Texts and captures of others that become much more than their bytes.

use std::fmt::Write as _;

use super::{answers, file, is_refused, run};

#[test]
fn lines_that_take_more_than_their_letters() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "ends", &vec![b'\n'; 120 << 20]);
    is_refused(&["explain"], &path, "nothing");
    let mut status = String::from("Variable_name\tValue\n");
    for number in 0..6_000_000 {
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
fn one_line_of_three_hundred_megabytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "line", &vec![b'a'; 300 << 20]);
    is_refused(&["explain"], &path, "208 MiB were read");
    is_refused(
        &[
            "import",
            "-o",
            &dir.path().join("x.frame").display().to_string(),
        ],
        &path,
        "208 MiB were read",
    );
}

#[test]
fn a_million_stacks() {
    let dir = tempfile::tempdir().unwrap();
    let mut folded = String::new();
    for number in 0..1_000_000 {
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
    for number in 0..300_000 {
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
fn json_that_is_wrapped_or_deep() {
    let dir = tempfile::tempdir().unwrap();
    let line = "{\"log\":\"2026-11-21 06:25:01 9 [Warning] Aborted connection 9 to db: 'x'\\n\",\"stream\":\"stderr\",\"time\":\"\"}\n";
    let path = file(&dir, "docker", line.repeat(1_300_000).as_bytes());
    answers(&["explain"], &path, "not all of it was read");
    let path = file(&dir, "deep", &vec![b'['; 64 << 20]);
    is_refused(&["explain"], &path, "nothing");
    let path = file(
        &dir,
        "profile.json",
        &[b"{\"profile\":".to_vec(), vec![b'['; 100 << 20]].concat(),
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
    pprof.extend([0x32, 0].repeat(30 << 20));
    let path = file(&dir, "x.pprof", &pprof);
    for words in [&["explain"][..], &["stacks", "--from"]] {
        run(words, &path);
    }
    let mut pprof = vec![0x0a, 4, 0x08, 1, 0x10, 2];
    pprof.extend([0x12, 4, 0x0a, 2, 1, 1].repeat(8 << 20));
    run(&["explain"], &file(&dir, "y.pprof", &pprof));
}
