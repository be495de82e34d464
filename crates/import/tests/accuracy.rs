//! Published captures of real stalls, from the raw files to the verdict. `make accuracy` writes the table.
//!
//! The captures are not part of the project: `FREEZEFRAME_CORPUS` names their folder, or it is
//! `shared/corpus` in a folder above. Without them the test is skipped.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use diagnosis::{Catalogue, Finding, Level, diagnose_closely};
use import::{Input, import};

/// Share of the cases whose cause must be at rank 1.
const RANK_1_MIN: f64 = 0.85;

fn corpus() -> Option<PathBuf> {
    let beside = || {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut above = root.ancestors().skip(1);
        above.find_map(|directory| {
            let corpus = directory.join("shared/corpus");
            corpus.is_dir().then_some(corpus)
        })
    };
    std::env::var_os("FREEZEFRAME_CORPUS")
        .map(PathBuf::from)
        .or_else(beside)
}

/// A case by its sidecar.
struct Case {
    file: String,
    kind: String,
    /// The cause that is known, then those that the sidecar accepts beside it.
    causes: Vec<String>,
}

impl Case {
    fn is_control(&self) -> bool {
        self.causes.iter().any(|cause| cause.starts_with("NONE"))
    }
}

fn cases(corpus: &Path) -> Vec<Case> {
    let mut sidecars: Vec<PathBuf> = std::fs::read_dir(corpus)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    sidecars.sort();
    sidecars.iter().map(|path| case(path)).collect()
}

fn case(sidecar: &Path) -> Case {
    let text = std::fs::read_to_string(sidecar).unwrap();
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
            .map(|value| value.trim().trim_matches('"').to_owned())
            .unwrap_or_default()
    };
    let also = value("also_accepted");
    let mut causes = vec![value("root_cause_id")];
    causes.extend(
        also.trim_matches(['[', ']'])
            .split(',')
            .map(|cause| cause.trim().trim_matches('"').to_owned())
            .filter(|cause| !cause.is_empty()),
    );
    Case {
        file: value("file"),
        kind: value("kind"),
        causes,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    First,
    UpToThird,
    Wrong,
    NotEnough,
}

impl Outcome {
    fn words(self) -> &'static str {
        match self {
            Self::First => "rank 1",
            Self::UpToThird => "rank 2 or 3",
            Self::Wrong => "wrong",
            Self::NotEnough => "not enough evidence",
        }
    }
}

struct Judged {
    outcome: Outcome,
    confident_and_wrong: bool,
    named: String,
}

fn judge(case: &Case, findings: &[Finding]) -> Judged {
    let first = findings.first();
    let sure = first.is_some_and(|finding| finding.level >= Level::Likely);
    let named = findings
        .iter()
        .map(|finding| format!("{} ({})", finding.cause, finding.level.word()))
        .collect::<Vec<_>>()
        .join(", ");
    let is_right = |finding: &Finding| case.causes.contains(&finding.cause);
    if case.is_control() {
        let outcome = if sure { Outcome::Wrong } else { Outcome::First };
        return Judged {
            outcome,
            confident_and_wrong: sure,
            named,
        };
    }
    let outcome = match findings.iter().position(is_right) {
        Some(0) => Outcome::First,
        Some(_) => Outcome::UpToThird,
        None if findings.is_empty() => Outcome::NotEnough,
        None => Outcome::Wrong,
    };
    Judged {
        outcome,
        confident_and_wrong: sure && outcome != Outcome::First,
        named,
    }
}

#[test]
fn published_captures_get_their_cause() {
    let Some(corpus) = corpus() else {
        eprintln!("skipped: there is no corpus beside the project");
        return;
    };
    let mut rows = String::new();
    let mut count = [0_usize; 4];
    let mut confident_and_wrong = Vec::new();
    let cases = cases(&corpus);
    for case in &cases {
        let bytes = std::fs::read(corpus.join(&case.file)).unwrap();
        let imported = import(&[Input {
            path: &case.file,
            bytes: &bytes,
        }]);
        let verdict = imported
            .incident
            .as_ref()
            .map(|incident| diagnose_closely(incident, Catalogue::builtin()));
        let findings = verdict
            .as_ref()
            .map_or(&[][..], |verdict| &verdict.findings);
        let judged = judge(case, findings);
        count[judged.outcome as usize] += 1;
        if judged.confident_and_wrong {
            confident_and_wrong.push(case.file.clone());
        }
        let named = if judged.named.is_empty() {
            "nothing"
        } else {
            &judged.named
        };
        let _ = writeln!(
            rows,
            "| {} | {} | {} | {named} | {} |",
            case.file,
            case.kind,
            case.causes.join(" or "),
            judged.outcome.words()
        );
        if std::env::var_os("FREEZEFRAME_ACCURACY_DETAILS").is_some()
            && judged.outcome != Outcome::First
        {
            eprintln!("== {}: {:?} {named}", case.file, judged.outcome);
            for part in &imported.parts {
                eprintln!("   {:?}", part);
            }
            if let Some(verdict) = &verdict {
                eprintln!("   {}", verdict.sentence);
                for finding in &verdict.findings {
                    for witness in &finding.witnesses {
                        eprintln!("   {}: {}", finding.cause, witness.says);
                    }
                }
                for rejected in &verdict.rejected {
                    eprintln!("   rejected {}: {}", rejected.cause, rejected.why);
                }
            }
        }
    }
    let all = cases.len();
    let share = count[Outcome::First as usize] as f64 / all as f64;
    let table = format!(
        "# Accuracy\n\n\
        Made by `make accuracy`: captures of real stalls as people published them, read by `freezeframe explain` from the raw text \
        and nothing else, against the cause that is known of each. The captures themselves are not part of the project.\n\n\
        - **rank 1**: the first finding is the known cause; for a control (`NONE-…`), nothing is likely or certain.\n\
        - **rank 2 or 3**: another finding stands before it.\n\
        - **wrong**: other causes only. *Wrong and confident* is a wrong first finding that is called likely or certain.\n\
        - **not enough evidence**: nothing is claimed.\n\n\
        | cases | rank 1 | rank 2 or 3 | wrong | not enough evidence | wrong and confident |\n\
        |---|---|---|---|---|---|\n\
        | {all} | {} ({:.0} %) | {} | {} | {} | {} |\n\n\
        | case | kind | cause | named | result |\n|---|---|---|---|---|\n{rows}",
        count[0],
        share * 100.0,
        count[1],
        count[2],
        count[3],
        confident_and_wrong.len(),
    );
    match std::env::var_os("FREEZEFRAME_ACCURACY") {
        Some(path) => std::fs::write(path, &table).unwrap(),
        None => eprintln!("{table}"),
    }
    assert!(
        confident_and_wrong.is_empty(),
        "wrong and confident: {confident_and_wrong:?}"
    );
    assert!(
        share >= RANK_1_MIN,
        "{:.0} % at rank 1\n{table}",
        share * 100.0
    );
}
