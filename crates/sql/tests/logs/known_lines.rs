//! Lines that are like earlier ones are read in another way than new ones, and say the same.

use proptest::prelude::*;
use sql::log::{LogKind, Reader, Rest, Step};

/// What a line says: names and values, database, connection.
type Said = (Vec<(Vec<u8>, Vec<u8>)>, Option<Vec<u8>>, Option<u64>, usize);

fn said(reader: &mut Reader, bytes: &[u8]) -> Option<Said> {
    match reader.next(bytes, Rest::Nothing) {
        Step::Event(event, used) => {
            let owned = |(name, value): (&[u8], &[u8])| (name.to_vec(), value.to_vec());
            Some((
                event.attributes.iter().map(owned).collect(),
                event.database.map(<[u8]>::to_vec),
                event.connection,
                used,
            ))
        }
        Step::Skipped(_) | Step::More => None,
    }
}

/// Few names and values, so that lines meet; values that are none, names among them, blanks of each kind.
fn line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "Query_time",
        "Schema",
        "Thread_id",
        "Id",
        "Rows",
        "a",
        ":",
    ]);
    let value = prop::sample::select(vec![
        "0.000012",
        "",
        "",
        "1",
        "shop",
        "x:",
        ":",
        "a\u{1}b",
        "é",
        "12345678",
        "123456789012345678",
        "#",
        "b:c",
    ]);
    let blank = prop::sample::select(vec![" ", "  ", "\t", " \r", ""]);
    let field = (name, blank.clone(), value, blank.clone())
        .prop_map(|(name, one, value, other)| format!("{name}:{one}{value}{other}"));
    (blank, prop::collection::vec(field, 1..5), prop::bool::ANY).prop_map(|(blank, fields, cr)| {
        format!(
            "#{blank}{}{}\n",
            fields.concat(),
            if cr { "\r" } else { "" }
        )
    })
}

proptest! {
    #[test]
    fn what_is_known_says_the_same(
        heads in prop::collection::vec(prop::collection::vec(line(), 1..3), 1..4),
        order in prop::collection::vec(0_usize..4, 4..12),
    ) {
        let mut log = String::new();
        let mut starts = Vec::new();
        for index in order {
            let Some(lines) = heads.get(index % heads.len()) else { continue };
            starts.push(log.len());
            log.push_str("# User@Host: u[u] @ h [1.1.1.1]\n");
            log.push_str(&lines.concat());
            log.push_str("SET timestamp=1700000000;\nselect 1;\n");
        }
        let mut reader = Reader::new(LogKind::Slow);
        let mut at = 0;
        for start in starts {
            prop_assert_eq!(at, start);
            let bytes = &log.as_bytes()[start..];
            // Of a reader that knows no line yet.
            let new = said(&mut Reader::new(LogKind::Slow), bytes);
            let known = said(&mut reader, bytes);
            prop_assert_eq!(&known, &new, "{:?}", &log[start..]);
            at += known.map_or(0, |said| said.3);
        }
    }
}
