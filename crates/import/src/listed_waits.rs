//! Waits with their amounts, or of one thread each, one a line, as consoles and people list them: `io/redo_log_flush   88.10`. A mention has no
//! amount, so that what hardly anybody waits for would speak as loud as what nearly all wait for.

use std::collections::HashMap;

use lexicon::{Entry, Kind, Lexicon};

use crate::line::Line;

/// A wait with a smaller share of the largest one tells nothing beside it.
const SHARE_MIN: f64 = 0.1;

/// The same of threads: few are in a list.
const THREADS_SHARE_MIN: f64 = 0.25;

/// The layer of waits for clients, in which most threads of any server are.
const AT_REST: &str = "client-network";

/// What parts the fields of a table's row, and how many it has at least.
const FIELDS: [char; 3] = ['\t', '|', ','];
const FIELDS_MIN: usize = 4;

/// What parts columns.
const RULES: [&str; 6] = ["|", "│", "-", "*", "=", ":"];

/// What stands around a name or a number.
const AROUND: &[char] = &['`', '"', '\'', ',', ':', ';', '%'];

/// System calls in which threads rest until somebody wants something: they have much time on any server.
const RESTING: [&str; 10] = [
    "clock_nanosleep",
    "epoll_wait",
    "futex",
    "io_getevents",
    "nanosleep",
    "poll",
    "ppoll",
    "recvfrom",
    "restart_syscall",
    "select",
];

/// What the amounts of a list are: those of one are not those of another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    /// Time in waits of performance_schema, or sessions in them.
    Instruments,
    /// Numbers of waits, of `SHOW ENGINE INNODB MUTEX`.
    Mutexes,
    /// Shares of the time in system calls, of `strace -c`.
    Calls,
    /// Rows of what threads wait for, of `events_waits_current`: each counts once.
    Threads,
}

/// A name with its meaning and amount.
type Found<'t> = (List, &'static Entry, &'t str, f64);

/// One of the list.
pub(crate) struct Wait {
    list: List,
    pub(crate) entry: &'static Entry,
    /// As it stands there.
    pub(crate) name: String,
    /// The number of its line.
    pub(crate) line: usize,
    amount: f64,
}

/// Those of one text. Names that somebody tells of without an amount are none.
#[derive(Default)]
pub(crate) struct ListedWaits(Vec<Wait>);

impl ListedWaits {
    /// Whether the line is one.
    pub(crate) fn take(&mut self, line: &Line<'_>) -> bool {
        let text = line.trimmed();
        let found = of_mutex(text).or_else(|| of_call(text));
        let found = found.or_else(|| of_instrument(text));
        self.push(line, found.or_else(|| of_thread(text)))
    }

    /// Whether the line is a row of InnoDB's mutexes.
    pub(crate) fn take_mutex(&mut self, line: &Line<'_>) -> bool {
        self.push(line, of_mutex(line.trimmed()))
    }

    fn push(&mut self, line: &Line<'_>, found: Option<Found<'_>>) -> bool {
        let Some((list, entry, name, amount)) = found else {
            return false;
        };
        self.0.push(Wait {
            list,
            entry,
            name: name.to_owned(),
            line: line.number,
            amount,
        });
        true
    }

    /// Those that tell something. What has no meaning of its own in prose has one in a list of mutexes or system calls.
    pub(crate) fn telling(self) -> impl Iterator<Item = Wait> {
        let little = self.little();
        let waits = self.0.into_iter();
        waits.filter(move |one| match one.list {
            _ if little.contains(&one.line) => false,
            List::Instruments | List::Threads => one.entry.is_strong,
            List::Mutexes => true,
            List::Calls => !RESTING.contains(&one.name.as_str()),
        })
    }

