//! The score as a page of Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::client_latency::ClientLatency;
use super::judge::Outcome;
use super::overhead::Overhead;
use super::seconds;

const HEAD: &str = "\
# The lab's score

Made by `freezeframe-lab score --markdown FILE` ([the lab](../docs/lab.md)): a private server is broken in a known way while the recorder watches from outside.
A row is a scenario. A cell has its runs on one server: the number with the true cause first, its level if it is not *certain*, and the time from the start of the break to the trigger (median, the worst in brackets).

";

/// Columns that not each score has, and what stands in them.
const COLUMNS: [(&str, &str); 3] = [
    ("wrong", "likely or certain causes that are not present"),
    (
        "remedy",
        "with `--prove`: the answer of `compare` for the break before and after it",
    ),
    (
        "harm",
        "with `--harm`: statements a second with the recorder, divided by those without it, before and during the break \
         (both numbers if most clients were blocked)",
    ),
];

/// The page.
pub(super) fn markdown(outcomes: &[Outcome], skipped: &[String]) -> String {
    let mut text = String::from(HEAD);
    let incidents = outcomes.iter().filter_map(|one| one.incident.as_deref());
    let names = incidents.filter_map(|path| path.file_name()?.to_str());
    text.push_str(&crate::provenance::line(names));
    text.push_str(&summary(outcomes));
    let servers: BTreeSet<&str> = outcomes.iter().map(|one| one.server.as_str()).collect();
    let mut rows: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        rows.entry(&outcome.scenario).or_default().push(outcome);
    }
    let mut lines = Vec::new();
    for (scenario, runs) in &rows {
        let mut line = vec![(*scenario).to_owned()];
        for server in &servers {
            let of_server = runs.iter().filter(|run| run.server == *server);
            line.push(cell(&of_server.copied().collect::<Vec<_>>()));
        }
        let wrong = runs.iter().flat_map(|run| &run.wrong);
        line.push(different(wrong.map(String::as_str)));
        line.push(different(runs.iter().flat_map(|run| proofs(run))));
        let harm = runs.iter().find_map(|run| run.harm);
        line.push(harm.map_or_else(String::new, overhead_cell));
        lines.push(line);
    }
    let heads = ["scenario"].into_iter().chain(servers);
    let heads = heads.chain(COLUMNS.map(|(name, _)| name));
    let table = table(&heads.map(str::to_owned).collect::<Vec<_>>(), &lines);
    let is_there = |name: &str| table.lines().next().is_some_and(|head| head.contains(name));
    text.push_str(&table);
    let told = COLUMNS.iter().filter(|(name, _)| is_there(name));
    for (index, (name, means)) in told.enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{gap}- *{name}*: {means}.");
    }
    for one in skipped {
        let _ = writeln!(text, "\nNot run: {one}");
    }
    text
}

/// The lines below their heads, without the columns that are empty in all of them.
fn table(heads: &[String], lines: &[Vec<String>]) -> String {
    let is_empty = |column: usize| {
        let mut cells = lines.iter().filter_map(|line| line.get(column));
        cells.all(String::is_empty)
    };
    let row = |cells: &[String]| {
        let kept = cells.iter().enumerate();
        let kept = kept.filter(|(column, _)| !is_empty(*column));
        let kept: Vec<&str> = kept.map(|(_, cell)| cell.as_str()).collect();
        format!("| {} |\n", kept.join(" | "))
    };
    let rule: Vec<String> = heads.iter().map(|_| "---".to_owned()).collect();
    let rows = lines.iter().map(|line| row(line));
    row(heads) + &row(&rule) + &rows.collect::<String>()
}

/// "3/3, 2.0 s (2.1 s)", "3/3 certain, 2 × likely, 2.0 s".
fn cell(runs: &[&Outcome]) -> String {
    if runs.is_empty() {
        return String::new();
    }
    let first = runs.iter().filter(|run| run.rank == Some(1)).count();
    let levels = || runs.iter().filter_map(|run| run.level.as_deref());
    let level = match levels().all(|level| level == "certain") {
        true => String::new(),
        false => format!(" {}", different(levels())),
    };
    let noticed = runs.iter().filter_map(|run| run.noticed_seconds).collect();
    let noticed = middle_and_worst(noticed);
    format!("{first}/{}{level}, {noticed}", runs.len())
}

