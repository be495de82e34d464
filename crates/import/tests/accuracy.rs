//! The project's captures (`captures/`), from the raw files to the verdict: results/accuracy.md is made of it.
//!
//! They are parted by a hash of their name. The *train* half is for working on. Of the *check* half only numbers are kept,
//! and nobody looks into it while causes are written: how far the two are apart says how much was learnt by heart.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use crate::common::{Capture, READ, findings_of};
use diagnosis::{Catalogue, Finding, Level};

/// With this variable the page is written instead of compared.
const WRITE: &str = "FREEZEFRAME_ACCURACY";

/// What must hold of each half, as shares of its captures.
const RANK_1_MIN: f64 = 0.80;
const AMONG_THREE_MIN: f64 = 0.90;
const SILENT_MAX: f64 = 0.03;
const WRONG_AND_SURE_MAX: f64 = 0.01;

/// How far rank 1 of the two halves may be apart: beyond that it was learnt by heart.
const APART_MAX: f64 = 0.08;

/// What share of the first findings of a level must be right, of both halves together.
const RIGHT_MIN: [(Level, f64); 2] = [(Level::Certain, 0.99), (Level::Likely, 0.95)];

/// Captures that each half has at least.
const CAPTURES_MIN: usize = 75;

const HEAD: &str = "\
# Accuracy

What this very commit says of [captures/](../captures), made by `make accuracy`; a test fails when it is stale, on any machine. The captures are stalls as people paste them, written by ourselves after published cases, by authors who did not see the catalogue's signs; each is compared with the cause that its `.yaml` names. *Train* (the first byte of the SHA-256 of the name is even) is for working on; nobody looks into *check* while causes are written.

- **rank 1**: the first finding is the known cause or one that the capture accepts as well; for a control (`NONE-…`, `OTHER:…`), nothing is likely or certain.
- **rank 1 to 3**: that, or the known cause is the second or third finding.
- **silent**: a cause is known, and there is no finding and no suspicion.
- **wrong and sure**: a wrong first finding is called likely or certain.

";

/// How often what came out.
#[derive(Default)]
struct Count {
    all: usize,
    first: usize,
    among_three: usize,
    silent: usize,
    wrong_and_sure: usize,
    controls: usize,
    sure_controls: usize,
    /// Of the first findings of each level how many are right, and of how many.
    levels: [(usize, usize); 4],
}

impl Count {
    /// Counts a capture, and says what came of it.
    fn add(&mut self, capture: &Capture, findings: &[Finding]) -> &'static str {
        let first = findings.first();
        let is_sure = first.is_some_and(|finding| finding.level >= Level::Likely);
        let is_first = match capture.is_control() {
            true => !is_sure,
            false => first.is_some_and(|finding| capture.is_right(&finding.cause)),
        };
        let among = findings.iter().take(3);
        let is_among = is_first || among.into_iter().any(|one| one.cause == capture.cause);
        let is_silent = findings.is_empty() && !capture.is_control();
        let is_wrong_and_sure = is_sure && !is_first;
        self.all += 1;
        self.first += usize::from(is_first);
        self.among_three += usize::from(is_among);
        self.silent += usize::from(is_silent);
        self.wrong_and_sure += usize::from(is_wrong_and_sure);
        self.controls += usize::from(capture.is_control());
        self.sure_controls += usize::from(capture.is_control() && is_sure);
        if let Some(finding) = first.filter(|_| !capture.is_control()) {
            let (right, all) = &mut self.levels[finding.level as usize];
            *right += usize::from(is_first);
            *all += 1;
        }
        match () {
            () if is_first => "rank 1",
            () if is_wrong_and_sure => "wrong and sure",
            () if is_among => "rank 2 or 3",
            () if is_silent => "silent",
            () => "wrong",
        }
    }

    fn share(&self, number: usize) -> f64 {
        number as f64 / self.all.max(1) as f64
    }

    fn row(&self, name: &str) -> String {
        let with_share = |number: usize| format!("{number} ({:.0} %)", 100.0 * self.share(number));
        format!(
            "| {name} | {} | {} | {} | {} | {} |\n",
            self.all,
            with_share(self.first),
            with_share(self.among_three),
            self.silent,
            self.wrong_and_sure,
        )
    }
}

/// The train half: the causes that are the first finding of a capture of theirs, and a row for each other capture.
#[derive(Default)]
struct Train {
    right: BTreeSet<String>,
    others: String,
}

