//! Digests.

use model::{PER_CONNECTION, QueryMethod};
use sql::digest::{Digester, Filter, GroupBy, Options, Order, QUANTILE_ERROR, Statistic};
use sql::log::{Event, LogKind, LogTime, slow_border};

use crate::support::{digest, feed};

/// A log of so many statements of a few classes; the time of the n-th is n microseconds.
fn log(statements: usize) -> String {
    let mut log = String::new();
    for n in 1..=statements {
        let (user, statement) = match n % 4 {
            0 => ("root", format!("update t set a = {n} where id = '{n}'")),
            1 => ("app", format!("select * from t where id in ({n}, {n})")),
            _ => ("app", format!("SELECT b FROM t WHERE id = {n}")),
        };
        let use_line = if n == 1 { "use shop;\n" } else { "" };
        log.push_str(&format!(
            "# Time: 2026-05-12T03:12:05.{:06}Z\n# User@Host: {user}[{user}] @ web{} []  Id: {n}\n\
             # Query_time: {:.6}  Lock_time: 0.000000 Rows_sent: {}  Rows_examined: 10 Errno: {}\n\
             {use_line}SET timestamp=1778555525;\n{statement};\n",
            n % 1_000_000,
            n % 3,
            n as f64 / 1e6,
            n % 7,
            if n % 100 == 0 { 1062 } else { 0 },
        ));
    }
    log
}

/// A comment with which a statement begins, a warning that quotes a cell, what a proxy or a person adds.
#[test]
fn of_words_in_a_head_the_servers_own_are_told() {
    let plan =
        "explain: 1\tSIMPLE\tt\tALL\tNULL\tNULL\tNULL\tNULL\t1\t1.00\t100.00\t100.00\tUsing where";
    let log = format!(
        "# User@Host: app[app] @ web []  Id: 1\n# Query_time: 1.000000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 10\n\
         # Stored_routine: shop.pay\n# Comment: alice\n# her password is hunter2\n# Warning 1366: hunter2 in column a\n\
         # explain: hunter2\n# {plan}\nSET timestamp=1778555525;\nselect 1;\n"
    );
    let class = |literals| {
        let mut digester = Digester::new(Options::default());
        feed(&mut digester, log.as_bytes(), LogKind::Slow);
        let found = digester.finish(QueryMethod::SlowLog, &Order::Usual, None, literals);
        found.digest.classes[0].clone()
    };
    assert_eq!(class(false).notes, ["Stored_routine: shop.pay", plan]);
    assert!(
        class(true)
            .notes
            .contains(&"her password is hunter2".to_owned())
    );
}

#[test]
fn counts_and_sums_are_exact() {
    let found = digest(&log(10_000), Options::default());
    let (total, digest) = (&found.total, &found.digest);
    assert_eq!((digest.count, digest.errors), (10_000, Some(100)));
    assert_eq!(digest.folded, None);
    assert_eq!(digest.classes.len(), 3);
    let select = &digest.classes[0];
    assert_eq!(select.fingerprint, "select b from t where id = ?");
    assert_eq!((select.count, select.kind.as_str()), (5000, "SELECT"));
    assert_eq!(select.id, sql::fingerprint_id(&select.fingerprint));
    assert_eq!(
        select.compat_id.as_deref(),
        Some(sql::compat::compat_checksum(b"SELECT b FROM t WHERE id = 2").as_str())
    );
    // Of 1 to 10,000 µs.
    let sum = total.sum("Query_time").unwrap();
    assert!((sum - 50.005).abs() < 1e-9, "{sum}");
    assert_eq!(total.sum("Rows_examined"), Some(100_000.0));
    let time = total
        .measures
        .iter()
        .find(|m| m.name == "Query_time")
        .unwrap();
    assert_eq!((time.min, time.max), (Some(1e-6), Some(0.01)));
    for (found, exact) in [(time.median, 0.005), (time.p95, 0.0095), (time.p99, 0.0099)] {
        let found = found.unwrap();
        assert!(
            (found - exact).abs() <= exact * QUANTILE_ERROR,
            "{found} for {exact}"
        );
    }
    assert_eq!(time.decades, [9, 90, 900, 9000, 1, 0, 0, 0]);
    let users: Vec<(&str, u64)> = total
        .users
        .iter()
        .map(|user| (user.name.as_str(), user.count))
        .collect();
    assert_eq!(users, [("app", 7500), ("root", 2500)]);
    assert_eq!(total.databases.len(), 1);
    assert_eq!(
        (total.databases[0].name.as_str(), total.databases[0].count),
        ("shop", 10_000)
    );
    // The slowest update, without its literals.
    let update = digest
        .classes
        .iter()
        .find(|class| class.kind == "UPDATE")
        .unwrap();
    assert_eq!(
        update.sample.as_deref(),
        Some("update t set a = ? where id = ?")
    );
    assert_eq!(update.errors, Some(100));
}

