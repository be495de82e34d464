//! What the server was asked before the onset and in the stall, by class of statement, for each way that looked.

use std::collections::HashMap;

use model::{Absent, Counted, Incident, OrderBy, QueryClass, QueryMethod, TimedDigest, Window};
use serde::Serialize;

/// A look at the statements tells of the stall when so much of it lies in the stall.
const IN_STALL_MIN: f64 = 0.7;
/// Rows of each way.
const ROWS_MAX: usize = 50;
/// Names of users, hosts and programs kept of a row.
const NAMES_MAX: usize = 5;

/// What one way saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workload {
    /// The way.
    pub way: QueryMethod,
    /// Seconds before the onset that it looked at; absent when it did not look then.
    pub before_seconds: Option<f64>,
    /// Seconds of the stall that it looked at; absent when it did not look then.
    pub stall_seconds: Option<f64>,
    /// Statements a second before the onset.
    pub before: Option<f64>,
    /// Statements a second in the stall.
    pub in_stall: Option<f64>,
    /// The classes, those first whose share of the statements or of their time changed most.
    pub rows: Vec<WorkloadRow>,
    /// Classes that are not among the rows.
    pub left_out: usize,
    /// Statements or packets that were lost.
    pub lost: u64,
    /// What this way does not see.
    pub blind: Vec<Absent>,
    /// Which share of the statements that the server counted this way saw, 0 to 1; absent where nothing tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen_share: Option<f64>,
}

impl Workload {
    /// It saw less than half of what the server was asked: what it shows may be nobody's load.
    pub fn is_blind_to_most(&self) -> bool {
        self.seen_share.is_some_and(|share| share < 0.5)
    }
}

/// A class of statements.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct WorkloadRow {
    /// The statement without literals.
    pub fingerprint: String,
    /// Our identity of it.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// How often a second before the onset; absent when the way did not look then.
    pub before: Option<f64>,
    /// How often a second in the stall; likewise.
    pub in_stall: Option<f64>,
    /// Seconds that such statements took within each second before the onset; absent when the way does not tell.
    pub time_before: Option<f64>,
    /// The same in the stall.
    pub time_in_stall: Option<f64>,
    /// Errors in the stall, where the way tells.
    pub errors_in_stall: Option<u64>,
    /// Who asked in the stall, most first.
    pub users: Vec<Counted>,
    /// From where.
    pub hosts: Vec<Counted>,
    /// By which client program.
    pub programs: Vec<Counted>,
}

/// What every way saw, the one that knows most of statements first, and behind them those that saw few of them.
pub fn workloads(incident: &Incident) -> Vec<Workload> {
    let mut ways: Vec<Workload> = [
        QueryMethod::Packets,
        QueryMethod::GeneralLog,
        QueryMethod::SlowLog,
        QueryMethod::PerformanceSchema,
        QueryMethod::StatementCounters,
    ]
    .into_iter()
    .filter_map(|way| workload_by(incident, way))
    .collect();
    let counted = |ways: &[Workload]| {
        let counters = ways.iter();
        let mut counters = counters.filter(|one| one.way == QueryMethod::StatementCounters);
        counters.next().map(|one| (one.before, one.in_stall))
    };
    if let Some((before, in_stall)) = counted(&ways) {
        for of_way in &mut ways {
            of_way.seen_share = seen_share(of_way, before, in_stall);
        }
    }
    ways.order_by_key(Workload::is_blind_to_most);
    ways
}

/// The share of what the server counted before the onset and in the stall. A statement that hangs is counted by the
/// server when it begins, on the wire too, in logs and digests when it ends: of these the time before says more.
fn seen_share(of_way: &Workload, before: Option<f64>, in_stall: Option<f64>) -> Option<f64> {
    let share = |seen: Option<f64>, counted: Option<f64>| {
        let (seen, counted) = (seen?, counted.filter(|counted| *counted > 0.0)?);
        Some((seen / counted).min(1.0))
    };
    match of_way.way {
        QueryMethod::StatementCounters => None,
        QueryMethod::Packets => share(of_way.in_stall, in_stall),
        _ => share(of_way.before, before),
    }
}

