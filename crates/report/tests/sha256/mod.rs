//! SHA-256 (FIPS 180-4) and base64, to compare the policy's hash with the script.

/// The digest of a message.
pub(crate) fn sha256(message: &[u8]) -> [u8; 32] {
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((message.len() as u64 * 8).to_be_bytes());
    let constants = fractions(64, f64::cbrt);
    let mut state: Vec<u32> = fractions(8, f64::sqrt);
    for block in padded.chunks(64) {
        let mut w: Vec<u32> = block
            .chunks(4)
            .map(|word| word.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
            .collect();
        for i in 16..64 {
            let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
            let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
            w.push(
                w[i - 16]
                    .wrapping_add(s0)
                    .wrapping_add(w[i - 7])
                    .wrapping_add(s1),
            );
        }
        let mut v = state.clone();
        for i in 0..64 {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let t1 = v[7]
                .wrapping_add(s1)
                .wrapping_add(choice)
                .wrapping_add(constants[i])
                .wrapping_add(w[i]);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let t2 = s0.wrapping_add((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(t1);
            v[0] = t1.wrapping_add(t2);
        }
        for (sum, value) in state.iter_mut().zip(v) {
            *sum = sum.wrapping_add(value);
        }
    }
    let mut digest = [0; 32];
    for (bytes, word) in digest.chunks_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

/// The first 32 bits of the fractional parts of the roots of the first primes.
fn fractions(count: usize, root: impl Fn(f64) -> f64) -> Vec<u32> {
    let primes = (2u32..).filter(|n| (2..*n).all(|d| n % d != 0));
    primes
        .take(count)
        .map(|prime| (root(f64::from(prime)).fract() * 4_294_967_296.0) as u32)
        .collect()
}

/// Standard base64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |sum, i| {
            sum << 8 | u32::from(chunk.get(i).copied().unwrap_or(0))
        });
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            out.push(if place > chunk.len() {
                '='
            } else {
                char::from(letter)
            });
        }
    }
    out
}

#[test]
fn known_digests() {
    assert_eq!(
        base64(&sha256(b"")),
        "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    );
    assert_eq!(
        base64(&sha256(b"abc")),
        "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
    );
}
