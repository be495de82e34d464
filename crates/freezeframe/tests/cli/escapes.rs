//! Whatever is in files, names, arguments and configurations: a terminal gets none of it raw, neither on standard
//! output nor on standard error.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use model::is_deceptive;

use crate::causes::OWN;
use crate::harness::freezeframe;

/// A new title, a cleared screen, C1, DEL, an override, an isolate, what has no width, a separator of lines.
pub(crate) const HOSTILE: &str =
    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{2066}\u{200b}\u{2028}";

/// What is hostile in names of files as well: it has no slash.
pub(crate) const NAME: &str = "a\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}b";

/// Nothing on either of them drives a terminal.
pub(crate) fn check(output: &Output, what: &str) {
    for (bytes, stream) in [(&output.stdout, "output"), (&output.stderr, "error")] {
        let text = std::str::from_utf8(bytes)
            .unwrap_or_else(|error| panic!("{what}: standard {stream} is no UTF-8: {error}"));
        let raw = text
            .char_indices()
            .find(|(_, c)| is_deceptive(*c) && !matches!(c, '\n' | '\t'));
        if let Some((at, c)) = raw {
            let around: String = text[..at].chars().rev().take(80).collect();
            let around: String = around.chars().rev().collect();
            panic!("{what}: standard {stream} has {c:?} behind {around:?}");
        }
    }
    let code = output.status.code();
    assert!(
        code.is_some_and(|code| code < 101),
        "{what}: ended with {code:?}"
    );
}

pub(crate) fn checked(arguments: &[&str]) -> Output {
    let output = freezeframe().args(arguments).output().unwrap();
    check(&output, &format!("{arguments:?}"));
    output
}

fn piped(arguments: &[&str], bytes: &[u8]) {
    let mut child = freezeframe()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Who refuses it may not read it.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    let output = child.wait_with_output().unwrap();
    check(&output, &format!("{arguments:?} with standard input"));
}

