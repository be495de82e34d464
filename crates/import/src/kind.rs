//! What a line belongs to, by its own words.

/// What can be recognised in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Backtraces of all threads, by gdb, pstack, gstack or eu-stack.
    Backtrace,
    /// Counts of equal stacks, as pt-pmp prints them.
    PtPmp,
    /// `frame;frame;frame count`.
    Folded,
    /// `perf script`.
    PerfScript,
    /// Shares of samples by function: `perf report --stdio`, `perf top`.
    PerfReport,
    /// oprofile's `opreport`.
    Opreport,
    /// Lines of the server: the InnoDB monitor, the error log, or parts of them.
    ServerText,
    /// `SHOW PROCESSLIST`.
    Processlist,
    /// Two columns, a name and a value: status or variables.
    NameValue,
    /// `my.cnf`.
    OptionFile,
    /// The kernel's log, and what containers' keepers say of their ends.
    KernelLog,
    /// `/proc/PID/limits`.
    Limits,
    /// `vmstat`.
    Vmstat,
    /// `top`.
    Top,
    /// `/proc/vmstat`.
    ProcVmstat,
    /// `/proc/stat`.
    ProcStat,
    /// `/proc/meminfo`.
    ProcMeminfo,
    /// `/proc/diskstats`.
    ProcDiskstats,
    /// Solaris's `plockstat`.
    Plockstat,
}

impl Kind {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Backtrace => "backtraces of threads",
            Self::PtPmp => "pt-pmp output",
            Self::Folded => "folded stacks",
            Self::PerfScript => "perf script output",
            Self::PerfReport => "perf report",
            Self::Opreport => "opreport listing",
            Self::ServerText => "InnoDB status or error log",
            Self::Processlist => "processlist",
            Self::NameValue => "server variables or status",
            Self::OptionFile => "option file",
            Self::KernelLog => "kernel log",
            Self::Limits => "/proc/PID/limits",
            Self::Vmstat => "vmstat output",
            Self::Top => "top output",
            Self::ProcVmstat => "/proc/vmstat",
            Self::ProcStat => "/proc/stat",
            Self::ProcMeminfo => "/proc/meminfo",
            Self::ProcDiskstats => "/proc/diskstats",
            Self::Plockstat => "plockstat table",
        }
    }
}

/// Whether a line, also without the blanks around it, with the lines behind it is of a kind.
type Test = fn(&str, &str, &[&str]) -> bool;

/// What the line is by itself; `next` are the lines behind it.
pub(crate) fn of_line(line: &str, next: &[&str]) -> Option<Kind> {
    let text = line.trim();
    if text.is_empty() {
        return None;
    }
    let kinds: [(Kind, Test); 19] = [
        (Kind::Backtrace, |_, text, _| is_backtrace(text)),
        (Kind::ServerText, |_, text, _| is_server_text(text)),
        (Kind::PerfReport, |_, text, _| is_perf_report(text)),
        (Kind::Opreport, |_, text, _| is_opreport_header(text)),
        (Kind::Plockstat, |_, text, _| is_plockstat_header(text)),
        (Kind::Processlist, |_, text, next| {
            is_processlist(text, next)
        }),
        (Kind::NameValue, |line, text, next| {
            is_name_value(line, text, next)
        }),
        (Kind::PtPmp, |_, text, _| is_pmp(text)),
        (Kind::Folded, |_, text, _| is_folded(text)),
        (Kind::OptionFile, |_, text, _| is_option_file(text)),
        (Kind::KernelLog, |_, text, _| is_kernel_log(text)),
        (Kind::Limits, |_, text, _| is_limit(text)),
        (Kind::Top, |_, text, _| is_top_header(text)),
        (Kind::Vmstat, |_, text, _| is_vmstat_header(text)),
        (Kind::ProcStat, |line, _, _| is_proc_stat(line)),
        (Kind::ProcVmstat, |line, _, next| is_proc_vmstat(line, next)),
        (Kind::ProcMeminfo, |_, text, _| {
            text.starts_with("MemTotal:") || text.starts_with("MemFree:")
        }),
        (Kind::ProcDiskstats, |_, text, _| is_diskstats(text)),
        (Kind::PerfScript, |line, text, next| {
            is_perf_script(line, text, next)
        }),
    ];
    kinds
        .into_iter()
        .find(|(_, is)| is(line, text, next))
        .map(|(kind, _)| kind)
}

