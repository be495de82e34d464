//! `SHOW OPEN TABLES`: how many, and how many of them are in use or locked by name.

use crate::format::{Format, Group, Recogniser, sign};
use crate::formats::unread::NOTHING_ASKED;
use crate::line::Line;
use crate::read::{Read, counted};
use crate::tables::{cells, is_rule};

pub(crate) static FORMAT: Format = Format {
    id: "open_tables",
    group: Group::Server,
    name: "open tables",
    printed_by: "`SHOW OPEN TABLES`",
    content: "",
    recognisers: &[Recogniser::new(140, "", sign::TABLE, |at| {
        is_open_tables_head(at.text)
    })],
    continues: |_, next| is_rule(next.text) || (next.own.is_none() && cells(next.text).len() >= 4),
    absorbs: |_, next| is_open_table(next.text),
    is_table: true,
    is_inventory: true,
    read,
    ..Format::NONE
};

/// `Database  Table  In_use  Name_locked`.
fn is_open_tables_head(text: &str) -> bool {
    text.contains("Name_locked")
        && matches!(
            cells(text).as_slice(),
            ["Database", "Table", "In_use", "Name_locked"]
        )
}

/// `shop  orders  1  0`, a row of `SHOW OPEN TABLES`.
fn is_open_table(text: &str) -> bool {
    let mut cells = text.rsplit('\t');
    let mut number = || cells.next().is_some_and(|cell| cell.parse::<u64>().is_ok());
    number() && number() && cells.count() == 2
}

/// `SHOW OPEN TABLES`: how many, and how many of them are in use or locked by name.
fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let (mut tables, mut used, mut locked) = (0_usize, 0_usize, 0_usize);
    for line in lines {
        let text = line.trimmed();
        if is_open_tables_head(text) {
            continue;
        }
        if let [_, _, users, names] = cells(text).as_slice()
            && let (Ok(users), Ok(names)) = (users.parse::<u64>(), names.parse::<u64>())
        {
            tables += 1;
            used += usize::from(users > 0);
            locked += usize::from(names > 0);
        }
    }
    read.skipped.push((
        0,
        format!(
            "{NOTHING_ASKED} ({}, {used} of them in use, {locked} locked by name)",
            counted(tables, "table", "tables")
        )
        .into(),
    ));
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn tables_are_counted() {
        let text = "Database\tTable\tIn_use\tName_locked\nshop\torders\t3\t0\nshop\tt\t0\t0\n";
        let capture = read(&clean::lines(text));
        assert!(capture.is_empty());
        assert_eq!(
            capture.skipped[0].1,
            "recognised; it has nothing that a cause uses (2 tables, 1 of them in use, 0 locked by name)"
        );
    }
}
