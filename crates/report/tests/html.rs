//! The page: well-formed, self-contained, complete, bounded.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use crate::{common, markup, sha256};
use diagnosis::Verdict;
use model::{Fact, Incident, Reading, TextKind, TimedFact, TimedText, Timeline, Unit};
use report::{HtmlOptions, html};

/// What a page may weigh at the most, in bytes.
const PAGE_BYTES_MAX: usize = 3_000_000;

fn page() -> String {
    html(
        &common::incident(),
        &common::verdict(),
        &HtmlOptions::default(),
    )
}

fn nothing() -> Verdict {
    Verdict {
        sentence: "No cause of the catalogue has enough witnesses.".to_owned(),
        findings: Vec::new(),
        folded: Vec::new(),
        mechanism: Vec::new(),
        rejected: Vec::new(),
        absent: Vec::new(),
        sources: Vec::new(),
    }
}

fn empty() -> Incident {
    Incident {
        timeline: Timeline::default(),
        texts: Vec::new(),
        facts: Vec::new(),
        stacks: model::StackEvidence::default(),
        queries: Vec::new(),
        absent: Vec::new(),
        ..common::incident()
    }
}

#[test]
fn it_is_well_formed_and_its_links_have_targets() {
    assert_eq!(markup::faults(&page()), [""; 0]);
    assert_eq!(
        markup::faults(&html(&empty(), &nothing(), &HtmlOptions::default())),
        [""; 0]
    );
}

/// Nobody saw a stall in what somebody asked for.
#[test]
fn what_was_asked_for_did_not_stall() {
    let mut asked = common::incident();
    assert!(page().contains(" UTC, for "));
    for trigger in &mut asked.stall.triggers {
        trigger.rule = model::Stall::REQUESTED.to_owned();
    }
    let page = html(&asked, &nothing(), &HtmlOptions::default());
    assert!(page.contains(" as requested.") && !page.contains(" UTC, for "));
}

