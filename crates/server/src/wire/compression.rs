//! The compressed protocol: three bytes of length, one of sequence, three of the length before compression (0 where it was
//! not compressed: less than 50 bytes), then zlib's or zstd's bytes. What comes out is the plain protocol's stream.

use flate2::{Decompress, FlushDecompress, Status};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::Read;

use super::framing::{FramingReader, length_in};
use super::limits::{OPENED_BYTES_MAX, ZSTD_WINDOW_MAX};

/// Of 128 KiB each: one alone is usual.
const ZSTD_BLOCKS_MAX: usize = 64;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Cuts a compressed stream into its packets: the compressed bytes, and how many they were before.
pub(super) type CompressedReader = FramingReader<7>;

/// Opens compressed packets; one for all connections, since nothing goes on from one packet to the next.
pub(super) struct Decompressor {
    zlib: Decompress,
    zstd: FrameDecoder,
    output: Vec<u8>,
}

impl Default for Decompressor {
    fn default() -> Self {
        let mut zstd = FrameDecoder::new();
        zstd.set_max_window_size(ZSTD_WINDOW_MAX);
        Self {
            zlib: Decompress::new(true),
            zstd,
            output: Vec::new(),
        }
    }
}

impl Decompressor {
    /// The packet that a reader has just completed: the bytes that come out, and how many more there were.
    pub(super) fn open<'a>(&'a mut self, reader: &'a CompressedReader) -> (&'a [u8], u64) {
        let (packet, header) = (&reader.kept, reader.header());
        let [_, _, _, _, before @ ..] = header;
        let plain_length = length_in(&before);
        if plain_length == 0 {
            let length = u64::from(length_in(&header));
            return (packet, length.saturating_sub(packet.len() as u64));
        }
        let wanted = (plain_length as usize).min(OPENED_BYTES_MAX);
        self.output.clear();
        if packet.starts_with(&ZSTD_MAGIC) {
            self.open_zstd(packet, wanted);
        } else {
            self.open_zlib(packet, wanted);
        }
        let missing = u64::from(plain_length).saturating_sub(self.output.len() as u64);
        (&self.output, missing)
    }

    /// As much as comes out: bytes may be missing at the end.
    fn open_zlib(&mut self, packet: &[u8], wanted: usize) {
        self.zlib.reset(true);
        // Not `decompress_vec`: that clears all the room that a larger packet has left.
        self.output.resize(wanted, 0);
        let mut rest = packet;
        let mut filled = 0;
        while let Some(room) = self
            .output
            .get_mut(filled..)
            .filter(|room| !room.is_empty())
        {
            let (before_in, before_out) = (self.zlib.total_in(), self.zlib.total_out());
            let status = self.zlib.decompress(rest, room, FlushDecompress::Sync);
            let taken = (self.zlib.total_in() - before_in) as usize;
            let made = (self.zlib.total_out() - before_out) as usize;
            rest = rest.get(taken..).unwrap_or_default();
            filled += made;
            if !matches!(status, Ok(Status::Ok)) || (taken == 0 && made == 0) {
                break;
            }
        }
        self.output.truncate(filled);
    }

    fn open_zstd(&mut self, packet: &[u8], wanted: usize) {
        let mut rest = packet;
        if self.zstd.reset(&mut rest).is_err() {
            return;
        }
        // Of a frame that is not whole, what its window may still need does not come out.
        while !self.zstd.is_finished()
            && self.zstd.can_collect() < wanted
            && self.zstd.blocks_decoded() < ZSTD_BLOCKS_MAX
        {
            let strategy = BlockDecodingStrategy::UptoBlocks(1);
            if self.zstd.decode_blocks(&mut rest, strategy).is_err() {
                break;
            }
        }
        self.output.resize(wanted, 0);
        let mut filled = 0;
        while let Some(room) = self
            .output
            .get_mut(filled..)
            .filter(|room| !room.is_empty())
        {
            match self.zstd.read(room) {
                Ok(0) | Err(_) => break,
                Ok(read) => filled += read,
            }
        }
        self.output.truncate(filled);
    }
}

