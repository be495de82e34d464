//! What a user may get wrong, or may not do: one line that says what to do, and an exit code.

use std::path::Path;

use crate::harness::{run, server};
use crate::tool::{Known, as_nobody, error_line};

/// Runs and expects an error of one line that holds all of these.
fn wrong(arguments: &[&str], parts: &[&str]) {
    let line = error_line(&run(arguments));
    for part in parts {
        assert!(
            line.contains(part),
            "{arguments:?}: '{part}' is not in {line}"
        );
    }
}

/// Above the highest that there can be (proc(5), pid_max).
const NO_PID: &str = "4194305";

#[test]
fn processes_that_are_not_there() {
    for command in ["stacks", "locks", "profile"] {
        wrong(&[command, "--pid", NO_PID], &["no process 4194305"]);
        wrong(
            &[command, "--socket", "/nonexistent.sock"],
            // A server of another test that only starts may be there.
            &["--pid"],
        );
        assert_eq!(run(&[command, "--pid", "soon"]).status.code(), Some(2));
    }
    // Its threads have no memory of their own to look at: a thread of the kernel.
    if Path::new("/proc/2/exe").read_link().is_err() && Path::new("/proc/2/stat").exists() {
        wrong(&["stacks", "--pid", "2"], &["process 2"]);
    }
}

#[test]
fn one_of_several_servers_has_to_be_named() {
    let servers = [server(&[]), server(&[])];
    let pids = servers.each_ref().map(|server| server.pid().unwrap());
    for command in ["stacks", "locks"] {
        let [first, second] = pids.map(|pid| format!("--pid {pid}"));
        wrong(&[command], &["several servers run here", &first, &second]);
    }
    // Steps that are only shown need none: an incident may be read where its server does not run.
    let shown = run(&["fix", "spin-tuning"]);
    let told = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert_eq!(shown.status.code(), Some(0), "{told}");
    assert!(
        told.contains("several servers run here") && told.contains("none was looked at"),
        "{told}"
    );
    // A port and a socket name one.
    for (option, value) in [
        ("--port", servers[0].port().to_string()),
        (
            "--socket",
            servers[0].socket().to_string_lossy().into_owned(),
        ),
    ] {
        let document = crate::tool::json(&["stacks", option, &value, "--json", "--user", "root"]);
        assert_eq!(document["pid"], pids[0]);
    }
}

#[test]
fn files_that_are_no_profile() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = path("good.folded", b"a;b 3\n");
    let diff = |file: &str, parts: &[&str]| {
        wrong(&["profile", "--diff", &good, file], parts);
        wrong(&["profile", "--diff", file, &good], parts);
    };
    let cut = path(
        "cut.json",
        b"{\"format\":\"freezeframe-profile/1\",\n \"pid\":",
    );
    diff(&cut, &["cut.json: line 2, column"]);
    let other = path("other.json", b"{\"format\":\"pprof/1\"}");
    diff(&other, &["other.json", "pprof/1", "freezeframe-profile/1"]);
    let folded = path("bad.folded", b"a;b 3\nc;d x\n");
    diff(&folded, &["bad.folded: line 2", "x"]);
    let bytes = path("bytes", &[0xff, 0xfe, 0x00, 0x0a]);
    diff(&bytes, &["bytes: ", "it is no text"]);
    diff("/nonexistent.json", &["/nonexistent.json", "No such file"]);
    diff(dir.path().to_str().unwrap(), &["directory"]);
}

#[test]
fn arguments_that_do_not_go_together() {
    for arguments in [
        &["stacks", "--json", "--folded"][..],
        &["stacks", "--method", "magic"],
        &["stacks", "--samples", "0"],
        &["stacks", "--force-stop", "--method", "bpf"],
        &["profile", "--diff", "one"],
        &["profile", "--diff", "a", "b", "--output", "c"],
        &["profile", "--hz", "0"],
        &["locks", "--seconds", "long"],
    ] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_profile_that_cannot_be_kept() {
    let known = Known::start("idlers", &["2"]);
    let path = "/nonexistent/dir/x.profile.json";
    let pid = known.pid();
    let arguments = ["profile", "--pid", &pid, "--seconds", "100ms", "-o", path];
    wrong(&arguments, &[path, "No such file"]);
}

#[test]
fn who_may_not_look_is_told_what_would_help() {
    let known = Known::start("idlers", &["3"]);
    let pid = known.pid();
    for (command, cures) in [
        (
            &["stacks", "--pid", &pid][..],
            &["CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "root"][..],
        ),
        (
            &["stacks", "--pid", &pid, "--method", "proc"],
            &["CAP_SYS_PTRACE"],
        ),
        (
            &["locks", "--pid", &pid, "--seconds", "1"],
            &["CAP_BPF", "CAP_SYS_PTRACE"],
        ),
        (
            &["profile", "--pid", &pid, "--seconds", "1"],
            &["CAP_PERFMON", "perf_event_paranoid"],
        ),
    ] {
        let Some(output) = as_nobody(command) else {
            return;
        };
        let line = error_line(&output);
        for cure in cures {
            assert!(line.contains(cure), "'{cure}' is not in {line}");
        }
    }
}
