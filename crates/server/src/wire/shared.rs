//! What the connections of a decoder have in common: what was met, and how much may be kept.

use super::compression::Decompressor;
use super::limits::{
    BUFFERED_BYTES_MAX, COMPRESSED_BYTES_MAX, COMPRESSED_BYTES_SCARCE, STATEMENT_BYTES_MAX,
    STATEMENT_BYTES_SCARCE,
};

/// What connections a decoder has met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Connections {
    /// Connections of which anything was seen.
    pub seen: u64,
    /// By the compressed protocol.
    pub compressed: u64,
    /// Encrypted: nothing of them was read.
    pub tls: u64,
    /// Open before; decoded by guessing.
    pub guessed: u64,
    /// Those of them whose user and database the server told; see [`Decoder::know`].
    pub named: u64,
    /// Statements whose text it told likewise.
    pub prepared: u64,
    /// Of replicas, once they have asked for events: nothing more of them was read.
    pub replication: u64,
    /// Segments with bytes of connections over [`CONNECTIONS_MAX`].
    pub segments_left_out: u64,
    /// Bytes in both directions, those of TCP's headers not counted.
    pub bytes: u64,
    /// Those of them on compressed connections.
    pub bytes_compressed: u64,
}

/// What all connections share.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) connections: Connections,
    pub(super) opener: Option<Box<Decompressor>>,
    pub(super) held: usize,
}

impl Shared {
    pub(super) fn hold(&mut self, bytes: usize) {
        self.held += bytes;
    }

    pub(super) fn release(&mut self, bytes: usize) {
        self.held = self.held.saturating_sub(bytes);
    }

    /// So much is kept that no more than the beginnings of statements are.
    pub(super) fn is_scarce(&self) -> bool {
        self.held > BUFFERED_BYTES_MAX
    }

    pub(super) fn statement_bytes_max(&self) -> usize {
        if self.is_scarce() {
            STATEMENT_BYTES_SCARCE
        } else {
            STATEMENT_BYTES_MAX
        }
    }

    pub(super) fn compressed_bytes_max(&self) -> usize {
        if self.is_scarce() {
            COMPRESSED_BYTES_SCARCE
        } else {
            COMPRESSED_BYTES_MAX
        }
    }
}