#[test]
fn it_loads_nothing() {
    let page = page();
    for forbidden in [
        "http://", "https://", "@import", "url(", "<link", "<img", "<iframe",
    ] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn the_policy_names_the_script() {
    let page = page();
    let script = page
        .split_once("<script>")
        .and_then(|(_, rest)| rest.split_once("</script>"));
    let hash = sha256::base64(&sha256::sha256(script.expect("a script").0.as_bytes()));
    assert!(
        page.contains(&format!("script-src 'sha256-{hash}'")),
        "the script's hash is {hash}"
    );
    let without = html(
        &common::incident(),
        &common::verdict(),
        &HtmlOptions { script: false },
    );
    assert!(without.contains("script-src 'none'") && !without.contains("<script"));
}

#[test]
fn it_has_everything_in_order() {
    let page = page();
    let mut at = 0;
    for part in [
        "<h1>SHOW WARNINGS flood <span class=\"badge certain\">certain</span></h1>",
        "2024-05-12 03:16:05 UTC",
        "db7.example",
        "<dt>users felt</dt>",
        "<dt>do now</dt>",
        "<dt>how sure</dt>",
        "<dt>disproved if</dt>",
        "<figure class=\"timeline\"",
        "Statements completed",
        "before, ",
        "class=\"event trigger\"",
        "<section id=\"findings\"><details class=\"section\"><summary><h2>Findings</h2>",
        "<pre class=\"command\"><code>ALTER USER &#39;shop_api&#39;@&#39;%&#39; WITH MAX_USER_CONNECTIONS 50",
        "<p>Undo:</p><pre class=\"command\"><code>ALTER USER &#39;shop_api&#39;@&#39;%&#39; WITH MAX_USER_CONNECTIONS 0",
        "Com_show_warnings grew by 46,812 a second",
        "before <b>6.1 %</b>",
        "href=\"#chart-1\"",
        "Disproved if",
        "Similar causes, ruled out",
        "id=\"stall\"",
        "2024-05-12 03:16:05.120",
        "id=\"evidence\"",
        "<h3>Statements</h3>",
        "id=\"signals\"",
        "<h3>Probe latency</h3>",
        "Probes without an answer: timed out",
        "Recorded, but always zero: Memory compaction",
        "id=\"sessions\"",
        "<b>346</b> of 720 sessions",
        "show warnings",
        "Longest sessions at the worst moment",
        "id=\"innodb\"",
        "INNODB MONITOR OUTPUT",
        "id=\"threads\"",
        "ib_log_writer",
        "id=\"facts\"",
        "glibc or linked in",
        "80 GiB",
        "id=\"changes\"",
        "65535",
        "id=\"absent\"",
        "perf_event_paranoid",
        "361",
        "id=\"read\"",
        "freezeframe-verdict/1",
    ] {
        let found = page[at..].find(part);
        assert!(
            found.is_some(),
            "{part} is missing after {}",
            &page[at..][..80]
        );
        at += found.unwrap_or(0);
    }
}

#[test]
fn what_to_do_stands_before_why() {
    let page = page();
    let articles: Vec<&str> = page.split("<article class=\"finding").skip(1).collect();
    assert_eq!(articles.len(), 3);
    for article in articles {
        let article = article.split("</article>").next().unwrap_or_default();
        let remedy = article.find("<div class=\"half remedy\">");
        let evidence = article.find("<div class=\"half\">");
        assert!(remedy.is_some() && remedy < evidence, "{article}");
        let do_now = article.find("<h4>Do now</h4>");
        let why = article.find("<ol class=\"witnesses\">");
        assert!(do_now.is_some() && do_now < why, "{article}");
    }
}

/// The two sheets of the printed form.
fn sheets(page: &str) -> [&str; 2] {
    let (before, paper) = page
        .split_once("<article class=\"paper\"")
        .expect("a printed form");
    // Style shows it in place of both.
    let footer = before.rsplit_once("</main>\n<footer>");
    assert!(footer.is_some_and(|(_, footer)| footer.matches("</footer>").count() == 1));
    let paper = paper.split("</article>").next().unwrap_or_default();
    assert!(!paper.contains("id=\"") && !paper.contains("href=\""));
    let sheets: Vec<&str> = paper.split("<section class=\"sheet\">").skip(1).collect();
    sheets.try_into().expect("two sheets")
}

fn assert_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let (_, behind) = rest
            .split_once(part)
            .unwrap_or_else(|| panic!("{part} is missing in {rest}"));
        rest = behind;
    }
}

#[test]
fn a_print_is_two_sheets_with_what_a_post_mortem_needs() {
    let mut verdict = common::verdict();
    verdict.findings[0].remedy.now.remove(0);
    let page = html(&common::incident(), &verdict, &HtmlOptions::default());
    assert_eq!(markup::faults(&page), [""; 0]);
    let [what, why] = sheets(&page);
    assert_in_order(
        what,
        &[
            "<h1>SHOW WARNINGS flood <span class=\"badge certain\">",
            "Clients ask for warnings after every statement.",
            "Made worse by: Many small packets over compressed connections (likely).",
            "<dt>users felt</dt>",
            "2024-05-12 03:16:05 UTC, for 1 min 7 s",
            "<figure class=\"timeline\"",
            "<dt>do now</dt>",
            "<dd>Restart or stop that client",
            "<dd>Risk: ",
            "<dd>Undo: <code>ALTER USER",
            "<dt>permanent fix</dt>",
            "log level to <code>error</code>",
            "<dt>verify</dt>",
            "Com_show_warnings grows by less than 100 a second",
            "<dt>disproved if</dt>",
            "log level at <code>error</code>",
        ],
    );
    assert_eq!(what.matches("<div class=\"strip\">").count(), 4);
    assert!(!what.contains("46,812"), "no evidence before what to do");
    assert_in_order(
        why,
        &[
            "<ol class=\"witnesses\">",
            "Com_show_warnings grew by 46,812 a second",
            "before <b>6.1 %</b>",
            "319 of 344",
            "958,000",
            "<b>11.7</b> times as much as before",
            "<ol class=\"witnesses\">",
            "21,400",
            "<dt>who did it</dt>",
            "onnection 91",
            "<h2>Other causes</h2>",
            "<li>Many small packets over compressed connections (likely): ",
            "<li>Ruled out: Transparent huge pages: compaction in page faults, because ",
            "profile, status, cgroup.",
            "3306, 8.0.36 MySQL Community Server - GPL, pid 4711, socket /run/mysqld/mysqld.sock",
            "db7.example, kernel 6.1.0-21-amd64",
            "onset 2024-05-12 03:16:05.120, trigger 2024-05-12 03:16:11.120, end 2024-05-12 03:17:12.120",
            "system-cpu, query-probe",
            "/var/lib/freezeframe/3306-20240512T031605Z.frame",
        ],
    );
}