/// Who sent most of it: "orm at 10.0.0.7 with Connector/J"; empty when the way does not tell.
pub fn senders(row: &WorkloadRow) -> String {
    let first = |names: &[Counted]| {
        let first = names.iter().find(|one| !one.name.is_empty())?;
        let others = names.len() - 1;
        Some(match others {
            0 => first.name.clone(),
            _ => format!("{} and {others} more", first.name),
        })
    };
    let mut out = first(&row.users).unwrap_or_default();
    for (word, names) in [("at", &row.hosts), ("with", &row.programs)] {
        if let Some(name) = first(names) {
            match (word, out.is_empty()) {
                ("at", true) => out = name,
                (_, true) => out = format!("{word} {name}"),
                _ => out.push_str(&format!(" {word} {name}")),
            }
        }
    }
    out
}

fn workload_by(incident: &Incident, way: QueryMethod) -> Option<Workload> {
    let stall = incident.stall_window();
    let of_way = || incident.queries.iter().filter(|it| it.digest.method == way);
    let before = Side::of(of_way().filter(|it| it.window.to <= stall.from));
    // A stall that is shorter than the looks at it has the one that is most of it.
    let most = of_way()
        .map(|it| share_in(it.window, stall))
        .fold(0.0, f64::max);
    let enough = IN_STALL_MIN.min(most).max(f64::MIN_POSITIVE);
    let in_stall = Side::of(of_way().filter(|it| share_in(it.window, stall) >= enough));
    if before.seconds == 0.0 && in_stall.seconds == 0.0 {
        return None;
    }
    let mut rows: HashMap<&str, WorkloadRow> = HashMap::new();
    for class in before.classes.values().chain(in_stall.classes.values()) {
        let id = class.first.id.as_str();
        rows.entry(id)
            .or_insert_with(|| row(id, &before, &in_stall));
    }
    let mut rows: Vec<WorkloadRow> = rows.into_values().collect();
    let change = |row: &WorkloadRow| change(row, &before, &in_stall);
    rows.order_by(|a, b| {
        let by = change(b).total_cmp(&change(a));
        by.then_with(|| a.fingerprint.cmp(&b.fingerprint))
            .then_with(|| a.id.cmp(&b.id))
    });
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    rows.truncate(ROWS_MAX);
    let mut blind: Vec<Absent> = Vec::new();
    for absent in of_way().flat_map(|it| &it.digest.blind) {
        if !blind.contains(absent) {
            blind.push(absent.clone());
        }
    }
    Some(Workload {
        way,
        before_seconds: before.known(before.seconds),
        stall_seconds: in_stall.known(in_stall.seconds),
        before: before.a_second(before.count),
        in_stall: in_stall.a_second(in_stall.count),
        rows,
        left_out,
        lost: of_way().map(|it| it.digest.lost).sum(),
        blind,
        seen_share: None,
    })
}

/// How much of a window lies within another.
fn share_in(window: Window, other: Window) -> f64 {
    let inside = window
        .to
        .min(other.to)
        .saturating_sub(window.from.max(other.from));
    let length = window.to.saturating_sub(window.from);
    if length == 0 {
        return 0.0;
    }
    inside as f64 / length as f64
}

/// The digests of one side, put together.
#[derive(Default)]
struct Side<'i> {
    seconds: f64,
    count: u64,
    time: f64,
    classes: HashMap<&'i str, Sums<'i>>,
}

struct Sums<'i> {
    first: &'i QueryClass,
    count: u64,
    errors: Option<u64>,
    time: Option<f64>,
    users: Vec<Counted>,
    hosts: Vec<Counted>,
    programs: Vec<Counted>,
}

impl<'i> Side<'i> {
    fn of(digests: impl Iterator<Item = &'i TimedDigest>) -> Self {
        let mut side = Self::default();
        for timed in digests {
            let length = timed.window.to.saturating_sub(timed.window.from);
            side.seconds += length as f64 / 1000.0;
            side.count += timed.digest.count;
            for class in &timed.digest.classes {
                let sums = side.classes.entry(&class.id).or_insert_with(|| Sums {
                    first: class,
                    count: 0,
                    errors: None,
                    time: None,
                    users: Vec::new(),
                    hosts: Vec::new(),
                    programs: Vec::new(),
                });
                sums.count += class.count;
                add(&mut sums.errors, class.errors);
                let time = class.sum("Query_time");
                side.time += time.unwrap_or(0.0);
                add(&mut sums.time, time);
                count(&mut sums.users, &class.users);
                count(&mut sums.hosts, &class.hosts);
                count(&mut sums.programs, &class.programs);
            }
        }
        side
    }

