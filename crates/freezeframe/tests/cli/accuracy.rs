//! The project's captures (`captures/`), from the raw files through the program: what it says is what results/accuracy.md
//! counts (`crates/import/tests/accuracy.rs`). That each of them is opened as the incident which is counted is a test of the
//! program's own (`src/captures/files_tests.rs`): here some go the whole way.

use std::path::PathBuf;

use diagnosis::{Catalogue, Finding, diagnose, diagnose_closely};
use export::stalk::pt_stalk;
use import::{Input, import};
use jiff::tz::TimeZone;
use model::Incident;
use serde_json::Value;

use crate::harness::run;

/// Of the captures one in so many goes through the program: all do in one process, in that other test.
const ONE_IN: usize = 24;

/// The project's captures.
fn captures() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../captures");
    let mut captures: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end != "yaml"))
        .collect();
    captures.sort();
    captures
}

#[test]
fn the_program_names_what_the_table_counts() {
    for path in captures().into_iter().step_by(ONE_IN) {
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
        let verdict = diagnose_closely(&incident, Catalogue::builtin());
        let counted: Vec<(&str, &str)> = verdict
            .findings
            .iter()
            .map(|finding| (finding.cause.as_str(), finding.level.word()))
            .collect();
        assert_eq!(said, counted, "{name}");
    }
}

fn findings(incident: &Incident) -> Vec<Finding> {
    diagnose(incident, Catalogue::builtin()).findings
}

/// Of the captures one in so many is exported and read back. Names begin with what a capture shows, so that each kind has some.
const EXPORTED_ONE_IN: usize = 2;

/// What is read of the directory that was made of a capture: the stall, as whoever gets it reads it.
fn through_pt_stalk(incident: &Incident) -> Option<Incident> {
    let directory = pt_stalk(incident, &TimeZone::UTC);
    let inputs: Vec<Input<'_>> = directory
        .files
        .iter()
        .filter(|file| !file.path.contains('/') && file.path != "README")
        .map(|file| Input {
            path: &file.path,
            bytes: &file.bytes,
        })
        .collect();
    import(&inputs).incident
}

/// First causes, or the capture that has one, that a pt-stalk directory does not bring back where a few rows of vmstat or
/// iostat are all there is: of columns that were not recorded vmstat's rows have a dash there, and `/proc/diskstats` has
/// sums that iostat's rates lack. What other programs use is in top alone, which is not exported.
const HOST_RATES: [&str; 5] = [
    "numa-swap",
    "other-programs-cpu",
    "slow-fsync-battery-105-ru.txt",
    "ssd-trim-raid",
    "steal-time",
];

#[test]
fn what_is_exported_for_pt_stalk_keeps_its_first_cause() {
    let (mut kept, mut lost) = (0, Vec::new());
    for path in captures().into_iter().step_by(EXPORTED_ONE_IN) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let imported = import(&[Input {
            path: name,
            bytes: &bytes,
        }]);
        let Some(incident) = imported.incident else {
            continue;
        };
        let before = findings(&incident);
        let Some(first) = before.first() else {
            continue;
        };
        let again = through_pt_stalk(&incident);
        let after = again.as_ref().map(findings).unwrap_or_default();
        let is_kept = after.first().is_some_and(|one| one.cause == first.cause);
        match is_kept {
            true => kept += 1,
            false
                if [first.cause.as_str(), name]
                    .iter()
                    .any(|one| HOST_RATES.contains(one)) => {}
            false => {
                let told: Vec<&str> = after.iter().map(|one| one.cause.as_str()).collect();
                lost.push(format!("{name}: {} became {told:?}", first.cause));
            }
        }
    }
    assert!(lost.is_empty(), "{kept} kept; lost:\n{}", lost.join("\n"));
    assert!(kept >= 45, "only {kept} captures had a cause to keep");
}

#[test]
fn who_blocks_is_exported_and_read_back() {
    let rows: String = (10..20)
        .map(|waiter| {
            format!(
                "*************************** {}. row ***************************\nwaiting_trx_id: {waiter}0\n\
                 waiting_thread: {waiter}\nwait_time: 30\nwaiting_query: update t set a = 1\n\
                 waiting_table_lock: `a`.`t`\nblocking_trx_id: 50\nblocking_thread: 5\nblocking_query: NULL\n",
                waiter - 9
            )
        })
        .collect();
    let imported = import(&[Input {
        path: "waits",
        bytes: rows.as_bytes(),
    }]);
    let incident = imported.incident.unwrap();
    let again = through_pt_stalk(&incident).unwrap();
    let table = &again.stacks.locks[0].locks[0];
    assert_eq!((table.waits, table.holders[0].tid), (10, 5));
    let causes = |incident: &Incident| -> Vec<String> {
        let all = findings(incident).into_iter();
        all.map(|one| one.cause).collect()
    };
    assert_eq!(causes(&incident), ["row-lock-pileup"]);
    assert_eq!(causes(&again), ["row-lock-pileup"]);
}

#[test]
fn samples_that_are_there_twice_count_once() {
    let folded = "mysqld;start_thread;do_command;row_search_mvcc 60\nmysqld;start_thread;do_command;my_free 40\n";
    let bytes = folded.as_bytes();
    let incident = import(&[Input { path: "x", bytes }]).incident.unwrap();
    let directory = pt_stalk(&incident, &TimeZone::UTC);
    let is_there = |suffix: &str| {
        directory
            .files
            .iter()
            .any(|file| file.path.ends_with(suffix))
    };
    assert!(is_there("-folded") && is_there("-opreport"));
    let again = through_pt_stalk(&incident).unwrap();
    let count = |incident: &Incident| -> u64 {
        let profiles = incident.stacks.profiles.iter();
        let rows = profiles.flat_map(|profile| &profile.counts);
        rows.map(|row| row.count).sum()
    };
    assert_eq!((count(&incident), count(&again)), (100, 100));
}

/// Of two listings together there are more samples than a reader makes of one.
#[test]
fn callers_of_several_listings_come_back() {
    let listing = |own: &str| {
        format!(
            "# Samples: 40K of event 'cycles'\n# Children  Self  Command  Shared Object  Symbol\n\
             80.00%     0.00%  mysqld   mysqld          [.] start_thread\n\
             30.00%    30.00%  mysqld   mysqld          [.] {own}\n"
        )
    };
    let (one, other) = (listing("ut_delay"), listing("my_free"));
    let inputs = [("a", &one), ("b", &other)].map(|(path, text)| Input {
        path,
        bytes: text.as_bytes(),
    });
    let incident = import(&inputs).incident.unwrap();
    let again = through_pt_stalk(&incident).unwrap();
    let counts = |incident: &Incident| -> (u64, Vec<u64>) {
        let profiles = incident.stacks.profiles.iter();
        let callers = incident.stacks.callers.iter();
        (
            profiles.map(|profile| profile.samples()).sum(),
            callers
                .flat_map(|callers| &callers.counts)
                .map(|row| row.count)
                .collect(),
        )
    };
    assert_eq!(counts(&incident), (20_000, vec![8_000, 8_000]));
    assert_eq!(counts(&again), (20_000, vec![8_000, 8_000]));
}
