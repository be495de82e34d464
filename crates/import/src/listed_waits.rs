//! Waits with their amounts, one a line, as consoles and people list them: `io/redo_log_flush   88.10`. A mention has no
//! amount, so that what hardly anybody waits for would speak as loud as what nearly all wait for.

use lexicon::{Entry, Kind, Lexicon};

use crate::line::Line;

/// A wait with a smaller share of the largest one tells nothing beside it.
const SHARE_MIN: f64 = 0.1;

/// What parts columns.
const RULES: [&str; 6] = ["|", "│", "-", "*", "=", ":"];

/// What stands around a name or a number.
const AROUND: &[char] = &['`', '"', '\'', ',', ':', ';', '%'];

/// One of the list.
pub(crate) struct Wait {
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
        self.take_mutex(line) || self.push(line, of_instrument(line.trimmed()))
    }

    /// Whether the line is a row of InnoDB's mutexes.
    pub(crate) fn take_mutex(&mut self, line: &Line<'_>) -> bool {
        self.push(line, of_mutex(line.trimmed()))
    }

    fn push(&mut self, line: &Line<'_>, found: Option<(&'static Entry, &str, f64)>) -> bool {
        let wait = |(entry, name, amount): (&'static Entry, &str, f64)| Wait {
            entry,
            name: name.to_owned(),
            line: line.number,
            amount,
        };
        self.0.extend(found.map(wait));
        found.is_some()
    }

    /// Those that tell something. What has no meaning of its own in prose has one in a list of mutexes.
    pub(crate) fn telling(self) -> impl Iterator<Item = Wait> {
        let least = [true, false].map(|instruments| self.least(instruments));
        let waits = self.0.into_iter();
        waits.filter(move |one| {
            let [instrument, mutex] = least;
            match one.is_instrument() {
                true => one.entry.is_strong && one.amount >= instrument,
                false => one.amount >= mutex,
            }
        })
    }

    /// What is less tells nothing beside others of its list.
    fn least(&self, instruments: bool) -> f64 {
        let list = self.0.iter();
        let list = list.filter(|one| one.is_instrument() == instruments);
        SHARE_MIN * list.map(|one| one.amount).fold(0.0, f64::max)
    }
}

impl Wait {
    /// It is of performance_schema, whose amounts are times; those of mutexes are numbers.
    fn is_instrument(&self) -> bool {
        self.entry.kind == Kind::Instrument
    }
}

/// The numbers of the lines whose waits tell nothing beside others.
pub(crate) fn little<'l>(lines: impl Iterator<Item = &'l Line<'l>>) -> Vec<usize> {
    let mut waits = ListedWaits::default();
    for line in lines {
        waits.take(line);
    }
    let [instrument, mutex] = [true, false].map(|instruments| waits.least(instruments));
    let little = waits.0.iter().filter(|one| match one.is_instrument() {
        true => one.amount < instrument,
        false => one.amount < mutex,
    });
    little.map(|one| one.line).collect()
}

fn of_instrument(text: &str) -> Option<(&'static Entry, &str, f64)> {
    let (name, amount) = name_and_amount(text)?;
    let entry = Lexicon::get().lookup(Kind::Instrument, name)?;
    Some((entry, name, amount))
}

/// A row of `SHOW ENGINE INNODB MUTEX`: `InnoDB  rwlock: btr0sea.cc:202  waits=91`, `InnoDB  mutex: TRX_SYS
/// spins=4,waits=2,calls=9`, `InnoDB | &kernel_mutex | os_waits=3`.
fn of_mutex(text: &str) -> Option<(&'static Entry, &str, f64)> {
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
        let latch = lexicon
            .lookup(Kind::Latch, name)
            .map(|entry| (entry, name, amount));
        latch.or_else(|| Some((lexicon.lookup(Kind::Place, file)?, file, amount)))
    })
}

/// A path that is no file's, with a number behind it or in front of it, and nothing else.
fn name_and_amount(text: &str) -> Option<(&str, f64)> {
    if !text.contains('/') {
        return None;
    }
    let words = text.split_whitespace();
    let mut words = words.filter(|word| !RULES.contains(word));
    let (first, second) = (words.next()?, words.next()?);
    if words.next().is_some() {
        return None;
    }
    let (name, amount) = match (number(first), number(second)) {
        (None, Some(amount)) => (first, amount),
        (Some(amount), None) => (second, amount),
        _ => return None,
    };
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
