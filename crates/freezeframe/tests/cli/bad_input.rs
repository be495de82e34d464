//! What a user may get wrong: one clear line, and an exit code.

use crate::harness::run;

/// Runs and expects an error of one line that holds all of these.
fn one_line(arguments: &[&str], parts: &[&str]) {
    one_line_with(1, arguments, parts);
}

/// The same with this exit code: 2 where the arguments alone are wrong.
fn one_line_with(code: i32, arguments: &[&str], parts: &[&str]) {
    let output = run(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
    assert_eq!(
        stderr.trim_end().lines().count(),
        1,
        "{arguments:?}: {stderr}"
    );
    assert!(stderr.starts_with("freezeframe: "), "{stderr}");
    assert_eq!(
        stderr.matches("os error").count() / 2,
        0,
        "told twice: {stderr}"
    );
    for part in parts {
        assert!(
            stderr.contains(part),
            "{arguments:?}: '{part}' is not in: {stderr}"
        );
    }
}

#[test]
fn files_that_are_no_incident() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.frame");
    let path = path.to_str().unwrap();
    one_line(&["explain", path], &["x.frame", "No such file"]);
    std::fs::write(path, "Thread 1 (LWP 2):\n".repeat(500)).unwrap();
    one_line(
        &["explain", path],
        &["x.frame", "not a freezeframe incident"],
    );
    one_line(
        &["incidents", "--dir", "/nonexistent/dir"],
        &["/nonexistent/dir"],
    );
}

#[test]
fn files_that_cannot_be_read_are_not_no_incidents() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.frame"), "").unwrap();
    std::fs::write(dir.path().join("b.frame"), "x".repeat(9999)).unwrap();
    let folder = dir.path().to_str().unwrap();
    for more in [&[][..], &["--json"]] {
        let listed = run(&[&["incidents", "--dir", folder][..], more].concat());
        let said = String::from_utf8_lossy(&listed.stderr);
        assert_eq!(listed.status.code(), Some(1), "{said}");
        assert!(
            said.contains("none of its 2 incidents can be read"),
            "{said}"
        );
        assert!(listed.stdout.is_empty());
    }
}

#[test]
fn a_profile_that_is_no_text_is_not_quoted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.bin");
    std::fs::write(&path, [0xfe, 0, 1, b' ', 0x1b, 0xff].repeat(99)).unwrap();
    let path = path.to_str().unwrap();
    one_line(
        &["profile", "--diff", path, path],
        &["x.bin: ", "it is no text"],
    );
}

#[test]
fn a_place_that_is_not_there_is_told_as_it_was_named() {
    let dir = tempfile::tempdir().unwrap();
    let inside = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (ticket, frame) = (inside("ticket.txt"), inside("x.frame"));
    let (ticket, frame) = (ticket.as_str(), frame.as_str());
    let line = "| 7 | a | h:1 | d | Query | 1200 | Waiting for global read lock | INSERT INTO t VALUES (5) |\n";
    std::fs::write(ticket, line).unwrap();
    assert!(run(&["import", ticket, "-o", frame]).status.success());
    let away = "/nonexistent/dir/x.out";
    for arguments in [
        &["explain", frame, "--html", away][..],
        &["import", ticket, "-o", away],
        &["export", frame, "-o", away],
        &["export", frame, "--redact", "-o", away],
    ] {
        one_line(
            arguments,
            &["freezeframe: /nonexistent/dir/x.out: No such file"],
        );
    }
}

#[test]
fn nothing_is_replaced_unasked() {
    let dir = tempfile::tempdir().unwrap();
    let inside = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (ticket, frame) = (inside("ticket.txt"), inside("kept.frame"));
    let line = "| 7 | a | h:1 | d | Query | 1200 | Waiting for global read lock | INSERT INTO t VALUES (5) |\n";
    std::fs::write(&ticket, line).unwrap();
    assert!(run(&["import", &ticket, "-o", &frame]).status.success());
    let kept = std::fs::read(&frame).unwrap();
    one_line(
        &["import", &ticket, "-o", &frame],
        &["kept.frame", "--force"],
    );
    one_line_with(
        2,
        &["explain", &frame, "--html", &frame],
        &["kept.frame", "is not written over"],
    );
    one_line_with(
        2,
        &["explain", &ticket, "--html", &frame],
        &["kept.frame", "is not written over"],
    );
    one_line_with(
        2,
        &["explain", &ticket, "--html", &ticket],
        &["ticket.txt", "to be read"],
    );
    let folder = dir.path().to_str().unwrap();
    one_line_with(
        2,
        &["explain", folder, "--html", &ticket],
        &["ticket.txt", "to be read"],
    );
    assert_eq!(std::fs::read(&frame).unwrap(), kept);
    assert_eq!(std::fs::read_to_string(&ticket).unwrap(), line);
    // A page that was there before is made anew, and an incident where that was asked for.
    let page = inside("page.html");
    for _ in 0..2 {
        assert!(run(&["explain", &ticket, "--html", &page]).status.success());
    }
    assert!(
        run(&["import", &ticket, "-o", &frame, "--force"])
            .status
            .success()
    );
}

