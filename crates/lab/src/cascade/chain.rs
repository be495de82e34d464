//! The causes of all acts, one after the other.

use std::collections::BTreeSet;

use report::{Part, Section};
use serde_json::Value;

use super::act::{ActResult, Trial, verdict};
use super::headline::headline;

/// A cause in the order in which one meets them.
pub(super) struct Link<'a> {
    pub(super) cause: &'a str,
    finding: Option<&'a Value>,
    /// The cause that it leads to.
    effect_of: Option<&'a str>,
    /// What was done, and what `compare` says of this cause.
    tried: Vec<(&'a str, String)>,
}

impl Link<'_> {
    fn line(&self) -> String {
        let mut line = match self.finding {
            Some(finding) => headline(finding),
            None => format!("{}: not named", self.cause),
        };
        if let Some(cause) = self.effect_of {
            line.push_str(&format!(", an effect of {cause}"));
        }
        for (what, verdict) in &self.tried {
            line.push_str(&format!("; {what}: {verdict}"));
        }
        line
    }
}

/// Effects before their causes.
pub(super) fn chain(acts: &[ActResult]) -> Vec<Link<'_>> {
    let mut chain = Vec::new();
    for told in acts {
        for (index, through) in told.through.iter().enumerate() {
            chain.push(Link {
                cause: &through.cause,
                finding: through.finding.as_ref(),
                effect_of: Some(&told.cause),
                tried: tried(told, |trial| trial.through.get(index)),
            });
        }
        chain.push(Link {
            cause: &told.cause,
            finding: told.finding.as_ref(),
            effect_of: None,
            tried: tried(told, |trial| Some(&trial.comparison)),
        });
    }
    chain
}

fn tried(told: &ActResult, compared: impl Fn(&Trial) -> Option<&Value>) -> Vec<(&str, String)> {
    told.trials()
        .filter_map(|trial| Some((trial.what.as_str(), in_words(compared(trial)?))))
        .collect()
}

/// The verdict; where nothing is proven, with what became of the signs that decide.
fn in_words(comparison: &Value) -> String {
    let signals = comparison["signals"].as_array().into_iter().flatten();
    let fates: BTreeSet<&str> = signals
        .filter(|signal| signal["role"] == "deciding")
        .filter_map(|signal| signal["fate"].as_str())
        .filter(|fate| ["less", "more"].contains(fate))
        .collect();
    let words = verdict(comparison).replace('-', " ");
    match (words.as_str(), fates.first()) {
        ("not proven", Some(fate)) if fates.len() == 1 => format!("{words}, but {fate} of it"),
        _ => words,
    }
}

pub(super) fn overview(chain: &[Link<'_>]) -> Section {
    Section {
        title: "One after the other".to_owned(),
        badge: None,
        parts: vec![Part::list(chain.iter().map(Link::line))],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cascade::summary::tests::act_result;
    use crate::scenario::judge::Role;

    #[test]
    fn the_chain_has_the_effects_before_their_causes() {
        let effect = json!({"title": "The log's mutex", "cause": "log-mutex", "level": "likely"});
        let mut acts = [act_result(Role::Also, Role::Also, Some(effect))];
        let remedy = acts[0].remedy.as_mut().unwrap();
        remedy.through[0] = json!({"verdict": "not-proven", "signals": [
            {"role": "deciding", "fate": "less"},
            {"role": "deciding", "fate": "unclear"},
            {"role": "other", "fate": "more"},
        ]});
        let lines: Vec<String> = chain(&acts).iter().map(Link::line).collect();
        assert_eq!(
            lines,
            [
                "The log's mutex (log-mutex), likely, an effect of slow-fsync; a faster disk: not proven, but less of it",
                "slow-fsync: not named; a faster disk: worked",
            ]
        );
    }
}
