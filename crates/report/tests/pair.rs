//! Two incidents on one page, and a comparison: the same axes for both.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::{common, markup};
use diagnosis::compare::{Stretch, Subject, compare, settings};
use diagnosis::{Level, Verdict};
use model::{Incident, Window};
use report::{HtmlOptions, compare_html, pair_html};

/// Another stall of the same server: it began earlier in its recording, ended later, and a setting was another.
fn other() -> Incident {
    let mut other = common::incident();
    other.stall.onset = 200_000;
    other.stall.trigger = 210_000;
    other.stall.end = Some(320_000);
    other.window.to = 350_000;
    for timed in &mut other.facts {
        if timed.fact.name == "variables.sync_binlog" {
            timed.fact.value = "1000".to_owned();
        }
    }
    other
}

/// The second finding of the first incident alone, which is less sure, and one more.
fn other_verdict() -> Verdict {
    let mut verdict = common::verdict();
    verdict.findings.remove(0);
    verdict.findings[0].level = Level::Possible;
    let mut more = verdict.findings[0].clone();
    more.cause = "slow-fsync".to_owned();
    more.title = "Slow fsync".to_owned();
    verdict.findings.push(more);
    verdict.folded.clear();
    verdict
}

fn page() -> String {
    let (first, second) = (common::incident(), other());
    let differ = settings(&first, &second, None);
    pair_html(
        [(&first, &common::verdict()), (&second, &other_verdict())],
        &differ,
    )
}

/// The values of an attribute in the tags that follow a mark.
fn behind<'p>(page: &'p str, mark: &str, attribute: &str) -> Vec<&'p str> {
    let begin = format!("{attribute}=\"");
    let found = page.split(mark).skip(1);
    found
        .filter_map(|rest| rest.split_once(&begin)?.1.split('"').next())
        .collect()
}

fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let begin = format!("<section id=\"{id}\">");
    let (_, rest) = page.split_once(&begin).expect("the section");
    rest.split("</section>").next().unwrap_or_default()
}

fn number(percent: &str) -> f64 {
    percent.trim_end_matches('%').parse().expect("a number")
}

#[test]
fn it_needs_nothing_and_has_no_script() {
    let page = page();
    assert_eq!(markup::faults(&page), [""; 0]);
    assert!(page.contains("default-src 'none'") && page.contains("script-src 'none'"));
    for forbidden in ["<script", "http://", "https://", "url("] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn both_are_asked_the_same_in_the_same_order() {
    let page = page();
    // Its print has a style of its own.
    assert!(page.contains("<main class=\"two\">") && page.contains(".two .cell {"));
    let heads: Vec<&str> = page
        .split("<section id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(
        heads,
        ["felt", "times", "do", "findings", "settings", "read"]
    );
    assert_eq!(page.matches("<p class=\"side\"><b>A</b></p>").count(), 4);
    assert_eq!(page.matches("<p class=\"side\"><b>B</b></p>").count(), 4);
    assert_eq!(
        section(&page, "felt")
            .matches("<dt>users felt</dt>")
            .count(),
        2
    );
    let remedies = section(&page, "do");
    assert_eq!(remedies.matches("<dt>do now</dt>").count(), 2);
    assert!(remedies.contains("SET GLOBAL protocol_compression_algorithms"));
    let times: Vec<usize> = [
        "2024-05-12 03:16:05 UTC, for 1 min 7 s",
        "2024-05-12 03:15:25 UTC, for 2 min",
    ]
    .iter()
    .filter_map(|time| page.find(time))
    .collect();
    assert!(times.len() == 2 && times.is_sorted());
}

#[test]
fn both_onsets_stand_at_one_place_and_a_second_is_as_wide() {
    let page = page();
    let times = section(&page, "times");
    let onsets = behind(times, "class=\"event onset\">", "x1");
    assert_eq!(onsets.len(), 8);
    // 240 s before it at the most, 150 s after it.
    let expected = 100.0 * 240.0 / 390.0;
    for onset in &onsets {
        assert!((number(onset) - expected).abs() < 0.01, "{onset}");
    }
    let ends: Vec<f64> = behind(times, "class=\"event end\">", "x1")
        .into_iter()
        .map(number)
        .collect();
    for (end, seconds) in ends.iter().zip([67.0, 120.0, 67.0, 120.0]) {
        let expected = expected + 100.0 * seconds / 390.0;
        assert!((end - expected).abs() < 0.01, "{end} {seconds}");
    }
    // Times stand below the last ones only, and are the same.
    let labels: Vec<&str> = times
        .split("<text class=\"time")
        .skip(1)
        .filter_map(|rest| rest.split('>').nth(1)?.split('<').next())
        .collect();
    let (first, second) = labels.split_at(labels.len() / 2);
    assert_eq!(first, second);
    assert!(first.contains(&"0") && first.contains(&"+2 min") && first.contains(&"-4 min"));
}

#[test]
fn what_is_twice_as_high_is_twice_as_much() {
    let page = page();
    let rows: Vec<&str> = section(&page, "times")
        .split("<div class=\"row\">")
        .skip(1)
        .collect();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let ticks: Vec<&str> = row
            .split("<text class=\"value\"")
            .skip(1)
            .filter_map(|rest| rest.split('>').nth(1)?.split('<').next())
            .collect();
        assert_eq!(ticks.len(), 4, "{ticks:?}");
        assert_eq!(ticks[..2], ticks[2..]);
    }
}

