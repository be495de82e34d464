//! A client of MySQL and MariaDB for servers that may hang, fail or lie.
//!
//! Every operation has one deadline, however its bytes come, and can be stopped. Memory grows with what has arrived, up
//! to named limits. No byte of a server panics. A password is never told in clear text but over a unix socket or TLS, and
//! no file of this host is ever sent. A TLS handshake is within the deadline of the login.
//!
//! **It is our own.** The library had a deadline for each read only, so a server that drips a byte a second held a
//! command for minutes. It panicked on keys and counts of a hostile server, and could not be interrupted. Ours has
//! one deadline for a login and one for each question, notices a signal in every wait, and allocates by what has
//! arrived, never by what a server announces.
//!
//! **Kept connections wait.** Connecting and logging in have one deadline together; a query after that has none.
//! Giving up would leave a session in the server that still works on the query. Connecting anew would add one each
//! time, in the very stall that is to be recorded. The connect probe does give up. It pauses longer the longer the
//! server is silent, up to a minute, so that a frozen server's accept queue keeps room for its clients.
//!
//! **Probes go where clients go.** The connect probe prefers TCP. Where the login is refused there and accepted on
//! the socket, it moves to the socket, because a refused login each second is noise in the server's error log. For
//! the same reason the kept connections, the query probe's too, try a way that refused them last. Only a refusal
//! leads to another way: going round a timeout would hide what clients feel.

mod answer;
mod deadline;
mod encrypted;
mod error;
mod fields;
mod greeting;
mod limits;
mod login;
mod packets;
mod public_key;
mod scramble;
mod stream;

pub(crate) use answer::{Answer, Keep, Rows};
pub(crate) use deadline::Deadline;
pub(crate) use error::ClientError;

use packets::Packets;
use stream::Stream;

use crate::{Address, Login};

const QUIT: u8 = 1;
const QUERY: u8 = 3;

/// A connection that is logged in.
pub(crate) struct Client {
    packets: Packets,
    sizes: answer::Sizes,
    id: u32,
    /// The next statement can be sent: the last one was answered to its end.
    usable: bool,
}

impl Client {
    /// Connects and logs in, all before one deadline.
    pub(crate) fn connect(
        address: &Address,
        login: &Login,
        deadline: &Deadline,
    ) -> Result<Self, ClientError> {
        let mut packets = Packets::new(Stream::connect(address, deadline)?);
        packets.allow(limits::LOGIN_BYTES_MAX);
        let id = login::log_in(&mut packets, login, deadline)?;
        let usable = packets.is_drained();
        Ok(Self {
            packets,
            sizes: answer::Sizes::default(),
            id,
            usable,
        })
    }

    /// The server's number of the connection.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Whether the last answer came to its end.
    pub(crate) fn is_usable(&self) -> bool {
        self.usable
    }

    /// Sends a statement and reads its answer, all before one deadline.
    pub(crate) fn ask(
        &mut self,
        statement: &str,
        keep: Keep<'_>,
        deadline: &Deadline,
    ) -> Result<Answer, ClientError> {
        // What is still under way would be taken for the next answer.
        if !std::mem::take(&mut self.usable) {
            return Err(ClientError::Ended);
        }
        if statement.len() > limits::STATEMENT_BYTES_MAX {
            self.usable = true;
            return Err(ClientError::TooMuch("the statement is too long".into()));
        }
        self.packets.allow(limits::ANSWER_BYTES_MAX);
        self.packets.restart();
        let parts = [&[QUERY][..], statement.as_bytes()];
        self.packets.send_parts(parts, deadline)?;
        let (answer, usable) = answer::read(&mut self.packets, &mut self.sizes, keep, deadline);
        self.usable = usable;
        answer
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A client that goes without a word is counted as one that failed.
        if self.usable {
            self.packets.send_last(&[QUIT]);
        }
    }
}