#[test]
fn whatever_there_is_the_sheets_take_what_fits() {
    let mut verdict = common::verdict();
    let finding = &mut verdict.findings[0];
    finding.remedy.durable = vec!["it takes very long ".repeat(14); 30];
    for witnesses in [&mut finding.witnesses, &mut finding.against] {
        let long = witnesses[0].clone();
        witnesses.extend((0..30).map(|number| diagnosis::Witness {
            says: "it took very long ".repeat(60),
            value: Some(f64::from(number)),
            ..long.clone()
        }));
    }
    let absent = |number: u32| {
        let what = format!("source {number}");
        model::Absent::new(what, model::Reason::Failed, "it did not answer ".repeat(99))
    };
    verdict.absent.extend((0..50).map(absent));
    let page = html(&common::incident(), &verdict, &HtmlOptions::default());
    let [what, why] = sheets(&page);
    let words = |sheet: &str| {
        let texts = sheet.split('<').filter_map(|tag| tag.split_once('>'));
        texts.map(|(_, text)| text.chars().count()).sum::<usize>()
    };
    assert_eq!(why.matches("<p class=\"numbers\">").count(), 8 + 2);
    assert!(why.contains("profile, source 0, ") && why.contains(" and 45 more."));
    // Of the permanent changes, whole ones as far as there is room.
    let changes = what.matches("it takes very long").count();
    assert!(
        changes > 0 && changes.is_multiple_of(14) && changes <= 3 * 14,
        "{changes}"
    );
    assert!(words(what) < 2_500, "{}", words(what));
    assert!(words(why) < 3_200, "{}", words(why));
}

#[test]
fn an_incident_without_a_finding_is_two_sheets_as_well() {
    let page = html(&empty(), &nothing(), &HtmlOptions::default());
    let [what, why] = sheets(&page);
    assert!(what.contains("<dt>do now</dt>") && !what.contains("<figure"));
    assert!(why.contains("db7.example") && why.contains("onset 2024-05-12 03:16:05.120"));
    let mut undated = common::incident();
    undated.clock = model::Clock::default();
    let page = html(&undated, &common::verdict(), &HtmlOptions::default());
    let [what, why] = sheets(&page);
    assert!(!what.contains("1970") && !why.contains("1970"));
}

#[test]
fn every_charted_witness_links_to_its_chart() {
    let page = page();
    let witnesses = common::verdict()
        .findings
        .iter()
        .map(|finding| finding.witnesses.len())
        .sum::<usize>();
    let linked = page.matches("<p class=\"numbers\">").count();
    assert!(linked >= witnesses);
    for signal in ["sessions.compressed", "Com_show_warnings", "switches"] {
        let figure = page
            .split("<figure")
            .find(|figure| figure.contains(&format!("</i>{signal}</th>")));
        let id = figure.and_then(|figure| figure.split("id=\"").nth(1)?.split('"').next());
        let id = id.unwrap_or_else(|| panic!("no chart of {signal}"));
        assert!(
            page.contains(&format!("<a href=\"#{id}\">chart")),
            "{signal}"
        );
    }
}

