//! Terms of two words that stand near each other in a sentence, in any order: `drop* ~ table*` is in "we drop a very large
//! table" and in "tables that are dropped". People tell of one thing in many orders, with anything in between.

use crate::denial::is_fine;
use crate::entry::Entry;
use crate::letters::width;

/// What parts the two words of a term.
const NEAR: &str = " ~ ";

/// What parts other words for one of them.
const OTHERS: char = '/';

/// How much may stand between the two, in letters.
const BETWEEN_MAX: usize = 48;

/// What says, right in front of the second of them, that it is not so: `the disk is not busy`.
const DENIALS: [&str; 14] = [
    "not",
    "isn't",
    "isn’t",
    "aren't",
    "wasn't",
    "nicht",
    "kein",
    "keine",
    "не",
    "non",
    "pas",
    "nunca",
    "nie",
    "no longer",
];

/// What ends a sentence, of those that stand between two words.
const ENDS: [&str; 7] = [". ", "! ", "? ", "; ", "。", "！", "？"];

/// The words for the first and for the second part of a term; none for a term that is looked for as it stands.
pub(crate) fn halves(pattern: &'static str) -> Option<[Vec<&'static str>; 2]> {
    let (left, right) = pattern.split_once(NEAR)?;
    Some([left, right].map(|half| half.split(OTHERS).map(str::trim).collect()))
}

/// Where one of the words was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Half {
    pub(crate) entry: &'static Entry,
    /// 0 for the first word of the term, 1 for the second.
    pub(crate) side: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// The terms of which both words stand near each other, each once, with where the first of the two begins. A word that
/// the sentence finds in order is none; few words are near another one, so that is looked at last.
pub(crate) fn pairs(line: &str, halves: &[Half]) -> Vec<(usize, &'static Entry)> {
    let mut found: Vec<(usize, &'static Entry)> = Vec::new();
    for left in halves.iter().filter(|half| half.side == 0) {
        if found
            .iter()
            .any(|(_, entry)| std::ptr::eq(*entry, left.entry))
        {
            continue;
        }
        let is_other = |half: &&Half| half.side == 1 && std::ptr::eq(half.entry, left.entry);
        let near = halves.iter().filter(is_other);
        let near = near.filter(|right| is_near(line, left, right) && !is_fine(line, right.to));
        let Some(from) = near.map(|right| left.from.min(right.from)).min() else {
            continue;
        };
        if !is_fine(line, left.to) {
            found.push((from, left.entry));
        }
    }
    found
}

fn is_near(line: &str, one: &Half, other: &Half) -> bool {
    let (first, second) = match one.from <= other.from {
        true => (one, other),
        false => (other, one),
    };
    // Two words that overlap are one.
    let Some(between) = line.get(first.to..second.from) else {
        return false;
    };
    width(between) <= BETWEEN_MAX
        && !ENDS.iter().any(|end| between.contains(end))
        && !is_head(between)
        && !ends_in_denial(between)
}

fn ends_in_denial(between: &str) -> bool {
    let Some(before) = between.strip_suffix(' ') else {
        return false;
    };
    DENIALS.iter().any(|denial| {
        let rest = before.strip_suffix(denial);
        rest.is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
    })
}

/// `slow: the plan starts with …`: words behind a colon are about the word in front of it, and no part of a phrase with it.
/// A number there is its amount.
fn is_head(between: &str) -> bool {
    let behind = between.strip_prefix(": ");
    behind.is_some_and(|text| text.trim_start().starts_with(char::is_alphabetic))
}
