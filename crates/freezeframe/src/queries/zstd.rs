//! zstd files: frames one after the other, some of which are to be skipped (RFC 8878).

use std::io::{self, Cursor, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The largest window that is unpacked. `zstd` writes up to 8 MiB unless it is told `--ultra` or `--long`.
const WINDOW_BYTES_MAX: u64 = 32 << 20;

/// Bytes that are unpacked before they are handed on.
const AT_ONCE: usize = 256 << 10;

/// Unpacks what it reads.
pub(crate) struct Zstd<R: Read> {
    source: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: Read> Zstd<R> {
    pub(crate) fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_BYTES_MAX);
        Self {
            source,
            decoder,
            is_in_frame: false,
        }
    }

    /// Whether there is one more frame.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            let mut first = [0; 1];
            if self.source.read(&mut first)? == 0 {
                return Ok(false);
            }
            let mut source = Cursor::new(first).chain(&mut self.source);
            match self.decoder.reset(&mut source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut source.take(u64::from(length)), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    fn check_sum(&self) -> io::Result<()> {
        match (
            self.decoder.get_checksum_from_data(),
            self.decoder.get_calculated_checksum(),
        ) {
            (Some(written), Some(found)) if written != found => Err(io::Error::other(
                "the zstd checksum is wrong: the file is damaged",
            )),
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if self.is_in_frame && self.decoder.can_collect() > 0 {
                return self.decoder.read(out);
            }
            if self.is_in_frame && self.decoder.is_finished() {
                self.check_sum()?;
                self.is_in_frame = false;
            } else if self.is_in_frame {
                let strategy = BlockDecodingStrategy::UptoBytes(AT_ONCE);
                self.decoder
                    .decode_blocks(&mut self.source, strategy)
                    .map_err(io::Error::other)?;
            } else if self.next_frame()? {
                self.is_in_frame = true;
            } else {
                return Ok(0);
            }
        }
    }
}
