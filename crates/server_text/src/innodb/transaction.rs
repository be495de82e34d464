//! One transaction of the TRANSACTIONS section, and the lock it waits for.

use serde::{Deserialize, Serialize};

use super::numbers::{leading_f64, leading_u64, os_thread, u64_after, u64_before};

/// What a line begins with that tells of a transaction that waits for a row or table lock.
pub const LOCK_WAIT: &str = "------- TRX HAS BEEN WAITING ";

/// Most of a statement that is kept, without literals. The server itself cuts most at 600 bytes.
pub const QUERY_BYTES_MAX: usize = 1_024;

/// A transaction that waits for a row or table lock (`lock0lock.cc`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LockWait {
    /// Its number, as printed: decimal, hexadecimal before 5.6, in two halves before that.
    pub trx_id: String,
    /// How long it has waited, to the microsecond in MariaDB from 10.6 on.
    pub waiting_seconds: Option<f64>,
    /// Its connection.
    pub connection_id: Option<u64>,
    /// The number of its statement.
    pub query_id: Option<u64>,
    /// The table, as `database.table`.
    pub table: Option<String>,
    /// The index; none for a table lock.
    pub index: Option<String>,
    /// The lock it wants (`X locks rec but not gap`, `AUTO-INC`).
    pub lock_mode: Option<String>,
    /// What InnoDB says it does (`starting index read`, `inserting`).
    pub state: Option<String>,
    /// Its statement, without literals, at most [`QUERY_BYTES_MAX`].
    pub query: Option<String>,
}

/// An active transaction that holds row locks, or has changed rows, which are locked without a
/// lock struct.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ActiveTransaction {
    /// Its number, as printed.
    pub trx_id: String,
    /// How long it is active.
    pub active_seconds: f64,
    /// Its connection.
    pub connection_id: Option<u64>,
    /// The account's user, where the line of the connection tells it without doubt.
    #[serde(default)]
    pub user: Option<String>,
    /// The client's host or address, likewise.
    #[serde(default)]
    pub host: Option<String>,
    /// Its lock structs.
    pub lock_structs: u64,
    /// The rows it has locked, about.
    pub row_locks: u64,
    /// The rows it has changed, about.
    pub undo_entries: u64,
    /// It runs a statement now. Without one its client holds the locks and is idle.
    pub has_query: bool,
    /// It waits for a lock itself.
    pub waits: bool,
    /// It is prepared and not yet committed.
    pub prepared: bool,
    /// What InnoDB says it does (`updating or deleting`, `rollback`).
    pub state: Option<String>,
}

/// The lines of one transaction.
#[derive(Default)]
pub(super) struct Block {
    trx_id: String,
    pub(super) active_seconds: Option<f64>,
    pub(super) prepared: bool,
    state: Option<String>,
    pub(super) os_thread: Option<u64>,
    pub(super) connection_id: Option<u64>,
    client: Option<(String, String)>,
    query_id: Option<u64>,
    pub(super) query: String,
    pub(super) lock_structs: Option<u64>,
    row_locks: u64,
    undo_entries: u64,
    pub(super) waits: bool,
    pub(super) waiting_seconds: Option<f64>,
    lock_is_next: bool,
    lock: Option<Lock>,
}

struct Lock {
    table: Option<String>,
    index: Option<String>,
    mode: Option<String>,
    trx_id: Option<String>,
}

/// `---TRANSACTION 0 61205517, ACTIVE 0 sec, process no 3177, OS thread id 1183549248 starting
/// index read, thread declared inside InnoDB 499`; `---TRANSACTION 5A90D1C2, ACTIVE (PREPARED) 4
/// sec`; `---TRANSACTION (0x7fd0442a1b30), ACTIVE 3 sec`; `…, not started`.
pub(super) fn start_block(stem: &str) -> Block {
    let rest = stem
        .strip_prefix("---TRANSACTION")
        .unwrap_or(stem)
        .trim_start();
    let (id, rest) = rest.split_once(", ").unwrap_or((rest, ""));
    let mut block = Block {
        trx_id: id.to_owned(),
        os_thread: rest
            .split_once("OS thread id ")
            .and_then(|(_, id)| leading_u64(id)),
        ..Block::default()
    };
    if let Some(active) = rest.strip_prefix("ACTIVE ") {
        let seconds = active.strip_prefix("(PREPARED) ");
        block.prepared = seconds.is_some();
        block.active_seconds = leading_f64(seconds.unwrap_or(active));
        block.state = rest.split_once(" sec").and_then(|(_, rest)| state(rest));
    }
    block
}