#[test]
fn parts_are_the_whole() {
    let log = log(5000);
    let whole = digest(&log, Options::default());
    for near in [1, 1000, log.len() / 3, log.len() / 2, log.len() - 2000] {
        let border = near + slow_border(&log.as_bytes()[near..]).unwrap();
        let (first, second) = log.as_bytes().split_at(border);
        let mut digester = Digester::new(Options::default());
        let mut database = None;
        for part in [first, second] {
            let mut one = Digester::new(Options::default());
            let last = feed(&mut one, part, LogKind::Slow);
            digester.merge(one, database.as_deref());
            database = last.or(database);
        }
        let parted = digester.finish(QueryMethod::SlowLog, &Order::Usual, None, false);
        assert_eq!(parted.digest.classes.len(), whole.digest.classes.len());
        // The deviations are sums of floating numbers in another order.
        for (one, other) in parted
            .digest
            .classes
            .iter()
            .chain([&parted.total])
            .zip(whole.digest.classes.iter().chain([&whole.total]))
        {
            let mut one = one.clone();
            for (mine, theirs) in one.measures.iter_mut().zip(&other.measures) {
                let (a, b) = (mine.stddev.unwrap(), theirs.stddev.unwrap());
                assert!((a - b).abs() <= 1e-9 * (1.0 + b), "{a} {b}");
                mine.stddev = theirs.stddev;
            }
            assert_eq!(&one, other);
        }
    }
}

#[test]
fn classes_over_the_limit_are_one() {
    let log = log(100);
    let limited = Options {
        classes_max: 1,
        ..Options::default()
    };
    let found = digest(&log, limited);
    let folded = found.digest.folded.unwrap();
    assert_eq!(found.digest.classes.len(), 1);
    assert_eq!(found.digest.count, 100);
    assert_eq!(found.digest.classes[0].count + folded.count, 100);
    assert_eq!(folded.classes_at_least, 2);
    let time = found.digest.classes[0].sum("Query_time").unwrap() + folded.seconds.unwrap();
    assert!((time - 0.00505).abs() < 1e-12, "{time}");
    assert!(
        found
            .digest
            .blind
            .iter()
            .any(|absent| absent.what == "classes")
    );
    // And those that are not asked for.
    let mut digester = Digester::new(Options::default());
    feed(&mut digester, log.as_bytes(), LogKind::Slow);
    let two = digester.finish(QueryMethod::SlowLog, &Order::Count, Some(2), false);
    assert_eq!(two.digest.classes.len(), 2);
    assert_eq!(two.digest.folded.unwrap().classes_at_least, 1);
}

/// A log with nothing but new names, classes, numbers and long statements.
#[test]
fn memory_is_bounded() {
    let options = Options {
        bytes_max: 4 << 20,
        ..Options::default()
    };
    let mut digester = Digester::new(options);
    let mut log = String::new();
    for n in 0..30_000_u64 {
        let noise = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        log.push_str(&format!(
            "# User@Host: user{noise}[u] @ host{noise} []\n\
             # Schema: db{noise} Query_time: {}.{:06} Rows_sent: {noise} New_{n}: {noise} Word_{n}: x\n\
             select c{} from t{} where x = '{}';\n",
            noise % 10_000,
            noise % 1_000_000,
            n % 9000,
            n % 9000,
            "y".repeat((noise % 2000) as usize),
        ));
        if log.len() > 1 << 20 {
            feed(&mut digester, log.as_bytes(), LogKind::Slow);
            log.clear();
            assert!(
                digester.kept_bytes() < 5 << 20,
                "{} bytes",
                digester.kept_bytes()
            );
        }
    }
    feed(&mut digester, log.as_bytes(), LogKind::Slow);
    let found = digester.finish(QueryMethod::SlowLog, &Order::Usual, None, false);
    assert_eq!(found.digest.count, 30_000);
    let told: u64 = found.digest.classes.iter().map(|class| class.count).sum();
    assert_eq!(told + found.digest.folded.unwrap().count, 30_000);
}

