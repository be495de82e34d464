//! What the server prints into its error log when it dies: the signal, how many sessions there
//! were, how much memory they could take, where it was.
//!
//! Source: `sql/signal_handler.cc` of MySQL and MariaDB (`sql/mysqld.cc` before 5.5) and
//! `storage/innobase/ut/ut0dbg.cc`.

use super::starts_with_date;
use crate::starts::Starts;

/// Lines that nobody else prints.
static LINES: Starts = Starts::new(&[
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
static DETAILS: Starts = Starts::new(&[
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
/// `091205  4:49:04InnoDB: Assertion failure in thread 15 in file srv0srv.c line 2093`.
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
pub(super) fn is_crash_line(text: &str) -> bool {
    LINES.are_in_front_of(text) || is_crash_event(text)
}

/// A line that is of a crash where it stands between others of the server.
pub(crate) fn is_crash_detail(text: &str) -> bool {
    DETAILS.are_in_front_of(text) || is_stack(text)
}

/// A frame of the thread that died: `/usr/sbin/mysqld(handle_fatal_signal+0x31d)[0x58dd4d]`.
fn is_stack(text: &str) -> bool {
    text.starts_with('/')
        && text.ends_with(']')
        && text.contains("[0x")
        && !text.contains(char::is_whitespace)
}
