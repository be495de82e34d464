//! What a server says, as bytes.

/// Capabilities of a usual server without TLS and compression.
pub(crate) const USUAL: u32 = 0x00ff_f7df & !0x0820;

/// The plugins that are offered.
pub(crate) const NATIVE: &str = "mysql_native_password";
pub(super) const CACHING_SHA2: &str = "caching_sha2_password";

/// What stands in every value of an answer.
const VALUE: &[u8] = b"1";

/// A payload of less than 16 MiB in its frame.
pub(crate) fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = frame(payload.len(), sequence);
    bytes.extend_from_slice(payload);
    bytes
}

/// The head of a frame, whatever comes behind it.
pub(super) fn frame(length: usize, sequence: u8) -> Vec<u8> {
    let length = u32::try_from(length).unwrap_or(0xff_ffff).to_le_bytes();
    let [a, b, c, _] = length;
    vec![a, b, c, sequence]
}

pub(crate) fn greeting(plugin: &str, capabilities: u32) -> Vec<u8> {
    let mut payload = b"\x0a10.11.6-MariaDB\0\x07\0\0\0abcdefgh\0".to_vec();
    let [a, b, c, d] = capabilities.to_le_bytes();
    payload.extend_from_slice(&[a, b, 45, 2, 0, c, d, 21]);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"ijklmnopqrst\0");
    payload.extend_from_slice(plugin.as_bytes());
    payload.push(0);
    packet(0, &payload)
}

pub(crate) fn ok(sequence: u8) -> Vec<u8> {
    packet(sequence, &[0, 0, 0, 2, 0, 0, 0])
}

pub(crate) fn end(sequence: u8) -> Vec<u8> {
    packet(sequence, &[0xfe, 0, 0, 2, 0])
}

pub(crate) fn error(sequence: u8, code: u16, text: &[u8]) -> Vec<u8> {
    let [low, high] = code.to_le_bytes();
    let payload = [&[0xff, low, high][..], b"#HY000", text].concat();
    packet(sequence, &payload)
}

/// The request for another plugin.
pub(super) fn switch(sequence: u8, plugin: &[u8], nonce: &[u8]) -> Vec<u8> {
    packet(sequence, &[b"\xfe", plugin, b"\0", nonce].concat())
}

/// The description of a column.
pub(crate) fn column(sequence: u8, name: &[u8]) -> Vec<u8> {
    let mut payload = b"\x03def\0\0\0".to_vec();
    payload.push(u8::try_from(name.len()).unwrap_or(250));
    payload.extend_from_slice(name);
    payload.extend_from_slice(b"\0\x0c\x2d\0\x04\0\0\0\xfd\0\0\0\0\0");
    packet(sequence, &payload)
}

/// A whole answer of one row.
pub(super) fn rows(columns: &[&str], values: &[&[u8]]) -> Vec<u8> {
    let count = u8::try_from(columns.len()).unwrap_or(250);
    let mut bytes = packet(1, &[count]);
    let mut sequence = 1;
    for name in columns {
        sequence += 1;
        bytes.extend(column(sequence, name.as_bytes()));
    }
    bytes.extend(end(sequence + 1));
    let mut row = Vec::new();
    for value in values {
        row.push(u8::try_from(value.len()).unwrap_or(250));
        row.extend_from_slice(value);
    }
    bytes.extend(packet(sequence + 2, &row));
    bytes.extend(end(sequence + 3));
    bytes
}

/// What an honest server says to a statement: as little as the program goes on with.
pub(super) fn honest(statement: &str) -> Vec<u8> {
    let upper = statement.to_ascii_uppercase();
    let version: &[u8] = b"10.11.6-MariaDB";
    if upper.starts_with("SELECT @@VERSION, @@VERSION_COMMENT") {
        rows(&["version", "comment"], &[version, b"test"])
    } else if upper.starts_with("SELECT @@VERSION") {
        rows(&["version"], &[version])
    } else if upper.starts_with("SHOW GRANTS") {
        rows(&["grants"], &[b"GRANT ALL PRIVILEGES ON *.* TO `root`"])
    } else if upper.starts_with("SHOW GLOBAL") {
        rows(
            &["Variable_name", "Value"],
            &[b"innodb_buffer_pool_size", b"1"],
        )
    } else if upper.starts_with("SELECT") || upper.starts_with("SHOW") {
        rows(&["a", "b"], &[VALUE, VALUE])
    } else {
        ok(1)
    }
}

/// A key as PEM, of any bytes for modulus and exponent.
pub(super) fn key(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
    let element = |kind: u8, inside: &[u8]| {
        let [high, low] = u16::try_from(inside.len())
            .unwrap_or(u16::MAX)
            .to_be_bytes();
        [&[kind, 0x82, high, low][..], inside].concat()
    };
    let numbers = [element(2, modulus), element(2, exponent)].concat();
    let sequence = element(0x30, &numbers);
    let text = base64(&sequence);
    format!("-----BEGIN RSA PUBLIC KEY-----\n{text}\n-----END RSA PUBLIC KEY-----\n").into_bytes()
}

fn base64(bytes: &[u8]) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letter = |bits: u32| {
        letters
            .get((bits & 63) as usize)
            .copied()
            .map_or('A', char::from)
    };
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let byte = |index: usize| part.get(index).copied().map_or(0, u32::from);
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for shift in [18, 12, 6, 0].into_iter().take(part.len() + 1) {
            text.push(letter(bits >> shift));
        }
    }
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}
