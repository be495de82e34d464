//! Lines of InnoDB's, by their whole grammar.
//!
//! Elsewhere the beginning of a line says that it is InnoDB's. Where a client's text may still go on, in a literal whose
//! end the server has cut, that is too little: `*** (forwarded by alice, her PIN is 4711)` begins like a line of a
//! deadlock. There a line is InnoDB's only if all of it is: constant words, numbers, names where names stand.

use std::sync::LazyLock;

use regex::RegexSet;

use super::forms::{is_cut_mark, is_monitor_end, is_rule};
use crate::error_log::is_message_word;

/// A number of a transaction: `4417`, `1 4410058`, `1C2D3F`, `(0x7f0091)`.
macro_rules! id {
    () => {
        r"\(?(?:0x)?[0-9A-Fa-f]{1,20}(?: [0-9A-Fa-f]{1,20})?\)?"
    };
}

/// A table: `` `shop`.`orders` ``, of old servers `` `shop/orders` ``, of old ones `"shop"."orders"`.
macro_rules! table {
    () => {
        r#"[`"][^`"\s]+[`"](?:\.[`"][^`"\s]+[`"])?(?: /\* Partition [`"][^`"\s]+[`"](?:, Subpartition [`"][^`"\s]+[`"])? \*/)?"#
    };
}

/// An index, with quotes or without.
macro_rules! index {
    () => {
        r#"[`"]?[^`"\s,;:()]+[`"]?"#
    };
}

/// What a lock is for.
macro_rules! lock {
    () => {
        concat!(
            "(?: trx id ",
            id!(),
            ")?(?: lock[_ ]mode (?:AUTO-INC|IX|IS|X|S)(?:,GAP|,REC_NOT_GAP)*(?: locks (?:rec but not gap|gap before rec))?(?: insert intention)?(?: waiting)?)?"
        )
    };
}

/// The description of a record.
macro_rules! record {
    () => {
        r"PHYSICAL RECORD: n_fields [0-9]{1,5};(?: [12]-byte offs(?:ets)?(?: TRUE| FALSE)?;| compact format;)? info bits [0-9]{1,3}"
    };
}

/// Forms of whole lines.
const FORMS: &[&str] = &[
    r"mysql tables in use [0-9]{1,6}, locked [0-9]{1,6}",
    r"(?:(?:LOCK WAIT|ROLLING BACK|CLEANING UP|COMMITTING|FLUSHING LOG) )*[0-9]{1,10} lock struct\(s\), heap size [0-9]{1,12}(?:, [0-9]{1,12} row lock\(s\))?(?:, holds adaptive hash latch)?(?:, undo log entries [0-9]{1,12})?",
    concat!(
        "Trx read view will not see trx with id >= ",
        id!(),
        ", sees < ",
        id!()
    ),
    r"Trx #rec lock waits [0-9]{1,12} #table lock waits [0-9]{1,12}",
    r"Trx total (?:rec|table) lock wait time [0-9]{1,12} SEC",
    r"------- TRX HAS BEEN WAITING [0-9]{1,15} (?:SEC|us|ns) FOR THIS LOCK TO BE GRANTED:",
    concat!(
        r"RECORD LOCKS space id [0-9]{1,12} page no [0-9]{1,12} n bits [0-9]{1,8} index ",
        index!(),
        r" of table ",
        table!(),
        lock!(),
    ),
    concat!("TABLE LOCK table ", table!(), lock!()),
    concat!("Record lock, heap no [0-9]{1,8}(?: ", record!(), ")?:?"),
    record!(),
    r"DATA TUPLE: [0-9]{1,5} fields;",
    r"TOO MANY LOCKS PRINTED FOR THIS TRX: SUPPRESSING FURTHER PRINTS",
    r"TOO DEEP OR LONG SEARCH IN THE LOCK TABLE WAITS-FOR GRAPH, WE WILL ROLL BACK FOLLOWING TRANSACTION",
    concat!(
        "Trying to (?:add in child|delete or update in parent) table, in index ",
        index!(),
        " tuple:"
    ),
    concat!(
        "But in (?:parent|child) table ",
        table!(),
        ", in index ",
        index!(),
        ",(?: there is a record:)?"
    ),
    r"the closest match we can find is record:",
    concat!("Foreign key constraint fails for table ", table!(), ":"),
    r"\*\*\* (?:\([0-9]{1,4}\) )?(?:TRANSACTION:|WAITING FOR THIS LOCK TO BE GRANTED:|HOLDS THE LOCK(?:\(S\))?:|CONFLICTING WITH:)",
    r"\*\*\* WE ROLL BACK TRANSACTION \([0-9]{1,4}\)",
    r"--Thread [0-9]{1,20} has waited at [A-Za-z0-9_./+-]+\.(?:cc?|cpp|hp?p?|ic?|inl) line [0-9]{1,6} for [0-9]{1,8}(?:\.[0-9]{1,3})? +seconds the semaphore:?",
    r"[0-9-]{6,10}[ T]+[0-9:.]{7,15}Z?(?: (?:0x)?[0-9a-f]{1,16})? INNODB MONITOR OUTPUT",
    // A field of a record: what is behind the colon is left out by itself.
    concat!(
        r" *(?:(?:Record lock, heap no [0-9]{1,8} )?(?:",
        record!(),
        r" *)?)?[0-9]{1,5}:(?: .*)?",
    ),
    r"(?:RECORD: info bits|DATA TUPLE:) [0-9]{1,5}(?: fields;)? [0-9]{1,5}: .*",
];

