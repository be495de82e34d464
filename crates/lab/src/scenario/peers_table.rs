//! `freezeframe-lab peers` as a page of Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::client_latency::Measured;
use super::pt_stalk::TUNINGS;
use super::table::{BLOCKED, middle_and_worst};

/// The watcher of the rows that the others are compared with.
pub(super) const NOBODY: &str = "nobody";

/// The recorder's own rows.
pub(super) const RECORDER: &str = "freezeframe";

/// One watcher beside one scenario.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) scenario: String,
    pub(super) server: String,
    pub(super) watcher: String,
    /// From the start of the break to its trigger, in seconds.
    pub(super) noticed_seconds: Option<f64>,
    /// It triggered before the break.
    pub(super) too_early: bool,
    /// What it captured: kinds of files, or of evidence.
    pub(super) kinds: Vec<String>,
    pub(super) mib: f64,
    /// Where that is, or was.
    #[serde(default)]
    pub(super) captured: Option<PathBuf>,
    /// The true cause.
    pub(super) truth: String,
    /// The first cause that is at least likely by what it captured.
    pub(super) named: Option<String>,
    pub(super) felt: Measured,
}

const HEAD: &str = "\
# Compared with pt-stalk

Made by `freezeframe-lab peers --markdown FILE`. Each scenario of [the lab](../docs/lab.md) was run four times, each on a fresh server: unwatched, with
`freezeframe record`, with pt-stalk's defaults (`Threads_running` above 25 in five checks a second apart, then 30 s of collecting), and with pt-stalk as tuned
by somebody who knows the server (above 15, one check, 10 s). Times count from the start of the break. The cause is the first likely or certain cause that
`freezeframe explain` finds in the capture; it reads pt-stalk's folders as well.

";

/// What the first cause that was named comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    /// The true one.
    Right,
    /// One that is there as well, by the scenario.
    Beside,
    Wrong,
    Nothing,
}

fn said(row: &Row) -> Said {
    let Some(named) = &row.named else {
        return Said::Nothing;
    };
    if *named == row.truth {
        return Said::Right;
    }
    let is_beside = testbed::scenario(&row.scenario)
        .ok()
        .flatten()
        .is_some_and(|scenario| scenario.truth.expects(named));
    match is_beside {
        true => Said::Beside,
        false => Said::Wrong,
    }
}

/// The page.
pub(super) fn markdown(rows: &[Row], skipped: &[String]) -> String {
    let mut text = String::from(HEAD);
    let captured = rows.iter().filter_map(|row| row.captured.as_deref());
    let names = captured.filter_map(|path| path.file_name()?.to_str());
    text.push_str(&crate::provenance::line(names));
    text.push_str(&summary(rows));
    text.push_str("| scenario | freezeframe | pt-stalk | pt-stalk, tuned |\n|---|---|---|---|\n");
    let mut breaks: BTreeMap<(&str, &str), Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let of = (row.scenario.as_str(), row.server.as_str());
        breaks.entry(of).or_default().push(row);
    }
    for ((scenario, server), rows) in &breaks {
        let by = |watcher: &str| rows.iter().find(|row| row.watcher == watcher);
        let told = watchers().map(|watcher| by(watcher).map_or_else(String::new, |row| told(row)));
        let server = server.trim_start_matches("the installed ");
        let _ = writeln!(
            text,
            "| {scenario}, {server} | {} |",
            told.collect::<Vec<_>>().join(" | "),
        );
    }
    for one in skipped {
        let _ = writeln!(text, "\nNot run: {one}");
    }
    text
}

/// The watchers, except nobody.
fn watchers() -> impl Iterator<Item = &'static str> {
    [RECORDER].into_iter().chain(TUNINGS.map(|one| one.name))
}

/// The result of a watcher: "2.9 s, right".
fn told(row: &Row) -> String {
    let named = row.named.as_deref().unwrap_or_default();
    let cause = match said(row) {
        Said::Nothing if row.noticed_seconds.is_none() => return noticed(row),
        Said::Nothing => "none".to_owned(),
        Said::Right => "right".to_owned(),
        Said::Beside => format!("{named}, also present"),
        Said::Wrong => format!("wrong: {named}"),
    };
    format!("{}, {cause}", noticed(row))
}