    /// The numbers of the lines whose amounts tell nothing beside others of their list.
    fn little(&self) -> Vec<usize> {
        let mut threads: HashMap<&str, f64> = HashMap::new();
        for one in self.0.iter().filter(|one| one.list == List::Threads) {
            *threads.entry(&one.name).or_default() += one.amount;
        }
        let amount = |one: &Wait| match one.list {
            List::Threads => threads.get(one.name.as_str()).copied().unwrap_or(0.0),
            _ => one.amount,
        };
        let most = |list: List| {
            let of_list = self.0.iter().filter(|one| one.list == list);
            let busy = of_list.filter(|one| list != List::Threads || one.entry.layer != AT_REST);
            busy.map(amount).fold(0.0, f64::max)
        };
        let least = [
            SHARE_MIN * most(List::Instruments),
            SHARE_MIN * most(List::Mutexes),
            SHARE_MIN * most(List::Calls),
            THREADS_SHARE_MIN * most(List::Threads),
        ];
        let is_little = |one: &&Wait| {
            let [instruments, mutexes, calls, threads] = least;
            amount(one)
                < match one.list {
                    List::Instruments => instruments,
                    List::Mutexes => mutexes,
                    List::Calls => calls,
                    List::Threads => threads,
                }
        };
        let little = self.0.iter().filter(is_little);
        little.map(|one| one.line).collect()
    }
}

/// The numbers of the lines whose waits tell nothing beside others.
pub(crate) fn little<'l>(lines: impl Iterator<Item = &'l Line<'l>>) -> Vec<usize> {
    let mut waits = ListedWaits::default();
    for line in lines {
        waits.take(line);
    }
    waits.little()
}

fn of_instrument(text: &str) -> Option<Found<'_>> {
    let (name, amount) = name_and_amount(text)?;
    let entry = Lexicon::get().lookup(Kind::Instrument, name)?;
    Some((List::Instruments, entry, name, amount))
}

/// A row of `SHOW ENGINE INNODB MUTEX`: `InnoDB  rwlock: btr0sea.cc:202  waits=91`, `InnoDB  mutex: TRX_SYS
/// spins=4,waits=2,calls=9`, `InnoDB | &kernel_mutex | os_waits=3`.
fn of_mutex(text: &str) -> Option<Found<'_>> {
    let (before, waits) = text.split_once("waits=")?;
    let (_, row) = before.split_once("InnoDB")?;
    let end = waits.find(|c: char| !c.is_ascii_digit());
    let amount: f64 = waits.get(..end.unwrap_or(waits.len()))?.parse().ok()?;
    let lexicon = Lexicon::get();
    let words = row.split(|c: char| c.is_whitespace() || c == '|');
    // `mutex:`, `rwlock:`.
    let mut names = words.filter(|word| !word.ends_with(':'));
    names.find_map(|word| {
        let name = word.trim_start_matches('&');
        // Older servers print the whole path of the file.
        let file = name.rsplit('/').next().unwrap_or(name);
        let file = file.split(':').next().unwrap_or(file);
        let found = |name, entry| (List::Mutexes, entry, name, amount);
        let latch = lexicon.lookup(Kind::Latch, name);
        let latch = latch.map(|entry| found(name, entry));
        latch.or_else(|| Some(found(file, lexicon.lookup(Kind::Place, file)?)))
    })
}

/// A row of what threads wait for: `41  9120  wait/synch/mutex/innodb/trx_sys_mutex  trx0sys.ic:12  120331  lock`.
fn of_thread(text: &str) -> Option<Found<'_>> {
    let is_parting = |c: &&char| text.matches(**c).count() + 1 >= FIELDS_MIN;
    let parting = FIELDS.iter().find(is_parting)?;
    let fields = text
        .split(*parting)
        .map(|field| field.trim_matches(AROUND).trim());
    let numbers = fields.clone().filter(|field| field.parse::<u64>().is_ok());
    let mut names = fields.filter(|field| field.contains('/') && !field.starts_with('/'));
    let name = names.next().filter(|_| numbers.count() >= 2)?;
    let entry = Lexicon::get().lookup(Kind::Instrument, name)?;
    Some((List::Threads, entry, name, 1.0))
}

