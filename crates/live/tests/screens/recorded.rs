//! Every screen of a stall that was recorded: a transaction that is idle holds a row lock of a MariaDB 10.11, and 40
//! sessions queue behind it. `freezeframe-lab run row-lock-pileup --brief` recorded it; `freezeframe export --redact`
//! took its names away. `recorded/` has the file, packed.

use std::path::Path;
use std::sync::Arc;

use diagnosis::{Catalogue, SourceRead, diagnose_closely};
use live::keys::{Press, SCREENS};
use live::{IncidentOutcome, Model, Outcomes, Palette, RecordingKind, State};

use crate::{SIZES, cells, check, keys, text};

/// Where the file lies, as the screens tell it.
const FILE: &str = "/var/lib/freezeframe/35499-20261201T001129.229Z.frame";

/// As `live FILE` reads it, and what the list of incidents judges.
fn read() -> (Model, Outcomes) {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/screens/recorded/row-lock-pileup.frame.gz");
    let mut packed = flate2::read::GzDecoder::new(std::fs::File::open(packed).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("unpacked.frame");
    std::io::copy(&mut packed, &mut std::fs::File::create(&path).unwrap()).unwrap();
    let loaded = store::read_incident(&path).unwrap();
    assert!(loaded.damage.is_empty(), "{:?}", loaded.damage);
    let incident = loaded.incident;
    let mut verdict = diagnose_closely(&incident, Catalogue::builtin());
    verdict.sources.push(SourceRead {
        path: FILE.to_owned(),
        kind: "incident".to_owned(),
        ..SourceRead::default()
    });
    let outcome = IncidentOutcome::new(&incident, &verdict);
    let kind = RecordingKind::File;
    let mut model = Model::from_incident(incident, verdict, kind, FILE.to_owned());
    model.incidents = live::list(dir.path());
    assert_eq!(model.incidents.len(), 1);
    model.incidents[0].path = Some(FILE.into());
    (model, Outcomes::from([(FILE.into(), outcome)]))
}

/// The screens of one size, each with its name.
fn drawn(read: &(Model, Outcomes), size: (u16, u16)) -> Vec<(&'static str, String)> {
    let (model, outcomes) = read;
    let of_screen = |screen: &live::keys::ScreenName| {
        let mut state = State::new(model, false);
        state.outcomes = Arc::new(outcomes.clone());
        keys(model, &mut state, &[Press::Char(screen.digit)], size);
        let shown = text(&cells(model, &state, size, Palette::Many));
        (screen.name, shown)
    };
    SCREENS.iter().map(of_screen).collect()
}

#[test]
fn every_screen_of_a_recorded_stall_at_three_sizes() {
    let recorded = read();
    let mut wrong = Vec::new();
    for size in SIZES {
        for (name, shown) in drawn(&recorded, size) {
            let name = format!("recorded-{}", name.to_lowercase());
            wrong.extend(check(&name, size, &shown));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_recorded_stall_has_its_cause_and_its_holder_where_they_belong() {
    let (recorded, again) = (read(), read());
    let verdict = recorded.0.verdict.as_ref().unwrap();
    assert_eq!(verdict.findings[0].cause, "row-lock-pileup");
    for size in SIZES {
        let screens = drawn(&recorded, size);
        assert_eq!(screens, drawn(&again, size));
        for (name, shown) in screens {
            let about = format!("{name} {size:?}: {shown}");
            // A sentence goes on in the next line.
            let words: Vec<&str> = shown.split_whitespace().collect();
            let words = words.join(" ");
            let told = |wanted: &str| assert!(words.contains(wanted), "{wanted}: {about}");
            let lines: Vec<&str> = shown.lines().collect();
            assert_eq!(lines.len(), usize::from(size.1), "{about}");
            let is_wide = |line: &&str| line.chars().count() > usize::from(size.0);
            assert!(!lines.iter().any(is_wide), "{about}");
            // More than its head and its foot.
            let filled = lines.iter().filter(|line| !line.is_empty());
            assert!(filled.count() > 5, "{about}");
            told("INCIDENT");
            match name {
                "Now" => {
                    told("STALLED 5.7 s since 00:11:27");
                    told("WHY Row locks: sessions queue be");
                    told("CERTAIN");
                    told("connection 29 (root@");
                }
                "Threads" => {
                    told("held by connection 29 (root@localhost)");
                    told("SESSIONS 40 active (0 before)");
                }
                "Locks" => {
                    told("HELD BY connection 29 (root@localhost): idle for 1.39 s");
                    told("1 row lock, 1 changed row");
                }
                "Flame" => told("│mariadbd"),
                "Statements" => told("update"),
                "Host" => told("2 CPUs"),
                "Signals" => told("innodb.lock_wait"),
                "Incidents" => {
                    told("1 stall, 1 with a file");
                    told("Row locks");
                }
                _ => told("829 signals"),
            }
        }
    }
}