#[test]
fn a_hole_in_the_evidence_is_a_hole_in_the_line() {
    let page = page();
    let figure = page
        .split("<figure")
        .find(|figure| figure.contains("<h3>Statements</h3>"))
        .expect("a chart");
    let line = figure
        .split("class=\"line c1\"")
        .nth(1)
        .and_then(|rest| rest.split('"').nth(3))
        .expect("a line");
    assert_eq!(line.matches('M').count(), 2, "{line}");
}

#[test]
fn an_incident_without_end_or_findings_has_a_page() {
    let mut incident = common::incident();
    incident.stall.end = None;
    let page = html(&incident, &nothing(), &HtmlOptions::default());
    assert!(page.contains("not in the recording") && page.contains("no finding"));
    assert!(page.contains("No finding uses a recorded signal."));
    assert!(!page.contains("event end"));
    assert_eq!(markup::faults(&page), [""; 0]);
}

#[test]
fn no_number_is_broken() {
    let mut incident = common::incident();
    for second in 0..360u64 {
        let value = match second % 5 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::MAX,
            3 => f64::MIN,
            _ => -0.0,
        };
        let reading = Reading::gauge("status.Threads_running", Unit::Count, value);
        let same = Reading::gauge("cpu.procs_running", Unit::Count, 7.0);
        incident
            .timeline
            .push_readings("odd", second * 1000, &[reading, same]);
    }
    let page = html(&incident, &common::verdict(), &HtmlOptions::default());
    let drawings = page
        .split("<svg class=\"plot\"")
        .skip(1)
        .map(|rest| rest.split("</figure>").next());
    for drawing in drawings.flatten() {
        assert!(
            !drawing.contains("NaN") && !drawing.contains("inf\"") && !drawing.contains("Infinity")
        );
    }
    assert_eq!(markup::faults(&page), [""; 0]);
}

#[test]
fn its_size_is_bounded() {
    let mut incident = common::incident();
    // More of each than is shown: bytes of a cell and of a status, rows of a table, points of a curve, curves.
    let nasty = "\u{1b}<\"'&>".repeat(400);
    incident.window.to = 36_000_000;
    incident.stall.end = Some(35_000_000);
    for disk in 0..120 {
        for beat in 0..700u64 {
            let value = (beat * 7919 % 1000) as f64 * beat as f64;
            let reading = |name: String| Reading::counter(name, Unit::Milliseconds, value);
            incident.timeline.push_readings(
                &format!("disk{disk}"),
                beat * 50_000,
                &[
                    reading(format!("disk.{disk}.busy_ms")),
                    reading(format!("threads.by_name.{disk}.run_ns")),
                ],
            );
        }
    }
    for number in 0..2_000u64 {
        let fact = Fact::new(format!("variables.{number}{nasty}"), nasty.clone());
        incident.facts.push(TimedFact {
            at: number,
            fact: fact.clone(),
        });
        incident.facts.push(TimedFact {
            at: number + 9_000,
            fact: Fact {
                value: "x".to_owned(),
                ..fact
            },
        });
    }
    for at in [0, 239_000, 250_000] {
        let text = server_text::stored(TextKind::InnodbStatus, &nasty.repeat(200));
        incident.texts.push(TimedText { at, text });
    }
    let mut verdict = common::verdict();
    for finding in &mut verdict.findings {
        let witness = common::verdict::witness(
            "all",
            "disk",
            "all",
            [None; 3],
            &["disk.*", "threads.by_name.*"],
        );
        finding.witnesses.extend(vec![witness; 50]);
    }
    let page = html(&incident, &verdict, &HtmlOptions::default());
    assert!(page.len() < PAGE_BYTES_MAX, "{}", page.len());
    assert!(page.contains("more rows not shown"));
    assert_eq!(markup::faults(&page), [""; 0]);
}
