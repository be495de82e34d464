//! What others would have captured of the planted server, in the forms in which people send it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testbed::PrivateServer;

/// Prints of a running server: name, the client's options, the statement.
const PRINTS: &[(&str, &[&str], &str)] = &[
    ("processlist-table", &["-t"], "SHOW FULL PROCESSLIST"),
    ("processlist-rows", &["-E"], "SHOW FULL PROCESSLIST"),
    ("processlist-tabs", &["-B"], "SHOW FULL PROCESSLIST"),
    ("processlist-html", &["-H"], "SHOW FULL PROCESSLIST"),
    ("processlist-xml", &["-X"], "SHOW FULL PROCESSLIST"),
    (
        "processlist-schema",
        &["-t"],
        "SELECT * FROM information_schema.processlist",
    ),
    ("innodb", &["-E"], "SHOW ENGINE INNODB STATUS"),
    ("innodb-tabs", &["-B"], "SHOW ENGINE INNODB STATUS"),
    (
        "trx-rows",
        &["-E"],
        "SELECT * FROM information_schema.innodb_trx",
    ),
    (
        "trx-table",
        &["-t"],
        "SELECT * FROM information_schema.innodb_trx",
    ),
    (
        "locks",
        &["-t"],
        "SELECT * FROM performance_schema.data_locks",
    ),
    (
        "lock-table",
        &["-t"],
        "SELECT * FROM information_schema.innodb_locks",
    ),
    (
        "digests",
        &["-E"],
        "SELECT * FROM performance_schema.events_statements_summary_by_digest ORDER BY last_seen DESC LIMIT 200",
    ),
    (
        "threads",
        &["-E"],
        "SELECT * FROM performance_schema.threads",
    ),
    (
        "threads-table",
        &["-t"],
        "SELECT * FROM performance_schema.threads",
    ),
    ("slave", &["-E"], "SHOW SLAVE STATUS"),
    ("replica", &["-E"], "SHOW REPLICA STATUS"),
    ("all-slaves", &["-E"], "SHOW ALL SLAVES STATUS"),
    ("variables", &["-t"], "SHOW GLOBAL VARIABLES"),
    ("status", &["-t"], "SHOW GLOBAL STATUS"),
];

/// Takes the prints that this server gives, into files of `dir`.
pub(crate) fn prints(server: &PrivateServer, dir: &Path, wanted: impl Fn(&str) -> bool) {
    std::fs::create_dir_all(dir).unwrap();
    for (name, options, statement) in PRINTS.iter().filter(|(name, ..)| wanted(name)) {
        let output = Command::new("mariadb")
            .args([
                "--no-defaults",
                "--default-character-set=utf8",
                "-uroot",
                "-S",
            ])
            .arg(server.socket())
            .args(*options)
            .args(["-e", statement])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        let Ok(output) = output else {
            eprintln!("skipped: prints of the client program mariadb, which is not installed");
            return;
        };
        if output.status.success() && !output.stdout.is_empty() {
            std::fs::write(dir.join(name), output.stdout).unwrap();
        }
    }
}

/// The prints that show sessions at work; they are taken while those work.
pub(crate) fn of_sessions(name: &str) -> bool {
    ["processlist", "innodb", "trx", "lock", "threads"]
        .iter()
        .any(|part| name.starts_with(part))
}

/// The prints that show a replica; they are taken while it has failed.
pub(crate) fn of_replicas(name: &str) -> bool {
    ["slave", "replica", "all-slaves"].contains(&name)
}

/// The forms in which one log travels: itself, and those of the others that are `wanted` by their places.
pub(crate) fn log_forms(log: &Path, name: &str, dir: &Path, wanted: impl Fn(usize) -> bool) {
    std::fs::create_dir_all(dir).unwrap();
    let Ok(bytes) = std::fs::read(log) else {
        return;
    };
    if bytes.is_empty() {
        return;
    }
    std::fs::write(dir.join(name), &bytes).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&bytes).unwrap();
    let gz = gz.finish().unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let (mut syslog, mut docker, mut journal, mut short, mut kubernetes, mut quoted) = (
        String::new(),
        String::new(),
        String::new(),
        String::new(),
        String::new(),
        String::new(),
    );
    for line in text.lines() {
        let _ = writeln!(syslog, "Nov 25 09:46:15 db7 mysqld[4242]: {line}");
        let json = |text: &str| serde_json::Value::from(text).to_string();
        let _ = writeln!(
            docker,
            "{{\"log\":{},\"stream\":\"stderr\",\"time\":\"2026-11-25T09:46:15.123456789Z\"}}",
            json(&format!("{line}\n"))
        );
        let _ = writeln!(
            journal,
            "{{\"__REALTIME_TIMESTAMP\":\"1795599975123456\",\"_HOSTNAME\":\"db7\",\"SYSLOG_IDENTIFIER\":\"mariadbd\",\"MESSAGE\":{}}}",
            json(line)
        );
        let _ = writeln!(short, "2026-11-25T09:46:15+0000 db7 mariadbd[4242]: {line}");
        let _ = writeln!(kubernetes, "2026-11-25T09:46:15.123456789Z stderr F {line}");
        let _ = writeln!(quoted, "> {line}");
    }
    let forms = [
        ("gz", gz),
        ("syslog", syslog.into_bytes()),
        ("docker", docker.into_bytes()),
        ("journal", journal.into_bytes()),
        ("journal-short", short.into_bytes()),
        ("kubernetes", kubernetes.into_bytes()),
        ("quoted", quoted.into_bytes()),
    ];
    for (place, (form, bytes)) in forms.into_iter().enumerate() {
        if wanted(place) {
            std::fs::write(dir.join(format!("{name}-{form}")), bytes).unwrap();
        }
    }
}

/// A folder as pt-stalk leaves it, of what was taken.
pub(crate) fn stalk_folder(captures: &Path, dir: &Path) {
    std::fs::create_dir_all(dir).unwrap();
    for (from, to) in [
        ("processlist-rows", "processlist"),
        ("innodb-tabs", "innodbstatus1"),
        ("innodb", "innodbstatus2"),
        ("error", "log_error"),
        ("variables", "variables"),
        ("status", "mysqladmin"),
        ("trx-rows", "transactions"),
        ("lock-table", "lock-waits"),
        ("slave", "slave-status"),
        ("replica", "slave-status"),
    ] {
        let mut text = std::fs::read(captures.join(from)).unwrap_or_default();
        if text.is_empty() {
            continue;
        }
        if to == "processlist" || to == "transactions" {
            text.splice(0..0, *b"TS 1795599975.002 2026-11-25 09:46:15\n");
        }
        std::fs::write(dir.join(format!("2026_11_25_09_46_15-{to}")), text).unwrap();
    }
}

/// Files of a directory, sorted.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    all
}