/// A thread's head, a frame, or what a debugger says around them.
pub(crate) fn is_backtrace(text: &str) -> bool {
    is_thread_head(text)
        || frame_number(text).is_some_and(|(_, rest)| looks_like_frame(rest))
        || [
            "[New LWP ",
            "[New Thread ",
            "[Switching to ",
            "[Thread debugging using ",
        ]
        .iter()
        .any(|start| text.starts_with(start))
}

/// `Thread 3 (Thread 0x7f… (LWP 9)):`, `Thread 3 (LWP 9):`, `TID 9:`.
pub(crate) fn is_thread_head(text: &str) -> bool {
    let number = |rest: &str, end: &str| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits > 0 && rest.get(digits..).is_some_and(|rest| rest.starts_with(end))
    };
    text.strip_prefix("Thread ")
        .is_some_and(|rest| number(rest, " (") || number(rest, ":"))
        || text
            .strip_prefix("TID ")
            .is_some_and(|rest| number(rest, ":"))
}

/// `#12 rest`.
pub(crate) fn frame_number(text: &str) -> Option<(usize, &str)> {
    let rest = text.strip_prefix('#')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = rest.get(..digits)?.parse().ok()?;
    let rest = rest.get(digits..)?;
    rest.starts_with([' ', '\t'])
        .then(|| (number, rest.trim_start()))
}

/// `0x00 in f (…)`, `f (a=1) at x.c:3`, `0x00 f - /lib/x.so`; no sentence.
fn looks_like_frame(rest: &str) -> bool {
    rest.starts_with("0x")
        || rest.starts_with("<signal handler")
        || rest.split_once(" (").is_some_and(|(name, _)| {
            !name.trim_end_matches(" const").contains(". ") && is_function(name)
        })
        || rest.ends_with("()")
}

/// A name of C or C++, as debuggers write it.
pub(crate) fn is_function(name: &str) -> bool {
    let name = name.trim();
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || "_~?(<{.$[:".contains(c));
    begins
        && name.len() <= 2000
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "_:~<>,&* ()[]{}?.$@+-=!/|^%'#".contains(c))
        && !name.contains(": ")
}

/// A function's name without blanks but those of C++.
fn is_symbol(name: &str) -> bool {
    let one_word = !name.contains(' ')
        || name.starts_with("operator ")
        || name.contains('<')
        || name.contains("(anonymous namespace)")
        || name.ends_with(" const");
    one_word && is_function(name) && name.contains(|c: char| c.is_alphabetic() || c == '?')
}

/// `187 f,g(libc.so.6),h(a.cc:3)`.
fn is_pmp(text: &str) -> bool {
    let Some((count, frames)) = text.split_once([' ', '\t']) else {
        return false;
    };
    let is_count =
        (1..=9).contains(&count.len()) && count.bytes().all(|byte| byte.is_ascii_digit());
    let frames = frames.trim();
    is_count
        && (frames.contains(',') || frames.ends_with(')'))
        && !frames.contains(", ")
        && !frames.contains("  ")
        && frames.split(',').take(3).all(|frame| {
            let name = frame.split('(').next().unwrap_or(frame);
            frame == "..." || (is_symbol(name) && !name.contains('='))
        })
}

/// `a;b;c 12`.
fn is_folded(text: &str) -> bool {
    let Some((stack, count)) = text.rsplit_once(' ') else {
        return false;
    };
    (1..=12).contains(&count.len())
        && count.bytes().all(|byte| byte.is_ascii_digit())
        && stack.matches(';').count() >= 2
        && !stack.contains("; ")
        && stack
            .split(';')
            .all(|frame| !frame.is_empty() && frame.len() < 2000)
}

/// A head of perf, or a row.
fn is_perf_report(text: &str) -> bool {
    let heads = [
        "# Samples:",
        "# Event count (approx",
        "# Overhead",
        "# Children",
        "PerfTop:",
        "# To display the perf.data",
        "# Total Lost Samples",
    ];
    heads.iter().any(|head| text.starts_with(head))
        || (text.starts_with("Samples: ") && text.contains(" of event"))
        || (text.starts_with("Children ") && text.contains("Self"))
        || (text.starts_with("Overhead ") && text.contains("Symbol"))
        || is_perf_row(text)
}

