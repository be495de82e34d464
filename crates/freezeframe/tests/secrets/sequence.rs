//! Random sequences of everything, over every way to a server, beside a recorder that is killed and begun anew.

use std::time::{Duration, Instant};

use testbed::ServerKind;

use crate::harness::freezeframe;
use crate::markers::{Class, Markers, Random, seed};
use crate::plant::{Clients, Planting, WAYS, Way};
use crate::recorder::{Recording, frames};
use crate::search::Search;
use crate::stage::{long, start};
use crate::written::{Written, each, is_an_end};

/// How long actions are drawn, of one server.
const TIME: Duration = Duration::from_secs(20);
const LONG_TIME: Duration = Duration::from_secs(600);

/// How much longer on a slow machine, on which nothing was heard in one of the ways that each server has.
const MORE_TIME: Duration = Duration::from_secs(60);

/// Of so many actions one kills the recorder.
const ACTIONS_PER_KILL: usize = 60;

/// Where a literal can stand; `{}` is a literal.
const SHAPES: &[&str] = &[
    "SELECT {}",
    "SELECT {}, {} FROM `{schema}`.`{table}` WHERE `{column}` = {}",
    "SELECT * FROM `{schema}`.`{table}` WHERE `{column}` IN ({}, {}) AND n > {}",
    "INSERT INTO `{schema}`.`{table}` (`{column}`) VALUES ({}), ({})",
    "UPDATE `{schema}`.pairs SET note = {} WHERE id = 1 AND note <> {}",
    "DELETE FROM `{schema}`.`{table}` WHERE `{column}` = {} LIMIT 1",
    "CALL `{schema}`.`{routine}`({}, {})",
    "CALL `{schema}`.signals({})",
    "SET @`{variable}` = {}",
    "SELECT /* {comment} */ {} -- {comment:raw}\n, {}",
    "SELECT {} FROM nowhere.`{table}`",
    "SELECT {} FROM `{schema}`.`{table}` WHERE",
    "SELECT CAST({} AS SIGNED), {} + 1",
    "SELECT\n{},\n\t{}\nFROM DUAL",
    "EXPLAIN SELECT * FROM `{schema}`.`{table}` WHERE `{column}` = {}",
    "SELECT EXTRACTVALUE('<a/>', CONCAT('~', {}))",
    "CREATE TABLE `{schema}`.x (a VARCHAR(90) DEFAULT {} COMMENT {})",
    "CREATE USER late IDENTIFIED BY {}",
    "SELECT {} UNION SELECT {} LIMIT 5",
    "SELECT SLEEP(1), {}",
    "INSERT INTO `{schema}`.child VALUES ({})",
    "SELECT GET_LOCK({}, 0)",
    "LOAD DATA LOCAL INFILE '{path}' INTO TABLE `{schema}`.`{table}` FIELDS TERMINATED BY {}",
];

/// How a literal can be written.
const LITERALS: &[&str] = &[
    "'{email}'",
    "'{person}'",
    "'{quoted}'",
    "'{lines}'",
    "'{query}'",
    "'{phrase}'",
    "'{json}'",
    "'{password}'",
    "'{cyrillic}'",
    "'{chinese}'",
    "{card}",
    "-{card}",
    "{card}.5e0",
    "'{date}'",
    "TIMESTAMP'{date}'",
    "0x{hex:hex}",
    "X'{token:hex}'",
    "\"{quoted:double}\"",
    "\"{email}\"",
    "N'{phrase}'",
    "_utf8'{email}'",
    "_latin1 X'{hex:hex}'",
    "'{email}' '{person}'",
    "CONCAT('{email}', '{token}')",
    "'{quoted:twice}'",
    "NULL",
];

/// Modes of a session.
const MODES: &[&str] = &[
    "SET SESSION sql_mode = ''",
    "SET SESSION sql_mode = 'ANSI_QUOTES'",
    "SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,ANSI_QUOTES'",
    "SET NAMES utf8",
    "SET NAMES latin1",
    "SET NAMES gbk",
];

#[test]
fn no_secret_leaves_in_any_sequence() {
    let kinds: &[ServerKind] = match long() {
        true => &ServerKind::ALL,
        false => &[ServerKind::MariaDb],
    };
    for kind in kinds {
        sequence(*kind, seed());
    }
}