/// A transaction, up to the words that say what it does.
const TRANSACTION: &str = concat!(
    "^(?:---)?TRANSACTION ",
    id!(),
    r", (?:not started|(?:ACTIVE|COMMITTED IN MEMORY|PREPARED|state [0-9]+)(?: \([A-Z ]{3,20}\))?(?: [0-9]{1,10} sec)?)(?P<does>[ ,].*)?$"
);

/// Whose transaction it is, up to host, user and state.
const THREAD: &str = r"^(?:MySQL|MariaDB) thread id [0-9]{1,12}(?:, OS thread handle (?:0x)?[0-9a-f]{1,20})?, query id [0-9]{1,20}(?P<who> .*)?$";

/// What a log writes in front of a line: `2021-01-18T09:40:17.3+08:00 7 [Note] InnoDB: `.
const LOG_PREFIX: &str = r"^[0-9-]{6,10}[ T]+[0-9:.]{7,15}(?:Z|[+-][0-9:]{4,6})? [0-9a-fx]{1,20} \[[A-Za-z]{3,8}\] (?:\[MY-[0-9]{6}\] )?(?:\[InnoDB\]|InnoDB:) $";

/// Words of states that stand in no message: of InnoDB's transactions, and of sessions (`states.txt` of the lexicon).
const STATE_WORDS: [&str; 22] = [
    "admission",
    "analyzing",
    "certifying",
    "entering",
    "explaining",
    "invalidating",
    "manage",
    "queueing",
    "readlock",
    "readmission",
    "replayed",
    "reschedule",
    "sleeping",
    "suspending",
    "syncing",
    "tasks",
    "undergoing",
    "uniqueness",
    "unlock_row",
    "verifying",
    "waiter",
    "writelock",
];

/// Words of a thread's line that are nobody's: a host, its address, a user.
pub(super) const WHO_WORDS_MAX: usize = 3;

struct Forms {
    lines: RegexSet,
    transaction: regex::Regex,
    thread: regex::Regex,
    prefix: regex::Regex,
}

static COMPILED: LazyLock<Option<Forms>> = LazyLock::new(|| {
    let whole = FORMS.iter().map(|form| format!("^(?:{form})$"));
    Some(Forms {
        lines: RegexSet::new(whole).ok()?,
        transaction: regex::Regex::new(TRANSACTION).ok()?,
        thread: regex::Regex::new(THREAD).ok()?,
        prefix: regex::Regex::new(LOG_PREFIX).ok()?,
    })
});

