//! HMAC-SHA256 (RFC 2104): by it a receiver of hooks knows that a post is ours, and a store of files who asks.

use sha2::{Digest, Sha256};

/// Block size of SHA-256 in bytes.
const BLOCK: usize = 64;

/// The code of a message.
pub fn code(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK];
    let short;
    let key = if key.len() > BLOCK {
        short = Sha256::digest(key);
        short.as_slice()
    } else {
        key
    };
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    let keyed = |with: u8| Sha256::new().chain_update(block.map(|byte| byte ^ with));
    let inner = keyed(0x36).chain_update(message).finalize();
    keyed(0x5c).chain_update(inner).finalize().into()
}

/// The code of a message, in hexadecimal.
pub fn hex(key: &[u8], message: &[u8]) -> String {
    let code = code(key, message);
    code.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test cases 1, 2 and 6 of RFC 4231.
    #[test]
    fn codes_are_those_of_the_standard() {
        for (key, message, code) in [
            (
                vec![0x0b; 20],
                "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 131],
                "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(&key, message.as_bytes()), code, "{message}");
        }
    }
}
