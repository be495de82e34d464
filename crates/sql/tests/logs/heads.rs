//! Heads of slow logs that went through a tool, were cut, or tell a thing twice.

use sql::log::{LogKind, Reader, Rest, Step};

use crate::support::read_by;

const MEASURED: &str = "# Query_time: 0.5  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 9\n";
const PLAN: &str = "# QC_Hit: No  Full_scan: Yes  Full_join: No\n# Filesort: No  Merge_passes: 0\n";

/// What is special, the log, its statements, and its bytes that belong to none.
fn cases() -> Vec<(&'static str, String, Vec<&'static str>, usize)> {
    let command = "# administrator command: Quit;\n";
    let user = "# User@Host: shop[shop] @ web3 []\n";
    let time = "# Time: 120102 11:12:13\n";
    let cut_user = "# User@Host: sh";
    vec![
        (
            "no user and no time",
            format!("{MEASURED}{PLAN}select a from x;\n").repeat(3),
            vec!["select a from x"; 3],
            0,
        ),
        (
            "a connection is the head's first line",
            format!("# Thread_id: 8  Schema: shop\n{MEASURED}{PLAN}select a\nfrom x;\n").repeat(2),
            vec!["select a\nfrom x"; 2],
            0,
        ),
        (
            "a name that servers do not write is the first line",
            format!("# Client: web3\n# Thread_id: 8  Schema: shop\n{MEASURED}delete from x;\n")
                .repeat(2),
            vec!["delete from x"; 2],
            0,
        ),
        (
            "some with a time, some with a user",
            format!("{time}{MEASURED}select 1;\n{MEASURED}select 2;\n{user}{MEASURED}select 3;\n"),
            vec!["select 1", "select 2", "select 3"],
            0,
        ),
        (
            "settings without a statement",
            format!("{MEASURED}SET timestamp=7;\n{MEASURED}use shop;\n{MEASURED}select 1;\n"),
            vec!["", "use shop", "select 1"],
            0,
        ),
        (
            "comments of a statement",
            format!(
                "{MEASURED}create procedure p() begin\n select 1;\n# Note: twice\n# as before\n \
                 select 2;\nend;\n{MEASURED}use shop;\n# Why: it is asked\nselect 3;\n"
            ),
            vec![
                "create procedure p() begin\n select 1;\n# Note: twice\n# as before\n select 2;\nend",
                "# Why: it is asked\nselect 3",
            ],
            0,
        ),
        (
            "a measure amid a statement that goes on",
            format!("{user}{MEASURED}select a,\n{MEASURED} b from x;\n"),
            vec![
                "select a,\n# Query_time: 0.5  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 9\n b from x",
            ],
            0,
        ),
        (
            "a comment behind a statement, and the next head",
            format!("{user}{MEASURED}select 1;\n# Note: done\n{user}{MEASURED}select 2;\n"),
            vec!["select 1;\n# Note: done", "select 2"],
            0,
        ),
        (
            "the user twice",
            format!("{time}{user}{user}{MEASURED}select 1;\n{user}{user}{MEASURED}select 2;\n"),
            vec!["select 1", "select 2"],
            0,
        ),
        (
            "the user behind the time and once more",
            format!("# Time: 120102 11:12:13 {user}{user}# Thread_id: 0\n{MEASURED}select 1;\n"),
            vec!["select 1"],
            0,
        ),
        (
            "the log ends before anything was measured",
            format!("{user}{MEASURED}select 1;\n{time}{cut_user}"),
            vec!["select 1"],
            time.len() + cut_user.len(),
        ),
        (
            "a head with nothing but a time and a user, and a whole one",
            format!("{time}{user}{time}{user}{MEASURED}select 1;\n"),
            vec!["select 1"],
            time.len() + user.len(),
        ),
        (
            "the log starts between a head and its command",
            format!("{command}{user}{MEASURED}select 1;\n{user}{MEASURED}{command}"),
            vec!["select 1", "administrator command: Quit"],
            command.len(),
        ),
    ]
}

#[test]
fn every_kind_of_head() {
    for (what, log, expected, stray) in cases() {
        for step in [log.len(), 1, 7, 60] {
            let (events, bytes) = read_by(log.as_bytes(), LogKind::Slow, step);
            let found: Vec<&str> = events.iter().map(|one| one.statement.as_str()).collect();
            assert_eq!(found, expected, "{what}, by {step}");
            assert_eq!(bytes, stray as u64, "{what}, by {step}");
            // What was measured went to its own statement.
            for event in events {
                let times = event
                    .attributes
                    .iter()
                    .filter(|(name, _)| name == "Query_time");
                assert_eq!(times.count(), 1, "{what}, by {step}");
            }
        }
    }
}

/// The second print of a user says who it was, as the first does.
#[test]
fn who_asked_where_the_user_stands_twice() {
    let log = format!(
        "# Time: 120102 11:12:13 # User@Host: [repl] @  []\n# User@Host: [repl] @  []\n\
         # Thread_id: 4\n{MEASURED}select 1;\n"
    );
    let (events, _) = read_by(log.as_bytes(), LogKind::Slow, log.len());
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0].user, "repl");
    assert_eq!(events[0].connection, Some(4));
    assert!(events[0].time.is_some());
}

/// Behind a statement without room the next event is found, wherever the bytes part, and by a head without a user too.
#[test]
fn behind_a_statement_without_room() {
    let start = format!("{MEASURED}insert into x values ('aaaa");
    let rest = format!("bbbb');\n# Thread_id: 8\n{MEASURED}select 2;\n");
    for at in 1..rest.len() {
        let mut reader = Reader::new(LogKind::Slow);
        let Step::Event(event, used) = reader.next(start.as_bytes(), Rest::NoRoom) else {
            panic!("no event")
        };
        assert!(event.is_cut && used == start.len());
        let mut found = Vec::new();
        let (mut from, mut to) = (0, at);
        while from < rest.len() {
            let follows = match to == rest.len() {
                true => Rest::Nothing,
                false => Rest::Follows,
            };
            match reader.next(&rest.as_bytes()[from..to], follows) {
                Step::Event(event, used) => {
                    found.push(String::from_utf8_lossy(event.statement).into_owned());
                    from += used;
                }
                Step::Skipped(used) => from += used,
                Step::More => to = rest.len(),
            }
            if from == to {
                to = rest.len();
            }
        }
        assert_eq!(found, ["select 2"], "parted at {at}");
    }
}
