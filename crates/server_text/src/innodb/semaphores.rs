//! Threads that wait for a mutex or a latch, in the SEMAPHORES section and in error logs.
//!
//! What is read is kept as it is read, so each part of a wait has a form of its own: people note behind such a line whose
//! thread that is, and a line of somebody's may begin like one of these.

use model::SemaphoreWait;

use super::forms::{is_of_latch, is_source_file, stem};
use super::numbers::{leading_f64, leading_u64, u64_after};
use super::status::{SemaphoreCounters, SpinCounters};
use crate::error_log::is_message_word;

/// Most waits that are read from one text: more than a status of 1 MiB can hold.
pub const SEMAPHORE_WAITS_MAX: usize = 20_000;

/// What a wait is for. The end of one may be another's.
const LOCK_KINDS: [&str; 4] = ["X-lock (wait_ex)", "SX-lock", "X-lock", "S-lock"];

/// How a latch is held for writing.
const HOLDER_MODES: [&str; 3] = ["wait exclusive", "exclusive", "SX"];

/// Longest name of a thread, an address, a file and a latch, in bytes.
const WORD_BYTES_MAX: usize = 300;

/// Every semaphore wait in `text`, which may be a status or any log, in its order, at most
/// [`SEMAPHORE_WAITS_MAX`].
pub fn semaphore_waits(text: &str) -> Vec<SemaphoreWait> {
    let mut waits = Waits::default();
    for line in text.lines() {
        waits.read(stem(line));
    }
    waits.finish()
}

/// Reads waits from lines.
#[derive(Default)]
pub(super) struct Waits {
    found: Vec<SemaphoreWait>,
    open: Option<SemaphoreWait>,
}

impl Waits {
    /// Reads one line without its log prefix.
    pub(super) fn read(&mut self, stem: &str) {
        if let Some(wait) = start_wait(stem).or_else(|| mariadb_wait(stem)) {
            self.close();
            self.open = Some(wait);
        } else if let Some(wait) = &mut self.open
            && !detail(wait, stem)
        {
            self.close();
        }
    }

    /// The waits that were read.
    pub(super) fn finish(mut self) -> Vec<SemaphoreWait> {
        self.close();
        self.found
    }

    fn close(&mut self) {
        if let Some(wait) = self.open.take()
            && self.found.len() < SEMAPHORE_WAITS_MAX
        {
            self.found.push(wait);
        }
    }
}

/// `--Thread 1 has waited at btr/btr0cur.c line 443 for 0.0000 seconds the semaphore:`
fn start_wait(stem: &str) -> Option<SemaphoreWait> {
    let (thread, rest) = stem
        .strip_prefix("--Thread ")?
        .split_once(" has waited at ")?;
    let (place, rest) = rest.rsplit_once(" for ")?;
    let (seconds, rest) = rest.split_once(" seconds the semaphore")?;
    let (file, line) = file_and_line(place)?;
    (rest.is_empty() || rest == ":").then_some(())?;
    Some(SemaphoreWait {
        thread: thread_id(thread).unwrap_or_default(),
        file,
        line,
        seconds: leading_f64(seconds)?,
        ..SemaphoreWait::default()
    })
}

/// `Long wait (120 seconds) for dict_sys.latch`: MariaDB from 10.6 on has no wait array; these
/// two waits are watched one by one (`srv0srv.cc`, `srv_monitor_task()`; `buf0dblwr.cc`).
fn mariadb_wait(stem: &str) -> Option<SemaphoreWait> {
    let words = stem.strip_prefix("InnoDB: ").unwrap_or(stem);
    let rest = words.strip_prefix("Long wait (")?;
    let (seconds, name) = rest.split_once(" seconds) for ")?;
    Some(SemaphoreWait {
        seconds: seconds.parse::<u32>().ok()?.into(),
        lock_kind: "Latch".to_owned(),
        lock_name: words_of_latch(name),
        ..SemaphoreWait::default()
    })
}

/// `dict_sys.latch`, `double-write buffer flush`: words of the server, up to one that is none.
fn words_of_latch(text: &str) -> Option<String> {
    let end = text.find(|c: char| !(is_of_latch(c) || c == ' '));
    let text = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    let is_servers = |word: &&str| {
        let mut parts = word.split(['.', '-', '_', '>']);
        word.len() <= WORD_BYTES_MAX && parts.all(|part| part.is_empty() || is_message_word(part))
    };
    let words: Vec<&str> = text.split(' ').take_while(is_servers).collect();
    let name = words.join(" ");
    let name = name.trim_end_matches(['.', ' ']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// A number of a thread, or an address: its digits.
fn thread_id(text: &str) -> Option<String> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric());
    let id = text.get(..end.unwrap_or(text.len()))?;
    let digits = id.strip_prefix("0x").unwrap_or(id);
    let is_id = (1..=20).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_id.then(|| id.to_owned())
}

