//! What the acts came to, on one page.

use jiff::Timestamp;
use report::{Bar, BarGroup, BarUnit, Bars, Interval, Part, Sheet, SheetSection, Tone};
use serde_json::Value;

use super::act::{Measured, Told, Trial};
use crate::scenario::judge::Beside;

/// Signs of the cause that are listed.
const SIGNS_MAX: usize = 6;

/// The true cause stood first, its remedy worked where there is one, and nothing wrong was named in any break.
pub(super) fn is_proven(told: &Told) -> bool {
    told.outcome.passed() && !wrong_beside(told)
}

fn wrong_beside(told: &Told) -> bool {
    let trials = told.in_vain.iter().chain(&told.remedy);
    told.beside
        .iter()
        .chain(trials.flat_map(|trial| &trial.beside))
        .any(|named| named.is_wrong)
}

pub(super) fn sheet(server: &str, what: &str, begin: Timestamp, acts: &[Told]) -> Sheet {
    let proven = acts.iter().filter(|told| is_proven(told)).count();
    let mut sections: Vec<SheetSection> = acts
        .iter()
        .enumerate()
        .map(|(number, told)| section(number + 1, told))
        .collect();
    if acts.len() > 1 {
        sections.push(together(acts));
    }
    let chain: Vec<&str> = acts
        .iter()
        .map(|told| told.outcome.scenario.as_str())
        .collect();
    let title = match acts {
        [one] => format!(
            "{}: {}",
            one.outcome.scenario,
            match is_proven(one) {
                true => "named and proven",
                false => "not proven",
            }
        ),
        _ => format!(
            "{}: {proven} of {} steps named and proven",
            chain.join(" → "),
            acts.len()
        ),
    };
    Sheet {
        kind: "cause, remedy, proof".to_owned(),
        title,
        line: format!(
            "{what} {server} on {} processors, from {} to {} UTC.",
            std::thread::available_parallelism().map_or(0, usize::from),
            begin.strftime("%Y-%m-%d %H:%M:%S"),
            Timestamp::now().strftime("%H:%M:%S"),
        ),
        sections,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn section(number: usize, told: &Told) -> SheetSection {
    let outcome = &told.outcome;
    let (word, tone) = match (outcome.rank, &told.remedy) {
        (Some(1), _) if wrong_beside(told) => ("a wrong one beside", Tone::Bad),
        (Some(1), None) => ("named", Tone::Good),
        (Some(1), Some(remedy)) => match remedy.verdict() {
            "worked" => ("worked", Tone::Good),
            "no-effect" => ("no effect", Tone::Bad),
            "worse" => ("worse", Tone::Bad),
            _ => ("not proven", Tone::Open),
        },
        (None, _) if outcome.incident.is_none() => ("not noticed", Tone::Bad),
        _ => ("not named first", Tone::Bad),
    };
    let mut parts = vec![
        Part::Words(told.what.trim().to_owned()),
        Part::Heading("What was said of it".to_owned()),
        Part::Words(outcome.sentence.clone()),
    ];
    if let Some(finding) = &told.finding {
        let signs = finding["witnesses"].as_array().into_iter().flatten();
        let mut list = vec![format!(
            "{} ({}), {}",
            text(&finding["title"]),
            text(&finding["cause"]),
            text(&finding["level"])
        )];
        list.extend(signs.take(SIGNS_MAX).map(|sign| text(&sign["says"])));
        parts.push(Part::List(list));
    }
    parts.extend(named("Named beside it", &told.beside));
    for trial in &told.in_vain {
        parts.push(Part::Heading(format!("Tried: {}", trial.what)));
        parts.push(Part::Commands(trial.changes.clone()));
        parts.extend(proof(trial));
    }
    if let Some(remedy) = &told.remedy {
        parts.push(Part::Heading(format!("Remedy: {}", remedy.what)));
        if !remedy.changes.is_empty() {
            parts.push(Part::Commands(remedy.changes.clone()));
        }
        parts.extend(proof(remedy));
    }
    parts.push(numbers(told));
    SheetSection {
        title: format!("{number}. {}", outcome.scenario),
        badge: Some((word.to_owned(), tone)),
        parts,
    }
}

fn named(begin: &str, beside: &[Beside]) -> Option<Part> {
    let list: Vec<String> = beside.iter().map(Beside::to_string).collect();
    let words = || Part::Words(format!("{begin}: {}.", list.join("; ")));
    (!list.is_empty()).then(words)
}

/// What `compare` answered, with the signs that decide, and what was named.
fn proof(trial: &Trial) -> Vec<Part> {
    let comparison = &trial.comparison;
    let mut lines = vec![text(&comparison["sentence"])];
    for list in ["reasons", "missing"] {
        lines.extend(comparison[list].as_array().into_iter().flatten().map(text));
    }
    let signals = comparison["signals"].as_array();
    let rows: Vec<Vec<String>> = signals
        .into_iter()
        .flatten()
        .filter(|signal| signal["role"] == "deciding" || signal["id"] == "query-latency")
        .filter(|signal| signal["fate"] != "not-measured")
        .map(|signal| {
            let side = |side: &str| say(&text(&signal["unit"]), &signal[side]["mean"]);
            vec![
                text(&signal["title"]),
                side("before"),
                side("after"),
                text(&signal["fate"]),
            ]
        })
        .collect();
    let mut parts = vec![Part::List(lines)];
    if !rows.is_empty() {
        let columns = ["sign", "before", "after", ""].map(str::to_owned);
        parts.push(Part::Table(columns.to_vec(), rows));
    }
    parts.extend(named("Named in this break", &trial.beside));
    parts
}

fn say(unit: &str, value: &Value) -> String {
    let Some(value) = value.as_f64() else {
        return "–".to_owned();
    };
    match unit {
        "percent" => BarUnit::Share.say(value),
        "per-second" => BarUnit::PerSecond.say(value),
        "milliseconds" => BarUnit::Seconds.say(value / 1e3),
        "seconds" => BarUnit::Seconds.say(value),
        "bytes" => BarUnit::Bytes.say(value),
        _ => BarUnit::Count.say(value),
    }
}

/// Each time that the break was made, with its name.
fn breaks(told: &Told) -> Vec<(String, &Measured)> {
    let mut all = vec![("broken".to_owned(), &told.before)];
    for trial in told.in_vain.iter().chain(&told.remedy) {
        if let Some(after) = &trial.after {
            all.push((trial.what.clone(), after));
        }
    }
    all
}

fn numbers(told: &Told) -> Part {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    Part::Table(
        [
            "the same break",
            "statements",
            "95 % within",
            "resident memory",
        ]
        .map(str::to_owned)
        .to_vec(),
        breaks(told)
            .into_iter()
            .map(|(name, measured)| {
                vec![
                    name,
                    or_dash(
                        measured
                            .statements_per_second
                            .map(|rate| BarUnit::PerSecond.say(rate)),
                    ),
                    or_dash(measured.p95_us.map(|us| BarUnit::Seconds.say(us / 1e6))),
                    BarUnit::Bytes.say(measured.resident_bytes as f64),
                ]
            })
            .collect(),
    )
}

fn together(acts: &[Told]) -> SheetSection {
    let group = |told: &Told| BarGroup {
        title: told.outcome.scenario.clone(),
        bars: breaks(told)
            .into_iter()
            .map(|(name, measured)| Bar {
                name,
                value: measured.statements_per_second.map(|rate| Interval {
                    mean: rate,
                    low: rate,
                    high: rate,
                }),
            })
            .collect(),
    };
    SheetSection {
        title: "All together".to_owned(),
        badge: None,
        parts: vec![Part::Bars(Bars {
            title: "Statements a second in each break: longer is better within a step; the loads differ from step to step"
                .to_owned(),
            unit: BarUnit::PerSecond,
            groups: acts.iter().map(group).collect(),
        })],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// An act whose remedy worked, and what was named beside its cause in the break and after the remedy.
    fn told(first: &[Beside], after: &[Beside]) -> Told {
        let measured = Measured {
            statements_per_second: Some(30.0),
            p95_us: None,
            resident_bytes: 1 << 20,
        };
        let outcome = json!({
            "scenario": "slow-fsync", "server": "mysql-5.5", "rank": 1, "level": "certain", "proof": "worked",
            "wrong": first.iter().filter(|named| named.is_wrong).map(Beside::to_string).collect::<Vec<_>>(),
            "break_per_second": 30.0, "sentence": "It was the disk.", "remedy": [], "stages": [],
        });
        Told {
            what: "A slow disk.".to_owned(),
            outcome: serde_json::from_value(outcome).unwrap(),
            finding: None,
            beside: first.to_vec(),
            before: measured.clone(),
            in_vain: Vec::new(),
            remedy: Some(Trial {
                what: "a faster disk".to_owned(),
                changes: Vec::new(),
                after: Some(measured),
                incident: None,
                beside: after.to_vec(),
                comparison: json!({"verdict": "worked", "sentence": "It worked."}),
            }),
        }
    }

    fn beside(is_wrong: bool) -> Beside {
        Beside {
            level: "likely".to_owned(),
            cause: "disk-full".to_owned(),
            is_effect: false,
            is_wrong,
        }
    }

    #[test]
    fn a_wrong_one_beside_spoils_an_act_in_any_of_its_breaks() {
        for (first, after, word) in [
            (false, false, "worked"),
            (true, false, "a wrong one beside"),
            (false, true, "a wrong one beside"),
        ] {
            let act = told(&[beside(first)], &[beside(after)]);
            assert_eq!(is_proven(&act), word == "worked");
            let sheet = sheet("mysql-5.5", "", Timestamp::UNIX_EPOCH, &[act]);
            let badge = sheet.sections[0].badge.as_ref().unwrap();
            assert_eq!(badge.0, word);
            let text = report::sheet_text(&sheet, &report::TextOptions::default());
            let told = text.contains("disk-full, which is wrong");
            assert_eq!(told, first || after, "{text}");
        }
    }
}
