//! A user's own files: every mistake is told, and a file with one stays out.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy does not see that helpers of tests are test code"
)]

use diagnosis::{Catalogue, Extended, builtin_files};

const SOUND: &str = r#"id = "own"
title = "A cause of my own"
what = "It is this. It does that."
refuted_by = ["This."]
sources = ["A page."]

[[witness]]
id = "rate"
measure = "rate(status.Com_flush)"
above = 5
unit = "per_second"
says = "FLUSH ran at {value}"

[[look_alike]]
cause = "slow-fsync"
difference = "No FLUSH."

[remedy]
now = ["a"]
durable = ["b"]
undo = ["c"]
risk = "d"
verify = ["e"]
"#;

fn extended(files: &[(&str, &str)]) -> Extended {
    Catalogue::extended(files)
}

/// `line:column: key: problem` of each.
fn problems(text: &str) -> Vec<String> {
    let extended = extended(&[("own.toml", text)]);
    assert!(extended.catalogue.get("own").is_none());
    assert_eq!(
        extended.catalogue.causes().len(),
        Catalogue::builtin().causes().len()
    );
    let told = extended.problems.into_iter();
    told.map(|one| {
        assert_eq!(one.file, "own.toml");
        format!(
            "{}:{}: {}: {}",
            one.line,
            one.column,
            one.key.unwrap_or_default(),
            one.problem
        )
    })
    .collect()
}

#[test]
fn a_sound_file_joins_and_one_with_a_built_in_id_takes_its_place() {
    let own = extended(&[("dir/own.toml", SOUND)]);
    assert_eq!(own.problems, []);
    assert_eq!(own.catalogue.get("own").unwrap().title, "A cause of my own");
    assert!(own.replaced.is_empty() && own.own.contains("own"));
    let (name, text) = builtin_files()
        .into_iter()
        .find(|(name, _)| *name == "slow-fsync.toml")
        .unwrap();
    let text = text.replace("title = \"", "title = \"Mine: ");
    let own = extended(&[(name, &text)]);
    assert_eq!(own.problems, []);
    assert!(own.replaced.contains("slow-fsync"));
    let mine = own.catalogue.get("slow-fsync").unwrap();
    assert!(mine.title.starts_with("Mine: "));
    let count = own.catalogue.causes().len();
    assert_eq!(count, Catalogue::builtin().causes().len());
}

#[test]
fn every_mistake_of_a_file_is_told() {
    let text = SOUND
        .replace("title =", "titel =")
        .replace("refuted_by = [\"This.\"]", "refuted_by = \"This.\"")
        .replace("above = 5", "above = \"5\"\nlimit = 3")
        .replace(
            "says = \"FLUSH ran at {value}\"",
            "says = \"FLUSH ran at {valu}\"\nnecessary = 1",
        )
        .replace("slow-fsync", "slow-disk")
        .replace("undo = [\"c\"]\n", "")
        .replace("risk = \"d\"", "risk = \"\"");
    let told = problems(&text);
    let expected = [
        "2:1: titel: unknown field",
        "4:14: refuted_by: invalid type",
        "10:9: above: invalid type",
        "11:1: limit: unknown field",
        "missing field `title`",
        "undo: must not be empty",
        "risk: must not be empty",
        "says: '{valu}' is not a place",
        "necessary: invalid type: integer `1`, expected a boolean",
    ];
    for one in expected {
        let count = told.iter().filter(|told| told.contains(one)).count();
        assert_eq!(count, 1, "{one} in {told:#?}");
    }
    // What stood there in the wrong form is not told again as missing.
    assert!(
        !told
            .iter()
            .any(|told| told.contains("missing field `refuted_by`")),
        "{told:#?}"
    );
}

#[test]
fn mistakes_of_several_witnesses_are_told() {
    let witness = "[[witness]]\nid = \"a\"\nmeasure = \"log_lines(log = error, line = '(')\"\nabove = 1\nsays = \"b\"\n";
    let text = SOUND.replace(
        "[[look_alike]]",
        &format!(
            "{witness}{}{}[[look_alike]]",
            witness.replace("= error", "= mail"),
            witness.replace("says = \"b\"\n", "frames = [\"x\"]\nsays = \"b.\"\n")
        ),
    );
    let told = problems(&text);
    for one in [
        "16:42: measure: column 31: line: not a regular expression",
        "21:28: measure: column 17: log: must be one of error, kernel",
        "26:42: measure: column 31: line: not a regular expression",
        "frames: unknown field `frames`",
        "says: must be a clause",
    ] {
        let count = told.iter().filter(|told| told.contains(one)).count();
        assert!(count > 0, "{one} in {told:#?}");
    }
}

/// Not each key of the form before functions, and what else is wrong with the file then.
#[test]
fn of_a_sign_with_a_kind_one_thing_is_told() {
    let measure = "measure = \"rate(status.Com_flush)\"";
    let kind = "kind = \"profile\"\nfunctions = \"f\"\ncounting = \"share\"";
    let told = problems(&SOUND.replace(measure, kind));
    assert!(told[0].starts_with("9:8: kind: is of the form"), "{told:?}");
    assert_eq!(told.len(), 1, "{told:?}");
}

#[test]
fn a_file_that_is_no_toml_is_told_line_by_line() {
    let told = problems("id = \"own\ntitle = x\n[[witness]\n");
    assert!(told.len() >= 2, "{told:?}");
    assert!(told.iter().any(|one| one.starts_with("1:")), "{told:?}");
    assert!(!problems("").is_empty());
    assert!(!problems("\0\u{ff}").is_empty());
}

#[test]
fn who_names_a_file_that_is_left_out_is_left_out_too() {
    let broken = SOUND.replace("own", "broken").replace("above = 5", "");
    let names = SOUND.replace("slow-fsync", "broken");
    let third = SOUND
        .replace("\"own\"", "\"third\"")
        .replace("slow-fsync", "own");
    let extended = extended(&[
        ("broken.toml", &broken),
        ("own.toml", &names),
        ("third.toml", &third),
    ]);
    assert!(extended.own.is_empty());
    let told: Vec<String> = extended.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "broken.toml:8: id: needs a limit: above, below, times_baseline or at_most_times_baseline",
            "own.toml:15: cause: there is no cause 'broken'",
            "third.toml:15: cause: there is no cause 'own'",
        ]
    );
}

/// Built-in files, cut or with a line missing, each at other lines: told, never a panic, never endless.
#[test]
fn damaged_files_are_told() {
    for (first, (name, text)) in builtin_files().into_iter().take(12).enumerate() {
        let lines: Vec<&str> = text.lines().collect();
        for skipped in (first..lines.len()).step_by(7) {
            let mut rest = lines.clone();
            rest.remove(skipped);
            let _ = extended(&[(name, &rest.join("\n"))]);
            let _ = extended(&[(name, &lines[..skipped].join("\n"))]);
        }
    }
}

#[test]
fn every_cause_can_be_described() {
    for cause in Catalogue::builtin().causes() {
        let described = cause.describe();
        assert!(!described.witnesses.is_empty());
        for sign in described.witnesses.iter().chain(&described.against) {
            assert!(!sign.source.is_empty(), "{} {}", cause.id, sign.id);
            let settled = sign.kind == "fact" || sign.looks_for.contains(" is ");
            assert!(settled, "{} {}: {}", cause.id, sign.id, sign.looks_for);
        }
    }
}