#[test]
fn an_empty_file_is_called_empty() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.frame");
    let path = path.to_str().unwrap();
    std::fs::write(path, "").unwrap();
    one_line(&["explain", path], &["x.frame", "the file is empty"]);
    one_line(&["compare", path, path], &["x.frame", "the file is empty"]);
}

#[test]
fn compare_says_what_it_takes_and_how_to_get_it() {
    let dir = tempfile::tempdir().unwrap();
    let of_captures = dir.path().join("night one");
    std::fs::create_dir(&of_captures).unwrap();
    let ticket = of_captures.join("ticket.txt");
    std::fs::write(&ticket, "Waiting for table metadata lock\n").unwrap();
    let (folder, ticket) = (of_captures.to_str().unwrap(), ticket.to_str().unwrap());
    let import = |path: &str| format!("freezeframe import '{path}' -o before.frame");
    for path in [folder, ticket] {
        let parts = ["not an incident file", &import(path)];
        one_line(&["compare", path, path], &parts);
    }
    one_line(
        &["compare", "-", ticket],
        &[
            "not an incident file",
            "freezeframe import - -o before.frame",
        ],
    );
    // The folder of a recorder has some, but is none.
    let incident = testbed::made_incident(&testbed::IncidentSize::small());
    let frame = store::write_incident(&incident, dir.path()).unwrap();
    let (frame, recorded) = (frame.to_str().unwrap(), dir.path().to_str().unwrap());
    one_line(
        &["compare", recorded, frame],
        &["this is a directory", "freezeframe incidents --dir"],
    );
    // So has that of a recorder of named servers, which stand below it.
    let state = tempfile::tempdir().unwrap();
    let of_target = state.path().join("targets").join("shop");
    std::fs::create_dir_all(&of_target).unwrap();
    store::write_incident(&incident, &of_target).unwrap();
    one_line(
        &["compare", state.path().to_str().unwrap(), frame],
        &["this is a directory", "freezeframe incidents --dir"],
    );
    one_line(
        &["compare", frame, folder],
        &["freezeframe import", "-o after.frame"],
    );
}