#[test]
fn causes_of_both_and_of_one_alone_are_told_apart() {
    let page = page();
    let findings = section(&page, "findings");
    let of = |title: &str| {
        let (_, rest) = findings
            .split_once(&format!("<h3>{title}</h3>"))
            .expect("a group");
        rest.split("</ul>").next().unwrap_or_default().to_owned()
    };
    let (both, first, second) = (of("In both"), of("Only in A"), of("Only in B"));
    assert_eq!(both.matches("<li>").count(), 1);
    assert!(both.contains("compressed-protocol") && both.contains("A likely, B possible"));
    assert_eq!(first.matches("<li>").count(), 2);
    assert!(first.contains("show-warnings-flood") && first.contains("cpu-saturation"));
    assert_eq!(second.matches("<li>").count(), 1);
    assert!(second.contains("slow-fsync"));
}

#[test]
fn settings_that_differ_are_told_with_both_values() {
    let page = page();
    let settings = section(&page, "settings");
    assert_eq!(settings.matches("<tbody>\n<tr>").count(), 1);
    assert_eq!(settings.matches("<tr>").count(), 2, "its head and one row");
    assert!(settings.contains("sync_binlog") && !settings.contains("variables."));
    assert!(settings.contains("<td data-label=\"A\">1</td><td data-label=\"B\">1000</td>"));
    let (same, verdict) = (common::incident(), common::verdict());
    let page = pair_html([(&same, &verdict); 2], &settings_of(&same));
    assert_eq!(section(&page, "settings").matches("<tr>").count(), 0);
}

fn settings_of(same: &Incident) -> Vec<diagnosis::compare::SettingChange> {
    settings(same, same, None)
}

#[test]
fn recordings_without_curves_have_a_page() {
    let mut bare = common::incident();
    bare.timeline = model::Timeline::default();
    let (full, verdict) = (common::incident(), common::verdict());
    let page = pair_html([(&bare, &verdict), (&full, &verdict)], &[]);
    assert_eq!(markup::faults(&page), [""; 0]);
    assert_eq!(page.matches("not recorded</span>").count(), 4);
    let page = pair_html([(&bare, &verdict), (&bare, &verdict)], &[]);
    assert_eq!(markup::faults(&page), [""; 0]);
    assert!(!page.contains("<figure"));
}

#[test]
fn what_was_recorded_is_text() {
    let evil = "<script>\"'&\u{1b}".to_owned();
    let (mut first, mut verdict) = (common::incident(), common::verdict());
    first.host = evil.clone();
    first.server.version = evil.clone();
    first.id = evil.clone();
    let finding = &mut verdict.findings[0];
    finding.title = evil.clone();
    finding.remedy.now = vec![evil.clone()];
    let mut second = first.clone();
    for timed in &mut second.facts {
        timed.fact.value = evil.clone();
    }
    let differ = settings(&first, &second, None);
    assert!(!differ.is_empty());
    let page = pair_html([(&first, &verdict), (&second, &verdict)], &differ);
    assert_eq!(markup::faults(&page), [""; 0]);
    assert!(!page.contains("<script") && !page.contains('\u{1b}'));
}

fn compared(windows: [Window; 2]) -> String {
    let incident = common::incident();
    let subject = |window| Subject {
        incident: &incident,
        window,
        stretch: Stretch::Window,
        recorded_ms: None,
        stalls: None,
    };
    let [before, after] = windows;
    let comparison = compare(&subject(before), &subject(after), None);
    compare_html(
        &comparison,
        [(&incident, before), (&incident, after)],
        &HtmlOptions::default(),
    )
}

#[test]
fn a_comparison_has_both_stretches_on_one_axis() {
    let window = |from: u64, to: u64| Window {
        from: from * 1000,
        to: to * 1000,
    };
    let page = compared([window(245, 305), window(60, 180)]);
    assert_eq!(markup::faults(&page), [""; 0]);
    let times = section(&page, "times");
    // No stall is marked in what is a stretch of time as any other.
    assert!(!times.contains("class=\"event"));
    let pictures: Vec<&str> = times.split("<svg class=\"strip\"").skip(1).collect();
    assert_eq!(pictures.len(), 8);
    // The shorter one takes half of the width.
    let right = |picture: &str| {
        let path = behind(picture, "class=\"line c0\"", " d")[0];
        let numbers = path
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|x| x.parse().ok());
        // Across the picture there are 2,000 units, down 1,000.
        numbers.fold(0_u32, u32::max)
    };
    let statements = (pictures[2], pictures[3]);
    assert!(
        (950..=1_000).contains(&right(statements.0)),
        "{}",
        right(statements.0)
    );
    assert!((1_950..=2_000).contains(&right(statements.1)));
    // An hour beside a minute has an axis of time of its own.
    let page = compared([window(0, 350), window(60, 100)]);
    let pictures: Vec<&str> = section(&page, "times")
        .split("<svg class=\"strip\"")
        .skip(1)
        .collect();
    assert!((1_900..=2_000).contains(&right(pictures[2])));
    assert!((1_900..=2_000).contains(&right(pictures[3])));
}

