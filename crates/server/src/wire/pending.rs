//! A statement whose answer is not complete.

use std::sync::Arc;

use super::reply::{Outcome, ReplyPosition, Shape};
use super::statement::StatementKind;

/// The text of a statement.
#[derive(Debug, Clone)]
pub(super) enum Text {
    /// Of the request, from a place on.
    Own(Vec<u8>, usize),
    /// Of the statement that was prepared.
    Prepared(Arc<[u8]>),
}

impl Text {
    pub(super) fn none() -> Self {
        Self::Own(Vec::new(), 0)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(payload, from) => payload.get(*from..).unwrap_or_default(),
            Self::Prepared(text) => text,
        }
    }

    /// Bytes that are kept for it alone.
    pub(super) fn held(&self) -> usize {
        match self {
            Self::Own(payload, _) => payload.capacity(),
            Self::Prepared(_) => 0,
        }
    }
}

/// What becomes of the connection when the answer is good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum After {
    Nothing,
    /// Another database.
    Database(Option<Arc<str>>),
    /// Another user.
    User(super::handshake::Login),
}

#[derive(Debug)]
pub(super) struct Pending {
    pub(super) kind: StatementKind,
    pub(super) text: Text,
    pub(super) cut: bool,
    pub(super) at_us: i64,
    pub(super) shape: Shape,
    pub(super) at: ReplyPosition,
    pub(super) outcome: Outcome,
    pub(super) after: After,
    /// The sequence number that the answer begins with.
    pub(super) sequence: u8,
    /// When the answer's first packet was seen, and the latest of its segments.
    pub(super) first_us: Option<i64>,
    pub(super) last_us: Option<i64>,
    /// The answer was not followed to its end.
    pub(super) blurred: bool,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
}
