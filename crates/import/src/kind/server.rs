//! What the server prints and what clients print of its answers.

use sql::log::LogKind;

use super::crash::is_crash_line;
use super::place::Place;
use super::{cells, is_vertical_row};
use crate::starts::Starts;

/// A line of a slow log's head and of nothing else.
pub(crate) fn is_slow_head(text: &str) -> bool {
    text.starts_with("# ") && sql::log::log_kind(text.as_bytes()) == Some(LogKind::Slow)
}

/// A line with which an event of a general log begins.
pub(super) fn is_general(line: &str) -> bool {
    line.starts_with(|c: char| c == '\t' || c.is_ascii_digit())
        && line.contains('\t')
        && sql::log::log_kind(line.as_bytes()) == Some(LogKind::General)
}

/// Commands of sessions, as the column `Command` has them.
const COMMANDS: [&str; 17] = [
    "Query",
    "Sleep",
    "Connect",
    "Binlog Dump",
    "Binlog Dump GTID",
    "Daemon",
    "Execute",
    "Killed",
    "Prepare",
    "Init DB",
    "Field List",
    "Quit",
    "Statistics",
    "Close stmt",
    "Ping",
    "Slave_IO",
    "Slave_SQL",
];

/// A head of the list, or a row that is one by its words.
pub(super) fn is_processlist(at: &Place<'_>) -> bool {
    if is_vertical_row(at.text) {
        return at.next.iter().take(2).any(|line| {
            line.trim_start().starts_with("Id: ") || line.trim_start().starts_with("ID: ")
        }) && at.next.iter().take(8).any(|line| {
            let line = line.trim_start();
            line.starts_with("Command:") || line.starts_with("COMMAND:")
        });
    }
    is_processlist_head(at.cells()) || is_processlist_row(at.cells())
}

/// The columns of the list, or those that somebody chose of it.
pub(crate) fn is_processlist_head(cells: &[&str]) -> bool {
    let has = |name: &str| cells.iter().any(|cell| cell.eq_ignore_ascii_case(name));
    cells.len() > 2 && has("Id") && has("State") && (has("Info") || (has("User") && has("Command")))
}

/// What a session does, as the column `Command` has it.
pub(crate) fn is_command(text: &str) -> bool {
    COMMANDS.contains(&text)
}

/// Eight columns in the order of the servers.
pub(crate) fn is_processlist_row(cells: &[&str]) -> bool {
    let number = |index: usize| {
        cells
            .get(index)
            .is_some_and(|cell| cell.parse::<f64>().is_ok())
    };
    cells.len() >= 8
        && number(0)
        && number(5)
        && cells.get(4).is_some_and(|command| is_command(command))
}

/// A head `Variable_name | Value`, or some rows of a name and a value.
pub(super) fn is_name_value(at: &Place<'_>) -> bool {
    if is_head_of_two(at.cells()) {
        return true;
    }
    if at.text.starts_with('|') {
        // Only a row of two cells tells by itself that it is one.
        return matches!(at.cells(), [name, _] if is_variable(name));
    }
    // Without boxes only a run of such lines is one.
    let rows = std::iter::once(&at.text)
        .chain(at.next.iter().take(3))
        .filter(|row| is_tabbed_variable(row.trim()));
    rows.count() >= 3
}

/// A name and a value behind a tab.
fn is_tabbed_variable(text: &str) -> bool {
    !text.starts_with('|')
        && text
            .split_once('\t')
            .is_some_and(|(name, value)| !value.contains('\t') && is_variable(name.trim_end()))
}

/// `Variable_name | Value`, `VARIABLE_NAME | VARIABLE_VALUE`; `variables_info` has other columns
/// beside the name.
pub(crate) fn is_name_value_head(text: &str) -> bool {
    is_head_of_two(&cells(text))
}

fn is_head_of_two(cells: &[&str]) -> bool {
    match cells {
        [name] => name.eq_ignore_ascii_case("variable_name"),
        [name, value] => {
            name.eq_ignore_ascii_case("variable_name")
                && value.to_ascii_lowercase().ends_with("value")
        }
        _ => false,
    }
}

/// The two cells of a row. A row of a box with more of them is none of a name and a value.
pub(crate) fn name_and_value(text: &str) -> Option<(&str, &str)> {
    let cells = cells(text);
    match cells.as_slice() {
        [name] if text.contains('\t') => Some((name, "")),
        [name, value] => Some((name, value)),
        // A value may hold the separator; between cells it has blanks around it.
        [name, ..] if text.starts_with('|') => {
            let rest = text.strip_prefix('|')?.split_once('|')?.1;
            let value = rest.strip_suffix('|').unwrap_or(rest).trim();
            (!value.contains(" | ")).then_some((*name, value))
        }
        _ => None,
    }
}

/// A name as variables have them: with an underscore, or a known single word.
pub(crate) fn is_variable(name: &str) -> bool {
    const SINGLE: [&str; 14] = [
        "port",
        "socket",
        "version",
        "datadir",
        "basedir",
        "timestamp",
        "Connections",
        "Queries",
        "Questions",
        "Uptime",
        "Compression",
        "autocommit",
        "tmpdir",
        "hostname",
    ];
    let is_name = !name.is_empty()
        && name.len() <= 100
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
    is_name && ((name.contains('_') && !name.starts_with("TABLE_")) || SINGLE.contains(&name))
}

