//! Both directions of a connection together: requests, each with its answer.

mod answers;
mod requests;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use super::compression::CompressedReader;
use super::framing::FramingStep;
use super::guess::{self, Guess};
use super::limits::{PREPARED_MAX, REPLY_BYTES_MAX};
use super::packets::PacketReader;
use super::pending::Pending;
use super::prior_connections::PriorConnection;
use super::shared::Shared;
use super::statement::Statement;
use super::stream::{Arrival, Stream, StreamItem};

/// Takes each statement.
pub(super) type Each<'a> = dyn FnMut(&Statement<'_>) + 'a;

/// What a connection is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Open before we came; nothing is known of it yet.
    Unknown,
    /// The server greets.
    Greeting,
    /// The client answers.
    Answer,
    /// Requests and answers, the end of the login included.
    Commands,
    /// Encrypted, or of a replica: not read.
    PassedOver,
}

/// One direction.
#[derive(Debug, Default)]
struct Side {
    stream: Stream,
    opened: CompressedReader,
    packets: PacketReader,
}

impl Side {
    fn resume(&mut self) {
        self.opened.resume();
        self.packets.resume();
    }

    fn lose(&mut self) {
        self.opened.lose();
        self.packets.lose();
    }

    fn is_lost(&self, compressed: bool) -> bool {
        self.packets.is_lost() || (compressed && self.opened.is_lost())
    }

    /// A packet has begun and is not complete.
    fn is_within(&self, compressed: bool) -> bool {
        self.packets.is_within() || (compressed && self.opened.is_within())
    }

    fn shrink(&mut self) {
        self.opened.shrink();
        self.packets.shrink();
    }

    fn held(&self) -> usize {
        self.stream.held() + self.opened.held() + self.packets.held()
    }
}

/// Which sides will send no more.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ended {
    client: bool,
    server: bool,
}

impl Ended {
    pub(super) fn set(&mut self, to_server: bool) {
        if to_server {
            self.client = true;
        } else {
            self.server = true;
        }
    }

    pub(super) fn has(self, to_server: bool) -> bool {
        if to_server { self.client } else { self.server }
    }

    pub(super) fn both(self) -> bool {
        self.client && self.server
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    number: u64,
    client: SocketAddr,
    phase: Phase,
    id: Option<u32>,
    user: Option<Arc<str>>,
    database: Option<Arc<str>>,
    program: Option<Arc<str>>,
    server_capabilities: u32,
    /// Of the client; absent when the handshake was not seen.
    capabilities: Option<u32>,
    query_attributes: Option<bool>,
    compressed: bool,
    guessed: bool,
    to_server: Side,
    to_client: Side,
    /// Statements without a complete answer, the oldest first.
    queue: VecDeque<Pending>,
    /// Texts of prepared statements by their id.
    prepared: HashMap<u32, Arc<[u8]>>,
    last_prepared: Option<Arc<[u8]>>,
    /// The client sends a file.
    sends_file: bool,
    /// The server describes a statement that it has prepared.
    definitions_follow: bool,
    /// When something was last seen that came after bytes from the server that are missing.
    missing_us: Option<i64>,
    /// Bytes from the client since its last request.
    bytes_in: u64,
    /// What was last told of [`Side::held`].
    counted: usize,
    pub(super) ended: Ended,
}

impl Connection {
    pub(super) fn new(number: u64, client: SocketAddr, from_beginning: bool) -> Self {
        Self {
            number,
            client,
            phase: if from_beginning {
                Phase::Greeting
            } else {
                Phase::Unknown
            },
            id: None,
            user: None,
            database: None,
            program: None,
            server_capabilities: 0,
            capabilities: None,
            query_attributes: None,
            compressed: false,
            guessed: false,
            to_server: Side::default(),
            to_client: Side::default(),
            queue: VecDeque::new(),
            prepared: HashMap::new(),
            last_prepared: None,
            sends_file: false,
            definitions_follow: false,
            missing_us: None,
            bytes_in: 0,
            counted: 0,
            ended: Ended::default(),
        }
    }

    /// Its beginning was not seen.
    pub(super) fn is_from_before(&self) -> bool {
        self.phase == Phase::Unknown || self.guessed
    }

