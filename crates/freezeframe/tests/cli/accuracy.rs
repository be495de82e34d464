//! Published captures of real stalls, from the raw files through the program: what it says is what the
//! table of `make accuracy` counts (`crates/import/tests/accuracy.rs`, which also says where the
//! captures are).

use std::path::PathBuf;

use diagnosis::{Catalogue, diagnose};
use import::{Input, import};
use serde_json::Value;

use crate::harness::run;

fn corpus() -> Option<PathBuf> {
    let beside = || {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut above = root
            .ancestors()
            .skip(1)
            .map(|above| above.join("shared/corpus"));
        above.find(|corpus| corpus.is_dir())
    };
    std::env::var_os("FREEZEFRAME_CORPUS")
        .map(PathBuf::from)
        .or_else(beside)
}

#[test]
fn the_program_names_what_the_table_counts() {
    let Some(corpus) = corpus() else {
        eprintln!("skipped: there is no corpus beside the project");
        return;
    };
    let mut captures: Vec<PathBuf> = std::fs::read_dir(&corpus)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.with_extension("yaml").exists())
        .filter(|path| path.extension().is_some_and(|end| end != "yaml"))
        .collect();
    captures.sort();
    assert!(captures.len() >= 30, "only {} captures", captures.len());
    for path in captures {
        let name = path.to_str().unwrap();
        let output = run(&["explain", name, "--json"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let bytes = std::fs::read(&path).unwrap();
        let imported = import(&[Input {
            path: name,
            bytes: &bytes,
        }]);
        let Some(incident) = imported.incident else {
            assert_eq!(output.status.code(), Some(1), "{name}: {stderr}");
            assert_eq!(stderr.lines().count(), 1, "{name}: {stderr}");
            continue;
        };
        assert!(output.status.success(), "{name}: {stderr}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let said: Vec<(&str, &str)> = document["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| {
                (
                    finding["cause"].as_str().unwrap(),
                    finding["level"].as_str().unwrap(),
                )
            })
            .collect();
        let verdict = diagnose(&incident, Catalogue::builtin());
        let counted: Vec<(&str, &str)> = verdict
            .findings
            .iter()
            .map(|finding| (finding.cause.as_str(), finding.level.word()))
            .collect();
        assert_eq!(said, counted, "{name}");
    }
}
