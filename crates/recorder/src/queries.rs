//! What the server was asked, as the sources saw it: from their threads to the incident.
//!
//! **The recorder's own statements are not counted.** Sessions count what they send by class. Digests and counters
//! have that many taken out (what was under way in one digest is in the next), packets are distinguished by the
//! client's end of the connection, logs are switched off for our sessions. A marker in the statement would not do:
//! digests remove comments. A way that saw less than half of what the server counted says so and is listed last.
//!
//! **Four ways, one shape.** A `QueryDigest` says how it was taken and what that way is blind to.
//! `recorder/src/queries.rs` keeps the digests of the last minutes. An incident takes those that overlap it and adds
//! the mix by `Com_*`, before the onset and in the stall, from the timeline. `report/src/evidence/workload.rs` puts the
//! digests of each side together and ranks classes by how much their share of the statements, or of their time,
//! changed: a flood of cheap statements shows in the one, a few slow ones in the other.
//!
//! **A digest that straddles the onset describes neither side** and is left out. So does one that lies mostly after
//! the end. That is why performance_schema is read at the trigger.
//!
//! **Packets replace a silent server.** A witness may be declared `instead_of` another one: it counts in its place
//! where that one cannot be judged, and only there.
//!
//! **The general log comes last**, on a thread of its own that starts 3 s after the trigger, only with permission and
//! only when no other way has seen statements. It is a lease: written down and synced before the server
//! is changed, with a watchdog process that holds a pipe whose end means that we are gone.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{Incident, Measure, Millis, OrderBy, QueryDigest, TimedDigest, Window};

/// Before the name of a counter `Com_…`: how much of it the recorder's own statements are.
const OWN_COMMANDS: &str = "recorder.com.";

/// The counters that our statements move, with their names there: told each second of each server, and made once.
const OWN_SIGNALS: [(&str, &str); 9] = [
    ("select", "recorder.com.select"),
    ("set_option", "recorder.com.set_option"),
    ("show_engine_status", "recorder.com.show_engine_status"),
    ("show_grants", "recorder.com.show_grants"),
    ("show_processlist", "recorder.com.show_processlist"),
    ("show_replica_status", "recorder.com.show_replica_status"),
    ("show_slave_status", "recorder.com.show_slave_status"),
    ("show_status", "recorder.com.show_status"),
    ("show_variables", "recorder.com.show_variables"),
];

/// The signal of the recorder's part in a counter `Com_…`, by its name without that prefix.
pub(crate) fn own_signal(command: &str) -> Cow<'static, str> {
    let known = OWN_SIGNALS.iter().find(|(name, _)| *name == command);
    match known {
        Some((_, signal)) => Cow::Borrowed(signal),
        None => format!("{OWN_COMMANDS}{command}").into(),
    }
}

/// Digests kept: six a minute, and one a burst.
const DIGESTS_MAX: usize = 128;

/// How long every statement on the wire is looked at from the trigger on, and from time to time
/// while the stall lasts.
const FIRST_BURST_MS: Millis = 10_000;
const LATER_BURST_MS: Millis = 5000;

/// From the begin of one such burst to the next.
const BURST_AGAIN_MS: Millis = 60_000;

/// Classes kept of each; the ones with most time or most statements come first.
const CLASSES_MAX: usize = 200;

/// The digests of the last minutes.
#[derive(Debug, Default)]
pub(crate) struct QueryWatch {
    digests: Mutex<VecDeque<TimedDigest>>,
    /// When the server's own digests were last read and had what it was asked.
    told_at: AtomicU64,
    /// When packets with statements were last read.
    looked_at: AtomicU64,
    burst_from: AtomicU64,
    burst_until: AtomicU64,
}

impl QueryWatch {
    /// Takes a digest in. Its classes beyond the limit are folded into one.
    pub(crate) fn add(&self, window: Window, mut digest: QueryDigest) {
        fold(&mut digest);
        let mut digests = self.lock();
        digests.push_back(TimedDigest { window, digest });
        while digests.len() > DIGESTS_MAX {
            digests.pop_front();
        }
    }

    /// The server's own digests were read: `missed` when they counted clearly less than the server was asked.
    pub(crate) fn add_counted(&self, window: Window, digest: QueryDigest, missed: bool) {
        if !missed {
            self.told_at.fetch_max(window.to, Ordering::Relaxed);
        }
        self.add(window, digest);
    }

    /// Statements are being read off the wire.
    pub(crate) fn looking(&self, now: Millis) {
        self.looked_at.store(now, Ordering::Relaxed);
    }

    /// Whether a way that tells statements has seen any, or could have, since that moment.
    pub(crate) fn sees_statements(&self, since: Millis) -> bool {
        [&self.looked_at, &self.told_at]
            .iter()
            .any(|at| at.load(Ordering::Relaxed) >= since)
    }

    /// A stall was noticed.
    pub(crate) fn begin_burst(&self, now: Millis) {
        self.burst(now, FIRST_BURST_MS);
    }

    fn burst(&self, now: Millis, length: Millis) {
        self.burst_from.store(now, Ordering::Relaxed);
        self.burst_until.store(now + length, Ordering::Relaxed);
    }

    /// Whether statements on the wire are wanted.
    pub(crate) fn in_burst(&self, now: Millis) -> bool {
        now < self.burst_until.load(Ordering::Relaxed)
    }

    /// What is due by time: the next burst while a stall lasts, forgetting.
    pub(crate) fn beat(&self, now: Millis, stalling: bool, keep_from: Millis) {
        let again = self.burst_from.load(Ordering::Relaxed) + BURST_AGAIN_MS;
        if stalling && now >= again {
            self.burst(now, LATER_BURST_MS);
        }
        self.lock().retain(|timed| timed.window.to >= keep_from);
    }

