//! What a page's script asks for as soon as the page is there. It is made with the page: a day of history is read once.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use report::served::{HistoryView, history_json};

/// A script asks at once; what is older is of somebody else, and a history grows.
const AGE_MAX: Duration = Duration::from_secs(10);

/// Of which history, from when to when.
type Stretch = (String, i64, i64);

/// The answer for the last page.
#[derive(Default)]
pub(super) struct ForScript(Mutex<Option<Made>>);

struct Made {
    stretch: Stretch,
    at: Instant,
    json: String,
}

impl ForScript {
    /// Keeps it for the page of this view.
    pub(super) fn keep(&self, view: &HistoryView) {
        let made = Made {
            stretch: (view.server.0.clone(), view.from_ms, view.to_ms),
            at: Instant::now(),
            json: history_json(view),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
    }

    /// Gives it, once, to who asks for the same.
    pub(super) fn take(&self, stretch: Option<Stretch>) -> Option<String> {
        let stretch = stretch?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |made: &mut Made| made.stretch == stretch && made.at.elapsed() < AGE_MAX;
        kept.take_if(is_it).map(|made| made.json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_given_once_and_for_the_same_only() {
        let view = HistoryView {
            server: ("db1:3306".to_owned(), "db1:3306".to_owned()),
            from_ms: 1_000,
            to_ms: 61_000,
            ..HistoryView::default()
        };
        let of = |server: &str, to_ms| Some((server.to_owned(), 1_000, to_ms));
        let kept = ForScript::default();
        assert_eq!(kept.take(of("db1:3306", 61_000)), None);
        kept.keep(&view);
        for other in [None, of("db2:3306", 61_000), of("db1:3306", 62_000)] {
            assert_eq!(kept.take(other), None);
        }
        assert_eq!(kept.take(of("db1:3306", 61_000)), Some(history_json(&view)));
        assert_eq!(kept.take(of("db1:3306", 61_000)), None);
    }
}
