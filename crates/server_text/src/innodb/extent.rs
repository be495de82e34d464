//! How far sections, printouts and what a cut left of them reach.

use super::forms::{
    is_cut_mark, is_deadlock_line, is_field, is_log_line, is_monitor_end, is_monitor_line,
    is_monitor_start, is_rule, is_semaphore_line, is_thread_line, is_transaction_line, stem,
};
use super::sections::{self, Section};

/// One end of a printout.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    Start,
    End,
}

/// Where the printouts in `text` begin and end.
pub(super) fn bounds(text: &str) -> Vec<(usize, Bound)> {
    let mut at = 0;
    let mut bounds = Vec::new();
    for raw in text.split('\n') {
        let stem = stem(raw);
        if is_monitor_start(stem) {
            bounds.push((at, Bound::Start));
        } else if is_monitor_end(stem) {
            bounds.push((at, Bound::End));
        }
        at += raw.len() + 1;
    }
    bounds
}

/// Where the printout that begins at `start` ends, when it stands inside another: monitoring stores
/// printouts, and its statement holds one in a literal.
pub(super) fn nested_printout_end(bounds: &[(usize, Bound)], start: usize) -> Option<usize> {
    let mut depth = 2_usize;
    let mut end = None;
    for (at, bound) in bounds {
        if *at <= start {
            continue;
        }
        match bound {
            Bound::Start => depth += 1,
            Bound::End => depth -= 1,
        }
        if depth == 1 {
            end = end.or(Some(*at));
        }
        if depth == 0 {
            return end;
        }
    }
    None
}

/// Where the first line of InnoDB's form begins, when that line shows that the text begins where
/// statements can stand: what is before may be what a cut left of one.
pub(super) fn remnant_end(text: &str) -> Option<usize> {
    let mut at = 0;
    let mut before = "";
    for raw in text.split('\n') {
        let stem = stem(raw);
        let next = at + raw.len() + 1;
        let rest = text.get(next..).unwrap_or("");
        if is_monitor_line(stem) || is_thread_line(stem) || is_semaphore_line(stem) {
            return None;
        }
        match sections::header(before, stem, rest) {
            Some(section @ (Section::Deadlock | Section::Transactions | Section::FileIo)) => {
                if is_section(section, stem, rest, false) {
                    return Some(at);
                }
            }
            // The name may have been cut.
            Some(Section::Other) | None => {}
            Some(_) => return None,
        }
        if stem.starts_with("---TRANSACTION")
            || is_cut_mark(stem)
            || is_log_line(raw)
            || is_field(stem)
            || is_deadlock_line(stem)
            || (is_transaction_line(stem) && !is_rule(stem))
        {
            return Some(at);
        }
        before = raw;
        at = next;
    }
    None
}

/// Whether the header `name` of `section` before `rest` is InnoDB's: a printout has each section
/// once, and where a literal may be open (`doubtful`), only what follows shows that it is one.
pub(super) fn is_section(section: Section, name: &str, rest: &str, doubtful: bool) -> bool {
    let mut before = "";
    let mut at = 0;
    let mut goes_on = false;
    let mut nested = 0_u32;
    for raw in rest.split('\n') {
        let stem = stem(raw);
        at += raw.len() + 1;
        if is_monitor_end(stem) {
            match nested.checked_sub(1) {
                Some(outer) => nested = outer,
                None => return true,
            }
        } else if is_monitor_start(stem) {
            nested += 1;
        }
        match sections::header(before, stem, rest.get(at..).unwrap_or("")) {
            Some(_) if nested > 0 => {}
            Some(_) if stem == name => return false,
            Some(Section::Other) | None => {}
            Some(next) if doubtful && !goes_on && !sections::may_follow(section, next) => {
                return false;
            }
            Some(_) => goes_on = true,
        }
        before = raw;
    }
    goes_on || !doubtful
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "2023-03-14 08:27:55 0x7f INNODB MONITOR OUTPUT\n";
    const END: &str = "END OF INNODB MONITOR OUTPUT\n";

    fn nested(texts: &[&str]) -> Option<usize> {
        let bounds = bounds(&texts.concat());
        nested_printout_end(&bounds, START.len())
    }

    #[test]
    fn a_printout_is_nested_when_another_ends_after_it() {
        let end = 2 * START.len();
        assert_eq!(nested(&[START, START, END, END]), Some(end));
        assert_eq!(nested(&[START, START, END, START, END, END]), Some(end));
        // The log goes on with another printout, or what is stored was cut.
        assert_eq!(nested(&[START, START, END, START, END]), None);
        assert_eq!(nested(&[START, START, END]), None);
    }

    #[test]
    fn a_text_that_begins_in_the_transactions_has_a_remnant() {
        assert_eq!(remnant_end("x\n---TRANSACTION 5, not started"), Some(2));
        assert_eq!(remnant_end("x\n--------\nFILE I/O\n--------\n"), Some(11));
        assert_eq!(remnant_end("x\n---\nLOG\n---\n"), None);
        assert_eq!(remnant_end(&format!("x\n{START}---TRANSACTION 5,")), None);
        assert_eq!(remnant_end("x\ny"), None);
    }

    #[test]
    fn a_section_stands_once_and_something_follows_it() {
        let section = |rest: &str, doubtful| {
            is_section(
                Section::FileIo,
                "FILE I/O",
                &format!("--------\n{rest}"),
                doubtful,
            )
        };
        let log = "---\nLOG\n---\n";
        let again = "--------\nFILE I/O\n--------\n";
        let locks = "------------\nTRANSACTIONS\n------------\n";
        assert!(section("", false) && !section("", true));
        assert!(section(log, true) && section(END, true));
        assert!(!section(locks, true) && section(locks, false));
        assert!(!section(&[log, again, log, END].concat(), false));
        assert!(section(&[log, END, again].concat(), true));
        assert!(section(&[log, START, again, END, END].concat(), true));
    }
}
