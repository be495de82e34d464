//! What a line looks like, by itself: whether a piece goes on with it.

use crate::kind::{self, Kind};
use crate::starts::Starts;

/// Opened and not closed round brackets.
pub(super) fn brackets(text: &str) -> i32 {
    let count = |letter: u8| {
        i32::try_from(text.bytes().filter(|byte| *byte == letter).count()).unwrap_or(0)
    };
    count(b'(') - count(b')')
}

/// The rest of a frame: `    at file.cc:3`, `    from /lib/x.so`, `    arg=…)`.
pub(super) fn is_wrapped(line: &str, text: &str) -> bool {
    text.starts_with("at /")
        || text.starts_with("from /")
        || (line.starts_with([' ', '\t'])
            && (text.starts_with("at ")
                || text.starts_with("from ")
                || text.contains("=0x")
                || text.contains("=<")))
}

/// Lines of the monitor that are its own only inside of it.
pub(super) fn is_monitor_detail(text: &str) -> bool {
    static STARTS: Starts = Starts::new(&[
        "X-lock ",
        "S-lock ",
        "SX-lock ",
        "Mutex ",
        "a writer (thread id ",
        "number of readers ",
        "waiters flag ",
        "Last time ",
        "holder thread ",
        "Database pages ",
        "Free buffers ",
        "Old database pages ",
        "Pending ",
        "Total memory allocated",
        "Dictionary memory allocated",
        "0: len ",
        "------",
        "======",
        "Main thread ",
        "Process ID=",
        "Number of rows inserted ",
        "Number of system rows inserted ",
        "Total large memory allocated",
        "Pages made young ",
        "Pages read",
        "Pages flushed up to ",
        "No buffer pool page gets",
        "Buffer pool hit rate ",
        "LRU len: ",
        "I/O sum[",
        "I/O thread ",
        "Ibuf: size ",
        "Hash table size ",
        "merged operations:",
        "discarded operations:",
        "Spin rounds per wait",
        "srv_master_thread ",
        "Per second averages calculated ",
    ]);
    const WORDS: [&str; 9] = [
        ": len ",
        " lock struct",
        " youngs/s, ",
        " reads/s, ",
        " inserts/s, ",
        " log i/o's done, ",
        " hash searches/s, ",
        " pending preads, ",
        ", delete mark ",
    ];
    STARTS.are_in_front_of(text) || WORDS.iter().any(|words| text.contains(words))
}

pub(super) fn is_rule(text: &str) -> bool {
    text.starts_with('+')
        && text.len() >= 3
        && text.bytes().all(|byte| byte == b'+' || byte == b'-')
}

/// A row in boxes, a step of a tree or a line of JSON, as `EXPLAIN` and `SHOW PROFILE` print them.
pub(super) fn is_of_plan(text: &str) -> bool {
    is_rule(text) || text.starts_with("-> ") || text.starts_with(['|', '"', '{', '}', '[', ']'])
}

/// How many cells the rows behind a head have, where tabs part them.
pub(super) fn cells_of_head(text: &str) -> usize {
    match text.starts_with(['|', '*']) || kind::vertical_name(text).is_some() {
        true => 0,
        false => kind::cells(text).len(),
    }
}

/// Columns that hold a statement.
pub(super) fn holds_statement(name: &str) -> bool {
    const NAMES: [&str; 5] = [
        "info",
        "sql_text",
        "processlist_info",
        "digest_text",
        "query_sample_text",
    ];
    NAMES.iter().any(|one| name.eq_ignore_ascii_case(one)) || is_query(name)
}

/// A column of InnoDB's tables that holds a statement: `trx_query`.
pub(super) fn is_query(name: &str) -> bool {
    const END: &str = "_query";
    let end = name.len().saturating_sub(END.len());
    name.get(end..)
        .is_some_and(|end| end.eq_ignore_ascii_case(END))
}

/// Clients align the names of fields on the right: one that stands further left than all is of a
/// statement, one behind blanks is a field. Long names have none in front, and are known by their
/// underscore.
pub(super) fn is_padded(text: &str, name: &str) -> bool {
    name.contains('_') || text.len() < 200 && FIELDS.contains(&name.to_ascii_lowercase().as_str())
}

/// Fields of a processlist behind the statement or in front of it.
const FIELDS: [&str; 12] = [
    "id",
    "user",
    "host",
    "db",
    "command",
    "time",
    "state",
    "info",
    "progress",
    "stage",
    "rows_sent",
    "rows_examined",
];