    /// A number of this side; absent when nobody looked.
    fn known(&self, number: f64) -> Option<f64> {
        (self.seconds > 0.0).then_some(number)
    }

    fn a_second(&self, count: u64) -> Option<f64> {
        self.known(count as f64 / self.seconds)
    }
}

fn add<N: Copy + std::ops::Add<Output = N>>(sum: &mut Option<N>, more: Option<N>) {
    *sum = match (*sum, more) {
        (Some(sum), Some(more)) => Some(sum + more),
        (sum, more) => sum.or(more),
    };
}

fn count(names: &mut Vec<Counted>, more: &[Counted]) {
    for one in more {
        match names.iter_mut().find(|name| name.name == one.name) {
            Some(name) => name.count += one.count,
            None => names.push(one.clone()),
        }
    }
    names.order_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
}

fn row(id: &str, before: &Side<'_>, in_stall: &Side<'_>) -> WorkloadRow {
    let (earlier, later) = (before.classes.get(id), in_stall.classes.get(id));
    let rate =
        |side: &Side<'_>, sums: Option<&Sums<'_>>| side.a_second(sums.map_or(0, |sums| sums.count));
    let time = |side: &Side<'_>, sums: Option<&Sums<'_>>| {
        side.known(sums.and_then(|sums| sums.time)? / side.seconds)
    };
    let top = |names: for<'s, 'c> fn(&'s Sums<'c>) -> &'s Vec<Counted>| -> Vec<Counted> {
        let all = later.or(earlier).map(names);
        all.into_iter().flatten().take(NAMES_MAX).cloned().collect()
    };
    let first = later.or(earlier).map(|sums| sums.first);
    let text = |of: fn(&QueryClass) -> &String| first.map(of).cloned().unwrap_or_default();
    WorkloadRow {
        fingerprint: text(|class| &class.fingerprint),
        id: id.to_owned(),
        kind: text(|class| &class.kind),
        before: rate(before, earlier),
        in_stall: rate(in_stall, later),
        time_before: time(before, earlier),
        time_in_stall: time(in_stall, later),
        errors_in_stall: later.and_then(|sums| sums.errors),
        users: top(|sums| &sums.users),
        hosts: top(|sums| &sums.hosts),
        programs: top(|sums| &sums.programs),
    }
}

/// How much the class changed: as a part of all statements or of their time, whichever is more. A flood of cheap
/// statements shows in the one, a few slow ones in the other.
fn change(row: &WorkloadRow, before: &Side<'_>, in_stall: &Side<'_>) -> f64 {
    let part = |before: Option<f64>, after: Option<f64>, all: [Option<f64>; 2]| {
        let all = all.into_iter().flatten().fold(0.0, f64::max);
        let changed = (after.unwrap_or(0.0) - before.unwrap_or(0.0)).abs();
        if all > 0.0 { changed / all } else { 0.0 }
    };
    let counts = [before, in_stall].map(|side| side.a_second(side.count));
    let times = [before, in_stall].map(|side| side.known(side.time / side.seconds));
    part(row.before, row.in_stall, counts).max(part(row.time_before, row.time_in_stall, times))
}

#[cfg(test)]
mod tests {
    use model::{QueryDigest, QueryMeasure};

    use super::*;
    use crate::testing::incident_of;

    fn class(id: &str, count: u64, seconds: f64) -> QueryClass {
        QueryClass {
            fingerprint: format!("statement {id}"),
            id: id.to_owned(),
            count,
            measures: vec![QueryMeasure {
                name: "Query_time".to_owned(),
                sum: seconds,
                ..QueryMeasure::default()
            }],
            users: vec![Counted {
                name: format!("user of {id}"),
                count,
            }],
            ..QueryClass::default()
        }
    }

    fn digest(way: QueryMethod, from: u64, to: u64, classes: Vec<QueryClass>) -> TimedDigest {
        TimedDigest {
            window: Window { from, to },
            digest: QueryDigest {
                tried: Vec::new(),
                method: way,
                from_us: None,
                to_us: None,
                count: classes.iter().map(|class| class.count).sum(),
                errors: None,
                classes,
                folded: None,
                lost: 1,
                blind: vec![Absent::new("x", model::Reason::Unsupported, "y")],
                connections: None,
            },
        }
    }

