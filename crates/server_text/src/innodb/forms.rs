//! The forms of InnoDB's own lines.

use super::transaction::LOCK_WAIT;
use crate::error_log::has_level;

/// Without the prefix of docker compose (`db_1  | `) and of an error log
/// (`2021-01-18T09:40:17.208113+08:00 51207 [Note] InnoDB: `), and without blanks at the end.
pub(super) fn stem(line: &str) -> &str {
    /// Neither prefix is longer.
    const PREFIX_BYTES_MAX: usize = 120;

    let mut line = line.trim_end();
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let name = line.bytes().take_while(is_of_name).count();
    let behind = line.get(name..).map(|rest| rest.trim_start_matches(' '));
    if (1..=PREFIX_BYTES_MAX).contains(&name)
        && let Some(rest) = behind.and_then(|rest| rest.strip_prefix("| "))
    {
        line = rest;
    }
    if starts_with_date(line) {
        for (bracket, mark) in [('[', "[InnoDB] "), (']', "] InnoDB: ")] {
            let end = line.floor_char_boundary(PREFIX_BYTES_MAX + 1);
            let head = line.get(..end).unwrap_or_default();
            let mut places = head.match_indices(bracket);
            let rest = places.find_map(|(at, _)| line.get(at..)?.strip_prefix(mark));
            if let Some(rest) = rest {
                return rest;
            }
        }
    }
    line
}

/// A line of the error log that is not from the monitor.
pub(super) fn is_log_line(raw: &str) -> bool {
    raw.starts_with("InnoDB: ") || (starts_with_date(raw) && has_level(raw))
}

/// What stands in names of latches, which are expressions of InnoDB's sources: `&block->lock`.
pub(super) fn is_of_latch(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_&*>.:()[]-".contains(c)
}

/// What stands in the path of a source file.
pub(super) fn is_of_path(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_./\\:+~-".contains(c)
}

/// Longest path of a source file, in bytes.
const PATH_BYTES_MAX: usize = 300;

/// A file of the sources, with the folders that it was built in. The end tells that it is one: people name places, too.
pub(super) fn is_source_file(text: &str) -> bool {
    const ENDS: [&str; 8] = ["c", "cc", "cpp", "h", "hpp", "i", "ic", "inl"];
    let end = text.rsplit_once('.').map_or("", |(_, end)| end);
    text.len() <= PATH_BYTES_MAX && ENDS.contains(&end) && text.chars().all(is_of_path)
}

/// `2017-02-14 …`, or before 5.6 `100217  9:14:36 …`.
pub(super) fn starts_with_date(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line.as_bytes().get(digits) {
        Some(b'-') => digits == 4,
        Some(b' ') => digits == 6,
        _ => false,
    }
}

/// The lines around a printout: `100217  9:14:36 INNODB MONITOR OUTPUT`, `END OF INNODB …`.
pub(super) fn is_monitor_line(stem: &str) -> bool {
    is_monitor_start(stem) || is_monitor_end(stem)
}

pub(super) fn is_monitor_start(stem: &str) -> bool {
    starts_with_date(stem) && stem.ends_with(" INNODB MONITOR OUTPUT")
}

pub(super) fn is_monitor_end(stem: &str) -> bool {
    stem == "END OF INNODB MONITOR OUTPUT"
}

pub(super) fn is_wait_line(stem: &str) -> bool {
    stem.starts_with("--Thread ") && stem.contains(" has waited at ")
}

/// Lines that stand only in the SEMAPHORES section.
pub(super) fn is_semaphore_line(stem: &str) -> bool {
    [
        "--Thread ",
        "OS WAIT ARRAY INFO",
        "Mutex spin waits ",
        "RW-",
        "Spin rounds per wait",
    ]
    .iter()
    .any(|start| stem.starts_with(start))
}

/// `MySQL thread id 7, query id 9 localhost root` and its younger forms.
pub(super) fn is_thread_line(stem: &str) -> bool {
    let Some((server, rest)) = stem.split_once(" thread id ") else {
        return false;
    };
    matches!(server, "MySQL" | "MariaDB") && rest.starts_with(|c: char| c.is_ascii_digit())
}

/// ` 0: len 4; hex 80000001; asc     ;;`, ` 1: SQL NULL;`, ` 2: MBR: …`; up to 5.0 several of
/// them in one line, up to 4.1 behind the description of the record (`rem0rec.cc`, `rec_print()`).
pub(super) fn is_field(stem: &str) -> bool {
    let is_described = [
        "Record lock, ",
        "PHYSICAL RECORD: ",
        "RECORD: ",
        "DATA TUPLE: ",
    ]
    .iter()
    .any(|start| stem.starts_with(start));
    if is_described {
        return stem.contains(": len ");
    }
    let Some((number, value)) = stem
        .strip_prefix(' ')
        .and_then(|stem| stem.trim_start().split_once(':'))
    else {
        return false;
    };
    let value = value.trim_start();
    !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
        && (value.is_empty()
            || value.starts_with(|c: char| c.is_ascii_digit())
            || ["len ", "SQL ", "MBR", "hex "]
                .iter()
                .any(|start| value.starts_with(start)))
}