impl Train {
    fn add(&mut self, capture: &Capture, first: Option<&Finding>, result: &str) {
        // The first one alone: what stands behind it changes with every word that a cause gets.
        let told = match first {
            Some(finding) if finding.cause == capture.cause => {
                self.right.insert(capture.cause.clone());
                return;
            }
            Some(finding) => format!("{} ({})", finding.cause, finding.level.word()),
            None => "nothing".to_owned(),
        };
        let _ = writeln!(
            self.others,
            "| {} | {} | {told} | {result} |",
            capture.name, capture.cause
        );
    }
}

fn page(train: &Count, check: &Count, captures: &Train) -> String {
    let mut page = format!(
        "{HEAD}| half | captures | rank 1 | rank 1 to 3 | silent | wrong and sure |\n|---|---|---|---|---|---|\n{}{}\n",
        train.row("train"),
        check.row("check"),
    );
    let _ = writeln!(
        page,
        "Of the controls, {} in train and {} in check, {} have a first finding that is likely or certain. Each cause of the \
         catalogue is the known cause of a capture.\n",
        train.controls,
        check.controls,
        train.sure_controls + check.sure_controls,
    );
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let _ = writeln!(
        page,
        "The test also fails where a half has less than {} at rank 1 or {} at rank 1 to 3, more than {} silent or {} wrong and \
         sure, where rank 1 of the halves is more than {:.0} points apart, where a control is likely, and where a cause has no \
         capture.\n",
        percent(RANK_1_MIN),
        percent(AMONG_THREE_MIN),
        percent(SILENT_MAX),
        percent(WRONG_AND_SURE_MAX),
        100.0 * APART_MAX,
    );
    page.push_str(
        "How reliable the levels are: of the first findings of a level so many are right, controls left out.\n\n\
         | level | train | check |\n|---|---|---|\n",
    );
    let levels = [
        Level::Certain,
        Level::Likely,
        Level::Possible,
        Level::Suspicion,
    ];
    for level in levels {
        let [train, check] = [train, check]
            .map(|half| half.levels[level as usize])
            .map(|(right, all)| format!("{right} of {all}"));
        let _ = writeln!(page, "| {} | {train} | {check} |", level.word());
    }
    let _ = writeln!(
        page,
        "\n## The train half\n\nOf {} causes a capture has the cause as first finding. Captures with another one, or none:\n\n\
         | capture | known cause | first finding | result |\n|---|---|---|---|",
        captures.right.len()
    );
    page + &captures.others
}

#[test]
fn captures_get_their_cause() {
    let (mut train, mut check) = (Count::default(), Count::default());
    let mut of_train = Train::default();
    let mut causes = BTreeSet::new();
    for (capture, incident) in READ.iter() {
        causes.insert(capture.cause.clone());
        let is_known = Catalogue::builtin().get(&capture.cause).is_some();
        assert!(
            is_known || capture.is_control(),
            "{}: no such cause",
            capture.name
        );
        let findings = findings_of(incident.as_ref());
        if capture.is_of_the_check_half() {
            check.add(capture, &findings);
            continue;
        }
        let result = train.add(capture, &findings);
        of_train.add(capture, findings.first(), result);
    }
    let page = page(&train, &check, &of_train);
    for half in [&train, &check] {
        assert!(half.all >= CAPTURES_MIN, "too few captures\n{page}");
        assert!(half.share(half.first) >= RANK_1_MIN, "{page}");
        assert!(half.share(half.among_three) >= AMONG_THREE_MIN, "{page}");
        assert!(half.share(half.silent) <= SILENT_MAX, "{page}");
        let wrong = half.share(half.wrong_and_sure);
        assert!(wrong <= WRONG_AND_SURE_MAX, "{page}");
        assert_eq!(half.sure_controls, 0, "{page}");
    }
    let apart = train.share(train.first) - check.share(check.first);
    assert!(apart.abs() <= APART_MAX, "{page}");
    for (level, floor) in RIGHT_MIN {
        let of_level = [&train, &check].map(|half| half.levels[level as usize]);
        let right: usize = of_level.iter().map(|(right, _)| right).sum();
        let all: usize = of_level.iter().map(|(_, all)| all).sum();
        assert!(right as f64 >= floor * all as f64, "{page}");
    }
    let ids = Catalogue::builtin().causes().iter();
    let lacking: Vec<&str> = ids
        .map(|cause| cause.id.as_str())
        .filter(|id| !causes.contains(*id))
        .collect();
    assert!(lacking.is_empty(), "without a capture: {lacking:?}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/accuracy.md");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, page).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "the page is stale: {WRITE}=1 writes results/accuracy.md anew"
    );
}
