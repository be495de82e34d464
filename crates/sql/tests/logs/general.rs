//! General logs.

use sql::log::{LogKind, LogTime};

use crate::support::{read, read_by};

const SECOND: i64 = 1_000_000;

#[test]
fn up_to_5_6_and_mariadb() {
    let events = read(
        "/usr/sbin/mysqld, Version: 5.5.9-log (x). started with:\n\
         Tcp port: 3306  Unix socket: /tmp/s\n\
         Time                 Id Command    Argument\n\
         110308 16:07:41\t    5 Connect\troot@localhost on shop\n\
         \t\t    5 Query\tselect *\n from t\n  where a = 1\n\
         \t\t    6 Connect\tapp@web1 as anonymous on \n\
         110308  6:07:42\t    6 Init DB\tother\n\
         \t\t    6 Query\tselect 2\n\
         \t\t    6 Field List\tt \n\
         \t\t    5 Quit\t\n\
         \t\t    6 Prepare\tselect ?\n\
         \t\t    6 Execute\tselect 3\n\
         \t\t    7 Connect\tAccess denied for user 'x'@'y' (using password: YES)\n\
         \t\t    6 Query\tuse third\n\
         \t\t    6 Query\tselect 4",
    );
    let statements: Vec<&str> = events
        .iter()
        .map(|event| event.statement.as_str())
        .collect();
    assert_eq!(
        statements,
        [
            "administrator command: Connect",
            "select *\n from t\n  where a = 1",
            "administrator command: Connect",
            "administrator command: Init DB",
            "select 2",
            "administrator command: Field List",
            "administrator command: Quit",
            "administrator command: Prepare",
            "select 3",
            "administrator command: Connect",
            "use third",
            "select 4",
        ]
    );
    let query = &events[1];
    assert_eq!(
        (query.user.as_str(), query.host.as_str()),
        ("root", "localhost")
    );
    assert_eq!(
        (query.database.as_str(), query.connection),
        ("shop", Some(5))
    );
    assert_eq!(query.time, Some(LogTime::Local(1_299_600_461 * SECOND)));
    let other = &events[4];
    assert_eq!((other.user.as_str(), other.host.as_str()), ("app", "web1"));
    assert_eq!(other.database, "other");
    assert_eq!(other.time, Some(LogTime::Local(1_299_564_462 * SECOND)));
    assert_eq!(events[11].database, "third");
}

#[test]
fn since_5_7() {
    let events = read(
        "2018-07-01T01:02:03.123456Z\t   10 Connect\troot@localhost on  using Socket\n\
         2018-07-01T09:02:03.223456+08:00\t   10 Query\tSHOW WARNINGS\n\
         2018-07-01T01:02:03.323456Z\t   10 Query\tinsert into t values ('a\n\t\t 12 Query of a text\n')\n\
         2018-07-01T01:02:03.423456Z\t   10 Change user\tapp@10.0.0.1 on shop using TCP/IP\n\
         2018-07-01T01:02:03.523456Z\t   10 Execute\tselect 1\n",
    );
    assert_eq!(events.len(), 5, "{events:?}");
    assert_eq!(events[1].statement, "SHOW WARNINGS");
    assert_eq!(events[1].time, Some(LogTime::Utc(1_530_406_923_223_456)));
    assert_eq!(events[1].database, "");
    assert!(
        events[2].statement.ends_with("text\n')"),
        "{}",
        events[2].statement
    );
    assert_eq!(
        (
            events[4].user.as_str(),
            events[4].host.as_str(),
            events[4].database.as_str()
        ),
        ("app", "10.0.0.1", "shop")
    );
}

/// The columns of MySQL up to 5.0, which cut long commands; blanks for the tabs; a time with wider blanks or none.
#[test]
fn blanks_of_every_kind() {
    let commands = |names: &[&str]| -> Vec<String> {
        let command = |name: &&str| match name.chars().next() {
            Some(first) if first.is_uppercase() => format!("administrator command: {name}"),
            _ => (*name).to_owned(),
        };
        names.iter().map(command).collect()
    };
    for (what, log, expected) in [
        (
            "columns of MySQL 5.0",
            "120102 11:12:13\t      7 Connect     shop@web3 on stock\n\
             \t\t      7 Query       select a\n   from x\n\
             \t\t      7 Init DB     other\n\
             \t\t      7 Change user shop@web3 on stock\n\
             \t\t      8 Register Sl 3\n\
             \t\t      8 Binlog Dump Log: 'b.000001'  Pos: 4\n\
             120102 11:12:14\t      7 Quit       \n\
             \t\t      8 Quit\n",
            &[
                "Connect",
                "select a\n   from x",
                "Init DB",
                "Change user",
                "Register Slave",
                "Binlog Dump",
                "Quit",
                "Quit",
            ][..],
        ),
        (
            "a time that is not told again is blank",
            "120102   11:12:13\t     7 Query       select 1\n               \t     7 Query       select 2\n",
            &["select 1", "select 2"],
        ),
        (
            "tabs became blanks",
            "120102 11:12:13     7 Query     select 1\n                    7 Query     select 2\n\
             \x20                  17 Query     select 3\n\
             \x20                   7 Init DB   stock\n                    7 Quit\n",
            &["select 1", "select 2", "select 3", "Init DB", "Quit"],
        ),
        (
            "a tab became one blank",
            "120102  1:02:03 1234567 Execute select 1\n                1234567 Execute select 2\n",
            &["select 1", "select 2"],
        ),
        (
            "blanks behind a time with its zone",
            "2024-05-12T03:12:05.120000Z    7 Connect\tshop@web3 on  using Socket\n\
             2024-05-12T03:12:06.120000+02:00    7 Query\tselect 1\n",
            &["Connect", "select 1"],
        ),
        (
            "the longer of two names",
            "\t\t    7 Connect Out\tshop@web3\n\t\t    7 Binlog Dump GTID\tLog: ''\n",
            &["Connect Out", "Binlog Dump GTID"],
        ),
        (
            "lines of a text that look alike",
            "\t\t    7 Query\tinsert into x values ('\n 1 Quit\n  12 Query\tas a text\n\t 3 Kill all\n\
             120102 3 Query\n')\n\t\t    7 Query\tselect 2\n",
            &[
                "insert into x values ('\n 1 Quit\n  12 Query\tas a text\n\t 3 Kill all\n120102 3 Query\n')",
                "select 2",
            ],
        ),
    ] {
        assert_eq!(
            sql::log::log_kind(log.as_bytes()),
            Some(LogKind::General),
            "{what}"
        );
        for step in [log.len(), 1, 50] {
            let (events, stray) = read_by(log.as_bytes(), LogKind::General, step);
            let found: Vec<String> = events.into_iter().map(|event| event.statement).collect();
            assert_eq!(found, commands(expected), "{what}, by {step}");
            assert_eq!(stray, 0, "{what}");
        }
    }
}

/// Who asked is known from a connection in any columns.
#[test]
fn a_connection_in_columns() {
    let events = read(
        "120102   11:12:13\t      7 Connect     shop@web3 on stock\n\
         \t\t      7 Query       select 1\n",
    );
    let query = &events[1];
    assert_eq!((query.user.as_str(), query.host.as_str()), ("shop", "web3"));
    assert_eq!(query.database, "stock");
    assert_eq!(query.time, Some(LogTime::Local(1_325_502_733 * SECOND)));
}
