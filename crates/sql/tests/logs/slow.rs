//! Slow logs.

use sql::log::{EVENT_BYTES_MAX, LogKind, LogTime, Reader, Rest, Step, slow_border};

use crate::support::{read, read_by};

const SECOND: i64 = 1_000_000;

#[test]
fn mysql_5_0() {
    let events = read(
        "/usr/libexec/mysqld, Version: 5.0.95-log (Source distribution). started with:\n\
         Tcp port: 3306  Unix socket: /var/run/mysqld/mysqld.sock\n\
         Time                 Id Command    Argument\n\
         # Time: 110308 16:07:41\n\
         # User@Host: root[root] @ localhost []\n\
         # Query_time: 4  Lock_time: 0  Rows_sent: 3  Rows_examined: 3\n\
         use stock;\n\
         select sleep(1), bin from shelf;\n\
         # User@Host: app[app] @ web1 [10.0.0.7]\n\
         # Query_time: 3  Lock_time: 1  Rows_sent: 5  Rows_examined: 7\n\
         select *\n  from t\n# a comment of the statement's own\n where a = 'x;\\n';\n",
    );
    assert_eq!(events.len(), 2);
    let [first, second] = &events[..] else {
        panic!()
    };
    assert_eq!(first.statement, "select sleep(1), bin from shelf");
    assert_eq!(
        (first.user.as_str(), first.host.as_str()),
        ("root", "localhost")
    );
    assert_eq!(first.database, "stock");
    assert_eq!(first.time, Some(LogTime::Local(1_299_600_461 * SECOND)));
    assert_eq!(first.attribute("Query_time"), "4");
    // The second did not change, nor did the database.
    assert_eq!(second.time, first.time);
    assert_eq!(
        (second.user.as_str(), second.host.as_str()),
        ("app", "web1")
    );
    assert_eq!(second.database, "stock");
    assert_eq!(second.attribute("Rows_examined"), "7");
    assert!(
        second.statement.ends_with("where a = 'x;\\n'"),
        "{}",
        second.statement
    );
    assert!(
        second.statement.contains("\n# a comment"),
        "{}",
        second.statement
    );
}

#[test]
fn mysql_5_5_with_settings_and_commands() {
    let events = read(
        "# Time: 110101  1:02:03\n\
         # User@Host: root[root] @ localhost [127.0.0.1]\n\
         # Query_time: 0.000123  Lock_time: 0.000045 Rows_sent: 1  Rows_examined: 0\n\
         use shop;\n\
         SET last_insert_id=7,insert_id=8,timestamp=1293843723;\n\
         insert into t values (1);\n\
         # User@Host: root[root] @ localhost [127.0.0.1]\n\
         # Query_time: 0.000002  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n\
         SET timestamp=1293843724;\n\
         # administrator command: Quit;\n\
         # User@Host: root[root] @ localhost [127.0.0.1]\n\
         # Query_time: 0.000002  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n\
         SET timestamp=1293843725;\n\
         SET timestamp=5;\n\
         # User@Host: root[root] @ localhost [127.0.0.1]\n\
         # Query_time: 0.000002  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0\n\
         SET timestamp=1293843726;\n\
         use other;\n",
    );
    let statements: Vec<&str> = events
        .iter()
        .map(|event| event.statement.as_str())
        .collect();
    assert_eq!(
        statements,
        [
            "insert into t values (1)",
            "administrator command: Quit",
            "SET timestamp=5",
            "use other"
        ]
    );
    let commands: Vec<bool> = events.iter().map(|event| event.is_command).collect();
    assert_eq!(commands, [false, true, false, false]);
    // What the server says of the time has a zone, the other line has none.
    assert_eq!(events[0].time, Some(LogTime::Utc(1_293_843_723 * SECOND)));
    assert_eq!(events[3].time, Some(LogTime::Utc(1_293_843_726 * SECOND)));
    // The last one is the user's own, logged before it took effect.
    assert!(
        events.iter().all(|event| event.database == "shop"),
        "{events:?}"
    );
}

#[test]
fn mysql_9_with_slow_extra() {
    let events = read(
        "/usr/sbin/mysqld, Version: 9.7.0 (Debian). started with:\n\
         Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n\
         Time                 Id Command    Argument\n\
         # Time: 2026-05-12T03:12:05.120456Z\n\
         # User@Host: app[app] @  [10.1.2.3]  Id:    11\n\
         # Query_time: 0.001234  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 1 Thread_id: 11 Errno: 1054 Killed: 0 Bytes_received: 0 Bytes_sent: 57 Read_first: 0 Start: 2026-05-12T03:12:05.119222Z End: 2026-05-12T03:12:05.120456Z\n\
         use shop;\n\
         SET timestamp=1778555525;\n\
         select 1;\n",
    );
    let [event] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(event.time, Some(LogTime::Utc(1_778_555_525_120_456)));
    assert_eq!(
        (event.user.as_str(), event.host.as_str()),
        ("app", "10.1.2.3")
    );
    assert_eq!(event.connection, Some(11));
    assert_eq!(event.database, "shop");
    for (name, value) in [
        ("Errno", "1054"),
        ("Bytes_sent", "57"),
        ("Read_first", "0"),
        ("End", "2026-05-12T03:12:05.120456Z"),
    ] {
        assert_eq!(event.attribute(name), value);
    }
}

