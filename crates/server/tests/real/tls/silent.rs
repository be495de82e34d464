//! Servers that offer TLS and never come to its end: the deadline of the login holds, and a signal ends the wait.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use model::ProbeOutcome;
use server::{Address, Deadlines, Session, TlsMode};

use super::{login, with};

const DEADLINES: Deadlines = Deadlines {
    connect: Duration::from_millis(400),
    answer: Duration::from_millis(400),
};

/// What a busy machine adds.
const SLACK: Duration = Duration::from_secs(4);

/// A greeting with TLS among what the server can.
fn greeting() -> Vec<u8> {
    let mut text = b"\x0a9.7.0\0\x07\0\0\0abcdefgh\0".to_vec();
    text.extend_from_slice(&[0x00, 0x8a, 0x2d, 0x02, 0x00, 0x08, 0x00, 0x15]);
    text.extend_from_slice(&[0; 10]);
    text.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    let mut packet = vec![u8::try_from(text.len()).unwrap(), 0, 0, 0];
    packet.extend_from_slice(&text);
    packet
}

/// Listens, greets, and does so with each client once it has asked for TLS.
fn serve(act: impl Fn(TcpStream) + Send + Clone + 'static) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let act = act.clone();
            thread::spawn(move || {
                let mut stream = stream;
                let _ = stream.write_all(&greeting());
                // The request for TLS, and the beginning of the handshake.
                let mut request = [0; 36];
                let _ = stream.read_exact(&mut request);
                act(stream);
            });
        }
    });
    Address::Tcp("127.0.0.1".to_owned(), port)
}

fn wait(mut stream: TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new());
}

fn ends(address: &Address) -> (ProbeOutcome, String) {
    let begin = Instant::now();
    let login = login("known", "x", with(TlsMode::Required));
    let error = Session::connect(address, &login, DEADLINES).err().unwrap();
    let took = begin.elapsed();
    assert!(took < DEADLINES.connect + SLACK, "{took:?}: {error}");
    assert!(!error.text.chars().any(char::is_control), "{error:?}");
    (error.outcome, error.text)
}

#[test]
fn no_half_handshake_outlives_the_deadline() {
    let outcome = |act: fn(TcpStream)| ends(&serve(act));
    assert_eq!(outcome(wait).0, ProbeOutcome::TimedOut);
    let drips = outcome(|mut stream| {
        // A record of a handshake that has 16 KiB, a byte at a time.
        let head = [0x16, 0x03, 0x03, 0x40, 0x00, 0x02, 0x00, 0x3f, 0xfc];
        for byte in head.into_iter().chain(std::iter::repeat(0)) {
            if stream.write_all(&[byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    });
    assert_eq!(drips.0, ProbeOutcome::TimedOut, "{drips:?}");
    let (refused, text) = outcome(drop);
    assert_eq!(refused, ProbeOutcome::AccessDenied);
    assert!(text.contains("ended the TLS handshake"), "{text}");
    let (old, text) = outcome(|mut stream| {
        // The alert "protocol version".
        let _ = stream.write_all(&[0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46]);
        wait(stream);
    });
    assert_eq!(old, ProbeOutcome::AccessDenied);
    assert!(text.contains("only TLS 1.0 or 1.1"), "{text}");
    let (plain, text) = outcome(|mut stream| {
        let _ = stream.write_all(b"\x10\0\0\x02\xff\x15\x04#28000no\n\x1b[2J");
        wait(stream);
    });
    assert_eq!(plain, ProbeOutcome::AccessDenied, "{text}");
    let (flood, text) = outcome(|mut stream| while stream.write_all(&[0x17; 4096]).is_ok() {});
    assert_ne!(flood, ProbeOutcome::Ok, "{text}");
}

#[test]
fn what_comes_before_tls_is_not_taken_for_what_comes_under_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let injected = [greeting(), b"\x07\0\0\x02\0\0\0\x02\0\0\0".to_vec()].concat();
        let _ = stream.write_all(&injected);
        wait(stream);
    });
    let (outcome, text) = ends(&Address::Tcp("127.0.0.1".to_owned(), port));
    assert_eq!(outcome, ProbeOutcome::Failed, "{text}");
    assert!(text.contains("before TLS"), "{text}");
}

#[test]
fn a_signal_ends_a_handshake() {
    let address = serve(wait);
    let stop = Arc::new(AtomicBool::new(false));
    let waits = Deadlines {
        connect: Duration::from_secs(600),
        answer: Duration::from_secs(600),
    }
    .or_until(&stop);
    let setter = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        stop.store(true, Ordering::Relaxed);
    });
    let begin = Instant::now();
    let login = login("known", "x", with(TlsMode::Required));
    assert!(Session::connect(&address, &login, waits).is_err());
    assert!(begin.elapsed() < Duration::from_secs(60));
    setter.join().unwrap();
}
