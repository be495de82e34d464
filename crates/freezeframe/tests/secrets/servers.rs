//! One server each: planted beside a recorder, and everything searched.

use std::path::Path;
use std::time::Duration;

use testbed::{PrivateServer, ServerKind};

use crate::captures::{files, log_forms, of_replicas, of_sessions, prints, stalk_folder};
use crate::markers::{Class, Markers, Random, seed};
use crate::plant::{Planting, channels, replicate};
use crate::recorder::{Recording, frames};
use crate::search::Search;
use crate::stage::{clients, die, keep, keep_text, long, start};
use crate::written::{Forms, Written, each, is_an_end};

/// Languages of messages that the servers have.
const LANGUAGES: [&str; 8] = [
    "en_US", "de_DE", "ru_RU", "ja_JP", "fr_FR", "es_ES", "uk_UA", "ko_KR",
];

/// Markers of values that a server has to have written into its error log, or nothing is proved.
const IN_THE_LOG_MIN: usize = 10;

#[test]
fn no_secret_leaves_mariadb() {
    no_secret_leaves(ServerKind::MariaDb);
}

#[test]
fn no_secret_leaves_mariadb_11() {
    no_secret_leaves(ServerKind::MariaDb11);
}

#[test]
fn no_secret_leaves_mysql_55() {
    no_secret_leaves(ServerKind::MySql55);
}

#[test]
fn no_secret_leaves_mysql_9() {
    no_secret_leaves(ServerKind::MySql9);
}

fn no_secret_leaves(kind: ServerKind) {
    let seed = seed();
    // One language a run, English each second time.
    let mut random = Random::new(seed ^ 0x1A46);
    let one = if random.below(2) == 0 {
        "en_US"
    } else {
        random.of(&LANGUAGES)
    };
    let languages: &[&str] = if long() { &LANGUAGES } else { &[one] };
    for language in languages {
        one_server(kind, seed, language);
    }
}

fn one_server(kind: ServerKind, seed: u64, language: &str) {
    let dir = tempfile::tempdir().unwrap();
    let Some(mut server) = start(kind, dir.path(), &[format!("--lc-messages={language}")]) else {
        return;
    };
    eprintln!(
        "{}: FREEZEFRAME_SECRETS_SEED={seed}, {language}",
        kind.name()
    );
    let markers = Markers::new(seed);
    let recorded = dir.path().join("recorded");
    let captures = dir.path().join("captures");
    record(&mut server, kind, &markers, dir.path(), &captures);

    let log = std::fs::read(server.error_log()).unwrap();
    check_log(&markers, &log);
    let json = server.directory().join("error.log.00.json");
    for (file, name) in [
        (server.error_log(), format!("{language}.log")),
        (json.clone(), format!("{language}.json")),
    ] {
        keep(kind, &file, &name);
    }
    log_forms(&server.error_log(), "error", &captures, |place| {
        long() || place % 2 == usize::from(is_other(kind))
    });
    if json.exists() {
        std::fs::copy(&json, captures.join("error-json")).unwrap();
    }
    for name in ["slow", "general"] {
        let _ = std::fs::copy(
            server.datadir().join(format!("{name}.log")),
            captures.join(name),
        );
    }
    stalk_folder(&captures, &captures.join("stalk"));

    let written = Written::new(dir.path());
    let of_recorder = frames(&recorded.join("files"));
    assert!(of_recorder.len() >= 2, "{of_recorder:?}");
    check_frames(&of_recorder);
    write_all(kind, &written, &of_recorder, &captures);
    written.of_fleet(&of_recorder);
    written.of_directory(&recorded.join("files"), &of_recorder);
    judge(kind, &markers, &recorded, &written);
}

/// Plants while a recorder looks, to the server's crash and its next start.
fn record(
    server: &mut PrivateServer,
    kind: ServerKind,
    markers: &Markers,
    dir: &Path,
    captures: &Path,
) {
    let recorder;
    {
        let planting = Planting {
            server,
            kind,
            markers,
        };
        planting.set_up();
        recorder = Recording::start(server, &dir.join("recorded"), &[]);
        // It has to have seen some calm.
        std::thread::sleep(Duration::from_secs(4));
        planting.monitor();
        let mut in_flight = planting.in_flight();
        in_flight.extend(planting.row_waits());
        std::thread::sleep(Duration::from_millis(1200));
        let is_taken = |name: &str| long() || !is_other(kind) || !OTHER_FORMS.contains(&name);
        prints(server, captures, |name| of_sessions(name) && is_taken(name));
        clients(&planting, dir);
        planting.server_speaks();
        replicate(&planting, &|| prints(server, captures, of_replicas));
        channels(&planting);
        prints(server, captures, |name| {
            !of_sessions(name) && !of_replicas(name)
        });
        planting.fill_general_log();
        for thread in in_flight {
            let _ = thread.join();
        }
        recorder.wait_for_frames(1);
        recorder.ask_status();
        let in_flight = planting.in_flight();
        // Long enough for the trigger and what it asks for.
        std::thread::sleep(Duration::from_secs(5));
        die(&planting);
        for thread in in_flight {
            let _ = thread.join();
        }
    }
    server.restart().unwrap();
    recorder.wait_for_frames(2);
    recorder.wait_for_fleet();
    recorder.stop();
}

