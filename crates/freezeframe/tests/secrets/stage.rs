//! A server that is planted from its start to its crash.

use std::path::{Path, PathBuf};

use testbed::{Error, Options, PrivateServer, ServerKind};

use crate::plant::{Clients, Planting, REPLICA_ARGUMENTS, WAYS, Way, certificate, crash};

/// Longer variants of everything here: more rounds, all languages, statements of 10 MB.
pub(crate) fn long() -> bool {
    std::env::var("FREEZEFRAME_SECRETS").is_ok_and(|value| value == "long")
}

/// Arguments with which the servers say the most.
fn arguments(kind: ServerKind, dir: &Path) -> Vec<String> {
    let mut all: Vec<String> = REPLICA_ARGUMENTS
        .iter()
        .chain(&[
            "--event-scheduler=ON",
            "--local-infile=1",
            "--slow-query-log=ON",
            "--long-query-time=0",
            "--slow-query-log-file=slow.log",
            "--general-log-file=general.log",
            "--loose-innodb-print-all-deadlocks=ON",
            "--myisam-recover-options=FORCE",
            "--max-connections=150",
        ])
        .map(|argument| (*argument).to_owned())
        .collect();
    let own: &[&str] = match kind {
        ServerKind::MariaDb | ServerKind::MariaDb11 => &[
            "--log-warnings=9",
            "--performance-schema=ON",
            "--bind-address=127.0.0.1,::1",
        ],
        ServerKind::MySql55 => &["--log-warnings=9", "--bind-address=::"],
        ServerKind::MySql9 => &[
            "--log-error-verbosity=3",
            "--log-error-services=log_filter_internal; log_sink_internal; log_sink_json",
            "--bind-address=127.0.0.1,::1",
        ],
    };
    all.extend(own.iter().map(|argument| (*argument).to_owned()));
    match kind {
        ServerKind::MariaDb | ServerKind::MariaDb11 => {
            let certificate = certificate(dir);
            if !certificate.is_empty() {
                all.push("--ssl".to_owned());
                all.extend(certificate);
            }
        }
        // It makes its own; MySQL 5.5 speaks TLS with nobody of today.
        ServerKind::MySql9 | ServerKind::MySql55 => (),
    }
    all
}

/// A private server with everything on that makes it talk; `None` where it was not fetched, which is said.
pub(crate) fn start(kind: ServerKind, dir: &Path, more: &[String]) -> Option<PrivateServer> {
    let mut arguments = arguments(kind, dir);
    arguments.extend_from_slice(more);
    let options = Options {
        kind,
        arguments,
        ..Options::default()
    };
    match PrivateServer::start(&options) {
        Err(error @ (Error::NotFetched { .. } | Error::NotInstalled { .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        other => Some(other.unwrap()),
    }
}

/// Clients of every kind, and those that go wrong.
pub(crate) fn clients(planting: &Planting, dir: &Path) {
    let clients = Clients { planting, dir };
    clients.trouble();
    planting.deadlock();
    for way in WAYS {
        let heard = clients.say(way, SAID_IN_EACH_WAY);
        if !heard {
            eprintln!("skipped: {way:?} on {}", planting.kind.name());
        }
        if way != Way::Tls {
            clients.prepared(way);
        }
    }
    clients.long_statement(if long() { 10 << 20 } else { 1 << 20 });
}

const SAID_IN_EACH_WAY: &[&str] = &[
    "USE `{schema}`",
    "SELECT '{email}', '{person}', {card} /* {comment} */ FROM `{table}` WHERE `{column}` = '{phrase}'",
    "INSERT INTO `{table}` (`{column}`) VALUES ('{quoted}')",
    "CALL `{routine}`('{token}', '{json}')",
    "SELECT * FROM nowhere WHERE a = '{lines}'",
];

/// The server dies in a statement of several lines; it is started again by whoever needs it.
pub(crate) fn die(planting: &Planting) {
    let died = crash(
        planting,
        "SELECT '{email}', BENCHMARK(2000000000, SHA2('{phrase}', 256)),\n '{person}',\n '{lines}',\n\"{quoted:double}\" /* {comment} */",
    );
    if let Err(why) = died {
        eprintln!("skipped: a crash of {}: {why}", planting.kind.name());
    }
}

/// Leaves a server's log in the directory `FREEZEFRAME_SECRETS_KEEP`, for whoever works on what reads it.
pub(crate) fn keep(kind: ServerKind, file: &Path, name: &str) {
    if let Some(directory) = kept_in() {
        let _ = std::fs::copy(file, directory.join(format!("{}-{name}", kind.need())));
    }
}

/// The same of a text.
pub(crate) fn keep_text(name: &str, text: &str) {
    if let Some(directory) = kept_in() {
        std::fs::write(directory.join(name), text).unwrap();
    }
}

fn kept_in() -> Option<PathBuf> {
    let directory = PathBuf::from(std::env::var_os("FREEZEFRAME_SECRETS_KEEP")?);
    std::fs::create_dir_all(&directory).unwrap();
    Some(directory)
}
