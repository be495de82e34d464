//! What the rounds came to, for people and for programs.

use report::{Bar, BarGroup, BarUnit, Bars, Document, Interval, Part, Section};
use serde::Serialize;
use serde_json::{Value, json};
use testbed::{Allocator, ServerKind};

use super::numbers::{mean, ratio};
use super::rounds::{AT_A_TIME, CLIENTS, QUERY, Reading, TIMES, TRANSACTIONS, Trial};

/// The means of an allocator.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Summary {
    pub(super) allocator: &'static str,
    /// Until all queries were done, in seconds, for each of [`AT_A_TIME`].
    pub(super) query_seconds: Vec<Option<Interval>>,
    /// How many times the work of one query alone was done in the same time: 2 at 2 is as good as it gets
    /// with as many processors.
    pub(super) scaling: Vec<Option<Interval>>,
    /// The time of the most at a time against that of the first allocator in the same round.
    pub(super) time_against_first: Option<Interval>,
    pub(super) transactions_per_second: Option<Interval>,
    /// Against the first allocator.
    pub(super) transactions_against_first: Option<Interval>,
    pub(super) start_bytes: Option<Interval>,
    pub(super) after_queries_bytes: Option<Interval>,
    pub(super) after_transactions_bytes: Option<Interval>,
    pub(super) peak_bytes: Option<Interval>,
    /// Against the first allocator.
    pub(super) peak_against_first: Option<Interval>,
}

fn column(trial: &Trial, value: impl Fn(&Reading) -> f64) -> Vec<f64> {
    trial.readings.iter().map(value).collect()
}

/// The time of that many at a time; the index is that in [`AT_A_TIME`].
fn seconds(reading: &Reading, level: usize) -> f64 {
    reading.query_seconds.get(level).copied().unwrap_or(0.0)
}

pub(super) fn summaries(trials: &[Trial]) -> Vec<Summary> {
    let most = AT_A_TIME.len() - 1;
    let first = |value: &dyn Fn(&Reading) -> f64| {
        trials
            .first()
            .map_or_else(Vec::new, |trial| column(trial, value))
    };
    trials
        .iter()
        .map(|trial| {
            let bytes =
                |value: fn(&Reading) -> u64| mean(&column(trial, |reading| value(reading) as f64));
            Summary {
                allocator: trial.allocator.name(),
                query_seconds: (0..=most)
                    .map(|level| mean(&column(trial, |reading| seconds(reading, level))))
                    .collect(),
                scaling: AT_A_TIME
                    .iter()
                    .enumerate()
                    .map(|(level, at_a_time)| {
                        let alone =
                            column(trial, |reading| seconds(reading, 0) * *at_a_time as f64);
                        let together = column(trial, |reading| seconds(reading, level));
                        ratio(&alone, &together)
                    })
                    .collect(),
                time_against_first: ratio(
                    &column(trial, |reading| seconds(reading, most)),
                    &first(&|reading| seconds(reading, most)),
                ),
                transactions_per_second: mean(&column(trial, |reading| {
                    reading.transactions_per_second
                })),
                transactions_against_first: ratio(
                    &column(trial, |reading| reading.transactions_per_second),
                    &first(&|reading| reading.transactions_per_second),
                ),
                start_bytes: bytes(|reading| reading.start_bytes),
                after_queries_bytes: bytes(|reading| reading.after_queries_bytes),
                after_transactions_bytes: bytes(|reading| reading.after_transactions_bytes),
                peak_bytes: bytes(|reading| reading.peak_bytes),
                peak_against_first: ratio(
                    &column(trial, |reading| reading.peak_bytes as f64),
                    &first(&|reading| reading.peak_bytes as f64),
                ),
            }
        })
        .collect()
}

pub(super) fn json(
    kind: ServerKind,
    rounds: u32,
    trials: &[Trial],
    summaries: &[Summary],
    left_out: &[String],
) -> Value {
    json!({
        "server": kind.name(),
        "processors": processors(),
        "rounds": rounds,
        "at_a_time": AT_A_TIME,
        "query": QUERY,
        "allocators": summaries,
        "trials": trials,
        "left_out": left_out,
    })
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(0, usize::from)
}