#[test]
fn percona_extended() {
    let events = read(
        "# Time: 130601  8:01:06.058915\n\
         # User@Host: [SQL_SLAVE] @  []\n\
         # Thread_id: 44  Schema: stock  Last_errno: 0  Killed: 0\n\
         # Query_time: 0.000318  Lock_time: 0.000021  Rows_sent: 0  Rows_examined: 1  Rows_affected: 1  Rows_read: 1\n\
         # Bytes_sent: 11  Tmp_tables: 0  Tmp_disk_tables: 0  Tmp_table_sizes: 0\n\
         # InnoDB_trx_id: 1AF2\n\
         # QC_Hit: No  Full_scan: Yes  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No\n\
         # Filesort: No  Filesort_on_disk: No  Merge_passes: 0\n\
         #   InnoDB_IO_r_ops: 0  InnoDB_IO_r_bytes: 0  InnoDB_IO_r_wait: 0.000000\n\
         #   InnoDB_rec_lock_wait: 0.000000  InnoDB_queue_wait: 0.000000\n\
         #   InnoDB_pages_distinct: 9\n\
         # Log_slow_rate_type: query  Log_slow_rate_limit: 100\n\
         SET timestamp=1370073666;\n\
         update t set a = 1;\n\
         # User@Host: app[app] @ localhost []  Id:    45\n\
         # Schema:   Last_errno: 1146  Killed: 0\n\
         # Query_time: 0.000012  Lock_time: 0.000004  Rows_sent: 0  Rows_examined: 1  Rows_affected: 1  Rows_read: 1\n\
         # Bytes_sent: 11\n\
         # No InnoDB statistics available for this query\n\
         SET timestamp=1370073667;\n\
         select 2;\n",
    );
    let [first, second] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(
        (first.user.as_str(), first.database.as_str()),
        ("SQL_SLAVE", "stock")
    );
    assert_eq!(first.connection, Some(44));
    for (name, value) in [
        ("Full_scan", "Yes"),
        ("InnoDB_trx_id", "1AF2"),
        ("InnoDB_pages_distinct", "9"),
        ("InnoDB_queue_wait", "0.000000"),
        ("Log_slow_rate_limit", "100"),
        ("Merge_passes", "0"),
    ] {
        assert_eq!(first.attribute(name), value);
    }
    // An empty name is followed by the next one's.
    assert_eq!(second.database, "");
    assert_eq!(second.attribute("Last_errno"), "1146");
    assert_eq!(
        second.notes,
        ["No InnoDB statistics available for this query"]
    );
}

#[test]
fn mariadb_with_explain() {
    let events = read(
        "/usr/sbin/mariadbd, Version: 10.11.19-MariaDB (Debian 12). started with:\n\
         Tcp port: 0  Unix socket: /run/mysqld/mysqld.sock\n\
         Time\t\t    Id Command\tArgument\n\
         # Time: 261121  6:00:00\n\
         # User@Host: root[root] @ localhost []\n\
         # Thread_id: 31  Schema: shop  QC_hit: No\n\
         # Query_time: 0.000234  Lock_time: 0.000100  Rows_sent: 1  Rows_examined: 1\n\
         # Rows_affected: 0  Bytes_sent: 104\n\
         # Full_scan: Yes  Full_join: No  Tmp_table: No  Tmp_table_on_disk: No\n\
         # Filesort: No  Filesort_on_disk: No  Merge_passes: 0  Priority_queue: No\n\
         #\n\
         # explain: id\tselect_type\ttable\ttype\tpossible_keys\tkey\tkey_len\tref\trows\tr_rows\tfiltered\tr_filtered\tExtra\n\
         # explain: 1\tSIMPLE\tt\tALL\tNULL\tNULL\tNULL\tNULL\t1\t1.00\t100.00\t100.00\tUsing where\n\
         #\n\
         SET timestamp=1795240800;\n\
         select * from t where a = 1;\n",
    );
    let [event] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(event.attribute("Rows_affected"), "0");
    assert_eq!(event.attribute("Bytes_sent"), "104");
    assert_eq!(event.attribute("QC_hit"), "No");
    assert_eq!(event.notes.len(), 2);
    assert!(
        event.notes[1].starts_with("explain: 1\tSIMPLE\tt\tALL"),
        "{:?}",
        event.notes
    );
    assert_eq!(event.statement, "select * from t where a = 1");
}

