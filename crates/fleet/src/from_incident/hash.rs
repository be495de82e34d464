//! Hashes of things: the first bytes of a SHA-256 over their parts, each with its length before it.

use sha2::{Digest, Sha256};

use crate::row::Hash64;

fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// 64 bits of these parts.
pub(super) fn hash64(parts: &[&[u8]]) -> Hash64 {
    let first = digest(parts).first_chunk().copied();
    Hash64(u64::from_le_bytes(first.unwrap_or_default()))
}

/// 128 bits of these parts.
pub(super) fn hash128(parts: &[&[u8]]) -> [u8; 16] {
    digest(parts).first_chunk().copied().unwrap_or_default()
}

/// The SHA-256 of a file's bytes, 64 hexadecimal digits.
pub fn hash_of_bytes(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