pub(crate) fn str_of(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What others captured, with something hostile in every place.
fn captures() -> Vec<(&'static str, String)> {
    let h = HOSTILE;
    let list = (1..=9).map(|id| {
        format!("| {id} | u{h} | h{h}:1 | d{h} | Query | 9 | Waiting for table metadata lock | ALTER TABLE t{h} ADD b int |\n")
    });
    let stacks = (1..=3).map(|id| {
        format!(
            "Thread {id} (Thread 0x7f{id} (LWP {id}) \"n{h}\"):\n#0  0x00007f in f{h} () from /lib/l{h}.so\n#1  0x00007f in g{h} (a=\"{h}\") at x{h}.c:1\n\n"
        )
    });
    let folded = format!("mysqld{h};main{h};do_{h} 7\nmysqld;main;do_x 3\n");
    let slow = format!(
        "# Time: 2026-11-20T12:00:00.000000Z\n# User@Host: u{h}[u{h}] @ h{h} [10.0.0.1]  Id: 7\n\
         # Query_time: 1.0  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\nuse d{h};\n\
         SET timestamp=1795176000;\nSELECT `c{h}` FROM `t{h}` WHERE a{h} = 'x{h}';\n"
    );
    let log = format!(
        "2026-11-20 12:00:00 0 [ERROR] mysqld: Table './d{h}/t{h}' is marked as crashed {h}\n\
         2026-11-20 12:00:01 0 [Note] {h} ready for connections.\n"
    );
    let vmstat = format!("procs -----------memory----------\n r b swpd free{h}\n 1 2 3 4{h}\n");
    vec![
        ("list", list.collect()),
        ("stacks", stacks.collect()),
        ("folded", folded),
        ("slow", slow),
        ("log", log),
        ("vmstat", vmstat),
    ]
}

#[test]
fn hostile_captures_and_logs() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(format!("folder{NAME}"));
    fs::create_dir(&folder).unwrap();
    let frame = str_of(dir.path()).to_owned() + "/made.frame";
    for (kind, text) in captures() {
        let path = folder.join(format!("{kind}{NAME}"));
        fs::write(&path, &text).unwrap();
        let path = str_of(&path);
        let page = format!("{frame}.html");
        // All that is told of it, and the line of each command for what it does not read. What else is made of a capture is
        // made of all of them together, below.
        let of_all = [
            &["explain", path, "--full"][..],
            &["stacks", "--from", path],
            &["queries", path],
            &["profile", "--diff", path, path],
        ];
        // What is not read has one line, in whatever form it was asked for.
        let of_stacks = [
            &["stacks", "--from", path, "--json"][..],
            &["stacks", "--from", path, "--folded"],
            &["stacks", "--from", path, "--pt-pmp"],
        ];
        let of_profiles = [
            &["profile", "--diff", path, path, "--json"][..],
            &["profile", "--diff", path, path, "--folded"],
        ];
        let of_logs = [
            &["queries", path, "--json"][..],
            &["queries", path, "--html", &page],
            &["queries", path, "--compat", "pt"],
            &["queries", path, "--diff", path],
        ];
        let own: Vec<&[&str]> = match kind {
            "stacks" => of_stacks.to_vec(),
            "folded" => [&of_stacks[..], &of_profiles].concat(),
            "slow" => of_logs.to_vec(),
            _ => Vec::new(),
        };
        for arguments in of_all.into_iter().chain(own) {
            checked(arguments);
        }
        let bytes = text.as_bytes();
        piped(&["explain", "-"], bytes);
        match kind {
            "slow" | "list" => piped(&["queries", "-"], bytes),
            _ => piped(&["stacks", "--from", "-"], bytes),
        }
    }
    let folder = str_of(&folder);
    for arguments in [
        &["explain", folder][..],
        &["explain", folder, "--full"],
        &["explain", folder, "--json"],
        &["explain", folder, "--html", "-"],
        &["export", folder, "--folded", "-"],
        &["import", folder, "-o", &frame, "--force", "--json"],
        &["import", folder, "-o", &frame, "--force"],
        &["explain", &frame],
        &["compare", &frame, &frame],
    ] {
        assert!(checked(arguments).status.success(), "{arguments:?}");
    }
}

