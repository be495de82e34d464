//! Capturing our own connections over the loopback device.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use kernel::packets::{Capture, CaptureError, CaptureOptions, Devices};

/// What must be fast is measured elsewhere.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was seen of one connection.
#[derive(Debug, Default)]
struct Seen {
    /// By their numbers: a busy machine sends some packets again.
    to_server: BTreeMap<u32, Vec<u8>>,
    /// Bytes that were copied of a packet from the server, and those that it had.
    from_server: BTreeMap<u32, (usize, u32)>,
    syns: usize,
    fins: usize,
    bare: usize,
}

/// `None` where it is refused, which is said.
fn open(options: &CaptureOptions) -> Option<Capture> {
    match Capture::open(options) {
        Err(error @ CaptureError::Refused(_)) => {
            eprintln!("skipped: {error}");
            None
        }
        other => Some(other.unwrap()),
    }
}

fn collect(capture: &mut Capture, client: SocketAddr, server: SocketAddr) -> Seen {
    let mut seen = Seen::default();
    let begin = Instant::now();
    while seen.fins < 2 {
        assert!(begin.elapsed() < PATIENCE, "{seen:?}");
        if !capture.wait(Duration::from_millis(100)).unwrap() {
            continue;
        }
        capture.drain(&mut |packet| {
            let tcp = packet.tcp;
            let to_server = (tcp.from, tcp.to) == (client, server);
            assert!(
                to_server || (tcp.from, tcp.to) == (server, client),
                "{tcp:?}"
            );
            seen.syns += usize::from(tcp.flags.syn);
            seen.fins += usize::from(tcp.flags.fin);
            let is_bare = tcp.payload_length == 0 && !tcp.flags.syn && !tcp.flags.fin;
            seen.bare += usize::from(is_bare && !tcp.flags.rst);
            if tcp.payload_length == 0 {
                return;
            }
            if to_server {
                seen.to_server.insert(tcp.sequence, tcp.payload.to_vec());
            } else {
                let lengths = (tcp.payload.len(), tcp.payload_length);
                seen.from_server.insert(tcp.sequence, lengths);
            }
            let now = std::time::SystemTime::now();
            let age = now.duration_since(std::time::UNIX_EPOCH).unwrap();
            assert!(age.abs_diff(packet.at) < PATIENCE);
        });
    }
    seen
}

fn one_conversation(address: &str, devices: Devices) {
    let listener = match TcpListener::bind((address, 0)) {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!("skipped: {address}: {error}");
            return;
        }
    };
    let server = listener.local_addr().unwrap();
    let options = CaptureOptions {
        devices,
        ..CaptureOptions::of_ports(&[server.port()])
    };
    let Some(mut capture) = open(&options) else {
        return;
    };
    let mut client = TcpStream::connect(server).unwrap();
    let (mut accepted, _) = listener.accept().unwrap();
    let own = client.local_addr().unwrap();
    let question: Vec<u8> = (0..150_000_u32).map(|n| (n % 251) as u8).collect();
    let answer = vec![b'a'; 200_000];
    let writer = {
        let question = question.clone();
        std::thread::spawn(move || {
            client.write_all(&question).unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            answer.len()
        })
    };
    let mut read = vec![0; question.len()];
    accepted.read_exact(&mut read).unwrap();
    accepted.write_all(&answer).unwrap();
    drop(accepted);
    assert_eq!(writer.join().unwrap(), answer.len());
    let seen = collect(&mut capture, own, server);
    assert_eq!(capture.counted().unwrap().lost, 0);
    assert_eq!(capture.counted().unwrap().malformed, 0);
    // Each packet once, although the device shows it twice; those to the server whole, the others cut.
    let first = *seen.to_server.keys().next().unwrap();
    let mut asked = vec![0; question.len()];
    for (sequence, bytes) in &seen.to_server {
        let at = sequence.wrapping_sub(first) as usize;
        asked[at..at + bytes.len()].copy_from_slice(bytes);
    }
    assert!(asked == question);
    let ends = seen.from_server.iter().map(|(at, (_, length))| at + length);
    let first = seen.from_server.keys().next().unwrap();
    assert_eq!(ends.max().unwrap() - first, answer.len() as u32);
    let copied: usize = seen.from_server.values().map(|(copied, _)| copied).sum();
    assert!(copied < answer.len() / 4, "{copied}");
    assert_eq!((seen.syns, seen.bare), (2, 0));
}

#[test]
fn ipv4_on_all_devices() {
    one_conversation("127.0.0.1", Devices::All);
}

#[test]
fn ipv4_on_the_loopback_device() {
    one_conversation("127.0.0.1", Devices::Loopback);
}

#[test]
fn ipv6_on_all_devices() {
    one_conversation("::1", Devices::All);
}

#[test]
fn what_finds_no_room_is_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    let options = CaptureOptions {
        ring_bytes: 0,
        ..CaptureOptions::of_ports(&[server.port()])
    };
    let Some(mut capture) = open(&options) else {
        return;
    };
    let reader = std::thread::spawn(move || {
        let (mut accepted, _) = listener.accept().unwrap();
        let mut count = 0;
        let mut buffer = vec![0; 1 << 16];
        loop {
            match accepted.read(&mut buffer).unwrap() {
                0 => return count,
                read => count += read,
            }
        }
    });
    // Two blocks, and nobody empties them.
    let mut client = TcpStream::connect(server).unwrap();
    let bytes = vec![b'x'; 4 << 20];
    client.write_all(&bytes).unwrap();
    drop(client);
    assert_eq!(reader.join().unwrap(), bytes.len());
    let counted = capture.counted().unwrap();
    assert!(counted.lost > 0, "{counted:?}");
    assert_eq!(capture.counted().unwrap().lost, counted.lost);
}

#[test]
fn options_that_make_no_sense() {
    for ports in [&[][..], &[0], &[1, 2, 3, 4, 5, 6, 7, 8, 9]] {
        let error = Capture::open(&CaptureOptions::of_ports(ports)).err();
        assert!(matches!(error, Some(CaptureError::Options(_))), "{error:?}");
    }
    let options = CaptureOptions {
        ring_bytes: usize::MAX,
        ..CaptureOptions::of_ports(&[1])
    };
    assert!(matches!(
        Capture::open(&options),
        Err(CaptureError::Options(_))
    ));
}
