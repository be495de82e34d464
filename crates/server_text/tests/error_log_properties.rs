//! Whatever a server puts into its log around a value, the value is gone; and there is one way in.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

/// A word that no server uses, in the middle of whatever surrounds it.
const MARK: &str = "qzxmark";

/// Heads of entries, and none.
fn head() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("2026-01-02T03:04:05.000001Z 7 [ERROR] [MY-010584] [Repl] ".to_owned()),
        Just("2026-01-02  3:04:05 7 [Warning] ".to_owned()),
        Just("120906 12:14:44 [ERROR] ".to_owned()),
        Just("InnoDB: ".to_owned()),
        Just("Query (0x7f12): ".to_owned()),
        Just(String::new()),
    ]
}

/// What may stand before and behind a value: words of messages, quotes, brackets, line ends, whole lines.
fn around() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        5 => prop::sample::select(vec![
            "Slave SQL", "Error", "Duplicate entry", "for key", "on query", "Query:", "Statement:", "at row 1",
            "Got an error", "Table", "doesn't exist", "(errno: 28", "Error_code: 1062", "user", "host", "=",
            "Event Scheduler:", "thread id 5", "query id 9 localhost root", "Lock wait", "0x7f00", "12", "4013ms",
            "Mutex at 0x7f '", "in file a.cc line 3", "[Note]", "\u{201e}", "キー", "RECORD LOCKS space id 5", "hex 80; asc",
        ]).prop_map(str::to_owned),
        4 => prop::sample::select(vec!["'", "''", "\"", "`", "\\'", "\\", "(", ")", "[", "]", ":", ";", ",", "=", "@", "?", "/*", "*/", "--", "#"])
            .prop_map(str::to_owned),
        2 => prop::sample::select(vec![
            "\n", "\n2026-01-02  3:04:06 7 [Note] ", "\n---TRANSACTION 5, ACTIVE 3 sec\n", "\nMySQL thread id 5, query id 7\n",
            "\n*** (1) TRANSACTION:\n", "\nConnection ID (thread ID): 5\nStatus: ", "\nTRANSACTIONS\n------------\n", "\r\n", "\t", "\0",
        ]).prop_map(str::to_owned),
        1 => "[ -~]{0,12}",
    ];
    prop::collection::vec((piece, prop::sample::select(vec![" ", " ", ""])), 0..8)
        .prop_map(|pieces| pieces.into_iter().map(|(piece, gap)| piece + gap).collect())
}

/// The mark alone, within a word, within a longer value.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(MARK.to_owned()),
        "[a-z0-9]{0,6}[.@_-]".prop_map(|before| format!("{before}{MARK}")),
        "[ -~]{0,10}".prop_map(|behind| format!("{MARK} {behind}")),
        "[.@_-][a-z0-9]{0,6}".prop_map(|behind| format!("{MARK}{behind}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 8))]

    #[test]
    fn no_value_is_left(head in head(), before in around(), value in value(), behind in around(), next in head()) {
        let log = format!("{head}{before}{value}{behind}\n{next}ready {value}\n");
        let text = server_text::error_log(&log);
        prop_assert!(!text.body().to_lowercase().contains(MARK), "{log:?}\n{:?}", text.body());
        let again = server_text::stored(text.kind(), text.body());
        prop_assert!(!again.body().to_lowercase().contains(MARK));
    }

    #[test]
    fn numbers_of_cards_are_left_nowhere(before in around(), number in "[1-9][0-9]{12,18}", behind in around()) {
        // In no message but one that says that it is an address, a thread or a position.
        let log = format!("2026-01-02  3:04:05 7 [Warning] {before} '{number}' {behind}");
        prop_assert!(!server_text::error_log(&log).body().contains(&number), "{log:?}");
        let bare = format!("2026-01-02  3:04:05 7 [Warning] Card of Mr {number}");
        prop_assert!(!server_text::error_log(&bare).body().contains(&number));
    }

    #[test]
    fn any_text_is_bounded_and_no_trouble(text in "\\PC{0,400}", repeat in 1_usize..40) {
        let log = text.repeat(repeat);
        let body = server_text::error_log(&log).body().to_owned();
        prop_assert!(body.len() <= log.len() * 2 + 64, "{} of {}", body.len(), log.len());
    }
}

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The type [`model::RedactedText`] can be made by any function of one text; that it is the redactor's is held
/// here.
#[test]
fn text_of_a_server_is_made_in_one_crate() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    rust_files(crates, &mut files);
    assert!(files.len() > 500, "{}", files.len());
    let made: Vec<PathBuf> = files
        .into_iter()
        .filter(|file| {
            !file.ends_with("error_log_properties.rs") && !file.ends_with("model/src/text.rs")
        })
        .filter(|file| {
            std::fs::read_to_string(file).is_ok_and(|text| text.contains("RedactedText"))
        })
        .map(|file| file.strip_prefix(crates).unwrap().to_owned())
        .collect();
    let expected = [
        Path::new("model/src/lib.rs"),
        Path::new("server_text/src/lib.rs"),
    ];
    let mut made: Vec<&Path> = made.iter().map(PathBuf::as_path).collect();
    made.sort();
    assert_eq!(made, expected);
}
