//! One request and its answer by http/1.1.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// Bytes of an answer that are read: far more than the rows of a question.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Bytes of an answer's head.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status (RFC 9110, section 15).
    pub status: u16,
    /// ClickHouse's `X-ClickHouse-Exception-Code`.
    pub code: Option<u32>,
    /// What stands behind the head.
    pub body: Vec<u8>,
}

/// Sends these bytes, a whole request that asks for the connection to be closed, and reads the answer.
///
/// # Errors
///
/// Why there is no answer, in a few words.
pub fn exchange(
    place: (&str, u16),
    request: &[&[u8]],
    deadline: Duration,
) -> Result<Answer, String> {
    let end = Instant::now() + deadline;
    let mut stream = connect(place, end).map_err(|error| error.to_string())?;
    let sent = request.iter().try_for_each(|part| {
        timed(&stream, end)?;
        stream.write_all(part)
    });
    // Who is refused early finds the connection closed while it sends, and the answer there.
    let mut bytes = Vec::new();
    let read = read(&mut stream, end, &mut bytes);
    match (parse(&bytes), sent, read) {
        (Ok(answer), ..) => Ok(answer),
        (_, Err(error), _) | (_, _, Err(error)) => Err(told(&error)),
        (Err(what), ..) => Err(what.to_owned()),
    }
}

fn told(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "no answer in time".to_owned(),
        _ => error.to_string(),
    }
}

fn connect(place: (&str, u16), end: Instant) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::other("the name has no address");
    for address in place.to_socket_addrs()? {
        let left = end.saturating_duration_since(Instant::now());
        match TcpStream::connect_timeout(&address, left.max(Duration::from_millis(1))) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Nothing on it waits longer than to the end.
fn timed(stream: &TcpStream, end: Instant) -> std::io::Result<()> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    stream.set_read_timeout(Some(left))?;
    stream.set_write_timeout(Some(left))
}

fn read(stream: &mut TcpStream, end: Instant, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let mut buffer = [0; 16 << 10];
    while bytes.len() < ANSWER_BYTES_MAX {
        timed(stream, end)?;
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                bytes.extend(buffer.iter().take(count));
                // Not all who are asked to close the connection do.
                if is_whole(bytes) {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("the answer is over 64 MiB"))
}

/// Whether the answer says where it ends, and that is here. What is large is read to the end of the connection: to look at
/// it again with each piece would take long.
fn is_whole(bytes: &[u8]) -> bool {
    bytes.len() <= HEAD_BYTES_MAX && parse_with_end(bytes).is_ok_and(|(_, says_end)| says_end)
}

/// The answer that these bytes are, all of it.
pub(crate) fn parse(bytes: &[u8]) -> Result<Answer, &'static str> {
    parse_with_end(bytes).map(|(answer, _)| answer)
}

/// The same, and whether the answer itself says where it ends.
fn parse_with_end(bytes: &[u8]) -> Result<(Answer, bool), &'static str> {
    const CUT: &str = "the answer was cut off";
    if bytes.is_empty() {
        return Err("the connection was closed without an answer");
    }
    let window = bytes.get(..HEAD_BYTES_MAX).unwrap_or(bytes);
    let head_end = window.windows(4).position(|four| four == b"\r\n\r\n");
    let Some(head_end) = head_end else {
        return Err(if bytes.starts_with(b"HTTP/1.") {
            CUT
        } else {
            "no answer of http"
        });
    };
    let (head, body) = bytes.split_at(head_end + 4);
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix("HTTP/1."))
        .and_then(|rest| rest.split(' ').nth(1)?.parse().ok())
        .ok_or("no answer of http")?;
    // `100 Continue` comes before the answer.
    if status == 100 {
        return parse_with_end(body);
    }
    let (mut code, mut length, mut is_chunked) = (None, None, false);
    for line in lines {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "x-clickhouse-exception-code" => code = value.parse().ok(),
            "content-length" => length = value.parse::<usize>().ok(),
            "transfer-encoding" => is_chunked = value.eq_ignore_ascii_case("chunked"),
            _ => {}
        }
    }
    let body = match (is_chunked, length) {
        (true, _) => unchunked(body).ok_or(CUT)?,
        (false, Some(length)) => body.get(..length).ok_or(CUT)?.to_vec(),
        (false, None) => body.to_vec(),
    };
    let says_end = is_chunked || length.is_some();
    Ok((Answer { status, code, body }, says_end))
}

/// The pieces put together; none when the last is missing.
fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let (size, behind) = rest.split_at(end);
        let size = std::str::from_utf8(size).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        let behind = behind.get(2..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(behind.get(..size)?);
        rest = behind.get(size.checked_add(2)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_in_all_three_ways_to_end_it() {
        let head = "HTTP/1.1 500 Oops\r\nX-ClickHouse-Exception-Code: 252\r\n";
        for end in [
            "Content-Length: 5\r\n\r\nhello",
            "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            "\r\nhello",
        ] {
            let answer = parse(format!("{head}{end}").as_bytes()).unwrap();
            assert_eq!((answer.status, answer.code), (500, Some(252)));
            assert_eq!(answer.body, b"hello");
        }
        let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nx";
        assert_eq!(parse(bytes).unwrap().status, 200);
    }

    /// A receiver that was asked to close the connection and keeps it open.
    #[test]
    fn an_answer_that_says_its_end_is_not_waited_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            stream.write_all(answer).unwrap();
            // Ends when the other side has its answer.
            let _ = wait.recv();
        });
        let answer = exchange(("127.0.0.1", port), &[b"x"], Duration::from_secs(60)).unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (200, &b"ok"[..]));
        drop(end);
        thread.join().unwrap();
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\n\r\nok"), "it may go on");
    }

    #[test]
    fn half_an_answer_is_none() {
        let whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n0\r\n";
        for end in 0..whole.len() {
            assert!(parse(&whole[..end]).is_err(), "{end}");
        }
        assert!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").is_err());
        assert!(parse(b"SSH-2.0\r\n\r\n").is_err());
    }
}
