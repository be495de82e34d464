//! A client of MySQL and MariaDB for servers that may hang, fail or lie.
//!
//! Every operation has one deadline, however its bytes come, and can be stopped. Memory grows with what has arrived, up
//! to named limits. No byte of a server panics. There is no TLS; a password is never told in clear text but over a unix
//! socket, and no file of this host is ever sent.

mod answer;
mod deadline;
mod error;
mod fields;
mod greeting;
mod limits;
mod login;
mod packets;
mod public_key;
mod scramble;
mod stream;

pub(crate) use answer::Answer;
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

    /// Sends a statement and reads its answer, all before one deadline; at most `rows_max` rows are kept.
    pub(crate) fn ask(
        &mut self,
        statement: &str,
        rows_max: usize,
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
        let mut packet = Vec::with_capacity(statement.len() + 1);
        packet.push(QUERY);
        packet.extend_from_slice(statement.as_bytes());
        self.packets.allow(limits::ANSWER_BYTES_MAX);
        self.packets.restart();
        self.packets.send(&packet, deadline)?;
        let (answer, usable) = answer::read(&mut self.packets, rows_max, deadline);
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
