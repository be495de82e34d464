//! Incidents of which every text is hostile: no terminal gets any of it raw.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::Value;
use testbed::{IncidentSize, made_incident};

use crate::escapes::{HOSTILE, NAME, check, checked, str_of};
use crate::harness::freezeframe;

/// Each text in a JSON document, made hostile.
fn taint(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str(HOSTILE),
        Value::Array(all) => all.iter_mut().for_each(taint),
        Value::Object(all) => all.values_mut().for_each(taint),
        _ => {}
    }
}

/// How a cell is made hostile.
#[derive(Clone, Copy, Debug)]
enum Taint {
    /// Behind what there is.
    Behind,
    /// Instead of it.
    Instead,
    /// In the texts of the JSON that it is.
    Inside,
}

fn tainted(text: &str, how: Taint) -> String {
    match how {
        Taint::Behind => format!("{text}{HOSTILE}"),
        Taint::Instead => HOSTILE.to_owned(),
        Taint::Inside => match serde_json::from_str::<Value>(text) {
            Ok(mut value) if !value.is_number() => {
                taint(&mut value);
                value.to_string()
            }
            _ => text.to_owned(),
        },
    }
}

/// All columns of text of a frame.
fn columns(frame: &Path) -> Vec<(String, String)> {
    let connection = Connection::open(frame).unwrap();
    let question = "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c \
                    WHERE t.type = 'table' AND c.type = 'TEXT' ORDER BY 1, 2";
    let mut statement = connection.prepare(question).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    rows.map(Result::unwrap).collect()
}

/// Makes a column hostile; whether anything changed.
fn taint_column(frame: &Path, (table, column): &(String, String), how: Taint) -> bool {
    let connection = Connection::open(frame).unwrap();
    connection
        .pragma_update(None, "foreign_keys", false)
        .unwrap();
    let mut statement = connection
        .prepare(&format!(
            "SELECT DISTINCT \"{column}\" FROM \"{table}\" WHERE \"{column}\" IS NOT NULL"
        ))
        .unwrap();
    let rows = statement
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap();
    let before: Vec<String> = rows.map(Result::unwrap).collect();
    let mut changed = 0;
    let update =
        format!("UPDATE OR IGNORE \"{table}\" SET \"{column}\" = ?1 WHERE \"{column}\" = ?2");
    for text in before {
        let new = tainted(&text, how);
        if new != text {
            changed += connection.execute(&update, [&new, &text]).unwrap();
        }
    }
    changed > 0
}

fn base_frame(dir: &Path) -> PathBuf {
    let mut incident = made_incident(&IncidentSize::small());
    incident.host.push_str(HOSTILE);
    store::write_incident(&incident, dir).unwrap()
}

/// A frame of which everything is hostile that can be without its being refused.
fn hostile_frame(dir: &Path) -> PathBuf {
    let base = base_frame(dir);
    let (next, all) = (dir.join("next"), dir.join("all.frame"));
    fs::copy(&base, &all).unwrap();
    let mut kept = 0;
    for column in columns(&base) {
        for how in [Taint::Instead, Taint::Inside, Taint::Behind] {
            fs::copy(&all, &next).unwrap();
            if !taint_column(&next, &column, how) {
                continue;
            }
            if store::read_incident(&next).is_ok_and(|loaded| loaded.damage.is_empty()) {
                fs::rename(&next, &all).unwrap();
                kept += 1;
                break;
            }
        }
    }
    assert!(kept > 12, "only {kept} columns were made hostile");
    fs::remove_file(base).unwrap();
    all
}

/// A frame with several hostile columns, and what a reader says of its damage.
struct Merged {
    path: PathBuf,
    damage: Vec<String>,
}

impl Merged {
    /// What a reader says of a file; nothing of one that it refuses.
    fn damage(path: &Path) -> Option<Vec<String>> {
        let loaded = store::read_incident(path).ok()?;
        Some(loaded.damage.iter().map(|damage| damage.line()).collect())
    }

    /// Makes one more column hostile, if all that was said before is still said, and what is said of that column alone.
    fn takes(&mut self, column: &(String, String), how: Taint, said: &[String]) -> bool {
        let next = self.path.with_extension("next");
        fs::copy(&self.path, &next).unwrap();
        taint_column(&next, column, how);
        let Some(damage) = Self::damage(&next) else {
            return false;
        };
        let is_said = |line: &String| damage.contains(line);
        let is_merged = self.damage.iter().chain(said).all(is_said);
        if is_merged {
            fs::rename(&next, &self.path).unwrap();
            self.damage = damage;
        }
        is_merged
    }
}

