//! TLS over the socket, by the operation's deadline: rustls does no I/O of its own, so that no step of a handshake waits
//! longer than any other.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::PollFlags;
use rustix::io::read;
use rustix::net::{SendFlags, send};
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConnection, Error};

use super::deadline::Deadline;
use super::error::ClientError;
use crate::tls::{Tls, TlsMode};

/// A connection whose bytes are encrypted.
pub(super) struct Encrypted {
    connection: ClientConnection,
    tls: Tls,
    /// The server's name, for messages.
    host: String,
}

/// The socket as rustls wants it.
struct Raw<'a>(&'a OwnedFd);

impl Read for Raw<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(read(self.0, into)?)
    }
}

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Encrypted {
    pub(super) fn new(
        tls: &Tls,
        mode: TlsMode,
        host: &str,
        peer: Option<IpAddr>,
    ) -> Result<Self, ClientError> {
        let config = tls
            .config(mode)
            .map_err(|why| ClientError::Login(format!("TLS: {why}").into()))?;
        // A name that no certificate can have, such as one with an underscore, matters only where it is verified.
        let name = match (ServerName::try_from(host.to_owned()), peer) {
            (Ok(name), _) => name,
            (Err(_), Some(address)) => ServerName::from(address),
            (Err(_), None) => return Err(ClientError::garbled("no name for TLS")),
        };
        let connection = ClientConnection::new(config, name)
            .map_err(|error| ClientError::Login(format!("TLS: {error}").into()))?;
        Ok(Self {
            connection,
            tls: tls.clone(),
            host: host.to_owned(),
        })
    }

    /// Until both sides are agreed.
    pub(super) fn shake_hands(
        &mut self,
        socket: &OwnedFd,
        deadline: &Deadline,
    ) -> Result<(), ClientError> {
        let is_agreed = |this: &Self| !this.connection.is_handshaking();
        while !is_agreed(self) {
            self.flush(socket, deadline)?;
            if is_agreed(self) {
                break;
            }
            match self.fill(socket, deadline) {
                Err(ClientError::Ended) => return Err(self.broken_off()),
                Err(ClientError::Io(error)) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Err(self.broken_off());
                }
                other => other?,
            }
        }
        self.flush(socket, deadline)
    }

    fn broken_off(&self) -> ClientError {
        ClientError::Login(
            "the server ended the TLS handshake: it may need a client certificate (--ssl-cert, --ssl-key), or support only TLS 1.0 and 1.1, which freezeframe does not"
                .into(),
        )
    }

    /// Some bytes, at least one.
    pub(super) fn read(
        &mut self,
        socket: &OwnedFd,
        into: &mut [u8],
        deadline: &Deadline,
    ) -> Result<usize, ClientError> {
        loop {
            // Looked at each time: a server that sends without end would never make us wait.
            deadline.left()?;
            match self.connection.reader().read(into) {
                Ok(0) => return Err(ClientError::Ended),
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.flush(socket, deadline)?;
                    self.fill(socket, deadline)?;
                }
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(ClientError::Ended);
                }
                Err(error) => return Err(ClientError::Io(error)),
            }
        }
    }

    /// All of these bytes.
    pub(super) fn write(
        &mut self,
        socket: &OwnedFd,
        mut bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<(), ClientError> {
        while !bytes.is_empty() {
            let count = self.connection.writer().write(bytes)?;
            bytes = bytes.get(count..).unwrap_or_default();
            self.flush(socket, deadline)?;
        }
        Ok(())
    }

    /// The last bytes, and that they are the last, if there is room for them at once.
    pub(super) fn write_last(&mut self, socket: &OwnedFd, bytes: &[u8]) {
        // Who closes a connection has nobody to tell that this failed.
        let _ = self.connection.writer().write(bytes);
        self.connection.send_close_notify();
        while self.connection.wants_write() {
            if !matches!(self.connection.write_tls(&mut Raw(socket)), Ok(1..)) {
                return;
            }
        }
    }

    /// Reads what has come, at least something.
    fn fill(&mut self, socket: &OwnedFd, deadline: &Deadline) -> Result<(), ClientError> {
        loop {
            deadline.left()?;
            match self.connection.read_tls(&mut Raw(socket)) {
                Ok(0) => return Err(ClientError::Ended),
                Ok(_) => break,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock => deadline.wait(socket.as_fd(), PollFlags::IN)?,
                    _ => return Err(ClientError::Io(error)),
                },
            }
        }
        match self.connection.process_new_packets() {
            Ok(_) => Ok(()),
            Err(error) => {
                // The server is told why, where there is room for it.
                let _ = self.connection.write_tls(&mut Raw(socket));
                Err(self.client_error(&error))
            }
        }
    }

    fn flush(&mut self, socket: &OwnedFd, deadline: &Deadline) -> Result<(), ClientError> {
        while self.connection.wants_write() {
            deadline.left()?;
            match self.connection.write_tls(&mut Raw(socket)) {
                Ok(0) => return Err(ClientError::Ended),
                Ok(_) => {}
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock => deadline.wait(socket.as_fd(), PollFlags::OUT)?,
                    _ => return Err(ClientError::Io(error)),
                },
            }
        }
        Ok(())
    }

    /// What an error of TLS means, and what to do about it.
    fn client_error(&self, error: &Error) -> ClientError {
        let host = &self.host;
        let trusted = self.tls.trusted();
        let weaker = "or use --ssl-mode REQUIRED (encrypted, not verified)";
        let text = match error {
            Error::InvalidCertificate(why) => match why {
                CertificateError::UnknownIssuer => format!(
                    "the server's certificate was not issued by one of {trusted}: name its authority, or the certificate itself, with --ssl-ca FILE, {weaker}"
                ),
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => format!(
                    "the server's certificate is not for the name '{host}': use a name that it has, or verify only its authority with --ssl-mode VERIFY_CA and --ssl-ca FILE"
                ),
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    format!("the server's certificate has expired: renew it, {weaker}")
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    format!("the server's certificate is not valid yet: check both clocks, {weaker}")
                }
                CertificateError::Other(other)
                    if format!("{other:?}").contains("UnsupportedCertVersion") =>
                {
                    format!(
                        "the server's certificate has X.509 version 1, which cannot be verified: create a new one, name the certificate itself with --ssl-ca FILE, {weaker}"
                    )
                }
                other => format!(
                    "the server's certificate cannot be verified ({other}): create a new one, name the certificate itself with --ssl-ca FILE, {weaker}"
                ),
            },
            Error::AlertReceived(alert) => match format!("{alert:?}").as_str() {
                "ProtocolVersion" => {
                    "the server supports only TLS 1.0 or 1.1, which freezeframe does not: use its socket, or --ssl-mode DISABLED (not encrypted)"
                        .to_owned()
                }
                "CertificateRequired" | "UnknownCA" | "BadCertificate" | "CertificateUnknown"
                | "CertificateExpired" | "UnsupportedCertificate" => format!(
                    "the server refuses our certificate (TLS alert {alert:?}): see --ssl-cert and --ssl-key"
                ),
                other => format!("the server refuses our TLS connection (TLS alert {other})"),
            },
            Error::PeerIncompatible(why) => format!(
                "the server and freezeframe have no TLS version or cipher in common ({why:?}); freezeframe supports TLS 1.2 and 1.3; or use --ssl-mode DISABLED (not encrypted)"
            ),
            Error::InvalidMessage(_) => {
                "the server does not answer with TLS 1.2 or 1.3: use its socket, or --ssl-mode DISABLED (not encrypted)"
                    .to_owned()
            }
            other => format!("TLS: {other}"),
        };
        let text: String = text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        ClientError::Login(text.into())
    }
}
