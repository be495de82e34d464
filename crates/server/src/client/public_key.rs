//! The server's RSA key, under which `caching_sha2_password` sends a password over TCP. The key is read strictly: it is
//! from whoever answers there.

use num_bigint::BigUint;
use sha1::{Digest, Sha1};

use crate::der::element;

/// Bytes of a key as text. One of 8192 bits has 1,500.
const TEXT_BYTES_MAX: usize = 4096;

/// Bits of a modulus: fewer are no secret, more would keep a processor busy.
const BITS_MIN: u64 = 1024;
const BITS_MAX: u64 = 8192;

/// Bytes of SHA-1, which the padding is made with.
const HASH_BYTES: usize = 20;

/// A key.
#[derive(Debug)]
pub(super) struct PublicKey {
    modulus: BigUint,
    exponent: BigUint,
    /// Bytes of the modulus.
    bytes: usize,
}

impl PublicKey {
    /// Reads a key in PEM, of PKCS #8 (what servers send) or PKCS #1.
    pub(super) fn read(text: &[u8]) -> Result<Self, &'static str> {
        if text.len() > TEXT_BYTES_MAX {
            return Err("it is too long");
        }
        let text = std::str::from_utf8(text).map_err(|_| "it is no text")?;
        let numbers = match body(text, "PUBLIC KEY") {
            Some(body) => unwrapped(&base64(body).ok_or("it is not base64")?),
            None => {
                let body = body(text, "RSA PUBLIC KEY").ok_or("it is not in PEM")?;
                base64(body)
            }
        };
        let numbers = numbers.ok_or("it is no RSA key")?;
        let (modulus, exponent) = two_numbers(&numbers).ok_or("it is no RSA key")?;
        if !(BITS_MIN..=BITS_MAX).contains(&modulus.bits()) {
            return Err("it has not between 1024 and 8192 bits");
        }
        if !modulus.bit(0) || !exponent.bit(0) || !(2..=32).contains(&exponent.bits()) {
            return Err("its numbers cannot be those of a key");
        }
        Ok(Self {
            bytes: usize::try_from(modulus.bits().div_ceil(8)).unwrap_or(0),
            modulus,
            exponent,
        })
    }

    /// The message under the key, padded with OAEP of SHA-1 (RFC 8017, 7.1.1). None if it is too long for the key.
    pub(super) fn encrypt(&self, message: &[u8], seed: &[u8; HASH_BYTES]) -> Option<Vec<u8>> {
        let room = self.bytes.checked_sub(2 * HASH_BYTES + 2)?;
        let zeros = room.checked_sub(message.len())?;
        let mut data = Sha1::digest([]).to_vec();
        data.resize(HASH_BYTES + zeros, 0);
        data.push(1);
        data.extend_from_slice(message);
        mask(&mut data, seed);
        let mut masked_seed = *seed;
        mask(&mut masked_seed, &data);
        let padded = BigUint::from_bytes_be(&[&masked_seed[..], &data].concat());
        let number = padded.modpow(&self.exponent, &self.modulus).to_bytes_be();
        let mut encrypted = vec![0; self.bytes.checked_sub(number.len())?];
        encrypted.extend_from_slice(&number);
        Some(encrypted)
    }
}

/// MGF1 with SHA-1 (RFC 8017, B.2.1), laid over `bytes`.
fn mask(bytes: &mut [u8], seed: &[u8]) {
    for (count, part) in (0_u32..).zip(bytes.chunks_mut(HASH_BYTES)) {
        let hash = Sha1::new()
            .chain_update(seed)
            .chain_update(count.to_be_bytes())
            .finalize();
        for (byte, mask) in part.iter_mut().zip(hash) {
            *byte ^= mask;
        }
    }
}

/// What stands between the lines that begin and end a key.
fn body<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
    Some(body)
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    let mut letters = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    for letter in letters.by_ref() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                return letters.all(|rest| rest == b'=').then_some(bytes);
            }
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

