//! The incident file: written whole, read whole, and read as far as it goes when damaged.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::incident;
use model::StackEvidence;
use rusqlite::Connection;
use store::{StoreError, read_incident, read_summary, write_incident};

#[test]
fn an_incident_reads_back_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let incident = incident();
    let path = write_incident(&incident, dir.path()).unwrap();
    let loaded = read_incident(&path).unwrap();
    assert_eq!(loaded.damage, []);
    assert_eq!(loaded.incident, incident);
    let summary = read_summary(&path).unwrap();
    assert_eq!((summary.id, summary.stall), (incident.id, incident.stall));
}

#[test]
fn the_file_is_private_and_nothing_else_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_incident(&incident(), dir.path()).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_person_can_read_it_with_plain_sql() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_incident(&incident(), dir.path()).unwrap();
    let connection = Connection::open(path).unwrap();
    let row: (i64, String, f64) = connection
        .query_row(
            "SELECT at_ms, time, value FROM point WHERE name = 'status.Questions'
             ORDER BY at_ms LIMIT 1 OFFSET 9",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(
        row,
        (10_000, "2026-09-21T14:13:30.000Z".into(), 1e9 + 12340.0)
    );
    let count = |name: &str| -> i64 {
        connection
            .query_row(
                "SELECT count(*) FROM point WHERE name = ?1",
                [name],
                |row| row.get(0),
            )
            .unwrap()
    };
    assert_eq!(count("status.Threads_running"), 109, "repeats are expanded");
    assert_eq!(count("thread.odd"), 21, "absent values are left out");
}

#[test]
fn what_is_no_frame_is_told_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.frame");
    let missing = read_incident(&path).unwrap_err().to_string();
    assert!(missing.contains("x.frame: No such file"), "{missing}");
    std::fs::write(&path, "TS 1.2 2026\n".repeat(1000)).unwrap();
    assert!(matches!(
        read_incident(&path),
        Err(StoreError::NotAFrame { .. })
    ));
    std::fs::write(&path, "").unwrap();
    assert!(matches!(
        read_incident(&path),
        Err(StoreError::NotAFrame { .. })
    ));
}

#[test]
fn a_newer_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_incident(&incident(), dir.path()).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    assert!(matches!(
        read_incident(&path),
        Err(StoreError::TooNew { found: 99, .. })
    ));
}

#[test]
fn a_damaged_table_is_named_and_the_rest_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_incident(&incident(), dir.path()).unwrap();
    overwrite_root_page(&path, "series");
    let loaded = read_incident(&path).unwrap();
    assert_eq!(loaded.damage.len(), 1, "{:?}", loaded.damage);
    assert_eq!(loaded.damage[0].table, "series");
    assert_eq!(loaded.incident.texts, incident().texts);
    assert_eq!(loaded.incident.facts, incident().facts);

    overwrite_root_page(&path, "meta");
    let error = read_incident(&path).unwrap_err().to_string();
    assert!(error.contains("'meta'"), "{error}");
}

#[test]
fn any_broken_byte_or_cut_gives_an_answer() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_incident(&incident(), dir.path()).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let broken = dir.path().join("broken.frame");
    let mut told = 0;
    for index in 0..300 {
        let at = whole.len() * index / 300;
        let mut bytes = whole.clone();
        bytes[at..(at + 64).min(whole.len())].fill(0xff);
        std::fs::write(&broken, &bytes).unwrap();
        told +=
            usize::from(read_incident(&broken).map_or(true, |loaded| !loaded.damage.is_empty()));
        std::fs::write(&broken, &whole[..at]).unwrap();
        told +=
            usize::from(read_incident(&broken).map_or(true, |loaded| !loaded.damage.is_empty()));
    }
    assert!(told > 100, "damage was told only {told} times of 600");
}

