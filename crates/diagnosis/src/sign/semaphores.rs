//! Signs that look at the waits for mutexes and latches that InnoDB lists itself.

use std::collections::BTreeMap;

use model::{Millis, SemaphoreWait};

use super::{Number, Outcome, Seen, absent, over_stall};
use crate::catalogue::{SEMAPHORES, Sign};
use crate::evidence::{Capture, Evidence};
use crate::human::Show;
use crate::names::NamePattern;
use crate::texts::{SemaphoresTest, WaitCounting};

pub(super) fn test(sign: &Sign, test: &SemaphoresTest, evidence: &Evidence) -> Outcome {
    let lists = evidence.semaphores();
    let stall = worst(test, lists, |at| evidence.tells_of_stall(at, at));
    let before = worst(test, lists, |at| evidence.tells_of_before(at, at));
    let (seen, each) = match stall {
        None => (absent(SEMAPHORES), None),
        Some(Worst { number: None, .. }) => (Seen::Nothing, None),
        Some(Worst {
            number: Some(number),
            most,
        }) => (Seen::Number(number), most),
    };
    // An error log that tells of waits is one source with its other lines.
    let from = match evidence.incident.fact("capture.semaphores") {
        Some("error log") => ERROR_LOG,
        _ => INNODB,
    };
    let (what, show) = what(test.counting);
    let number = Number {
        seen,
        baseline: before.and_then(|one| one.number),
        what: format!("{what} for InnoDB's latches{}", described(test)),
        show,
        each: Some(each.unwrap_or_else(|| "no latch".to_owned())),
        source: from,
    };
    let limits = match test.counting {
        WaitCounting::Waits => evidence.limits(&test.limits, Capture::Innodb),
        _ => test.limits,
    };
    over_stall(sign, &limits, &test.only_if, evidence, number)
}

/// What is counted, in words, and its unit.
pub(crate) fn what(counting: WaitCounting) -> (&'static str, Show) {
    match counting {
        WaitCounting::Waits => ("the number of waits", Show::Count),
        WaitCounting::Share => ("the share of waits", Show::Percent),
        WaitCounting::Seconds => ("the longest wait", Show::Seconds),
    }
}

/// InnoDB tells of its waits and of its state in one text.
const INNODB: &str = "innodb";

/// Where the waits were told, when no status was taken.
const ERROR_LOG: &str = "error_log";

/// The list with the largest number.
struct Worst {
    /// Nothing when every list has too few waits to have a share.
    number: Option<f64>,
    /// The latch that most of the waits are for.
    most: Option<String>,
}

/// Nothing when no list is of that time.
fn worst(
    test: &SemaphoresTest,
    lists: &[(Millis, Vec<PlacedWait>)],
    tells: impl Fn(Millis) -> bool,
) -> Option<Worst> {
    let mut worst: Option<Worst> = None;
    for (_, list) in lists.iter().filter(|(at, _)| tells(*at)) {
        let number = number(test, list);
        let is_more = worst.as_ref().is_none_or(|worst| number > worst.number);
        if is_more {
            worst = Some(Worst {
                number,
                most: most(test, list),
            });
        }
    }
    worst
}

fn number(test: &SemaphoresTest, list: &[PlacedWait]) -> Option<f64> {
    let matching = || list.iter().filter(|wait| matches(test, wait));
    match test.counting {
        WaitCounting::Waits => Some(matching().count() as f64),
        WaitCounting::Seconds => Some(
            matching()
                .map(|placed| placed.wait.lasts_seconds())
                .fold(0.0, f64::max),
        ),
        WaitCounting::Share => (list.len() as u64 >= test.min_waits)
            .then(|| matching().count() as f64 / list.len() as f64),
    }
}

fn most(test: &SemaphoresTest, list: &[PlacedWait]) -> Option<String> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for wait in list.iter().filter(|wait| matches(test, wait)) {
        *counts.entry(latch(wait)).or_default() += 1;
    }
    let most = counts
        .into_iter()
        .max_by(|(a, left), (b, right)| left.cmp(right).then_with(|| b.cmp(a)));
    most.map(|(name, _)| name)
}

/// What people call it: its name, else where it was created, else where it is asked for.
fn latch(placed: &PlacedWait) -> String {
    let created = placed.created_at.as_ref();
    let created = created.map(|place| format!("the latch created in {place}"));
    placed
        .wait
        .lock_name
        .clone()
        .or(created)
        .unwrap_or_else(|| format!("a latch asked for in {}", placed.asked_at))
}

fn matches(test: &SemaphoresTest, placed: &PlacedWait) -> bool {
    let wait = &placed.wait;
    let is = |pattern: &Option<NamePattern>, text: Option<&str>| {
        pattern
            .as_ref()
            .is_none_or(|pattern| text.is_some_and(|text| pattern.is_match(text)))
    };
    let locked = [
        &wait.last_write_locked,
        &wait.last_read_locked,
        &wait.last_reserved,
    ];
    let last_locked = test.last_locked_at.as_ref().is_none_or(|pattern| {
        let mut places = locked.into_iter().flatten();
        places.any(|place| pattern.is_match(without_folder(place)))
    });
    wait.lasts_seconds() >= test.min_seconds
        && is(&test.lock, wait.lock_name.as_deref())
        && is(&test.lock_kind, Some(&wait.lock_kind))
        && is(&test.holder_query, wait.holder_query.as_deref())
        && last_locked
        && is(&test.asked_at, Some(&placed.asked_at))
        && is(&test.created_at, placed.created_at.as_deref())
}

/// A wait with its places in the form that patterns are written for, made once.
pub(crate) struct PlacedWait {
    wait: SemaphoreWait,
    asked_at: String,
    created_at: Option<String>,
}

impl PlacedWait {
    pub(crate) fn new(wait: SemaphoreWait) -> Self {
        let asked_at = format!("{} line {}", without_folder(&wait.file), wait.line);
        let created_at = wait.created_file.as_deref().map(|file| {
            let line = wait.created_line.unwrap_or(0);
            format!("{} line {line}", without_folder(file))
        });
        Self {
            wait,
            asked_at,
            created_at,
        }
    }

    /// Where the latch was asked for, as `file line N`.
    pub(crate) fn asked_at(&self) -> &str {
        &self.asked_at
    }

    /// The latch's name, where the server tells it.
    pub(crate) fn lock_name(&self) -> Option<&str> {
        self.wait.lock_name.as_deref()
    }
}

/// Servers before 5.5 and builds of distributions write folders before the file's name.
fn without_folder(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// Which waits are meant, in words.
pub(crate) fn described(test: &SemaphoresTest) -> String {
    let parts = [
        ("named", &test.lock),
        ("asked for in", &test.asked_at),
        ("created in", &test.created_at),
        ("last locked in", &test.last_locked_at),
        ("of kind", &test.lock_kind),
        ("held by", &test.holder_query),
    ];
    let mut text = String::new();
    for (words, pattern) in parts {
        if let Some(pattern) = pattern {
            text.push_str(&format!(" {words} /{}/", pattern.short()));
        }
    }
    if test.min_seconds > 0.0 {
        text.push_str(&format!(" of {} s and more", test.min_seconds));
    }
    text
}