/// The bytes of a packet that was compressed begin as zlib's or zstd's do (RFC 1950, RFC 8878).
pub(super) fn has_magic(payload: &[u8]) -> bool {
    let zlib = match payload {
        [0x78, flags, ..] => (0x7800 + u16::from(*flags)) % 31 == 0,
        _ => false,
    };
    zlib || payload.starts_with(&ZSTD_MAGIC)
}

#[cfg(test)]
mod tests {
    use super::super::framing::FramingStep;
    use super::super::limits::COMPRESSED_BYTES_MAX;
    use super::super::stream::StreamItem;
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use std::io::Write;

    fn zlib(plain: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(plain: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(plain, ruzstd::encoding::CompressionLevel::Fastest)
    }

    fn packet(plain_length: usize, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
        bytes.push(0);
        bytes.extend(&(plain_length as u32).to_le_bytes()[..3]);
        bytes.extend(payload);
        bytes
    }

    fn open(pieces: &[StreamItem<'_>]) -> Vec<(Vec<u8>, u64)> {
        let (mut reader, mut opener) = (CompressedReader::default(), Decompressor::default());
        let mut all = Vec::new();
        for piece in pieces {
            let mut piece = *piece;
            while reader.feed(&mut piece, COMPRESSED_BYTES_MAX) == FramingStep::Whole {
                let (bytes, missing) = opener.open(&reader);
                all.push((bytes.to_vec(), missing));
            }
        }
        all
    }

    #[test]
    fn packets_of_each_kind_at_any_cut() {
        let plain: Vec<u8> = (0..3000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let stream = [
            packet(0, b"short"),
            packet(plain.len(), &zlib(&plain)),
            packet(plain.len(), &zstd(&plain)),
        ]
        .concat();
        let expected = [
            (b"short".to_vec(), 0),
            (plain.clone(), 0),
            (plain.clone(), 0),
        ];
        for cut in 0..stream.len() {
            let (first, second) = stream.split_at(cut);
            assert_eq!(
                open(&[StreamItem::Bytes(first), StreamItem::Bytes(second)]),
                expected
            );
        }
        assert!(has_magic(&zlib(&plain)) && has_magic(&zstd(&plain)));
        assert!(!has_magic(b"select") && !has_magic(b"x"));
    }

    #[test]
    fn the_beginning_of_a_packet_is_opened_when_the_rest_is_missing() {
        let plain: Vec<u8> = (0..20_000_u32)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        let packed = packet(plain.len(), &zlib(&plain));
        let pieces = [
            StreamItem::Bytes(&packed[..2000]),
            StreamItem::Gap(packed.len() as u64 - 2000),
        ];
        let all = open(&pieces);
        assert_eq!(all.len(), 1);
        let (bytes, missing) = &all[0];
        assert!(bytes.len() > 1000 && plain.starts_with(bytes));
        assert_eq!(bytes.len() as u64 + missing, plain.len() as u64);
        // Of zstd whole frames come out, and of others nothing.
        let packed = packet(plain.len(), &zstd(&plain));
        let pieces = [
            StreamItem::Bytes(&packed[..2000]),
            StreamItem::Gap(packed.len() as u64 - 2000),
        ];
        let (bytes, missing) = &open(&pieces)[0];
        assert_eq!(bytes.len() as u64 + missing, plain.len() as u64);
    }

    #[test]
    fn a_packet_that_becomes_more_than_it_says_is_cut() {
        let plain = vec![0; 4 << 20];
        for packed in [zlib(&plain), zstd(&plain)] {
            let all = open(&[StreamItem::Bytes(&packet(1000, &packed))]);
            assert_eq!((all[0].0.len(), all[0].1), (1000, 0));
            let all = open(&[StreamItem::Bytes(&packet(plain.len(), &packed))]);
            assert_eq!(all[0].0.len(), OPENED_BYTES_MAX);
        }
        for garbage in [
            &b"x\x9cgarbage"[..],
            &[0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3],
            b"",
            b"x",
        ] {
            let all = open(&[StreamItem::Bytes(&packet(100, garbage))]);
            assert_eq!(all[0].0.len() as u64 + all[0].1, 100);
        }
    }
}
