//! The threads that InnoDB itself lists as waiting for a mutex or a latch.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::Millis;

use super::{Arguments, Read};
use crate::evidence::Evidence;
use crate::human::Show;
use crate::measure::{Function, Kind, Measured, Seen, Sign, Taken, absent, known};
use crate::named;
use crate::names::NamePattern;
use crate::once;
use crate::provenance::SEMAPHORES;
use crate::waits::{PlacedWait, without_folder};

pub(crate) static KIND: Kind = Kind {
    name: "semaphores",
    documentation: r"
**Latches**: threads that InnoDB lists as waiting; the list with the largest number. A list without waits is zero, no list is no evidence. `{each}` is the latch of most waits.

| | |
|---|---|
| `latch_waits(…)`, `latch_waits_share(…)`, `latch_wait_seconds(…)` | threads; share of the list; the longest |
| `asked_at`, `created_at`, `last_locked_at` | places without folders: `^btr0sea\.` (lines and endings differ between versions); the last for mutexes of debug builds |
| `lock`, `lock_kind` | `DICT_SYS`, `&kernel_mutex`; `Mutex`, `S-lock`, `SX-lock`, `X-lock`, `X-lock (wait_ex)`, `Latch` |
| `holder_query` | the holder's statement without literals |
| `min_seconds`, `min_waits` | shorter waits are not meant; smaller lists have no share (default 1) |
",
    taken: Taken::Events,
    each: Some("a latch"),
    names: Some(named::Seen::Waits),
    functions: &[
        known("latch_waits", Show::Count, |from| {
            Latches::read(from, Counting::Waits)
        }),
        known("latch_waits_share", Show::Percent, |from| {
            Latches::read(from, Counting::Share)
        }),
        known("latch_wait_seconds", Show::Seconds, |from| {
            Latches::read(from, Counting::Seconds)
        }),
    ],
};

#[derive(Debug)]
struct Latches {
    /// Which waits are meant: each of these matches.
    patterns: Vec<(&'static Text, NamePattern)>,
    /// Waits that lasted less are not meant, in seconds.
    min_seconds: f64,
    /// A list with fewer waits has no share.
    min_waits: u64,
    counting: Counting,
}

/// A text of a wait: the argument with the pattern for it, what stands before the pattern in a sentence, and whether it
/// matches. Places are `file line N` without folders.
type Text = (
    &'static str,
    &'static str,
    fn(&NamePattern, &PlacedWait) -> bool,
);

#[rustfmt::skip]
static TEXTS: [Text; 6] = [
    ("lock", "named", |pattern, one| is_in(pattern, &one.wait.lock_name)),
    ("asked_at", "asked for in", |pattern, one| pattern.is_match(&one.asked_at)),
    ("created_at", "created in", |pattern, one| is_in(pattern, &one.created_at)),
    // For reading, for writing or as a mutex.
    ("last_locked_at", "last locked in", |pattern, PlacedWait { wait, .. }| {
        let places = [&wait.last_write_locked, &wait.last_read_locked, &wait.last_reserved];
        places.into_iter().flatten().any(|place| pattern.is_match(without_folder(place)))
    }),
    ("lock_kind", "of kind", |pattern, one| pattern.is_match(&one.wait.lock_kind)),
    ("holder_query", "held by", |pattern, one| is_in(pattern, &one.wait.holder_query)),
];

fn is_in(pattern: &NamePattern, text: &Option<String>) -> bool {
    text.as_ref().is_some_and(|text| pattern.is_match(text))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// Threads in one list.
    Waits,
    /// Of all waits of a list.
    Share,
    /// The longest wait.
    Seconds,
}

impl Latches {
    fn read(from: &mut Arguments, counting: Counting) -> Read<Arc<dyn Function>> {
        let mut patterns = Vec::new();
        for text in &TEXTS {
            patterns.extend(from.pattern(text.0)?.map(|pattern| (text, pattern)));
        }
        let read = Self {
            patterns,
            min_seconds: from.number("min_seconds")?.unwrap_or(0.0),
            min_waits: from.count("min_waits", 1)?.max(1),
            counting,
        };
        if counting == Counting::Share && read.which(false).is_empty() {
            let problem = "needs asked_at, created_at, last_locked_at, lock, lock_kind, holder_query \
                           or min_seconds: all waits are all of the waits";
            return from.lack(problem);
        }
        Ok(Arc::new(read))
    }