#[test]
fn what_is_left_out() {
    let log = log(1000);
    let of = |options: Options| digest(&log, options).digest.count;
    let filter = |text: &str| Options {
        filters: vec![Filter::read(text).unwrap()],
        ..Options::default()
    };
    assert_eq!(of(filter("user=root")), 250);
    assert_eq!(of(filter("db=shop")), 1000);
    assert_eq!(of(filter("kind=update")), 250);
    assert_eq!(of(filter("Query_time>0.0009")), 100);
    assert_eq!(of(filter("Errno!=0")), 10);
    let start = 1_778_555_525_000_000;
    let window = Options {
        since_us: Some(start + 100),
        until_us: Some(start + 200),
        ..Options::default()
    };
    assert_eq!(of(window), 100);
}

#[test]
fn other_groups_and_orders() {
    let log = log(1000);
    let grouped = |group_by| {
        let options = Options {
            group_by,
            ..Options::default()
        };
        let found = digest(&log, options).digest;
        let mut classes: Vec<(String, u64)> = found
            .classes
            .into_iter()
            .map(|class| (class.fingerprint, class.count))
            .collect();
        classes.sort();
        classes
    };
    let named = |names: &[(&str, u64)]| -> Vec<(String, u64)> {
        names
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    };
    assert_eq!(
        grouped(GroupBy::User),
        named(&[("app", 750), ("root", 250)])
    );
    assert_eq!(
        grouped(GroupBy::Kind),
        named(&[("SELECT", 750), ("UPDATE", 250)])
    );
    assert_eq!(grouped(GroupBy::Database), named(&[("shop", 1000)]));
    assert_eq!(grouped(GroupBy::Host).len(), 3);
    assert_eq!(grouped(GroupBy::CompatFingerprint).len(), 3);
    let first = |order: Order| {
        let mut digester = Digester::new(Options::default());
        feed(&mut digester, log.as_bytes(), LogKind::Slow);
        let found = digester.finish(QueryMethod::SlowLog, &order, Some(1), false);
        found.digest.classes[0].kind.clone()
    };
    assert_eq!(first(Order::Count), "SELECT");
    assert_eq!(
        first(Order::Measure("query_time".to_owned(), Statistic::Max)),
        "UPDATE"
    );
    assert_eq!(
        first(Order::Measure("Query_time".to_owned(), Statistic::Average)),
        "UPDATE"
    );
}

#[test]
fn labels_of_compatible_classes_hold_nothing_of_a_literal() {
    let statements = [
        r"SELECT 'C:\', 'hunter2'",
        r"SELECT 'C:\', 'hunter3'",
        r#"SELECT "D:\", "hunter2", a"#,
        r"SELECT 'it\'s', b",
    ];
    let mut log = String::new();
    for statement in statements {
        log.push_str(&format!(
            "# Time: 2026-05-12T03:12:05.000001Z\n# User@Host: a[a] @ web []  Id: 1\n\
             # Query_time: 0.000001  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 10\n\
             SET timestamp=1778555525;\n{statement};\n"
        ));
    }
    let options = Options {
        group_by: GroupBy::CompatFingerprint,
        ..Options::default()
    };
    let found = digest(&log, options);
    // The classes and their numbers are pt-query-digest's.
    assert_eq!(found.digest.count, 4);
    let mut expected = std::collections::BTreeMap::new();
    for statement in statements {
        *expected
            .entry(sql::compat::compat_checksum(statement.as_bytes()))
            .or_insert(0) += 1;
    }
    let counted: std::collections::BTreeMap<String, u64> = found
        .digest
        .classes
        .iter()
        .map(|class| (class.id.clone(), class.count))
        .collect();
    assert_eq!(counted, expected);
    for class in &found.digest.classes {
        assert!(
            !class.fingerprint.contains("hunter"),
            "{}",
            class.fingerprint
        );
        assert!(
            class.fingerprint.starts_with("select ?"),
            "{}",
            class.fingerprint
        );
    }
    let labels: Vec<&str> = found
        .digest
        .classes
        .iter()
        .map(|class| class.fingerprint.as_str())
        .collect();
    assert!(labels.contains(&"select ?, b"), "{labels:?}");
}

