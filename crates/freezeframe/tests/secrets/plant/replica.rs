//! A server that follows itself: each change comes back and fails, so that every message of a replica is had without
//! a second server.

use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};
use testbed::ServerKind;

use super::Planting;
use super::statements::{REPLICATED, REPLICATED_SET_UP};

/// Arguments of a server that can follow itself.
pub(crate) const REPLICA_ARGUMENTS: &[&str] = &[
    "--server-id=7",
    "--log-bin=binlog",
    "--relay-log=relay",
    "--binlog-format=STATEMENT",
    "--replicate-same-server-id",
    "--loose-log-slave-updates=OFF",
    "--loose-log-replica-updates=OFF",
    "--loose-skip-slave-start",
];

/// How long the replica may take until it stops with its error.
const STOPS: Duration = Duration::from_millis(2500);

/// How long it may take until it tells why it cannot connect.
const REFUSED: Duration = Duration::from_millis(1500);

/// The words of a server's age.
struct Words {
    change: &'static str,
    prefix: &'static str,
    /// START REPLICA or START SLAVE.
    replica: &'static str,
    status: &'static str,
    log: &'static str,
    skip: &'static str,
}

const OLD: Words = Words {
    change: "CHANGE MASTER TO",
    prefix: "MASTER",
    replica: "SLAVE",
    status: "SHOW SLAVE STATUS",
    log: "SHOW MASTER STATUS",
    skip: "sql_slave_skip_counter",
};

const NEW: Words = Words {
    change: "CHANGE REPLICATION SOURCE TO",
    prefix: "SOURCE",
    replica: "REPLICA",
    status: "SHOW REPLICA STATUS",
    log: "SHOW BINARY LOG STATUS",
    skip: "sql_replica_skip_counter",
};

fn words(kind: ServerKind) -> &'static Words {
    match kind {
        ServerKind::MySql9 => &NEW,
        _ => &OLD,
    }
}

/// Makes the server follow itself, say everything that fails there, and go over each failure. At the first failure of
/// a round `look` is called, while the replica's status has the error.
pub(crate) fn replicate(planting: &Planting, look: &dyn Fn()) {
    let words = words(planting.kind);
    let mut admin = planting.session();
    let failed = planting.say(&mut admin, REPLICATED_SET_UP);
    assert!(failed.is_empty(), "{failed:#?}");
    for format in ["STATEMENT", "ROW"] {
        // What was narrowed for the last round is made anew.
        for table in ["gone", "narrow", "keyed", "made", "switch"] {
            planting.say(
                &mut admin,
                &[&format!("DROP TABLE IF EXISTS `{{schema}}`.{table}")],
            );
        }
        planting.say(&mut admin, &["CREATE TABLE switch (n INT) ENGINE=InnoDB"]);
        planting.say(
            &mut admin,
            &["DROP USER twice", "DELETE FROM watched", "COMMIT"],
        );
        planting.say(
            &mut admin,
            &["DELETE FROM `{table}` WHERE `{column}` LIKE '%again%' OR `{column}` LIKE 'x %' OR `{column}` LIKE '%y' OR `{column}` LIKE 'third%'"],
        );
        planting.say(&mut admin, REPLICATED_SET_UP);
        round(planting, &mut admin, words, format, look);
    }
}

fn round(planting: &Planting, admin: &mut Conn, words: &Words, format: &str, look: &dyn Fn()) {
    let server = planting.server;
    let (file, position) = log_position(admin, words);
    let login = server.tcp_login();
    let prefix = words.prefix;
    let key = match planting.kind {
        ServerKind::MySql9 => ", GET_SOURCE_PUBLIC_KEY = 1",
        ServerKind::MariaDb11 => ", MASTER_SSL = 0, MASTER_SSL_VERIFY_SERVER_CERT = 0",
        _ => "",
    };
    let change = format!(
        "{} {prefix}_HOST = '127.0.0.1', {prefix}_PORT = {}, {prefix}_USER = '{}', {prefix}_PASSWORD = '{}', \
         {prefix}_LOG_FILE = '{file}', {prefix}_LOG_POS = {position}, {prefix}_CONNECT_RETRY = 1{key}",
        words.change,
        server.port(),
        login.user,
        login.password.unwrap_or_default(),
    );
    admin
        .query_drop(format!("STOP {}", words.replica))
        .unwrap_or_default();
    admin.query_drop(change).unwrap();
    let mut source = server.login().connect(false, super::TIMEOUT).unwrap();
    source.query_drop("SET NAMES utf8").unwrap();
    let format = format!("SET SESSION binlog_format = '{format}'");
    planting.say(&mut source, &["USE `{schema}`", &format]);
    for (on_source, on_replica) in REPLICATED {
        planting.say(&mut source, &[on_source]);
        if !on_replica.is_empty() {
            planting.say(admin, &[on_replica]);
        }
    }
    admin
        .query_drop(format!("START {}", words.replica))
        .unwrap();
    for number in 0..REPLICATED.len() + 2 {
        if !wait_until_stopped(admin, words) {
            break;
        }
        if number == 0 {
            look();
        }
        // The recorder reads the stopped replica's status as well.
        std::thread::sleep(Duration::from_millis(100));
        let skip = format!("SET GLOBAL {} = 1", words.skip);
        if admin.query_drop(skip).is_err() {
            break;
        }
        let start = format!("START {} SQL_THREAD", words.replica);
        if admin.query_drop(start).is_err() {
            break;
        }
    }
    let _ = admin.query_drop(format!("STOP {}", words.replica));
}