/// Explains frames of which each column is hostile in one way: one that is refused alone, one that can be read with as many
/// others as can be read beside it, as a start of the program takes longer than all else here. How many were refused or
/// damaged.
fn explained(base: &Path, columns: &[(String, String)], how: Taint) -> usize {
    let is_told = |frame: &Path, what: &str| {
        let explain = ["explain", "--full", str_of(frame)];
        let output = freezeframe().args(explain).output().unwrap();
        check(&output, what);
        !output.stderr.is_empty()
    };
    let place = base.with_extension(format!("{how:?}"));
    fs::create_dir(&place).unwrap();
    let bad = place.join("bad.frame");
    let mut all: Vec<Merged> = Vec::new();
    let mut wrong = 0;
    for column in columns {
        fs::copy(base, &bad).unwrap();
        if !taint_column(&bad, column, how) {
            continue;
        }
        let Some(damage) = Merged::damage(&bad) else {
            wrong += usize::from(is_told(&bad, &format!("{column:?} {how:?}")));
            continue;
        };
        wrong += usize::from(!damage.is_empty());
        let mut others = all.iter_mut();
        if !others.any(|merged| merged.takes(column, how, &damage)) {
            let path = place.join(format!("{}.frame", all.len()));
            fs::rename(&bad, &path).unwrap();
            all.push(Merged { path, damage });
        }
    }
    for merged in &all {
        is_told(&merged.path, &format!("{how:?}: {:?}", merged.damage));
    }
    wrong
}

#[test]
fn every_column_of_an_incident() {
    let dir = tempfile::tempdir().unwrap();
    let base = base_frame(dir.path());
    let columns = columns(&base);
    // Each way on its own, beside the others: one after the other would be the last test that runs.
    let (base, columns) = (&base, &columns);
    let wrong: usize = std::thread::scope(|scope| {
        let ways = [Taint::Behind, Taint::Instead, Taint::Inside];
        let ways = ways.map(|how| scope.spawn(move || explained(base, columns, how)));
        ways.map(|way| way.join().unwrap()).iter().sum()
    });
    assert!(wrong > 5, "errors are what this is about: {wrong}");
    // What SQLite itself says of a file.
    let bad = dir.path().join("bad.frame");
    fs::copy(base, &bad).unwrap();
    let connection = Connection::open(&bad).unwrap();
    let rename = format!("ALTER TABLE fact RENAME TO \"fact{HOSTILE}\"");
    connection.execute_batch(&rename).unwrap();
    drop(connection);
    checked(&["explain", str_of(&bad)]);
    // And what a list says of damaged and of refused ones.
    let place = base.with_extension(format!("{:?}", Taint::Behind));
    for folder in [dir.path(), place.as_path()] {
        checked(&["incidents", "--dir", str_of(folder)]);
    }
}

#[test]
fn a_hostile_incident_in_every_command() {
    let dir = tempfile::tempdir().unwrap();
    let frame = hostile_frame(dir.path());
    // Its name is hostile as well.
    let hostile = dir.path().join(format!("{NAME}.frame"));
    fs::copy(&frame, &hostile).unwrap();
    let out = dir.path().join("out");
    let named = str_of(&hostile);
    let pages = checked(&["explain", named, "--html", "-"]);
    assert!(pages.status.success());
    let page = str_of(&out).to_owned() + NAME + ".html";
    let (stalk, redacted) = (
        str_of(&out).to_owned() + NAME,
        str_of(&out).to_owned() + NAME + ".frame",
    );
    for arguments in [
        &["explain", named][..],
        &["explain", named, "--full"],
        &["explain", named, "--json"],
        &["live", named, "--plain"],
        &["explain", named, "--html", &page],
        &["export", named, "--pt-stalk", &stalk, "--force"],
        &["export", named, "--folded", "-", "--when", "all"],
        &["export", named, "--redact", "-o", &redacted, "--force"],
        &["export", named, "--redact", "-o", &redacted],
        &[
            "export", named, "--redact", "-o", &redacted, "--force", "--json",
        ],
        &["compare", named, named],
        &["compare", named, named, "--json"],
        &["compare", named, named, "--html", "-"],
        &["stacks", "--from", named],
        &["stacks", "--from", named, "--json"],
        &["stacks", "--from", named, "--folded"],
        &["stacks", "--from", named, "--pt-pmp"],
        &["import", named, "-o", &redacted],
        &["queries", named],
        &["fix", named],
        &["fix", named, "--json"],
        &["profile", "--diff", named, named],
    ] {
        checked(arguments);
    }
    for more in [&[][..], &["--json"]] {
        let listed = checked(&[&["incidents", "--dir", str_of(dir.path())][..], more].concat());
        assert!(listed.status.success());
    }
    // JSON means what it meant.
    let explained = checked(&["explain", str_of(&frame), "--json"]);
    let document: Value = serde_json::from_slice(&explained.stdout).unwrap();
    assert!(document.to_string().contains('\u{9b}'), "nothing is lost");
}
