//! What the sessions of a server say of its work: who is in a statement for longer than such
//! statements take, and who still gets something done.
//!
//! Fed with a whole processlist each second, it answers with a few numbers. They are signals like
//! all others: the detector judges by them, and they are recorded, so what it saw can be replayed.

mod classes;
mod row;

use std::collections::HashMap;

use model::{Millis, QueryDigest, Reading, Unit};
use serde::{Deserialize, Serialize};

use classes::{Class, Classes, Usual, class_of};
use row::Doing;
pub use row::SessionRow;

/// A statement this old is one that hangs, unless such statements take that long, milliseconds.
/// The processlist counts whole seconds.
const OLD_MS: f64 = 1000.0;

/// Samples closer than this may show one statement that is no second old, milliseconds.
const SAME_MS: Millis = 900;

/// A wait this long counts though all others go on, milliseconds.
const LONG_MS: f64 = 2000.0;

/// A session that was seen to finish something in so many of its last 64 samples works for clients
/// that want short answers.
const WORKS_MIN: u32 = 3;

/// Looks at a session that tell what it usually does.
const HABIT_LOOKS: u32 = 4;

/// Sessions whose statements are looked at by class in one sample; a fingerprint takes microseconds.
const CLASSES_LOOKED_AT_MAX: usize = 64;

/// What is remembered of a session.
#[derive(Debug, Clone, Copy)]
struct Known {
    first_seen: Millis,
    /// A bit for each sample: it finished something since the one before. The last is the lowest.
    finished: u64,
    /// The same: it was in a statement.
    at_work: u64,
    /// How many regular looks [`Self::at_work`] is of; 64 at the most count.
    looks: u32,
    /// Between which moments its statement began, when it is in one.
    began: Option<(Millis, Millis)>,
    /// The sample that it was in last.
    seen_at: Millis,
}

impl Known {
    fn works(&self) -> bool {
        self.finished.count_ones() >= WORKS_MIN
    }

    /// It was in a statement in half of the looks or more, as one that makes reports or a batch job.
    fn is_mostly_at_work(&self) -> bool {
        self.looks >= HABIT_LOOKS && self.at_work.count_ones() * 2 >= self.looks.min(u64::BITS)
    }
}

/// What was learnt of a server's statements, to keep over a restart of the recorder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LearntClasses {
    classes: Vec<(u64, Class)>,
}

/// The sessions of one server.
#[derive(Debug, Default)]
pub struct Sessions {
    known: HashMap<u64, Known>,
    classes: Classes,
    before: Option<Millis>,
    last_finish: Option<Millis>,
    /// Somebody is in a statement or logs in, and nobody is in a statement that is a second old.
    may_be_held: bool,
    /// Few finish any.
    few_finish: bool,
}

/// A statement that is a second old or older.
#[derive(Debug, Clone, Copy)]
struct OldStatement {
    class: u64,
    age_ms: u32,
    /// It changes data, and its session finishes something all the time: such a statement takes moments, and one
    /// that does not tells of the server. On a server with a statement a second it may be the only one that hangs.
    is_odd: bool,
}

/// The sums of one sample.
#[derive(Debug, Default)]
struct Sums {
    clients: u32,
    in_flight: u32,
    in_flight_unusual: u32,
    hung: u32,
    hung_oldest_ms: f64,
    hung_workers: u32,
    going: u32,
    finished: u32,
    hung_writes: u32,
    waiting: u32,
    waiting_long: u32,
    waiting_oldest_ms: f64,
    short_hung: u32,
    logging_in: u32,
    logging_in_oldest_ms: f64,
    /// Statements that are a second old or older, seen in calm.
    old: Vec<OldStatement>,
}

impl Sessions {
    /// With what was learnt before.
    pub fn with_learnt(learnt: &LearntClasses) -> Self {
        Self {
            classes: Classes::with(&learnt.classes),
            ..Self::default()
        }
    }

    /// What was learnt so far.
    pub fn learnt(&self) -> LearntClasses {
        LearntClasses {
            classes: self.classes.learnt(),
        }
    }

