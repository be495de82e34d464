//! The TRANSACTIONS section: who is active, who waits for a lock, who may block.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::forms::{is_cut_mark, is_monitor_end};
use super::lines::{Kind, Line};
use super::numbers::{leading_u64, trx_number};
use super::sections::Section;
use super::transaction::{ActiveTransaction, Block, LOCK_WAIT, LockWait, start_block};

/// Most lock waits that are kept. Their number is counted beyond it.
pub const LOCK_WAITS_MAX: usize = 1_000;

/// Most blockers that are kept: those that wait for nobody before those that do, the longest active first.
pub const BLOCKERS_MAX: usize = 20;

/// The TRANSACTIONS section, in numbers. Counts are of the transactions that the text lists:
/// the server leaves the beginning of a list out that is too long, see `list_cut`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TransactionSummary {
    /// The next transaction's number.
    pub trx_id_counter: Option<u64>,
    /// Purge has removed the history of transactions before this number.
    pub purge_done_trx: Option<u64>,
    /// What purge does (`running but idle`), from 5.6 on.
    pub purge_state: Option<String>,
    /// Transactions whose history is not purged.
    pub history_list_length: Option<u64>,
    /// The list of transactions is not whole, or it cannot be seen that it is.
    pub list_cut: bool,
    /// Transactions that are active.
    pub active_count: Option<u64>,
    /// Transactions that wait for a row or table lock.
    pub lock_wait_count: Option<u64>,
    /// Transactions prepared and not yet committed: between the engine and the binary log.
    pub prepared_count: Option<u64>,
    /// Lock structs of all listed transactions.
    pub lock_structs: Option<u64>,
    /// The longest time a transaction is active. Absent when none is.
    pub longest_active_seconds: Option<f64>,
    /// Its connection.
    pub longest_active_connection_id: Option<u64>,
    /// The longest wait for a lock. Absent when none waits.
    pub longest_lock_wait_seconds: Option<f64>,
}

/// The connection and statement of an operating system thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Client {
    pub(super) connection_id: Option<u64>,
    pub(super) query: Option<String>,
}

/// What the transactions of a text say.
#[derive(Default)]
pub(super) struct Transactions {
    pub(super) summary: TransactionSummary,
    pub(super) lock_waits: Vec<LockWait>,
    pub(super) blockers: Vec<ActiveTransaction>,
    pub(super) active: Vec<ActiveTransaction>,
    pub(super) clients: HashMap<u64, Client>,
    open: Option<Block>,
    /// The section's header was there.
    begun: bool,
    /// The list, or a part of it, was there.
    listed: bool,
    /// What follows the list was there.
    ended: bool,
    hex_ids: bool,
}

impl Transactions {
    /// `hex_ids`: the server is of the generation that prints hexadecimal numbers.
    pub(super) fn new(hex_ids: bool) -> Self {
        Self {
            hex_ids,
            ..Self::default()
        }
    }

    /// Reads one line.
    pub(super) fn read(&mut self, line: &Line<'_>) {
        if matches!(line.section, Section::Deadlock | Section::ForeignKey) {
            self.close();
            return;
        }
        match line.kind {
            Kind::Transaction => {
                self.close();
                self.listed = true;
                self.open = Some(start_block(line.stem));
            }
            Kind::Header => {
                self.close();
                self.begun |= line.section == Section::Transactions;
                self.ended |= self.listed;
            }
            Kind::Thread => {
                if let Some(block) = &mut self.open {
                    block.thread(line.stem);
                }
            }
            Kind::Statement => {
                if let Some(block) = &mut self.open {
                    block.query.push_str(line.raw);
                    block.query.push('\n');
                }
            }
            Kind::Own => self.read_own(line.stem),
            Kind::Field | Kind::Remnant => {}
        }
    }

    fn read_own(&mut self, stem: &str) {
        if stem.starts_with("LIST OF TRANSACTIONS") {
            self.listed = true;
        } else if is_monitor_end(stem) {
            self.close();
            self.ended = true;
        } else if is_cut_mark(stem) {
            self.listed = true;
            self.summary.list_cut = true;
        } else if stem.starts_with(LOCK_WAIT) && self.open.is_none() {
            // The text was cut or copied from here on.
            self.listed = true;
            self.open = Some(Block::default());
        }
        if let Some(block) = &mut self.open {
            block.own(stem);
        } else {
            self.totals(stem);
        }
    }

