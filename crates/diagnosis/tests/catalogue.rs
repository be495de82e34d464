//! The catalogue itself: what comes with the program is sound, and mistakes in a file are told with
//! file, line and key.

use std::collections::BTreeSet;

use diagnosis::{Catalogue, builtin_files};
use proptest::prelude::*;

const SOUND: &str = r#"id = "x"
title = "A cause"
what = "It is this. It does that."
aggravates = []
effect_of = ["*"]
refuted_by = ["This."]
sources = ["A page."]

[[witness]]
id = "rate"
measure = "rate(status.Questions)"
above = 500
times_baseline = 3
unit = "per_second"
necessary = true
says = "ran {value}, against {baseline}"

[[witness]]
id = "sessions"
measure = "sessions_share(class = 'select')"
above = 0.3
says = "{value} of the sessions"

[[against]]
id = "off"
fact = "variables.x"
equals = "OFF"
says = "x is {value}"

[[look_alike]]
cause = "y"
external = true
difference = "It differs."

[remedy]
now = ["a"]
durable = ["b"]
undo = ["c"]
risk = "d"
verify = ["e"]
"#;

fn load(text: &str) -> Result<Catalogue, String> {
    Catalogue::from_files(&[("x.toml", text)]).map_err(|error| error.to_string())
}

/// Patterns of the built-in causes are compiled when they are first asked; here all of them.
#[test]
fn the_built_in_files_are_sound_to_their_last_pattern() {
    let read = Catalogue::from_files(&builtin_files()).unwrap();
    let ids = |catalogue: &Catalogue| -> Vec<String> {
        let causes = catalogue.causes().iter();
        causes.map(|cause| cause.id.clone()).collect()
    };
    assert_eq!(ids(&read), ids(Catalogue::builtin()));
    assert!(!read.causes().is_empty());
}

#[test]
fn a_sound_file_loads() {
    let catalogue = load(SOUND).unwrap();
    let cause = catalogue.get("x").unwrap();
    assert_eq!(cause.title, "A cause");
    assert_eq!(cause.effect_of, ["*"]);
    assert_eq!(cause.look_alikes.len(), 1);
    assert!(
        Catalogue::from_files::<&str, &str>(&[])
            .unwrap()
            .causes()
            .is_empty()
    );
}

