//! Incidents and histories that somebody made: much in them, or a schema that does not end.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use testbed::{IncidentSize, made_incident};

use super::{answers, is_refused, run};

/// An incident that is sound, to be changed by statements.
fn made(dir: &tempfile::TempDir, statements: &str) -> PathBuf {
    let path = store::write_incident(&made_incident(&IncidentSize::small()), dir.path()).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA foreign_keys = OFF;",
        )
        .unwrap();
    connection.execute_batch(statements).unwrap();
    path
}

/// So many rows, numbered.
fn rows(count: u32) -> String {
    format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {count})")
}

fn page(path: &Path) -> String {
    path.with_extension("html").display().to_string()
}

#[test]
fn six_hundred_megabytes_of_text() {
    let dir = tempfile::tempdir().unwrap();
    // In cells of 75 MB, of which none is read.
    let text = "INSERT INTO text SELECT i, 'processlist', hex(zeroblob(37500000)) FROM n;";
    let path = made(&dir, &(rows(8) + text));
    answers(&["explain"], &path, "8 cells are over 32 MiB");
    answers(&["explain", "--json"], &path, "8 cells are over 32 MiB");
    answers(
        &["explain", "--html", &page(&path)],
        &path,
        "8 cells are over 32 MiB",
    );
    let other = dir.path().join("other.frame").display().to_string();
    let ran = run(&["export", "--redact", "-o", &other], &path);
    assert!(
        ran.errors.contains("8 cells are over 32 MiB"),
        "{}",
        ran.errors
    );
    answers(&["incidents", "--dir"], dir.path(), ".frame\n");
}

#[test]
fn six_hundred_megabytes_in_many_texts() {
    let dir = tempfile::tempdir().unwrap();
    let text = "INSERT INTO text SELECT i, 'processlist', hex(zeroblob(3000)) FROM n;";
    let path = made(&dir, &(rows(100_000) + text));
    answers(&["explain"], &path, "table 'text': ");
    answers(
        &["explain", "--html", &page(&path)],
        &path,
        "table 'text': ",
    );
    let other = dir.path().join("other").display().to_string();
    answers(&["export", "--pt-stalk", &other], &path, "table 'text': ");
}

#[test]
fn many_rows_of_everything() {
    let dir = tempfile::tempdir().unwrap();
    let rows = rows(60_000);
    for (table, insert) in [
        ("text", "INSERT INTO text SELECT i, 'error-log', 'x' FROM n"),
        (
            "stack_frame",
            "INSERT INTO stack_frame (name, image, side) SELECT 'f' || i, 'm', 'user' FROM n",
        ),
        (
            "stack",
            "INSERT INTO stack (frames, end) SELECT '[' || (i % 5) || ',' || i || ']', 'complete' FROM n",
        ),
        (
            "thread_run",
            "INSERT INTO thread_run SELECT i, 'connection', 1000, 2000, 1, 0, 'sleeping', NULL, 0 FROM n",
        ),
        (
            "fact",
            "INSERT INTO fact SELECT i, 'variables.v' || i, '1' FROM n",
        ),
        (
            "absent",
            "INSERT INTO absent SELECT i, i, 1, 'what' || i, 'failed', 'x' FROM n",
        ),
        (
            "series",
            "INSERT INTO series SELECT 's' || i, 'count', 'gauge', 0, '[[0,1]]' FROM n",
        ),
        (
            "source",
            "INSERT INTO source (name, ticks) SELECT 's' || i, '[1,2,3]' FROM n",
        ),
    ] {
        let path = made(&dir, &format!("{rows} {insert}"));
        let ran = run(&["explain"], &path);
        assert!(
            ran.status == 0 || ran.errors.contains("512 MiB"),
            "{table}: {}",
            ran.errors
        );
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_hundred_million_readings() {
    let dir = tempfile::tempdir().unwrap();
    // A few bytes a series, each with as many values as its source has ticks.
    let ticks =
        "INSERT INTO source (id, name, ticks) SELECT 5000, 'many', json_group_array(i) FROM n;";
    let series = "INSERT INTO series SELECT 's' || i, 'count', 'gauge', 5000, '[[0,1]]' FROM n";
    let source = "UPDATE series SET source = (SELECT count(*) - 1 FROM source) WHERE source = 5000";
    let path = made(
        &dir,
        &format!(
            "{} {ticks} {} {series}; {source}",
            rows(65_000),
            rows(1_600)
        ),
    );
    answers(&["explain"], &path, "table 'series': ");
}

#[test]
fn json_that_grows_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let deep = "INSERT INTO lock_table VALUES (1, 2, replace(hex(zeroblob(1000000)), '0', '['));";
    let long = "INSERT INTO stack (frames, end)
                SELECT '[' || replace(hex(zeroblob(1900000)), '00', '0,') || '0]', 'complete' FROM n;";
    let path = made(&dir, &format!("{deep} {} {long}", rows(40)));
    answers(&["explain"], &path, "cells are over 64 KiB");
}

#[test]
fn what_a_schema_says_is_not_run() {
    let dir = tempfile::tempdir().unwrap();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                   SELECT i AS at_ms, 'processlist' AS kind, 'x' AS body FROM n";
    let path = made(
        &dir,
        &format!("DROP TABLE text; CREATE VIEW text AS {endless};"),
    );
    answers(&["explain"], &path, "table 'text' is damaged");
    std::fs::remove_file(&path).unwrap();
    let generated = "DROP TABLE text; CREATE TABLE text (at_ms INTEGER, kind TEXT,
                     body TEXT AS (hex(zeroblob(at_ms * 100000000))));
                     INSERT INTO text (at_ms, kind) VALUES (1, 'processlist');";
    let path = made(&dir, generated);
    answers(&["explain"], &path, "table 'text'");
    std::fs::remove_file(&path).unwrap();
    // What the description is made of.
    let path = made(
        &dir,
        &format!(
            "DROP TABLE meta; CREATE VIEW meta AS SELECT 'id' AS key, body AS value FROM ({endless});"
        ),
    );
    is_refused(&["explain"], &path, "'meta'");
    let ran = run(&["incidents", "--dir"], dir.path());
    assert!(ran.errors.contains("'meta'"), "{}", ran.errors);
    std::fs::remove_file(&path).unwrap();
    let many: String = (0..2_000)
        .map(|number| format!("CREATE TABLE t{number} (a, b, c);"))
        .collect();
    let path = made(&dir, &format!("BEGIN; {many} COMMIT;"));
    run(&["explain"], &path);
}

