//! The texts that are learnt from: what the catalogue itself writes of a cause, and `texts/CAUSE.txt`, stories with a
//! line `%` between them. `texts/none.txt` are about no stall.

use std::collections::BTreeSet;
use std::path::Path;

use toml::{Table, Value};

/// One text.
pub(crate) struct Learnt {
    pub(crate) cause: String,
    pub(crate) features: BTreeSet<String>,
}

impl Learnt {
    fn new(cause: &str, text: &str) -> Self {
        let mut features = BTreeSet::new();
        likeness::features(text, |feature| {
            features.insert(feature.to_owned());
        });
        Self {
            cause: cause.to_owned(),
            features,
        }
    }
}

pub(crate) fn all() -> Vec<Learnt> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for (name, text) in files(&own.join("../diagnosis/causes")) {
        let cause = name.strip_suffix(".toml").unwrap();
        all.extend(of_cause(&text).iter().map(|text| Learnt::new(cause, text)));
    }
    let mut known: BTreeSet<String> = all.iter().map(|one| one.cause.clone()).collect();
    known.insert("none".to_owned());
    for (name, text) in files(&own.join("texts")) {
        let cause = name.strip_suffix(".txt").unwrap();
        assert!(known.contains(cause), "texts/{name}: no such cause");
        all.extend(text.split("\n%\n").map(|story| Learnt::new(cause, story)));
    }
    all
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// What a cause's file has for people, for sentences, and for signs, each a text of its own.
fn of_cause(text: &str) -> [String; 4] {
    let cause: Table = text.parse().unwrap();
    let of = |table: &Table, keys: &[&str]| -> String {
        let values = keys.iter().filter_map(|key| table.get(*key));
        values.map(words).collect::<Vec<_>>().join(" . ")
    };
    let signs = cause.get("witness").and_then(Value::as_array);
    let signs = signs.into_iter().flatten().filter_map(Value::as_table);
    let signs: Vec<String> = signs.map(|sign| of(sign, &["measure", "says"])).collect();
    let remedy = cause.get("remedy").and_then(Value::as_table);
    let remedy = remedy.map(|remedy| of(remedy, &["durable", "now"]));
    [
        of(&cause, &["title", "what"]),
        of(&cause, &["told", "terms"]).replace('*', " "),
        signs.join(" "),
        of(&cause, &["refuted_by", "sources"]) + " . " + &remedy.unwrap_or_default(),
    ]
}

/// All texts of a value.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(words).collect::<Vec<_>>().join(" . "),
        _ => String::new(),
    }
}