fn latch(name: &str) -> Option<String> {
    let is_name = (1..=WORD_BYTES_MAX).contains(&name.len()) && name.chars().all(is_of_latch);
    is_name.then(|| name.to_owned())
}

/// A file of the sources, with the folders that it was built in.
fn source_file(text: &str) -> Option<String> {
    is_source_file(text).then(|| text.to_owned())
}

/// Reads one of the lines that follow; `false` when it is none.
fn detail(wait: &mut SemaphoreWait, stem: &str) -> bool {
    if let Some(rest) = stem.strip_prefix("Mutex at ") {
        wait.lock_kind = "Mutex".to_owned();
        lock(wait, rest);
    } else if let Some((kind, rest)) = stem.split_once(" on RW-latch at ") {
        let known = LOCK_KINDS.iter().find(|known| kind.ends_with(**known));
        wait.lock_kind = known.map_or_else(String::new, |known| (*known).to_owned());
        lock(wait, rest);
    } else if let Some(rest) = stem.strip_prefix("a writer (thread id ") {
        wait.holder_thread = rest.split_once(')').and_then(|(id, _)| thread_id(id));
        let mode = stem.split_once(" has reserved it in mode ");
        let known = |mode: &str| {
            let mut modes = HOLDER_MODES.iter();
            modes.find(|known| mode.trim_start().starts_with(**known))
        };
        let known = mode.and_then(|(_, mode)| known(mode));
        wait.holder_mode = known.map(|known| (*known).to_owned());
    } else if let Some(rest) = stem.strip_prefix("Holder thread ") {
        // MariaDB 10.0 and 10.1; 0 when nobody has it.
        let id = rest.split(' ').next().filter(|id| *id != "0");
        wait.holder_thread = wait.holder_thread.take().or(id.and_then(thread_id));
    } else if let Some(rest) = stem.strip_prefix("number of readers ") {
        wait.readers = leading_u64(rest);
    } else if let Some(rest) = stem.strip_prefix("Last time read locked in file ") {
        wait.last_read_locked = source_position(rest);
    } else if let Some(rest) = stem.strip_prefix("Last time write locked in file ") {
        wait.last_write_locked = source_position(rest);
    } else if let Some(rest) = stem.strip_prefix("Last time reserved in file ") {
        wait.last_reserved = source_position(rest.split(',').next().unwrap_or(rest));
    } else if stem == "wait has ended" || stem == "wait is ending" {
        wait.ended = true;
    } else {
        // From 5.7 on an empty line follows a mutex.
        return stem.is_empty() || stem.starts_with("waiters flag ");
    }
    true
}

/// `0x1f3c7d8 '&kernel_mutex', lock var 0`; `0x20e4b90 created file sync0sync.cc line 1472, lock
/// var 1`; `0x7f…, Mutex DICT_SYS created dict0dict.cc:1173, lock var 1`; `0x2a… created in file
/// buf/buf0buf.c line 550`; `0x7f… '&block->lock'`.
fn lock(wait: &mut SemaphoreWait, text: &str) {
    let text = text.split(", lock var").next().unwrap_or(text);
    let (address, rest) = text
        .split_once([' ', ','])
        .map_or((text, ""), |(address, rest)| (address, rest.trim_start()));
    wait.lock_address = thread_id(address);
    if let Some((name, _)) = rest
        .strip_prefix('\'')
        .and_then(|rest| rest.split_once('\''))
    {
        wait.lock_name = latch(name);
        return;
    }
    if let Some(place) = ["created in file ", "created file "]
        .iter()
        .find_map(|start| rest.strip_prefix(start))
    {
        (wait.created_file, wait.created_line) = file_and_line(place).unzip();
        return;
    }
    if let Some((name, created)) = rest
        .strip_prefix("Mutex ")
        .and_then(|rest| rest.split_once(" created "))
    {
        wait.lock_name = latch(name);
        let (created, holder) = created
            .split_once(", locked by ")
            .map_or((created, None), |(created, holder)| (created, Some(holder)));
        wait.holder_thread = holder.and_then(|id| thread_id(id.trim()));
        if let Some((file, line)) = created.trim().rsplit_once(':') {
            wait.created_file = source_file(file);
            wait.created_line = leading_u32(line);
        }
    }
}

