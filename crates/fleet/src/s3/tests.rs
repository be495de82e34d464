use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use super::*;

fn access() -> Access {
    Access {
        key: Some(Key {
            id: "KEY".to_owned(),
            secret: "s3cret".to_owned(),
            token: None,
        }),
        region: REGION.to_owned(),
        ca_file: None,
    }
}

/// A server that gives these answers, one to each request; then all requests.
fn server(answers: Vec<(u16, &'static str)>) -> (u16, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let mut requests = Vec::new();
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            let mut buffer = [0; 4096];
            loop {
                let count = stream.read(&mut buffer).unwrap();
                bytes.extend(&buffer[..count]);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let Some((head, rest)) = text.split_once("\r\n\r\n") else {
                    continue;
                };
                let length = head
                    .lines()
                    .find_map(|line| line.strip_prefix("Content-Length: "));
                if rest.len() >= length.unwrap().parse().unwrap() {
                    requests.push(text);
                    break;
                }
            }
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n{body}"
            )
            .unwrap();
        }
        requests
    });
    (port, thread)
}

fn place(port: u16) -> Place {
    Place::parse(&format!("s3+http://127.0.0.1:{port}/bucket/stalls/")).unwrap()
}

#[test]
fn a_place_is_read_and_written() {
    let place = Place::parse("s3+https://s3.example/bucket/a%20b/").unwrap();
    assert_eq!(place.url(), "s3+https://s3.example/bucket/a%20b");
    let file = place.below("db 7").below("3306-20261120T233015.123Z.frame");
    assert_eq!(
        file.url(),
        "s3+https://s3.example/bucket/a%20b/db%207/3306-20261120T233015.123Z.frame"
    );
    assert_eq!(Place::parse(&file.url()).unwrap(), file);
    assert!(file.is_below(&place) && !place.is_below(&place));
    for elsewhere in [
        "s3+https://s3.example/bucket/a%20bc/x",
        "s3+https://evil.example/bucket/a%20b/x",
        "s3+http://s3.example:443/bucket/a%20b/x",
    ] {
        assert!(
            !Place::parse(elsewhere).unwrap().is_below(&place),
            "{elsewhere}"
        );
    }
    let other = Place::parse("S3+HTTP://minio:9000/b").unwrap();
    assert_eq!(other.url(), "s3+http://minio:9000/b");
    assert!(is_s3("s3://b") && is_s3("S3+https://x") && !is_s3("/mnt/s3"));
}

#[test]
fn what_is_no_place_says_how_one_is_written() {
    let said = |url: &str| Place::parse(url).unwrap_err().said;
    for url in [
        "s3://bucket",
        "s3+https://host",
        "s3+https://host/",
        "/mnt/frames",
    ] {
        assert!(said(url).contains("s3+https://HOST/BUCKET/FOLDER"), "{url}");
    }
    assert!(said("s3+https:///b").contains("no host"));
    for path in ["a b", "a?b", "a/../b", "a//b", "ü", "a/%2E%2e/b", "a%2Fb"] {
        assert!(
            said(&format!("s3+https://h/{path}")).contains("escaped"),
            "{path}"
        );
    }
    let secret = said("s3+https://key:s3cret@h/b");
    assert!(secret.contains("no user") && !secret.contains("s3cret"));
    for url in [
        "s3+https://key:s3cret",
        "s3+https://h/b/?X-Amz-Signature=s3cret",
        "s3+https://key@s3cret",
        "s3cret",
    ] {
        assert!(!said(url).contains("s3cret"), "{}", said(url));
    }
}

#[test]
fn a_file_is_put_signed_and_fetched_again() {
    let (port, requests) = server(vec![(200, ""), (200, "bytes")]);
    let file = place(port).below("db7").below("x.frame");
    let mut access = access();
    file.put(&access, b"bytes").unwrap();
    access.key.as_mut().unwrap().token = Some("short-lived".to_owned());
    assert_eq!(file.get(&access).unwrap(), b"bytes");
    let requests = requests.join().unwrap();
    assert!(requests[0].starts_with("PUT /bucket/stalls/db7/x.frame HTTP/1.1\r\n"));
    assert!(requests[0].ends_with("\r\n\r\nbytes"));
    assert!(requests[0].contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date,"));
    assert!(requests[0].contains(&format!(
        "x-amz-content-sha256: {}\r\n",
        hash_of_bytes(b"bytes")
    )));
    assert!(requests[1].starts_with("GET /bucket/stalls/db7/x.frame HTTP/1.1\r\n"));
    assert!(requests[1].contains("x-amz-date;x-amz-security-token,"));
    assert!(requests.iter().all(|request| !request.contains("s3cret")));
}

#[test]
fn a_refusal_says_why_and_what_the_sender_does() {
    let answers = vec![
        (
            503,
            "<Error><Code>SlowDown</Code><Message>Please reduce</Message></Error>",
        ),
        (500, ""),
        (403, "<Error><Code>InvalidAccessKeyId</Code></Error>"),
        (
            404,
            "<Error><Code>NoSuchBucket</Code><Message>it is not there</Message></Error>",
        ),
        (413, ""),
        (400, "<Error><Code>EntityTooLarge</Code></Error>"),
        (403, "<Error><Code>AccessDenied</Code></Error>"),
        (400, "<Error><Code>ExpiredToken</Code></Error>"),
    ];
    let (port, requests) = server(answers);
    let file = place(port).below("x");
    let put = || file.put(&access(), b"x").unwrap_err();
    let busy = put();
    assert_eq!(busy.then, Then::BackOff);
    assert!(busy.said.ends_with(": SlowDown (status 503)"), "{busy}");
    assert_eq!(put().then, Then::Retry);
    let key = put();
    assert_eq!(key.then, Then::Stop);
    assert!(key.said.contains("no such key (status 403)"), "{key}");
    let bucket = put();
    assert_eq!(bucket.then, Then::Stop);
    assert!(bucket.said.contains("no such bucket"));
    // Of this file, and not of the others; then of all again.
    assert_eq!(put().then, Then::Leave);
    let large = put();
    assert_eq!(large.then, Then::Leave);
    assert!(large.said.contains("too large (status 400)"), "{large}");
    assert_eq!(put().then, Then::Leave);
    assert_eq!(put().then, Then::Stop);
    requests.join().unwrap();
    assert_eq!(file.put(&access(), b"x").unwrap_err().then, Then::Retry);
    let nobody = Access {
        key: None,
        ..access()
    };
    let said = file.put(&nobody, b"x").unwrap_err();
    assert!(said.said.contains("AWS_ACCESS_KEY_ID"), "{said}");
}

#[test]
fn a_check_tells_a_missing_file_from_a_wrong_key() {
    let answers = vec![
        (404, "<Error><Code>NoSuchKey</Code></Error>"),
        (403, "<Error><Code>AccessDenied</Code></Error>"),
        (403, "<Error><Code>SignatureDoesNotMatch</Code></Error>"),
    ];
    let (port, requests) = server(answers);
    let check = || place(port).check(&access());
    assert_eq!(check().unwrap(), Found::Readable);
    assert_eq!(check().unwrap(), Found::NotReadable);
    assert!(check().unwrap_err().said.contains("secret"));
    assert!(requests.join().unwrap()[0].starts_with("GET /bucket/stalls/freezeframe-check "));
}
