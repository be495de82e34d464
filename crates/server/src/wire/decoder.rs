//! TCP segments to their connections: the entrance of the passive decoder.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::SocketAddr;

use super::connection::{Connection, Each};
use super::limits::CONNECTIONS_MAX;
use super::prior_connections::{PriorConnection, PriorConnections};
use super::shared::{Connections, Shared};
use super::statement::Statement;

/// A TCP segment between a client and the server.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// When it was seen, microseconds since 1970 UTC.
    pub at_us: i64,
    /// The client.
    pub client: SocketAddr,
    /// The server.
    pub server: SocketAddr,
    /// From the client; else from the server.
    pub to_server: bool,
    /// Number of its first byte.
    pub sequence: u32,
    /// The sender has everything before this number; absent when it does not say.
    pub acknowledged: Option<u32>,
    /// It opens the connection.
    pub syn: bool,
    /// The sender will send no more.
    pub fin: bool,
    /// The connection is torn down.
    pub rst: bool,
    /// Its bytes, of which some at the end may not have been copied.
    pub payload: &'a [u8],
    /// The bytes that it had.
    pub length: u32,
}

/// Client and server.
type Ends = (SocketAddr, SocketAddr);

/// Hashes of connections' ends: looked up for each packet, and far cheaper than the standard library's. The key is
/// random, so that nobody can choose ports that meet in one place; the most that could come of it is a slow search among
/// [`CONNECTIONS_MAX`].
#[derive(Clone)]
struct Keyed([u64; 2]);

impl Default for Keyed {
    fn default() -> Self {
        let random = RandomState::new();
        Self([random.hash_one(1), random.hash_one(2) | 1])
    }
}

impl BuildHasher for Keyed {
    type Hasher = KeyedHasher;

    fn build_hasher(&self) -> KeyedHasher {
        let [state, factor] = self.0;
        KeyedHasher { state, factor }
    }
}

struct KeyedHasher {
    state: u64,
    factor: u64,
}

impl Hasher for KeyedHasher {
    fn finish(&self) -> u64 {
        self.state
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(part) {
                *to = *from;
            }
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.state ^ number) * u128::from(self.factor);
        self.state = (product as u64) ^ (product >> 64) as u64;
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    /// Which kind of address it is; its length tells that too.
    fn write_isize(&mut self, _: isize) {}
}

/// Makes statements of segments.
#[derive(Default)]
pub struct Decoder {
    connections: HashMap<Ends, Connection, Keyed>,
    shared: Shared,
    next: u64,
    known: Box<PriorConnections>,
}

impl Decoder {
    /// One that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// What connections were met so far.
    pub fn connections(&self) -> Connections {
        self.shared.connections
    }

    /// Bytes that are kept for statements without an answer and the like.
    pub fn held_bytes(&self) -> usize {
        self.shared.held
    }

    /// Takes what the server tells of connections that are open: once, as soon as it is known. It counts for connections
    /// whose beginning was not seen.
    pub fn know(&mut self, open: Vec<PriorConnection>) {
        *self.known = PriorConnections::new(open);
        for ((client, _), connection) in &mut self.connections {
            if connection.is_from_before()
                && let Some(known) = self.known.take(*client)
            {
                connection.know(known, &mut self.shared);
            }
        }
    }

    /// Takes a segment and hands over the statements that it completes.
    pub fn segment(&mut self, segment: &Segment<'_>, each: &mut dyn FnMut(&Statement<'_>)) {
        let key = (segment.client, segment.server);
        let opens = segment.syn && segment.to_server;
        if opens {
            // The same ports may have been in use before.
            self.close(key, each);
        }
        let ends = match self.connections.get_mut(&key) {
            Some(connection) => take(connection, segment, &mut self.shared, each),
            None => match self.begin(segment, opens) {
                Some(mut connection) => {
                    let ends = take(&mut connection, segment, &mut self.shared, each);
                    self.connections.insert(key, connection);
                    ends
                }
                None => return,
            },
        };
        if ends {
            self.close(key, each);
        }
    }

    /// A connection that is not known yet; `None` when the segment tells nothing of it, or there is no room.
    fn begin(&mut self, segment: &Segment<'_>, opens: bool) -> Option<Connection> {
        let nothing = segment.length == 0 && !opens;
        if nothing || segment.rst {
            return None;
        }
        if self.connections.len() >= CONNECTIONS_MAX {
            self.shared.connections.segments_left_out += u64::from(segment.length > 0);
            return None;
        }
        let mut connection = Connection::new(self.next, segment.client, opens);
        self.next += 1;
        self.shared.connections.seen += 1;
        // Who opens a connection from this port now is somebody else.
        let known = self.known.take(segment.client);
        if let Some(known) = known.filter(|_| !opens) {
            connection.know(known, &mut self.shared);
        }
        Some(connection)
    }

    /// The end: hands over the statements that still wait for their answers.
    pub fn finish(&mut self, each: &mut dyn FnMut(&Statement<'_>)) {
        for (_, mut connection) in std::mem::take(&mut self.connections) {
            connection.finish(&mut self.shared, each);
        }
    }

    fn close(&mut self, key: Ends, each: &mut Each<'_>) {
        if let Some(mut connection) = self.connections.remove(&key) {
            connection.finish(&mut self.shared, each);
        }
    }
}

/// Whether the connection ends with the segment.
fn take(
    connection: &mut Connection,
    segment: &Segment<'_>,
    shared: &mut Shared,
    each: &mut Each<'_>,
) -> bool {
    let Segment {
        to_server, at_us, ..
    } = *segment;
    if segment.syn {
        connection.begin(to_server, segment.sequence);
    }
    // A FIN has a number as well, and nothing comes after it.
    let ended = connection.ended.has(!to_server);
    if let Some(acknowledged) = segment.acknowledged.filter(|_| !ended) {
        connection.acknowledged(!to_server, (acknowledged, at_us), shared, each);
    }
    if segment.length > 0 {
        let sequence = segment.sequence.wrapping_add(u32::from(segment.syn));
        let (bytes, length) = (segment.payload, segment.length);
        connection.segment(to_server, (sequence, at_us), bytes, length, shared, each);
    }
    if segment.fin {
        connection.ended.set(to_server);
    }
    segment.rst || connection.ended.both()
}
