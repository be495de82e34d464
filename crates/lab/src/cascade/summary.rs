//! What the acts came to, on one page.

use jiff::Timestamp;
use report::{Bar, BarGroup, BarUnit, Bars, Document, Interval, Part, Section, Tone};
use serde_json::Value;

use super::act::{ActResult, Measured, Trial};
use super::chain::{chain, overview};
use super::headline::{headline, text};
use crate::scenario::judge::{Named, Role};

/// Signs of the cause that are listed.
const SIGNS_MAX: usize = 6;

/// The true cause stood first, what leads to it was named as its effect, its remedy worked where there is one, and nothing
/// wrong was named in any break.
pub(super) fn is_proven(told: &ActResult) -> bool {
    told.outcome.passed() && names_effects(told) && !wrong_beside(told)
}

fn names_effects(told: &ActResult) -> bool {
    told.through.iter().all(|through| through.finding.is_some())
}

fn wrong_beside(told: &ActResult) -> bool {
    told.named
        .iter()
        .chain(told.trials().flat_map(|trial| &trial.named))
        .any(|named| named.role == Role::Wrong)
}

pub(super) fn sheet(server: &str, what: &str, begin: Timestamp, acts: &[ActResult]) -> Document {
    let proven = acts.iter().filter(|told| is_proven(told)).count();
    let mut sections: Vec<Section> = acts
        .iter()
        .enumerate()
        .map(|(number, told)| section(number + 1, told))
        .collect();
    let chain = chain(acts);
    if acts.len() > 1 {
        sections.insert(0, overview(&chain));
        sections.push(together(acts));
    }
    let causes: Vec<&str> = chain.iter().map(|link| link.cause).collect();
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
            "{}: {proven} of {} acts named and proven",
            causes.join(" → "),
            acts.len()
        ),
    };
    Document {
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

/// What a finding rests on, under its headline.
fn signs(finding: &Value) -> Part {
    let signs = finding["witnesses"].as_array().into_iter().flatten();
    let mut list = vec![headline(finding)];
    list.extend(signs.take(SIGNS_MAX).map(|sign| text(&sign["says"])));
    Part::list(list)
}

fn section(number: usize, told: &ActResult) -> Section {
    let outcome = &told.outcome;
    let (word, tone) = match (outcome.rank, &told.remedy) {
        (Some(1), _) if !names_effects(told) => ("effect not named", Tone::Bad),
        (Some(1), _) if wrong_beside(told) => ("also a wrong cause", Tone::Bad),
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
        Part::paragraph(told.what.trim().to_owned()),
        Part::Heading("Verdict".to_owned()),
        Part::paragraph(outcome.sentence.clone()),
    ];
    parts.extend(told.finding.iter().map(signs));
    for through in &told.through {
        parts.push(Part::Heading(format!("Its effect: {}", through.cause)));
        parts.push(match &through.finding {
            Some(finding) => signs(finding),
            None => Part::paragraph("It was not named as an effect.".to_owned()),
        });
    }
    let beside = told.named.iter().filter(|named| named.role != Role::True);
    parts.extend(listed("Also named", beside));
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
    Section {
        title: format!("{number}. {}", outcome.scenario),
        badge: Some((word.to_owned(), tone)),
        parts,
    }
}

fn listed<'a>(begin: &str, named: impl Iterator<Item = &'a Named>) -> Option<Part> {
    let list: Vec<String> = named.map(Named::to_string).collect();
    let words = || Part::paragraph(format!("{begin}: {}.", list.join("; ")));
    (!list.is_empty()).then(words)
}

/// What `compare` answered, with the signs that decide, and what was named.
fn proof(trial: &Trial) -> Vec<Part> {
    let comparison = &trial.comparison;
    let mut lines = vec![text(&comparison["sentence"])];
    for list in ["reasons", "missing"] {
        lines.extend(comparison[list].as_array().into_iter().flatten().map(text));
    }
    let of_effects = trial.through.iter();
    lines.extend(of_effects.map(|comparison| text(&comparison["sentence"])));
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
    let mut parts = vec![Part::list(lines)];
    if !rows.is_empty() {
        let columns = ["sign", "before", "after", ""].map(str::to_owned);
        parts.push(Part::numbers(columns.to_vec(), rows));
    }
    parts.extend(match &trial.incident {
        Some(_) if trial.named.is_empty() => Some(Part::paragraph(
            "Nothing is named in this break.".to_owned(),
        )),
        _ => listed("Named in this break", trial.named.iter()),
    });
    parts
}

