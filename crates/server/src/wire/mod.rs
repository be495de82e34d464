//! The protocol between clients and a MySQL or MariaDB server, read from the packets on the wire: bytes in, statements
//! out, no I/O.
//!
//! [`Decoder`] takes TCP segments of both directions in the order in which they were seen and hands over each
//! [`Statement`] when its answer is complete. Segments may be cut short, doubled, out of order or missing, and
//! connections may have been open before: what is missing is passed over, and reading goes on at the next request.
//!
//! The layers, each a file: `stream` puts the segments of one direction in order, `compression` opens the compressed
//! protocol, `packets` cuts the stream into the protocol's packets (both by `frames`), `handshake`, `command` and `reply` know what is in
//! them, `connection` puts both directions together. Sources: dev.mysql.com/doc/dev/mysql-server ("Client/Server
//! Protocol"), mariadb.com/kb ("Client/Server Protocol"), and sql/net_serv.cc, sql/protocol_classic.cc of MySQL.
//!
//! Not read: the X protocol, the proxy protocol, replication (a replica's connection is known by its command and left
//! alone), what is inside TLS.
//!
//! **What is missing has a length.** TCP's numbers say how much was cut or lost, so both are a gap of known size. A
//! gap within a packet's payload is skipped. A gap that hides where the next packet begins ends the reading of that
//! direction until the next request. What the other side acknowledged and we have not seen is lost: nothing waits for
//! it. So a large result costs its first segments only, and its rows are reported as not known rather than counted
//! wrong.
//!
//! **Nothing need be known beforehand.** The ends of columns and rows are recognised by their lengths, query
//! attributes by their first bytes, zlib and zstd by their magic numbers. So connections are readable that were open
//! before the capture: a segment whose length, sequence and command fit is a request. Those are counted (`guessed`).
//!
//! **Names of open connections.** Once packets are being kept, one query to the server finds out who is connected and
//! what they have prepared, on a thread of its own (`server::open_connections`): by client port from the processlist,
//! and from performance_schema's prepared statements. A server that does not answer leaves them without a user and
//! their prepared statements without a text; the result says how many got a name.

mod bytes;
mod command;
mod compression;
mod connection;
mod decoder;
mod digest;
mod framing;
mod guess;
mod handshake;
mod limits;
mod packets;
mod pending;
mod prior_connections;
mod reply;
mod shared;
mod statement;
mod stream;

pub use decoder::{Decoder, Segment};
pub use digest::{Captured, Collector, complete, connection_mix, is_show_warnings, senders};
pub use limits::{
    BUFFERED_BYTES_MAX, CONNECTIONS_MAX, PIPELINE_MAX, PREPARED_MAX, SEGMENTS_WAITING_MAX,
    STATEMENT_BYTES_MAX,
};
pub use prior_connections::PriorConnection;
pub use shared::Connections;
pub use statement::{Statement, StatementKind};
