//! Lines, fields and numbers of ASCII kernel files.

use std::str::FromStr;

pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&b| b == b'\n')
}

pub(super) fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace)
        .filter(|field| !field.is_empty())
}

pub(super) fn number<T: FromStr>(field: &[u8]) -> Option<T> {
    str::from_utf8(field).ok()?.parse().ok()
}

pub(super) fn hex_u32(field: &[u8]) -> Option<u32> {
    u32::from_str_radix(str::from_utf8(field).ok()?, 16).ok()
}

pub(super) fn hex_u64(field: &[u8]) -> Option<u64> {
    u64::from_str_radix(str::from_utf8(field).ok()?, 16).ok()
}

/// A line of the form `name: rest`.
pub(super) fn named(line: &[u8]) -> Option<(&str, &[u8])> {
    let colon = line.iter().position(|&b| b == b':')?;
    let name = str::from_utf8(line.get(..colon)?).ok()?;
    Some((name, line.get(colon + 1..)?))
}

/// A line of the form `name number`.
pub(super) fn name_and_number(line: &[u8]) -> Option<(&str, u64)> {
    let mut fields = fields(line);
    let name = str::from_utf8(fields.next()?).ok()?;
    Some((name, number(fields.next()?)?))
}
