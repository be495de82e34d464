//! Columns of numbers, as tools of the host print them, and the signals that they become.

use std::borrow::Cow;
use std::collections::HashMap;

use model::{Reading, Unit};

/// A number with a decimal point or comma.
pub(crate) fn number(word: &str) -> Option<f64> {
    if !word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
        return None;
    }
    let value: f64 = match word.contains(',') {
        true => word.replace(',', ".").parse().ok()?,
        false => word.parse().ok()?,
    };
    value.is_finite().then_some(value)
}

pub(crate) fn is_numbers(text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| word.parse::<f64>().is_ok())
}

/// Whether a program of this name is the server, in a listing of processes.
pub(crate) fn is_server_program(name: &str) -> bool {
    ["mysqld", "mariadbd"].contains(&name)
}

/// The names of a table's columns, in their order.
#[derive(Default)]
pub(crate) struct Head<'a>(pub(crate) Vec<&'a str>);

impl<'a> Head<'a> {
    pub(crate) fn parse(text: &'a str) -> Self {
        Self(text.split_whitespace().collect())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains(&name)
    }

    /// The cell of a row below the first column that has one of these names.
    pub(crate) fn cell<T: Copy>(&self, row: &[T], names: &[&str]) -> Option<T> {
        let place = self.0.iter().position(|column| names.contains(column))?;
        row.get(place).copied()
    }
}

