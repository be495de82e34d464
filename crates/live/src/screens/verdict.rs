//! The verdict that is shown at a moment.

use diagnosis::Verdict;

use super::view::View;
use crate::model::RecordingKind;

/// What is said of the stall of this moment. Of an incident it stays to be seen when the stall is over; in a history life
/// goes on.
pub(super) fn told<'a>(view: &View<'a>) -> Option<&'a Verdict> {
    let keeps = matches!(
        view.model.kind,
        RecordingKind::File | RecordingKind::Captures
    );
    let verdict = view.model.judged(view.at);
    verdict.filter(|_| keeps || view.model.stall_at(view.at).is_some())
}
