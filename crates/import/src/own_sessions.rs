//! Sessions of a processlist that are of whoever took it: what they ask is no load of the server's.

use server::Row;

/// The session that asked for the list, and those of pt-stalk.
pub(crate) fn of(rows: &[Row]) -> Vec<&Row> {
    let asking = asking(rows).into_iter();
    let collecting = rows.iter().filter(|row| is_of_collector(row));
    asking.chain(collecting).collect()
}

/// The session that asked for the list by a query of its own. Several such are a load, and count.
fn asking(rows: &[Row]) -> Option<&Row> {
    let mut asking = rows
        .iter()
        .filter(|row| has_in_any_case(row.get("info"), "information_schema.processlist"));
    asking.next().filter(|_| asking.next().is_none())
}

/// What pt-stalk asks each second while it collects (its functions `lock_waits` and `transactions`), in small letters.
const OF_COLLECTORS: [&str; 2] = [
    "as who_blocks",
    "sql_no_cache * from information_schema.innodb_",
];

fn is_of_collector(row: &Row) -> bool {
    let mut own = OF_COLLECTORS.iter();
    own.any(|own| has_in_any_case(row.get("info"), own))
}

/// Whether words in small letters stand in a text whatever its case. They are looked for by a sign in them, which most
/// statements hardly have.
fn has_in_any_case(text: &str, words: &str) -> bool {
    let before = words.find('_').unwrap_or(0);
    let Some(sign) = words.as_bytes().get(before) else {
        return true;
    };
    let mut signs = memchr::memchr2_iter(*sign, sign.to_ascii_uppercase(), text.as_bytes());
    signs.any(|at| {
        let from = at.checked_sub(before);
        let here = from.and_then(|from| text.get(from..from + words.len()));
        here.is_some_and(|here| here.eq_ignore_ascii_case(words))
    })
}

#[cfg(test)]
mod tests {
    use super::has_in_any_case;

    #[test]
    fn words_are_found_in_any_case() {
        for text in [
            "select 1 AS Who_Blocks",
            "as who_blocks",
            "AAS WHO_BLOCKS x",
        ] {
            assert!(has_in_any_case(text, "as who_blocks"), "{text}");
        }
        for text in [
            "",
            "as who",
            "as who block",
            "ас who_blocks",
            "é as who_blockß",
        ] {
            assert!(!has_in_any_case(text, "as who_blocks"), "{text}");
        }
    }
}
