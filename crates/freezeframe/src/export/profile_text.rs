//! The texts of profiles in the formats of others.

use serde_json::Value;

/// `string_table` of a profile (pprof's profile.proto).
const STRING_TABLE: u64 = 6;

/// Each text of an unpacked profile; what is behind a field that cannot be read is one text, so that nothing of
/// it stays unseen.
pub(super) fn strings(profile: &[u8]) -> Vec<&[u8]> {
    let mut strings = Vec::new();
    let mut rest = profile;
    while !rest.is_empty() {
        let Some(field) = field(rest) else {
            strings.push(rest);
            break;
        };
        if let (STRING_TABLE, Some(text)) = (field.number, field.bytes) {
            strings.push(text);
        }
        rest = field.behind;
    }
    strings
}

/// Each text of a profile for speedscope that is not the format's own word.
pub(super) fn of_speedscope(profile: &str) -> Vec<String> {
    let Ok(file) = serde_json::from_str::<Value>(profile) else {
        return vec![profile.to_owned()];
    };
    let rows = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let frames = rows(&file["shared"]["frames"]);
    let of_frames = frames
        .iter()
        .flat_map(|frame| [text(&frame["name"]), text(&frame["file"])]);
    let profiles = rows(&file["profiles"]);
    let of_profiles = profiles.iter().map(|profile| text(&profile["name"]));
    let own = [text(&file["name"])].into_iter();
    own.chain(of_frames).chain(of_profiles).flatten().collect()
}

struct Field<'a> {
    number: u64,
    /// Where it has a length.
    bytes: Option<&'a [u8]>,
    behind: &'a [u8],
}

/// The field that stands first.
fn field(bytes: &[u8]) -> Option<Field<'_>> {
    let (tag, rest) = varint(bytes)?;
    let number = tag >> 3;
    match tag & 7 {
        0 => varint(rest).map(|(_, behind)| Field {
            number,
            bytes: None,
            behind,
        }),
        2 => {
            let (length, rest) = varint(rest)?;
            let (value, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            Some(Field {
                number,
                bytes: Some(value),
                behind,
            })
        }
        _ => None,
    }
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 0x7f).checked_shl(u32::try_from(index).ok()? * 7)?;
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(index + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_file_for_speedscope_are_its_texts() {
        let file = r#"{"$schema":"x","name":"3306","shared":{"frames":[{"name":"main","file":"mysqld"},{"name":"f"}]},
            "profiles":[{"type":"sampled","name":"ib_log","unit":"none","samples":[[0,1]],"weights":[1]}]}"#;
        let found = of_speedscope(file);
        assert_eq!(found, ["3306", "main", "mysqld", "f", "ib_log"]);
        // What cannot be read is searched as a whole.
        assert_eq!(of_speedscope("{"), ["{"]);
    }

    #[test]
    fn texts_stand_by_themselves() {
        // A sample (field 2), a time (field 9), the texts "" and "collect" and "2x".
        let profile = b"\x12\x02\x08\x01\x48\x07\x32\x00\x32\x07collect\x32\x022x";
        assert_eq!(strings(profile), [&b""[..], b"collect", b"2x"]);
        let cut = &profile[..profile.len() - 1];
        assert_eq!(strings(cut), [&b""[..], b"collect", b"\x32\x022"]);
        assert!(strings(b"").is_empty());
    }
}
