//! What is in a request: the command and, with it, a statement.

use super::bytes::Reader;

/// A request's command (include/my_command.h; MariaDB's own: include/mysql_com.h there).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Quit,
    InitDb,
    Query,
    FieldList,
    Statistics,
    ChangeUser,
    Prepare,
    Execute,
    /// MariaDB: a prepared statement with many rows of values.
    BulkExecute,
    SendLongData,
    Close,
    Fetch,
    /// From here on the server sends events until the connection ends.
    Replication(&'static str),
    /// Answered by one packet.
    Plain(&'static str),
}

impl Command {
    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0x00 => Self::Plain("Sleep"),
            0x01 => Self::Quit,
            0x02 => Self::InitDb,
            0x03 => Self::Query,
            0x04 => Self::FieldList,
            0x05 => Self::Plain("Create DB"),
            0x06 => Self::Plain("Drop DB"),
            0x07 => Self::Plain("Refresh"),
            0x08 => Self::Plain("Shutdown"),
            0x09 => Self::Statistics,
            // A result, which is passed over like any other.
            0x0a => Self::Plain("Processlist"),
            0x0b => Self::Plain("Connect"),
            0x0c => Self::Plain("Kill"),
            0x0d => Self::Plain("Debug"),
            0x0e => Self::Plain("Ping"),
            0x0f => Self::Plain("Time"),
            0x10 => Self::Plain("Delayed insert"),
            0x11 => Self::ChangeUser,
            0x12 => Self::Replication("Binlog Dump"),
            0x13 => Self::Replication("Table Dump"),
            0x14 => Self::Plain("Connect Out"),
            0x15 => Self::Plain("Register Slave"),
            0x16 => Self::Prepare,
            0x17 => Self::Execute,
            0x18 => Self::SendLongData,
            0x19 => Self::Close,
            0x1a => Self::Plain("Reset stmt"),
            0x1b => Self::Plain("Set option"),
            0x1c => Self::Fetch,
            0x1d => Self::Plain("Daemon"),
            0x1e => Self::Replication("Binlog Dump GTID"),
            0x1f => Self::Plain("Reset Connection"),
            0x20 => Self::Plain("Clone"),
            0x21 => Self::Replication("Group Replication Data Stream"),
            0xfa => Self::BulkExecute,
            _ => return None,
        })
    }

    /// The server says nothing to it.
    pub(super) fn has_no_answer(self) -> bool {
        matches!(self, Self::Quit | Self::SendLongData | Self::Close)
    }
}

/// Parameters of a statement that are passed over; more are no statement's.
const ATTRIBUTES_MAX: u64 = 1000;

/// Where the text of a `COM_QUERY` begins, the command byte included. With query attributes (MySQL 8.0.23) their number,
/// the number of their sets (1), and what they are come before it. `attributes`: whether they were agreed on, where
/// that is known; else a text whose second byte is a 1 has them: no statement's is. What they hold is a user's.
pub(super) fn query_text_at(payload: &[u8], attributes: Option<bool>) -> usize {
    let looks_like = matches!(payload, [_, _, 1, ..]);
    if attributes.unwrap_or(looks_like) {
        // Cut within them, there is no text.
        after_attributes(payload).unwrap_or(payload.len())
    } else {
        1
    }
}

fn after_attributes(payload: &[u8]) -> Option<usize> {
    let mut reader = Reader(payload);
    reader.u8()?;
    let count = reader.length()?;
    reader.length()?;
    if count > ATTRIBUTES_MAX {
        return None;
    }
    if count > 0 {
        let nulls = reader.take(usize::try_from(count.div_ceil(8)).ok()?)?;
        // New types follow, always in a COM_QUERY.
        reader.u8()?;
        let mut types = Vec::new();
        for _ in 0..count {
            types.push(reader.u16()?);
            reader.string()?;
        }
        for (index, kind) in types.into_iter().enumerate() {
            let null = nulls.get(index / 8)? >> (index % 8) & 1;
            if null == 0 {
                value(&mut reader, kind as u8)?;
            }
        }
    }
    payload.len().checked_sub(reader.0.len())
}

