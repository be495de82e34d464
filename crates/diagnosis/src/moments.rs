//! When a source was read, and in which windows of a stall that was: dozens of signs look at the same moments.

use std::cell::OnceCell;
use std::ops::Range;

use model::{Millis, Window};
use serde::Deserialize;

/// Over which part of the stall a number must be a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Over {
    /// In the slice where it is most so.
    Worst,
    /// In every slice, or in every second where the stall is no longer than a slice.
    Every,
    /// Over the stall as a whole.
    Stall,
}

/// Moments in ascending order.
pub(crate) struct Moments {
    pub(crate) at: Vec<Millis>,
    /// By [`Over`].
    judged: [OnceCell<Judged>; 3],
}

/// The windows in which a source can be judged, with the places of its moments in each.
pub(crate) struct Judged {
    pub(crate) windows: Vec<Window>,
    pub(crate) places: Vec<Range<usize>>,
}

impl Moments {
    pub(crate) fn new(at: impl Iterator<Item = Millis>) -> Self {
        Self {
            at: at.collect(),
            judged: Default::default(),
        }
    }

    /// Where the moments of a window stand.
    pub(crate) fn places(&self, window: Window) -> Range<usize> {
        let from = self.at.partition_point(|at| *at < window.from);
        from..self.at.partition_point(|at| *at <= window.to).max(from)
    }

    /// `windows` finds them when a sign asks for the first time.
    pub(crate) fn judged(&self, over: Over, windows: impl FnOnce() -> Vec<Window>) -> &Judged {
        self.judged[over as usize].get_or_init(|| {
            let windows = windows();
            let places = windows.iter().map(|window| self.places(*window));
            Judged {
                places: places.collect(),
                windows,
            }
        })
    }
}
