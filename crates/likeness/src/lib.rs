//! Which cause a text about a stall is most like, by its words.
//!
//! Rules look for signs; people leave the sign out, name it otherwise or write of it in their own words. A text is
//! compared here with what is known to be written of each cause: the catalogue's own words and the texts in `texts/`,
//! made up by ourselves. What it gives is a guess for a suspicion, never a finding.
//!
//! **How** (`tests/learn`): each text is the set of its features, weighed by how few texts have them; per cause a ridge
//! regression says how much each feature speaks for it or against it. Closed form, no random start: the same texts
//! give the same weights. `make documents` writes them to `data/words.txt`, and a test says when they are stale.
//! Beside the cosine of a cause's mean text it named 2 to 4 of 100 more right, for the same work at run time.
//!
//! **Nothing private is kept**: of a text only features are told that are in our own vocabulary, and each of these
//! stands in two of our texts or more.

#[cfg(test)]
mod columns;
mod features;
mod table;

pub use features::features;

use std::collections::BTreeSet;

use table::Table;

/// Bytes of a text that are looked at: who tells a story comes to the point.
const BYTES_MAX: usize = 64 << 10;

/// Words that are told of a cause, at the most.
const TOLD_MAX: usize = 3;

/// Texts about something else: healthy servers, other troubles, other programs. They are learnt like those of a cause.
const NONE: &str = "none";

/// By how much more a text must be like those about something else than like those of any cause, to be none about a
/// stall: six of seven texts of other kinds are, and one of twenty-five about a stall.
const NONE_BY_MIN: f64 = 0.15;

/// A text with fewer known features is too short to be like anything.
const KNOWN_MIN: usize = 4;

/// How much a text is like those of one cause.
#[derive(Debug, Clone, PartialEq)]
pub struct Likeness {
    /// The cause's id.
    pub cause: &'static str,
    /// How like its texts it is by itself: 0 is any text, 1 one of them.
    pub score: f64,
    /// Beside the other causes: of all together 1.
    pub share: f64,
    /// What in the text speaks most for it, the strongest first.
    pub words: Vec<&'static str>,
}

/// The features of some lines that are known, in the order of the alphabet, each once.
pub fn known<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<&'static str> {
    let mut text = String::new();
    for line in lines {
        if text.len() + line.len() > BYTES_MAX {
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    let mut known = BTreeSet::new();
    if !text.is_empty() {
        features(&text, |feature| known.extend(Table::get().name(feature)));
    }
    known.into_iter().collect()
}

/// How much a text with these features is like those of each cause, the most like first. What it does not know is
/// passed over; empty for too few, and for a text that is most like those about no stall.
pub fn likenesses<S: AsRef<str>>(features: &[S]) -> Vec<Likeness> {
    let names = features.iter().map(AsRef::as_ref);
    let known: Vec<&'static str> = names.filter_map(|name| Table::get().name(name)).collect();
    if known.len() < KNOWN_MIN {
        return Vec::new();
    }
    let mut all = Table::get().scores(&known);
    all.sort_by(|left, right| right.share.total_cmp(&left.share));
    let none = all.iter().position(|one| one.cause == NONE);
    let none = none.map(|at| all.remove(at));
    let (score, share) = none.map_or((0.0, 0.0), |none| (none.score, none.share));
    if all.iter().all(|one| one.score + NONE_BY_MIN < score) {
        return Vec::new();
    }
    let rest = (1.0 - share).max(f64::MIN_POSITIVE);
    all.iter_mut().for_each(|one| one.share /= rest);
    all
}