/// `+ 95.39%  0.32%  mysqld  libc.so  [.] f`, `47.53%  [kernel]  [k] f`, `5.41%  f`.
pub(crate) fn is_perf_row(text: &str) -> bool {
    let text = text
        .strip_prefix(['+', '-', '|'])
        .map_or(text, str::trim_start);
    let Some((share, rest)) = text.split_once('%') else {
        return false;
    };
    let is_share = share.contains('.')
        && share.len() <= 7
        && share
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_share || !rest.starts_with([' ', '\t']) {
        return false;
    }
    let rest = rest.trim();
    if ["[k] ", "[.] ", "[u] ", "[H] ", "[g] "]
        .iter()
        .any(|mark| rest.contains(mark))
    {
        return true;
    }
    // Without marks: a function's name and perhaps a remark in parentheses.
    let name = rest.split("  ").next().unwrap_or(rest).trim();
    let name = name.split(" (").next().unwrap_or(name);
    is_symbol(name) && name.contains('_') && !name.contains(' ')
}

fn is_opreport_header(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some("samples") && words.any(|word| word == "%") && text.contains("symbol name")
        || (text.starts_with("CPU: ") && text.contains("speed"))
        || (text.starts_with("Counted ") && text.contains(" events"))
}

fn is_plockstat_header(text: &str) -> bool {
    [
        "Mutex block",
        "Mutex hold",
        "Mutex spin",
        "R/W reader block",
        "R/W writer block",
        "R/W writer hold",
    ]
    .contains(&text)
}