/// What is given to commands.
enum Given<'a> {
    /// An incident of the recorder, and whether it is written in every form.
    Ours(&'a Path, bool),
    Others(&'a Path, Forms),
}

/// Two of the servers are the others. A log travels in many forms, the same ones whatever server wrote it: half of them are
/// looked at of these, and half of those.
fn is_other(kind: ServerKind) -> bool {
    match kind {
        ServerKind::MariaDb | ServerKind::MySql9 => false,
        ServerKind::MySql55 | ServerKind::MariaDb11 => true,
    }
}

/// Prints that show what others do, in another form of the same client; none of them is in pt-stalk's folder.
const OTHER_FORMS: [&str; 5] = [
    "processlist-tabs",
    "processlist-html",
    "processlist-schema",
    "trx-table",
    "threads-table",
];

/// Commands of everything that is there, some at a time.
fn write_all(
    kind: ServerKind,
    written: &Written,
    of_recorder: &[std::path::PathBuf],
    captures: &Path,
) {
    let captures = files(captures);
    let name = |path: &Path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.replace(".frame", "")
    };
    let mut work: Vec<Given<'_>> = of_recorder
        .iter()
        .enumerate()
        .map(|(place, path)| Given::Ours(path, long() || is_an_end(place, of_recorder.len())))
        .collect();
    // The forms of one log, and the prints of one table, stand beside each other: of two, one is told.
    work.extend(captures.iter().enumerate().map(|(place, path)| {
        let name = name(path);
        let is_whole = name == "stalk" || name == "error" && !is_other(kind);
        let is_told = name == "error" || place % 2 == 0;
        let forms = match is_told {
            _ if is_whole || long() => Forms::All,
            true => Forms::Full,
            false => Forms::Files,
        };
        Given::Others(path, forms)
    }));
    each(&work, |given| match given {
        Given::Ours(path, all) => written.of_frame(path, &name(path), *all),
        Given::Others(path, forms) => written.of_capture(path, &name(path), *forms),
    });
}

/// The server must have written what is then searched for.
fn check_log(markers: &Markers, log: &[u8]) {
    // Bytes that are no text are none of a needle.
    let log = String::from_utf8_lossy(log);
    let there = |marker: &&crate::markers::Marker| {
        let mut needles = marker.needles.iter();
        marker.class == Class::Value && needles.any(|needle| log.contains(needle.as_str()))
    };
    let found: Vec<&str> = markers
        .list
        .iter()
        .filter(there)
        .map(|marker| marker.name)
        .collect();
    assert!(
        found.len() >= IN_THE_LOG_MIN,
        "only {found:?} are in the server's log"
    );
}

/// So must the recorder: what has no error log, no processlist and no statements in it shows no secret.
fn check_frames(frames: &[std::path::PathBuf]) {
    let mut there = std::collections::BTreeSet::new();
    for frame in frames {
        let database = rusqlite::Connection::open(frame).unwrap();
        for question in [
            "SELECT DISTINCT kind FROM text",
            "SELECT DISTINCT way FROM query_digest",
        ] {
            let mut answer = database.prepare(question).unwrap();
            let rows = answer.query_map([], |row| row.get::<_, String>(0)).unwrap();
            there.extend(rows.map(Result::unwrap));
        }
    }
    eprintln!("in the incidents: {there:?}");
    for kind in ["error-log", "processlist", "innodb-status"] {
        assert!(there.contains(kind), "no {kind}: {there:?}");
    }
}

fn judge(kind: ServerKind, markers: &Markers, recorded: &Path, written: &Written) {
    let mut values = Search::new(markers, &[Class::Value]);
    values.directory(recorded);
    values.directory(&written.values);
    let mut both = Search::new(markers, &[Class::Value, Class::Name]);
    both.directory(&written.names);
    let failed = written.failed.lock().unwrap();
    eprintln!(
        "{} commands, {} files, {} bytes searched",
        written.commands(),
        values.files + both.files,
        values.bytes + both.bytes
    );
    let mut said = String::new();
    for (what, search) in [("-", &values), ("-redacted-", &both)] {
        keep_text(&format!("{}{}leaks", kind.need(), what), &search.list());
        if let Err(leaks) = search.report() {
            said.push_str(what);
            said.push_str(&leaks);
        }
    }
    assert!(
        said.is_empty(),
        "seed {}\n{said}\n{failed:#?}",
        markers.seed
    );
    assert!(failed.is_empty(), "seed {}: {failed:#?}", markers.seed);
}
