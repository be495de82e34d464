//! An incident handed on: as pt-stalk's directory, as samples, without names.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use testbed::{IncidentSize, made_incident};

use crate::harness::run;

fn frame_in(dir: &Path) -> String {
    let written = store::write_incident(&made_incident(&IncidentSize::small()), dir).unwrap();
    written.to_str().unwrap().to_owned()
}

fn json(arguments: &[&str]) -> Value {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(arguments: &[&str]) -> String {
    refused_with(1, arguments)
}

/// With 2 where the arguments alone are wrong.
fn refused_with(code: i32, arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

fn files_of(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files_of(&path));
        } else {
            all.push(path);
        }
    }
    all
}

fn findings(verdict: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    verdict["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (word(&finding["cause"]), word(&finding["level"])))
        .collect()
}

/// What was recorded is exported, and what is read of the export has the same first cause.
pub(crate) fn comes_back(path: &str) {
    let dir = tempfile::tempdir().unwrap();
    let stalk = dir.path().join("stalk");
    let stalk = stalk.to_str().unwrap();
    let verdict = findings(&json(&["explain", path, "--json"]));
    json(&["export", path, "--pt-stalk", stalk, "--json"]);
    let again = findings(&json(&["explain", stalk, "--json"]));
    assert_eq!(
        again.first().map(|(cause, _)| cause),
        verdict.first().map(|(cause, _)| cause),
        "{again:?}"
    );
}

/// Without names the incident says the same, and none of these words is left, whatever is written.
pub(crate) fn says_the_same_without(path: &str, words: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let inside = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let verdict = findings(&json(&["explain", path, "--json"]));
    let shared = inside("shared.frame");
    let out = inside("out");
    let told = json(&[
        "export",
        path,
        "--redact",
        "-o",
        &shared,
        "--pt-stalk",
        &out,
        "--json",
    ]);
    assert_eq!(told["redaction"]["same_verdict"], true, "{told}");
    assert_eq!(findings(&json(&["explain", &shared, "--json"])), verdict);
    let mut written = files_of(Path::new(&out));
    written.push(shared.into());
    for file in written {
        let bytes = std::fs::read(&file).unwrap().to_ascii_lowercase();
        let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        for word in words {
            // As a whole word: functions of other programs may hold it as a part.
            let found = bytes
                .split(|byte| !is_letter(byte))
                .any(|part| part == word.as_bytes());
            assert!(!found, "{word} in {}", file.display());
        }
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
fn a_shared_incident_says_the_same() {
    let dir = tempfile::tempdir().unwrap();
    says_the_same_without(&frame_in(dir.path()), &["db1", "shop"]);
}

/// The search also asks for forms, wherever they stand: it must not find any in what servers, kernels
/// and tools wrote, and what they wrote must say the same without names.
#[test]
fn captures_of_every_kind_can_be_shared() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/samples");
    let dir = tempfile::tempdir().unwrap();
    let mut problems = Vec::new();
    for (number, sample) in files_of(&samples).iter().enumerate() {
        let shared = dir.path().join(format!("{number}.frame"));
        let stalk = dir.path().join(format!("{number}.stalk"));
        let output = run(&[
            "export",
            sample.to_str().unwrap(),
            "--redact",
            "-o",
            shared.to_str().unwrap(),
            "--pt-stalk",
            stalk.to_str().unwrap(),
            "--json",
        ]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if said.contains("nothing was written:") {
            problems.push(format!("{}: {said}", sample.display()));
        }
        if let Ok(told) = serde_json::from_slice::<Value>(&output.stdout)
            && told["redaction"]["same_verdict"] != true
        {
            problems.push(format!("{}: {}", sample.display(), told["redaction"]));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn nothing_that_is_there_is_replaced_unasked() {
    let dir = tempfile::tempdir().unwrap();
    let frame = frame_in(dir.path());
    let inside = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (shared, folded, stalk) = (inside("shared.frame"), inside("x.folded"), inside("stalk"));
    std::fs::write(&shared, "mine").unwrap();
    std::fs::write(&folded, "mine").unwrap();
    std::fs::create_dir(&stalk).unwrap();
    std::fs::write(Path::new(&stalk).join("notes.txt"), "mine").unwrap();
    let all: [&[&str]; 3] = [
        &["--redact", "-o", &shared],
        &["--folded", &folded],
        &["--pt-stalk", &stalk],
    ];
    for one in all {
        let arguments = [&["export", &frame], one].concat();
        let said = refused(&arguments);
        assert!(said.contains("--force"), "{said}");
        let forced = [arguments.as_slice(), &["--force"]].concat();
        assert!(run(&forced).status.success(), "{forced:?}");
    }
    assert!(std::fs::read(&shared).unwrap().starts_with(b"SQLite"));
    let notes = std::fs::read_to_string(Path::new(&stalk).join("notes.txt")).unwrap();
    assert_eq!(notes, "mine");
    // What would be in the way of one is told before anything is written.
    let fresh = inside("fresh.folded");
    refused(&[
        "export", &frame, "--folded", &fresh, "--redact", "-o", &shared,
    ]);
    assert!(!Path::new(&fresh).exists());
    // Nothing is left of the work on the way.
    let names: Vec<String> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.') || name.contains("partial"))
        .collect();
    assert_eq!(names, Vec::<String>::new());
}

#[test]
fn arguments_that_make_no_sense_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let frame = frame_in(dir.path());
    let inside = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    assert!(refused_with(2, &["export", &frame]).contains("--pt-stalk DIR"));
    for both in [["--folded", "--pprof"], ["--speedscope", "--folded"]] {
        let said = refused_with(2, &["export", &frame, both[0], "-", both[1], "-"]);
        assert!(said.contains("standard output"), "{said}");
    }
    let salt = inside("salt");
    std::fs::write(&salt, "short").unwrap();
    let shared = inside("shared.frame");
    let said = refused(&[
        "export",
        &frame,
        "--redact",
        "-o",
        &shared,
        "--salt-file",
        &salt,
    ]);
    assert!(said.contains("at least 16 bytes"), "{said}");
    assert!(!Path::new(&shared).exists());
}

/// An incident as an older version wrote it: values in the error log, and the host of MariaDB's message on
/// CHANGE MASTER.
#[test]
fn an_older_incident_is_mended() {
    const LOG: &str = "2026-01-02  3:04:05 9 [ERROR] Slave SQL: Error 'Duplicate entry 'jane.roe@corp.invalid' for key \
        'PRIMARY'' on query. Query: 'INSERT INTO t VALUES ('qqsecret')', Internal MariaDB error code: 1062\n\
        2026-01-02  3:04:06 9 [Note] 'CHANGE MASTER TO executed'. Previous state master_host='', master_port='3306'. \
        New state master_host='qqmaster', master_port='3307'.\n";
    let dir = tempfile::tempdir().unwrap();
    let frame = frame_in(dir.path());
    let connection = rusqlite::Connection::open(&frame).unwrap();
    let at: i64 = connection
        .query_row("SELECT max(at_ms) FROM text", [], |row| row.get(0))
        .unwrap();
    connection
        .execute(
            "INSERT INTO text (at_ms, kind, body) VALUES (?1, 'error-log', ?2)",
            (at, LOG),
        )
        .unwrap();
    drop(connection);
    let holds = |path: &Path, mark: &str| {
        let bytes = std::fs::read(path).unwrap();
        bytes
            .windows(mark.len())
            .any(|part| part == mark.as_bytes())
    };
    for mark in ["jane.roe", "qqsecret", "qqmaster"] {
        assert!(holds(Path::new(&frame), mark));
    }
    let inside = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (mended, shared) = (inside("mended.frame"), inside("shared.frame"));
    assert!(run(&["export", &frame, "-o", &mended]).status.success());
    let redacted = run(&["export", &frame, "--redact", "-o", &shared]);
    let said = String::from_utf8(redacted.stdout).unwrap();
    assert!(redacted.status.success(), "{said}");
    assert!(said.contains("not searched for:"), "{said}");
    for file in [&mended, &shared] {
        for mark in ["jane.roe", "qqsecret", "qqmaster"] {
            assert!(!holds(Path::new(file), mark), "{mark} in {file}");
        }
    }
    let kept = "Slave SQL: Error ? Internal MariaDB error code: 1062";
    assert!(holds(Path::new(&mended), kept));
}

/// MySQL in a data definition: the status tells of a latch and of locks on the dictionary. Both stand in
/// other texts of the same incident, too, and none of it is anybody's secret.
#[test]
fn what_a_server_says_of_its_own_dictionary_can_be_shared() {
    const STATUS: &str = "=====================================\n2026-01-02 03:04:05 0x7f INNODB MONITOR OUTPUT\n\
        =====================================\n----------\nSEMAPHORES\n----------\n\
        --Thread 140494432618176 has waited at row0mysql.cc line 3768 for 3 seconds the semaphore:\n\
        X-lock on RW-latch at 0x555593823d80 created in file dict0dict.cc line 1081\n------------\n\
        TRANSACTIONS\n------------\n\
        TABLE LOCK table `mysql`.`tablespace_files` trx id 7117 lock mode IX\n\
        RECORD LOCKS space id 4294967294 page no 94 n bits 120 index file_name of table \
        `mysql`.`tablespace_files` trx id 7117 lock mode S locks rec but not gap\n";
    const SEMAPHORES: &str = r#"[{"thread":"140494432618176","connection_id":null,"file":"row0mysql.cc","line":3768,
        "seconds":3.0,"lock_kind":"X-lock","lock_name":null,"lock_address":"0x555593823d80",
        "created_file":"dict0dict.cc","created_line":1081,"holder_thread":null,"holder_connection_id":null,
        "holder_query":null}]"#;
    let dir = tempfile::tempdir().unwrap();
    let frame = frame_in(dir.path());
    let connection = rusqlite::Connection::open(&frame).unwrap();
    for (kind, body) in [
        ("innodb-status", STATUS),
        ("error-log", STATUS),
        ("semaphores", SEMAPHORES),
    ] {
        connection
            .execute(
                "INSERT INTO text (at_ms, kind, body) SELECT max(at_ms), ?1, ?2 FROM text",
                (kind, body),
            )
            .unwrap();
    }
    drop(connection);
    let shared = dir.path().join("shared.frame");
    let shared = shared.to_str().unwrap();
    let output = run(&["export", &frame, "--redact", "-o", shared]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let connection = rusqlite::Connection::open(shared).unwrap();
    let kept: i64 = connection
        .query_row(
            "SELECT count(*) FROM text WHERE body LIKE '%`mysql`.`tablespace_files`%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_ne!(kept, 0, "it stays as it was");
}

#[test]
fn the_same_salt_gives_the_same_names() {
    let dir = tempfile::tempdir().unwrap();
    let frame = frame_in(dir.path());
    let inside = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let salt = inside("salt");
    std::fs::write(&salt, "0123456789abcdef0123456789abcdef").unwrap();
    let host = |name: &str, salted: bool| {
        let shared = inside(name);
        let mut arguments = vec!["export", &frame, "--redact", "-o", &shared];
        if salted {
            arguments.extend(["--salt-file", &salt]);
        }
        assert!(run(&arguments).status.success());
        store::read_incident(Path::new(&shared))
            .unwrap()
            .incident
            .host
    };
    assert_eq!(host("a.frame", true), host("b.frame", true));
    assert_ne!(host("c.frame", false), host("d.frame", false));
}

#[test]
fn samples_go_to_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let frame = frame_in(dir.path());
    let folded = run(&["export", &frame, "--folded", "-"]);
    assert!(folded.status.success());
    let text = String::from_utf8(folded.stdout).unwrap();
    assert!(
        !text.is_empty() && text.lines().all(|line| line.contains(';')),
        "{text}"
    );
    let packed = run(&["export", &frame, "--pprof", "-", "--when", "all"]);
    assert!(packed.stdout.starts_with(&[0x1f, 0x8b]));
}

/// Whether a tool of percona-toolkit is there.
fn is_there(tool: &str) -> bool {
    let there = Command::new("which")
        .arg(tool)
        .output()
        .is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: {tool} is not installed");
    }
    there
}

#[test]
fn percona_toolkit_reads_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let frame = frame_in(dir.path());
    let stalk = dir.path().join("stalk");
    json(&[
        "export",
        &frame,
        "--pt-stalk",
        stalk.to_str().unwrap(),
        "--json",
    ]);
    let one = |suffix: &str| {
        std::fs::read_dir(&stalk)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.to_str().unwrap().ends_with(suffix))
            .unwrap()
    };
    if is_there("pt-mext") {
        let output = Command::new("pt-mext")
            .args(["-r", "--", "cat"])
            .arg(one("-mysqladmin"))
            .env("PAGER", "cat")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let status = std::fs::read_to_string(one("-mysqladmin")).unwrap();
        let samples = status.matches("Variable_name").count();
        let row = text
            .lines()
            .find(|line| line.starts_with("Threads_running"))
            .unwrap();
        assert_eq!(row.split_whitespace().count(), samples + 1, "{text}");
    }
    if is_there("pt-pmp") {
        let output = Command::new("pt-pmp")
            .arg(one("-stacktrace"))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let counted: usize = text
            .lines()
            .filter_map(|line| line.split_whitespace().next()?.parse::<usize>().ok())
            .sum();
        let stacks = std::fs::read_to_string(one("-stacktrace")).unwrap();
        assert_eq!(counted, stacks.matches("\nThread ").count(), "{text}");
    }
    if is_there("pt-sift") && is_there("pt-diskstats") && is_there("pt-align") {
        let mut sift = Command::new("pt-sift")
            .arg(&stalk)
            .env("TERM", "dumb")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        sift.stdin.take().unwrap().write_all(b"q").unwrap();
        let output = sift.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        for part in [
            "======== db1 at ",
            "--innodb--",
            "--processlist--",
            "--stack traces--",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("No stack trace file"), "{text}");
    }
}

#[test]
fn explain_names_the_command_that_helps() {
    let dir = tempfile::tempdir().unwrap();
    // A name that a shell takes apart.
    let frame = dir.path().join("it's mine.frame");
    std::fs::rename(frame_in(dir.path()), &frame).unwrap();
    let frame = frame.to_str().unwrap();
    // Text is for who typed the path; the page too.
    let quoted = format!("freezeframe fix '{}'", frame.replace('\'', "'\\''"));
    let brief = String::from_utf8(run(&["explain", frame]).stdout).unwrap();
    let text = String::from_utf8(run(&["explain", frame, "--full"]).stdout).unwrap();
    let solid = |text: &str| text.split_whitespace().collect::<String>();
    for command in [quoted.clone(), format!("{quoted} --apply")] {
        assert!(solid(&text).contains(&solid(&command)), "{text}");
    }
    assert!(solid(&brief).contains(&solid(&quoted)), "{brief}");
    // JSON is the same from everywhere: it has the name that the recorder gave.
    let verdict = json(&["explain", frame, "--json"]);
    let id = verdict["incident"]["id"].as_str().unwrap();
    let fix = verdict["findings"][0]["remedy"]["fix"].as_array().unwrap();
    let named = format!("freezeframe fix {id}.frame");
    assert!(fix[0].as_str().unwrap().ends_with(&named), "{fix:?}");
    assert!(
        fix[1]
            .as_str()
            .unwrap()
            .ends_with(&format!("{named} --apply")),
        "{fix:?}"
    );
    let page = String::from_utf8(run(&["explain", frame, "--html", "-"]).stdout).unwrap();
    assert!(page.contains("Commands") && page.contains("freezeframe fix "));
}
