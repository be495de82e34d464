//! What is kept: a recorder deletes the oldest incidents, says so, and counts them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use crate::harness::{Recorder, files};

pub(crate) fn metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_oldest_incidents_go_and_it_is_told_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let old = ["20240101", "20240102", "20240103"].map(|day| format!("3306-{day}T000000.000Z"));
    for id in &old {
        let file = |end: &str, bytes| {
            let file = std::fs::File::create(dir.path().join(format!("{id}.{end}")));
            file.unwrap().set_len(bytes).unwrap();
        };
        file("frame", 1 << 20);
        file("html", 1000);
    }
    std::fs::write(dir.path().join("copy.frame"), vec![0; 2 << 20]).unwrap();
    let config = dir.path().join("f.toml");
    let text = "listen = '127.0.0.1:0'\n[retention]\nincident_mebibytes = 2\n";
    std::fs::write(&config, text).unwrap();
    // No server is there: what is kept does not depend on one.
    let nobody = Path::new("/nonexistent/mysqld.sock");
    let more = ["--config", config.to_str().unwrap()];
    let recorder = Recorder::start_at(nobody, dir.path(), &more);
    let address = recorder.event("listening")["address"]
        .as_str()
        .unwrap()
        .to_owned();
    for id in &old[..2] {
        let event = recorder.event("deleted");
        let path = event["path"].as_str().unwrap();
        assert!(path.ends_with(&format!("/{id}.frame")), "{event}");
        assert_eq!(event["server"], "3306", "{event}");
        assert_eq!(
            (&event["why"], &event["bytes"]),
            (&"size".into(), &1_049_576.into())
        );
    }
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        let told = metrics(&address);
        let wanted = [
            "freezeframe_retention_deleted_total{what=\"incident\",why=\"size\"} 2\n",
            "freezeframe_retention_deleted_bytes_total{what=\"incident\",why=\"size\"} 2099152\n",
            "freezeframe_incidents_kept 1\n",
            "freezeframe_directory_short 0\n",
        ];
        if wanted.iter().all(|line| told.contains(line)) {
            break;
        }
        assert!(std::time::Instant::now() < end, "{told}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    recorder.stop();
    let frames = files(dir.path()).into_iter();
    let frames: Vec<String> = frames.filter(|name| name.ends_with("frame")).collect();
    assert_eq!(
        frames,
        [format!("{}.frame", old[2]), "copy.frame".to_owned()]
    );
}
