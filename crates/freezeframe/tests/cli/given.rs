//! The same thing gives the same answer however it is given: as a file, through a pipe, packed, in a
//! folder, in an archive, by a link.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testbed::{IncidentSize, made_incident};

use crate::harness::{freezeframe, run};

/// A part of a processlist, wide enough that its state names the cause.
fn list(state: &str) -> String {
    let row = |id: u32| {
        format!("| {id} | a | h:1 | d | Query | 9 | {state} | ALTER TABLE t ADD b int |\n")
    };
    (1..=9).map(row).collect()
}

const GLOBAL: &str = "Waiting for global read lock";
const METADATA: &str = "Waiting for table metadata lock";

fn json_of(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn explained(path: &Path) -> Value {
    json_of(&run(&["explain", "--json", path.to_str().unwrap()]))
}

fn cause(verdict: &Value) -> &str {
    verdict["findings"][0]["cause"].as_str().unwrap_or("none")
}

fn sources(verdict: &Value) -> String {
    verdict["sources"].to_string()
}

/// Explains what comes on standard input.
fn piped(bytes: &[u8], arguments: &[&str]) -> Output {
    let mut child = freezeframe()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&bytes);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// A tar, by name and text.
fn tar(files: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, text) in files {
        let mut head = [0_u8; 512];
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[124..135].copy_from_slice(format!("{:011o}", text.len()).as_bytes());
        head[156] = b'0';
        head[257..263].copy_from_slice(b"ustar\0");
        bytes.extend(head);
        bytes.extend(text.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

fn frame_in(dir: &Path) -> PathBuf {
    store::write_incident(&made_incident(&IncidentSize::small()), dir).unwrap()
}

#[test]
fn a_pipe_gives_all_of_its_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    fifo(&path);
    // The only sign stands in the first bytes.
    let text = list(GLOBAL);
    for bytes in [text.clone().into_bytes(), gzip(text.as_bytes())] {
        let (writer, content) = (path.clone(), bytes);
        let writing = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            std::fs::write(writer, content).unwrap();
        });
        let verdict = explained(&path);
        writing.join().unwrap();
        assert_eq!(cause(&verdict), "ftwrl-backup");
        assert!(sources(&verdict).contains("9 sessions"), "{verdict}");
    }
    // As a shell gives it.
    let output = Command::new("bash")
        .args(["-c", "\"$0\" explain --json <(printf %s \"$1\")"])
        .args([env!("CARGO_BIN_EXE_freezeframe"), &text])
        .output()
        .unwrap();
    assert_eq!(cause(&json_of(&output)), "ftwrl-backup");
}

#[test]
fn a_pipe_without_writer_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pipe");
    fifo(&path);
    let begin = Instant::now();
    let output = run(&["explain", path.to_str().unwrap()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("nobody wrote to") && said.lines().count() == 1,
        "{said}"
    );
    assert!(begin.elapsed() < Duration::from_secs(60));
    // In a folder it is passed over at once.
    write(dir.path(), &[("list", &list(GLOBAL))]);
    let verdict = explained(dir.path());
    assert_eq!(cause(&verdict), "ftwrl-backup");
    assert!(
        sources(&verdict).contains("a pipe, socket or device"),
        "{verdict}"
    );
}

#[test]
fn an_incident_is_the_same_bytes_however_it_is_given() {
    let dir = tempfile::tempdir().unwrap();
    let frame = frame_in(dir.path());
    let bytes = std::fs::read(&frame).unwrap();
    let as_file = run(&["explain", "--json", frame.to_str().unwrap()]).stdout;
    let verdict: Value = serde_json::from_slice(&as_file).unwrap();
    let id = verdict["incident"]["id"].as_str().unwrap();
    assert_eq!(verdict["sources"][0]["path"], format!("{id}.frame"));
    let said = String::from_utf8_lossy(&as_file);
    assert!(!said.contains(dir.path().to_str().unwrap()), "{said}");

    std::fs::rename(&frame, dir.path().join("other.frame")).unwrap();
    let mut elsewhere = freezeframe();
    let elsewhere = elsewhere
        .args(["explain", "--json", "other.frame"])
        .current_dir(dir.path());
    assert_eq!(elsewhere.output().unwrap().stdout, as_file, "a short path");
    for content in [bytes.clone(), gzip(&bytes)] {
        let output = piped(&content, &["explain", "--json", "-"]);
        assert_eq!(output.stdout, as_file, "standard input");
    }
    // Of two none is chosen.
    std::fs::copy(
        dir.path().join("other.frame"),
        dir.path().join("next.frame"),
    )
    .unwrap();
    let mut two = freezeframe();
    let two = two
        .args(["explain", "other.frame", "next.frame"])
        .current_dir(dir.path());
    let said = String::from_utf8(two.output().unwrap().stderr).unwrap();
    assert!(said.contains("2 incidents were given"), "{said}");
    // A page has room for both, and is not written over either.
    let page = |to: &str| {
        let mut both = freezeframe();
        let arguments = ["explain", "other.frame", "next.frame", "--html", to];
        both.args(arguments).current_dir(dir.path());
        both.output().unwrap()
    };
    assert!(page("both.html").status.success());
    let both = std::fs::read_to_string(dir.path().join("both.html")).unwrap();
    assert_eq!(both.matches(&format!("<dd>{id}</dd>")).count(), 2);
    assert_eq!(both.matches("<dt>users felt</dt>").count(), 2);
    assert!(both.contains(">other.frame<") && both.contains(">next.frame<"));
    assert_eq!(page("-").stdout, both.as_bytes());
    assert!(!page("next.frame").status.success());
    let kept = std::fs::read(dir.path().join("next.frame")).unwrap();
    assert_eq!(kept, bytes);
    // Beside something else it is none of the captures.
    let list_path = dir.path().join("list");
    write(dir.path(), &[("list", &list(GLOBAL))]);
    let both = piped(
        &bytes,
        &["explain", "--json", "-", list_path.to_str().unwrap()],
    );
    assert!(sources(&json_of(&both)).contains("without other files"));
}