/// Replicas that cannot connect, with all names and a password, and settings that are refused.
pub(crate) fn channels(planting: &Planting) {
    let words = words(planting.kind);
    let (prefix, replica) = (words.prefix, words.replica);
    let mut admin = planting.session();
    let rest = format!(
        "{prefix}_PORT = 1, {prefix}_USER = '{{user}}', {prefix}_PASSWORD = '{{password}}', {prefix}_CONNECT_RETRY = 1, \
         {prefix}_LOG_FILE = '{{variable}}.000001', {prefix}_LOG_POS = 4, {prefix}_SSL_CA = '{{path}}'"
    );
    let (named, named_end) = match planting.kind {
        ServerKind::MySql9 => ("", " FOR CHANNEL '{channel}'"),
        ServerKind::MySql55 => ("", ""),
        _ => (" '{channel}'", ""),
    };
    let change = match planting.kind {
        ServerKind::MySql9 | ServerKind::MySql55 => words.change.to_owned(),
        _ => "CHANGE MASTER '{channel}' TO".to_owned(),
    };
    let all = [
        format!("STOP {replica}"),
        format!("{change} {prefix}_HOST = '{{host}}', {rest}{named_end}"),
        format!("START {replica}{named}{named_end}"),
        format!(
            "START {replica} UNTIL {prefix}_LOG_FILE = '{{variable}}.000009', {prefix}_LOG_POS = 4"
        ),
    ];
    say_until_refused(planting, &mut admin, &all);
    // A wrong password for a user that is there, then a log that is not.
    let port = planting.server.port();
    let all = [
        format!("STOP {replica}{named}{named_end}"),
        format!(
            "{change} {prefix}_HOST = '127.0.0.1', {prefix}_PORT = {port}, {prefix}_USER = '{{user}}', \
             {prefix}_PASSWORD = 'not {{password}}', {prefix}_SSL_CA = ''{named_end}"
        ),
        format!("START {replica}{named}{named_end}"),
    ];
    say_until_refused(planting, &mut admin, &all);
    let all = [
        format!("STOP {replica}{named}{named_end}"),
        format!(
            "{change} {prefix}_PASSWORD = '{{password}}', {prefix}_LOG_FILE = '{{variable}}.000009', \
             {prefix}_LOG_POS = 4{named_end}"
        ),
        format!("START {replica}{named}{named_end}"),
    ];
    say_until_refused(planting, &mut admin, &all);
    let stop = format!("STOP {replica}{named}{named_end}");
    let reset = format!("RESET {replica}{named} ALL{named_end}");
    planting.say(&mut admin, &[&stop, &reset]);
}

/// Says statements, and waits until a replica tells another error of its connection than before.
fn say_until_refused(planting: &Planting, admin: &mut Conn, statements: &[String]) {
    let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
    let before = refusals(admin, planting.kind);
    planting.say(admin, &statements);
    let end = Instant::now() + REFUSED;
    while Instant::now() < end {
        let now = refusals(admin, planting.kind);
        if !now.is_empty() && now != before {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The numbers of the errors with which the channels cannot connect.
fn refusals(admin: &mut Conn, kind: ServerKind) -> Vec<String> {
    let status = match kind {
        ServerKind::MariaDb | ServerKind::MariaDb11 => "SHOW ALL SLAVES STATUS",
        ServerKind::MySql55 | ServerKind::MySql9 => words(kind).status,
    };
    let channels: Vec<Row> = admin.query(status).unwrap_or_default();
    let numbers = channels.iter().map(|row| field(row, &["Last_IO_Errno"]));
    numbers
        .filter(|number| !number.is_empty() && number != "0")
        .collect()
}

fn log_position(admin: &mut Conn, words: &Words) -> (String, String) {
    let row: Row = admin.query_first(words.log).unwrap().unwrap();
    (text(&row, 0), text(&row, 1))
}

/// Whether the thread that applies has stopped within the time; not when it has nothing more to apply.
fn wait_until_stopped(admin: &mut Conn, words: &Words) -> bool {
    let end = Instant::now() + STOPS;
    while Instant::now() < end {
        let row: Option<Row> = admin.query_first(words.status).unwrap_or_default();
        let Some(row) = row else {
            return false;
        };
        if field(&row, &["Slave_SQL_Running", "Replica_SQL_Running"]) == "No" {
            return true;
        }
        let applied = (
            field(&row, &["Relay_Master_Log_File", "Relay_Source_Log_File"]),
            field(&row, &["Exec_Master_Log_Pos", "Exec_Source_Log_Pos"]),
        );
        if applied == log_position(admin, words) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

/// The column of a status that has one of these names.
fn field(row: &Row, names: &[&str]) -> String {
    let columns = row.columns();
    let mut names_there = columns.iter().map(|column| column.name_str());
    let place = names_there.position(|name| names.contains(&&*name));
    place.map_or_else(String::new, |place| text(row, place))
}

fn text(row: &Row, place: usize) -> String {
    match row.as_ref(place) {
        Some(Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        Some(Value::NULL) | None => String::new(),
        Some(other) => other.as_sql(true),
    }
}