/// Commands of sessions, as the column `Command` has them.
pub(crate) const COMMANDS: [&str; 17] = [
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
fn is_processlist(text: &str, next: &[&str]) -> bool {
    if is_vertical_row(text) {
        return next.iter().take(2).any(|line| {
            line.trim_start().starts_with("Id: ") || line.trim_start().starts_with("ID: ")
        }) && next.iter().take(8).any(|line| {
            let line = line.trim_start();
            line.starts_with("Command:") || line.starts_with("COMMAND:")
        });
    }
    let cells = cells(text);
    is_processlist_head(&cells) || is_processlist_row(&cells)
}

/// `*************************** 1. row ***************************`.
pub(crate) fn is_vertical_row(text: &str) -> bool {
    text.starts_with("*****") && text.ends_with("*****") && text.contains(". row ")
}

/// The cells of a row of a table, of `mysql`'s boxes or of tabs.
pub(crate) fn cells(text: &str) -> Vec<&str> {
    if let Some(inner) = text.strip_prefix('|') {
        let inner = inner.strip_suffix('|').unwrap_or(inner);
        return inner.split('|').map(str::trim).collect();
    }
    if text.contains('\t') {
        return text.split('\t').map(str::trim).collect();
    }
    Vec::new()
}

pub(crate) fn is_processlist_head(cells: &[&str]) -> bool {
    let has = |name: &str| cells.iter().any(|cell| cell.eq_ignore_ascii_case(name));
    has("Id") && has("User") && has("Command") && has("State")
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
        && cells
            .get(4)
            .is_some_and(|command| COMMANDS.contains(command))
}

/// A head `Variable_name | Value`, or some rows of a name and a value.
fn is_name_value(line: &str, text: &str, next: &[&str]) -> bool {
    if is_name_value_head(text) {
        return true;
    }
    if line.starts_with('|') || line.trim_start().starts_with('|') {
        return name_and_value(text).is_some_and(|(name, _)| is_variable(name));
    }
    // Without boxes only a run of such lines is one.
    let rows = std::iter::once(&text)
        .chain(next.iter().take(3))
        .filter(|row| {
            row.contains('\t')
                && name_and_value(row.trim()).is_some_and(|(name, _)| is_variable(name))
        });
    rows.count() >= 3
}

pub(crate) fn is_name_value_head(text: &str) -> bool {
    let cells = cells(text);
    cells
        .first()
        .is_some_and(|cell| cell.eq_ignore_ascii_case("variable_name"))
}

/// The two cells of a row.
pub(crate) fn name_and_value(text: &str) -> Option<(&str, &str)> {
    let cells = cells(text);
    match cells.as_slice() {
        [name] if text.contains('\t') => Some((name, "")),
        [name, value] => Some((name, value)),
        // A value may hold the separator.
        [name, ..] if text.starts_with('|') => {
            let rest = text.strip_prefix('|')?.split_once('|')?.1;
            Some((name, rest.strip_suffix('|').unwrap_or(rest).trim()))
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

fn is_option_file(text: &str) -> bool {
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

/// `[12345.678901] text`, `Jan  1 00:00:00 host kernel: text`, a container that was killed.
fn is_kernel_log(text: &str) -> bool {
    let text = text
        .strip_prefix('<')
        .and_then(|rest| rest.split_once('>'))
        .map_or(text, |(_, rest)| rest);
    let stamped = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .is_some_and(|(stamp, _)| {
            let stamp = stamp.trim();
            stamp.contains('.')
                && stamp
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b'.')
        });
    stamped || is_syslog(text) || text.split_whitespace().any(|word| word == "OOMKilled")
}

fn is_syslog(text: &str) -> bool {
    const MONTHS: [&str; 12] = [
        "Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ", "Jul ", "Aug ", "Sep ", "Oct ", "Nov ",
        "Dec ",
    ];
    let dated = MONTHS.iter().any(|month| text.starts_with(month)) || starts_with_date(text);
    dated && text.contains(" kernel: ")
}

/// `Max open files    1024    4096    files`.
pub(crate) fn is_limit(text: &str) -> bool {
    (text.starts_with("Limit ") && text.contains("Soft Limit"))
        || (text.starts_with("Max ") && {
            let words: Vec<&str> = text.split_whitespace().collect();
            let number = |word: &&str| **word == *"unlimited" || word.parse::<u64>().is_ok();
            words.len() >= 4 && words.iter().filter(|word| number(word)).count() == 2
        })
}

fn is_top_header(text: &str) -> bool {
    text.starts_with("top - ")
        || (text.starts_with("PID ") && text.contains("%CPU") && text.contains("COMMAND"))
}

fn is_vmstat_header(text: &str) -> bool {
    text.starts_with("procs -")
        || (text.starts_with("r ") && text.contains(" swpd ") && text.contains(" cs "))
}

fn is_proc_stat(line: &str) -> bool {
    line.strip_prefix("cpu  ").is_some_and(|rest| {
        let mut words = rest.split_whitespace();
        words.clone().count() >= 4 && words.all(|word| word.parse::<u64>().is_ok())
    })
}

fn is_proc_vmstat(line: &str, next: &[&str]) -> bool {
    let pair = |line: &str| {
        line.split_once(' ').is_some_and(|(name, value)| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
                && value.parse::<u64>().is_ok()
        })
    };
    (line.starts_with("nr_") || line.starts_with("compact_") || line.starts_with("pg"))
        && pair(line)
        && next.first().is_none_or(|next| pair(next))
}

/// `   8       0 sda 1 2 3 …`, eleven numbers or more behind the name.
fn is_diskstats(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |index: usize| {
        words
            .get(index)
            .is_some_and(|word| word.parse::<u64>().is_ok())
    };
    words.len() >= 14 && number(0) && number(1) && !number(2) && (3..14).all(number)
}

/// `mysqld 123 [000] 12.345: 1 cycles:` with an indented frame behind it.
fn is_perf_script(line: &str, text: &str, next: &[&str]) -> bool {
    let is_frame = |line: &&str| {
        line.starts_with([' ', '\t'])
            && line.trim().split_once(' ').is_some_and(|(address, _)| {
                address.len() >= 4 && address.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
    };
    !line.starts_with([' ', '\t'])
        && text.ends_with(':')
        && text.contains(": ")
        && next.first().is_some_and(is_frame)
}

/// A line that only the server prints.
fn is_server_text(text: &str) -> bool {
    is_server_line(text)
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
    const STARTS: [&str; 34] = [
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
    ];
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
    STARTS.iter().any(|start| text.starts_with(start))
        || is_wait(text)
        || (starts_with_date(text) && LEVELS.iter().any(|level| text.contains(level)))
        || is_bare_transaction(text)
        || (text.contains(" lock struct(s), heap size ") && text.ends_with("row lock(s)"))
        || (text.starts_with("Version: '") && text.contains("socket:"))
        || (text.starts_with("mysqld: ") || text.starts_with("mariadbd: "))
}

/// `--Thread 140 has waited at a.cc line 3 for 241.00 seconds the semaphore:`.
pub(crate) fn is_wait(text: &str) -> bool {
    text.contains("Thread ")
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
