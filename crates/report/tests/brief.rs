//! The lines that are enough at night: all of them, in plain words, never wider than asked.

use crate::common;
use report::{TextOptions, brief_text, client_impact, first_finding};

fn plain(width: usize) -> TextOptions {
    TextOptions {
        width,
        color: false,
    }
}

fn more() -> Vec<(String, String)> {
    let line = |words: &str, command: &str| (words.to_owned(), command.to_owned());
    vec![
        line("Everything: add --full.", ""),
        line("Fix:", "freezeframe fix x.frame"),
    ]
}

#[test]
fn a_finding_is_told_in_five_lines() {
    let text = brief_text(
        &common::incident(),
        &common::verdict(),
        &more(),
        &plain(100),
    );
    let labels: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with(' ') && !line.is_empty())
        .map(|line| line.get(..12).unwrap_or(line).trim_end())
        .collect();
    assert_eq!(
        labels,
        [
            "users felt",
            "cause",
            "who did it",
            "do now",
            "how sure",
            "since",
            "missing",
            "Everything:"
        ],
        "{text}"
    );
    for part in [
        "cause       SHOW WARNINGS flood (certain). Made worse by: Many small packets over compressed\n            connections (likely).\n",
        "who did it  Connection 91 runs long: SHOW WARNINGS for 3 s.\n",
        "how sure    Certain: 4 signs for it, 1 sign against it. Strongest: ",
        "since       2024-05-12 03:16:05 UTC, for 1 min 7 s; over at 03:17:12. Server 3306 on db7.example.\n",
        "missing     profile, status and 1 more. Why: --full.\n",
        "\nEverything: add --full. Fix: freezeframe fix x.frame\n",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(text.lines().count() <= 24, "{text}");
    assert_eq!(
        first_finding(&common::verdict()).as_deref(),
        Some("SHOW WARNINGS flood (certain)")
    );
}

#[test]
fn without_a_finding_it_is_said_what_the_server_did_and_what_would_decide() {
    let mut verdict = common::verdict();
    verdict.findings.clear();
    verdict.folded.clear();
    verdict.absent = vec![model::Absent::new(
        "processlist",
        model::Reason::NotRecorded,
        "not among the captures; taken by: mysql -e 'SHOW FULL PROCESSLIST\\G'",
    )];
    verdict.mechanism = vec![diagnosis::Mechanism {
        source: "stacks".to_owned(),
        layer: "kernel-locks".to_owned(),
        role: "waits".to_owned(),
        share: 0.97,
        names: vec!["futex_do_wait".to_owned()],
        says: "97 % of the threads that do not idle are in locks of the kernel: futex_do_wait. \
               Sleeps for a lock."
            .to_owned(),
    }];
    let text = brief_text(&common::incident(), &verdict, &[], &plain(100));
    for part in [
        "cause       Unknown: none of the known causes fits what was recorded.\n",
        "was doing   97 % of the busy threads were in locks of the kernel.\n",
        "do now      While it lasts, record the list of sessions: mysql -e 'SHOW FULL PROCESSLIST\\G'\n",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert_eq!(first_finding(&verdict), None);
}

#[test]
fn no_line_is_wider_than_asked_and_color_adds_nothing_else() {
    let mut incident = common::incident();
    let mut verdict = common::verdict();
    incident.server.label = "日本語".repeat(30);
    incident.host = "x".repeat(300);
    verdict.findings[0].title = "日".repeat(100);
    verdict.findings[0].remedy.now = vec![format!("echo '{}' > /x", "y ".repeat(150))];
    for width in [0, 1, 40, 57, 80, 132] {
        let limit = if width == 0 { 80 } else { width.max(40) };
        let text = brief_text(&incident, &verdict, &more(), &plain(width));
        for line in text.lines() {
            let columns: usize = line
                .chars()
                .map(|c| if "日本語".contains(c) { 2 } else { 1 })
                .sum();
            assert!(columns <= limit, "{columns} > {limit}: {line}");
            assert_eq!(line.trim_end(), line);
        }
        let options = TextOptions { width, color: true };
        let color = brief_text(&incident, &verdict, &more(), &options);
        let mut stripped = String::new();
        for (index, part) in color.split("\x1b[").enumerate() {
            stripped.push_str(match index {
                0 => part,
                _ => part.split_once('m').expect("a code").1,
            });
        }
        assert_eq!(stripped, text);
    }
}

#[test]
fn nothing_that_only_insiders_read_is_in_it() {
    let mut verdict = common::verdict();
    for witness in &mut verdict.findings[0].witnesses {
        witness.says =
            "status.Com_show_warnings ~ ^show_.*: 5 threads below btr_search_*".to_owned();
    }
    let text = brief_text(&common::incident(), &verdict, &[], &plain(80));
    assert!(!text.contains("status.") && !text.contains(".*"), "{text}");
    assert!(!client_impact(&common::incident()).is_empty());
}

#[test]
fn what_was_read_in_part_only_is_told() {
    let mut verdict = common::verdict();
    let source = |path: &str| diagnosis::SourceRead {
        path: path.to_owned(),
        kind: model::READ_IN_PART.to_owned(),
        lines: None,
        brought: String::new(),
        skipped: Some("only the first 208 MiB were read".to_owned()),
    };
    verdict.sources = vec![source("slow.log"), source("error.log")];
    let text = brief_text(&common::incident(), &verdict, &more(), &plain(200));
    assert!(
        text.contains(
            "incomplete  slow.log: only the first 208 MiB were read. The same for 1 more: --full.\n"
        ),
        "{text}"
    );
}
