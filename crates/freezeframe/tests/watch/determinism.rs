//! The same incident gives the same bytes of JSON, on any machine.

use std::path::Path;
use std::process::Command;

use diagnosis::{Catalogue, SourceRead, diagnose};
use testbed::{IncidentSize, made_incident};

use crate::harness::freezeframe;

/// The incident as a file `x.frame` in a directory.
fn frame_in(dir: &Path) {
    let written = store::write_incident(&made_incident(&IncidentSize::small()), dir).unwrap();
    std::fs::rename(written, dir.join("x.frame")).unwrap();
}

fn bytes_of(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    output.stdout
}

#[test]
fn explain_gives_the_same_bytes_whatever_is_around_it() {
    let dir = tempfile::tempdir().unwrap();
    frame_in(dir.path());
    let explain = |change: &dyn Fn(&mut Command)| {
        let mut command = freezeframe();
        command
            .args(["explain", "--json", "x.frame"])
            .current_dir(dir.path());
        change(&mut command);
        bytes_of(&mut command)
    };
    let first = explain(&|_| {});
    assert!(first.len() > 2000, "{}", String::from_utf8_lossy(&first));
    let changes: [&[(&str, &str)]; 5] = [
        &[("TZ", "Asia/Tokyo")],
        &[("TZ", "America/St_Johns"), ("LANG", "de_DE.UTF-8")],
        &[("LC_ALL", "tr_TR.UTF-8"), ("LC_NUMERIC", "de_DE.UTF-8")],
        &[
            ("HOME", "/tmp"),
            ("USER", "somebody"),
            ("TMPDIR", "/var/tmp"),
        ],
        &[("COLUMNS", "40"), ("TERM", "dumb"), ("NO_COLOR", "1")],
    ];
    for change in changes {
        let again = explain(&|command| {
            command.envs(change.iter().copied());
        });
        assert!(again == first, "{change:?}");
    }
    let bare = explain(&|command| {
        command.env_clear();
    });
    assert!(bare == first, "without an environment");
    // Maps are seeded by chance in each process; a wrong order would show in one of so many.
    for _ in 0..8 {
        assert!(explain(&|_| {}) == first, "another process");
    }

    // Elsewhere, written anew, on one processor.
    let other = tempfile::tempdir().unwrap();
    frame_in(other.path());
    let mut command = Command::new("taskset");
    command
        .args(["-c", "0", env!("CARGO_BIN_EXE_freezeframe")])
        .args(["explain", "--json", "x.frame"])
        .current_dir(other.path());
    assert!(bytes_of(&mut command) == first, "elsewhere");
    // By another path, under another name.
    let renamed = other.path().join("renamed.frame");
    std::fs::rename(other.path().join("x.frame"), &renamed).unwrap();
    let mut command = freezeframe();
    command.args(["explain", "--json"]).arg(&renamed);
    assert!(bytes_of(&mut command) == first, "by another path");
}

/// Set in the environment: the golden file is written instead of compared.
const BLESS: &str = "FREEZEFRAME_BLESS";

#[test]
fn an_incident_made_by_code_gives_the_golden_bytes() {
    let dir = tempfile::tempdir().unwrap();
    frame_in(dir.path());
    let loaded = store::read_incident(&dir.path().join("x.frame")).unwrap();
    assert_eq!(loaded.damage, []);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/watch/golden");
    let read = |name: &str| std::fs::read_to_string(golden.join(name)).unwrap();
    let catalogue = Catalogue::from_files(&[
        ("allocator.toml", read("allocator.toml")),
        ("crowd.toml", read("crowd.toml")),
    ])
    .unwrap();
    let mut verdict = diagnose(&loaded.incident, &catalogue);
    verdict.sources.push(SourceRead {
        path: "x.frame".to_owned(),
        kind: "freezeframe incident".to_owned(),
        ..SourceRead::default()
    });
    let json = report::json(&loaded.incident, &verdict);
    is_golden(&golden.join("verdict.json"), &json);
    let options = report::TextOptions::default();
    let brief = report::brief_text(&loaded.incident, &verdict, &[], &options);
    is_golden(&golden.join("brief.txt"), &brief);
}

fn is_golden(file: &Path, text: &str) {
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(file, text).unwrap();
    }
    let expected = std::fs::read_to_string(file).unwrap();
    let differs = expected
        .lines()
        .zip(text.lines())
        .find(|(expected, got)| expected != got);
    assert!(
        expected == text,
        "{}: first difference: {differs:#?}; {BLESS}=1 writes the file anew",
        file.display()
    );
}