#[test]
fn hostile_causes_and_configurations() {
    let dir = tempfile::tempdir().unwrap();
    let h = HOSTILE;
    let escaped: String = h.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
    let causes = dir.path().join("causes.d");
    fs::create_dir(&causes).unwrap();
    // As TOML allows it, and as it does not.
    let own = OWN.replace("my own", &format!("my own{escaped}"));
    fs::write(causes.join("own.toml"), &own).unwrap();
    let broken = OWN.replace("my own", &format!("my own{h}"));
    let wrong = OWN.replace("rate(status", &format!("{escaped}(status"));
    let unknown = OWN.replace("risk =", &format!("\"risk{escaped}\" ="));
    let mut commands = Vec::new();
    for (name, text) in [("broken", broken), ("wrong", wrong), ("unknown", unknown)] {
        let folder = dir.path().join(format!("{name}.d"));
        fs::create_dir(&folder).unwrap();
        let path = folder.join(format!("{NAME}.toml"));
        fs::write(&path, text).unwrap();
        commands.push(vec!["causes".into(), "lint".into(), path.clone()]);
        commands.push(vec!["causes".into(), "--causes".into(), folder.clone()]);
        commands.push(vec![
            "causes".into(),
            "--json".into(),
            "--causes".into(),
            folder,
        ]);
    }
    for more in [
        &[][..],
        &["show", "own"],
        &["show", "own", "--json"],
        &["--json"],
    ] {
        let mut command = vec![PathBuf::from("causes")];
        command.extend(more.iter().map(PathBuf::from));
        command.extend(["--causes".into(), causes.clone()]);
        commands.push(command);
    }
    let config = dir.path().join(format!("{NAME}.toml"));
    for (text, code) in [
        (format!("dir = \"/x{h}\"\n"), 1),
        (format!("\"unknown{escaped}\" = 1\n"), 1),
        (format!("listen = \"{escaped}\"\n"), 1),
        (format!("listen_hosts = [\"{escaped}\"]\n"), 1),
        (format!("[detect]\ntriggers = [\"{escaped}\"]\n"), 1),
        (
            format!("[[hooks]]\nname = \"{escaped}\"\nurl = \"ftp://{escaped}\"\n"),
            1,
        ),
        (
            format!("[server]\npassword_file = \"/nonexistent/{escaped}\"\n"),
            1,
        ),
        (
            format!("[server]\nsocket = \"/nonexistent/{escaped}\"\n"),
            0,
        ),
    ] {
        fs::write(&config, text).unwrap();
        let record = checked(&[
            "record",
            "--for",
            "1s",
            "--no-history",
            "--dir",
            str_of(dir.path()),
            "--config",
            str_of(&config),
        ]);
        assert_eq!(record.status.code(), Some(code));
        checked(&["check", "--look", "100ms", "--config", str_of(&config)]);
        checked(&["leases", "--config", str_of(&config)]);
        checked(&["incidents", "--config", str_of(&config)]);
        checked(&["fix", "--list", "--config", str_of(&config)]);
    }
    // A journal whose entries are hostile, and one in a place with a hostile name.
    let journal = dir.path().join(format!("fixes{NAME}"));
    fs::create_dir(&journal).unwrap();
    fs::write(
        journal.join(format!("{NAME}.fix.json")),
        format!("{{\"version\": \"{h}\"}}"),
    )
    .unwrap();
    commands.push(vec![
        "fix".into(),
        "--list".into(),
        "--fix-dir".into(),
        journal.clone(),
    ]);
    commands.push(vec![
        "fix".into(),
        "--undo".into(),
        "--fix-dir".into(),
        journal.clone(),
    ]);
    commands.push(vec![
        "leases".into(),
        "--dir".into(),
        dir.path().join("none"),
        "--fix-dir".into(),
        journal,
    ]);
    for command in commands {
        let command: Vec<&str> = command.iter().map(|part| str_of(part)).collect();
        checked(&command);
    }
}

#[test]
fn hostile_arguments() {
    for arguments in [
        &[HOSTILE][..],
        &["explain", HOSTILE],
        &["explain", "/dev/null/x", "--html", HOSTILE],
        &["explain", "x", &format!("--{HOSTILE}")],
        &["record", "--listen", HOSTILE],
        &["record", "--listen-host", HOSTILE],
        &["record", "--trigger", HOSTILE],
        &["record", "--for", HOSTILE],
        &[
            "record",
            "--socket",
            HOSTILE,
            "--for",
            "1s",
            "--dir",
            "/dev/null/x\u{1b}[2J",
        ],
        &["causes", "show", HOSTILE],
        &["export", HOSTILE, "--when", HOSTILE],
        &["queries", "--group-by", HOSTILE],
        &["queries", "x", "--filter", HOSTILE],
        &["compare", "--at", HOSTILE],
        &["fix", HOSTILE],
        &["fix", "--undo", HOSTILE, "--fix-dir", "/dev/null/x\u{9b}"],
        &["incidents", "--dir", HOSTILE],
        &["completions", HOSTILE],
        &["stacks", "--pid", HOSTILE],
        &["locks", "--socket", HOSTILE],
        &["leases", "--revert", "--dir", "/dev/null/x\u{202e}/leases"],
    ] {
        let output = checked(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        let is_told = !output.status.success() && !said.is_empty();
        let is_list = matches!(arguments[0], "leases" | "fix" | "record");
        assert!(is_told || is_list, "{arguments:?}: {said}");
    }
    // Help is an answer.
    let help = checked(&["help", "explain"]);
    assert!(help.status.success() && help.stderr.is_empty());
    assert!(!help.stdout.is_empty());
}
