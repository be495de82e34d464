//! The table of a sweep, and whether its targets are met.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::cells::{Cell, all};
use super::lines::{Alarm, Healthy, Length, Line, Stall};

/// How far onset and end may be from the truth, seconds.
const NEAR_S: f64 = 1.0;

const LONG_SHARE: f64 = 0.99;
const SHORT_SHARE: f64 = 0.95;
const NEAR_SHARE: f64 = 0.95;
const DELAY_MEDIAN_S: f64 = 2.0;
const DELAY_P99_S: f64 = 4.0;

/// Lists are no longer.
const LISTED_MAX: usize = 200;

/// All that was found.
pub(super) struct Table<'a> {
    stalls: Vec<&'a Stall>,
    alarms: Vec<&'a Alarm>,
    healthy: Vec<&'a Healthy>,
    watched_s: f64,
}

/// Numbers of some stalls.
#[derive(Debug, Clone, PartialEq)]
struct Numbers {
    felt: usize,
    noticed: usize,
    merged: usize,
    /// Sorted, seconds.
    delays: Vec<f64>,
    onset_near: usize,
    end_near: usize,
}

impl Numbers {
    fn of<'a>(stalls: impl Iterator<Item = &'a Stall>) -> Self {
        let mut numbers = Self {
            felt: 0,
            noticed: 0,
            merged: 0,
            delays: Vec::new(),
            onset_near: 0,
            end_near: 0,
        };
        let is_near = |error: Option<f64>| error.is_some_and(|error| error.abs() <= NEAR_S);
        for stall in stalls {
            numbers.felt += 1;
            numbers.noticed += usize::from(stall.noticed);
            numbers.merged += usize::from(stall.merged);
            numbers.onset_near += usize::from(is_near(stall.onset_error_s));
            numbers.end_near += usize::from(is_near(stall.end_error_s));
            numbers
                .delays
                .extend(stall.delay_s.filter(|_| stall.noticed));
        }
        numbers.delays.sort_unstable_by(f64::total_cmp);
        numbers
    }

    fn delay(&self, share: f64) -> Option<f64> {
        let rank = (share * self.delays.len() as f64).ceil() as usize;
        self.delays.get(rank.max(1) - 1).copied()
    }

    fn cells(&self) -> [String; 6] {
        let seconds = |value: Option<f64>| {
            value.map_or_else(|| "–".to_owned(), |value| format!("{value:.1} s"))
        };
        [
            self.felt.to_string(),
            percent(self.noticed, self.felt),
            seconds(self.delay(0.5)),
            seconds(self.delay(0.99)),
            percent(self.onset_near, self.noticed),
            percent(self.end_near, self.noticed),
        ]
    }

    fn json(&self) -> Value {
        json!({"felt": self.felt, "noticed": self.noticed, "merged": self.merged, "delay_median_s": self.delay(0.5),
            "delay_p99_s": self.delay(0.99), "onset_near": self.onset_near, "end_near": self.end_near})
    }
}

fn percent(count: usize, of: usize) -> String {
    match of {
        0 => "–".to_owned(),
        _ => format!("{:.1} % ({count})", share(count, of) * 100.0),
    }
}

fn share(count: usize, of: usize) -> f64 {
    count as f64 / of as f64
}

