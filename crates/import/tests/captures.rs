//! The project's own captures (`captures/`), from the raw files to the verdict. `make accuracy` writes the table.
//!
//! They are parted by a hash of their name: one half is for working on, the other is a number that nobody looks
//! into while causes are written. How far the two are apart says how much was learnt by heart.

#![allow(clippy::print_stderr, reason = "tests tell what they measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use diagnosis::{Catalogue, Level, diagnose_closely};
use import::{Input, import};
use sha2::{Digest as _, Sha256};

/// What must hold of each half, as shares of its captures: less than was measured when this was written, by the few that one
/// change may cost.
const RANK_1_MIN: f64 = 0.70;
const SILENT_MAX: f64 = 0.12;
const WRONG_AND_SURE_MAX: f64 = 0.03;

/// Captures that each half has at least.
const CAPTURES_MIN: usize = 75;

/// A capture by its sidecar.
struct Capture {
    name: String,
    file: PathBuf,
    cause: String,
    /// Others that are accepted as the first one.
    also: Vec<String>,
}

impl Capture {
    fn read(sidecar: &Path) -> Self {
        let text = std::fs::read_to_string(sidecar).unwrap();
        let value = |key: &str| {
            let mut lines = text.lines();
            let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            value
                .unwrap_or_default()
                .trim()
                .trim_matches('"')
                .to_owned()
        };
        let words = |text: &str| -> Vec<String> {
            let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
            words
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect()
        };
        Self {
            name: sidecar.file_stem().unwrap().to_str().unwrap().to_owned(),
            file: sidecar.with_file_name(value("file")),
            cause: value("root_cause_id"),
            also: words(&value("acceptable_secondary")),
        }
    }

    /// It shows nothing that is in the catalogue.
    fn is_control(&self) -> bool {
        self.cause.starts_with("NONE") || self.cause.starts_with("OTHER")
    }

    /// Of the half that nobody looks into.
    fn is_kept_back(&self) -> bool {
        Sha256::digest(self.name.as_bytes())[0] % 2 == 1
    }

    fn is_right(&self, cause: &str) -> bool {
        self.cause == cause || self.also.iter().any(|also| also == cause)
    }
}

/// How often what came out.
#[derive(Default)]
struct Count {
    all: usize,
    first: usize,
    among_three: usize,
    silent: usize,
    wrong_and_sure: Vec<String>,
    /// Of the first findings of each level how many are right, and of how many.
    levels: [(usize, usize); 4],
}

impl Count {
    fn add(&mut self, capture: &Capture) {
        let bytes = std::fs::read(&capture.file).unwrap();
        let path = capture.file.file_name().unwrap().to_str().unwrap();
        let incident = import(&[Input {
            path,
            bytes: &bytes,
        }])
        .incident;
        let findings = incident
            .map(|incident| diagnose_closely(&incident, Catalogue::builtin()).findings)
            .unwrap_or_default();
        let first = findings.first();
        let is_sure = first.is_some_and(|finding| finding.level >= Level::Likely);
        let is_first = match capture.is_control() {
            true => !is_sure,
            false => first.is_some_and(|finding| capture.is_right(&finding.cause)),
        };
        let is_among = findings
            .iter()
            .any(|finding| finding.cause == capture.cause);
        self.all += 1;
        self.first += usize::from(is_first);
        self.among_three += usize::from(is_first || is_among);
        self.silent += usize::from(findings.is_empty() && !capture.is_control());
        if is_sure && !is_first {
            self.wrong_and_sure.push(capture.name.clone());
        }
        if let Some(finding) = first.filter(|_| !capture.is_control()) {
            let (right, of) = &mut self.levels[finding.level as usize];
            *right += usize::from(is_first);
            *of += 1;
        }
    }

    fn row(&self, name: &str) -> String {
        let percent = |number: usize| 100.0 * number as f64 / self.all.max(1) as f64;
        let levels = self.levels.iter().rev();
        let levels: Vec<String> = levels
            .map(|(right, of)| format!("{right} of {of}"))
            .collect();
        format!(
            "| {name} | {} | {:.0} % | {:.0} % | {:.0} % | {} | {} |\n",
            self.all,
            percent(self.first),
            percent(self.among_three),
            percent(self.silent),
            self.wrong_and_sure.len(),
            levels.join(" | ")
        )
    }
}

#[test]
fn own_captures_get_their_cause() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let mut sidecars: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    sidecars.sort();
    let (mut work, mut check) = (Count::default(), Count::default());
    for sidecar in &sidecars {
        let capture = Capture::read(sidecar);
        let is_known = Catalogue::builtin().get(&capture.cause).is_some();
        assert!(
            is_known || capture.is_control(),
            "{}: no such cause",
            capture.name
        );
        match capture.is_kept_back() {
            true => check.add(&capture),
            false => work.add(&capture),
        }
    }
    let mut table = String::from(
        "# Captures of our own\n\n\
        Made by `make accuracy` of `captures/`: evidence of stalls as people paste it, written by ourselves after facts of published \
        cases and of the catalogue, by authors who did not see the catalogue's signs. Each was read by `freezeframe explain` and \
        nothing else. They are parted by a hash of their name; *kept back* is not looked into while causes are written.\n\n\
        - **rank 1**: the first finding is the known cause or one that is as good; for a control, nothing is likely or certain.\n\
        - **silent**: no finding and no suspicion at all.\n\
        - The last four columns: of the first findings of that level so many are right.\n\n\
        | half | captures | rank 1 | rank 1 to 3 | silent | wrong and sure | certain | likely | possible | suspicion |\n\
        |---|---|---|---|---|---|---|---|---|---|\n",
    );
    let _ = write!(
        table,
        "{}{}",
        work.row("to work on"),
        check.row("kept back")
    );
    match std::env::var_os("FREEZEFRAME_CAPTURES") {
        Some(path) => std::fs::write(path, &table).unwrap(),
        None => eprintln!("{table}"),
    }
    for count in [work, check] {
        let share = |number: usize| number as f64 / count.all as f64;
        assert!(
            count.all >= CAPTURES_MIN,
            "only {} captures\n{table}",
            count.all
        );
        assert!(share(count.first) >= RANK_1_MIN, "{table}");
        assert!(share(count.silent) <= SILENT_MAX, "{table}");
        let wrong = share(count.wrong_and_sure.len());
        assert!(
            wrong <= WRONG_AND_SURE_MAX,
            "{:?}\n{table}",
            count.wrong_and_sure
        );
    }
}
