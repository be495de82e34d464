//! percona-toolkit's own samples, counted by its tools and by us. A development test: it runs where
//! `FREEZEFRAME_PERCONA_TOOLKIT` names a checkout of that project, of which nothing is copied here.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::run;

const VARIABLE: &str = "FREEZEFRAME_PERCONA_TOOLKIT";

/// Samples of one kind.
struct Kind {
    /// The folder, from the checkout's.
    folder: &'static str,
    /// The tool of percona-toolkit that reads them.
    tool: &'static str,
    arguments: &'static [&'static str],
    /// Ends of names; all files, where there is none.
    endings: &'static [&'static str],
    theirs: fn(&Kind, &Path) -> Counts,
    ours: fn(&Path) -> Counts,
}

/// How often each thing is there, the largest number first; why nobody knows, where the tool failed.
type Counts = Result<Vec<u64>, String>;

const KINDS: [Kind; 3] = [
    Kind {
        folder: "t/lib/samples/slowlogs",
        tool: "pt-query-digest",
        arguments: &["--no-version-check", "--output=json", "--type=slowlog"],
        endings: &[],
        theirs: statements_of_theirs,
        ours: statements_of_ours,
    },
    Kind {
        folder: "t/lib/samples/genlogs",
        tool: "pt-query-digest",
        arguments: &["--no-version-check", "--output=json", "--type=genlog"],
        endings: &[],
        theirs: statements_of_theirs,
        ours: statements_of_ours,
    },
    Kind {
        folder: "t/pt-pmp/samples",
        tool: "pt-pmp",
        arguments: &[],
        endings: &["in"],
        theirs: stacks_of_theirs,
        ours: stacks_of_ours,
    },
];

/// Samples on which we have reason to differ.
const KNOWN: [(&str, &str); 2] = [
    (
        "slow017.txt",
        "pt-query-digest 3.2 fails on a Query_time with two points; the statement is there",
    ),
    (
        "stacktrace006-eu.in",
        "pt-pmp 3.2 knows no `TID` heads of eu-stack and takes all threads for one",
    ),
];

#[test]
fn samples_of_percona_toolkit_are_counted_as_its_tools_count_them() {
    let Some(checkout) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
        eprintln!("skipped: {VARIABLE} names no checkout of percona-toolkit");
        return;
    };
    let mut differences = Vec::new();
    for kind in &KINDS {
        if let Err(error) = Command::new(kind.tool).arg("--version").output() {
            eprintln!("skipped: {}: {}: {error}", kind.folder, kind.tool);
            continue;
        }
        let samples = samples(&checkout.join(kind.folder), kind.endings);
        assert!(!samples.is_empty(), "no samples in {}", kind.folder);
        let mut same = 0;
        for sample in &samples {
            let name = sample
                .file_name()
                .map(OsStr::to_string_lossy)
                .unwrap_or_default();
            let known = KNOWN.iter().find(|(known, _)| *known == name);
            let (theirs, ours) = ((kind.theirs)(kind, sample), (kind.ours)(sample));
            match known {
                _ if theirs.is_ok() && theirs == ours => same += 1,
                Some((_, reason)) if ours.is_ok() => eprintln!("{name} differs: {reason}"),
                _ => differences.push(format!("{name}: {} {theirs:?}, we {ours:?}", kind.tool)),
            }
        }
        eprintln!("{}: {same} of {} are the same", kind.folder, samples.len());
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn samples(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut samples: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
            path.is_file() && (endings.is_empty() || endings.contains(&ending))
        })
        .collect();
    samples.sort_unstable();
    samples
}

/// What a tool prints of a file, unpacked where it is packed.
fn printed(kind: &Kind, path: &Path) -> Result<String, String> {
    let dir = tempfile::tempdir().unwrap();
    let mut path = path.to_owned();
    if path.extension().is_some_and(|ending| ending == "gz") {
        let unpacked = Command::new("gzip").arg("-dc").arg(&path).output();
        path = dir.path().join("unpacked");
        std::fs::write(
            &path,
            unpacked.map_err(|error| format!("gzip: {error}"))?.stdout,
        )
        .unwrap();
    }
    let output = Command::new(kind.tool)
        .args(kind.arguments)
        .arg(&path)
        .env("LC_ALL", "C")
        .env("HOME", dir.path())
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("caused an error") || !output.status.success() {
        return Err(said.lines().next().unwrap_or_default().to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn statements_of_theirs(kind: &Kind, path: &Path) -> Counts {
    let printed = printed(kind, path)?;
    if printed.trim().is_empty() {
        return Ok(vec![0]);
    }
    let report: Value = serde_json::from_str(&printed).map_err(|error| error.to_string())?;
    let count = report["global"]["query_count"].as_u64();
    count
        .map(|count| vec![count])
        .ok_or_else(|| "no query_count".to_owned())
}

fn statements_of_ours(path: &Path) -> Counts {
    let output = run(&["queries", &path.to_string_lossy(), "--json"]);
    let said = String::from_utf8_lossy(&output.stderr);
    // A few of the samples are what a tool made of a log.
    if said.contains("neither a slow log nor a general log") {
        return Ok(vec![0]);
    }
    let report: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {said}"))?;
    let count = report["total"].as_u64();
    count
        .map(|count| vec![count])
        .ok_or_else(|| "no total".to_owned())
}

fn stacks_of_theirs(kind: &Kind, path: &Path) -> Counts {
    counts(&printed(kind, path)?)
}

fn stacks_of_ours(path: &Path) -> Counts {
    let output = run(&["stacks", "--from", &path.to_string_lossy(), "--pt-pmp"]);
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    counts(&String::from_utf8_lossy(&output.stdout))
}

/// The first word of each line.
fn counts(printed: &str) -> Counts {
    let first = |line: &str| {
        line.split_whitespace()
            .next()
            .and_then(|word| word.parse().ok())
    };
    let lines = printed.lines().filter(|line| !line.trim().is_empty());
    let counts: Option<Vec<u64>> = lines.map(first).collect();
    let mut counts = counts.ok_or_else(|| "a line without a count".to_owned())?;
    counts.sort_unstable_by(|a, b| b.cmp(a));
    Ok(counts)
}