#[test]
fn samples_keep_literals_only_when_asked() {
    let log = log(10);
    let sample = |literals| {
        let mut digester = Digester::new(Options::default());
        feed(&mut digester, log.as_bytes(), LogKind::Slow);
        let found = digester.finish(QueryMethod::SlowLog, &Order::Count, Some(1), literals);
        found.digest.classes[0].sample.clone().unwrap()
    };
    assert_eq!(sample(false), "SELECT b FROM t WHERE id = ?");
    assert_eq!(sample(true), "SELECT b FROM t WHERE id = 10");
}

#[test]
fn a_general_log_has_no_times() {
    let found = digest(
        "2018-07-01T01:02:03.123456Z\t   10 Connect\troot@localhost on shop using Socket\n\
         2018-07-01T01:02:03.223456Z\t   10 Query\tSHOW WARNINGS\n\
         2018-07-01T01:02:03.323456Z\t   10 Query\tSHOW WARNINGS\n\
         2018-07-01T01:02:03.423456Z\t   10 Query\tselect 'secret'\n",
        Options::default(),
    );
    let classes: Vec<(&str, u64)> = found
        .digest
        .classes
        .iter()
        .map(|class| (class.fingerprint.as_str(), class.count))
        .collect();
    assert_eq!(classes[0], ("show warnings", 2));
    assert_eq!(found.digest.classes[0].measures, []);
    assert_eq!(found.digest.count, 4);
    assert!(!format!("{found:?}").contains("secret"));
}

#[test]
fn statements_of_no_log_are_digested_by_their_numbers() {
    let options = Options {
        per_connection: true,
        filters: vec![Filter::read("Rows_sent<=50").unwrap()],
        ..Options::default()
    };
    let mut digester = Digester::new(options);
    // Of the second connection the answers' ends were not seen, and one has too many rows.
    for (connection, whole_us, rows, error) in [
        (1, Some(1_000), 3, 0),
        (1, Some(3_000), 4, 1064),
        (1, Some(2_000), 5, 0),
        (2, None, 6, 0),
        (2, None, 51, 0),
    ] {
        let statement = format!("SELECT {connection} FROM t WHERE a = {rows}");
        digester.add(&Event {
            statement: statement.as_bytes(),
            user: Some(b"app"),
            program: Some(b"connector"),
            connection: Some(connection),
            time: Some(LogTime::Utc(7_000_000)),
            numbers: &[
                ("Query_time", whole_us),
                ("Rows_sent", Some(rows)),
                ("Last_errno", Some(error)),
            ],
            ..Event::default()
        });
    }
    assert!(digester.measures("statements_per_connection"));
    let found = digester.finish(QueryMethod::Packets, &Order::Usual, None, false);
    assert_eq!((found.digest.count, found.digest.errors), (4, Some(1)));
    let [class] = &found.digest.classes[..] else {
        panic!("{found:?}")
    };
    assert_eq!(class.programs[0].name, "connector");
    let named: Vec<&str> = class.measures.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(named, ["Query_time", "Rows_sent", PER_CONNECTION]);
    let [time, rows, connections] = &class.measures[..] else {
        panic!("{class:?}")
    };
    assert_eq!((time.count, time.sum), (3, 0.006));
    assert_eq!(time.decades, [0, 0, 0, 3, 0, 0, 0, 0]);
    assert_eq!((rows.count, rows.sum), (4, 18.0));
    assert_eq!((connections.count, connections.sum), (2, 4.0));
    assert_eq!((connections.min, connections.max), (Some(1.0), Some(3.0)));
    // Of all classes together how often connections asked one means nothing.
    let of_all: Vec<&str> = found
        .total
        .measures
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(of_all, ["Query_time", "Rows_sent"]);
    assert_eq!(class.sample.as_deref(), Some("SELECT ? FROM t WHERE a = ?"));
}