    /// Which waits are meant, in words.
    fn which(&self, in_full: bool) -> String {
        let mut text = String::new();
        for ((_, words, _), pattern) in &self.patterns {
            text.push_str(&format!(" {words} /{}/", pattern.shown(in_full)));
        }
        if self.min_seconds > 0.0 {
            text.push_str(&format!(" of {} s and more", self.min_seconds));
        }
        text
    }
}

impl Function for Latches {
    /// InnoDB tells of its waits and of its state in one text.
    fn source(&self) -> &'static str {
        "innodb"
    }

    fn words(&self, in_full: bool) -> String {
        let what = match self.counting {
            Counting::Waits => "the number of waits",
            Counting::Share => "the share of waits",
            Counting::Seconds => "the longest wait",
        };
        let few = match self.min_waits {
            min if in_full && min > 1 => format!(", of {min} waits or more,"),
            _ => String::new(),
        };
        format!("{what} for InnoDB's latches{}{few}", self.which(in_full))
    }

    fn measure(&self, sign: &Sign, evidence: &Evidence) -> Measured {
        let lists = evidence.semaphores();
        let stall = worst(self, lists, |at| evidence.tells_of_stall(at, at));
        let before = worst(self, lists, |at| evidence.tells_of_before(at, at));
        let (seen, each) = match stall {
            None => (absent(SEMAPHORES), None),
            Some((None, _)) => (Seen::Nothing, None),
            Some((Some(number), list)) => (Seen::Number(number), most(self, list)),
        };
        let baseline = before.and_then(|(number, _)| number);
        let mut measured = Measured::over_stall(sign, evidence, seen, baseline);
        measured.each = Some(each.unwrap_or_else(|| "no latch".to_owned()));
        // An error log that tells of waits is one source with its other lines.
        if evidence.captured("semaphores") == Some("error log") {
            measured.source = Some("error_log".to_owned());
        }
        if self.counting == Counting::Waits && evidence.is_part("innodb") {
            measured.limits = sign.limits.in_part();
        }
        measured
    }

    fn asks_for(&self, kind: lexicon::Kind, name: &str) -> bool {
        let argument = match kind {
            lexicon::Kind::Place => "asked_at",
            lexicon::Kind::Latch => "lock",
            _ => return false,
        };
        let mut patterns = self.patterns.iter();
        patterns.any(|((of, ..), pattern)| *of == argument && pattern.is_match(name))
    }
}

/// The list with the largest number; that is nothing when every list has too few waits to have a share. Nothing when no
/// list is of that time.
fn worst<'l>(
    test: &Latches,
    lists: &'l [(Millis, Vec<PlacedWait>)],
    tells: impl Fn(Millis) -> bool,
) -> Option<(Option<f64>, &'l [PlacedWait])> {
    let lists = lists.iter().filter(|(at, _)| tells(*at));
    lists
        .map(|(_, list)| (number(test, list), list.as_slice()))
        .reduce(|worst, one| if one.0 > worst.0 { one } else { worst })
}

fn number(test: &Latches, list: &[PlacedWait]) -> Option<f64> {
    let matching = || list.iter().filter(|wait| matches(test, wait));
    match test.counting {
        Counting::Waits => Some(matching().count() as f64),
        Counting::Seconds => Some(
            matching()
                .map(|placed| placed.wait.lasts_seconds())
                .fold(0.0, f64::max),
        ),
        Counting::Share => (list.len() as u64 >= test.min_waits)
            .then(|| matching().count() as f64 / list.len() as f64),
    }
}

fn most(test: &Latches, list: &[PlacedWait]) -> Option<String> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for wait in list.iter().filter(|wait| matches(test, wait)) {
        *counts.entry(latch(wait)).or_default() += 1;
    }
    once::most(counts)
}

/// What people call it: its name, else where it was created, else where it is asked for.
fn latch(placed: &PlacedWait) -> String {
    let created = placed.created_at.as_ref();
    let created = created.map(|place| format!("the latch created in {place}"));
    let name = placed.wait.lock_name.clone().or(created);
    name.unwrap_or_else(|| format!("a latch asked for in {}", placed.asked_at))
}

fn matches(test: &Latches, placed: &PlacedWait) -> bool {
    let mut patterns = test.patterns.iter();
    placed.wait.lasts_seconds() >= test.min_seconds
        && patterns.all(|((.., matches), pattern)| matches(pattern, placed))
}
