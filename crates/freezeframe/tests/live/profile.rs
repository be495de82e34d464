//! `profile` of programs that spend their time where we know.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testbed::build_victim;

use crate::tool::{Known, compile, json, may_sample, text};

/// Takes one processor, in `burn_flour` or in `burn_sugar`.
const BAKER: &str = r#"
#include "victim.h"
static struct crew burners = {.role = "burner"};
static volatile uint64_t sum;
static FRAME void burn_flour(void) { for (int n = 0; n < 100000; n++) sum += (uint64_t)n; }
static FRAME void burn_sugar(void) { for (int n = 0; n < 100000; n++) sum -= (uint64_t)n; }
static FRAME void bake(long sweet) {
    for (;;) {
        if (sweet)
            burn_sugar();
        else
            burn_flour();
        AFTER_CALL;
    }
}
static FRAME void *burner_thread(void *sweet) {
    arrive(&burners);
    bake((long)sweet);
    AFTER_CALL;
    return NULL;
}
int main(int argc, char **argv) {
    victim_begins("baker");
    start_thread(burner_thread, (void *)argument(argc, argv, 1, 0, 0, 1));
    wait_for_crew(&burners, 1);
    line_begins();
    print_tids("burners", &burners);
    line_ends();
    wait_for_the_end();
    _exit(0);
}
"#;

fn build_baker(_: &str, dir: &Path) -> Result<PathBuf, testbed::Error> {
    // For the header that victims share.
    build_victim("idlers", dir)?;
    let source = dir.join("baker.c");
    std::fs::write(&source, BAKER).unwrap();
    let program = dir.join("baker");
    compile(&source, &program, &[]);
    Ok(program)
}

pub(crate) fn baker(sweet: &str) -> Known {
    Known::with("baker", &[sweet], &[], build_baker)
}

#[test]
fn what_burns_is_on_top_and_its_callers_have_the_total() {
    if !may_sample() {
        return;
    }
    let known = baker("0");
    let pid = known.pid();
    let profile = json(&[
        "profile",
        "--pid",
        &pid,
        "--seconds",
        "1",
        "--hz",
        "999",
        "--json",
        "--limit",
        "0",
    ]);
    let samples = profile["samples"].as_u64().unwrap();
    assert!(samples > 0, "{profile}");
    assert_eq!(profile["hz"], 999);
    assert_eq!(profile["cut"], 0, "{profile}");
    assert_eq!(profile["threads"][0]["name"], "burner");
    let top = &profile["symbols"][0];
    assert_eq!(
        (&top["name"], &top["image"]),
        (&"burn_flour".into(), &"baker".into())
    );
    assert!(top["self_share"].as_f64() > Some(0.5), "{profile}");
    for caller in ["bake", "burner_thread"] {
        let symbols = profile["symbols"].as_array().unwrap();
        let row = symbols.iter().find(|row| row["name"] == caller).unwrap();
        assert!(
            row["total_samples"].as_u64() >= top["total_samples"].as_u64(),
            "{row} {top}"
        );
        assert!(row["self_share"].as_f64() < Some(0.3), "{row}");
    }

    let folded = text(&["profile", "--pid", &pid, "--seconds", "500ms", "--folded"]);
    let chain = ";burner_thread;bake;burn_flour ";
    assert!(
        folded
            .lines()
            .any(|line| line.starts_with("burner;") && line.contains(chain)),
        "{folded}"
    );
    let table = text(&[
        "profile",
        "--pid",
        &pid,
        "--seconds",
        "500ms",
        "--limit",
        "1",
    ]);
    assert!(
        table.contains("burn_flour") && !table.contains("burner_thread"),
        "{table}"
    );
}

#[test]
fn the_whole_machine_shows_it_among_others() {
    if !may_sample() {
        return;
    }
    let known = baker("0");
    let machine = json(&["profile", "--seconds", "1", "--json", "--limit", "0"]);
    assert!(machine["processors"].as_u64() > Some(0), "{machine}");
    let threads = machine["threads"].as_array().unwrap();
    assert!(
        threads.iter().any(|thread| thread["name"] == "burner"),
        "{threads:#?}"
    );
    drop(known);
}

#[test]
fn files_are_for_their_owner_and_tell_two_profiles_apart() {
    if !may_sample() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (calm, stall) = (path("calm.profile.json"), path("stall.profile.json"));
    let (page, proto) = (path("flame.html"), path("profile.pb.gz"));
    // What was there for everybody to read is not so any more.
    std::fs::write(&calm, "old").unwrap();
    let folded = path("calm.folded");
    for (sweet, output) in [("0", &calm), ("1", &stall)] {
        let known = baker(sweet);
        let lines = text(&[
            "profile",
            "--pid",
            &known.pid(),
            "--seconds",
            "1",
            "--hz",
            "999",
            "--folded",
            "--output",
            output,
            "--html",
            &page,
            "--pprof",
            &proto,
        ]);
        if sweet == "0" {
            std::fs::write(&folded, lines).unwrap();
        }
    }
    for file in [&calm, &stall, &page, &proto] {
        let mode = std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("burn_sugar") && html.trim_end().ends_with("</html>"));
    for outside in ["src=\"http", "href=\"http", "@import", "url("] {
        assert!(!html.contains(outside), "{outside} in the page");
    }
    let unpacked = Command::new("gzip").args(["-dc", &proto]).output().unwrap();
    assert!(unpacked.status.success(), "{unpacked:?}");
    let strings = String::from_utf8_lossy(&unpacked.stdout);
    assert!(strings.contains("burn_sugar") && strings.contains("cpu"));

    // A folded file is a profile as well.
    for first in [&calm, &folded] {
        // Not only the largest changes: beside other tests the kernel's interrupts changed more
        // than `bake`.
        let diff = json(&["profile", "--diff", first, &stall, "--json", "--limit", "0"]);
        let change = |name: &str| -> f64 {
            let rows = diff["rows"].as_array().unwrap();
            let row: &Value = rows.iter().find(|row| row["name"] == name).unwrap();
            row["self_change"].as_f64().unwrap()
        };
        assert!(change("burn_sugar") > 0.5, "{diff}");
        assert!(change("burn_flour") < -0.5, "{diff}");
        assert!(change("bake").abs() < 0.3, "{diff}");
        let top = diff["rows"][0]["name"].as_str().unwrap();
        assert!(top.starts_with("burn_"), "{diff}");
    }
    let table = text(&["profile", "--diff", &calm, &stall, "--html", &page]);
    assert!(
        table.contains("burn_sugar") && table.contains("burn_flour"),
        "{table}"
    );
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("burn_sugar") && html.contains("burn_flour"));
    // The other way round, the other one rose.
    let diff = json(&["profile", "--diff", &stall, &calm, "--json"]);
    let rows = diff["rows"].as_array().unwrap();
    let flour = rows.iter().find(|row| row["name"] == "burn_flour").unwrap();
    assert!(flour["self_change"].as_f64() > Some(0.5), "{diff}");
}
