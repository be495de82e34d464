//! The same evidence as people hand it over: quoted, numbered, out of a collector of logs, a terminal's recording, a chat.
//! What stands around a capture does not change what it says, so the first finding stays the same.
//!
//! Each capture goes through some of the ways below, chosen by a hash, so that all ways see many captures.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;

use crate::common::{Capture, captures, findings};
use diagnosis::{Finding, Level};
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// Of the captures one in so many goes each way.
const ONE_IN: u8 = 30;

/// So many captures go, on all ways together.
const CASES_MIN: usize = 180;

/// Shares of the captures on all ways: that keep their first finding with its level, and whose first finding is right.
const KEPT_MIN: f64 = 0.95;
const RIGHT_MIN: f64 = 0.92;

/// The same of one way, a few captures.
const KEPT_ON_A_WAY_MIN: f64 = 0.70;

type Way = (&'static str, fn(&str) -> String);

/// What happens to a capture on its way.
const WAYS: &[Way] = &[
    ("a mail", |text| each(text, |_, line| format!("> {line}"))),
    ("an answer to it", |text| {
        each(text, |_, line| format!("> > {line}"))
    }),
    ("a quotation with bars", |text| {
        each(text, |_, line| format!("| {line}"))
    }),
    ("comments", |text| each(text, |_, line| format!("# {line}"))),
    ("a list", |text| each(text, |_, line| format!("- {line}"))),
    ("an indent", |text| {
        each(text, |_, line| format!("    {line}"))
    }),
    ("a fence", |text| {
        format!("What do you make of this?\n\n```text\n{text}```\n\nThanks\n")
    }),
    ("entities", escaped),
    ("a page", |text| {
        let text = escaped(text);
        format!("<!DOCTYPE html>\n<html><body><p>It hangs:</p><pre>{text}</pre></body></html>")
    }),
    ("cat -n", |text| {
        each(text, |nth, line| format!("{nth:6}\t{line}"))
    }),
    ("grep -n", |text| {
        each(text, |nth, line| format!("{nth}:{line}"))
    }),
    ("bat", |text| {
        each(text, |nth, line| format!("{nth:4} │ {line}"))
    }),
    ("docker logs -t", |text| {
        each(text, |nth, line| format!("{} {line}", stamp(nth)))
    }),
    ("kubectl logs --prefix", |text| {
        each(text, |nth, line| {
            format!("[pod/db-0/mysql] {} {line}", stamp(nth))
        })
    }),
    ("docker compose", |text| {
        each(text, |_, line| format!("db-1  | {line}"))
    }),
    ("journald", |text| {
        each(text, |_, line| {
            format!("Nov 29 00:37:27 db1 mysqld[123]: {line}")
        })
    }),
    ("syslog", |text| {
        each(text, |nth, line| {
            format!("<30>1 {} db1 mysqld 123 - - {line}", stamp(nth))
        })
    }),
    ("a script's moments", |text| {
        each(text, |_, line| format!("[2026-11-29 00:37:27] {line}"))
    }),
    ("pdsh", |text| each(text, |_, line| format!("db1: {line}"))),
    ("docker's json-file", |text| {
        each(text, |nth, line| {
            json!({"log": format!("{line}\n"), "stream": "stderr", "time": stamp(nth)}).to_string()
        })
    }),
    ("a collector", |text| {
        each(text, |nth, line| {
            json!({"@timestamp": stamp(nth), "message": line}).to_string()
        })
    }),
    ("a console", |text| {
        let entry = |line: &str| json!({"insertId": "x", "textPayload": line});
        let entries: Vec<_> = text.lines().map(entry).collect();
        serde_json::to_string_pretty(&entries).unwrap()
    }),
    ("an answer in JSON", |text| {
        json!({"rc": 0, "stdout": text}).to_string()
    }),
    ("a spreadsheet", |text| {
        let rows = each(text, |nth, line| {
            format!("{},\"{}\"", stamp(nth), line.replace('"', "\"\""))
        });
        format!("timestamp,message\n{rows}")
    }),
    ("blanks to the width", |text| {
        each(text, |_, line| format!("{line:120}"))
    }),
    ("blanks that do not break", |text| {
        text.replace(' ', "\u{a0}")
    }),
    ("marks without width", |text| {
        text.replace('_', "_\u{200b}").replace('/', "/\u{200b}")
    }),
    ("carriage returns", |text| text.replace('\n', "\r\n")),
    ("an old editor", |text| text.replace('\n', "\r")),
    ("empty lines between", |text| text.replace('\n', "\n\n")),
    ("colours", |text| {
        each(text, |_, line| format!("\u{1b}[32m{line}\u{1b}[0m\u{1b}[K"))
    }),
    ("a terminal", |text| {
        format!(
            "[root@db1 ~]# mysql\nWelcome to the MySQL monitor.\n\nmysql> \\. x\n{text}\nmysql> exit\nBye\n"
        )
    }),
    ("a question", |text| {
        format!(
            "Hello, since this morning our shop is slow. Can somebody tell me what this says?\n{text}"
        )
    }),
    ("boxes that are drawn", drawn),
    ("a numbered file in a mail", |text| {
        each(text, |nth, line| format!("> {nth:6}\t{line}"))
    }),
    ("a container in a collector", |text| {
        each(text, |nth, line| {
            let line = json!({"log": format!("{} {line}\n", stamp(nth))});
            format!("db-1  | {line}")
        })
    }),
];

fn each(text: &str, line: impl Fn(usize, &str) -> String) -> String {
    let lines = (1..).zip(text.lines());
    lines.map(|(nth, text)| line(nth, text) + "\n").collect()
}

/// The moment at which a line came.
fn stamp(nth: usize) -> String {
    let micros = nth * 7919 % 1_000_000;
    format!("2026-11-29T00:37:{:02}.{micros:06}Z", nth / 40 % 60)
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

/// Tables in boxes as clients draw them that do more than `mysql`.
fn drawn(text: &str) -> String {
    each(text, |_, line| {
        if line.starts_with("+-") && line.ends_with("-+") {
            line.replace('+', "┼").replace('-', "─")
        } else if line.starts_with('|') && line.ends_with('|') {
            line.replace('|', "│")
        } else {
            line.to_owned()
        }
    })
}

/// How many captures there were, kept their finding, and have the right one.
#[derive(Default)]
struct Count {
    all: usize,
    kept: usize,
    right: usize,
}

fn first(findings: &[Finding]) -> Option<(&str, Level)> {
    let first = findings.first()?;
    Some((&first.cause, first.level))
}

fn is_right(capture: &Capture, first: Option<(&str, Level)>) -> bool {
    match capture.is_control() {
        true => first.is_none_or(|(_, level)| level < Level::Likely),
        false => first.is_some_and(|(cause, _)| capture.is_right(cause)),
    }
}

#[test]
fn the_way_of_a_capture_changes_nothing() {
    let mut ways: BTreeMap<&str, Count> = BTreeMap::new();
    let mut other = String::new();
    for capture in captures() {
        let text = String::from_utf8_lossy(&capture.bytes()).replace('\r', "");
        let mut own: Option<Vec<Finding>> = None;
        for (name, way) in WAYS {
            let hash = Sha256::digest(format!("{} {name}", capture.name).as_bytes());
            let altered = way(&text);
            if hash[0] % ONE_IN != 0 || altered == text {
                continue;
            }
            let own = first(own.get_or_insert_with(|| findings(text.as_bytes())));
            let found = findings(altered.as_bytes());
            let found = first(&found);
            let count = ways.entry(name).or_default();
            count.all += 1;
            count.kept += usize::from(found == own);
            count.right += usize::from(is_right(&capture, found));
            let is_control = capture.is_control();
            assert!(
                !is_control || is_right(&capture, found),
                "{}: {name}",
                capture.name
            );
            if found != own && !capture.is_of_the_check_half() {
                other += &format!("{}, {name}: {own:?}, now {found:?}\n", capture.name);
            }
        }
    }
    let (mut all, mut kept, mut right) = (0, 0, 0);
    for (name, count) in &ways {
        all += count.all;
        kept += count.kept;
        right += count.right;
        let share = count.kept as f64 / count.all as f64;
        let of = format!("{name}: {} of {}", count.kept, count.all);
        assert!(share >= KEPT_ON_A_WAY_MIN, "{of}\n{other}");
    }
    assert!(all >= CASES_MIN, "{all} captures on all ways");
    let counts = format!("{kept} and {right} of {all}\n{other}");
    assert!(kept as f64 >= KEPT_MIN * all as f64, "{counts}");
    assert!(right as f64 >= RIGHT_MIN * all as f64, "{counts}");
}
