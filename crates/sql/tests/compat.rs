//! pt-query-digest's fingerprints and query IDs: recorded from the tool, and compared with it where it is installed.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::common;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRng, TestRunner};
use sql::compat::{self, Release};

type Case = (&'static [u8], &'static [u8], Option<&'static [u8]>);

/// A statement, its fingerprint by 3.2.1, and by 3.5.7 where that differs.
fn recorded() -> Vec<Case> {
    // One type for byte strings of different lengths.
    fn case<const A: usize, const B: usize>(
        (statement, before, since): (&'static [u8; A], &'static [u8; B], Option<&'static [u8]>),
    ) -> Case {
        (statement, before, since)
    }
    macro_rules! cases {
        ($($case:expr),* $(,)?) => { vec![$(case($case)),*] };
    }
    include!("compat_cases.in")
}

fn show(text: &[u8]) -> String {
    text.escape_ascii().to_string()
}

#[test]
fn recorded_fingerprints_of_both_generations() {
    let cases = recorded();
    assert!(cases.len() > 200);
    for (statement, before, since) in cases {
        let ours = compat::fingerprint_of(statement, Release::Before3_4);
        assert_eq!(show(&ours), show(before), "{}", show(statement));
        let ours = compat::fingerprint(statement);
        assert_eq!(
            show(&ours),
            show(since.unwrap_or(before)),
            "{}",
            show(statement)
        );
    }
}

/// From a report that pt-query-digest made of a slow log with these statements.
#[test]
fn recorded_query_ids() {
    for (statement, id) in [
        (
            "SELECT a FROM t1 WHERE b='it''s' AND c IN (1,2)",
            "71C6B12C94074C2E93649EDD85898590",
        ),
        (
            "INSERT INTO t VALUES (1,2),(3,4) ON DUPLICATE KEY UPDATE a=5",
            "87903DB6D81F906FCF687AF9F2D5E248",
        ),
        (
            "administrator command: Quit",
            "EDBC971AEC392917AA353644DE4C4CB4",
        ),
    ] {
        let before = compat::fingerprint_of(statement.as_bytes(), Release::Before3_4);
        assert_eq!(compat::checksum(&before), id, "{statement}");
    }
}

/// Texts on which the tool's expressions look at the same bytes again and again. With work that grows with the square of
/// the length, or faster, this test does not end.
#[test]
fn long_statements_are_bounded_work() {
    for part in [
        "select a union ",
        "(",
        "in(",
        "in (1),",
        "/*",
        "--#'",
        "# '",
        "'",
        "\"",
        "\\",
        "\\'",
        "values (",
        "\u{b} ",
        "order by \u{b}",
        "call f(",
        "INSERT INTO t VALUES ",
        "/*a.b:1",
        "limit ? ",
        "x?",
        "select b union all ",
    ] {
        let long = part.repeat(30_000 / part.len());
        for head in [
            "",
            "INSERT INTO t VALUES (1)",
            "call ",
            "order by a",
            "select 1 union select ",
        ] {
            let statement = format!("{head}{long}");
            for release in [Release::Before3_4, Release::Since3_4] {
                let fingerprint = compat::fingerprint_of(statement.as_bytes(), release);
                assert!(fingerprint.len() <= statement.len() + 32);
            }
        }
    }
}

/// Statements of parts that the rules look at, and any bytes.
fn statement() -> impl Strategy<Value = Vec<u8>> {
    let parts: Vec<&'static [u8]> = recorded().into_iter().map(|case| case.0).collect();
    let part = prop_oneof![
        8 => prop::sample::select(parts).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 1..5),
    ];
    let gap = prop::sample::select(vec![
        "", " ", "\n", ",", " union ", "'", "\\", "(", "/*", "--",
    ]);
    let parts = prop::collection::vec((part, gap), 0..6);
    (parts, any::<prop::sample::Index>()).prop_map(|(parts, cut)| {
        let mut statement: Vec<u8> = Vec::new();
        for (part, gap) in parts {
            statement.extend(part);
            statement.extend(gap.bytes());
        }
        // A third is cut off somewhere.
        let place = cut.index(statement.len() * 3 + 1);
        statement.truncate(place);
        statement
    })
}

proptest! {
    #![proptest_config(common::cases(1_000))]

    #[test]
    fn any_statement_has_a_query_id(statement in statement()) {
        for release in [Release::Before3_4, Release::Since3_4] {
            let id = compat::checksum(&compat::fingerprint_of(&statement, release));
            prop_assert_eq!(id.len(), 32);
            prop_assert!(id.bytes().all(|byte| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte)));
        }
    }
}

/// Lets the tool's own `QueryRewriter` make fingerprints. Texts go both ways with their length before them.
const DRIVER: &str = r"
    require shift;
    binmode STDIN; binmode STDOUT;
    my $rewriter = QueryRewriter->new();
    while (read(STDIN, my $length, 4) == 4) {
        my $statement = '';
        read(STDIN, $statement, unpack('N', $length));
        my $fingerprint = $rewriter->fingerprint($statement);
        print pack('N', length $fingerprint), $fingerprint;
    }";

fn installed_tool() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join("pt-query-digest"))
        .find(|tool| tool.is_file())
}

fn ask_tool(tool: &PathBuf, statements: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut child = Command::new("perl")
        .args(["-e", DRIVER])
        .arg(tool)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for statement in statements {
                let length = u32::try_from(statement.len()).unwrap();
                input.write_all(&length.to_be_bytes()).unwrap();
                input.write_all(statement).unwrap();
            }
        });
        child
            .stdout
            .take()
            .unwrap()
            .read_to_end(&mut output)
            .unwrap();
    });
    assert!(child.wait().unwrap().success());
    let mut rest = output.as_slice();
    let mut fingerprints = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (fingerprint, after) = after.split_at(u32::from_be_bytes(*length) as usize);
        fingerprints.push(fingerprint.to_vec());
        rest = after;
    }
    fingerprints
}

#[test]
fn the_installed_tool_agrees() {
    let Some(tool) = installed_tool() else {
        eprintln!("skipped: pt-query-digest is not installed");
        return;
    };
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    // The first one tells the release.
    let mut statements = vec![b"''".to_vec()];
    statements.extend(recorded().into_iter().map(|case| case.0.to_vec()));
    let strategy = statement();
    statements.extend((0..5_000).map(|_| strategy.new_tree(&mut runner).unwrap().current()));
    let fingerprints = ask_tool(&tool, &statements);
    assert_eq!(fingerprints.len(), statements.len());
    let release = if fingerprints.first().unwrap() == b"?" {
        Release::Before3_4
    } else {
        Release::Since3_4
    };
    for (statement, theirs) in statements.iter().zip(fingerprints) {
        let ours = compat::fingerprint_of(statement, release);
        assert_eq!(show(&ours), show(&theirs), "{}", show(statement));
    }
}
