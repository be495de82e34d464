//! Relations between findings, and their order.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::catalogue::Catalogue;
use crate::cause::Cause;
use crate::chains::Effect;
use crate::named::AllNamed;
use crate::verdict::{Finding, Level, Relation};
use model::OrderBy;

/// Adds the relations and puts the findings in order: the strongest first, but a consequence after
/// its root, and what only makes another worse after that other. `seen` are consequences that the
/// chains of waits show.
pub(crate) fn rank(
    mut findings: Vec<Finding>,
    catalogue: &Catalogue,
    seen: &BTreeSet<Effect>,
) -> Vec<Finding> {
    let links = links(&findings, catalogue, seen);
    for link in &links {
        let [forward, backward] = link.kind.words();
        for (of, kind, other) in [
            (&link.from, forward, &link.to),
            (&link.to, backward, &link.from),
        ] {
            for finding in findings.iter_mut().filter(|one| one.cause == *of) {
                finding.relations.push(relation(kind, other));
            }
        }
    }
    in_order(findings, &links)
}

fn relation(kind: &str, cause: &str) -> Relation {
    Relation {
        kind: kind.to_owned(),
        cause: cause.to_owned(),
    }
}

/// How much more of what was seen a cause must be about to go before another that is as possible, 0 to 1.
const MORE_OF_IT: f64 = 0.2;

/// Puts those in front, among findings that are no more than possible, that are about more of what was seen: a thread is
/// in the innermost of the functions that tell something, whatever called that. What is a consequence stays behind its root.
pub(crate) fn by_mechanism(findings: &mut [Finding], catalogue: &Catalogue, all: &AllNamed) {
    let share = |finding: &Finding| {
        let cause = catalogue.get(&finding.cause);
        cause.map_or(0.0, |cause| all.share_of_stacks(&cause.about))
    };
    undecided_first(findings, |one, other| {
        share(one) >= share(other) + MORE_OF_IT
    });
}

/// Of findings that are all no more than possible, puts one before another where `is_before` says so, unless one follows
/// from the other.
pub(crate) fn undecided_first(
    findings: &mut [Finding],
    is_before: impl Fn(&Finding, &Finding) -> bool,
) {
    let is_related = |one: &Finding, other: &Finding| {
        let mut relations = one.relations.iter();
        relations.any(|relation| relation.cause == other.cause)
    };
    if findings.iter().any(|one| one.level != Level::Possible) {
        return;
    }
    // Few findings, and each step moves one forward.
    for to in 1..findings.len() {
        for index in (1..=to).rev() {
            let Some([before, here]) = findings.get(index - 1..=index) else {
                continue;
            };
            if !is_related(before, here) && is_before(here, before) {
                findings.swap(index - 1, index);
            }
        }
    }
}

/// Puts what may be the root of the first finding before it: that what follows from it was found is a second sign of it.
pub(crate) fn put_root_first(findings: &mut Vec<Finding>, mut root: Finding) {
    let [forward, backward] = Kind::EffectOf.words();
    if let Some(symptom) = findings.first_mut() {
        symptom.relations.push(relation(forward, &root.cause));
        root.relations.push(relation(backward, &symptom.cause));
        root.level = symptom.level;
        root.confidence = symptom.confidence;
        root.witnesses.extend(symptom.witnesses.first().cloned());
    }
    findings.insert(0, root);
}

/// Roots before their consequences, else the strongest first.
fn in_order(mut rest: Vec<Finding>, links: &[Link]) -> Vec<Finding> {
    rest.order_by(stronger_first);
    let mut ordered: Vec<Finding> = Vec::new();
    while !rest.is_empty() {
        // Those that wait for each other in a circle hold each other back for nothing; for a root outside of it they do wait.
        let next = rest.iter().position(|finding| {
            let before = held_back_by(finding, &rest, links);
            before
                .iter()
                .all(|other| is_among(finding, &held_back_by(other, &rest, links)))
        });
        ordered.push(rest.remove(next.unwrap_or(0)));
    }
    ordered
}

fn is_among(finding: &Finding, list: &[&Finding]) -> bool {
    list.iter().any(|one| one.cause == finding.cause)
}

/// The findings that must go before this one, and those that must go before them.
fn held_back_by<'f>(finding: &'f Finding, rest: &'f [Finding], links: &[Link]) -> Vec<&'f Finding> {
    let mut found: Vec<&Finding> = Vec::new();
    let mut open = vec![finding];
    while let Some(one) = open.pop() {
        let held = links.iter().filter(|link| link.holds_back(one, rest));
        for before in held.filter_map(|link| rest.iter().find(|other| other.cause == link.to)) {
            if !is_among(before, &found) {
                found.push(before);
                open.push(before);
            }
        }
    }
    found
}

/// Of two that are as sure, the one goes first that a sign tells by itself: the others were added up from signs
/// that other causes have, too.
fn stronger_first(left: &Finding, right: &Finding) -> Ordering {
    let conclusive = |finding: &Finding| finding.witnesses.iter().any(|one| one.conclusive);
    (right.level.cmp(&left.level))
        .then(conclusive(right).cmp(&conclusive(left)))
        .then(right.confidence.total_cmp(&left.confidence))
        .then_with(|| left.cause.cmp(&right.cause))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `from` makes `to` worse.
    Aggravates,
    /// `from` is a consequence of `to`, as a rule.
    EffectOf,
    /// The same, and a chain of waits shows it: the root goes first however sure it is.
    SeenEffectOf,
}

