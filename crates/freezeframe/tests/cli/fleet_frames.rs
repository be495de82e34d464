//! A recorder that puts files of incidents into a store of files, and what fetches them again.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;

use crate::fleet::said;
use crate::fleet_feed::{Room, begin};
use crate::harness::freezeframe;

const PATIENCE: Duration = Duration::from_secs(60);

/// Files by their paths.
type Files = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// A store of files that speaks as much of S3 as we do. The first file that is put is refused: it is busy.
fn store() -> (u16, Files) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let files = Files::default();
    let theirs = files.clone();
    std::thread::spawn(move || {
        let mut was_busy = false;
        while let Ok((stream, _)) = listener.accept() {
            answer(stream, &theirs, &mut was_busy);
        }
    });
    (port, files)
}

fn answer(mut stream: TcpStream, files: &Files, was_busy: &mut bool) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_exact(&mut byte).is_err() {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap().to_owned());
    let (status, out) = if !head.contains("Credential=KEY/") {
        let code = "<Error><Code>InvalidAccessKeyId</Code></Error>";
        (403, code.into())
    } else if method == "PUT" && !std::mem::replace(was_busy, true) {
        (500, Vec::new())
    } else if method == "PUT" {
        files.lock().unwrap().insert(path, body);
        (200, Vec::new())
    } else {
        match files.lock().unwrap().get(&path) {
            Some(bytes) => (200, bytes.clone()),
            None => (404, "<Error><Code>NoSuchKey</Code></Error>".into()),
        }
    };
    let length = out.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n"
    )
    .and_then(|()| stream.write_all(&out));
}

fn fetch(room: &Room, name: &str, to: &Path) -> std::process::Output {
    freezeframe()
        .args(["fleet", "fetch", name, "--config"])
        .arg(room.config())
        .arg("-o")
        .arg(to)
        .env("AWS_ACCESS_KEY_ID", "KEY")
        .env("AWS_SECRET_ACCESS_KEY", "s3cret")
        .output()
        .unwrap()
}