#[test]
fn an_archive_goes_through_the_choice_of_a_folder() {
    let trigger = "freezeframe: onset 2026-01-02 00:00:00\n";
    let (global, metadata) = (list(GLOBAL), list(METADATA));
    let one = [
        ("p/2026_01_01_00_00_00-processlist", global.as_str()),
        ("p/2026_01_02_00_00_00-processlist", metadata.as_str()),
        ("p/2026_01_02_00_00_00-trigger", trigger),
        ("p/after/2026_01_02_00_01_00-processlist", global.as_str()),
        ("p/after/2026_01_02_00_01_00-trigger", trigger),
    ];
    let two = [
        ("p/db1/2026_01_01_00_00_00-processlist", global.as_str()),
        ("p/db2/2026_01_02_00_00_00-processlist", metadata.as_str()),
    ];
    let told_of_one = ["p/2026_01_01_00_00_00", "another stretch of the recording"];
    for (files, told) in [(one.as_slice(), told_of_one.as_slice()), (&two, &["p/db1"])] {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), files);
        let archive = dir.path().join("p.tgz");
        std::fs::write(&archive, gzip(&tar(files))).unwrap();
        let of_folder = explained(&dir.path().join("p"));
        let of_archive = explained(&archive);
        assert_eq!(cause(&of_folder), "mdl-pileup");
        assert_eq!(of_archive["findings"], of_folder["findings"]);
        assert_eq!(of_archive["sentence"], of_folder["sentence"]);
        for verdict in [&of_folder, &of_archive] {
            for part in told {
                assert!(sources(verdict).contains(part), "{part}: {verdict}");
            }
        }
    }
}

#[test]
fn names_that_do_not_fit_into_a_tars_head_are_whole() {
    let folder = "x".repeat(120);
    let long = format!("{folder}/2026_01_02_00_00_00-processlist");
    let older = format!("{folder}/2026_01_01_00_00_00-processlist");
    let mut bytes = Vec::new();
    for (name, text) in [(&long, list(METADATA)), (&older, list(GLOBAL))] {
        // GNU's: the name is the content of an entry in front.
        let mut entries = tar(&[("././@LongLink", name), ("cut", &text)]);
        entries[156] = b'L';
        entries.truncate(entries.len() - 1024);
        bytes.extend(entries);
    }
    bytes.resize(bytes.len() + 1024, 0);
    let verdict = json_of(&piped(&bytes, &["explain", "--json", "-"]));
    assert_eq!(cause(&verdict), "mdl-pileup");
    assert!(sources(&verdict).contains("2026_01_01_00_00_00"));
}

#[test]
fn a_link_back_does_not_count_twice() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("list", &list(GLOBAL))]);
    std::os::unix::fs::symlink(dir.path(), dir.path().join("self")).unwrap();
    std::os::unix::fs::symlink("list", dir.path().join("twin")).unwrap();
    let verdict = explained(dir.path());
    let told = verdict["sources"].as_array().unwrap();
    let read = told.iter().filter(|source| source["lines"].is_array());
    assert_eq!(read.count(), 1, "{told:#?}");
    assert_eq!(sources(&verdict).matches("read once").count(), 2);
}

#[test]
fn text_that_is_glued_to_its_tag_is_read() {
    let text = format!(
        "<html><body>\n<pre>{}</pre>\n</body>\n",
        list(GLOBAL).trim()
    );
    let verdict = json_of(&piped(text.as_bytes(), &["explain", "--json", "-"]));
    assert!(sources(&verdict).contains("9 sessions"), "{verdict}");
}

#[test]
fn what_powershell_writes_is_text() {
    let text = format!("\u{feff}{}", list(METADATA).replace('\n', "\r\n"));
    let units = text.encode_utf16();
    let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    let verdict = json_of(&piped(&bytes, &["explain", "--json", "-"]));
    assert_eq!(cause(&verdict), "mdl-pileup");
}