/// The key in a SubjectPublicKeyInfo (RFC 5280, 4.1): behind the algorithm, in a bit string without unused bits.
fn unwrapped(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut inside = element(&mut bytes, 0x30)?;
    element(&mut inside, 0x30)?;
    let (unused, key) = element(&mut inside, 0x03)?.split_first()?;
    (*unused == 0).then(|| key.to_vec())
}

/// Modulus and exponent of an RSAPublicKey (RFC 8017, A.1.1).
fn two_numbers(mut bytes: &[u8]) -> Option<(BigUint, BigUint)> {
    let mut inside = element(&mut bytes, 0x30)?;
    let modulus = positive(element(&mut inside, 0x02)?)?;
    let exponent = positive(element(&mut inside, 0x02)?)?;
    Some((modulus, exponent))
}

fn positive(bytes: &[u8]) -> Option<BigUint> {
    let first = bytes.first()?;
    (*first < 0x80).then(|| BigUint::from_bytes_be(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key of 1024 bits that was made for this test.
    const KEY: &str = include_str!("test_key.pem");

    #[test]
    fn a_key_is_read_and_a_message_fits_or_does_not() {
        let key = PublicKey::read(KEY.as_bytes()).unwrap();
        assert_eq!((key.bytes, key.modulus.bits()), (128, 1024));
        let seed = [7; HASH_BYTES];
        assert_eq!(key.encrypt(&[1; 86], &seed).unwrap().len(), 128);
        assert_eq!(key.encrypt(&[1; 87], &seed), None);
    }

    #[test]
    fn no_text_panics() {
        let whole = KEY.as_bytes();
        for length in 0..whole.len() {
            let _ = PublicKey::read(whole.get(..length).unwrap());
        }
        for index in 0..whole.len() {
            for byte in [0, b'A', b'-', b'=', b'/', 0xff] {
                let mut other = whole.to_vec();
                other[index] = byte;
                if let Ok(key) = PublicKey::read(&other) {
                    let _ = key.encrypt(b"secret", &[7; HASH_BYTES]);
                }
            }
        }
    }

    #[test]
    fn odd_keys_are_refused() {
        let pem = |der: &[u8]| {
            let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            let mut text = String::from("-----BEGIN RSA PUBLIC KEY-----\n");
            for part in der.chunks(3) {
                let mut three = [0; 3];
                three[..part.len()].copy_from_slice(part);
                let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
                for shift in [18, 12, 6, 0].into_iter().take(part.len() + 1) {
                    text.push(char::from(letters[(bits >> shift & 63) as usize]));
                }
            }
            text + "\n-----END RSA PUBLIC KEY-----\n"
        };
        let der = |modulus: &[u8], exponent: &[u8]| {
            let number = |bytes: &[u8]| {
                let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
                [&[0x02, 0x82, length[0], length[1]][..], bytes].concat()
            };
            let both = [number(modulus), number(exponent)].concat();
            let length = u16::try_from(both.len()).unwrap().to_be_bytes();
            [&[0x30, 0x82, length[0], length[1]][..], &both].concat()
        };
        let read = |modulus: &[u8], exponent: &[u8]| {
            PublicKey::read(pem(&der(modulus, exponent)).as_bytes()).map(drop)
        };
        assert_eq!(read(&[0x7f; 256], &[1, 0, 1]), Ok(()));
        assert!(read(&[0], &[1, 0, 1]).is_err());
        assert!(read(&[0x7f; 16], &[1, 0, 1]).is_err());
        assert!(read(&[0x7f; 1500], &[1, 0, 1]).is_err());
        assert!(read(&[0xff; 256], &[1, 0, 1]).is_err());
        assert!(read(&[0x7e; 256], &[1, 0, 1]).is_err());
        assert!(read(&[0x7f; 256], &[0]).is_err());
        assert!(read(&[0x7f; 256], &[1]).is_err());
        assert!(read(&[0x7f; 256], &[0x7f; 256]).is_err());
        assert!(PublicKey::read(&[b'A'; 1 << 20]).is_err());
    }
}