/// Two incidents are shown side by side; two directories of captures too, unless they are of the same time.
#[test]
fn two_directories_on_one_page_are_two_stalls_or_said_to_be_one() {
    let dir = tempfile::tempdir().unwrap();
    let folder = |name: &str, begin: u32| {
        let folder = dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        let list = |second| {
            format!(
                "TS {}.001 2026-11-20 03:12:0{second}\n*************************** 1. row ***************************\n\
                 Id: 5\nUser: app\nHost: web\ndb: shop\nCommand: Query\nTime: 5{second}\n\
                 State: Waiting for table metadata lock\nInfo: ALTER TABLE t ADD b int\n",
                begin + second
            )
        };
        let lists: String = (0..3).map(list).collect();
        std::fs::write(folder.join("processlist"), lists).unwrap();
        folder.to_str().unwrap().to_owned()
    };
    let first = folder("first", 1_795_144_320);
    let second = folder("second", 1_795_144_320);
    let later = folder("later", 1_795_239_600);
    let output = run(&["explain", &first, &later, "--html", "-"]);
    let said = String::from_utf8(output.stderr).unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && said.is_empty(), "{said}");
    assert!(page.contains("<main class=\"two\">"), "{page}");
    let output = run(&["explain", &first, &second, "--html", "-"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let told = format!("freezeframe import {first} -o a.frame");
    assert!(
        said.contains("captures of one stall") && said.contains(&told),
        "{said}"
    );
}

/// What many programs take for standard output is no name of a file.
#[test]
fn a_file_is_never_called_like_standard_output() {
    let dir = tempfile::tempdir().unwrap();
    let frame = dir.path().join("a.frame");
    let made = testbed::made_incident(&testbed::IncidentSize::small());
    store::write_incident_file(&made, &frame).unwrap();
    let frame = frame.to_str().unwrap();
    for arguments in [
        &["import", "ticket.txt", "-o", "-"][..],
        &["export", frame, "-o", "-"],
        &["export", frame, "--pt-stalk", "-"],
        &["support-bundle", "-o", "-"],
        &["fleet", "fetch", "x", "-o", "-"],
        &["profile", "--html", "-"],
        &["profile", "--diff", frame, frame, "--html", "-"],
    ] {
        one_line_with(2, arguments, &["not written to standard output"]);
    }
}

/// Logs have times; a running server is watched from now on.
#[test]
fn a_running_server_is_asked_for_no_time_that_is_over() {
    one_line_with(
        2,
        &["queries", "--live", "5s", "--since", "10m"],
        &["work only with logs"],
    );
}

/// There is no other copy of what is read.
#[test]
fn what_is_read_is_not_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let made = testbed::made_incident(&testbed::IncidentSize::small());
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let paths = ["a.frame", "b.frame", "slow.log", "slow.log@10:00..10:10"].map(path);
    let [first, second, log, part] = paths.each_ref().map(String::as_str);
    for frame in [first, second] {
        store::write_incident_file(&made, std::path::Path::new(frame)).unwrap();
    }
    std::fs::write(log, "a log").unwrap();
    for (arguments, to) in [
        (&["explain", first][..], first),
        (&["compare", first, second], second),
        (&["profile", "--diff", first, second], first),
        (&["profile", "--diff", log, log], log),
        (&["queries", log], log),
        (&["queries", "--diff", part, part], log),
    ] {
        let before = std::fs::read(to).unwrap();
        let arguments = [arguments, &["--html", to]].concat();
        one_line_with(2, &arguments, &["give another name to --html"]);
        assert_eq!(std::fs::read(to).unwrap(), before, "{arguments:?}");
    }
}

/// Another server than the one that is named must not be shown in its place.
#[test]
fn a_view_of_recordings_takes_no_address_of_a_server() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("history-3306.db"), "").unwrap();
    let path = dir.path().to_str().unwrap();
    one_line_with(
        2,
        &["live", "--dir", path, "--port", "3307"],
        &["add --record", "--server LABEL"],
    );
}

#[test]
fn every_command_shows_how_it_is_used() {
    for command in [
        "causes show",
        "causes lint",
        "incidents",
        "sources",
        "completions",
        "man",
    ] {
        let mut arguments: Vec<&str> = command.split(' ').collect();
        arguments.push("--help");
        let help = String::from_utf8(run(&arguments).stdout).unwrap();
        let example = format!("\n  freezeframe {command}");
        assert!(
            help.contains("Examples:") && help.matches(&example).count() >= 2,
            "{help}"
        );
    }
}

#[test]
fn configuration_and_triggers() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.toml");
    std::fs::write(&path, "[history]\n\nhuors = 3\n").unwrap();
    let path = path.to_str().unwrap();
    one_line(&["record", "--config", path], &["f.toml:3", "hours"]);
    one_line(
        &["record", "--config", "/nonexistent.toml"],
        &["/nonexistent.toml", "No such file"],
    );
    one_line_with(
        2,
        &[
            "record",
            "--socket",
            "/nonexistent.sock",
            "--trigger",
            "Threads_running >> 3",
        ],
        &["Threads_running >> 3", "column 18", "a number, a function"],
    );
}

#[test]
fn logins() {
    one_line(
        &[
            "record",
            "--socket",
            "/nonexistent.sock",
            "--defaults-file",
            "/nonexistent.cnf",
        ],
        &["/nonexistent.cnf", "No such file"],
    );
    one_line(&["record", "--pid", "1"], &["process 1 is not a mysqld"]);
}

