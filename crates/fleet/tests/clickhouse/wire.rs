//! What a server may answer, by servers that answer just that.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::thread::JoinHandle;

use fleet::clickhouse::{Address, Failure, Layout, Store, Then};
use fleet::row::{Hash64, HealthRow, Seconds};
use fleet::{Batch, Token};

/// Reads a request, answers this, and gives what it was sent.
fn answering(answers: &'static [&'static str]) -> (Address, JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut requests = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !is_whole(&request) {
                let count = stream.read(&mut buffer).unwrap();
                assert!(count > 0);
                request.extend_from_slice(&buffer[..count]);
            }
            requests.push(request);
            stream.write_all(answer.as_bytes()).unwrap();
            stream.shutdown(Shutdown::Both).unwrap_or_default();
        }
        requests
    });
    let url = format!("http://me:se%20cret@127.0.0.1:{port}/f");
    (Address::parse(&url).unwrap(), thread)
}

fn is_whole(request: &[u8]) -> bool {
    let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&request[..end]).into_owned();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    request.len() == end + 4 + length.unwrap().parse::<usize>().unwrap()
}

fn batch() -> Batch {
    let mut batch = Batch::new(Token {
        host_id: 1,
        boot: 2,
        seq: 3,
    });
    batch.push(&HealthRow {
        host_id: Hash64(1),
        ts: Seconds(1_700_000_000),
        absent: vec!["perf".to_owned()],
        ..HealthRow::default()
    });
    batch
}

fn failure_of(answer: &'static [&'static str]) -> Failure {
    let (address, server) = answering(answer);
    let failure = Store::at(address).insert(&batch()).unwrap_err();
    server.join().unwrap();
    assert!(
        !failure.said.contains("cret") && !failure.said.contains('\n'),
        "{failure}"
    );
    failure
}

#[test]
fn each_failure_says_what_to_do_now() {
    let busy = failure_of(&["HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n"]);
    assert_eq!(busy.then, Then::BackOff, "{busy}");
    let busy = failure_of(&["HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nlate"]);
    assert_eq!(busy.then, Then::BackOff, "{busy}");
    let parts = failure_of(&[
        "HTTP/1.1 500 Internal Server Error\r\nX-ClickHouse-Exception-Code: 252\r\n\r\n\
         Code: 252. DB::Exception: Too many parts (300). (TOO_MANY_PARTS)",
    ]);
    assert_eq!(
        (parts.then, parts.code),
        (Then::BackOff, Some(252)),
        "{parts}"
    );
    for lost in [
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
        "HTTP/1.1 502 Bad Gateway\r\n\r\n",
    ] {
        let lost = failure_of(Box::leak(Box::new([lost])));
        assert_eq!(lost.then, Then::Retry, "{lost}");
    }
    let password = failure_of(&[
        "HTTP/1.1 403 Forbidden\r\nX-ClickHouse-Exception-Code: 516\r\n\r\n\
         Code: 516. DB::Exception: me: Authentication failed.",
    ]);
    assert_eq!(password.then, Then::Stop);
    assert!(
        password
            .said
            .ends_with(": wrong user or password (code 516)"),
        "{password}"
    );
    let table =
        failure_of(&["HTTP/1.1 404 Not Found\r\nX-ClickHouse-Exception-Code: 60\r\n\r\nCode: 60."]);
    assert_eq!(table.then, Then::Stop);
    assert!(
        table.said.contains("`freezeframe fleet init` makes it"),
        "{table}"
    );
    // Nobody listens there.
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let nobody = Address::parse(&format!("http://{free}/f")).unwrap();
    let failure = Store::at(nobody).insert(&batch()).unwrap_err();
    assert_eq!(failure.then, Then::Retry, "{failure}");
}

#[test]
fn a_batch_is_sent_with_its_token_and_again_as_the_same_bytes() {
    const OK: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    let (address, server) = answering(&["", OK]);
    let store = Store::at(address);
    assert_eq!(store.insert(&batch()).unwrap_err().then, Then::Retry);
    store.insert(&batch()).unwrap();
    let [first, second] = server.join().unwrap().try_into().unwrap();
    assert_eq!(first, second);
    let request = String::from_utf8_lossy(&first);
    for part in [
        "POST /?database=f&query=INSERT%20INTO%20recorder_health%20%28",
        "&insert_deduplicate=1&insert_deduplication_token=0000000000000001-0000000000000002-3&async_insert=0&",
        "\r\nX-ClickHouse-User: me\r\nX-ClickHouse-Key: se cret\r\n",
    ] {
        assert!(request.contains(part), "{part} in {request}");
    }
    // host_id, ts, lost, spooled_bytes, cpu_ms, absent.
    let body = &first[first.len() - 34..];
    assert_eq!(body[..12], [1, 0, 0, 0, 0, 0, 0, 0, 0, 241, 83, 101]);
    assert_eq!(body[28..], [1, 4, b'p', b'e', b'r', b'f']);
}

#[test]
fn an_old_server_and_what_is_none_are_told() {
    let old = "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n18.16.1\n";
    let (address, server) = answering(Box::leak(Box::new([old])));
    let shown = address.shown();
    let failure = Store::at(address)
        .init(&Layout::Single, 0, "1")
        .unwrap_err();
    server.join().unwrap();
    assert_eq!(failure.then, Then::Stop);
    let wanted = "ClickHouse 18.16.1 is too old: 24.10 or newer is needed. Upgrade it, or name another server";
    assert_eq!(failure.said, format!("{shown}: {wanted}"));
    let (address, server) = answering(&["HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>"]);
    let failure = Store::open(address).unwrap_err();
    server.join().unwrap();
    assert!(
        failure
            .said
            .contains("'<html>' is not a ClickHouse version"),
        "{failure}"
    );
}
