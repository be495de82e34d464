//! Text from outside that means harm, in every place where outside text goes.

use crate::{common, markup};
use diagnosis::{Actor, Verdict};
use model::{
    Absent, Fact, Incident, ProcessList, Reading, Reason, Session, TextKind, TimedAbsent,
    TimedFact, TimedText, Trigger, Unit,
};
use report::{HtmlOptions, TextOptions, html, json, text};

const NASTY: &str = "</code></style><script>alert(1)</script>\"'&amp;\u{1b}[31m\u{9b}2J\u{7f}\r\n\u{202e}\u{2066}`$(x)`";

fn incident() -> Incident {
    let mut incident = common::incident();
    let nasty = || NASTY.to_owned();
    incident.id = nasty();
    incident.host = nasty();
    incident.tool_version = nasty();
    incident.server.label = nasty();
    incident.server.version = nasty();
    incident.server.address = nasty();
    incident.stall.triggers.push(Trigger {
        rule: nasty(),
        says: nasty(),
    });
    let counts = || [(nasty(), 900u64)].into();
    let session = Session {
        id: 1,
        user: nasty(),
        host: nasty(),
        db: nasty(),
        command: nasty(),
        seconds: f64::MAX,
        state: nasty(),
        statement: nasty(),
    };
    let list = ProcessList {
        sessions: u64::MAX,
        by_command: counts(),
        by_state: counts(),
        by_user: counts(),
        by_class: [(nasty(), u64::MAX), ("x".to_owned(), u64::MAX)].into(),
        longest: vec![session],
        idle: Vec::new(),
        idle_count: 0,
        replicas: Vec::new(),
    };
    let thread = serde_json::json!([{ "tid": 1, "name": NASTY, "state": NASTY, "run_ms": 1e300, "wait_ms": -1 }]);
    for (kind, body) in [
        (
            TextKind::Processlist,
            serde_json::to_string(&list).unwrap_or_default(),
        ),
        (TextKind::Processlist, nasty()),
        (TextKind::InnodbStatus, nasty()),
        (TextKind::Threads, thread.to_string()),
    ] {
        for at in [200_000, 247_500] {
            incident.texts.push(TimedText {
                at,
                text: server_text::stored(kind, &body),
            });
        }
    }
    incident.texts.sort_by_key(|timed| timed.at);
    for at in [0, 100] {
        let fact = Fact::new(nasty(), format!("{NASTY}{at}"));
        incident.facts.push(TimedFact { at, fact });
    }
    incident.absent.push(TimedAbsent {
        first: u64::MAX,
        last: u64::MAX,
        count: u64::MAX,
        absent: Absent::new(NASTY, Reason::Failed, NASTY),
    });
    for second in 0..300u64 {
        incident.timeline.push_readings(
            NASTY,
            second * 1000,
            &[
                Reading::counter(
                    format!("disk.{NASTY}.busy_ms"),
                    Unit::Milliseconds,
                    second as f64,
                ),
                Reading::counter(format!("disk.{NASTY}.writes"), Unit::Count, second as f64),
                Reading::counter(
                    format!("disk.{NASTY}.write_ms"),
                    Unit::Milliseconds,
                    second as f64,
                ),
                Reading::counter(
                    format!("threads.by_name.{NASTY}.run_ns"),
                    Unit::Nanoseconds,
                    second as f64,
                ),
                Reading::counter(
                    format!("status.Com_{NASTY}"),
                    Unit::Count,
                    (second * second * second) as f64,
                ),
                Reading::gauge(format!("innodb.{NASTY}"), Unit::Count, 1.0),
                Reading::gauge(NASTY, Unit::Count, 1.0),
            ],
        );
    }
    incident
}

fn verdict() -> Verdict {
    let mut verdict = common::verdict();
    let nasty = || NASTY.to_owned();
    verdict.sentence = nasty();
    for finding in verdict.findings.iter_mut().chain(&mut verdict.folded) {
        finding.cause = nasty();
        finding.title = nasty();
        finding.what = nasty();
        finding.witnesses.push(common::verdict::witness(
            NASTY,
            NASTY,
            NASTY,
            [Some(f64::NAN); 3],
            &[NASTY],
        ));
        finding.against.push(common::verdict::witness(
            NASTY,
            "facts",
            NASTY,
            [Some(1.0); 3],
            &[NASTY, "*"],
        ));
        finding.refuted_by.push(nasty());
        finding.unknown.push(nasty());
        finding.sources.push(nasty());
        finding.relations[0].kind = nasty();
        finding.actors.push(Actor {
            who: nasty(),
            says: nasty(),
            user: Some(nasty()),
            ..Actor::default()
        });
        finding
            .remedy
            .now
            .extend([nasty(), format!("echo {NASTY}"), format!("`{NASTY}`")]);
        finding.remedy.risk = nasty();
    }
    verdict.rejected[0].why = nasty();
    verdict.rejected[0].title = nasty();
    verdict.absent.push(Absent::new(NASTY, Reason::Gone, NASTY));
    verdict.sources[0].path = nasty();
    verdict.sources[0].kind = nasty();
    verdict
}

fn is_harmful(character: char) -> bool {
    (character.is_control() && character != '\n') || matches!(character, '\u{202e}' | '\u{2066}')
}

#[test]
fn the_page_shows_it_as_text() {
    let page = html(&incident(), &verdict(), &HtmlOptions::default());
    assert_eq!(markup::faults(&page), [""; 0]);
    assert_eq!(page.matches("<script>").count(), 1);
    assert_eq!(page.matches("</style>").count(), 1);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;amp;\\x1b[31m"));
    assert!(
        !page
            .chars()
            .any(|character| is_harmful(character) && character != '\t')
    );
}

#[test]
fn the_terminal_gets_no_control() {
    let options = TextOptions {
        width: 80,
        color: false,
    };
    let text = text(&incident(), &verdict(), &options);
    assert!(!text.chars().any(is_harmful));
    assert!(text.contains("\\x1b[31m"));
}

#[test]
fn the_json_reads_back_and_is_safe_to_print() {
    let document = json(&incident(), &verdict());
    assert!(!document.chars().any(is_harmful));
    let value: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(value["sentence"], NASTY);
    assert_eq!(value["incident"]["host"], NASTY);
}
