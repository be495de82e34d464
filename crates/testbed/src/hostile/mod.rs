//! A server that answers as no server should: it is silent, drips, lies about lengths, never ends. What talks to a
//! server is held against every variant.

mod answers;
mod table;
pub(crate) mod talk;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub use self::table::variants;

/// How often who drips or waits looks whether the client is still there.
const POLL: Duration = Duration::from_millis(20);

/// For the thread of a connection: there may be many.
const STACK_BYTES: usize = 256 << 10;

/// Longest packet of a client.
const REQUEST_BYTES_MAX: usize = 1 << 20;

/// One thing that a server does.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends one byte so many times.
    Fill(u8, usize),
    /// Sends one byte, waits, sends the next.
    Drip(Vec<u8>, Duration),
    /// Sends the same bytes until nobody takes them.
    Flood(Vec<u8>),
    /// Waits for a packet of the client.
    Hear,
    /// Does as the acts say, without end.
    Again(Vec<Act>),
    /// Says nothing until the client goes.
    Silence,
    /// Closes the connection.
    Close,
    /// Closes it with an error: what was sent may be lost.
    Reset,
}

/// A way to be hostile.
#[derive(Debug, Clone)]
pub struct Variant {
    /// What it does, in words that are a name.
    pub name: String,
    /// Whether no client may take it for a success.
    pub must_fail: bool,
    /// It shows over TCP only.
    pub tcp_only: bool,
    /// From the connection to the last act of the login.
    login: Vec<Act>,
    /// Questions that are answered as a server would.
    honest: usize,
    /// What is done instead of an answer to those behind; nothing goes on to be honest.
    instead: Vec<Act>,
}

impl Variant {
    /// Serves it on a unix socket, in threads that end with the process.
    pub fn serve_unix(self, path: &Path) -> io::Result<()> {
        let listener = UnixListener::bind(path)?;
        let variant = Arc::new(self);
        thread::Builder::new().spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                variant.clone().talk(stream);
            }
        })?;
        Ok(())
    }

    /// Serves it on a free port of the loopback address, which is given.
    pub fn serve_tcp(self) -> io::Result<u16> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let variant = Arc::new(self);
        thread::Builder::new().spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let _ = stream.set_nodelay(true);
                variant.clone().talk(stream);
            }
        })?;
        Ok(port)
    }

    fn talk(self: Arc<Self>, stream: impl Peer) {
        let spawned = thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let mut stream = stream;
                // The client goes when it has had enough.
                let _ = self.whole(&mut stream);
            });
        drop(spawned);
    }

    fn whole(&self, stream: &mut impl Peer) -> io::Result<()> {
        perform(&self.login, stream)?;
        for count in 0.. {
            let request = hear(stream)?;
            let statement = match request.split_first() {
                Some((3, statement)) => String::from_utf8_lossy(statement).into_owned(),
                _ => return Ok(()),
            };
            if count >= self.honest && !self.instead.is_empty() {
                return perform(&self.instead, stream);
            }
            stream.write_all(&talk::honest(&statement))?;
        }
        Ok(())
    }
}

/// A connection from a client.
trait Peer: Read + Write + Send + 'static {
    /// Closes it so that the client gets an error.
    fn reset(&mut self);
    /// Whether the client is still there, after a short wait.
    fn stays(&mut self) -> bool;
}

impl Peer for std::net::TcpStream {
    fn reset(&mut self) {
        let _ = rustix::net::sockopt::set_socket_linger(&*self, Some(Duration::ZERO));
    }

    fn stays(&mut self) -> bool {
        thread::sleep(POLL);
        stays(&*self)
    }
}

impl Peer for std::os::unix::net::UnixStream {
    fn reset(&mut self) {
        // What was not read makes it one.
    }

    fn stays(&mut self) -> bool {
        thread::sleep(POLL);
        stays(self)
    }
}

/// Looks without taking.
fn stays(socket: impl std::os::fd::AsFd) -> bool {
    use rustix::net::{RecvFlags, recv};
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    match recv(socket, &mut [0_u8; 1][..], flags) {
        Ok((count, _)) => count > 0,
        Err(error) => error == rustix::io::Errno::AGAIN,
    }
}

fn perform(acts: &[Act], stream: &mut impl Peer) -> io::Result<()> {
    let gone = || io::Error::from(io::ErrorKind::ConnectionAborted);
    for act in acts {
        match act {
            Act::Send(bytes) => stream.write_all(bytes)?,
            Act::Fill(byte, count) => {
                io::copy(&mut io::repeat(*byte).take(*count as u64), stream)?;
            }
            Act::Drip(bytes, pause) => {
                for byte in bytes {
                    stream.write_all(&[*byte])?;
                    thread::sleep(*pause);
                }
            }
            Act::Flood(bytes) => loop {
                stream.write_all(bytes)?;
            },
            Act::Hear => {
                hear(stream)?;
            }
            Act::Again(acts) => loop {
                perform(acts, stream)?;
            },
            Act::Silence => {
                while stream.stays() {}
                return Err(gone());
            }
            Act::Close => return Err(gone()),
            Act::Reset => {
                stream.reset();
                return Err(gone());
            }
        }
    }
    Ok(())
}

/// A packet of the client, without its head.
fn hear(stream: &mut impl Peer) -> io::Result<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let [a, b, c, _] = head;
    let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
    if length > REQUEST_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}