/// A row of `strace -c`: ` 51.20   25.600000         120    212033        12 munmap`.
fn of_call(text: &str) -> Option<Found<'_>> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let [share, seconds, counts @ .., name] = words.as_slice() else {
        return None;
    };
    let is_row = (2..=3).contains(&counts.len())
        && counts.iter().all(|count| count.parse::<u64>().is_ok())
        && seconds.parse::<f64>().is_ok();
    let amount: f64 = share.parse().ok().filter(|_| is_row)?;
    let entry = Lexicon::get().lookup(Kind::Function, name)?;
    Some((List::Calls, entry, *name, amount))
}

/// A path that is no file's, with numbers behind it or in front of it, and nothing else. Of several the largest is the
/// amount: how often, how long in all, and how long once.
fn name_and_amount(text: &str) -> Option<(&str, f64)> {
    if !text.contains('/') {
        return None;
    }
    let separator: fn(char) -> bool = match text.contains(char::is_whitespace) {
        true => char::is_whitespace,
        false => |c| c == ',' || c == ';',
    };
    let words = text.split(separator);
    let (mut name, mut amount): (Option<&str>, Option<f64>) = (None, None);
    for word in words.filter(|word| !word.is_empty() && !RULES.contains(word)) {
        match number(word) {
            Some(number) => amount = Some(amount.unwrap_or(number).max(number)),
            None if name.is_none() => name = Some(word),
            None => return None,
        }
    }
    let (name, amount) = name.zip(amount)?;
    let name = name.trim_matches(AROUND);
    (name.contains('/') && !name.starts_with('/')).then_some((name, amount))
}