#[test]
fn files_of_incidents_arrive_are_those_of_the_table_and_are_fetched() {
    let (port, files) = store();
    let dir = tempfile::tempdir().unwrap();
    let fleet = dir.path().join("fleet.db");
    let place = format!("s3+http://127.0.0.1:{port}/stalls/a");
    let room = Room::new(&format!(
        "[fleet]\nurl = 'sqlite://{}'\nframes = '{place}'\n",
        fleet.display()
    ));
    room.incident(begin(), 1);
    room.incident(begin(), 2);
    // Killed at any moment, it goes on with the same files.
    let mut child = room.record(&[]);
    std::thread::sleep(Duration::from_millis(400));
    child.kill().unwrap();
    child.wait().unwrap();
    let mut child = room.record(&[]);
    let end = Instant::now() + PATIENCE;
    while files.lock().unwrap().len() < 2 || room.fed().1 > 0 {
        assert!(Instant::now() < end, "{:?}", room.fed());
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(300));
    child.kill().unwrap();
    child.wait().unwrap();
    let waiting = std::fs::read_dir(room.state().join("fleet/frames/db1")).unwrap();
    assert_eq!(waiting.count(), 0, "what is there waits no more");

    let connection = Connection::open(&fleet).unwrap();
    let row = |column: &str| -> String {
        let sql = format!("SELECT {column} FROM incidents WHERE name = '3306-stall-1'");
        connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    let key = row("frame_key");
    assert_eq!(key, format!("{place}/db2/3306-stall-1.frame"));

    let to = dir.path().join("x.frame");
    let output = fetch(&room, "3306-stall-1", &to);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(said(&output).trim(), to.display().to_string());
    let read = store::read_incident(&to).unwrap().incident;
    assert!(
        !["db1", "db2"].contains(&read.host.as_str()),
        "{}",
        read.host
    );
    assert_eq!(read.stall.onset, 40_000);
    let again = fetch(&room, "3306-stall-1", &to);
    let error = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(
        !again.status.success() && error.contains("--force"),
        "{error}"
    );

    // Another file under its name is not taken for it.
    for bytes in files.lock().unwrap().values_mut() {
        bytes.push(0);
    }
    let other = fetch(&room, "3306-stall-1", &dir.path().join("y.frame"));
    let error = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(
        !other.status.success() && error.contains("SHA-256"),
        "{error}"
    );

    // Nor is a host believed that says its files are elsewhere.
    let elsewhere = format!("s3+http://127.0.0.1:{port}/secrets/x.frame");
    connection
        .execute("UPDATE incidents SET frame_key = ?1", [&elsewhere])
        .unwrap();
    let moved = fetch(&room, "3306-stall-1", &dir.path().join("y.frame"));
    let error = String::from_utf8_lossy(&moved.stderr).into_owned();
    assert!(
        !moved.status.success() && error.contains("not below"),
        "{error}"
    );
    assert!(!dir.path().join("y.frame").exists());
}

/// `check` tells a store that takes files from one that knows not the key.
#[test]
fn an_incident_whose_file_cannot_be_kept_is_in_the_fleet_without_it() {
    let dir = tempfile::tempdir().unwrap();
    let (fleet, place) = (dir.path().join("fleet.db"), dir.path().join("files"));
    let room = Room::new(&format!(
        "[fleet]\nurl = 'sqlite://{}'\nframes = '{}'\n",
        fleet.display(),
        place.display()
    ));
    room.incident(begin(), 1);
    room.incident(begin(), 2);
    // Where the copies of one host wait, something else is.
    let waiting = room.state().join("fleet/frames");
    std::fs::create_dir_all(&waiting).unwrap();
    std::fs::write(waiting.join("db2"), "").unwrap();
    let mut child = room.record(&[]);
    let end = Instant::now() + PATIENCE;
    let file = place.join("db1/3306-stall-2.frame");
    while !file.exists() || !fleet.exists() {
        assert!(Instant::now() < end, "{:?}", room.fed());
        std::thread::sleep(Duration::from_millis(50));
    }
    let connection = Connection::open(&fleet).unwrap();
    let sql = "SELECT host, frame_key FROM incidents JOIN hosts USING (host_id) ORDER BY name";
    let mut rows = Vec::new();
    while rows.len() < 2 {
        assert!(Instant::now() < end, "{rows:?}");
        let mut asked = connection.prepare(sql).unwrap();
        let found = asked.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows = found
            .unwrap()
            .collect::<Result<Vec<(String, String)>, _>>()
            .unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Where it stays: on its host.
    let own = room.state().join("3306-stall-1.frame");
    let keys: Vec<&str> = rows.iter().map(|(_, key)| key.as_str()).collect();
    assert_eq!(
        keys,
        [own.to_str().unwrap(), file.to_str().unwrap()],
        "{rows:?}"
    );
}

#[test]
fn check_tries_the_store_of_files() {
    let (port, _) = store();
    let room = Room::new(&format!(
        "[fleet]\nurl = 'sqlite:///nonexistent/fleet.db'\nframes = 's3+http://127.0.0.1:{port}/b'\n"
    ));
    let check = |key: &str| -> Value {
        let output = freezeframe()
            .args(["check", "--json", "--look", "200ms"])
            .args(["--socket", "/nonexistent", "--config"])
            .arg(room.config())
            .env("AWS_ACCESS_KEY_ID", key)
            .env("AWS_SECRET_ACCESS_KEY", "s3cret")
            .output()
            .unwrap();
        let answers: Value = serde_json::from_slice(&output.stdout).unwrap();
        answers[0].clone()
    };
    let known = check("KEY");
    assert_eq!(known["fleet"]["frames"]["ok"], true, "{known}");
    let unknown = check("OTHER");
    assert_eq!(unknown["fleet"]["frames"]["ok"], false, "{unknown}");
    let says = unknown["fleet"]["frames"]["says"].as_str().unwrap();
    assert!(says.contains("no such key"), "{says}");
}