fn say(unit: &str, value: &Value) -> String {
    let Some(value) = value.as_f64() else {
        return "–".to_owned();
    };
    match unit {
        "percent" => BarUnit::Share.to_text(value),
        "per-second" => BarUnit::PerSecond.to_text(value),
        "milliseconds" => BarUnit::Seconds.to_text(value / 1e3),
        "seconds" => BarUnit::Seconds.to_text(value),
        "bytes" => BarUnit::Bytes.to_text(value),
        _ => BarUnit::Count.to_text(value),
    }
}

/// Each time that the break was made, with its name.
fn breaks(told: &ActResult) -> Vec<(String, &Measured)> {
    let mut all = vec![("broken".to_owned(), &told.before)];
    for trial in told.trials() {
        if let Some(after) = &trial.after {
            all.push((trial.what.clone(), after));
        }
    }
    all
}

fn numbers(told: &ActResult) -> Part {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    Part::numbers(
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
                            .map(|rate| BarUnit::PerSecond.to_text(rate)),
                    ),
                    or_dash(measured.p95_us.map(|us| BarUnit::Seconds.to_text(us / 1e6))),
                    BarUnit::Bytes.to_text(measured.resident_bytes as f64),
                ]
            })
            .collect(),
    )
}

fn together(acts: &[ActResult]) -> Section {
    let group = |told: &ActResult| BarGroup {
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
    Section {
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
pub(super) mod tests {
    use serde_json::json;

    use super::super::act::Through;
    use super::*;

    /// An act whose remedy worked, and what was named beside its cause in the break and after the remedy.
    pub(in crate::cascade) fn act_result(
        first: Role,
        after: Role,
        effect: Option<Value>,
    ) -> ActResult {
        let measured = Measured {
            statements_per_second: Some(30.0),
            p95_us: None,
            resident_bytes: 1 << 20,
        };
        let outcome = json!({
            "scenario": "slow-fsync", "server": "mysql-5.5", "rank": 1, "level": "certain", "proof": "worked",
            "wrong": [],
            "break_per_second": 30.0, "sentence": "It was the disk.", "remedy": [], "stages": [],
        });
        ActResult {
            what: "A slow disk.".to_owned(),
            outcome: serde_json::from_value(outcome).unwrap(),
            cause: "slow-fsync".to_owned(),
            finding: None,
            through: vec![Through {
                cause: "log-mutex".to_owned(),
                finding: effect,
            }],
            named: vec![named(first)],
            before: measured.clone(),
            in_vain: Vec::new(),
            remedy: Some(Trial {
                what: "a faster disk".to_owned(),
                changes: Vec::new(),
                after: Some(measured),
                incident: None,
                named: vec![named(after)],
                comparison: json!({"verdict": "worked", "sentence": "It worked."}),
                through: vec![json!({"verdict": "no-effect", "sentence": "It is as it was."})],
            }),
        }
    }

    fn named(role: Role) -> Named {
        Named {
            level: "likely".to_owned(),
            cause: "disk-full".to_owned(),
            role,
        }
    }

    #[test]
    fn a_wrong_one_in_any_break_and_an_effect_that_is_not_named_spoil_an_act() {
        let effect = json!({"title": "The log's mutex", "cause": "log-mutex", "level": "likely"});
        for (first, after, effect, word) in [
            (Role::Also, Role::Effect, Some(&effect), "worked"),
            (Role::Also, Role::Also, None, "effect not named"),
            (Role::Wrong, Role::Also, Some(&effect), "also a wrong cause"),
            (Role::Also, Role::Wrong, Some(&effect), "also a wrong cause"),
        ] {
            let act = act_result(first, after, effect.cloned());
            assert_eq!(is_proven(&act), word == "worked");
            let sheet = sheet("mysql-5.5", "", Timestamp::UNIX_EPOCH, &[act]);
            let badge = sheet.sections[0].badge.as_ref().unwrap();
            assert_eq!(badge.0, word);
            let text = report::document_text(&sheet, &report::TextOptions::default());
            let wrong = text.contains("disk-full, which is wrong");
            assert_eq!(wrong, word == "also a wrong cause", "{text}");
        }
    }
}