/// All runs in some sentences.
fn summary(outcomes: &[Outcome]) -> String {
    let count = |what: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|one| what(one)).count();
    let noticed = count(&|one| one.incident.is_some());
    let mut text = format!(
        "{} runs: {noticed} noticed, {} with the true cause at rank 1, {} with a wrong cause.",
        outcomes.len(),
        count(&|one| one.rank == Some(1)),
        count(&|one| !one.wrong.is_empty())
    );
    let mut times: Vec<f64> = outcomes
        .iter()
        .filter_map(|one| one.sign_to_trigger_seconds)
        .collect();
    times.sort_by(f64::total_cmp);
    if let (Some(median), Some(worst)) = (times.get(times.len() / 2), times.last()) {
        let _ = write!(
            text,
            " Noticed {median:.1} s after the first sign (median), at worst {worst:.1} s."
        );
    }
    let (earlier, mut after): (Vec<f64>, Vec<f64>) = outcomes
        .iter()
        .filter_map(|one| one.probe_to_trigger_seconds)
        .partition(|seconds| *seconds <= 0.0);
    after.sort_by(f64::total_cmp);
    let none = noticed - earlier.len() - after.len();
    let _ = write!(
        text,
        " No probe failed or was slow in {none} of them; {} were noticed before the first failed or slow probe",
        earlier.len()
    );
    if let (Some(median), Some(worst)) = (after.get(after.len() / 2), after.last()) {
        let _ = write!(
            text,
            ", {} after its start, by {median:.1} s (median), at worst {worst:.1} s",
            after.len()
        );
    }
    text.push('.');
    let disturbed = count(&|one| one.withheld >= testbed::WITHHELD_MUCH);
    if disturbed > 0 {
        let _ = write!(
            text,
            " In {disturbed} the hypervisor withheld a twentieth of the machine or more: steal-time is true there as well."
        );
    }
    let proven = count(&|one| one.proof.as_deref() == Some("worked"));
    let tried = count(&|one| one.proof.is_some());
    if tried > 0 {
        let _ = write!(text, " {proven} of {tried} remedies were proven.");
    }
    text.push_str("\n\n");
    text
}

/// "1.2 s (2.0 s)"; one number where both read the same.
pub(super) fn middle_and_worst(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    let middle = seconds(times.get(times.len() / 2).copied());
    let worst = seconds(times.last().copied());
    match worst == middle {
        true => middle,
        false => format!("{middle} ({worst})"),
    }
}

/// What the remedy came to, and each step on the way to it.
fn proofs(run: &Outcome) -> impl Iterator<Item = &str> {
    let stages = run.stages.iter().map(|stage| stage.proof.as_str());
    run.proof.as_deref().into_iter().chain(stages)
}

/// Each text once, with how often when that is more than once: "certain, 2 x likely".
fn different<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    counts
        .iter()
        .map(|(text, count)| match count {
            1 => (*text).to_owned(),
            _ => format!("{count} × {text}"),
        })
        .collect::<Vec<_>>()
        .join(", ")
}

/// Where clients are answered less than this part of what they were before, it is chance which statements come through,
/// and a ratio of them says nothing.
pub(super) const BLOCKED: f64 = 0.5;

fn overhead_cell(harm: Overhead) -> String {
    let ratio = |with: ClientLatency, without: ClientLatency| {
        if without.per_second > 0.0 {
            format!("{:.2}", with.per_second / without.per_second)
        } else {
            "-".to_owned()
        }
    };
    let (with, without) = (harm.with.broken, harm.without.broken);
    let broken = match without.per_second < BLOCKED * harm.without.healthy.per_second {
        true => format!("{:.0}/s, {:.0}/s", without.per_second, with.per_second),
        false => ratio(with, without),
    };
    format!(
        "{}, {broken}",
        ratio(harm.with.healthy, harm.without.healthy)
    )
}

#[cfg(test)]
mod tests {
    use super::super::client_latency::{ClientLatency, Measured};
    use super::super::overhead::Overhead;
    use super::{overhead_cell, table};

    #[test]
    fn a_column_that_nobody_filled_is_left_out() {
        let line = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let lines = [line(["a", "", "1.00"]), line(["b", "", ""])];
        assert_eq!(
            table(&line(["scenario", "wrong", "harm"]), &lines),
            "| scenario | harm |\n| --- | --- |\n| a | 1.00 |\n| b |  |\n"
        );
    }

    #[test]
    fn a_ratio_is_told_where_clients_were_answered() {
        let felt = |per_second| ClientLatency {
            per_second,
            probe_worst_ms: 5.0,
        };
        let told = |alone: f64, beside: f64| {
            let side = |broken| Measured {
                healthy: felt(400.0),
                broken: felt(broken),
            };
            overhead_cell(Overhead {
                without: side(alone),
                with: side(beside),
            })
        };
        assert_eq!(told(800.0, 760.0), "1.00, 0.95");
        assert_eq!(told(41.3, 13.4), "1.00, 41/s, 13/s");
    }
}