fn sequence(kind: ServerKind, seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let Some(server) = start(kind, dir.path(), &[]) else {
        return;
    };
    eprintln!("{}: FREEZEFRAME_SECRETS_SEED={seed}", kind.name());
    let markers = Markers::new(seed);
    let planting = Planting {
        server: &server,
        kind,
        markers: &markers,
    };
    planting.set_up();
    let clients = Clients {
        planting: &planting,
        dir: dir.path(),
    };
    let recorded = dir.path().join("recorded");
    let begin = || Recording::start(&server, &recorded, &["--json", "--before", "20s"]);
    let mut recorder = begin();
    std::thread::sleep(Duration::from_secs(2));
    let mut random = Random::new(seed);
    let end = Instant::now() + if long() { LONG_TIME } else { TIME };
    let mut heard = [0_usize; WAYS.len()];
    let mut in_flight = planting.in_flight();
    let last = end + MORE_TIME;
    while Instant::now() < end || heard[..3].contains(&0) && Instant::now() < last {
        let place = random.below(WAYS.len());
        let way = WAYS[place];
        match random.below(ACTIONS_PER_KILL) {
            0 => {
                recorder.kill();
                recorder = begin();
            }
            1 => in_flight.extend(planting.in_flight()),
            2 => clients.trouble(),
            3 => planting.deadlock(),
            4..=9 if way != Way::Tls => clients.prepared(way),
            _ => {
                let statements = statements(&mut random);
                let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
                heard[place] += usize::from(clients.say(way, &statements));
            }
        }
    }
    for thread in in_flight {
        let _ = thread.join();
    }
    recorder.wait_for_frames(1);
    recorder.ask_status();
    recorder.wait_for_fleet();
    recorder.stop();
    eprintln!("statements were heard {heard:?} times by {WAYS:?}");
    assert!(heard[0] > 0 && heard[1] > 0 && heard[2] > 0, "{heard:?}");
    changed(&server, &markers, dir.path());
    judge(&markers, dir.path());
}

/// A fix whose values are secrets, before and after: what others are told of it is searched as what goes to the fleet is.
fn changed(server: &testbed::PrivateServer, markers: &Markers, dir: &std::path::Path) {
    let (causes, beside) = (dir.join("causes"), dir.join("names"));
    std::fs::create_dir_all(&causes).unwrap();
    let cause = format!(
        "id = \"mine\"\ntitle = \"A\"\nwhat = \"It is this. It does that.\"\nrefuted_by = [\"This.\"]\n\
         sources = [\"A page.\"]\n[[witness]]\nid = \"rate\"\nmeasure = \"rate(status.Com_flush)\"\nabove = 5\n\
         unit = \"per_second\"\nsays = \"FLUSH ran at {{value}}\"\n\
         [[fix]]\naction = \"set-global\"\nvariable = \"init_connect\"\nvalue = \"SELECT '{}'\"\n\
         [remedy]\nnow = [\"a\"]\ndurable = [\"b\"]\nundo = [\"c\"]\nrisk = \"d\"\nverify = [\"e\"]\n",
        markers.fill("{token}")
    );
    std::fs::write(causes.join("mine.toml"), cause).unwrap();
    let config = dir.join("fix.toml");
    std::fs::write(&config, format!("dir = {beside:?}\n")).unwrap();
    let fix = |arguments: &[&str]| {
        let output = freezeframe()
            .arg("fix")
            .args(arguments)
            .args(["--user", "root", "--socket"])
            .arg(server.socket())
            .arg("--fix-dir")
            .arg(dir.join("journal"))
            .arg("--causes")
            .arg(&causes)
            .arg("--config")
            .arg(&config)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    };
    fix(&["mine", "--apply", "--now", "--yes"]);
    let told = std::fs::read_dir(beside.join("remedies")).unwrap();
    assert_eq!(told.count(), 1, "nothing is told of the fix");
    fix(&["--undo"]);
}

fn statements(random: &mut Random) -> Vec<String> {
    let mut all = Vec::new();
    // There what stands in double quotes is a name, not a value, to every server.
    let mut ansi_quotes = false;
    for _ in 0..1 + random.below(6) {
        if random.below(4) == 0 {
            let mode = *random.of(MODES);
            if mode.contains("sql_mode") {
                ansi_quotes = mode.contains("ANSI_QUOTES");
            }
            all.push(mode.to_owned());
        }
        let mut statement = String::new();
        for (place, part) in random.of(SHAPES).split("{}").enumerate() {
            if place > 0 {
                let literal = LITERALS[random.below(LITERALS.len())];
                let is_name = ansi_quotes && literal.starts_with('"');
                statement.push_str(if is_name { "NULL" } else { literal });
            }
            statement.push_str(part);
        }
        all.push(statement);
    }
    all
}

fn judge(markers: &Markers, dir: &std::path::Path) {
    let recorded = dir.join("recorded");
    let written = Written::new(dir);
    let all = frames(&recorded.join("files"));
    assert!(!all.is_empty());
    let places: Vec<(usize, &std::path::PathBuf)> = all.iter().enumerate().collect();
    each(&places, |(place, frame)| {
        let name = frame.file_name().unwrap().to_string_lossy();
        let in_every_form = long() || is_an_end(*place, all.len());
        written.of_frame(frame, &name.replace(".frame", ""), in_every_form);
    });
    written.of_fleet(&all);
    let mut values = Search::new(markers, &[Class::Value]);
    values.directory(&recorded);
    values.directory(&written.values);
    let mut both = Search::new(markers, &[Class::Value, Class::Name]);
    both.directory(&written.names);
    let said: Vec<String> = [values.report(), both.report()]
        .into_iter()
        .filter_map(Result::err)
        .collect();
    let failed = written.failed.lock().unwrap();
    assert!(
        said.is_empty(),
        "seed {}\n{}\n{failed:#?}",
        markers.seed,
        said.join("\n")
    );
    assert!(failed.is_empty(), "seed {}: {failed:#?}", markers.seed);
}
