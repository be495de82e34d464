//! Both sides of a connection as they would be on the wire, and what a decoder makes of their segments.

use std::io::Write;
use std::net::SocketAddr;

use server::wire::{Connections, Decoder, Segment, Statement, StatementKind};

pub(crate) const CONNECT_WITH_DB: u32 = 1 << 3;
pub(crate) const COMPRESS: u32 = 1 << 5;
pub(crate) const PROTOCOL_41: u32 = 1 << 9;
pub(crate) const SSL: u32 = 1 << 11;
pub(crate) const SECURE_CONNECTION: u32 = 1 << 15;
pub(crate) const CONNECT_ATTRIBUTES: u32 = 1 << 20;
pub(crate) const QUERY_ATTRIBUTES: u32 = 1 << 27;

/// A stretch of bytes of one side. What one side sends is sent after what the other sent before.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) to_server: bool,
    pub(crate) bytes: Vec<u8>,
}

/// A packet of the protocol.
pub(crate) fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(sequence);
    bytes.extend(payload);
    bytes
}

/// A compressed packet, as clients and servers make them.
pub(crate) fn compressed(sequence: u8, plain: &[u8]) -> Vec<u8> {
    let (length, body) = if plain.len() < 50 {
        (0, plain.to_vec())
    } else {
        let level = flate2::Compression::default();
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
        encoder.write_all(plain).unwrap();
        (plain.len(), encoder.finish().unwrap())
    };
    let mut bytes = (body.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(sequence);
    bytes.extend(&(length as u32).to_le_bytes()[..3]);
    bytes.extend(body);
    bytes
}

/// A connection under construction.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) said: Vec<Said>,
    compressed: bool,
}

pub(crate) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
pub(crate) const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
pub(crate) const COLUMN: &[u8] =
    b"\x03def\x02ff\x01t\x01t\x01c\x01c\x0c\x21\0\x58\x02\0\0\xfd\0\0\0\0\0";

impl Conversation {
    /// Greeting and login of `shop` in the database `orders`.
    pub(crate) fn login(capabilities: u32) -> Self {
        let mut conversation = Self::default();
        let mut greeting = b"\x0a8.4.0\0".to_vec();
        greeting.extend(77_u32.to_le_bytes());
        greeting.extend(b"12345678\0\xff\xff\x21\x02\0\xff\xff\x15");
        greeting.extend([0; 10]);
        greeting.extend(b"123456789012\0caching_sha2_password\0");
        conversation.server(&[&packet(0, &greeting)]);
        let capabilities = capabilities | PROTOCOL_41 | SECURE_CONNECTION | CONNECT_WITH_DB;
        let mut login = (capabilities | CONNECT_ATTRIBUTES).to_le_bytes().to_vec();
        login.extend([0; 28]);
        login.extend(b"shop\0\x03pwdorders\0\x16\x0cprogram_name\x08checkout");
        conversation.client(&packet(1, &login));
        conversation.server(&[&packet(2, b"\x01\x03"), &packet(3, OK)]);
        conversation.compressed = capabilities & COMPRESS != 0;
        conversation
    }

    pub(crate) fn client(&mut self, bytes: &[u8]) {
        self.say(true, bytes);
    }

    pub(crate) fn server(&mut self, packets: &[&[u8]]) {
        self.say(false, &packets.concat());
    }

    fn say(&mut self, to_server: bool, bytes: &[u8]) {
        let bytes = if self.compressed {
            compressed(u8::from(!to_server), bytes)
        } else {
            bytes.to_vec()
        };
        self.said.push(Said { to_server, bytes });
    }

    /// A request with its answer.
    pub(crate) fn ask(&mut self, payload: &[u8], answer: &[&[u8]]) {
        self.client(&packet(0, payload));
        let packets: Vec<Vec<u8>> = answer
            .iter()
            .enumerate()
            .map(|(index, payload)| packet((index as u8).wrapping_add(1), payload))
            .collect();
        if !packets.is_empty() {
            let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
            self.server(&packets);
        }
    }

