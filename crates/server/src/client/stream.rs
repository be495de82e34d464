//! The socket. It never blocks: every wait ends at the operation's deadline, or when somebody stops it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::io::{Errno, read};
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, getsockname, send,
    socket_with, sockopt,
};

use super::deadline::Deadline;
use super::encrypted::Encrypted;
use super::error::ClientError;
use crate::Address;
use crate::tls::{PeerLocation, Tls, TlsMode};

/// How often a unix socket is tried whose queue is full: nothing tells when it has room.
const RETRY: Duration = Duration::from_millis(20);

/// A connection to a server.
pub(super) struct Stream {
    socket: OwnedFd,
    /// Where it leads.
    pub(super) leads: PeerLocation,
    /// The server's name, for its certificate: what was asked for, and the address that it has.
    host: String,
    peer: Option<IpAddr>,
    tls: Option<Box<Encrypted>>,
    /// Something was sent since the last byte that came: nothing is there yet, and is waited for at once.
    is_asked: bool,
    /// The server's certificate was verified.
    is_verified: bool,
}

impl Stream {
    /// Connects.
    pub(super) fn connect(address: &Address, deadline: &Deadline) -> Result<Self, ClientError> {
        match address {
            Address::Socket(path) => unix(path, deadline),
            Address::Tcp(host, port) => {
                let mut last = ClientError::Login("the host's name has no address".into());
                for address in resolve(host, *port, deadline)? {
                    match tcp(host, address, deadline) {
                        Err(ClientError::Io(error)) => last = ClientError::Io(error),
                        other => return other,
                    }
                }
                Err(last)
            }
        }
    }

    /// From here on everything is encrypted.
    pub(super) fn encrypt(
        &mut self,
        tls: &Tls,
        mode: TlsMode,
        deadline: &Deadline,
    ) -> Result<(), ClientError> {
        let mut encrypted = Encrypted::new(tls, mode, &self.host, self.peer)?;
        encrypted.shake_hands(&self.socket, deadline)?;
        self.tls = Some(Box::new(encrypted));
        self.is_verified = mode.verifies();
        Ok(())
    }

    /// What is said is encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Nobody but the server hears what is said: it is a process of this host, or has proved who it is.
    pub(super) fn is_private(&self) -> bool {
        self.leads == PeerLocation::Socket || self.is_verified
    }

    /// Some bytes, at least one.
    pub(super) fn read(
        &mut self,
        into: &mut [u8],
        deadline: &Deadline,
    ) -> Result<usize, ClientError> {
        if let Some(tls) = &mut self.tls {
            return tls.read(&self.socket, into, deadline);
        }
        if std::mem::take(&mut self.is_asked) {
            deadline.wait(self.socket.as_fd(), PollFlags::IN)?;
        }
        loop {
            // Looked at each time: a server that sends without end would never make us wait.
            deadline.left()?;
            match read(&self.socket, &mut *into) {
                Ok(0) => return Err(ClientError::Ended),
                Ok(count) => return Ok(count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => deadline.wait(self.socket.as_fd(), PollFlags::IN)?,
                Err(error) => return Err(ClientError::Io(error.into())),
            }
        }
    }

    /// All of these bytes.
    pub(super) fn write(
        &mut self,
        mut bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<(), ClientError> {
        if let Some(tls) = &mut self.tls {
            return tls.write(&self.socket, bytes, deadline);
        }
        self.is_asked = true;
        while !bytes.is_empty() {
            match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => deadline.wait(self.socket.as_fd(), PollFlags::OUT)?,
                Err(error) => return Err(ClientError::Io(error.into())),
            }
        }
        Ok(())
    }

    /// These bytes if there is room for them at once.
    pub(super) fn write_now(&mut self, bytes: &[u8]) {
        if let Some(tls) = &mut self.tls {
            return tls.write_last(&self.socket, bytes);
        }
        // Who closes a connection has nobody to tell that this failed.
        let _ = send(&self.socket, bytes, SendFlags::NOSIGNAL);
    }
}

fn open(family: AddressFamily) -> Result<OwnedFd, ClientError> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(family, SocketType::STREAM, flags, None)
        .map_err(|error| ClientError::Io(error.into()))
}

/// A unix socket whose queue is full answers EAGAIN where a blocking one waits without limit (unix(7)).
fn unix(path: &Path, deadline: &Deadline) -> Result<Stream, ClientError> {
    let address = SocketAddrUnix::new(path).map_err(|error| ClientError::Io(error.into()))?;
    let socket = open(AddressFamily::UNIX)?;
    loop {
        match connect(&socket, &address) {
            Ok(()) => {
                return Ok(Stream {
                    socket,
                    leads: PeerLocation::Socket,
                    host: "localhost".to_owned(),
                    peer: None,
                    tls: None,
                    is_asked: false,
                    is_verified: false,
                });
            }
            Err(Errno::AGAIN) => deadline.sleep(RETRY)?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(ClientError::Io(error.into())),
        }
    }
}

fn tcp(host: &str, address: SocketAddr, deadline: &Deadline) -> Result<Stream, ClientError> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = open(family)?;
    match connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS | Errno::INTR) => {
            deadline.wait(socket.as_fd(), PollFlags::OUT)?;
            match sockopt::socket_error(&socket) {
                Ok(Ok(())) => {}
                Ok(Err(error)) | Err(error) => return Err(ClientError::Io(error.into())),
            }
        }
        Err(error) => return Err(ClientError::Io(error.into())),
    }
    // A question is one small packet: it shall not wait for more. Without it the answer is only later.
    let _ = sockopt::set_tcp_nodelay(&socket, true);
    // Known by its end when packets are read. Without it our own statements are counted there, no more.
    let client = getsockname(&socket)
        .ok()
        .and_then(|address| SocketAddr::try_from(address).ok());
    if let Some(client) = client {
        crate::own::is_ours(client);
    }
    // Both ends have one address: what is sent leaves no host.
    let is_ours = client.is_some_and(|client| client.ip() == address.ip());
    let leads = match is_ours || address.ip().is_loopback() {
        true => PeerLocation::ThisHost,
        false => PeerLocation::Elsewhere,
    };
    Ok(Stream {
        socket,
        leads,
        host: host.trim_matches(['[', ']']).to_owned(),
        peer: Some(address.ip()),
        tls: None,
        is_asked: false,
        is_verified: false,
    })
}

/// The addresses of a host. A name server may hang: it is asked on a thread that nobody waits for.
fn resolve(host: &str, port: u16, deadline: &Deadline) -> Result<Vec<SocketAddr>, ClientError> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    if host == "localhost" {
        let both = [
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ];
        return Ok(both.map(|address| SocketAddr::new(address, port)).into());
    }
    let (sender, receiver) = channel();
    let host = host.to_owned();
    std::thread::Builder::new()
        .name("ff-resolve".to_owned())
        .spawn(move || {
            let found = (host.as_str(), port).to_socket_addrs();
            let _ = sender.send(found.map(Iterator::collect));
        })?;
    loop {
        match receiver.recv_timeout(deadline.slice()?) {
            Ok(found) => return Ok(found?),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(ClientError::Ended),
        }
    }
}