    /// Takes what the server tells of it; what was seen since stays.
    pub(super) fn know(&mut self, known: PriorConnection, shared: &mut Shared) {
        shared.connections.named += u64::from(known.user.is_some());
        self.id = self.id.or(Some(known.id));
        self.user = self.user.take().or(known.user);
        self.database = self.database.take().or(known.database);
        for (id, text) in known.prepared {
            if self.prepared.len() >= PREPARED_MAX || shared.is_scarce() {
                return;
            }
            if let Entry::Vacant(place) = self.prepared.entry(id) {
                shared.hold(text.len());
                shared.connections.prepared += 1;
                place.insert(text.into());
            }
        }
    }

    fn side(&mut self, to_server: bool) -> &mut Side {
        if to_server {
            &mut self.to_server
        } else {
            &mut self.to_client
        }
    }

    /// The first byte of a direction has the number after this one.
    pub(super) fn begin(&mut self, to_server: bool, syn: u32) {
        self.side(to_server).stream.start(syn);
    }

    /// A segment with bytes.
    pub(super) fn segment(
        &mut self,
        to_server: bool,
        (sequence, at_us): (u32, i64),
        bytes: &[u8],
        length: u32,
        shared: &mut Shared,
        each: &mut Each<'_>,
    ) {
        let mut stream = std::mem::take(&mut self.side(to_server).stream);
        let may_wait = !shared.is_scarce();
        stream.segment((sequence, at_us), bytes, length, may_wait, &mut |arrival| {
            self.arrival(to_server, arrival, shared, each)
        });
        self.side(to_server).stream = stream;
        self.side(to_server).shrink();
        self.count(shared);
    }

    /// A segment from the other side says what this side's receiver has.
    pub(super) fn acknowledged(
        &mut self,
        to_server: bool,
        (acknowledged, at_us): (u32, i64),
        shared: &mut Shared,
        each: &mut Each<'_>,
    ) {
        let mut stream = std::mem::take(&mut self.side(to_server).stream);
        stream.acknowledged(acknowledged, at_us, &mut |arrival| {
            self.arrival(to_server, arrival, shared, each);
        });
        self.side(to_server).stream = stream;
    }

    /// The end: what waits is handed over as it is.
    pub(super) fn finish(&mut self, shared: &mut Shared, each: &mut Each<'_>) {
        for to_server in [true, false] {
            let mut stream = std::mem::take(&mut self.side(to_server).stream);
            stream.finish(&mut |arrival| self.arrival(to_server, arrival, shared, each));
        }
        while let Some(pending) = self.queue.pop_front() {
            self.hand_over(pending, shared, each);
        }
        let prepared: usize = self.prepared.values().map(|text| text.len()).sum();
        shared.release(prepared + self.counted);
        self.prepared.clear();
        self.counted = 0;
    }

    fn count(&mut self, shared: &mut Shared) {
        let now = self.to_server.held() + self.to_client.held();
        shared.release(self.counted);
        shared.hold(now);
        self.counted = now;
    }

    fn arrival(
        &mut self,
        to_server: bool,
        arrival: Arrival<'_>,
        shared: &mut Shared,
        each: &mut Each<'_>,
    ) {
        let bytes = match arrival.piece {
            StreamItem::Bytes(bytes) => bytes.len() as u64,
            StreamItem::Gap(count) => count,
        };
        if !to_server && matches!(arrival.piece, StreamItem::Gap(_)) {
            self.missing_us = Some(arrival.at_us.saturating_add(1));
        }
        if self.phase == Phase::Unknown {
            self.look(to_server, arrival, shared);
        }
        shared.connections.bytes += bytes;
        if self.compressed {
            shared.connections.bytes_compressed += bytes;
        }
        if matches!(self.phase, Phase::Unknown | Phase::PassedOver) {
            return;
        }
        if to_server {
            self.bytes_in += bytes;
            if self.to_server.is_lost(self.compressed) && !self.find_request(arrival) {
                return;
            }
        } else {
            self.answer_arrives(arrival.at_us, bytes);
        }
        if self.compressed {
            self.open(to_server, arrival, shared, each);
        } else {
            self.plain(to_server, arrival.piece, arrival.at_us, shared, each);
        }
    }

