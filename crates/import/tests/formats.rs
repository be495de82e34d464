//! The table of formats in docs/captures.md is what the formats say of themselves.
//!
//! `FREEZEFRAME_FORMATS=1` (`make formats`) writes it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::path::Path;

use import::{FORMATS, Format, Group};

const BEGIN: &str = "<!-- formats -->\n";
const END: &str = "<!-- /formats -->\n";

fn table() -> String {
    let mut table = "| capture | by | what is read |\n|---|---|---|\n".to_owned();
    for group in Group::ALL {
        let mut formats: Vec<&Format> = FORMATS.to_vec();
        formats.retain(|format| format.group == group);
        formats.sort_by_key(|format| format.name.to_lowercase());
        table.push_str(&format!("| **{}** | | |\n", group.name()));
        for format in formats {
            let content = match format.content {
                "" => "(known and not read)",
                content => content,
            };
            let cells =
                [format.name, format.printed_by, content].map(|cell| cell.replace('|', "\\|"));
            table.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
    }
    table
}

#[test]
fn the_documented_formats_are_the_real_ones() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/captures.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the begin of the table");
    let (documented, behind) = rest.split_once(END).expect("its end");
    let table = table();
    if std::env::var_os("FREEZEFRAME_FORMATS").is_some() {
        std::fs::write(&path, [before, BEGIN, &table, END, behind].concat()).unwrap();
        return;
    }
    assert_eq!(documented, table, "make formats writes the table");
}

#[test]
fn every_format_says_who_prints_it() {
    for format in FORMATS {
        let cells = [format.id, format.name, format.printed_by];
        assert!(!cells.contains(&""), "{format:?}");
        assert!(!cells.concat().contains('\n'), "{format:?}");
    }
}
