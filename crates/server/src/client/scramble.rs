//! What proves that we know a password, without telling it.

use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// `mysql_native_password`: SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))). Nothing for no password.
pub(super) fn native(nonce: &[u8], password: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    let mask = Sha1::new()
        .chain_update(nonce)
        .chain_update(twice)
        .finalize();
    xor(&once, &mask)
}

/// `caching_sha2_password`: SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce). Nothing for no password.
pub(super) fn caching_sha2(nonce: &[u8], password: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    let mask = Sha256::new()
        .chain_update(twice)
        .chain_update(nonce)
        .finalize();
    xor(&once, &mask)
}

/// MariaDB's `ed25519`: the nonce, signed (RFC 8032, 5.1.6) with the password in place of the 32 bytes of a key.
pub(super) fn ed25519(nonce: &[u8], password: &[u8]) -> Vec<u8> {
    let hash: [u8; 64] = Sha512::digest(password).into();
    let (secret, prefix) = hash.split_at(32);
    let mut key = [0; 32];
    key.copy_from_slice(secret);
    let key = Scalar::from_bytes_mod_order(clamp_integer(key));
    let public = EdwardsPoint::mul_base(&key).compress();
    let once = wide(&[prefix, nonce]);
    let point = EdwardsPoint::mul_base(&once).compress();
    let challenge = wide(&[point.as_bytes(), public.as_bytes(), nonce]);
    let answer = challenge * key + once;
    [*point.as_bytes(), answer.to_bytes()].concat()
}

fn wide(parts: &[&[u8]]) -> Scalar {
    let hash = parts
        .iter()
        .fold(Sha512::new(), |hash, part| hash.chain_update(part))
        .finalize();
    Scalar::from_bytes_mod_order_wide(&hash.into())
}

fn xor(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn a_server_that_knows_the_hash_accepts_the_proof() {
        // What a server does: it takes the mask off again and hashes once more.
        let nonce = b"12345678901234567890";
        let proof = native(nonce, b"secret");
        let stored = Sha1::digest(Sha1::digest(b"secret"));
        let mask = Sha1::new()
            .chain_update(nonce)
            .chain_update(stored)
            .finalize();
        assert_eq!(Sha1::digest(xor(&proof, &mask)), stored);

        let proof = caching_sha2(nonce, b"secret");
        let stored = Sha256::digest(Sha256::digest(b"secret"));
        let mask = Sha256::new()
            .chain_update(stored)
            .chain_update(nonce)
            .finalize();
        assert_eq!(Sha256::digest(xor(&proof, &mask)), stored);

        assert!(native(nonce, b"").is_empty() && caching_sha2(nonce, b"").is_empty());
    }

    /// RFC 8032, 7.1, TEST 2: there as here, what is hashed first is the secret.
    #[test]
    fn the_signature_is_that_of_the_standard() {
        let secret = [
            0x4c, 0xcd, 0x08, 0x9b, 0x28, 0xff, 0x96, 0xda, 0x9d, 0xb6, 0xc3, 0x46, 0xec, 0x11,
            0x4e, 0x0f, 0x5b, 0x8a, 0x31, 0x9f, 0x35, 0xab, 0xa6, 0x24, 0xda, 0x8c, 0xf6, 0xed,
            0x4f, 0xb8, 0xa6, 0xfb,
        ];
        assert_eq!(
            hex(&ed25519(&[0x72], &secret)),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
             085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        );
    }
}