/// What InnoDB says the transaction does: the words behind its times and thread numbers.
fn state(rest: &str) -> Option<String> {
    let rest = rest.split_once("OS thread id ").map_or(rest, |(_, rest)| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit())
    });
    let words = rest.split(',').next().unwrap_or(rest).trim();
    (!words.is_empty()).then(|| words.to_owned())
}

impl Block {
    /// `MySQL thread id 11, OS thread handle 0x7f…, query id 29 localhost root Updating`
    pub(super) fn thread(&mut self, stem: &str) {
        self.connection_id = u64_after(stem, " thread id ");
        self.query_id = u64_after(stem, "query id ");
        self.client = client(stem);
        if let Some((_, handle)) = stem.split_once("OS thread handle ") {
            self.os_thread = handle.split([',', ' ']).next().and_then(os_thread);
        }
    }

    /// Reads one of InnoDB's own lines.
    pub(super) fn own(&mut self, stem: &str) {
        if stem.contains(" lock struct(s)") {
            self.lock_structs = u64_before(stem, " lock struct");
            self.row_locks = u64_before(stem, " row lock").unwrap_or(0);
            self.undo_entries = u64_after(stem, "undo log entries ").unwrap_or(0);
        }
        if stem.starts_with("LOCK WAIT ") {
            self.waits = true;
        } else if let Some(rest) = stem.strip_prefix(LOCK_WAIT) {
            self.waits = true;
            self.lock_is_next = true;
            // MariaDB from 10.6 on counts in microseconds.
            let per_second = if rest.contains(" us ") { 1e6 } else { 1.0 };
            self.waiting_seconds = leading_f64(rest).map(|time| time / per_second);
        } else if let Some(lock) = lock(stem) {
            let wanted = lock
                .mode
                .as_ref()
                .is_some_and(|mode| mode.ends_with(" waiting"));
            self.waits |= wanted;
            if self.lock.is_none() && (wanted || self.lock_is_next) {
                self.lock = Some(lock);
            }
            self.lock_is_next = false;
        }
    }

    /// Its statement, without literals.
    pub(super) fn redacted_query(&self) -> Option<String> {
        let query = self.query.trim();
        if query.is_empty() {
            return None;
        }
        let mut query = sql::redact_in_any_mode(query);
        let end = query.floor_char_boundary(QUERY_BYTES_MAX);
        query.truncate(end);
        (!query.is_empty()).then_some(query)
    }

    /// Its wait for a lock.
    pub(super) fn lock_wait(&self, query: Option<String>) -> LockWait {
        let lock = self.lock.as_ref();
        let trx_id = match lock.and_then(|lock| lock.trx_id.as_ref()) {
            Some(id) if self.trx_id.is_empty() => id,
            _ => &self.trx_id,
        };
        LockWait {
            trx_id: trx_id.clone(),
            waiting_seconds: self.waiting_seconds,
            connection_id: self.connection_id,
            query_id: self.query_id,
            table: lock.and_then(|lock| lock.table.clone()),
            index: lock.and_then(|lock| lock.index.clone()),
            lock_mode: lock
                .and_then(|lock| lock.mode.as_deref())
                .map(|mode| mode.trim_end_matches(" waiting").to_owned()),
            state: self.state.clone(),
            query,
        }
    }