    /// What a connection is that was open before.
    fn look(&mut self, to_server: bool, arrival: Arrival<'_>, shared: &mut Shared) {
        let (StreamItem::Bytes(bytes), Some(segment)) = (arrival.piece, arrival.segment) else {
            return;
        };
        if !to_server {
            if guess::is_greeting(bytes) {
                self.phase = Phase::Greeting;
                self.to_client.resume();
                self.to_server.resume();
            }
            return;
        }
        match guess::guess(bytes, segment) {
            Guess::Unclear => return,
            Guess::Tls => {
                self.phase = Phase::PassedOver;
                shared.connections.tls += 1;
                return;
            }
            Guess::Plain => {}
            Guess::Compressed => {
                self.compressed = true;
                shared.connections.compressed += 1;
            }
        }
        self.phase = Phase::Commands;
        self.guessed = true;
        shared.connections.guessed += 1;
        self.to_server.resume();
        self.to_client.lose();
    }

    /// After a loss, reading goes on where a request begins with its segment.
    fn find_request(&mut self, arrival: Arrival<'_>) -> bool {
        let (StreamItem::Bytes(bytes), Some(segment)) = (arrival.piece, arrival.segment) else {
            return false;
        };
        let wanted = if self.compressed {
            Guess::Compressed
        } else {
            Guess::Plain
        };
        if self.phase != Phase::Commands || guess::guess(bytes, segment) != wanted {
            return false;
        }
        self.to_server.resume();
        self.sends_file = false;
        true
    }

    /// Something comes from the server.
    fn answer_arrives(&mut self, at_us: i64, bytes: u64) {
        if let Some(front) = self.queue.front_mut() {
            front.first_us.get_or_insert(at_us);
            front.last_us = Some(at_us);
            front.bytes_out += bytes;
        } else if self.phase == Phase::Commands && self.to_server.is_within(self.compressed) {
            // A server does not answer half a request: its place was wrong.
            self.to_server.lose();
        }
    }

    /// The compressed protocol.
    fn open(
        &mut self,
        to_server: bool,
        arrival: Arrival<'_>,
        shared: &mut Shared,
        each: &mut Each<'_>,
    ) {
        let mut piece = arrival.piece;
        let mut opener = shared.opener.take().unwrap_or_default();
        let mut reader = std::mem::take(&mut self.side(to_server).opened);
        loop {
            match reader.feed(&mut piece, shared.compressed_bytes_max()) {
                FramingStep::More => break,
                FramingStep::Lost => {
                    self.lost(to_server);
                    break;
                }
                FramingStep::Whole => {
                    let (bytes, missing) = opener.open(&reader);
                    let at_us = arrival.at_us;
                    self.plain(to_server, StreamItem::Bytes(bytes), at_us, shared, each);
                    self.plain(to_server, StreamItem::Gap(missing), at_us, shared, each);
                }
            }
        }
        // Set back meanwhile, perhaps: the place in the stream is the one of the reader that was read with.
        let meanwhile = std::mem::replace(&mut self.side(to_server).opened, reader);
        if meanwhile.is_lost() {
            self.side(to_server).opened.lose();
        }
        shared.opener = Some(opener);
    }

    fn plain(
        &mut self,
        to_server: bool,
        mut piece: StreamItem<'_>,
        at_us: i64,
        shared: &mut Shared,
        each: &mut Each<'_>,
    ) {
        let keep = if to_server {
            shared.statement_bytes_max()
        } else {
            REPLY_BYTES_MAX
        };
        loop {
            match self.side(to_server).packets.feed(&mut piece, keep) {
                FramingStep::More => return,
                FramingStep::Lost => return self.lost(to_server),
                FramingStep::Whole if to_server => self.client_packet(at_us, shared, each),
                FramingStep::Whole => self.server_packet(at_us, shared, each),
            }
        }
    }

    /// The place in a direction is not known any more.
    fn lost(&mut self, to_server: bool) {
        self.side(to_server).lose();
        if !to_server {
            for pending in &mut self.queue {
                pending.blurred = true;
            }
        }
    }
}