pub(super) fn sheet(
    kind: ServerKind,
    rounds: u32,
    trials: &[Trial],
    summaries: &[Summary],
    left_out: &[String],
) -> Document {
    let most = AT_A_TIME.len() - 1;
    let words: Vec<String> = summaries
        .iter()
        .filter_map(|summary| {
            let time = summary.query_seconds.get(most).copied().flatten()?;
            Some(format!(
                "{} {}",
                summary.allocator,
                BarUnit::Seconds.to_text(time.mean)
            ))
        })
        .collect();
    let mut sections = vec![
        queries(summaries),
        transactions(summaries),
        memory(summaries),
        how(kind, trials),
    ];
    if !left_out.is_empty() {
        sections.push(Section {
            title: "Left out".to_owned(),
            badge: None,
            parts: vec![Part::list(left_out.to_vec())],
        });
    }
    Document {
        kind: "memory allocators".to_owned(),
        title: format!(
            "{} analytic queries at a time: {}",
            AT_A_TIME.last().copied().unwrap_or_default(),
            words.join(", ")
        ),
        line: match rounds {
            1 => format!("{} on {} processors, one round", kind.name(), processors()),
            _ => format!(
                "{} on {} processors, {rounds} rounds in turn; the 95 % interval of the mean is in brackets",
                kind.name(),
                processors()
            ),
        },
        sections,
    }
}

fn bars(
    title: &str,
    summaries: &[Summary],
    value: impl Fn(&Summary) -> Option<Interval>,
) -> BarGroup {
    BarGroup {
        title: title.to_owned(),
        bars: summaries
            .iter()
            .map(|summary| Bar {
                name: summary.allocator.to_owned(),
                value: value(summary),
            })
            .collect(),
    }
}

fn say(unit: BarUnit, interval: Option<Interval>) -> String {
    interval.map_or_else(|| "–".to_owned(), |interval| unit.interval_text(interval))
}

fn against(summaries: &[Summary]) -> String {
    let first = summaries.first().map_or("-", |summary| summary.allocator);
    format!("against {first}")
}

fn queries(summaries: &[Summary]) -> Section {
    let mut columns = vec!["allocator".to_owned()];
    columns.extend(AT_A_TIME.map(|n| format!("{n} at a time")));
    columns.push(format!(
        "{} {}",
        AT_A_TIME.last().copied().unwrap_or_default(),
        against(summaries)
    ));
    let rows = summaries
        .iter()
        .map(|summary| {
            let mut row = vec![summary.allocator.to_owned()];
            row.extend(
                summary
                    .query_seconds
                    .iter()
                    .map(|time| say(BarUnit::Seconds, *time)),
            );
            row.push(say(BarUnit::Times, summary.time_against_first));
            row
        })
        .collect();
    let scaled = summaries
        .iter()
        .map(|summary| {
            let mut row = vec![summary.allocator.to_owned()];
            row.extend(
                summary
                    .scaling
                    .iter()
                    .skip(1)
                    .map(|scaling| say(BarUnit::Times, *scaling)),
            );
            row
        })
        .collect();
    let mut scaling_columns = vec!["allocator".to_owned()];
    scaling_columns.extend(AT_A_TIME.iter().skip(1).map(|n| format!("{n} at a time")));
    let level = |summary: &Summary, level: usize, of: fn(&Summary) -> &Vec<Option<Interval>>| {
        of(summary).get(level).copied().flatten()
    };
    let groups = |of: fn(&Summary) -> &Vec<Option<Interval>>, skip: usize| {
        AT_A_TIME
            .iter()
            .enumerate()
            .skip(skip)
            .map(|(index, n)| {
                bars(&format!("{n} at a time"), summaries, |summary| {
                    level(summary, index, of)
                })
            })
            .collect()
    };
    Section {
        title: "Analytic queries".to_owned(),
        badge: None,
        parts: vec![
            Part::numbers(columns, rows),
            Part::Bars(Bars {
                title: "Time until all have finished: shorter is better".to_owned(),
                unit: BarUnit::Seconds,
                groups: groups(|summary| &summary.query_seconds, 0),
            }),
            Part::Heading("Scaling".to_owned()),
            Part::paragraph(format!(
                "Work done, as a multiple of one query alone in the same time. With {} processors, \
                 {0} is the best possible value.",
                processors()
            )),
            Part::numbers(scaling_columns, scaled),
            Part::Bars(Bars {
                title: "Scaling: longer is better".to_owned(),
                unit: BarUnit::Times,
                groups: groups(|summary| &summary.scaling, 1),
            }),
        ],
    }
}

fn transactions(summaries: &[Summary]) -> Section {
    let unit = BarUnit::PerSecond;
    Section {
        title: format!("Small transactions, {CLIENTS} clients"),
        badge: None,
        parts: vec![
            Part::numbers(
                vec![
                    "allocator".to_owned(),
                    "transactions".to_owned(),
                    against(summaries),
                ],
                summaries
                    .iter()
                    .map(|summary| {
                        vec![
                            summary.allocator.to_owned(),
                            say(unit, summary.transactions_per_second),
                            say(BarUnit::Times, summary.transactions_against_first),
                        ]
                    })
                    .collect(),
            ),
            Part::Bars(Bars {
                title: "Transactions a second: longer is better".to_owned(),
                unit,
                groups: vec![bars("", summaries, |summary| {
                    summary.transactions_per_second
                })],
            }),
        ],
    }
}

