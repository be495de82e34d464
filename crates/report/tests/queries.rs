//! Digests of statements for readers: what jumps out, what stays harmless, how wide it is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use model::{Counted, FoldedClasses, QueryClass, QueryDigest, QueryMeasure, QueryMethod};
use report::TextOptions;
use report::evidence::queries_diff::{QueriesDiffOptions, diff_json, queries_diff};
use report::evidence::queries_json::{queries_json, write_queries_json};
use report::evidence::queries_text::diff_text;
use report::evidence::queries_text::{QueriesTextOptions, queries_text};

fn class(fingerprint: &str, count: u64, seconds: Option<f64>) -> QueryClass {
    QueryClass {
        fingerprint: fingerprint.to_owned(),
        id: format!("{:016x}", fingerprint.len()),
        kind: fingerprint
            .split(' ')
            .take(2)
            .collect::<Vec<_>>()
            .join(" ")
            .to_uppercase(),
        count,
        measures: seconds
            .map(|sum| QueryMeasure {
                name: "Query_time".to_owned(),
                count,
                sum,
                stddev: Some(0.0),
                decades: vec![0, 0, count, 0, 0, 0, 0, 0],
                ..QueryMeasure::default()
            })
            .into_iter()
            .collect(),
        ..QueryClass::default()
    }
}

fn digest(way: QueryMethod, seconds: i64, classes: Vec<QueryClass>) -> QueryDigest {
    QueryDigest {
        tried: Vec::new(),
        method: way,
        from_us: Some(1_000_000_000_000_000),
        to_us: Some(1_000_000_000_000_000 + seconds * 1_000_000),
        count: classes.iter().map(|class| class.count).sum(),
        errors: None,
        classes,
        folded: None,
        lost: 0,
        blind: Vec::new(),
        connections: None,
    }
}

fn options() -> QueriesDiffOptions<'static> {
    QueriesDiffOptions {
        text: TextOptions::default(),
        limit: 10,
        names: ("A", "B"),
    }
}

/// The flood of the story: half the time is elsewhere, and it is told first.
#[test]
fn a_flood_jumps_out() {
    let usual = |n: u64| {
        vec![
            class(
                "select a from t where id = ?",
                6000 * n,
                Some(6.0 * n as f64),
            ),
            class("update t set a = ?", 600 * n, Some(12.0 * n as f64)),
        ]
    };
    let before = digest(QueryMethod::SlowLog, 60, usual(1));
    let mut stalled = usual(1);
    stalled.push(class("show warnings", 76_000 * 60, Some(30.0)));
    let during = digest(QueryMethod::SlowLog, 60, stalled);
    let diff = queries_diff(&before, &during);
    assert!(!diff.by_kind);
    let first = &diff.changes[0];
    assert_eq!(first.fingerprint, "show warnings");
    assert_eq!((first.before.rate, first.during.rate), (0.0, 76_000.0));
    assert!((first.weight - 1.0).abs() < 1e-9);
    let told = diff_text(&diff, &options());
    assert!(told.contains("0/s → 76,000/s"), "{told}");
    // What did not change is last, and weighs nothing.
    assert!(diff.changes[1..].iter().all(|change| change.weight == 0.0));
    // The same load for twice as long is no change.
    let longer = digest(QueryMethod::SlowLog, 120, usual(2));
    assert!(
        queries_diff(&before, &longer)
            .changes
            .iter()
            .all(|change| change.weight < 1e-9)
    );
}

/// A statement that got slow is told before one that got more frequent.
#[test]
fn time_counts_as_much_as_numbers() {
    let before = digest(
        QueryMethod::SlowLog,
        10,
        vec![
            class("select slow", 10, Some(0.1)),
            class("select often", 1000, Some(0.1)),
        ],
    );
    let during = digest(
        QueryMethod::SlowLog,
        10,
        vec![
            class("select slow", 10, Some(100.0)),
            class("select often", 1100, Some(0.11)),
        ],
    );
    let diff = queries_diff(&before, &during);
    let order: Vec<&str> = diff
        .changes
        .iter()
        .map(|one| one.fingerprint.as_str())
        .collect();
    assert_eq!(order, ["select often", "select slow"]);
    assert!(diff.changes.iter().all(|change| change.weight > 0.99));
    assert_eq!(diff.changes[1].during.mean, Some(10.0));
}