/// Whether all of a line is of a form of InnoDB's.
pub(super) fn is_exact(stem: &str) -> bool {
    if is_rule(stem) || is_monitor_end(stem) {
        return true;
    }
    if is_cut_mark(stem) {
        return ["... truncated...", "... truncated... (too long to keep)"].contains(&stem);
    }
    let Some(forms) = COMPILED.as_ref() else {
        // Nothing can be promised.
        return false;
    };
    if forms.lines.is_match(stem) {
        return true;
    }
    let words = |form: &regex::Regex, name: &str, free: usize| {
        form.captures(stem).is_some_and(|found| {
            let tail = found.name(name).map_or("", |tail| tail.as_str());
            let words = tail.split_whitespace();
            let befores = std::iter::once("").chain(words.clone());
            let mut pairs = befores.zip(words).skip(free);
            pairs.all(|(before, word)| is_own_word(before, word))
        })
    };
    words(&forms.transaction, "does", 0) || words(&forms.thread, "who", WHO_WORDS_MAX)
}

/// Whether what stands in front of InnoDB's words is what a log writes there.
pub(super) fn is_log_prefix(prefix: &str) -> bool {
    COMPILED
        .as_ref()
        .is_some_and(|forms| forms.prefix.is_match(prefix))
}

/// Words of states and of transactions behind which stands a number: of a thread, of a ticket, of a write set.
const NUMBERED: [&str; 9] = [
    "no",
    "id",
    "InnoDB",
    "set",
    "committing",
    "committed",
    "committed:",
    "applied",
    "with",
];

