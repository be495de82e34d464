//! `queries` of logs in files: what a user gives it, and what they may get wrong.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{freezeframe, run};

/// A slow log of so many statements, half of them updates, a second each.
fn log(statements: u64) -> String {
    let mut log = "/usr/sbin/mysqld, Version: 8.0.40 (x). started with:\n\
                   Tcp port: 3306  Unix socket: /tmp/s\n\
                   Time                 Id Command    Argument\n"
        .to_owned();
    for n in 0..statements {
        log.push_str(&event(n));
    }
    log
}

fn event(n: u64) -> String {
    let statement = match n % 2 {
        0 => format!("select * from t where secret = 'secret{n}'"),
        _ => format!("update t set a = {n}"),
    };
    format!(
        "# Time: 2026-05-12T03:{:02}:{:02}.000000Z\n\
         # User@Host: user{}[u] @ web []  Id: {n}\n\
         # Query_time: 0.{:06}  Lock_time: 0.000000 Rows_sent: {n}  Rows_examined: 5\n\
         SET timestamp=1778555520;\n{statement};\n",
        n / 60 % 60,
        n % 60,
        n % 3,
        n + 1,
    )
}

struct Files {
    dir: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

fn json(arguments: &[&str]) -> Value {
    let output = run(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = run(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_log_as_text() {
    let files = Files::new();
    let path = files.write("slow.log", log(100));
    let told = text(&["queries", &path]);
    for part in [
        "100 statements, 2 classes",
        "PROFILE",
        "select * from t where secret = ?",
        "update t set a = ?",
        "user0 17, user2 17, user1 16",
        "Query_time distribution",
        "Rows_sent",
    ] {
        assert!(told.contains(part), "'{part}' is not in: {told}");
    }
    assert!(!told.contains("secret0"), "{told}");
    let open = text(&["queries", &path, "--no-redact"]);
    assert!(open.contains("'secret98'"), "{open}");
    // A long log has a row for the rest.
    let one = text(&["queries", &path, "--limit", "1"]);
    assert!(
        one.contains("1 other class") && !one.contains("MISC"),
        "{one}"
    );
}

/// What is told of a log in a pipe.
fn piped(log: &str) -> Value {
    let mut child = freezeframe()
        .args(["queries", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = log.as_bytes().to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The classes of a digest, without what depends on the order: sums of floating numbers do.
fn plain(found: &Value) -> Vec<Value> {
    let classes = found["classes"].as_array().unwrap();
    classes
        .iter()
        .map(|class| {
            let mut class = class.clone();
            for measure in class["measures"].as_array_mut().unwrap() {
                measure["stddev"] = Value::Null;
            }
            class
        })
        .collect()
}

/// The same from everywhere: file, pipe, packed by content, in two files.
#[test]
fn every_way_in() {
    let files = Files::new();
    // Longer than the begin by which a log is known.
    let log = log(10_000);
    assert!(log.len() > 2 << 20);
    let path = files.write("slow.log", &log);
    let whole = json(&["queries", &path, "--json"]);
    assert_eq!(whole["total"], 10_000);
    let border = log[..log.len() / 2].rfind("# Time").unwrap();
    let halves = [
        files.write("1.log", &log[..border]),
        files.write("2.log", &log[border..]),
    ];
    let mut others = vec![
        json(&["queries", &halves[0], &halves[1], "--json"]),
        piped(&log),
    ];
    for (program, name) in [("gzip", "a"), ("zstd", "b")] {
        let packed = std::process::Command::new(program)
            .args(["-c", "-q", &path])
            .stderr(Stdio::null())
            .output();
        match packed {
            Ok(packed) if packed.status.success() => {
                let path = files.write(name, packed.stdout);
                others.push(json(&["queries", &path, "--json"]));
            }
            _ => eprintln!("skipped: there is no {program}"),
        }
    }
    for other in &others {
        assert_eq!(other["total"], 10_000);
        assert_eq!(plain(other), plain(&whole));
    }
}

/// In parts on all processors, and from a pipe, which has none.
#[test]
fn a_log_is_the_same_in_parts() {
    let files = Files::new();
    // Large enough to be cut for several processors.
    let log = log(85_000);
    assert!(log.len() > 16 << 20);
    let path = files.write("slow.log", &log);
    let (in_parts, whole) = (json(&["queries", &path, "--json"]), piped(&log));
    for found in [&in_parts, &whole] {
        assert_eq!(found["total"], 85_000);
    }
    assert_eq!(plain(&in_parts), plain(&whole));
}

#[test]
fn times_filters_groups() {
    let files = Files::new();
    let path = files.write("slow.log", log(600));
    let total = |more: &[&str]| {
        let mut arguments = vec!["queries", path.as_str(), "--json"];
        arguments.extend(more);
        json(&arguments)["total"].as_u64().unwrap()
    };
    assert_eq!(total(&["--since", "2026-05-12T03:05:00Z"]), 300);
    assert_eq!(total(&["--until", "2026-05-12T03:01:00Z"]), 60);
    assert_eq!(total(&["--filter", "user=user1"]), 200);
    assert_eq!(
        total(&["--filter", "kind=update", "--filter", "Rows_sent>=300"]),
        150
    );
    let by_user = json(&[
        "queries",
        &path,
        "--json",
        "--group-by",
        "user",
        "--order-by",
        "count",
    ]);
    let classes = by_user["classes"].as_array().unwrap();
    let names: Vec<&str> = classes
        .iter()
        .map(|class| class["fingerprint"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["user0", "user1", "user2"]);
    // A number of the log, in any case of letters.
    let largest = json(&[
        "queries",
        &path,
        "--json",
        "--order-by",
        "rows_sent:max",
        "--limit",
        "1",
    ]);
    assert_eq!(largest["classes"][0]["kind"], "UPDATE");
    assert_eq!(largest["folded"]["count"], 300);
}

/// The identities that people have in their histories.
#[test]
fn identities_of_pt_query_digest() {
    let files = Files::new();
    let path = files.write("slow.log", log(10));
    let found = json(&["queries", &path, "--json", "--compat", "pt"]);
    let classes = found["classes"].as_array().unwrap();
    let update = classes
        .iter()
        .find(|class| class["kind"] == "UPDATE")
        .unwrap();
    assert_eq!(update["id"], update["compat_id"]);
    assert_eq!(update["id"].as_str().unwrap().len(), 32);
    let output = std::process::Command::new("pt-query-digest")
        .args(["--no-version-check", "--output", "json", &path])
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no pt-query-digest");
        return;
    };
    let theirs: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ids = |found: &Value, key: &str| -> Vec<String> {
        let classes = found["classes"].as_array().unwrap();
        let mut ids: Vec<String> = classes
            .iter()
            .map(|class| class[key].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&found, "id"), ids(&theirs, "checksum"));
}

#[test]
fn what_changed() {
    let files = Files::new();
    let mut stalled = log(600);
    for n in 0..5000 {
        stalled.push_str(&format!(
            "# Time: 2026-05-12T03:09:{:02}.000000Z\n# User@Host: orm[u] @ web []  Id: {n}\n\
             # Query_time: 0.000010  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n\
             SET timestamp=1778555520;\nSHOW WARNINGS;\n",
            n % 60
        ));
    }
    let path = files.write("slow.log", &stalled);
    let before = format!("{path}@2026-05-12T03:00:00Z..2026-05-12T03:09:00Z");
    let during = format!("{path}@2026-05-12T03:09:00Z..2026-05-12T03:10:00Z");
    let told = text(&["queries", "--diff", &before, &during]);
    let first = told
        .lines()
        .find(|line| line.trim_start().starts_with("1 "))
        .unwrap();
    assert!(first.contains("0/s → 83.3/s"), "{told}");
    assert!(first.contains("show warnings"), "{told}");
    let found = json(&["queries", "--diff", &before, &during, "--json"]);
    assert_eq!(found["changes"][0]["kind"], "SHOW WARNINGS");
    assert_eq!(found["changes"][0]["before"]["count"], 0);
    assert_eq!(found["changes"][0]["during"]["count"], 5000);
    // What was printed before can be compared, too.
    let kept = files.write(
        "a.json",
        text(&[
            "queries",
            &path,
            "--json",
            "--until",
            "2026-05-12T03:09:00Z",
        ]),
    );
    let found = json(&["queries", "--diff", &kept, &path, "--json"]);
    assert_eq!(found["changes"][0]["kind"], "SHOW WARNINGS");
    let page = files.path("diff.html");
    let output = run(&[
        "queries",
        "--diff",
        &before,
        &during,
        "--html",
        page.to_str().unwrap(),
    ]);
    assert!(output.status.success());
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("0/s → 83.3/s") && page.contains("What changed"));
}

#[test]
fn a_page() {
    use std::os::unix::fs::PermissionsExt;
    let files = Files::new();
    let log = log(10).replace("from t", "from `<script>`");
    let path = files.write("slow.log", log);
    let page = files.path("page.html");
    let output = run(&["queries", &path, "--html", page.to_str().unwrap()]);
    assert!(output.status.success());
    assert!(output.stdout.is_empty());
    let mode = std::fs::metadata(&page).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("&lt;script&gt;") && !page.contains("<script"),
        "{page}"
    );
    assert!(page.contains("<title>") && page.ends_with("</html>\n"));
}

/// A log that grows and is rotated away while it is read.
#[test]
fn a_growing_log() {
    let files = Files::new();
    let path = files.write("slow.log", log(10));
    let child = freezeframe()
        .args(["queries", "--follow", "--for", "30s", "--json", &path])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let append = |path: &Path, text: &str| {
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    // Half an event is none yet.
    let (event, path) = (event(10), Path::new(&path));
    append(path, &event[..40]);
    wait(&child, 10);
    append(path, &event[40..]);
    std::fs::rename(path, files.path("slow.log.1")).unwrap();
    append(path, &log(3));
    wait(&child, 3);
    let pid = rustix::process::Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["total"], 14);
}

/// Waits until a child has read its open log to the end: it then sleeps, and its place in the file says so. `_least` is
/// what it has to have read, in events, for people who read the test.
fn wait(child: &std::process::Child, _least: u64) {
    let begin = Instant::now();
    let mut calm = 0;
    while calm < 3 {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "the log is not read"
        );
        std::thread::sleep(Duration::from_millis(250));
        calm = if at_end(child.id()) { calm + 1 } else { 0 };
    }
}

fn at_end(pid: u32) -> bool {
    let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    files.flatten().any(|fd| {
        let Ok(target) = std::fs::read_link(fd.path()) else {
            return false;
        };
        // Not the one that was rotated away.
        if !target.ends_with("slow.log") {
            return false;
        }
        let length = std::fs::metadata(&target).map_or(u64::MAX, |data| data.len());
        let number = fd.file_name();
        let info = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{}", number.display()));
        let info = info.unwrap_or_default();
        let at = info.lines().find_map(|line| line.strip_prefix("pos:"));
        at.and_then(|at| at.trim().parse::<u64>().ok()) == Some(length)
    })
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let files = Files::new();
    let path = files.write("slow.log", log(10));
    let other = files.write("other.txt", "Thread 1 (LWP 2):\n".repeat(100));
    let general = files.write(
        "general.log",
        "2018-07-01T01:02:03.123456Z\t   10 Query\tselect 1\n",
    );
    let mut broken = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    broken.extend(b"no gzip at all");
    let broken = files.write("broken.gz", broken);
    let dir = files.dir.path().to_str().unwrap();
    for (arguments, parts) in [
        (
            vec!["/nonexistent.log"],
            vec!["/nonexistent.log", "No such file"],
        ),
        (vec![dir], vec![dir, "is a directory"]),
        (
            vec![&*other],
            vec!["other.txt", "neither a slow log nor a general log"],
        ),
        (vec![&*path, &*general], vec!["cannot be mixed"]),
        (vec![&*broken], vec!["broken.gz"]),
        (
            vec![&*path, "--since", "soon"],
            vec!["'soon' is not a time"],
        ),
        (
            vec![&*path, "--filter", "soon"],
            vec!["--filter", "a comparison"],
        ),
        (
            vec![&*path, "--order-by", "Rows_lost"],
            vec!["Rows_lost", "Rows_sent"],
        ),
        (
            vec![&*path, "--order-by", "time:most"],
            vec!["--order-by", "'most'"],
        ),
        (vec!["--diff", &*path, "x@y"], vec!["FILE@FROM..TO"]),
    ] {
        let mut all = vec!["queries"];
        all.extend(arguments);
        let output = run(&all);
        let stderr = String::from_utf8(output.stderr).unwrap();
        // What no log could make right; whether a log has a number is another matter.
        let usage = ["soon", "time:most", "x@y"];
        let is_usage = usage.iter().any(|wrong| all.contains(wrong));
        let code = if is_usage { 2 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{all:?}: {stderr}");
        assert_eq!(stderr.trim_end().lines().count(), 1, "{all:?}: {stderr}");
        for part in parts {
            assert!(
                stderr.contains(part),
                "{all:?}: '{part}' is not in: {stderr}"
            );
        }
    }
    assert_eq!(run(&["queries"]).status.code(), Some(2));
}

/// An empty log is no error: a server may have had nothing to say.
#[test]
fn nothing_is_something_too() {
    let files = Files::new();
    let path = files.write("slow.log", "");
    assert!(text(&["queries", &path]).contains("0 statements"));
    assert_eq!(json(&["queries", &path, "--json"])["total"], 0);
    // What was cut off before its first statement is remarked on.
    let path = files.write(
        "cut.log",
        log(2)[..log(2).len() - 20].replacen("/usr", "stray\n/usr", 1),
    );
    let output = run(&["queries", &path]);
    assert!(output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("6 of"), "{stderr}");
}