/// One target: what, by how much, and whether it is met. None: nothing was there to tell.
type Target = (&'static str, String, Option<bool>);

/// One line of a table by a part of the cell.
type Row = (String, Numbers);

impl<'a> Table<'a> {
    pub(super) fn of(lines: &'a [Line]) -> Self {
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

    fn counted(&self) -> impl Iterator<Item = &'a Stall> {
        self.stalls.iter().copied().filter(|stall| stall.counts())
    }

    fn of_length(&self, length: Length) -> Numbers {
        Numbers::of(
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
        let both = Numbers::of(self.counted());
        let of_share = |count, of, least| (of > 0).then(|| share(count, of) >= least);
        let within = |value: Option<f64>, most| value.map(|value| value <= most);
        let cells = both.cells();
        let [_, _, median, p99, onset, end] = cells;
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
                "false alarms 0",
                self.alarms.len().to_string(),
                Some(self.alarms.is_empty()),
            ),
        ]
    }

    /// By each part of the cell: its name, and a row for each value.
    fn parts(&self) -> Vec<(&'static str, Vec<Row>)> {
        let by = |name: &'static str, of: fn(&Cell) -> (u64, String)| {
            let values: BTreeSet<(u64, String)> =
                self.stalls.iter().map(|stall| of(&stall.cell)).collect();
            let rows = values.into_iter().map(|value| {
                let numbers = Numbers::of(self.counted().filter(|stall| of(&stall.cell) == value));
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

    fn missed(&self) -> Vec<String> {
        let missed = self.counted().filter(|stall| !stall.noticed);
        missed
            .map(|stall| {
                let felt = stall.felt.as_ref().map_or(0.0, super::felt::Felt::seconds);
                let merged = if stall.merged {
                    ", told as one with the stall before"
                } else {
                    ""
                };
                format!(
                    "{}, felt {felt:.1} s{merged} ({})",
                    place(stall),
                    stall.from.stage
                )
            })
            .collect()
    }

    /// Onset or end further away than they may be.
    fn inexact(&self) -> Vec<String> {
        let is_far = |error: Option<f64>| error.is_none_or(|error| error.abs() > NEAR_S);
        let seconds = |error: Option<f64>| {
            error.map_or_else(|| "none".to_owned(), |error| format!("{error:+.1} s"))
        };
        self.counted()
            .filter(|stall| {
                stall.noticed && (is_far(stall.onset_error_s) || is_far(stall.end_error_s))
            })
            .map(|stall| {
                format!(
                    "{}: onset {}, end {}{} [{}] {} ({})",
                    place(stall),
                    seconds(stall.onset_error_s),
                    seconds(stall.end_error_s),
                    if stall.pieces > 1 {
                        format!(", in {} pieces", stall.pieces)
                    } else {
                        String::new()
                    },
                    stall.rule.as_deref().unwrap_or("-"),
                    stall.says.as_deref().unwrap_or_default(),
                    stall.from.stage,
                )
            })
            .collect()
    }

    fn false_alarms(&self) -> Vec<String> {
        let alarms = self.alarms.iter();
        alarms
            .map(|alarm| {
                let length = alarm
                    .end_ms
                    .map(|end| (end - alarm.onset_ms) as f64 / 1000.0);
                let length =
                    length.map_or_else(|| "no end".to_owned(), |length| format!("{length:.1} s"));
                format!(
                    "{}: [{}] {} ({length}, {})",
                    alarm.beside, alarm.rule, alarm.says, alarm.from.stage
                )
            })
            .collect()
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
        let merged = Numbers::of(self.counted()).merged;
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
                "{merged} told as one with the stall before; {:.0} minutes of time without a stall, {:.0} of them beside healthy work",
                self.watched_s / 60.0,
                healthy / 60.0
            ),
        ]
    }

    /// The rows of the healthy work: name, minutes, false alarms, told while users hung, why not.
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
            "Sweep: stalls as their users felt them, and what was told",
        );
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
        for (name, rows) in self.parts() {
            page.head(2, &format!("By {name}"));
            let rows = rows.iter().map(|(value, numbers)| {
                std::iter::once(value.clone())
                    .chain(numbers.cells())
                    .collect()
            });
            let head = [
                name,
                "felt",
                "noticed",
                "median",
                "p99",
                "onset within 1 s",
                "end within 1 s",
            ];
            page.table(&head, &rows.collect::<Vec<_>>());
        }
        if !self.healthy.is_empty() {
            page.head(2, "Healthy work");
            let rows: Vec<Vec<String>> = self.healthy_rows().into_iter().map(Vec::from).collect();
            page.table(
                &["work", "time", "false alarms", "told while users hung"],
                &rows,
            );
        }
        let lists = [
            ("Missed", self.missed()),
            ("False alarms", self.false_alarms()),
            ("Not exact", self.inexact()),
        ];
        for (name, list) in lists {
            page.head(2, name);
            match list.is_empty() {
                true => page.line("none"),
                false => list
                    .iter()
                    .take(LISTED_MAX)
                    .for_each(|item| page.line(&format!("- {item}"))),
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

fn place(stall: &Stall) -> String {
    let cell = stall.cell;
    format!(
        "{}: {}, pool {}, {}, {} s, {} s after another",
        stall.from.server,
        cell.mechanism.name(),
        cell.pool,
        cell.load.name(),
        cell.length_s,
        cell.distance_s
    )
}

/// A page of Markdown, or of text.
struct Page {
    text: String,
    is_markdown: bool,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn head(&mut self, level: usize, text: &str) {
        if !self.text.is_empty() {
            self.line("");
        }
        match self.is_markdown {
            true => self.line(&format!("{} {text}\n", "#".repeat(level))),
            false => self.line(text),
        }
    }

    fn table(&mut self, head: &[&str], rows: &[Vec<String>]) {
        let head: Vec<String> = head.iter().map(|&text| text.to_owned()).collect();
        if self.is_markdown {
            self.line(&format!("| {} |", head.join(" | ")));
            self.line(&format!("|{}", "---|".repeat(head.len())));
            for row in rows {
                let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
                self.line(&format!("| {} |", cells.join(" | ")));
            }
            return;
        }
        let all = || std::iter::once(&head).chain(rows);
        let width = |column: usize| {
            let cells = all().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        };
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        let lines: Vec<String> = all()
            .map(|row| {
                let cells = row
                    .iter()
                    .zip(&widths)
                    .map(|(cell, width)| format!("{cell:<width$}"));
                format!("  {}", cells.collect::<Vec<_>>().join("  "))
                    .trim_end()
                    .to_owned()
            })
            .collect();
        lines.iter().for_each(|line| self.line(line));
    }
}
