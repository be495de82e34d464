//! General logs.

use sql::log::LogTime;

use crate::support::read;

const SECOND: i64 = 1_000_000;

#[test]
fn up_to_5_6_and_mariadb() {
    let events = read(
        "/usr/sbin/mysqld, Version: 5.5.9-log (x). started with:\n\
         Tcp port: 3306  Unix socket: /tmp/s\n\
         Time                 Id Command    Argument\n\
         071015 21:43:52\t    5 Connect\troot@localhost on shop\n\
         \t\t    5 Query\tselect *\n from t\n  where a = 1\n\
         \t\t    6 Connect\tapp@web1 as anonymous on \n\
         071015  1:43:53\t    6 Init DB\tother\n\
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
    assert_eq!(query.time, Some(LogTime::Local(1_192_484_632 * SECOND)));
    let other = &events[4];
    assert_eq!((other.user.as_str(), other.host.as_str()), ("app", "web1"));
    assert_eq!(other.database, "other");
    assert_eq!(other.time, Some(LogTime::Local(1_192_412_633 * SECOND)));
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
