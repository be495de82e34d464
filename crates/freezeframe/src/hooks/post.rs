//! Posts JSON by http.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::config::Address;
use super::failure::{Failure, judge};

/// Bytes of an answer that are read: its first line says all.
const ANSWER_BYTES_MAX: usize = 1024;

/// Posts by http/1.1 and reads the first line of the answer.
pub(super) fn post(
    address: &Address,
    headers: &[String],
    body: &str,
    deadline: Duration,
) -> Result<(), Failure> {
    let end = Instant::now() + deadline;
    let later = |error: std::io::Error| Failure::Later(format!("{}: {error}", address.authority));
    let mut stream = connect(address, end).map_err(later)?;
    let mut head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: freezeframe/{}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n",
        address.path,
        address.authority,
        env!("CARGO_PKG_VERSION"),
        body.len()
    );
    for line in headers {
        head += line;
        head += "\r\n";
    }
    head += "\r\n";
    let timed = |stream: &TcpStream| {
        let left = end.saturating_duration_since(Instant::now());
        let left = Some(left.max(Duration::from_millis(1)));
        stream.set_read_timeout(left)?;
        stream.set_write_timeout(left)
    };
    timed(&stream).map_err(later)?;
    stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body.as_bytes()))
        .map_err(later)?;
    let mut answer = Vec::new();
    let mut byte = [0; 1];
    while answer.len() < ANSWER_BYTES_MAX && !answer.ends_with(b"\n") {
        if Instant::now() >= end {
            let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
            return Err(later(late));
        }
        timed(&stream).map_err(later)?;
        match stream.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => answer.extend(byte),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(later(error)),
        }
    }
    let line = String::from_utf8_lossy(&answer);
    let code = line
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.split(' ').nth(1)?.trim().parse().ok());
    match code {
        Some(code) => judge(&address.authority, code),
        None => Err(Failure::Later(format!(
            "{}: no answer of http",
            address.authority
        ))),
    }
}

fn connect(address: &Address, end: Instant) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::other("the name has no address");
    for socket in (address.host.as_str(), address.port).to_socket_addrs()? {
        let left = end.saturating_duration_since(Instant::now());
        match TcpStream::connect_timeout(&socket, left.max(Duration::from_millis(1))) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A receiver that gives one answer and hands over what it got.
    fn receiver(answer: &'static str) -> (Address, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut got = Vec::new();
            let mut buffer = [0; 1000];
            while !got.ends_with(b"{\"x\":1}") {
                let count = stream.read(&mut buffer).unwrap();
                assert_ne!(count, 0);
                got.extend(&buffer[..count]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(got).unwrap()
        });
        let address = Address {
            host: "127.0.0.1".to_owned(),
            port,
            authority: format!("127.0.0.1:{port}"),
            path: "/hook?a=b".to_owned(),
        };
        (address, thread)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_post_is_what_a_receiver_expects() {
        let (address, thread) = receiver("HTTP/1.1 204 No Content\r\n\r\n");
        let headers = ["Authorization: Bearer x".to_owned()];
        assert_eq!(post(&address, &headers, "{\"x\":1}", LONG), Ok(()));
        let got = thread.join().unwrap();
        assert!(
            got.starts_with("POST /hook?a=b HTTP/1.1\r\nHost: 127.0.0.1:"),
            "{got}"
        );
        assert!(got.contains("\r\nContent-Length: 7\r\n"), "{got}");
        assert!(
            got.contains("\r\nAuthorization: Bearer x\r\n\r\n{"),
            "{got}"
        );
    }

    #[test]
    fn answers_say_whether_to_try_again() {
        for (answer, again) in [
            ("HTTP/1.1 503 Service Unavailable\r\n\r\n", true),
            ("HTTP/1.0 429 Too Many Requests\r\n\r\n", true),
            ("nonsense", true),
            ("HTTP/1.1 404 Not Found\r\n\r\n", false),
            ("HTTP/1.1 301 Moved\r\n\r\n", false),
        ] {
            let (address, thread) = receiver(answer);
            let result = post(&address, &[], "{\"x\":1}", LONG);
            thread.join().unwrap();
            let later = matches!(result, Err(Failure::Later(_)));
            assert!(result.is_err() && later == again, "{answer}: {result:?}");
        }
    }

    #[test]
    fn a_receiver_that_is_silent_or_away_is_tried_later() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = Address {
            host: "127.0.0.1".to_owned(),
            port,
            authority: "silent".to_owned(),
            path: "/".to_owned(),
        };
        let result = post(&address, &[], "{}", Duration::from_millis(300));
        assert!(matches!(result, Err(Failure::Later(_))), "{result:?}");
        drop(listener);
        let result = post(&address, &[], "{}", LONG);
        assert!(matches!(result, Err(Failure::Later(_))), "{result:?}");
    }
}
