//! The texts of all processlists, each once: there are a few states and statements, a list of them
//! each second, and dozens of patterns to be held against them.

use std::collections::BTreeMap;

use model::Millis;

use crate::list_view::ListView;

/// How often each text stands in each processlist.
pub(crate) struct Interned {
    /// The texts, each once.
    texts: Vec<String>,
    /// For each processlist, in the order of the record: places in `texts`, and how many sessions.
    lists: Vec<Vec<(usize, u64)>>,
}

impl Interned {
    /// `of` gives the texts of a processlist with their sessions; one may come several times.
    pub(crate) fn new<'l, I>(
        lists: &'l [(Millis, ListView<'_>)],
        of: impl Fn(&'l ListView<'_>) -> I,
    ) -> Self
    where
        I: Iterator<Item = (&'l str, u64)>,
    {
        // Statements are long: to compare two is done at the first difference, to hash one is not.
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut texts = Vec::new();
        let lists = lists
            .iter()
            .map(|(_, list)| {
                of(list)
                    .map(|(text, sessions)| {
                        let place = *places.entry(text).or_insert_with(|| {
                            texts.push(text.to_owned());
                            texts.len() - 1
                        });
                        (place, sessions)
                    })
                    .collect()
            })
            .collect();
        Self { texts, lists }
    }

    /// For each processlist how many sessions have a text that matches, and of how many.
    pub(crate) fn counts(&self, matches: impl Fn(&str) -> bool) -> Vec<(u64, u64)> {
        self.each(matches, |texts| {
            texts.fold((0_u64, 0_u64), |(found, all), (matches, sessions)| {
                let counted = if matches { sessions } else { 0 };
                (found.saturating_add(counted), all.saturating_add(sessions))
            })
        })
    }

    /// What comes out for each processlist, of whether its texts match and their numbers.
    pub(crate) fn each<T>(
        &self,
        matches: impl Fn(&str) -> bool,
        comes_out: impl Fn(&mut dyn Iterator<Item = (bool, u64)>) -> T,
    ) -> Vec<T> {
        let matching: Vec<bool> = self.texts.iter().map(|text| matches(text)).collect();
        let is_matching = |place: usize| matching.get(place).copied().unwrap_or(false);
        let lists = self.lists.iter().map(|list| {
            let texts = list.iter();
            comes_out(&mut texts.map(|(place, number)| (is_matching(*place), *number)))
        });
        lists.collect()
    }
}