#[test]
fn mistakes_are_told_with_file_line_and_key() {
    for (before, after, expected) in [
        (
            r#"title = "A"#,
            r#"titel = "A"#,
            "x.toml:2: titel: unknown field `titel`",
        ),
        (
            r#"id = "x""#,
            r#"id = "z""#,
            "x.toml:1: id: the file must be called z.toml",
        ),
        (
            r#"id = "x""#,
            r#"id = "X y""#,
            "x.toml:1: id: must be lower-case",
        ),
        (
            r#"title = "A cause""#,
            r#"title = " ""#,
            "x.toml:2: title: must not be empty",
        ),
        (
            r#"["A page."]"#,
            "[]",
            "x.toml:7: sources: must not be empty",
        ),
        (
            r#"["This."]"#,
            r#"["This.", ""]"#,
            "x.toml:6: refuted_by: must not be empty",
        ),
        (
            "aggravates = []",
            r#"aggravates = ["nobody"]"#,
            "x.toml:4: aggravates: there is no cause 'nobody'",
        ),
        (
            "aggravates = []",
            r#"aggravates = ["x"]"#,
            "x.toml:4: aggravates: a cause cannot name itself",
        ),
        (
            "external = true",
            "",
            "x.toml:31: cause: there is no cause 'y'",
        ),
        (
            r#"above = 500"#,
            r#"abov = 500"#,
            "x.toml:12: abov: unknown field `abov`",
        ),
        ("above = 500", r#"above = "500""#, "x.toml:12: "),
        (
            "above = 500",
            "above = nan",
            "x.toml:12: above: must be a number",
        ),
        (
            "above = 500",
            "below = 500",
            "x.toml:12: below: cannot stand beside above or times_baseline",
        ),
        (
            "above = 500",
            "above = 500\nkind = \"measure\"",
            "x.toml:13: kind: is of the form before",
        ),
        (
            "rate(status.Questions)",
            "rate(status.Questions) +* 2",
            "x.toml:11: measure: column 25: a number, a function or '(' expected, found '*'",
        ),
        (
            "rate(status.Questions)",
            "1 + 1",
            "x.toml:11: measure: measures nothing",
        ),
        (
            "above = 500",
            "above = 500\nonly_if = [\n  \"rate(a.b) > 1\",\n  \"rate(a.b)\",\n]",
            "x.toml:15: only_if: column 10: one of >= <= > < expected",
        ),
        (
            "above = 500",
            "above = 500\neach = true",
            "x.toml:11: measure: each = true needs",
        ),
        (
            r#"unit = "per_second""#,
            "",
            "x.toml:9: unit: is missing for this witness",
        ),
        (
            "{value}, against",
            "{valeu}, against",
            "x.toml:16: says: '{valeu}' is not a place",
        ),
        (
            "against {baseline}",
            "{times}",
            "x.toml:16: says: {times} is unknown when",
        ),
        (
            "against {baseline}",
            "on {each}",
            "x.toml:16: says: {each} needs each = true",
        ),
        (
            "against {baseline}",
            "it was so.",
            "x.toml:16: says: must be a clause",
        ),
        (
            "times_baseline = 3",
            "times_baseline = 3\nbaseline_optional = true",
            "x.toml:17: says: {baseline} and {times} may be unknown here",
        ),
        (
            "above = 0.3",
            "above = 0.3\nbaseline_optional = true",
            "x.toml:22: baseline_optional: needs times_baseline as well",
        ),
        (
            "necessary = true",
            "necessary = true\none_of = \"g\"",
            "x.toml:16: one_of: cannot stand beside necessary",
        ),
        (
            "necessary = true",
            "refutes = true",
            "x.toml:15: refutes: belongs to [[against]] only",
        ),
        (
            r#"equals = "OFF""#,
            "equals = \"OFF\"\nconclusive = true",
            "x.toml:28: conclusive: belongs to [[witness]] only",
        ),
        (
            "class = 'select'",
            "",
            "x.toml:20: measure: column 15: needs exactly one of class",
        ),
        (
            "class = 'select'",
            "class = 'select', state = 'a'",
            "x.toml:20: measure: column 15: needs exactly one of class",
        ),
        (
            "class = 'select'",
            "state = '('",
            "x.toml:20: measure: column 24: state: not a regular expression",
        ),
        (
            r#"equals = "OFF""#,
            "",
            "x.toml:26: fact: needs exactly one of equals",
        ),
        (
            r#"id = "sessions""#,
            r#"id = "rate""#,
            "x.toml:19: id: is there twice",
        ),
        (r#"undo = ["c"]"#, "undo = []", "undo: must not be empty"),
        (r#"risk = "d""#, r#"risk = """#, "risk: must not be empty"),
        ("[remedy]", "[remedy", "x.toml:35: unclosed table"),
    ] {
        assert!(SOUND.contains(before), "{before}");
        let error = load(&SOUND.replacen(before, after, 1))
            .err()
            .unwrap_or_else(|| panic!("no error for {after}"));
        assert!(
            error.contains(expected),
            "{after}\n  got {error}\n  not {expected}"
        );
    }
}

#[test]
fn two_files_cannot_be_the_same_cause() {
    let error = Catalogue::from_files(&[("x.toml", SOUND), ("user/x.toml", SOUND)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "user/x.toml:1: id: 'x' is the id of another file too"
    );
}

#[test]
fn a_file_of_the_user_joins_the_built_in_ones() {
    let mut files = builtin_files();
    let own = SOUND.replace(r#"["*"]"#, r#"["slow-fsync"]"#);
    files.push(("x.toml", own));
    let catalogue = Catalogue::from_files(&files).unwrap();
    assert_eq!(catalogue.causes().len(), builtin_files().len() + 1);
}

#[test]
fn the_example_of_the_documentation_loads() {
    let page = include_str!("../../../docs/reference/causes.md");
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let name = "show-warnings-flood.toml";
    let mut files = builtin_files();
    files.retain(|(file, _)| *file != name);
    files.push((name, example.to_owned()));
    Catalogue::from_files(&files).unwrap();
}

#[test]
fn the_built_in_catalogue_is_whole() {
    let catalogue = Catalogue::builtin();
    let ids: BTreeSet<&str> = catalogue
        .causes()
        .iter()
        .map(|cause| cause.id.as_str())
        .collect();
    for id in [
        "compressed-protocol",
        "connection-storm",
        "max-connections",
        "row-lock-pileup",
        "show-warnings-flood",
        "slow-fsync",
        "small-bufpool",
        "thp-compaction",
    ] {
        assert!(ids.contains(id), "{id}");
    }
    for cause in catalogue.causes() {
        let id = &cause.id;
        assert!(!cause.look_alikes.is_empty(), "{id} has no look-alike");
        // Who makes another worse comes after it, a root before: both would hold each other back for nothing.
        for other in &cause.aggravates {
            let effect_of = &catalogue.get(other).unwrap().effect_of;
            assert!(!effect_of.contains(id), "{id} and {other}");
        }
        for alike in &cause.look_alikes {
            assert!(!alike.difference.is_empty());
        }
        let witnesses = cause.describe().witnesses.into_iter();
        let counting = witnesses.filter(|sign| sign.counts);
        let sources: BTreeSet<String> = counting.map(|sign| sign.source).collect();
        assert!(sources.len() >= 2, "{id} cannot be more than possible");
        assert!(
            !cause.sources.is_empty() && !cause.refuted_by.is_empty(),
            "{id}"
        );
        assert!(
            (2..=3).contains(&(cause.what.matches(". ").count() + 1)),
            "{id}: what is two or three sentences"
        );
        let remedy = &cause.remedy;
        for list in [&remedy.now, &remedy.durable, &remedy.undo, &remedy.verify] {
            assert!(!list.is_empty(), "{id}");
        }
        assert!(!remedy.risk.is_empty(), "{id}");
    }
}

/// Reports and the live view print these sentences: the pattern by which something is found stands in the measure.
#[test]
fn no_sentence_of_a_sign_has_a_pattern() {
    let mut sentences = 0;
    for (name, text) in builtin_files() {
        for line in text.lines().filter(|line| line.starts_with("says = ")) {
            sentences += 1;
            for pattern in ["_*", ".*", "^", "\\", "(?"] {
                assert!(!line.contains(pattern), "{name}: {pattern}: {line}");
            }
        }
    }
    assert!(sentences > 300, "{sentences}");
}

proptest! {
    #[test]
    fn a_damaged_file_never_panics(at in 0usize..SOUND.len(), length in 0usize..40, text in ".{0,12}") {
        let mut damaged = SOUND.to_owned();
        let end = (at + length).min(damaged.len());
        damaged.replace_range(at..end, &text);
        if let Err(error) = Catalogue::from_files(&[("x.toml", &damaged)]) {
            prop_assert!(error.line >= 1 && error.line <= damaged.lines().count() + 1);
        }
    }
}

/// A sound file with one `[[fix]]` table.
fn with_fix(lines: &str) -> Result<Catalogue, String> {
    load(&format!("{SOUND}\n[[fix]]\n{lines}\n"))
}

#[test]
fn a_fix_is_read() {
    use model::{FixAction, FixValue, FixWhen, Releases};
    let catalogue = with_fix(
        "action = \"set-global\"\nvariable = \"sync_binlog\"\nvalue = \"100\"\nfor = \"now\"\nfrom = \"1\"\n\
         mysql = \">= 5.7\"\nconsent = \"The owner.\"",
    )
    .unwrap();
    let fix = &catalogue.causes()[0].fixes[0];
    assert_eq!(
        fix.action,
        FixAction::SetGlobal {
            variable: "sync_binlog".to_owned(),
            value: FixValue::Exactly("100".to_owned()),
        }
    );
    assert_eq!(fix.when, FixWhen::Now);
    assert_eq!(fix.from.as_deref(), Some("1"));
    assert_eq!(fix.consent.as_deref(), Some("The owner."));
    assert!(!fix.mysql.has([5, 6, 0]) && fix.mariadb == Releases::ALL);
    // What is not said.
    let catalogue = with_fix("action = \"option-file\"\nvariable = \"x\"\nper_cpu = 2").unwrap();
    assert_eq!(catalogue.causes()[0].fixes[0].when, FixWhen::Durable);
    let catalogue = with_fix("action = \"thp-never\"").unwrap();
    assert_eq!(catalogue.causes()[0].fixes[0].when, FixWhen::Both);
}

#[test]
fn mistakes_in_a_fix_are_told_with_their_key() {
    for (lines, words) in [
        ("action = \"reboot\"", "action: 'reboot' is none of"),
        (
            "action = \"thp-never\"\nvalue = \"x\"",
            "value: not a key of thp-never",
        ),
        ("action = \"sysctl\"\nvalue = \"1\"", "key: is missing"),
        (
            "action = \"sysctl\"\nkey = \"vm/../x\"\nvalue = \"1\"",
            "key: is no name",
        ),
        (
            "action = \"sysctl\"\nkey = \"vm..x\"\nvalue = \"1\"",
            "key: is no name",
        ),
        (
            "action = \"set-global\"\nvariable = \"x; DROP\"\nvalue = \"1\"",
            "variable: is no name",
        ),
        (
            "action = \"set-global\"\nvariable = \"x\"",
            "value: needs one of",
        ),
        (
            "action = \"set-global\"\nvariable = \"x\"\nvalue = \"1\"\nat_least = 1",
            "value: needs one of",
        ),
        (
            "action = \"set-global\"\nvariable = \"x\"\ntimes = 0.5\nat_most = 9",
            "times: must be more",
        ),
        (
            "action = \"set-global\"\nvariable = \"x\"\nvalue = \"a\\nb\"",
            "value: must be one line",
        ),
        (
            "action = \"option-file\"\nvariable = \"x\"\nvalue = \"1\"\nfor = \"now\"",
            "for: option-file counts",
        ),
        (
            "action = \"set-global\"\nvariable = \"x\"\nvalue = \"1\"\nfor = \"ever\"",
            "for: must be now",
        ),
        (
            "action = \"set-global\"\nvariable = \"x\"\nvalue = \"1\"\nmysql = \"8.0\"",
            "mysql: must be none",
        ),
        (
            "action = \"server-environment\"\nvariable = \"X\"\nvalue = \"a b\"",
            "value: needs value",
        ),
        (
            "action = \"open-files-limit\"\nat_least = 9\nfor = \"now\"",
            "for: open-files-limit counts",
        ),
        (
            "action = \"open-files-limit\"\nat_least = 9\nvariable = \"x\"",
            "variable: not a key of open-files-limit",
        ),
        (
            "action = \"thp-never\"\nrisk = \" \"",
            "risk: must not be empty",
        ),
        (
            "action = \"thp-never\"\nwhose = \"me\"",
            "unknown field `whose`",
        ),
        (
            "action = \"thp-never\"\nwho = \"row-lock-holder\"",
            "who: not a key of thp-never",
        ),
        ("action = \"end-session\"", "who: is missing"),
        ("action = \"end-session\"\nwho = \"me\"", "who: is no part"),
        (
            "action = \"end-session\"\nwho = \"row-lock-holder\"\nfor = \"durable\"",
            "for: end-session counts at once",
        ),
    ] {
        let error = with_fix(lines).unwrap_err();
        assert!(
            error.starts_with("x.toml:") && error.contains(words),
            "{lines}: {error}"
        );
    }
}