/// Passes over a value of the binary protocol (include/field_types.h).
fn value(reader: &mut Reader<'_>, kind: u8) -> Option<()> {
    let fixed = match kind {
        1 => 1,
        2 | 13 => 2,
        3 | 4 | 9 => 4,
        5 | 8 => 8,
        6 => 0,
        // Times: their length, then they.
        7 | 10..=12 => usize::from(reader.u8()?),
        _ => usize::try_from(reader.length()?).ok()?,
    };
    reader.take(fixed).map(|_| ())
}

/// The id of the prepared statement that a request is about.
pub(super) fn prepared_id(payload: &[u8]) -> Option<u32> {
    let mut reader = Reader(payload.get(1..)?);
    reader.u32()
}

/// The database of a `USE`.
pub(super) fn used_database(text: &[u8]) -> Option<&[u8]> {
    let text = text.trim_ascii_start();
    let (word, rest) = text.split_at_checked(4)?;
    if !word.eq_ignore_ascii_case(b"use ") && !word.eq_ignore_ascii_case(b"use`") {
        return None;
    }
    let rest = if word.ends_with(b"`") {
        text.get(3..)?
    } else {
        rest
    };
    let rest = rest.trim_ascii();
    let rest = rest.strip_suffix(b";").unwrap_or(rest).trim_ascii();
    let quoted = rest
        .strip_prefix(b"`")
        .and_then(|rest| rest.strip_suffix(b"`"));
    let name = quoted.unwrap_or(rest);
    let one_word = quoted.is_some() || !name.iter().any(u8::is_ascii_whitespace);
    (one_word && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_text_of_a_query_begins() {
        let text_of = |payload: &'static [u8], attributes| {
            std::str::from_utf8(&payload[query_text_at(payload, attributes)..]).unwrap()
        };
        assert_eq!(text_of(b"\x03select 1", Some(false)), "select 1");
        assert_eq!(text_of(b"\x03select 1", None), "select 1");
        assert_eq!(text_of(b"\x03\x00\x01select 1", Some(true)), "select 1");
        assert_eq!(text_of(b"\x03\x00\x01select 1", None), "select 1");
        // A name and a string, a NULL, a number.
        let payload = b"\x03\x03\x01\x02\x01\xfe\x00\x01n\xfe\x00\x00\x03\x00\x01k\x03abc\x07\x00\x00\x00do 1";
        assert_eq!(text_of(payload, Some(true)), "do 1");
        assert_eq!(text_of(payload, None), "do 1");
        // However many there are.
        let mut many = b"\x03\x0a\x01\x00\x00\x01".to_vec();
        many.extend(b"\xfe\x00\x01n".repeat(10));
        many.extend(b"\x07hunter2".repeat(10));
        many.extend(b"do 1");
        for attributes in [Some(true), None] {
            assert_eq!(&many[query_text_at(&many, attributes)..], b"do 1");
        }
        // Cut within the attributes: the text is not found, and nothing worse happens.
        for end in 0..payload.len() {
            assert!(query_text_at(&payload[..end], Some(true)) <= payload.len());
        }
    }

    #[test]
    fn the_database_of_use() {
        assert_eq!(used_database(b"use shop"), Some(&b"shop"[..]));
        assert_eq!(used_database(b"  USE `my shop` ;"), Some(&b"my shop"[..]));
        assert_eq!(used_database(b"use`shop`"), Some(&b"shop"[..]));
        assert_eq!(used_database(b"use shop; drop"), None);
        assert_eq!(used_database(b"user"), None);
        assert_eq!(used_database(b"use "), None);
    }

    #[test]
    fn commands() {
        assert_eq!(Command::from_byte(3), Some(Command::Query));
        assert_eq!(Command::from_byte(0x50), None);
        assert!(Command::Quit.has_no_answer() && !Command::Query.has_no_answer());
    }
}
