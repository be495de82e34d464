//! What each cause was tried on: docs/evidence.md is made of the lab's scenarios, the published captures and the catalogue,
//! and says which causes have made-up evidence only.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use diagnosis::Catalogue;

/// With this variable the page is written instead of compared.
const WRITE: &str = "FREEZEFRAME_EVIDENCE";

const HEAD: &str = "\
# What the causes were tried on

Made by a test (`FREEZEFRAME_EVIDENCE=1 cargo test -p freezeframe --test cli evidence` writes it anew).

- **on a real server**: a scenario of the lab breaks a private server in this way, and the verdict is compared with what is true ([lab.md](lab.md)).
- **published captures**: what people published of such a stall is read, and the first finding is the known cause ([accuracy.md](accuracy.md)).
- **made up**: the numbers, stacks and lines of the tests were written after sources that the cause's file names; nobody provoked the stall. Every cause has such a test besides.

";

/// What shows a cause.
#[derive(Default)]
struct Shown {
    scenarios: Vec<String>,
    captures: Vec<String>,
}

fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut shown: BTreeMap<String, Shown> = BTreeMap::new();
    for scenario in lab::scenarios().unwrap() {
        // What is taken away on the way to the remedy was there, too.
        let steps = scenario.then.into_iter().map(|step| step.cause);
        for cause in std::iter::once(scenario.truth.cause).chain(steps) {
            let of = shown.entry(cause).or_default();
            of.scenarios.push(format!("`{}`", scenario.name));
        }
    }
    let accuracy = std::fs::read_to_string(root.join("docs/accuracy.md")).unwrap();
    for line in accuracy.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [_, case, _, cause, _, "rank 1", _] = cells[..] {
            let of = shown.entry(cause.to_owned()).or_default();
            of.captures.push(case.to_owned());
        }
    }
    let causes = Catalogue::builtin().causes();
    let mut rows = String::new();
    let (mut real, mut published, mut made_up) = (0, 0, 0);
    for cause in causes {
        let (scenarios, captures) = match shown.get(&cause.id) {
            Some(of) => (of.scenarios.join(", "), of.captures.join(", ")),
            None => (String::new(), String::new()),
        };
        real += usize::from(!scenarios.is_empty());
        published += usize::from(!captures.is_empty());
        let only = scenarios.is_empty() && captures.is_empty();
        made_up += usize::from(only);
        let mark = if only { "made up only" } else { "" };
        writeln!(rows, "| {} | {scenarios} | {captures} | {mark} |", cause.id).unwrap();
    }
    format!(
        "{HEAD}Of {} causes {real} were provoked on a real server, {published} are known from published captures, {made_up} from made-up \
         evidence only.\n\n| cause | on a real server | published captures | |\n|---|---|---|---|\n{rows}",
        causes.len()
    )
}

#[test]
fn the_page_says_what_there_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence.md");
    let page = page();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, page).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page, "{WRITE}=1 writes docs/evidence.md anew");
}
