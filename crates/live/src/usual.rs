//! What signals usually are, computed once for each time that is compared with. A screen of all signals looks at some
//! hundred thousand readings, and few keys, and few seconds, change that time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::stats::Spread;

/// What is known, of one time. A recording that goes on keeps it from one reading to the next.
#[derive(Debug, Default)]
pub(crate) struct Usual(Mutex<OfWindow>);

#[derive(Debug, Default)]
struct OfWindow {
    /// From and to, milliseconds since 1970 UTC.
    window: Option<(i64, i64)>,
    by_name: HashMap<String, Option<Spread>>,
}

impl Usual {
    /// What a signal was in this time; computed where it is not known yet.
    pub(crate) fn of(
        &self,
        window: (i64, i64),
        name: &str,
        compute: impl FnOnce() -> Option<Spread>,
    ) -> Option<Spread> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.window != Some(window) {
            known.window = Some(window);
            known.by_name.clear();
        }
        if let Some(spread) = known.by_name.get(name) {
            return *spread;
        }
        let spread = compute();
        known.by_name.insert(name.to_owned(), spread);
        spread
    }
}