    /// Takes what the server itself counted of its statements since the reading before: how long each
    /// class takes is known then without being seen by chance. Nothing is learnt in a stall.
    pub fn counted(&mut self, now: Millis, digest: &QueryDigest) {
        for class in &digest.classes {
            let mut measures = class.measures.iter();
            if let Some(time) = measures.find(|measure| measure.name == "Query_time") {
                let times = (time.count, time.sum, time.max);
                self.classes.counted(now, &class.fingerprint, times);
            }
        }
    }

    /// Sessions are in statements that are no second old, and few finish any: half a second later it
    /// is known whether they hang. A stall of two seconds may be over at the next regular look.
    ///
    /// `is_worse`: [`crate::Pace::is_worse`]. In the second in which a stall begins many may still have
    /// finished something.
    pub fn looks_held(&self, is_worse: bool) -> bool {
        self.may_be_held && (self.few_finish || is_worse)
    }

    /// Takes a processlist without the recorder's own sessions. `calm`: no stall lasts, so what is
    /// seen is usual.
    pub fn observe(&mut self, now: Millis, rows: &[SessionRow<'_>], calm: bool) -> Vec<Reading> {
        // Time that went back: another server, or another clock. Nothing known holds.
        if self.before.is_some_and(|before| now <= before) {
            self.known.clear();
            self.before = None;
            self.last_finish = None;
        }
        let mut sums = Sums::default();
        let mut looked_at = 0;
        for row in rows {
            self.take(now, row, calm, &mut looked_at, &mut sums);
        }
        // More were old than came back: that tells of the server.
        let is_odd = sums.old.len() > 1 && sums.old.len() > sums.finished as usize;
        for old in &sums.old {
            let is_odd = is_odd || old.is_odd;
            self.classes.saw_old(now, old.class, old.age_ms, is_odd);
        }
        self.classes.settle(now, calm);
        self.known.retain(|_, known| known.seen_at == now);
        if sums.finished > 0 {
            self.last_finish = Some(now);
        }
        self.before = Some(now);
        let held = sums.in_flight + sums.logging_in;
        self.may_be_held = sums.hung == 0 && held > 0;
        self.few_finish = held > 2 * sums.finished;
        let since_finish = self.last_finish.map(|last| (now - last) as f64);
        readings(&sums, since_finish)
    }

    fn take(
        &mut self,
        now: Millis,
        row: &SessionRow<'_>,
        calm: bool,
        looked_at: &mut usize,
        sums: &mut Sums,
    ) {
        let doing = row.doing();
        let before = self.before;
        let is_new = !self.known.contains_key(&row.id);
        let known = self.known.entry(row.id).or_insert(Known {
            first_seen: now,
            finished: 0,
            at_work: 0,
            looks: 0,
            began: None,
            seen_at: now,
        });
        known.seen_at = now;
        let was_mostly_at_work = known.is_mostly_at_work();
        if before.is_none_or(|before| now - before >= SAME_MS) {
            known.looks = known.looks.saturating_add(1);
            let is_at_work = matches!(doing, Doing::Statement | Doing::Waiting);
            known.at_work = known.at_work << 1 | u64::from(is_at_work);
        }
        let was_in = known.began.take();
        let age_ms = whole_seconds(row.seconds) * 1000.0;
        // The time of a whole number of seconds is that, or up to one more.
        let latest = now.saturating_sub(age_ms as Millis);
        let earliest = latest.saturating_sub(1000);
        let is_recent = before.is_some_and(|before| latest > before.saturating_add(500));
        let mut finished = false;
        match doing {
            Doing::Apart => return,
            Doing::LoggingIn => {
                let age = (now - known.first_seen) as f64;
                sums.logging_in += 1;
                sums.logging_in_oldest_ms = sums.logging_in_oldest_ms.max(age);
                return;
            }
            Doing::Idle => {
                finished = is_recent;
                sums.clients += 1;
            }
            Doing::Statement | Doing::Waiting => {
                sums.clients += 1;
                let same = was_in.map(|(low, high)| (low.max(earliest), high.min(latest)));
                // Two statements that are both no second old, a second apart, are two.
                let can_be_same =
                    age_ms >= OLD_MS || before.is_some_and(|before| now - before < SAME_MS);
                let began = match same {
                    Some((low, high)) if can_be_same && low <= high => (low, high),
                    _ => {
                        // Another one than in the sample before, when there was one.
                        finished = was_in.is_some() && is_recent;
                        let seen_before = before.filter(|_| !is_new).unwrap_or(0);
                        (earliest.max(seen_before.min(latest)), latest)
                    }
                };
                known.began = Some(began);
            }
        }
        let old = age_ms >= OLD_MS && known.began.is_some();
        // Who hangs keeps the reputation of the time before.
        if !old {
            known.finished = known.finished << 1 | u64::from(finished);
        }
        let works = known.works();
        let began = known.began;
        if finished {
            sums.finished += 1;
            sums.going += u32::from(works);
        }
        let Some((low, high)) = began else {
            return;
        };
        let age = now.saturating_sub(low.midpoint(high)) as f64;
        let mut usual = Usual::Unknown;
        if *looked_at < CLASSES_LOOKED_AT_MAX && !row.statement.is_empty() {
            *looked_at += 1;
            let class = class_of(row.statement);
            usual = self.classes.usual(class, age);
            match (calm, old) {
                (true, false) => self.classes.saw_young(now, class),
                // A wait is not how long such a statement takes.
                (true, true) if doing == Doing::Statement => {
                    sums.old.push(OldStatement {
                        class,
                        age_ms: age.min(4e9) as u32,
                        is_odd: works && row.writes(),
                    });
                }
                _ => {}
            }
        }
        let waits = doing == Doing::Waiting;
        // One that is known to take long says nothing of how long the others take.
        let takes_long = usual == Usual::Long && !waits;
        if !takes_long && (!old || works || waits || usual == Usual::Short) {
            sums.in_flight += 1;
            // Who is always in one says nothing of whether statements became slow.
            sums.in_flight_unusual += u32::from(!was_mostly_at_work);
        }
        if !old || usual == Usual::Long {
            return;
        }
        sums.hung += 1;
        sums.hung_oldest_ms = sums.hung_oldest_ms.max(age);
        sums.hung_workers += u32::from(works);
        let is_long = age_ms >= LONG_MS;
        sums.hung_writes += u32::from(usual == Usual::Unknown && row.writes());
        if waits {
            sums.waiting += 1;
            sums.waiting_long += u32::from(is_long);
            sums.waiting_oldest_ms = sums.waiting_oldest_ms.max(age);
        }
        sums.short_hung += u32::from(is_long && usual == Usual::Short);
    }
}

/// A time of the processlist, made sane.
fn whole_seconds(seconds: f64) -> f64 {
    if (0.0..4e9).contains(&seconds) {
        seconds.floor()
    } else {
        0.0
    }
}

fn readings(sums: &Sums, since_finish_ms: Option<f64>) -> Vec<Reading> {
    let count =
        |name: &'static str, value: u32| Reading::gauge(name, Unit::Count, f64::from(value));
    let time = |name: &'static str, ms: f64| Reading::gauge(name, Unit::Milliseconds, ms);
    let mut readings = vec![
        count("processlist.clients", sums.clients),
        count("processlist.in_flight", sums.in_flight),
        count("processlist.in_flight_unusual", sums.in_flight_unusual),
        count("processlist.hung", sums.hung),
        time("processlist.hung_oldest_ms", sums.hung_oldest_ms),
        count("processlist.hung_workers", sums.hung_workers),
        count("processlist.going", sums.going),
        count("processlist.finished", sums.finished),
        count("processlist.hung_writes", sums.hung_writes),
        count("processlist.waiting", sums.waiting),
        count("processlist.waiting_2s", sums.waiting_long),
        time("processlist.waiting_oldest_ms", sums.waiting_oldest_ms),
        count("processlist.short_hung_2s", sums.short_hung),
        count("processlist.logging_in", sums.logging_in),
        time(
            "processlist.logging_in_oldest_ms",
            sums.logging_in_oldest_ms,
        ),
    ];
    readings.extend(since_finish_ms.map(|ms| time("processlist.since_finish_ms", ms)));
    readings
}

#[cfg(test)]
mod tests;