/// A word as a part of a signal's name: letters, digits and some other signs, `_` for all the rest.
pub(crate) fn plain(word: &str, chars_max: usize, others: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    let chars = word.chars().take(chars_max);
    chars.map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// What a column becomes: a level, or a counter of a rate a second.
pub(crate) struct Column {
    column: &'static str,
    signal: &'static str,
    unit: Unit,
    factor: f64,
    is_rate: bool,
}

/// A level: what is printed, times a factor.
pub(crate) const fn level(
    column: &'static str,
    signal: &'static str,
    unit: Unit,
    factor: f64,
) -> Column {
    Column {
        column,
        signal,
        unit,
        factor,
        is_rate: false,
    }
}

/// A counter of events: what is printed is so many a second, times a factor.
pub(crate) const fn rate(column: &'static str, signal: &'static str, factor: f64) -> Column {
    Column {
        is_rate: true,
        ..level(column, signal, Unit::Count, factor)
    }
}

/// Leaves out the first row, which is the mean since the machine's start where others follow. It is given back where one row
/// is left: a row tells of the time since the one before it, so that this time begins with it.
pub(crate) fn without_mean<T>(rows: &mut Vec<T>) -> Option<T> {
    let first = (rows.len() > 1).then(|| rows.remove(0));
    first.filter(|_| rows.len() == 1)
}

/// Counters made of what they grew by: rates become counters again, so that they are compared like those of /proc.
#[derive(Default)]
pub(crate) struct Sums(HashMap<Cow<'static, str>, f64>);

impl Sums {
    /// A counter that has grown.
    pub(crate) fn counter(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        unit: Unit,
        grown: f64,
    ) -> Reading {
        let name = name.into();
        let sum = self.0.entry(name.clone()).or_insert(0.0);
        *sum += grown;
        Reading::counter(name, unit, *sum)
    }

    /// What the columns of a row become, of so many seconds; `value` is the number in a column.
    pub(crate) fn readings(
        &mut self,
        columns: &[Column],
        seconds: f64,
        value: impl Fn(&str) -> Option<f64>,
    ) -> Vec<Reading> {
        let mut readings = Vec::new();
        for one in columns {
            let Some(value) = value(one.column) else {
                continue;
            };
            let value = value * one.factor;
            readings.push(match one.is_rate {
                true => self.counter(one.signal, one.unit, value * seconds),
                false => Reading::gauge(one.signal, one.unit, value),
            });
        }
        readings
    }

    /// What the first of the rows is compared with: their rates, as counters that have not grown yet.
    pub(crate) fn begin(
        &mut self,
        columns: &[Column],
        value: impl Fn(&str) -> Option<f64>,
    ) -> Vec<Reading> {
        let mut readings = Vec::new();
        for one in columns {
            if one.is_rate && value(one.column).is_some() {
                readings.push(self.counter(one.signal, one.unit, 0.0));
            }
        }
        readings
    }

    /// What a disk did in so many seconds; `value` is the number in the first of some columns that is there, by the names
    /// that iostat of Linux, FreeBSD and Solaris and sar give them.
    pub(crate) fn disk(
        &mut self,
        disk: &str,
        seconds: f64,
        value: impl Fn(&[&str]) -> Option<f64>,
    ) -> Vec<Reading> {
        let (reads, writes, flushes) = (value(&["r/s"]), value(&["w/s"]), value(&["f/s"]));
        // Solaris has the waiting in front of the disk and in it apart.
        let both = |before: &str, within: &str| Some(value(&[before])? + value(&[within])?);
        // Before sysstat 10 there is one time for reads and writes together, and on Unix but for later FreeBSD.
        let wait = both("wsvc_t", "asvc_t").or_else(|| value(&["await", "svc_t"]));
        let times = |rate: Option<f64>, each: Option<f64>| Some(rate? * each?);
        let bytes = |kib: &[&str], sectors: &[&str], mib: &str| {
            value(kib)
                .map(|kib| kib * 1024.0)
                .or_else(|| value(sectors).map(|sectors| sectors * 512.0))
                .or_else(|| value(&[mib]).map(|mib| mib * 1_048_576.0))
        };
        let read_bytes = bytes(&["rkB/s", "kr/s"], &["rsec/s", "rd_sec/s"], "rMB/s");
        let write_bytes = bytes(&["wkB/s", "kw/s"], &["wsec/s", "wr_sec/s"], "wMB/s");
        let read_ms = times(reads, value(&["r_await", "ms/r"]).or(wait));
        let write_ms = times(writes, value(&["w_await", "ms/w"]).or(wait));
        let busy_ms = value(&["%util", "%b"]).map(|percent| percent * 10.0);
        let flush_ms = times(flushes, value(&["f_await"]));
        let mut readings = Vec::new();
        for (name, unit, rate) in [
            ("reads", Unit::Count, reads),
            ("writes", Unit::Count, writes),
            ("read_bytes", Unit::Bytes, read_bytes),
            ("write_bytes", Unit::Bytes, write_bytes),
            ("read_ms", Unit::Milliseconds, read_ms),
            ("write_ms", Unit::Milliseconds, write_ms),
            ("busy_ms", Unit::Milliseconds, busy_ms),
            ("discards", Unit::Count, value(&["d/s"])),
            ("flushes", Unit::Count, flushes),
            ("flush_ms", Unit::Milliseconds, flush_ms),
        ] {
            let name = format!("disk.{disk}.{name}");
            readings.extend(rate.map(|rate| self.counter(name, unit, rate * seconds)));
        }
        let queue = both("wait", "actv").or_else(|| value(&["aqu-sz", "avgqu-sz", "qlen"]));
        let name = format!("disk.{disk}.in_flight");
        readings.extend(queue.map(|queue| Reading::gauge(name, Unit::Count, queue)));
        readings
    }
}

/// What the processors did, of percents.
pub(crate) fn shares(
    user: Option<f64>,
    system: Option<f64>,
    iowait: Option<f64>,
    steal: Option<f64>,
) -> Vec<Reading> {
    let busy = user.zip(system).map(|(user, system)| user + system);
    [
        ("cpu.user_share", user),
        ("cpu.system_share", system),
        ("cpu.busy_share", busy),
        ("cpu.iowait_share", iowait),
        ("cpu.steal_share", steal),
    ]
    .into_iter()
    .filter_map(|(name, share)| Some(Reading::gauge(name, Unit::Share, share? / 100.0)))
    .collect()
}

/// `Ssl`, `D`, `R+`: the state of a process as ps has it.
pub(crate) fn is_process_state(word: &str) -> bool {
    let mut letters = word.bytes();
    letters
        .next()
        .is_some_and(|state| b"DRSTtZIWX".contains(&state))
        && letters.all(|more| b"<NLsl+".contains(&more))
}

pub(crate) fn first_words<'a, const N: usize>(
    words: &mut impl Iterator<Item = &'a str>,
) -> Option<[&'a str; N]> {
    let mut row = [""; N];
    for cell in &mut row {
        *cell = words.next()?;
    }
    Some(row)
}

pub(crate) fn is_whole(word: &str) -> bool {
    word.parse::<u64>().is_ok()
}

pub(crate) fn is_share(word: &str) -> bool {
    number(word).is_some_and(|share| share >= 0.0)
}

/// `5312:11`, `0:00.13`, `1-02:03:04`.
pub(crate) fn is_process_time(word: &str) -> bool {
    word.contains(':')
        && word
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b":.,-".contains(&byte))
}
