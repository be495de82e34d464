//! Parts of documents that are made of the code: sources, signals, functions, formats.
//!
//! `FREEZEFRAME_DOCUMENTS=1` (`make documents`) writes them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;

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

/// The table of `freezeframe sources`.
#[test]
fn sources() {
    let mut table = "| source | every | cost | needs | reads |\n|---|---|---|---|---|\n".to_owned();
    for source in model::SOURCES {
        let every = format!("{} s", source.cadence_ms as f64 / 1000.0);
        let cost = format!("{:?}", source.cost).to_lowercase();
        let name = quoted([source.name]);
        table += &cells(&[&name, &every, &cost, source.needs, source.reads]);
    }
    check("reference/sources.md", "sources", &table);
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

/// Most areas are a source of their own; those of one source stand together.
#[test]
fn areas() {
    let mut by_source: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for area in model::areas() {
        by_source.entry(area.source).or_default().push(area.name);
    }
    let (alone, together): (Vec<_>, Vec<_>) = by_source
        .into_iter()
        .partition(|(source, areas)| *areas == [*source]);
    let mut made = format!(
        "Each a source of its own: {}.\n\n| source | areas |\n|---|---|\n",
        quoted(alone.into_iter().map(|(source, _)| source))
    );
    for (source, areas) in together {
        made += &cells(&[&quoted([source]), &quoted(areas)]);
    }
    check("reference/causes.md", "areas", &made);
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