fn memory(summaries: &[Summary]) -> Section {
    let unit = BarUnit::Bytes;
    Section {
        title: "Resident memory of the server".to_owned(),
        badge: None,
        parts: vec![
            Part::numbers(
                [
                    "allocator",
                    "warm",
                    "after the queries",
                    "after the transactions",
                    "peak",
                ]
                .map(str::to_owned)
                .into_iter()
                .chain([against(summaries)])
                .collect(),
                summaries
                    .iter()
                    .map(|summary| {
                        let mut row = vec![summary.allocator.to_owned()];
                        row.extend(
                            [
                                summary.start_bytes,
                                summary.after_queries_bytes,
                                summary.after_transactions_bytes,
                                summary.peak_bytes,
                            ]
                            .map(|bytes| say(unit, bytes)),
                        );
                        row.push(say(BarUnit::Times, summary.peak_against_first));
                        row
                    })
                    .collect(),
            ),
            Part::Bars(Bars {
                title: "Peak of the resident memory: shorter is better".to_owned(),
                unit,
                groups: vec![bars("", summaries, |summary| summary.peak_bytes)],
            }),
        ],
    }
}

fn how(kind: ServerKind, trials: &[Trial]) -> Section {
    let environments = trials
        .iter()
        .filter(|trial| !trial.environment.is_empty())
        .map(|trial| {
            format!(
                "{}: {}",
                trial.allocator.name(),
                trial.environment.join(" ")
            )
        });
    let mut lines: Vec<String> = environments.collect();
    if trials
        .iter()
        .any(|trial| trial.allocator == Allocator::OldGlibc)
    {
        lines.push(
            "old-glibc is today's glibc without its improvements since 2.26: no cache of freed blocks for \
             each thread, and one arena, which the threads of a large machine had to share"
                .to_owned(),
        );
    }
    Section {
        title: "How it was measured".to_owned(),
        badge: None,
        parts: vec![
            Part::paragraph(format!(
                "One private {} on the same data, restarted for each allocator in each round; the order moves \
                 by one from round to round. Each session runs the query {TIMES} times. The query calls a function \
                 that the lab builds and loads, which allocates and frees 32 blocks per row with operator new and \
                 delete. It stands for engines that do so, because the servers' own functions hardly allocate. \
                 The transactions run for {} s after a second that is not counted. Ratios are geometric means \
                 over rounds; intervals are by Student's t.",
                kind.name(),
                TRANSACTIONS.as_secs()
            )),
            Part::Commands(vec![QUERY.to_owned()]),
            Part::list(lines),
        ],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn trial(allocator: Allocator, times: [f64; 3]) -> Trial {
        Trial {
            allocator,
            environment: Vec::new(),
            readings: (1..=3)
                .map(|round| Reading {
                    round,
                    query_seconds: times.map(|time| time * f64::from(round)),
                    transactions_per_second: 100.0 / times[0],
                    start_bytes: 1 << 20,
                    after_queries_bytes: 2 << 20,
                    after_transactions_bytes: 3 << 20,
                    peak_bytes: 4 << 20,
                })
                .collect(),
        }
    }

    #[test]
    fn scaling_is_the_work_done_in_the_time_of_one() {
        let trials = [
            trial(Allocator::Glibc, [1.0, 1.0, 2.0]),
            trial(Allocator::OldGlibc, [1.0, 2.0, 8.0]),
        ];
        let summaries = summaries(&trials);
        let scaling = |index: usize, level: usize| summaries[index].scaling[level].unwrap().mean;
        assert!((scaling(0, 1) - 2.0).abs() < 1e-9);
        assert!((scaling(0, 2) - 2.0).abs() < 1e-9);
        assert!((scaling(1, 1) - 1.0).abs() < 1e-9);
        assert!((scaling(1, 2) - 0.5).abs() < 1e-9);
        // Rounds are compared with themselves: four times as slow in each of them.
        let slower = summaries[1].time_against_first.unwrap();
        assert!((slower.mean - 4.0).abs() < 1e-9 && (slower.high - 4.0).abs() < 1e-9);
        let sheet = sheet(
            ServerKind::MySql55,
            3,
            &trials,
            &summaries,
            &["x".to_owned()],
        );
        assert!(
            sheet.title.ends_with("glibc 4 s, old-glibc 16 s"),
            "{}",
            sheet.title
        );
        assert_eq!(sheet.sections.last().unwrap().title, "Left out");
    }
}
