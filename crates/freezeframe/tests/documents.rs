//! Parts of documents that are made of the code: sources, signals, functions, formats.
//!
//! `FREEZEFRAME_DOCUMENTS=1` (`make documents`) writes them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use import::{FORMATS, Format, Group};

/// Compares what stands between `<!-- mark -->` and `<!-- /mark -->`, or writes it.
fn check(document: &str, mark: &str, made: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("docs").join(document);
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->\n"));
    let (before, rest) = text.split_once(&begin).unwrap();
    let (documented, behind) = rest.split_once(&end).unwrap();
    if std::env::var_os("FREEZEFRAME_DOCUMENTS").is_some() {
        std::fs::write(&path, [before, &begin, made, &end, behind].concat()).unwrap();
    } else {
        assert_eq!(documented, made, "make documents writes {document}");
    }
}

/// A row of a table.
fn cells(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn quoted<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names = names.into_iter().map(|name| format!("`{name}`"));
    names.collect::<Vec<_>>().join(", ")
}

#[test]
fn sources() {
    let program = env!("CARGO_BIN_EXE_freezeframe");
    let output = Command::new(program).arg("sources").output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    check(
        "reference/sources.md",
        "sources",
        &format!("```\n{table}```\n"),
    );
}

/// The first name of several is whole, the others are without the area.
#[test]
fn signals() {
    let mut table = "| signals | source | | |\n|---|---|---|---|\n".to_owned();
    let mut all: Vec<_> = recorder::all_signals().collect();
    let row = |name: &str| model::SOURCES.iter().position(|row| row.name == name);
    // Of no row are those that the recorder itself notices.
    all.sort_by_key(|(source, _)| row(source).unwrap_or(usize::MAX));
    for (source, signals) in all {
        let (first, others) = signals.names.split_first().unwrap();
        let others = others.iter().map(|name| name.split_once('.').unwrap().1);
        let names = quoted([*first].into_iter().chain(others));
        table += &cells(&[&names, &quoted([source]), signals.form, signals.says]);
    }
    check("reference/frame-format.md", "signals", &table);
}

/// Areas that are one source for a cause stand together.
#[test]
fn areas() {
    let mut by_source: BTreeMap<&str, Vec<&model::Area>> = BTreeMap::new();
    for area in model::areas() {
        by_source.entry(area.source).or_default().push(area);
    }
    let mut table = "| source | areas | taken by |\n|---|---|---|\n".to_owned();
    for (source, areas) in by_source {
        let mut taken_by: Vec<&str> = areas.iter().map(|area| area.taken_by).collect();
        taken_by.dedup();
        let names = quoted(areas.iter().map(|area| area.name));
        table += &cells(&[&quoted([source]), &names, &taken_by.join("; ")]);
    }
    check("reference/causes.md", "areas", &table);
}

#[test]
fn functions() {
    let [aggregates, functions] = diagnosis::functions_documentation();
    check("reference/causes.md", "aggregates", &aggregates);
    check("reference/causes.md", "functions", &functions);
}

#[test]
fn formats() {
    let mut table = cells(&["capture", "by", "what is read"]) + "|---|---|---|\n";
    for group in Group::ALL {
        let mut formats: Vec<&Format> = FORMATS.to_vec();
        formats.retain(|format| format.group == group);
        formats.sort_by_key(|format| format.name.to_lowercase());
        table += &format!("| **{}** | | |\n", group.name());
        for format in formats {
            let content = match format.content {
                "" => "(known and not read)",
                content => content,
            };
            table += &cells(&[format.name, format.printed_by, content]);
        }
    }
    check("captures.md", "formats", &table);
}