    /// The transaction, when it is active.
    pub(super) fn active(&self, has_query: bool) -> Option<ActiveTransaction> {
        let active_seconds = self.active_seconds?;
        let (user, host) = self.client.clone().unzip();
        Some(ActiveTransaction {
            trx_id: self.trx_id.clone(),
            active_seconds,
            connection_id: self.connection_id,
            user,
            host,
            lock_structs: self.lock_structs.unwrap_or(0),
            row_locks: self.row_locks,
            undo_entries: self.undo_entries,
            has_query,
            waits: self.waits,
            prepared: self.prepared,
            state: self.state.clone(),
        })
    }
}

impl ActiveTransaction {
    /// It has something that others may wait for.
    pub fn holds(&self) -> bool {
        self.row_locks > 0 || self.undo_entries > 0
    }
}

/// User and host behind the statement's number: a host's name, its address, the user, and then what the server does, of
/// which each may be left out. Only an address, or `localhost`, says which word is the user.
fn client(stem: &str) -> Option<(String, String)> {
    let (_, rest) = stem.split_once("query id ")?;
    let mut words = rest.split_whitespace().skip(1);
    let (first, second) = (words.next()?, words.next()?);
    let is_address = |word: &str| word.parse::<std::net::IpAddr>().is_ok();
    let (host, user) = if is_address(second) {
        (first, words.next()?)
    } else if is_address(first) || first == "localhost" {
        (first, second)
    } else {
        return None;
    };
    Some((user.to_owned(), host.to_owned()))
}

/// ``RECORD LOCKS space id 5 page no 3 n bits 72 index PRIMARY of table `d`.`t` trx id 41 lock_mode
/// X waiting``; ``TABLE LOCK table `d`.`t` trx id 41 lock mode AUTO-INC waiting``. Up to 5.1 the
/// table is `` `d/t` ``.
fn lock(stem: &str) -> Option<Lock> {
    let (index, rest) = if let Some(rest) = stem.strip_prefix("RECORD LOCKS ") {
        let (before, rest) = rest.split_once(" of table ")?;
        let index = before
            .split_once(" index ")
            .map(|(_, index)| unquoted(index));
        (index, rest)
    } else {
        (None, stem.strip_prefix("TABLE LOCK table ")?)
    };
    let (table, rest) = rest.split_once(" trx id ").unwrap_or((rest, ""));
    // A partition's name follows in a comment.
    let mut table = unquoted(table.split(" /* ").next().unwrap_or(table));
    if !table.contains('.') {
        table = table.replacen('/', ".", 1);
    }
    let (trx_id, mode) = ["lock_mode ", "lock mode "]
        .iter()
        .find_map(|key| rest.split_once(key))
        .unwrap_or((rest, ""));
    Some(Lock {
        table: (!table.is_empty()).then_some(table),
        index,
        mode: (!mode.is_empty()).then(|| clean_mode(mode)),
        trx_id: (!trx_id.trim().is_empty()).then(|| trx_id.trim().to_owned()),
    })
}

/// The mode without what a person wrote behind it.
fn clean_mode(mode: &str) -> String {
    match mode.find(" waiting") {
        Some(at) => mode.get(..at + " waiting".len()).unwrap_or(mode).to_owned(),
        None => mode.trim_end().to_owned(),
    }
}

fn unquoted(name: &str) -> String {
    name.trim().replace('`', "")
}

#[cfg(test)]
mod tests {
    use crate::innodb::{InnodbStatus, parse};

    fn waits(text: &str) -> InnodbStatus {
        let status = parse(text);
        assert_eq!(status.lock_waits.len(), 1, "{text}");
        status
    }