/// Fills the first page of a table with 0xff.
fn overwrite_root_page(path: &Path, table: &str) {
    let connection = Connection::open(path).unwrap();
    let (root, size): (u32, u32) = (
        connection
            .query_row(
                "SELECT rootpage FROM sqlite_schema WHERE name = ?1",
                [table],
                |row| row.get(0),
            )
            .unwrap(),
        connection
            .pragma_query_value(None, "page_size", |row| row.get(0))
            .unwrap(),
    );
    drop(connection);
    let mut bytes = std::fs::read(path).unwrap();
    let end = root as usize * size as usize;
    bytes[end - size as usize..end].fill(0xff);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_person_reads_stacks_as_people_write_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_incident(&incident(), dir.path()).unwrap();
    let connection = Connection::open(path).unwrap();
    let row: (String, i64) = connection
        .query_row(
            "SELECT stack_text.frames, count(*) FROM thread_run
             JOIN stack_text ON stack_text.id = thread_run.stack
             WHERE json_extract(syscall, '$.name') = 'futex' GROUP BY 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let frames = "futex_wait < pthread_mutex_lock < mysqld+0x7a10";
    assert_eq!(row, (frames.to_owned(), 1));
}

#[test]
fn a_person_reads_what_was_asked() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_incident(&incident(), dir.path()).unwrap();
    let row: (String, String, i64) = Connection::open(&path)
        .unwrap()
        .query_row(
            "SELECT way, fingerprint, count FROM query_class",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    assert_eq!(
        row,
        ("packets".to_owned(), "show warnings".to_owned(), 76_000)
    );
}

/// The incident from a file that was made one of an older version.
fn read_as_older(sql: &str) -> store::LoadedIncident {
    let dir = tempfile::tempdir().unwrap();
    let path = write_incident(&incident(), dir.path()).unwrap();
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    read_incident(&path).unwrap()
}

fn without_callers() -> StackEvidence {
    StackEvidence {
        callers: Vec::new(),
        ..incident().stacks
    }
}

#[test]
fn a_file_of_version_3_has_no_callers_and_is_sound() {
    let loaded = read_as_older("DROP TABLE profile_caller; PRAGMA user_version = 3;");
    assert_eq!(loaded.damage, []);
    assert_eq!(loaded.incident.stacks, without_callers());
    assert_eq!(loaded.incident.queries, incident().queries);
}

#[test]
fn a_file_of_version_2_has_no_digests_and_is_sound() {
    let loaded = read_as_older(
        "DROP TABLE profile_caller; DROP VIEW query_class; DROP TABLE query_digest;
         PRAGMA user_version = 2;",
    );
    assert_eq!(loaded.damage, []);
    assert_eq!(loaded.incident.queries, []);
    assert_eq!(loaded.incident.stacks, without_callers());
}

#[test]
fn a_file_of_version_1_has_no_stacks_and_is_sound() {
    let loaded = read_as_older(
        "DROP VIEW stack_text; DROP TABLE thread_run; DROP TABLE profile_count;
         DROP TABLE profile_caller; DROP TABLE profile; DROP TABLE stack; DROP TABLE stack_frame;
         DROP TABLE snapshot; DROP TABLE lock_table; PRAGMA user_version = 1;",
    );
    assert_eq!(loaded.damage, []);
    assert!(loaded.incident.stacks.is_empty());
    assert_eq!(loaded.incident.texts, incident().texts);
}

#[test]
fn stacks_that_are_not_there_are_told_and_read_as_empty() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_incident(&incident(), dir.path()).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA foreign_keys = OFF; UPDATE thread_run SET stack = 77 WHERE tid = 11;",
        )
        .unwrap();
    drop(connection);
    let loaded = read_incident(&path).unwrap();
    assert_eq!(loaded.damage.len(), 1, "{:?}", loaded.damage);
    assert_eq!(loaded.damage[0].table, "stack");
    let evidence = loaded.incident.stacks;
    assert_eq!(evidence.runs.len(), 2);
    assert_eq!(evidence.table.frames_of(evidence.runs[0].stack).count(), 0);
}
