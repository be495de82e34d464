//! Forgetting: what is older than a moment, and series of which nothing is left.

use super::Timeline;
use crate::Millis;

impl Timeline {
    /// Forgets what is older than `from`, and series of which nothing is left.
    pub fn forget_before(&mut self, from: Millis) {
        let cuts: Vec<usize> = self
            .sources
            .iter()
            .map(|source| source.ticks.partition_point(|tick| *tick < from))
            .collect();
        for (source, cut) in self.sources.iter_mut().zip(&cuts) {
            source.ticks.drain(..cut);
        }
        for series in &mut self.series {
            series
                .values
                .drain(..cuts[series.source].min(series.values.len()));
        }
        let mut place = 0;
        let moved: Vec<Option<usize>> = self
            .series
            .iter()
            .map(|series| {
                let stays = series.values.iter().any(|value| !value.is_nan());
                place += usize::from(stays);
                stays.then(|| place - 1)
            })
            .collect();
        if place < moved.len() {
            self.move_series(&moved);
        }
    }

    /// Series go to other places, or go. States of sessions do that all the time, and what was looked up for the others
    /// holds on.
    fn move_series(&mut self, moved: &[Option<usize>]) {
        let now = |index: usize| moved.get(index).copied().flatten();
        let has_twins = self.by_name.len() < self.series.len();
        let mut stays = moved.iter().map(Option::is_some);
        self.series.retain(|_| stays.next().unwrap_or(false));
        self.of_source.clear();
        for (index, source) in (0..).zip(self.sources_of_series()) {
            self.note_source(source, index);
        }
        for order in &mut self.order {
            let is_whole = order.iter_mut().all(|place| {
                let index = now(place.series);
                place.series = index.unwrap_or_default();
                index.is_some()
            });
            if !is_whole {
                order.clear();
            }
        }
        if has_twins {
            self.by_name = (0..)
                .zip(&self.series)
                .map(|(index, series)| (series.name.clone().into(), index))
                .collect();
            return;
        }
        self.by_name.retain(|_, place| {
            let index = now(*place);
            *place = index.unwrap_or_default();
            index.is_some()
        });
    }
}