/// `use shop;` and `SET timestamp=1700000000;`, which servers write in front of a statement.
pub(super) fn sets_session(text: &str) -> bool {
    text.starts_with("SET timestamp=") || (text.starts_with("use ") && text.ends_with(';'))
}

/// What servers write when they open a log.
pub(super) fn is_log_opening(text: &str) -> bool {
    text.ends_with("started with:")
        || text.starts_with("Tcp port: ")
        || text.starts_with("TCP Port: ")
        || (text.starts_with("Time ") && text.ends_with("Argument"))
}

/// `11/21/2026 06:25:01 AM`, `2026-11-21T06:25:01+0000`.
pub(super) fn is_date_time(text: &str) -> bool {
    let words = text.split_whitespace().count();
    text.starts_with(|c: char| c.is_ascii_digit())
        && (1..=3).contains(&words)
        && text.matches(':').count() >= 2
        && text.len() <= 40
}

/// `        State: Waiting for global read lock`.
pub(super) fn is_vertical_field(text: &str) -> bool {
    kind::field(text, 20).is_some()
}

/// `Id: 12`, the first field of a session in a processlist.
pub(super) fn is_session_id(text: &str) -> bool {
    text.strip_prefix("Id: ")
        .is_some_and(|id| id.starts_with(|c: char| c.is_ascii_digit()))
}

/// `trx_started: 2026-11-23 07:36:53`, `requesting_trx_id: 5`: a field of the tables of transactions and
/// locks, which nothing else has.
pub(super) fn is_transaction_field(text: &str) -> bool {
    const BEGINS: [&str; 6] = [
        "trx_",
        "requesting_",
        "requested_",
        "blocking_",
        "waiting_",
        "lock_",
    ];
    BEGINS.iter().any(|begin| text.starts_with(begin)) && kind::field(text, 64).is_some()
}

/// `shop  orders  1  0`, a row of `SHOW OPEN TABLES`.
pub(super) fn is_open_table(text: &str) -> bool {
    let mut cells = text.rsplit('\t');
    let mut number = || cells.next().is_some_and(|cell| cell.parse::<u64>().is_ok());
    number() && number() && cells.count() == 2
}

pub(super) fn is_option(text: &str) -> bool {
    if text.is_empty() {
        return false;
    }
    if text.starts_with(['#', ';', '[', '!']) {
        return true;
    }
    let name = text.split(['=', ' ']).next().unwrap_or(text);
    text.len() < 300
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        && (text.contains('=') || !text.contains(' '))
}

pub(super) fn is_top_line(text: &str) -> bool {
    const STARTS: [&str; 9] = [
        "top - ", "Tasks:", "Threads:", "Cpu(s):", "%Cpu", "Mem:", "Swap:", "KiB ", "MiB ",
    ];
    STARTS.iter().any(|start| text.starts_with(start))
        || (text.split_whitespace().count() >= 11
            && text
                .split_whitespace()
                .next()
                .is_some_and(|pid| pid.parse::<u32>().is_ok()))
}

/// `Aufgaben: 213 gesamt,   1 laufend`: a name, and numbers with a word behind each.
pub(super) fn is_top_summary(text: &str) -> bool {
    text.split_once(':').is_some_and(|(name, rest)| {
        name.chars().count() <= 12
            && rest.contains(',')
            && rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
    })
}

pub(super) fn is_numbers(text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| word.parse::<f64>().is_ok())
}

pub(super) fn is_proc_line(text: &str, kind: Kind) -> bool {
    match kind {
        Kind::ProcMeminfo => text
            .split_once(':')
            .is_some_and(|(_, value)| value.trim_start().starts_with(|c: char| c.is_ascii_digit())),
        Kind::ProcStat => [
            "cpu",
            "intr ",
            "ctxt ",
            "btime ",
            "processes ",
            "procs_",
            "softirq ",
        ]
        .iter()
        .any(|start| text.starts_with(start)),
        _ => text
            .split_once(' ')
            .is_some_and(|(_, value)| value.parse::<u64>().is_ok()),
    }
}

/// A line of a call graph below a row of `perf report -g`.
pub(super) fn is_perf_call(line: &str, text: &str) -> bool {
    text.starts_with('|')
        || text.starts_with("--")
        || (line.starts_with("        ") && !text.is_empty())
        // `-g folded`.
        || (line.starts_with(|c: char| c.is_ascii_digit())
            && line.contains('%')
            && line.contains(';'))
}
