//! `SHOW ENGINE INNODB STATUS`, read by content.
//!
//! The text has changed with every version and is often cut: servers up to 5.1 keep 64 KiB of it,
//! people keep less. So no version is asked for and no place expected: every line is known by its
//! own words, in MySQL 5.0 to 9, Percona Server and MariaDB 10 alike, in a whole status, in a part
//! of one, or in an error log. Nothing here fails: what is not recognised is absent.
//!
//! - [`parse`] reads a status, [`signals()`] names its numbers,
//! - [`semaphore_waits`] finds waits for latches in any text, such as an error log,
//! - [`without_remarks`] removes what people wrote between its lines,
//! - [`redact()`] removes what clients wrote, so that the text can be stored; [`rewrite`] gives it other
//!   names.

mod exact;
mod extent;
mod forms;
mod lines;
mod noted;
mod numbers;
mod own_words;
mod quotes;
mod redact;
mod remarks;
mod resources;
mod sections;
mod semaphores;
mod signals;
mod status;
mod transaction;
mod transactions;

pub use model::SemaphoreWait;
pub use own_words::is_source;
pub use redact::{STATUS_BYTES_MAX, StatusPart, redact, rewrite};
pub use remarks::{WithoutRemarks, without_remarks};
pub use semaphores::{SEMAPHORE_WAITS_MAX, semaphore_waits};
pub use signals::signals;
pub use status::{
    AdaptiveHash, BufferPool, InnodbStatus, LatestDeadlock, LogStatus, PendingIo, RowOperations,
    SemaphoreCounters, SpinCounters,
};
pub use transaction::{ActiveTransaction, LOCK_WAIT, LockWait, QUERY_BYTES_MAX};
pub use transactions::{BLOCKERS_MAX, LOCK_WAITS_MAX, TransactionSummary};

use forms::{is_monitor_end, is_monitor_start, starts_with_date, stem};
use lines::{Kind, Line, Lines};
use sections::Section;
use semaphores::Waits;
use transactions::Transactions;

/// Reads one status. Of a text with several, such as an error log, the first is read, and where
/// it has no SEMAPHORES section the waits that the text tells elsewhere.
pub fn parse(text: &str) -> InnodbStatus {
    let text = redact::unescaped(text);
    let mut status = InnodbStatus::default();
    let mut transactions = Transactions::new(prints_hex_numbers(&text));
    let mut section_waits = Waits::default();
    let mut other_waits = Waits::default();
    let mut has_begun = false;
    let mut has_semaphores = false;
    for line in Lines::new(&text) {
        // The rest of its number may be cut off.
        if has_begun && line.is_last && line.stem.ends_with(|c: char| c.is_ascii_digit()) {
            break;
        }
        if line.kind == Kind::Own {
            if is_monitor_start(line.stem) {
                if has_begun {
                    break;
                }
                has_begun = true;
                status.complete = false;
                status.taken = Some(date_and_time(line.stem));
            }
            status.complete |= is_monitor_end(line.stem);
            if let Some(seconds) =
                numbers::u64_after(line.stem, "averages calculated from the last ")
            {
                status.averaged_seconds = status.averaged_seconds.or(Some(seconds));
            }
            semaphores::read_counters(&mut status.semaphores, line.stem);
            let waits = match line.section {
                Section::Semaphores => &mut section_waits,
                _ => &mut other_waits,
            };
            waits.read(line.stem);
        }
        has_semaphores |= line.section == Section::Semaphores;
        latest_deadlock(&mut status.latest_deadlock, &line);
        transactions.read(&line);
        resources::read(&mut status, &line);
    }
    transactions.finish();
    let waits = if has_semaphores {
        section_waits
    } else {
        other_waits
    };
    status.semaphore_waits = waits.finish();
    status.semaphores.listed |= !status.semaphore_waits.is_empty();
    for wait in &mut status.semaphore_waits {
        name_connections(wait, &transactions);
    }
    status.transactions = transactions.summary;
    status.lock_waits = transactions.lock_waits;
    status.blockers = transactions.blockers;
    status.active = transactions.active;
    status
}

/// Says which connections wait for, and hold, a latch: the transactions name the operating system
/// threads that serve them.
fn name_connections(wait: &mut SemaphoreWait, transactions: &Transactions) {
    let client = |thread: &str| {
        numbers::os_thread(thread).and_then(|thread| transactions.clients.get(&thread))
    };
    wait.connection_id = client(&wait.thread).and_then(|client| client.connection_id);
    if let Some(holder) = wait.holder_thread.as_deref().and_then(client) {
        wait.holder_connection_id = holder.connection_id;
        wait.holder_query.clone_from(&holder.query);
    }
}

fn latest_deadlock(deadlock: &mut LatestDeadlock, line: &Line<'_>) {
    if line.section != Section::Deadlock {
        return;
    }
    deadlock.seen = true;
    if line.kind == Kind::Own && deadlock.taken.is_none() && starts_with_date(line.stem) {
        deadlock.taken = Some(date_and_time(line.stem));
    }
}

/// Its first two words.
fn date_and_time(stem: &str) -> String {
    let mut words = stem.split_whitespace();
    [words.next(), words.next()]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The servers before 5.6 write dates as `120906`, and of those the ones that print a transaction
/// number as one word print it in hexadecimal.
fn prints_hex_numbers(text: &str) -> bool {
    text.lines()
        .map(stem)
        .find(|stem| is_monitor_start(stem))
        .is_some_and(|stem| stem.bytes().take_while(u8::is_ascii_digit).count() == 6)
}