#[test]
fn two_large_incidents_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let text = "INSERT INTO text SELECT i, 'error-log', hex(zeroblob(3000)) FROM n;";
    let path = made(&dir, &(rows(30_000) + text));
    let first = path.display().to_string();
    let second = dir.path().join("second.frame");
    std::fs::copy(&path, &second).unwrap();
    answers(&["compare", &first], &second, "table 'text': ");
}

#[test]
fn a_history_that_grows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("history-x.db");
    let connection = Connection::open(&path).unwrap();
    let schema = include_str!("../../../store/src/history.sql");
    connection
        .execute_batch(&format!(
            "PRAGMA synchronous = OFF; PRAGMA user_version = 1; {schema}"
        ))
        .unwrap();
    // A text of 4 MiB in 4 kB, two thousand times.
    let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &vec![b'a'; 4 << 20]).unwrap();
    let packed = packed.finish().unwrap();
    connection
        .execute(
            "INSERT INTO session VALUES (1, 1795240000000, '', 'host', '1', '{\"label\":\"x\",\"version\":\"\",\"pid\":null,\"address\":\"\"}')",
            [],
        )
        .unwrap();
    let rows = rows(3_000);
    connection
        .execute(
            &format!("{rows} INSERT INTO text (session, at_ms, kind, body) SELECT 1, i * 1000, 'processlist', ?1 FROM n"),
            [packed],
        )
        .unwrap();
    // Ten thousand signals with names of a kilobyte, and chunks that bring nothing.
    connection
        .execute_batch(&format!(
            "{rows} INSERT INTO signal SELECT 1, i, hex(zeroblob(5000)) || i, 'count', 'gauge' FROM n;
             {rows} INSERT INTO chunk (session, minute, fresh, payload) SELECT 1, i / 60, 1, x'' FROM n;"
        ))
        .unwrap();
    drop(connection);
    let before = "2026-11-21T05:46:40Z..2026-11-21T06:10:00Z";
    let after = "2026-11-21T06:10:00Z..2026-11-21T06:36:40Z";
    let ran = run(
        &["compare", "--before", before, "--after", after, "--dir"],
        dir.path(),
    );
    assert!(
        ran.errors.contains("it needs more than 112 MiB"),
        "{}",
        ran.errors
    );
}
