//! The files themselves: every line is an entry, says what it is and says it once.

#![allow(clippy::unwrap_used, reason = "a failing step fails the test")]

use std::collections::{HashMap, HashSet};
use std::path::Path;

use lexicon::{Entry, Kind, Lexicon, Role};

/// A sentence for somebody who is in a hurry.
const MEANING_CHARS_MAX: usize = 180;

/// Fewer letters are part of other words.
const STRONG_CHARS_MIN: usize = 5;

#[test]
fn every_line_is_an_entry() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let mut lines = 0;
    for file in std::fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        if path.ends_with("layers.txt") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let is_entry = !line.is_empty() && !line.starts_with("# ");
            let fields = line.split(" | ").count();
            assert!(
                !is_entry || fields == 7,
                "{}:{}: {fields} fields: {line}",
                path.display(),
                number + 1
            );
            lines += usize::from(is_entry);
        }
    }
    // What could not be read is left out, and a file that is not embedded is not read.
    let names = Lexicon::get()
        .entries()
        .filter(|entry| entry.pattern == entry.name);
    assert_eq!(names.count(), lines);
}

/// Whether a word of a term has an asterisk that is not its end: it would be looked for by its longest part alone.
fn has_asterisk_within(term: &str) -> bool {
    let words = term.split(" ~ ").flat_map(|half| half.split('/'));
    words
        .map(|word| word.trim().trim_end_matches('*'))
        .any(|word| word.contains('*'))
}

#[test]
fn every_entry_is_sound() {
    let lexicon = Lexicon::get();
    let mut wrong = Vec::new();
    let mut seen: HashMap<(Kind, &str), &Entry> = HashMap::new();
    for entry in lexicon.entries() {
        let letters = entry.pattern.replace('*', "");
        let is_amount = matches!(entry.role, Role::Amount | Role::Setting);
        let problems = [
            (lexicon::layer(entry.layer).is_none(), "no such layer"),
            (letters.trim().len() < 2, "a pattern for everything"),
            (
                // Terms are told from parts of words where they stand.
                entry.is_strong
                    && entry.kind != Kind::Term
                    && letters.chars().count() < STRONG_CHARS_MIN,
                "too short to be strong",
            ),
            (
                !entry.meaning.ends_with('.') || entry.meaning.chars().count() > MEANING_CHARS_MAX,
                "no short sentence",
            ),
            (entry.source.is_empty(), "no source"),
            (
                entry.kind == Kind::Term && has_asterisk_within(entry.pattern),
                "a term's asterisk is for the end of its last word: two words with endings are `one* ~ other*`",
            ),
            (
                is_amount && matches!(entry.kind, Kind::Function | Kind::Latch | Kind::Message),
                "a role of another kind",
            ),
            (
                seen.insert((entry.kind, entry.pattern), entry).is_some(),
                "twice",
            ),
        ];
        wrong.extend(
            problems
                .into_iter()
                .filter(|(is_wrong, _)| *is_wrong)
                .map(|(_, why)| format!("{:?} {}: {why}", entry.kind, entry.pattern)),
        );
    }
    assert!(wrong.is_empty(), "{}\n{wrong:#?}", wrong.len());
    let kinds: HashSet<Kind> = lexicon.entries().map(|entry| entry.kind).collect();
    assert_eq!(kinds.len(), 13, "{kinds:?}");
}

#[test]
fn what_is_asked_for_is_found() {
    let lexicon = Lexicon::get();
    for (kind, text, layer, role) in [
        (
            Kind::State,
            "waiting for table metadata lock",
            "metadata-lock",
            Role::Waits,
        ),
        (Kind::State, "Sending data", "executor", Role::Work),
        (
            Kind::Function,
            "compaction_alloc",
            "kernel-memory",
            Role::Work,
        ),
    ] {
        let entry = lexicon.lookup(kind, text).unwrap();
        assert_eq!((entry.layer, entry.role), (layer, role), "{text}");
    }
    // Whose code waits says more than how it does.
    let stack = [
        "__lll_lock_wait",
        "no_such_function",
        "MDL_context::acquire_lock",
        "do_command",
    ];
    let of_layer = |functions: &[&'static str]| {
        let found = lexicon.stack(functions.iter().copied());
        found.map(|(name, entry)| (name, entry.layer))
    };
    let telling = Some(("MDL_context::acquire_lock", "metadata-lock"));
    assert_eq!(of_layer(&stack), telling);
    assert!(of_layer(&stack[..1]).is_some_and(|(_, layer)| lexicon::is_general(layer)));
    assert_eq!(of_layer(&["no_such_function"]), None);
    // Capital letters tell functions apart, and states not.
    assert!(lexicon.lookup(Kind::Function, "COMPACTION_ALLOC").is_none());
    assert!(lexicon.find("qq no such thing qq").is_empty());
    let built = lexicon.find("/build/mysql-5.5.9/storage/innobase/trx/trx0trx.c");
    assert_eq!(built.first().map(|entry| entry.kind), Some(Kind::Place));
}