    #[test]
    fn a_flood_and_a_slow_statement_both_come_first() {
        let mut incident = incident_of(model::Timeline::default());
        let onset = incident.stall.onset;
        let way = QueryMethod::PerformanceSchema;
        let calm = || vec![class("flood", 1, 0.0), class("usual", 10_000, 5.0)];
        incident.queries = vec![
            digest(way, onset - 20_000, onset - 10_000, calm()),
            digest(way, onset - 10_000, onset, calm()),
            // Half before the onset, half in the stall: it tells of neither.
            digest(way, onset - 5000, onset + 5000, vec![class("both", 1, 1.0)]),
            digest(
                way,
                onset,
                onset + 5000,
                vec![
                    class("flood", 380_000, 2.0),
                    class("usual", 5000, 2.5),
                    class("slow", 1, 40.0),
                ],
            ),
            // Mostly after the end.
            digest(way, 79_000, 89_000, vec![class("after", 9, 9.0)]),
        ];
        let asked = workloads(&incident);
        assert_eq!(asked.len(), 1);
        let of_way = &asked[0];
        assert_eq!(
            (of_way.before_seconds, of_way.stall_seconds),
            (Some(20.0), Some(5.0))
        );
        assert_eq!(of_way.before, Some(1000.1));
        assert_eq!((of_way.lost, of_way.blind.len()), (5, 1));
        let rates: Vec<(&str, Option<f64>, Option<f64>)> = of_way
            .rows
            .iter()
            .map(|row| (row.id.as_str(), row.before, row.in_stall))
            .collect();
        assert_eq!(
            rates,
            [
                ("flood", Some(0.1), Some(76_000.0)),
                ("slow", Some(0.0), Some(0.2)),
                ("usual", Some(1000.0), Some(1000.0)),
            ]
        );
        assert_eq!(of_way.rows[1].time_in_stall, Some(8.0));
        assert_eq!(of_way.rows[1].time_before, None);
        assert_eq!(of_way.rows[0].users[0].count, 380_000);
    }

    #[test]
    fn a_way_that_sees_few_statements_says_so_and_stands_behind() {
        let mut incident = incident_of(model::Timeline::default());
        let onset = incident.stall.onset;
        let seen = vec![class("of the tcp clients", 50, 1.0)];
        let counted = |count| vec![class("select", count, 0.0)];
        let counters = QueryMethod::StatementCounters;
        incident.queries = vec![
            digest(QueryMethod::Packets, onset, onset + 10_000, seen),
            digest(counters, onset - 10_000, onset, counted(20_000)),
            digest(counters, onset, onset + 10_000, counted(10_000)),
        ];
        let told = workloads(&incident);
        assert_eq!(told[0].way, QueryMethod::StatementCounters);
        assert_eq!(told[0].seen_share, None);
        assert_eq!(told[1].seen_share, Some(0.005));
        assert!(told[1].is_blind_to_most());
    }

    #[test]
    fn senders_are_named_as_far_as_they_are_known() {
        let named = |name: &str| Counted {
            name: name.to_owned(),
            count: 1,
        };
        let mut row = WorkloadRow::default();
        assert_eq!(senders(&row), "");
        row.hosts = vec![named("10.0.0.7"), named("10.0.0.8")];
        assert_eq!(senders(&row), "10.0.0.7 and 1 more");
        row.users = vec![named("orm")];
        row.programs = vec![named("Connector/J")];
        assert_eq!(senders(&row), "orm at 10.0.0.7 and 1 more with Connector/J");
    }

    #[test]
    fn who_looked_in_the_stall_only_says_nothing_of_before() {
        let mut incident = incident_of(model::Timeline::default());
        let onset = incident.stall.onset;
        let seen = vec![class("flood", 100, 1.0)];
        incident.queries = vec![digest(
            QueryMethod::Packets,
            onset + 500,
            onset + 1500,
            seen,
        )];
        let asked = workloads(&incident);
        let row = &asked[0].rows[0];
        assert_eq!((row.before, row.in_stall), (None, Some(100.0)));
        assert_eq!((asked[0].before_seconds, asked[0].before), (None, None));
    }
}