/// Counters have kinds and no statements: with packets they share the kinds.
#[test]
fn different_ways_are_compared_by_kind() {
    let mut counted = class("", 60, None);
    counted.kind = "show warnings".to_owned();
    let before = digest(QueryMethod::StatementCounters, 60, vec![counted]);
    let packets = vec![
        class("show warnings", 600, Some(1.0)),
        class("show warnings limit ?", 300, Some(1.0)),
    ];
    let during = digest(QueryMethod::Packets, 60, packets);
    let diff = queries_diff(&before, &during);
    assert!(diff.by_kind);
    assert_eq!(diff.changes.len(), 1);
    assert_eq!(diff.changes[0].kind, "SHOW WARNINGS");
    assert_eq!(
        (diff.changes[0].before.rate, diff.changes[0].during.rate),
        (1.0, 15.0)
    );
}

#[test]
fn without_lengths_shares_are_compared() {
    let mut before = digest(
        QueryMethod::PerformanceSchema,
        10,
        vec![class("a", 10, None), class("b b", 90, None)],
    );
    let mut during = digest(
        QueryMethod::PerformanceSchema,
        10,
        vec![class("a", 900, None), class("b b", 100, None)],
    );
    (before.from_us, during.to_us) = (None, None);
    let diff = queries_diff(&before, &during);
    let told = diff_text(&diff, &options());
    assert!(told.contains("10.0% → 90.0%"), "{told}");
    let value: serde_json::Value = serde_json::from_str(&diff_json(&diff, 1)).unwrap();
    assert_eq!(value["changes"].as_array().unwrap().len(), 1);
}

/// Closed classes are no titles without content on paper, and the rest of a long log is no class of its own.
#[test]
fn what_is_closed_or_left_out_is_said() {
    let mut digest = digest(
        QueryMethod::SlowLog,
        10,
        vec![
            class("select 1", 5, Some(1.0)),
            class("select 2", 1, Some(0.1)),
        ],
    );
    digest.folded = Some(FoldedClasses {
        count: 7,
        seconds: Some(0.5),
        classes_at_least: 3,
    });
    let page = report::queries_page("Queries", &digest, None);
    for part in [
        "<p class=\"paper-only\">The other class has numbers like these.",
        "details.lock:not([open])",
        "(3 other classes, together)",
    ] {
        assert!(page.contains(part), "'{part}' is not in the page");
    }
    digest.classes.truncate(1);
    let page = report::queries_page("Queries", &digest, None);
    assert!(!page.contains("<p class=\"paper-only\""));
}

/// Statements are outside text: they reach neither the terminal's controls nor the page's markup, and lines end where
/// the terminal does.
#[test]
fn outside_text_is_harmless() {
    let evil = "select '\u{1b}[2J</pre><script>alert(1)</script>\u{202e}' from `x".repeat(50);
    let mut bad = class(&evil, 5, Some(1.0));
    bad.sample = Some(format!("{evil}\n\u{9b}31m"));
    bad.notes = vec![format!("explain: {evil}")];
    for names in [
        &mut bad.users,
        &mut bad.hosts,
        &mut bad.databases,
        &mut bad.programs,
    ] {
        names.push(Counted {
            name: evil.clone(),
            count: 3,
        });
    }
    let mut digest = digest(
        QueryMethod::SlowLog,
        10,
        vec![bad.clone(), class("select 1", 1, Some(0.1))],
    );
    digest.folded = Some(FoldedClasses {
        count: 7,
        seconds: Some(0.5),
        classes_at_least: 3,
    });
    digest.count += 7;
    for width in [40, 60, 80, 120, 200] {
        let options = QueriesTextOptions {
            text: TextOptions {
                width,
                color: false,
            },
            compat_ids: false,
        };
        let told = queries_text(&digest, Some(&bad), &options);
        assert!(
            !told.chars().any(|c| c.is_control() && c != '\n'),
            "{told:?}"
        );
        assert!(!told.contains('\u{202e}'));
        assert!(told.contains("other"));
        assert!(told.contains("avg"));
        let head = told.lines().find(|line| line.starts_with("Attribute"));
        assert!(
            !head.unwrap().contains('…'),
            "a number would be cut: {told}"
        );
        for line in told.lines() {
            assert!(
                line.chars().count() <= width,
                "{} columns: {line}",
                line.chars().count()
            );
        }
    }
    let page = report::queries_page(&evil, &digest, Some(&bad));
    assert!(!page.contains("<script") && !page.contains('\u{1b}') && !page.contains('\u{202e}'));
    let page = report::queries_diff_page(&evil, &digest, &digest);
    assert!(!page.contains("<script"));
    let document = queries_json(&digest, Some(&bad));
    assert!(
        !document.contains('\u{1b}')
            && !document.contains('\u{9b}')
            && !document.contains('\u{202e}')
    );
    let mut pieces = Vec::new();
    write_queries_json(&mut pieces, &digest, Some(&bad)).unwrap();
    assert_eq!(String::from_utf8(pieces).unwrap(), document);
    // What was printed can be read back.
    let back: QueryDigest = serde_json::from_str(&document).unwrap();
    assert_eq!(back, digest);
}