/// A row for each watcher, over all scenarios.
fn summary(rows: &[Row]) -> String {
    let mut text = String::from(
        "| watched by | runs | noticed | after | cause right | another present cause | wrong | none | statements relative to the unwatched run |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for watcher in watchers() {
        let of: Vec<&Row> = rows.iter().filter(|row| row.watcher == watcher).collect();
        let in_time: Vec<f64> = of
            .iter()
            .filter(|row| !row.too_early)
            .filter_map(|row| row.noticed_seconds)
            .collect();
        let count = |what| of.iter().filter(|row| said(row) == what).count();
        let _ = writeln!(
            text,
            "| {watcher} | {} | {} | {} | {} | {} | {} | {} | {} |",
            of.len(),
            in_time.len(),
            middle_and_worst(in_time),
            count(Said::Right),
            count(Said::Beside),
            count(Said::Wrong),
            count(Said::Nothing),
            middle_and_least(of.iter().filter_map(|row| ratio(row, rows)).collect()),
        );
    }
    text.push_str(
        "\n*After*: the median, and the longest in brackets. *Statements*: the median, and the lowest in brackets, of the breaks in which unwatched clients still got \
         at least half of their answers.\n\n",
    );
    text
}

/// Statements in the break by those that clients were answered while nobody watched; none where most were blocked.
fn ratio(row: &Row, rows: &[Row]) -> Option<f64> {
    let alone = rows.iter().find(|one| {
        one.watcher == NOBODY && one.scenario == row.scenario && one.server == row.server
    })?;
    let (healthy, broken) = (alone.felt.healthy.per_second, alone.felt.broken.per_second);
    (broken > 0.0 && broken >= BLOCKED * healthy).then(|| row.felt.broken.per_second / broken)
}

/// "0.98 (0.82)"
fn middle_and_least(mut ratios: Vec<f64>) -> String {
    ratios.sort_by(f64::total_cmp);
    match (ratios.get(ratios.len() / 2), ratios.first()) {
        (Some(middle), Some(least)) => format!("{middle:.2} ({least:.2})"),
        _ => "-".to_owned(),
    }
}

pub(super) fn noticed(row: &Row) -> String {
    match row.noticed_seconds {
        _ if row.watcher == NOBODY => String::new(),
        Some(_) if row.too_early => "before the break".to_owned(),
        Some(seconds) => format!("{seconds:.1} s"),
        None => "no".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::client_latency::{ClientLatency, Measured};
    use super::*;

    fn row(scenario: &str, watcher: &str, noticed: Option<f64>, per_second: f64) -> Row {
        let felt = |per_second| ClientLatency {
            per_second,
            probe_worst_ms: 5.0,
        };
        Row {
            scenario: scenario.to_owned(),
            server: "MySQL 9".to_owned(),
            watcher: watcher.to_owned(),
            noticed_seconds: noticed,
            too_early: false,
            kinds: Vec::new(),
            mib: 0.0,
            captured: None,
            truth: scenario.to_owned(),
            named: noticed.map(|_| scenario.to_owned()),
            felt: Measured {
                healthy: felt(400.0),
                broken: felt(per_second),
            },
        }
    }

    #[test]
    fn a_scenario_is_one_row() {
        let rows = [
            row("tmp-disk", NOBODY, None, 400.0),
            row("tmp-disk", RECORDER, Some(1.0), 380.0),
            row("tmp-disk", "pt-stalk", None, 300.0),
            Row {
                named: None,
                ..row("tmp-disk", "pt-stalk, tuned", Some(0.5), 310.0)
            },
        ];
        let page = markdown(&rows, &[]);
        let line = "| tmp-disk, MySQL 9 | 1.0 s, right | no | 0.5 s, none |";
        assert!(page.contains(line), "{page}");
    }

    #[test]
    fn watchers_are_added_up_over_the_scenarios() {
        let named = |name: &str, row: Row| Row {
            named: Some(name.to_owned()),
            ..row
        };
        let also = testbed::scenario("kernel-mutex-malloc")
            .unwrap()
            .unwrap()
            .truth;
        let beside = Row {
            truth: also.cause,
            ..named(
                &also.also[0],
                row("kernel-mutex-malloc", RECORDER, Some(5.0), 30.0),
            )
        };
        let early = Row {
            too_early: true,
            ..row("tmp-disk", "pt-stalk", Some(0.0), 300.0)
        };
        let rows = [
            row("tmp-disk", NOBODY, None, 400.0),
            row("tmp-disk", RECORDER, Some(1.0), 380.0),
            early,
            row("kernel-mutex-malloc", NOBODY, None, 20.0),
            beside,
            named(
                "slow-disk",
                row("kernel-mutex-malloc", "pt-stalk", Some(4.0), 10.0),
            ),
            row("kernel-mutex-malloc", "pt-stalk, tuned", None, 10.0),
        ];
        let told = summary(&rows);
        for line in [
            "| freezeframe | 2 | 2 | 5.0 s | 1 | 1 | 0 | 0 | 0.95 (0.95) |",
            "| pt-stalk | 2 | 1 | 4.0 s | 1 | 0 | 1 | 0 | 0.75 (0.75) |",
            "| pt-stalk, tuned | 1 | 0 | - | 0 | 0 | 0 | 1 | - |",
        ] {
            assert!(told.contains(line), "{line}\n{told}");
        }
    }
}
