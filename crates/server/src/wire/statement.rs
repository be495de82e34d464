//! A statement as it was seen on the wire, with its answer.

use std::net::SocketAddr;

/// What a client asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatementKind {
    /// A login: handshake, authentication and the server's verdict.
    Connect,
    /// A statement as text.
    Query,
    /// A statement to be prepared.
    Prepare,
    /// A prepared statement executed; the text is the prepared one.
    Execute,
    /// Anything else, by the name that the general log has for it (`Quit`, `Init DB`, `Ping`).
    Administrator(&'static str),
}

impl StatementKind {
    /// Its name in the general log's column `Command`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "Connect",
            Self::Query => "Query",
            Self::Prepare => "Prepare",
            Self::Execute => "Execute",
            Self::Administrator(name) => name,
        }
    }
}

/// A statement with its answer, as far as both were seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement<'a> {
    /// When the request's last byte was seen, microseconds since 1970 UTC.
    pub at_us: i64,
    /// A number of the decoder's own for the connection, never used twice.
    pub connection: u64,
    /// The server's id of the connection; absent when its handshake was not seen.
    pub connection_id: Option<u32>,
    /// The client.
    pub client: SocketAddr,
    /// Absent when the handshake was not seen.
    pub user: Option<&'a str>,
    /// The current database; absent when there is none, or nobody said.
    pub database: Option<&'a str>,
    /// The client's program or library, from the connection attributes `program_name` and `_client_name`.
    pub program: Option<&'a str>,
    /// The statement; empty where the kind says it all, the name of a database for `Init DB`.
    pub text: &'a [u8],
    /// The text is not whole.
    pub cut: bool,
    /// What was asked for.
    pub kind: StatementKind,
    /// From the request's last byte to the answer's first; absent when no answer was seen, or none is given.
    pub response_us: Option<u64>,
    /// From the request's last byte to the last that was seen of the answer.
    pub whole_us: Option<u64>,
    /// The server's error number.
    pub error: Option<u16>,
    /// Rows of all results; absent when the answer was not followed to its end.
    pub rows: Option<u64>,
    /// Rows that were changed.
    pub affected: Option<u64>,
    /// Warnings.
    pub warnings: Option<u16>,
    /// By the compressed protocol.
    pub compressed: bool,
    /// The connection was open before: it was decoded by guessing.
    pub guessed: bool,
    /// Bytes of the request on the wire, TCP's headers not counted.
    pub bytes_in: u64,
    /// Bytes of the answer likewise.
    pub bytes_out: u64,
}
