//! Why the client has no connection, or no answer.

use std::borrow::Cow;

use thiserror::Error;

use super::fields::Fields;
use super::limits::ERROR_CHARS_MAX;

/// Why there is no connection, or no answer.
#[derive(Debug, Error)]
pub(crate) enum ClientError {
    /// The server says no.
    #[error("ERROR {code} ({state}): {message}")]
    Server {
        /// Its number.
        code: u16,
        /// The state of SQL.
        state: String,
        /// Its text, cut, without control characters.
        message: String,
    },
    /// The system says no.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The deadline of the whole operation is over.
    #[error("no answer before the deadline")]
    TimedOut,
    /// Somebody stopped us.
    #[error("interrupted")]
    Interrupted,
    /// The server closed the connection, or it was given up before.
    #[error("the server closed the connection")]
    Ended,
    /// What came is no answer of a MySQL server.
    #[error("the server's answer cannot be read: {0}")]
    Garbled(Cow<'static, str>),
    /// More came than is taken.
    #[error("the server's answer is too large: {0}")]
    TooMuch(Cow<'static, str>),
    /// The login cannot be made.
    #[error("{0}")]
    Login(Cow<'static, str>),
}

impl ClientError {
    /// An answer that cannot be read.
    pub(super) fn garbled(what: &'static str) -> Self {
        Self::Garbled(Cow::Borrowed(what))
    }

    /// The error that an error packet tells (its first byte, 0xff, included).
    ///
    /// MySQL source code documentation, "ERR_Packet"; before the handshake the state is missing.
    pub(super) fn from_error_packet(packet: &[u8]) -> Self {
        let mut fields = Fields(packet);
        let (Some(0xff), Some(code)) = (fields.u8(), fields.u16()) else {
            return Self::garbled("an error packet without a number");
        };
        let (state, message) = match fields.0.split_first() {
            Some((b'#', rest)) => rest.split_at_checked(5).unwrap_or((rest, &[])),
            _ => (&b"HY000"[..], fields.0),
        };
        // Four bytes a character at most; what is behind is not even looked at.
        let message = message.get(..ERROR_CHARS_MAX * 4).unwrap_or(message);
        Self::Server {
            code,
            state: plain(state, 5),
            message: plain(message, ERROR_CHARS_MAX),
        }
    }
}

/// Text of the server on one line: what is stored and shown may not drive a terminal.
fn plain(text: &[u8], chars_max: usize) -> String {
    String::from_utf8_lossy(text)
        .chars()
        .take(chars_max)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_packet_is_one_harmless_line() {
        let told = |packet: &[u8]| ClientError::from_error_packet(packet).to_string();
        assert_eq!(
            told(b"\xff\x15\x04#28000Access denied for user 'a'@'localhost'"),
            "ERROR 1045 (28000): Access denied for user 'a'@'localhost'"
        );
        assert_eq!(
            told(b"\xff\x10\x04Too many connections"),
            "ERROR 1040 (HY000): Too many connections"
        );
        assert_eq!(
            told(b"\xff\x01\x00#HY000\x1b[2J\x07"),
            "ERROR 1 (HY000):  [2J "
        );
        assert_eq!(told(b"\xff\x01\x00#HY"), "ERROR 1 (HY): ");
        let long = [&b"\xff\x01\x00#HY000"[..], &[b'x'; 1 << 20]].concat();
        assert!(told(&long).len() < 600);
        assert!(told(b"\xff\x01").contains("cannot be read"));
        assert!(told(b"").contains("cannot be read"));
    }
}