/// A word of the server's messages, or a number behind a word that has one.
fn is_own_word(before: &str, word: &str) -> bool {
    let word = word.trim_end_matches([',', '.', ':', ';']);
    let is_number = word.len() <= 20 && word.bytes().all(|byte| byte.is_ascii_digit());
    word.is_empty()
        || (is_number && NUMBERED.contains(&before))
        || STATE_WORDS.contains(&word.to_ascii_lowercase().as_str())
        || word.split(['-', '/']).all(is_message_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_can_be_used() {
        assert!(COMPILED.is_some());
    }

    #[test]
    fn lines_of_all_generations_are_known_whole() {
        for line in [
            "---",
            "... truncated...",
            "END OF INNODB MONITOR OUTPUT",
            "2026-11-20 23:40:21 0x7f INNODB MONITOR OUTPUT",
            "100217  9:14:36 INNODB MONITOR OUTPUT",
            "mysql tables in use 1, locked 1",
            "2 lock struct(s), heap size 1136, 1 row lock(s), undo log entries 3",
            "LOCK WAIT 2 lock struct(s), heap size 368",
            "Trx read view will not see trx with id >= 1 4410059, sees < 1 4410000",
            "Trx #rec lock waits 0 #table lock waits 0",
            "Trx total rec lock wait time 0 SEC",
            "------- TRX HAS BEEN WAITING 9000 us FOR THIS LOCK TO BE GRANTED:",
            "RECORD LOCKS space id 58 page no 3 n bits 72 index PRIMARY of table `shop`.`t` trx id 41 lock_mode X locks rec but not gap waiting",
            "RECORD LOCKS space id 0 page no 3 n bits 72 index `PRIMARY` of table `shop/t` trx id 0 41 lock mode S",
            "RECORD LOCKS space id 0 page no 3 n bits 72 index \"PRIMARY\" of table \"shop\".\"t\" trx id 1C2D lock_mode X insert intention waiting",
            "TABLE LOCK table `shop`.`t` trx id 1C2D3F lock mode AUTO-INC waiting",
            "TABLE LOCK table `shop`.`t` /* Partition `p1` */ trx id 5 lock mode IX",
            "Record lock, heap no 2 PHYSICAL RECORD: n_fields 4; compact format; info bits 0",
            "Record lock, heap no 1",
            "PHYSICAL RECORD: n_fields 3; 1-byte offs TRUE; info bits 0",
            "DATA TUPLE: 5 fields;",
            "TOO MANY LOCKS PRINTED FOR THIS TRX: SUPPRESSING FURTHER PRINTS",
            "Trying to add in child table, in index `order_no` tuple:",
            "But in child table `shop`.`item`, in index `order_no`, there is a record:",
            "But in parent table `shop`.`item`, in index PRIMARY,",
            "Foreign key constraint fails for table `shop`.`item`:",
            "*** (1) TRANSACTION:",
            "*** (2) HOLDS THE LOCK(S):",
            "*** WAITING FOR THIS LOCK TO BE GRANTED:",
            "*** WE ROLL BACK TRANSACTION (2)",
            "--Thread 140036 has waited at fts0fts.cc line 36 for 257.00 seconds the semaphore:",
            " 0: len 4; hex 80000001; asc     ;;",
            "---TRANSACTION 0 0, not started, process no 7, OS thread id 9120",
            "---TRANSACTION 1 4410058, ACTIVE 6 sec, process no 7, OS thread id 1159211360 updating or deleting, thread declared inside InnoDB 499",
            "---TRANSACTION (0x7f0091), not started",
            "---TRANSACTION 5, ACTIVE (PREPARED) 9 sec recovered trx",
            "---TRANSACTION 5, ACTIVE 9 sec sleeping before entering InnoDB",
            "---TRANSACTION 5, ACTIVE 9 sec setting auto-inc lock",
            "TRANSACTION 36, ACTIVE 1 sec starting index read",
            "MySQL thread id 12, OS thread handle 0x7f21d80b4700, query id 208 localhost root updating",
            "MySQL thread id 611, query id 30212 10.0.0.1 someone",
            "MariaDB thread id 7, OS thread handle 14, query id 21 web 10.0.0.1 root Waiting for table metadata lock",
            "MySQL thread id 1, OS thread handle 1, query id 0 Waiting for background binlog tasks",
            "TABLE LOCK table `shop/orders` trx id 51",
        ] {
            assert!(is_exact(line), "{line}");
        }
    }

    #[test]
    fn a_line_with_another_word_is_none() {
        for line in [
            "*** (forwarded by alice@example.com, her PIN is 4711 hunter2)",
            "*** (1) TRANSACTION: hunter2",
            "*** WE ROLL BACK hunter2",
            "LOCK WAIT transactions: 9 or 9 whenever I look",
            "LOCK WAIT 2 lock struct(s), heap size 368, hunter2",
            "TABLE LOCK table of hunter2",
            "TABLE LOCK table `a`.`b` trx id 5 lock mode IX hunter2",
            "But in child table hunter2 there is a record:",
            "TRANSACTION 1, ACTIVE hunter2 sec",
            "---TRANSACTION 1, ACTIVE 3 sec hunter2",
            "---TRANSACTION 1, not started hunter2",
            "---TRANSACTION 1, ACTIVE 3 sec starting index read 4711",
            "MySQL thread id 5, query id 9 web 10.0.0.1 app updating 4711",
            "--Thread 1 has waited at the door with hunter2",
            "--Thread 1 has waited at hunter2 line 36 for 257.00 seconds the semaphore:",
            "MySQL thread id 5, hunter2",
            "MySQL thread id 5, query id 9 web app a hunter2 is waiting",
            "RECORD: hunter2 0: len 4; hex 80; asc a;;",
            "Trx read view will not see trx with id >= hunter2",
            "the closest match we can find is record: hunter2",
            "2026-01-02 alice hunter2 INNODB MONITOR OUTPUT",
            "... truncated... hunter2",
        ] {
            assert!(!is_exact(line), "{line}");
        }
    }

    #[test]
    fn a_log_writes_no_more_than_that_in_front() {
        assert!(is_log_prefix(
            "2021-01-18T09:40:17.3+08:00 7 [Note] InnoDB: "
        ));
        assert!(is_log_prefix(
            "2023-01-01T00:00:00Z 0 [Note] [MY-012469] [InnoDB] "
        ));
        assert!(!is_log_prefix("2021-01-18 hunter2 [Note] InnoDB: "));
    }
}
