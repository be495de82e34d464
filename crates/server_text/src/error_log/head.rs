//! The head of an entry of the log, in the forms of all generations.

use std::sync::LazyLock;

use regex::Regex;

/// Date and time, the thread, the level, the code and the subsystem, as far as they are there:
///
/// - `2026-01-02T03:04:05.000001Z 0 [Note] [MY-010914] [Server] …` (MySQL since 5.7),
/// - `2026-01-02  3:04:05 9 [Warning] …` (MariaDB),
/// - `120906 12:14:44 [ERROR] …`, `120906 12:14:44  InnoDB: …` (up to 5.6),
/// - `2026-01-02 03:04:05 0x7f00InnoDB: …` and `2026-01-02 03:04:05 7f00 INNODB MONITOR OUTPUT`,
/// - `06:25:01 UTC - mysqld got signal 6 ;`.
const HEAD: &str = concat!(
    r"^(?:",
    r"(?:\d{6}|\d{4}-\d\d-\d\d)(?:T|[ \t]+)\d{1,2}:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d)?\b",
    r"|\d\d:\d\d:\d\d UTC",
    r")",
    r"(?:[ \t]+(?:0x[0-9a-f]{1,16}(?:InnoDB:|\b)|7f[0-9a-f]{4,14}\b|\d{1,10}\b))?",
    r"(?:[ \t]*\[(?i:note|notice|warning|warn|error|err|system|info|debug|fatal)\])?",
    r"(?:[ \t]*\[MY-\d{1,6}\])?",
    r"(?:[ \t]*\[(?:Server|InnoDB|Repl|System)\])?",
    r"[ \t]*",
);

/// Only the level, where a log collector took the date.
const BARE: &str = r"^\[(?:Note|Warning|ERROR|Error|System)\][ \t]*(?:\[MY-\d{1,6}\][ \t]*)?(?:\[(?:Server|InnoDB|Repl|System)\][ \t]*)?";

static FORMS: LazyLock<Option<[Regex; 2]>> =
    LazyLock::new(|| Some([Regex::new(HEAD).ok()?, Regex::new(BARE).ok()?]));

/// Lines that begin an entry, or a printout, without a date.
const BEGINS: [&str; 22] = [
    "InnoDB:",
    "TRANSACTION ",
    "*** ",
    "LOCK WAIT ",
    "RECORD LOCKS ",
    "TABLE LOCK ",
    "MySQL thread id ",
    "MariaDB thread id ",
    "Mutex at ",
    "a writer ",
    "Last time ",
    "number of readers ",
    "holder thread ",
    "---",
    "===",
    "--Thread ",
    "Version: '",
    "Connection ID (thread ID): ",
    "Status: ",
    "Optimizer switch: ",
    "Thread pointer: ",
    "key_buffer_size=",
];

/// Levels that no line of InnoDB's monitor has.
const LEVELS: [&str; 4] = ["[Note]", "[Warning]", "[ERROR]", "[System]"];

/// Whether a line has the level of an entry, whatever stands in front of it.
pub(crate) fn has_level(line: &str) -> bool {
    LEVELS.iter().any(|level| line.contains(level))
}

/// Begins of messages that have neither a date nor a level: those of old servers, and what a server says before it has a
/// log.
const MESSAGES: [&str; 3] = ["InnoDB: ", "mysqld: ", "mariadbd: "];

/// Whether a line is such a message.
pub(crate) fn is_message(line: &str) -> bool {
    MESSAGES.iter().any(|begin| line.starts_with(begin))
}

/// Whether a line within a printout of InnoDB's is of the log and redacted as such.
pub(crate) fn is_of_log(line: &str) -> bool {
    is_entry(line) || is_message(line) || has_level(line)
}

/// Bytes of the head that a line begins with; 0 when there is none.
pub(super) fn length(line: &str) -> usize {
    let forms = FORMS.as_ref().into_iter().flatten();
    let mut found = forms.filter_map(|form| form.find(line));
    found.next().map_or(0, |found| found.end())
}

/// Whether the line is an entry of the log: it has a date or a level. Printouts of InnoDB have dates, too, and no
/// level.
pub(crate) fn is_entry(line: &str) -> bool {
    let head = line.get(..length(line)).unwrap_or_default();
    head.contains('[') || head.contains(" UTC")
}

/// Whether an entry begins with the line, so that it belongs to none before it.
pub(crate) fn starts_entry(line: &str) -> bool {
    length(line) > 0 || BEGINS.iter().any(|begin| line.starts_with(begin))
}
