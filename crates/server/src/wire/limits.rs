//! What a decoder keeps at most, whatever it is given.

/// Connections at a time. The segments of further ones are passed over and counted.
pub const CONNECTIONS_MAX: usize = 20_000;

/// Bytes of a statement that are kept; the rest is passed over and the statement marked as cut. Enough for fingerprints,
/// which end at 2 KiB, with long lists in between.
pub const STATEMENT_BYTES_MAX: usize = 16 << 10;

/// Bytes of a statement that are kept while more than [`BUFFERED_BYTES_MAX`] are.
pub(super) const STATEMENT_BYTES_SCARCE: usize = 256;

/// Bytes of all statements without an answer, of prepared statements and of segments that wait for an earlier one.
pub const BUFFERED_BYTES_MAX: usize = 32 << 20;

/// Statements of one connection that wait for their answers.
pub const PIPELINE_MAX: usize = 64;

/// Prepared statements of one connection whose text is kept. What executes a further one has no text.
pub const PREPARED_MAX: usize = 1024;

/// Segments of one direction that wait for an earlier one, before that one is taken for lost.
pub const SEGMENTS_WAITING_MAX: usize = 64;

/// Bytes of them.
pub(super) const WAITING_BYTES_MAX: usize = 256 << 10;

/// Bytes of one compressed packet that are kept; of a longer one only the beginning is opened.
pub(super) const COMPRESSED_BYTES_MAX: usize = 32 << 10;

/// Likewise while more than [`BUFFERED_BYTES_MAX`] are kept in all.
pub(super) const COMPRESSED_BYTES_SCARCE: usize = 1 << 10;

/// Room that a connection keeps between two packets.
pub(super) const IDLE_BYTES_MAX: usize = 2 << 10;

/// Bytes that one compressed packet may become.
pub(super) const OPENED_BYTES_MAX: usize = 64 << 10;

/// The window of a zstd frame: the largest of the levels that are in use (level 3: 2 MiB) with room.
pub(super) const ZSTD_WINDOW_MAX: u64 = 8 << 20;

/// Bytes of a packet from the server that are kept: a greeting is the longest that is read.
pub(super) const REPLY_BYTES_MAX: usize = 256;

/// Bytes of a name (user, database, program) that are kept.
pub(super) const NAME_BYTES_MAX: usize = 256;