    fn totals(&mut self, stem: &str) {
        let summary = &mut self.summary;
        if let Some(rest) = stem.strip_prefix("Trx id counter ") {
            keep_first(&mut summary.trx_id_counter, trx_number(rest, self.hex_ids));
        } else if let Some(rest) = stem.strip_prefix("Purge done for trx's n:o < ") {
            let number = rest.split(" undo ").next().unwrap_or(rest);
            keep_first(
                &mut summary.purge_done_trx,
                trx_number(number, self.hex_ids),
            );
            let state = stem
                .split_once(" state: ")
                .map(|(_, state)| state.to_owned());
            keep_first(&mut summary.purge_state, state);
        } else if let Some(rest) = stem.strip_prefix("History list length ") {
            keep_first(&mut summary.history_list_length, leading_u64(rest));
        }
    }

    /// Ends the transaction that was read last.
    fn close(&mut self) {
        let Some(block) = self.open.take() else {
            return;
        };
        let query = block.redacted_query();
        let summary = &mut self.summary;
        if let Some(structs) = block.lock_structs {
            let sum = summary.lock_structs.unwrap_or(0);
            summary.lock_structs = Some(sum.saturating_add(structs));
        }
        if let Some(seconds) = block.active_seconds {
            count(&mut summary.active_count);
            if summary
                .longest_active_seconds
                .is_none_or(|most| seconds > most)
            {
                summary.longest_active_seconds = Some(seconds);
                summary.longest_active_connection_id = block.connection_id;
            }
        }
        if block.prepared {
            count(&mut summary.prepared_count);
        }
        if block.waits {
            count(&mut summary.lock_wait_count);
            if let Some(seconds) = block.waiting_seconds {
                let most = summary.longest_lock_wait_seconds.unwrap_or(0.0);
                summary.longest_lock_wait_seconds = Some(most.max(seconds));
            }
            if self.lock_waits.len() < LOCK_WAITS_MAX {
                self.lock_waits.push(block.lock_wait(query.clone()));
            }
        }
        if let Some(active) = block.active(query.is_some()) {
            if active.holds() {
                self.blockers.push(active.clone());
            }
            self.active.push(active);
            // Twice the limit before it is cut, so that a long list is not sorted for each.
            if self.active.len() >= 2 * BLOCKERS_MAX || self.blockers.len() >= 2 * BLOCKERS_MAX {
                self.keep_longest();
            }
        }
        if let Some(thread) = block.os_thread {
            self.clients.insert(
                thread,
                Client {
                    connection_id: block.connection_id,
                    query,
                },
            );
        }
    }

    fn keep_longest(&mut self) {
        // Ages are whole seconds, and who came first is listed last: where many wait for one, most are as old as it.
        let longest = |a: &ActiveTransaction, b: &ActiveTransaction| {
            let by_age = b.active_seconds.total_cmp(&a.active_seconds);
            by_age.then(a.waits.cmp(&b.waits))
        };
        self.active.sort_by(longest);
        self.blockers
            .sort_by(|a, b| a.waits.cmp(&b.waits).then(longest(a, b)));
        for list in [&mut self.blockers, &mut self.active] {
            list.truncate(BLOCKERS_MAX);
        }
    }

    /// Ends the reading.
    pub(super) fn finish(&mut self) {
        self.close();
        self.keep_longest();
        let is_whole = self.begun && self.ended;
        let summary = &mut self.summary;
        summary.list_cut |= self.listed && !is_whole;
        if self.listed || is_whole {
            summary.active_count.get_or_insert(0);
            summary.lock_wait_count.get_or_insert(0);
            summary.prepared_count.get_or_insert(0);
        }
        if is_whole {
            summary.lock_structs.get_or_insert(0);
        }
    }
}

fn count(number: &mut Option<u64>) {
    *number = Some(number.unwrap_or(0) + 1);
}

fn keep_first<T>(slot: &mut Option<T>, value: Option<T>) {
    if slot.is_none() {
        *slot = value;
    }
}

#[cfg(test)]
mod tests {
    use crate::innodb::parse;

