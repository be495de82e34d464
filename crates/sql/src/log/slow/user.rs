//! The line that says who asked, of which a log has a few again and again.

use super::super::Span;
use super::head::{Head, number};

/// Lines that are remembered: each has one place.
const PLACES: usize = 128;

/// Bytes of one that is remembered.
const LINE_BYTES_MAX: usize = 256;

/// What a line says: places in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Fields {
    user: Option<Span>,
    host: Option<Span>,
    connection: Option<u64>,
}

#[derive(Debug)]
struct Known {
    text: Box<[u8]>,
    fields: Fields,
}

/// Lines of users that were read.
#[derive(Debug, Default)]
pub(super) struct Users {
    known: Vec<Option<Known>>,
}

impl Users {
    /// Takes what stands behind `# User@Host: `: `root[root] @ localhost [127.0.0.1]  Id:     5`.
    pub(super) fn take<'a>(&mut self, text: &'a [u8], head: &mut Head<'a>) {
        head.seen_any = true;
        let place = place_of(text);
        let known = place.and_then(|place| self.known.get(place)?.as_ref());
        let fields = match known {
            Some(known) if *known.text == *text => known.fields,
            _ => {
                let fields = read(text);
                if let Some(place) = place {
                    self.remember(place, text, fields);
                }
                fields
            }
        };
        head.user = fields.user.map(|span| span.of(text)).or(head.user);
        head.host = fields.host.map(|span| span.of(text)).or(head.host);
        head.connection = fields.connection.or(head.connection);
    }

    fn remember(&mut self, place: usize, text: &[u8], fields: Fields) {
        if self.known.is_empty() {
            self.known.resize_with(PLACES, || None);
        }
        if let Some(known) = self.known.get_mut(place) {
            let text = text.into();
            *known = Some(Known { text, fields });
        }
    }
}

/// Where a line is remembered, by its first and last bytes, in which users and hosts differ.
fn place_of(text: &[u8]) -> Option<usize> {
    if text.len() > LINE_BYTES_MAX {
        return None;
    }
    let first = u64::from_le_bytes(*text.first_chunk()?);
    let [low, high] = text.last_chunk::<16>()?.as_chunks::<8>().0 else {
        return None;
    };
    let last = u64::from_le_bytes(*low) ^ u64::from_le_bytes(*high).rotate_left(24);
    let mixed = (first.rotate_left(8) ^ last).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Some((mixed >> (u64::BITS - PLACES.ilog2())) as usize)
}

fn read(text: &[u8]) -> Fields {
    // Not memmem, whose preparation takes longer than this short line.
    let is_middle = |at: &usize| {
        text.get(*at..)
            .is_some_and(|rest| rest.starts_with(b"] @ "))
    };
    let Some(middle) = memchr::memchr_iter(b']', text).find(is_middle) else {
        return Fields::default();
    };
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    // A user whose rights are another's stands in the brackets; replication threads stand there alone.
    let open = find(text, b'[', 0, middle);
    let rights = trimmed(text, 0, open);
    let session = Span::new((open + 1).min(middle), middle);
    let place = middle + 4;
    let open = find(text, b'[', place, text.len());
    let name = trimmed(text, place, open);
    let address = (open + 1).min(text.len());
    let close = find(text, b']', address, text.len());
    // `]  Id:     5`
    let more = part((close + 1).min(text.len()), text.len()).trim_ascii_start();
    let id = more.strip_prefix(b"Id:");
    let first = |spans: [Span; 2]| spans.into_iter().find(|span| span.from < span.to);
    Fields {
        user: first([rights, session]),
        host: first([name, Span::new(address, close)]),
        connection: id.and_then(|id| number(id.trim_ascii())),
    }
}

/// The first place of a byte in a part; the part's end where it is not there.
fn find(text: &[u8], byte: u8, from: usize, to: usize) -> usize {
    let part = text.get(from..to).unwrap_or_default();
    memchr::memchr(byte, part).map_or(to, |at| from + at)
}

/// A part without the blanks around it.
fn trimmed(text: &[u8], from: usize, to: usize) -> Span {
    let part = text.get(from..to).unwrap_or_default();
    let before = part.len() - part.trim_ascii_start().len();
    let from = from + before;
    Span::new(from, from + part.trim_ascii().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [&str; 9] = [
        "root[root] @ localhost [127.0.0.1]  Id:     5",
        "root[root] @ localhost []  Id:     6",
        "app[app] @  [10.0.0.7]",
        "[system user] @  []",
        "a[b] @ c",
        "other[other] @ web[1] [::1]",
        "x] @ [",
        "] @ ",
        "no user at all, but as long as one",
    ];

    fn taken(users: &mut Users, line: &str) -> (Option<String>, Option<String>, Option<u64>) {
        let mut head = Head::default();
        users.take(line.as_bytes(), &mut head);
        assert!(head.seen_any && !head.seen_more);
        let text =
            |part: Option<&[u8]>| part.map(|part| String::from_utf8_lossy(part).into_owned());
        (text(head.user), text(head.host), head.connection)
    }

    #[test]
    fn what_is_remembered_is_what_is_read() {
        let mut users = Users::default();
        for _ in 0..3 {
            for line in LINES {
                let fresh = taken(&mut Users::default(), line);
                assert_eq!(taken(&mut users, line), fresh, "{line}");
            }
        }
        let fields = |line: &str| taken(&mut Users::default(), line);
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(fields(LINES[0]), (text("root"), text("localhost"), Some(5)));
        assert_eq!(fields(LINES[2]), (text("app"), text("10.0.0.7"), None));
        assert_eq!(fields(LINES[3]), (text("system user"), None, None));
        assert_eq!(fields(LINES[4]), (text("a"), text("c"), None));
        assert_eq!(fields(LINES[7]), (None, None, None));
    }
}
