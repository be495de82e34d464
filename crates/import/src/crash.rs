//! What the server prints into its error log when it dies: the signal, how many sessions there
//! were, how much memory they could take, where it was.
//!
//! Source: `sql/signal_handler.cc` of MySQL and MariaDB (`sql/mysqld.cc` before 5.5) and
//! `storage/innobase/ut/ut0dbg.cc`.

use model::{OrderBy, Reading};

use crate::line::Line;
use crate::prefixes::Prefixes;
use crate::read::Tick;
use crate::times::starts_with_date;

/// Lines that nobody else prints.
static LINES: Prefixes = Prefixes::new(&[
    "This could be because you hit a bug. ",
    "or one of the libraries it was linked against is corrupt, ",
    "or misconfigured. This error can also be caused by ",
    "To report this bug, see https://mariadb.com/",
    "Please help us make Percona Server better by ",
    "We will try our best to scrape up some info ",
    "We will try our best to preserve ",
    "the problem, but since we have already crashed, ",
    "Attempting to collect some information that could help diagnose the problem.",
    "As this is a crash and something is definitely wrong, ",
    "max_used_connections=",
    "It is possible that mysqld could use up to",
    "It is possible that mariadbd could use up to",
    "key_buffer_size + (read_buffer_size + sort_buffer_size)*max_",
    "Hope that's ok; if not, decrease some variables",
    "Thread pointer: 0x",
    "Attempting backtrace. You can use the following ",
    "where mysqld died. If you see no messages after ",
    "where mariadbd died. If you see no messages after ",
    "frame pointer is NULL, did you compile with",
    "-fomit-frame-pointer? Aborting backtrace!",
    "stack_bottom = ",
    "Trying to get some variables.",
    "Some pointers may be invalid and cause the dump to abort.",
    "Connection ID (thread ID): ",
    "The manual page at http://www.mysql.com/doc/en/Crashing.html",
    "The manual page at http://dev.mysql.com/doc/",
    "The manual page at https://mariadb.com/kb/",
    "information that should help you find out what is causing the crash.",
    "Number of processes running now: ",
]);

/// Lines that are of a crash between others of it: option files and prose have such, too.
static DETAILS: Prefixes = Prefixes::new(&[
    "key_buffer_size=",
    "read_buffer_size=",
    "max_connections=",
    "max_threads=",
    "thread_count=",
    "threads_connected=",
    "connection_count=",
    "and this may fail",
    "bytes of memory",
    "terribly wrong...",
    "thd=(nil)",
    "thd: 0x",
    "Status: NOT_KILLED",
    "Status: KILL_",
]);

/// What `mysqld_safe` of 5.0 says behind its date.
const RESTARTS: [&str; 3] = ["mysqld restarted", "mysqld started", "mysqld ended"];

/// Longest line that says that the server got a signal.
const SIGNAL_BYTES_MAX: usize = 200;

/// What happened: `06:25:01 UTC - mysqld got signal 6 ;`,
/// `100618 22:10:41InnoDB: Assertion failure in thread 15 in file srv0srv.c line 2093`.
pub(crate) fn is_crash_event(text: &str) -> bool {
    let is_signal = || {
        text.len() <= SIGNAL_BYTES_MAX
            && (text.starts_with(|c: char| c.is_ascii_digit()) || text.starts_with('m'))
            && ["mysqld got signal ", "mariadbd got signal "]
                .iter()
                .any(|words| text.contains(words))
    };
    let has_date = || starts_with_date(text);
    is_signal()
        || (has_date() && text.contains("InnoDB: Assertion failure in "))
        || (RESTARTS.iter().any(|words| text.ends_with(words)) && has_date())
}

/// A line of what is printed of a crash, by its own words.
pub(crate) fn is_crash_line(text: &str) -> bool {
    LINES.match_start(text) || is_crash_event(text)
}

/// A line that is of a crash where it stands between others of the server.
pub(crate) fn is_crash_detail(text: &str) -> bool {
    DETAILS.match_start(text) || is_stack(text)
}

/// A frame of the thread that died: `/usr/sbin/mysqld(handle_fatal_signal+0x31d)[0x58dd4d]`.
fn is_stack(text: &str) -> bool {
    text.starts_with('/')
        && text.ends_with(']')
        && text.contains("[0x")
        && !text.contains(char::is_whitespace)
}

