//! The rules: each checks some settings or readings of a healthy server against limits.
//!
//! They stand in `crates/diagnosis/audit`. What a rule does (`judge`) is read line by line:
//!
//! - `NAME = EXPRESSION` reads a number, in the language of signs. A name alone in it is a line before this one, or a
//!   reading of `special.rs`.
//! - `NAME: UNIT = EXPRESSION` does the same, and tells it in this unit; `NAME: text = FACT` reads a text, and
//!   `NAME: words = …` puts one together.
//! - Behind such a line, `or VALUE` stands for what the server's version does not have, `else VALUE` for what is not there
//!   for whatever reason.
//! - `fine if CONDITIONS` ends the rule.
//! - `note: …` and `serious if CONDITIONS: …` end it with a line; `note, serious if CONDITIONS: …` is one of both.
//!
//! Conditions compare numbers, or a text with a regular expression (`like`, `unlike`); `and` stands between them. Evidence
//! that is absent ends the rule where it is asked for: it is not judged. A variable that the server's version does not have
//! ends it as fine.

use std::sync::LazyLock;

use serde::Deserialize;

use super::steps::Step;
use super::{Judged, Look};
use crate::embedded;

const HOST: &str = include_str!("../../audit/host.toml");
const SERVER: &str = include_str!("../../audit/server.toml");

/// One audit rule.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Unique id, as printed in the report.
    pub id: String,
    /// The cause of the catalogue that it may become.
    pub cause: Option<String>,
    /// Why it matters.
    pub why: String,
    /// Where this is known from.
    pub source: String,
    judge: Steps,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Steps(Vec<Step>);

impl TryFrom<String> for Steps {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let steps = lines.map(|line| Step::read(line).map_err(|told| format!("{line}: {told}")));
        steps.collect::<Result<_, _>>().map(Self)
    }
}

impl Rule {
    /// What this rule says of what was looked at.
    pub(super) fn judge(&self, look: &Look) -> Judged {
        Step::all(&self.judge.0, look)
    }
}

#[derive(Deserialize)]
struct Rules {
    rule: Vec<Rule>,
}

static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let files: [Rules; 2] = [HOST, SERVER].map(embedded::read);
    files.into_iter().flat_map(|file| file.rule).collect()
});

/// Every rule.
pub fn rules() -> &'static [Rule] {
    &RULES
}

#[cfg(test)]
mod tests {
    use expression::Expression;

    use super::super::special;
    use super::super::steps::{Test, What, is_of_few};
    use super::*;

    /// The names that a line asks for, and the one that it gives a value.
    fn names(step: &Step) -> (Vec<String>, Option<&str>) {
        let mut asked = Vec::new();
        let mut of_words = |words: &str| {
            let places = words.split('{').skip(1);
            asked.extend(places.map(|place| place.split_once('}').unwrap().0.to_owned()));
        };
        let mut expressions: Vec<&Expression> = Vec::new();
        let (tests, given): (Vec<&Test>, _) = match step {
            Step::Fine(tests) => (tests.iter().collect(), None),
            Step::Tell(ends, text) => {
                of_words(text);
                (ends.iter().flat_map(|(_, tests)| tests).collect(), None)
            }
            Step::Read {
                name,
                what,
                or,
                otherwise,
            } => {
                for what in [Some(what), or.as_ref(), otherwise.as_ref()] {
                    match what {
                        Some(What::Number(expression, _)) => expressions.push(expression),
                        Some(What::Words(words)) => of_words(words),
                        Some(What::Text(_)) | None => {}
                    }
                }
                (Vec::new(), Some(name.as_str()))
            }
        };
        for test in tests {
            match test {
                Test::Number(condition) => {
                    expressions.extend([&condition.left, &condition.right]);
                }
                Test::Text(name, ..) => asked.push(name.clone()),
            }
        }
        let patterns = expressions.into_iter().flat_map(Expression::patterns);
        asked.extend(patterns.map(str::to_owned));
        (asked, given)
    }

    /// Facts whose text may name somebody: strangers do not get it.
    const HIDDEN: [&str; 4] = [
        "place.datadir.mount_options",
        "server.version",
        "sysctl.kernel.core_pattern",
        "variables.time_zone",
    ];

    #[test]
    fn of_each_text_it_is_known_whether_strangers_may_read_it() {
        let steps = rules().iter().flat_map(|rule| &rule.judge.0);
        for step in steps {
            let Step::Read {
                what: What::Text(name),
                ..
            } = step
            else {
                continue;
            };
            let is_known = is_of_few(name) != HIDDEN.contains(&name.as_str());
            assert!(special::named(name).is_some() || is_known, "{name}");
        }
    }

    #[test]
    fn each_name_in_a_rule_is_a_line_before_it_a_reading_or_a_signal() {
        for rule in rules() {
            let mut known: Vec<&str> = Vec::new();
            for step in &rule.judge.0 {
                let (asked, given) = names(step);
                for name in asked {
                    let is_known = known.contains(&name.as_str());
                    let is_reading = name.contains('.') || special::named(&name).is_some();
                    assert!(is_known || is_reading, "{}: {name}", rule.id);
                }
                known.extend(given);
            }
        }
    }
}