/// `*** (1) TRANSACTION:` and the other lines a deadlock is told with.
pub(super) fn is_deadlock_line(stem: &str) -> bool {
    let Some(words) = stem.strip_prefix("*** ") else {
        return false;
    };
    [
        "(",
        "WAITING FOR ",
        "HOLDS THE ",
        "CONFLICTING WITH",
        "WE ROLL BACK ",
    ]
    .iter()
    .any(|start| words.starts_with(start))
}

/// Other lines of a transaction (`trx0trx.cc`, `trx_print_low()`; `lock0lock.cc`, `lock_*_print()`)
/// and of a foreign key error (`row0ins.cc`).
pub(super) fn is_transaction_line(stem: &str) -> bool {
    const STARTS: [&str; 19] = [
        "mysql tables in use ",
        "LOCK WAIT ",
        "Trx read view will not see trx with id >= ",
        "Trx #rec lock waits ",
        "Trx total rec lock wait time ",
        "Trx total table lock wait time ",
        LOCK_WAIT,
        "RECORD LOCKS space id ",
        "TABLE LOCK table ",
        "Record lock, heap no ",
        "PHYSICAL RECORD: n_fields ",
        "DATA TUPLE: ",
        "TOO MANY LOCKS PRINTED FOR THIS TRX",
        "TOO DEEP OR LONG SEARCH IN THE LOCK TABLE",
        "Trying to add in child table, in index ",
        "Trying to delete or update in parent table, in index ",
        "But in parent table ",
        "But in child table ",
        "the closest match we can find is record:",
    ];
    is_rule(stem)
        || is_lock_struct_line(stem)
        || STARTS.iter().any(|start| stem.starts_with(start))
        || is_bare_transaction(stem)
}

/// `2 lock struct(s), heap size 1136, 1 row lock(s)`, `ROLLING BACK 5 lock struct(s), …`.
fn is_lock_struct_line(stem: &str) -> bool {
    let Some((before, _)) = stem.split_once(" lock struct(s), heap size ") else {
        return false;
    };
    before
        .bytes()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b' ')
}

/// The end of a statement in a foreign key error.
pub(super) fn is_foreign_key_failure(stem: &str) -> bool {
    stem.starts_with("Foreign key constraint fails for table ")
}

/// ``  CONSTRAINT `c1` FOREIGN KEY (`pid`) REFERENCES `parent` (`id`)`` and the comma before it.
pub(super) fn is_constraint_line(stem: &str) -> bool {
    stem == "," || (stem.starts_with("  CONSTRAINT `") && stem.contains("` FOREIGN KEY ("))
}

/// `TRANSACTION 36, ACTIVE 1 sec …`, as deadlocks and foreign key errors print it.
fn is_bare_transaction(stem: &str) -> bool {
    let Some((id, state)) = stem
        .strip_prefix("TRANSACTION ")
        .and_then(|rest| rest.split_once(", "))
    else {
        return false;
    };
    id.bytes()
        .all(|b| b.is_ascii_hexdigit() || b" ()x".contains(&b))
        && ["ACTIVE", "not started", "COMMITTED", "PREPARED", "state "]
            .iter()
            .any(|start| state.starts_with(start))
}

/// The server's own mark of the place where it left a part of the list of transactions out, and
/// the one of [`super::redact()`], which begins alike.
pub(super) fn is_cut_mark(stem: &str) -> bool {
    stem.starts_with("... truncated...")
}

/// A line of three or more dashes.
pub(super) fn is_dashes(line: &str) -> bool {
    let line = stem(line);
    line.len() >= 3 && line.bytes().all(|b| b == b'-')
}

/// A line of dashes or of equal signs.
pub(super) fn is_rule(line: &str) -> bool {
    is_dashes(line) || (line.len() >= 3 && line.bytes().all(|b| b == b'='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_logs_are_taken_away() {
        assert_eq!(stem("db_1         | --Thread 1 has"), "--Thread 1 has");
        assert_eq!(
            stem("2021-01-18T09:40:17.3+08:00 7 [Note] InnoDB: *** (2) TRANSACTION:"),
            "*** (2) TRANSACTION:"
        );
        assert_eq!(
            stem("2023-01-01T00:00:00Z 0 [Note] [MY-012469] [InnoDB] *** (1) TRANSACTION:\r"),
            "*** (1) TRANSACTION:"
        );
        assert_eq!(stem("select a | b"), "select a | b");
    }

    #[test]
    fn statements_do_not_have_these_forms() {
        for line in [
            "5, '[Note] InnoDB: *** (1) TRANSACTION: x'",
            "select ' lock struct(s), heap size 5'",
            "'MySQL thread id 5'",
            "TRANSACTION, x",
            "TRANSACTION a, b",
            "values ('x; hex 80; asc y')",
            "2, '\"] InnoDB: x'",
            "--Thread",
            "'x' INNODB MONITOR OUTPUT",
        ] {
            let line = stem(line);
            assert!(!is_log_line(line), "{line}");
            assert!(!is_transaction_line(line), "{line}");
            assert!(!is_thread_line(line), "{line}");
            assert!(!is_field(line), "{line}");
            assert!(!is_wait_line(line), "{line}");
            assert!(!is_monitor_line(line), "{line}");
            assert!(!is_deadlock_line(line), "{line}");
        }
    }
}
