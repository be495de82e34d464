//! Accept queues of real sockets.

#![allow(clippy::print_stdout, reason = "tests tell what they skip or measure")]
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests count as plain code for clippy

use kernel::accept_queue::{ListenAddress, tcp, unix_by_inode};
use kernel::netlink::NetlinkError;
use rustix::fs::fstat;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket,
    socket_with,
};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(5);

/// The last step of a TCP handshake may come a little after the client's `connect` has returned.
fn becomes(expected: u32, pending: impl Fn() -> u32) {
    let start = Instant::now();
    while pending() != expected && start.elapsed() < TIMEOUT {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(pending(), expected);
}

#[test]
fn tcp_connections_that_nobody_accepts() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(listener) = TcpListener::bind(address) else {
            println!("skipped: no {address} on this machine");
            continue;
        };
        let address = listener.local_addr().unwrap();
        let pending = || {
            let queues = tcp(address.port(), TIMEOUT).unwrap();
            assert_eq!(queues.len(), 1, "{queues:?}");
            assert_eq!(queues[0].address, ListenAddress::Tcp(address));
            assert_eq!(queues[0].inode, fstat(&listener).unwrap().st_ino);
            assert!(queues[0].limit > 3);
            queues[0].pending
        };
        assert_eq!(pending(), 0);
        let _clients: Vec<_> = (0..3)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        becomes(3, pending);
        listener.accept().unwrap();
        assert_eq!(pending(), 2);
    }
}

#[test]
fn a_port_on_two_addresses_and_one_that_is_free() {
    let first = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = first.local_addr().unwrap().port();
    let second = TcpListener::bind(("127.0.0.2", port)).unwrap();
    let address = second.local_addr().unwrap();
    let _client = TcpStream::connect(address).unwrap();
    for (listener, expected) in [(&second, 1), (&first, 0)] {
        let address = ListenAddress::Tcp(listener.local_addr().unwrap());
        becomes(expected, || {
            let queues = tcp(port, TIMEOUT).unwrap();
            assert_eq!(queues.len(), 2);
            queues
                .iter()
                .find(|q| q.address == address)
                .unwrap()
                .pending
        });
    }
    drop((first, second));
    assert_eq!(tcp(port, TIMEOUT).unwrap(), []);
}

#[test]
fn unix_connections_that_nobody_accepts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("my sql.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let inode = fstat(&listener).unwrap().st_ino;
    let _clients: Vec<_> = (0..4)
        .map(|_| UnixStream::connect(&path).unwrap())
        .collect();

    let queue = unix_by_inode(inode, TIMEOUT).unwrap().unwrap();
    assert_eq!((queue.pending, queue.inode), (4, inode));
    assert_eq!(queue.address, ListenAddress::Path(path));

    listener.accept().unwrap();
    assert_eq!(unix_by_inode(inode, TIMEOUT).unwrap().unwrap().pending, 3);
    drop(listener);
    assert_eq!(unix_by_inode(inode, TIMEOUT).unwrap(), None);
}

#[test]
fn a_full_unix_queue_holds_one_more_than_its_limit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("full.sock");
    let address = SocketAddrUnix::new(&path).unwrap();
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&listener, &address).unwrap();
    listen(&listener, 2).unwrap();
    let mut clients = Vec::new();
    while clients.len() < 10 {
        let flags = SocketFlags::NONBLOCK;
        let client = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        if connect(&client, &address).is_err() {
            break;
        }
        clients.push(client);
    }
    let inode = fstat(&listener).unwrap().st_ino;
    let queue = unix_by_inode(inode, TIMEOUT).unwrap().unwrap();
    assert_eq!((queue.pending, queue.limit), (3, 2));
    assert_eq!(clients.len(), 3);
}

#[test]
fn a_full_tcp_queue_holds_one_more_than_its_limit() {
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&listener, &any).unwrap();
    listen(&listener, 2).unwrap();
    let listener = TcpListener::from(listener);
    let address = listener.local_addr().unwrap();
    let mut clients = Vec::new();
    while clients.len() < 10 {
        match TcpStream::connect_timeout(&address, Duration::from_millis(100)) {
            Ok(client) => clients.push(client),
            Err(_) => break,
        }
    }
    let queue = || tcp(address.port(), TIMEOUT).unwrap().remove(0);
    becomes(3, || queue().pending);
    assert_eq!(queue().limit, 2);
}

#[test]
fn no_time_is_late_at_once() {
    let start = Instant::now();
    assert!(matches!(tcp(1, Duration::ZERO), Err(NetlinkError::Late(_))));
    assert!(matches!(
        unix_by_inode(1, Duration::ZERO),
        Err(NetlinkError::Late(_))
    ));
    assert!(start.elapsed() < TIMEOUT);
}