    #[test]
    fn blockers_hold_row_locks_or_changes_and_the_longest_come_first() {
        let mut text =
            String::from("------------\nTRANSACTIONS\n------------\nTrx id counter 900\n");
        for seconds in 0..100 {
            text += &format!(
                "---TRANSACTION {seconds}, ACTIVE {seconds} sec\n\
                 2 lock struct(s), heap size 1128, 4 row lock(s), undo log entries 3\n\
                 MySQL thread id {seconds}, OS thread handle 1, query id 2 localhost root\n"
            );
        }
        text += "---TRANSACTION 5A90D1C2, ACTIVE (PREPARED) 500 sec, process no 1, OS thread id 9\n\
                 0 lock struct(s), heap size 1128, 0 row lock(s), undo log entries 1\n\
                 MySQL thread id 1000, query id 2 localhost root\ncommit\n\
                 ---TRANSACTION (0x7fd0442a1b30), ACTIVE 501 sec\n\
                 0 lock struct(s), heap size 1128, 0 row lock(s)\n\
                 MySQL thread id 1001, query id 2 localhost root\nselect 1\n\
                 ---TRANSACTION 5, not started\n\
                 9 lock struct(s), heap size 1128, 9 row lock(s)\n\
                 --------\nFILE I/O\n--------\n";
        let status = parse(&text);
        assert_eq!(status.blockers.len(), super::BLOCKERS_MAX);
        let first = &status.blockers[0];
        assert_eq!(
            (first.connection_id, first.active_seconds),
            (Some(1000), 500.0)
        );
        assert!(first.prepared && first.has_query && !first.waits);
        let second = &status.blockers[1];
        assert_eq!((second.connection_id, second.row_locks), (Some(99), 4));
        assert!(!second.has_query);
        let summary = &status.transactions;
        assert_eq!(summary.active_count, Some(102));
        assert_eq!(summary.prepared_count, Some(1));
        assert_eq!(summary.lock_wait_count, Some(0));
        assert_eq!(summary.longest_active_seconds, Some(501.0));
        assert_eq!(summary.longest_active_connection_id, Some(1001));
        assert_eq!(summary.longest_lock_wait_seconds, None);
        assert!(!summary.list_cut);
    }

    #[test]
    fn who_waits_for_nobody_is_kept_however_many_of_its_age_wait_behind_it() {
        let mut text =
            String::from("------------\nTRANSACTIONS\n------------\nTrx id counter 900\n");
        for id in 100..160 {
            text += &format!(
                "---TRANSACTION {id}, ACTIVE 8 sec starting index read\n\
                 LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)\n\
                 MariaDB thread id {id}, OS thread handle 1, query id 2 localhost root Updating\nupdate t set a = ?\n\
                 ------- TRX HAS BEEN WAITING 7543570 us FOR THIS LOCK TO BE GRANTED:\n"
            );
        }
        text += "---TRANSACTION 99, ACTIVE 8 sec\n\
                 2 lock struct(s), heap size 1128, 1 row lock(s), undo log entries 1\n\
                 MariaDB thread id 39, OS thread handle 1, query id 1 localhost root\n\
                 --------\nFILE I/O\n--------\n";
        let status = parse(&text);
        assert_eq!(status.lock_waits.len(), 60);
        for first in [&status.blockers[0], &status.active[0]] {
            assert_eq!((first.connection_id, first.waits), (Some(39), false));
        }
        assert!(status.blockers[1].waits);
    }

    #[test]
    fn a_deadlock_is_not_a_wait() {
        let status = parse(
            "------------------------\nLATEST DETECTED DEADLOCK\n------------------------\n\
             130311  2:41:17\n*** (1) TRANSACTION:\nTRANSACTION 8D20A4E1, ACTIVE 9 sec inserting\n\
             LOCK WAIT 1730 lock struct(s), heap size 178104, 120331 row lock(s), undo log entries 115\n\
             MySQL thread id 66120, query id 18811042 10.4.1.12 batch\nreplace into bin values(1)\n\
             *** (1) WAITING FOR THIS LOCK TO BE GRANTED:\n\
             RECORD LOCKS space id 19 page no 4 n bits 144 index `PRIMARY` of table `ware`.`bin` trx id 8D20A4E1 lock_mode X waiting\n\
             *** WE ROLL BACK TRANSACTION (1)\n\
             ------------\nTRANSACTIONS\n------------\nTrx id counter 8D214F03\n\
             Purge done for trx's n:o < 8D214EEE undo n:o < 0\nHistory list length 1833\n\
             LIST OF TRANSACTIONS FOR EACH SESSION:\n\
             ---TRANSACTION 0, not started\n--------\nFILE I/O\n--------\n",
        );
        assert!(status.latest_deadlock.seen);
        assert_eq!(
            status.latest_deadlock.taken.as_deref(),
            Some("130311 2:41:17")
        );
        assert_eq!(status.lock_waits, []);
        assert_eq!(status.blockers, []);
        let summary = &status.transactions;
        assert_eq!(
            (summary.active_count, summary.lock_wait_count),
            (Some(0), Some(0))
        );
        assert_eq!(summary.history_list_length, Some(1833));
        assert_eq!(summary.trx_id_counter, Some(0x8D21_4F03));
        assert_eq!(summary.purge_done_trx, Some(0x8D21_4EEE));
    }

    #[test]
    fn numbers_in_statements_are_not_read() {
        let status = parse(
            "---TRANSACTION 41, ACTIVE 3 sec\n\
             MySQL thread id 11, OS thread handle 1, query id 29 localhost root\n\
             select\nHistory list length 77\n--------\nFILE I/O\n--------\n",
        );
        assert_eq!(status.transactions.history_list_length, None);
        assert_eq!(status.transactions.longest_active_connection_id, Some(11));
    }
}
