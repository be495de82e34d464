//! Relations between findings, and their order.

use std::cmp::Ordering;

use crate::catalogue::{ANY_CAUSE, Catalogue};
use crate::verdict::{Finding, Level, Relation};

/// Adds the relations and puts the findings in order: the strongest first, but a consequence after
/// its root, and what only makes another worse after that other.
pub(crate) fn rank(findings: Vec<Finding>, catalogue: &Catalogue) -> Vec<Finding> {
    let mut rest = findings;
    let links = links(&rest, catalogue);
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

fn stronger_first(left: &Finding, right: &Finding) -> Ordering {
    (right.level.cmp(&left.level))
        .then(right.confidence.total_cmp(&left.confidence))
        .then_with(|| left.cause.cmp(&right.cause))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `from` makes `to` worse.
    Aggravates,
    /// `from` is a consequence of `to`.
    EffectOf,
}

impl Kind {
    fn forward(self) -> &'static str {
        match self {
            Self::Aggravates => "aggravates",
            Self::EffectOf => "effect-of",
        }
    }

    fn backward(self) -> &'static str {
        match self {
            Self::Aggravates => "aggravated-by",
            Self::EffectOf => "root-of",
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
                        Kind::EffectOf => {
                            other.level > Level::Possible || other.level >= finding.level
                        }
                    }
            })
    }
}

fn links(findings: &[Finding], catalogue: &Catalogue) -> Vec<Link> {
    let mut links = Vec::new();
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
            if names(&cause.effect_of) || any() {
                add(Kind::EffectOf);
            }
        }
    }
    links
}