/// A name that is mistyped would else be a recording of nothing, with the reason in the absence of every source.
#[test]
fn a_host_without_an_address_is_told_before_anything_begins() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().to_str().unwrap();
    let host = ["--host", "nosuch.invalid"];
    for command in [
        &["record", "--no-history", "--for", "2s", "--dir", state][..],
        &["capture", "--for", "1s", "--dir", state],
        &["check"],
        &["grants"],
        &["stacks"],
        &["locks"],
        &["profile", "--seconds", "1s"],
        &["queries", "--live", "1s"],
    ] {
        let arguments = [command, &host].concat();
        let part = "--host nosuch.invalid: this name cannot be resolved";
        one_line(&arguments, &[part]);
        assert!(run(&arguments).stdout.is_empty(), "{arguments:?}");
    }
    // An address is looked up nowhere; who listens there is another question.
    let elsewhere = ["stacks", "--host", "192.0.2.1"];
    one_line(&elsewhere, &["the server runs on 192.0.2.1"]);
}

#[test]
fn wrong_arguments_exit_with_two() {
    assert_eq!(run(&["record", "--for", "soon"]).status.code(), Some(2));
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("freezeframe.toml");
    std::fs::write(&config, format!("dir = {:?}\n", dir.path())).unwrap();
    let config = config.to_str().unwrap();
    let none = "name an incident or captures";
    one_line_with(2, &["explain", "--config", config], &[none]);
}

#[test]
fn the_newest_incident_is_explained_where_none_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("freezeframe.toml");
    std::fs::write(&config, format!("dir = {:?}\n", dir.path())).unwrap();
    let mut incident = testbed::made_incident(&testbed::IncidentSize::small());
    store::write_incident(&incident, dir.path()).unwrap();
    incident.clock.wall_at_zero_ms += 3_600_000;
    "3306-newer".clone_into(&mut incident.id);
    let newer = store::write_incident(&incident, dir.path()).unwrap();
    let mut command = crate::harness::freezeframe();
    command.args(["explain", "--config"]).arg(&config);
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains(newer.to_str().unwrap()), "{said}");
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("users felt"), "{told}");
    // What is piped into it is meant to be read.
    command.stdin(std::process::Stdio::piped());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("freezeframe explain -"), "{said}");
}

/// Also those that only we can tell to be wrong, in every command: a script tells a mistake of its own from a failure.
#[test]
fn arguments_that_nothing_could_make_right_exit_with_two() {
    let dir = tempfile::tempdir().unwrap();
    let incident = testbed::made_incident(&testbed::IncidentSize::small());
    let first = store::write_incident(&incident, dir.path()).unwrap();
    let second = dir.path().join("second.frame");
    std::fs::copy(&first, &second).unwrap();
    let (a, b) = (first.to_str().unwrap(), second.to_str().unwrap());
    let lines: [(&[&str], &str); 14] = [
        (&["explain", a, b], "only one can be used"),
        (&["export", a, b, "--folded", "-"], "only one can be used"),
        (&["explain", a, "--html", a], "give another name to --html"),
        (&["explain", a, "--keep"], "--keep: only with --at"),
        (&["explain", a, "--dir", "/x"], "--dir: only with --at"),
        (&["export", a], "name an output"),
        (&["compare", a, b, "--cause", "nosuch"], "no such cause"),
        (&["incidents", "--cause", "nosuch"], "no cause 'nosuch'"),
        (&["fix", a, "--cause", "nosuch"], "no cause 'nosuch'"),
        (&["fix", "slow-fsync", "--cause", "oom"], "different causes"),
        (&["causes", "show", "nosuch"], "no cause 'nosuch'"),
        (&["queries", "--follow", "a", "b"], "exactly one log"),
        (&["queries", "a", "--order-by", "time:most"], "--order-by"),
        (&["queries", "--diff", "a", "b@soon"], "FILE@FROM..TO"),
    ];
    for (arguments, part) in lines {
        one_line_with(2, arguments, &[part]);
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    use std::process::Stdio;
    // A pipe whose reading end is closed before the program starts.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = crate::harness::freezeframe()
        .args(["completions", "bash"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn completions_and_help_are_there() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        assert!(
            String::from_utf8(output.stdout)
                .unwrap()
                .contains("freezeframe"),
            "{shell}"
        );
    }
    let help = String::from_utf8(run(&["record", "--help"]).stdout).unwrap();
    assert!(
        help.contains("Examples:") && help.contains("--trigger"),
        "{help}"
    );
}

#[test]
fn the_table_of_sources_is_told_without_a_server() {
    let output = run(&["sources", "--json"]);
    let list: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = list
        .iter()
        .filter_map(|source| source["name"].as_str())
        .collect();
    for name in ["vmstat", "accept-queue", "innodb", "query-probe"] {
        assert!(names.contains(&name), "{names:?}");
    }
}
