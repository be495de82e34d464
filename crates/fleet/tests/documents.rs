//! Parts of documents that are made of the code: tables and questions.
//!
//! `FREEZEFRAME_DOCUMENTS=1` (`make documents`) writes them.

use std::path::Path;

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

/// The questions to a fleet.
#[test]
fn questions() {
    let questions = fleet::questions::QUESTIONS;
    let mut table = "| question | | looks back |\n|---|---|---|\n".to_owned();
    for question in questions {
        let days = format!("{} days", question.days);
        let days = match question
            .parameters
            .contains(&fleet::questions::Parameter::Since)
        {
            true => days.as_str(),
            false => "",
        };
        table += &cells(&[&quoted([question.name]), question.asks, days]);
    }
    check("fleet.md", "questions", &table);
    let mut table = "| question | keys of a row |\n|---|---|\n".to_owned();
    for question in questions {
        let columns = question.columns.iter().map(|column| column.name);
        table += &cells(&[&quoted([question.name]), &quoted(columns)]);
    }
    check("reference/json.md", "answers", &table);
}

/// The tables of a fleet's store.
#[test]
fn fleet_tables() {
    use fleet::table::Type;
    fn words(of: Type) -> String {
        match of {
            Type::Choice(words) => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                words.join(", ")
            }
            Type::List(of) => format!("list of {}", words(*of)),
            Type::Map(key, value) => format!("map of {} to {}", words(*key), words(*value)),
            Type::Sha256 => "SHA-256".to_owned(),
            Type::Id => "UUID".to_owned(),
            Type::Seconds => "moment, s".to_owned(),
            Type::Millis => "moment, ms".to_owned(),
            Type::Day => "day since 1970".to_owned(),
            other => format!("{other:?}").to_lowercase(),
        }
    }
    let mut made = String::new();
    for table in fleet::tables::TABLES {
        let kept = table
            .keep
            .map_or_else(String::new, |(_, days)| format!("; {days} days"));
        made += &format!("## {}\n\n{}{kept}.\n\n", table.name, table.what);
        made += "| column | type | |\n|---|---|---|\n";
        for column in table.columns {
            let mut name = quoted([column.name]);
            if table.sort_key.contains(&column.name) {
                name = format!("**{name}**");
            }
            let kept = column.keep_days.map(|days| format!("; {days} days"));
            let what = format!("{}{}", column.what, kept.unwrap_or_default());
            made += &cells(&[&name, &words(column.of), &what]);
        }
        made += "\n";
    }
    check("reference/fleet-tables.md", "tables", &made);
}

/// The signals that are sent by the second.
#[test]
fn vitals() {
    let mut table = "| signal | |\n|---|---|\n".to_owned();
    for vital in fleet::vitals::VITALS {
        table += &cells(&[&quoted([vital.signal]), vital.what]);
    }
    check("reference/fleet-tables.md", "vitals", &table);
}
