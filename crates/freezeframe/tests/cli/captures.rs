//! What others captured, as a user gives it: tickets, folders, archives.

use std::io::Write;
use std::process::Stdio;

use crate::harness::run;

/// A made-up ticket: sentences, a processlist in part, a backtrace in a fence, Windows line ends.
const TICKET: &str = "Hello,\r\n\r\nsince noon the shop hangs:\r\n\r\n\
    | 7 | app | web1:4711 | shop | Query | 1200 | Waiting for global read lock | INSERT INTO orders VALUES (5, 'secret') |\r\n\
    | 8 | backup | localhost | NULL | Query | 1300 | Waiting for global read lock | FLUSH TABLES WITH READ LOCK |\r\n\r\n\
    ```\r\nThread 2 (Thread 0x7f00 (LWP 11)):\r\n\
    #0  0x00007f in pthread_cond_wait@@GLIBC_2.3.2 () from /lib/libpthread.so.0\r\n\
    #1  0x00007f in wait_for_relax (x=1,\r\ny=2) at a.cc:3\r\n```\r\nbye\r\n";

fn json(arguments: &[&str]) -> serde_json::Value {
    let output = run(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_ticket_is_explained_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let ticket = path("ticket.txt");
    std::fs::write(&ticket, TICKET).unwrap();
    let verdict = json(&["explain", &ticket, "--json"]);
    assert_eq!(verdict["findings"][0]["cause"], "ftwrl-backup");
    let sources = verdict["sources"].as_array().unwrap();
    let kinds: Vec<&str> = sources
        .iter()
        .map(|source| source["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["processlist", "backtraces of threads", "text around it"]
    );
    assert_eq!(sources[0]["lines"], serde_json::json!([5, 6]));
    assert_eq!(sources[1]["lines"], serde_json::json!([9, 12]));
    assert!(sources[2]["skipped"].as_str().is_some());
    // What other captures would have told is named with how to take it.
    let absent = verdict["absent"].to_string();
    assert!(absent.contains("mysqladmin extended-status"), "{absent}");

    let frame = path("kept.frame");
    let output = run(&["import", &ticket, "-o", &frame]);
    assert!(output.status.success());
    let mut again = json(&["explain", &frame, "--json"]);
    assert_eq!(again["sentence"], verdict["sentence"]);
    // Of a file it is also told how to change what helps.
    let remedy = again["findings"][0]["remedy"].as_object_mut().unwrap();
    assert!(remedy.remove("fix").is_some());
    assert_eq!(again["findings"], verdict["findings"]);
    let bytes = std::fs::read(&frame).unwrap();
    assert!(!bytes.windows(6).any(|part| part == b"secret"));
    // One source is not enough for more than possible.
    assert_eq!(
        run(&["explain", &ticket, "--exit-code"]).status.code(),
        Some(3)
    );
}

#[test]
fn what_is_nothing_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.txt");
    std::fs::write(&path, "The server was slow.\n").unwrap();
    let output = run(&["explain", path.to_str().unwrap()]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr.contains("notes.txt:1-2") && stderr.lines().count() == 1,
        "{stderr}"
    );
}

#[test]
fn a_kernel_log_tells_who_was_killed_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("messages");
    std::fs::write(
        &path,
        "Mar  3 04:05:06 db1 kernel: [8123.456789] [   4711]     0  4711      700       20    49152        0             0 cron\n\
         Mar  3 04:05:06 db1 kernel: [8123.456999] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/system.slice/db.service,task=mariadbd,pid=1234,uid=999\n",
    )
    .unwrap();
    let verdict = json(&["explain", path.to_str().unwrap(), "--json"]);
    assert_eq!(verdict["findings"][0]["cause"], "oom", "{verdict}");
}

#[test]
fn a_story_without_evidence_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mail.txt");
    std::fs::write(
        &path,
        "Every night around three our shop doesn't answer for a minute, and nobody here knows why.\n",
    )
    .unwrap();
    let path = path.to_str().unwrap();
    let verdict = json(&["explain", path, "--json"]);
    assert_eq!(verdict["findings"].as_array().map(Vec::len), Some(0));
    let output = run(&["explain", path]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("Unknown") && text.contains("record stacks"),
        "{text}"
    );
}

#[test]
fn of_several_collections_the_latest_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let list = |state: &str| {
        let row = |id: u32| {
            format!("| {id} | a | h:1 | d | Query | 9 | {state} | ALTER TABLE t ADD b int |\n")
        };
        (1..=9).map(row).collect::<String>()
    };
    for (time, state) in [
        ("2026_01_01_00_00_00", "Waiting for global read lock"),
        ("2026_01_02_00_00_00", "Waiting for table metadata lock"),
    ] {
        let path = dir.path().join(format!("{time}-processlist"));
        std::fs::write(path, list(state)).unwrap();
    }
    let folder = dir.path().to_str().unwrap();
    let latest = json(&["explain", folder, "--json"]);
    assert_eq!(latest["findings"][0]["cause"], "mdl-pileup");
    assert!(
        latest["sources"]
            .to_string()
            .contains("2026_01_01_00_00_00")
    );
    let first = dir.path().join("2026_01_01_00_00_00");
    // Who is told of one of them is told how to see the other.
    let command = format!("freezeframe explain {}", first.display());
    let text = |path: &str| String::from_utf8(run(&["explain", path]).stdout).unwrap();
    assert!(text(folder).contains(&command), "{}", text(folder));
    assert!(!text(first.to_str().unwrap()).contains("freezeframe explain"));
    let first = json(&["explain", first.to_str().unwrap(), "--json"]);
    assert_eq!(first["findings"][0]["cause"], "ftwrl-backup");
}

#[test]
fn packed_and_from_standard_input() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(TICKET.as_bytes()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ticket.gz");
    std::fs::write(&path, packed.finish().unwrap()).unwrap();
    let verdict = json(&["explain", path.to_str().unwrap(), "--json"]);
    assert_eq!(verdict["findings"][0]["cause"], "ftwrl-backup");

    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_freezeframe"))
        .args(["explain", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(TICKET.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdict["sources"][0]["path"], "-");
}