/// The printed form of a comparison.
fn printed(page: &str) -> &str {
    let (screen, print) = page
        .split_once("<article class=\"paper compared\"")
        .expect("a printed form");
    // Style shows it in place of both.
    assert!(screen.contains("<main class=\"screen\">"));
    let footer = screen.rsplit_once("</main>\n<footer>");
    assert!(footer.is_some_and(|(_, footer)| footer.matches("</footer>").count() == 1));
    let (print, end) = print.split_once("</article>").expect("its end");
    assert_eq!(end.trim(), "</body>\n</html>");
    assert!(!print.contains("id=\"") && !print.contains("href=\""));
    print
}

#[test]
fn a_printed_comparison_has_what_differs_first() {
    let window = |from: u64, to: u64| Window {
        from: from * 1000,
        to: to * 1000,
    };
    let page = compared([window(245, 305), window(60, 180)]);
    let print = printed(&page);
    let mut rest = print;
    for part in [
        "<h1>",
        "<span class=\"badge ",
        "<dt>before</dt>",
        "<dt>after</dt>",
        "<h2>Differences</h2>",
        "<table",
        "<h2>Why</h2>",
        "<h2>Both beside each other</h2>",
        "<figure class=\"timeline beside\"",
        "<h2>Signals</h2>",
        "<div class=\"charts\">",
        "<h2>Origin</h2>",
        "<dt>method</dt>",
    ] {
        let found = rest.split_once(part);
        rest = found
            .unwrap_or_else(|| panic!("{part} is missing in {rest}"))
            .1;
    }
    // Three charts beside each other, with their numbers in the table alone.
    let rows: Vec<usize> = print
        .split("<div class=\"charts\">")
        .skip(1)
        .map(|row| row.matches("<figure class=\"chart\">").count())
        .collect();
    assert!((1..=3).contains(&rows.len()), "{rows:?}");
    assert!(rows.iter().all(|row| (1..=3).contains(row)), "{rows:?}");
    assert!(!print.contains("class=\"legend\""));
}

/// Whatever there is: a usual sheet has about 60 rows of text.
#[test]
fn a_printed_comparison_is_bounded() {
    let incident = common::incident();
    let window = |from: u64, to: u64| Window::new(from * 1000, to * 1000);
    let windows = [window(245, 305), window(60, 180)];
    let subject = |window| Subject {
        incident: &incident,
        window,
        stretch: Stretch::Window,
        recorded_ms: None,
        stalls: None,
    };
    let mut comparison = compare(&subject(windows[0]), &subject(windows[1]), None);
    let long = "it took very long ".repeat(60);
    comparison.reasons = vec![long.clone(); 30];
    comparison.missing = vec![long.clone(); 30];
    let setting = diagnosis::compare::SettingChange {
        name: "variables.sql_mode".to_owned(),
        before: Some(long.clone()),
        after: None,
        of_cause: false,
    };
    comparison.settings = vec![setting; 30];
    let change = diagnosis::compare::Change {
        name: long,
        before: 1.0,
        after: 2.0,
    };
    for changes in [
        &mut comparison.statements,
        &mut comparison.functions,
        &mut comparison.locks,
    ] {
        *changes = vec![change.clone(); 30];
    }
    let signals = comparison.signals.clone();
    for _ in 0..5 {
        comparison.signals.extend(signals.iter().cloned());
    }
    let page = compare_html(
        &comparison,
        windows.map(|window| (&incident, window)),
        &HtmlOptions::default(),
    );
    assert_eq!(markup::faults(&page), [""; 0]);
    let print = printed(&page);
    assert!(print.matches("<figure class=\"chart\">").count() <= 9);
    assert_eq!(print.matches("<li>").count(), 6 + 3);
    assert!(print.contains("24 more in the page.") && print.contains("27 more in the page."));
    // Rows of signals, of settings and of three smaller tables, each with a head.
    assert!(print.matches("<tr>").count() <= 11 + 13 + 3 * 7);
    let texts = print.split('<').filter_map(|tag| tag.split_once('>'));
    let letters: usize = texts.map(|(_, text)| text.chars().count()).sum();
    assert!(letters < 9_000, "{letters}");
}