    #[test]
    fn a_lock_wait_of_5_1() {
        let status = waits(
            "---TRANSACTION 0 61205511, ACTIVE 12 sec, process no 3177, OS thread id 1233525056 starting index read, thread declared inside InnoDB 499\n\
             mysql tables in use 1, locked 1\n\
             LOCK WAIT 2 lock struct(s), heap size 368, 1 row lock(s)\n\
             MySQL thread id 40117, query id 9905113 web1 10.7.0.3 shop Updating\n\
             update t set a = 'x'\nwhere id = 5\n\
             ------- TRX HAS BEEN WAITING 11 SEC FOR THIS LOCK TO BE GRANTED:\n\
             RECORD LOCKS space id 0 page no 52 n bits 72 index `PRIMARY` of table `test/t` trx id 0 61205511 lock_mode X locks rec but not gap waiting\n\
             Record lock, heap no 2 PHYSICAL RECORD: n_fields 3; compact format; info bits 0\n\
             \x20 0: len 4; hex 80000001; asc     ;;\n\
             \n\
             ------------------\n",
        );
        let wait = &status.lock_waits[0];
        assert_eq!(wait.trx_id, "0 61205511");
        assert_eq!(wait.waiting_seconds, Some(11.0));
        assert_eq!(wait.connection_id, Some(40_117));
        assert_eq!(wait.query_id, Some(9_905_113));
        assert_eq!(wait.table.as_deref(), Some("test.t"));
        assert_eq!(wait.index.as_deref(), Some("PRIMARY"));
        assert_eq!(wait.lock_mode.as_deref(), Some("X locks rec but not gap"));
        assert_eq!(wait.state.as_deref(), Some("starting index read"));
        assert_eq!(
            wait.query.as_deref(),
            Some("update t set a = ? where id = ?")
        );
        let summary = &status.transactions;
        assert_eq!(summary.lock_wait_count, Some(1));
        assert_eq!(summary.longest_lock_wait_seconds, Some(11.0));
        assert_eq!(summary.longest_active_seconds, Some(12.0));
        assert_eq!(summary.lock_structs, Some(2));
        assert!(summary.list_cut, "no header says where the list begins");
    }

    #[test]
    fn a_lock_wait_in_microseconds_on_a_partition() {
        let status = waits(
            "---TRANSACTION 41, ACTIVE 3 sec inserting\n\
             LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)\n\
             MariaDB thread id 11, OS thread handle 140050468656832, query id 29 localhost root Update\n\
             ------- TRX HAS BEEN WAITING 2997946 us FOR THIS LOCK TO BE GRANTED:\n\
             RECORD LOCKS space id 5 page no 3 n bits 320 index c1 of table `shop`.`accounts` /* Partition `p0` */ trx id 41 lock_mode X insert intention waiting\n",
        );
        let wait = &status.lock_waits[0];
        assert_eq!(wait.waiting_seconds, Some(2.997946));
        assert_eq!(wait.table.as_deref(), Some("shop.accounts"));
        assert_eq!(wait.lock_mode.as_deref(), Some("X insert intention"));
        assert_eq!(wait.query, None);
    }

    #[test]
    fn a_table_lock_wait() {
        let status = waits(
            "---TRANSACTION 3301774, ACTIVE 0 sec setting auto-inc lock\n\
             TABLE LOCK table `a`.`b` trx id 3301774 lock mode IX\n\
             TABLE LOCK table `a`.`b` trx id 3301774 lock mode AUTO-INC waiting\n",
        );
        let wait = &status.lock_waits[0];
        assert_eq!(wait.lock_mode.as_deref(), Some("AUTO-INC"));
        assert_eq!((wait.index.as_deref(), wait.waiting_seconds), (None, None));
    }

    #[test]
    fn a_transaction_has_its_user_where_an_address_tells_which_word_that_is() {
        for (line, expected) in [
            ("localhost root Updating", Some(("root", "localhost"))),
            ("web1 10.7.0.3 shop Updating", Some(("shop", "web1"))),
            ("10.7.0.3 shop", Some(("shop", "10.7.0.3"))),
            ("::1 app cleaning up", Some(("app", "::1"))),
            ("Reading event from the relay log", None),
            ("localhost", None),
        ] {
            let status = parse(&format!(
                "---TRANSACTION 41, ACTIVE 3 sec\n\
                 2 lock struct(s), heap size 1128, 1 row lock(s)\n\
                 MySQL thread id 11, OS thread handle 1, query id 29 {line}\n"
            ));
            let of = status.active.first().unwrap();
            let told = of.user.as_deref().zip(of.host.as_deref());
            assert_eq!(told, expected, "{line}");
        }
    }
}
