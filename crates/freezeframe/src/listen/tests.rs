//! The status address with real sockets, beside clients of every bad kind.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use recorder::Pulse;

use super::connection::ASKING_MAX;
use super::request::HEAD_BYTES_MAX;
use super::status::CONNECTIONS_MAX;
use super::*;

/// What is demanded beside slow clients.
const ANSWER_MAX: Duration = Duration::from_millis(100);

/// Measured so often, one after another.
const MEASURED: usize = 20;

/// For what must happen at all. Other programs run on the machine: a measurement that they spoiled is made again.
const PATIENCE: Duration = Duration::from_secs(30);

fn start_with(board: Board) -> SocketAddr {
    let names = Names::new(
        "record",
        "db1.example.com",
        &["status.example.net".to_owned()],
    );
    let status = Box::new(Status::new(Arc::new(board)));
    start("127.0.0.1:0".parse().unwrap(), names, status, None).unwrap()
}

fn start_empty() -> SocketAddr {
    start_with(Board::default())
}

/// Floods use up the ports, which come back after a while.
fn connect(address: SocketAddr) -> TcpStream {
    let end = Instant::now() + PATIENCE;
    let stream = loop {
        match TcpStream::connect(address) {
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(10));
            }
            connected => break connected.unwrap(),
        }
    };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What comes back until the connection is closed, in order: a reset is an error.
fn rest(mut stream: &TcpStream) -> std::io::Result<String> {
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    rest(&stream).unwrap()
}

fn get(address: SocketAddr, path: &str) -> String {
    ask(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    )
}

#[test]
fn every_request_gets_its_status() {
    let address = start_empty();
    for (request, begin) in [
        ("GET / HTTP/1.1\r\nHost: db1\r\n\r\n", "HTTP/1.1 200 OK\r\n"),
        ("GET /metrics HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n"),
        ("GET /livez HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\n"),
        (
            "GET /metrics HTTP/1.0\r\nAccept: application/openmetrics-text;version=1.0.0\r\nAccept: */*;q=0.1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n",
        ),
        (
            "GET /metrics HTTP/1.0\r\nAccept: */*\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n",
        ),
        (
            "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n",
            "HTTP/1.1 200 ",
        ),
        (
            "GET /healthz HTTP/1.1\r\nHost: STATUS.example.net\r\n\r\n",
            "HTTP/1.1 200 ",
        ),
        (
            "GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            "HTTP/1.1 421 Mis",
        ),
        (
            "GET /x HTTP/1.1\r\nHost: db1\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\n",
        ),
        (
            "POST / HTTP/1.1\r\nHost: db1\r\n\r\n",
            "HTTP/1.1 405 Method",
        ),
        (
            "GET /healthz/none HTTP/1.1\r\nHost: db1\r\n\r\n",
            "HTTP/1.1 404 ",
        ),
        ("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad"),
        ("GET / HTTP/3.0\r\n\r\n", "HTTP/1.1 505 HTTP Version"),
        ("\0\u{fffd} \r\n\r\n", "HTTP/1.1 400 Bad"),
    ] {
        let answer = ask(address, request);
        assert!(answer.starts_with(begin), "{request:?}: {answer}");
    }
    let misdirected = ask(address, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    assert!(
        misdirected.contains("--listen-host evil.example"),
        "{misdirected}"
    );
    let refused = ask(address, "DELETE / HTTP/1.1\r\nHost: db1\r\n\r\n");
    assert!(refused.contains("\r\nAllow: GET, HEAD\r\n"), "{refused}");
    let head = ask(address, "HEAD / HTTP/1.1\r\nHost: db1\r\n\r\n");
    assert!(head.ends_with("\r\n\r\n"), "{head}");
    let ended = connect(address);
    (&ended).write_all(b"GET /").unwrap();
    ended.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(rest(&ended).unwrap().starts_with("HTTP/1.1 400 "));
}

#[test]
fn what_is_too_large_hears_its_status_and_is_not_reset() {
    let address = start_empty();
    let more = "y".repeat(HEAD_BYTES_MAX * 10);
    for (request, begin) in [
        (
            format!("GET / HTTP/1.1\r\nHost: db1\r\nX: {more}\r\n\r\n"),
            "HTTP/1.1 431 ",
        ),
        (
            format!("GET /{more} HTTP/1.1\r\nHost: db1\r\n\r\n"),
            "HTTP/1.1 414 ",
        ),
        (
            format!("POST / HTTP/1.1\r\nHost: db1\r\nContent-Length: 80000\r\n\r\n{more}"),
            "HTTP/1.1 405 ",
        ),
    ] {
        let mut stream = connect(address);
        // In pieces, as a network brings them.
        for piece in request.as_bytes().chunks(4096) {
            stream.write_all(piece).unwrap();
        }
        let answer = rest(&stream).unwrap();
        assert!(answer.starts_with(begin), "{answer}");
    }
}

#[test]
fn who_is_too_slow_hears_so_and_nobody_sends_for_ever() {
    let address = start_empty();
    let begin = Instant::now();
    let mut stream = connect(address);
    stream.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
    let drips = stream.try_clone().unwrap();
    let dripping = std::thread::spawn(move || drip(&drips));
    let answer = rest(&stream).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"),
        "{answer}"
    );
    assert!(begin.elapsed() >= ASKING_MAX, "{:?}", begin.elapsed());
    drop(stream);
    dripping.join().unwrap();
    // Who never says a word is only closed.
    assert_eq!(rest(&connect(address)).unwrap(), "");
    // Who goes on sending for ever is cut off.
    let mut stream = connect(address);
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: db1\r\n\r\n")
        .unwrap();
    let end = Instant::now() + PATIENCE;
    while stream.write_all(&[b'x'; 65536]).is_ok() {
        assert!(Instant::now() < end, "it is read for ever");
    }
}

