//! What `export --pprof` writes, as pprof itself reads it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use testbed::{IncidentSize, made_incident};

use crate::harness::run;

/// What pprof prints; `None` where Go is not installed or has no pprof.
fn pprof(arguments: &[&str], file: &str) -> Option<String> {
    let output = Command::new("go")
        .args(["tool", "pprof", "-symbolize=none"])
        .args(arguments)
        .arg(file)
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: go: {error}");
            return None;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("no such tool") || said.contains("build cache") {
        eprintln!("skipped: go has no pprof here: {said}");
        return None;
    }
    assert!(output.status.success(), "{arguments:?}: {said}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Samples of each stack as it is folded, with those of each function at its end.
fn folded(frame: &str) -> (u64, BTreeMap<String, u64>) {
    let output = run(&["export", frame, "--folded", "-", "--when", "all"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut by_function = BTreeMap::new();
    let mut all = 0;
    for line in text.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        let count: u64 = count.parse().unwrap();
        let last = stack.rsplit(';').next().unwrap();
        let name = last.strip_suffix("_[k]").unwrap_or(last);
        all += count;
        *by_function.entry(name.to_owned()).or_default() += count;
    }
    (all, by_function)
}

#[test]
fn pprof_counts_what_we_count() {
    let dir = tempfile::tempdir().unwrap();
    let written =
        store::write_incident(&made_incident(&IncidentSize::small()), dir.path()).unwrap();
    let frame = written.to_str().unwrap();
    let path = dir.path().join("x.pb.gz");
    let file = path.to_str().unwrap();
    let output = run(&["export", frame, "--pprof", file, "--when", "all"]);
    assert!(output.status.success());
    assert!(Path::new(file).is_file());
    let (all, by_function) = folded(frame);

    let arguments = ["-sample_index=samples", "-nodecount=0", "-nodefraction=0"];
    let Some(top) = pprof(&[&["-top"], arguments.as_slice()].concat(), file) else {
        return;
    };
    // `Showing nodes accounting for 60, 100% of 60 total`.
    let total = format!("% of {all} total");
    assert!(top.contains(&total), "{total} in {top}");
    // `flat  flat%   sum%        cum   cum%  name`.
    let mut flat: BTreeMap<String, u64> = BTreeMap::new();
    for line in top.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [own, _, _, _, _, name @ ..] = words.as_slice()
            && let Ok(own @ 1..) = own.parse::<u64>()
        {
            *flat.entry(name.join(" ")).or_default() += own;
        }
    }
    assert_eq!(flat, by_function, "{top}");

    // Stacks are as deep as ours, and each has its thread.
    let raw = pprof(&["-raw"], file).unwrap();
    assert!(raw.contains("PeriodType: cpu nanoseconds"), "{raw}");
    assert!(raw.contains("samples/count cpu/nanoseconds"), "{raw}");
    assert!(raw.contains("thread:["), "{raw}");
    let samples: u64 = raw
        .lines()
        .skip_while(|line| *line != "Samples:")
        .take_while(|line| *line != "Locations")
        .filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok())
        .sum();
    assert_eq!(samples, all, "{raw}");

    // Who calls the function that has most.
    let (most, _) = by_function.iter().max_by_key(|(_, count)| **count).unwrap();
    let plain: String = most
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    let peek = pprof(
        &[&["-peek", plain.as_str()], arguments.as_slice()].concat(),
        file,
    )
    .unwrap();
    assert!(peek.contains(most.as_str()), "{most} in {peek}");
    assert!(
        peek.contains("do_command") || peek.contains(" | "),
        "{peek}"
    );
}
