//! A cause as people read it: what each of its signs looks for, in words, with its limits.

use serde::Serialize;

use crate::cause::{Cause, LookAlike};
use crate::human::{self, Show};
use crate::measure::{FactTest, Limits, Need, Sign, Taken, Test, Wanted};
use crate::moments::Over;
use crate::verdict::Remedy;
use expression::Condition;

/// A cause of the catalogue, described.
#[derive(Debug, Clone, Serialize)]
pub struct Description {
    /// Unique id.
    pub id: String,
    /// Short name for people.
    pub title: String,
    /// What happens, in two or three sentences.
    pub what: String,
    /// Signs for it.
    pub witnesses: Vec<SignDescription>,
    /// Signs against it.
    pub against: Vec<SignDescription>,
    /// What would refute it, in words.
    pub refuted_by: Vec<String>,
    /// Causes that look alike.
    pub look_alikes: Vec<LookAlike>,
    /// Ids of causes that this one makes worse.
    pub aggravates: Vec<String>,
    /// Ids of causes of which this one is usually a consequence.
    pub effect_of: Vec<String>,
    /// How to end the stall and keep it from returning.
    pub remedy: Remedy,
    /// Where the knowledge is from.
    pub sources: Vec<String>,
}

/// A sign, described.
#[derive(Debug, Clone, Serialize)]
pub struct SignDescription {
    /// Unique within its list.
    pub id: String,
    /// Kind of test (`measure`, `stacks`, …).
    pub kind: &'static str,
    /// The source of the evidence.
    pub source: String,
    /// The measure and its limit, as a sentence.
    pub looks_for: String,
    /// `necessary`, `one of GROUP`, `in place of ID`; empty when the cause can do without it.
    pub need: String,
    /// Whether it proves the cause once a second source confirms it.
    pub conclusive: bool,
    /// Whether it counts for the level.
    pub counts: bool,
    /// For a sign against: whether it refutes the cause or only weakens it.
    pub refutes: bool,
}

impl Cause {
    /// The cause in words.
    pub fn describe(&self) -> Description {
        Description {
            id: self.id.clone(),
            title: self.title.clone(),
            what: self.what.clone(),
            witnesses: self.witnesses.iter().map(sign).collect(),
            against: self.against.iter().map(sign).collect(),
            refuted_by: self.refuted_by.clone(),
            look_alikes: self.look_alikes.clone(),
            aggravates: self.aggravates.clone(),
            effect_of: self.effect_of.clone(),
            remedy: self.remedy.clone(),
            sources: self.sources.clone(),
        }
    }

    /// The kinds of its witnesses, each once, by name.
    pub fn kinds(&self) -> Vec<&'static str> {
        let kinds = self.witnesses.iter().map(|sign| kind(&sign.test));
        let kinds: std::collections::BTreeSet<&str> = kinds.collect();
        kinds.into_iter().collect()
    }
}

fn kind(test: &Test) -> &'static str {
    match test {
        Test::Signals(_) => "measure",
        Test::Call(call) => call.kind.name,
        Test::Fact(_) => "fact",
    }
}

fn sign(sign: &Sign) -> SignDescription {
    SignDescription {
        id: sign.id.clone(),
        kind: kind(&sign.test),
        source: sign.source(),
        looks_for: looks_for(sign),
        need: match &sign.need {
            Need::Optional => String::new(),
            Need::Necessary => "necessary".to_owned(),
            Need::OneOf(group) => format!("one of {group}"),
            Need::InsteadOf(id) => format!("in place of {id}"),
        },
        conclusive: sign.conclusive,
        counts: sign.counts,
        refutes: sign.refutes,
    }
}

fn looks_for(sign: &Sign) -> String {
    let (what, has_window) = match &sign.test {
        Test::Fact(test) => return fact(test),
        Test::Signals(test) if sign.each => (format!("{}, for one of them", test.text), true),
        Test::Signals(test) => (test.text.clone(), true),
        Test::Call(call) => {
            let has_window = call.kind.taken == Taken::Snapshots;
            (call.function.words(true), has_window)
        }
    };
    let over = match sign.over {
        Over::Every => ", all through the stall",
        Over::Stall if has_window => ", over the stall as a whole",
        Over::Worst | Over::Stall => "",
    };
    format!(
        "{what} {}{over}{}{}",
        limits(&sign.limits, sign.show),
        conditions("only where", &sign.only_if),
        conditions("left out while", &sign.left_out_if),
    )
}

fn fact(test: &FactTest) -> String {
    let shown = |limit: f64| match test.show {
        Some(show) => human::show(limit, show),
        None => limit.to_string(),
    };
    let wanted = match &test.wanted {
        Wanted::Equals(text) => format!("is {text}"),
        Wanted::Not(text) => format!("is not {text}"),
        Wanted::Matches(pattern) => format!("is like /{}/", pattern.text()),
        Wanted::Above(limit) => format!("is at least {}", shown(*limit)),
        Wanted::Below(limit) => format!("is at most {}", shown(*limit)),
    };
    format!("the setting {} {wanted}", test.name)
}

fn limits(limits: &Limits, show: Show) -> String {
    let mut parts = Vec::new();
    for (words, limit) in [("at least", limits.above), ("at most", limits.below)] {
        parts.extend(limit.map(|limit| format!("{words} {}", human::show(limit, show))));
    }
    let known = if limits.baseline_optional {
        ", where that is known"
    } else {
        ""
    };
    for (words, times) in [
        ("at least", limits.times_baseline),
        ("at most", limits.at_most_times_baseline),
    ] {
        let times = times.map(human::times);
        let told = |times| format!("{words} {times} the value before the onset{known}");
        parts.extend(times.map(told));
    }
    format!("is {}", parts.join(" and "))
}

fn conditions(words: &str, all: &[Condition]) -> String {
    let texts: Vec<&str> = all.iter().map(|one| one.text.as_str()).collect();
    match texts.is_empty() {
        true => String::new(),
        false => format!("; {words} {}", texts.join(" and ")),
    }
}