impl Kind {
    /// What each of the two is to the other.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::Aggravates => ["aggravates", "aggravated-by"],
            Self::EffectOf | Self::SeenEffectOf => ["effect-of", "root-of"],
        }
    }
}

struct Link {
    from: String,
    kind: Kind,
    to: String,
}

impl Link {
    fn new(from: &str, kind: Kind, to: &str) -> Self {
        Self {
            from: from.to_owned(),
            kind,
            to: to.to_owned(),
        }
    }

    /// Whether `finding` must wait for another of `rest`. A root that is only possible does not
    /// go before a consequence that is surer.
    fn holds_back(&self, finding: &Finding, rest: &[Finding]) -> bool {
        finding.cause == self.from
            && rest.iter().any(|other| {
                other.cause == self.to
                    && match self.kind {
                        Kind::Aggravates => other.level >= finding.level,
                        Kind::SeenEffectOf => true,
                        Kind::EffectOf => {
                            other.level > Level::Possible || other.level >= finding.level
                        }
                    }
            })
    }
}

fn links(findings: &[Finding], catalogue: &Catalogue, seen: &BTreeSet<Effect>) -> Vec<Link> {
    let link = |one: &Effect| Link::new(&one.effect, Kind::SeenEffectOf, &one.root);
    let mut links: Vec<Link> = seen.iter().map(link).collect();
    // What is seen goes before what is usual, in either direction.
    let is_seen = |one: &str, other: &str| {
        seen.iter().any(|effect| {
            (effect.effect == one && effect.root == other)
                || (effect.effect == other && effect.root == one)
        })
    };
    for finding in findings {
        let Some(cause) = catalogue.get(&finding.cause) else {
            continue;
        };
        for other in findings.iter().filter(|other| other.cause != cause.id) {
            let names = |list: &[String]| list.contains(&other.cause);
            // Of two that follow from whatever it is, the less sure one follows from the other.
            let any = || {
                let root = catalogue.get(&other.cause);
                let is_root = !root.is_some_and(Cause::follows_from_all);
                cause.follows_from_all() && (is_root || stronger_first(other, finding).is_lt())
            };
            let mut add = |kind| links.push(Link::new(&cause.id, kind, &other.cause));
            if names(&cause.aggravates) {
                add(Kind::Aggravates);
            }
            if (names(&cause.effect_of) || any()) && !is_seen(&cause.id, &other.cause) {
                add(Kind::EffectOf);
            }
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(cause: &str, level: Level) -> Finding {
        Finding {
            cause: cause.to_owned(),
            level,
            confidence: 0.5,
            ..Finding::default()
        }
    }

    fn order(findings: &[(&str, Level)], effects: &[(&str, &str)]) -> Vec<String> {
        let findings = findings.iter().map(|(cause, level)| finding(cause, *level));
        let links: Vec<Link> = effects
            .iter()
            .map(|(from, to)| Link::new(from, Kind::EffectOf, to))
            .collect();
        let ordered = in_order(findings.collect(), &links);
        ordered.into_iter().map(|one| one.cause).collect()
    }

    #[test]
    fn of_two_consequences_of_anything_only_one_is_of_the_other() {
        let linked = |one: &str, other: &str| -> Vec<(String, String)> {
            let findings = [one, other].map(|cause| finding(cause, Level::Certain));
            let links = links(&findings, Catalogue::builtin(), &BTreeSet::new());
            links.into_iter().map(|link| (link.from, link.to)).collect()
        };
        let of_other = (
            "tcp-accept-overflow".to_owned(),
            "max-connections".to_owned(),
        );
        assert_eq!(linked("tcp-accept-overflow", "max-connections"), [of_other]);
        let of_root = ("max-connections".to_owned(), "slow-fsync".to_owned());
        assert_eq!(linked("max-connections", "slow-fsync"), [of_root]);
    }

    #[test]
    fn a_circle_lets_nothing_weaker_go_first_and_waits_for_a_root_outside_of_it() {
        use Level::{Certain, Likely, Possible};
        let circle = [("a", "b"), ("b", "c"), ("c", "a")];
        let all = [
            ("a", Certain),
            ("b", Certain),
            ("c", Likely),
            ("weak", Possible),
        ];
        assert_eq!(order(&all, &circle), ["a", "c", "b", "weak"]);
        let rooted = [circle.as_slice(), &[("b", "root")]].concat();
        let all = [
            ("a", Certain),
            ("b", Certain),
            ("c", Likely),
            ("root", Likely),
        ];
        assert_eq!(order(&all, &rooted)[0], "root");
        // A root that is only possible does not go before a surer consequence.
        assert_eq!(
            order(&[("a", Certain), ("weak", Possible)], &[("a", "weak")]),
            ["a", "weak"]
        );
    }
}
