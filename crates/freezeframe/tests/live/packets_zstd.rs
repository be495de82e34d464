//! A client that speaks the zstd-compressed protocol, as much of it as a test needs: nothing here has one.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

// include/mysql_com.h
const PROTOCOL_41: u32 = 1 << 9;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_RESULTS: u32 = 1 << 17;
const PLUGIN_AUTH: u32 = 1 << 19;
const CONNECT_ATTRIBUTES: u32 = 1 << 20;
const DEPRECATE_EOF: u32 = 1 << 24;
const ZSTD: u32 = 1 << 26;
const QUERY_ATTRIBUTES: u32 = 1 << 27;

/// As the server: shorter packets are not compressed.
const COMPRESSED_FROM: usize = 50;

/// A connection of a user without a password.
pub(crate) struct ZstdClient {
    stream: TcpStream,
    /// Bytes of the plain protocol that were not looked at yet.
    plain: Vec<u8>,
    compressed_sequence: u8,
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(sequence);
    bytes.extend(payload);
    bytes
}

impl ZstdClient {
    pub(crate) fn connect(port: u16, user: &str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let greeting = read_packet(&mut stream);
        assert_eq!(greeting[0], 10);
        let capabilities = PROTOCOL_41
            | TRANSACTIONS
            | SECURE_CONNECTION
            | MULTI_RESULTS
            | PLUGIN_AUTH
            | CONNECT_ATTRIBUTES
            | DEPRECATE_EOF
            | ZSTD
            | QUERY_ATTRIBUTES;
        let mut login = capabilities.to_le_bytes().to_vec();
        login.extend((1_u32 << 24).to_le_bytes());
        login.push(45);
        login.extend([0; 23]);
        login.extend(user.as_bytes());
        login.extend(b"\0\0caching_sha2_password\0");
        login.extend(b"\x1a\x0cprogram_name\x0czstd-example");
        login.push(3);
        stream.write_all(&packet(1, &login)).unwrap();
        let answer = read_packet(&mut stream);
        assert_eq!(answer[0], 0, "{}", String::from_utf8_lossy(&answer));
        Self {
            stream,
            plain: Vec::new(),
            compressed_sequence: 0,
        }
    }

    /// A statement with an attribute; the payloads of the answer's packets.
    pub(crate) fn query(&mut self, sql: &str) -> Vec<Vec<u8>> {
        let mut payload = b"\x03\x01\x01\0\x01\xfe\0\x05trace\x03abc".to_vec();
        payload.extend(sql.as_bytes());
        self.send(&payload);
        self.answer()
    }

    pub(crate) fn quit(mut self) {
        self.send(b"\x01");
        // The server closes.
        let _ = self.stream.read(&mut [0; 16]);
    }

    fn send(&mut self, payload: &[u8]) {
        let plain = packet(0, payload);
        let (length, body) = if plain.len() < COMPRESSED_FROM {
            (0, plain)
        } else {
            let body = compress_to_vec(&plain[..], CompressionLevel::Fastest);
            (plain.len(), body)
        };
        let mut bytes = (body.len() as u32).to_le_bytes()[..3].to_vec();
        bytes.push(0);
        bytes.extend(&(length as u32).to_le_bytes()[..3]);
        bytes.extend(body);
        self.stream.write_all(&bytes).unwrap();
        self.compressed_sequence = 1;
    }

    /// Up to the end of a single result.
    fn answer(&mut self) -> Vec<Vec<u8>> {
        let mut packets: Vec<Vec<u8>> = Vec::new();
        loop {
            let next = self.next_packet();
            let ends = match (packets.len(), next[0]) {
                (0, 0) | (_, 0xff) => true,
                (0, _) => false,
                (_, first) => first == 0xfe,
            };
            packets.push(next);
            if ends {
                return packets;
            }
        }
    }

    fn next_packet(&mut self) -> Vec<u8> {
        loop {
            if let Some(header) = self.plain.get(..4) {
                let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
                if self.plain.len() >= 4 + length {
                    let rest = self.plain.split_off(4 + length);
                    let packet = std::mem::replace(&mut self.plain, rest);
                    return packet[4..].to_vec();
                }
            }
            self.open_next();
        }
    }

    fn open_next(&mut self) {
        let mut header = [0; 7];
        self.stream.read_exact(&mut header).unwrap();
        let [a, b, c, sequence, d, e, f] = header;
        assert_eq!(sequence, self.compressed_sequence);
        self.compressed_sequence = sequence.wrapping_add(1);
        let mut body = vec![0; u32::from_le_bytes([a, b, c, 0]) as usize];
        self.stream.read_exact(&mut body).unwrap();
        match u32::from_le_bytes([d, e, f, 0]) as usize {
            0 => self.plain.extend(body),
            length => {
                let mut decoder = ruzstd::decoding::StreamingDecoder::new(&body[..]).unwrap();
                let before = self.plain.len();
                decoder.read_to_end(&mut self.plain).unwrap();
                assert_eq!(self.plain.len() - before, length);
            }
        }
    }
}

fn read_packet(stream: &mut TcpStream) -> Vec<u8> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
    stream.read_exact(&mut payload).unwrap();
    payload
}
