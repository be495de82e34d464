//! `freezeframe meaning`: what a function, a state, a latch or a line of a log means.

use std::io::Read;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use cli::output;
use lexicon::{Entry, Kind, Lexicon};
use serde_json::{Value, json};
use stacks::shorten::shorten_printed;

use crate::args::Meaning;

/// Bytes of standard input that are read.
const INPUT_BYTES_MAX: u64 = 16 << 20;

/// Names that are told instead of one that is not known.
const NEAR_MAX: usize = 5;

/// Parts of names shorter than this are in too many.
const NEAR_CHARS_MIN: usize = 4;

pub(crate) fn run(args: &Meaning) -> Result<ExitCode> {
    let asked = names_to_explain(&args.words)?;
    let lexicon = Lexicon::get();
    let answers: Vec<(&str, Vec<&Entry>)> = asked
        .iter()
        .map(|text| (text.as_str(), found(lexicon, text)))
        .collect();
    let is_known = answers.iter().all(|(_, entries)| !entries.is_empty());
    match args.json {
        true => output::print_json(&document(&answers))?,
        false => output::print(&page(lexicon, &answers, output::text_options().width))?,
    }
    Ok(match is_known {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    })
}

/// The words that were said; `-` stands for the lines of standard input.
fn names_to_explain(words: &[String]) -> Result<Vec<String>> {
    if words != ["-"] {
        return Ok(words.to_vec());
    }
    let mut text = Vec::new();
    std::io::stdin()
        .take(INPUT_BYTES_MAX)
        .read_to_end(&mut text)
        .context("standard input")?;
    let lines: Vec<String> = String::from_utf8_lossy(&text)
        .lines()
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    if lines.is_empty() {
        bail!("standard input is empty: one word or line on each line expected");
    }
    Ok(lines)
}

/// As it stands; a function that is known by its family alone, and what is not known, also without arguments
/// and suffixes: `buf_flush_single_page_from_LRU(buf_pool_t*)` is more than one of `buf_flush_*`.
fn found<'a>(lexicon: &'a Lexicon, text: &str) -> Vec<&'a Entry> {
    let found = lexicon.find(text);
    let is_of_family = |entry: &&Entry| entry.kind == Kind::Function && entry.pattern.contains('*');
    if !found.first().is_none_or(is_of_family) {
        return found;
    }
    let bare = lexicon.find(&shorten_printed(text));
    match bare.is_empty() {
        true => found,
        false => bare,
    }
}

fn page(lexicon: &Lexicon, answers: &[(&str, Vec<&Entry>)], width: usize) -> String {
    let mut out = String::new();
    for (text, entries) in answers {
        out.push_str(&output::plain(text));
        out.push('\n');
        for entry in entries {
            let family = match entry.pattern.contains('*') {
                true => format!(" [{}]", entry.pattern),
                false => String::new(),
            };
            let versions = entry.versions.map_or(String::new(), |of| format!(", {of}"));
            let says = format!(
                "{}{family}; {} ({}{versions})",
                entry.kind.words(),
                entry.says(),
                entry.source
            );
            out.push_str(&output::wrapped("  ", &says, width));
        }
        if entries.is_empty() {
            out.push_str(&output::wrapped("  ", &unknown(lexicon, text), width));
        }
    }
    out
}

fn unknown(lexicon: &Lexicon, text: &str) -> String {
    let near = match text.chars().count() >= NEAR_CHARS_MIN {
        true => lexicon.near(text, NEAR_MAX),
        false => Vec::new(),
    };
    let near: Vec<&str> = near.iter().map(|entry| entry.pattern).collect();
    match near.is_empty() {
        true => "unknown".to_owned(),
        false => format!("unknown; similar: {}", near.join(", ")),
    }
}

fn document(answers: &[(&str, Vec<&Entry>)]) -> Value {
    let answers = answers.iter().map(|(text, entries)| {
        let entries: Vec<Value> = entries
            .iter()
            .map(|entry| {
                json!({
                    "pattern": entry.pattern,
                    "kind": entry.kind.words(),
                    "layer": entry.layer,
                    "role": entry.role.word(),
                    "versions": entry.versions,
                    "meaning": entry.meaning,
                    "source": entry.source,
                })
            })
            .collect();
        json!({ "text": text, "meanings": entries })
    });
    Value::Array(answers.collect())
}
