//! Hashes of things: the first bytes of a SHA-256 over their parts, each with its length before it.

use sha2::{Digest, Sha256};

use crate::row::{Hash64, IncidentId};

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
fn hash128(parts: &[&[u8]]) -> [u8; 16] {
    digest(parts).first_chunk().copied().unwrap_or_default()
}

/// The identity of a server in a fleet with this salt: of its host's name and its label.
pub fn host_id(salt: &[u8], host: &str, label: &str) -> Hash64 {
    hash64(&[b"host", salt, host.as_bytes(), label.as_bytes()])
}

/// The identity of an incident: of its server and its name.
pub fn incident_id(host_id: Hash64, name: &str) -> IncidentId {
    let of = host_id.0.to_le_bytes();
    IncidentId(hash128(&[b"incident", &of, name.as_bytes()]))
}

/// The identity of a function: of its name and its module, and where it has no name, of its build too.
pub fn frame_id(module: &str, function: &str, build: &str) -> Hash64 {
    let parts = [module.as_bytes(), function.as_bytes(), build.as_bytes()];
    hash64(&[b"frame", parts[0], parts[1], parts[2]])
}

/// The identity of a stack: of its frames.
pub fn stack_id(frames: &[Hash64]) -> Hash64 {
    let frames = frames.iter().flat_map(|frame| frame.0.to_le_bytes());
    let bytes: Vec<u8> = frames.collect();
    hash64(&[b"stack", &bytes])
}

/// The SHA-256 of a file's bytes, 64 hexadecimal digits.
pub fn hash_of_bytes(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