/// `btr/btr0cur.c line 443`
fn file_and_line(text: &str) -> Option<(String, u32)> {
    let (file, line) = text.split_once(" line ")?;
    Some((source_file(file)?, leading_u32(line)?))
}

fn leading_u32(text: &str) -> Option<u32> {
    u32::try_from(leading_u64(text)?).ok()
}

/// A place where a lock was taken, unless it never was.
fn source_position(text: &str) -> Option<String> {
    let (file, line) = file_and_line(text.trim())?;
    Some(format!("{file} line {line}"))
}

/// Reads the counters of the section from one of its lines.
pub(super) fn read_counters(counters: &mut SemaphoreCounters, stem: &str) {
    if let Some(rest) = stem.strip_prefix("OS WAIT ARRAY INFO: ") {
        counters.listed = true;
        // One line for each of `innodb_sync_array_size` arrays.
        add(
            &mut counters.reservation_count,
            u64_after(rest, "reservation count "),
        );
        add(&mut counters.signal_count, u64_after(rest, "signal count "));
        return;
    }
    // Up to the InnoDB plugin two kinds stand in one line.
    for part in stem.split("; ") {
        let kind = if part.starts_with("Mutex spin waits ") {
            &mut counters.mutex
        } else if part.starts_with("RW-shared spins ") {
            &mut counters.rw_shared
        } else if part.starts_with("RW-excl spins ") {
            &mut counters.rw_excl
        } else if part.starts_with("RW-sx spins ") {
            &mut counters.rw_sx
        } else {
            return;
        };
        *kind = SpinCounters {
            spins: u64_after(part, "spins ").or_else(|| u64_after(part, "spin waits ")),
            rounds: u64_after(part, "rounds "),
            os_waits: u64_after(part, "OS waits "),
        };
    }
}

