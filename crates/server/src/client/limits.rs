//! What is taken from a server at most. Nothing is allocated by a number that it sent: memory grows with the bytes that
//! have arrived, up to these.

/// Bytes of one packet, its parts together. An InnoDB status has 1 MiB at most, a row of a processlist less.
pub(super) const PACKET_BYTES_MAX: usize = 16 << 20;

/// Bytes of everything that is sent before we are logged in. The longest of it is a public key, a few hundred bytes.
pub(super) const LOGIN_BYTES_MAX: usize = 64 << 10;

/// Bytes of one answer. The status of every thread of a server with 20,000 sessions has a third of it.
pub(super) const ANSWER_BYTES_MAX: usize = 128 << 20;

/// Bytes that the rows of one answer occupy here. The digests of performance_schema, 10,000 classes of up to 1 KiB with
/// forty numbers, are the largest that is asked for, half of it.
pub(super) const KEPT_BYTES_MAX: usize = 48 << 20;

/// Rows of one answer, those that are not kept included.
pub(super) const ROWS_MAX: usize = 2_000_000;

/// Columns of one answer. The widest that is asked for, the status of a replica, has about a hundred.
pub(super) const COLUMNS_MAX: u64 = 1000;

/// Bytes of the name of a column: 256 characters in every server (`MAX_ALIAS_NAME`), of 4 bytes.
pub(super) const NAME_BYTES_MAX: usize = 1024;

/// Characters of an error's text that are kept. Servers cut theirs at 512 bytes (`MYSQL_ERRMSG_SIZE`).
pub(super) const ERROR_CHARS_MAX: usize = 512;

/// Bytes of a statement of ours.
pub(super) const STATEMENT_BYTES_MAX: usize = 1 << 20;

/// Packets of the server until we are logged in or not: a plugin that is not the first, a full round of
/// caching_sha2_password, and room for a plugin that falls back to a second one.
pub(super) const LOGIN_ROUNDS_MAX: usize = 10;
