//! Relations between findings, and their order.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::catalogue::{ANY_CAUSE, Catalogue};
use crate::chains::Effect;
use crate::verdict::{Finding, Level, Relation};

/// Adds the relations and puts the findings in order: the strongest first, but a consequence after
/// its root, and what only makes another worse after that other. `seen` are consequences that the
/// chains of waits show.
pub(crate) fn rank(
    findings: Vec<Finding>,
    catalogue: &Catalogue,
    seen: &BTreeSet<Effect>,
) -> Vec<Finding> {
    let mut rest = findings;
    let links = links(&rest, catalogue, seen);
    for link in &links {
        for finding in &mut rest {
            let relation = if finding.cause == link.from {
                (link.kind.forward(), &link.to)
            } else if finding.cause == link.to {
                (link.kind.backward(), &link.from)
            } else {
                continue;
            };
            finding.relations.push(Relation {
                kind: relation.0.to_owned(),
                cause: relation.1.clone(),
            });
        }
    }
    rest.sort_by(stronger_first);
    let mut ordered: Vec<Finding> = Vec::new();
    while !rest.is_empty() {
        let free = rest
            .iter()
            .position(|finding| !links.iter().any(|link| link.holds_back(finding, &rest)))
            .unwrap_or(0);
        ordered.push(rest.remove(free));
    }
    ordered
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
    fn forward(self) -> &'static str {
        match self {
            Self::Aggravates => "aggravates",
            Self::EffectOf | Self::SeenEffectOf => "effect-of",
        }
    }

    fn backward(self) -> &'static str {
        match self {
            Self::Aggravates => "aggravated-by",
            Self::EffectOf | Self::SeenEffectOf => "root-of",
        }
    }
}

struct Link {
    from: String,
    kind: Kind,
    to: String,
}

impl Link {
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
    let mut links: Vec<Link> = seen
        .iter()
        .map(|effect| Link {
            from: effect.effect.clone(),
            kind: Kind::SeenEffectOf,
            to: effect.root.clone(),
        })
        .collect();
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
            let any = || cause.effect_of.iter().any(|id| id == ANY_CAUSE);
            let mut add = |kind| {
                links.push(Link {
                    from: cause.id.clone(),
                    kind,
                    to: other.cause.clone(),
                });
            };
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