/// `1,402.2`, `88.1%`; of `88,1` only its relation to others of the list is right.
fn number(word: &str) -> Option<f64> {
    let word = word.trim_matches(AROUND);
    let is_number = word.starts_with(|c: char| c.is_ascii_digit());
    let number: f64 = word.replace(',', "").parse().ok()?;
    (is_number && number.is_finite()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    fn telling(text: &str) -> Vec<String> {
        let mut waits = ListedWaits::default();
        for line in &clean::lines(text) {
            waits.take(line);
        }
        waits.telling().map(|one| one.name).collect()
    }

    #[test]
    fn what_hardly_anybody_waits_for_tells_nothing() {
        let list = "wait/io/redo_log_flush                             88.10\n\
            wait/synch/cond/sql/MYSQL_BIN_LOG::COND_done       41.77\n\
            CPU                                                12.02\n\
            wait/io/table/sql/handler                           3.40\n\
            wait/synch/mutex/innodb/trx_sys_mutex               0.31\n";
        let told = [
            "wait/io/redo_log_flush",
            "wait/synch/cond/sql/MYSQL_BIN_LOG::COND_done",
        ];
        assert_eq!(telling(list), told);
        // The number in front, with separators.
        let counted =
            "1,402.2 synch/mutex/innodb/trx_sys_mutex\n61.0 synch/sxlock/innodb/hash_table_locks\n";
        assert_eq!(telling(counted), ["synch/mutex/innodb/trx_sys_mutex"]);
        let percents = "* `io/redo_log_flush`: 61%\n* `synch/mutex/innodb/trx_sys_mutex`: 30%\n";
        assert_eq!(
            telling(percents),
            ["io/redo_log_flush", "synch/mutex/innodb/trx_sys_mutex"]
        );
    }

    #[test]
    fn of_mutexes_those_with_most_waits_tell() {
        let list = "InnoDB\trwlock: dict0dict.cc:1040\twaits=12\n\
            InnoDB\trwlock: btr0sea.cc:202\twaits=9120331\n\
            InnoDB\tsum rwlock: buf0buf.cc:790\twaits=91203\n";
        assert_eq!(telling(list), ["btr0sea.cc"]);
        let list = "InnoDB\tmutex: TRX_SYS\tspins=441209,waits=9912033,calls=81203\n\
            InnoDB\tmutex: LOCK_SYS\tspins=88120331,waits=31,calls=912\n";
        assert_eq!(telling(list), ["TRX_SYS"]);
        let list = "| InnoDB | &kernel_mutex | os_waits=8120331 |\n\
            | InnoDB | ../../../storage/innobase/trx/trx0rseg.c:145 | os_waits=120 |\n";
        assert_eq!(telling(list), ["kernel_mutex"]);
        // Its times are no numbers of waits.
        let both = "InnoDB\trwlock: btr0sea.cc:202\twaits=9120331\nwait/io/redo_log_flush 88.10\n";
        assert_eq!(telling(both), ["btr0sea.cc", "wait/io/redo_log_flush"]);
        assert!(telling("InnoDB waits=5 of nobody").is_empty());
    }

    #[test]
    fn of_several_numbers_the_largest_is_the_amount() {
        let csv = "EVENT_NAME,COUNT_STAR,SUM_TIMER_WAIT\n\
            wait/synch/sxlock/innodb/btr_search_latch,9120331,412033112033\n\
            wait/synch/mutex/innodb/trx_sys_mutex,912033112,12033112\n";
        assert_eq!(telling(csv), ["wait/synch/sxlock/innodb/btr_search_latch"]);
        let boxed = "| wait/synch/sxlock/innodb/btr_search_latch | 9120331 | 4120.3 | 0.4 |\n\
            | wait/synch/mutex/innodb/trx_sys_mutex     |      31 |    0.1 | 0.1 |\n";
        assert_eq!(
            telling(boxed),
            ["wait/synch/sxlock/innodb/btr_search_latch"]
        );
    }

    #[test]
    fn of_threads_what_most_wait_for_tells() {
        let row = |number: u32, name: &str| {
            format!(
                "{number}\t{}\t{name}\tfile.cc:12\t120331\tlock\n",
                7 * number
            )
        };
        let mut list =
            String::from("THREAD_ID\tEVENT_ID\tEVENT_NAME\tSOURCE\tTIMER_WAIT\tOPERATION\n");
        for number in 0..9 {
            list += &row(number, "wait/synch/mutex/sql/LOCK_table_cache");
        }
        list += &row(10, "wait/synch/mutex/innodb/redo_rseg_mutex");
        for number in 20..70 {
            list += &row(number, "wait/io/socket/sql/client_connection");
        }
        let told = telling(&list);
        assert!(
            told.contains(&"wait/synch/mutex/sql/LOCK_table_cache".to_owned()),
            "{told:?}"
        );
        assert!(
            !told.iter().any(|one| one.contains("redo_rseg")),
            "{told:?}"
        );
        assert_eq!(telling(&list.replace('\t', ",")), told);
        assert_eq!(telling(&list.replace('\t', " | ")), told);
    }

    #[test]
    fn of_system_calls_those_with_most_of_the_time_tell() {
        let list = "% time     seconds  usecs/call     calls    errors syscall\n\
            ------ ----------- ----------- --------- --------- ----------------\n\
            51.20   25.600000         120    212033           munmap\n\
            40.10   20.050000         201     91203       912 futex\n\
            8.10    4.050000          71    147887           mmap\n\
            0.60    0.300000           9    388888           recvfrom\n\
            ------ ----------- ----------- --------- --------- ----------------\n\
            100.00   50.000000                840011       912 total\n";
        assert_eq!(telling(list), ["munmap", "mmap"]);
    }

    #[test]
    fn files_and_sentences_are_no_list() {
        for text in [
            "4711 ./var/lib/mysql/shop/orders.ibd",
            "/io/redo_log_flush 88",
            "most wait in io/redo_log_flush since 12",
            "io/redo_log_flush",
            "io/redo_log_flush nan",
        ] {
            assert!(telling(text).is_empty(), "{text}");
        }
    }
}
