//! The text: complete, plain when it must be, never wider than asked.

use crate::common;
use report::{TextOptions, text};

fn plain(width: usize) -> String {
    text(
        &common::incident(),
        &common::verdict(),
        &TextOptions {
            width,
            color: false,
        },
    )
}

fn columns(line: &str) -> usize {
    line.chars()
        .map(|character| if character == '日' { 2 } else { 1 })
        .sum()
}

#[test]
fn it_says_what_people_need_in_order() {
    let text = plain(100);
    let mut at = 0;
    for part in [
        "The server stalled for 67 s",
        "onset       2024-05-12 03:16:05.120 UTC",
        "trigger     2024-05-12 03:16:11.120 UTC, 6.0 s after the onset",
        "end         2024-05-12 03:17:12.120 UTC, after 1 min 7 s",
        "system-cpu: system CPU 78 %",
        "status.Com_show_warnings",
        "█",
        "OT",
        "1 of 2: CERTAIN",
        "SHOW WARNINGS flood [show-warnings-flood]",
        "WHY",
        "(status; conclusive)",
        "(cpu; before 6.1 %)",
        "AGAINST",
        "WHO",
        "long statement: connection 91 (shop_api@10.0.0.7): SHOW WARNINGS for 3 s",
        "DISPROVED IF",
        "DO NOW",
        "    ALTER USER 'shop_api'@'%' WITH MAX_USER_CONNECTIONS 50",
        "  Undo:\n    ALTER USER 'shop_api'@'%' WITH MAX_USER_CONNECTIONS 0",
        "PERMANENT FIX",
        "RISK",
        "VERIFY",
        "RELATED",
        "aggravated by compressed-protocol",
        "2 of 2: LIKELY",
        "WEAKER FINDINGS",
        "SIMILAR CAUSES, RULED OUT",
        "THP is off for this process",
        "MISSING EVIDENCE",
        "profile: not permitted: perf_event_paranoid is 3",
        "(12 times)",
        "INPUT",
    ] {
        let found = text[at..].find(part);
        assert!(found.is_some(), "{part} is missing in\n{}", &text[at..]);
        at += found.unwrap_or(0);
    }
}

#[test]
fn plain_has_no_escape_codes_and_color_adds_nothing_else() {
    let plain = plain(90);
    assert!(
        !plain
            .chars()
            .any(|character| character.is_control() && character != '\n')
    );
    let options = TextOptions {
        width: 90,
        color: true,
    };
    let color = text(&common::incident(), &common::verdict(), &options);
    assert!(color.contains("\x1b[1;31m--- 1 of 2: CERTAIN"));
    let mut stripped = String::new();
    for (index, part) in color.split("\x1b[").enumerate() {
        stripped.push_str(if index == 0 {
            part
        } else {
            part.split_once('m').expect("a code").1
        });
    }
    assert_eq!(stripped, plain);
}

#[test]
fn no_line_is_wider_than_asked() {
    let mut incident = common::incident();
    let mut verdict = common::verdict();
    incident.server.label = "日本語".repeat(30);
    incident.host = "x".repeat(300);
    verdict.findings[0].title = "日".repeat(100);
    verdict.findings[0]
        .remedy
        .now
        .push(format!("echo '{}' > /x", "y ".repeat(150)));
    verdict.findings[0].witnesses[0].signals = vec!["status.Bytes_sent".to_owned()];
    for width in [0, 1, 40, 41, 57, 80, 132, 400] {
        let limit = if width == 0 { 80 } else { width.max(40) };
        let text = text(
            &incident,
            &verdict,
            &TextOptions {
                width,
                color: false,
            },
        );
        for line in text.lines() {
            // A command can be copied: a name in it is left whole.
            let is_name = line.trim() == "performance_schema.status_by_thread";
            assert!(
                columns(line) <= limit || is_name,
                "{} > {limit}: {line}",
                columns(line)
            );
            assert_eq!(line.trim_end(), line);
        }
    }
}

#[test]
fn a_stall_that_lasts_says_so() {
    let mut incident = common::incident();
    incident.stall.end = None;
    let text = text(&incident, &common::verdict(), &TextOptions::default());
    assert!(text.contains("end         not in the recording"));
    assert!(!text.contains("E end"));
}

#[test]
fn a_long_list_of_absences_is_cut_and_says_so() {
    let mut verdict = common::verdict();
    let absent =
        |number: usize| model::Absent::new(format!("thing {number}"), model::Reason::Gone, "");
    verdict.absent = (0..500).map(absent).collect();
    let text = text(&common::incident(), &verdict, &TextOptions::default());
    assert!(text.contains("thing 29: gone") && !text.contains("thing 30"));
    assert!(text.contains("472 more not shown."));
}
