//! Exactly once: by the token, and behind it by the key.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{SystemTime, UNIX_EPOCH};

use fleet::clickhouse::{Layout, Store, Then};
use fleet::row::{Hash64, Seconds, SignalRow};
use fleet::{Batch, Token};

use super::live;

const NAME: &str = "once";

/// The begin of an hour some hours ago: rows of a fixed moment would be older than they are kept.
fn hour() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_secs()).unwrap();
    now - now % 3600 - 5 * 3600
}

/// 60 minutes of a signal of this server.
fn batch(host: u64, seq: u64) -> Batch {
    let mut batch = Batch::new(Token {
        host_id: host,
        boot: 1,
        seq,
    });
    for minute in 0..60 {
        batch.push(&SignalRow {
            host_id: Hash64(host),
            signal: "status.Questions".to_owned(),
            ts: Seconds(hour() + 60 * minute),
            n: 60,
            min: 1.0,
            max: 9.0,
            mean: 2.0,
            seconds: vec![2.0; 60],
        });
    }
    batch
}

/// Rows that lie there, repeats and all: parts are not merged meanwhile.
fn stored() -> u64 {
    live::count(NAME, "signals")
}

/// Hours, the seconds in them, and the sum of their values.
fn hours() -> String {
    let view = "freezeframe_test_once.signals_1h_mv";
    live::run(&format!("SYSTEM REFRESH VIEW {view}"));
    live::run(&format!("SYSTEM WAIT VIEW {view}"));
    live::run("SELECT count(), sum(cnt), sum(sm) FROM freezeframe_test_once.signals_1h FINAL")
}

/// Passes a request on, waits for the whole answer, and drops it.
fn losing_answers(to: String) -> (u16, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut from, _) = listener.accept().unwrap();
        let mut upstream = TcpStream::connect(to).unwrap();
        let mut back = from.try_clone().unwrap();
        let mut forth = upstream.try_clone().unwrap();
        let sending = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                forth.write_all(&buffer[..count]).unwrap();
            }
        });
        let mut answer = Vec::new();
        upstream.read_to_end(&mut answer).unwrap();
        assert!(
            answer.starts_with(b"HTTP/1.1 200 "),
            "{}",
            String::from_utf8_lossy(&answer)
        );
        back.shutdown(Shutdown::Both).unwrap();
        back.flush().unwrap();
        sending.join().unwrap();
    });
    (port, thread)
}

#[test]
fn a_batch_is_there_once_however_often_it_is_sent() {
    let Some(store) = live::store(NAME) else {
        return;
    };
    store.init(&Layout::Single, 1_795_000_000, "0.1.0").unwrap();
    live::run("SYSTEM STOP MERGES freezeframe_test_once.signals");

    // The same batch twice.
    store.insert(&batch(1, 1)).unwrap();
    store.insert(&batch(1, 1)).unwrap();
    assert_eq!(stored(), 60);
    assert_eq!(hours(), "1\t3600\t7200");

    // The server has it, and the sender does not hear so.
    let url = live::url().unwrap();
    if url.starts_with("http://") && !url.contains('@') {
        let (port, proxy) = losing_answers(url.split_once("://").unwrap().1.to_owned());
        let address = live::address(&format!("http://127.0.0.1:{port}"), NAME);
        let failure = Store::at(address).insert(&batch(2, 1)).unwrap_err();
        assert_eq!(failure.then, Then::Retry, "{failure}");
        proxy.join().unwrap();
        assert_eq!(stored(), 120);
    }
    store.insert(&batch(2, 1)).unwrap();
    assert_eq!(stored(), 120);

    // A new batch.
    store.insert(&batch(3, 1)).unwrap();
    assert_eq!(stored(), 180);
    assert_eq!(hours(), "3\t10800\t21600");

    // A token that was forgotten: the rows lie there twice, and are read once.
    store.insert(&batch(3, 2)).unwrap();
    assert_eq!(stored(), 240);
    assert_eq!(live::count(NAME, "signals FINAL"), 180);
    assert_eq!(hours(), "3\t10800\t21600");
    live::run("SYSTEM START MERGES freezeframe_test_once.signals");
}
