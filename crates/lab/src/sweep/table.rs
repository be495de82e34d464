//! The table of a sweep, and whether its targets are met.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::cells::{Cell, all};
use super::lines::{Alarm, Healthy, Length, Line, Stall};
use super::numbers::{Numbers, percent, share};
use super::page::Page;

const LONG_SHARE: f64 = 0.99;
const SHORT_SHARE: f64 = 0.95;
const NEAR_SHARE: f64 = 0.95;
const DELAY_MEDIAN_S: f64 = 2.0;
const DELAY_P99_S: f64 = 4.0;

/// Lists are no longer: what is left out is in the lines that `--keep` writes.
const LISTED_MAX: usize = 40;

/// All that was found.
pub(super) struct Table<'a> {
    stalls: Vec<&'a Stall>,
    pub(super) alarms: Vec<&'a Alarm>,
    healthy: Vec<&'a Healthy>,
    watched_s: f64,
}

/// One target: what, by how much, and whether it is met. None: nothing was there to tell.
type Target = (&'static str, String, Option<bool>);

/// One line of a table by a part of the cell.
type Row = (String, Numbers);

impl<'a> Table<'a> {
    pub(super) fn from_lines(lines: &'a [Line]) -> Self {
        let mut table = Self {
            stalls: Vec::new(),
            alarms: Vec::new(),
            healthy: Vec::new(),
            watched_s: 0.0,
        };
        for line in lines {
            match line {
                Line::Stall(stall) => table.stalls.push(stall),
                Line::FalseAlarm(alarm) => table.alarms.push(alarm),
                Line::Healthy(healthy) => table.healthy.push(healthy),
                Line::Watched(watched) => table.watched_s += watched.seconds,
            }
        }
        table
    }

    pub(super) fn counted(&self) -> impl Iterator<Item = &'a Stall> {
        self.stalls.iter().copied().filter(|stall| stall.counts())
    }

    fn of_length(&self, length: Length) -> Numbers {
        Numbers::from_stalls(
            self.stalls
                .iter()
                .copied()
                .filter(|stall| stall.length() == length),
        )
    }

    fn covered(&self) -> (usize, usize) {
        let run: BTreeSet<Cell> = self.stalls.iter().map(|stall| stall.cell).collect();
        let felt: BTreeSet<Cell> = self.counted().map(|stall| stall.cell).collect();
        (run.len(), felt.len())
    }

    /// The targets that something could be told of are met.
    pub(super) fn is_met(&self) -> bool {
        self.targets()
            .iter()
            .all(|(.., is_met)| is_met.unwrap_or(true))
    }

    fn targets(&self) -> Vec<Target> {
        let (long, short) = (self.of_length(Length::Long), self.of_length(Length::Short));
        let both = Numbers::from_stalls(self.counted());
        let of_share = |count, of, least| (of > 0).then(|| share(count, of) >= least);
        let within = |value: Option<f64>, most| value.map(|value| value <= most);
        let cells = both.cells();
        let [_, _, median, p99, onset, end] = cells;
        let healthy: usize = self.healthy.iter().map(|item| item.false_alarms).sum();
        let between = self.alarms.len().saturating_sub(healthy);
        vec![
            (
                "felt 5 s or longer: noticed ≥ 99 %",
                percent(long.noticed, long.felt),
                of_share(long.noticed, long.felt, LONG_SHARE),
            ),
            (
                "felt 2 s: noticed ≥ 95 %",
                percent(short.noticed, short.felt),
                of_share(short.noticed, short.felt, SHORT_SHARE),
            ),
            (
                "half noticed within 2 s",
                median,
                within(both.delay(0.5), DELAY_MEDIAN_S),
            ),
            (
                "99 % noticed within 4 s",
                p99,
                within(both.delay(0.99), DELAY_P99_S),
            ),
            (
                "onset within 1 s ≥ 95 %",
                onset,
                of_share(both.onset_near, both.noticed, NEAR_SHARE),
            ),
            (
                "end within 1 s ≥ 95 %",
                end,
                of_share(both.end_near, both.noticed, NEAR_SHARE),
            ),
            (
                "false alarms during healthy work 0",
                healthy.to_string(),
                (!self.healthy.is_empty()).then_some(healthy == 0),
            ),
            (
                "false alarms between the stalls 0",
                between.to_string(),
                Some(between == 0),
            ),
        ]
    }

    /// By each part of the cell: its name, and a row for each value.
    fn parts(&self) -> Vec<(&'static str, Vec<Row>)> {
        let by = |name: &'static str, of: fn(&Cell) -> (u64, String)| {
            let values: BTreeSet<(u64, String)> =
                self.stalls.iter().map(|stall| of(&stall.cell)).collect();
            let rows = values.into_iter().map(|value| {
                let numbers =
                    Numbers::from_stalls(self.counted().filter(|stall| of(&stall.cell) == value));
                (value.1, numbers)
            });
            (name, rows.collect())
        };
        vec![
            by("mechanism", |cell| {
                (cell.mechanism as u64, cell.mechanism.name().to_owned())
            }),
            by("pool", |cell| (cell.pool.into(), cell.pool.to_string())),
            by("load", |cell| {
                let order = all().position(|other| other.load == cell.load);
                (order.unwrap_or_default() as u64, cell.load.name())
            }),
            by("length", |cell| {
                (cell.length_s.into(), format!("{} s", cell.length_s))
            }),
            by("distance", |cell| {
                (cell.distance_s.into(), format!("{} s", cell.distance_s))
            }),
        ]
    }

    fn summary(&self) -> Vec<String> {
        let (run, felt) = self.covered();
        let count = |length| {
            self.stalls
                .iter()
                .filter(|stall| stall.length() == length)
                .count()
        };
        let healthy: f64 = self
            .healthy
            .iter()
            .filter(|item| item.skipped.is_none())
            .map(|item| item.seconds)
            .sum();
        let merged = Numbers::from_stalls(self.counted()).merged;
        vec![
            format!(
                "{run} of {} cells run, {felt} of them felt; {} stalls: {} felt 4.5 s or longer, {} felt 1.5 to 4.5 s, {} shorter, {} not felt",
                all().count(),
                self.stalls.len(),
                count(Length::Long),
                count(Length::Short),
                count(Length::Moment),
                count(Length::NotFelt),
            ),
            format!(
                "{merged} merged with the previous stall; {:.0} minutes without a stall, {:.0} of them with healthy work",
                self.watched_s / 60.0,
                healthy / 60.0
            ),
        ]
    }

    /// The rows of the healthy work: name, minutes, false alarms, notices while clients hung, why not.
    fn healthy_rows(&self) -> Vec<[String; 4]> {
        let names: BTreeSet<&str> = self.healthy.iter().map(|item| item.item.as_str()).collect();
        let rows = names.into_iter().map(|name| {
            let of_it = || self.healthy.iter().filter(|item| item.item == name);
            let done = || of_it().filter(|item| item.skipped.is_none());
            let seconds: f64 = done().map(|item| item.seconds).sum();
            let skipped = of_it().find_map(|item| item.skipped.clone());
            [
                name.to_owned(),
                match (done().count(), skipped) {
                    (0, Some(why)) => format!("skipped: {why}"),
                    _ => format!("{seconds:.0} s"),
                },
                done()
                    .map(|item| item.false_alarms)
                    .sum::<usize>()
                    .to_string(),
                done().map(|item| item.felt).sum::<usize>().to_string(),
            ]
        });
        rows.collect()
    }

    pub(super) fn text(&self) -> String {
        self.page(false)
    }

    pub(super) fn markdown(&self) -> String {
        self.page(true)
    }

    fn page(&self, is_markdown: bool) -> String {
        let mut page = Page {
            text: String::new(),
            is_markdown,
        };
        page.head(
            1,
            "Sweep: stalls as clients felt them, and the recorder's notices",
        );
        if is_markdown {
            let stages = self.stalls.iter().map(|stall| stall.from.stage.as_str());
            page.text.push_str(&crate::provenance::line(stages));
        }
        self.summary().iter().for_each(|line| page.line(line));
        page.head(2, "Targets");
        let targets = self.targets().into_iter().map(|(what, how, is_met)| {
            let verdict = match is_met {
                Some(true) => "met",
                Some(false) => "NOT MET",
                None => "–",
            };
            vec![what.to_owned(), how, verdict.to_owned()]
        });
        page.table(&["target", "", ""], &targets.collect::<Vec<_>>());
        let head = [
            "felt",
            "noticed",
            "median",
            "p99",
            "onset within 1 s",
            "end within 1 s",
        ];
        let parts = self.parts().into_iter().map(|(name, rows)| {
            let rows = rows.into_iter().map(|(value, numbers)| {
                std::iter::once(value)
                    .chain(numbers.cells())
                    .collect::<Vec<_>>()
            });
            (name, rows.collect::<Vec<_>>())
        });
        if is_markdown {
            page.head(2, "By part of the cell");
            let rows = parts.flat_map(|(name, rows)| {
                let mut part = vec![String::new(); head.len() + 1];
                part[0] = format!("**{name}**");
                std::iter::once(part).chain(rows)
            });
            let rows: Vec<Vec<String>> = rows.collect();
            page.table(&[&[""], head.as_slice()].concat(), &rows);
        } else {
            for (name, rows) in parts {
                page.head(2, &format!("By {name}"));
                page.table(&[&[name], head.as_slice()].concat(), &rows);
            }
        }
        if !self.healthy.is_empty() {
            page.head(2, "Healthy work");
            let rows = self.healthy_rows().into_iter();
            // A page for people has no row for work without a notice.
            let (quiet, rows): (Vec<_>, Vec<_>) =
                rows.partition(|row| is_markdown && row[2] == "0" && row[3] == "0");
            if !quiet.is_empty() {
                let quiet: Vec<String> = quiet.iter().map(|row| row[..2].join(" ")).collect();
                page.line(&format!("No notice for: {}", quiet.join(", ")));
            }
            if !rows.is_empty() {
                let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
                page.table(
                    &["work", "time", "false alarms", "notices while clients hung"],
                    &rows,
                );
            }
        }
        let lists = [
            ("False alarms", self.false_alarms()),
            ("Missed", self.missed()),
            ("Not exact", self.inexact()),
        ];
        // The others are counted above, and in the lines that `--keep` writes.
        let lists = lists.into_iter().take(if is_markdown { 1 } else { 3 });
        for (name, list) in lists {
            page.head(2, name);
            match list.is_empty() {
                true => page.line("none"),
                false => list
                    .iter()
                    .take(LISTED_MAX)
                    .for_each(|item| page.line(&format!("- {item}"))),
            }
            let more = list.len().saturating_sub(LISTED_MAX);
            if more > 0 {
                page.line(&format!("- and {more} more"));
            }
        }
        page.text
    }

    pub(super) fn json(&self) -> Value {
        let (run, felt) = self.covered();
        let parts = self.parts().into_iter().map(|(name, rows)| {
            let rows = rows
                .into_iter()
                .map(|(value, numbers)| (value, numbers.json()));
            (name.to_owned(), Value::Object(rows.collect()))
        });
        let targets = self.targets().into_iter();
        let targets =
            targets.map(|(what, how, is_met)| json!({"target": what, "is": how, "met": is_met}));
        json!({
            "cells": all().count(), "cells_run": run, "cells_felt": felt, "calm_seconds": self.watched_s,
            "targets": targets.collect::<Vec<_>>(),
            "long": self.of_length(Length::Long).json(),
            "short": self.of_length(Length::Short).json(),
            "by": parts.collect::<serde_json::Map<_, _>>(),
            "healthy": self.healthy, "missed": self.missed(), "false_alarms": self.alarms, "not_exact": self.inexact(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::super::cells::Pace;
    use super::super::client_latency::ClientStall;
    use super::super::lines::From;
    use super::super::mechanisms::Mechanism;
    use super::*;

    fn from() -> From {
        From {
            version: "1".to_owned(),
            build: String::new(),
            server: "server".to_owned(),
            stage: "stage-1".to_owned(),
        }
    }

    fn stall(felt_ms: i64, delay_s: Option<f64>) -> Stall {
        Stall {
            from: from(),
            cell: Cell {
                mechanism: Mechanism::Sigstop,
                pool: 4,
                load: Pace::PerSecond(20),
                length_s: 5,
                distance_s: 10,
            },
            done_ms: (0, felt_ms),
            distance_s: None,
            felt: (felt_ms > 0).then_some(ClientStall {
                from_ms: 0,
                to_ms: felt_ms,
                earliest_ms: 0,
                latest_ms: felt_ms,
                count: 1,
                share: 1.0,
            }),
            usual_ms: 1.0,
            noticed: delay_s.is_some(),
            merged: false,
            pieces: usize::from(delay_s.is_some()),
            delay_s,
            onset_error_s: delay_s.map(|_| 0.2),
            end_error_s: delay_s.map(|_| -0.3),
            rule: delay_s.map(|_| "work-stops".to_owned()),
            says: delay_s.map(|_| "nothing | completed".to_owned()),
            machine_load: 0.5,
        }
    }

    fn lines(stalls: impl IntoIterator<Item = Stall>) -> Vec<Line> {
        stalls
            .into_iter()
            .map(|stall| Line::Stall(Box::new(stall)))
            .collect()
    }

    #[test]
    fn what_was_not_felt_is_not_missed() {
        let lines = lines([
            stall(0, None),
            stall(1_000, None),
            stall(5_000, Some(1.5)),
            stall(2_000, Some(1.0)),
        ]);
        let table = Table::from_lines(&lines);
        assert!(table.is_met(), "{:?}", table.targets());
        assert!(table.missed().is_empty());
        assert_eq!(table.of_length(Length::Long).felt, 1);
        assert_eq!(table.of_length(Length::Short).felt, 1);
        assert_eq!(table.covered(), (1, 1));
    }

    #[test]
    fn one_that_is_missed_told_late_or_told_wrongly_is_seen() {
        let missed = lines([stall(5_000, None)]);
        assert!(!Table::from_lines(&missed).is_met());
        assert_eq!(Table::from_lines(&missed).missed().len(), 1);
        let late = lines([stall(20_000, Some(4.5))]);
        assert!(!Table::from_lines(&late).is_met());
        let far = Stall {
            onset_error_s: Some(-1.2),
            ..stall(5_000, Some(1.0))
        };
        let far = lines([far]);
        assert!(!Table::from_lines(&far).is_met());
        assert_eq!(Table::from_lines(&far).inexact().len(), 1);
    }

    #[test]
    fn a_false_alarm_is_listed_with_its_words() {
        let alarm = Alarm {
            from: from(),
            beside: "a dump".to_owned(),
            onset_ms: 1_000,
            trigger_ms: 2_000,
            end_ms: Some(3_000),
            rule: "query-probe".to_owned(),
            says: "no answer".to_owned(),
        };
        let lines = [Line::FalseAlarm(alarm)];
        let table = Table::from_lines(&lines);
        assert!(!table.is_met());
        assert_eq!(
            table.false_alarms(),
            ["a dump: [query-probe] no answer (2.0 s, stage-1)"]
        );
    }

    #[test]
    fn the_page_has_a_row_for_each_value_and_lines_are_read_again() {
        let lines = lines([stall(5_000, Some(1.5))]);
        let text = serde_json::to_string(&lines[0]).unwrap();
        let again: Line = serde_json::from_str(&text).unwrap();
        let again = [again];
        let table = Table::from_lines(&again);
        let markdown = table.markdown();
        assert!(
            markdown.contains("| SIGSTOP | 1 | 100.0 % (1) | 1.5 s | 1.5 s |"),
            "{markdown}"
        );
        assert!(
            markdown.contains("1 of 2592 cells run, 1 of them felt"),
            "{markdown}"
        );
        assert!(table.text().contains("By distance"));
        assert_eq!(table.json()["long"]["noticed"], 1);
    }

    #[test]
    fn delays_are_by_rank() {
        let delays = (1..=100).map(|n| stall(5_000, Some(f64::from(n) / 10.0)));
        let all: Vec<Stall> = delays.collect();
        let numbers = Numbers::from_stalls(all.iter());
        assert_eq!(
            (numbers.delay(0.5), numbers.delay(0.99)),
            (Some(5.0), Some(9.9))
        );
        assert_eq!(Numbers::from_stalls(std::iter::empty()).delay(0.5), None);
    }
}