/// What is printed, and the status variable that has the same; of several the first that is there.
/// `connection_count` is what `Threads_connected` shows. Where it is not printed, `thread_count` is
/// near it: it counts threads of the server's own as well. `max_threads` is left: it is the limit of
/// connections with one or two on top, or that of a pool, by the version and its settings.
const COUNTS: [(&str, &str); 4] = [
    ("max_used_connections", "Max_used_connections"),
    ("connection_count", "Threads_connected"),
    // Before 5.5.
    ("threads_connected", "Threads_connected"),
    ("thread_count", "Threads_connected"),
];

/// The counts of the last crash.
pub(crate) fn sessions(lines: &[Line<'_>]) -> Option<Tick> {
    let counts = |line: &Line<'_>| {
        let (name, value) = line.trimmed().split_once('=')?;
        let place = COUNTS.iter().position(|(printed, _)| *printed == name)?;
        Some((place, value.trim().to_owned()))
    };
    // The first of them that is printed begins a crash.
    let all: Vec<(usize, String)> = lines.iter().filter_map(counts).collect();
    let begin = all.iter().rposition(|(place, _)| *place == 0)?;
    let mut last: Vec<_> = all.get(begin..)?.to_vec();
    last.order_by_key(|(place, _)| *place);
    let mut readings: Vec<Reading> = Vec::new();
    for (place, value) in last {
        let (_, name) = COUNTS.get(place)?;
        let reading = server::status_reading(name, &value);
        let is_new = |reading: &Reading| readings.iter().all(|other| other.name != reading.name);
        let reading = reading.filter(is_new);
        readings.extend(reading);
    }
    (!readings.is_empty()).then_some(Tick {
        source: "status",
        at: None,
        after: 0,
        readings,
    })
}

#[cfg(test)]
mod tests {
    use crate::clean;
    use crate::formats::server_text;
    use crate::{Input, import};

    const CRASH: &str = "2026-11-20 06:24:59 0x7f00InnoDB: Assertion failure in thread 139 in file a.cc line 20\n\
        InnoDB: We intentionally generate a memory trap.\n\
        06:25:01 UTC - mysqld got signal 6 ;\n\
        This could be because you hit a bug. It is also possible that this binary\n\
        or one of the libraries it was linked against is corrupt, improperly built,\n\
        \n\
        key_buffer_size=8388608\nread_buffer_size=131072\nmax_used_connections=301\nmax_threads=302\n\
        thread_count=290\nconnection_count=288\n\
        It is possible that mysqld could use up to \n\
        key_buffer_size + (read_buffer_size + sort_buffer_size)*max_threads = 1 K  bytes of memory\n\
        Hope that's ok; if not, decrease some variables in the equation.\n\
        \n\
        Thread pointer: 0x0\n\
        /usr/sbin/mysqld(handle_fatal_signal+0x31d)[0x58dd4d]\n/lib64/libc.so.6(abort+0x110)[0x2b869d]\n";

    fn values(text: &str) -> [Vec<f64>; 2] {
        let read = (server_text::FORMAT.read)(&clean::lines(text));
        ["status.Max_used_connections", "status.Threads_connected"].map(|name| read.values(name))
    }

    #[test]
    fn a_crash_is_known_from_end_to_end() {
        let bytes = CRASH.as_bytes();
        let parts = import(&[Input { path: "x", bytes }]).parts;
        assert_eq!(parts.len(), 1, "{parts:?}");
        let last = CRASH.lines().count();
        assert_eq!(
            (parts[0].kind.as_str(), parts[0].lines),
            ("error log", Some((1, last)))
        );
        assert_eq!(parts[0].brought, "3 log lines, sessions at a crash");
    }

    #[test]
    fn sessions_of_the_last_crash() {
        assert_eq!(values(CRASH), [vec![301.0], vec![288.0]]);
        let later = "max_used_connections=7\nmax_threads=153\nthread_count=5\n";
        assert_eq!(values(&format!("{CRASH}{later}")), [vec![7.0], vec![5.0]]);
        let oldest = "max_used_connections=21\nmax_connections=2100\nthreads_connected=20\n";
        assert_eq!(values(oldest), [vec![21.0], vec![20.0]]);
        assert_eq!(
            values("max_used_connections=many\nthread_count="),
            [const { Vec::<f64>::new() }; 2]
        );
    }

    #[test]
    fn settings_of_an_option_file_are_no_crash() {
        let text = "key_buffer_size=8M\nread_buffer_size=1M\nmax_connections=500\n";
        let bytes = text.as_bytes();
        let parts = import(&[Input { path: "x", bytes }]).parts;
        assert_eq!(parts[0].kind, "words in sentences");
    }
}