/// Lines that a server writes when it opens its log stand between two events, and events without a statement happen.
#[test]
fn lines_between_events() {
    let events = read(
        "# User@Host: a[a] @ h []\n\
         # Query_time: 1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\n\
         select 1;\n\
         /usr/sbin/mysqld, Version: 5.0.67-log (x). started with:\n\
         Tcp port: 3306  Unix socket: /tmp/s\n\
         Time                 Id Command    Argument\n\
         # User@Host: b[b] @ h []\n\
         # Query_time: 2  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\n\
         SET timestamp=7;\n\
         # User@Host: c[c] @ h []\n\
         # Query_time: 3  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\n\
         use d;\n\
         # Time: 110308 16:07:41 # User@Host: e[e] @ h []\n\
         # Query_time: 4  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\n\
         select 4\n",
    );
    let seen: Vec<(&str, &str)> = events
        .iter()
        .map(|event| (event.user.as_str(), event.statement.as_str()))
        .collect();
    assert_eq!(
        seen,
        [
            ("a", "select 1"),
            ("b", ""),
            ("c", "use d"),
            ("e", "select 4")
        ]
    );
    assert_eq!(events[3].database, "d");
}

#[test]
fn windows_line_ends() {
    let events = read(
        "# Time: 110308 16:07:41\r\n\
         # User@Host: root[root] @ localhost [127.0.0.1]\r\n\
         # Query_time: 2  Lock_time: 0  Rows_sent: 1  Rows_examined: 0\r\n\
         SET timestamp=1299600461;\r\n\
         select 1;\r\n",
    );
    let [event] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(event.statement, "select 1");
    assert_eq!(event.attribute("Rows_examined"), "0");
    assert_eq!(event.time, Some(LogTime::Utc(1_299_600_461 * SECOND)));
}

/// A statement larger than any room for it is told as far as it was seen, and the next event is found again.
#[test]
fn an_endless_statement() {
    let head =
        "# User@Host: a[a] @ h []\n# Query_time: 1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\n";
    let mut log = format!("{head}insert into t values ('");
    log.push_str(&"x".repeat(100_000));
    let (start, rest) = (log.clone(), format!("yyy');\n{head}select 2;\n"));
    let mut reader = Reader::new(LogKind::Slow);
    let Step::Event(event, used) = reader.next(start.as_bytes(), Rest::NoRoom) else {
        panic!("no event")
    };
    assert!(event.is_cut && event.statement.starts_with(b"insert into t"));
    assert_eq!(used, start.len());
    let mut bytes = rest.as_bytes();
    let mut found = Vec::new();
    while !bytes.is_empty() {
        match reader.next(bytes, Rest::Nothing) {
            Step::Event(event, used) => {
                found.push(String::from_utf8_lossy(event.statement).into_owned());
                bytes = &bytes[used..];
            }
            Step::Skipped(used) => bytes = &bytes[used..],
            Step::More => panic!("more than there is"),
        }
    }
    assert_eq!(found, ["select 2"]);
    const { assert!(EVENT_BYTES_MAX < u32::MAX as usize) };
}

/// A log that starts in the middle of an event.
#[test]
fn a_log_without_its_start() {
    let log = "from t where a = 1;\n# Time: 110308 16:07:41\n# User@Host: a[a] @ h []\n\
               # Query_time: 1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\nselect 1;\n";
    let (events, stray) = read_by(log.as_bytes(), LogKind::Slow, 1000);
    assert_eq!(events.len(), 1);
    assert_eq!(stray, 20);
}

/// A border never parts a time from its event.
#[test]
fn borders() {
    let head =
        "# User@Host: a[a] @ h []\n# Query_time: 1  Lock_time: 0  Rows_sent: 0  Rows_examined: 0\n";
    let first = format!("# Time: 110308 16:07:41\n{head}select 1;\n");
    let second = format!("{head}select 2;\n");
    let third = format!("# Time: 110308 16:07:42\n{head}select 3;\n");
    let log = format!("{first}{second}{third}");
    for at in 0..log.len() {
        let Some(border) = slow_border(&log.as_bytes()[at..]) else {
            assert!(at > first.len() + second.len() - 2, "none from {at} on");
            continue;
        };
        let border = at + border;
        assert!(
            border == first.len() || border == first.len() + second.len(),
            "{border} from {at} on"
        );
    }
}
