//! The status address: `/healthz` for load balancers and schema-change tools, `/metrics` for
//! Prometheus. A small responder of HTTP/1.1 GET on threads of its own; it reads atomics and never
//! waits for a recorder.

mod board;
mod metrics;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

pub(crate) use board::Board;

/// Connections at a time; more are closed at once.
const CONNECTIONS_MAX: usize = 16;

/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// How long a client may take for its request, and again for reading the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Answers on this address until the process ends.
pub(crate) fn start(address: SocketAddr, board: Arc<Board>) -> Result<SocketAddr> {
    let listener = TcpListener::bind(address).with_context(|| format!("listen {address}"))?;
    let own = listener.local_addr()?;
    std::thread::Builder::new()
        .name("ff-listen".to_owned())
        .stack_size(256 * 1024)
        .spawn(move || accept(&listener, &board))?;
    Ok(own)
}

fn accept(listener: &TcpListener, board: &Arc<Board>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Out of file descriptors, for example: not a reason to spin.
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        if open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (board, counted) = (board.clone(), open.clone());
        let thread = std::thread::Builder::new()
            .name("ff-status".to_owned())
            .stack_size(256 * 1024);
        let spawned = thread.spawn(move || {
            // A client that goes away is its own matter.
            let _ = serve(stream, &board);
            counted.fetch_sub(1, Ordering::Relaxed);
        });
        if spawned.is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// An answer.
pub(crate) struct Answer {
    code: u16,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn text(code: u16, body: &str) -> Self {
        Self {
            code,
            kind: "text/plain; charset=utf-8",
            body: format!("{body}\n"),
        }
    }

    fn reason(&self) -> &'static str {
        match self.code {
            200 => "OK",
            404 => "Not Found",
            405 => "Method Not Allowed",
            503 => "Service Unavailable",
            _ => "Bad Request",
        }
    }
}

fn serve(mut stream: TcpStream, board: &Board) -> std::io::Result<()> {
    let Some(line) = request_line(&mut stream)? else {
        return Ok(());
    };
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let http = words.next().is_some_and(|word| word.starts_with("HTTP/1."));
    let answer = match method {
        _ if !http => Answer::text(400, "not a request of HTTP/1.1"),
        "GET" | "HEAD" => answer(board, target),
        _ => Answer::text(405, "GET and HEAD only"),
    };
    let mut bytes = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Connection: close\r\n{}\r\n",
        answer.code,
        answer.reason(),
        answer.kind,
        answer.body.len(),
        if answer.code == 405 {
            "Allow: GET, HEAD\r\n"
        } else {
            ""
        }
    )
    .into_bytes();
    if method != "HEAD" {
        bytes.extend(answer.body.as_bytes());
    }
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&bytes)
}

/// The first line of a request whose head has ended; none when it is too long or too slow.
fn request_line(stream: &mut TcpStream) -> std::io::Result<Option<String>> {
    let end = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        // All of it has the one deadline: a byte a second buys no time.
        let Some(left) = end
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
        else {
            return Ok(None);
        };
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut buffer)?;
        if count == 0 || head.len() + count > HEAD_BYTES_MAX {
            return Ok(None);
        }
        head.extend(buffer.iter().take(count));
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    Ok(Some(String::from_utf8_lossy(line).into_owned()))
}

fn answer(board: &Board, target: &str) -> Answer {
    let path = target.split('?').next().unwrap_or("");
    match path {
        "/healthz" => board.health(None),
        "/metrics" => Answer {
            code: 200,
            kind: "text/plain; version=0.0.4; charset=utf-8",
            body: metrics::text(board),
        },
        "/" => Answer::text(200, "freezeframe: /healthz, /healthz/SERVER, /metrics"),
        _ => match path.strip_prefix("/healthz/") {
            Some(label) => board.health(Some(label)),
            None => Answer::text(404, "there are /healthz, /healthz/SERVER and /metrics"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start_empty() -> SocketAddr {
        start("127.0.0.1:0".parse().unwrap(), Arc::new(Board::default())).unwrap()
    }

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        // A connection that is closed on bytes not read may be reset.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn requests_of_any_kind_get_an_answer_or_nothing() {
        let address = start_empty();
        for (request, begin) in [
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK\r\n"),
            ("GET /metrics HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n"),
            ("GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found\r\n"),
            ("POST / HTTP/1.1\r\n\r\n", "HTTP/1.1 405 Method"),
            ("GET /healthz/none HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "),
            ("\0\u{fffd} \r\n\r\n", "HTTP/1.1 400 Bad"),
            ("GET /", ""),
        ] {
            let answer = ask(address, request);
            assert!(answer.starts_with(begin), "{request:?}: {answer}");
            assert!(!begin.is_empty() || answer.is_empty(), "{answer}");
        }
        let head = ask(address, "HEAD / HTTP/1.1\r\n\r\n");
        assert!(head.ends_with("\r\n\r\n"), "{head}");
        let long = format!(
            "GET / HTTP/1.1\r\nX: {}\r\n\r\n",
            "y".repeat(HEAD_BYTES_MAX)
        );
        assert_eq!(ask(address, &long), "");
    }

    #[test]
    fn slow_clients_do_not_keep_others_out() {
        let address = start_empty();
        // Each holds a connection and says nothing.
        let slow: Vec<TcpStream> = (0..CONNECTIONS_MAX + 4)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            if ask(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200") {
                break;
            }
            assert!(Instant::now() < end, "slow clients kept their places");
            std::thread::sleep(Duration::from_millis(50));
        }
        drop(slow);
    }
}