pub(super) fn is_option_file(text: &str) -> bool {
    const SECTIONS: [&str; 12] = [
        "[mysqld]",
        "[client]",
        "[mysqld_safe]",
        "[server]",
        "[mariadb]",
        "[mariadbd]",
        "[galera]",
        "[mysqldump]",
        "[mysql]",
        "[mysqld-5.7]",
        "[mysqld-8.0]",
        "[client-server]",
    ];
    SECTIONS.contains(&text)
        || text.split_once('=').is_some_and(|(name, value)| {
            let name = name.trim();
            (name.starts_with("innodb_") || name.starts_with("innodb-"))
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
                && !value.trim().is_empty()
                && value.trim().len() < 200
        })
}

/// Begins with a year and a month, or six digits and a time, as the servers write them.
pub(crate) fn starts_with_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    match bytes.get(digits) {
        Some(b'-') => digits == 4 && bytes.get(5).is_some_and(u8::is_ascii_digit),
        Some(b' ') => {
            digits == 6
                && text.get(6..).is_some_and(|rest| {
                    rest.trim_start()
                        .as_bytes()
                        .get(1..3)
                        .is_some_and(|time| time.contains(&b':'))
                })
        }
        _ => false,
    }
}

/// The InnoDB monitor's, or the error log's.
pub(crate) fn is_server_line(text: &str) -> bool {
    static STARTS: Starts = Starts::new(&[
        "---TRANSACTION ",
        "MySQL thread id ",
        "MariaDB thread id ",
        "mysql tables in use ",
        "LOCK WAIT ",
        "------- TRX HAS BEEN WAITING ",
        "RECORD LOCKS space id ",
        "TABLE LOCK table ",
        "Record lock, heap no ",
        "OS WAIT ARRAY INFO",
        "Mutex spin waits ",
        "RW-shared ",
        "RW-excl ",
        "RW-sx ",
        "Trx id counter ",
        "Purge done for trx",
        "History list length ",
        "LIST OF TRANSACTIONS FOR EACH SESSION",
        "*** (1) ",
        "*** (2) ",
        "*** WE ROLL BACK ",
        "LATEST DETECTED DEADLOCK",
        "END OF INNODB MONITOR OUTPUT",
        "InnoDB: ",
        "[Note] InnoDB: ",
        "[Warning] InnoDB: ",
        "[ERROR] InnoDB: ",
        "Mutex at 0x",
        "Last time write locked in file ",
        "Last time read locked in file ",
        "Log sequence number ",
        "Log flushed up to ",
        "Last checkpoint at ",
        "Pending normal aio reads",
        "Pending flushes (fsync) ",
        "Buffer pool size ",
        "Modified db pages ",
    ]);
    const LEVELS: [&str; 8] = [
        "[Note]",
        "[Warning]",
        "[ERROR]",
        "[System]",
        "[Error]",
        " InnoDB: ",
        "INNODB MONITOR OUTPUT",
        "mysqld_safe ",
    ];
    STARTS.are_in_front_of(text)
        || is_wait(text)
        || (text.starts_with("--Thread ") && text.contains(" has waited at "))
        || (starts_with_date(text) && LEVELS.iter().any(|level| text.contains(level)))
        || is_count(text)
        || is_bare_transaction(text)
        || (text.ends_with("row lock(s)") && text.contains(" lock struct(s), heap size "))
        || (text.starts_with("Version: '") && text.contains("socket:"))
        || (text.starts_with("mysqld: ") || text.starts_with("mariadbd: "))
        || is_crash_line(text)
}

/// A number in front of words that only the monitor has: `1 pending log flushes, 0 pending chkp writes`.
fn is_count(text: &str) -> bool {
    const WORDS: [&str; 5] = [
        " pending log flushes, ",
        " pending log writes, ",
        " queries inside InnoDB, ",
        " read views open inside InnoDB",
        " OS file reads, ",
    ];
    text.starts_with(|c: char| c.is_ascii_digit()) && WORDS.iter().any(|words| text.contains(words))
}

/// The name of a section of the monitor, with the dashes below it, or the dashes above.
pub(crate) fn is_section(text: &str, next: &[&str]) -> bool {
    const SECTIONS: [&str; 13] = [
        "BACKGROUND THREAD",
        "SEMAPHORES",
        "RW-LATCH INFO",
        "MUTEX INFO",
        "LATEST FOREIGN KEY ERROR",
        "LATEST DETECTED DEADLOCK",
        "TRANSACTIONS",
        "FILE I/O",
        "INSERT BUFFER AND ADAPTIVE HASH INDEX",
        "LOG",
        "BUFFER POOL AND MEMORY",
        "INDIVIDUAL BUFFER POOL INFO",
        "ROW OPERATIONS",
    ];
    let is_dashes = |text: &str| text.len() >= 3 && text.bytes().all(|byte| byte == b'-');
    let line = |ahead: usize| next.get(ahead).map_or("", |line| line.trim());
    match is_dashes(text) {
        true => SECTIONS.contains(&line(0)) && is_dashes(line(1)),
        // A heading of Markdown looks the same.
        false => text != "LOG" && SECTIONS.contains(&text) && is_dashes(line(0)),
    }
}

/// `--Thread 140 has waited at a.cc line 3 for 241.00 seconds the semaphore:`.
pub(crate) fn is_wait(text: &str) -> bool {
    const BYTES_MIN: usize = "Thread 1 has waited at a line 1 for 1 seconds the semaphore".len();
    text.len() >= BYTES_MIN
        && text.contains("Thread ")
        && text.contains(" has waited at ")
        && text.contains(" seconds the semaphore")
}

fn is_bare_transaction(text: &str) -> bool {
    text.strip_prefix("TRANSACTION ").is_some_and(|rest| {
        rest.split_once(", ").is_some_and(|(_, state)| {
            state.starts_with("ACTIVE") || state.starts_with("not started")
        })
    })
}
