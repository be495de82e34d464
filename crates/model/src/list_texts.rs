//! The texts of all processlists, each once: there are a few states and statements, a list of them
//! each second, and dozens of patterns to be held against them.

use std::collections::BTreeMap;

use crate::{ListView, Millis};

/// So far on the session of a moment is looked for among those of the moment before.
const NEAR: usize = 3;

/// What tells most texts apart: statements are long, and lie far apart in memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ends {
    bytes: usize,
    /// Its first eight bytes and its last; none of a shorter one.
    first: u64,
    last: u64,
}

impl Ends {
    fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let number = |eight: Option<&[u8; 8]>| eight.map_or(0, |eight| u64::from_le_bytes(*eight));
        Self {
            bytes: bytes.len(),
            first: number(bytes.first_chunk()),
            last: number(bytes.last_chunk()),
        }
    }
}

/// How often each text stands in each processlist.
pub struct ListTexts {
    /// The texts, each once.
    texts: Vec<String>,
    /// For each processlist, in the order of the record: places in `texts`, and how many sessions.
    lists: Vec<Vec<(usize, u64)>>,
    /// For each how many sessions in all.
    totals: Vec<u64>,
}

impl ListTexts {
    /// `of` gives the texts of a processlist with their sessions; one may come several times.
    pub fn new<'l, I>(
        lists: &'l [(Millis, ListView<'_>)],
        of: impl Fn(&'l ListView<'_>) -> I,
    ) -> Self
    where
        I: Iterator<Item = (&'l str, u64)>,
    {
        let mut places: BTreeMap<(Ends, &str), usize> = BTreeMap::new();
        let mut texts: Vec<(Ends, String)> = Vec::new();
        let mut all: Vec<Vec<(usize, u64)>> = Vec::new();
        for (_, list) in lists {
            // A second before most sessions stood there too, a few places on where others came or went.
            let mut before = all.last().map_or(&[][..], Vec::as_slice);
            let places = of(list).map(|(text, sessions)| {
                let ends = Ends::new(text);
                let is_it = |place: usize| {
                    let known = texts.get(place);
                    known.is_some_and(|(known, whole)| *known == ends && whole == text)
                };
                let mut near = before.iter().take(NEAR).enumerate();
                let place = match near.find(|(_, (place, _))| is_it(*place)) {
                    Some((at, (place, _))) => {
                        before = before.get(at + 1..).unwrap_or_default();
                        *place
                    }
                    None => *places.entry((ends, text)).or_insert_with(|| {
                        texts.push((ends, text.to_owned()));
                        texts.len() - 1
                    }),
                };
                (place, sessions)
            });
            let list = places.collect();
            all.push(list);
        }
        let numbers = all
            .iter()
            .map(|list| list.iter().map(|(_, number)| *number));
        Self {
            totals: numbers
                .map(|numbers| numbers.fold(0, u64::saturating_add))
                .collect(),
            texts: texts.into_iter().map(|(_, text)| text).collect(),
            lists: all,
        }
    }

    /// For each processlist how many sessions have a text that matches, and of how many.
    pub fn counts(&self, matches: impl Fn(&str) -> bool) -> Vec<(u64, u64)> {
        let found = self.each(matches, |numbers| numbers.fold(0, u64::saturating_add));
        found.into_iter().zip(self.totals.iter().copied()).collect()
    }

    /// What comes out for each processlist, of the numbers of its texts that match.
    pub fn each<T>(
        &self,
        matches: impl Fn(&str) -> bool,
        comes_out: impl Fn(&mut dyn Iterator<Item = u64>) -> T,
    ) -> Vec<T> {
        let matching: Vec<bool> = self.texts.iter().map(|text| matches(text)).collect();
        let is_any = matching.contains(&true);
        let is_matching = |place: usize| matching.get(place).copied().unwrap_or(false);
        let lists = self.lists.iter().map(|list| {
            // Mostly no text of the record matches.
            let looked_at = if is_any { list.as_slice() } else { &[] };
            let texts = looked_at.iter().filter(|(place, _)| is_matching(*place));
            comes_out(&mut texts.map(|(_, number)| *number))
        });
        lists.collect()
    }
}
