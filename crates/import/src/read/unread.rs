//! What is known by its form and holds nothing that a cause asks for: it is called by its name.

use super::{Read, counted};
use crate::clean::Line;
use crate::kind::{STAGES, cells, is_open_tables_head, is_vertical_row, stage, unread_of};

/// Lines behind one that its recogniser looks at, as where texts are split.
const AHEAD: usize = 8;

const NOTHING_ASKED: &str = "known; it holds nothing that a cause asks for";

const ONE_STATEMENT: &str =
    "known; it tells of one statement that somebody tried, not of what the server did in a stall";

pub(super) fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut names: Vec<&str> = Vec::new();
    let mut rows = 0_usize;
    for (index, line) in lines.iter().enumerate() {
        let text = line.trimmed();
        let is_row = is_vertical_row(text);
        rows += usize::from(is_row);
        // Only rows are told by what stands behind them.
        let ahead = if is_row { AHEAD } else { 0 };
        let next: Vec<&str> = lines
            .get(index + 1..(index + 1 + ahead).min(lines.len()))
            .unwrap_or_default()
            .iter()
            .map(|line| line.text.as_ref())
            .collect();
        if let Some(name) = unread_of(text, &next)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    let is_profile = names == [STAGES];
    read.what = Some(names.join(", "));
    let longest = lines.iter().filter_map(|line| stage(line.trimmed()));
    let why = match longest.max_by(|(_, a), (_, b)| a.total_cmp(b)) {
        Some((stage, seconds)) if is_profile => {
            format!("{ONE_STATEMENT}; longest: {stage}, {seconds} s")
        }
        _ if rows == 0 => NOTHING_ASKED.to_owned(),
        _ => format!("{NOTHING_ASKED} ({})", counted(rows, "row", "rows")),
    };
    read.skipped.push((0, why.into()));
    read
}

/// `SHOW OPEN TABLES`: how many, and how many of them are in use or locked by name.
pub(super) fn open_tables(lines: &[Line<'_>]) -> Read {
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

    fn said(read: &Read) -> (&str, &str) {
        assert!(read.is_empty());
        let what = read.what.as_deref().unwrap_or_default();
        (what, &read.skipped[0].1)
    }

    #[test]
    fn what_is_known_has_its_name() {
        let text = "*************************** 1. row ***************************\n       processlist_id: 5\n\
            OBJECT_INSTANCE_BEGIN: 139\n         STATEMENT_ID: 1\n             SQL_TEXT: select 1\n";
        assert_eq!(
            said(&read(&clean::lines(text))),
            (
                "prepared statements",
                "known; it holds nothing that a cause asks for (1 row)"
            )
        );
        let text = "| Status | Duration |\n| starting | 0.000011 |\n| Copying to tmp table on disk | 4.040516 |\n";
        assert_eq!(
            said(&read(&clean::lines(text))),
            (
                "stages of one statement (SHOW PROFILE)",
                "known; it tells of one statement that somebody tried, not of what the server did in a stall; longest: Copying to tmp table on disk, 4.040516 s"
            )
        );
        let text = "Database\tTable\tIn_use\tName_locked\nshop\torders\t3\t0\nshop\tt\t0\t0\n";
        assert_eq!(
            said(&open_tables(&clean::lines(text))).1,
            "known; it holds nothing that a cause asks for (2 tables, 1 of them in use, 0 locked by name)"
        );
    }
}
