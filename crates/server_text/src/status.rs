//! A status of InnoDB, and what stands around it.
//!
//! A printout of the monitor may have been cut from an error log, and lines of the log came with it, around it and,
//! because threads write at the same time, within: they are redacted as lines of a log are.

use crate::{error_log, innodb};

/// The text without literals, values of rows, and whatever users wrote into lines of the log around it.
pub(crate) fn redact(raw: &str) -> String {
    let text = innodb::redact(raw);
    let has_printout = text.lines().any(is_begin);
    let mut out = String::with_capacity(text.len());
    // Lines of the log that have not been written yet.
    let mut log = String::new();
    let mut is_outside = has_printout;
    let mut in_log = false;
    let mut before = "";
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        is_outside &= !is_begin(content);
        in_log = match has_printout {
            true => is_outside || error_log::is_of_log(content),
            // Of a part of one: an entry of the log, and what belongs to it.
            false => error_log::is_entry(content) || (in_log && !error_log::begins(content)),
        };
        let is_message = !has_printout && error_log::is_message(content);
        let is_below_end = is_end(before) && is_rule(content);
        before = content;
        if in_log || is_message {
            log.push_str(line);
            continue;
        }
        flush(&mut log, &mut out);
        out.push_str(line);
        is_outside = has_printout && (is_end(content) || is_below_end);
    }
    flush(&mut log, &mut out);
    out
}

fn flush(log: &mut String, out: &mut String) {
    if log.is_empty() {
        return;
    }
    let ends = log.ends_with('\n');
    let redacted = error_log::redact(log);
    out.push_str(match ends {
        true => &redacted,
        false => redacted.trim_end_matches('\n'),
    });
    log.clear();
}

/// `=====`, or the line with the printout's name where that was cut off.
fn is_begin(line: &str) -> bool {
    is_rule(line) || (line.trim().ends_with("INNODB MONITOR OUTPUT") && !is_end(line))
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 5 && line.bytes().all(|byte| byte == b'=')
}

fn is_end(line: &str) -> bool {
    line.trim() == "END OF INNODB MONITOR OUTPUT"
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "2026-01-02  3:04:05 9 [Warning] Aborted connection 9 to db: 'qqshop' user: 'qqapp' (KILLED)\n";
    const STATUS: &str = "=====================================\n2026-01-02 03:04:05 0x7f00 INNODB MONITOR OUTPUT\n\
        =====================================\nPer second averages calculated from the last 9 seconds\n\
        RECORD LOCKS space id 5 page no 3 n bits 72 index PRIMARY of table `shop`.`orders` trx id 9 lock_mode X\n\
        ----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n";

    #[test]
    fn a_status_alone_stays_as_it_is() {
        assert_eq!(redact(STATUS), STATUS);
        let part = "---TRANSACTION 5, ACTIVE 3 sec\nTABLE LOCK table `shop`.`orders` trx id 5 lock mode IX\n";
        assert_eq!(redact(part), part);
        assert_eq!(redact(""), "");
    }

    #[test]
    fn lines_of_the_log_around_it_are_lines_of_the_log() {
        for text in [
            format!("{ENTRY}{STATUS}{ENTRY}"),
            format!("{ENTRY}{STATUS}{ENTRY}qqrest of it\n{STATUS}{ENTRY}"),
            format!(
                "TABLE LOCK table `shop`.`orders` trx id 5 lock mode IX\n{ENTRY}qqrest\n---TRANSACTION 5, not started\n"
            ),
        ] {
            let redacted = redact(&text);
            assert!(!redacted.contains("qq"), "{redacted}");
            assert!(redacted.contains("`orders`"), "{redacted}");
            assert!(
                redacted.contains("Aborted connection 9 to db: ?"),
                "{redacted}"
            );
            assert_eq!(redact(&redacted), redacted);
        }
    }

    #[test]
    fn messages_without_a_date_are_lines_of_the_log_in_a_part_as_well() {
        let part = "InnoDB: Warning: a long semaphore wait:\n\
            --Thread 140 has waited at row0ins.cc line 123 for 241.00 seconds the semaphore:\n\
            S-lock on RW-latch at 0x7f '&new_index->lock'\n\
            InnoDB: qqx, says 'qqy' of `qqz`\n\
            mysqld: Can't create/write to file '/qqdata/x' (OS errno 13 - Permission denied)\n\
            TABLE LOCK table `shop`.`orders` trx id 5 lock mode IX\n";
        let redacted = redact(part);
        assert!(!redacted.contains("qq"), "{redacted}");
        for kept in [
            "InnoDB: Warning: a long semaphore wait:\n--Thread 140 has waited",
            "'&new_index->lock'",
            "`shop`.`orders` trx id 5 lock mode IX",
        ] {
            assert!(redacted.contains(kept), "{kept}: {redacted}");
        }
        assert_eq!(redact(&redacted), redacted);
    }

    #[test]
    fn lines_of_the_log_within_it_are_lines_of_the_log() {
        let failed = "2026-01-02  3:04:05 9 [ERROR] Slave SQL: Error 'Duplicate entry 'qqx' for key' on query. Query: 'insert into t values (\"qqy\", qqz)', Error_code: 1062\n";
        let told = "InnoDB: many active transactions running qqx\n";
        let place = "RECORD LOCKS";
        let odd = "acme 2026-01-02  3:04:05 [ERROR] Slave SQL: Error 'qqx'\n";
        let within = STATUS.replacen(place, &format!("{ENTRY}{failed}{odd}{told}{place}"), 1);
        for text in [within.clone(), format!("{ENTRY}{within}{ENTRY}{within}")] {
            let redacted = redact(&text);
            assert!(!redacted.contains("qq"), "{redacted}");
            for kept in [
                "Aborted connection 9 to db: ?",
                "[ERROR] Slave SQL: Error ? Error_code: 1062",
                "InnoDB: many active transactions running ?",
                "of table `shop`.`orders` trx id 9 lock_mode X",
                "Per second averages",
            ] {
                assert!(redacted.contains(kept), "{kept}: {redacted}");
            }
            assert_eq!(redact(&redacted), redacted);
        }
    }
}
