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
        let Some((name, amount)) = name_and_amount(line.trimmed()) else {
            return false;
        };
        let Some(entry) = Lexicon::get().lookup(Kind::Instrument, name) else {
            return false;
        };
        self.0.push(Wait {
            entry,
            name: name.to_owned(),
            line: line.number,
            amount,
        });
        true
    }

    /// Those that tell something.
    pub(crate) fn telling(self) -> impl Iterator<Item = Wait> {
        let least = self.least();
        let waits = self.0.into_iter();
        waits.filter(move |one| one.entry.is_strong && one.amount >= least)
    }

    /// What is less tells nothing.
    fn least(&self) -> f64 {
        let amounts = self.0.iter().map(|one| one.amount);
        SHARE_MIN * amounts.fold(0.0, f64::max)
    }
}

/// The numbers of the lines whose waits tell nothing beside others.
pub(crate) fn little<'l>(lines: impl Iterator<Item = &'l Line<'l>>) -> Vec<usize> {
    let mut waits = ListedWaits::default();
    for line in lines {
        waits.take(line);
    }
    let least = waits.least();
    let little = waits.0.iter().filter(|one| one.amount < least);
    little.map(|one| one.line).collect()
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