#[test]
fn many_metrics_are_bounded() {
    let board = Board::default();
    let label = "l".repeat(500);
    for server in 0..500 {
        let name = format!("{label}{server}");
        board.add(&name, &name, Arc::new(Pulse::default()));
    }
    let page = get(start_with(board), "/metrics");
    let (_, body) = page.split_once("\r\n\r\n").unwrap();
    assert!(body.len() < (1 << 20) + 2000, "{}", body.len());
    assert!(body.ends_with("# The rest is left out: there are too many servers and causes.\n"));
}

/// A byte now and then until it is cut off.
fn drip(mut stream: &TcpStream) {
    while stream.write_all(b"x").is_ok() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Clients that behave badly until this is dropped.
struct Bad {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Bad {
    /// `what` is done again and again by so many threads.
    fn start(threads: usize, what: impl FnMut(&AtomicBool) + Send + Clone + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let run = || {
            let (stop, mut what) = (stop.clone(), what.clone());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    what(&stop);
                }
            })
        };
        let threads = (0..threads).map(|_| run()).collect();
        Self { stop, threads }
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Keeps `count` connections to the address, and opens those that were closed anew. `begin` is said first,
/// `now_and_then` each half second.
fn keep(
    address: SocketAddr,
    count: usize,
    begin: &'static [u8],
    now_and_then: &'static [u8],
) -> Bad {
    let mut held: Vec<TcpStream> = Vec::new();
    let ready = Arc::new(AtomicBool::new(false));
    let is_ready = ready.clone();
    let mut fill = move |stop: &AtomicBool| {
        held.retain_mut(|stream| is_open(stream, now_and_then));
        while held.len() < count && !stop.load(Ordering::Relaxed) {
            let Ok(mut stream) = TcpStream::connect(address) else {
                break;
            };
            stream.set_nonblocking(true).unwrap();
            let _ = stream.write(begin);
            held.push(stream);
        }
        is_ready.store(true, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(500));
    };
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let thread = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            fill(&stopped);
        }
    });
    while !ready.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(5));
    }
    Bad {
        stop,
        threads: vec![thread],
    }
}

/// A byte is read at the most: these clients leave their answers where they are.
fn is_open(stream: &mut TcpStream, say: &[u8]) -> bool {
    let spoken = stream.write_all(say);
    spoken.is_ok() && !matches!(stream.peek(&mut [0]), Ok(0))
        || spoken.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

/// 20 of 20 are answered in time.
fn measure(address: SocketAddr, beside: &str) {
    let end = Instant::now() + PATIENCE;
    let mut slowest = Vec::new();
    while Instant::now() < end {
        let times: Vec<Duration> = (0..MEASURED)
            .map(|_| {
                let begin = Instant::now();
                let answer = get(address, "/healthz");
                assert!(
                    answer.starts_with("HTTP/1.1 200 "),
                    "beside {beside}: {answer}"
                );
                begin.elapsed()
            })
            .collect();
        let longest = times.into_iter().max().unwrap_or_default();
        slowest.push(longest);
        if longest <= ANSWER_MAX {
            eprintln!("beside {beside}: the slowest of {MEASURED} after {longest:?}");
            return;
        }
    }
    panic!("beside {beside}: the slowest of {MEASURED} after {slowest:?}");
}

fn raise_open_files() {
    let limits = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit {
        current: limits.maximum,
        ..limits
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).unwrap();
}

#[test]
fn slow_clients_keep_nobody_out() {
    raise_open_files();
    let address = start_empty();
    for count in [50, CONNECTIONS_MAX, 2000] {
        let idle = keep(address, count, b"", b"");
        measure(address, &format!("{count} that say nothing"));
        drop(idle);
        let drips = keep(address, count, b"GET /healthz HTTP/1.1\r\nX: ", b"x");
        measure(address, &format!("{count} that say a byte now and then"));
        drop(drips);
        let deaf = keep(
            address,
            count,
            b"GET /metrics HTTP/1.1\r\nHost: db1\r\n\r\n",
            b"",
        );
        measure(address, &format!("{count} that do not read their answer"));
        drop(deaf);
    }
}

#[test]
fn floods_keep_nobody_out() {
    raise_open_files();
    let address = start_empty();
    let connecting = Bad::start(4, move |_| drop(TcpStream::connect(address)));
    measure(address, "four that connect and close in a loop");
    drop(connecting);
    let asking = Bad::start(4, move |_| {
        if let Ok(mut stream) = TcpStream::connect(address) {
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: db1\r\n\r\n");
        }
    });
    measure(address, "four that ask and do not read, in a loop");
    drop(asking);
    let idle = keep(address, 1000, b"G", b"E");
    let connecting = Bad::start(2, move |_| drop(TcpStream::connect(address)));
    measure(address, "both slow ones and a flood");
    drop((idle, connecting));
}

#[test]
fn answers_that_nobody_reads_do_not_pile_up() {
    raise_open_files();
    let board = Board::default();
    let label = "l".repeat(500);
    for server in 0..500 {
        let name = format!("{label}{server}");
        board.add(&name, &name, Arc::new(Pulse::default()));
    }
    // Each asks for a mebibyte.
    let address = start_with(board);
    let deaf = keep(
        address,
        200,
        b"GET /metrics HTTP/1.1\r\nHost: db1\r\n\r\n",
        b"",
    );
    let answer = get(address, "/healthz/none");
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    drop(deaf);
}
