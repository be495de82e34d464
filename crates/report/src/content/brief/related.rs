//! What else was found beside the first cause, by title: ids are for commands.

use diagnosis::{Finding, Verdict, Witness};

use super::{found, titled};

/// Other causes that are named of each kind.
const RELATED_MAX: usize = 3;

/// Where the first finding may come from, what made it worse, what it led to, and what was found beside it: a sentence
/// each, a blank before each. Empty where it stands alone.
pub(crate) fn relations(verdict: &Verdict) -> String {
    let Some(first) = found(verdict) else {
        return String::new();
    };
    let all = || verdict.findings.iter().chain(&verdict.folded);
    let mut told = vec![first.cause.as_str()];
    let mut text = String::new();
    for (kind, words) in [
        ("effect-of", "It may come from"),
        ("aggravated-by", "Made worse by"),
        ("root-of", "It led to"),
    ] {
        let related = first.relations.iter().filter(|one| one.kind == kind);
        let causes: Vec<&str> = related.map(|one| one.cause.as_str()).collect();
        let others = all().filter(|other| causes.contains(&other.cause.as_str()));
        text.push_str(&listed(words, others));
        told.extend(causes);
    }
    let beside = verdict.findings.iter();
    text + &listed(
        "Also found",
        beside.filter(|other| !told.contains(&other.cause.as_str())),
    )
}

fn listed<'f>(words: &str, findings: impl Iterator<Item = &'f Finding>) -> String {
    let mut titles: Vec<String> = findings.map(titled).collect();
    let more = match titles.len().saturating_sub(RELATED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    titles.truncate(RELATED_MAX);
    match titles.is_empty() {
        true => String::new(),
        false => format!(" {words}: {}{more}.", titles.join("; ")),
    }
}

/// Signs without those that say again what one before them says, with less: two limits of one number are two signs for
/// the level, and one for a reader.
pub(crate) fn without_repetition(witnesses: &[Witness]) -> Vec<&Witness> {
    let mut told: Vec<&Witness> = Vec::new();
    for one in witnesses {
        let says = one.says.trim_end_matches('.');
        let is_said = told.iter().any(|other| {
            other.source == one.source
                && other.value.is_some()
                && other.value == one.value
                && other.says.starts_with(says)
        });
        if !is_said {
            told.push(one);
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use diagnosis::Show;

    use super::*;

    #[test]
    fn what_is_said_already_is_not_said_again() {
        let sign = |id: &str, source: &str, says: &str, value| Witness {
            id: id.to_owned(),
            source: source.to_owned(),
            says: says.to_owned(),
            value,
            baseline: None,
            limit: None,
            signals: Vec::new(),
            conclusive: false,
            show: Show::Count,
        };
        let kernel = "the kernel used 60 % of the CPU time";
        let all = [
            sign(
                "a",
                "cpu",
                &format!("{kernel}, against 12 % before"),
                Some(0.6),
            ),
            sign("b", "cpu", kernel, Some(0.6)),
            sign("c", "profile", kernel, Some(0.6)),
            sign("d", "cpu", kernel, Some(0.7)),
            sign("e", "thp", "always", None),
            sign("f", "thp", "always", None),
        ];
        let told: Vec<&str> = without_repetition(&all)
            .iter()
            .map(|one| one.id.as_str())
            .collect();
        assert_eq!(told, ["a", "c", "d", "e", "f"]);
    }
}