fn add(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> SemaphoreWait {
        let mut waits = semaphore_waits(text);
        assert_eq!(waits.len(), 1, "{text}");
        waits.remove(0)
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn mutex_by_name() {
        let wait = one(
            "--Thread 140 has waited at trx/trx0trx.c line 807 for 1.5000 seconds the semaphore:\n\
                        Mutex at 0x1f3c7d8 '&kernel_mutex', lock var 0\n\
                        waiters flag 1\n",
        );
        assert_eq!(
            wait,
            SemaphoreWait {
                thread: "140".to_owned(),
                file: "trx/trx0trx.c".to_owned(),
                line: 807,
                seconds: 1.5,
                lock_kind: "Mutex".to_owned(),
                lock_name: some("&kernel_mutex"),
                lock_address: some("0x1f3c7d8"),
                ..SemaphoreWait::default()
            }
        );
    }

    #[test]
    fn mutex_by_the_place_that_created_it() {
        let wait = one(
            "--Thread 14 has waited at sync0rw.cc line 297 for 243.00 seconds the semaphore:\n\
                        Mutex at 0x20e4b90 created file sync0sync.cc line 1472, lock var 1\n\
                        Last time reserved in file sync0rw.cc line 12, waiters flag 1\n\
                        wait has ended\n",
        );
        assert_eq!(wait.lock_kind, "Mutex");
        assert_eq!(wait.lock_name, None);
        assert_eq!(wait.created_file, some("sync0sync.cc"));
        assert_eq!(wait.created_line, Some(1472));
        assert_eq!(wait.last_reserved, some("sync0rw.cc line 12"));
        assert!(wait.ended);
    }

    #[test]
    fn mutex_by_both_from_5_7_on() {
        let wait = one(
            "--Thread 14 has waited at row0mysql.cc line 4 for 0 seconds the semaphore:\n\
                        Mutex at 0x7f12, Mutex DICT_SYS created dict0dict.cc:1173, locked by 15, lock var 1\n\
                        \n\
                        wait is ending\n",
        );
        assert_eq!(wait.lock_name, some("DICT_SYS"));
        assert_eq!(wait.created_file, some("dict0dict.cc"));
        assert_eq!(wait.created_line, Some(1173));
        assert_eq!(wait.holder_thread, some("15"));
        assert!(wait.ended);
    }

    #[test]
    fn latches_in_all_modes() {
        for (kind, mode) in [
            ("S-lock", "exclusive"),
            ("X-lock", "exclusive"),
            ("X-lock (wait_ex)", "wait exclusive"),
            ("SX-lock", "SX"),
        ] {
            let wait = one(&format!(
                "--Thread 12 has waited at btr0sea.cc line 1024 for 412.00 seconds the semaphore:\n\
                 {kind} on RW-latch at 0x2aaa created in file btr0sea.cc line 139\n\
                 a writer (thread id 13) has reserved it in mode  {mode}\n\
                 number of readers 2, waiters flag 1, lock_word: 0\n\
                 Last time read locked in file row0sel.cc line 3495\n\
                 Last time write locked in file /build/mysql-5.7.22/btr/btr0sea.cc line 1024\n"
            ));
            assert_eq!(wait.lock_kind, kind);
            assert_eq!(wait.holder_mode, some(mode));
            assert_eq!(wait.holder_thread, some("13"));
            assert_eq!(wait.readers, Some(2));
            assert_eq!(wait.created_line, Some(139));
            assert_eq!(wait.last_read_locked, some("row0sel.cc line 3495"));
            assert_eq!(
                wait.last_write_locked,
                some("/build/mysql-5.7.22/btr/btr0sea.cc line 1024")
            );
        }
    }

    #[test]
    fn latch_by_name_that_nobody_has_taken() {
        let wait = one(
            "--Thread 1 has waited at fsp/fsp0fsp.c line 33 for 9.0000 seconds the semaphore:\n\
                        X-lock on RW-latch at 0x9012 '&space->latch'\n\
                        number of readers 0, waiters flag 0, lock_word: 100000\n\
                        Last time read locked in file not yet reserved line 0\n\
                        Last time write locked in file not yet reserved line 0\n\
                        Holder thread 0 file not yet reserved line 0\n",
        );
        assert_eq!(wait.lock_name, some("&space->latch"));
        assert_eq!(wait.created_file, None);
        assert_eq!(wait.holder_thread, None);
        assert_eq!(
            (wait.last_read_locked, wait.last_write_locked),
            (None, None)
        );
    }

    #[test]
    fn holder_of_mariadb_10_1() {
        let wait = one(
            "--Thread 1 has waited at a.cc line 3 for 9.00 seconds the semaphore:\n\
                        S-lock on RW-latch at 0x9012 '&new_index->lock'\n\
                        Holder thread 77 file btr0cur.cc line 5\n",
        );
        assert_eq!(wait.holder_thread, some("77"));
    }

    #[test]
    fn mariadb_from_10_6_on() {
        let wait = one(
            "2023-03-14 08:27:55 0 [Warning] InnoDB: Long wait (150 seconds) for dict_sys.latch\n",
        );
        assert_eq!(wait.seconds, 150.0);
        assert_eq!(wait.lock_kind, "Latch");
        assert_eq!(wait.lock_name, some("dict_sys.latch"));
        let wait = one("InnoDB: Long wait (30 seconds) for double-write buffer flush.");
        assert_eq!(wait.lock_name, some("double-write buffer flush"));
    }

    #[test]
    fn waits_in_logs_with_their_prefixes() {
        let text = "db_1  | 2018-09-21T06:14:40.05Z 0 [Warning] InnoDB: A long semaphore wait:\n\
                    db_1  | --Thread 5 has waited at row0purge.cc line 862 for 246.00 seconds the semaphore:\n\
                    db_1  | S-lock on RW-latch at 0x30c created in file dict0dict.cc line 1183\n\
                    db_1  | 2018-09-21T06:14:41.05Z 0 [Note] other\n\
                    db_1  | number of readers 7\n\
                    db_1  | --Thread 6 has waited at a.cc line 1 for 242 seconds the semaphore:\r\n";
        let waits = semaphore_waits(text);
        assert_eq!(waits.len(), 2);
        assert_eq!(waits[0].created_line, Some(1183));
        assert_eq!(waits[0].readers, None, "a line of the log ended the wait");
        assert_eq!((waits[1].seconds, waits[1].lock_kind.as_str()), (242.0, ""));
    }

    /// What stands behind and in front of such lines in a ticket.
    #[test]
    fn what_people_note_in_such_lines_is_no_part_of_a_wait() {
        let plain = "--Thread 14 has waited at dict0dict.cc line 1023 for 318.00 seconds the semaphore:\n\
            X-lock on RW-latch at 0x5555 created in file dict0dict.cc line 1081\n\
            a writer (thread id 13) has reserved it in mode  exclusive\n\
            number of readers 0, waiters flag 1\n\
            Last time write locked in file /build/x/dict0dict.cc line 9";
        let mutex = "--Thread 14 has waited at dict0dict.cc line 1023 for 318.00 seconds the semaphore:\n\
            Mutex at 0x7f12, Mutex DICT_SYS created dict0dict.cc:1173, locked by 15, lock var 1";
        let named = "--Thread 14 has waited at a.cc line 3 for 9.00 seconds the semaphore:\n\
            Mutex at 0x1f3c7d8 '&kernel_mutex', lock var 0";
        let young = "InnoDB: Long wait (150 seconds) for dict_sys.latch";
        for text in [plain, mutex, named, young] {
            let whole = semaphore_waits(text);
            for note in [
                " <-- her password is hunter2",
                ", says Alice, hunter2",
                " hunter2",
                "  (hunter2)",
                " 'hunter2'",
            ] {
                for at in 1..text.lines().count().max(2) {
                    let lines = text.lines().enumerate().map(|(line, text)| {
                        let is_it = line == at || text.starts_with("InnoDB");
                        format!("{text}{}\n", if is_it { note } else { "" })
                    });
                    let waits = semaphore_waits(&lines.collect::<String>());
                    let told = format!("{waits:?}");
                    assert!(
                        !told.contains("hunter2") && !told.contains("Alice"),
                        "{told}"
                    );
                    assert_eq!(waits, whole, "{note}, line {at} of {text}");
                }
            }
        }
        let before = plain.replace("X-lock on", "hunter2 of Alice: X-lock on");
        assert_eq!(semaphore_waits(&before), semaphore_waits(plain));
        for text in [
            "--Thread hunter2 of Alice has waited at a.cc line 3 for 9 seconds the semaphore:\n",
            "--Thread 5 has waited at a.cc line 3 for 9 seconds the semaphore:\nhunter2 on RW-latch at hunter2\n\
             a writer (thread id hunter2) has reserved it in mode hunter2\nLast time read locked in file hunter2\n",
            "--Thread 5 has waited at a.cc line 3 for 9 seconds the semaphore:\nMutex at hunter2 'hunter2 of Alice'\n",
            "Long wait (5 seconds) for hunter2",
        ] {
            let told = format!("{:?}", one(text));
            assert!(!told.contains("hunter2"), "{told}");
        }
        for place in [
            "hunter2 of Alice",
            "hunter2",
            "/hunter2/a",
            "hunter2.c.acme",
        ] {
            let text =
                format!("--Thread 5 has waited at {place} line 3 for 9 seconds the semaphore:\n");
            assert_eq!(semaphore_waits(&text), [], "{place}");
        }
        let created = "--Thread 5 has waited at a.cc line 3 for 9 seconds the semaphore:\n\
            X-lock on RW-latch at 0x5555 created in file hunter2 line 5\nLast time read locked in file hunter2 line 9\n";
        assert!(!format!("{:?}", one(created)).contains("hunter2"));
    }

    #[test]
    fn a_wait_cut_in_its_first_line_is_none() {
        let line =
            "--Thread 5 has waited at row0purge.cc line 862 for 246.00 seconds the semaphore";
        for end in 0..line.len() {
            assert_eq!(semaphore_waits(&line[..end]), []);
        }
        assert_eq!(semaphore_waits(line).len(), 1);
    }

    #[test]
    fn counters_of_all_generations() {
        let read = |text: &str| {
            let mut counters = SemaphoreCounters::default();
            for line in text.lines() {
                read_counters(&mut counters, line);
            }
            counters
        };
        let old = read(
            "OS WAIT ARRAY INFO: reservation count 10, signal count 20\n\
             Mutex spin waits 1, rounds 2, OS waits 3\n\
             RW-shared spins 4, OS waits 5; RW-excl spins 6, OS waits 7",
        );
        assert!(old.listed);
        assert_eq!(
            (old.reservation_count, old.signal_count),
            (Some(10), Some(20))
        );
        assert_eq!(
            (old.mutex.spins, old.mutex.rounds, old.mutex.os_waits),
            (Some(1), Some(2), Some(3))
        );
        assert_eq!((old.rw_shared.spins, old.rw_shared.rounds), (Some(4), None));
        assert_eq!(
            (old.rw_excl.spins, old.rw_excl.os_waits),
            (Some(6), Some(7))
        );
        let new = read(
            "OS WAIT ARRAY INFO: reservation count 10\n\
             OS WAIT ARRAY INFO: reservation count 11\n\
             OS WAIT ARRAY INFO: signal count 20\n\
             RW-sx spins 1, rounds 2, OS waits 3\n\
             Spin rounds per wait: 0.00 RW-shared, 0.00 RW-excl, 0.00 RW-sx",
        );
        assert_eq!(new.reservation_count, Some(21));
        assert_eq!(new.rw_sx.os_waits, Some(3));
        assert_eq!(new.mutex, SpinCounters::default());
    }
}