    /// A statement that brings so many rows.
    pub(crate) fn select(&mut self, sql: &str, rows: usize) {
        let payload = [b"\x03", sql.as_bytes()].concat();
        let row = b"\x1fa value of thirty-one characters";
        let mut answer: Vec<&[u8]> = vec![&[1], COLUMN, EOF];
        answer.extend(std::iter::repeat_n(&row[..], rows));
        answer.push(EOF);
        self.ask(&payload, &answer);
    }
}

/// A segment on the wire.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) to_server: bool,
    pub(crate) sequence: u32,
    pub(crate) acknowledged: u32,
    pub(crate) bytes: Vec<u8>,
    /// Bytes that were not copied.
    pub(crate) cut: usize,
}

/// The segments of a conversation: pieces of `size(n)` bytes for the n-th.
pub(crate) fn segments(said: &[Said], size: &mut dyn FnMut() -> usize) -> Vec<Sent> {
    // The client's numbers go past zero.
    let (mut client, mut server) = (u32::MAX - 100, 5_000_u32);
    let mut all = Vec::new();
    for one in said {
        let mut rest = &one.bytes[..];
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(size().clamp(1, rest.len()));
            let (sequence, acknowledged) = if one.to_server {
                (client, server)
            } else {
                (server, client)
            };
            all.push(Sent {
                to_server: one.to_server,
                sequence,
                acknowledged,
                bytes: piece.to_vec(),
                cut: 0,
            });
            let own = if one.to_server {
                &mut client
            } else {
                &mut server
            };
            *own = own.wrapping_add(piece.len() as u32);
            rest = after;
        }
    }
    all
}

/// What a decoder told of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) kind: StatementKind,
    pub(crate) text: String,
    pub(crate) user: Option<String>,
    pub(crate) database: Option<String>,
    pub(crate) program: Option<String>,
    pub(crate) error: Option<u16>,
    pub(crate) rows: Option<u64>,
    pub(crate) affected: Option<u64>,
    pub(crate) compressed: bool,
    pub(crate) guessed: bool,
    pub(crate) cut: bool,
    pub(crate) answered: bool,
}

impl Told {
    fn of(statement: &Statement<'_>) -> Self {
        Self {
            kind: statement.kind,
            text: String::from_utf8_lossy(statement.text).into_owned(),
            user: statement.user.map(str::to_owned),
            database: statement.database.map(str::to_owned),
            program: statement.program.map(str::to_owned),
            error: statement.error,
            rows: statement.rows,
            affected: statement.affected,
            compressed: statement.compressed,
            guessed: statement.guessed,
            cut: statement.cut,
            answered: statement.response_us.is_some(),
        }
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A segment as a decoder takes it.
pub(crate) fn segment(sent: &Sent, at_us: i64) -> Segment<'_> {
    Segment {
        at_us,
        client: address("10.0.0.5:45000"),
        server: address("10.0.0.9:3306"),
        to_server: sent.to_server,
        sequence: sent.sequence,
        acknowledged: Some(sent.acknowledged),
        syn: false,
        fin: false,
        rst: false,
        payload: &sent.bytes,
        length: (sent.bytes.len() + sent.cut) as u32,
    }
}

/// What a decoder makes of segments; with the opening of the connection before them where it was seen.
pub(crate) fn decode(sent: &[Sent], from_beginning: bool) -> (Vec<Told>, Connections) {
    let mut decoder = Decoder::new();
    let mut told = Vec::new();
    let mut each = |statement: &Statement<'_>| told.push(Told::of(statement));
    if from_beginning {
        for (to_server, sequence) in [(true, u32::MAX - 101), (false, 4_999)] {
            let opening = Sent {
                to_server,
                sequence,
                acknowledged: u32::MAX - 100,
                bytes: Vec::new(),
                cut: 0,
            };
            let opening = Segment {
                syn: true,
                acknowledged: (!to_server).then_some(u32::MAX - 100),
                ..segment(&opening, 0)
            };
            decoder.segment(&opening, &mut each);
        }
    }
    for (index, one) in sent.iter().enumerate() {
        decoder.segment(&segment(one, index as i64 * 10), &mut each);
    }
    decoder.finish(&mut each);
    assert_eq!(decoder.held_bytes(), 0, "what was kept is given back");
    (told, decoder.connections())
}
