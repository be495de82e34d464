//! What is judged, and what came of it.

use super::{Answer, Load, Recurrence, SignalChange, Subject};
use crate::cause::Cause;

/// What is judged.
pub(super) struct Case<'a> {
    pub(super) before: &'a Subject<'a>,
    pub(super) after: &'a Subject<'a>,
    pub(super) cause: Option<&'a Cause>,
    pub(super) signals: &'a [SignalChange],
    pub(super) load: Option<&'a Load>,
    pub(super) recurrence: Option<&'a Recurrence>,
}

/// What came of it.
pub(super) struct Judged {
    pub(super) answer: Answer,
    pub(super) sentence: String,
    pub(super) reasons: Vec<String>,
    pub(super) missing: Vec<String>,
}