    /// The digests that belong to an incident, by begin.
    pub(crate) fn between(&self, window: Window) -> Vec<TimedDigest> {
        let overlaps =
            |timed: &&TimedDigest| timed.window.to >= window.from && timed.window.from <= window.to;
        let mut found: Vec<TimedDigest> = self.lock().iter().filter(overlaps).cloned().collect();
        found.order_by_key(|timed| timed.window.from);
        found
    }

    /// A panic while a digest was added leaves the others as they are.
    fn lock(&self) -> MutexGuard<'_, VecDeque<TimedDigest>> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The mix of statements before the onset and in the stall by the server's own counters, which are
/// recorded anyway.
pub fn counted_around(incident: &Incident) -> Vec<TimedDigest> {
    let windows = [incident.baseline_window(), incident.stall_window()];
    windows
        .into_iter()
        .filter_map(|window| counted(incident, window))
        .collect()
}

fn counted(incident: &Incident, window: Window) -> Option<TimedDigest> {
    let timeline = &incident.timeline;
    let mut grown: HashMap<String, f64> = timeline
        .matching("status.Com_*")
        .filter_map(|series| {
            let grown = timeline.measure(series, Measure::Delta, window)?;
            let name = series.name.strip_prefix("status.")?;
            Some((name.to_owned(), grown))
        })
        .collect();
    if grown.is_empty() {
        return None;
    }
    for series in timeline.matching(&format!("{OWN_COMMANDS}*")) {
        let ours = timeline.measure(series, Measure::Delta, window);
        let name = series.name.strip_prefix(OWN_COMMANDS);
        if let (Some(ours), Some(name)) = (ours, name)
            && let Some(all) = grown.get_mut(&format!("Com_{name}"))
        {
            *all = (*all - ours).max(0.0);
        }
    }
    let wall_us = |at| Some(incident.clock.wall_ms(at).saturating_mul(1000));
    let (from, to) = (wall_us(window.from), wall_us(window.to));
    let digest = server::statement_mix(&HashMap::new(), &grown, from, to);
    Some(TimedDigest { window, digest })
}

fn fold(digest: &mut QueryDigest) {
    if digest.classes.len() <= CLASSES_MAX {
        return;
    }
    let rest = digest.classes.split_off(CLASSES_MAX);
    let folded = digest.folded.get_or_insert_default();
    folded.classes_at_least += rest.len() as u64;
    for class in rest {
        folded.count += class.count;
        if let Some(seconds) = class.sum("Query_time") {
            *folded.seconds.get_or_insert(0.0) += seconds;
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{QueryClass, QueryMeasure, QueryMethod};

    use super::*;

    fn digest(classes: u64) -> QueryDigest {
        let class = |count| QueryClass {
            count,
            measures: vec![QueryMeasure {
                name: "Query_time".to_owned(),
                sum: 0.5,
                ..QueryMeasure::default()
            }],
            ..QueryClass::default()
        };
        QueryDigest {
            tried: Vec::new(),
            method: QueryMethod::Packets,
            from_us: None,
            to_us: None,
            count: (1..=classes).sum(),
            errors: None,
            classes: (1..=classes).rev().map(class).collect(),
            folded: None,
            lost: 0,
            blind: Vec::new(),
            connections: None,
        }
    }

    #[test]
    fn what_is_told_from_the_beginning_has_a_lasting_name() {
        for command in server::OwnStatements::default().by_command().into_keys() {
            let signal = own_signal(&command);
            assert!(matches!(signal, Cow::Borrowed(_)), "{signal}");
            assert_eq!(signal.strip_prefix(OWN_COMMANDS), Some(&*command));
        }
        assert_eq!(own_signal("kill"), "recorder.com.kill");
    }

    #[test]
    fn classes_over_the_limit_are_told_together() {
        let watch = QueryWatch::default();
        watch.add(Window { from: 5, to: 10 }, digest(203));
        let kept = watch.between(Window { from: 0, to: 7 });
        let folded = kept[0].digest.folded.unwrap();
        assert_eq!(kept[0].digest.classes.len(), 200);
        assert_eq!((folded.classes_at_least, folded.count), (3, 1 + 2 + 3));
        assert_eq!(folded.seconds, Some(1.5));
    }

    #[test]
    fn digests_that_miss_what_is_asked_see_nothing() {
        let watch = QueryWatch::default();
        let window = |to| Window { from: 0, to };
        watch.add_counted(window(20), digest(1), true);
        assert!(!watch.sees_statements(20));
        watch.add_counted(window(30), digest(1), false);
        assert!(watch.sees_statements(30) && !watch.sees_statements(31));
        watch.looking(40);
        assert!(watch.sees_statements(40));
        // What they counted is told all the same.
        assert_eq!(watch.between(window(99)).len(), 2);
    }

    #[test]
    fn an_incident_gets_what_overlaps_it() {
        let watch = QueryWatch::default();
        for from in [60, 0, 30] {
            watch.add(
                Window {
                    from,
                    to: from + 10,
                },
                digest(1),
            );
        }
        let begins = |window| -> Vec<Millis> {
            let found = watch.between(window);
            found.iter().map(|timed| timed.window.from).collect()
        };
        assert_eq!(begins(Window { from: 10, to: 60 }), [0, 30, 60]);
        assert_eq!(begins(Window { from: 11, to: 59 }), [30]);
        watch.beat(0, false, 40);
        assert_eq!(begins(Window { from: 0, to: 99 }), [30, 60]);
        for from in 100..300 {
            watch.add(Window { from, to: from }, digest(1));
        }
        assert_eq!(begins(Window { from: 0, to: 999 }).len(), DIGESTS_MAX);
    }
}
